// What people ask about keys: which ones, how all of them are used, and who still uses the old secret.

import { expect, test, vi } from 'vitest'
import { NEW_KEY, type Shop, shop, USAGE_AT_ONCE } from '../../tests/shop.ts'
import { DAY, HOUR, MINUTE, nowMs, travel } from '../core/clock.ts'
import { newId } from '../core/ids.ts'

const namesOf = ({ body }: { body: { data: { name: string }[] } }) => body.data.map(({ name }) => name)

test('keys are found by a part of their name, by their beginning, and by who created them', async () => {
  const { api, owner, keys, member } = await shop()
  const as = owner.token
  const bob = await member('MANAGER')
  const make = async (name: string, by = as) => (await api.post(keys, { ...NEW_KEY, name }, { as: by })).body
  const checkout = await make('Checkout page')
  await make('Checkout 100%_done')
  await make('Warehouse', bob.token)
  const list = (query: string) => api.get(`${keys}?${query}`, { as })
  expect(namesOf(await list('q=CHECK'))).toEqual(['Checkout 100%_done', 'Checkout page'])
  expect(namesOf(await list('q=%25_'))).toEqual(['Checkout 100%_done'])
  expect(namesOf(await list(`q=${checkout.start}`))).toContain('Checkout page')
  expect(namesOf(await list('q=nothing'))).toEqual([])
  expect(namesOf(await list(`createdBy=${bob.id}`))).toEqual(['Warehouse'])
  expect(namesOf(await list(`createdBy=${bob.id}&q=page`))).toEqual([])
  expect(namesOf(await list(`createdBy=${newId('user')}`))).toEqual([])
  expect((await list('q=')).status).toBe(422)
  // A cursor belongs to its question.
  const { nextCursor } = (await list('q=check&limit=1')).body
  expect(namesOf(await list(`q=check&limit=1&cursor=${nextCursor}`))).toEqual(['Checkout page'])
  expect((await list(`limit=1&cursor=${nextCursor}`)).body.code).toBe('invalid_cursor')
})

/** From now until ten minutes after a full hour: uses, which are counted by the hour, fall into one. */
const intoHour = () => HOUR - (nowMs() % HOUR) + 10 * MINUTE

/** Waits until the use so far is written down. */
async function usage({ api, keys, owner }: Shop, path: string, isThere: (body: any) => boolean) {
  return vi.waitFor(async () => {
    const { body } = await api.get(`${keys}/${path}`, { as: owner.token })
    expect(isThere(body)).toBe(true)
    return body
  }, 60_000)
}

test('who still uses the old secret: counts, last use and sources of each', async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  travel(intoHour())
  const { api, keys, owner, serviceToken, sql } = world
  const as = await serviceToken()
  const [{ id: service }] = await sql('select id from service_tokens')
  const made = (await api.post(keys, { ...NEW_KEY, permissions: ['READ'] }, { as: owner.token })).body
  const verify = (key: string, more = {}) => api.post('/v1/keys/verify', { key, ...more }, { as })
  expect((await api.get(`${keys}/${made.id}/usage`, { as: owner.token })).body.bySecret).toEqual({
    current: { counts: {}, lastUsedAt: null, sources: [] },
    previous: null,
  })
  const rotated = (await api.post(`${keys}/${made.id}/rotate`, { gracePeriodSeconds: 600 }, { as: owner.token })).body
  await verify(made.key, { ip: '203.0.113.7' })
  await verify(made.key, { ip: '203.0.113.8' })
  await verify(made.key, { ip: '203.0.113.7' })
  await verify(made.key, { permissions: ['MANAGE_KEYS'], ip: '198.51.100.1' })
  await verify(rotated.key)
  await api.get('/v1/key', { as: rotated.key })
  const { bySecret, data } = await usage(
    world,
    `${made.id}/usage`,
    (body) => body.bySecret.current.counts.VALID === 2 && body.bySecret.previous?.counts.VALID === 3,
  )
  expect(data).toEqual([{ at: expect.any(String), counts: { VALID: 5, INSUFFICIENT_PERMISSIONS: 1 } }])
  expect(bySecret.previous).toEqual({
    counts: { VALID: 3, INSUFFICIENT_PERMISSIONS: 1 },
    lastUsedAt: expect.any(String),
    sources: [
      { ip: '203.0.113.7', service, lastUsedAt: expect.any(String) },
      { ip: '203.0.113.8', service, lastUsedAt: expect.any(String) },
    ],
  })
  expect(bySecret.current.sources).toEqual(
    expect.arrayContaining([
      { ip: null, service, lastUsedAt: expect.any(String) },
      { ip: '127.0.0.1', service: null, lastUsedAt: expect.any(String) },
    ]),
  )

  // Of very many sources the newest 20 are kept, and nothing of a secret that is gone.
  for (let n = 1; n <= 30; n++) {
    // Two uses of one millisecond would have no order.
    travel(1)
    await verify(rotated.key, { ip: `192.0.2.${n}` })
  }
  const crowded = await usage(world, `${made.id}/usage`, (body) => body.bySecret.current.counts.VALID === 32)
  expect(crowded.bySecret.current.sources).toHaveLength(20)
  expect(crowded.bySecret.current.sources[0].ip).toBe('192.0.2.30')
  const third = (await api.post(`${keys}/${made.id}/rotate`, {}, { as: owner.token })).body
  await verify(third.key)
  await usage(world, `${made.id}/usage`, (body) => body.bySecret.current.counts.VALID === 1)
  expect(await sql('select distinct secret_no from key_sources order by 1')).toEqual([
    { secret_no: 2 },
    { secret_no: 3 },
  ])
})

