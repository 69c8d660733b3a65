// Recovery codes: ten, each of which stands in once for an authenticator app or a passkey that is lost. They are kept as
// HMACs under the user's data key, so that nobody can try them out against a copy of the database alone, and so that a new
// server secret, which moves that key, does not touch them.

import { createHmac } from 'node:crypto'
import { unwrapDataKey, type WrappedKey } from '../auth/data-key.ts'
import { checkRecentSignIn } from '../auth/recent-sign-in.ts'
import type { UserCaller } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import { randomBytes } from '../crypto/random.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { lockFactors, tellFactorChange } from './factor-changes.ts'
import { hasFactor } from './factors.ts'

const COUNT = 10
/** 50 bits. Without letters that look like others. */
const LENGTH = 10
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** `xxxxx-xxxxx`. */
function newCode(): string {
  const text = Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte & 31]).join('')
  return `${text.slice(0, LENGTH / 2)}-${text.slice(LENGTH / 2)}`
}

/** As it was meant: people mistake letters, leave out the hyphen and write capitals. */
function normalize(code: string): string {
  return code.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
}

function hashCode(instance: Instance, user: WrappedKey, code: string): string {
  const key = unwrapDataKey(instance.keyring, user)
  return createHmac('sha256', key)
    .update(`storekeeper/v1/recovery-code/${normalize(code)}`)
    .digest('hex')
}

/** New ones in place of those before. Not confirmed: they count once the app is that they were shown with. */
export async function writeRecoveryCodes(
  tx: Db,
  instance: Instance,
  user: WrappedKey,
  confirmed: boolean,
): Promise<string[]> {
  const codes = Array.from({ length: COUNT }, newCode)
  const hashes = codes.map((code) => hashCode(instance, user, code))
  await tx.query(sql`
    delete from recovery_codes
     where user_id = ${user.id}
       and confirmed = ${confirmed}`)
  await tx.query(sql`
    insert into recovery_codes (user_id, hash, confirmed)
    select ${user.id}, decode(hash, 'hex'), ${confirmed}
      from unnest(${hashes}::text[]) as hash`)
  return codes
}

export async function replaceRecoveryCodes(tx: Db, instance: Instance, caller: UserCaller): Promise<string[]> {
  await checkRecentSignIn(tx, caller)
  if (!hasFactor(await lockFactors(tx, caller))) fail('second_factor_not_found')
  const codes = await writeRecoveryCodes(tx, instance, caller, true)
  await writeEvents(tx, [newEvent(caller, null, 'user.recovery_codes_replaced', caller.id, {})])
  await tellFactorChange(tx, instance, caller.id, caller.ip, 'codes_replaced')
  return codes
}

/** Of two concurrent requests one uses the code. */
export async function useRecoveryCode(
  tx: Db,
  instance: Instance,
  user: WrappedKey,
  code: string,
  ip: string,
): Promise<boolean> {
  const used = await tx.query(sql`
    delete from recovery_codes
     where user_id = ${user.id}
       and hash = decode(${hashCode(instance, user, code)}, 'hex')
       and confirmed
 returning user_id`)
  if (used.length === 0) return false
  const left = await tx.one<{ count: number }>(sql`
    select count(*)::int as count
      from recovery_codes
     where user_id = ${user.id}
       and confirmed`)
  const actor = { kind: 'user', id: user.id, ip }
  await writeEvents(tx, [newEvent(actor, null, 'user.recovery_code_used', user.id, { left: left?.count ?? 0 })])
  await tellFactorChange(tx, instance, user.id, ip, 'code_used')
  return true
}
