// What can be done with the keys that were chosen: one request, an answer for each.

import { Button, Group, List, Paper, Stack, Text, Textarea } from '@mantine/core'
import type { BulkResults, Key } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

type Action = 'disable' | 'enable' | 'revoke'
type Props = { storeId: string; keys: Key[]; onDone: () => void }

export function BulkBar({ storeId, keys, onDone }: Props) {
  const [action, setAction] = useState<Action | null>(null)
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
              onClick={() => setAction(name)}
            >
              {texts.keys.bulk[name]}
            </AllowedButton>
          ))}
        </Group>
      </Group>
      {action && (
        <BulkDialog storeId={storeId} keys={keys} action={action} onClose={() => setAction(null)} onDone={onDone} />
      )}
    </Paper>
  )
}

type DialogProps = Props & { action: Action; onClose: () => void }

function BulkDialog({ storeId, keys, action, onClose, onDone }: DialogProps) {
  const [reason, setReason] = useState('')
  const change = useWrite(
    (input: { ids: string[]; action: Action; reason?: string }, options) => sk.store(storeId).keys.bulk(input, options),
    { changes: [['keys', storeId]] },
  )
  const send = () =>
    change.mutate({ ids: keys.map(({ id }) => id), action, ...(reason && action === 'revoke' ? { reason } : {}) })
  return (
    <Dialog
      opened
      onClose={change.data ? onDone : onClose}
      title={texts.keys.bulkTitle[action](keys.length)}
      dirty={reason !== ''}
    >
      <Stack>
        {change.data ? (
          <BulkReceipt results={change.data} keys={keys} onDone={onDone} />
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
                label={texts.keys.reason}
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
        <Button onClick={onDone}>{texts.secret.done}</Button>
      </Group>
    </>
  )
}
