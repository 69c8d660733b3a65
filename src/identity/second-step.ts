// What a right password is answered with when the account has a second factor: a challenge instead of a session.

import { fail } from '../core/errors.ts'
import { sha256 } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { newChallenge } from './challenge.ts'
import { hasFactor, readFactors } from './factors.ts'
import { describePasskeys, requestOptions } from './webauthn.ts'

/** Under the user's lock: a factor that is being enabled is seen, or its change ends the session that is opened now. */
export async function requireSecondFactor(
  tx: Db,
  instance: Instance,
  { id, password_hash: passwordHash }: Pick<UsersRow, 'id' | 'password_hash'>,
): Promise<void> {
  const factors = await readFactors(tx, id)
  if (!hasFactor(factors)) return
  const bound = { userId: id, password: fingerprint(passwordHash) }
  const { text, expiresAt } = newChallenge(instance.keyring, 'second-factor', bound)
  const passkeys = factors.passkeys > 0 ? await describePasskeys(tx, id) : null
  fail('second_factor_required', {
    members: {
      challenge: text,
      expiresAt: expiresAt.toISOString(),
      methods: [
        ...(factors.has_totp ? ['totp'] : []),
        ...(passkeys ? ['passkey'] : []),
        ...(factors.recovery_codes > 0 ? ['recovery_code'] : []),
      ],
      ...(passkeys ? { passkey: requestOptions(instance, text, passkeys) } : {}),
    },
  })
}

/** Names one password of a user. */
export function fingerprint(passwordHash: string | null): string {
  return sha256(passwordHash ?? '').toString('base64url')
}
