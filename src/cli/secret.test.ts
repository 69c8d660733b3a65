// The server secret is changed: by the settings, or by a command where the database is embedded. What was written under
// the old one is moved, and when nothing is left the old one is dropped.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { useBuild } from '../../tests/built.ts'
import { call } from '../../tests/command.ts'
import { copyData } from '../../tests/prepared-data.ts'
import { apiAt, NEW_ADDRESS, NEW_KEY, type Shop, shop, USAGE_AT_ONCE } from '../../tests/shop.ts'
import { newDataKey, unwrapDataKey } from '../auth/data-key.ts'
import { readConfig } from '../config.ts'
import { DAY, fromNow } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { type Keyring, newKeyring } from '../crypto/keyring.ts'
import { Secret } from '../crypto/secret.ts'
import { startService } from '../service.ts'
import { mintSigningSecret, openSecret } from '../webhooks/signature.ts'
import { run as runCommand } from './run.ts'

useBuild()

const LONG = 300_000
const newSecret = () => randomBytes(32).toString('base64')
const keyring = (text: string): Keyring => newKeyring(new Secret(text), null)
const kidOf = (text: string) => keyring(text).current.kid

type Env = Record<string, string>

/** A command in this process: what it printed, what it said, and what it said in the end if it failed. */
async function run(env: Env, ...args: string[]) {
  const { code, lines: printed, err } = await call(runCommand, ['secret', ...args], { env })
  const said = err.split('\n').slice(0, -1)
  return { printed, said, failed: code === 0 ? null : (said.pop() as string) }
}

/** A command as a process, which can be killed. */
function launch(env: Env, ...args: string[]) {
  const child = spawn(process.execPath, ['dist/cli/main.js', 'secret', ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const said: string[] = []
  createInterface(child.stderr).on('line', (line) => said.push(line))
  const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)))
  return { said, ended, kill: (signal: NodeJS.Signals) => void child.kill(signal) }
}

async function until(condition: () => Promise<boolean>, patienceMs = 60_000): Promise<void> {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(20)) if (await condition()) return
  throw new Error('It did not happen.')
}

/** Users with keys of their own, straight into the database. */
async function addUsers({ sql }: Shop, under: string, count: number): Promise<Map<string, Buffer>> {
  const ring = keyring(under)
  const keys = new Map<string, Buffer>()
  const rows = Array.from({ length: count }, () => {
    const id = newId('user')
    const { wrapped, kid } = newDataKey(ring, id)
    keys.set(id, unwrapDataKey(ring, { id, dataKey: wrapped, dataKeyKid: kid }))
    return { id, data_key: wrapped.toString('hex'), kid }
  })
  await sql(
    `insert into users (id, issuer, subject, data_key, data_key_kid, created_at, updated_at)
     select id, 'https://issuer.example', id, decode(data_key, 'hex'), kid, now(), now()
       from json_to_recordset($1) as row(id text, data_key text, kid text)`,
    [JSON.stringify(rows)],
  )
  return keys
}

async function keysIn({ sql }: Shop, ring: Keyring): Promise<Map<string, Buffer>> {
  const rows = await sql('select id, data_key, data_key_kid from users where issuer is not null')
  return new Map(
    rows.map(({ id, data_key, data_key_kid }) => [
      id,
      unwrapDataKey(ring, { id, dataKey: data_key, dataKeyKid: data_key_kid }),
    ]),
  )
}

const kids = async ({ sql }: Shop, table: string, column: string) =>
  Object.fromEntries(
    (await sql(`select ${column} as kid, count(*)::int from ${table} where ${column} is not null group by 1`)).map(
      ({ kid, count }) => [kid, count],
    ),
  )

// ---- with a database of one's own -----------------------------------------------------------------------------------

