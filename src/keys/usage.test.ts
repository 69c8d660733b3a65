import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serviceClient } from '../../tests/service-client.ts'
import { type Api, NEW_KEY, type Shop, shop, USAGE_AT_ONCE } from '../../tests/shop.ts'
import { DAY, HOUR, MINUTE, now, nowMs, SECOND, travel } from '../core/clock.ts'
import { Failure } from '../core/errors.ts'
import { ServerKeys } from '../crypto/keyring.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newUsage } from './usage.ts'
import { rollUpUsage } from './usage-retention.ts'

/** The tests say when uses are written down. */
const NEVER = DAY
const keyring = { current: new ServerKeys(Buffer.alloc(32)), previous: null }

// ---- how it is read -------------------------------------------------------------------------------------------------

/** Used with this API, from no address. */
const NOWHERE = { ip: null, serviceId: null }

test('use is counted by the hour and by the day, by outcome; and a node that stops writes down all it has', async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  const { api, keys, owner } = world
  const other = await world.node()
  const back = await serviceClient(world)
  const made = await create(world, { permissions: ['READ', 'MANAGE_KEYS'] })
  const idle = await create(world)
  // Ten minutes after a full hour, which is not the last of its day.
  travel(DAY - (now().getTime() % DAY) + 10 * MINUTE)
  const first = Math.floor(nowMs() / HOUR) * HOUR
  for (let n = 0; n < 3; n++) await back.codeOf(made.key, { permissions: ['READ'] })
  await back.codeOf(made.key, {}, other)
  await back.codeOf(made.key, { permissions: ['WRITE'] })
  await back.codeOf(made.key, { storeId: 'store_of_another' })
  expect((await api.get('/v1/key', { as: made.key })).status).toBe(200)
  travel(HOUR)
  await back.codeOf(made.key)
  await api.post(`${keys}/freeze`, undefined, { as: owner.token })
  await back.codeOf(made.key)
  await api.post(`${keys}/unfreeze`, undefined, { as: owner.token })
  travel(DAY)
  await api.patch(`${keys}/${made.id}`, { enabled: false }, { as: owner.token })
  await back.codeOf(made.key)
  await back.codeOf(made.key)
  // The other node has one to write as well: it does so within a minute.
  await until(async () => (await world.sql('select * from key_usage')).length > 0)
  await world.service.close(0)
  await until(async () => (await sumOf(world)) === 10)

  const reader = await world.node()
  const usage = (query: string, id = made.id) => read(reader, world, `${id}/usage?${query}`)
  const at = (ms: number) => new Date(ms).toISOString()
  const [from, to] = [at(first), at(first + 2 * DAY)]
  const hours = [
    { at: at(first), counts: { INSUFFICIENT_PERMISSIONS: 1, VALID: 5 } },
    { at: at(first + HOUR), counts: { FROZEN: 1, VALID: 1 } },
    { at: at(first + HOUR + DAY), counts: { DISABLED: 2 } },
  ]
  expect(await usage(`from=${from}&to=${to}`)).toMatchObject({ from, to, interval: 'hour', data: hours })
  expect(await usage(`from=${from}&to=${to}&interval=day`)).toMatchObject({
    from,
    to,
    interval: 'day',
    data: [
      { at: from, counts: { FROZEN: 1, INSUFFICIENT_PERMISSIONS: 1, VALID: 6 } },
      { at: at(first + DAY), counts: { DISABLED: 2 } },
    ],
  })
  // What begins within an hour begins with it; what ends with an hour does not hold the next.
  expect(await usage(`from=${at(first + 30 * MINUTE)}&to=${at(first + HOUR)}`)).toMatchObject({
    from,
    to: at(first + HOUR),
    interval: 'hour',
    data: hours.slice(0, 1),
  })
  const usual = await usage('')
  expect(usual.data).toEqual(hours.slice(1))
  expect(Date.parse(usual.to) - Date.parse(usual.from)).toBeLessThan(DAY + HOUR)
  expect((await usage('interval=day')).data).toHaveLength(2)
  expect((await usage(`from=${from}&to=${to}`, idle.id)).data).toEqual([])
})

