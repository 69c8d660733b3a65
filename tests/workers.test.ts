// WORKERS: several processes that serve one port, killed, replaced and stopped under load. How often is decided by
// bench/stress/strength.ts: less in the suite than in `npm run stress`. What the primary does with its workers besides, as
// with one that is killed while it starts, is tested without services in src/cluster/primary.test.ts.

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { STRENGTH } from '../bench/stress/strength.ts'
import { familyOf, kill, LONG, launch, preparedData, runFromCheckout, type Started, start, until } from './launch.ts'
import { checkBooks, type Made, openShop, report, startLoad } from './process-load.ts'
import { isAlive, listProcesses, postmasters, serverProcesses } from './processes.ts'
import { apiAt, NEW_KEY, type Person } from './shop.ts'

runFromCheckout({ build: 'whole' })

const WORKERS = { WORKERS: '2' }

/** As all workers together have counted. */
async function metricsOf(url: string): Promise<{ requests: number; workers: number }> {
  const { text } = await apiAt(url).get('/metrics')
  const values = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\d+)$`, 'gm'))].map(([, value]) => Number(value))
  const requests = values('storekeeper_http_requests_total').reduce((sum, count) => sum + count, 0)
  return { requests, workers: values('storekeeper_workers')[0] ?? 0 }
}

/** Those that serve: a spare process waits beside them. */
const workersOf = ({ pid }: Pick<Started, 'pid'>): number[] =>
  listProcesses()
    .filter((each) => each.parent === pid && each.command.startsWith('storekeeper worker'))
    .map((each) => each.pid)

/** Each in a place where the one before it was. */
const replaced = (service: Started, old: number[]) => {
  const workers = workersOf(service)
  return workers.length === old.length && workers.every((each) => !old.includes(each))
}

/** The lines of the log that are there, while more may be on their way. */
const logged = (service: Pick<Started, 'out'>, msg: string): Record<string, unknown>[] =>
  service
    .out()
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.includes(`"msg":"${msg}"`))
    .map((line) => JSON.parse(line))

test('workers share the port, the work and the counts; one that is killed or told to stop is replaced; all stop in order', {
  timeout: LONG,
}, async () => {
  const service = await start({ env: { ...WORKERS, SHUTDOWN_DELAY: '2' } })
  const api = apiAt(service.url)
  const shop = await openShop(service.url)
  const as = (shop.people[0] as Person).token
  const store = shop.keys.replace('/keys', '')

  // Both serve, and a revocation at one is one at the other.
  const { id, key } = (await api.post(shop.keys, NEW_KEY, { as })).body
  const once = { as: key, headers: { connection: 'close' } }
  const useKey = () => Promise.all(Array.from({ length: 16 }, async () => (await api.get(store, once)).status))
  const serving = () => new Set(logged(service, 'request').map(({ worker }) => worker))
  await until(async () => {
    expect(new Set(await useKey())).toEqual(new Set([200]))
    return serving().size === 2
  })
  expect((await api.delete(`${shop.keys}/${id}`, { as })).status).toBe(200)
  await until(async () => (await useKey()).every((status) => status === 401))

  const load = startLoad(service.url, shop, 8)
  let counted = (await metricsOf(service.url)).requests
  // The lead first: another takes over what runs without a request.
  for (let kills = 1; kills <= STRENGTH.workerKills; kills++) {
    await load.more(50)
    kill(workersOf(service)[0] as number)
    await until(async () => logged(service, 'a worker was replaced').length === kills)
    await until(async () => {
      // Connections to the one that was killed have to be found broken first.
      const metrics = await metricsOf(service.url).catch(() => null)
      if (!metrics) return false
      expect(metrics.requests).toBeGreaterThanOrEqual(counted)
      counted = metrics.requests
      return metrics.workers === 2
    })
  }
  const last = (await api.post(shop.keys, NEW_KEY, { as })).body.id
  const sealed = async () => (await api.get(`${store}/events?limit=50`, { as })).text.includes(last)
  await until(sealed)
  await load.more(50)
  const counts = await load.finish()
  expect((await api.delete(`${shop.keys}/${last}`, { as })).status).toBe(200)
  expect(counts.unexpected).toEqual([])
  const replacedMs = logged(service, 'a worker was replaced').map(({ ms }) => ms)
  report('SIGKILL of workers', { kills: STRENGTH.workerKills, replacedMs, ...counts })

  // One that is told to stop by itself goes when another serves.
  const told = workersOf(service)[0] as number
  process.kill(told, 'SIGTERM')
  await until(async () => !isAlive(told))
  expect(workersOf(service)).toHaveLength(2)
  // A supervisor may tell all processes at once: they stop as if it had told the primary alone.
  service.signalGroup('SIGTERM')
  // Connections to the one that has gone may have to be found closed first.
  const readiness = async () => (await api.get('/readyz').catch(() => null))?.text ?? ''
  await until(async () => (await readiness()).includes('stopping'))
  service.signal('SIGHUP')
  expect(await service.ended()).toEqual({ code: 0, signal: null })
  expect(serverProcesses(service.data)).toEqual([])
  expect(service.lines().at(-1)).toMatchObject({ msg: 'stopped' })
})

test('SIGHUP replaces the workers one by one, and no request notices; without their primary they end, and the next start takes the database over', {
  timeout: LONG,
}, async () => {
  const data = preparedData()
  const service = await start({ data, env: WORKERS })
  const shop = await openShop(service.url)
  await until(async () => workersOf(service).length === 2)
  const load = startLoad(service.url, shop, 8)
  for (let times = 1; times <= STRENGTH.replacements; times++) {
    await load.more(50)
    const old = workersOf(service)
    service.signal('SIGHUP')
    await until(async () => logged(service, 'workers replaced').length === times)
    await until(async () => replaced(service, old))
  }
  await load.more(50)
  const counts = await load.finish()
  const books = await checkBooks(service, shop, load.done())
  report('SIGHUP', { times: STRENGTH.replacements, ...counts, ...books })
  expect(counts).toMatchObject({ interrupted: 0, unexpected: [] })
  expect(books).toEqual({ acknowledged: counts.acknowledged, lost: 0, doubled: 0, wrongDefaults: 0 })

  // The spare too ends without its primary.
  const family = familyOf(service.pid)
  expect(family).toHaveLength(3)
  service.signal('SIGKILL')
  await until(async () => family.filter(isAlive).length === 0)
  expect(postmasters(data)).toHaveLength(1)

  // What keeps workers from starting is said once.
  const refused = launch({ data, env: { ...WORKERS, SERVER_SECRET: randomBytes(32).toString('base64') } })
  expect((await refused.ended()).code).toBe(1)
  expect(refused.err().match(/Storekeeper could not start: /g)).toHaveLength(1)
  expect(refused.err()).toContain('SERVER_SECRET')

  const again = await start({ data, env: WORKERS })
  const { kind, id, as } = load.done()[0] as Made
  const path = kind === 'key' ? shop.keys : shop.billing
  expect((await apiAt(again.url).get(`${path}/${id}`, { as })).status).toBe(200)
  // At a terminal everyone hears Ctrl-C.
  await until(async () => workersOf(again).length === 2)
  const heard = familyOf(again.pid)
  again.signalGroup('SIGINT')
  expect((await again.ended()).code).toBe(0)
  expect(heard.filter(isAlive)).toEqual([])
})
