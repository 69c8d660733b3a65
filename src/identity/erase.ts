// Erasing a user. Their data key is destroyed, and with it the text of every address, wherever a copy lies; e-mail,
// name, password, second factor, sessions and links to customers of stores go. A row with an id and nothing else remains, so that events, keys and the country,
// state and postal code of an address that an invoice points at go on making sense.
//
// Locks are taken in the common order: stores, members, the user, their sessions. A change committed before the last lock is held is
// seen then, and the request starts again (`CallerChanged`); a change that comes later finds the user erased.

import { checkRecentSignIn } from '../auth/recent-sign-in.ts'
import { CallerChanged } from '../auth/recheck.ts'
import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import { forgetAnswers } from '../billing/forget-answers.ts'
import { listHeld } from '../billing/holds.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { permissionsOf } from '../core/permissions.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { CustomersRow, MembersRow, StoresRow, UsersRow } from '../db/tables.gen.ts'
import { type Actor, type EventRow, newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { eraseOwner } from '../keys/owners.ts'
import { type Cascade, settle } from '../keys/revoke.ts'
import { deleteMailsTo } from '../mail/outbox.ts'
import { endMemberships } from '../stores/leaving.ts'
import type { MadeInStores } from '../stores/schema.ts'
import { removeFactors } from './factors.ts'
import { forgetPlaces } from './places.ts'
import type { ErasedUser } from './schema.ts'
import { lockSessions } from './sessions.ts'

/** In person. */
export async function eraseMe(tx: Db, instance: Instance, caller: UserCaller, cascade: Cascade): Promise<ErasedUser> {
  await checkRecentSignIn(tx, caller)
  return eraseUser(tx, instance, caller, caller, cascade)
}

/** `sessionId`: of the user who erases themselves. */
type Leaving = Pick<UserCaller, 'id' | 'sessionId'>

/** By the user or the operator. */
export async function eraseUser(
  tx: Db,
  instance: Instance,
  by: Actor,
  user: Leaving,
  cascade: Cascade,
): Promise<ErasedUser> {
  const { stores, confirmedEmail } = await lockAll(tx, user)
  const told = await storesToTell(tx, user.id)
  const made = await settleAll(tx, instance, by, user, stores, cascade)
  await eraseInvitations(tx, by, user, confirmedEmail)
  await eraseLinks(tx, by, user.id)
  await endMemberships(tx, by, user.id, sql`true`)
  await tx.query(sql`delete from sessions where user_id = ${user.id}`)
  await tx.query(sql`delete from user_tokens where user_id = ${user.id}`)
  await removeFactors(tx, user.id)
  await deleteMailsTo(tx, confirmedEmail)
  await forgetPlaces(tx, user.id)
  await tx.query(sql`
    update users
       set email = null, name = null, password_hash = null, issuer = null, subject = null, data_key = null,
           data_key_kid = null, email_verified_at = null, mail_off = '{}', disabled_at = null, erased_at = ${now()},
           updated_at = ${now()}
     where id = ${user.id}`)
  await forgetAnswers(tx, [user.id])
  const roles = new Map(stores.map(({ id, role }) => [id, role]))
  const erased = (storeId: string | null): EventRow => {
    const role = storeId === null ? undefined : roles.get(storeId)
    return newEvent(by, storeId, 'user.erased', user.id, { keys: cascade.keys, ...(role ? { role } : {}) })
  }
  await writeEvents(tx, [...told.map(({ id }) => erased(id)), erased(null)])
  return { ...made, held: await listHeld(tx, user.id) }
}

/** Stores that linked the user to an id of their own forget that id, also as the owner of keys. */
async function eraseLinks(tx: Db, by: Actor, userId: string): Promise<void> {
  const links = await tx.query<Pick<CustomersRow, 'store_id' | 'external_id'>>(sql`
    delete from customers
     where user_id = ${userId}
 returning store_id, external_id`)
  for (const { store_id: storeId, external_id: owner } of links.sort((a, b) => (a.store_id < b.store_id ? -1 : 1)))
    await eraseOwner(tx, by, { storeId, owner }, 'keep')
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

/** The user's membership in a store. A deleted one can be restored, so what they leave behind there is settled as well. */
type Store = Pick<StoresRow, 'id' | 'name' | 'deleted_at'> &
  Pick<MembersRow, 'role' | 'permissions'> & { owners: number; own_since: Date }

/** Locks the user's stores, memberships, the user and their sessions until the transaction ends. */
async function lockAll(tx: Db, user: Leaving): Promise<{ stores: Store[]; confirmedEmail: string | null }> {
  const locked = await tx.query<Pick<StoresRow, 'id'>>(sql`
    select id
      from stores
     where id in (select store_id from members where user_id = ${user.id}
                   union
                  select store_id from customers where user_id = ${user.id})
     order by id
       for no key update`)
  await tx.query(sql`
    select store_id
      from members
     where user_id = ${user.id}
     order by store_id
       for update`)
  const there = await tx.one<Pick<UsersRow, 'email' | 'email_verified_at'>>(sql`
    select email, email_verified_at
      from users
     where id = ${user.id}
       and erased_at is null
       for update`)
  if (there === null) throw new CallerChanged()
  await lockSessions(tx, user)
  const stores = await storesOf(tx, user)
  const ids = new Set(locked.map(({ id }) => id))
  if (stores.some(({ id }) => !ids.has(id))) throw new CallerChanged()
  requireOtherOwners(stores)
  return { stores, confirmedEmail: there.email_verified_at && there.email }
}

function storesOf(tx: Db, user: Leaving): Promise<Store[]> {
  return tx.query<Store>(sql`
    select store.id, store.name, store.deleted_at, member.role, member.permissions,
           greatest(member.created_at, member.demoted_at) as own_since,
           (select count(*)::int
              from (select from members where store_id = store.id and role = 'OWNER' limit 2) as owner) as owners
      from members member
      join stores store on store.id = member.store_id
     where member.user_id = ${user.id}
     order by store.id`)
}

/** A store keeps at least one owner: the last one hands it over or deletes it first. */
function requireOtherOwners(stores: Store[]): void {
  const orphaned = stores.filter((store) => store.deleted_at === null && store.role === 'OWNER' && store.owners < 2)
  if (orphaned.length > 0)
    fail('last_owner', {
      detail:
        'You are the last owner of each store in "stores". Make somebody else an owner, or delete the store first.',
      members: { stores: orphaned.map(({ id, name }) => ({ id, name })) },
    })
}

/**
 * In every store that they are a member of. No permission is needed to end what one leaves behind oneself; in a store that
 * they have left, its managers have decided over that already.
 */
async function settleAll(
  tx: Db,
  instance: Instance,
  by: Actor,
  user: Leaving,
  stores: Store[],
  { keys, webhooks }: Cascade,
): Promise<MadeInStores> {
  const made: MadeInStores = { keys: [], webhooks: [], members: [], serviceTokens: [] }
  for (const { id: storeId, role, permissions, own_since: ownSince } of stores) {
    const showUrls = permissionsOf(instance.permissions, role, permissions).includes('MANAGE_WEBHOOKS')
    const serviceTokens = role === 'OWNER' || by.id !== user.id ? keys : 'keep'
    const cascade = { keys, webhooks, serviceTokens, reason: 'its maker was erased' }
    const maker = { userId: user.id, ownSince: by.id === user.id ? ownSince : null }
    const here = await settle(tx, by, storeId, maker, showUrls, cascade)
    made.keys.push(...here.keys.map((key) => ({ storeId, ...key })))
    made.webhooks.push(...here.webhooks.map((webhook) => ({ storeId, ...webhook })))
    made.members.push(...here.members.map((member) => ({ storeId, ...member })))
    made.serviceTokens.push(...here.serviceTokens.map((token) => ({ storeId, ...token })))
  }
  return made
}

/**
 * Open invitations to the user are withdrawn, and the e-mail is deleted from these and from those they accepted. Anybody can
 * sign up with any e-mail, so only a confirmed one makes an invitation theirs. A user of an identity provider may have had no
 * e-mail here, or another one: theirs are also found, in each store, by the addresses under which they accepted invitations
 * to it.
 */
async function eraseInvitations(tx: Db, by: Actor, user: Leaving, confirmed: string | null): Promise<void> {
  const acceptedAddresses = sql`
    id = any(array(
      select other.id
        from invitations accepted
        join invitations other on other.email = accepted.email and other.store_id = accepted.store_id
       where accepted.accepted_by = ${user.id}
    ))`
  const withdrawn = [
    ...(await withdrawInvitations(tx, by, sql`email = ${confirmed}`)),
    ...(await withdrawInvitations(tx, by, acceptedAddresses)),
  ]
  await tx.query(sql`
    update invitations
       set email = null
     where id = any(${withdrawn.map(({ id }) => id)})`)
  // Two statements: with an "or" every invitation of every store would be read. One that somebody else accepted keeps its
  // address: by it, further invitations to that member are withdrawn when they are removed.
  await tx.query(sql`
    update invitations
       set email = null
     where email = ${confirmed}
       and accepted_by is null`)
  await tx.query(sql`
    update invitations
       set email = null
     where accepted_by = ${user.id}`)
}
