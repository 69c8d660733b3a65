// What becomes of an address: changed, made the default, deleted. All of it happens under the lock on its user's
// membership, as creating one does, so that there is exactly one default at every committed moment. What the address was
// before goes to `address_versions`, where it stays: an invoice may point at it. The lock is held for two round trips: what
// is written travels with the commit.

import { unwrapDataKey } from '../auth/data-key.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import type { Answer } from '../core/route.ts'
import { type Db, sql } from '../db/db.ts'
import { newEvent, writeEventWithCommit } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { type AddressText, columns, openText, type Place, type SealedRow, sealText, showAddress } from './address.ts'
import { readText } from './create.ts'
import { ADDRESS_LENGTHS, type Address, type AddressChanges } from './schema.ts'

const FIELDS = Object.keys(ADDRESS_LENGTHS) as (keyof typeof ADDRESS_LENGTHS)[]

// ---- change ---------------------------------------------------------------------------------------------------------

/** `faults` are those the body has by itself; they are told together with what is wrong with the address it would make. */
export async function changeAddress(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  place: Place,
  changes: AddressChanges,
  ifMatch: string | null,
  faults: Fault[],
): Promise<Answer<Address>> {
  const before = await lockAddress(tx, caller, place)
  if (!before) return faults.length > 0 ? failInput(faults) : fail('address_not_found')
  if (faults.length === 0) checkIfMatch(ifMatch, before.revision)
  const textBefore = openText(unwrapDataKey(instance.keyring, caller), before)
  const text = changeText(textBefore, changes, faults)
  const changed = FIELDS.filter((name) => text.address[name] !== textBefore.address[name])
  const heir = newDefault(before, changes.isDefault)
  if (changed.length === 0 && heir === null) return answerOf(before, textBefore)

  const after = { ...before }
  if (changed.length > 0) {
    after.version += 1
    after.revision += 1
    after.updated_at = momentAfter(before.updated_at)
    writeContent(tx, after, text, sealText(instance, caller, before.id, after.version, text))
  }
  if (heir !== null) {
    after.is_default = heir === before.id
    after.revision += 1
    moveDefault(tx, before, heir)
  }
  const event = newEvent(caller, place.storeId, 'address.updated', before.id, {
    changed: [...changed, ...(heir === null ? [] : ['isDefault'])],
    ...(heir === null || heir === before.id ? {} : { newDefault: heir }),
  })
  writeEventWithCommit(tx, event)
  return answerOf(after, changed.length > 0 ? text : textBefore)
}

function answerOf(row: SealedRow, text: AddressText): Answer<Address> {
  return { body: showAddress(row, text), etag: etagOf(row.revision) }
}

/** The whole of what it would become is checked, as if it were new. */
function changeText(before: AddressText, { isDefault: _, ...given }: AddressChanges, faults: Fault[]): AddressText {
  const more: Fault[] = []
  const text = Object.keys(given).length > 0 ? readText({ ...before.address, ...given }, more) : before
  const told = new Set(faults.map(({ pointer }) => pointer))
  const all = [...faults, ...more.filter(({ pointer }) => !told.has(pointer))]
  return all.length > 0 ? failInput(all) : text
}

/** Who is to be the default from now on, or null when that does not change. The only address keeps it. */
function newDefault(before: LockedRow, isDefault: boolean | undefined): string | null {
  if (isDefault === undefined || isDefault === before.is_default) return null
  return isDefault ? before.id : before.newest_other
}

/** Each version has a moment of its own, and what comes later never has an earlier one, also when clocks disagree. */
function momentAfter(before: Date): Date {
  return new Date(Math.max(now().getTime(), before.getTime() + 1))
}

