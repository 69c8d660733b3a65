// The checks of a verification that the key itself decides.

import { type CachedKey, refusalOf } from '../auth/cached-key.ts'
import { isIpAllowed } from '../auth/ip.ts'
import type { Instance } from '../instance.ts'
import type { Outcome, Question } from './schema.ts'

/** The first check that fails. Credits and rate limits come after these: asking for them spends them. */
export function firstRefusal(instance: Instance, key: CachedKey, question: Question): Outcome {
  if (ofAnotherStore(key, question)) return 'NOT_FOUND'
  const refusal = refusalOf(key)
  if (refusal) return refusal
  if (ofWrongType(key, question)) return 'WRONG_TYPE'
  if (ipRefused(key, question)) return 'FORBIDDEN_IP'
  return question.permissions?.every((permission) => holds(instance, key, permission)) === false ||
    lacksAny(instance, key, question)
    ? 'INSUFFICIENT_PERMISSIONS'
    : 'VALID'
}

export function ofAnotherStore(key: CachedKey, { stores }: Question): boolean {
  return stores?.includes(key.store_id) === false
}

export function ofWrongType(key: CachedKey, { types }: Question): boolean {
  return types?.includes(key.type) === false
}

/** An allow-list without an address to hold against it lets nobody in. */
export function ipRefused(key: CachedKey, { ip }: Question): boolean {
  return key.ip_allowlist !== null && (ip === undefined || !isIpAllowed(key.ip_allowlist, ip))
}

export function holds(instance: Instance, key: CachedKey, permission: string): boolean {
  return key.permissions.includes(permission) && instance.permissions.includes(permission)
}

export function lacksAny(instance: Instance, key: CachedKey, { anyPermissions }: Question): boolean {
  return anyPermissions?.some((permission) => holds(instance, key, permission)) === false
}
