// The form of the keys that the service issues: `<prefix>_<kind>_`, 32 base62 characters, and 6 of CRC-32 over all before. A
// text of a known kind with another length or checksum was never issued, and is refused without a question.

import { KEY_KINDS, type RefusedVerdict } from '../api.gen.ts'

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The verdict on a text that is no key: it tells nothing else. */
export const NOT_FOUND: RefusedVerdict = Object.freeze({
  valid: false,
  code: 'NOT_FOUND',
  keyId: null,
  storeId: null,
  name: null,
  type: null,
  permissions: null,
  metadata: null,
  expiresAt: null,
  owner: null,
})
const LENGTH = 38
const CHECKSUM_LENGTH = 6

/** Whether the text was certainly never issued. Kinds that are not known here, and imported keys, have to be asked for. */
export function isMalformed(prefix: string, text: string): boolean {
  if (!text.startsWith(`${prefix}_`)) return false
  const end = text.indexOf('_', prefix.length + 1)
  if (!KEY_KINDS.includes(text.slice(prefix.length + 1, end))) return false
  const random = text.slice(end + 1)
  if (random.length !== LENGTH || !/^[0-9A-Za-z]+$/.test(random)) return true
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH)
}

export function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = BASE62[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** Of ASCII characters, bit by bit: a table would take longer to make than the few texts that come here. */
function crc32(text: string): number {
  let crc = -1
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i)
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}
