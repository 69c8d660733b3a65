// A lease says how old the verdict is, at least, and is refused for every verdict that must not be kept.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { follow } from '../../../tests/changes-client.ts'
import { NEW_KEY, type Shop, shop } from '../../../tests/shop.ts'
import { MINUTE } from '../../core/clock.ts'

const LEASE = '/v1/keys/lease'

const create = async ({ api, keys, owner }: Shop, settings: object = {}) =>
  (await api.post(keys, { ...NEW_KEY, ...settings }, { as: owner.token })).body

test('the verdict is that of verify, with the terms on which it may be kept', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const as = await world.serviceToken()
  const { hello } = await follow(api, as)
  const { key, id } = await create(world, { metadata: { plan: 'gold' } })
  const lease = async (body: object, headers = {}) => (await api.post(LEASE, body, { as, headers })).body
  const first = await lease({ key, permissions: ['READ'] })
  const verified = (await api.post('/v1/keys/verify', { key, permissions: ['READ'] }, { as })).body
  const { node, catalogue } = hello
  // By the time of day, which is read in whole milliseconds, an age may be one too much.
  expect(first.lease.ageMs).toBeLessThanOrEqual(1)
  const terms = { ageMs: first.lease.ageMs, validForMs: null, secret: 1, byAddress: false, node, catalogue }
  expect(first).toEqual({ ...verified, lease: terms })
  expect(verified).not.toHaveProperty('lease')
  // From memory: as old as what the node has certainly heard.
  const again = await lease({ key })
  expect(again.lease).toEqual({ ...terms, ageMs: expect.any(Number) })
  expect(again.lease.ageMs).toBeLessThan(1_500)

  const expiring = await create(world, { expiresAt: new Date(Date.now() + 2 * MINUTE).toISOString() })
  const { validForMs } = (await lease({ key: expiring.key })).lease
  expect(validForMs).toBeGreaterThan(MINUTE)
  expect(validForMs).toBeLessThanOrEqual(2 * MINUTE)
  const rotated = (await api.post(`${keys}/${id}/rotate`, { gracePeriodSeconds: 60 }, { as: owner.token })).body
  const replaced = (await lease({ key })).lease
  expect([replaced.secret, replaced.validForMs <= MINUTE, replaced.validForMs > 0]).toEqual([1, true, true])
  expect((await lease({ key: rotated.key })).lease).toMatchObject({ secret: 2, validForMs: null })
  const fromHome = await create(world, { ipAllowlist: ['203.0.113.0/24'] })
  expect((await lease({ key: fromHome.key, ip: '203.0.113.9' })).lease).toMatchObject({ byAddress: true })
  expect(await lease({ key: fromHome.key, ip: '192.0.2.1' })).toMatchObject({ code: 'FORBIDDEN_IP', lease: null })
})

test('there is no lease for what is not valid, spends something, or is explained', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const as = await world.serviceToken()
  const plain = await create(world)
  const rateLimit = { limit: 5, windowSeconds: 3600 }
  const codeAndLease = async (body: object, headers = {}) => {
    const reply = await api.post(LEASE, body, { as, headers })
    return [reply.status, reply.body.code, reply.body.lease]
  }
  for (const settings of [
    { rateLimit },
    { rateLimits: [{ ...rateLimit, name: 'exports' }] },
    { credits: { remaining: 10, refill: null } },
  ]) {
    const { key } = await create(world, settings)
    expect(await codeAndLease({ key })).toEqual([200, 'VALID', null])
    // Also where the question spends none of it.
    expect(await codeAndLease({ key, cost: 0, limits: [] })).toEqual([200, 'VALID', null])
    for (let n = 0; n < 2; n++)
      expect(await codeAndLease({ key }, { 'idempotency-key': `once-${n >> 1}-${key.slice(-8)}` })).toEqual([
        200,
        'VALID',
        null,
      ])
  }
  expect(await codeAndLease({ key: plain.key, explain: true })).toEqual([200, 'VALID', null])
  expect(await codeAndLease({ key: plain.key, permissions: ['MANAGE_KEYS'] })).toEqual([
    200,
    'INSUFFICIENT_PERMISSIONS',
    null,
  ])
  expect(await codeAndLease({ key: 'nonsense' })).toEqual([200, 'NOT_FOUND', null])
  await api.delete(`${keys}/${plain.id}`, { as: owner.token })
  expect(await codeAndLease({ key: plain.key })).toEqual([200, 'REVOKED', null])
  const unsaid = await api.post(LEASE, { key: plain.key }, { as: await world.serviceToken(null) })
  expect([unsaid.status, unsaid.body.errors[0].pointer]).toEqual([422, '#/storeId'])
})

