// The server secret and the keys derived from it. While the secret is being changed there are two: the current one
// writes, the previous one can still read.

import { createHmac, hkdfSync } from 'node:crypto'
import type { Secret } from './secret.ts'

/** One derived key for each purpose, so that what one of them protects says nothing about another. */
const PURPOSES = [
  'key-hash',
  'idempotency-lookup',
  'idempotency-seal',
  'cursor',
  'user-key-wrap',
  'sign-in',
  'webhook-secret',
  'customer-email',
  'mail-token',
  'oidc-attempt',
  'challenge',
] as const
export type Purpose = (typeof PURPOSES)[number]

export class ServerKeys {
  /** Names the server secret in a row without telling anything about it. */
  readonly kid: string
  readonly #check: Buffer
  readonly #keys: Record<Purpose, Buffer>

  constructor(secret: Buffer) {
    const derive = (info: string) => Buffer.from(hkdfSync('sha256', secret, '', `storekeeper/v1/${info}`, 32))
    this.kid = derive('kid').toString('hex', 0, 4)
    this.#check = derive('check')
    this.#keys = Object.fromEntries(PURPOSES.map((purpose) => [purpose, derive(purpose)])) as Record<Purpose, Buffer>
  }

  /** Kept in the database, to recognize the server secret by (db/secret-check.ts). */
  get check(): Buffer {
    return this.#check
  }

  hmac(purpose: Purpose, ...parts: (string | Uint8Array)[]): Buffer {
    return hmac(this.#keys[purpose], ...parts)
  }

  /** A key for one sealed value: HKDF over the purpose's key and `parts`, all of which are needed to open it. */
  deriveSealing(purpose: Purpose, salt: Uint8Array, ...parts: string[]): Buffer {
    const input = hmac(salt, this.#keys[purpose].toString('latin1'), ...parts)
    return hmac(input, `storekeeper/v1/${purpose}`, '\x01')
  }
}

/** The current secret writes; the previous one can still read, until everything has been written anew. */
export type Keyring = { current: ServerKeys; previous: ServerKeys | null }

export function newKeyring(secret: Secret, previous: Secret | null): Keyring {
  const current = serverKeys(secret)
  const before = previous && serverKeys(previous)
  return { current, previous: before?.kid === current.kid ? null : before }
}

function serverKeys(secret: Secret): ServerKeys {
  return new ServerKeys(Buffer.from(secret.reveal(), 'base64'))
}

export function keysById(keyring: Keyring, kid: string): ServerKeys | null {
  if (keyring.current.kid === kid) return keyring.current
  return keyring.previous?.kid === kid ? keyring.previous : null
}

/**
 * Each part is prefixed with its length, so that two different lists of parts never hash alike. Text is collected and
 * passed in one call: each call into the hash costs more than the hashing.
 */
function hmac(key: Uint8Array, ...parts: (string | Uint8Array)[]): Buffer {
  const mac = createHmac('sha256', key)
  let text = ''
  for (const part of parts) {
    text += `${Buffer.byteLength(part)}:`
    if (typeof part === 'string') text += part
    else {
      mac.update(text).update(part)
      text = ''
    }
  }
  return (text === '' ? mac : mac.update(text)).digest()
}
