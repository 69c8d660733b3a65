// Rate limits of keys. A window begins with the first use and lasts as long as the key says, by the database's clock, so
// that all nodes count in the same one. Uses beyond the limit are counted too: then each request's position in the window
// is simply the count after it.

import type { CachedKey } from '../auth/cached-key.ts'
import type { Batch, Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import type { Receipt } from './purchase.ts'

type RateWindow = { store_id: string; key_id: string; seconds: number }
/** How many uses the window has seen, this one included, and when it ends. */
type Spent = { used: number; reset_seconds: number }

/** One use of a key that has this rate limit, and nothing else to spend. */
export async function spendRateLimit(db: Db, key: CachedKey): Promise<Receipt> {
  const limit = key.rate_limit ?? 0
  const row = { store_id: key.store_id, key_id: key.id, seconds: key.rate_limit_window_seconds ?? 1 }
  const { used, reset_seconds: resetSeconds } = await db.batched(spendAll, row)
  const rateLimit = { limit, remaining: Math.max(0, limit - used), resetSeconds }
  return { code: used > limit ? 'RATE_LIMITED' : 'VALID', left: { rateLimit } }
}

const requested = recordset('requested', { n: 'int', key_id: 'text', seconds: 'int' })

/** Rows are numbered here: a row_number() beside one that is partitioned by keys would count in the order of the keys. */
export const spendAll: Batch<RateWindow, Spent> = (db, rows) =>
  db.query<Spent>(sql`
    with request as (
      select n, row_number() over (partition by key_id order by n) as position, key_id, seconds
        from ${requested(rows.map(({ key_id, seconds }, n) => ({ key_id, seconds, n })))}
    ), spent as (
      insert into key_rate_windows as running (id, began_at, seconds, used)
      select key_id, clock_timestamp(), max(seconds), count(*)
        from request
       group by key_id
       order by key_id
          on conflict (id) do update
         set began_at = case when running.began_at + excluded.seconds * interval '1 s' <= excluded.began_at
                             then excluded.began_at else running.began_at end,
             used = case when running.began_at + excluded.seconds * interval '1 s' <= excluded.began_at
                         then excluded.used else least(running.used::bigint + excluded.used, 2000000000)::int end,
             seconds = excluded.seconds
      returning id as key_id, used, extract(epoch from began_at + seconds * interval '1 s' - clock_timestamp()) as left_seconds
    ), batch as (
      select key_id, count(*) as uses
        from request
       group by key_id
    )
    select (spent.used - batch.uses + request.position)::int as used,
           greatest(1, ceil(spent.left_seconds))::int as reset_seconds
      from request
      join spent on spent.key_id = request.key_id
      join batch on batch.key_id = request.key_id
     order by request.n`)
spendAll.highPriority = true
spendAll.holderOf = ({ store_id }) => store_id
