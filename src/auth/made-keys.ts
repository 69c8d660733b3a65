// The keys somebody made in a store, when their part in it ends: they stay, or they are revoked with their maker.

import { now } from '../core/clock.ts'
import { type Db, sql } from '../db/db.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'

/** The keys a member made, and those that these keys have made. */
export async function keysCreatedBy(tx: Db, maker: { storeId: string; userId: string }): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    with recursive made as (
      select id
        from api_keys
       where store_id = ${maker.storeId}
         and created_by_id = ${maker.userId}
       union
      select key.id
        from made
        join api_keys key on key.created_by_id = made.id and key.store_id = ${maker.storeId}
    )
    select id from made`)
  return rows.map(({ id }) => id)
}

/** Under the store's lock. One that has expired stays expired: there may be any number of those, and nothing to revoke. */
export async function revokeKeys(tx: Db, by: Actor, storeId: string, ids: string[], reason: string): Promise<void> {
  if (ids.length === 0) return
  const at = now()
  const revoked = await tx.query<{ id: string }>(sql`
    update api_keys
       set revoked_at = ${at}, revocation_reason = ${reason}, updated_at = ${at}, revision = revision + 1
     where id in (
             -- In the order in which everyone locks keys.
             select id
               from api_keys
              where id = any(${ids})
                and revoked_at is null
                and coalesce(expires_at, 'infinity') > ${at}
              order by id
                for no key update
           )
 returning id`)
  // The count is never less than the number of live keys.
  await tx.query(sql`update stores set live_keys = greatest(0, live_keys - ${revoked.length}) where id = ${storeId}`)
  await destroyReplayableSecrets(
    tx,
    revoked.map(({ id }) => id),
  )
  await writeEvents(
    tx,
    revoked.map(({ id }) => newEvent(by, storeId, 'key.revoked', id, { reason })),
  )
}
