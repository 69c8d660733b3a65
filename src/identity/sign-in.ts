// Signing in with a password. An unknown e-mail and a wrong password cannot be told apart, neither by the answer nor by
// the time it takes.

import { now } from '../core/clock.ts'
import { normalizeEmail } from '../core/email.ts'
import { fail } from '../core/errors.ts'
import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { ATTEMPTS_INTERVAL, type Attempt, attemptClock, failTooMany, limitAttempts } from '../limits/attempts.ts'
import { queueMailsTo } from '../mail/outbox.ts'
import { inPasswordTurn, passwordMatches } from './passwords.ts'
import { forgetPlaces, HAS_PLACES, isKnownPlace } from './places.ts'
import type { SignInMethod } from './schema.ts'
import { requireSecondFactor } from './second-step.ts'
import { type ClientOrigin, type NewSession, openSession } from './sessions.ts'

type SignInRow = Pick<UsersRow, 'id' | 'password_hash'>

/** A failure is committed before it is answered. */
export async function signIn(
  db: Db,
  instance: Instance,
  given: { email: string; password: string },
  from: ClientOrigin,
): Promise<NewSession> {
  const email = normalizeEmail(given.email) ?? given.email
  const tried = await inPasswordTurn(from, () =>
    db.transaction(async (tx) => {
      const user = await tx.one<SignInRow & { known_place: boolean }>(sql`
        select id, ${isKnownPlace(instance, from.ip)} as known_place,
               -- To a disabled account no password is right.
               case when disabled_at is null then password_hash end as password_hash
          from users
         where email = ${email}`)
      const known = user?.known_place ?? false
      const by = { account: email, ip: from.ip, known }
      const outcome = await attemptPassword(tx, instance, by, user?.password_hash ?? null, given.password)
      if (outcome !== 'right' || !user) return outcome
      if (!(await passwordUnchanged(tx, user))) return 'wrong'
      await requireSecondFactor(tx, instance, user)
      if (!known) await tellNewSignIn(tx, instance, user.id, from)
      return openSession(tx, instance, user.id, from)
    }),
  )
  return tried instanceof Object && 'token' in tried ? tried : failAttempt(tried)
}

/**
 * A concurrent password change has either ended all sessions already, or waits for this lock and ends this one too.
 * Taken only after the password was right: the lock costs a write, and its time would reveal that the account exists.
 */
async function passwordUnchanged(tx: Db, user: SignInRow): Promise<boolean> {
  const row = await tx.one(sql`
    select id
      from users
     where id = ${user.id}
       and password_hash = ${user.password_hash}
       and disabled_at is null
       for share`)
  return row !== null
}

/** Not of the first sign-in ever, nor of the first after a new password, which has ended all that was known. */
export async function tellNewSignIn(
  tx: Db,
  instance: Instance,
  userId: string,
  from: ClientOrigin,
  method: SignInMethod = 'password',
): Promise<void> {
  const data = { at: now().toISOString(), ip: from.ip, client: from.userAgent?.slice(0, 100) ?? '', method }
  const known = sql`id = ${userId} and ${HAS_PLACES}`
  await queueMailsTo(tx, instance, known, 'newSignIns', { kind: 'new_sign_in', data })
}

type AttemptOutcome = 'right' | 'wrong' | { retryAfterSeconds: number }

export async function attemptPassword(
  tx: Db,
  instance: Instance,
  attempt: Attempt,
  stored: string | null,
  password: string,
): Promise<AttemptOutcome> {
  const { retryAfterSeconds, count } = await limitAttempts(tx, instance, 'signIn', attempt)
  if (retryAfterSeconds !== null) return { retryAfterSeconds }
  if (await passwordMatches(stored, password)) return 'right'
  await count()
  return 'wrong'
}

export function failAttempt(outcome: AttemptOutcome, detail?: string): never {
  if (outcome instanceof Object) failTooMany(outcome.retryAfterSeconds, 'failed attempts')
  return fail('invalid_credentials', detail === undefined ? {} : { detail })
}

/** Maintenance: walks through all rows in the order of their ids, since some count for a day (limits/mails.ts). */
export async function purgeFailures(db: Db): Promise<number> {
  let after = '0'
  const rows = await runInBatches(db, async (tx, size) => {
    const last = await tx.one<{ id: string }>(sql`
      select id::text
        from sign_in_failures
       where id > ${after}::bigint
       order by id
      offset ${size - 1}
       limit 1`)
    const gone = await tx.query(sql`
      delete from sign_in_failures
       where id > ${after}::bigint
         and (${last?.id ?? null}::bigint is null or id <= ${last?.id ?? null}::bigint)
         and at < ${attemptClock()} - ${ATTEMPTS_INTERVAL}
   returning 1`)
    after = last?.id ?? after
    return { rows: gone.length, hasMore: last !== null }
  })
  await forgetPlaces(db)
  return rows
}
