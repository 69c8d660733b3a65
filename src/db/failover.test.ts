// The primary moves between the hosts that DATABASE_URL lists, and commits wait for a standby.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { proxyTo } from '../../tests/db-proxy.ts'
import { PASSWORD } from '../../tests/password.ts'
import { type Api, apiAt, NEW_KEY, type Reply } from '../../tests/shop.ts'
import { primaryAndStandby, type TestServer } from '../../tests/standby.ts'
import { readConfig } from '../config.ts'
import { startService } from '../service.ts'
import { listen } from './listen.ts'
import { openSnapshot } from './snapshot.ts'

const FAR_MS = 80

test('a node follows the primary, wherever in the list it is, and uses none while there are two', async () => {
  const { primary: first, standby: second, startAsStandby } = await primaryAndStandby()
  await first.admin.query('create role shop login')
  await first.admin.query('create database shop owner shop')
  await until(() => exists(second))
  const secret = randomBytes(32).toString('base64')
  // For the other node the first server is far away: it answers later than most connections wait for.
  const far = new URL((await proxyTo(first.url('shop', 'shop'), FAR_MS)).url)
  const firstFromAfar = { place: { host: far.hostname, port: Number(far.port) } }
  const [api, other] = [
    await startNode(listOf(first, second), secret),
    await startNode(listOf(second, firstFromAfar), secret),
  ]
  const { token: as } = (await api.post('/v1/auth/sign-up', { email: 'ada@example.com', password: PASSWORD })).body
  const store = (await api.post('/v1/user/store', { name: 'The shop' }, { as })).body
  const keys = `/v1/user/store/${store.id}/keys`
  const create = (node: Api) => node.post(keys, NEW_KEY, { as })
  expect([(await create(api)).status, (await create(other)).status]).toEqual([201, 201])

  // A clean stop: the standby has everything, and takes over.
  await until(async () => (await roleOf(api)) === 'primary')
  await first.stop()
  expect((await create(api)).status).toBe(503)
  await until(async () => (await roleOf(api)) === 'standby')
  await second.admin.query('select pg_promote()')
  await untilReady(api, other)
  expect([(await create(api)).status, (await create(other)).status]).toEqual([201, 201])
  const again = await startAsStandby()
  await until(() => exists(again))
  for (const node of [api, other]) {
    await hangUp(second)
    await untilReady(node)
    expect((await create(node)).status).toBe(201)
  }
  // Commands connect the same way.
  const snapshot = await openSnapshot({ connectionString: listOf(again, second) })
  await snapshot.close()

  await until(async () => (await lagOf(again, second)) === 0)
  await again.admin.query('select pg_promote()')
  await until(async () => !(await isStandby(again)))
  // Nobody has ended the connections to the old primary, which goes on as one.
  for (const node of [api, other])
    await until(async () => (await ready(node))[1] === 'several databases say that they are the primary')
  expect([(await create(api)).status, (await create(other)).status]).toEqual([503, 503])
  // And they stay so: the late answer is not forgotten by who connects next.
  for (let n = 0; n < 10; n++) expect((await ready(other))[0]).toBe(503)
  const { rows: left } = await second.admin.query(
    `select application_name from pg_stat_activity where usename = 'shop'`,
  )
  expect(left.filter(({ application_name }) => application_name !== 'storekeeper primary')).toEqual([])
  await second.stop()
  await untilReady(api, other)
  expect((await create(api)).status).toBe(201)
  const { rows } = await again.admin.query('select pg_is_in_recovery() as is_standby')
  expect(rows).toEqual([{ is_standby: false }])
})

