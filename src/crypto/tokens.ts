// The text form of keys and tokens: `<prefix>_<kind>_`, random base62 characters, and 6 base62 characters of CRC-32
// over all before. The checksum lets us (and anyone's secret scanner) refuse a mistyped token without asking the
// database.

import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { KEY_TOKEN_KINDS, type KeyTokenKind } from '../core/key-types.ts'
import { randomBytes } from './random.ts'
import { Secret } from './secret.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECKSUM_LENGTH = 6

export type TokenKind = KeyTokenKind | 'sess' | 'svc' | 'inv' | 'reset' | 'confirm'

/** How many random characters each kind of token has: 32 are 190 bits, 43 are 256. */
const KEY_LENGTH = 32
const keyLengths = Object.fromEntries(KEY_TOKEN_KINDS.map((kind) => [kind, KEY_LENGTH])) as Record<KeyTokenKind, number>
const TOKEN_LENGTH: Record<TokenKind, number> = { ...keyLengths, sess: 43, svc: 43, inv: 43, reset: 43, confirm: 43 }
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

/** An API key of a store, not a session, service or invitation token. */
export function isKeyToken(prefix: string, text: string): boolean {
  const kind = tokenKind(prefix, text)
  return kind !== null && isKeyKind(kind)
}

/** `issued`: by us. `imported`: it may have been issued elsewhere, and imported. */
export type KeyForm = 'issued' | 'imported'

/** Null for what is no key. A text with our prefix is never taken for an imported key. */
export function keyFormOf(prefix: string, text: string): KeyForm | null {
  if (text.startsWith(`${prefix}_`)) return isKeyToken(prefix, text) ? 'issued' : null
  return IMPORTED_VALUE.test(text) ? 'imported' : null
}

/** The values that can be imported: visible ASCII characters. */
export const IMPORTED_VALUE = /^[\x21-\x7e]{8,512}$/

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
