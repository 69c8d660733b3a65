// What can be done with the keys that were chosen: one request, an answer for each.

import { Button, Group, List, Paper, Stack, Text, Textarea } from '@mantine/core'
import type { BulkResults, Key } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { focusOnMount } from '../../components/focus.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

type Action = 'disable' | 'enable' | 'revoke'
/** What is to be done, with the keys as they were chosen. */
export type Bulk = { action: Action; keys: Key[]; onDone: () => void }
type BarProps = { storeId: string; keys: Key[]; onAct: (action: Action) => void }

export function BulkBar({ storeId, keys, onAct }: BarProps) {
  return (
    <Paper withBorder p="xs" pos="sticky" top={64} style={{ zIndex: 2 }}>
      <Group justify="space-between">
        <Text size="sm" role="status">
          {texts.keys.chosen(keys.length)}
        </Text>
        <Group gap="xs">
          {(['disable', 'enable', 'revoke'] as const).map((name) => (
            <AllowedButton
              key={name}
              storeId={storeId}
              permission="MANAGE_KEYS"
              size="xs"
              variant={name === 'revoke' ? 'filled' : 'default'}
              color={name === 'revoke' ? 'red' : undefined}
              onClick={() => onAct(name)}
            >
              {texts.keys.bulk[name]}
            </AllowedButton>
          ))}
        </Group>
      </Group>
    </Paper>
  )
}

type DialogProps = Bulk & { storeId: string; onClose: () => void }

/** Stands apart from the list: keys that were revoked leave it while the answer is still to be read. */
export function BulkDialog({ storeId, keys, action, onDone, onClose }: DialogProps) {
  const [reason, setReason] = useState('')
  const change = useWrite(
    (input: { ids: string[]; action: Action; reason?: string }, options) => sk.store(storeId).keys.bulk(input, options),
    { changes: [['keys', storeId]] },
  )
  const finish = () => {
    onDone()
    onClose()
  }
  const send = () =>
    change.mutate({ ids: keys.map(({ id }) => id), action, ...(reason && action === 'revoke' ? { reason } : {}) })
  return (
    <Dialog
      opened
      onClose={change.data ? finish : onClose}
      title={texts.keys.bulkTitle[action](keys.length)}
      dirty={reason !== '' && !change.data}
    >
      <Stack>
        {change.data ? (
          <BulkReceipt results={change.data} keys={keys} onDone={finish} />
        ) : (
          <>
            <Text size="sm">{texts.keys.bulkHelp[action]}</Text>
            <List size="sm" className="scrolls" mah={200}>
              {keys.map(({ id, name, start }) => (
                <List.Item key={id}>
                  {name} ({start}…)
                </List.Item>
              ))}
            </List>
            {action === 'revoke' && (
              <Textarea
                label={texts.keys.reasonOptional}
                value={reason}
                onChange={(event) => setReason(event.currentTarget.value)}
              />
            )}
            {change.error && <Problem error={change.error} retry={send} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                {texts.app.cancel}
              </Button>
              <Button color={action === 'revoke' ? 'red' : undefined} loading={change.isPending} onClick={send}>
                {texts.keys.bulk[action]}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Dialog>
  )
}

function BulkReceipt({
  results: { results },
  keys,
  onDone,
}: {
  results: BulkResults
  keys: Key[]
  onDone: () => void
}) {
  const nameOf = (id: string) => keys.find((key) => key.id === id)?.name ?? id
  const refused = results.filter((result) => 'error' in result && result.error)
  return (
    <>
      <Text size="sm" role="status">
        {texts.keys.bulkDone(results.length - refused.length, refused.length)}
      </Text>
      {refused.map((result) => (
        <Text key={result.id} size="sm" c="var(--mantine-color-error)">
          {nameOf(result.id)}: {(result as { error: { detail?: string; code: string } }).error.detail}
        </Text>
      ))}
      <Group justify="flex-end">
        <Button ref={focusOnMount} onClick={onDone}>
          {texts.secret.done}
        </Button>
      </Group>
    </>
  )
}
