// Revoking a key: what uses it now, the way that can be undone, and afterwards by when it is refused everywhere.

import { Alert, Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core'
import type { Key } from '@storekeeper/client'
import { useState } from 'react'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { notes } from '../../app/notes.ts'
import { DangerActions } from '../../components/danger-actions.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { focusOnMount } from '../../components/focus.ts'
import { Time } from '../../components/time.tsx'
import { gather, total } from '../../components/usage.ts'
import { texts } from '../../texts.ts'

const DAY = 86_400_000

export function RevokeDialog({ apiKey: key, onClose }: { apiKey: Key; onClose: () => void }) {
  const { id, storeId, name, type, lastUsedAt } = key
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const usedLately = lastUsedAt !== null && Date.now() - new Date(lastUsedAt).getTime() < DAY
  const calls = useRead(['usage', storeId, id, 'last day'], async (options) => {
    const from = new Date(Date.now() - DAY)
    const { data } = await sk.store(storeId).keys.usage(id, { from, interval: 'hour' }, options)
    return total(gather(data, [new Date(from.getTime() - DAY)])).valid
  }).data
  const revoke = useWrite(
    async (given: string) => {
      const revoked = await sk.store(storeId).keys.revoke(id, given ? { reason: given } : {})
      notes.forget(id)
      return revoked
    },
    { changes: [['keys', storeId]] },
  )
  // What runs in production right now is not stopped by one click too many.
  const mustType = type === 'PROD' && usedLately
  if (revoke.data)
    return (
      <Dialog opened onClose={onClose} title={texts.keys.revokedTitle(name)}>
        <Stack>
          <Text size="sm" role="status">
            {texts.keys.refusedBy} <Time at={revoke.data.effectiveBy} as="exact" />.
          </Text>
          <Group justify="flex-end">
            <Button ref={focusOnMount} onClick={onClose}>
              {texts.secret.done}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    )
  return (
    <Dialog opened onClose={onClose} title={texts.keys.revokeTitle(name)} dirty={reason !== ''}>
      <Stack>
        {usedLately ? (
          <Alert color="red">
            {texts.keys.stillUsed} <Time at={lastUsedAt} />. {calls !== undefined && texts.keys.callsOfDay(calls)}
          </Alert>
        ) : (
          <Text size="sm">
            {lastUsedAt === null ? (
              texts.keys.neverUsed
            ) : (
              <>
                {texts.keys.lastUsed} <Time at={lastUsedAt} />
              </>
            )}
            .
          </Text>
        )}
        <Text size="sm">{texts.keys.revokeHelp}</Text>
        <Textarea
          label={texts.keys.reasonOptional}
          value={reason}
          maxLength={500}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        {mustType && (
          <TextInput
            label={texts.keys.typeName(name)}
            value={typed}
            autoComplete="off"
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
        <DangerActions
          write={revoke}
          label={texts.keys.bulk.revoke}
          disabled={mustType && typed.trim() !== name}
          onCancel={onClose}
          onConfirm={() => revoke.mutate(reason.trim())}
        />
      </Stack>
    </Dialog>
  )
}
