// All that is held about a user, for the user. It is read a page at a time, a few users at a time, and each list stops at
// a bound, so that whoever has very much costs no more memory than that; the answer says which lists were cut.
//
// The addresses are another resource's, but they are this user's: they are read here with plain SQL and opened with the
// user's own key.

import { openAddress, unwrapDataKey } from '../access/data-key.ts'
import type { UserCaller } from '../caller.ts'
import { now } from '../clock.ts'
import { type Db, sql } from '../db/db.ts'
import { fail } from '../errors.ts'
import type { Here } from '../here.ts'
import { type Permission, permissionsOf, type Role } from '../permissions.ts'
import type { Answer } from '../route.ts'
import { newTurns } from '../turns.ts'
import type { AddressText, Export } from './schema.ts'

/** Of each list the newest so many. All six full are some 20 MB. */
const MOST_OF_EACH = 10_000
const PAGE = 1_000

const inTurn = newTurns(2, 50)

export function exportUser(db: Db, here: Here, caller: UserCaller): Promise<Answer<Export>> {
  return inTurn(async () => {
    const account = await readAccount(db, caller)
    const lists = {
      sessions: await gather((before) => sessionsOf(db, caller, before)),
      memberships: await gather((before) => membershipsOf(db, here, caller, before)),
      invitations: await gather((before) => invitationsOf(db, caller, before)),
      addresses: await gather((before) => addressesOf(db, here, caller, before)),
      addressVersions: await gather((before) => versionsOf(db, here, caller, before)),
      events: await eventsOf(db, caller),
    }
    const names = Object.keys(lists) as (keyof typeof lists)[]
    const incomplete = names.filter((name) => lists[name].length > MOST_OF_EACH)
    for (const name of incomplete) lists[name].length = MOST_OF_EACH
    return {
      body: { exportedAt: now().toISOString(), user: account, ...lists, incomplete },
      headers: { 'content-disposition': `attachment; filename="${caller.id}.json"` },
    }
  })
}

/** Newest first, until there is no more, or more than will be told. */
async function gather<Item>(page: (before: string) => Promise<{ items: Item[]; last: string }>): Promise<Item[]> {
  const all: Item[] = []
  for (let before = '~'; all.length <= MOST_OF_EACH; ) {
    const { items, last } = await page(before)
    all.push(...items)
    if (items.length < PAGE) break
    before = last
  }
  return all
}

function pageOf<Row, Item>(rows: Row[], placeOf: (row: Row) => string, show: (row: Row) => Item) {
  const last = rows.at(-1)
  return { items: rows.map(show), last: last ? placeOf(last) : '' }
}

type Account = { issuer: string | null; subject: string | null; created_at: Date; updated_at: Date }

async function readAccount(db: Db, caller: UserCaller): Promise<Export['user']> {
  const row = await db.one<Account & { email: string | null; name: string | null }>(sql`
    select email, name, issuer, subject, created_at, updated_at
      from users
     where id = ${caller.id}
       and erased_at is null`)
  if (!row) return fail('invalid_token')
  const { email, name, issuer, subject } = row
  const [createdAt, updatedAt] = [row.created_at.toISOString(), row.updated_at.toISOString()]
  return { id: caller.id, email, name, issuer, subject, createdAt, updatedAt }
}

type SessionRow = {
  id: string
  user_agent: string | null
  ip: string | null
  created_at: Date
  last_used_at: Date
  expires_at: Date
}

async function sessionsOf(db: Db, caller: UserCaller, before: string) {
  const rows = await db.query<SessionRow>(sql`
    select id, user_agent, ip, created_at, last_used_at, expires_at
      from sessions
     where user_id = ${caller.id}
       and id < ${before}
     order by id desc
     limit ${PAGE}`)
  return pageOf(
    rows,
    (row) => row.id,
    (row) => ({
      id: row.id,
      userAgent: row.user_agent,
      ip: row.ip,
      createdAt: row.created_at.toISOString(),
      lastUsedAt: row.last_used_at.toISOString(),
      expiresAt: row.expires_at.toISOString(),
    }),
  )
}

type MembershipRow = {
  store_id: string
  store_name: string
  role: Role
  permissions: Permission[] | null
  created_at: Date
  updated_at: Date
}

/** In stores that were deleted too, for as long as these are kept. */
async function membershipsOf(db: Db, here: Here, caller: UserCaller, before: string) {
  const rows = await db.query<MembershipRow>(sql`
    select member.store_id, store.name as store_name, member.role, member.permissions, member.created_at,
           member.updated_at
      from members member
      join stores store on store.id = member.store_id
     where member.user_id = ${caller.id}
       and member.store_id < ${before}
     order by member.store_id desc
     limit ${PAGE}`)
  return pageOf(
    rows,
    (row) => row.store_id,
    (row) => ({
      storeId: row.store_id,
      storeName: row.store_name,
      role: row.role,
      permissions: permissionsOf(here.permissions, row.role, row.permissions) as string[],
      createdAt: row.created_at.toISOString(),
      updatedAt: row.updated_at.toISOString(),
    }),
  )
}

type InvitationRow = {
  id: string
  store_id: string
  email: string | null
  role: Role
  created_at: Date
  expires_at: Date
  accepted_at: Date | null
  withdrawn_at: Date | null
}