test('a change of the secret from end to end: what was written moves, and the old secret is dropped', {
  timeout: LONG,
}, async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  const { api, owner, store, keys, billing, node, sql, serverSecret: old } = world
  const OLD = kidOf(old)
  const as = owner.token
  const used = (await api.post(keys, NEW_KEY, { as })).body
  const idle = (await api.post(keys, NEW_KEY, { as })).body
  const rotated = (await api.post(keys, NEW_KEY, { as })).body
  const after = (await api.post(`${keys}/${rotated.id}/rotate`, { gracePeriodSeconds: 3600 }, { as })).body
  const revoked = (await api.post(keys, NEW_KEY, { as })).body
  await api.delete(`${keys}/${revoked.id}`, { as })
  const address = (await api.post(billing, NEW_ADDRESS, { as, headers: { 'idempotency-key': 'a' } })).body
  const fresh = newSecret()
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  const both = { SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  const KID = kidOf(fresh)

  // Every node gets both. Nothing moves until the operator says so.
  const next = await node(both)
  const works = async (key: string) => (await next.get(`/v1/user/store/${store.id}`, { as: key })).status
  expect(await Promise.all([used.key, rotated.key, after.key].map(works))).toEqual([200, 200, 200])
  await until(async () => (await next.get(`${keys}/${used.id}`, { as })).body.lastUsedAt !== null)
  expect(await kids(world, 'api_keys', 'hash_kid')).toEqual({ [OLD]: 4 })
  expect((await run(env, 'status')).printed).toEqual([
    'users 1',
    'keys 3',
    'remembered answers 1',
    'webhooks 0',
    'customers 0',
    'holds 0',
    'mails 0',
  ])

  const moved = await run(env, 'rewrap')
  expect(moved.failed).toBeNull()
  expect(moved.said[0]).toMatch(/^1 of 1 users, \d+\/s, 0 left$/)
  expect(moved.printed).toEqual([
    'users 0',
    'keys 3',
    'remembered answers 1',
    'webhooks 0',
    'customers 0',
    'holds 0',
    'mails 0',
  ])
  expect(await kids(world, 'users', 'data_key_kid')).toEqual({ [KID]: 1 })
  expect((await next.get(`${billing}/${address.id}`, { as })).body).toEqual(address)
  // Once more changes nothing.
  const [before] = await sql('select data_key from users')
  expect((await run(env, 'rewrap')).printed).toEqual(moved.printed)
  expect(await sql('select data_key from users')).toEqual([before])

  // Keys move when they are used: both secrets of the one that was rotated, and not the one that nobody uses.
  const etag = (await next.get(`${keys}/${used.id}`, { as })).headers.get('etag')
  expect(await Promise.all([used.key, rotated.key, after.key].map(works))).toEqual([200, 200, 200])
  await until(async () => (await kids(world, 'api_keys', 'hash_kid'))[KID] === 2)
  // Its two secrets may have been counted before and after a flush.
  await until(async () => (await kids(world, 'api_keys', 'previous_hash_kid'))[KID] === 1)
  expect((await next.get(`${keys}/${used.id}`, { as })).headers.get('etag')).toBe(etag)
  expect(await Promise.all([used.key, rotated.key, after.key, idle.key, revoked.key].map(works))) //
    .toEqual([200, 200, 200, 200, 401])
  await until(async () => (await kids(world, 'api_keys', 'hash_kid'))[KID] === 3)

  // What a day keeps goes by itself.
  await sql(`update idempotent_responses set created_at = created_at - interval '25 hours'`)
  const done = await run(env, 'status')
  expect(done.printed).toEqual([
    'users 0',
    'keys 0',
    'remembered answers 0',
    'webhooks 0',
    'customers 0',
    'holds 0',
    'mails 0',
  ])
  expect(done.said.join()).toContain('you can take SERVER_SECRET_PREVIOUS out of the settings')
  expect((await run(env, 'retire')).failed).toContain('take SERVER_SECRET_PREVIOUS out of them')
  expect((await run(env, 'rotate')).failed).toContain('set a new SERVER_SECRET')

  const alone = await node({ SERVER_SECRET: fresh })
  for (const key of [used.key, rotated.key, after.key, idle.key])
    expect((await alone.get(`/v1/user/store/${store.id}`, { as: key })).status).toBe(200)
  expect((await alone.get(`${billing}/${address.id}`, { as })).body).toEqual(address)
  expect((await run({ ...env, SERVER_SECRET_PREVIOUS: '' }, 'rewrap')).said[0]).toContain('nothing to re-encrypt')
})

