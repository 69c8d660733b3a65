// One-time tokens that reach a person outside the service, by mail or from the operator: to set a new password, or to
// confirm an e-mail. Only the hash is kept. A user has at most one for each purpose, so a newer one ends the older.

import { DAY, fromNow, HOUR, now } from '../core/clock.ts'
import type { Secret } from '../crypto/secret.ts'
import { mintToken, sha256, tokenKind } from '../crypto/tokens.ts'
import { deleteInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UserTokensRow } from '../db/tables.gen.ts'

const LIFETIME_MS = { reset: HOUR, confirm: 3 * DAY }
type TokenPurpose = keyof typeof LIFETIME_MS

/** `email`: the address it was mailed to; null when the operator has printed it. */
type UserToken = Pick<UserTokensRow, 'user_id' | 'email'>

export async function issueUserToken(
  tx: Db,
  prefix: string,
  purpose: TokenPurpose,
  { user_id: userId, email }: UserToken,
): Promise<{ token: Secret; expiresAt: Date }> {
  const token = mintToken(prefix, purpose)
  const expiresAt = fromNow(LIFETIME_MS[purpose])
  await tx.query(sql`
    insert into user_tokens (user_id, purpose, hash, email, created_at, expires_at)
    values (${userId}, ${purpose}, ${sha256(token.reveal())}, ${email}, ${now()}, ${expiresAt})
        on conflict (user_id, purpose) do update
       set hash = excluded.hash, email = excluded.email, created_at = excluded.created_at,
           expires_at = excluded.expires_at`)
  return { token, expiresAt }
}

/** Null for a token that is unknown, spent, replaced or expired. */
export async function findUserToken(
  db: Db,
  prefix: string,
  purpose: TokenPurpose,
  token: string,
): Promise<UserToken | null> {
  if (tokenKind(prefix, token) !== purpose) return null
  return db.one<UserToken>(sql`
    select user_id, email
      from user_tokens
     where hash = ${sha256(token)}
       and purpose = ${purpose}
       and expires_at > ${now()}`)
}

/** Of two concurrent requests one spends the token. Under the user's lock, which comes before it in the order of locks. */
export async function spendUserToken(tx: Db, purpose: TokenPurpose, token: string): Promise<boolean> {
  const spent = await tx.query(sql`
    delete from user_tokens
     where hash = ${sha256(token)}
       and purpose = ${purpose}
       and expires_at > ${now()}
 returning user_id`)
  return spent.length > 0
}

/** For a changed password or a disabled account: ends the links that were made before it. */
export async function endUserTokens(tx: Db, userId: string): Promise<void> {
  await endEmailChange(tx, userId)
  await tx.query(sql`
    delete from user_tokens
     where user_id = ${userId}
       and purpose = 'reset'`)
}

/**
 * For whatever shuts others out of an account: one of them may have asked for another e-mail. A confirmation goes on only
 * for the address that the account has already, or for the first one of an account that has none.
 */
export async function endEmailChange(tx: Db, userId: string): Promise<void> {
  await tx.query(sql`
    delete from user_tokens
     using users
     where user_tokens.user_id = ${userId}
       and user_tokens.purpose = 'confirm'
       and users.id = user_tokens.user_id
       and users.email <> user_tokens.email`)
}

/** Maintenance. */
export function purgeUserTokens(db: Db): Promise<number> {
  return deleteInBatches(db, 'user_tokens', sql`expires_at < ${now()} order by expires_at`)
}

/** Links for a new password that were mailed to an e-mail that the account has no more. */
export async function endResetLinks(tx: Db, userId: string): Promise<void> {
  await tx.query(sql`
    delete from user_tokens
     where user_id = ${userId}
       and purpose = 'reset'`)
}
