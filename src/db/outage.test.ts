// A database that is there and may not be trusted or written: a standby, a read-only primary, a refused login. Everything is
// 503 with Retry-After, nothing is authorized from a standby, and no restart is needed.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import pino from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { proxyTo } from '../../tests/db-proxy.ts'
import { PASSWORD } from '../../tests/password.ts'
import { type Api, apiAt, closeSharedService, NEW_KEY, newDatabase, type Reply } from '../../tests/shop.ts'
import { primaryAndStandby, type TestServer } from '../../tests/standby.ts'
import { readConfig } from '../config.ts'
import { newId } from '../core/ids.ts'
import { mintToken, sha256 } from '../crypto/tokens.ts'
import { readiness } from '../http/pages/health.ts'
import { startService } from '../service.ts'
import type { Batch } from './db.ts'
import { migrate } from './migrate.ts'
import { connect } from './pool.ts'
import { sql } from './sql.ts'

const RETRY = [503, 'unavailable', '1']
const summary = ({ status, body, headers }: Reply) => [status, body?.code, headers.get('retry-after')]

test('a standby, a read-only primary and a refused login are 503, and a revoked key is never valid again', async () => {
  const { primary, standby } = await primaryAndStandby()
  await primary.admin.query('create role shop login')
  await primary.admin.query('create database shop owner shop')
  const wire = await proxyTo(primary.url('shop', 'shop'))
  const secret = randomBytes(32).toString('base64')
  const [wired, direct] = [await startNode(wire.url, secret), await startNode(primary.url('shop', 'shop'), secret)]

  const { token: as } = (await wired.post('/v1/auth/sign-up', { email: 'ada@example.com', password: PASSWORD })).body
  const store = (await wired.post('/v1/user/store', { name: 'The shop' }, { as })).body
  const keys = `/v1/user/store/${store.id}/keys`
  const [revoked, kept] = [
    (await wired.post(keys, NEW_KEY, { as })).body,
    (await wired.post(keys, NEW_KEY, { as })).body,
  ]
  const service = await serviceToken(primary)
  const verdict = (api: Api, key: string) => api.post('/v1/keys/verify', { key, anyStore: true }, { as: service })
  expect((await verdict(wired, revoked.key)).body.code).toBe('VALID')

  // The standby falls behind, and the wire leads there: as to a former primary that came back as a standby.
  await until(async () => (await isThere(standby)) === 2)
  await standby.admin.query('select pg_wal_replay_pause()')
  wire.moveTo(standby.url('shop', 'shop'))
  await direct.delete(`${keys}/${revoked.id}`, { as })
  const revokedAt = performance.now()
  const verdicts: unknown[] = []
  while (performance.now() - revokedAt < 2_500) {
    verdicts.push(summary(await verdict(wired, revoked.key)))
    await sleep(50)
  }
  // The cut connection has emptied this node's cache at once, long before the two seconds that are allowed.
  expect(verdicts).toEqual(verdicts.map(() => RETRY))
  expect(await requests(wired, keys, kept.id, as)).toEqual([RETRY, RETRY, RETRY, RETRY, RETRY])
  expect(await ready(wired)).toEqual([503, 'the database is a standby', '1'])
  await expect(migrate({ connectionString: standby.url('shop', 'shop') })).rejects.toThrow('The database is a standby')
  // The same in the look-ups themselves, for a pooler that leads an open connection to another server.
  await expect(inDatabase(standby.url('shop', 'shop'), 'select require_primary()')).rejects.toMatchObject({
    code: '25006',
  })
  wire.moveTo(primary.url('shop', 'shop'))
  await until(async () => (await ready(wired))[0] === 200)
  expect((await verdict(wired, revoked.key)).body.code).toBe('REVOKED')
  expect(await requests(wired, keys, kept.id, as)).toEqual(SERVED)

  // New connections lead to the standby, while one that is open stays with the primary.
  const db = connect({ connectionString: wire.url })
  onTestFinished(() => db.close())
  const two = () => Promise.allSettled([1, 2].map(() => db.one(sql`select pg_sleep(0.2)`)))
  const readyOn = async () => JSON.parse(String((await readiness(db, false)).body)).status
  expect(await readyOn()).toBe('ready')
  await db.one(sql`select 1`)
  // However long this takes, it counts as a moment.
  await closeSharedService()
  vi.useFakeTimers({ toFake: ['performance', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
  wire.leadTo(standby.url('shop', 'shop'))
  expect((await two()).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(await readyOn()).toBe('the database is a standby')
  vi.useRealTimers()
  wire.leadTo(primary.url('shop', 'shop'))
  expect((await two()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  expect(await readyOn()).toBe('ready')

  // A primary that takes no writes.
  const set = async (value: 'on' | 'off') => {
    await primary.admin.query(`alter system set default_transaction_read_only = ${value}`)
    await primary.admin.query('select pg_reload_conf()')
  }
  await set('on')
  await until(async () => (await ready(wired))[1] === 'the database is read-only')
  expect(await requests(wired, keys, kept.id, as)).toEqual([RETRY, RETRY, SERVED[2], RETRY, RETRY])
  expect((await verdict(wired, kept.key)).body.code).toBe('VALID')
  // The administrator's own session is read-only too, but may still change the server's file.
  await set('off')
  await until(async () => (await ready(wired))[0] === 200)
  expect(await requests(wired, keys, kept.id, as)).toEqual(SERVED)

  for (const [code, shut, open] of [
    ['28000', 'alter role shop nologin', 'alter role shop login'],
    ['55000', 'alter database shop allow_connections false', 'alter database shop allow_connections true'],
    ['42501', 'revoke connect on database shop from public, shop', 'grant connect on database shop to public, shop'],
    ['3D000', 'alter database shop rename to elsewhere', 'alter database elsewhere rename to shop'],
  ] as const) {
    // A database can be renamed only while nobody is connected, and nodes connect again at once.
    await until(async () => {
      await primary.admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'shop'`)
      return primary.admin.query(shut).then(
        () => true,
        () => false,
      )
    })
    await until(async () => (await ready(wired))[1] === `the database refuses to serve (${code})`)
    // Also those that were logging in meanwhile.
    await primary.admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'shop'`)
    expect(await requests(wired, keys, kept.id, as), code).toEqual([RETRY, RETRY, RETRY, RETRY, RETRY])
    expect(summary(await verdict(wired, kept.key)), code).toEqual(RETRY)
    await primary.admin.query(open)
    await until(async () => (await ready(wired))[0] === 200)
    expect(await requests(wired, keys, kept.id, as), code).toEqual(SERVED)
  }
})

test('a node that gets no connection to spend with is not ready, until it gets one', async () => {
  const admin = await newDatabase()
  const url = new URL(admin)
  const role = `few_${randomBytes(4).toString('hex')}`
  await inDatabase(admin, `create role ${role} login connection limit 2`)
  url.username = role
  const db = connect({ connectionString: url.href })
  onTestFinished(() => db.close())
  const spend: Batch<number, number> = async (tx, rows) => ((await tx.query(sql`select 1`)).length ? rows : [])
  Object.assign(spend, { highPriority: true, holderOf: () => 'a store' })
  const ready = async () => (await readiness(db, false)).status
  await Promise.all([db.one(sql`select 1`), db.lookUps.one(sql`select 1`)])
  expect(await ready()).toBe(200)
  await expect(db.batched(spend, 1)).rejects.toMatchObject({ code: 'unavailable' })
  expect([await ready(), await ready()]).toEqual([503, 503])
  await inDatabase(admin, `alter role ${role} connection limit 3`)
  expect(await ready()).toBe(200)
  expect(await db.batched(spend, 1)).toBe(1)
})

const SERVED = [
  [201, undefined, null],
  [200, undefined, null],
  [200, undefined, null],
  [200, undefined, null],
  [200, undefined, null],
]

/** A batched write, a change, a read, a sign-in, and a change in a transaction that begins with an Idempotency-Key. */
async function requests(api: Api, keys: string, keyId: string, as: string): Promise<unknown[]> {
  await sleep(250) // until no caller is cached
  const once = { as, headers: { 'idempotency-key': randomBytes(8).toString('hex') } }
  const replies = [
    await api.post(keys, NEW_KEY, { as }),
    await api.patch(`${keys}/${keyId}`, { name: randomBytes(4).toString('hex') }, { as }),
    await api.get(keys, { as }),
    await api.post('/v1/auth/sign-in', { email: 'ada@example.com', password: PASSWORD }),
    await api.post(`${keys}/${keyId}/rotate`, { gracePeriodSeconds: 3600 }, once),
  ]
  return replies.map(summary)
}

async function ready(api: Api): Promise<unknown[]> {
  const { status, body, headers } = await api.get('/readyz')
  return [status, body.status, headers.get('retry-after')]
}

async function startNode(databaseUrl: string, secret: string): Promise<Api> {
  const config = readConfig({ DATABASE_URL: databaseUrl, SERVER_SECRET: secret, PORT: '0', RATE_LIMIT: 'off' })
  const node = await startService(config, pino({ level: 'silent' }), () => {})
  onTestFinished(() => node.close(0))
  return apiAt(node.url)
}

async function serviceToken({ url }: TestServer): Promise<string> {
  const token = mintToken('skp', 'svc').reveal()
  await inDatabase(
    url('shop', 'shop'),
    `insert into service_tokens (id, name, hash, created_at) values ($1, 'Gateway', $2, now())`,
    [newId('svc'), sha256(token)],
  )
  return token
}

/** How many keys have arrived; none while the database itself has not. */
async function isThere({ url }: TestServer): Promise<number> {
  const rows = await inDatabase(url('shop', 'shop'), 'select count(*)::int as keys from api_keys').catch(() => [])
  return rows[0]?.keys ?? 0
}

async function inDatabase(connectionString: string, text: string, values: unknown[] = []) {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  return client
    .query(text, values)
    .then(({ rows }) => rows)
    .finally(() => client.end())
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(20)) if (await condition()) return
  throw new Error('It did not happen.')
}
