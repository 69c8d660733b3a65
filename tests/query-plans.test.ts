// What a request costs must not grow with the tables, nor hang on when they were last analysed: each statement finds its
// rows by an index that leads to them and to nothing else. The database counts every row that is read through an index or
// without one; here it has thousands of rows of everything, with statistics
// and without.

import { randomUUID } from 'node:crypto'
import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { newDataKey } from '../src/auth/data-key.ts'
import { readConfig } from '../src/config.ts'
import { newId } from '../src/core/ids.ts'
import { ServerKeys } from '../src/crypto/keyring.ts'
import { mintToken, sha256 } from '../src/crypto/tokens.ts'
import { connect } from '../src/db/pool.ts'
import { sealAll } from '../src/events/seal.ts'
import { MAX_LISTED } from '../src/keys/made.ts'
import { startService } from '../src/service.ts'
import { type Api, apiAt, NEW_ADDRESS, NEW_KEY, type Person, type Shop, shop } from './shop.ts'
import { receiver } from './webhook-receiver.ts'

const MANY = 1_500
const MANY_ENDED = 3_000
const TIMES = 10
/** Long changes under the lock of the one store: several at once might wait for it in vain on a busy machine. */
const ONE_BY_ONE = ['revoke key', 'remove a member', 'leave', 'erase me', 'disable the keys of an owner', 'enable keys']
/** Of each table, for each request; reading any table whole would be dozens of it for each. */
const MAX_ROWS = 40
/** Questions that are asked of one node, and counted together. */
const AT_ONE_NODE = 5

/** Keys that spend something with each verification, and the first of each kind. */
const SPENDING = {
  credits: { first: 100, set: 'has_credits = true' },
  'a rate limit': { first: 200, set: 'rate_limit = 100, rate_limit_window_seconds = 3600' },
  limits: {
    first: 300,
    set: `rate_limits = '[{"name":"a","limit":9,"windowSeconds":60,"shared":null},{"name":"b","limit":9,"windowSeconds":60,"shared":null}]'`,
  },
}

type Folk = {
  sessions: string[]
  users: string[]
  keys: { id: string; key: string }[]
  webhooks: string[]
  service: string
}
type Ask = (api: Api, folk: Folk, n: number) => Promise<{ status: number; text: string }>

