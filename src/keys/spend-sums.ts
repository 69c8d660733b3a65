// What verifications of the same moment spend, added up, and taken in one statement where there is enough for all of them.
// Nothing is taken where there is not: then spend.ts finds out who gets what is left.

import type { Batch } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import { byId, type CreditRow, type Purchase, type Receipt, settle, type WindowRow } from './purchase.ts'

const NONE = new Map<string, never>()

const total = recordset('total', { key_id: 'text', cost: 'bigint' })

/**
 * Null for those whose key has not enough credits for all, or whose refill is due. The update itself looks at the row, and
 * once more if it had to wait for another. Sums are made here and refills left to `spendAll`: a statement that did both took
 * the database 1.9 ms instead of 0.4 for 32 keys.
 */
export const spendCredits: Batch<Purchase, Receipt | null> = async (db, purchases) => {
  const costs = new Map<string, number>()
  for (const { keyId, cost } of purchases) costs.set(keyId, (costs.get(keyId) ?? 0) + (cost ?? 0))
  // In the order of ids, as everybody locks them: the rows are updated in the order in which they are listed.
  const totals = Array.from(costs, ([key_id, cost]) => ({ key_id, cost })).sort((a, b) =>
    a.key_id < b.key_id ? -1 : 1,
  )
  const before = await db.query<CreditRow>(sql`
    update key_credits
       set remaining = remaining - total.cost
      from ${total(totals)}
     where key_credits.key_id = total.key_id
       and remaining >= total.cost
       and (refills_at is null or refills_at > now())
    returning key_credits.key_id, (remaining + total.cost)::float8 as remaining, refills_at`)
  const rest = { credits: byId(before, 'key_id'), windows: NONE }
  const spent = new Set<object>()
  return purchases.map((purchase) => (rest.credits.has(purchase.keyId) ? settle(purchase, rest, spent) : null))
}
spendCredits.highPriority = true
spendCredits.holderOf = ({ storeId }) => storeId

/** `sharing`: all windows of those who share one are spent, or none. `windows`: how many these are. */
type WindowSum = { sharing: string; windows: number; id: string; cost: number; max: number; seconds: number }

const sum = recordset('sum', {
  sharing: 'text',
  windows: 'int',
  id: 'text',
  cost: 'int',
  max: 'int',
  seconds: 'int',
})

/**
 * Null for those who share a window that has not enough for all, or was never begun. The rows are locked first, so that all
 * are looked at before any is spent; nobody else can begin or spend them until this statement has ended.
 */
export const spendWindows: Batch<Purchase, Receipt | null> = async (db, purchases) => {
  const sums = new Map<string, WindowSum>()
  const added = purchases.map((purchase) => addUp(sums, purchase))
  const counts = new Map<string, number>()
  for (const { sharing } of sums.values()) counts.set(sharing, (counts.get(sharing) ?? 0) + 1)
  for (const row of sums.values()) row.windows = counts.get(row.sharing) ?? 0
  const before = await db.query<WindowRow>(sql`
    with locked as (
      select sharing, windows, id, cost, max, sum.seconds, clock_timestamp() as at,
             case when began_at + sum.seconds * interval '1 s' > clock_timestamp() then began_at end as began_at, used
        from ${sum([...sums.values()])}
        join key_rate_windows using (id)
       order by id
         for update of key_rate_windows
    ), current as (
      select sharing, windows, id, cost, max, seconds, coalesce(began_at, at) as began_at,
             case when began_at is null then 0 else used end as used,
             greatest(1, ceil(extract(epoch from coalesce(began_at, at) + seconds * interval '1 s' - at)))::int as reset_seconds
        from locked
    ), judged as (
      select id, began_at, seconds, used, cost, reset_seconds,
             count(*) over same = windows and bool_and(cost = 0 or used + cost <= max) over same as is_enough
        from current
      window same as (partition by sharing)
    ), spent as (
      update key_rate_windows
         set began_at = judged.began_at, seconds = judged.seconds, used = judged.used + judged.cost
        from judged
       where is_enough
         and key_rate_windows.id = judged.id
    )
    select id, used, reset_seconds
      from judged
     where is_enough`)
  const rest = { credits: NONE, windows: byId(before, 'id') }
  const spent = new Set<object>()
  return purchases.map((purchase, n) =>
    added[n] && purchase.windows.every(({ id }) => rest.windows.has(id)) ? settle(purchase, rest, spent) : null,
  )
}
spendWindows.highPriority = true
spendWindows.holderOf = ({ storeId }) => storeId

/** False, and nothing is added, if others have one of these windows: a key has changed with whom it shares, just now. */
function addUp(sums: Map<string, WindowSum>, { windows, sharing }: Purchase): boolean {
  if (windows.some(({ id }) => (sums.get(id)?.sharing ?? sharing) !== sharing)) return false
  for (const { id, cost, limit, seconds } of windows) {
    const sum = sums.get(id)
    if (sum) Object.assign(sum, { cost: sum.cost + cost, max: Math.min(sum.max, limit), seconds })
    else sums.set(id, { sharing, windows: 0, id, cost, max: limit, seconds })
  }
  return true
}
