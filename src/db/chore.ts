// Chores of maintenance, in batches that are bounded by rows and, all together, by time. A batch is a transaction of its
// own, short enough for its locks to disturb no request; a backlog is worked off batch after batch, and what is left when
// the time is up, the next minute's run goes on with. Where a batch does not end in time, on a slow disk perhaps, smaller
// ones follow: a chore that failed every minute would never catch up.
//
// A backlog that takes longer than five seconds is worked off at a third of the speed that would be possible: after each batch
// the chore rests for twice as long as the batch took, so that requests find the database and its disk idle most of the
// time. (npm run stress:size measures what they feel of it.) One that has a promise to keep rests for less.
//
// One batch at a time in the whole installation: two nodes would wait for each other's rows, in different orders.

import { setTimeout as sleep } from 'node:timers/promises'
import { MINUTE, SECOND } from '../core/clock.ts'
import type { Db } from './db.ts'
import { isStatementTimeout } from './errors.ts'
import { fragment, type Sql, sql } from './sql.ts'

/** Destroying a secret writes to random pages of an index, 8 KB of log each: 5,000 at once took seconds on a busy disk. */
export const CHORE_BATCH = 1_000
const MIN_BATCH = 50
const CHORE_LOCK = 7_305_002
const MAX_CHORE_MS = MINUTE
const FULL_SPEED_MS = 5 * SECOND

type Rest = {
  /** How many times as long as the batch took. */
  times: number
  sleep: (ms: number) => Promise<unknown>
}
const REST: Rest = { times: 2, sleep }

/** How many rows a batch has written or deleted, and whether there may be more to do. */
export type BatchResult = { rows: number; hasMore: boolean }

/** Works on up to `size` rows. */
type ChoreBatch = (tx: Db, size: number) => Promise<BatchResult>

const NOTHING: BatchResult = { rows: 0, hasMore: false }

/** Another node that is at its chores does this one as well. Returns the number of rows. */
export async function runInBatches(db: Db, batch: ChoreBatch, rest: Partial<Rest> = {}): Promise<number> {
  const { times, sleep } = { ...REST, ...rest }
  let size = CHORE_BATCH
  let rows = 0
  const began = performance.now()
  while (performance.now() - began < MAX_CHORE_MS) {
    const batchBegan = performance.now()
    try {
      const done = await runBatch(db, batch, size)
      rows += done.rows
      if (!done.hasMore) break
      const ended = performance.now()
      if (ended - began > FULL_SPEED_MS) await sleep(times * (ended - batchBegan))
    } catch (error) {
      if (!isStatementTimeout(error) || size === MIN_BATCH) throw error
      size = Math.max(MIN_BATCH, Math.floor(size / 4))
    }
  }
  return rows
}

function runBatch(db: Db, batch: ChoreBatch, size: number): Promise<BatchResult> {
  return db.transaction(async (tx) => {
    const lock = await tx.one<{ got: boolean }>(sql`select pg_try_advisory_xact_lock(${CHORE_LOCK}) as got`)
    return lock?.got === true ? batch(tx, size) : NOTHING
  })
}

/**
 * Deletes the `rows` of a table: a condition, and an order that its index has, without which a large table may be read
 * whole. A row that somebody has locked is left for the next time.
 */
export function deleteInBatches(db: Db, table: string, rows: Sql): Promise<number> {
  return runInBatches(db, (tx, size) => deleteBatch(tx, size, table, rows))
}

/** The same, of one batch of a chore that does more. */
export function deleteBatch(tx: Db, size: number, table: string, rows: Sql): Promise<BatchResult> {
  const name = fragment(table)
  return countedBatch(
    tx,
    size,
    sql`
      with gone as (
        delete from ${name}
         where ctid = any(array(
                 select ctid
                   from ${name}
                  where ${rows}
                  limit ${size}
                    for update skip locked
               ))
     returning 1
      )
      select count(*)::int as count
        from gone`,
  )
}

/** For a statement that tells the number of its rows as `count`. A full batch may not be the last. */
export async function countedBatch(tx: Db, size: number, statement: Sql): Promise<BatchResult> {
  const { count: rows } = (await tx.one<{ count: number }>(statement)) ?? { count: 0 }
  return { rows, hasMore: rows >= size }
}
