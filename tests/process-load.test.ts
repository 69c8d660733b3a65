// The service as a process under load: told to stop, killed, and its database killed under it. How often is decided by
// bench/stress/strength.ts: less in the suite than in `npm run stress`.

import { expect, test } from 'vitest'
import { STRENGTH } from '../bench/stress/strength.ts'
import {
  backendOf,
  keepForFile,
  kill,
  LONG,
  preparedData,
  runFromCheckout,
  type Started,
  start,
  until,
} from './launch.ts'
import { checkBooks, type Made, type Opened, openShop, report, startLoad } from './process-load.ts'
import { postmasters, serverProcesses } from './processes.ts'
import { apiAt, NEW_ADDRESS, NEW_KEY, type Person } from './shop.ts'
import { newStoppingClient } from './stopping-client.ts'

runFromCheckout({ build: 'whole' })

/** One database and one store for all tests: the books have to balance over whatever has happened. */
const world: { data?: string; service?: Started; shop?: Opened; made: Made[] } = { made: [] }

async function running() {
  world.data ??= preparedData()
  world.service ??= await start({ data: world.data })
  world.shop ??= await openShop(world.service.url)
  keepForFile()
  return { data: world.data, service: world.service, shop: world.shop, made: world.made }
}

async function startAgain(options: { npm?: boolean } = {}): Promise<Started> {
  world.service = await start({ ...options, ...(world.data && { data: world.data }) })
  keepForFile()
  return world.service
}

test('killed again and again under load: what was acknowledged is there, and no retry doubles it', {
  timeout: LONG,
}, async () => {
  const { data, shop, made, ...first } = await running()
  let { service } = first
  const load = startLoad(service.url, shop, 8)
  for (let kills = 1; kills <= STRENGTH.kills; kills++) {
    await load.more(100)
    service.signal('SIGKILL')
    load.goTo(null)
    expect((await service.ended()).signal).toBe('SIGKILL')
    // The last one ends by SIGTERM, which npm passes on.
    service = await startAgain({ npm: kills === STRENGTH.kills })
    expect(postmasters(data)).toHaveLength(1)
    load.goTo(service.url)
  }
  await load.more(100)
  const counts = await load.finish()
  made.push(...load.done())
  const books = await checkBooks(service, shop, made, load.done())
  report('SIGKILL of the service', { kills: STRENGTH.kills, ...counts, ...books })
  expect(books).toEqual({ acknowledged: made.length, lost: 0, doubled: 0, wrongDefaults: 0 })
  expect(counts.unexpected).toEqual([])
  expect(counts.interrupted).toBeGreaterThan(0)
})

test('PostgreSQL killed again and again under load: the service heals by itself, and the books balance', {
  timeout: LONG,
}, async () => {
  const { data, service, shop, made } = await running()
  const load = startLoad(service.url, shop, 8)
  for (const victim of STRENGTH.databaseKills) {
    await load.more(100)
    const server = postmasters(data)[0] as number
    kill(victim === 'server' ? server : backendOf(server))
    await load.more(100)
    expect(postmasters(data)).toHaveLength(1)
    if (victim === 'server') expect(postmasters(data)).not.toContain(server)
  }
  const counts = await load.finish()
  made.push(...load.done())
  const books = await checkBooks(service, shop, made, load.done())
  report('SIGKILL of PostgreSQL', { kills: STRENGTH.databaseKills.length, ...counts, ...books })
  expect(books).toEqual({ acknowledged: made.length, lost: 0, doubled: 0, wrongDefaults: 0 })
  expect(counts.unexpected).toEqual([])
  expect(counts.interrupted).toBeGreaterThan(0)
  expect((await apiAt(service.url).get('/readyz')).status).toBe(200)
})

test('SIGTERM after SIGTERM under load: no request that was accepted goes without its answer', {
  timeout: LONG,
}, async () => {
  const { data, shop, made, ...first } = await running()
  const before = made.length
  const totals = { answered: 0, refused: 0, idleResets: 0, closingResets: 0, busy: 0 }
  const failures: string[] = []
  for (let round = 0; round < STRENGTH.sigterms; round++) {
    const service = round === 0 ? first.service : await startAgain()
    const connections = round % 2 === 0 ? 'fresh' : 'kept'
    const clients = Array.from({ length: 16 }, (_, i) => stoppingClient(service.url, shop, i, connections))
    // A client that failed tells so below.
    await until(async () => clients.every((client) => client.answered() > 2 || client.failed()))
    for (const client of clients) client.told()
    service.signal('SIGTERM')
    for (const client of clients) {
      const { answered, refused, idleResets, closingResets, busy, failed } = await client.done
      for (const { sent, idempotencyKey, ...one } of answered)
        made.push({ kind: sent.kind, once: idempotencyKey, as: sent.token, ...one })
      failures.push(...failed.map((failure) => `${connections}: ${failure}`))
      totals.answered += answered.length
      totals.refused += refused
      totals.idleResets += idleResets
      totals.closingResets += closingResets
      totals.busy += busy
    }
    expect(await service.ended()).toEqual({ code: 0, signal: null })
    expect(serverProcesses(data)).toEqual([])
  }
  const books = await checkBooks(await startAgain(), shop, made, made.slice(before))
  report('SIGTERM', { rounds: STRENGTH.sigterms, failed: failures.length, ...totals, ...books })
  expect(failures).toEqual([])
  expect(totals.closingResets).toBeLessThanOrEqual(1)
  expect(totals.refused).toBe(16 * STRENGTH.sigterms) // each client went on until nobody was there
  expect(books).toEqual({ acknowledged: made.length, lost: 0, doubled: 0, wrongDefaults: 0 })
})

/** Every other client makes keys, the others addresses; of four that keep their connection, one pauses now and then. */
function stoppingClient(url: string, shop: Opened, i: number, connections: 'kept' | 'fresh') {
  const { token } = shop.people[i % 3] as Person
  const sent =
    i % 2 === 0
      ? { kind: 'key' as const, path: shop.keys, body: NEW_KEY, token }
      : { kind: 'address' as const, path: shop.billing, body: NEW_ADDRESS, token }
  return newStoppingClient(url, () => sent, { connections, pauses: connections === 'kept' && i % 4 === 3 })
}
