// Forgotten passwords. Whoever asks for a link hears the same after the same time, whether or not the e-mail has an
// account: the request leaves a mail to be sent, and who has the address is looked up when that is done (mail/mailer.ts).

import { endUserTokens, findUserToken, spendUserToken } from '../auth/user-tokens.ts'
import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import { now } from '../core/clock.ts'
import { normalizeEmail } from '../core/email.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { failTooMany, limitAttempts } from '../limits/attempts.ts'
import { mayMailAnonymously } from '../limits/mails.ts'
import { queueMails, queueMailsTo } from '../mail/outbox.ts'
import { tellFactorChange } from './factor-changes.ts'
import { hasFactor, readFactors, removeFactors } from './factors.ts'
import { checkPassword, hashPassword } from './passwords.ts'
import { forgetPlaces, isKnownPlace } from './places.ts'
import type { ClientOrigin } from './sessions.ts'

export async function requestReset(db: Db, instance: Instance, given: string, from: ClientOrigin): Promise<void> {
  const email = normalizeEmail(given) ?? given
  const wait = await db.transaction(async (tx) => {
    const user = await tx.one<{ known: boolean }>(sql`
      select ${isKnownPlace(instance, from.ip)} as known
        from users
       where email = ${email}`)
    const attempt = { account: email, ip: from.ip, known: user?.known ?? false }
    const { retryAfterSeconds, count } = await limitAttempts(tx, instance, 'mail', attempt)
    if (retryAfterSeconds !== null) return retryAfterSeconds
    await count()
    if (instance.mail && (await mayMailAnonymously(tx, instance, from.ip)))
      await queueMails(tx, instance, [{ kind: 'reset', to: email }])
    return retryAfterSeconds
  })
  if (wait !== null) failTooMany(wait, 'requests for a link')
}

/** Sets the password, and ends whatever somebody else may have opened with the one before. */
export async function resetPassword(
  db: Db,
  instance: Instance,
  { token, newPassword }: { token: string; newPassword: string },
  from: ClientOrigin,
): Promise<void> {
  const found = (await findUserToken(db, instance.keyPrefix, 'reset', token)) ?? fail('reset_not_found')
  const user = await db.one<Pick<UsersRow, 'email'>>(sql`
    select email
      from users
     where id = ${found.user_id}`)
  const faults: Fault[] = []
  checkPassword(newPassword, user?.email ?? '', '#/newPassword', faults)
  if (faults.length > 0) failInput(faults)
  const passwordHash = await hashPassword(from, newPassword)
  await db.transaction(async (tx) => {
    // First, since a statement that both waits for a row and changes it may deadlock (keys/insert.ts).
    const before = await tx.one<Pick<UsersRow, 'email_proven' | 'confirm_again_since'>>(sql`
      select email_proven, confirm_again_since
        from users
       where id = ${found.user_id}
         for no key update`)
    const [changed] = await tx.query<Pick<UsersRow, 'email_proven'>>(sql`
      update users
         set password_hash = ${passwordHash}, updated_at = ${now()},
             -- A link that was mailed to the account's e-mail has confirmed it.
             email_verified_at = case when email = ${found.email} then coalesce(email_verified_at, ${now()}::timestamptz) else email_verified_at end,
             email_proven = email_proven or coalesce(email = ${found.email}, false)
       where id = ${found.user_id}
         and password_hash is not null
         and disabled_at is null
   returning email_proven`)
    if (!before || !changed || !(await spendUserToken(tx, 'reset', token))) return fail('reset_not_found')
    const actor: Actor = { kind: 'user', id: found.user_id, ip: from.ip }
    await endAllSessions(tx, actor, found.user_id)
    await endUserTokens(tx, found.user_id)
    await forgetPlaces(tx, found.user_id)
    await writeEvents(tx, [newEvent(actor, null, 'user.password_reset', found.user_id, {})])
    await tellPasswordChanged(tx, instance, found.user_id, from.ip)
    const wasProven = before.email_proven || before.confirm_again_since !== null
    if (changed.email_proven && !wasProven) await removeUnproven(tx, instance, actor, found.user_id, from.ip)
  })
}

/**
 * Whoever set up the second factor never proved that the e-mail is theirs, though its owner may have opened a link about it by
 * mistake; the one who has just proven it may be another.
 */
async function removeUnproven(tx: Db, instance: Instance, actor: Actor, userId: string, ip: string): Promise<void> {
  const before = await readFactors(tx, userId)
  await removeFactors(tx, userId)
  if (!hasFactor(before)) return
  await writeEvents(tx, [newEvent(actor, null, 'user.second_factor_reset', userId, {})])
  await tellFactorChange(tx, instance, userId, ip, 'reset')
}

/** With every session end the open invitations that its user made with any of them. */
export async function endAllSessions(tx: Db, actor: Actor, userId: string): Promise<void> {
  // In the order of ids, as every change that ends more than one: see sessions.ts.
  await tx.query(sql`
    select id
      from sessions
     where user_id = ${userId}
     order by id
       for update`)
  await tx.query(sql`
    delete from sessions
     where user_id = ${userId}`)
  await withdrawInvitations(tx, actor, sql`created_by_id = ${userId}`)
}

export async function tellPasswordChanged(tx: Db, instance: Instance, userId: string, ip: string): Promise<void> {
  const data = { at: now().toISOString(), ip }
  await queueMailsTo(tx, instance, sql`id = ${userId}`, null, { kind: 'password_changed', data })
}
