// Everything that must not be known. Randomness, the text form of tokens, the keys derived from the server secret,
// and the sealing of text. A secret in the code is a `Secret`, which prints as `[secret]`: the plain value is asked
// for by name, so `reveal()` is the word to search for when you want to know where secrets go.

import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, randomFillSync } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { KEY_TOKEN_KINDS, type KeyTokenKind } from '../core/key-types.ts'

export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]'
  }
}

// ---- randomness -------------------------------------------------------------------------------------------------

// Drawn from the system a page at a time, and wiped from the page as it is handed out.
const pool = new Uint8Array(8192)
let used = pool.length

export function randomBytes(length: number): Uint8Array {
  if (used + length > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = pool.slice(used, used + length)
  pool.fill(0, used, used + length)
  used += length
  return bytes
}

// ---- tokens -----------------------------------------------------------------------------------------------------
// `<prefix>_<kind>_` + base62 characters + 6 base62 characters of CRC-32 over all that stands before. The checksum
// lets us (and anyone's secret scanner) refuse a mistyped token without asking the database.

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECKSUM_LENGTH = 6

export type TokenKind = KeyTokenKind | 'sess' | 'svc' | 'inv'

/** How many random characters each kind of token has: 32 are 190 bits, 43 are 256. */
const KEY_LENGTH = 32
const keyLengths = Object.fromEntries(KEY_TOKEN_KINDS.map((kind) => [kind, KEY_LENGTH])) as Record<KeyTokenKind, number>
const TOKEN_LENGTH: Record<TokenKind, number> = { ...keyLengths, sess: 43, svc: 43, inv: 43 }
export const TOKEN_KINDS = Object.keys(TOKEN_LENGTH) as TokenKind[]

/** Keys and tokens in any text, whatever their prefix, also those that were cut short. */
export const TOKENS_IN_TEXT = new RegExp(`\\b[a-z][a-z0-9]{1,15}_(${TOKEN_KINDS.join('|')})_[0-9A-Za-z]{20,}`, 'g')

/** How long a whole token is. */
export function tokenLength(prefix: string, kind: TokenKind): number {
  return `${prefix}_${kind}_`.length + TOKEN_LENGTH[kind] + CHECKSUM_LENGTH
}

export function mintToken(prefix: string, kind: TokenKind): Secret {
  const body = `${prefix}_${kind}_${base62(TOKEN_LENGTH[kind])}`
  return new Secret(body + checksum(body))
}

/** The token's kind, or null for anything that we can never have issued. Touches no database. */
export function tokenKind(prefix: string, text: string): TokenKind | null {
  if (!text.startsWith(`${prefix}_`)) return null
  const end = text.indexOf('_', prefix.length + 1)
  const kind = text.slice(prefix.length + 1, end)
  if (end < 0 || !Object.hasOwn(TOKEN_LENGTH, kind)) return null
  const random = text.slice(end + 1)
  if (random.length !== TOKEN_LENGTH[kind as TokenKind] + CHECKSUM_LENGTH || !/^[0-9A-Za-z]+$/.test(random)) return null
  const body = text.slice(0, -CHECKSUM_LENGTH)
  return checksum(body) === text.slice(-CHECKSUM_LENGTH) ? (kind as TokenKind) : null
}

/** The kind of a store's key, rather than of a session, a service or an invitation. */
export function isKeyKind(kind: TokenKind): kind is KeyTokenKind {
  return Object.hasOwn(keyLengths, kind)
}

export function isKeyToken(prefix: string, text: string): boolean {
  const kind = tokenKind(prefix, text)
  return kind !== null && isKeyKind(kind)
}

/** Whether a key or token with this prefix stands anywhere in the text. */
export function containsToken(prefix: string, text: string): boolean {
  return new RegExp(`${prefix}_[a-z]+_[0-9A-Za-z]{${KEY_LENGTH + CHECKSUM_LENGTH}}`).test(text)
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = BASE62[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** Bytes of 248 and more are thrown away, so that every character is equally likely. */
function base62(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) if (byte < 248) text += BASE62[byte % 62]
  }
  return text
}

export function sha256(text: string): Buffer
export function sha256(text: string, encoding: 'base64'): string
export function sha256(text: string, encoding: 'buffer' | 'base64' = 'buffer'): Buffer | string {
  return hash('sha256', text, encoding)
}

// ---- the server secret and what is derived from it ---------------------------------------------------------------

/** One derived key for each purpose, so that what one of them protects says nothing about another. */
const PURPOSES = [
  'key-hash',
  'idempotency-lookup',
  'idempotency-seal',
  'cursor',
  'user-key-wrap',
  'sign-in',
  'webhook-secret',
] as const
export type Purpose = (typeof PURPOSES)[number]

export class ServerKeys {
  /** Names the server secret in a row without telling anything about it. */
  readonly kid: string
  readonly #keys: Record<Purpose, Buffer>

  constructor(secret: Buffer) {
    const derive = (info: string) => Buffer.from(hkdfSync('sha256', secret, '', `storekeeper/v1/${info}`, 32))
    this.kid = derive('kid').toString('hex', 0, 4)
    this.#keys = Object.fromEntries(PURPOSES.map((purpose) => [purpose, derive(purpose)])) as Record<Purpose, Buffer>
  }

  hmac(purpose: Purpose, ...parts: (string | Uint8Array)[]): Buffer {
    return hmac(this.#keys[purpose], ...parts)
  }

  /** A key of its own for one sealed thing: HKDF over the purpose's key and whatever else must be known to open it. */
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
 * Each part is led by its length, so that no two lists of parts ever look the same to the hash. Text is gathered and
 * handed over at once: each call into the hash costs more than the hashing.
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

// ---- sealing ------------------------------------------------------------------------------------------------------
// AES-256-GCM. A sealed thing is nonce (12 bytes), tag (16 bytes), ciphertext. `bound` is what it belongs to (ids,
// purpose): it is not kept in the sealed bytes, and opening with another fails.

export function seal(key: Uint8Array, plain: string | Uint8Array, aad: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from(aad))
  const body = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain)
  cipher.final()
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

/** Throws when the key, the bytes or what they are bound to differ. */
export function unseal(key: Uint8Array, sealed: Uint8Array, aad: string): Buffer {
  // Node takes a tag of 4 bytes for good unless told how long it is.
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(aad))
  decipher.setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
}
