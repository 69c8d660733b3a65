// Accounts and sessions. A session token is 256 random bits, kept only as a hash. Unknown e-mail and wrong password
// cannot be told apart, neither by the answer nor by the time it takes.

import { SESSION_IDLE_MS } from '../auth/authenticate.ts'
import { newDataKey } from '../auth/data-key.ts'
import type { UserCaller } from '../core/caller.ts'
import { addMs, ago, DAY, fromNow, MINUTE, now } from '../core/clock.ts'
import { normalizeEmail } from '../core/email.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import { type Permission, permissionsOf, type Role } from '../core/permissions.ts'
import type { Idempotency } from '../core/route.ts'
import { mintToken, type Secret, sha256 } from '../crypto/tokens.ts'
import { type Db, sql } from '../db/db.ts'
import { violated } from '../db/faults.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { type StoreRow, showStore } from '../stores/schema.ts'
import { checkPassword, hashPassword, passwordMatches, passwordSlots } from './passwords.ts'

const SESSION_MS = 90 * DAY
const FAILURES_MS = 15 * MINUTE
const MAX_FAILURES = 10

export type ClientOrigin = { ip: string; userAgent: string | null }
type UserView = { id: string; email: string | null; name: string | null; createdAt: string }
export type NewSession = { user: UserView; token: Secret; expiresAt: Date }

type UserRow = { id: string; email: string | null; name: string | null; created_at: Date; password_hash: string | null }

// ---- accounts -------------------------------------------------------------------------------------------------------

export type NewAccount = { email: string; password: string; name: string | null; invitation: string | null }

export async function signUp(db: Db, instance: Instance, account: NewAccount, from: ClientOrigin): Promise<NewSession> {
  if (instance.signUp === 'closed') await checkInvitation(db, account)
  const passwordHash = await hashPassword(account.password)
  const id = newId('user')
  const dataKey = newDataKey(instance.keyring, id)
  const user: UserRow = { id, email: account.email, name: account.name, created_at: now(), password_hash: passwordHash }
  try {
    return await db.transaction(async (tx) => {
      await tx.query(sql`
        insert into users (id, email, name, password_hash, data_key, data_key_kid, created_at, updated_at)
        values (${id}, ${user.email}, ${user.name}, ${passwordHash}, ${dataKey.wrapped}, ${dataKey.kid},
                ${user.created_at}, ${user.created_at})`)
      await writeEvents(tx, [newEvent({ kind: 'user', id, ip: from.ip }, null, 'user.created', id, {})])
      return openSession(tx, instance, user, from)
    })
  } catch (error) {
    return violated(error) === 'users_email' ? fail('email_taken') : Promise.reject(error)
  }
}

async function checkInvitation(db: Db, account: NewAccount): Promise<void> {
  if (account.invitation === null) fail('sign_up_closed')
  const found = await db.one<{ email: string }>(sql`
    select invitation.email
      from invitations invitation
      join stores store on store.id = invitation.store_id and store.deleted_at is null
     where invitation.hash = ${sha256(account.invitation)}
       and invitation.accepted_at is null
       and invitation.withdrawn_at is null
       and invitation.expires_at > ${now()}`)
  if (!found) fail('sign_up_closed')
  if (found.email !== account.email) fail('invitation_mismatch')
}

/**
 * One try at a time for each account and each address: the locks make the counts exact however many are sent at once.
 * A failure is written and committed before its answer leaves.
 */
export async function signIn(
  db: Db,
  instance: Instance,
  given: { email: string; password: string },
  from: ClientOrigin,
): Promise<NewSession> {
  const email = normalizeEmail(given.email) ?? given.email
  const tried = await passwordSlots(() =>
    db.transaction(async (tx) => {
      const user = await tx.one<UserRow>(sql`
        select id, email, name, created_at, password_hash
          from users
         where email = ${email}`)
      const outcome = await attemptPassword(tx, instance, email, from.ip, user?.password_hash ?? null, given.password)
      if (outcome !== 'right' || !user) return outcome
      return (await passwordUnchanged(tx, user)) ? openSession(tx, instance, user, from) : 'wrong'
    }),
  )
  return tried instanceof Object && 'token' in tried ? tried : failAttempt(tried)
}

