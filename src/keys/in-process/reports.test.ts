// What back ends counted themselves counts once, whatever is lost or comes twice.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Api, NEW_KEY, type Shop, shop, USAGE_AT_ONCE } from '../../../tests/shop.ts'
import { ago, DAY, HOUR, now, nowMs, travel } from '../../core/clock.ts'
import { newId } from '../../core/ids.ts'
import { rollUpUsage } from '../usage-retention.ts'

const REPORT = '/v1/keys/usage'
const DONE = [200, {}]

const create = async ({ api, keys, owner }: Shop) => (await api.post(keys, NEW_KEY, { as: owner.token })).body

type Count = { keyId: string; secret?: number; valid?: number; agoMs?: number; permissions?: Record<string, number> }

async function send(api: Api, as: string, reporter: string, seq: number, counts: Count[]) {
  const whole = counts.map((count) => ({ secret: 1, valid: 1, agoMs: 0, ...count }))
  const { status, body } = await api.post(REPORT, { reporter, seq, counts: whole }, { as })
  return status === 200 ? [status, body] : [status, body.code]
}

const countOf = async ({ sql }: Shop, keyId: string) =>
  Number((await sql('select coalesce(sum(count), 0) as count from key_usage where key_id = $1', [keyId]))[0].count)

test('a report counts once, and shows like any other use', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const as = await world.serviceToken()
  const { id } = await create(world)
  await api.post(`${keys}/${id}/rotate`, { gracePeriodSeconds: 60 }, { as: owner.token })
  const reporter = randomUUID()
  const counts: Count[] = [
    { keyId: id, valid: 5, agoMs: 2 * HOUR, permissions: { READ: 2 * HOUR, NO_LONGER: 0, constructor: 0 } },
    { keyId: id, secret: 2, valid: 7, agoMs: 1_000, permissions: { WRITE: 1_000 } },
    { keyId: id, secret: 2, valid: 1, agoMs: 3_000 },
  ]
  const before = now().getTime()
  const first = () => send(api, as, reporter, 1, counts)
  expect(await Promise.all([first(), first(), first()])).toEqual([DONE, DONE, DONE])
  expect(await first()).toEqual(DONE)
  expect(await countOf(world, id)).toBe(13)
  const { body } = await api.get(`${keys}/${id}/usage`, { as: owner.token })
  expect(body.bySecret).toMatchObject({ current: { counts: { VALID: 8 } }, previous: { counts: { VALID: 5 } } })
  const { lastUsedAt } = (await api.get(`${keys}/${id}`, { as: owner.token })).body
  expect(Date.parse(lastUsedAt)).toBeGreaterThanOrEqual(before - 1_000)
  expect(Date.parse(lastUsedAt)).toBeLessThanOrEqual(now().getTime() - 1_000)
  expect(body.bySecret.current.sources).toEqual([{ ip: null, service: expect.stringMatching(/^svc_/), lastUsedAt }])
  const exercised = await world.sql('select permission from key_permission_use where key_id = $1 order by 1', [id])
  expect(exercised.map(({ permission }) => permission)).toEqual(['READ', 'WRITE'])
  // A later number counts, an earlier one is done with; those that wait together are taken in their order.
  const numbered = (seq: number) => send(api, as, reporter, seq, [{ keyId: id }])
  expect(await numbered(4)).toEqual(DONE)
  expect(await numbered(3)).toEqual(DONE)
  expect(await countOf(world, id)).toBe(14)
  expect(await Promise.all([numbered(6), numbered(5)])).toEqual([DONE, DONE])
  expect(await countOf(world, id)).toBe(16)
  // A reporter belongs to its token.
  expect(await send(api, await world.serviceToken(), reporter, 1, [{ keyId: id }])).toEqual(DONE)
  expect(await countOf(world, id)).toBe(17)
})

test('keys of other stores, and secrets that a key never had, are passed over like what does not exist', async () => {
  const world = await shop()
  const { api, person } = world
  const stranger = await person()
  const theirs = (await api.post('/v1/user/store', { name: 'Theirs' }, { as: stranger.token })).body.id as string
  const foreign = (await api.post(`/v1/user/store/${theirs}/keys`, NEW_KEY, { as: stranger.token })).body.id as string
  const { id } = await create(world)
  const counts = [{ keyId: foreign }, { keyId: newId('key') }, { keyId: 'x' }, { keyId: id, secret: 2 }, { keyId: id }]
  expect(await send(api, await world.serviceToken(), randomUUID(), 1, counts)).toEqual(DONE)
  expect([await countOf(world, foreign), await countOf(world, id)]).toEqual([0, 1])
  expect(await send(api, await world.serviceToken(null), randomUUID(), 1, counts)).toEqual(DONE)
  expect([await countOf(world, foreign), await countOf(world, id)]).toEqual([1, 2])
})

