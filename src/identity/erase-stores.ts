// The part of erasing a user (erase.ts) that is done store by store, before everything else: what a store holds of them may
// be much, thousands of keys, and while it is worked on no other store must wait. So each store has a transaction of its own,
// under its own lock. What these do is complete in itself: whoever is interrupted is still there, and asks again.
//
// What comes after that, until the user is erased, is little, or else the stores are worked on again (`CameMeanwhile`).

import { isEmailOwn } from '../auth/email-own.ts'
import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { permissionsOf } from '../core/permissions.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'
import type { MembersRow, StoresRow } from '../db/tables.gen.ts'
import type { Actor } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { WORKS_UNTIL } from '../keys/filter.ts'
import { type Cascade, settle } from '../keys/revoke.ts'
import type { Made } from '../stores/schema.ts'
import { type Leaving, lockOne, namingStore, requireThere } from './erase-locks.ts'

/** What was done so far, by store. */
export type Prepared = {
  settled: Set<string>
  /** What the user leaves behind. */
  made: Map<string, Made>
}

/** Thrown when there is more to be done than the stores can be held for: these are worked on again, and any that are new. */
export class CameMeanwhile extends Error {
  readonly storeIds: string[]

  constructor(storeIds: string[] = []) {
    super()
    this.storeIds = storeIds
  }
}

export async function prepareStores(
  db: Db,
  instance: Instance,
  by: Actor,
  user: Leaving,
  cascade: Cascade,
  { settled, made }: Prepared,
): Promise<void> {
  const purpose = by.id === user.id ? 'erase' : undefined
  const inTurn = <T>(storeId: string, work: (tx: Db) => Promise<T>) =>
    db.transaction(work, { holder: storeId, caller: by, purpose }).catch((error) => {
      throw namingStore(error, storeId)
    })
  const stores = await storesOf(db, user)
  requireOtherOwners(stores)
  await forgetWithdrawnInvitations(db, user)
  await forgetAcceptedInvitations(db, by, user)
  for (const { id, bare } of stores) {
    if (bare || settled.has(id)) continue
    const here = await inTurn(id, (tx) => settleStore(tx, instance, by, user, id, cascade))
    if (!here) continue
    settled.add(id)
    // Service tokens are listed only as long as they work.
    const ended = made.get(id)?.serviceTokens.filter(({ revoked }) => revoked) ?? []
    made.set(id, { ...here, serviceTokens: [...here.serviceTokens, ...ended] })
  }
}

// ---- stores of which the user is a member -----------------------------------------------------------------------------

/** The user's membership in a store. A deleted one can be restored, so what they leave behind there is settled as well. */
export type Store = Pick<StoresRow, 'id' | 'name' | 'deleted_at'> &
  Pick<MembersRow, 'role'> & { owners: number; bare: boolean }

/**
 * A membership on which nothing in the store depends: of a customer without permissions who never was anything else there,
 * and so has made nothing, and whom the store has not linked. The lock of its row suffices to end it.
 */
export const isBare = fragment(`
  member.role = 'CUSTOMER'
  and coalesce(cardinality(member.permissions), 0) = 0
  and member.revision = 1
  and not exists (select
                    from former_members former
                   where former.store_id = member.store_id
                     and former.user_id = member.user_id)
  and not exists (select
                    from customers customer
                   where customer.store_id = member.store_id
                     and customer.user_id = member.user_id)`)

export function storesOf(tx: Db, user: Leaving): Promise<Store[]> {
  return tx.query<Store>(sql`
    select store.id, store.name, store.deleted_at, member.role, (${isBare}) as bare,
           case when member.role = 'OWNER'
             then (select count(*)::int
                     from (select from members where store_id = store.id and role = 'OWNER' limit 2) as owner)
             else 0
           end as owners
      from members member
      join stores store on store.id = member.store_id
     where member.user_id = ${user.id}
     order by store.id`)
}

/** A store keeps at least one owner: the last one hands it over or deletes it first. */
export function requireOtherOwners(stores: Store[]): void {
  const orphaned = stores.filter((store) => store.deleted_at === null && store.role === 'OWNER' && store.owners < 2)
  if (orphaned.length > 0)
    fail('last_owner', {
      detail:
        'You are the last owner of each store in "stores". Make somebody else an owner, or delete the store first.',
      members: { stores: orphaned.map(({ id, name }) => ({ id, name })) },
    })
}

/**
 * What they made in a store that they are a member of. No permission is needed to end what one leaves behind oneself; in a
 * store that they have left, its managers have decided over that already.
 */
async function settleStore(
  tx: Db,
  instance: Instance,
  by: Actor,
  user: Leaving,
  storeId: string,
  { keys, webhooks }: Cascade,
): Promise<Made | null> {
  await lockOne(tx, user, storeId)
  const member = await tx.one<Pick<MembersRow, 'role' | 'permissions'> & { own_since: Date }>(sql`
    select role, permissions, greatest(created_at, demoted_at) as own_since
      from members
     where store_id = ${storeId}
       and user_id = ${user.id}`)
  if (!member) return null
  const showUrls = permissionsOf(instance.permissions, member.role, member.permissions).includes('MANAGE_WEBHOOKS')
  const serviceTokens = member.role === 'OWNER' || by.id !== user.id ? keys : 'keep'
  const maker = { userId: user.id, ownSince: by.id === user.id ? member.own_since : null }
  const cascade = { keys, webhooks, serviceTokens, reason: 'its maker was erased' }
  const made = await settle(tx, by, storeId, maker, showUrls, cascade)
  await withdrawInvitations(tx, by, sql`created_by_id = ${user.id} and store_id = ${storeId}`)
  return made
}

