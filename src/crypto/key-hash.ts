// What the database keeps of a key: an HMAC under the server secret.

import type { ServerKeys } from './keyring.ts'

/** Of a key that was issued here. */
export function hashKey(keys: ServerKeys, token: string): Buffer {
  return keys.hmac('key-hash', token)
}

/**
 * Of a key that was imported, whether its value was sent or only the SHA-256 of it. The store is part of the hash: the
 * same value may be a key of several stores, and none of them can find out whether it is one of another's.
 */
export function hashImportedKey(keys: ServerKeys, storeId: string, sha256: Uint8Array): Buffer {
  return keys.hmac('key-hash', 'imported', storeId, sha256)
}