function writeContent(tx: Db, after: SealedRow, { address }: AddressText, sealed: Buffer): void {
  tx.last(sql`
    with was as (
      insert into address_versions
             (address_id, version, store_id, user_id, country, state, postal_code, sealed, created_at, at, until)
      select id, version, store_id, user_id, country, state, postal_code, sealed, created_at, updated_at,
             ${after.updated_at}
        from addresses
       where id = ${after.id}
    )
    update addresses
       set country = ${address.country}, state = ${address.state}, postal_code = ${address.postalCode},
           sealed = ${sealed}, version = version + 1, revision = revision + 1, updated_at = ${after.updated_at}
     where id = ${after.id}`)
}

/** The old default gives way before the new one comes. */
function moveDefault(tx: Db, { store_id, user_id, default_since }: LockedRow, heir: string): void {
  const at = momentAfter(default_since)
  tx.last(sql`
    with before as (
      update addresses
         set is_default = false, revision = revision + 1
       where store_id = ${store_id}
         and user_id = ${user_id}
         and is_default
      returning id, coalesce(default_since, created_at) as since
    )
    insert into address_defaults (store_id, user_id, address_id, since, until)
    select ${store_id}, ${user_id}, id, since, ${at}
      from before`)
  crown(tx, heir, at)
}

function crown(tx: Db, heir: string, at: Date): void {
  tx.last(sql`
    update addresses
       set is_default = true, default_since = ${at}, revision = revision + 1
     where id = ${heir}`)
}

// ---- delete ---------------------------------------------------------------------------------------------------------

/** Deleting the default promotes the newest that is left. The versions stay. */
export async function deleteAddress(tx: Db, caller: UserCaller, place: Place, ifMatch: string | null): Promise<void> {
  const before = (await lockAddress(tx, caller, place)) ?? fail('address_not_found')
  checkIfMatch(ifMatch, before.revision)
  const at = momentAfter(
    before.is_default && before.default_since > before.updated_at ? before.default_since : before.updated_at,
  )
  const heir = before.is_default ? before.newest_other : null
  tx.last(sql`
    with gone as (
      delete from addresses
       where id = ${before.id}
      returning *
    ), was_default as (
      insert into address_defaults (store_id, user_id, address_id, since, until)
      select store_id, user_id, id, coalesce(default_since, created_at), ${at}
        from gone
       where is_default
    )
    insert into address_versions
           (address_id, version, store_id, user_id, country, state, postal_code, sealed, created_at, at, until)
    select id, version, store_id, user_id, country, state, postal_code, sealed, created_at, updated_at, ${at}
      from gone`)
  if (heir !== null) crown(tx, heir, at)
  const event = newEvent(caller, place.storeId, 'address.deleted', before.id, heir === null ? {} : { newDefault: heir })
  writeEventWithCommit(tx, event)
}

// ---- what they have in common ---------------------------------------------------------------------------------------

type LockedRow = SealedRow & {
  /** Since when the user's default is what it is, whichever address that is. */
  default_since: Date
  newest_other: string | null
}

/** Null when the caller has no such address in this store, or no part in the store any more. */
async function lockAddress(tx: Db, caller: UserCaller, { storeId, addressId }: Place): Promise<LockedRow | null> {
  const locked = tx.query(sql`
    select user_id
      from members
     where store_id = ${storeId}
       and user_id = ${caller.id}
       for no key update`)
  // Looked at under the lock: the statement leaves with the one before it, and begins when that has ended.
  const seen = tx.one<LockedRow>(sql`
    select ${columns},
           (select other.id
              from addresses other
             where other.store_id = address.store_id
               and other.user_id = address.user_id
               and other.id <> address.id
             order by other.id desc
             limit 1) as newest_other,
           (select coalesce(other.default_since, other.created_at)
              from addresses other
             where other.store_id = address.store_id
               and other.user_id = address.user_id
               and other.is_default) as default_since
      from addresses address
     where id = ${addressId}
       and store_id = ${storeId}
       and user_id = ${caller.id}
       and exists (select
                     from members member
                     join stores store on store.id = member.store_id and store.deleted_at is null
                    where member.store_id = address.store_id
                      and member.user_id = address.user_id)`)
  const [, row] = await Promise.all([locked, seen])
  return row
}
