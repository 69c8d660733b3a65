// A backup is taken beside the running service and restored elsewhere: everything is there, works, and goes on. A file that
// is not whole, or not ours, changes nothing.

import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { call } from '../../tests/command.ts'
import { copyData } from '../../tests/prepared-data.ts'
import { newRandom } from '../../tests/random.ts'
import { apiAt, NEW_ADDRESS, NEW_KEY, newEmptyDatabase, type Shop, shop } from '../../tests/shop.ts'
import { readConfig } from '../config.ts'
import { startService } from '../service.ts'
import { run } from './run.ts'

const PASSPHRASE = 'correct horse battery staple'
/** Every character that the format of COPY escapes, and some that other formats would. */
const ODD = 'tab\there, line\nbreak, \\N, \\., back\\slash, "quotes", ’ and 👩‍🚀'

type Env = Record<string, string>

test('a backup beside the running service, restored elsewhere, is the same database and goes on', async () => {
  const here = await shop({ alone: true })
  const { api, owner, store, keys, billing } = here
  const as = owner.token
  const key = (await api.post(keys, { ...NEW_KEY, metadata: { description: ODD, empty: '' } }, { as })).body
  const revoked = (await api.post(keys, NEW_KEY, { as })).body
  await api.delete(`${keys}/${revoked.id}`, { as })
  const address = (await api.post(billing, NEW_ADDRESS, { as })).body
  await api.patch(`${billing}/${address.id}`, { city: 'Elsewhere' }, { as })
  await api.post(`/v1/user/store/${store.id}/webhooks`, { url: 'https://receiver.example/', types: ['*'] }, { as })
  await api.post(keys, NEW_KEY, { as })
  const idempotent = { as, headers: { 'idempotency-key': 'one' } }
  const once = await api.post(keys, NEW_KEY, idempotent)
  const service = await here.serviceToken()

  const file = join(folder(), 'storekeeper.backup')
  const passphraseFile = join(folder(), 'passphrase')
  writeFileSync(passphraseFile, `${PASSPHRASE}\n`)
  const encrypted = ['--passphrase-file', passphraseFile]
  await expect.poll(() => countUnsealed(here)).toBe(0)
  const untried = `select from webhook_outbox union all select from webhook_deliveries where attempts = 0`
  await expect.poll(async () => (await here.sql(untried)).length).toBe(0)
  // What failed is not tried again meanwhile.
  await here.sql(`update webhook_deliveries set next_attempt_at = next_attempt_at + interval '1 hour'`)
  const before = await contentsOf(here.databaseUrl)
  const made = await call(run, ['backup', file, ...encrypted], { env: envOf(here) })
  expect(made).toMatchObject({ code: 0, out: '' })
  expect(made.err).toMatch(/api_keys: 4 rows\n/)
  expect(made.err).toMatch(
    /rows as of 20.*Z, encrypted\.\nThe server secret \([0-9a-f]{8}\) is not in it: keep SERVER_SECRET/,
  )
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(file, '..'))).toEqual(['storekeeper.backup'])
  const bytes = readFileSync(file)
  for (const secret of [here.serverSecret, owner.email, 'api_keys']) expect(bytes.includes(secret)).toBe(false)
  const checked = await call(run, ['restore', file, '--check', ...encrypted], { env: {} })
  expect(checked.err).toMatch(/^The file is whole: [\d,]+ rows as of /)

  const there = await newEmptyDatabase()
  const env = { DATABASE_URL: there, SERVER_SECRET: here.serverSecret }
  const restored = await call(run, ['restore', file, ...encrypted], { env })
  expect(restored.err).toMatch(/Restored: [\d,]+ rows as of .*; \d+ events verified\.\nWhatever was revoked/)
  expect(restored).toMatchObject({ code: 0, out: '' })
  expect(await contentsOf(there)).toEqual(before)
  expect(await schemaOf(there)).toEqual(await schemaOf(here.databaseUrl))

  const again = await call(run, ['restore', file, ...encrypted], { env })
  expect(again.code).toBe(1)
  expect(again.err).toMatch(
    /\nThe database to restore into is not empty \(it has "\w+"\), and nothing was changed: .*\n$/,
  )

  const node = await start(env)
  const verify = async (value: string) =>
    (await node.post('/v1/keys/verify', { key: value, storeId: store.id }, { as: service })).body.code
  expect([await verify(key.key), await verify(revoked.key)]).toEqual(['VALID', 'REVOKED'])
  const shown = await node.get(`${billing}/${address.id}`, { as })
  expect(shown.body).toMatchObject({ city: 'Elsewhere', firstName: NEW_ADDRESS.firstName })
  expect((await node.get(`${keys}/${key.id}`, { as })).body.metadata).toEqual({ description: ODD, empty: '' })
  const replayed = await node.post(keys, NEW_KEY, idempotent)
  expect([replayed.text, replayed.headers.get('idempotent-replayed')]).toEqual([once.text, 'true'])
  expect((await node.post(keys, NEW_KEY, { as })).status).toBe(201)
  // Rows numbered by a sequence follow those that were there.
  expect((await node.patch(`${billing}/${address.id}`, { isDefault: true }, { as })).status).toBe(200)
})