/** Those sent to the user's e-mail, and those they accepted. */
async function invitationsOf(db: Db, caller: UserCaller, before: string) {
  const rows = await db.query<InvitationRow>(sql`
    select id, store_id, email, role, created_at, expires_at, accepted_at, withdrawn_at
      from (
             select *
               from invitations
              where email = ${caller.email}
              union
             select *
               from invitations
              where accepted_by = ${caller.id}
           ) as theirs
     where id < ${before}
     order by id desc
     limit ${PAGE}`)
  return pageOf(
    rows,
    (row) => row.id,
    (row) => ({
      id: row.id,
      storeId: row.store_id,
      email: row.email,
      role: row.role,
      createdAt: row.created_at.toISOString(),
      expiresAt: row.expires_at.toISOString(),
      acceptedAt: row.accepted_at?.toISOString() ?? null,
      withdrawnAt: row.withdrawn_at?.toISOString() ?? null,
    }),
  )
}

type AddressRow = {
  id: string
  store_id: string
  user_id: string
  is_default: boolean
  sealed: Buffer
  version: number
  created_at: Date
  updated_at: Date
}

/** In every store, also where the user has no part any more. */
async function addressesOf(db: Db, here: Here, caller: UserCaller, before: string) {
  const rows = await db.query<AddressRow>(sql`
    select id, store_id, user_id, is_default, sealed, version, created_at, updated_at
      from addresses
     where user_id = ${caller.id}
       and id < ${before}
     order by id desc
     limit ${PAGE}`)
  const key = unwrapDataKey(here.keyring, caller)
  return pageOf(
    rows,
    (row) => row.id,
    (row) => ({
      id: row.id,
      storeId: row.store_id,
      ...openAddress<{ address: AddressText }>(key, row).address,
      isDefault: row.is_default,
      version: row.version,
      createdAt: row.created_at.toISOString(),
      updatedAt: row.updated_at.toISOString(),
    }),
  )
}

type VersionRow = Omit<AddressRow, 'id' | 'is_default' | 'updated_at'> & { address_id: string; at: Date; until: Date }

/** What they were, also of those that were deleted. */
async function versionsOf(db: Db, here: Here, caller: UserCaller, before: string) {
  const [addressId, version = '0'] = before.split(' ')
  const rows = await db.query<VersionRow>(sql`
    select address_id, store_id, user_id, sealed, version, created_at, at, until
      from address_versions
     where user_id = ${caller.id}
       and (address_id, version) < (${addressId}, ${version}::int)
     order by address_id desc, version desc
     limit ${PAGE}`)
  const key = unwrapDataKey(here.keyring, caller)
  return pageOf(
    rows,
    (row) => `${row.address_id} ${row.version}`,
    (row) => ({
      id: row.address_id,
      storeId: row.store_id,
      ...openAddress<{ address: AddressText }>(key, { ...row, id: row.address_id }).address,
      version: row.version,
      createdAt: row.created_at.toISOString(),
      from: row.at.toISOString(),
      until: row.until.toISOString(),
    }),
  )
}

type EventRow = { id: string; store_id: string | null; type: string; at: Date; subject: string; ip: string | null }

/** Of each store's events so many are looked through, the newest first. */
const MOST_LOOKED_THROUGH = 100_000

/** What the user did: in no store, and in each store they came to or have an address in. */
async function eventsOf(db: Db, caller: UserCaller): Promise<Export['events']> {
  const stores = await db.query<{ id: string }>(sql`
    select store_id as id from members where user_id = ${caller.id}
     union
    select store_id from addresses where user_id = ${caller.id}
     union
    select store_id from invitations where accepted_by = ${caller.id}`)
  // What has no position yet is asked for first: what gets one meanwhile is found again in its store.
  const waiting = await db.query<EventRow>(sql`
    select id, store_id, type, at, subject, actor ->> 'ip' as ip
      from (
             select *
               from events_waiting
              limit ${MOST_LOOKED_THROUGH}
           ) as waiting
     where store_id = any(${stores.map(({ id }) => id)})
       and actor ->> 'id' = ${caller.id}`)
  let rows = await db.query<EventRow>(sql`
    select id, store_id, type, at, subject, actor ->> 'ip' as ip
      from events
     where store_id is null
       and actor ->> 'id' = ${caller.id}
     order by id desc
     limit ${MOST_OF_EACH + 1}`)
  for (const store of stores) {
    const there = await db.query<EventRow>(sql`
      select event.id, event.store_id, event.type, event.at, event.subject, event.actor ->> 'ip' as ip
        from (
               select event_id
                 from event_seals
                where chain = ${store.id}
                order by seq desc
                limit ${MOST_LOOKED_THROUGH}
             ) as newest
        join events event on event.id = newest.event_id
       where event.actor ->> 'id' = ${caller.id}
       order by event.id desc
       limit ${MOST_OF_EACH + 1}`)
    rows = newest([...rows, ...there])
  }
  const found = new Set(rows.map(({ id }) => id))
  rows = newest([...rows, ...waiting.filter(({ id }) => !found.has(id))])
  return rows.map((row) => ({
    id: row.id,
    storeId: row.store_id,
    type: row.type,
    at: row.at.toISOString(),
    subject: row.subject,
    ip: row.ip,
  }))
}

/** Newest first over all of them, and no more than will be told. */
function newest(rows: EventRow[]): EventRow[] {
  return rows.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, MOST_OF_EACH + 1)
}
