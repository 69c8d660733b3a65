// Maintenance of stored responses: after an hour their secrets are destroyed, after a day the rows are deleted.

import { addMs, ago, HOUR, MINUTE } from '../core/clock.ts'
import { deleteInBatches, runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { REPLAY_MS, SECRET_REPLAY_MS } from './idempotency.ts'

/** How far the next run goes back: for responses that were committed late, or held by a request when their turn came. */
const OVERLAP_MS = 10 * MINUTE

/** Walks through the responses in the order of their age, and once an hour through all of them. */
export function newResponsePurge(): (db: Db) => Promise<number> {
  let walkedTo: Date | null = null
  let restartAt = Number.NEGATIVE_INFINITY
  return async function purgeResponses(db) {
    if (performance.now() >= restartAt) {
      walkedTo = null
      restartAt = performance.now() + HOUR
    }
    const destroyed = await destroySecrets(db, walkedTo)
    walkedTo = destroyed.walkedTo
    const deleted = await deleteInBatches(
      db,
      'idempotent_responses',
      sql`created_at < ${ago(REPLAY_MS + MINUTE)} order by created_at`,
    )
    return destroyed.rows + deleted
  }
}

type Position = { created_at: Date; lookup: Buffer }

async function destroySecrets(db: Db, walkedTo: Date | null): Promise<{ rows: number; walkedTo: Date }> {
  let last: Position = { created_at: walkedTo ? addMs(walkedTo, -OVERLAP_MS) : new Date(0), lookup: Buffer.alloc(0) }
  const rows = await runInBatches(db, async (tx, size) => {
    const slice = await tx.one<Position & { count: number; destroyed: number }>(sql`
      with slice as (
        select ctid as row_id, created_at, lookup, reveals_secret and salt is not null as holds_secret
          from idempotent_responses
         where created_at >= ${last.created_at}
           and (created_at, lookup) > (${last.created_at}, ${last.lookup})
           and created_at < ${ago(SECRET_REPLAY_MS)}
         order by created_at, lookup
         limit ${size}
      ), destroyed as (
        update idempotent_responses
           set salt = null, sealed = null
         where ctid = any(array(
                 select ctid
                   from idempotent_responses
                  where ctid = any(array(select row_id from slice where holds_secret))
                    and salt is not null
                    for update skip locked
               ))
     returning 1
      )
      select created_at, lookup, count(*) over ()::int as count, (select count(*)::int from destroyed) as destroyed
        from slice
       order by created_at desc, lookup desc
       limit 1`)
    if (slice) last = { created_at: slice.created_at, lookup: slice.lookup }
    return { rows: slice?.destroyed ?? 0, hasMore: slice?.count === size }
  })
  return { rows, walkedTo: last.created_at }
}
