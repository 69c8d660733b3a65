// Permissions that the key has not needed for a while, and one button to take them away.

import { Alert, Badge, Button, Group, Stack, Text } from '@mantine/core'
import type { Key } from '@storekeeper/client'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

const OLD_ENOUGH_MS = 30 * 86_400_000

export function Advice({ apiKey: key }: { apiKey: Key }) {
  const { storeId, id, permissions, createdAt } = key
  const advice = useRead(['keys', storeId, id, 'advice'], (options) => sk.store(storeId).keys.advice(id, options)).data
  const unused = advice?.unused ?? []
  const kept = permissions.filter((name) => !unused.includes(name))
  const trim = useWrite(() => sk.store(storeId).keys.update(id, { permissions: kept }, { ifMatch: key }), {
    changes: [['keys', storeId]],
  })
  const isYoung = Date.now() - new Date(createdAt).getTime() < OLD_ENOUGH_MS
  // Of a new key that was never used, nothing can be said yet.
  if (unused.length === 0 || (isYoung && kept.length === 0)) return null
  return (
    <Alert color="blue" title={texts.keys.adviceTitle}>
      <Stack gap="sm">
        <Text size="sm">{isYoung ? texts.keys.adviceYoung : texts.keys.advice}</Text>
        <Group gap={6}>
          {unused.map((name) => (
            <Badge key={name} variant="light" color="gray" td="line-through">
              {name}
            </Badge>
          ))}
          {kept.map((name) => (
            <Badge key={name} variant="light" color="green">
              {name}
            </Badge>
          ))}
        </Group>
        {trim.error && <Problem error={trim.error} />}
        {kept.length > 0 && (
          <Group>
            <Button size="xs" variant="default" loading={trim.isPending} onClick={() => trim.mutate(undefined)}>
              {texts.keys.takeAway(unused.length)}
            </Button>
          </Group>
        )}
      </Stack>
    </Alert>
  )
}
