// The emergency brake: every key of a store stops at once, and works again when the store is unfrozen.

import type { Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, writeEvents } from '../events/write.ts'

/** Under the store's lock. Doing it again changes nothing, and affects no key. */
export async function freezeKeys(
  tx: Db,
  caller: Manager,
  storeId: string,
  frozen: boolean,
): Promise<{ affected: number }> {
  const at = now()
  const changed = await tx.query(sql`
    update stores
       set frozen_at = ${frozen ? at : null}
     where id = ${storeId}
       and (frozen_at is null) = ${frozen}
 returning id`)
  if (changed.length === 0) return { affected: 0 }
  await writeEvents(tx, [newEvent(caller, storeId, frozen ? 'store.frozen' : 'store.unfrozen', storeId, {})])
  const [live] = await tx.query<{ count: number }>(sql`
    select count(*)::int as count
      from api_keys
     where store_id = ${storeId}
       and revoked_at is null
       and (expires_at is null or expires_at > ${at})`)
  return { affected: live?.count ?? 0 }
}
