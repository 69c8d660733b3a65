// Whom a store counts for, where tenants take turns, or share what a node has: whoever has many stores gets no more than
// others. `account_of` in migrations/0004_stores.sql says who it is.

import type { Caller } from '../core/caller.ts'
import { ago, DAY, MINUTE } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'

export type AccountLookup = (storeId: string) => Promise<string>

const MAX_REMEMBERED = 10_000

/**
 * Remembers what it found, and looks again after a minute, while nobody waits: owners seldom change. A store that cannot be
 * looked up counts for itself.
 */
export function newAccountLookup(db: Pick<Db, 'one'>, clock = () => performance.now()): AccountLookup {
  const remembered = new Map<string, { account: string; until: number }>()
  const underWay = new Map<string, Promise<string>>()
  const look = async (storeId: string) => {
    const found = await db.one<{ account: string }>(sql`select account_of(${storeId}) as account`)
    const account = found?.account ?? '-'
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(storeId, { account, until: clock() + MINUTE })
    return account
  }
  const lookOnce = (storeId: string) => {
    const looking = underWay.get(storeId) ?? look(storeId).finally(() => underWay.delete(storeId))
    underWay.set(storeId, looking)
    return looking
  }
  return async (storeId) => {
    const known = remembered.get(storeId)
    if (!known) return lookOnce(storeId).catch(() => storeId)
    if (known.until <= clock()) {
      known.until = clock() + MINUTE
      void look(storeId).catch(() => {})
    }
    return known.account
  }
}

/** A deleted store counts for this long, so that making and deleting stores in turn has an end. */
const DELETED_COUNTS_MS = DAY

/**
 * Whether one more store can count for the user, beside `except`. The lock, one for each user, keeps the count exact; it comes
 * before the locks of stores.
 */
export async function hasRoomForStore(tx: Db, max: number, userId: string, except: string | null): Promise<boolean> {
  await tx.query(sql`select pg_advisory_xact_lock(${lockOf(userId)})`)
  return (await countStores(tx, max, userId, except)) < max
}

const lockOf = (userId: string) => sql`hashtextextended(${`stores of ${userId}`}, 0)`

async function countStores(tx: Db, max: number, userId: string, except: string | null): Promise<number> {
  const counted = await tx.query(sql`
    select
      from stores
     where account_id = ${userId}
       and (deleted_at is null or deleted_at > ${ago(DELETED_COUNTS_MS)})
       and id is distinct from ${except}
     limit ${max}`)
  return counted.length
}

/** `memberId`: the member that was changed or removed. */
type Change = { isCreation: boolean; memberId: string | null }

/**
 * An owner takes a store on, as far as they have room for it, by creating something there when it was handed over, or by ending
 * that whom it counted for is an owner. Somebody may have made them an owner unasked: other changes, such as stopping what they
 * find there, are no sign of wanting it. So each store counts for one user at a time. This decides about nobody's rights. It is
 * not part of the change, and waits for no lock: if it can't be done now, the next change does it.
 */
export async function takeOnStore(db: Db, max: number, caller: Caller | null, change: Change): Promise<void> {
  if (caller?.kind !== 'user' || caller.member?.role !== 'OWNER') return
  const { storeId, isHandedOver } = caller.member
  if (isHandedOver ? !change.isCreation : change.memberId === null) return
  const from = isHandedOver ? sql`account_id` : sql`${change.memberId}`
  const takeOn = async (tx: Db) => {
    const locked = await tx.one<{ is_mine: boolean }>(sql`
      select pg_try_advisory_xact_lock(${lockOf(caller.id)}) as is_mine
        from stores
       where id = ${storeId}
         for no key update skip locked`)
    if (!locked?.is_mine || (await countStores(tx, max, caller.id, storeId)) >= max) return
    await tx.query(sql`
      update stores
         set account_id = ${caller.id}
       where id = ${storeId}
         and account_id = ${from}
         and account_of(id) <> account_id
         and exists (select from members where store_id = ${storeId} and user_id = ${caller.id} and role = 'OWNER')`)
  }
  await db.transaction(takeOn).catch(() => {})
}
