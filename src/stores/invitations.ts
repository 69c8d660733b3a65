// Invitations to a store: made, listed, withdrawn, and what they are worth. They are accepted in joining.ts.

import { checkBounds, exceededBound } from '../auth/bounds.ts'
import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import { creatorOf, type Manager } from '../core/caller.ts'
import { addMs, DAY, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { checkGrant } from '../core/grant.ts'
import { newId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import { missingPermissions, type Permission, permissionsOf } from '../core/permissions.ts'
import type { Answer } from '../core/route.ts'
import { mintToken, sha256 } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'
import type { InvitationsRow, MembersRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { boundsOf, type KeyRow } from '../keys/columns.ts'
import { applyPermissions, type InvitationSpec } from './input.ts'
import { mailInvitation, mayMail } from './invitation-mails.ts'
import type { InvitationPreview } from './schema.ts'

const INVITATION_MS = 7 * DAY

type InvitationRow = Pick<
  InvitationsRow,
  | 'id'
  | 'store_id'
  | 'role'
  | 'permissions'
  | 'created_by_kind'
  | 'created_by_id'
  | 'created_by_secret_no'
  | 'created_at'
  | 'expires_at'
> & {
  /** Of an open invitation, which always has one. */
  email: string
}

const columns = fragment(
  'id, store_id, email, role, permissions, created_by_kind, created_by_id, created_by_secret_no, created_at, expires_at',
)

function showInvitation(instance: Instance, row: InvitationRow) {
  return {
    id: row.id,
    storeId: row.store_id,
    email: row.email,
    role: row.role,
    permissions: permissionsOf(instance.permissions, row.role, row.permissions),
    createdAt: row.created_at.toISOString(),
    createdBy: { kind: row.created_by_kind, id: row.created_by_id },
    expiresAt: row.expires_at.toISOString(),
  }
}
type InvitationView = ReturnType<typeof showInvitation>

/** Fails when the invitation brings more than the caller may give. */
export function checkInvitation(
  caller: Manager,
  { role, permissions }: Pick<InvitationView, 'role' | 'permissions'>,
): void {
  checkGrant(caller, permissions, role)
  checkBounds(caller, { member: { role, permissions }, before: null })
}

function ownPermissions({ permissions }: Instance, { role, change }: InvitationSpec): Permission[] | null {
  return applyPermissions(permissions, permissionsOf(permissions, role, null), change)
}

export async function invite(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  spec: InvitationSpec,
): Promise<Answer<InvitationView & { token: string; mailed: boolean }>> {
  const { change: _, ...wanted } = spec
  const permissions = ownPermissions(instance, spec)
  checkInvitation(caller, { role: spec.role, permissions: permissionsOf(instance.permissions, spec.role, permissions) })
  // One open invitation for each address: the newest is the one that counts.
  await withdrawInvitations(tx, caller, sql`email = ${wanted.email} and store_id = ${storeId}`)
  await checkRoom(tx, instance, storeId)
  const token = mintToken(instance.keyPrefix, 'inv')
  const by = creatorOf(caller)
  const at = now()
  const row: InvitationRow = {
    id: newId('inv'),
    store_id: storeId,
    ...wanted,
    permissions,
    created_by_kind: by.kind,
    created_by_id: by.id,
    created_by_secret_no: caller.kind === 'key' ? caller.secretNo : null,
    created_at: at,
    expires_at: addMs(at, INVITATION_MS),
  }
  await tx.query(sql`
    insert into invitations
           (id, store_id, email, role, permissions, hash, created_by_kind, created_by_id, created_by_secret_no,
            created_by_session_id, created_at, expires_at)
    values (${row.id}, ${storeId}, ${row.email}, ${row.role}, ${row.permissions}, ${sha256(token.reveal())},
            ${by.kind}, ${by.id}, ${row.created_by_secret_no}, ${caller.kind === 'user' ? caller.sessionId : null},
            ${row.created_at}, ${row.expires_at})`)
  const shown = showInvitation(instance, row)
  await writeEvents(tx, [
    newEvent(caller, storeId, 'member.invited', row.id, { role: row.role, permissions: shown.permissions }),
  ])
  const mailed = instance.mail && (await mayMail(tx, instance, caller, row))
  if (mailed) await mailInvitation(tx, instance, row, token)
  return {
    body: { ...shown, token: token.reveal(), mailed },
    resource: { id: row.id, location: `/v1/user/store/${storeId}/invitations/${row.id}` },
  }
}

/** As in invitations_open_until_idx. Null of one that was accepted or withdrawn. */
const openUntil = sql`case when accepted_at is null and withdrawn_at is null then expires_at end`

/** Under the store's lock. */
async function checkRoom(tx: Db, { maxInvitationsPerStore: max }: Instance, storeId: string): Promise<void> {
  const open = await tx.query(sql`
    select id
      from invitations
     where store_id = ${storeId}
       and ${openUntil} > ${now()}
     limit ${max}`)
  if (open.length >= max)
    fail('limit_exceeded', {
      detail: `A store can have at most ${max} open invitations. Withdraw some that are no longer needed; unused ones expire after 7 days.`,
    })
}

export async function listInvitations(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams,
): Promise<Page<InvitationView>> {
  return listPage({
    keyring: instance.keyring,
    list: ['invitations', storeId],
    query,
    read: ({ after, take }) =>
      db.query<InvitationRow>(sql`
        select *
          -- All that are open, by their index, and none of the others: "offset 0" keeps the order out of it.
          from (select ${columns}
                  from invitations
                 where store_id = ${storeId}
                   and ${openUntil} > ${now()}
                offset 0) as open
         where id < ${after}
         order by id desc
         limit ${take}`),
    positionOf: (row) => row.id,
    show: (row) => showInvitation(instance, row),
  })
}

export async function readInvitation(
  db: Db,
  instance: Instance,
  storeId: string,
  invitationId: string,
): Promise<Answer<InvitationView>> {
  const row = await db.one<InvitationRow>(sql`
    select ${columns}
      from invitations
     where id = ${invitationId}
       and store_id = ${storeId}
       and accepted_at is null
       and withdrawn_at is null
       and expires_at > ${now()}`)
  return row ? { body: showInvitation(instance, row) } : fail('invitation_not_found')
}

export async function withdrawInvitation(
  tx: Db,
  caller: Manager,
  storeId: string,
  invitationId: string,
): Promise<void> {
  const withdrawn = await withdrawInvitations(tx, caller, sql`id = ${invitationId} and store_id = ${storeId}`)
  if (withdrawn.length === 0) fail('invitation_not_found')
}

/** For whoever holds the token: nobody else can ask, and what cannot be accepted is not there. */
export async function previewInvitation(db: Db, instance: Instance, token: string): Promise<Answer<InvitationPreview>> {
  const row = await findInvitation(db, token)
  if (!row || !(await isWorthSomething(db, instance, row))) return fail('invitation_not_found')
  const store = { id: row.store_id, name: row.store_name }
  return { body: { store, role: row.role, expiresAt: row.expires_at.toISOString() } }
}

/** An open invitation to a store that is there, by its token. */
export async function findInvitation(db: Db, token: string) {
  return db.one<InvitationRow & { store_name: string }>(sql`
    select ${columns}, (select name from stores where id = store_id) as store_name
      from invitations
     where hash = ${sha256(token)}
       and accepted_at is null
       and withdrawn_at is null
       and expires_at > ${now()}
       and exists (select from stores where id = store_id and deleted_at is null)`)
}

/**
 * Both ceilings hold to the end: an invitation is worth no more than its maker may give when it is accepted, and nothing
 * once they may no longer invite. Its maker is the member, or the very secret of the key that it was made with.
 */
export async function isWorthSomething(db: Db, instance: Instance, row: InvitationRow): Promise<boolean> {
  const permissions = permissionsOf(instance.permissions, row.role, row.permissions)
  const held =
    row.created_by_kind === 'key' ? await heldByKey(db, row, permissions) : await heldByMember(db, instance, row)
  return held.includes('MANAGE_MEMBERS') && missingPermissions(held, permissions).length === 0
}

type MakerKey = Pick<KeyRow, 'permissions'> & Parameters<typeof boundsOf>[0]

/** A secret that was replaced may invite nobody, in its grace either; so what it made is worth nothing. */
async function heldByKey(db: Db, row: InvitationRow, wanted: Permission[]): Promise<Permission[]> {
  const key = await db.one<MakerKey>(sql`
    select key.permissions, key.expires_at, key.ip_allowlist, key.rate_limit, key.rate_limit_window_seconds,
           key.rate_limits, key.owner, key.has_credits
      from api_keys key
      join stores store on store.id = key.store_id and store.deleted_at is null and store.frozen_at is null
     where key.id = ${row.created_by_id}
       and key.revoked_at is null
       and key.enabled
       and coalesce(key.expires_at, 'infinity') > ${now()}
       and key.secret_no = ${row.created_by_secret_no}
       and coalesce(key.leaked_secret_no, 0) < ${row.created_by_secret_no}`)
  if (!key || exceededBound(boundsOf(key), { member: { role: row.role, permissions: wanted }, before: null })) return []
  return key.permissions
}

async function heldByMember(db: Db, instance: Instance, row: InvitationRow): Promise<Permission[]> {
  const member = await db.one<Pick<MembersRow, 'role' | 'permissions'>>(sql`
    select member.role, member.permissions
      from members member
      join users person on person.id = member.user_id and person.disabled_at is null
     where member.store_id = ${row.store_id}
       and member.user_id = ${row.created_by_id}`)
  if (!member || (row.role === 'OWNER' && member.role !== 'OWNER')) return []
  return permissionsOf(instance.permissions, member.role, member.permissions)
}
