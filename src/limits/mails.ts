// How much mail somebody may cause to addresses that are not known to be theirs, so that nobody is flooded by way of this
// service. Kept with the attempts (attempts.ts), as keyed hashes.

import { networkOf } from '../auth/ip.ts'
import { mailboxOf } from '../core/email.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import { ATTEMPTS_INTERVAL, attemptClock, limitAttempts } from './attempts.ts'

/** How many mails about expiring keys of a store each of their makers gets in a day, or the owners together. */
export const MAX_NOTICES = 5

/** How many mails about leaked keys of a store each of their readers gets in a day. */
export const MAX_LEAK_MAILS = 5

/**
 * In a day. By an account: links to confirm an e-mail and invitations, and by a store as many invitations with its keys. From a network: links that somebody asked for without
 * being signed in. To a mailbox: invitations.
 */
const MAX_MAILS = { account: 20, network: 50, mailbox: 5, notices: MAX_NOTICES, leaks: MAX_LEAK_MAILS }

/** Of a mail that may be sent: how many more may be today. Of one that may not: the seconds until one may. */
type CountedMail = { left: number; retryAfterSeconds: null } | { left: null; retryAfterSeconds: number }

/** Counts one more mail. */
async function countMail(tx: Db, instance: Instance, by: keyof typeof MAX_MAILS, name: string): Promise<CountedMail> {
  const hash = instance.keyring.current.hmac('sign-in', `mails of ${by}`, name)
  // One at a time until the transaction ends, which keeps the count exact.
  await tx.query(sql`select pg_advisory_xact_lock(${hash.readBigInt64BE()})`)
  const counting = sql`email_hash = ${hash} and at > ${attemptClock()} - ${ATTEMPTS_INTERVAL}`
  // A row counts for 15 minutes from its time, so one that is to count for a day has a later one.
  const [counted] = await tx.query<{ before: number }>(sql`
    insert into sign_in_failures (email_hash, ip_hash, known_place, at)
    select ${hash}, ${hash}, false, ${attemptClock()} + interval '1 day' - ${ATTEMPTS_INTERVAL}
     where (select count(*) from sign_in_failures where ${counting}) < ${MAX_MAILS[by]}
 returning (select count(*)::int from sign_in_failures where ${counting}) as before`)
  if (counted) return { left: MAX_MAILS[by] - counted.before - 1, retryAfterSeconds: null }
  const [oldest] = await tx.query<{ wait: number }>(sql`
    select ceil(extract(epoch from min(at) + ${ATTEMPTS_INTERVAL} - ${attemptClock()}))::int as wait
      from sign_in_failures
     where ${counting}`)
  return { left: null, retryAfterSeconds: Math.max(1, oldest?.wait ?? 1) }
}

async function mayMail(tx: Db, instance: Instance, by: keyof typeof MAX_MAILS, name: string): Promise<boolean> {
  return (await countMail(tx, instance, by, name)).retryAfterSeconds === null
}

/** Links to confirm an e-mail: to one mailbox, whoever asks. Null: one may be sent. Otherwise the seconds until one may. */
async function countConfirmation(tx: Db, instance: Instance, email: string): Promise<number | null> {
  const attempt = { account: mailboxOf(email), ip: null, known: false }
  const { retryAfterSeconds, count } = await limitAttempts(tx, instance, 'confirm', attempt)
  if (retryAfterSeconds === null) await count()
  return retryAfterSeconds
}

/** Before a link is mailed to an e-mail that a user has entered for their account. Null: it may be. Otherwise the seconds until then. */
export async function limitConfirmation(
  tx: Db,
  instance: Instance,
  userId: string,
  email: string,
): Promise<number | null> {
  const wait = await countConfirmation(tx, instance, email)
  return wait ?? (await countMail(tx, instance, 'account', userId)).retryAfterSeconds
}

/** Whether somebody who signs up is mailed a link. Others may have asked for mail to the same address before. */
export async function mayMailSignUp(tx: Db, instance: Instance, email: string, ip: string): Promise<boolean> {
  return (await countConfirmation(tx, instance, email)) === null && mayMailAnonymously(tx, instance, ip)
}

/** Whether a link is mailed that somebody has asked for without being signed in. */
export function mayMailAnonymously(tx: Db, instance: Instance, ip: string): Promise<boolean> {
  return mayMail(tx, instance, 'network', networkOf(ip).place)
}

/** `storeId`: of an invitation that is made with a key. */
type InvitationSender = { storeId: string | null; userId: string }

/** Whether an invitation is mailed. The store comes first: a key that has used up its mails takes none of the user's away. */
export async function mayMailInvitation(
  tx: Db,
  instance: Instance,
  { storeId, userId }: InvitationSender,
  email: string,
): Promise<boolean> {
  if (storeId !== null && !(await mayMail(tx, instance, 'account', storeId))) return false
  return (await mayMail(tx, instance, 'account', userId)) && mayMail(tx, instance, 'mailbox', mailboxOf(email))
}

/** Whether one more mail about expiring keys of a store is sent. `to`: the user, or null for its owners. */
export function mayMailNotice(tx: Db, instance: Instance, storeId: string, to: string | null): Promise<boolean> {
  return mayMail(tx, instance, 'notices', `${storeId} ${to ?? 'owners'}`)
}

/** How many more mails about leaked keys of a store a user gets today after this one. Null: not even this one. */
export async function countLeakMail(
  tx: Db,
  instance: Instance,
  storeId: string,
  userId: string,
): Promise<number | null> {
  return (await countMail(tx, instance, 'leaks', `${storeId} ${userId}`)).left
}