test('a secret is reported for a day after it stopped working; those before the previous one are added up', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, sql } = world
  const as = await world.serviceToken()
  const { id } = await create(world)
  for (const gracePeriodSeconds of [0, 60, 3_600])
    expect((await api.post(`${keys}/${id}/rotate`, { gracePeriodSeconds }, { as: owner.token })).status).toBe(200)
  const reportAll = async () => {
    const counts = [1, 2, 3, 4].map((secret) => ({ keyId: id, secret, valid: 10 ** secret }))
    expect(await send(api, as, randomUUID(), 1, counts)).toEqual(DONE)
    const rows = await sql('select secret_no, count::int from key_usage where key_id = $1 order by 1', [id])
    await sql('delete from key_usage where key_id = $1', [id])
    return rows.map(({ secret_no, count }) => [secret_no, count])
  }
  const [older, previous, current] = [
    [0, 110],
    [3, 1_000],
    [4, 10_000],
  ]
  expect(await reportAll()).toEqual([older, previous, current])
  travel(DAY - 60_000)
  expect(await reportAll()).toEqual([older, previous, current])
  // The last rotation ended all but the previous secret, which worked for another hour.
  travel(2 * 60_000)
  expect(await reportAll()).toEqual([previous, current])
  travel(HOUR)
  expect(await reportAll()).toEqual([current])
  // And so it is with the key itself.
  await api.delete(`${keys}/${id}`, { as: owner.token })
  travel(DAY - 60_000)
  expect(await reportAll()).toEqual([current])
  travel(2 * 60_000)
  expect(await reportAll()).toEqual([])
})

test('reports have bounds', async () => {
  const world = await shop()
  const as = await world.serviceToken()
  const count = { keyId: newId('key'), secret: 1, valid: 1, agoMs: 0 }
  const report = { reporter: randomUUID(), seq: 1, counts: [count] }
  const faultOf = async (change: object) => {
    const { status, body } = await world.api.post(REPORT, { ...report, ...change }, { as })
    return [status, body.errors?.[0].pointer ?? body.code]
  }
  expect(await faultOf({ reporter: 'short' })).toEqual([422, '#/reporter'])
  expect(await faultOf({ seq: 0 })).toEqual([422, '#/seq'])
  expect(await faultOf({ counts: Array(501).fill(count) })).toEqual([422, '#/counts'])
  expect(await faultOf({ counts: [{ ...count, agoMs: DAY + 1 }] })).toEqual([422, '#/counts/0/agoMs'])
  expect(await faultOf({ counts: [{ ...count, valid: 0 }] })).toEqual([422, '#/counts/0/valid'])
  expect(await faultOf({ counts: [{ ...count, permissions: { READ: -1 } }] })).toEqual([
    422,
    '#/counts/0/permissions/READ',
  ])
  expect(await faultOf({ counts: Array(500).fill(count) })).toEqual([200, undefined])
  expect(await faultOf({ counts: [{ ...count, keyId: 'x'.repeat(66_000) }] })).toEqual([413, 'body_too_large'])
})

test('429: all tokens of an account report 16 MiB a minute, whatever the reports hold', async () => {
  const { api, owner, store, person, serviceToken } = await shop()
  const another = (await api.post('/v1/user/store', { name: 'Another' }, { as: owner.token })).body.id
  const stranger = await person()
  const theirs = (await api.post('/v1/user/store', { name: 'Theirs' }, { as: stranger.token })).body.id
  const issue = async (storeId: string, as: string) =>
    (await api.post(`/v1/user/store/${storeId}/service-tokens`, { name: 'Back end' }, { as })).body.token as string
  const tokens = [await issue(store.id, owner.token), await issue(another, owner.token)] as const
  // A store has the tokens of a former owner on its own account.
  const given = (await api.post('/v1/user/store', { name: 'Given away' }, { as: owner.token })).body.id
  const former = await issue(given, owner.token)
  const invitation = { email: stranger.email, role: 'OWNER' }
  const { token } = (await api.post(`/v1/user/store/${given}/invitations`, invitation, { as: owner.token })).body
  await api.post('/v1/user/invitations/accept', { token }, { as: stranger.token })
  const removal = await api.delete(`/v1/user/store/${given}/members/${owner.id}`, { as: stranger.token })
  expect(removal.status).toBe(200)
  const others = [await issue(theirs, stranger.token), await serviceToken(), former]
  const report = async (as: string) => (await api.post(REPORT, undefined, { as, raw: '{'.padEnd(65_536) })).status
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const statuses = await Promise.all(Array.from({ length: 260 }, (_, n) => report(tokens[n % 2 === 0 ? 0 : 1])))
  expect(statuses.toSorted()).toEqual([...Array(256).fill(400), ...Array(4).fill(429)])
  expect(await Promise.all(others.map(report))).toEqual([400, 400, 400])
})

