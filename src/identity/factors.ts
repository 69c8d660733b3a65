// What an account has for a second factor: an authenticator app (totp.ts), passkeys (passkeys.ts), and recovery codes for
// when both are lost (recovery-codes.ts). With any of the first two a password alone opens no session.

import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'

export type Factors = { has_totp: boolean; passkeys: number; recovery_codes: number }

/** `Factors`, as columns beside a row of `users`. */
export const factorColumns = sql`
  exists (select from totp_secrets where user_id = users.id and confirmed) as has_totp,
  (select count(*)::int from passkeys where user_id = users.id) as passkeys,
  (select count(*)::int from recovery_codes where user_id = users.id and confirmed) as recovery_codes`

export async function readFactors(db: Db, userId: string): Promise<Factors> {
  const row = await db.one<Factors>(sql`
    select ${factorColumns}
      from users
     where id = ${userId}`)
  return row ?? { has_totp: false, passkeys: 0, recovery_codes: 0 }
}

export function hasFactor({ has_totp: hasTotp, passkeys }: Factors): boolean {
  return hasTotp || passkeys > 0
}

export async function removeFactors(tx: Db, userId: string): Promise<void> {
  await tx.query(sql`delete from totp_secrets where user_id = ${userId}`)
  await tx.query(sql`delete from recovery_codes where user_id = ${userId}`)
  await tx.query(sql`delete from passkeys where user_id = ${userId}`)
}