test('a commit whose wait for the standby was ended is a lost answer, and a heartbeat that waits behind one loses nothing', async () => {
  const { primary, standby } = await primaryAndStandby()
  await primary.admin.query('create role shop login')
  await primary.admin.query('create database shop owner shop')
  await until(() => exists(standby))
  const waitFor = async (names: string) => {
    await primary.admin.query(`alter system set synchronous_standby_names = '${names}'`)
    await primary.admin.query('select pg_reload_conf()')
    await until(
      async () =>
        (await primary.admin.query('show synchronous_standby_names')).rows[0].synchronous_standby_names === names,
    )
    // The standby answers what is written, and its answer wakes those who wait.
    await primary.admin.query('select pg_switch_wal()')
  }
  await waitFor('*')
  // Else nothing would tell of the commits that no standby has.
  await primary.admin.query('alter role shop set client_min_messages = error')
  const api = await startNode(primary.url('shop', 'shop'), randomBytes(32).toString('base64'))
  const { token: as } = (await api.post('/v1/auth/sign-up', { email: 'ada@example.com', password: PASSWORD })).body
  const store = (await api.post('/v1/user/store', { name: 'The shop' }, { as })).body
  const keys = `/v1/user/store/${store.id}/keys`

  for (const [path, body, changes] of [
    [keys, NEW_KEY, 'a batch'],
    ['/v1/user/store', { name: 'Another' }, 'a transaction'],
  ] as const) {
    const once = { as, headers: { 'idempotency-key': randomBytes(8).toString('hex') } }
    await waitFor('nobody')
    let lost: Reply | undefined
    const answered = api.post(path, body, once).then((reply) => {
      lost = reply
    })
    await until(async () => {
      await cancelWaiting(primary)
      return lost !== undefined
    })
    await answered
    expect([lost?.status, lost?.body.code, lost?.headers.get('retry-after')], changes).toEqual([
      503,
      'unavailable',
      '1',
    ])
    await waitFor('*')
    const retried = await api.post(path, body, once)
    expect(retried.status, changes).toBe(201)
  }
  // Each was done once.
  const [made, stores] = [await api.get(keys, { as }), await api.get('/v1/user/store', { as })]
  expect([made.body.data.length, stores.body.data.length]).toEqual([1, 2])

  const words: string[] = []
  let gaps = 0
  const listener = listen(
    { connectionString: primary.url('shop', 'shop') },
    { words: (word) => void words.push(word) },
    () => void (gaps += 1),
  )
  onTestFinished(() => listener.close())
  await until(async () => listener.caughtUpTo().mono > 0)
  expect(gaps).toBe(1)
  await waitFor('nobody')
  const said = say(primary, 'said')
  await until(() => isWaiting(primary, 'the one who says it'))
  const stalledAt = performance.now()
  while (performance.now() - stalledAt < 5_000) {
    listener.caughtUpTo()
    await sleep(50)
  }
  const before = listener.caughtUpTo().mono
  expect([before < performance.now() - 3_000, gaps, words]).toEqual([true, 1, []])
  await waitFor('*')
  await said
  await until(async () => listener.caughtUpTo().mono > before + 3_000)
  expect(gaps).toBe(1)
  expect(words).toEqual(['said'])
})

function listOf(...servers: Pick<TestServer, 'place'>[]): string {
  const [hosts, ports] = [servers.map(({ place }) => place.host), servers.map(({ place }) => place.port)]
  return `postgres://shop@localhost/shop?host=${hosts.join(',')}&port=${ports.join(',')}`
}

async function startNode(databaseUrl: string, secret: string): Promise<Api> {
  const config = readConfig({ DATABASE_URL: databaseUrl, SERVER_SECRET: secret, PORT: '0', RATE_LIMIT: 'off' })
  const node = await startService(config, pino({ level: 'silent' }), () => {})
  onTestFinished(() => node.close(0))
  return apiAt(node.url)
}

/** With something that is written, so that the commit waits for the standby. */
async function say({ admin }: TestServer, word: string): Promise<void> {
  const client = new pg.Client({
    host: admin.host,
    port: admin.port,
    user: admin.user ?? '',
    database: 'shop',
    application_name: 'the one who says it',
  })
  await client.connect()
  await client.query(`select pg_logical_emit_message(true, 'words', ''), pg_notify('words', '${word}')`)
  await client.end()
}

/** Its commit waits for a standby, or behind a heartbeat's that does: one NOTIFY commits at a time. */
async function isWaiting({ admin }: TestServer, who: string): Promise<boolean> {
  const waits = `
    select
      from pg_stat_activity
     where (wait_event = 'SyncRep' or wait_event_type = 'Lock')
       and application_name = $1`
  return (await admin.query(waits, [who])).rowCount === 1
}

/** Ends the waits of requests, not those of heartbeats. */
async function cancelWaiting({ admin }: TestServer): Promise<void> {
  await admin.query(
    `select pg_cancel_backend(pid)
       from pg_stat_activity
      where wait_event = 'SyncRep'
        and application_name = 'storekeeper'`,
  )
}

const hangUp = ({ admin }: TestServer) =>
  admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'shop'`)

async function exists({ admin }: TestServer): Promise<boolean> {
  return (await admin.query(`select from pg_database where datname = 'shop'`)).rowCount === 1
}

async function isStandby({ admin }: TestServer): Promise<boolean> {
  return (await admin.query('select pg_is_in_recovery() as yes')).rows[0].yes
}

/** In bytes of the log. */
async function lagOf(standby: TestServer, primary: TestServer): Promise<number> {
  const { rows } = await primary.admin.query('select pg_current_wal_lsn()::text as at')
  const behind = await standby.admin.query('select greatest(0, $1::pg_lsn - pg_last_wal_replay_lsn())::int as bytes', [
    rows[0].at,
  ])
  return behind.rows[0].bytes
}

/** What the metrics say that the database is. */
async function roleOf(api: Api): Promise<string | undefined> {
  return /^storekeeper_database_role{role="(\w+)"} 1$/m.exec((await api.get('/metrics')).text)?.[1]
}

async function ready(api: Api): Promise<[number, string]> {
  const { status, body } = await api.get('/readyz')
  return [status, body.status]
}

async function untilReady(...nodes: Api[]): Promise<void> {
  for (const node of nodes) await until(async () => (await ready(node))[0] === 200)
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(20)) if (await condition()) return
  throw new Error('It did not happen.')
}