test.each(['no statistics tell of', 'statistics tell of'])(
  'a request reads the rows it is about, among thousands of others that %s',
  async (known) => {
    const here = await shop({ alone: true })
    const { owner, keys, billing, store } = here
    const events = `/v1/user/store/${store.id}/events`
    // There are more transactions of the past than events.
    await here.sql('do $$ begin for n in 1..10000 loop perform pg_current_xact_id(); commit; end loop; end $$')
    const folk = await crowd(here)
    await letKeysSpend(here, folk)
    if (known === 'statistics tell of') {
      // As if each event had been written by itself, before now: what is the same in all of them is no way to find one.
      await here.sql(`
      alter table events disable trigger user;
      update events set tx = n::text::xid8
        from (select id, row_number() over (order by id) as n from events) as numbered
       where events.id = numbered.id;
      alter table events enable trigger user`)
      await here.sql('analyze')
    }
    const deliveries = `/v1/user/store/${store.id}/webhooks/${folk.webhooks[0]}/deliveries`
    const as = (folk: Folk, n: number) => ({ as: folk.sessions[n] as string })
    const once = (folk: Folk, n: number) => ({ ...as(folk, n), headers: { 'idempotency-key': randomUUID() } })
    const key = (folk: Folk, n: number) => `${keys}/${folk.keys[n]?.id}`

    const asks: Record<string, Ask> = {
      // First: keys that were not used yet are passed by.
      'usage of the keys': (api, folk, n) => api.get(`${keys}/usage?limit=5`, as(folk, n)),
      'create key': (api, folk, n) => api.post(keys, NEW_KEY, as(folk, n)),
      'create key, once': (api, folk, n) => api.post(keys, NEW_KEY, once(folk, n)),
      'create address': (api, folk, n) => api.post(billing, NEW_ADDRESS, as(folk, n)),
      'create address, once': (api, folk, n) => api.post(billing, { ...NEW_ADDRESS, isDefault: true }, once(folk, n)),
      'list addresses': (api, folk, n) => api.get(billing, as(folk, n)),
      'addresses of a user': (api, folk, n) =>
        api.get(`/v1/user/store/${store.id}/billing?userId=${folk.users[n]}`, { as: owner.token }),
      'list keys': (api, folk, n) => api.get(`${keys}?limit=5`, as(folk, n)),
      'list keys of an owner': (api, folk, n) => api.get(`${keys}?owner=owner-${n}`, as(folk, n)),
      'usage of an owner': (api, folk, n) =>
        api.get(`/v1/user/store/${store.id}/owners/owner-${n}/usage?interval=day`, as(folk, n)),
      'usage of a key': (api, folk, n) => api.get(`${key(folk, n)}/usage`, as(folk, n)),
      'disable the keys of an owner': (api, folk, n) =>
        api.post(`${keys}/bulk`, { owner: `owner-${n}`, action: 'disable' }, once(folk, n)),
      'enable keys': (api, folk, n) =>
        api.post(`${keys}/bulk`, { ids: [folk.keys[n]?.id], action: 'enable' }, once(folk, n)),
      'read key': (api, folk, n) => api.get(key(folk, n), as(folk, n)),
      'change key': (api, folk, n) => api.patch(key(folk, n), { name: 'Till' }, as(folk, n)),
      'rotate key': (api, folk, n) => api.post(`${key(folk, n + TIMES)}/rotate`, {}, once(folk, n)),
      'verify key': (api, folk, n) =>
        api.post('/v1/keys/verify', { key: folk.keys[n]?.key, anyStore: true }, { as: folk.service }),
      ...Object.fromEntries(
        Object.entries(SPENDING).map(([what, { first }]) => [
          `verify a key with ${what}`,
          (api: Api, folk: Folk, n: number) =>
            api.post('/v1/keys/verify', { key: folk.keys[first + n]?.key, anyStore: true }, { as: folk.service }),
        ]),
      ),
      'verify an unknown key': (api, folk) =>
        api.post('/v1/keys/verify', { key: mintToken('skp', 'prod').reveal(), anyStore: true }, { as: folk.service }),
      'revoke key': (api, folk, n) => api.delete(key(folk, n), as(folk, n)),
      'list events': (api, folk, n) => api.get(`${events}?limit=5`, as(folk, n)),
      'list events of a type': (api, folk, n) => api.get(`${events}?limit=5&type=member.left`, as(folk, n)),
      'list events of types': (api, folk, n) => api.get(`${events}?limit=3&type=key.created,key.updated`, as(folk, n)),
      'list events of a subject': (api, folk, n) => api.get(`${events}?subject=${folk.keys[n]?.id}`, as(folk, n)),
      'list deliveries': (api, folk, n) => api.get(`${deliveries}?limit=5`, as(folk, n)),
      'who am I': (api, folk, n) => api.get('/v1/user', as(folk, n)),
      'export all about me': (api, folk, n) => api.get('/v1/user/export', as(folk, n)),
      'list invitations': (api, folk, n) => api.get(`/v1/user/store/${store.id}/invitations`, as(folk, n)),
      invite: (api, folk, n) =>
        api.post(`/v1/user/store/${store.id}/invitations`, { email: `${n}@example.com`, role: 'STAFF' }, as(folk, n)),
      'remove a member': (api, folk, n) =>
        api.delete(`/v1/user/store/${store.id}/members/${folk.users[n + TIMES]}?keys=revoke`, { as: owner.token }),
      leave: (api, folk, n) => api.post(`/v1/store/${store.id}/leave?keys=revoke`, undefined, as(folk, n + 2 * TIMES)),
      'erase me': (api, folk, n) => api.delete('/v1/user', as(folk, n)),
    }
    const tooMany: Record<string, number> = {}
    const all = Object.entries(asks)
    for (let n = 0; n < all.length; n += AT_ONE_NODE) {
      const group = all.slice(n, n + AT_ONE_NODE)
      const read = await rowsReadBy(here, folk, group)
      for (const [table, rows] of Object.entries(read))
        if (rows > group.length * TIMES * MAX_ROWS)
          tooMany[`${group.map(([name]) => name).join(', ')}: ${table}`] = rows
    }
    expect(tooMany).toEqual({})
  },
)