test('a key is told which of its secrets it presented, and sees the beginning of that one', async () => {
  const { api, keys, owner } = await shop()
  const made = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const own = async (key: string) => (await api.get('/v1/key', { as: key })).body
  expect(await own(made.key)).toMatchObject({ presented: 'current', start: made.start })
  const rotated = (await api.post(`${keys}/${made.id}/rotate`, { gracePeriodSeconds: 600 }, { as: owner.token })).body
  expect(await own(made.key)).toMatchObject({ id: made.id, presented: 'previous', start: made.start })
  expect(await own(rotated.key)).toMatchObject({ id: made.id, presented: 'current', start: rotated.start })
})

test('the use of all keys at once, a page of keys at a time', async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  travel(intoHour())
  const { api, keys, owner, serviceToken } = world
  const as = await serviceToken()
  const made: { id: string; key: string }[] = []
  for (let n = 0; n < 4; n++) made.push((await api.post(keys, NEW_KEY, { as: owner.token })).body)
  for (const [n, { key }] of made.slice(0, 3).entries())
    for (let i = 0; i <= n; i++) await api.post('/v1/keys/verify', { key }, { as })
  const all = await usage(world, 'usage', (body) => body.data.length === 3 && body.data[0].data[0].counts.VALID === 3)
  expect(all).toMatchObject({ interval: 'hour', nextCursor: null })
  expect(all.data.map(({ keyId, data }: any) => [keyId, data[0].counts])).toEqual([
    [made[2]?.id, { VALID: 3 }],
    [made[1]?.id, { VALID: 2 }],
    [made[0]?.id, { VALID: 1 }],
  ])
  const first = (await api.get(`${keys}/usage?limit=2&interval=day`, { as: owner.token })).body
  expect(first.data.map(({ keyId }: any) => keyId)).toEqual([made[2]?.id, made[1]?.id])
  const rest = await api.get(`${keys}/usage?limit=2&interval=day&cursor=${first.nextCursor}`, { as: owner.token })
  expect([rest.body.data.map(({ keyId }: any) => keyId), rest.body.nextCursor]).toEqual([[made[0]?.id], null])
  const other = await shop()
  expect((await other.api.get(`${other.keys}/usage`, { as: other.owner.token })).body.data).toEqual([])
})

test('for a long period a page of the use of all keys has fewer of them', async () => {
  const { api, keys, owner, sql } = await shop()
  const as = owner.token
  const made: string[] = []
  for (let n = 0; n < 8; n++) made.push((await api.post(keys, NEW_KEY, { as })).body.id)
  await sql(
    `insert into key_usage (key_id, grain, at, outcome, secret_no, count)
     select id, 'hour', date_trunc('hour', now()) - interval '1 hour', 'VALID', 1, 1 from unnest($1::text[]) as id`,
    [made],
  )
  const to = new Date(nowMs() + HOUR).toISOString()
  const ofDays = async (days: number, cursor?: string) => {
    const from = new Date(Date.parse(to) - days * DAY).toISOString()
    const more = cursor === undefined ? '' : `&cursor=${cursor}`
    const { body } = await api.get(`${keys}/usage?limit=100&from=${from}&to=${to}${more}`, { as })
    return { ids: body.data.map(({ keyId }: { keyId: string }) => keyId), nextCursor: body.nextCursor }
  }
  const newestFirst = made.toReversed()
  expect(await ofDays(1)).toEqual({ ids: newestFirst, nextCursor: null })
  const first = await ofDays(31)
  expect(first).toEqual({ ids: newestFirst.slice(0, 6), nextCursor: expect.any(String) })
  expect(await ofDays(31, first.nextCursor)).toEqual({ ids: newestFirst.slice(6), nextCursor: null })
})
