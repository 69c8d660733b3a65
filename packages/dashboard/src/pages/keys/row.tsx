// A key in the list: a row of the table, and a card on a phone.

import { Anchor, Badge, Card, Checkbox, Code, Group, Stack, Table, Text } from '@mantine/core'
import type { Key } from '@storekeeper/client'
import { memo } from 'react'
import { Link } from 'wouter'
import { paths } from '../../app/paths.ts'
import { SmallBars } from '../../components/bars.tsx'
import { Time } from '../../components/time.tsx'
import type { Interval } from '../../components/usage.ts'
import { texts } from '../../texts.ts'

type Props = { apiKey: Key; bars: Interval[] | undefined; chosen: boolean; onChoose: (id: string, on: boolean) => void }

/** Drawn again only when something in it has changed: while somebody searches, hundreds of others come and go. */
export const KeyRow = memo(function KeyRow({ apiKey: key, bars, chosen, onChoose }: Props) {
  return (
    <Table.Tr bg={chosen ? 'var(--mantine-primary-color-light)' : undefined}>
      <Table.Td>
        <Choose apiKey={key} chosen={chosen} onChoose={onChoose} />
      </Table.Td>
      <Table.Td>
        <Name apiKey={key} />
      </Table.Td>
      <Table.Td>
        <KeyStatus apiKey={key} />
      </Table.Td>
      <Table.Td>{bars && <SmallBars intervals={bars} />}</Table.Td>
      <Table.Td>
        <Text size="sm">
          <Time at={key.lastUsedAt} />
        </Text>
      </Table.Td>
      <Table.Td>
        <Text size="sm">{key.expiresAt ? <Time at={key.expiresAt} /> : texts.keys.noEnd}</Text>
      </Table.Td>
    </Table.Tr>
  )
})

export const KeyCard = memo(function KeyCard({ apiKey: key, bars, chosen, onChoose }: Props) {
  return (
    <Card withBorder padding="sm">
      <Stack gap="xs">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Name apiKey={key} />
          <Choose apiKey={key} chosen={chosen} onChoose={onChoose} />
        </Group>
        <Group gap="xs">
          <KeyStatus apiKey={key} />
          {bars && <SmallBars intervals={bars} />}
        </Group>
        <Text size="sm" c="dimmed">
          {key.lastUsedAt === null ? (
            texts.keys.neverUsed
          ) : (
            <>
              {texts.keys.lastUsed} <Time at={key.lastUsedAt} />
            </>
          )}
        </Text>
      </Stack>
    </Card>
  )
})

function Choose({ apiKey, chosen, onChoose }: Omit<Props, 'bars'>) {
  return (
    <Checkbox
      aria-label={texts.keys.choose(apiKey.name)}
      checked={chosen}
      onChange={(event) => onChoose(apiKey.id, event.currentTarget.checked)}
    />
  )
}

function Name({ apiKey: key }: { apiKey: Key }) {
  return (
    <Stack gap={2} miw={0}>
      <Anchor component={Link} href={paths.key(key.storeId, key.id)} fw={600} lineClamp={1}>
        {key.name}
      </Anchor>
      <Group gap={6}>
        <Code>{key.start}…</Code>
        {key.owner && (
          <Anchor
            component={Link}
            href={paths.keysOf(key.storeId, key.owner)}
            size="xs"
            c="dimmed"
            truncate
            maw={180}
            aria-label={texts.keys.ofOwner(key.owner)}
          >
            {key.owner}
          </Anchor>
        )}
      </Group>
    </Stack>
  )
}

const COLORS: Record<string, string> = { ACTIVE: 'green', DISABLED: 'gray', EXPIRED: 'yellow', REVOKED: 'red' }
const TYPE_COLORS: Record<string, string> = { PROD: 'indigo', TEST: 'teal', DEV: 'gray' }

export function KeyStatus({ apiKey: key }: { apiKey: Key }) {
  return (
    <Group gap={6}>
      <Badge variant="light" color={TYPE_COLORS[key.type] ?? 'gray'}>
        {key.type}
      </Badge>
      {key.status !== 'ACTIVE' && (
        <Badge variant="light" color={COLORS[key.status] ?? 'gray'}>
          {key.status}
        </Badge>
      )}
      {key.rotation && (
        <Badge variant="light" color="blue">
          {texts.keys.rotating}
        </Badge>
      )}
    </Group>
  )
}
