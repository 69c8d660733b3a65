// Events that tell a store ahead of time when a key expires.

import { DAY, fromNow, now } from '../core/clock.ts'
import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { ApiKeysRow, StoresRow } from '../db/tables.gen.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { queueMailsTo } from '../mail/outbox.ts'

/** Days before the expiry, nearest first. */
const NOTICE_DAYS = [1, 7, 30] as const

type ExpiringKey = Pick<ApiKeysRow, 'id' | 'store_id' | 'name' | 'start' | 'created_by_id'> & { expires_at: Date }

/** The last notice that is already due when a key gets this expiry: neither it nor an earlier one is sent. */
export function lastNoticeDue(expiresAt: Date | null): number | null {
  return NOTICE_DAYS.find((days) => expiresAt !== null && expiresAt <= fromNow(days * DAY)) ?? null
}

/** Maintenance. Without an instance no mail is sent. */
export function newExpiryNotices(instance: Instance | null): (db: Db) => Promise<number> {
  return function sendExpiryNotices(db) {
    return sendNotices(db, instance)
  }
}

/** Each notice of a key is one event, whichever node comes first. */
async function sendNotices(db: Db, instance: Instance | null): Promise<number> {
  let rows = 0
  for (const days of NOTICE_DAYS)
    rows += await runInBatches(db, async (tx, size) => {
      const keys = await tx.query<ExpiringKey>(sql`
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
     returning id, store_id, expires_at, name, start, created_by_id`)
      await writeEvents(
        tx,
        keys.map((key) => newEvent(SYSTEM, key.store_id, 'key.expiring', key.id, { expiresAt: key.expires_at, days })),
      )
      if (instance?.mail) for (const key of keys) await tellExpiry(tx, instance, key, days)
      return { rows: keys.length, hasMore: keys.length === size }
    })
  return rows
}

/** Its maker, or the owners of the store where the maker is no member any more, or is a key. */
async function tellExpiry(tx: Db, instance: Instance, key: ExpiringKey, days: number): Promise<void> {
  const store = await tx.one<Pick<StoresRow, 'name'>>(sql`select name from stores where id = ${key.store_id}`)
  const readers = sql`
    id in (select member.user_id
             from members member
            where member.store_id = ${key.store_id}
              and case
                    when exists (select
                                   from members maker
                                  where maker.store_id = ${key.store_id}
                                    and maker.user_id = ${key.created_by_id})
                      then member.user_id = ${key.created_by_id}
                    else member.role = 'OWNER'
                  end)`
  const at = key.expires_at.toISOString()
  const data = { key: key.name, start: key.start, store: store?.name ?? '', days: String(days), at }
  await queueMailsTo(tx, instance, readers, 'expiringKeys', { kind: 'key_expiring', data })
}