test('keys that were used are found among thousands that were not, a part of whom is looked at for each page', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const used = await create(world)
  await world.sql(
    `insert into key_usage (key_id, grain, at, outcome, secret_no, count) values ($1, 'hour', date_trunc('hour', now()), 'VALID', 1, 7)`,
    [used.id],
  )
  await world.sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind, created_by_id,
                           created_at, updated_at, revoked_at)
     select 'key_9' || lpad(n::text, 25, '0'), $2, name, type, permissions, metadata, start, sha256((id || n)::bytea), hash_kid,
            created_by_kind, created_by_id, now(), now(), now()
       from api_keys cross join generate_series(1, 2000) as n
      where id = $1`,
    [used.id, store.id],
  )
  const read = async (cursor: string | null) => {
    const { body } = await api.get(`${keys}/usage?interval=day${cursor ? `&cursor=${cursor}` : ''}`, {
      as: owner.token,
    })
    return { found: body.data.map(({ keyId }: { keyId: string }) => keyId), nextCursor: body.nextCursor }
  }
  const first = await read(null)
  expect(first).toEqual({ found: [], nextCursor: expect.any(String) })
  expect(await read(first.nextCursor)).toEqual({ found: [used.id], nextCursor: null })
})

test('422: a span must have a length, and not too great a one', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const { id } = await create(world)
  const end = Date.parse('2027-03-01T10:45:30.000Z')
  const at = (ms: number) => new Date(ms).toISOString()
  const span = (ms: number, interval: string) => `from=${at(end - ms)}&to=${at(end)}&interval=${interval}`
  for (const [query, faults] of [
    [span(31 * DAY, 'hour'), []],
    [span(31 * DAY + 1, 'hour'), ['?from too_far']],
    [span(400 * DAY, 'day'), []],
    [span(400 * DAY + 1, 'day'), ['?from too_far']],
    [span(1, 'hour'), []],
    [span(0, 'hour'), ['?from not_before']],
    [span(-10 * MINUTE, 'hour'), ['?from not_before']],
    [span(-HOUR, 'day'), ['?from not_before']],
    ['interval=week', ['?interval unknown_value']],
    ['from=yesterday', ['?from invalid_time']],
    ['to=2027-02-30T00:00:00Z', ['?to invalid_time']],
    ['from=2027-02-01T00:00:00', ['?from invalid_time']],
    [
      'from=1&to=2&interval=3&limit=4',
      ['?from invalid_time', '?interval unknown_value', '?limit unknown_member', '?to invalid_time'],
    ],
  ] as const) {
    const { status, body } = await api.get(`${keys}/${id}/usage?${query}`, { as: owner.token })
    const told = (body.errors ?? []).map((fault: { pointer: string; code: string }) => `${fault.pointer} ${fault.code}`)
    expect([query, status, told.sort()]).toEqual([query, faults.length > 0 ? 422 : 200, faults])
  }
})

test('advice: what a key really needed in the last 30 days, and what could be taken from it', async () => {
  const world = await shop({ alone: true })
  const { api, keys } = world
  const back = await serviceClient(world)
  const made = await create(world, { permissions: ['READ', 'WRITE', 'MANAGE_ORDERS', 'MANAGE_KEYS'] })
  const fresh = await create(world)
  const either = await create(world, { permissions: ['READ', 'WRITE', 'MANAGE_ORDERS'] })
  const start = now().getTime()
  expect(await back.codeOf(either.key, { anyPermissions: ['READ', 'MANAGE_ORDERS', 'MANAGE_KEYS'] })).toBe('VALID')
  await back.codeOf(made.key, { permissions: ['READ', 'MANAGE_ORDERS'] })
  await back.codeOf(made.key, { permissions: ['WRITE', 'MANAGE_STORE'] })
  await back.codeOf(made.key)
  expect((await api.get(keys, { as: made.key })).status).toBe(200)
  const end = now().getTime()
  await world.service.close(0)
  const reader = await world.node()
  const advice = await read(reader, world, `${made.id}/advice`)
  expect(advice).toEqual({
    since: expect.any(String),
    unused: ['WRITE'],
    exercised: { MANAGE_KEYS: expect.any(String), MANAGE_ORDERS: expect.any(String), READ: expect.any(String) },
  })
  for (const at of Object.values(advice.exercised) as string[])
    expect([Date.parse(at) >= start, Date.parse(at) <= end]).toEqual([true, true])
  expect(Math.abs(Date.parse(advice.since) + 30 * DAY - now().getTime())).toBeLessThan(10 * SECOND)
  expect((await read(reader, world, `${fresh.id}/advice`)).unused).toEqual(['READ', 'WRITE'])
  // Whichever of them let it in: without both it would be refused.
  expect(await read(reader, world, `${either.id}/advice`)).toMatchObject({
    unused: ['WRITE'],
    exercised: { READ: expect.any(String), MANAGE_ORDERS: expect.any(String) },
  })
  await world.sql(`update key_permission_use set at = at - interval '31 days' where permission = 'READ'`)
  expect(await read(reader, world, `${made.id}/advice`)).toMatchObject({ unused: ['READ', 'WRITE'] })
})

// ---- how it is written ----------------------------------------------------------------------------------------------

test('a flush whose answer was lost is sent again, and nothing is counted twice', async () => {
  const world = await shop({ alone: true })
  const { db } = world.service
  const made = await create(world)
  let lost = 0
  const usage = newUsage(
    {
      ...db,
      transaction: async (work) => {
        const result = await db.transaction(work)
        if (lost++ < 2) throw new Failure('unavailable')
        return result
      },
    },
    keyring,
    NEVER,
  )
  const use = () =>
    usage.count({
      keyId: made.id,
      secretNo: 1,
      outcome: 'VALID',
      permissions: ['READ'],
      rehashTo: null,
      source: NOWHERE,
    })
  use()
  use()
  await usage.flush()
  expect(await sumOf(world)).toBe(2)
  use()
  await usage.flush()
  expect([lost, await sumOf(world)]).toEqual([2, 2])
  use()
  await Promise.all([usage.flush(), usage.flush(), usage.flush()])
  expect(await sumOf(world)).toBe(4)
  await usage.close()
  expect(await sumOf(world)).toBe(4)
})

test('a flush writes what there was when it began: what is used meanwhile waits for the next', async () => {
  const world = await shop({ alone: true })
  const { db } = world.service
  const made = await create(world)
  let flushes = 0
  const use = () =>
    usage.count({
      keyId: made.id,
      secretNo: 1,
      outcome: 'VALID',
      permissions: ['READ'],
      rehashTo: null,
      source: NOWHERE,
    })
  const usage = newUsage(
    {
      ...db,
      // However busy the service is, there is one write in each interval.
      transaction: (work) => {
        flushes += 1
        if (flushes < 5) use()
        return db.transaction(work)
      },
    },
    keyring,
    NEVER,
  )
  use()
  await usage.flush()
  expect([flushes, await sumOf(world)]).toEqual([1, 1])
  await usage.close()
  expect([flushes, await sumOf(world)]).toEqual([2, 2])
})

test('while the database is away nothing is lost and nobody is held up', async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  const back = await serviceClient(world)
  const made = await create(world)
  const away = vi.spyOn(world.service.db, 'transaction').mockRejectedValue(new Failure('unavailable'))
  for (let n = 0; n < 5; n++) expect(await back.codeOf(made.key)).toBe('VALID')
  await until(async () => away.mock.calls.length > 0)
  for (let n = 0; n < 5; n++) expect(await back.codeOf(made.key)).toBe('VALID')
  expect(await sumOf(world)).toBe(0)
  away.mockRestore()
  await world.service.close(0)
  expect(await sumOf(world)).toBe(10)
})

test('what was gathered for very many keys is written in parts, and all of it', async () => {
  const world = await shop({ alone: true })
  const { db } = world.service
  const made = await create(world)
  await world.sql(`
    insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                          created_by_id, created_at, updated_at)
    select 'key_' || n, store_id, name, type, permissions, metadata, start, decode(md5(n::text), 'hex'), hash_kid,
           created_by_kind, created_by_id, created_at, updated_at
      from api_keys, generate_series(1, 12000) as n`)
  let flushes = 0
  const usage = newUsage(
    {
      ...db,
      transaction: (work) => {
        flushes += 1
        return db.transaction(work)
      },
    },
    keyring,
    NEVER,
  )
  for (let round = 0; round < 2; round++)
    for (let n = 1; n <= 12_000; n++)
      usage.count({
        keyId: `key_${n}`,
        secretNo: 1,
        outcome: 'VALID',
        permissions: ['READ'],
        rehashTo: null,
        source: NOWHERE,
      })
  usage.count({
    keyId: 'key_that_is_gone',
    secretNo: 1,
    outcome: 'VALID',
    permissions: [],
    rehashTo: null,
    source: NOWHERE,
  })
  await usage.close()
  expect([flushes, await sumOf(world)]).toEqual([3, 24_000])
  const [{ used }] = await world.sql('select count(last_used_at)::int as used from api_keys')
  expect(used).toBe(12_000)
  expect((await world.sql('select last_used_at from api_keys where id = $1', [made.id]))[0].last_used_at).toBeNull()
})

test('use whose commit takes longer than its answer is waited for is counted once, and that of a locked key is not lost', async () => {
  const world = await shop({ alone: true })
  const { db } = world.service
  const made = await create(world)
  const client = new pg.Client({ connectionString: world.databaseUrl })
  onTestFinished(() => client.end())
  await client.connect()
  const stalled = { query: async (statement) => (await client.query(statement)).rows } as Db
  let isFirst = true
  const usage = newUsage(
    {
      ...db,
      transaction: async (work) => {
        if (!isFirst) return db.transaction(work)
        isFirst = false
        await client.query('begin')
        await work(stalled)
        throw new Failure('unavailable', { retryAfterSeconds: 1 })
      },
    },
    keyring,
    DAY,
  )
  const use = () =>
    usage.count({ keyId: made.id, secretNo: 1, outcome: 'VALID', permissions: [], rehashTo: null, source: NOWHERE })
  for (let n = 0; n < 40; n++) use()
  await usage.flush()
  // Sent again, it waits for the commit in vain.
  await usage.flush()
  expect(await sumOf(world)).toBe(0)
  await client.query('commit')
  await usage.flush()
  expect(await sumOf(world)).toBe(40)

  await client.query('begin')
  await client.query('select from api_keys where id = $1 for update', [made.id])
  use()
  await usage.flush()
  const closed = usage.close()
  // Longer than one statement waits for a lock.
  await sleep(2500)
  await client.query('rollback')
  await closed
  expect(await sumOf(world)).toBe(41)
})

test('use of the old secret that is written down while the key is rotated stays the old secret’s', async () => {
  const world = await shop({ alone: true })
  const { db } = world.service
  const headers = { 'idempotency-key': 'the-answer-that-was-lost' }
  const made = (await world.api.post(world.keys, NEW_KEY, { as: world.owner.token, headers })).body
  const usage = newUsage(db, keyring, NEVER)
  usage.count({ keyId: made.id, secretNo: 1, outcome: 'VALID', permissions: [], rehashTo: null, source: NOWHERE })
  let flushed: Promise<void> | undefined
  await db.transaction(async (tx: Db) => {
    await tx.query(sql`
      update api_keys
         set secret_no = 2, secret_used_at = null
       where id = ${made.id}`)
    // The last flush waits for locks.
    flushed = usage.close()
    while ((await world.sql(HELD_UP)).length === 0) await sleep(10)
  })
  await flushed
  const [row] = await world.sql('select secret_used_at, previous_used_at, last_used_at from api_keys where id = $1', [
    made.id,
  ])
  expect(row.secret_used_at).toBeNull()
  expect(row.previous_used_at).toEqual(row.last_used_at)
  expect(row.last_used_at).not.toBeNull()
  // Nobody has used the new secret, so that whoever lost the answer still gets it.
  expect((await world.api.post(world.keys, NEW_KEY, { as: world.owner.token, headers })).status).toBe(201)
})

test('writing down use changes nothing that anyone did: no revision, no word to the other nodes', async () => {
  const world = await shop({ alone: true })
  const { db } = world.service
  const made = await create(world)
  await world.api.patch(`${world.keys}/${made.id}`, { enabled: false }, { as: world.owner.token })
  const before = (await world.api.get(`${world.keys}/${made.id}`, { as: world.owner.token })).body
  const words: string[] = []
  const ear = new pg.Client({ connectionString: world.databaseUrl })
  await ear.connect()
  ear.on('notification', ({ payload = '' }) => words.push(payload))
  await ear.query('listen storekeeper_changes')
  const usage = newUsage(db, keyring, NEVER)
  usage.count({ keyId: made.id, secretNo: 1, outcome: 'VALID', permissions: ['READ'], rehashTo: null, source: NOWHERE })
  await usage.close()
  await ear.query('select 1')
  await ear.end()
  const after = (await world.api.get(`${world.keys}/${made.id}`, { as: world.owner.token })).body
  expect(after).toEqual({ ...before, lastUsedAt: expect.any(String) })
  expect(words).toEqual([])
})

// ---- house-keeping --------------------------------------------------------------------------------------------------

test('hours become days after 90 days, the sums stay, and after 400 days they go', async () => {
  const world = await shop({ alone: true })
  const { db } = world.service
  const made = await create(world)
  const today = Math.floor(nowMs() / DAY) * DAY
  const write = (grain: string, at: number, outcome: string, count: number) =>
    world.sql('insert into key_usage (key_id, grain, at, outcome, count) values ($1, $2, $3, $4, $5)', [
      made.id,
      grain,
      new Date(at),
      outcome,
      count,
    ])
  for (let hour = 0; hour < 24; hour++) {
    await write('hour', today - 100 * DAY + hour * HOUR, 'VALID', hour + 1)
    await write('hour', today - 10 * DAY + hour * HOUR, 'VALID', 1)
  }
  await write('hour', today - 100 * DAY, 'REVOKED', 7)
  // A part of that day was rolled up before.
  await write('day', today - 100 * DAY, 'VALID', 1000)
  await write('day', today - 399 * DAY, 'VALID', 5)
  await write('day', today - 401 * DAY, 'VALID', 6)
  const days = async () =>
    (
      await read(
        world.api,
        world,
        `${made.id}/usage?interval=day&from=${new Date(now().getTime() - 400 * DAY + MINUTE).toISOString()}`,
      )
    ).data
  const before = await days()
  await Promise.all([rollUpUsage(db), rollUpUsage(db)])
  await rollUpUsage(db)
  expect(await days()).toEqual(before)
  expect(before).toEqual([
    { at: new Date(today - 399 * DAY).toISOString(), counts: { VALID: 5 } },
    { at: new Date(today - 100 * DAY).toISOString(), counts: { REVOKED: 7, VALID: 1300 } },
    { at: new Date(today - 10 * DAY).toISOString(), counts: { VALID: 24 } },
  ])
  expect(await world.sql('select grain, count(*)::int as n from key_usage group by grain order by grain')).toEqual([
    { grain: 'day', n: 3 },
    { grain: 'hour', n: 24 },
  ])
})

// ---- helpers --------------------------------------------------------------------------------------------------------

async function create({ api, keys, owner }: Shop, more: object = {}) {
  const { status, body } = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
  expect(status).toBe(201)
  return body
}

async function read(at: Api, { keys, owner }: Shop, path: string) {
  const { status, body } = await at.get(`${keys}/${path}`, { as: owner.token })
  expect(status).toBe(200)
  return body
}

async function sumOf({ sql }: Shop): Promise<number> {
  return (await sql('select coalesce(sum(count), 0)::int as n from key_usage'))[0].n
}

const HELD_UP = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('It did not come true within a minute')
    await sleep(50)
  }
}
