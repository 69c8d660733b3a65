// The emergency brake: every key of a store stops at once, and works again when the store is unfrozen.

import type { Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { worksAfter } from './filter.ts'

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
     where ${worksAfter(storeId, at)}`)
  return { affected: live?.count ?? 0 }
}
