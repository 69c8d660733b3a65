// Confirming e-mails. Where the service sends mail, an e-mail that nobody has confirmed reserves nothing: another account
// may ask for it, and the one that confirms it has it. The older account goes on without an e-mail.
//
// A link proves the mailbox, not the account: whoever reads the mailbox may open the link of a stranger's account. So where
// the e-mail moves, or two accounts want it, the link works only for somebody who is signed in to the account.

import { loseEmail } from '../auth/lose-email.ts'
import { lockSession } from '../auth/recheck.ts'
import { endResetLinks, findUserToken, issueUserToken, spendUserToken } from '../auth/user-tokens.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { violatedConstraint } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { queueMails } from '../mail/outbox.ts'

/** Fails when another account has confirmed the e-mail; tells whether one has it without having confirmed it. */
export async function checkEmailFree(tx: Db, email: string): Promise<{ isClaimed: boolean }> {
  const holder = await tx.one<Pick<UsersRow, 'email_verified_at'>>(sql`
    select email_verified_at
      from users
     where email = ${email}`)
  if (holder?.email_verified_at) fail('email_taken')
  return { isClaimed: holder !== null }
}

/**
 * Makes a link and mails it; a newer one ends the older. The mail says which account it is for: others may have asked for the
 * e-mail.
 */
export async function requestConfirmation(
  tx: Db,
  instance: Instance,
  user: { id: string; createdAt: string },
  email: string,
  ip: string,
  isMailed = true,
): Promise<void> {
  const link = await issueUserToken(tx, instance.keyPrefix, 'confirm', { user_id: user.id, email })
  const data = { at: now().toISOString(), ip, created: user.createdAt }
  if (isMailed) await queueMails(tx, instance, [{ kind: 'confirm', to: email, data, link }])
}

type Holder = Pick<UsersRow, 'id' | 'email' | 'email_verified_at' | 'disabled_at'>

export async function confirmEmail(
  db: Db,
  instance: Instance,
  token: string,
  visitor: UserCaller | null,
  ip: string,
): Promise<void> {
  const found = await findUserToken(db, instance.keyPrefix, 'confirm', token)
  if (!found?.email) return fail('confirmation_not_found')
  const { user_id: userId, email } = found
  try {
    await db.transaction(async (tx) => {
      const holders = await tx.query<Holder>(sql`
        select id, email, email_verified_at, disabled_at
          from users
         where (id = ${userId} or email = ${email})
           and erased_at is null
         order by id
           for update`)
      const user = holders.find(({ id }) => id === userId)
      if (!user || user.disabled_at || !(await spendUserToken(tx, 'confirm', token)))
        return fail('confirmation_not_found')
      const loser = holders.find(({ id }) => id !== userId)
      if (loser?.email_verified_at) fail('email_taken')
      const isContested = user.email !== email || loser !== undefined || (await isWantedByOthers(tx, userId, email))
      const isSignedIn = visitor?.id === userId && (await lockSession(tx, visitor))
      // Whoever has another account here, and is signed in to it, has most likely opened the link by mistake.
      const isOthers = visitor !== null && visitor.id !== userId
      if ((isContested || isOthers) && !isSignedIn) fail('sign_in_required')
      const actor: Actor = { kind: 'user', id: userId, ip }
      if (loser) await loseEmail(tx, instance, actor, loser.id, email)
      await giveEmail(tx, instance, user, email, isSignedIn)
      await writeEvents(tx, [newEvent(actor, null, 'user.email_confirmed', userId, {})])
    })
  } catch (error) {
    // Somebody has signed up with it at this very moment. The link still works.
    return violatedConstraint(error) === 'users_email_key' ? fail('email_taken') : Promise.reject(error)
  }
}

async function isWantedByOthers(tx: Db, userId: string, email: string): Promise<boolean> {
  const [other] = await tx.query(sql`
    select user_id
      from user_tokens
     where email = ${email}
       and purpose = 'confirm'
       and user_id <> ${userId}
       and expires_at > ${now()}
     limit 1`)
  return other !== undefined
}

async function giveEmail(tx: Db, instance: Instance, user: Holder, email: string, isSignedIn: boolean): Promise<void> {
  await tx.query(sql`
    update users
       set email = ${email}, email_verified_at = ${now()}, updated_at = ${now()},
           email_proven = ${isSignedIn} or (coalesce(email = ${email}, false) and email_proven)
     where id = ${user.id}`)
  if (user.email === email) return
  await endResetLinks(tx, user.id)
  if (user.email !== null && user.email_verified_at !== null)
    await queueMails(tx, instance, [{ kind: 'email_changed', to: user.email, data: { at: now().toISOString() } }])
}
