// What may be done only so often a day (UTC) in a store, because something is kept of each time: rotations of keys, and changes
// of many keys or customers at once.

import type { Manager } from '../core/caller.ts'
import { addMs, DAY, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { isOwner } from '../core/grant.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'

/** Under the lock of the store. `counted` is the column with the count; that of its day is called so, too. */
export async function countToday(
  tx: Db,
  storeId: string,
  counted: 'rotations' | 'key_changes' | 'customer_changes',
  { more, max, detail }: { more: number; max: number; detail: string },
): Promise<void> {
  const [count, since] = [fragment(counted), fragment(`${counted}_since`)]
  const today = addMs(now(), -(now().getTime() % DAY))
  const soFar = sql`case when ${since} >= ${today} then ${count} else 0 end`
  const written = await tx.query(sql`
    update stores
       set ${count} = ${soFar} + ${more},
           ${since} = greatest(${since}, ${today}::timestamptz)
     where id = ${storeId}
       and ${soFar} + ${more} <= ${max}
 returning id`)
  if (written.length === 0) fail('rate_limited', { retryAfterSeconds: secondsToMidnight(), detail })
}

/**
 * Of what may be done in a day, so much more is left for people, and as much again for owners: with a key that has leaked
 * somebody else may have used up all others, and with one that manages members also what is left for people.
 */
export function reserveOf(most: number, caller: Manager): number {
  return isOwner(caller) ? 2 * most : caller.kind === 'user' ? most : 0
}

export function secondsToMidnight(): number {
  const sinceMidnight = now().getTime() % DAY
  return Math.ceil((DAY - sinceMidnight) / 1000)
}
