// Rate limits of keys. A window begins with the first use and lasts as long as the key says, by the database's clock, so
// that all nodes count in the same one. Uses beyond the limit are counted too: then each request's position in the window
// is simply the count after it.

import type { CachedKey } from '../auth/cached-key.ts'
import type { Batch, Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import { byId, type Receipt } from './purchase.ts'

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

const requested = recordset('requested', { key_id: 'text', seconds: 'int', uses: 'int' })

/** Those of one key in a batch are added up here: numbered by the database, they took it twice as long. */
export const spendAll: Batch<RateWindow, Spent> = async (db, rows) => {
  const sums = new Map<string, { key_id: string; seconds: number; uses: number }>()
  const positions = rows.map(({ key_id, seconds }) => {
    const uses = (sums.get(key_id)?.uses ?? 0) + 1
    sums.set(key_id, { key_id, seconds, uses })
    return uses
  })
  const windows = await db.query<Spent & { key_id: string }>(sql`
    insert into key_rate_windows as running (id, began_at, seconds, used)
    select key_id, clock_timestamp(), seconds, uses
      from ${requested([...sums.values()])}
     order by key_id
        on conflict (id) do update
       set began_at = case when running.began_at + excluded.seconds * interval '1 s' <= excluded.began_at
                           then excluded.began_at else running.began_at end,
           used = case when running.began_at + excluded.seconds * interval '1 s' <= excluded.began_at
                       then excluded.used else least(running.used::bigint + excluded.used, 2000000000)::int end,
           seconds = excluded.seconds
    returning id as key_id, used,
              greatest(1, ceil(extract(epoch from began_at + seconds * interval '1 s' - clock_timestamp())))::int as reset_seconds`)
  const spent = byId(windows, 'key_id')
  return rows.map(({ key_id }, n) => {
    const { used, reset_seconds } = spent.get(key_id) as Spent
    return { used: used - (sums.get(key_id)?.uses ?? 0) + (positions[n] as number), reset_seconds }
  })
}
spendAll.highPriority = true
spendAll.holderOf = ({ store_id }) => store_id
