import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { proxyTo } from '../../tests/db-proxy.ts'
import { closeSharedService, newDatabase } from '../../tests/shop.ts'
import { Failure } from '../core/errors.ts'
import type { Batch, Database, Db } from './db.ts'
import { connect } from './pool.ts'
import { sql } from './sql.ts'

test('a lone request leaves with its turn of the event loop, and waits for nobody', async () => {
  const { db, insert, sizes } = await world()
  const sent = db.batched(insert, 1)
  await turn()
  expect(sizes).toEqual([1])
  expect(await sent).toBe('1 is in')
})

test('whoever comes in the same turn travels together; while they are on their way the others collect', async () => {
  const { db, insert, sizes, kept } = await world()
  stopClock()
  const first = numbers(3).map((n) => db.batched(insert, n))
  await turn()
  const others = numbers(10)
    .slice(3)
    .map((n) => db.batched(insert, n))
  expect(sizes).toEqual([3])
  expect(await Promise.all([...first, ...others])).toEqual(numbers(10).map((n) => `${n} is in`))
  expect(sizes).toEqual([3, 7])
  expect(await kept()).toEqual(numbers(10))
})

test('what has priority waits for the end of its turn too, but not after a turn that was long', async () => {
  const { db, insert, sizes } = await world()
  stopClock()
  const urgent: Batch<number, string> = (tx, rows) => insert(tx, rows)
  urgent.highPriority = true
  const together = [1, 2].map((n) => db.batched(urgent, n))
  expect(sizes).toEqual([])
  await turn()
  expect(sizes).toEqual([2])
  await Promise.all(together)
  await turn()

  const late = db.batched(urgent, 3)
  vi.advanceTimersByTime(50)
  await late
  await turn()
  expect(sizes).toEqual([2, 1])
  const atOnce = db.batched(urgent, 4)
  expect(sizes).toEqual([2, 1, 1])
  await atOnce
})

test('at most 64 travel together', async () => {
  const { db, insert, sizes, kept } = await world()
  await Promise.all(numbers(200).map((n) => db.batched(insert, n)))
  // How many batches these are depends on how busy the machine is.
  expect(Math.max(...sizes)).toBe(64)
  expect(await kept()).toEqual(numbers(200))
})

test('a batch that has left does not hold up the next', async () => {
  const { db, insert, sizes } = await world()
  for (const n of numbers(5)) await db.batched(insert, n)
  expect(sizes).toEqual([1, 1, 1, 1, 1])
})

test('a batch that is held up does not hold up the next, and never more than four are under way', async () => {
  const { db } = await world()
  const under: number[][] = []
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow: Batch<number, number> = async (_db, rows) => {
    under.push(rows)
    await held
    return rows
  }
  const sent: Promise<number>[] = []
  for (const n of numbers(6)) {
    sent.push(db.batched(slow, n))
    await sleep(40)
  }
  expect(under).toEqual([[0], [1], [2], [3]])
  release()
  expect(await Promise.all(sent)).toEqual(numbers(6))
  expect(under).toEqual([[0], [1], [2], [3], [4, 5]])
})

test('when eight rows wait, they travel beside the batch that is on its way', async () => {
  const { db } = await world()
  stopClock()
  const under: number[] = []
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow: Batch<number, number> = async (_db, rows) => {
    under.push(rows.length)
    await held
    return rows
  }
  const sent = [db.batched(slow, 0)]
  await turn()
  for (const n of numbers(7)) sent.push(db.batched(slow, n))
  await turn()
  expect(under).toEqual([1])
  sent.push(db.batched(slow, 7))
  await turn()
  expect(under).toEqual([1, 8])
  for (const n of numbers(20)) sent.push(db.batched(slow, n))
  await turn()
  expect(under).toEqual([1, 8])
  release()
  await Promise.all(sent)
  expect(under).toEqual([1, 8, 20])
})

test('different statements do not wait for each other', async () => {
  const { db, insert } = await world()
  const sizes: number[] = []
  const other: Batch<number, number> = async (_db, rows) => {
    sizes.push(rows.length)
    return rows
  }
  const first = numbers(5).map((n) => db.batched(insert, n))
  await turn()
  const sent = [...first, db.batched(other, 7)]
  await turn()
  expect(sizes).toEqual([1])
  expect((await Promise.all(sent)).at(-1)).toBe(7)
})

test('in however many groups there is one that is refused, the others are written', async () => {
  const { db, insert, kept } = await world()
  const grouped: Batch<number, string> = (tx, rows) => insert(tx, rows)
  grouped.holderOf = (n) => `holder ${Math.abs(n)}`
  const rows = numbers(12).flatMap((n) => [n + 1, -n - 1])
  const sent = await Promise.allSettled(rows.map((n) => db.batched(grouped, n)))
  expect(sent.map(({ status }) => status)).toEqual(rows.map((n) => (n > 0 ? 'fulfilled' : 'rejected')))
  expect(await kept()).toEqual(numbers(12).map((n) => n + 1))
})