test('a node that still has the old secret as its current one moves nothing back', { timeout: LONG }, async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  const { api, owner, store, keys, node, sql, serverSecret: old } = world
  const fresh = newSecret()
  const next = await node({ SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old })
  const behind = await node({ SERVER_SECRET: old, SERVER_SECRET_PREVIOUS: fresh })
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  await run(env, 'rewrap')
  const key = (await next.post(keys, NEW_KEY, { as: owner.token })).body
  expect((await behind.get(`/v1/user/store/${store.id}`, { as: key.key })).status).toBe(200)
  // The use is written in the very transaction that would move it.
  await until(async () => (await api.get(`${keys}/${key.id}`, { as: owner.token })).body.lastUsedAt !== null)
  expect(await sql('select hash_kid from api_keys')).toEqual([{ hash_kid: kidOf(fresh) }])
})

test('a secret that was replaced while it was in use is not brought back by moving', { timeout: LONG }, async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  const { owner, store, keys, node, sql, serverSecret: old } = world
  const as = owner.token
  const fresh = newSecret()
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  const first = (await world.api.post(keys, NEW_KEY, { as })).body
  const gone = (await world.api.post(keys, NEW_KEY, { as })).body
  await run(env, 'rewrap')
  const next = await node({ SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old })
  for (const { key } of [first, gone])
    expect((await next.get(`/v1/user/store/${store.id}`, { as: key })).status).toBe(200)
  // Before that use is written: one is replaced without a grace, one revoked.
  const { key: now } = (await next.post(`${keys}/${first.id}/rotate`, {}, { as })).body
  await next.delete(`${keys}/${gone.id}`, { as })
  await until(async () => (await next.get(`${keys}/${gone.id}`, { as })).body.lastUsedAt !== null)
  for (const [key, status] of [
    [first.key, 401],
    [gone.key, 401],
    [now, 200],
  ])
    expect((await next.get(`/v1/user/store/${store.id}`, { as: key })).status).toBe(status)
  expect(await sql('select previous_hash from api_keys where previous_hash is not null')).toEqual([])
  expect(await sql('select revoked_at is not null as revoked from api_keys where id = $1', [gone.id])) //
    .toEqual([{ revoked: true }])
})

test('a word too many does nothing, and asking for help changes nothing', { timeout: LONG }, async () => {
  const world = await shop({ alone: true })
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: world.serverSecret }
  for (const words of [
    ['rotate', 'now'],
    ['retire', '--forse'],
    ['status', 'extra'],
  ]) {
    const { code, out, err } = await call(runCommand, ['secret', ...words], { env })
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(new RegExp(`^Unexpected argument for "secret ${words[0]}": ${words[1]}\\.\nUsage.*\n$`))
  }
  for (const verb of ['rotate', 'retire']) {
    expect(await call(runCommand, ['secret', verb, '--help'], { env })).toMatchObject({ code: 0, err: '' })
  }
})

