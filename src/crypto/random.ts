// Random bytes, drawn from the system a pool at a time: one call into the system costs more than the bytes.

import { randomFillSync } from 'node:crypto'

/** Bytes are wiped from the pool as they are handed out. */
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
