// Keys: creating, changing and ending one.

import type { Key, KeyChanges, NewKey } from '@storekeeper/client'
import type { Command } from 'commander'
import { plain } from '../../../../src/cli/plain.ts'
import { KEY_TYPE_NAMES } from '../../../../src/core/key-types.ts'
import { action, confirm, dangerOptions, onceOptions, present, storeCommand } from '../command.ts'
import { UsageError } from '../errors.ts'
import { handOver, type SecretOptions, secretOptions } from '../secret.ts'
import { type App, once, type Session } from '../session.ts'
import {
  addNamedLimit,
  addWords,
  jsonObjectFor,
  type NamedLimit,
  oneOf,
  parseCount,
  parseDuration,
  parseExpiry,
  parseRateLimit,
  parseRefill,
  type RateLimit,
  type Refill,
} from '../values.ts'
import { KEY_FACTS } from './keys.ts'

/** False: the option was given with `no-` before it, and takes away what there is. */
type Settings = {
  name?: string
  permission?: string[]
  /** A time, or `never`. */
  expires?: string
  owner?: string | false
  ip?: string[] | false
  rateLimit?: RateLimit | false
  limit?: NamedLimit[] | false
  metadata?: Record<string, unknown>
}

type CreateOptions = Settings & SecretOptions & { type: NewKey['type']; credits?: number; refill?: Refill }
type UpdateOptions = Settings & { credits?: false; enable?: true; disable?: true; ifMatch?: string }

export function addKeyChanges(group: Command, app: App): void {
  addCreate(group, app)
  addUpdate(group, app)
  addRotate(group, app)
  addRevoke(group, app)
  for (const verb of ['freeze', 'unfreeze'] as const) addFreeze(group, app, verb)
  addCredits(group, app)
}

const PERMISSIONS = 'all that the key may do; may be given again, or with commas between'

function settingOptions(command: Command, { io }: App): Command {
  return command
    .option('--expires <when>', 'when it stops working: 90d, a time, or never', parseExpiry)
    .option('--owner <owner>', 'your own id for whom it belongs to')
    .option('--ip <addresses>', 'addresses and ranges it works from; may be given again', addWords)
    .option('--rate-limit <limit>', 'how often it can be verified, such as 100/60s', parseRateLimit)
    .option('--limit <limit>', 'a limit with a name, such as exports=10/1h; may be given again', addNamedLimit)
    .option('--metadata <json>', 'your own data: a JSON object, or @file', jsonObjectFor(io))
}

function settingsOf({ name, permission, expires, owner, ip, rateLimit, limit, metadata }: Settings): KeyChanges {
  const given = {
    name,
    permissions: permission,
    expiresAt: expires === 'never' ? null : expires,
    owner: owner === false ? null : owner,
    ipAllowlist: ip === false ? null : ip,
    rateLimit: rateLimit === false ? null : rateLimit,
    rateLimits: limit === false ? [] : limit,
    metadata,
  }
  return present(given)
}

function addCreate(group: Command, app: App): void {
  const command = settingOptions(
    secretOptions(storeCommand(group, 'create', 'create a key, and print its secret, which is shown only this once')),
    app,
  )
    .argument('<name>', 'what the key is for')
    .requiredOption('--type <type>', KEY_TYPE_NAMES.join(', '), oneOf(KEY_TYPE_NAMES))
    .requiredOption('--permission <names>', PERMISSIONS, addWords)
    .option('--credits <count>', 'how many verifications it can spend', parseCount)
    .option('--refill <refill>', 'with --credits: 1000/DAY, or 1000/MONTH:15', parseRefill)
  action<CreateOptions>(command, app, async (session, { args: [name = ''], options }) => {
    const { credits, refill, type, permission = [] } = options
    if (refill && credits === undefined) throw new UsageError('--refill needs --credits.')
    const input = {
      ...settingsOf(options),
      ...present({
        credits: credits === undefined ? undefined : { remaining: credits, ...(refill ? { refill } : {}) },
      }),
      name,
      type,
      permissions: permission,
    } as NewKey
    const { keys } = await session.store()
    const key = await handOver(
      app,
      session,
      { ...options, fixed: { '--expires': options.expires } },
      'key',
      (idempotencyKey) => keys.create(input, { idempotencyKey, signal: session.signal }),
    )
    session.io.say(`Created ${nameOf(key)}. The secret is not shown again.`)
  })
}

function addUpdate(group: Command, app: App): void {
  const command = settingOptions(storeCommand(group, 'update', 'change a key; what is not named stays'), app)
    .argument('<key>', 'its id')
    .option('--name <name>', 'what the key is for')
    .option('--permission <names>', PERMISSIONS, addWords)
    .option('--enable', 'let it work again')
    .option('--disable', 'let it not work until it is enabled')
    .option('--no-owner', 'it belongs to nobody')
    .option('--no-ip', 'it works from everywhere')
    .option('--no-rate-limit', 'it has no rate limit')
    .option('--no-limit', 'it has no limits with a name')
    .option('--no-credits', 'it needs no credits')
    .option('--if-match <etag>', 'only if nobody has changed it since: see keys show --etag')
  action<UpdateOptions>(command, app, async ({ store, out, signal }, { args: [id = ''], options }) => {
    const { enable, disable, credits, ifMatch } = options
    if (enable && disable) throw new UsageError('--enable or --disable, not both.')
    const changes: KeyChanges = {
      ...settingsOf(options),
      ...(enable || disable ? { enabled: enable === true } : {}),
      ...(credits === false ? { credits: null } : {}),
    }
    if (Object.keys(changes).length === 0) throw new UsageError('Say what to change: see skp keys update --help')
    out.record(await (await store()).keys.update(id, changes, { ifMatch, signal }), KEY_FACTS)
  })
}

