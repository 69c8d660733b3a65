// The members of a store and their rights. No caller grants a permission they do not hold or changes a member who holds
// more, and a store never loses its last owner.

import { checkBounds } from '../auth/bounds.ts'
import { isEmailOwn } from '../auth/email-own.ts'
import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import { heldPermissions, type Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail, failInput } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { checkGrant, checkHolds, isOwner, OWNER_HOLDS_ALL } from '../core/grant.ts'
import { listPage, type Page, type PageParams, placeLookedTo } from '../core/pagination.ts'
import { missingPermissions, permissionsOf, type Role } from '../core/permissions.ts'
import type { Answer } from '../core/route.ts'
import { unlinkCustomer } from '../customers/erase.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import type { InvitationsRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { type Cascade, settle } from '../keys/revoke.ts'
import { applyPermissions, type MemberPatch } from './input.ts'
import type { Made, MemberRow, SettledMemberRow } from './schema.ts'
import { lockStore } from './stores.ts'

export function showMember(instance: Instance, row: MemberRow) {
  return {
    storeId: row.store_id,
    userId: row.user_id,
    name: row.name,
    email: row.email,
    emailVerified: row.is_email_own,
    role: row.role,
    permissions: permissionsOf(instance.permissions, row.role, row.permissions),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
type MemberView = ReturnType<typeof showMember>

/** So many members are looked at for a page, however few of them are called so. */
const LOOKED_AT = 5_000

export async function listMembers(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams & { role?: Role; q?: string },
): Promise<Page<MemberView>> {
  const q = query.q ?? null
  const newest = (after: string) => sql`
    select *
      from members
     where store_id = ${storeId}
       and user_id < ${after}
       ${query.role === undefined ? sql`` : sql`and role = ${query.role}`}
     order by user_id desc
     limit ${LOOKED_AT}`
  return listPage({
    keyring: instance.keyring,
    list: ['members', storeId, query.role, query.q],
    query,
    read: ({ after, take }) =>
      db.query<MemberRow>(sql`
        select member.store_id, member.user_id, person.name, person.email, ${isEmailOwn} as is_email_own, member.role,
               member.permissions, member.revision, member.created_at, member.updated_at
          from (${newest(after)}) as member
          join users person on person.id = member.user_id
         where ${q}::text is null
            or strpos(lower(person.name), lower(${q})) > 0
            or strpos(lower(person.email), lower(${q})) > 0
         order by member.user_id desc
         limit ${take}`),
    positionOf: (row) => row.user_id,
    show: (row) => showMember(instance, row),
    lookedTo: async ({ after }, shown) => {
      if (q === null) return null
      const last = await db.one<Pick<MemberRow, 'user_id'>>(
        sql`select user_id from (${newest(after)}) as member offset ${LOOKED_AT - 1}`,
      )
      return placeLookedTo(last?.user_id, shown.at(-1)?.user_id)
    },
  })
}

export async function readMember(
  db: Db,
  instance: Instance,
  storeId: string,
  userId: string,
): Promise<Answer<MemberView>> {
  const row = (await findMember(db, { storeId, userId })) ?? fail('member_not_found')
  return { body: showMember(instance, row), etag: etagOf(row.revision) }
}

export type MemberRef = { storeId: string; userId: string }
export type ChangedMember = { member: MemberView } & Made

export async function updateMember(
  tx: Db,
  instance: Instance,
  caller: Manager,
  ref: MemberRef,
  changes: MemberPatch,
  options: Cascade & { ifMatch: string | null },
): Promise<Answer<ChangedMember>> {
  checkCascade(caller, ref.userId, options)
  const before = await lockMember(tx, ref)
  checkIfMatch(options.ifMatch, before.revision)
  checkRank(instance, caller, before)
  const after = { ...before, role: changes.role ?? before.role }
  // A new role brings its own permissions, unless others are set with it.
  if (after.role !== before.role) after.permissions = null
  if (changes.change) {
    const base = permissionsOf(instance.permissions, after.role, after.permissions)
    const own = applyPermissions(instance.permissions, base, changes.change)
    // Adding what the role brings anyway is no change.
    if (own === null || String(own) !== String(base) || 'permissions' in changes.change) after.permissions = own
  }
  if (before.role === 'OWNER' && after.role === 'OWNER' && after.permissions) failInput([OWNER_HOLDS_ALL])
  if (after.role === 'OWNER') after.permissions = null
  const holds = permissionsOf(instance.permissions, after.role, after.permissions)
  const held = permissionsOf(instance.permissions, before.role, before.permissions)
  checkGrant(caller, holds, after.role)
  checkBounds(caller, {
    member: { role: after.role, permissions: holds },
    before: { role: before.role, permissions: held },
  })
  if (before.role === 'OWNER' && after.role !== 'OWNER') await requireAnotherOwner(tx, ref.storeId)
  // An owner who keeps every permission is one no more: only owners make owners, and hold permissions added later.
  const demoted = missingPermissions(holds, held).length > 0 || (before.role === 'OWNER' && after.role !== 'OWNER')
  const same = after.role === before.role && String(after.permissions) === String(before.permissions)
  if (!same) {
    after.revision += 1
    after.updated_at = now()
    await tx.query(sql`
      update members
         set role = ${after.role}, permissions = ${after.permissions},
             revision = ${after.revision}, updated_at = ${after.updated_at}
       where store_id = ${ref.storeId}
         and user_id = ${ref.userId}`)
    if (after.role !== 'CUSTOMER') await unlinkCustomer(tx, caller, ref.userId, [ref.storeId])
    await writeEvents(tx, [
      newEvent(caller, ref.storeId, 'member.updated', ref.userId, {
        from: { role: before.role, permissions: held },
        to: { role: after.role, permissions: holds },
      }),
    ])
  }
  // Saying again what is so already settles them again: somebody was demoted with `keep`, or by themselves, and that is
  // corrected.
  const settles = demoted || (same && (options.keys === 'revoke' || options.webhooks === 'disable'))
  if (settles) {
    await withdrawInvitationsTo(tx, caller, before)
    if (caller.id !== ref.userId) await markDemoted(tx, ref)
  }
  const made = await settleMember(tx, caller, before, settles ? options : { keys: 'keep', webhooks: 'keep' })
  return { body: { member: showMember(instance, after), ...made }, etag: etagOf(after.revision) }
}

/** From now on they accept no invitation from before. */
async function markDemoted(tx: Db, { storeId, userId }: MemberRef): Promise<void> {
  await tx.query(sql`
    update members
       set demoted_at = ${afterInvitations(storeId, now())}
     where store_id = ${storeId}
       and user_id = ${userId}`)
}

/** This moment, or that of the store's newest invitation: the store's lock tells which came first, and clocks of nodes differ. */
export function afterInvitations(storeId: string, at: Date): Sql {
  // Ids go by the time of the node that makes them.
  return sql`
    greatest(${at}::timestamptz, (
      select created_at
        from invitations
       where store_id = ${storeId}
       order by id desc
       limit 1))`
}

/**
 * Changes to members go one at a time in a store, so that two owners cannot remove each other at once. Only a customer who
 * erases themselves may do without the store's lock, and takes that of their membership.
 */
export async function lockMember(tx: Db, ref: MemberRef): Promise<SettledMemberRow> {
  return (await lockIfMember(tx, ref)) ?? fail('member_not_found')
}

export async function lockIfMember(tx: Db, ref: MemberRef): Promise<SettledMemberRow | null> {
  await lockStore(tx, ref.storeId)
  await tx.query(sql`
    select user_id
      from members
     where store_id = ${ref.storeId}
       and user_id = ${ref.userId}
       for no key update`)
  return findMember(tx, ref)
}

function findMember(db: Db, { storeId, userId }: MemberRef): Promise<SettledMemberRow | null> {
  return db.one<SettledMemberRow>(sql`
    select member.store_id, member.user_id, person.name, person.email, ${isEmailOwn} as is_email_own, member.role,
           member.permissions, member.revision, member.created_at, member.updated_at,
           greatest(member.created_at, member.demoted_at) as own_since
      from members member
      join users person on person.id = member.user_id
     where member.store_id = ${storeId}
       and member.user_id = ${userId}`)
}

/** A member who holds permissions that the caller lacks cannot be changed by them. */
export function checkRank(instance: Instance, caller: Manager, member: MemberRow): void {
  const theirs = permissionsOf(instance.permissions, member.role, member.permissions)
  const lesser = member.role === 'OWNER' && !isOwner(caller)
  if (lesser || missingPermissions(heldPermissions(caller), theirs).length > 0) fail('outranked')
}

export async function requireAnotherOwner(tx: Db, storeId: string): Promise<void> {
  const owners = await tx.query(sql`
    select user_id
      from members
     where store_id = ${storeId}
       and role = 'OWNER'
     limit 2`)
  if (owners.length < 2) fail('last_owner')
}

// ---- what a member made, and who invited whom -----------------------------------------------------------------------

/** Ending keys and webhooks needs the permission for it, except for those that one leaves behind oneself. */
export function checkCascade(caller: Manager, userId: string, cascade: Cascade): void {
  if (caller.id === userId) return
  if (cascade.keys === 'revoke') checkHolds(caller, 'MANAGE_KEYS')
  if (cascade.webhooks === 'disable') checkHolds(caller, 'MANAGE_WEBHOOKS')
}

export function settleMember(
  tx: Db,
  caller: Manager,
  member: Pick<SettledMemberRow, 'store_id' | 'user_id' | 'own_since'>,
  { keys, webhooks }: Cascade,
): Promise<Made> {
  const { store_id: storeId, user_id: userId, own_since: since } = member
  const showUrls = heldPermissions(caller).includes('MANAGE_WEBHOOKS')
  const reason = 'member removed or demoted'
  const maker = { userId, ownSince: caller.id === userId ? since : null }
  const serviceTokens = isOwner(caller) ? keys : 'keep'
  return settle(tx, caller, storeId, maker, showUrls, { keys, webhooks, serviceTokens, reason })
}

/**
 * A member who is demoted or removed does not come back by an invitation that was still open: those to their e-mail, and to
 * the addresses under which they accepted invitations to this store, end. By any other they are refused (joining.ts).
 */
export async function withdrawInvitationsTo(
  tx: Db,
  caller: Manager,
  member: Pick<MemberRow, 'store_id' | 'user_id' | 'email'>,
): Promise<void> {
  // In two steps: by its store alone, all invitations of the store would be read.
  const accepted = await tx.query<Pick<InvitationsRow, 'email'>>(sql`
    with accepted as materialized (
      select email, store_id
        from invitations
       where accepted_by = ${member.user_id}
    )
    select distinct email
      from accepted
     where store_id = ${member.store_id}`)
  // One by one: with an array all invitations of the store would be read.
  for (const email of new Set([member.email, ...accepted.map((row) => row.email)]))
    await withdrawInvitations(tx, caller, sql`email = ${email} and store_id = ${member.store_id}`)
}
