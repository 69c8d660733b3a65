import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { freePort } from '../../../tests/free-port.ts'
import { NEW_KEY, shop } from '../../../tests/shop.ts'
import { VERSION } from '../../core/version.ts'
import { sql } from '../../db/sql.ts'
import { readOutboxAge } from '../../webhooks/outbox.ts'

const TOKEN = 'a-token-for-the-scraper'

test('metrics are for this machine, unless there is a token or a port of their own', async () => {
  const { api, node } = await shop()
  const statusAt = async (url: string, headers: Record<string, string> = {}) =>
    (await fetch(`${url}/metrics`, { headers })).status
  expect(await statusAt(api.url)).toBe(200)
  for (const name of ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip'])
    expect(await statusAt(api.url, { [name]: '127.0.0.1' }), name).toBe(404)
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((found) => found?.family === 'IPv4' && !found.internal)?.address
  if (outside) {
    const open = new URL((await node({ HOST: '0.0.0.0' })).url)
    expect(await statusAt(`http://${outside}:${open.port}`)).toBe(404)
  }

  const guarded = await node({ METRICS_TOKEN: TOKEN })
  expect(await statusAt(guarded.url)).toBe(401)
  expect(await statusAt(guarded.url, { authorization: `Bearer ${TOKEN}x` })).toBe(401)
  expect(await statusAt(guarded.url, { authorization: `Bearer ${TOKEN}`, 'x-forwarded-for': '203.0.113.1' })).toBe(200)

  const port = await freePort()
  const apart = await node({ METRICS_PORT: String(port), METRICS_TOKEN: TOKEN })
  const own = `http://127.0.0.1:${port}`
  expect(await statusAt(apart.url, { authorization: `Bearer ${TOKEN}` })).toBe(404)
  expect([await statusAt(own), await statusAt(own, { authorization: `Bearer ${TOKEN}` })]).toEqual([401, 200])
  expect((await fetch(`${own}/docs`)).status).toBe(404)
})

test('metrics tell of retries, of the outbox, of the keys in memory and of the build', async () => {
  const { api, keys, owner, service, store } = await shop()
  const read = async (name: string) => {
    const { text } = await api.get('/metrics')
    const line = text.split('\n').find((line) => line.startsWith(`${name} `))
    return Number(line?.slice(name.length))
  }
  const retries = (outcome: string) => read(`storekeeper_idempotent_requests_total{outcome="${outcome}"}`)
  const outcomes = ['executed', 'replayed', 'mismatch']
  const before = await Promise.all(outcomes.map(retries))
  const send = (name: string, as: string) =>
    api.post(
      keys,
      { ...NEW_KEY, name },
      { as, headers: { 'idempotency-key': `for the metrics ${store.id}`.replaceAll(' ', '-') } },
    )
  const { key } = (await send('One', owner.token)).body
  for (const name of ['One', 'One', 'Another']) await send(name, owner.token)
  expect((await Promise.all(outcomes.map(retries))).map((count, n) => count - (before[n] as number))).toEqual([1, 2, 1])

  const cache = () => Promise.all(['misses', 'hits'].map((kind) => read(`storekeeper_key_cache_${kind}_total`)))
  const [misses = 0, hits = 0] = await cache()
  for (let n = 0; n < 2; n++) await api.get(`/v1/user/store/${store.id}`, { as: key })
  expect(await cache()).toEqual([misses + 1, hits + 1])
  expect(await read('storekeeper_key_cache_keys')).toBeGreaterThan(0)
  // A change of an account concerns no key.
  expect((await api.patch('/v1/user', { name: 'Renamed' }, { as: owner.token })).status).toBe(200)
  await api.get(`/v1/user/store/${store.id}`, { as: key })
  expect(await cache()).toEqual([misses + 1, hits + 2])

  expect(await read('storekeeper_database_connections_open')).toBeGreaterThan(0)
  expect(await read('storekeeper_database_connections_max')).toBe(service.db.connections().max)
  // What the database does not tell within half a second is left out, and told the next time.
  await expect.poll(() => read('storekeeper_database_size_bytes')).toBeGreaterThan(1_000_000)
  await expect.poll(() => read('storekeeper_database_role{role="primary"}')).toBe(1)
  expect(await read(`storekeeper_build_info{version="${VERSION}",node="${process.version}"}`)).toBe(1)
  expect(await read('storekeeper_chore_rows_total{chore="purgeSessions"}')).toBeGreaterThanOrEqual(0)

  // Rolled back, so that no dispatcher takes it.
  let age = 0
  const rolledBack = service.db.transaction(async (tx) => {
    await tx.query(sql`delete from webhook_outbox`)
    await tx.query(sql`
      insert into webhook_outbox (account, deliveries, webhook_ids, webhook_types, event_ids)
      select '', 0, '{}', '[]', array[id]
        from events
       where store_id = ${store.id}
       order by id
       limit 1`)
    age = await readOutboxAge(tx)
    throw new Error('rolled back')
  })
  await expect(rolledBack).rejects.toThrow('rolled back')
  expect(age).toBeGreaterThan(0)
})

test('pages count against their address, and health does not', async () => {
  const { api } = await shop({ RATE_LIMIT: '100' })
  const pages = ['/docs', '/openapi.json', '/errors', '/', '/errors/not_found']
  const statuses: number[] = []
  for (let n = 0; n < 4; n++) for (const page of pages) statuses.push((await api.get(page)).status)
  expect(statuses.slice(0, 10)).toEqual(Array(10).fill(200))
  // On a slow machine some room has come back meanwhile.
  expect(statuses.slice(10)).toContain(429)
  let refused = await api.get('/docs')
  while (refused.status === 200) refused = await api.get('/docs')
  expect([refused.status, refused.body.code, Number(refused.headers.get('retry-after')) > 0]).toEqual([
    429,
    'rate_limited',
    true,
  ])
  expect(refused.headers.get('ratelimit-policy')).toBe('"default";q=10;w=60')
  for (const page of ['/livez', '/readyz', '/metrics']) expect((await api.get(page)).status, page).toBe(200)
})
