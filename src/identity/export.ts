// Exports everything held about a user. Lists are complete and read a page at a time as the response is sent
// (http/json-stream.ts), so a large export needs no more memory than a page and keeps no transaction open. Each list is
// read through an index on the user.
//
// Data may change between two pages. A record that moves meanwhile (a deleted address becomes a version, a default
// becomes a former default) moves to a list that is read later: it may appear twice, and is never missed.

import { isEmailOwn } from '../auth/email-own.ts'
import { exportAddresses, exportDefaults, exportHolds, exportVersions } from '../billing/export.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { permissionsOf } from '../core/permissions.ts'
import type { Answer, Paged } from '../core/route.ts'
import { exportRecords } from '../customers/export.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { EventsRow, FormerMembersRow, InvitationsRow, MembersRow, StoresRow, UsersRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { type ExportCheck, idOf, PAGE, pagesOf } from '../limits/export-pages.ts'
import { readPasskeys, showPasskey } from './passkeys.ts'
import type { Export } from './schema.ts'
import type { SessionRow } from './sessions.ts'
import { readUser } from './user.ts'

export async function exportUser(db: Db, instance: Instance, caller: UserCaller): Promise<Answer<Paged<Export>>> {
  const user = await readAccount(db, caller)
  const check = checkOf(db, caller)
  return {
    body: {
      exportedAt: now().toISOString(),
      user,
      sessions: sessionsOf(db, caller),
      passkeys: passkeysOf(db, instance, caller),
      memberships: membershipsOf(db, instance, caller),
      formerMemberships: formerMembershipsOf(db, instance, caller),
      invitations: invitationsOf(db, instance, caller),
      customerRecords: exportRecords(db, instance, caller, check),
      addresses: exportAddresses(db, instance, { user: caller }, check),
      addressVersions: exportVersions(db, instance, { user: caller }, check),
      addressDefaults: exportDefaults(db, { user: caller }, check),
      addressHolds: exportHolds(db, { user: caller }, check),
      events: eventsOf(db, caller),
      eventsByOthers: eventsByOthers(db, caller),
    },
    headers: { 'content-disposition': `attachment; filename="${caller.id}.json"` },
  }
}

/** During a long export the user may have signed out, or been erased or disabled: then it ends. */
function checkOf(db: Db, caller: UserCaller): ExportCheck {
  return async () => {
    const there = await db.one(sql`
      select id
        from users
       where id = ${caller.id}
         and erased_at is null
         and disabled_at is null
         and case when ${caller.sessionId}::text is null then issuer is not null
                  else exists (select from sessions where id = ${caller.sessionId}) end`)
    if (!there) fail('invalid_token')
  }
}

async function readAccount(db: Db, caller: UserCaller): Promise<Export['user']> {
  const row = await db.one<Pick<UsersRow, 'issuer' | 'subject' | 'updated_at'>>(sql`
    select issuer, subject, updated_at
      from users
     where id = ${caller.id}
       and erased_at is null`)
  if (!row) return fail('invalid_token')
  const { issuer, subject } = row
  return { ...(await readUser(db, caller.id)), issuer, subject, updatedAt: row.updated_at.toISOString() }
}

