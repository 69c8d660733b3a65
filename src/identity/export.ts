// Exports everything held about a user. Lists are complete and read a page at a time as the response is sent
// (http/json-stream.ts), so a large export needs no more memory than a page and keeps no transaction open. Each list is
// read through an index on the user.
//
// Data may change between two pages. A record that moves meanwhile (a deleted address becomes a version, a default
// becomes a former default) moves to a list that is read later: it may appear twice, and is never missed.
//
// The addresses are another resource's, but they are this user's: they are read here with plain SQL and opened with the
// user's own key.

import { unwrapDataKey } from '../auth/data-key.ts'
import { type SealContext, unsealText } from '../billing/sealed-text.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { permissionsOf } from '../core/permissions.ts'
import type { Answer, Paged } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type {
  AddressDefaultsRow,
  AddressesRow,
  AddressVersionsRow,
  EventsRow,
  FormerMembersRow,
  InvitationsRow,
  MembersRow,
  StoresRow,
  UsersRow,
} from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { exportSlots, idOf, LAST, PAGE, pagesOf } from './export-pages.ts'
import type { Export } from './schema.ts'
import type { SessionRow } from './sessions.ts'
import { readUser } from './user.ts'

export async function exportUser(db: Db, instance: Instance, caller: UserCaller): Promise<Answer<Paged<Export>>> {
  const user = await readAccount(db, caller)
  return {
    body: {
      exportedAt: now().toISOString(),
      user,
      sessions: sessionsOf(db, caller),
      memberships: membershipsOf(db, instance, caller),
      formerMemberships: formerMembershipsOf(db, instance, caller),
      invitations: invitationsOf(db, instance, caller),
      addresses: addressesOf(db, instance, caller),
      addressVersions: versionsOf(db, instance, caller),
      addressDefaults: defaultsOf(db, caller),
      events: eventsOf(db, caller),
      eventsByOthers: eventsByOthers(db, caller),
    },
    headers: { 'content-disposition': `attachment; filename="${caller.id}.json"` },
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
      select id, user_agent, ip, created_at, last_used_at, expires_at
        from sessions
       where user_id = ${caller.id}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  return pagesOf(db, caller, read, idOf, (row) => ({
    id: row.id,
    userAgent: row.user_agent,
    ip: row.ip,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  }))
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
  return pagesOf(db, caller, read, idOf, (row) => showMembership(instance, row))
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
      select store.id, store.name, former.role, former.permissions, former.created_at, former.updated_at, former.ended_at
        from former_members former
        join stores store on store.id = former.store_id
       where former.user_id = ${caller.id}
         and former.store_id < ${below}
       order by former.store_id desc
       limit ${PAGE}`)
  return pagesOf(db, caller, read, idOf, (row) => ({
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
    db,
    caller,
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
 * Those sent to the user's e-mail, and those they accepted. Not with an "or": that would be answered by reading them
 * all.
 */
function readInvitations(db: Db, caller: UserCaller, below: string): Promise<ExportedInvitationRow[]> {
  return db.query<ExportedInvitationRow>(sql`
    select id, store_id, email, role, permissions, created_at, expires_at, accepted_at, withdrawn_at
      from (
             (select *
                from invitations
               where email = ${caller.email}
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

/** As it is kept, with its warnings and its label. */
function unsealAddress(instance: Instance, caller: UserCaller, row: SealContext & { sealed: Buffer }) {
  const { address, warnings, formatted } = unsealText(unwrapDataKey(instance.keyring, caller), row)
  return { ...address, warnings, formatted }
}

type ExportedAddressRow = Pick<
  AddressesRow,
  'id' | 'store_id' | 'user_id' | 'is_default' | 'sealed' | 'version' | 'created_at' | 'updated_at'
>

/** In every store, also where the user is no longer a member. */
function addressesOf(db: Db, instance: Instance, caller: UserCaller) {
  const read = (below: string) =>
    db.query<ExportedAddressRow>(sql`
      select id, store_id, user_id, is_default, sealed, version, created_at, updated_at
        from addresses
       where user_id = ${caller.id}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  return pagesOf(db, caller, read, idOf, (row) => ({
    id: row.id,
    storeId: row.store_id,
    ...unsealAddress(instance, caller, row),
    isDefault: row.is_default,
    version: row.version,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }))
}

type VersionRow = Pick<
  AddressVersionsRow,
  'store_id' | 'user_id' | 'sealed' | 'version' | 'created_at' | 'at' | 'until'
> & { id: AddressVersionsRow['address_id'] }

/** Former versions, also of deleted addresses. */
function versionsOf(db: Db, instance: Instance, caller: UserCaller) {
  const read = (below: string) => {
    const [id, version = '0'] = below.split(' ')
    return db.query<VersionRow>(sql`
      select address_id as id, store_id, user_id, sealed, version, created_at, at, until
        from address_versions
       where user_id = ${caller.id}
         and (address_id, version) < (${id}, ${version}::int)
       order by address_id desc, version desc
       limit ${PAGE}`)
  }
  const placeOf = (row: VersionRow) => `${row.id} ${row.version}`
  return pagesOf(db, caller, read, placeOf, (row) => ({
    id: row.id,
    storeId: row.store_id,
    ...unsealAddress(instance, caller, row),
    version: row.version,
    createdAt: row.created_at.toISOString(),
    from: row.at.toISOString(),
    until: row.until.toISOString(),
  }))
}

/** One that still is the default has no end. */
type DefaultRow = Pick<AddressDefaultsRow, 'id' | 'store_id' | 'address_id' | 'since'> & { until: Date | null }

/** Current defaults first, then former ones. */
async function* defaultsOf(db: Db, caller: UserCaller) {
  const areDefault = (below: string) =>
    db.query<DefaultRow>(sql`
      select id, store_id, id as address_id, coalesce(default_since, created_at) as since, null as until
        from addresses
       where user_id = ${caller.id}
         and is_default
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  const wereDefault = (below: string) =>
    db.query<DefaultRow>(sql`
      select id, store_id, address_id, since, until
        from address_defaults
       where user_id = ${caller.id}
         and id < ${below === LAST ? LAST_NUMBER : below}
       order by id desc
       limit ${PAGE}`)
  const show = (row: DefaultRow) => ({
    storeId: row.store_id,
    addressId: row.address_id,
    from: row.since.toISOString(),
    until: row.until?.toISOString() ?? null,
  })
  yield* pagesOf(db, caller, areDefault, idOf, show)
  yield* pagesOf(db, caller, wereDefault, idOf, show)
}
/** The largest bigint. */
const LAST_NUMBER = '9223372036854775807'

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
  return pagesOf(db, caller, read, idOf, (row) => ({ ...showEvent(row), ip: row.ip }))
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
  yield* pagesOf(db, caller, aboutUser, idOf, showOthers)
  const invitations = pagesOf(db, caller, (below) => readInvitations(db, caller, below), idOf, idOf)
  for await (const ids of invitations) yield (await eventsOfInvitations(db, caller, ids)).map(showOthers)
}

/** An invitation has at most two events by others, so the events of a page of invitations are few.  */
function eventsOfInvitations(db: Db, caller: UserCaller, ids: string[]): Promise<ForeignEventRow[]> {
  return exportSlots(() =>
    db.query<ForeignEventRow>(sql`
      select id, store_id, type, at, subject, actor ->> 'kind' as kind, data
        from events
       where subject = any(${ids})
         and subject ^@ 'inv_'
         and actor ->> 'id' <> ${caller.id}
       order by id desc`),
  )
}
