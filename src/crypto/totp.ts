// Time-based one-time passwords (RFC 6238) as every authenticator app makes them: SHA-1, 6 digits, 30 seconds. It is one
// HMAC and the base32 of its key, so there is no library for it.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { randomBytes } from './random.ts'
import { Secret } from './secret.ts'

const STEP_MS = 30_000
/** Clocks differ, and people type slowly: the codes of the step before and after count too. */
const WINDOW = 1
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function newTotpSecret(): Buffer {
  return Buffer.from(randomBytes(20))
}

/** As a person types it into an app. */
export function toBase32(bytes: Uint8Array): string {
  let [text, bits, rest] = ['', 0, 0]
  for (const byte of bytes) {
    rest = (rest << 8) | byte
    for (bits += 8; bits >= 5; bits -= 5) text += BASE32[(rest >>> (bits - 5)) & 31]
    rest &= (1 << bits) - 1
  }
  return bits > 0 ? text + BASE32[(rest << (5 - bits)) & 31] : text
}

/** As apps read it, from a QR code or a link. */
export function totpUri(secret: Uint8Array, issuer: string, account: string): Secret {
  const query = `secret=${toBase32(secret)}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=6&period=30`
  return new Secret(`otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(account)}?${query}`)
}

export function totpStep(atMs: number): number {
  return Math.floor(atMs / STEP_MS)
}

export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) as number) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** The newest step in the window that this is the code of, or null. Takes as long for every code of 6 digits. */
export function matchTotp(secret: Uint8Array, code: string, atMs: number): number | null {
  const given = Buffer.from(code)
  let found: number | null = null
  for (let step = totpStep(atMs) - WINDOW; step <= totpStep(atMs) + WINDOW; step++) {
    const expected = Buffer.from(totpCode(secret, step))
    if (given.length === expected.length && timingSafeEqual(given, expected)) found = step
  }
  return found
}
