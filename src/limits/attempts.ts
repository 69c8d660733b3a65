// Counts of attempts: of failed sign-ins, and of requests that make the service send mail to somebody. At most 10 in 15
// minutes for an account and from an address, whatever RATE_LIMIT says.

import { networkOf } from '../auth/ip.ts'
import { travelledMs } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'

export const ATTEMPTS_INTERVAL = sql`interval '15 minutes'`
const MAX_ATTEMPTS = 10
/** Of a whole /48 of IPv6. */
const MAX_SITE_ATTEMPTS = 100

/** The database's clock, the same for every node: one whose own is wrong must not shut an account on all the others. */
export const attemptClock = () => fragment(`(clock_timestamp() + $1 * interval '1 ms')`, travelledMs())

/**
 * Without an `ip` only the account counts. `known`: the account has signed in from there before, so the attempts there count,
 * and none from elsewhere.
 */
export type Attempt = { account: string; ip: string | null; known: boolean }

/** What the hashes of each kind of attempt begin with, so that the kinds count for themselves. */
const LABELS = { signIn: '', mail: 'mail ', confirm: 'confirm ', secondFactor: 'second factor ' }

/**
 * One attempt at a time for each account and each address until the transaction ends, which keeps the counts exact. (Those
 * of a /48 have no lock: some more may come through at once.)
 */
export async function limitAttempts(
  tx: Db,
  instance: Instance,
  kind: keyof typeof LABELS,
  { account: name, ip, known }: Attempt,
): Promise<{ retryAfterSeconds: number | null; count(): Promise<void> }> {
  const hashOf = (what: string, of: string) => instance.keyring.current.hmac('sign-in', `${LABELS[kind]}${what}`, of)
  const network = ip === null ? { place: name, site: null } : networkOf(ip)
  const account = hashOf('account', name)
  const place = hashOf('address', network.place)
  const site = network.site && hashOf('site', network.site)
  await tx.query(sql`select pg_advisory_xact_lock(${account.readBigInt64BE()})`)
  // Always second: a transaction that holds the lock of an address waits for no other lock.
  await tx.query(sql`select pg_advisory_xact_lock(${place.readBigInt64BE()})`)
  const nth = (which: ReturnType<typeof sql>, most: number) => sql`(
    select at + ${ATTEMPTS_INTERVAL} - ${attemptClock()}
      from sign_in_failures
     where ${which}
       and at > ${attemptClock()} - ${ATTEMPTS_INTERVAL}
     order by at desc
    offset ${most - 1}
     limit 1)`
  const ofAccount = known
    ? sql`email_hash = ${account} and known_place and ip_hash = ${place}`
    : sql`email_hash = ${account} and not known_place`
  const [attempts] = await tx.query<{ wait: number | null }>(sql`
    select ceil(extract(epoch from greatest(
             ${nth(ofAccount, MAX_ATTEMPTS)},
             ${nth(sql`ip_hash = ${place}`, MAX_ATTEMPTS)},
             ${nth(sql`site_hash = ${site}`, MAX_SITE_ATTEMPTS)}
           )))::int as wait`)
  return {
    retryAfterSeconds: typeof attempts?.wait === 'number' ? Math.max(1, attempts.wait) : null,
    count: async () => {
      await tx.query(sql`
        insert into sign_in_failures (email_hash, ip_hash, site_hash, known_place, at)
        values (${account}, ${place}, ${site}, ${known}, ${attemptClock()})`)
    },
  }
}

export function failTooMany(retryAfterSeconds: number, what: string): never {
  return fail('rate_limited', {
    retryAfterSeconds,
    detail: `Too many ${what}. Wait for "Retry-After" seconds.`,
  })
}
