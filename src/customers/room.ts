// How many customers a store may still have. Its own count holds everybody it ever had since it was last made, and is made
// anew when it reaches the quota: most stores never pay for that.

import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'

export function customersFull({ maxCustomersPerStore: max }: Instance): string {
  return `A store can have at most ${max} customers. Erase those that are no longer needed, or ask the operator for more.`
}

/** How many of the wanted customers may be created, which are counted from now on. Under the store's lock. */
export async function takeRoom(
  tx: Db,
  { maxCustomersPerStore: max }: Instance,
  storeId: string,
  wanted: number,
): Promise<number> {
  if (wanted === 0) return 0
  const taken = await tx.query(sql`
    update stores
       set customer_count = customer_count + ${wanted}
     where id = ${storeId}
       and customer_count + ${wanted} <= ${max}
 returning id`)
  if (taken.length > 0) return wanted
  const [store] = await tx.query<{ room: number }>(sql`
    with counted as (
      select count(*)::int as customers
        from customers
       where store_id = ${storeId}
    ), offered as (
      select customers, greatest(0, least(${wanted}, ${max} - customers)) as room
        from counted
    )
    update stores
       set customer_count = customers + room
      from offered
     where id = ${storeId}
 returning room`)
  return store?.room ?? 0
}