test('what is written during a backup is in it as a whole or not at all', async () => {
  const here = await shop({ alone: true })
  const { api, keys, owner } = here
  await here.sql(`insert into usage_flushes select 'filler-' || n, now() from generate_series(1, 50000) as n`)
  let writing = true
  const writers = Array.from({ length: 4 }, async () => {
    while (writing) await api.post(keys, NEW_KEY, { as: owner.token })
  })
  await expect.poll(async () => (await here.sql('select from api_keys limit 1')).length).toBe(1)
  const { code, bytes } = await call(run, ['backup', '-'], { env: envOf(here) })
  writing = false
  await Promise.all(writers)
  expect(code).toBe(0)

  const there = await newEmptyDatabase()
  const env = { DATABASE_URL: there, SERVER_SECRET: here.serverSecret }
  expect(await call(run, ['restore', '-'], { env, input: bytes })).toMatchObject({ code: 0 })
  const [torn] = await query(
    there,
    `select count(*) filter (where key.id is null or event.id is null)::int as torn, count(*)::int as all
       from api_keys key
       full join (select * from events where type = 'key.created') event on event.subject = key.id`,
  )
  expect(torn).toMatchObject({ torn: 0 })
  expect(torn?.all).toBeGreaterThan(0)
})

test('a file that is damaged, cut off, of another kind or under another passphrase is told in a sentence, and changes nothing', async () => {
  const here = await shop({ alone: true })
  for (let n = 0; n < 20; n++) await here.api.post(here.keys, NEW_KEY, { as: here.owner.token })
  const random = newRandom()
  const there = await newEmptyDatabase()
  const env = { DATABASE_URL: there, SERVER_SECRET: here.serverSecret }
  const file = join(folder(), 'storekeeper.backup')
  const restore = async (content: Buffer, more: Env = {}) => {
    writeFileSync(file, content)
    const { code, err } = await call(run, ['restore', file], { env: { ...env, ...more } })
    const left = await query(there, `select from pg_class where relnamespace = 'public'::regnamespace`)
    expect([code, left]).toEqual([1, []])
    return err.trimEnd().split('\n').at(-1)
  }
  for (const more of [{}, { BACKUP_PASSPHRASE: PASSPHRASE }]) {
    const { bytes } = await call(run, ['backup', '-'], { env: { ...envOf(here), ...more } })
    // The time in the head of a gzip stream is covered by no checksum, and means nothing.
    const places = Array.from({ length: 3 }, () => 60 + Math.floor(random.next() * (bytes.length - 60)))
    for (const at of [0, 30, bytes.length - 1, ...places])
      expect(await restore(bytes.subarray(0, at), more), `cut off at ${at}, seed ${random.seed}`).toMatch(
        /^This (backup is (incomplete|damaged): .*|is not a backup of Storekeeper)\.$/,
      )
    for (const at of [bytes.length - 1, ...places]) {
      const altered = Buffer.from(bytes)
      altered[at] = (altered[at] as number) ^ (1 << Math.floor(random.next() * 8))
      // Up to seven bits fill the last byte before the checksum, and mean nothing either.
      if (!('BACKUP_PASSPHRASE' in more) && at === bytes.length - 9) continue
      expect(await restore(altered, more), `altered at ${at}, seed ${random.seed}`).toMatch(
        /^(This|The) (backup|passphrase) is .*\.$|^This is/,
      )
    }
  }
  const { bytes } = await call(run, ['backup', '-'], { env: { ...envOf(here), BACKUP_PASSPHRASE: PASSPHRASE } })
  expect(await restore(bytes)).toMatch(/^This backup is encrypted: give its passphrase in BACKUP_PASSPHRASE/)
  expect(await restore(bytes, { BACKUP_PASSPHRASE: 'another passphrase' })).toBe(
    'The passphrase is not the one that this backup was encrypted with.',
  )
  const plain = await call(run, ['backup', '-'], { env: envOf(here) })
  expect(await restore(plain.bytes, { BACKUP_PASSPHRASE: PASSPHRASE })).toMatch(/^This backup is not encrypted/)
  expect(await restore(randomBytes(5_000))).toBe('This is not a backup of Storekeeper.')
  expect(await restore(plain.bytes, { SERVER_SECRET: randomBytes(32).toString('base64') })).toMatch(
    /^This backup is of a database with the server secret [0-9a-f]{8}, .* Nothing was changed\.$/,
  )
  const short = await call(run, ['backup', '-'], { env: { ...envOf(here), BACKUP_PASSPHRASE: 'short' } })
  expect(short).toMatchObject({ code: 1, err: 'The passphrase should have at least 12 characters.\n' })
})

test('a trail that was altered is not restored', async () => {
  const here = await shop({ alone: true })
  await expect.poll(() => countUnsealed(here)).toBe(0)
  await here.sql('alter table events disable trigger events_append_only')
  await here.sql(`update events set data = '{"name": "Another"}' where type = 'store.created'`)
  const { bytes } = await call(run, ['backup', '-'], { env: envOf(here) })
  const there = await newEmptyDatabase()
  const env = { DATABASE_URL: there, SERVER_SECRET: here.serverSecret }
  const { code, err } = await call(run, ['restore', '-'], { env, input: bytes })
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/The chain of events of store_\w+ is not sound at position 1\.\n$/),
  ])
  expect(await schemaOf(there)).toEqual([])
})

