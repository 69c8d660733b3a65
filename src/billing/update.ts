// Changing an address, making it the default, deleting it. All of it happens under the lock that creating one takes, on its
// user's membership or, for a customer whom the store keeps, on the store, so that there is exactly one default at every
// committed moment. The content before the change goes to `address_versions`, where it stays: an invoice may point at it. The
// lock is held for two round trips: the writes travel with the commit.

import { unwrapDataKey } from '../auth/data-key.ts'
import { CallerChanged, lockSession } from '../auth/recheck.ts'
import { creatorOf, heldPermissions, type Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, writeEventWithCommit } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { parseAddress } from './create.ts'
import type { AddressOwner } from './owner.ts'
import { type AddressRef, addressColumns, type SealedAddressRow, showAddress } from './read.ts'
import { ADDRESS_LENGTHS, type Address, type AddressChanges } from './schema.ts'
import { type AddressText, sealText, unsealText } from './sealed-text.ts'
import { failVersionLimit, limitedSince } from './version-limit.ts'

const FIELDS = Object.keys(ADDRESS_LENGTHS) as (keyof typeof ADDRESS_LENGTHS)[]

// ---- change ---------------------------------------------------------------------------------------------------------

type AddressPatch = {
  changes: AddressChanges
  ifMatch: string | null
  /** The faults of the body itself, answered together with those of the address that the changes would make. */
  faults: Fault[]
}

export async function updateAddress(
  tx: Db,
  instance: Instance,
  caller: Manager,
  owner: AddressOwner,
  ref: AddressRef,
  { changes, ifMatch, faults }: AddressPatch,
): Promise<Answer<Address>> {
  const before = await lockAddress(tx, instance, caller, owner, ref)
  if (!before) return faults.length > 0 ? failInput(faults) : fail('address_not_found')
  if (faults.length === 0) checkIfMatch(ifMatch, before.revision)
  if (before.limited_since && isGuess(caller, owner, changes))
    return faults.length > 0 ? failInput(faults) : failVersionLimit(instance, before.limited_since)
  const key = unwrapDataKey(instance.keyring, owner.user)
  const textBefore = unsealText(key, before)
  const text = applyChanges(textBefore, changes, faults)
  const changed = FIELDS.filter((name) => text.address[name] !== textBefore.address[name])
  const nextDefault = chooseDefault(before, changes.isDefault)
  if (changed.length === 0 && nextDefault === null) return answerOf(before, textBefore)

  if (changed.length > 0 && before.limited_since) failVersionLimit(instance, before.limited_since)

  const after = { ...before }
  if (changed.length > 0) {
    after.version += 1
    after.revision += 1
    after.updated_at = monotonicTime(before.updated_at)
    writeContent(tx, after, text, sealText(key, after, text), owner.onBehalf ? creatorOf(caller) : null)
  }
  if (nextDefault !== null) {
    after.is_default = nextDefault === before.id
    after.revision += 1
    moveDefault(tx, before, nextDefault)
  }
  const event = newEvent(caller, ref.storeId, 'address.updated', before.id, {
    changed: [...changed, ...(nextDefault === null ? [] : ['isDefault'])],
    ...(nextDefault === null || nextDefault === before.id ? {} : { newDefault: nextDefault }),
  })
  writeEventWithCommit(tx, event)
  return answerOf(after, changed.length > 0 ? text : textBefore)
}

/**
 * Whether the changes name text that the caller may not read. When no version can be made any more, they would learn from the
 * answer whether the text is as they say.
 */
function isGuess(caller: Manager, { onBehalf }: AddressOwner, { isDefault: _, ...given }: AddressChanges): boolean {
  return onBehalf && !heldPermissions(caller).includes('READ') && Object.keys(given).length > 0
}

function answerOf(row: SealedAddressRow, text: AddressText): Answer<Address> {
  return { body: showAddress(row, text), etag: etagOf(row.revision) }
}

/** The whole address that comes of the changes is checked, as if it were new. */
function applyChanges(before: AddressText, { isDefault: _, ...given }: AddressChanges, faults: Fault[]): AddressText {
  const more: Fault[] = []
  const text = Object.keys(given).length > 0 ? parseAddress({ ...before.address, ...given }, more) : before
  const told = new Set(faults.map(({ pointer }) => pointer))
  const all = [...faults, ...more.filter(({ pointer }) => !told.has(pointer))]
  return all.length > 0 ? failInput(all) : text
}

/** The id of the address that becomes the default, or null when the default does not change. The only address keeps it. */
function chooseDefault(before: LockedRow, isDefault: boolean | undefined): string | null {
  if (isDefault === undefined || isDefault === before.is_default) return null
  return isDefault ? before.id : before.newest_other
}