test('killed in the middle of 5,000 users nothing is lost, and the next run goes on with the rest', {
  timeout: LONG,
}, async () => {
  const world = await shop({ alone: true })
  const old = world.serverSecret
  const fresh = newSecret()
  const users = await addUsers(world, old, 5_000)
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  // Somebody holds a row in the middle, so that the command is certainly at work there when it is killed.
  const holder = new pg.Client({ connectionString: world.databaseUrl })
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query('begin')
  await holder.query('select from users where id = $1 for update', [[...users.keys()][2_700]])
  await world.service.close(0)
  const connections = () =>
    world.sql(
      `select from pg_stat_activity where datname = current_database() and application_name like 'storekeeper%'`,
    )
  await until(async () => (await connections()).length === 0)
  const first = launch(env, 'rewrap')
  await until(async () => first.said.some((line) => line.startsWith('2500 of 5001 users')))
  expect(await connections()).not.toEqual([])
  first.kill('SIGKILL')
  await first.ended
  // The statement that waits for the row lives on, until it has waited too long.
  await until(async () => (await connections()).length === 0)
  await holder.query('rollback')

  const ring = newKeyring(new Secret(fresh), new Secret(old))
  expect(await kids(world, 'users', 'data_key_kid')).toEqual({ [kidOf(fresh)]: 2_500, [kidOf(old)]: 2_501 })
  expect(await keysIn(world, ring)).toEqual(users)

  // Meanwhile one of those that are left is erased, and stays so.
  const erased = [...users.keys()][4_000] as string
  await world.sql(
    `update users set erased_at = now(), issuer = null, subject = null, data_key = null, data_key_kid = null where id = $1`,
    [erased],
  )
  users.delete(erased)
  const second = await run(env, 'rewrap')
  expect(second.failed).toBeNull()
  expect(second.printed[0]).toBe('users 0')
  expect(second.said.filter((line) => line.includes(' users, ')).at(-1)).toMatch(/^2500 of 2500 users, \d+\/s, 0 left$/)
  expect(await kids(world, 'users', 'data_key_kid')).toEqual({ [kidOf(fresh)]: 5_000 })
  expect(await keysIn(world, keyring(fresh))).toEqual(users)
  expect(await world.sql('select data_key from users where id = $1', [erased])).toEqual([{ data_key: null }])
})

test('Ctrl-C ends it between two batches, and it says how much is left', { timeout: LONG }, async () => {
  const world = await shop({ alone: true })
  const fresh = newSecret()
  const users = await addUsers(world, world.serverSecret, 3_000)
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: world.serverSecret }
  const holder = new pg.Client({ connectionString: world.databaseUrl })
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query('begin')
  await holder.query('select from users where id = $1 for update', [[...users.keys()][1_200]])
  const command = launch(env, 'rewrap')
  await until(async () => command.said.some((line) => line.startsWith('1000 of 3001 users')))
  command.kill('SIGINT')
  await holder.query('rollback')
  expect(await command.ended).toBe(1)
  expect(command.said.at(-1)).toMatch(
    /^Stopped\. (1501|2001) users are left\. Run "secret rewrap" again to continue\.$/,
  )
  expect((await run(env, 'rewrap')).printed[0]).toBe('users 0')
  expect(await keysIn(world, keyring(fresh))).toEqual(users)
})

test('the hashes that customers are found by and the keys of holds move too', { timeout: LONG }, async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, node, serverSecret: old } = world
  const as = { as: owner.token }
  const root = `/v1/user/store/${store.id}`
  await api.put(`${root}/customers/42`, { email: 'ada@example.com' }, as)
  const { body: address } = await api.post(`${root}/customers/42/billing`, NEW_ADDRESS, as)
  const version = `${root}/billing/${address.id}/versions/1`
  const until = fromNow(DAY).toISOString()
  const { body: held } = await api.post(`${version}/hold`, { reason: 'Invoice 42', until }, as)
  const { body: gone } = await api.put(`${root}/customers/43`, { email: 'ada@example.com' }, as)
  // A mail that was not sent yet.
  await world.sql(
    `insert into mails (id, kind, recipient, data, token, token_kid, created_at, next_attempt_at, expires_at)
     values ('mail_1', 'reset', 'ada@example.com', '{}', 'sealed', $1, now(), now(), now() + interval '1 day')`,
    [kidOf(old)],
  )
  const fresh = newSecret()
  const next = await node({ SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old })
  const found = async () =>
    (await next.get(`${root}/customers?q=ada%40example.com`, as)).body.data.map((one: any) => one.externalId)
  expect(await found()).toEqual(['42', '43'])
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  expect((await run(env, 'status')).printed.slice(4)).toEqual(['customers 2', 'holds 1', 'mails 1'])
  expect((await run(env, 'rewrap')).printed.slice(4)).toEqual(['customers 0', 'holds 0', 'mails 1'])
  expect(await found()).toEqual(['42', '43'])
  expect(await kids(world, 'customers', 'email_hash_kid')).toEqual({ [kidOf(fresh)]: 2 })
  await next.delete(`${root}/customers/42`, as)
  expect((await next.get(version, as)).body).toEqual(held)
  expect(await found()).toEqual([gone.externalId])
})