test('a row that is refused fails alone, and its companions are written once', async () => {
  const { db, insert, sizes, kept } = await world()
  stopClock()
  const sent = await Promise.allSettled([0, 1, 2, -3, 4, 5].map((n) => db.batched(insert, n)))
  expect(sent.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, false, true, true])
  expect(sent[3]).toMatchObject({ reason: { code: '23514', constraint: 'numbers_n_check' } })
  expect(sizes).toEqual([6, 1, 1, 1, 1, 1, 1])
  expect(await kept()).toEqual([0, 1, 2, 4, 5])
})

test('a row that waits too long for a lock fails alone, and may be tried again', async () => {
  const { db, look, kept } = await world()
  await look.query('insert into numbers select generate_series(1, 5)')
  const raise: Batch<number, number> = async (tx, rows) => {
    await tx.query(sql`update numbers set n = n + 100 where n = any(${rows})`)
    return rows
  }
  await look.query('begin; select from numbers where n = 4 for update')
  const sent = await Promise.allSettled([1, 2, 3, 4, 5].map((n) => db.batched(raise, n)))
  await look.query('rollback')
  expect(sent.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, false, true])
  expect((sent[3] as PromiseRejectedResult).reason).toMatchObject({ code: 'unavailable', cause: { code: '55P03' } })
  expect(await kept()).toEqual([4, 101, 102, 103, 105])
})

test('whoever shares a lock with a batch that is held up waits with it, and the others do not', async () => {
  const { db, look, kept } = await world()
  stopClock()
  await look.query('insert into numbers select generate_series(1, 9)')
  const sizes: number[] = []
  const raise: Batch<number, number> = async (db, rows) => {
    sizes.push(rows.length)
    await db.transaction((tx) => tx.query(sql`update numbers set n = n + 100 where n = any(${rows})`))
    return rows
  }
  raise.holderOf = (n) => (n % 2 === 0 ? 'even' : 'odd')
  await look.query('begin; select from numbers where n = 2 for update')
  const first = db.batched(raise, 2)
  await until(async () => sizes.length > 1)
  // It is tried again and again. Whoever shares its lock waits with it, and nobody else does.
  const even = [4, 6, 8].map((n) => db.batched(raise, n))
  expect(await Promise.all([1, 3].map((n) => db.batched(raise, n)))).toEqual([1, 3])
  expect(sizes).not.toContain(3)
  await look.query('rollback')
  expect(await Promise.all([first, ...even])).toEqual([2, 4, 6, 8])
  expect(sizes.filter((size) => size !== 1)).toEqual([2, 3])
  expect(await kept()).toEqual([5, 7, 9, 101, 102, 103, 104, 106, 108])
})

test('of those who wait for a lock that is held only so many wait, and when it is not to be had all of them are told', async () => {
  const { db, look } = await world()
  await look.query('insert into numbers select generate_series(1, 300)')
  const raise: Batch<number, number> = async (db, rows) => {
    await db.transaction((tx) => tx.query(sql`update numbers set n = n + 1000 where n = any(${rows})`))
    return rows
  }
  let tries = 0
  const counted: Batch<number, number> = (db, rows) => {
    tries += 1
    return raise(db, rows)
  }
  counted.holderOf = () => 'everyone'
  await look.query('begin; select from numbers where n = 1 for update')
  const first = db.batched(counted, 1).catch((error: unknown) => error)
  await until(async () => tries > 1)
  const others = numbers(201)
    .slice(1)
    .map((n) => db.batched(counted, n + 1))
  const told = Promise.allSettled(others)
  await expect(others[199]).rejects.toMatchObject({ code: 'unavailable' })
  expect(await first).toMatchObject({ code: 'unavailable' })
  for (const outcome of await told) expect(codeOf(outcome)).toBe('unavailable')
  await look.query('rollback')
  expect(await db.batched(counted, 1)).toBe(1)
})

