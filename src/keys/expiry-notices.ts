// Events that tell a store ahead of time when a key expires, and mails to whoever made the key. Any number of keys may expire at
// once, or one after the other: a mail is about many, and there are only so many in a day.

import { DAY, fromNow, now } from '../core/clock.ts'
import { groupBy } from '../core/group-by.ts'
import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { ApiKeysRow, MembersRow, StoresRow } from '../db/tables.gen.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { MAX_NOTICES, mayMailNotice } from '../limits/mails.ts'
import { type NewMail, queueMailsTo } from '../mail/outbox.ts'

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
      if (instance?.mail) await tellExpiry(tx, instance, keys, days)
      return { rows: keys.length, hasMore: keys.length === size }
    })
  return rows
}

/** So many keys are named in one mail. */
const MAX_NAMED = 20

/** One mail for all keys of a store that are told to the same people: their maker, or the owners of the store. */
async function tellExpiry(tx: Db, instance: Instance, keys: ExpiringKey[], days: number): Promise<void> {
  for (const [storeId, ofStore] of groupBy(keys, ({ store_id }) => store_id)) {
    const store = await tx.one<Pick<StoresRow, 'name'>>(sql`select name from stores where id = ${storeId}`)
    const makers = await findMakers(tx, storeId, ofStore)
    const told = groupBy(ofStore, ({ created_by_id: id }) => (makers.has(id) ? id : null))
    for (const [makerId, theirs] of told) {
      if (!(await mayMailNotice(tx, instance, storeId, makerId))) continue
      const readers =
        makerId === null
          ? sql`id in (select user_id from members where store_id = ${storeId} and role = 'OWNER')`
          : sql`id = ${makerId}`
      await queueMailsTo(tx, instance, readers, 'expiringKeys', mailAbout(theirs, store?.name ?? '', String(days)))
    }
  }
}

/** The makers of the keys who are members of the store. Others have left, or are keys themselves. */
async function findMakers(tx: Db, storeId: string, keys: ExpiringKey[]): Promise<Set<string>> {
  const makers = await tx.query<Pick<MembersRow, 'user_id'>>(sql`
    select user_id
      from members
     where store_id = ${storeId}
       and user_id = any(${[...new Set(keys.map(({ created_by_id }) => created_by_id))]})`)
  return new Set(makers.map(({ user_id }) => user_id))
}

function mailAbout(keys: ExpiringKey[], store: string, days: string): Pick<NewMail, 'kind' | 'data'> {
  const shown = keys.map(({ name, start, expires_at }) => ({ name, start, at: expires_at.toISOString() }))
  const [first, ...others] = shown.sort((one, other) => (one.at < other.at ? -1 : 1))
  if (first && others.length === 0) {
    const { name: key, start, at } = first
    return { kind: 'key_expiring', data: { key, start, store, days, at } }
  }
  const named = JSON.stringify(shown.slice(0, MAX_NAMED))
  return {
    kind: 'keys_expiring',
    data: { keys: named, count: String(keys.length), store, days, max: String(MAX_NOTICES) },
  }
}
