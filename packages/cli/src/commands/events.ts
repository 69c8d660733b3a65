// The events of a store: those there are, or those that come.

import type { Event } from '@storekeeper/client'
import type { Command } from 'commander'
import { plain } from '../../../../src/cli/plain.ts'
import { action, type ListQuery, listOptions, pageOf, storeCommand } from '../command.ts'
import { Interrupted, UsageError } from '../errors.ts'
import type { Column } from '../output.ts'
import type { App } from '../session.ts'
import { addWords, parsePast } from '../values.ts'

const COLUMNS: Column<Event>[] = [
  { title: 'at', of: ({ at }) => at, kind: 'time' },
  { title: 'id', of: ({ id }) => id },
  { title: 'type', of: ({ type }) => type },
  { title: 'subject', of: ({ subject }) => subject },
  { title: 'actor', of: ({ actor }) => actor.id },
  { title: 'data', of: ({ data }) => JSON.stringify(data) },
]

type EventOptions = ListQuery & {
  follow?: true
  after?: string
  type?: string[]
  subject?: string
  actor?: string
  from?: string
  to?: string
}

export function addEvents(program: Command, app: App): void {
  const command = listOptions(
    storeCommand(program, 'events', 'list what happened in a store, newest first, or follow it'),
  )
    .option('--follow', 'print what happens from now on, without an end; a line of JSON each with --json')
    .option('--after <event>', 'with --follow: begin after the event with this id')
    .option('--type <types>', 'only these, such as key.created or key.*; may be given again', addWords)
    .option('--subject <id>', 'only what happened to this')
    .option('--actor <id>', 'only what this user, key or service token did')
    .option('--from <time>', 'since when: 7d for seven days ago, or a time', parsePast)
    .option('--to <time>', 'until when', parsePast)
  action<EventOptions>(command, app, async ({ store, out, signal, io }, { options }) => {
    const { follow, after, type: types, subject, actor, from, to } = options
    const { events } = await store()
    const type = types?.join(',')
    if (!follow) {
      if (after !== undefined) throw new UsageError('--after needs --follow.')
      return out.list(events.list({ ...pageOf(options), type, subject, actor, from, to }, { signal }), COLUMNS, options)
    }
    if (actor ?? from ?? to) throw new UsageError('--follow takes --type, --subject and --after only.')
    for await (const event of events.follow({ type, subject, after }, { signal }))
      if (out.json) out.printJson(event, { isLine: true })
      else io.print(COLUMNS.map(({ of }) => plain(of(event))).join(out.isTerminal ? '  ' : '\t'))
    if (signal.aborted) throw new Interrupted()
  })
}
