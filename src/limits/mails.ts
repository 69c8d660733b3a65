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

/**
 * In a day. By an account: links to confirm an e-mail and invitations. From a network: links that somebody asked for without
 * being signed in. To a mailbox: invitations.
 */
const MAX_MAILS = { account: 20, network: 50, mailbox: 5, notices: MAX_NOTICES }

/** Counts one more mail. Null: it may be sent. Otherwise the seconds until one may. */
async function countMail(
  tx: Db,
  instance: Instance,
  by: keyof typeof MAX_MAILS,
  name: string,
): Promise<{ retryAfterSeconds: number } | null> {
  const hash = instance.keyring.current.hmac('sign-in', `mails of ${by}`, name)
  // One at a time until the transaction ends, which keeps the count exact.
  await tx.query(sql`select pg_advisory_xact_lock(${hash.readBigInt64BE()})`)
  const counting = sql`email_hash = ${hash} and at > ${attemptClock()} - ${ATTEMPTS_INTERVAL}`
  // A row counts for 15 minutes from its time, so one that is to count for a day has a later one.
  const counted = await tx.query(sql`
    insert into sign_in_failures (email_hash, ip_hash, known_place, at)
    select ${hash}, ${hash}, false, ${attemptClock()} + interval '1 day' - ${ATTEMPTS_INTERVAL}
     where (select count(*) from sign_in_failures where ${counting}) < ${MAX_MAILS[by]}
 returning id`)
  if (counted.length > 0) return null
  const [oldest] = await tx.query<{ wait: number }>(sql`
    select ceil(extract(epoch from min(at) + ${ATTEMPTS_INTERVAL} - ${attemptClock()}))::int as wait
      from sign_in_failures
     where ${counting}`)
  return { retryAfterSeconds: Math.max(1, oldest?.wait ?? 1) }
}

/** Links to confirm an e-mail: to one mailbox, whoever asks. */
async function countConfirmation(tx: Db, instance: Instance, email: string) {
  const attempt = { account: mailboxOf(email), ip: null, known: false }
  const { retryAfterSeconds, count } = await limitAttempts(tx, instance, 'confirm', attempt)
  if (retryAfterSeconds !== null) return { retryAfterSeconds }
  await count()
  return null
}

/** Before a link is mailed to an e-mail that a user has entered for their account. */
export async function limitConfirmation(tx: Db, instance: Instance, userId: string, email: string) {
  return (await countConfirmation(tx, instance, email)) ?? countMail(tx, instance, 'account', userId)
}

/** Whether somebody who signs up is mailed a link. Others may have asked for mail to the same address before. */
export async function mayMailSignUp(tx: Db, instance: Instance, email: string, ip: string): Promise<boolean> {
  return (await countConfirmation(tx, instance, email)) === null && mayMailAnonymously(tx, instance, ip)
}

/** Whether a link is mailed that somebody has asked for without being signed in. */
export async function mayMailAnonymously(tx: Db, instance: Instance, ip: string): Promise<boolean> {
  return (await countMail(tx, instance, 'network', networkOf(ip).place)) === null
}

/** Whether an invitation is mailed. `by`: the user, or the store whose key it is made with. */
export async function mayMailInvitation(tx: Db, instance: Instance, by: string, email: string): Promise<boolean> {
  if ((await countMail(tx, instance, 'account', by)) !== null) return false
  return (await countMail(tx, instance, 'mailbox', mailboxOf(email))) === null
}

/** Whether one more mail about expiring keys of a store is sent. `to`: the user, or null for its owners. */
export async function mayMailNotice(tx: Db, instance: Instance, storeId: string, to: string | null): Promise<boolean> {
  return (await countMail(tx, instance, 'notices', `${storeId} ${to ?? 'owners'}`)) === null
}