test('an imported key, which may be in several stores, is leased to a token of a single one', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const value = `legacy-${store.id}`
  await api.post(`${keys}/import`, { keys: [{ ...NEW_KEY, value }] }, { as: owner.token })
  const ask = async (stores: string[] | null) =>
    (await api.post(LEASE, { key: value, storeId: store.id }, { as: await world.serviceToken(stores) })).body
  expect(await ask([store.id])).toMatchObject({ code: 'VALID', lease: { secret: 1 } })
  expect(await ask([store.id, 'store_other'])).toMatchObject({ code: 'VALID', lease: null })
  expect(await ask(null)).toMatchObject({ code: 'VALID', lease: null })
})

test('who shares a lookup that was under way gets a verdict as old as its beginning', async () => {
  const world = await shop({ alone: true })
  const as = await world.serviceToken()
  const askTwo = async () => {
    const { key } = await create(world)
    const lease = async () => (await world.api.post(LEASE, { key }, { as })).body
    // The token and the connections are known from here on.
    await world.api.post(LEASE, { key: 'nonsense' }, { as })
    const holding = await holdKeys(world)
    const began = performance.now()
    const first = lease()
    await waiting(world)
    await sleep(300)
    const second = lease()
    // The second has arrived when the node has counted both.
    await inFlight(world, 2)
    const arrivedBy = performance.now()
    await holding.release()
    return { own: await first, shared: await second, most: Math.ceil(arrivedBy - began) }
  }
  let asked = await askTwo()
  // On a busy machine the lookup may have been held for longer than a node waits for one.
  while (asked.own.code === 'unavailable') asked = await askTwo()
  const { own, shared, most } = asked
  expect([own.code, shared.code]).toEqual(['VALID', 'VALID'])
  // By the time of day, which is read in whole milliseconds, an age may be one too much.
  expect(own.lease.ageMs).toBeLessThanOrEqual(1)
  expect(shared.lease.ageMs).toBeGreaterThanOrEqual(300)
  expect(shared.lease.ageMs).toBeLessThanOrEqual(most + 1)
})

test('a key that changed while it was looked up is not leased', async () => {
  const world = await shop({ alone: true })
  const as = await world.serviceToken()
  const { key } = await create(world)
  const holding = await holdKeys(world)
  const asked = world.api.post(LEASE, { key }, { as })
  await waiting(world)
  world.service.dropCaches()
  await holding.release()
  expect((await asked).body).toMatchObject({ code: 'VALID', lease: null })
})

/** Nobody reads a key until it is released. */
async function holdKeys({ databaseUrl }: Shop) {
  const client = new pg.Client({ connectionString: databaseUrl })
  onTestFinished(() => client.end())
  await client.connect()
  await client.query('begin; lock table api_keys in access exclusive mode')
  return { release: () => client.query('rollback') }
}

/** Until a statement waits for a lock. */
async function waiting({ sql }: Shop): Promise<void> {
  const statement = `
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await sql(statement)).length === 0) await sleep(10)
}

async function inFlight({ api }: Shop, count: number): Promise<void> {
  // The question itself is under way as well.
  const pattern = new RegExp(`^storekeeper_http_requests_under_way ${count + 1}$`, 'm')
  while (!pattern.test((await api.get('/metrics')).text)) await sleep(10)
}
