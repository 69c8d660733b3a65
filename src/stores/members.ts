// The members of a store and their rights. No caller grants a permission they do not hold or changes a member who holds
// more, and a store never loses its last owner.

import { checkGift } from '../auth/bounds.ts'
import { heldPermissions, type Manager, type UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail, failInput } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { checkGrant, isOwner, OWNER_HOLDS_ALL } from '../core/grant.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import { missingPermissions, type Permission, permissionsOf, type Role } from '../core/permissions.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { WebhooksRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { type KeyRow, statusOf } from '../keys/columns.ts'
import { keysCreatedBy } from '../keys/read.ts'
import { revokeKeys } from '../keys/revoke.ts'
import { disableWebhooks } from '../webhooks/webhooks.ts'
import { withdrawInvitationsTo } from './invitations.ts'
import type { MemberRow } from './schema.ts'
import { lockStore } from './stores.ts'

function showMember(instance: Instance, row: MemberRow) {
  return {
    storeId: row.store_id,
    userId: row.user_id,
    name: row.name,
    email: row.email,
    role: row.role,
    permissions: permissionsOf(instance.permissions, row.role, row.permissions),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
type MemberView = ReturnType<typeof showMember>

export async function listMembers(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams,
): Promise<Page<MemberView>> {
  return listPage({
    keyring: instance.keyring,
    list: ['members', storeId],
    query,
    read: ({ after, take }) =>
      db.query<MemberRow>(sql`
        select member.store_id, member.user_id, person.name, person.email, member.role, member.permissions,
               member.revision, member.created_at, member.updated_at
          from members member
          join users person on person.id = member.user_id
         where member.store_id = ${storeId}
           and member.user_id < ${after}
         order by member.user_id desc
         limit ${take}`),
    positionOf: (row) => row.user_id,
    show: (row) => showMember(instance, row),
  })
}

export async function readMember(
  db: Db,
  instance: Instance,
  storeId: string,
  userId: string,
): Promise<Answer<MemberView>> {
  const row = await findMember(db, storeId, userId)
  return { body: showMember(instance, row), etag: etagOf(row.revision) }
}

type Cascade = { keys: 'keep' | 'revoke'; webhooks: 'keep' | 'disable' }
type KeyState = { id: string; name: string; status: string }
/** The URL is null for callers who may not read it. */
type WebhookState = Pick<WebhooksRow, 'id' | 'enabled'> & { url: WebhooksRow['url'] | null }
type CreatedByMember = { keys: KeyState[]; webhooks: WebhookState[] }
type ChangedMember = { member: MemberView } & CreatedByMember

export async function updateMember(
  tx: Db,
  instance: Instance,
  caller: Manager,
  ref: { storeId: string; userId: string },
  changes: { role?: Role; permissions?: Permission[] | null },
  options: Cascade & { ifMatch: string | null },
): Promise<Answer<ChangedMember>> {
  const before = await lockMember(tx, ref)
  checkIfMatch(options.ifMatch, before.revision)
  checkRank(instance, caller, before)
  const after = { ...before, role: changes.role ?? before.role }
  // A new role brings its own permissions, unless others are set with it.
  if (changes.permissions !== undefined) after.permissions = changes.permissions
  else if (changes.role !== undefined && changes.role !== before.role) after.permissions = null
  if (after.role === 'OWNER') after.permissions = null
  if (before.role === 'OWNER' && after.role === 'OWNER' && changes.permissions) failInput([OWNER_HOLDS_ALL])
  const holds = permissionsOf(instance.permissions, after.role, after.permissions)
  const held = permissionsOf(instance.permissions, before.role, before.permissions)
  checkGrant(caller, holds, after.role)
  checkGift(caller, {
    member: { role: after.role, permissions: holds },
    before: { role: before.role, permissions: held },
  })
  if (before.role === 'OWNER' && after.role !== 'OWNER') await requireAnotherOwner(tx, ref.storeId)
  const same = after.role === before.role && String(after.permissions) === String(before.permissions)
  if (!same) {
    after.revision += 1
    after.updated_at = now()
    await tx.query(sql`
      update members
         set role = ${after.role}, permissions = ${after.permissions}, revision = ${after.revision}, updated_at = ${after.updated_at}
       where store_id = ${ref.storeId}
         and user_id = ${ref.userId}`)
    await writeEvents(tx, [
      newEvent(caller, ref.storeId, 'member.updated', ref.userId, {
        from: { role: before.role, permissions: held },
        to: { role: after.role, permissions: holds },
      }),
    ])
  }
  const demoted = missingPermissions(holds, held).length > 0
  if (demoted) await withdrawInvitationsTo(tx, caller, ref.storeId, before.email)
  const left = await settleCreations(tx, caller, ref, demoted ? options : { keys: 'keep', webhooks: 'keep' })
  return { body: { member: showMember(instance, after), ...left }, etag: etagOf(after.revision) }
}

export async function removeMember(
  tx: Db,
  instance: Instance,
  caller: Manager,
  ref: { storeId: string; userId: string },
  options: Cascade & { ifMatch: string | null },
): Promise<Answer<ChangedMember>> {
  const member = await lockMember(tx, ref)
  checkIfMatch(options.ifMatch, member.revision)
  checkRank(instance, caller, member)
  if (member.role === 'OWNER') await requireAnotherOwner(tx, ref.storeId)
  const left = await settleCreations(tx, caller, ref, options)
  // A removed member cannot come back by an invitation that was still open.
  await withdrawInvitationsTo(tx, caller, ref.storeId, member.email)
  await tx.query(sql`
    delete from members
     where store_id = ${ref.storeId}
       and user_id = ${ref.userId}`)
  await writeEvents(tx, [
    newEvent(caller, ref.storeId, 'member.removed', ref.userId, { role: member.role, keys: options.keys }),
  ])
  return { body: { member: showMember(instance, member), ...left } }
}

/** Any member may leave, except for the last owner. */
export async function leaveStore(tx: Db, caller: UserCaller, storeId: string): Promise<void> {
  const member = await lockMember(tx, { storeId, userId: caller.id })
  if (member.role === 'OWNER') await requireAnotherOwner(tx, storeId)
  await tx.query(sql`
    delete from members
     where store_id = ${storeId}
       and user_id = ${caller.id}`)
  await writeEvents(tx, [newEvent(caller, storeId, 'member.left', caller.id, { role: member.role })])
}

/** Changes to members go one at a time in a store, so that two owners cannot remove each other at once. */
async function lockMember(tx: Db, ref: { storeId: string; userId: string }): Promise<MemberRow> {
  await lockStore(tx, ref.storeId)
  return findMember(tx, ref.storeId, ref.userId)
}

async function findMember(db: Db, storeId: string, userId: string): Promise<MemberRow> {
  const row = await db.one<MemberRow>(sql`
    select member.store_id, member.user_id, person.name, person.email, member.role, member.permissions,
           member.revision, member.created_at, member.updated_at
      from members member
      join users person on person.id = member.user_id
     where member.store_id = ${storeId}
       and member.user_id = ${userId}`)
  return row ?? fail('member_not_found')
}

/** A member who holds permissions that the caller lacks cannot be changed by them. */
function checkRank(instance: Instance, caller: Manager, member: MemberRow): void {
  const theirs = permissionsOf(instance.permissions, member.role, member.permissions)
  const lesser = member.role === 'OWNER' && !isOwner(caller)
  if (lesser || missingPermissions(heldPermissions(caller), theirs).length > 0) fail('outranked')
}

async function requireAnotherOwner(tx: Db, storeId: string): Promise<void> {
  const owners = await tx.query(sql`
    select user_id
      from members
     where store_id = ${storeId}
       and role = 'OWNER'
     limit 2`)
  if (owners.length < 2) fail('last_owner')
}

/** Keeps or ends the keys and webhooks that a member created, and those created with the keys they created. */
async function settleCreations(
  tx: Db,
  caller: Manager,
  ref: { storeId: string; userId: string },
  cascade: Cascade,
): Promise<CreatedByMember> {
  const keyIds = await keysCreatedBy(tx, ref)
  // Webhooks first: one that is switched off gets no events about the keys.
  const webhooks = await settleWebhooks(tx, caller, ref.storeId, [ref.userId, ...keyIds], cascade.webhooks)
  return { keys: await settleKeys(tx, caller, ref.storeId, keyIds, cascade.keys), webhooks }
}

/** The URL is shown only to callers with MANAGE_WEBHOOKS: people put secrets into paths and queries. */
async function settleWebhooks(
  tx: Db,
  caller: Manager,
  storeId: string,
  makers: string[],
  cascade: Cascade['webhooks'],
): Promise<WebhookState[]> {
  if (cascade === 'disable')
    await disableWebhooks(tx, caller, sql`store_id = ${storeId} and created_by_id = any(${makers})`, 'REQUESTED')
  const rows = await tx.query<WebhookState>(sql`
    select id, url, enabled
      from webhooks
     where store_id = ${storeId}
       and created_by_id = any(${makers})
     order by id desc`)
  return heldPermissions(caller).includes('MANAGE_WEBHOOKS') ? rows : rows.map((row) => ({ ...row, url: null }))
}

async function settleKeys(
  tx: Db,
  caller: Manager,
  storeId: string,
  ids: string[],
  cascade: Cascade['keys'],
): Promise<KeyState[]> {
  const at = now()
  if (cascade === 'revoke') await revokeKeys(tx, caller, storeId, ids, 'member removed or demoted', 'live only')
  const rows = await tx.query<KeyFacts>(sql`
    select id, name, revoked_at, expires_at, enabled
      from api_keys
     where id = any(${ids})
     order by id desc
     limit 1000`)
  return rows.map((row) => ({ id: row.id, name: row.name, status: statusOf(row, at) }))
}

type KeyFacts = Pick<KeyRow, 'id' | 'name' | 'revoked_at' | 'expires_at' | 'enabled'>
