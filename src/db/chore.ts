// Chores of maintenance, in batches that are bounded by rows and, all together, by time. A batch is a transaction of its
// own, short enough for its locks to disturb no request; a backlog is worked off batch after batch, and what is left when
// the time is up, the next minute's run goes on with.
//
// One batch at a time in the whole installation: two nodes would wait for each other's rows, in different orders.

import { MINUTE } from '../core/clock.ts'
import type { Db } from './db.ts'
import { sql } from './sql.ts'

export const CHORE_BATCH = 5_000
const CHORE_LOCK = 7_305_002
const MAX_CHORE_MS = MINUTE

/** `batch` tells whether there may be more to do. Another node that is at its chores does this one as well. */
export async function runInBatches(db: Db, batch: (tx: Db) => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + MAX_CHORE_MS; performance.now() < end; ) {
    const hasMore = await db.transaction(async (tx) => {
      const lock = await tx.one<{ got: boolean }>(sql`select pg_try_advisory_xact_lock(${CHORE_LOCK}) as got`)
      return lock?.got === true && (await batch(tx))
    })
    if (!hasMore) return
  }
}

/** For a statement that tells the number of its rows as `count`: whether it was a full batch. */
export async function isFull(tx: Db, statement: ReturnType<typeof sql>, size = CHORE_BATCH): Promise<boolean> {
  const done = await tx.one<{ count: number }>(statement)
  return (done?.count ?? 0) >= size
}
