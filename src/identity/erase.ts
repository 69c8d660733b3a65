// Erasing a user. Their data key is destroyed, and with it the text of every address, wherever a copy lies; e-mail,
// name, password, second factor, sessions and links to customers of stores go. A row with an id and nothing else remains,
// so that events, keys and the country, state and postal code of an address that an invoice points at go on making sense.
//
// First each store by itself settles what they made (erase-stores.ts). Then one transaction erases the user in all of them, with little
// to do in each, and then each store by itself forgets the user's external id (erase-owners.ts). The locks of that transaction are taken in the common order: stores
// (erase-locks.ts), members, the user, their sessions. A store in which they are nothing but a customer is not locked: whoever
// may join could keep it from being changed while other stores are worked on. A change committed before the user is locked is
// seen then, and the erasure starts again (`CameMeanwhile`); a change that comes later finds the user erased.

import { isEmailOwn } from '../auth/email-own.ts'
import { checkRecentSignIn } from '../auth/recent-sign-in.ts'
import { CallerChanged } from '../auth/recheck.ts'
import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import { forgetAnswers } from '../billing/forget-answers.ts'
import { listHeld } from '../billing/holds.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { Failure } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { InvitationsRow, MembersRow, StoresRow, UsersRow } from '../db/tables.gen.ts'
import { type Actor, type EventRow, newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import type { Cascade } from '../keys/revoke.ts'
import { deleteMailsTo } from '../mail/outbox.ts'
import { endMemberships } from '../stores/leaving.ts'
import type { MadeInStores } from '../stores/schema.ts'
import { type BusyStores, type Leaving, lockStores } from './erase-locks.ts'
import { eraseNotedOwners, type NotedOwner, noteOwners } from './erase-owners.ts'
import {
  CameMeanwhile,
  checkSettled,
  isBare,
  type Prepared,
  prepareStores,
  requireOtherOwners,
  type Store,
  storesOf,
} from './erase-stores.ts'
import { removeFactors } from './factors.ts'
import { forgetPlaces } from './places.ts'
import type { ErasedUser } from './schema.ts'
import { lockSessions } from './sessions.ts'

/** Erasure by the user themselves, who has signed in a moment ago. */
export async function eraseMe(db: Db, instance: Instance, caller: UserCaller, cascade: Cascade): Promise<ErasedUser> {
  await checkRecentSignIn(db, caller)
  return eraseUser(db, instance, caller, caller, cascade)
}

/** An erasure starts over when the user has got something new meanwhile, such as a store. In practice once is enough. */
const MAX_TRIES = 5

/** Erasure by the user or the operator, in transactions of its own. */
export async function eraseUser(
  db: Db,
  instance: Instance,
  by: Actor,
  user: Leaving,
  cascade: Cascade,
): Promise<ErasedUser> {
  const prepared: Prepared = { settled: new Set(), made: new Map() }
  const busy: BusyStores = []
  const turn = { holder: user.id, caller: by }
  for (let tries = 1; ; tries++) {
    await prepareStores(db, instance, by, user, cascade, prepared)
    try {
      const work = (tx: Db) => eraseEverywhere(tx, by, user, cascade, prepared, busy)
      const { erased, noted } = await db.transaction(work, turn)
      await eraseNotedOwners(db, by, user, noted)
      return erased
    } catch (error) {
      if (!(error instanceof CameMeanwhile)) throw error
      if (tries === MAX_TRIES) throw new Failure('unavailable', { retryAfterSeconds: 1 })
      for (const id of error.storeIds) prepared.settled.delete(id)
    }
  }
}

async function eraseEverywhere(
  tx: Db,
  by: Actor,
  user: Leaving,
  cascade: Cascade,
  prepared: Prepared,
  busy: BusyStores,
): Promise<{ erased: ErasedUser; noted: NotedOwner[] }> {
  const { stores, ownEmail } = await lockAll(tx, user, busy)
  await checkSettled(tx, by, user, stores, cascade, prepared)
  const told = await storesToTell(tx, user.id)
  const noted = await noteOwners(tx, by, user)
  await eraseInvitations(tx, by, user, ownEmail)
  await endMemberships(tx, by, user.id, sql`true`)
  await tx.query(sql`delete from sessions where user_id = ${user.id}`)
  await tx.query(sql`delete from user_tokens where user_id = ${user.id}`)
  await removeFactors(tx, user.id)
  await deleteMailsTo(tx, ownEmail)
  await forgetPlaces(tx, user.id)
  await tx.query(sql`
    update users
       set email = null, name = null, password_hash = null, issuer = null, subject = null, data_key = null,
           data_key_kid = null, email_verified_at = null, email_proven = false, mail_off = '{}', disabled_at = null, erased_at = ${now()},
           updated_at = ${now()}
     where id = ${user.id}`)
  await forgetAnswers(tx, [user.id])
  const roles = new Map(stores.map(({ id, role }) => [id, role]))
  const erasedIn = (storeId: string | null): EventRow => {
    const role = storeId === null ? undefined : roles.get(storeId)
    return newEvent(by, storeId, 'user.erased', user.id, { keys: cascade.keys, ...(role ? { role } : {}) })
  }
  await writeEvents(tx, [...told.map(({ id }) => erasedIn(id)), erasedIn(null)])
  return { erased: { ...madeIn(stores, prepared), held: await listHeld(tx, user.id) }, noted }
}

/** Every store that keeps something of the user: as a member, as a customer, or in addresses that invoices may point at. */
function storesToTell(tx: Db, userId: string): Promise<Pick<StoresRow, 'id'>[]> {
  return tx.query(sql`
    select id
      from stores
     where id in (select store_id from members where user_id = ${userId}
                   union
                  select store_id from customers where user_id = ${userId}
                   union
                  select store_id from addresses where user_id = ${userId}
                   union
                  select store_id from address_versions where user_id = ${userId})
     order by id`)
}

/**
 * Locks the user's stores, but for those with a bare membership, all memberships, the user and their sessions until the
 * transaction ends.
 */
async function lockAll(tx: Db, user: Leaving, busy: BusyStores): Promise<{ stores: Store[]; ownEmail: string | null }> {
  const toLock = await tx.query<Pick<MembersRow, 'store_id'>>(sql`
    select store_id from members member where user_id = ${user.id} and not (${isBare})
     union
    select store_id from customers where user_id = ${user.id}
     order by store_id`)
  const lockedIds = new Set(toLock.map(({ store_id }) => store_id))
  await lockStores(tx, [...lockedIds], busy)
  const memberships = await tx.query<Pick<MembersRow, 'store_id'>>(sql`
    select store_id
      from members
     where user_id = ${user.id}
     order by store_id
       for update`)
  const there = await tx.one<{ own_email: UsersRow['email'] }>(sql`
    select case when ${isEmailOwn} then email end as own_email
      from users
     where id = ${user.id}
       and erased_at is null
       for update`)
  if (there === null) throw new CallerChanged()
  const stores = await storesOf(tx, user)
  const memberIds = new Set(memberships.map((row) => row.store_id))
  // Before the sessions are locked: whoever holds the lock of a membership that came meanwhile, of a session and not yet of the
  // user, as a new address does, would wait for us and we for them.
  if (stores.some(({ id, bare }) => !memberIds.has(id) || !(bare || lockedIds.has(id)))) throw new CameMeanwhile()
  await lockSessions(tx, user)
  requireOtherOwners(stores)
  return { stores, ownEmail: there.own_email }
}

/** What they leave behind in the stores of which they were a member to the end. */
function madeIn(stores: Store[], prepared: Prepared): MadeInStores {
  const made: MadeInStores = { keys: [], webhooks: [], members: [], serviceTokens: [] }
  for (const { id: storeId } of stores) {
    const here = prepared.made.get(storeId)
    if (!here) continue
    made.keys.push(...here.keys.map((key) => ({ storeId, ...key })))
    made.webhooks.push(...here.webhooks.map((webhook) => ({ storeId, ...webhook })))
    made.members.push(...here.members.map((member) => ({ storeId, ...member })))
    made.serviceTokens.push(...here.serviceTokens.map((token) => ({ storeId, ...token })))
  }
  return made
}

/** More that came meanwhile are forgotten before the stores are held again. */
const FEW_INVITATIONS = 100

/**
 * Open invitations to the user are withdrawn, and the e-mail is deleted from these and from those they accepted. Anybody can
 * sign up with any e-mail, so only one that is known to be their own makes an invitation theirs (`isEmailOwn`). A user of an
 * identity provider may have had no e-mail here, or another one: theirs are also found, in each store, by the addresses under
 * which they accepted invitations to it. Nearly all of it was done before the stores were locked (erase-stores.ts).
 */
async function eraseInvitations(tx: Db, by: Actor, user: Leaving, ownEmail: string | null): Promise<void> {
  const accepted = await tx.query<Pick<InvitationsRow, 'id'>>(sql`
    select id
      from invitations
     where accepted_by = ${user.id}
       and email is not null
     limit ${FEW_INVITATIONS + 1}`)
  if (accepted.length > FEW_INVITATIONS) throw new CameMeanwhile()
  const acceptedIds = accepted.map(({ id }) => id)
  const toAcceptedAddresses = sql`
    id = any(array(
      select other.id
        from invitations accepted
        join invitations other
          on other.email = accepted.email
         and other.store_id = accepted.store_id
         and other.accepted_by is null
         and other.withdrawn_at is null
       where accepted.id = any(${acceptedIds})
    ))`
  const withdrawn = [
    ...(await withdrawInvitations(tx, by, sql`email = ${ownEmail}`)),
    ...(await withdrawInvitations(tx, by, toAcceptedAddresses)),
  ]
  await tx.query(sql`
    update invitations
       set email = null
     where id = any(${[...acceptedIds, ...withdrawn.map(({ id }) => id)]})`)
  // One that somebody else accepted keeps its address: by it, further invitations to that member are withdrawn when they
  // are removed.
  await tx.query(sql`
    update invitations
       set email = null
     where email = ${ownEmail}
       and accepted_by is null`)
}
