// How many live keys a store has, counted anew: its own count still holds those that have expired since.

import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { StoresRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'

/** The store's count still holds expired keys. Counted anew, it may show that there is room: then this is true. */
export async function recountKeys(db: Db, instance: Instance, storeId: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.query(sql`select id from stores where id = ${storeId} for no key update`)
    const [store] = await tx.query<Pick<StoresRow, 'live_keys'>>(sql`
      update stores
         set live_keys = (
               select count(*)
                 from api_keys
                where store_id = ${storeId}
                  and revoked_at is null
                  and (expires_at is null or expires_at > ${now()})
             )
       where id = ${storeId}
   returning live_keys`)
    return store !== undefined && store.live_keys < instance.maxKeysPerStore
  })
}
