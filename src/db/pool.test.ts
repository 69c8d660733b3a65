import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { proxyTo } from '../../tests/db-proxy.ts'
import { newDatabase, shop } from '../../tests/shop.ts'
import { startTicking } from '../../tests/ticks.ts'
import { Failure } from '../core/errors.ts'
import type { Database } from './db.ts'
import { violatedConstraint } from './errors.ts'
import { listen } from './listen.ts'
import { connect } from './pool.ts'
import { sql } from './sql.ts'

test('a statement gives its rows, `one` the first or null', async () => {
  const { db } = await world()
  expect(await db.query(sql`select n from generate_series(1, ${3}::int) as n`)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  expect(await db.one(sql`select ${'x'}::text as it`)).toEqual({ it: 'x' })
  expect(await db.one(sql`select 1 where false`)).toBeNull()
})

test('every connection has its patience: for a lock, a statement, and a transaction that does nothing', async () => {
  const { db } = await world()
  expect(
    await db.one(sql`
      select current_setting('lock_timeout') as lock,
             current_setting('statement_timeout') as statement,
             current_setting('idle_in_transaction_session_timeout') as idle`),
  ).toEqual({ lock: '2s', statement: '5s', idle: '10s' })
})

test('a commit waits for the disk whatever the server, the database or the role has set; what is stronger stays', async () => {
  const url = await newDatabase()
  const name = new URL(url).pathname.slice(1)
  const look = new pg.Client({ connectionString: url })
  await look.connect()
  onTestFinished(() => look.end())
  for (const [set, inForce] of [
    ['off', 'on'],
    ['local', 'local'],
    ['remote_apply', 'remote_apply'],
  ] as const) {
    await look.query(`alter database ${name} set synchronous_commit = ${set}`)
    const db = connect({ connectionString: url })
    expect(await db.one(sql`select current_setting('synchronous_commit') as it`)).toEqual({ it: inForce })
    await db.close()
  }
})

test('a pooler in session mode takes our connections: the start-up message holds nothing that one could refuse or drop', async () => {
  const wire = await proxyTo(await newDatabase())
  const db = connect({ connectionString: wire.url })
  onTestFinished(() => db.close())
  expect(await db.one(sql`select current_setting('enable_seqscan') as it`)).toEqual({ it: 'off' })
  const listener = listen({ connectionString: wire.url }, {}, () => {})
  onTestFinished(() => listener.close())
  await expect.poll(() => listener.caughtUpTo().mono).toBeGreaterThan(0)
  for (const message of wire.startUps()) {
    const names = message
      .slice(8)
      .split('\0')
      .filter((_, n) => n % 2 === 0 && _ !== '')
    expect(names.sort()).toEqual(['application_name', 'client_encoding', 'database', 'user'])
  }
  expect(wire.startUps()).toHaveLength(2)
})

test('times are read as they are, however the database likes to write them', async () => {
  const { sql: look, node } = await shop({ alone: true })
  const [{ name }] = await look('select current_database() as name')
  await look(`alter database ${name} set datestyle = 'German'`)
  await look(`alter database ${name} set timezone = 'Asia/Kolkata'`)
  const api = await node()
  const account = { email: 'ada@example.com', password: 'correct horse battery staple' }
  const { status, body } = await api.post('/v1/auth/sign-up', account)
  expect(status).toBe(201)
  const me = await api.get('/v1/user', { as: body.token })
  expect([me.status, me.body]).toEqual([200, { user: body.user, stores: [] }])
})

test('a transaction is all of it or nothing, and one inside another simply joins', async () => {
  const { db, kept } = await world()
  const insert = (n: number) => sql`insert into numbers values (${n})`
  await db.transaction(async (tx) => {
    await tx.query(insert(1))
    await tx.transaction((inner) => inner.query(insert(2)))
    expect(await kept()).toEqual([])
  })
  expect(await kept()).toEqual([1, 2])
  const broken = db.transaction(async (tx) => {
    await tx.query(insert(3))
    await tx.transaction((inner) => inner.query(insert(4)))
    throw new Error('changed my mind')
  })
  await expect(broken).rejects.toThrow('changed my mind')
  expect(await kept()).toEqual([1, 2])
})

test('a statement that nobody waits for until the commit says why it was refused, also when one after it is awaited', async () => {
  const { db, kept } = await world()
  const refused = db.transaction(async (tx) => {
    tx.withCommit(sql`insert into numbers values (1)`)
    tx.withCommit(sql`select pg_cancel_backend(pg_backend_pid())`)
    await tx.query(sql`insert into numbers values (2)`)
  })
  await expect(refused).rejects.toMatchObject({ code: 'unavailable', cause: { code: '57014' } })
  expect(await kept()).toEqual([])
})

test('a statement that is refused says why, and ends its transaction', async () => {
  const { db, kept } = await world()
  await db.query(sql`insert into numbers values (1)`)
  const refused = await db
    .transaction(async (tx) => {
      await tx.query(sql`insert into numbers values (2)`)
      await tx.query(sql`insert into numbers values (1)`)
    })
    .catch((error) => error)
  expect(refused).toBeInstanceOf(pg.DatabaseError)
  expect(violatedConstraint(refused)).toBe('numbers_pkey')
  expect(await kept()).toEqual([1])
  // The connection it ran on is as good as new.
  for (let i = 0; i < 20; i++) expect(await db.one(sql`select ${i}::int as n`)).toEqual({ n: i })
})

test('a lock that is not to be had in time is "unavailable", and nothing was written', async () => {
  const { db, look, kept } = await world()
  await look.query('begin; lock table numbers in access exclusive mode')
  const refused = await db.query(sql`insert into numbers values (1)`).catch((error) => error)
  await look.query('rollback')
  expect(refused).toBeInstanceOf(Failure)
  expect([refused.code, refused.details.retryAfterSeconds, refused.cause.code]).toEqual(['unavailable', 1, '55P03'])
  expect(await kept()).toEqual([])
})

test('a commit whose answer is lost is "unavailable", whatever became of it', async () => {
  const { url, kept } = await world()
  const wire = await proxyTo(url)
  const db = opened(wire.url)
  const told = db
    .transaction(async (tx) => {
      await tx.query(sql`insert into numbers values (1)`)
      wire.mute()
    })
    .catch((error) => error)
  await until(async () => (await kept()).length === 1)
  wire.cut()
  expect(await told).toMatchObject({ code: 'unavailable' })
  expect(await kept()).toEqual([1])
  expect(await db.one(sql`select 1 as n`)).toEqual({ n: 1 })
})

test('a connection that breaks before the commit takes its transaction with it', async () => {
  const { url, kept } = await world()
  const wire = await proxyTo(url)
  const db = opened(wire.url)
  const told = await db
    .transaction(async (tx) => {
      await tx.query(sql`insert into numbers values (1)`)
      wire.cut()
    })
    .catch((error) => error)
  expect(told).toMatchObject({ code: 'unavailable' })
  expect(await kept()).toEqual([])
  expect(await db.one(sql`select 1 as n`)).toEqual({ n: 1 })
})

test('quiet connections that the server ends are replaced', async () => {
  const { db, look } = await world()
  await Promise.all(Array.from({ length: 5 }, () => db.query(sql`select pg_sleep(0.05)`)))
  const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  await look.query(`select pg_terminate_backend(pid) ${others}`)
  await until(async () => (await look.query(`select ${others}`)).rowCount === 0)
  await new Promise((resolve) => setTimeout(resolve, 50)) // the news travels to the pool
  expect(await db.one(sql`select 1 as n`)).toEqual({ n: 1 })
})

test('where nothing listens, and where nobody answers, it is "unavailable" within seconds', async () => {
  const silent = net.createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as net.AddressInfo
  for (const at of [1, port]) {
    const elapsed = startTicking()
    const db = connect({ connectionString: `postgres://nobody@127.0.0.1:${at}/nothing` })
    await expect(db.query(sql`select 1`)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(db.transaction((tx) => tx.query(sql`select 1`))).rejects.toMatchObject({ code: 'unavailable' })
    expect(elapsed()).toBeLessThan(6_000)
    await db.close()
  }
  silent.close()
})

test('whoever finds every connection taken waits, is counted, and is told so in time', async () => {
  const { db } = await world()
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let begun = 0
  const busy = Array.from({ length: 8 }, () =>
    db.transaction(async (tx) => {
      await tx.query(sql`select 1`)
      begun += 1
      await released
    }),
  )
  await until(async () => begun === 8)
  const late = db.query(sql`select 1`)
  expect(db.waiting()).toBe(1)
  await expect(late).rejects.toMatchObject({ code: 'unavailable' })
  expect(db.waiting()).toBe(0)
  expect(db.connections()).toEqual({ open: 8, idle: 0, max: 12, serving: 8, refused: 1 })
  const early = db.one(sql`select 1 as n`)
  release()
  await Promise.all(busy)
  expect(await early).toEqual({ n: 1 })
})

// ---- the world of one test ------------------------------------------------------------------------------------------

async function world() {
  const url = await newDatabase()
  const look = new pg.Client({ connectionString: url })
  await look.connect()
  onTestFinished(() => look.end())
  await look.query('create table numbers (n int primary key)')
  const kept = async () => (await look.query<{ n: number }>('select n from numbers order by n')).rows.map(({ n }) => n)
  return { db: opened(url), url, look, kept }
}

function opened(connectionString: string): Database {
  const db = connect({ connectionString })
  onTestFinished(() => db.close())
  return db
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10)))
    if (await condition()) return
  throw new Error('It did not happen.')
}