test('those who wait for the lock of another holder take no place of those who wait for their own', async () => {
  const { db, look } = await world()
  stopClock()
  await look.query('insert into numbers select generate_series(1, 300)')
  let tries = 0
  const raise: Batch<number, number> = async (db, rows) => {
    tries += 1
    await db.transaction((tx) => tx.query(sql`update numbers set n = n + 1000 where n = any(${rows})`))
    return rows
  }
  raise.holderOf = (n) => (n === 2 || n === 4 ? 'quiet' : 'busy')
  await look.query('begin; select from numbers where n in (1, 2) for update')
  const first = [db.batched(raise, 1), db.batched(raise, 2)]
  // Together, then each by itself, and each again: both are known to be locked.
  await until(async () => tries > 4)
  const busy = Promise.allSettled(numbers(150).map((n) => db.batched(raise, n + 10)))
  const quiet = db.batched(raise, 4)
  await look.query('rollback')
  expect(await Promise.all([...first, quiet])).toEqual([1, 2, 4])
  expect((await busy).filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
})

test('those who have waited in vain for the same lock are not tried one by one, and the others are written', async () => {
  const { db, look, kept } = await world()
  stopClock()
  await look.query('insert into numbers select generate_series(1, 5)')
  const sizes: number[] = []
  const raise: Batch<number, number> = async (db, rows) => {
    sizes.push(rows.length)
    await db.transaction((tx) => tx.query(sql`update numbers set n = n + 100 where n = any(${rows})`))
    return rows
  }
  raise.holderOf = (n) => (n % 2 === 0 ? 'even' : 'odd')
  await look.query('begin; select from numbers where n = 4 for update')
  const sent = await Promise.allSettled([1, 2, 3, 4, 5].map((n) => db.batched(raise, n)))
  await look.query('rollback')
  expect(sent.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, false, true])
  expect(sizes.slice(0, 3)).toEqual([5, 3, 2])
  expect(new Set(sizes.slice(3))).toEqual(new Set([2]))
  expect(await kept()).toEqual([2, 4, 101, 103, 105])
})

test('when the answer is lost all of them hear "unavailable", though all of it was written, and nothing is tried again', async () => {
  const { insert, sizes, kept, wire, wired } = await world()
  stopClock()
  await wired.query(sql`select 1`) // a connection is open
  wire.mute()
  const first = numbers(5).map((n) => wired.batched(insert, n))
  await turn()
  const others = numbers(12)
    .slice(5)
    .map((n) => wired.batched(insert, n))
  const settled = Promise.allSettled([...first, ...others])
  await until(async () => (await kept()).length === 5)
  expect(sizes).toEqual([5])
  wire.cut()
  const told = await settled
  expect(told.slice(0, 5).map(codeOf)).toEqual(Array(5).fill('unavailable'))
  // What had not left was not lost.
  expect(told.slice(5).map(({ status }) => status)).toEqual(Array(7).fill('fulfilled'))
  expect(sizes).toEqual([5, 7])
  expect(await kept()).toEqual(numbers(12))
})

test('a fault of our own reaches everyone in the batch, and the queue goes on', async () => {
  const { db } = await world()
  stopClock()
  let calls = 0
  const faulty: Batch<number, number> = async (_db, rows) => {
    calls += 1
    await Promise.resolve()
    if (calls === 1) throw new TypeError('a bug')
    return rows
  }
  const told = await Promise.allSettled(numbers(6).map((n) => db.batched(faulty, n)))
  expect(told.map(({ status }) => status)).toEqual(Array(6).fill('rejected'))
  expect(calls).toBe(1)
  expect(await db.batched(faulty, 7)).toBe(7)
})

test('inside a transaction a row goes with the transaction', async () => {
  const { db, insert, kept } = await world()
  await expect(
    db.transaction(async (tx) => {
      expect(await tx.batched(insert, 1)).toBe('1 is in')
      throw new Error('changed my mind')
    }),
  ).rejects.toThrow('changed my mind')
  expect(await kept()).toEqual([])
})

// ---- the world of one test ------------------------------------------------------------------------------------------

async function world() {
  const url = await newDatabase()
  const wire = await proxyTo(url)
  const look = new pg.Client({ connectionString: url })
  await look.connect()
  onTestFinished(() => look.end())
  await look.query('create table numbers (n int primary key check (n >= 0))')
  const sizes: number[] = []
  const insert: Batch<number, string> = async (tx: Db, rows) => {
    sizes.push(rows.length)
    await tx.query(sql`insert into numbers select value::int from json_array_elements_text(${JSON.stringify(rows)})`)
    return rows.map((n) => `${n} is in`)
  }
  return {
    db: opened(url),
    /** The same database, at the end of a wire. */
    wired: opened(wire.url),
    wire,
    look,
    insert,
    sizes,
    kept: async () => (await look.query<{ n: number }>('select n from numbers order by n')).rows.map(({ n }) => n),
  }
}

/** The turn of the event loop ends, and batches leave. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

// Tests stop the clock of their process (`stopClock`).
beforeAll(closeSharedService)

function opened(connectionString: string): Database {
  const db = connect({ connectionString })
  onTestFinished(() => db.close())
  return db
}

/**
 * The clock of the queues stands still: what is sent in one turn of the event loop is sent in no time, however long
 * this process is off its core meanwhile. Statements and timers go on.
 */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

function numbers(many: number): number[] {
  return Array.from({ length: many }, (_, n) => n)
}

function codeOf(told: PromiseSettledResult<unknown>): string {
  if (told.status === 'fulfilled') return 'fulfilled'
  return told.reason instanceof Failure ? told.reason.code : String(told.reason)
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10)))
    if (await condition()) return
  throw new Error('It did not happen.')
}
