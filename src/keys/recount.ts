// How many live keys a store has, counted anew: its own count still holds those that have expired since.

import { inStore } from '../auth/recheck.ts'
import type { Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { StoresRow } from '../db/tables.gen.ts'
import { waitForLock } from '../db/wait-for-lock.ts'
import type { Instance } from '../instance.ts'
import { worksAfter } from './filter.ts'

/** The store's count still holds expired keys. Counted anew, it may show that there is room: then this is true. */
export async function recountKeys(db: Db, instance: Instance, caller: Manager, storeId: string): Promise<boolean> {
  return inStore(db, caller, storeId, async (tx) => {
    await waitForLock(tx, () => tx.query(sql`select id from stores where id = ${storeId} for no key update`))
    const [store] = await tx.query<Pick<StoresRow, 'live_keys'>>(sql`
      update stores
         set live_keys = (
               select count(*)
                 from api_keys
                where ${worksAfter(storeId, now())}
             )
       where id = ${storeId}
   returning live_keys`)
    return store !== undefined && store.live_keys < instance.maxKeysPerStore
  })
}