test('of each token the reporters that came last are kept, and empty reports leave none', async () => {
  const world = await shop()
  const as = await world.serviceToken()
  const { id } = await create(world)
  for (let n = 0; n < 3; n++) expect(await send(world.api, as, randomUUID(), 1, [])).toEqual(DONE)
  expect(await send(world.api, as, 'the-first-reporter', 1, [{ keyId: id }])).toEqual(DONE)
  const [{ service_id }] = await world.sql(`select service_id from usage_reporters where id = 'the-first-reporter'`)
  const kept = async () =>
    (
      await world.sql(
        `select count(*)::int as rows, bool_or(id = 'silent-1') as oldest, bool_or(id = 'the-first-reporter') as first
           from usage_reporters where service_id = $1`,
        [service_id],
      )
    )[0]
  await world.sql(
    `insert into usage_reporters (service_id, id, seq, at)
     select $1, 'silent-' || n, 1, now() - interval '2 hours' + n * interval '1 second' from generate_series(1, 4999) n`,
    [service_id],
  )
  expect(await kept()).toEqual({ rows: 5_000, oldest: true, first: true })
  expect(await send(world.api, as, 'the-first-reporter', 2, [{ keyId: id }])).toEqual(DONE)
  expect(await kept()).toEqual({ rows: 5_000, oldest: true, first: true })
  // Others are looked for when a hundred have come. The first reporter was one of these.
  const come = async (count: number) => {
    const all = Array.from({ length: count }, () => send(world.api, as, randomUUID(), 1, [{ keyId: id }]))
    for (const reply of await Promise.all(all)) expect(reply).toEqual(DONE)
  }
  await come(98)
  expect(await kept()).toEqual({ rows: 5_098, oldest: true, first: true })
  await come(1)
  expect(await kept()).toEqual({ rows: 5_000, oldest: false, first: true })
  expect(await countOf(world, id)).toBe(101)
})

test('no count is too large: it stays at the largest number that JSON has exactly, by the hour and by the day', async () => {
  const world = await shop({ alone: true })
  const as = await world.serviceToken()
  const [{ id }, other] = [await create(world), await create(world)]
  const most = Number.MAX_SAFE_INTEGER
  const old = new Date(ago(100 * DAY).setUTCHours(3, 0, 0, 0))
  const fill = (at: Date, count: string) =>
    world.sql(
      `insert into key_usage (key_id, grain, at, outcome, secret_no, count) values ($1, 'hour', $2, 'VALID', 1, $3)`,
      [id, at, count],
    )
  for (const hour of [0, 1]) await fill(new Date(old.getTime() + hour * HOUR), '9223372036854775807')
  await fill(new Date(Math.floor(nowMs() / HOUR) * HOUR), '9223372036854775807')
  const counts = [{ keyId: id, valid: 1_000_000_000 }, { keyId: other.id }]
  expect(await send(world.api, as, randomUUID(), 1, counts)).toEqual(DONE)
  expect(await countOf(world, other.id)).toBe(1)
  const { service } = world
  await rollUpUsage(service.db)
  const rows = await world.sql(`select grain, count from key_usage where key_id = $1 and at < $2`, [id, ago(DAY)])
  expect(rows).toEqual([{ grain: 'day', count: String(most) }])
  const { body } = await world.api.get(`${world.keys}/${id}/usage`, { as: world.owner.token })
  expect(body.bySecret.current.counts.VALID).toBeGreaterThanOrEqual(most)
})

test('many processes report the same keys at two nodes, and each of their counts is there', async () => {
  const world = await shop()
  const as = await world.serviceToken()
  const nodes = [world.api, await world.node()]
  const ids: string[] = []
  for (let n = 0; n < 4; n++) ids.push((await create(world)).id)
  const reports = Array.from({ length: 40 }, async (_, n) => {
    const reporter = randomUUID()
    for (let seq = 1; seq <= 3; seq++) {
      const order = n % 2 ? ids : [...ids].reverse()
      const counts = order.map((keyId) => ({ keyId, valid: seq }))
      // Each is sent twice, and to whichever node comes first.
      const sent = nodes.map((node) => send(node, as, reporter, seq, counts))
      expect(await Promise.all(sent)).toEqual([DONE, DONE])
    }
  })
  await Promise.all(reports)
  for (const id of ids) expect(await countOf(world, id)).toBe(40 * 6)
})

