// What every change of a second factor has in common: the lock, the sessions that end with it, its event and its mail.

import { CallerChanged, lockSession } from '../auth/recheck.ts'
import { endEmailChange } from '../auth/user-tokens.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { queueMailsTo } from '../mail/outbox.ts'
import type { FactorChange } from '../mail/texts.ts'
import { type Factors, hasFactor, readFactors } from './factors.ts'
import { endOtherSessions } from './sessions.ts'

/**
 * Before factors change: locks the user, and their session, which must still be there. A sign-in with the password holds the
 * same lock, so it either sees the change or is over before it.
 */
export async function lockFactors(tx: Db, caller: UserCaller): Promise<Factors> {
  const user = await tx.one<Pick<UsersRow, 'id'>>(sql`
    select id
      from users
     where id = ${caller.id}
       and erased_at is null
       and disabled_at is null
       for no key update`)
  if (!user || !(await lockSession(tx, caller))) throw new CallerChanged()
  return readFactors(tx, caller.id)
}

/**
 * A user of an identity provider has their second factor there. A passkey here would let them in when the provider has long
 * shut them out.
 */
export async function checkHasPassword(db: Db, caller: UserCaller): Promise<void> {
  const user = await db.one(sql`
    select id
      from users
     where id = ${caller.id}
       and password_hash is not null`)
  if (!user) fail('no_password')
}

export type FactorMethod = 'totp' | 'passkey'

/** With the first factor all other sessions end: they were opened with the password alone. */
export async function enableFactor(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  before: Factors,
  method: { method: FactorMethod; passkeyId?: string },
): Promise<void> {
  if (!hasFactor(before)) await endOtherSessions(tx, caller)
  await endEmailChange(tx, caller.id)
  await writeEvents(tx, [newEvent(caller, null, 'user.second_factor_enabled', caller.id, method)])
  await tellFactorChange(tx, instance, caller.id, caller.ip, `${method.method}_added`)
}

/** With the last factor the recovery codes go too. */
export async function disableFactor(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  method: { method: FactorMethod; passkeyId?: string },
): Promise<void> {
  if (!hasFactor(await readFactors(tx, caller.id)))
    await tx.query(sql`delete from recovery_codes where user_id = ${caller.id}`)
  await endEmailChange(tx, caller.id)
  await writeEvents(tx, [newEvent(caller, null, 'user.second_factor_disabled', caller.id, method)])
  await tellFactorChange(tx, instance, caller.id, caller.ip, `${method.method}_removed`)
}

/** `ip`: null when it was the operator. */
export async function tellFactorChange(
  tx: Db,
  instance: Instance,
  userId: string,
  ip: string | null,
  change: FactorChange,
): Promise<void> {
  const data = { at: now().toISOString(), change, ip: ip ?? '' }
  await queueMailsTo(tx, instance, sql`id = ${userId}`, null, { kind: 'second_factor', data })
}