/**
 * A password change that came meanwhile has ended all sessions, and one that comes now waits to end this one too. Asked
 * only once the password was right: the lock costs a write, and would tell an account from none by its time.
 */
async function passwordUnchanged(tx: Db, user: UserRow): Promise<boolean> {
  const row = await tx.one(sql`
    select id
      from users
     where id = ${user.id}
       and password_hash = ${user.password_hash}
       for share`)
  return row !== null
}

export async function changePassword(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  change: { currentPassword: string; newPassword: string },
  idempotency: Idempotency | null,
): Promise<void> {
  if (caller.email === null)
    return fail('invalid_credentials', { detail: 'You have no password here: your identity provider keeps it.' })
  const faults: Fault[] = []
  checkPassword(change.newPassword, caller.email, '#/newPassword', faults)
  if (faults.length > 0) failInput(faults)
  // The failure must stay written, so it is not counted inside the transaction that it would roll back.
  const { outcome, stored } = await passwordSlots(() =>
    db.transaction(async (tx) => {
      await idempotency?.claim(tx)
      const user = await tx.one<{ password_hash: string | null }>(sql`
        select password_hash
          from users
         where id = ${caller.id}`)
      const stored = user?.password_hash ?? null
      // Counted by the user, not by the e-mail: who guesses at the door must not lock out who is inside.
      return {
        outcome: await attemptPassword(tx, instance, caller.id, caller.ip, stored, change.currentPassword),
        stored,
      }
    }),
  )
  if (outcome !== 'right') failAttempt(outcome)
  const passwordHash = await hashPassword(change.newPassword)
  await db.transaction(async (tx) => {
    // Of two changes at once one wins: for the other the current password is no longer current.
    const changed = await tx.query(sql`
      update users
         set password_hash = ${passwordHash}, updated_at = ${now()}
       where id = ${caller.id}
         and password_hash = ${stored}
   returning id`)
    if (changed.length === 0) {
      // Perhaps the change that came first was this very request, sent twice.
      await idempotency?.claim(tx)
      fail('invalid_credentials')
    }
    await tx.query(sql`
      delete from sessions
       where user_id = ${caller.id}
         and id is distinct from ${caller.sessionId}`)
    await writeEvents(tx, [newEvent(caller, null, 'user.password_changed', caller.id, {})])
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse({ body: null }))
  })
}

type AttemptOutcome = 'right' | 'wrong' | { retryAfterSeconds: number }

async function attemptPassword(
  tx: Db,
  instance: Instance,
  email: string,
  ip: string,
  stored: string | null,
  password: string,
): Promise<AttemptOutcome> {
  const account = instance.keyring.current.hmac('sign-in', 'account', email)
  const address = instance.keyring.current.hmac('sign-in', 'address', ip)
  await tx.query(sql`select pg_advisory_xact_lock(${account.readBigInt64BE()})`)
  // Always second, so that nobody who holds an address waits for anything.
  await tx.query(sql`select pg_advisory_xact_lock(${address.readBigInt64BE()})`)
  const [failures] = await tx.query<{ at: Date | null }>(sql`
    select greatest(
             (select at from sign_in_failures where account = ${account} and at > ${ago(FAILURES_MS)}
               order by at desc offset ${MAX_FAILURES - 1} limit 1),
             (select at from sign_in_failures where address = ${address} and at > ${ago(FAILURES_MS)}
               order by at desc offset ${MAX_FAILURES - 1} limit 1)
           ) as at`)
  if (failures?.at)
    return {
      retryAfterSeconds: Math.max(1, Math.ceil((addMs(failures.at, FAILURES_MS).getTime() - now().getTime()) / 1000)),
    }
  if (await passwordMatches(stored, password)) return 'right'
  await tx.query(sql`
    insert into sign_in_failures (account, address, at)
    values (${account}, ${address}, ${now()})`)
  return 'wrong'
}

function failAttempt(outcome: AttemptOutcome): never {
  if (outcome instanceof Object)
    fail('rate_limited', {
      ...outcome,
      detail: 'There were too many failed tries. Wait as long as "Retry-After" says.',
    })
  return fail('invalid_credentials')
}

export async function purgeFailures(db: Db): Promise<void> {
  await db.query(sql`delete from sign_in_failures where at < ${ago(FAILURES_MS)}`)
}