test('the secrets of webhooks move too, both of them while one is being replaced, and are what they were', {
  timeout: LONG,
}, async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, node, sql, serverSecret: old } = world
  const as = owner.token
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const make = async () => (await api.post(webhooks, { url: 'https://shop.example/hooks', types: ['*'] }, { as })).body
  const rotate = async (id: string) =>
    (await api.post(`${webhooks}/${id}/rotate`, { gracePeriodSeconds: 3600 }, { as })).body
  const [whole, first] = [await make(), await make()]
  const second = await rotate(first.id)
  // One that was rotated at a node that has the new secret already: only what it was before is under the old one.
  const fresh = newSecret()
  const next = await node({ SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old })
  const between = await make()
  const after = (await next.post(`${webhooks}/${between.id}/rotate`, { gracePeriodSeconds: 3600 }, { as })).body
  const etag = (await next.get(`${webhooks}/${first.id}`, { as })).headers.get('etag')

  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  expect((await run(env, 'status')).printed[3]).toBe('webhooks 3')
  const left = await run({ ...env, SERVER_SECRET_PREVIOUS: '' }, 'status')
  expect(left.said.join()).toContain('webhooks could not be signed')
  const moved = await run(env, 'rewrap')
  expect([moved.failed, moved.printed[3]]).toEqual([null, 'webhooks 0'])
  expect(moved.said.filter((line) => line.includes(' webhooks, '))) //
    .toEqual([expect.stringMatching(/^3 of 3 webhooks, \d+\/s, 0 left$/)])
  expect(await kids(world, 'webhooks', 'secret_kid')).toEqual({ [kidOf(fresh)]: 3 })
  expect(await kids(world, 'webhooks', 'previous_secret_kid')).toEqual({ [kidOf(fresh)]: 2 })
  expect((await next.get(`${webhooks}/${first.id}`, { as })).headers.get('etag')).toBe(etag)

  // With the old secret gone, each still opens as what its owner was shown.
  const rows = await sql(
    'select id, secret, secret_kid, previous_secret, previous_secret_kid from webhooks order by id',
  )
  const shown = (id: string, sealed: Buffer | null, kid: string) =>
    sealed && `whsec_${openSecret(keyring(fresh), id, { sealed, kid })?.toString('base64')}`
  expect(
    rows.map((row) => [
      row.id,
      shown(row.id, row.secret, row.secret_kid),
      shown(row.id, row.previous_secret, row.previous_secret_kid),
    ]),
  ).toEqual([
    [whole.id, whole.secret, null],
    [first.id, second.secret, first.secret],
    [between.id, after.secret, between.secret],
  ])
})

test('a webhook that is rotated while its secrets are being moved keeps the new one, and is moved as well', {
  timeout: LONG,
}, async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, sql, serverSecret: old } = world
  const as = owner.token
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const webhook = (await api.post(webhooks, { url: 'https://shop.example/hooks', types: ['*'] }, { as })).body
  const fresh = newSecret()
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  // Somebody rotates: the command has read the row as it was before, and waits for theirs.
  const other = new pg.Client({ connectionString: world.databaseUrl })
  await other.connect()
  onTestFinished(() => other.end())
  const { secret, kept } = mintSigningSecret(keyring(old), webhook.id)
  await other.query('begin')
  await other.query(
    `update webhooks
        set previous_secret = secret, previous_secret_kid = secret_kid, previous_expires_at = now() + interval '1 hour',
            secret = $1
      where id = $2`,
    [kept.sealed, webhook.id],
  )
  const moving = run(env, 'rewrap')
  const waits = `select from pg_stat_activity
                  where datname = current_database() and wait_event_type = 'Lock' and query like '%update webhooks%'`
  await until(async () => (await sql(waits)).length > 0)
  await other.query('commit')
  expect((await moving).printed[3]).toBe('webhooks 0')
  const [row] = await sql('select secret, secret_kid, previous_secret, previous_secret_kid from webhooks')
  const open = (sealed: Buffer, kid: string) =>
    `whsec_${openSecret(keyring(fresh), webhook.id, { sealed, kid })?.toString('base64')}`
  expect([open(row.secret, row.secret_kid), open(row.previous_secret, row.previous_secret_kid)]) //
    .toEqual([secret.reveal(), webhook.secret])
})

