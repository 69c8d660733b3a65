// The locks that erasing a user takes (erase.ts, erase-stores.ts), and what is said of a store whose lock is not to be had.

import { CallerChanged } from '../auth/recheck.ts'
import type { UserCaller } from '../core/caller.ts'
import { Failure } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { isLockTimeout } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import { waitForBusyLock, waitForFirstLock, waitForLock, waitForLocks } from '../db/wait-for-lock.ts'

/** `sessionId`: of the user who erases themselves. */
export type Leaving = Pick<UserCaller, 'id' | 'sessionId'>

export const lockStore = (tx: Db, id: string) => tx.query(sql`select id from stores where id = ${id} for no key update`)

export async function lockOne(tx: Db, user: Leaving, storeId: string): Promise<void> {
  await waitForLock(tx, () => lockStore(tx, storeId))
  await requireThere(tx, user)
}

/** The user must still be there, and the session with which they ask. */
export async function requireThere(tx: Db, user: Leaving): Promise<void> {
  const [there, session] = await Promise.all([
    tx.one(sql`
      select id
        from users
       where id = ${user.id}
         and erased_at is null
         for key share`),
    tx.one(sql`
      select id
        from sessions
       where id = ${user.sessionId}
         for key share`),
  ])
  if (!there || (user.sessionId !== null && !session)) throw new CallerChanged()
}

/** The stores whose locks were held when all of them were tried last, the latest first. */
export type BusyStores = string[]
const MAX_BUSY = 2

/**
 * Locks several stores. The one that was held the last time comes first: it is waited for patiently, and nothing else is locked
 * meanwhile. One that was held before comes next, for which 50 ms are waited, then the others in the order of their ids, each for
 * 10 ms. A store that is held is noted in `busy`, and the transaction fails and is run again (db/pool.ts). So the locks of stores
 * are not always taken in one order, but of two that wait for each other, one gives up long before PostgreSQL sees a deadlock.
 */
export async function lockStores(tx: Db, storeIds: string[], busy: BusyStores): Promise<void> {
  const note = <T>(id: string, locked: Promise<T>): Promise<T> =>
    locked.catch((error) => {
      if (isLockTimeout(error))
        busy.splice(0, MAX_BUSY, ...[id, ...busy.filter((other) => other !== id)].slice(0, MAX_BUSY))
      throw namingStore(error, id)
    })
  const [first, second] = busy.filter((id) => storeIds.includes(id))
  const others = storeIds.filter((id) => id !== first && id !== second)
  if (first)
    await note(
      first,
      waitForFirstLock(tx, () => lockStore(tx, first)),
    )
  if (second)
    await note(
      second,
      waitForBusyLock(tx, () => lockStore(tx, second)),
    )
  if (others.length === 0) return
  await waitForLocks(tx, async () => {
    // In one round trip. When one of them fails, so do all after it, and the first says why.
    const locked = others.map((id) => note(id, lockStore(tx, id)))
    await Promise.allSettled(locked)
    await Promise.all(locked)
  })
}

/** A failure for which the store is too busy says so; any other stays as it is. */
export function namingStore(error: unknown, storeId: string): unknown {
  const isRefused = error instanceof Failure && error.code === 'unavailable' && error.cause === undefined
  if (!(error instanceof Failure) || !(isRefused || isLockTimeout(error))) return error
  const detail = `The store ${storeId} is busy. Try again, or end the membership there first.`
  return new Failure('unavailable', { ...error.details, detail })
}
