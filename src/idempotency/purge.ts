// Maintenance of stored responses: after an hour their secrets are destroyed, after a day the rows are deleted.

import { ago, HOUR, MINUTE } from '../core/clock.ts'
import { deleteInBatches, runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { REPLAY_MS, SECRET_REPLAY_MS } from './idempotency.ts'

/** How far the next run goes back: for responses that were committed late, or held by a request when their turn came. */
const OVERLAP_MS = 10 * MINUTE

/** Two million secrets have to be gone within two minutes: npm run stress:chores. */
const SECRETS_REST = { times: 1 }

/** Destroys the secrets that have come to the end of their hour since the last run; the first run begins with the oldest. */
export function newSecretPurge(): (db: Db) => Promise<number> {
  let from = new Date(0)
  return async function destroySecrets(db) {
    const overlap = ago(SECRET_REPLAY_MS + OVERLAP_MS)
    const walk = await walkSecrets(db, from, SECRETS_REST)
    from = walk.isDone ? overlap : walk.to
    return walk.rows
  }
}

/** Deletes responses after their day. Once an hour it looks through all that are left for secrets that were missed. */
export function newResponsePurge(): (db: Db) => Promise<number> {
  let from: Date | null = null
  let restartAt = performance.now() + HOUR
  return async function purgeResponses(db) {
    const deleted = await deleteInBatches(
      db,
      'idempotent_responses',
      sql`created_at < ${ago(REPLAY_MS + MINUTE)} order by created_at`,
    )
    if (performance.now() >= restartAt) {
      from = new Date(0)
      restartAt = performance.now() + HOUR
    }
    if (from === null) return deleted
    const walk = await walkSecrets(db, from)
    from = walk.isDone ? null : walk.to
    return deleted + walk.rows
  }
}

type Walk = { rows: number; to: Date; isDone: boolean }
type Position = { created_at: Date; lookup: Buffer }

/** Walks through the responses in the order of their age, until all are seen or the time of a chore is up. */
async function walkSecrets(db: Db, from: Date, rest?: typeof SECRETS_REST): Promise<Walk> {
  let last: Position = { created_at: from, lookup: Buffer.alloc(0) }
  let isDone = false
  const rows = await runInBatches(
    db,
    async (tx, size) => {
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
      isDone = slice?.count !== size
      return { rows: slice?.destroyed ?? 0, hasMore: !isDone }
    },
    rest,
  )
  return { rows, to: last.created_at, isDone }
}