/** Now, or 1 ms after `before` where this node's clock is behind: each version has a time of its own, in their order. */
function monotonicTime(before: Date): Date {
  return new Date(Math.max(now().getTime(), before.getTime() + 1))
}

/** `changedBy` is null for the user whose address it is. */
function writeContent(
  tx: Db,
  after: SealedAddressRow,
  { address }: AddressText,
  sealed: Buffer,
  changedBy: ReturnType<typeof creatorOf> | null,
): void {
  tx.withCommit(sql`
    with previous as (
      insert into address_versions
             (address_id, version, store_id, user_id, country, state, postal_code, sealed, changed_by_kind,
              changed_by_id, created_at, at, until)
      select id, version, store_id, user_id, country, state, postal_code, sealed, changed_by_kind, changed_by_id,
             created_at, updated_at, ${after.updated_at}
        from addresses
       where id = ${after.id}
    )
    update addresses
       set country = ${address.country}, state = ${address.state}, postal_code = ${address.postalCode},
           sealed = ${sealed}, changed_by_kind = ${changedBy?.kind ?? null}, changed_by_id = ${changedBy?.id ?? null},
           version = version + 1, revision = revision + 1, updated_at = ${after.updated_at}
     where id = ${after.id}`)
}

/** The old default is cleared first: a unique index allows one at a time. */
function moveDefault(tx: Db, { store_id, user_id, default_since }: LockedRow, nextDefault: string): void {
  const at = monotonicTime(default_since)
  tx.withCommit(sql`
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
  makeDefault(tx, nextDefault, at)
}

function makeDefault(tx: Db, addressId: string, at: Date): void {
  tx.withCommit(sql`
    update addresses
       set is_default = true, default_since = ${at}, revision = revision + 1
     where id = ${addressId}`)
}

// ---- delete ---------------------------------------------------------------------------------------------------------

/** Deleting the default makes the newest of the other addresses the default. The versions stay. */
export async function deleteAddress(
  tx: Db,
  instance: Instance,
  caller: Manager,
  owner: AddressOwner,
  ref: AddressRef,
  ifMatch: string | null,
): Promise<void> {
  const before = (await lockAddress(tx, instance, caller, owner, ref)) ?? fail('address_not_found')
  checkIfMatch(ifMatch, before.revision)
  const at = monotonicTime(
    before.is_default && before.default_since > before.updated_at ? before.default_since : before.updated_at,
  )
  const nextDefault = before.is_default ? before.newest_other : null
  tx.withCommit(sql`
    with deleted as (
      delete from addresses
       where id = ${before.id}
      returning *
    ), was_default as (
      insert into address_defaults (store_id, user_id, address_id, since, until)
      select store_id, user_id, id, coalesce(default_since, created_at), ${at}
        from deleted
       where is_default
    )
    insert into address_versions
           (address_id, version, store_id, user_id, country, state, postal_code, sealed, changed_by_kind,
            changed_by_id, created_at, at, until)
    select id, version, store_id, user_id, country, state, postal_code, sealed, changed_by_kind, changed_by_id,
           created_at, updated_at, ${at}
      from deleted`)
  if (nextDefault !== null) makeDefault(tx, nextDefault, at)
  const event = newEvent(
    caller,
    ref.storeId,
    'address.deleted',
    before.id,
    nextDefault === null ? {} : { newDefault: nextDefault },
  )
  writeEventWithCommit(tx, event)
}

// ---- the lock -------------------------------------------------------------------------------------------------------

type LockedRow = SealedAddressRow & {
  /** Since when the user's present default, this address or another, has been the default. */
  default_since: Date
  newest_other: string | null
  /** Of the versions that use up the day's limit, the first. */
  limited_since: Date | null
}

/** Null when the owner has no such address in this store, or is no longer a member or customer of it. */
async function lockAddress(
  tx: Db,
  instance: Instance,
  caller: Manager,
  { user, onBehalf }: AddressOwner,
  { storeId, addressId }: AddressRef,
): Promise<LockedRow | null> {
  const locked = tx.query(sql`
    select user_id
      from members
     where store_id = ${storeId}
       and user_id = ${user.id}
       for no key update`)
  // Read under the lock: this statement is sent together with the one before it, and begins when that one has ended.
  const found = tx.one<LockedRow>(sql`
    select ${addressColumns},
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
               and other.is_default) as default_since,
           ${limitedSince(instance, 'address')} as limited_since
      from addresses address
     where id = ${addressId}
       and store_id = ${storeId}
       and user_id = ${user.id}
       and exists (select
                     from ${onBehalf ? sql`customers` : sql`members`} member
                     join stores store on store.id = member.store_id and store.deleted_at is null
                    where member.store_id = address.store_id
                      and member.user_id = address.user_id)`)
  const [, session, row] = await Promise.all([locked, lockSession(tx, caller), found])
  if (!session) throw new CallerChanged()
  return row
}