test('a connection that is lost just as it is made is given up, of one host and of several', async () => {
  const wire = await proxyTo(await newDatabase())
  const { port, pathname, username } = new URL(wire.url)
  const nobody = net.createServer().listen(0, '127.0.0.1')
  await once(nobody, 'listening')
  const { port: unused } = nobody.address() as net.AddressInfo
  nobody.close()
  const several = `postgres://${username}@127.0.0.1${pathname}?host=127.0.0.1,127.0.0.1&port=${port},${unused}`
  for (const connectionString of [wire.url, several]) {
    const db = connect({ connectionString })
    wire.loseNext()
    const lost = await db.query(sql`select 1`).catch((error: unknown) => error)
    expect(lost).toMatchObject({ code: 'unavailable' })
    expect(await db.one(sql`select 1 as it`)).toEqual({ it: 1 })
    await db.close()
  }
})

test('a connection that is ready when whoever asked for it has waited too long is not lost', async () => {
  const wire = await proxyTo(await newDatabase(), 450)
  // One that serves.
  const db = connect({ connectionString: wire.url }, { connections: 3 })
  onTestFinished(() => db.close())
  wire.mute()
  const first = db.query(sql`select 1`).catch((error: unknown) => error)
  await sleep(300)
  // It waits for the connection of the first, and 1.2 s later, when that is cut, has one made that takes 0.9 s.
  const second = db.query(sql`select 1`).catch((error: unknown) => error)
  await sleep(1_200)
  wire.cut()
  await Promise.all([first, second])
  await expect.poll(() => db.one(sql`select 1 as it`).catch(() => null)).toEqual({ it: 1 })
})

test('a login that fails on this side leaves no connection open', async () => {
  const sockets = new Set<net.Socket>()
  let came = 0
  // Asks each for a password by SCRAM, which the driver has none for.
  const server = net.createServer((socket) => {
    came += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    const ask = (step: 10 | 11, text: string) =>
      socket.write(
        Buffer.from(`R\0\0\0${String.fromCharCode(8 + text.length)}\0\0\0${String.fromCharCode(step)}${text}`),
      )
    socket.once('data', () => {
      ask(10, 'SCRAM-SHA-256\0\0')
      socket.once('data', () => ask(11, 'r=nonce,s=salt,i=4096'))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as net.AddressInfo
  const db = connect({ connectionString: `postgres://nobody@127.0.0.1:${port}/none` })
  for (let n = 0; n < 3; n++) await expect(db.query(sql`select 1`)).rejects.toMatchObject({ code: 'unavailable' })
  await expect.poll(() => [came, sockets.size]).toEqual([3, 0])
  await db.close()
})
