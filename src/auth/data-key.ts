// Each user has a random key of their own, and their personal text is sealed under it. The key itself is kept wrapped
// under one derived from the server secret. Destroying the wrapped key makes the text unreadable, wherever a copy of it
// lies. (A copy of the whole database from before holds the wrapped key too: see docs/decisions/erasure.md.)

import { type Keyring, keysById } from '../crypto/keyring.ts'
import { randomBytes } from '../crypto/random.ts'
import { seal, unseal } from '../crypto/seal.ts'

/** The wrapped key of a user, and the name of the server secret it is wrapped under. */
export type WrappedKey = { id: string; dataKey: Buffer; dataKeyKid: string }

export function newDataKey(keyring: Keyring, userId: string): { wrapped: Buffer; kid: string } {
  return wrap(keyring, userId, randomBytes(32))
}

export function unwrapDataKey(keyring: Keyring, user: WrappedKey): Buffer {
  const before = unwrapped.get(user)
  if (before) return before
  const keys = keysById(keyring, user.dataKeyKid)
  if (!keys)
    throw new Error(`The server secret ${user.dataKeyKid}, under which ${user.id}'s key is wrapped, is not here`)
  const key = unseal(wrappingKey(keys, user.id), user.dataKey, user.id)
  unwrapped.set(user, key)
  return key
}
/** For as long as the caller's record itself lives, which is a request. */
const unwrapped = new WeakMap<WrappedKey, Buffer>()

/** The same key, wrapped under the current server secret. */
export function rewrapDataKey(keyring: Keyring, user: WrappedKey): { wrapped: Buffer; kid: string } {
  return wrap(keyring, user.id, unwrapDataKey(keyring, user))
}

function wrap({ current }: Keyring, userId: string, key: Uint8Array): { wrapped: Buffer; kid: string } {
  return { wrapped: seal(wrappingKey(current, userId), key, userId), kid: current.kid }
}

function wrappingKey(keys: Keyring['current'], userId: string): Buffer {
  return keys.hmac('user-key-wrap', userId)
}