test('a report whose transaction is killed is sent again, and counts once', async () => {
  const world = await shop({ alone: true })
  const as = await world.serviceToken()
  const { id } = await create(world)
  const reporter = randomUUID()
  const report = () => send(world.api, as, reporter, 1, [{ keyId: id, valid: 3 }])
  const holder = new pg.Client({ connectionString: world.databaseUrl })
  onTestFinished(() => holder.end())
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from api_keys where id = $1 for update', [id])
  const killed = report()
  const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const kill = () => world.sql(`select pg_terminate_backend(pid) from (${waiting}) as waiting`)
  while ((await kill()).length === 0) await sleep(10)
  expect(await killed).toEqual([503, 'unavailable'])
  expect(await world.sql('select seq from usage_reporters')).toEqual([])
  await holder.query('rollback')
  expect([await report(), await report()]).toEqual([DONE, DONE])
  expect(await countOf(world, id)).toBe(3)
})

test('a report with a locked key is written later, and so are those of its process after it: each counts once', async () => {
  const world = await shop({ alone: true })
  const as = await world.serviceToken()
  const [locked, free] = [await create(world), await create(world)]
  const reporter = randomUUID()
  const holder = new pg.Client({ connectionString: world.databaseUrl })
  onTestFinished(() => holder.end())
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from api_keys where id = $1 for update', [locked.id])
  const second = () => send(world.api, as, reporter, 2, [{ keyId: free.id }, { keyId: locked.id, valid: 10 }])
  const third = () => send(world.api, as, reporter, 3, [{ keyId: free.id, valid: 100 }])
  const late = [send(world.api, as, reporter, 1, [{ keyId: free.id, valid: 1_000 }]), second(), second(), third()]
  expect(await send(world.api, as, randomUUID(), 1, [{ keyId: free.id, valid: 10_000 }])).toEqual(DONE)
  expect(await late[0]).toEqual(DONE)
  // What nobody has written, nobody is told to be done.
  const written = 'select seq from usage_reporters where id = $1'
  expect(await world.sql(written, [reporter])).toEqual([{ seq: '1' }])
  expect(await countOf(world, free.id)).toBe(11_000)
  await holder.query('rollback')
  // On a busy machine some have waited too long, and are sent again.
  for (const [status] of await Promise.all(late)) expect([200, 503]).toContain(status)
  expect([await second(), await third()]).toEqual([DONE, DONE])
  expect([await countOf(world, locked.id), await countOf(world, free.id)]).toEqual([10, 11_101])
})

test('503: a report whose key stays locked is not written, and counts when it is sent again', async () => {
  const world = await shop({ alone: true })
  const as = await world.serviceToken()
  const { id } = await create(world)
  const reporter = randomUUID()
  const report = () =>
    world.api.post(REPORT, { reporter, seq: 1, counts: [{ keyId: id, secret: 1, valid: 3, agoMs: 0 }] }, { as })
  const holder = new pg.Client({ connectionString: world.databaseUrl })
  onTestFinished(() => holder.end())
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from api_keys where id = $1 for update', [id])
  const { status, body, headers } = await report()
  expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
  await holder.query('rollback')
  expect(await countOf(world, id)).toBe(0)
  expect([(await report()).status, (await report()).status]).toEqual([200, 200])
  expect(await countOf(world, id)).toBe(3)
})

test('a lease counts as a use, and reporters are forgotten after a day', async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  const as = await world.serviceToken()
  const { key, id } = await create(world)
  await world.api.post('/v1/keys/lease', { key, permissions: ['READ'] }, { as })
  await vi.waitFor(async () => expect(await countOf(world, id)).toBe(1), 60_000)
  await send(world.api, as, 'a-lively-reporter', 1, [{ keyId: id }])
  await world.sql(
    `insert into usage_reporters (service_id, id, seq, at) values ('svc_1', 'a-silent-reporter', 9, $1)`,
    [ago(DAY + HOUR)],
  )
  await rollUpUsage(world.service.db)
  expect(await world.sql('select id, seq from usage_reporters')).toEqual([{ id: 'a-lively-reporter', seq: '1' }])
  expect((await world.api.get('/metrics')).text).toContain('storekeeper_reported_uses_total 1')
})
