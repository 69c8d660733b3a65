// Webhooks of a store, and what was sent to them.

import type { Delivery, Webhook } from '@storekeeper/client'
import type { Command } from 'commander'
import {
  action,
  confirm,
  dangerOptions,
  type ListQuery,
  listOptions,
  onceOptions,
  pageOf,
  storeCommand,
} from '../command.ts'
import { UsageError } from '../errors.ts'
import type { Column } from '../output.ts'
import { handOver, type SecretOptions, secretOptions } from '../secret.ts'
import { type App, once } from '../session.ts'
import { addWords, parseDuration } from '../values.ts'

const COLUMNS: Column<Webhook>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'state', of: ({ enabled }) => (enabled ? 'enabled' : 'disabled'), kind: 'state' },
  { title: 'types', of: ({ types }) => types },
  { title: 'failing since', of: ({ failingSince }) => failingSince, kind: 'time' },
  { title: 'url', of: ({ url }) => url },
]

const FACTS: Column<Webhook>[] = [
  ...COLUMNS,
  { title: 'description', of: ({ description }) => description },
  { title: 'disabled because', of: ({ disabledReason }) => disabledReason },
  { title: 'created', of: ({ createdAt }) => createdAt, kind: 'time' },
  { title: 'old secret until', of: ({ rotation }) => rotation?.previousExpiresAt, kind: 'time' },
]

const DELIVERIES: Column<Delivery>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'status', of: ({ status }) => status, kind: 'state' },
  { title: 'type', of: ({ type }) => type },
  { title: 'event', of: ({ eventId }) => eventId },
  { title: 'created', of: ({ createdAt }) => createdAt, kind: 'time' },
]

type Settings = { url?: string; type?: string[]; description?: string }

export function addWebhooks(program: Command, app: App): void {
  const group = program.command('webhooks').description('where the events of a store are sent').helpCommand(false)
  action<ListQuery>(
    listOptions(storeCommand(group, 'list', 'list the webhooks', { isDefault: true })),
    app,
    async ({ store, out, signal }, { options }) =>
      out.list((await store()).webhooks.list(pageOf(options), { signal }), COLUMNS, options),
  )
  action(
    storeCommand(group, 'show', 'show a webhook').argument('<webhook>', 'its id'),
    app,
    async ({ store, out, signal }, { args: [id = ''] }) =>
      out.record(await (await store()).webhooks.read(id, { signal }), FACTS),
  )
  addWebhookChanges(group, app)
  action<{ idempotencyKey?: string }>(
    onceOptions(storeCommand(group, 'test', 'send a message to try it out')).argument('<webhook>', 'its id'),
    app,
    async ({ store, out, signal }, { args: [id = ''], options }) => {
      const { webhooks } = await store()
      out.record(
        await once(app, options, (idempotencyKey) => webhooks.test(id, { idempotencyKey, signal })),
        DELIVERIES,
      )
    },
  )
  action<ListQuery>(
    listOptions(storeCommand(group, 'deliveries', 'list what was sent to a webhook')).argument('<webhook>', 'its id'),
    app,
    async ({ store, out, signal }, { args: [id = ''], options }) =>
      out.list((await store()).deliveries.list(id, pageOf(options), { signal }), DELIVERIES, options),
  )
  action<{ idempotencyKey?: string }>(
    onceOptions(storeCommand(group, 'redeliver', 'send a message again'))
      .argument('<webhook>', 'its id')
      .argument('<delivery>', 'its id'),
    app,
    async ({ store, out, signal }, { args: [id = '', delivery = ''], options }) => {
      const { deliveries } = await store()
      const sent = await once(app, options, (idempotencyKey) =>
        deliveries.redeliver(id, delivery, { idempotencyKey, signal }),
      )
      out.record(sent, DELIVERIES)
    },
  )
}

function addWebhookChanges(group: Command, app: App): void {
  action<SecretOptions & Settings>(
    secretOptions(storeCommand(group, 'create', 'create a webhook, and print the secret that signs its messages'))
      .argument('<endpoint>', 'the https URL that gets the messages')
      .requiredOption('--type <types>', 'which events, such as key.*, or * for all; may be given again', addWords)
      .option('--description <text>', 'what it is for'),
    app,
    async (session, { args: [url = ''], options }) => {
      const { webhooks } = await session.store()
      const input = { url, types: options.type ?? [], description: options.description }
      const { id } = await handOver(app, session, options, 'secret', (idempotencyKey) =>
        webhooks.create(input, { idempotencyKey, signal: session.signal }),
      )
      session.io.say(`Created ${id}. The secret is not shown again.`)
    },
  )
  action<Settings & { endpoint?: string; enable?: true; disable?: true }>(
    storeCommand(group, 'update', 'change a webhook; what is not named stays')
      .argument('<webhook>', 'its id')
      .option('--endpoint <url>', 'the https URL that gets the messages')
      .option('--type <types>', 'which events from now on; may be given again', addWords)
      .option('--description <text>', 'what it is for')
      .option('--enable', 'send messages again')
      .option('--disable', 'send none until it is enabled'),
    app,
    async ({ store, out, signal }, { args: [id = ''], options }) => {
      const { endpoint, type, description, enable, disable } = options
      if (enable && disable) throw new UsageError('--enable or --disable, not both.')
      const enabled = enable || disable ? enable === true : undefined
      const changes = { url: endpoint, types: type, description, enabled }
      out.record(await (await store()).webhooks.update(id, changes, { signal }), FACTS)
    },
  )
  action<SecretOptions & { grace?: number; yes?: true }>(
    dangerOptions(secretOptions(storeCommand(group, 'rotate', 'give a webhook a new secret, and print it')))
      .argument('<webhook>', 'its id')
      .option('--grace <time>', 'how long messages are also signed with the old one, such as 24h', parseDuration),
    app,
    async (session, { args: [id = ''], options }) => {
      const { webhooks } = await session.store()
      await confirm(session.io, `Give ${id} a new secret?`, options)
      const { rotation } = await handOver(app, session, options, 'secret', (idempotencyKey) =>
        webhooks.rotate(
          id,
          { gracePeriodSeconds: options.grace },
          {
            idempotencyKey,
            signal: session.signal,
          },
        ),
      )
      session.io.say(
        rotation ? `The old secret also signs until ${rotation.previousExpiresAt}.` : 'The old secret is over.',
      )
    },
  )
  action<{ yes?: true }>(
    dangerOptions(storeCommand(group, 'delete', 'delete a webhook')).argument('<webhook>', 'its id'),
    app,
    async ({ store, signal, io }, { args: [id = ''], options }) => {
      const { webhooks } = await store()
      await confirm(io, `Delete ${id}? This cannot be undone.`, options)
      await webhooks.delete(id, { signal })
      io.say(`Deleted ${id}.`)
    },
  )
}