test('creating keys and addresses reads the same few rows, though tables were small when its plans were made', async () => {
  const here = await shop({ alone: true, MAX_ADDRESSES_PER_USER: '1000' })
  const { api, owner, keys, billing, service } = here
  await keepStatistics(here)
  const create = async () => {
    const asked = Array.from({ length: TIMES }, () => [
      api.post(keys, NEW_KEY, { as: owner.token }),
      api.post(billing, NEW_ADDRESS, { as: owner.token }),
    ])
    const answers = await Promise.all(asked.flat())
    expect(answers.map(({ status, text }) => (status === 201 ? 'fine' : text))).toEqual(Array(2 * TIMES).fill('fine'))
  }
  await create()
  await fill(here)
  const before = await rowsRead(here)
  for (let n = 0; n < 3; n++) await create()
  await service.close(0)
  const after = await rowsReadByNow(here)
  for (const table of ['stores', 'members', 'sessions', 'users'])
    expect((after[table] ?? 0) - (before[table] ?? 0), table).toBeLessThan(3 * TIMES * MAX_ROWS)
})

test('settling somebody whose key has rotated itself many times reads each rotation once', async () => {
  const here = await shop({ alone: true })
  const { api, owner, keys, store, service, sql } = here
  const times = 500
  const { id } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  await sql(
    `insert into key_rotations (key_id, secret_no, rotated_by_kind, rotated_by_id, rotated_by_secret_no, rotated_at)
     select $1, n + 1, 'key', $1, n, now() from generate_series(1, $2::int) n`,
    [id, times],
  )
  await sql('update api_keys set secret_no = $2 + 1 where id = $1', [id, times])
  const before = await rowsRead(here)
  const { status, body } = await api.patch(`/v1/user/store/${store.id}/members/${owner.id}`, {}, { as: owner.token })
  expect([status, body.keys]).toMatchObject([200, [{ id }]])
  await service.close(0)
  const after = await rowsReadByNow(here)
  expect((after.key_rotations ?? 0) - (before.key_rotations ?? 0)).toBeLessThan(2 * times)
})

test('settling somebody who made and rotated all the keys there are reads each a few times, as statistics know', async () => {
  const here = await shop({ alone: true })
  const { api, owner, member, keys, store, service, sql } = here
  const [manager, other] = [await member('MANAGER'), await member('MANAGER')]
  const original = (await api.post(keys, NEW_KEY, { as: manager.token })).body
  await copyKey(here, original.id, MANY)
  await sql(
    `insert into key_rotations (key_id, secret_no, rotated_by_kind, rotated_by_id, rotated_at)
     select id, 2, 'user', $1, now() from api_keys`,
    [manager.id],
  )
  await sql('update api_keys set secret_no = 2')
  await sql('analyze')
  const before = await rowsRead(here)
  const settle = ({ id }: Person) =>
    api.patch(`/v1/user/store/${store.id}/members/${id}`, { role: 'STAFF' }, { as: owner.token })
  expect((await settle(other)).body.keys).toEqual([])
  expect((await settle(manager)).body.keys).toHaveLength(MAX_LISTED)
  await service.close(0)
  const after = await rowsReadByNow(here)
  for (const table of ['api_keys', 'key_rotations', 'key_makers'])
    expect((after[table] ?? 0) - (before[table] ?? 0), table).toBeLessThan(20 * MANY)
})

test('settling somebody, freezing and listing what works reads no more, however many keys were revoked or have expired', async () => {
  const here = await shop({ alone: true })
  const { api, owner, member, keys, store, service } = here
  await keepStatistics(here)
  const manager = await member('MANAGER')
  const made = async (as: string) =>
    (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_KEYS'] }, { as })).body as {
      id: string
      key: string
    }
  const first = await made(manager.token)
  // The key between the first and the last does not work any more: the last is found all the same.
  const between = await made(first.key)
  const last = await made(between.key)
  await api.delete(`${keys}/${between.id}`, { as: owner.token })
  await endedKeys(here, 'user', manager.id, MANY_ENDED)
  await endedKeys(here, 'key', first.id, MANY_ENDED)
  const before = await rowsRead(here)

  const revoked = await api.delete(`${keys}/${first.id}`, { as: owner.token })
  const path = `/v1/user/store/${store.id}/members/${manager.id}`
  const demoted = await api.patch(path, { role: 'STAFF' }, { as: owner.token })
  const removed = await api.delete(`${path}?keys=revoke`, { as: owner.token })
  const settled = [revoked.body.made.keys, demoted.body.keys, removed.body.keys] as { id: string; status: string }[][]
  expect(settled.map((listed) => listed.length)).toEqual([MAX_LISTED, MAX_LISTED, MAX_LISTED])
  // Though all that have ended have newer ids.
  expect(settled.map((listed) => listed.find(({ id }) => id === last.id)?.status)).toEqual([
    'ACTIVE',
    'ACTIVE',
    'REVOKED',
  ])
  expect((await api.get('/v1/key', { as: last.key })).status).toBe(401)
  const { id } = await made(owner.token)
  expect((await api.post(`${keys}/freeze`, undefined, { as: owner.token })).body).toEqual({ affected: 1 })
  const { data, nextCursor } = (await api.get(`${keys}?status=ACTIVE`, { as: owner.token })).body
  expect([data, nextCursor]).toMatchObject([[{ id }], null])

  await service.close(0)
  const after = await rowsReadByNow(here)
  // Each of the three finds those that it lists, and reads them again to list them.
  expect((after.api_keys ?? 0) - (before.api_keys ?? 0)).toBeLessThan(3 * 3 * MAX_LISTED)
})

