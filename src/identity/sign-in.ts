// Signing in with a password. An unknown e-mail and a wrong password cannot be told apart, neither by the answer nor by
// the time it takes.

import { networkOf } from '../auth/ip.ts'
import { travelledMs } from '../core/clock.ts'
import { normalizeEmail } from '../core/email.ts'
import { fail } from '../core/errors.ts'
import { isFull, runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import { passwordMatches, passwordSlots } from './passwords.ts'
import { forgetPlaces, isKnownPlace, placeHash } from './places.ts'
import { type ClientOrigin, type NewSession, openSession, type UserRow } from './sessions.ts'

const FAILURES_INTERVAL = sql`interval '15 minutes'`
const MAX_FAILURES = 10
/** Of a whole /48 of IPv6. */
const MAX_SITE_FAILURES = 100

/**
 * One attempt at a time for each account and each address: the locks keep the counts exact under concurrency. (Those of a
 * /48 have no lock: some more may come through at once.) A failure is committed before it is answered.
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
      const user = await tx.one<UserRow & { known_place: boolean }>(sql`
        select id, email, name, created_at, password_hash, ${isKnownPlace(instance, from.ip)} as known_place
          from users
         where email = ${email}`)
      const known = user?.known_place ?? false
      const by = { account: email, ip: from.ip, known }
      const outcome = await attemptPassword(tx, instance, by, user?.password_hash ?? null, given.password)
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
const clock = () => fragment(`(clock_timestamp() + $1 * interval '1 ms')`, travelledMs())

type AttemptOutcome = 'right' | 'wrong' | { retryAfterSeconds: number }

/** `known`: the account has signed in from there before, so the failures there count, and none from elsewhere. */
type Attempt = { account: string; ip: string; known: boolean }

/** Failures are timed by the database's clock, which is the same for every node. */
export async function attemptPassword(
  tx: Db,
  instance: Instance,
  { account: name, ip, known }: Attempt,
  stored: string | null,
  password: string,
): Promise<AttemptOutcome> {
  const { site: siteName } = networkOf(ip)
  const account = instance.keyring.current.hmac('sign-in', 'account', name)
  const place = placeHash(instance, ip)
  const site = siteName && instance.keyring.current.hmac('sign-in', 'site', siteName)
  await tx.query(sql`select pg_advisory_xact_lock(${account.readBigInt64BE()})`)
  // Always second: a transaction that holds the lock of an address waits for no other lock.
  await tx.query(sql`select pg_advisory_xact_lock(${place.readBigInt64BE()})`)
  const nth = (which: ReturnType<typeof sql>, most: number) => sql`(
    select at + ${FAILURES_INTERVAL} - ${clock()}
      from sign_in_failures
     where ${which}
       and at > ${clock()} - ${FAILURES_INTERVAL}
     order by at desc
    offset ${most - 1}
     limit 1)`
  const ofAccount = known
    ? sql`email_hash = ${account} and known_place and ip_hash = ${place}`
    : sql`email_hash = ${account} and not known_place`
  const [failures] = await tx.query<{ wait: number | null }>(sql`
    select ceil(extract(epoch from greatest(
             ${nth(ofAccount, MAX_FAILURES)},
             ${nth(sql`ip_hash = ${place}`, MAX_FAILURES)},
             ${nth(sql`site_hash = ${site}`, MAX_SITE_FAILURES)}
           )))::int as wait`)
  if (typeof failures?.wait === 'number') return { retryAfterSeconds: Math.max(1, failures.wait) }
  if (await passwordMatches(stored, password)) return 'right'
  await tx.query(sql`
    insert into sign_in_failures (email_hash, ip_hash, site_hash, known_place, at)
    values (${account}, ${place}, ${site}, ${known}, ${clock()})`)
  return 'wrong'
}

export function failAttempt(outcome: AttemptOutcome): never {
  if (outcome instanceof Object)
    fail('rate_limited', {
      ...outcome,
      detail: 'Too many failed attempts. Wait for "Retry-After" seconds.',
    })
  return fail('invalid_credentials')
}

/** Maintenance. The rows are in the order of time, so the first ones are the oldest. */
export async function purgeFailures(db: Db): Promise<void> {
  await runInBatches(db, (tx, size) =>
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
           where id in (select id from oldest where at < ${clock()} - ${FAILURES_INTERVAL})
       returning 1
        )
        select count(*)::int as count
          from gone`,
    ),
  )
  await forgetPlaces(db)
}
