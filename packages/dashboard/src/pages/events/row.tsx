// One event: a sentence, when it was, and everything it says one click away.

import { Anchor, Button, Code, Group, Stack, Text, Tooltip } from '@mantine/core'
import type { Event } from '@storekeeper/client'
import { useId } from 'react'
import { Link } from 'wouter'
import { texts } from '../../texts.ts'
import type { Clock } from './clock.ts'
import { type Names, sentence } from './names.ts'
import type { Filters } from './trail.ts'

type Props = {
  event: Event
  names: Names
  clock: Clock
  opened: boolean
  onToggle: () => void
  change: (change: Filters) => void
}

export function EventRow({ event, names, clock, opened, onToggle, change }: Props) {
  const id = useId()
  return (
    <li>
      <Group justify="space-between" wrap="nowrap" align="flex-start" gap="sm">
        <Stack gap={2} miw={0}>
          <Text className="breaks">{sentence(event, names)}</Text>
          <Group gap="xs">
            <Text size="xs" c="dimmed">
              <Tooltip label={clock.title(event.at)} events={{ hover: true, focus: true, touch: true }}>
                <time dateTime={event.at}>{clock.show(event.at)}</time>
              </Tooltip>
            </Text>
            <Text size="xs" c="dimmed">
              {event.type}
            </Text>
          </Group>
        </Stack>
        <Button
          size="compact-sm"
          variant="default"
          aria-label={texts.events.rawOf(event.type)}
          aria-expanded={opened}
          aria-controls={opened ? id : undefined}
          onClick={onToggle}
          miw={56}
        >
          {texts.events.raw}
        </Button>
      </Group>
      {opened && <Details id={id} event={event} names={names} change={change} />}
    </li>
  )
}

function Details({ id, event, names, change }: Pick<Props, 'event' | 'names' | 'change'> & { id: string }) {
  const { subject, actor, position } = event
  const path = names.find(subject)?.path
  return (
    <Stack id={id} gap="xs" mt="sm">
      <Group gap="xs">
        {path && (
          <Anchor component={Link} href={path} size="sm">
            {texts.events.open}
          </Anchor>
        )}
        <Button size="compact-sm" variant="subtle" onClick={() => change({ subject })}>
          {texts.events.onlySubject}
        </Button>
        {actor.kind !== 'system' && (
          <Button size="compact-sm" variant="subtle" onClick={() => change({ actor: actor.id })}>
            {texts.events.onlyActor}
          </Button>
        )}
        <Text size="xs" c="dimmed">
          {position === null ? texts.events.notSealed : texts.events.position(position)}
        </Text>
      </Group>
      <Code block className="scrolls" mah={320} tabIndex={0}>
        {JSON.stringify(event, null, 2)}
      </Code>
    </Stack>
  )
}
