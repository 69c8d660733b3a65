// Challenges of a sign-in that has a second step, and of passkeys. A challenge is sealed instead of stored, so that asking
// for one writes nothing; whoever completes it leaves its hash behind, so that it works once. Its text is at the same time
// the challenge that a passkey signs.

import { fromNow, MINUTE, now } from '../core/clock.ts'
import type { Keyring, ServerKeys } from '../crypto/keyring.ts'
import { seal, unseal } from '../crypto/seal.ts'
import { sha256 } from '../crypto/tokens.ts'
import { deleteInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'

const LIFETIME_MS = 5 * MINUTE
/** A real one is a third of this. */
const MAX_LENGTH = 1_000

/** What each kind of challenge is bound to. */
type Bindings = {
  /** The password was right: whose it was, and a fingerprint of its hash. */
  'second-factor': { userId: string; password: string }
  /** Somebody wants to sign in with a passkey; who it is, the passkey says. */
  passkey: Record<never, never>
  /** A signed-in user registers a passkey. */
  register: { userId: string; sessionId: string | null }
}
type Kind = keyof Bindings

export type Challenge<K extends Kind> = { text: string; expiresAt: Date; bound: Bindings[K] }

export function newChallenge<K extends Kind>({ current }: Keyring, kind: K, bound: Bindings[K]): Challenge<K> {
  const expiresAt = fromNow(LIFETIME_MS)
  const plain = JSON.stringify({ expiresAt, bound })
  return { text: seal(sealingKey(current, kind), plain, kind).toString('base64url'), expiresAt, bound }
}

/** Null for a challenge that is not ours, is of another kind, or has expired. `text` is then its one canonical form. */
export function openChallenge<K extends Kind>(keyring: Keyring, kind: K, text: string): Challenge<K> | null {
  if (text.length > MAX_LENGTH) return null
  const bytes = Buffer.from(text, 'base64url')
  for (const keys of [keyring.current, keyring.previous]) {
    const plain = keys && tryUnseal(keys, kind, bytes)
    if (!plain) continue
    // What was sealed under this key is what `newChallenge` wrote.
    const { expiresAt, bound } = JSON.parse(plain) as { expiresAt: string; bound: Bindings[K] }
    const end = new Date(expiresAt)
    return end > now() ? { text: bytes.toString('base64url'), expiresAt: end, bound } : null
  }
  return null
}

function tryUnseal(keys: ServerKeys, kind: Kind, bytes: Buffer): string | null {
  try {
    return unseal(sealingKey(keys, kind), bytes, kind).toString()
  } catch {
    return null
  }
}

function sealingKey(keys: ServerKeys, kind: Kind): Buffer {
  return keys.hmac('challenge', kind)
}

/** Of two concurrent requests one spends the challenge, or whatever else works once and has an end. */
export async function spendChallenge(
  tx: Pick<Db, 'query'>,
  { text, expiresAt }: Pick<Challenge<Kind>, 'text' | 'expiresAt'>,
): Promise<boolean> {
  const spent = await tx.query(sql`
    insert into spent_challenges (hash, expires_at)
    values (${sha256(text)}, ${expiresAt})
        on conflict do nothing
 returning hash`)
  return spent.length > 0
}

/** Maintenance. */
export function purgeChallenges(db: Db): Promise<number> {
  return deleteInBatches(db, 'spent_challenges', sql`expires_at < ${now()} order by expires_at`)
}
