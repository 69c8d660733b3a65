// The versions of an address, newest first: the label as it was, and what changed from the version before.

import { Anchor, Badge, Group, List, Stack, Text, Timeline } from '@mantine/core'
import type { AddressVersion } from '@storekeeper/client'
import type { ReactNode } from 'react'
import { useEffect, useRef } from 'react'
import { Link, useSearch } from 'wouter'
import { useMe } from '../../app/me.ts'
import { texts } from '../../texts.ts'
import { Copy } from '../copy.tsx'
import { Time } from '../time.tsx'
import { Label } from './label.tsx'
import { FIELDS, type Field } from './values.ts'

type Props = {
  versions: AddressVersion[]
  /** The page that they are on: a link to one version is this with `?version=`. */
  path: string
  /** What can be done with a version. */
  actions: (version: AddressVersion) => ReactNode
}

export function VersionTimeline({ versions, path, actions }: Props) {
  const chosen = Number(new URLSearchParams(useSearch()).get('version'))
  const place = versions.findIndex(({ version }) => version === chosen)
  return (
    <Timeline active={place} bulletSize={16} lineWidth={2}>
      {versions.map((version, n) => (
        <Timeline.Item key={version.version} title={<Title version={version} isCurrent={n === 0} path={path} />}>
          <Version version={version} before={versions[n + 1]} isChosen={n === place}>
            {actions(version)}
          </Version>
        </Timeline.Item>
      ))}
    </Timeline>
  )
}

function Title({
  version: { version },
  isCurrent,
  path,
}: {
  version: AddressVersion
  isCurrent: boolean
  path: string
}) {
  return (
    <Group gap="xs">
      <Anchor component={Link} href={`${path}?version=${version}`} fw={600}>
        {texts.addresses.version(version)}
      </Anchor>
      {isCurrent && (
        <Badge variant="light" color="gray">
          {texts.addresses.current}
        </Badge>
      )}
    </Group>
  )
}

type VersionProps = {
  version: AddressVersion
  before: AddressVersion | undefined
  isChosen: boolean
  children: ReactNode
}

function Version({ version: { version, at, by, address, hold }, before, isChosen, children }: VersionProps) {
  const place = useRef<HTMLDivElement>(null)
  const me = useMe().data?.user.id
  useEffect(() => {
    if (isChosen) place.current?.scrollIntoView({ block: 'center' })
  }, [isChosen])
  const author = by.id === me ? texts.addresses.byYou : by.kind === 'key' ? texts.addresses.byKey(by.id) : by.id
  return (
    <Stack
      ref={place}
      gap="xs"
      pb="md"
      className={isChosen ? 'chosen-version' : undefined}
      aria-current={isChosen ? 'true' : undefined}
    >
      <Text size="sm" c="dimmed" className="breaks">
        <Time at={at} as="exact" />, {texts.addresses.by} {author}
      </Text>
      {hold && (
        <Text size="sm">
          <Badge variant="light" color="blue">
            {texts.addresses.held} <Time at={hold.until} as="day" />
          </Badge>{' '}
          {hold.reason}
        </Text>
      )}
      {address.erased ? <Erased address={address} /> : <Label lines={address.formatted} />}
      {!address.erased && before && !before.address.erased && <Changes now={address} before={before.address} />}
      {!before && version === 1 && (
        <Text size="sm" c="dimmed">
          {texts.addresses.first}
        </Text>
      )}
      <Group gap="xs">
        {children}
        <Copy text={`${address.id} ${version}`} label={texts.addresses.copyReference} />
      </Group>
    </Stack>
  )
}

type Content = AddressVersion['address']

export function Erased({ address: { country, state, postalCode } }: { address: Content }) {
  const left = [country, state, postalCode].filter(Boolean).join(', ')
  return (
    <Text size="sm">
      {texts.addresses.erased} {texts.addresses.erasedLeft(left)}
    </Text>
  )
}

function Changes({ now, before }: { now: Content; before: Content }) {
  const changed = FIELDS.filter((field: Field) => now[field] !== before[field])
  if (changed.length === 0) return null
  return (
    <List size="sm" spacing={2} aria-label={texts.addresses.changed}>
      {changed.map((field) => (
        <List.Item key={field} className="breaks">
          {texts.addresses.fields[field]}: <del>{before[field] ?? texts.app.nothing}</del> →{' '}
          <ins>{now[field] ?? texts.app.nothing}</ins>
        </List.Item>
      ))}
    </List>
  )
}