test('sealing an event reads that event, among thousands that are sealed', async () => {
  const here = await shop({ alone: true })
  const { store, sql } = here
  await crowd(here)
  const before = await rowsReadByNow(here)
  const db = connect({ connectionString: here.databaseUrl })
  for (let n = 0; n < TIMES; n++) {
    await sql(
      `insert into events (id, store_id, type, at, actor, subject, data)
       values ($1, $2, 'store.updated', now(), '{}', $2, '{}')`,
      [newId('evt'), store.id],
    )
    await sealAll(db)
  }
  await db.close()
  const after = await rowsReadByNow(here)
  // By a connection that may read a table whole, and so only now.
  expect(await sql('select from unsealed_events')).toEqual([])
  const tooMany = Object.entries(after).filter(([table, rows]) => rows - (before[table] ?? 0) > TIMES * MAX_ROWS)
  expect(tooMany).toEqual([])
})

test('sending a message reads that message, among thousands that wait, though there were few when it began', async () => {
  const here = await shop({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const { api, owner, store, keys, service, sql } = here
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  await sql('alter table webhook_deliveries set (autovacuum_enabled = off)')
  const [good, bad] = [await receiver(), await receiver(500)]
  for (const { url } of [good, bad]) await api.post(webhooks, { url, types: ['key.created'] }, { as: owner.token })
  const sends = async (count: number) => {
    const sent = good.received.length
    for (let n = 0; n < count; n++) await api.post(keys, NEW_KEY, { as: owner.token })
    await Promise.all([good, bad].map(({ messages }) => messages(sent + count)))
  }
  // As often as it takes until its plans are made, and kept.
  await sends(TIMES)
  // Nobody looks while it is written: whoever did would pass by all of it, in search of what is committed.
  await sql(
    `begin;
     lock table webhook_deliveries in access exclusive mode;
     insert into webhook_deliveries (webhook_id, id, event_id, type, cause, next_attempt_at, created_at)
     select id, 'dlv_' || n, 'evt_' || n, 'key.created', 'EVENT', now() + interval '1 day', now()
       from webhooks cross join generate_series(1, ${MANY}) as n;
     commit`,
  )
  await sends(TIMES)
  await service.close(0)
  const { webhook_deliveries, webhooks: ofWebhooks } = await rowsRead(here)
  expect(webhook_deliveries).toBeLessThan(2 * TIMES * MAX_ROWS)
  expect(ofWebhooks).toBeLessThan(2 * TIMES * MAX_ROWS)
})

// ---- helpers --------------------------------------------------------------------------------------------------------

const numbersFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => first + n)

/** By a node of its own: what its connections have read is counted when they end. */
async function rowsReadBy(here: Shop, folk: Folk, asks: [string, Ask][]): Promise<Record<string, number>> {
  // What was asked before has written events, and these are sealed: a list of events reads all that are not.
  const db = connect({ connectionString: here.databaseUrl })
  await sealAll(db)
  await db.close()
  const before = await rowsReadByNow(here)
  const { url, close } = await startService(
    readConfig({ DATABASE_URL: here.databaseUrl, SERVER_SECRET: here.serverSecret, PORT: '0', RATE_LIMIT: 'off' }),
    pino({ level: 'silent' }),
    () => {},
  )
  for (const [name, ask] of asks) {
    const answers: Awaited<ReturnType<Ask>>[] = []
    const together = ONE_BY_ONE.includes(name) ? 1 : 5
    for (let n = 0; n < TIMES; n += together)
      answers.push(...(await Promise.all(numbersFrom(n, together).map((n) => ask(apiAt(url), folk, n)))))
    expect(answers.map(({ status, text }) => (status < 300 ? 'fine' : text))).toEqual(Array(TIMES).fill('fine'))
  }
  await close(0)
  const after = await rowsReadByNow(here)
  return Object.fromEntries(Object.entries(after).map(([table, rows]) => [table, rows - (before[table] ?? 0)]))
}

/**
 * How many rows were ever read of each table. What a connection has read is counted when the server has ended it, some
 * time after its client has closed it.
 */
async function rowsReadByNow(here: Shop): Promise<Record<string, number>> {
  const open = `select from pg_stat_activity where datname = current_database() and application_name = 'storekeeper'`
  await vi.waitFor(async () => expect(await here.sql(open)).toEqual([]), 60_000)
  return rowsRead(here)
}

async function rowsRead({ sql }: Shop): Promise<Record<string, number>> {
  await sql('select pg_stat_force_next_flush()')
  const rows = await sql(`
    select relname, coalesce(seq_tup_read, 0) + (
             select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes index where index.relid = stat.relid
           ) as read
      from pg_stat_user_tables stat`)
  return Object.fromEntries(rows.map(({ relname, read }) => [relname, Number(read)]))
}

/** Nothing is analysed from now on. */
async function keepStatistics({ sql }: Shop): Promise<void> {
  const tables = await sql(`select relname from pg_stat_user_tables`)
  for (const { relname } of tables) await sql(`alter table ${relname} set (autovacuum_enabled = off)`)
}

/** So many more keys like it. */
async function copyKey({ sql }: Shop, id: string, count: number): Promise<void> {
  const columns = await sql(
    `select column_name as name from information_schema.columns where table_name = 'api_keys' and is_generated = 'NEVER'`,
  )
  const values: Record<string, string> = {
    id: `'key_00a' || lpad(n::text, 23, '0')`,
    hash: `sha256(('a' || n)::bytea)`,
  }
  await sql(
    `insert into api_keys (${columns.map(({ name }) => name)})
     select ${columns.map(({ name }) => values[name] ?? `original.${name}`)}
       from api_keys original, generate_series(1, $2::int) as n
      where original.id = $1`,
    [id, count],
  )
}

/** Half of them revoked, half of them expired. Their ids are those of the newest keys. */
async function endedKeys({ sql, store }: Shop, kind: 'user' | 'key', makerId: string, count: number): Promise<void> {
  await sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                           created_by_id, created_by_secret_no, revoked_at, expires_at, created_at, updated_at)
     select 'key_z' || $2 || lpad(n::text, 21, '0'), $1, 'Old', 'PROD', '{READ}', '{}', 'skp_prod_abcd',
            sha256(($2 || n)::bytea), 'k', $2, $3, case when $2 = 'key' then 1 end,
            case when n % 2 = 0 then now() end, case when n % 2 = 1 then now() - interval '1 second' end, now(), now()
       from generate_series(1, $4::int) as n`,
    [store.id, kind, makerId, count],
  )
}

async function crowd(here: Shop): Promise<Folk> {
  await keepStatistics(here)
  const folk = await fill(here)
  // Nobody else reads while we count, and what was read so far is counted.
  await here.service.close(0)
  return folk
}

/** All have something that could be spent, and a few of them spend it. */
async function letKeysSpend({ sql }: Shop, folk: Folk): Promise<void> {
  await sql('insert into key_credits (key_id, remaining) select id, 1000 from api_keys')
  await sql(`
    insert into key_rate_windows (id, began_at, seconds, used)
    select id || suffix, now(), 60, 0
      from api_keys cross join unnest('{"",:a,:b}'::text[]) as suffix`)
  for (const { first, set } of Object.values(SPENDING)) {
    const ids = folk.keys.slice(first, first + TIMES).map(({ id }) => id)
    await sql(`update api_keys set ${set} where id = any($1)`, [ids])
  }
}

/** Thousands of everything; of the first of them we know the secrets. */
async function fill({ sql, store, serverSecret, serviceToken }: Shop): Promise<Folk> {
  const server = new ServerKeys(Buffer.from(serverSecret, 'base64'))
  const folk = Array.from({ length: MANY }, () => {
    const user = newId('user')
    const dataKey = newDataKey({ current: server, previous: null }, user)
    const token = mintToken('skp', 'sess').reveal()
    const key = mintToken('skp', 'prod').reveal()
    return {
      user,
      data_key: dataKey.wrapped.toString('hex'),
      session: newId('sess'),
      token,
      hash: sha256(token).toString('hex'),
      key_id: newId('key'),
      key,
      key_hash: server.hmac('key-hash', key).toString('hex'),
      store_id: newId('store'),
      address: newId('addr'),
      service: newId('svc'),
      event: newId('evt'),
      webhook: newId('wh'),
      delivery: newId('dlv'),
    }
  })
  await sql(
    `with one as (
       select * from json_to_recordset($1) as one("user" text, data_key text, session text, hash text, key_id text, key_hash text,
                                                  store_id text, address text, service text, event text,
                                                  webhook text, delivery text)
     ), person as (
       insert into users (id, email, password_hash, data_key, data_key_kid, created_at, updated_at)
       select "user", "user" || '@example.com', 'none', decode(data_key, 'hex'), $3, now(), now() from one
     ), other_store as (
       insert into stores (id, name, account_id, created_at, updated_at) select store_id, 'Another', "user", now(), now() from one
     ), member as (
       insert into members (store_id, user_id, role, created_at, updated_at)
       select $2, "user", 'OWNER', now(), now() from one
     ), session as (
       insert into sessions (id, user_id, hash, created_at, last_used_at, expires_at)
       select session, "user", decode(hash, 'hex'), now(), now(), now() + interval '90 days' from one
     ), key as (
       insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                             created_by_id, created_at, updated_at, secret_no, owner)
       select key_id, $2, 'Checkout', 'PROD', '{READ}', '{}', 'skp_prod_abcd', decode(key_hash, 'hex'), $3, 'user',
              "user", now(), now(), 4, 'owner-' || row_number() over () - 1
         from one
     ), usage as (
       insert into key_usage (key_id, grain, at, outcome, secret_no, count)
       select key_id, grain, date_trunc(grain, now()), 'VALID', 1, 1 from one cross join unnest(array['hour', 'day']) as grain
     ), service as (
       insert into service_tokens (id, name, hash, created_at) select service, 'Gateway', sha256(service::bytea), now() from one
     ), event as (
       insert into events (id, store_id, type, at, actor, subject, data)
       select event || n, $2, type, now(), actor, subject, '{}'
         from one
        cross join lateral (
                values (0, 'key.created', '{"kind":"user","id":"u","credential":null,"ip":null}'::json, key_id),
                       (1, 'member.updated', json_build_object('kind', 'user', 'id', "user", 'credential', null, 'ip', null), "user"),
                       (2, 'member.invited', '{"kind":"user","id":"x","credential":null,"ip":null}', 'inv_' || "user")
              ) as happened(n, type, actor, subject)
     ), invitation as (
       insert into invitations (id, store_id, email, role, hash, created_by_kind, created_by_id, created_at, expires_at)
       select 'inv_' || "user", $2, "user" || '@example.com', 'STAFF', sha256("user"::bytea), 'user', 'by ' || "user", now(),
              now() - interval '1 day'
         from one
     ), was_default as (
       insert into address_defaults (store_id, user_id, address_id, since, until)
       select $2, "user", address, now(), now() from one
     ), webhook as (
       insert into webhooks (id, store_id, url, types, enabled, disabled_at, disabled_reason, secret, secret_kid,
                             created_by_kind, created_by_id, created_at, updated_at)
       select webhook, case when webhook = $4 then $2 else store_id end, 'https://example.com', '{*}', false, now(),
              'REQUESTED', '', $3, 'user', "user", now(), now()
         from one
     ), delivery as (
       insert into webhook_deliveries (webhook_id, id, event_id, type, cause, status, created_at)
       select webhook_id, delivery, event, 'key.created', 'EVENT', 'DELIVERED', now()
         from one cross join unnest(array[webhook, $4]) as webhook_id
        where webhook_id <> $4 or webhook <> $4
     )
     insert into idempotent_responses (lookup, fingerprint, reveals_secret, status, kid, created_at)
     select sha256(session::bytea), '', false, 201, $3, now() from one`,
    [JSON.stringify(folk), store.id, server.kid, folk[0]?.webhook],
  )
  await vi.waitFor(async () => expect(await sql('select from unsealed_events')).toEqual([]), 60_000)
  return {
    sessions: folk.map(({ token }) => token),
    users: folk.map(({ user }) => user),
    keys: folk.map(({ key_id, key }) => ({ id: key_id, key })),
    webhooks: folk.map(({ webhook }) => webhook),
    service: await serviceToken(null),
  }
}