function addRotate(group: Command, app: App): void {
  const command = dangerOptions(secretOptions(storeCommand(group, 'rotate', 'give a key a new secret, and print it')))
    .argument('<key>', 'its id')
    .option('--grace <time>', 'how long the old secret keeps working, such as 24h; else it ends at once', parseDuration)
    .option('--if-match <etag>', 'only if nobody has changed it since: see keys show --etag')
  action<SecretOptions & { grace?: number; ifMatch?: string; yes?: true }>(
    command,
    app,
    async (session, { args: [id = ''], options }) => {
      const { io, signal } = session
      const { keys } = await session.store()
      const { grace = 0, ifMatch } = options
      const consequence =
        grace > 0 ? `The old secret works for ${grace} s more.` : 'The old secret stops working at once.'
      await confirmKey(session, id, `Rotate %? ${consequence}`, options)
      const key = await handOver(app, session, options, 'key', (idempotencyKey) =>
        keys.rotate(id, { gracePeriodSeconds: grace }, { idempotencyKey, ifMatch, signal }),
      )
      io.say(`Rotated ${nameOf(key)}. The secret is not shown again.`)
      if (key.rotation)
        io.say(`The old secret works until ${key.rotation.previousExpiresAt}. Who still uses it: skp keys usage ${id}`)
    },
  )
}

function addRevoke(group: Command, app: App): void {
  const command = dangerOptions(storeCommand(group, 'revoke', 'end a key for good'))
    .argument('<key>', 'its id')
    .option('--reason <text>', 'kept with the key')
    .option(
      '--made <what>',
      'keep or revoke the keys and webhooks that were created with it',
      oneOf(['keep', 'revoke']),
    )
    .option('--if-match <etag>', 'only if nobody has changed it since: see keys show --etag')
  action<{ reason?: string; made?: 'keep' | 'revoke'; ifMatch?: string; yes?: true }>(
    command,
    app,
    async (session, { args: [id = ''], options }) => {
      const { io, out, signal } = session
      const { keys } = await session.store()
      await confirmKey(session, id, 'Revoke %? This cannot be undone.', options)
      const { reason, made, ifMatch } = options
      const key = await keys.revoke(id, { reason, made }, { ifMatch, signal })
      if (out.json) return out.printJson(key)
      io.say(`Revoked ${nameOf(key)}.`)
      const left = [
        ...key.made.keys.map((one) => `${one.id}  ${one.status}`),
        ...key.made.webhooks.map((one) => `${one.id}  ${one.enabled ? 'enabled' : 'disabled'}`),
      ]
      if (left.length > 0) io.say(`Created with it:\n  ${left.join('\n  ')}`)
    },
  )
}

function addFreeze(group: Command, app: App, verb: 'freeze' | 'unfreeze'): void {
  const description = verb === 'freeze' ? 'stop all keys of the store at once' : 'let the keys of the store work again'
  action<{ yes?: true; idempotencyKey?: string }>(
    onceOptions(dangerOptions(storeCommand(group, verb, description))),
    app,
    async ({ store, out, signal, io }, { options }) => {
      const { keys, id } = await store()
      if (verb === 'freeze') await confirm(io, `Stop every key of ${id}?`, options)
      const made = await once(app, options, (idempotencyKey) => keys[verb]({ idempotencyKey, signal }))
      if (out.json) return out.printJson(made)
      io.say(
        verb === 'freeze'
          ? `${made.affected} keys are frozen. To end it: skp keys unfreeze`
          : `${made.affected} keys work again.`,
      )
    },
  )
}

function addCredits(group: Command, app: App): void {
  const command = onceOptions(storeCommand(group, 'credits', 'add credits to a key, or set how many it has'))
    .argument('<key>', 'its id')
    .option('--add <count>', 'so many more', parseCount)
    .option('--set <count>', 'exactly so many', parseCount)
  action<{ add?: number; set?: number; idempotencyKey?: string }>(
    command,
    app,
    async ({ store, out, signal, io }, { args: [id = ''], options }) => {
      const { add, set } = options
      if ((add === undefined) === (set === undefined)) throw new UsageError('--add or --set, one of them.')
      const { keys } = await store()
      const key = await once(app, options, (idempotencyKey) =>
        keys.changeCredits(id, add === undefined ? { set } : { add }, { idempotencyKey, signal }),
      )
      if (out.json) return out.printJson(key)
      io.print(plain(key.credits?.remaining))
    },
  )
}

const nameOf = ({ id, name, start }: Pick<Key, 'id' | 'name' | 'start'>) => `"${plain(name)}" (${id}, ${start}…)`

/** Names the key as people know it. Where it was agreed beforehand, nothing is looked up. */
async function confirmKey(
  { store, signal, io }: Session,
  id: string,
  question: string,
  options: { yes?: true },
): Promise<void> {
  if (options.yes) return
  const name = io.ask ? nameOf(await (await store()).keys.read(id, { signal })) : id
  await confirm(
    io,
    question.replace('%', () => name),
    options,
  )
}