test('messages and mails that were waiting can be discarded, and sessions ended', async () => {
  const here = await shop({ alone: true })
  const { api, owner, store, keys } = here
  const as = owner.token
  await api.post(`/v1/user/store/${store.id}/webhooks`, { url: 'https://receiver.example/', types: ['*'] }, { as })
  await api.post(keys, NEW_KEY, { as })
  await here.sql(`
    insert into mails (id, kind, recipient, data, created_at, next_attempt_at, expires_at)
    values ('mail', 'passwordChanged', 'a@example.com', '{}', now(), now(), now() + interval '1 day')`)
  await expect.poll(async () => (await here.sql('select from webhook_deliveries')).length).toBeGreaterThan(0)
  const { bytes } = await call(run, ['backup', '-'], { env: envOf(here) })
  const there = await newEmptyDatabase()
  const env = { DATABASE_URL: there, SERVER_SECRET: here.serverSecret }
  const options = ['--discard-pending', '--end-sessions']
  expect(await call(run, ['restore', '-', ...options], { env, input: bytes })).toMatchObject({ code: 0 })
  expect(
    await query(
      there,
      `select (select count(*) from webhook_outbox) + (select count(*) from mails) + (select count(*) from sessions)
              + (select count(*) from webhook_deliveries where status = 'PENDING') as left,
              (select count(*) > 0 from webhook_deliveries where status = 'FAILED') as failed`,
    ),
  ).toEqual([{ left: '0', failed: true }])
})

test('embedded: a restore needs the secret beside it, and the restored service starts', async () => {
  const [top, there] = [folder(), join(folder(), 'data')]
  const here = join(top, 'data')
  copyData('migrated', here)
  const service = await startService(readConfig({ DATA_DIR: here, PORT: '0' }), pino({ level: 'silent' }), () => {})
  const api = apiAt(service.url)
  const account = { email: 'ada@example.com', password: randomBytes(16).toString('hex') }
  await api.post('/v1/auth/sign-up', account)
  const file = join(top, 'storekeeper.backup')
  const made = await call(run, ['backup', file], { env: { DATA_DIR: here } })
  expect(made.err).toContain(`keep ${here}/server-secret in another place`)
  await service.close(0)

  const refused = await call(run, ['restore', file], { env: { DATA_DIR: there } })
  expect(refused.code).toBe(1)
  expect(refused.err).toContain(`put the file server-secret of the service that was backed up into ${there}, or set`)
  expect(existsSync(join(there, 'server-secret'))).toBe(false)
  writeFileSync(join(there, 'server-secret'), readFileSync(join(here, 'server-secret')))
  expect(await call(run, ['restore', 'storekeeper.backup'], { env: { DATA_DIR: there }, cwd: top })).toMatchObject({
    code: 0,
  })
  const restored = await startService(readConfig({ DATA_DIR: there, PORT: '0' }), pino({ level: 'silent' }), () => {})
  expect((await apiAt(restored.url).post('/v1/auth/sign-in', account)).status).toBe(200)
  await restored.close(0)
})

// ---- the world of one test ----------------------------------------------------------------------------------------------

function envOf({ databaseUrl, serverSecret }: Shop): Env {
  return { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret }
}

/** Open to everyone, since PostgreSQL runs as another user when we are root. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'backup-'))
  chmodSync(path, 0o755)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function start(env: Env) {
  const service = await startService(
    readConfig({ ...env, PORT: '0', RATE_LIMIT: 'off' }),
    pino({ level: 'silent' }),
    () => {},
  )
  onTestFinished(() => service.close(0))
  return apiAt(service.url)
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function countUnsealed({ sql }: Shop): Promise<number> {
  return (await sql('select count(*)::int as count from unsealed_events'))[0]?.count
}

/** Each table with a digest of its rows. */
async function contentsOf(url: string): Promise<Record<string, unknown>[]> {
  const tables = await query(
    url,
    `select relname::text as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
  )
  const digests = tables.map(
    ({ name }) =>
      `select '${name}' as name, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) from ${name} t`,
  )
  return query(url, digests.join(' union all '))
}

/** Columns, indexes, constraints, triggers and functions, as PostgreSQL writes them. */
function schemaOf(url: string): Promise<Record<string, unknown>[]> {
  return query(
    url,
    `select format('%s.%s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod)) as definition
       from pg_attribute join pg_class on pg_class.oid = attrelid
      where relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped
      union all select pg_get_indexdef(indexrelid) || indisvalid from pg_index join pg_class on oid = indexrelid
      where relnamespace = 'public'::regnamespace
      union all select format('%s %s %s', conname, pg_get_constraintdef(oid), convalidated) from pg_constraint
      where connamespace = 'public'::regnamespace
      union all select pg_get_triggerdef(oid) || tgenabled::text from pg_trigger where not tgisinternal
      union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
      order by 1`,
  )
}
