// Sessions. A session token is 256 random bits, kept only as a hash.

import { SESSION_IDLE_MS } from '../auth/authenticate.ts'
import { CallerChanged } from '../auth/recheck.ts'
import { endEmailChange } from '../auth/user-tokens.ts'
import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import type { UserCaller } from '../core/caller.ts'
import { ago, DAY, fromNow, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Secret } from '../crypto/secret.ts'
import { mintToken, sha256 } from '../crypto/tokens.ts'
import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { SessionsRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { rememberPlace } from './places.ts'
import type { Session, SignInMethod, User } from './schema.ts'
import { readUser } from './user.ts'

const SESSION_MS = 90 * DAY
export type ClientOrigin = { ip: string; userAgent: string | null }
export type NewSession = { user: User; token: Secret; expiresAt: Date }

/** How the person signed in. Of single sign-on: when they did so at the provider, if it says, and which e-mail it claims. */
export type SignedInBy = { method: SignInMethod; authenticatedAt: Date | null; claimedEmail?: string | null }

export async function openSession(
  tx: Db,
  instance: Instance,
  userId: string,
  from: ClientOrigin,
  { method, authenticatedAt, claimedEmail = null }: SignedInBy = { method: 'password', authenticatedAt: null },
): Promise<NewSession> {
  const id = newId('sess')
  const token = mintToken(instance.keyPrefix, 'sess')
  const expiresAt = fromNow(SESSION_MS)
  await endLongestIdle(tx, instance, userId, from)
  await tx.query(sql`
    insert into sessions (id, user_id, hash, method, authenticated_at, claimed_email, user_agent, ip, created_at, last_used_at, expires_at)
    values (${id}, ${userId}, ${sha256(token.reveal())}, ${method}, ${authenticatedAt}, ${claimedEmail}, ${from.userAgent},
            ${from.ip}, ${now()}, ${now()}, ${expiresAt})`)
  await rememberPlace(tx, instance, userId, from.ip)
  await writeEvents(tx, [
    newEvent({ kind: 'user', id: userId, ip: from.ip, sessionId: id }, null, 'session.created', id, {}),
  ])
  return { user: await readUser(tx, userId), token, expiresAt }
}

/**
 * Makes room for one more session. Sign-ins of an account come one at a time, so the count is exact; a session that
 * somebody has locked is left for the next time, so that nobody waits here.
 */
async function endLongestIdle(tx: Db, instance: Instance, userId: string, from: ClientOrigin): Promise<void> {
  const ended = await tx.query<{ id: string }>(sql`
    delete from sessions
     where id = any(array(
             select id
               from sessions
              where id in (select id
                             from sessions
                            where user_id = ${userId}
                            order by last_used_at desc, id desc
                           offset ${instance.maxSessionsPerUser - 1})
                for update skip locked
           ))
 returning id`)
  const actor = { kind: 'user' as const, id: userId, ip: from.ip }
  await writeEvents(
    tx,
    ended.map(({ id }) => newEvent(actor, null, 'session.ended', id, {})),
  )
}

export type SessionRow = Pick<
  SessionsRow,
  'id' | 'user_agent' | 'ip' | 'created_at' | 'last_used_at' | 'expires_at'
> & {
  method: SignInMethod
}

export async function listSessions(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  query: PageParams,
): Promise<Page<Session>> {
  return listPage({
    keyring: instance.keyring,
    list: ['sessions', caller.id],
    query,
    read: ({ after, take }) =>
      db.query<SessionRow>(sql`
        select id, method, user_agent, ip, created_at, last_used_at, expires_at
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
      method: row.method,
      userAgent: row.user_agent,
      ip: row.ip,
      createdAt: row.created_at.toISOString(),
      lastUsedAt: row.last_used_at.toISOString(),
      expiresAt: row.expires_at.toISOString(),
    }),
  })
}

/**
 * Whoever ends a session by its id may have found it in the hands of somebody else: invitations made with it end too, and so
 * does a change of the e-mail that was not confirmed yet.
 */
export async function endSession(tx: Db, caller: UserCaller, sessionId: string): Promise<void> {
  const ended = await endSessions(tx, caller, sql`id = ${sessionId}`)
  if (ended.length === 0) fail('session_not_found')
  await withdrawInvitations(tx, caller, sql`created_by_id = ${caller.id} and created_by_session_id = ${sessionId}`)
  await endEmailChange(tx, caller.id)
}

export async function endOtherSessions(tx: Db, caller: UserCaller): Promise<void> {
  await endSessions(tx, caller, sql`id is distinct from ${caller.sessionId}`)
  await withdrawFromOtherSessions(tx, caller)
  await endEmailChange(tx, caller.id)
}

/**
 * When all other sessions are ended: ends the invitations made with any but the caller's own, also with one that has
 * signed out or expired since. A thief would sign out.
 */
export async function withdrawFromOtherSessions(tx: Db, caller: UserCaller): Promise<void> {
  await withdrawInvitations(
    tx,
    caller,
    sql`created_by_id = ${caller.id} and created_by_session_id is distinct from ${caller.sessionId}`,
  )
}

/**
 * Not an act of safety: invitations made with the session stay open. A user of an identity provider has no session here;
 * they sign out at the provider.
 */
export async function signOut(tx: Db, caller: UserCaller): Promise<void> {
  if (caller.sessionId) await endSessions(tx, caller, sql`id = ${caller.sessionId}`)
}

/** Maintenance: deletes expired sessions, walking through all of them in the order of their ids. */
export function purgeSessions(db: Db): Promise<number> {
  let after = ''
  return runInBatches(db, async (tx, size) => {
    const last = await tx.one<{ id: string }>(sql`
      select id
        from sessions
       where id > ${after}
       order by id
      offset ${size - 1}
       limit 1`)
    const gone = await tx.query(sql`
      delete from sessions
       where id = any(array(
               select id
                 from sessions
                where id > ${after}
                  and (${last?.id ?? null}::text is null or id <= ${last?.id ?? null})
                  and (expires_at < ${now()} or last_used_at < ${ago(SESSION_IDLE_MS)})
                  for update skip locked
             ))
   returning 1`)
    after = last?.id ?? after
    return { rows: gone.length, hasMore: last !== null }
  })
}

async function endSessions(tx: Db, caller: UserCaller, which: ReturnType<typeof sql>): Promise<{ id: string }[]> {
  await lockSessions(tx, caller)
  const ended = await tx.query<{ id: string }>(sql`
    delete from sessions
     where user_id = ${caller.id}
       and ${which}
 returning id`)
  await writeEvents(
    tx,
    ended.map(({ id }) => newEvent(caller, null, 'session.ended', id, {})),
  )
  return ended
}

/**
 * Before sessions of a user are ended: locks them all, in the order of ids, so that two sessions which end each other do not
 * wait for each other, and waits for changes that were begun under one of them. The caller's own must still be there.
 */
export async function lockSessions(tx: Db, caller: Pick<UserCaller, 'id' | 'sessionId'>): Promise<void> {
  const sessions = await tx.query<Pick<SessionsRow, 'id'>>(sql`
    select id
      from sessions
     where user_id = ${caller.id}
     order by id
       for update`)
  if (caller.sessionId !== null && !sessions.some(({ id }) => id === caller.sessionId)) throw new CallerChanged()
}