function sessionsOf(db: Db, caller: UserCaller) {
  const read = (below: string) =>
    db.query<SessionRow>(sql`
      select id, method, user_agent, ip, created_at, last_used_at, expires_at
        from sessions
       where user_id = ${caller.id}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  return pagesOf(checkOf(db, caller), read, idOf, (row) => ({
    id: row.id,
    method: row.method,
    userAgent: row.user_agent,
    ip: row.ip,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  }))
}

function passkeysOf(db: Db, instance: Instance, caller: UserCaller) {
  const read = (below: string) => readPasskeys(db, caller.id, below, PAGE)
  return pagesOf(checkOf(db, caller), read, idOf, (row) => showPasskey(instance, caller, row))
}

type MembershipRow = Pick<StoresRow, 'id' | 'name'> &
  Pick<MembersRow, 'role' | 'permissions' | 'created_at' | 'updated_at'>
type FormerMembershipRow = MembershipRow & Pick<FormerMembersRow, 'ended_at'>

/** In stores that were deleted too, for as long as these are kept. */
function membershipsOf(db: Db, instance: Instance, caller: UserCaller) {
  const read = (below: string) =>
    db.query<MembershipRow>(sql`
      select store.id, store.name, member.role, member.permissions, member.created_at, member.updated_at
        from members member
        join stores store on store.id = member.store_id
       where member.user_id = ${caller.id}
         and member.store_id < ${below}
       order by member.store_id desc
       limit ${PAGE}`)
  return pagesOf(checkOf(db, caller), read, idOf, (row) => showMembership(instance, row))
}

function showMembership(instance: Instance, row: MembershipRow) {
  return {
    storeId: row.id,
    storeName: row.name,
    role: row.role,
    permissions: permissionsOf(instance.permissions, row.role, row.permissions) as string[],
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

/** The last one in each store that the user left or was removed from, also when they came back since. */
function formerMembershipsOf(db: Db, instance: Instance, caller: UserCaller) {
  const read = (below: string) =>
    db.query<FormerMembershipRow>(sql`
      select former.store_id as id, former.store_name as name, former.role, former.permissions, former.created_at,
             former.updated_at, former.ended_at
        from former_members former
       where former.user_id = ${caller.id}
         and former.store_id < ${below}
       order by former.store_id desc
       limit ${PAGE}`)
  return pagesOf(checkOf(db, caller), read, idOf, (row) => ({
    ...showMembership(instance, row),
    endedAt: row.ended_at.toISOString(),
  }))
}

type ExportedInvitationRow = Pick<
  InvitationsRow,
  'id' | 'store_id' | 'email' | 'role' | 'permissions' | 'created_at' | 'expires_at' | 'accepted_at' | 'withdrawn_at'
>

function invitationsOf(db: Db, instance: Instance, caller: UserCaller) {
  return pagesOf(
    checkOf(db, caller),
    (below) => readInvitations(db, caller, below),
    idOf,
    (row) => ({
      id: row.id,
      storeId: row.store_id,
      email: row.email,
      role: row.role,
      permissions: permissionsOf(instance.permissions, row.role, row.permissions) as string[],
      createdAt: row.created_at.toISOString(),
      expiresAt: row.expires_at.toISOString(),
      acceptedAt: row.accepted_at?.toISOString() ?? null,
      withdrawnAt: row.withdrawn_at?.toISOString() ?? null,
    }),
  )
}

/**
 * Those sent to the user's e-mail, if it is known to be their own, and those they accepted. Not with an "or": that would be
 * answered by reading them all.
 */
function readInvitations(db: Db, caller: UserCaller, below: string): Promise<ExportedInvitationRow[]> {
  return db.query<ExportedInvitationRow>(sql`
    select id, store_id, email, role, permissions, created_at, expires_at, accepted_at, withdrawn_at
      from (
             (select *
                from invitations
               where email = (select email
                                from users
                               where id = ${caller.id}
                                 and ${isEmailOwn})
                 and coalesce(accepted_by, ${caller.id}) = ${caller.id}
                 and id < ${below}
               order by id desc
               limit ${PAGE})
              union
             (select *
                from invitations
               where accepted_by = ${caller.id}
                 and id < ${below}
               order by id desc
               limit ${PAGE})
           ) as invitation
     order by id desc
     limit ${PAGE}`)
}

// ---- what happened --------------------------------------------------------------------------------------------------

type ExportedEventRow = Pick<EventsRow, 'id' | 'store_id' | 'type' | 'at' | 'subject'>

function showEvent(row: ExportedEventRow) {
  return { id: row.id, storeId: row.store_id, type: row.type, at: row.at.toISOString(), subject: row.subject }
}

/** Events caused by the user, in every store and outside stores. */
function eventsOf(db: Db, caller: UserCaller) {
  const read = (below: string) =>
    db.query<ExportedEventRow & { ip: string | null }>(sql`
      select id, store_id, type, at, subject, actor ->> 'ip' as ip
        from events
       where actor ->> 'id' = ${caller.id}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  return pagesOf(checkOf(db, caller), read, idOf, (row) => ({ ...showEvent(row), ip: row.ip }))
}

type ForeignEventRow = ExportedEventRow & {
  kind: Export['eventsByOthers'][number]['by']
  data: Record<string, unknown>
}

/** Without the actor: who it was, and from which address, is personal data of another user. */
function showOthers(row: ForeignEventRow) {
  return { ...showEvent(row), by: row.kind, data: row.data }
}

/** Events about the user caused by others, then those about invitations sent to them. */
async function* eventsByOthers(db: Db, caller: UserCaller) {
  const aboutUser = (below: string) =>
    db.query<ForeignEventRow>(sql`
      select id, store_id, type, at, subject, actor ->> 'kind' as kind, data
        from events
       where subject = ${caller.id}
         and subject ^@ 'user_'
         and actor ->> 'id' <> ${caller.id}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  yield* pagesOf(checkOf(db, caller), aboutUser, idOf, showOthers)
  const invitations = pagesOf(checkOf(db, caller), (below) => readInvitations(db, caller, below), idOf, idOf)
  for await (const ids of invitations) yield (await eventsOfInvitations(db, caller, ids)).map(showOthers)
}

/** An invitation has at most two events by others, so the events of a page of invitations are few.  */
function eventsOfInvitations(db: Db, caller: UserCaller, ids: string[]): Promise<ForeignEventRow[]> {
  return db.query<ForeignEventRow>(sql`
    select id, store_id, type, at, subject, actor ->> 'kind' as kind, data
      from events
     where subject = any(${ids})
       and subject ^@ 'inv_'
       and actor ->> 'id' <> ${caller.id}
     order by id desc`)
}
