// Standard Webhooks (standardwebhooks.com): the receiver knows by the signature that a message is ours, whole and fresh.
// The secret is `whsec_` and 32 random bytes in base64. It has to be there when a message is signed, so it is kept sealed
// under a key derived from the server secret, and not as a hash.

import { createHmac } from 'node:crypto'
import { type Keyring, keysById } from '../crypto/keyring.ts'
import { randomBytes } from '../crypto/random.ts'
import { seal, unseal } from '../crypto/seal.ts'
import { Secret } from '../crypto/secret.ts'

const PREFIX = 'whsec_'

export type SealedSecret = { sealed: Buffer; kid: string }

export function mintSigningSecret(keyring: Keyring, webhookId: string): { secret: Secret; kept: SealedSecret } {
  const bytes = Buffer.from(randomBytes(32))
  return { secret: new Secret(PREFIX + bytes.toString('base64')), kept: sealSecret(keyring, webhookId, bytes) }
}

/** The bytes to sign with, or null when the server secret they were sealed under is no longer configured. */
export function openSecret(keyring: Keyring, webhookId: string, { sealed, kid }: SealedSecret): Buffer | null {
  const keys = keysById(keyring, kid)
  try {
    return keys && unseal(keys.hmac('webhook-secret', webhookId), sealed, webhookId)
  } catch {
    // Damaged. Only this webhook is affected.
    return null
  }
}

/** The same secret, sealed under the current server secret. */
export function resealSecret(keyring: Keyring, webhookId: string, kept: SealedSecret): SealedSecret {
  const bytes = openSecret(keyring, webhookId, kept)
  if (!bytes) throw new Error(`The server secret ${kept.kid}, under which ${webhookId}'s is sealed, is not here`)
  return sealSecret(keyring, webhookId, bytes)
}

function sealSecret({ current }: Keyring, webhookId: string, bytes: Buffer): SealedSecret {
  return { sealed: seal(current.hmac('webhook-secret', webhookId), bytes, webhookId), kid: current.kid }
}

/** One signature for each secret, the newest first: while a secret is being changed there are two. */
export function signedHeaders(secrets: readonly Buffer[], id: string, at: Date, body: string): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const sign = (secret: Buffer) =>
    `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(sign).join(' '),
  }
}
