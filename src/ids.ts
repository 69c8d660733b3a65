// Ids are TypeIDs: a word, `_`, and a UUIDv7 in 26 characters of Crockford's base32. They sort by the moment
// they were made, also within one millisecond of one process, so "newest first" is `order by id desc` and a
// list's cursor is just the last id. The database keeps the text as it stands in the API: what you read in a log
// is what you search for. (The `uuid` package orders ids only when it reads the time itself; ours comes from `clock`.)

import { now } from './clock.ts'
import { randomBytes } from './secrets.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const WELL_FORMED = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/

export type IdKind = 'store' | 'user' | 'key' | 'addr' | 'evt' | 'wh' | 'dlv' | 'inv' | 'sess' | 'svc' | 'req'

export function newId(kind: IdKind): string {
  return `${kind}_${base32(uuid7())}`
}

export function isId(kind: IdKind, text: string): boolean {
  return text.startsWith(`${kind}_`) && WELL_FORMED.test(text.slice(kind.length + 1))
}

let lastMs = 0
let count = 0

/** 48 bits of time, 12 bits that count within the millisecond, 62 random bits (RFC 9562, method 1). */
function uuid7(): Uint8Array {
  const bytes = randomBytes(16)
  const ms = now().getTime()
  if (ms === lastMs) count += 1
  else count = ((bytes[6] as number) << 3) | ((bytes[7] as number) & 7)
  lastMs = ms
  const time = ms + (count > 4095 ? count >>> 12 : 0)
  for (let i = 0, shift = 2 ** 40; i < 6; i++, shift /= 256) bytes[i] = Math.floor(time / shift) & 255
  bytes[6] = 0x70 | ((count >>> 8) & 15)
  bytes[7] = count & 255
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
  return bytes
}

/** 128 bits in 26 characters: two zero bits in front, then 5 bits a character. */
function base32(bytes: Uint8Array): string {
  let text = ''
  let bits = 2
  let buffer = 0
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(buffer >>> bits) & 31]
    }
    buffer &= (1 << bits) - 1
  }
  return text
}
