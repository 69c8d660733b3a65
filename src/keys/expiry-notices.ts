// Events that tell a store ahead of time when a key expires.

import { DAY, fromNow, now } from '../core/clock.ts'
import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'

/** Days before the expiry, nearest first. */
const NOTICE_DAYS = [1, 7, 30] as const

/** The last notice that is already due when a key gets this expiry: neither it nor an earlier one is sent. */
export function lastNoticeDue(expiresAt: Date | null): number | null {
  return NOTICE_DAYS.find((days) => expiresAt !== null && expiresAt <= fromNow(days * DAY)) ?? null
}

/** Maintenance: each notice of a key is one event, whichever node comes first. */
export async function sendExpiryNotices(db: Db): Promise<void> {
  for (const days of NOTICE_DAYS)
    await runInBatches(db, async (tx, size) => {
      const keys = await tx.query<{ id: string; store_id: string; expires_at: Date }>(sql`
        update api_keys
           set expiry_notice_days = ${days}
         where id in (
                 select key.id
                   from api_keys key
                   join stores store on store.id = key.store_id and store.deleted_at is null
                  where key.expires_at > ${now()}
                    and key.expires_at <= ${fromNow(days * DAY)}
                    and key.revoked_at is null
                    and (key.expiry_notice_days is null or key.expiry_notice_days > ${days})
                  order by key.expires_at
                  limit ${size}
                    for no key update of key skip locked
               )
     returning id, store_id, expires_at`)
      await writeEvents(
        tx,
        keys.map((key) => newEvent(SYSTEM, key.store_id, 'key.expiring', key.id, { expiresAt: key.expires_at, days })),
      )
      return keys.length === size
    })
}
