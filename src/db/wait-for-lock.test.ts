import pg from 'pg'
import { expect, test } from 'vitest'
import { newDatabase } from '../../tests/shop.ts'
import { Failure } from '../core/errors.ts'
import type { Db } from './db.ts'
import { connect } from './pool.ts'
import { sql } from './sql.ts'
import { retryWhileLocked, waitForFirstLock, waitForLock, waitInPerson } from './wait-for-lock.ts'

const patience = async (tx: Db) => (await tx.one<{ lock_timeout: string }>(sql`show lock_timeout`))?.lock_timeout

/** Transactions that wait in this way until they are released. */
function hold(db: Db, wait: typeof waitForLock, count: number) {
  const releases: (() => void)[] = []
  const held = Array.from({ length: count }, () => {
    const released = new Promise<void>((resolve) => releases.push(resolve))
    return db.transaction((tx) => wait(tx, () => released))
  })
  return { releases, held }
}

test('with four connections, as a worker has them, one waits patiently, and one person with rights', async () => {
  const db = connect({ connectionString: await newDatabase() }, { connections: 6 })
  expect(db.connections().serving).toBe(4)
  const look = (wait: typeof waitForLock) => db.transaction((tx) => wait(tx, () => patience(tx)))
  const other = hold(db, waitForLock, 1)
  await expect.poll(() => look(waitForLock)).toBe('50ms')
  expect(await look(waitInPerson)).toBe('2s')
  const person = hold(db, waitInPerson, 1)
  await expect.poll(() => look(waitInPerson)).toBe('2ms')
  for (const release of [...other.releases, ...person.releases]) release()
  await Promise.all([...other.held, ...person.held])
})

test('two wait patiently; whoever comes then waits for a moment, and patiently for what comes after', async () => {
  const db = connect({ connectionString: await newDatabase() })
  const look = () => db.transaction(async (tx) => [await waitForLock(tx, () => patience(tx)), await patience(tx)])
  const { releases, held } = hold(db, waitForLock, 2)
  await expect.poll(look).toEqual(['50ms', '2s'])
  // One that has found a lock held is patient besides these, and only one.
  const nested = await db.transaction((tx) =>
    waitForFirstLock(tx, async () => [
      await patience(tx),
      await db.transaction((other) => waitForFirstLock(other, () => patience(other))),
    ]),
  )
  expect(nested).toEqual(['2s', '50ms'])
  releases[0]?.()
  await held[0]
  expect(await look()).toEqual(['2s', '2s'])
  for (const release of releases) release()
  await Promise.all(held)
})

test('however many others wait, three people with rights wait patiently', async () => {
  const db = connect({ connectionString: await newDatabase() })
  const look = (wait: typeof waitForLock) => db.transaction((tx) => wait(tx, () => patience(tx)))
  const others = hold(db, waitForLock, 5)
  await expect.poll(() => look(waitForLock)).toBe('2ms')
  expect(await look(waitInPerson)).toBe('2s')
  for (const release of others.releases) release()
  await Promise.all(others.held)
  const people = hold(db, waitInPerson, 3)
  await expect.poll(() => look(waitInPerson)).toBe('50ms')
  for (const release of people.releases) release()
  await Promise.all(people.held)
})

test('a transaction that fails for a lock is run again for a while, and after any other failure not at all', async () => {
  const lockTimeout = Object.assign(new pg.DatabaseError('lock timeout', 0, 'error'), { code: '55P03' })
  const unavailable = new Failure('unavailable', { retryAfterSeconds: 1, cause: lockTimeout })
  const counted = (failures: number, error: Error) => {
    const state = { tries: 0 }
    const run = async () => {
      state.tries += 1
      if (state.tries <= failures) throw error
      return 'done'
    }
    return { state, run }
  }
  const twice = counted(2, unavailable)
  expect(await retryWhileLocked(twice.run, 60_000)).toBe('done')
  expect(twice.state.tries).toBe(3)
  const forever = counted(100, unavailable)
  // The third pause would end 150 ms too late.
  await expect(retryWhileLocked(forever.run, 200)).rejects.toBe(unavailable)
  expect(forever.state.tries).toBeLessThanOrEqual(3)
  const other = counted(1, new Error('something else'))
  await expect(retryWhileLocked(other.run, 60_000)).rejects.toThrow('something else')
  expect(other.state.tries).toBe(1)
})
