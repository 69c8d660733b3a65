// Each user has a random key of their own, and their personal text is sealed under it. The key itself is kept wrapped
// under one derived from the server secret. Destroying the wrapped key makes the text unreadable everywhere at once,
// in backups too.

import { type Keyring, keysOf, open, randomBytes, seal } from '../secrets.ts'

export function newDataKey(keyring: Keyring, userId: string): { wrapped: Buffer; kid: string } {
  const { current } = keyring
  return { wrapped: seal(wrappingKey(current, userId), randomBytes(32), userId), kid: current.kid }
}

export function unwrapDataKey(keyring: Keyring, user: { id: string; dataKey: Buffer; dataKeyKid: string }): Buffer {
  const keys = keysOf(keyring, user.dataKeyKid)
  if (!keys)
    throw new Error(`The server secret ${user.dataKeyKid}, under which ${user.id}'s key is wrapped, is not here`)
  return open(wrappingKey(keys, user.id), user.dataKey, user.id)
}

function wrappingKey(keys: Keyring['current'], userId: string): Buffer {
  return keys.hmac('user-key-wrap', userId)
}
