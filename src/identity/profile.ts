// What users may change of themselves: name, e-mail, and which mails they want.

import { recheckUser } from '../auth/recheck.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { violatedConstraint } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { failTooMany } from '../limits/attempts.ts'
import { limitConfirmation } from '../limits/mails.ts'
import { MAIL_SWITCHES, type MailSwitch } from '../mail/schema.ts'
import { checkCurrentPassword } from './current-password.ts'
import { checkEmailFree, requestConfirmation } from './emails.ts'
import type { User } from './schema.ts'
import { readUser } from './user.ts'

export type UserChanges = {
  name?: string | null
  email?: string
  currentPassword?: string
  mail?: Partial<Record<MailSwitch, boolean>>
}

/** A new e-mail needs the password, since with it one could then take the account over. */
export async function updateMe(db: Db, instance: Instance, caller: UserCaller, changes: UserChanges): Promise<User> {
  const { email, currentPassword } = changes
  if (email !== undefined && currentPassword === undefined) failInput([PASSWORD_MISSING])
  if (email !== undefined) await checkCurrentPassword(db, instance, caller, currentPassword ?? '', null)
  try {
    return await db.transaction(async (tx) => {
      const isProven = await lockUser(tx, caller)
      const before = await readUser(tx, caller.id)
      const changed = await writeChanges(tx, before, changes)
      if (email !== undefined && instance.mail) await changeByMail(tx, instance, before, isProven, email, caller.ip)
      else if (email !== undefined && email !== before.email) {
        await changeAtOnce(tx, caller.id, email)
        changed.push('email')
      }
      if (changed.length > 0) await writeEvents(tx, [newEvent(caller, null, 'user.updated', caller.id, { changed })])
      return readUser(tx, caller.id)
    })
  } catch (error) {
    return violatedConstraint(error) === 'users_email_key' ? fail('email_taken') : Promise.reject(error)
  }
}

/**
 * The user, then their session, before anything else is written: whoever ends the session also ends the new e-mail. Tells
 * whether somebody who was signed in has confirmed the e-mail.
 */
async function lockUser(tx: Db, caller: UserCaller): Promise<boolean> {
  const user = await tx.one<Pick<UsersRow, 'email_proven'>>(sql`
    select email_proven
      from users
     where id = ${caller.id}
       for no key update`)
  await recheckUser(tx, caller)
  return user?.email_proven ?? false
}

const PASSWORD_MISSING: Fault = {
  pointer: '#/currentPassword',
  code: 'required',
  detail: 'Send your current password to change the e-mail address.',
}

/** Name and switches. The names of the fields that differ from before. */
async function writeChanges(tx: Db, before: User, { name = before.name, mail = {} }: UserChanges): Promise<string[]> {
  const after = { ...before.mail, ...mail }
  const changed = [
    ...(name === before.name ? [] : ['name']),
    ...(MAIL_SWITCHES.every((each) => after[each] === before.mail[each]) ? [] : ['mail']),
  ]
  if (changed.length > 0)
    await tx.query(sql`
      update users
         set name = ${name}, mail_off = ${MAIL_SWITCHES.filter((each) => !after[each])}, updated_at = ${now()}
       where id = ${before.id}
         and erased_at is null`)
  return changed
}

/**
 * The e-mail counts once it is confirmed. Giving the present one again mails another link, unless somebody who was signed in
 * has confirmed it.
 */
async function changeByMail(
  tx: Db,
  instance: Instance,
  before: User,
  isProven: boolean,
  email: string,
  ip: string,
): Promise<void> {
  if (email === before.email && before.emailVerified && isProven) return
  const wait = await limitConfirmation(tx, instance, before.id, email)
  if (wait !== null) failTooMany(wait, 'requests to confirm an e-mail')
  if (email !== before.email) await checkEmailFree(tx, email)
  await requestConfirmation(tx, instance, before, email, ip)
}

async function changeAtOnce(tx: Db, userId: string, email: string): Promise<void> {
  await tx.query(sql`
    update users
       set email = ${email}, email_verified_at = null, email_proven = false, updated_at = ${now()}
     where id = ${userId}
       and erased_at is null`)
  await tx.query(sql`delete from user_tokens where user_id = ${userId}`)
}
