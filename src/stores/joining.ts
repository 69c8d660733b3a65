// How users become members of a store: by an invitation with a token that works once, or by joining an open store.

import { CallerChanged, recheckUser } from '../auth/recheck.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { Failure, fail } from '../core/errors.ts'
import { type Permission, permissionsOf, type Role } from '../core/permissions.ts'
import type { Answer, WireResponse } from '../core/route.ts'
import { unlinkCustomer } from '../customers/erase.ts'
import type { Db } from '../db/db.ts'
import { violatedConstraint } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import type { InvitationsRow, MembersRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { findInvitation, isWorthSomething } from './invitations.ts'
import { showStore } from './schema.ts'
import { lockStore, readStore, type StoreView } from './stores.ts'

type Membership = { store: StoreView; userId: string; role: Role; permissions: Permission[]; createdAt: string }

/** Of two concurrent requests one accepts; the other finds the invitation used. */
export async function acceptInvitation(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  token: string,
): Promise<Answer<Membership>> {
  const found = await findInvitation(tx, token)
  // Whoever it is for: one that is worth nothing looks as if there were none.
  if (!found || !(await isWorthSomething(tx, instance, found))) return fail('invitation_not_found')
  const email = emailToInvite(caller)
  if (email === null) await checkFederated(tx, caller)
  else if (email !== found.email) fail('invitation_mismatch')
  const store = await lockStore(tx, found.store_id).catch((error) => {
    // A store that is gone takes its invitations with it; one that is only busy does not.
    if (error instanceof Failure && error.code === 'store_not_found') return fail('invitation_not_found')
    throw error
  })
  // Again, under the store's lock, under which invitations end and their makers lose their rights.
  const row = await findInvitation(tx, token)
  if (!row || !(await isWorthSomething(tx, instance, row))) return fail('invitation_not_found')
  if (await wasRemovedSince(tx, caller, row)) return fail('invitation_not_found')
  const permissions = permissionsOf(instance.permissions, row.role, row.permissions)
  const at = now()
  // A customer who is invited to a role moves up; a member with a role keeps it.
  const [member] = await tx.query<Pick<MembersRow, 'created_at'>>(sql`
    insert into members (store_id, user_id, role, permissions, created_at, updated_at)
    values (${row.store_id}, ${caller.id}, ${row.role}, ${row.permissions}, ${at}, ${at})
        on conflict (store_id, user_id) do update
       set role = excluded.role, permissions = excluded.permissions, revision = members.revision + 1,
           updated_at = excluded.updated_at
     where members.role = 'CUSTOMER'
       and excluded.role <> 'CUSTOMER'
 returning created_at`)
  if (!member) return fail('already_member')
  await recheckUser(tx, caller)
  await recheckEmail(tx, caller)
  // Last, in the order of locks: an invitation is also withdrawn without the store's lock, when a session is ended.
  const accepted = await tx.query(sql`
    update invitations
       set accepted_at = ${at}, accepted_by = ${caller.id}
     where id = ${row.id}
       and accepted_at is null
       and withdrawn_at is null
 returning id`)
  if (accepted.length === 0) fail('invitation_not_found')
  await destroyReplayableSecrets(tx, [row.id])
  if (row.role !== 'CUSTOMER') await unlinkCustomer(tx, caller, caller.id, [row.store_id])
  await writeEvents(tx, [
    newEvent(caller, row.store_id, 'member.joined', caller.id, { role: row.role, permissions, invitation: row.id }),
  ])
  return {
    body: {
      store: showStore(store),
      userId: caller.id,
      role: row.role,
      permissions,
      createdAt: member.created_at.toISOString(),
    },
  }
}

/** Whether they were removed or demoted after the invitation was made, whichever address it was sent to. */
async function wasRemovedSince(
  tx: Db,
  caller: UserCaller,
  { store_id, created_at }: Pick<InvitationsRow, 'store_id' | 'created_at'>,
): Promise<boolean> {
  const removed = await tx.one(sql`
    select user_id
      from former_members
     where store_id = ${store_id}
       and user_id = ${caller.id}
       and removed_at >= ${created_at}
     union all
    select user_id
      from members
     where store_id = ${store_id}
       and user_id = ${caller.id}
       and demoted_at >= ${created_at}
     limit 1`)
  return removed !== null
}

/**
 * A user of an identity provider whose token says no e-mail is let in by the invitation's token alone. An account with a
 * password that has no e-mail has not confirmed one yet, or has lost it.
 */
async function checkFederated(tx: Db, caller: UserCaller): Promise<void> {
  const account = await tx.one(sql`
    select id
      from users
     where id = ${caller.id}
       and password_hash is not null`)
  if (account)
    fail('invitation_mismatch', {
      detail: 'Your account has no e-mail address. Confirm the address the invitation was sent to, then accept it.',
    })
}

/** After recheckUser, whose lock keeps the e-mail: for a moment a node may know them by one that is somebody else's by now. */
async function recheckEmail(tx: Db, caller: UserCaller): Promise<void> {
  const user = await tx.one(sql`
    select id
      from users
     where id = ${caller.id}
       and email is not distinct from ${caller.email}`)
  if (!user) throw new CallerChanged()
}

/** The only e-mail whose invitations they accept: what the provider claims now, before what was taken over from it earlier. */
export const emailToInvite = ({ claimedEmail, email }: UserCaller): string | null => claimedEmail ?? email

/** Whoever is not in the store any more does not get again what they were told of it. */
export async function checkStillMember({ db, caller, sent }: { db: Db; caller: UserCaller; sent: WireResponse }) {
  const told = JSON.parse(sent.body) as Membership | StoreView
  const store = 'store' in told ? told.store : told
  const member = await db.one(sql`
    select member.user_id
      from members member
      join stores store on store.id = member.store_id and store.deleted_at is null
     where member.store_id = ${store.id}
       and member.user_id = ${caller.id}`)
  if (!member) fail('response_no_longer_available', { members: { resource: { id: store.id } } })
}

/** A closed store answers a stranger like one that does not exist. */
export async function joinStore(tx: Db, caller: UserCaller, storeId: string): Promise<Answer<Membership>> {
  const requireOpen = ({ registration }: { registration: string }) => {
    if (caller.member) fail('already_member')
    if (registration !== 'OPEN') fail('store_not_found')
  }
  // Before the lock: strangers must not hold up the changes of a store that they cannot join.
  requireOpen((await readStore(tx, storeId)).body)
  const store = await lockStore(tx, storeId)
  requireOpen(store)
  const at = now()
  try {
    await tx.query(sql`
      insert into members (store_id, user_id, role, created_at, updated_at)
      values (${storeId}, ${caller.id}, 'CUSTOMER', ${at}, ${at})`)
  } catch (error) {
    return violatedConstraint(error) === 'members_pkey' ? fail('already_member') : Promise.reject(error)
  }
  await writeEvents(tx, [newEvent(caller, storeId, 'member.joined', caller.id, { role: 'CUSTOMER', permissions: [] })])
  return {
    body: {
      store: showStore(store),
      userId: caller.id,
      role: 'CUSTOMER',
      permissions: [],
      createdAt: at.toISOString(),
    },
    resource: { id: caller.id, location: `/v1/user/store/${storeId}/members/${caller.id}` },
  }
}
