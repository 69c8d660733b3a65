// A transaction that waits for the lock of a store keeps its connection meanwhile, and there are few of these. So the more
// of them wait, the shorter the next one does: some for as long as statements may, a few for a moment, all others hardly at
// all. Who was refused gives the connection back, and tries again after a pause (`retryWhileLocked`). So however many stores
// are locked, and whoever waits for them, others have connections.

import { setTimeout as sleep } from 'node:timers/promises'
import { newSemaphore } from '../core/semaphore.ts'
import type { Db } from './db.ts'
import { isLockTimeout } from './errors.ts'
import { sql } from './sql.ts'

/** Out of eight connections, two of which are left to those who wait for nothing; out of fewer, in proportion. */
const OF_EIGHT = { patientInPerson: 3, patient: 2, waiting: 5 }
/** `waiting`: from so many on, further ones hardly wait at all. */
let max = OF_EIGHT

/** Told when the connections are opened: all services of a process have as many. */
export function shareConnections(serving: number): void {
  const share = (count: number) => Math.max(1, Math.floor((count * Math.min(serving, 8)) / 8))
  const { patientInPerson, patient, waiting } = OF_EIGHT
  max = { patientInPerson: share(patientInPerson), patient: share(patient), waiting: share(waiting) }
}

const PATIENCE_MS = 2_000
const BRIEF_MS = 50
const EACH_OF_MANY_MS = 10
const GLANCE_MS = 2
/** Between the tries for a lock that is held: together as long as one that waits patiently does. */
export const LOCK_PAUSES_MS = [50, 100, 200, 400, 400, 400, 400]

const setLockTimeout = (ms: number) => sql`select set_config('lock_timeout', ${`${ms}ms`}, true)`

/** On this node, and how many of them in person. Most of them find their lock free and are among these for a millisecond. */
let waiting = 0
let waitingInPerson = 0

/** Sends statements that lock a store, the first of the transaction that may wait for anybody. */
export async function waitForLock<T>(tx: Db, lock: () => Promise<T>): Promise<T> {
  return waitAtMost(tx, waiting < max.patient ? PATIENCE_MS : briefly(), lock)
}

/**
 * The same, for a person with rights in the store. Only others like them make them less patient: neither keys nor strangers, of
 * which anybody may have many, turn their wait into glances.
 */
export async function waitInPerson<T>(tx: Db, lock: () => Promise<T>): Promise<T> {
  const isPatient = waitingInPerson < max.patientInPerson
  waitingInPerson += 1
  try {
    return await waitAtMost(tx, isPatient ? PATIENCE_MS : briefly(), lock)
  } finally {
    waitingInPerson -= 1
  }
}

/**
 * For whoever locks several stores, and waits for each of them: while they do, nobody waits long for those they have locked
 * already.
 */
export async function waitForLocks<T>(tx: Db, lock: () => Promise<T>): Promise<T> {
  return waitAtMost(tx, Math.min(EACH_OF_MANY_MS, briefly()), lock)
}

/** The same, for one that was held when it was tried before. */
export async function waitForBusyLock<T>(tx: Db, lock: () => Promise<T>): Promise<T> {
  return waitAtMost(tx, briefly(), lock)
}

let waitingForFirst = 0

/**
 * The same, for one that was held when it was tried before, while no other is locked: patiently. One at a time on this node
 * does so however many others wait.
 */
export async function waitForFirstLock<T>(tx: Db, lock: () => Promise<T>): Promise<T> {
  const isAlone = waitingForFirst === 0
  waitingForFirst += 1
  try {
    return await (isAlone ? waitAtMost(tx, PATIENCE_MS, lock) : waitForLock(tx, lock))
  } finally {
    waitingForFirst -= 1
  }
}

const briefly = () => (waiting < max.waiting ? BRIEF_MS : GLANCE_MS)

async function waitAtMost<T>(tx: Db, ms: number, lock: () => Promise<T>): Promise<T> {
  waiting += 1
  try {
    if (ms === PATIENCE_MS) return await lock()
    const [before, locked, after] = [tx.query(setLockTimeout(ms)), lock(), tx.query(setLockTimeout(PATIENCE_MS))]
    const others = Promise.allSettled([before, after])
    // Awaited first: it says why, and the statement after it fails only because this one did.
    const result = await locked
    await others
    return result
  } finally {
    waiting -= 1
  }
}

/** The same database, where nothing waits for a lock for longer than a moment. */
export function waitBriefly(db: Db, maxMs = BRIEF_MS): Db {
  const transaction: Db['transaction'] = (work, turn) =>
    db.transaction((tx) => {
      tx.withCommit(setLockTimeout(maxMs))
      return work(tx)
    }, turn)
  return { ...db, transaction, query: (statement) => transaction((tx) => tx.query(statement)) }
}

/** So many at a time on this node, so that they never take all connections. */
const MAX_TRYING = 3
const inPlace = newSemaphore(MAX_TRYING, Number.POSITIVE_INFINITY)
let trying = 0

/** For a lock that may be held: as long as nobody else tries, it is waited for for a moment, and else hardly at all. */
export async function tryAgainBriefly<T>(db: Db, run: (db: Db) => Promise<T>): Promise<T> {
  trying += 1
  try {
    return await inPlace(() => run(waitBriefly(db, trying <= MAX_TRYING ? BRIEF_MS : GLANCE_MS)))
  } finally {
    trying -= 1
  }
}

/** Runs the transaction again while it fails for a lock, for as long as one that waits patiently would. */
export async function retryWhileLocked<T>(run: () => Promise<T>, patienceMs = PATIENCE_MS): Promise<T> {
  const end = performance.now() + patienceMs
  for (const pauseMs of LOCK_PAUSES_MS) {
    try {
      return await run()
    } catch (error) {
      if (!isLockTimeout(error) || performance.now() + pauseMs > end) throw error
      await sleep(pauseMs)
    }
  }
  return run()
}