// ---- with the embedded database -------------------------------------------------------------------------------------

test('embedded: stop, rotate, start; and when nothing is left, retire', { timeout: LONG }, async () => {
  const data = join(mkdtempSync(join(tmpdir(), 'secret-')), 'data')
  chmodSync(join(data, '..'), 0o755) // so that PostgreSQL may enter when we are root
  onTestFinished(() => rmSync(join(data, '..'), { recursive: true, force: true }))
  copyData('migrated', data)
  const env = { DATA_DIR: data }
  const start = async () => {
    const config = readConfig({ ...env, PORT: '0', RATE_LIMIT: 'off' })
    const service = await startService(config, pino({ level: 'silent' }), () => {})
    onTestFinished(() => service.close(0))
    return { api: apiAt(service.url), stop: () => service.close(0) }
  }
  const file = (name: string) => readFileSync(join(data, name), 'utf8').trim()
  const first = await start()
  const account = { email: 'ada@example.com', password: 'correct horse battery staple' }
  const { token: as } = (await first.api.post('/v1/auth/sign-up', account)).body
  const store = (await first.api.post('/v1/user/store', { name: 'Engines' }, { as })).body
  const [keys, billing] = [`/v1/user/store/${store.id}/keys`, `/v1/store/${store.id}/billing`]
  const used = (await first.api.post(keys, NEW_KEY, { as })).body
  const idle = (await first.api.post(keys, NEW_KEY, { as })).body
  const address = (await first.api.post(billing, NEW_ADDRESS, { as })).body
  const old = file('server-secret')

  expect((await run(env, 'rotate')).failed).toContain('is already running')
  expect(file('server-secret')).toBe(old)
  await first.stop()

  const rotated = await run(env, 'rotate')
  expect(rotated.failed).toBeNull()
  expect(rotated.printed).toEqual([
    'users 0',
    'keys 2',
    'remembered answers 0',
    'webhooks 0',
    'customers 0',
    'holds 0',
    'mails 0',
  ])
  const fresh = file('server-secret')
  expect([fresh === old, file('server-secret.previous')]).toEqual([false, old])
  for (const name of ['server-secret', 'server-secret.previous'])
    expect(statSync(join(data, name)).mode & 0o777).toBe(0o600)
  for (const text of [old, fresh]) expect([...rotated.printed, ...rotated.said].join()).not.toContain(text)
  // One at a time.
  expect((await run(env, 'rotate')).failed).toContain('change of the secret is not finished')

  const second = await start()
  const works = async (key: string) => (await second.api.get(`/v1/user/store/${store.id}`, { as: key })).status
  expect((await second.api.get(`${billing}/${address.id}`, { as })).body).toEqual(address)
  expect(await works(used.key)).toBe(200)
  await until(async () => (await run(env, 'status')).printed[1] === 'keys 1')
  const refused = await run(env, 'retire')
  expect([refused.printed[1], refused.failed]).toEqual(['keys 1', expect.stringContaining('--force')])
  expect(existsSync(join(data, 'server-secret.previous'))).toBe(true)
  expect((await run(env, 'retire', '--force')).failed).toBeNull()
  expect(existsSync(join(data, 'server-secret.previous'))).toBe(false)
  await second.stop()

  const third = await start()
  const statuses = await Promise.all(
    [used.key, idle.key].map(async (key) => (await third.api.get(`/v1/user/store/${store.id}`, { as: key })).status),
  )
  // The one that was given up is the price of --force.
  expect(statuses).toEqual([200, 401])
  expect((await third.api.get(`${billing}/${address.id}`, { as })).body).toEqual(address)
  await third.stop()
})

test('an unknown word is told how it is meant', async () => {
  expect(await run({}, 'rotatte')).toEqual({
    printed: [],
    said: [],
    failed: 'Usage: secret rotate | rewrap | status | retire [--force]',
  })
})
