// A new secret for a key, with a time in which the old one still works; and while it does, whether it is still used.

import { Alert, Button, Group, Radio, Stack, Text } from '@mantine/core'
import type { Key } from '@storekeeper/client'
import { useState } from 'react'
import { useSecret } from '../../app/secret-provider.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Problem } from '../../components/problem.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'

const GRACES = ['0', '3600', '86400', '604800'] as const

type Props = { apiKey: Key; onClose: () => void }

export function RotateDialog({ apiKey: { id, storeId, name }, onClose }: Props) {
  const openSecret = useSecret()
  const [grace, setGrace] = useState<string>('86400')
  const [error, setError] = useState<unknown>(null)
  const rotate = async () => {
    try {
      await openSecret({
        operation: 'keys.rotate',
        storeId,
        ids: [id],
        input: { gracePeriodSeconds: Number(grace) },
        label: name,
      })
      onClose()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog opened onClose={onClose} title={texts.keys.rotateTitle(name)}>
      <Stack>
        <Text size="sm">{texts.keys.rotateHelp}</Text>
        <Radio.Group label={texts.keys.grace} value={grace} onChange={setGrace}>
          <Stack gap="xs" mt="xs">
            {GRACES.map((seconds) => (
              <Radio key={seconds} value={seconds} label={texts.keys.graces[seconds]} />
            ))}
          </Stack>
        </Radio.Group>
        {error !== null && <Problem error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {texts.app.cancel}
          </Button>
          <Button onClick={rotate}>{texts.keys.rotate}</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}

/** While two secrets work. */
export function RotationState({ apiKey }: { apiKey: Key }) {
  const { rotation } = apiKey
  if (!rotation) return null
  return (
    <Alert color="blue" title={texts.keys.rotationTitle}>
      <Text size="sm">
        {texts.keys.oldEnds} <Time at={rotation.previousExpiresAt} />.{' '}
        {rotation.previousLastUsedAt ? (
          <>
            {texts.keys.oldUsed} <Time at={rotation.previousLastUsedAt} />.
          </>
        ) : (
          texts.keys.oldUnused
        )}
      </Text>
    </Alert>
  )
}
