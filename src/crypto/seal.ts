// Sealing text and bytes with AES-256-GCM. A sealed value is nonce (12 bytes), tag (16 bytes), ciphertext. `aad` says
// what it belongs to (ids, purpose): it is not kept in the sealed bytes, and unsealing with another one fails.

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { randomBytes } from './random.ts'

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
  // Node accepts a tag of 4 bytes unless `authTagLength` is given.
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(aad))
  decipher.setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
}
