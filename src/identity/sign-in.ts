// Signing in with a password. An unknown e-mail and a wrong password cannot be told apart, neither by the answer nor by
// the time it takes.

import { MINUTE, travelledMs } from '../core/clock.ts'
import { normalizeEmail } from '../core/email.ts'
import { fail } from '../core/errors.ts'
import { isFull, runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import { passwordMatches, passwordSlots } from './passwords.ts'
import { type ClientOrigin, type NewSession, openSession, type UserRow } from './sessions.ts'

const FAILURES_MS = 15 * MINUTE
const MAX_FAILURES = 10

/**
 * One attempt at a time for each account and each address: the locks keep the counts exact under concurrency. A failure
 * is committed before it is answered.
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
 * A concurrent password change has either ended all sessions already, or waits for this lock and ends this one too.
 * Taken only after the password was right: the lock costs a write, and its time would reveal that the account exists.
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

/** The database's clock: a node whose own clock is wrong must not shut an account on all the others. */
const clock = () => fragment(`clock_timestamp() + $1 * interval '1 ms'`, travelledMs())

type AttemptOutcome = 'right' | 'wrong' | { retryAfterSeconds: number }

export async function attemptPassword(
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
  // Always second: a transaction that holds the lock of an address waits for no other lock.
  await tx.query(sql`select pg_advisory_xact_lock(${address.readBigInt64BE()})`)
  const [failures] = await tx.query<{ seconds: number | null }>(sql`
    select extract(epoch from greatest(
             (select at from sign_in_failures where email_hash = ${account} and at > moment.since
               order by at desc offset ${MAX_FAILURES - 1} limit 1),
             (select at from sign_in_failures where ip_hash = ${address} and at > moment.since
               order by at desc offset ${MAX_FAILURES - 1} limit 1)
           ) - moment.since)::float8 as seconds
      from (select ${clock()} - ${FAILURES_MS} * interval '1 ms' as since) as moment`)
  if (failures?.seconds) return { retryAfterSeconds: Math.max(1, Math.ceil(failures.seconds)) }
  if (await passwordMatches(stored, password)) return 'right'
  await tx.query(sql`
    insert into sign_in_failures (email_hash, ip_hash, at)
    values (${account}, ${address}, ${clock()})`)
  return 'wrong'
}

export function failAttempt(outcome: AttemptOutcome): never {
  if (outcome instanceof Object)
    fail('rate_limited', {
      ...outcome,
      detail: 'There were too many failed tries. Wait as long as "Retry-After" says.',
    })
  return fail('invalid_credentials')
}

/** Maintenance. The rows are in the order of time, so the first ones are the oldest. */
export function purgeFailures(db: Db): Promise<void> {
  return runInBatches(db, (tx, size) =>
    isFull(
      tx,
      size,
      sql`
        with oldest as (
          select id, at
            from sign_in_failures
           order by id
           limit ${size}
        ), gone as (
          delete from sign_in_failures
           where id in (select id from oldest where at < ${clock()} - ${FAILURES_MS} * interval '1 ms')
       returning 1
        )
        select count(*)::int as count
          from gone`,
    ),
  )
}