/**
 * Under the locks of all stores: nothing is left that the user has made there with a session since those were settled, and
 * that was to be ended. What a key that is kept has made since is as if it were made after the erasure.
 */
export async function checkSettled(
  tx: Db,
  by: Actor,
  user: Leaving,
  stores: Store[],
  cascade: Cascade,
  { settled }: Prepared,
): Promise<void> {
  const unsettled = stores.filter(({ id, bare }) => !bare && !settled.has(id)).map(({ id }) => id)
  if (unsettled.length > 0) throw new CameMeanwhile(unsettled)
  const [revokes, disables] = [cascade.keys === 'revoke', cascade.webhooks === 'disable']
  if (!revokes && !disables) return
  const [others, at] = [by.id !== user.id, now()]
  const left = await tx.query<Pick<MembersRow, 'store_id'>>(sql`
    with mine as (
      select store_id, role,
             case when ${others} then '-infinity' else greatest(created_at, demoted_at) end as own_since
        from members
       where user_id = ${user.id}
         and store_id = any(${[...settled]})
    )
    select mine.store_id
      from mine
      join api_keys key
        on key.store_id = mine.store_id
       and key.created_by_id = ${user.id}
       and key.created_by_secret_no is null
     where ${revokes}
       and ${WORKS_UNTIL} > ${at}
       and key.created_at >= mine.own_since
       and (${others} or key.secret_no = 1)
     union
    select mine.store_id
      from key_rotations rotation
      join api_keys key on key.id = rotation.key_id and key.secret_no = rotation.secret_no
      join mine on mine.store_id = key.store_id
     where ${revokes}
       and rotation.rotated_by_id = ${user.id}
       and rotation.rotated_at >= mine.own_since
       and ${WORKS_UNTIL} > ${at}
     union
    select mine.store_id
      from mine
      join service_tokens token on token.store_ids = array[mine.store_id] and token.created_by = ${user.id}
     where ${revokes}
       and (${others} or mine.role = 'OWNER')
       and token.revoked_at is null
       and token.created_at >= mine.own_since
     union
    select mine.store_id
      from mine
      join webhooks webhook on webhook.created_by_id = ${user.id} and webhook.store_id = mine.store_id
     where ${disables}
       and webhook.enabled
       and webhook.created_at >= mine.own_since`)
  if (left.length > 0) throw new CameMeanwhile(left.map(({ store_id }) => store_id))
}

// ---- invitations ------------------------------------------------------------------------------------------------------

/** At a time: stores may have invited the user any number of times, and they may have accepted as often. */
const FORGOTTEN_AT_ONCE = 2_000
const ADDRESSES_AT_ONCE = 100

async function forgetWithdrawnInvitations(db: Db, user: Leaving): Promise<void> {
  for (let forgotten = FORGOTTEN_AT_ONCE; forgotten === FORGOTTEN_AT_ONCE; ) {
    const rows = await db.query(sql`
      update invitations
         set email = null
       where id = any(array(
               select id
                 from invitations
                where email = (select email
                                 from users
                                where id = ${user.id}
                                  and ${isEmailOwn}
                                  and erased_at is null)
                  and accepted_by is null
                  and withdrawn_at is not null
                limit ${FORGOTTEN_AT_ONCE}
             ))
   returning id`)
    forgotten = rows.length
  }
}

/** Further invitations to the addresses under which the user has accepted some, in the same store, are theirs, too. */
async function forgetAcceptedInvitations(db: Db, by: Actor, user: Leaving): Promise<void> {
  const turn = { holder: user.id, caller: by }
  while (await db.transaction((tx) => forgetSomeAccepted(tx, by, user), turn));
}

/** False when there are none left. */
async function forgetSomeAccepted(tx: Db, by: Actor, user: Leaving): Promise<boolean> {
  await requireThere(tx, user)
  const accepted = await tx.query<{ email: string; store_id: string }>(sql`
    select distinct email, store_id
      from (select email, store_id
              from invitations
             where accepted_by = ${user.id}
               and email is not null
             limit ${ADDRESSES_AT_ONCE}) as accepted`)
  let room = FORGOTTEN_AT_ONCE
  // One by one: with an array all invitations of the store would be read.
  for (const { email, store_id } of accepted) {
    const toAddress = sql`email = ${email} and store_id = ${store_id}`
    await withdrawInvitations(tx, by, toAddress)
    // Those that the user has accepted last: they tell which addresses are theirs.
    for (const whose of [sql`accepted_by is null`, sql`accepted_by = ${user.id}`]) {
      const forgotten = await tx.query(sql`
        update invitations
           set email = null
         where id = any(array(
                 select id
                   from invitations
                  where ${toAddress}
                    and ${whose}
                  limit ${room}
               ))
     returning id`)
      room -= forgotten.length
      if (room === 0) return true
    }
  }
  return accepted.length > 0
}
