import pg from 'pg'
import { expect, test } from 'vitest'
import { newDatabase } from '../../tests/shop.ts'
import { Failure } from '../core/errors.ts'
import type { Db } from './db.ts'
import { connect } from './pool.ts'
import { sql } from './sql.ts'
import { retryWhileLocked, waitForFirstLock, waitForLock } from './wait-for-lock.ts'

test('three wait patiently; whoever comes then waits for a moment, and patiently for what comes after', async () => {
  const db = connect({ connectionString: await newDatabase() })
  const patience = async (tx: Db) => (await tx.one<{ lock_timeout: string }>(sql`show lock_timeout`))?.lock_timeout
  const look = () => db.transaction(async (tx) => [await waitForLock(tx, () => patience(tx)), await patience(tx)])
  const releases: (() => void)[] = []
  const held = Array.from({ length: 3 }, () => {
    const released = new Promise<void>((resolve) => releases.push(resolve))
    return db.transaction((tx) => waitForLock(tx, () => released))
  })
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
