// The authenticator app of an account. A new secret waits until its user has shown a code of it; until then the one before
// counts, if there is one.

import { unwrapDataKey, type WrappedKey } from '../auth/data-key.ts'
import { checkRecentSignIn } from '../auth/recent-sign-in.ts'
import type { UserCaller } from '../core/caller.ts'
import { ago, MINUTE, now, nowMs } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { seal, unseal } from '../crypto/seal.ts'
import { matchTotp, newTotpSecret, toBase32, totpUri } from '../crypto/totp.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { TotpSecretsRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { checkHasPassword, disableFactor, enableFactor, lockFactors } from './factor-changes.ts'
import type { NewTotp } from './factor-schema.ts'
import { writeRecoveryCodes } from './recovery-codes.ts'

/** How long a secret waits to be confirmed. */
const PENDING_MS = 15 * MINUTE

export async function startTotp(tx: Db, instance: Instance, caller: UserCaller): Promise<NewTotp> {
  await checkRecentSignIn(tx, caller)
  await checkHasPassword(tx, caller)
  await lockFactors(tx, caller)
  const secret = newTotpSecret()
  const sealed = seal(unwrapDataKey(instance.keyring, caller), secret, aadOf(caller.id))
  await tx.query(sql`
    insert into totp_secrets (user_id, confirmed, sealed, session_id, created_at)
    values (${caller.id}, false, ${sealed}, ${caller.sessionId}, ${now()})
        on conflict (user_id, confirmed) do update
       set sealed = excluded.sealed, session_id = excluded.session_id, created_at = excluded.created_at`)
  const recoveryCodes = await writeRecoveryCodes(tx, instance, caller, false)
  const uri = totpUri(secret, instance.name, caller.email ?? caller.id)
  return { secret: toBase32(secret), uri: uri.reveal(), recoveryCodes }
}

/** By the session that the secret was made with: no other has seen it. */
export async function confirmTotp(tx: Db, instance: Instance, caller: UserCaller, code: string): Promise<void> {
  const before = await lockFactors(tx, caller)
  const pending = await tx.one<Pick<TotpSecretsRow, 'sealed'>>(sql`
    select sealed
      from totp_secrets
     where user_id = ${caller.id}
       and not confirmed
       and session_id is not distinct from ${caller.sessionId}
       and created_at > ${ago(PENDING_MS)}`)
  if (!pending)
    return fail('second_factor_not_found', {
      detail: 'There is no authenticator app to confirm. Start with POST /v1/user/totp, and confirm within 15 minutes.',
    })
  const step = matchTotp(openSecret(instance, caller, pending.sealed), digitsOf(code), nowMs())
  if (step === null) return failInput([WRONG_CODE])
  await enableFactor(tx, instance, caller, before, { method: 'totp' })
  await tx.query(sql`delete from totp_secrets where user_id = ${caller.id} and confirmed`)
  // Its code is used up, as one at a sign-in.
  await tx.query(sql`
    update totp_secrets
       set confirmed = true, last_step = ${step}, session_id = null
     where user_id = ${caller.id}`)
  await tx.query(sql`delete from recovery_codes where user_id = ${caller.id} and confirmed`)
  await tx.query(sql`update recovery_codes set confirmed = true where user_id = ${caller.id}`)
}

const WRONG_CODE: Fault = {
  pointer: '#/code',
  code: 'wrong_code',
  detail: "This is not the app's current code. Check that the clock of your device is right.",
  example: '123456',
}

export async function removeTotp(tx: Db, instance: Instance, caller: UserCaller): Promise<void> {
  await checkRecentSignIn(tx, caller)
  const { has_totp: hasTotp } = await lockFactors(tx, caller)
  if (!hasTotp) fail('second_factor_not_found')
  await tx.query(sql`delete from totp_secrets where user_id = ${caller.id}`)
  await tx.query(sql`delete from recovery_codes where user_id = ${caller.id} and not confirmed`)
  await disableFactor(tx, instance, caller, { method: 'totp' })
}

/** Whether the code is right and newer than every one before it. Of two concurrent requests one uses it. */
export async function useTotpCode(tx: Db, instance: Instance, user: WrappedKey, code: string): Promise<boolean> {
  const row = await tx.one<Pick<TotpSecretsRow, 'sealed'>>(sql`
    select sealed
      from totp_secrets
     where user_id = ${user.id}
       and confirmed`)
  const step = row && matchTotp(openSecret(instance, user, row.sealed), digitsOf(code), nowMs())
  if (step === null) return false
  const used = await tx.query(sql`
    update totp_secrets
       set last_step = ${step}
     where user_id = ${user.id}
       and confirmed
       and last_step < ${step}
 returning user_id`)
  return used.length > 0
}

/** Apps show "123 456". */
export function digitsOf(code: string): string {
  return code.replace(/\s/g, '')
}

function openSecret(instance: Instance, user: WrappedKey, sealed: Buffer): Buffer {
  return unseal(unwrapDataKey(instance.keyring, user), sealed, aadOf(user.id))
}

function aadOf(userId: string): string {
  return `totp ${userId}`
}