// ---- sessions -------------------------------------------------------------------------------------------------------

async function openSession(tx: Db, instance: Instance, user: UserRow, from: ClientOrigin): Promise<NewSession> {
  const id = newId('sess')
  const token = mintToken(instance.keyPrefix, 'sess')
  const expiresAt = fromNow(SESSION_MS)
  await tx.query(sql`
    insert into sessions (id, user_id, hash, user_agent, ip, created_at, last_used_at, expires_at)
    values (${id}, ${user.id}, ${sha256(token.reveal())}, ${from.userAgent}, ${from.ip}, ${now()}, ${now()}, ${expiresAt})`)
  await writeEvents(tx, [
    newEvent({ kind: 'user', id: user.id, ip: from.ip, sessionId: id }, null, 'session.created', id, {}),
  ])
  return { user: showUser(user), token, expiresAt }
}

type SessionRow = {
  id: string
  user_agent: string | null
  ip: string | null
  created_at: Date
  last_used_at: Date
  expires_at: Date
}

export async function listSessions(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  query: PageParams,
): Promise<Page<object>> {
  return listPage({
    keyring: instance.keyring,
    list: ['sessions', caller.id],
    query,
    read: ({ after, take }) =>
      db.query<SessionRow>(sql`
        select id, user_agent, ip, created_at, last_used_at, expires_at
          from sessions
         where user_id = ${caller.id}
           and expires_at > ${now()}
           and last_used_at > ${ago(SESSION_IDLE_MS)}
           and id < ${after}
         order by id desc
         limit ${take}`),
    positionOf: (row) => row.id,
    show: (row) => ({
      id: row.id,
      current: row.id === caller.sessionId,
      userAgent: row.user_agent,
      ip: row.ip,
      createdAt: row.created_at.toISOString(),
      lastUsedAt: row.last_used_at.toISOString(),
      expiresAt: row.expires_at.toISOString(),
    }),
  })
}

export async function endSession(db: Db, caller: UserCaller, sessionId: string): Promise<void> {
  const ended = await endSessions(db, caller, sql`id = ${sessionId}`)
  if (ended.length === 0) fail('session_not_found')
}

export async function endOtherSessions(db: Db, caller: UserCaller): Promise<void> {
  await endSessions(db, caller, sql`id is distinct from ${caller.sessionId}`)
}

/** A user of an identity provider has no session of ours; signing out there is the provider's. */
export async function signOut(db: Db, caller: UserCaller): Promise<void> {
  if (caller.sessionId) await endSessions(db, caller, sql`id = ${caller.sessionId}`)
}

/** House-keeping: what has ended goes. */
export async function purgeSessions(db: Db): Promise<void> {
  await db.query(sql`
    delete from sessions
     where expires_at < ${now()}
        or last_used_at < ${ago(SESSION_IDLE_MS)}`)
}

async function endSessions(db: Db, caller: UserCaller, which: ReturnType<typeof sql>): Promise<{ id: string }[]> {
  const ended = await db.query<{ id: string }>(sql`
    delete from sessions
     where user_id = ${caller.id}
       and ${which}
 returning id`)
  await writeEvents(
    db,
    ended.map(({ id }) => newEvent(caller, null, 'session.ended', id, {})),
  )
  return ended
}

// ---- me -------------------------------------------------------------------------------------------------------------

export async function readMe(db: Db, instance: Instance, caller: UserCaller): Promise<object> {
  const rows = await db.query<StoreRow & { role: Role; permissions: Permission[] | null }>(sql`
    select store.id, store.name, store.registration, store.leak_grace_seconds, store.frozen_at, store.revision, store.created_at,
           store.updated_at, member.role, member.permissions
      from members member
      join stores store on store.id = member.store_id and store.deleted_at is null
     where member.user_id = ${caller.id}
     order by store.id desc
     limit 100`)
  return {
    user: { id: caller.id, email: caller.email, name: caller.name, createdAt: caller.createdAt.toISOString() },
    stores: rows.map((row) => ({
      store: showStore(row),
      role: row.role,
      permissions: permissionsOf(instance.permissions, row.role, row.permissions),
    })),
  }
}

function showUser(user: UserRow): UserView {
  return { id: user.id, email: user.email, name: user.name, createdAt: user.created_at.toISOString() }
}
