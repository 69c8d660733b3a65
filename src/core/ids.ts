// Ids are TypeIDs: a word, `_`, and a UUIDv7 in 26 characters of Crockford's base32. They sort by the moment
// they were made, also within one millisecond of one process, so "newest first" is `order by id desc` and a
// list's cursor is just the last id. The database keeps the text as it stands in the API: what you read in a log
// is what you search for. (The `uuid` package orders ids only when it reads the time itself; ours comes from `clock`.)

import { randomBytes } from '../crypto/random.ts'
import { nowMs } from './clock.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const WELL_FORMED = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/

export type IdKind =
  | 'store'
  | 'user'
  | 'key'
  | 'addr'
  | 'evt'
  | 'wh'
  | 'dlv'
  | 'inv'
  | 'sess'
  | 'svc'
  | 'mail'
  | 'passkey'
  | 'req'

export function newId(kind: IdKind): string {
  return `${kind}_${uuid7()}`
}

export function isId(kind: IdKind, text: string): boolean {
  return text.startsWith(`${kind}_`) && WELL_FORMED.test(text.slice(kind.length + 1))
}

let lastMs = 0
let count = 0
let timeText = ''
let encodedTime = 0

/**
 * 48 bits of time, 12 bits that count within the millisecond, 62 random bits (RFC 9562, method 1), and two zero bits in
 * front of them all, so that the time is the first ten characters, and each of the last twelve is random.
 */
function uuid7(): string {
  const random = randomBytes(15)
  const ms = nowMs()
  if (ms === lastMs) count += 1
  else count = ((random[12] as number) << 3) | ((random[13] as number) & 7)
  lastMs = ms
  const time = ms + (count > 4095 ? count >>> 12 : 0)
  if (time !== encodedTime) {
    encodedTime = time
    timeText = base32(time, 10)
  }
  // The version, the count, the variant and the first two random bits.
  let text = timeText + base32((7 << 16) | ((count & 4095) << 4) | 8 | ((random[14] as number) & 3), 4)
  for (let i = 0; i < 12; i++) text += ALPHABET[(random[i] as number) & 31]
  return text
}

function base32(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text
  return text
}
