// Is this key good, and for this? Asked by the back ends of the platform, for every request they get. Answered from
// memory (auth/key-cache.ts), counted in memory (usage.ts); only a key that has rate limits or credits costs a statement
// (rate-limit.ts, spend.ts), which all requests of the same moment share.

import type { CachedKey } from '../auth/cached-key.ts'
import type { KeyCache } from '../auth/key-cache.ts'
import { isUnavailable, withPatience } from '../auth/last-known.ts'
import { ago, nowMs } from '../core/clock.ts'
import { Failure, fail } from '../core/errors.ts'
import { ageOf, NEVER, thisMoment } from '../core/moment.ts'
import type { Permission } from '../core/permissions.ts'
import { keyFormOf } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import { firstRefusal, holds } from './checks.ts'
import { showSettings } from './columns.ts'
import { explainChecks, unknownKey } from './explain.ts'
import { wordsOf } from './input.ts'
import { purchaseFor, type Receipt, spendsSomething } from './purchase.ts'
import {
  type Introspected,
  type Introspection,
  type KeptVerdict,
  type LeaseAsker,
  type Outcome,
  type Question,
  type SpendOnce,
  VERIFIED_SETTINGS,
  type Verified,
  type Verifier,
} from './schema.ts'
import { type Conclude, type Concluded, peekAt, spend, spendStoring } from './spend.ts'
import type { Usage } from './usage.ts'

/** A purchase takes some milliseconds, unless somebody has locked what it spends. */
const LONG_WAIT_MS = 100
/** A key that changes again and again while it is verified is given up after so many. */
const MAX_TRIES = 5

type Parts = {
  db: Db
  instance: Instance
  keys: KeyCache
  usage: Usage
  onVerdict: (code: Outcome) => void
}

export function newVerifier(
  db: Db,
  instance: Instance,
  keys: KeyCache,
  usage: Usage,
  onVerdict: (code: Outcome) => void,
): Verifier {
  const parts: Parts = { db, instance, keys, usage, onVerdict }
  return {
    verify: (question, once = null) => verify(parts, question, once),
    verifyNow: (question) => verifyNow(parts, question),
    lease: (question, asker, once = null) => lease(parts, question, asker, once),
    explain: (question) => explain(parts, question),
    countOwnUse: ({ id: keyId, secretNo, rehashTo, ip }, outcome, permissions) =>
      usage.count({ keyId, secretNo, rehashTo, outcome, permissions, source: { ip, serviceId: null } }),
  }
}

/** Every verdict is counted once. */
function count({ instance, usage, onVerdict }: Parts, key: CachedKey | null, code: Outcome, question: Question): void {
  const { ip, serviceId } = question
  onVerdict(code)
  if (!key || code === 'NOT_FOUND') return
  usage.count({
    keyId: key.id,
    secretNo: key.secret_no,
    rehashTo: key.rehash_to,
    outcome: code,
    permissions: exercisedBy(instance, key, question),
    source: { ip: ip ?? null, serviceId },
  })
}

/** The catalogue may have changed since the question was written: what is in it no more is told, too. */
function unknownIn(instance: Instance, { permissions = [], anyPermissions }: Question): string[] {
  return (anyPermissions ? [...permissions, ...anyPermissions] : permissions).filter(
    (permission) => !instance.permissions.includes(permission),
  )
}

function verifyNow(parts: Parts, question: Question): Verified | null {
  const { keys, instance } = parts
  const key = keys.find(question.key, question.stores)
  if (key instanceof Promise || (key && spendsSomething(key)) || unknownIn(instance, question).length > 0) return null
  const code = key === null ? 'NOT_FOUND' : firstRefusal(instance, key, question)
  count(parts, key, code, question)
  return { kept: verdictOn(instance, key, code), more: null }
}

/** `key` is null when the database knows no such key. `asOf` is set where it could not be asked and the asker accepts that. */
type FoundKey = { key: CachedKey | null; asOf: string | null }

/** A promise only if the database is asked: most keys are in memory, and each promise costs a microsecond. */
function findKey(keys: KeyCache, question: Question): FoundKey | Promise<FoundKey> {
  if (question.askerKnownAt) return lastKnownKey(keys, question, null)
  const found = keys.find(question.key, question.stores)
  return found instanceof Promise ? lookUpKey(keys, question, found) : { key: found, asOf: null }
}

async function lookUpKey(keys: KeyCache, question: Question, lookUp: Promise<CachedKey | null>): Promise<FoundKey> {
  try {
    return { key: await (question.maxStaleSeconds ? withPatience(lookUp) : lookUp), asOf: null }
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return lastKnownKey(keys, question, error)
  }
}

function lastKnownKey(keys: KeyCache, question: Question, failure: unknown): FoundKey {
  const { key: token, stores, maxStaleSeconds = 0, askerKnownAt = null } = question
  const known = keys.lastKnown(token, stores)
  const ageMs = Math.max(ageOf(known?.trueUpTo ?? NEVER), askerKnownAt ? ageOf(askerKnownAt) : 0)
  if (!known || spendsSomething(known.found) || ageMs > maxStaleSeconds * 1_000)
    throw failure ?? new Failure('unavailable', { retryAfterSeconds: 1 })
  return { key: known.found, asOf: ago(ageMs).toISOString() }
}

async function verify(parts: Parts, question: Question, once: SpendOnce | null): Promise<Verified> {
  const { db, instance, keys } = parts
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = findKey(keys, question)
    const { key, asOf } = found instanceof Promise ? await found : found
    const code = key ? firstRefusal(instance, key, question) : 'NOT_FOUND'
    const purchase = key && code === 'VALID' ? purchaseFor(key, question) : null
    if (!key || !purchase) {
      count(parts, key, code, question)
      return withUnknown(parts, question, verdictOn(instance, key, code), asOf === null ? null : { asOf })
    }
    const conclude = newConclude(parts, question, key)
    const concluded = once ? await spendStoring(db, purchase, once, conclude) : conclude(await spend(db, key, purchase))
    const spent = concluded instanceof Promise ? await concluded : concluded
    if (spent) {
      count(parts, spent.key, spent.code, question)
      return spent.verdict
    }
    keys.invalidate(key.id)
  }
  return fail('unavailable', { retryAfterSeconds: 1 })
}

/** The key may have changed while its purchase waited for a lock. What was spent stays spent. */
function newConclude(parts: Parts, question: Question, key: CachedKey): Conclude {
  const began = thisMoment()
  const concludeOn = (now: CachedKey, code: Outcome, left: Receipt['left']): Concluded => ({
    key: now,
    code,
    verdict: withUnknown(parts, question, verdictOn(parts.instance, now, code), left),
  })
  return ({ code, left }) =>
    code === 'VALID' && ageOf(began) > LONG_WAIT_MS
      ? lookAgain(parts, question, key).then((again) => concludeOn(again.key, again.code, left))
      : concludeOn(key, code, left)
}

async function lookAgain(
  { keys, instance }: Parts,
  question: Question,
  before: CachedKey,
): Promise<{ key: CachedKey; code: Outcome }> {
  const key = await keys.find(question.key, question.stores)
  return key ? { key, code: firstRefusal(instance, key, question) } : { key: before, code: 'NOT_FOUND' }
}

/**
 * Only for a verdict that is still that of the cached key: one that changed while it was looked up is in no cache. An
 * imported value may be in several stores, so only an asker with a single one may keep what it means there.
 */
async function lease(
  parts: Parts,
  question: Question,
  { receivedAt, storeIds }: LeaseAsker,
  once: SpendOnce | null,
): ReturnType<Verifier['lease']> {
  const verdict = await verify(parts, question, once)
  const known = verdict.kept.valid ? parts.keys.peek(question.key, question.stores) : null
  if (verdict.more || known?.key.verdict !== verdict.kept || spendsSomething(known.key)) return { verdict, lease: null }
  if (keyFormOf(parts.instance.keyPrefix, question.key) !== 'issued' && storeIds?.length !== 1)
    return { verdict, lease: null }
  const { valid_until, secret_no: secret, ip_allowlist } = known.key
  return {
    verdict,
    lease: {
      ageMs: Math.max(0, Math.ceil(ageOf(known.trueUpTo) - (performance.now() - receivedAt))),
      validForMs: Number.isFinite(valid_until) ? Math.max(0, Math.floor(valid_until - nowMs())) : null,
      secret,
      byAddress: ip_allowlist !== null,
    },
  }
}

async function explain(parts: Parts, question: Question): Promise<Verified> {
  const { db, instance, keys } = parts
  if (question.askerKnownAt) fail('unavailable', { retryAfterSeconds: 1 })
  const key = await keys.find(question.key, question.stores)
  if (!key) return { kept: NOT_FOUND, more: { checks: [unknownKey(instance, question)] } }
  const purchase = purchaseFor(key, question)
  const receipt = purchase && (await db.batched(peekAt, purchase))
  const checks = explainChecks(instance, key, question, receipt)
  const code = checks.find((check) => !check.ok)?.code ?? 'VALID'
  if (code === 'NOT_FOUND') return { kept: NOT_FOUND, more: { checks: checks.slice(0, 1) } }
  return withUnknown(parts, question, verdictOn(instance, key, code), { ...receipt?.left, checks })
}

const NOT_FOUND = {
  valid: false,
  code: 'NOT_FOUND',
  keyId: null,
  storeId: null,
  ...Object.fromEntries(VERIFIED_SETTINGS.map((name) => [name, null])),
} as KeptVerdict

function withUnknown({ instance }: Parts, question: Question, kept: KeptVerdict, more: Verified['more']): Verified {
  const unknownPermissions = unknownIn(instance, question)
  return { kept, more: unknownPermissions.length === 0 ? more : { ...more, unknownPermissions } }
}

/** Without a key, or with one that the asker must not know of, the verdict is that on a key that does not exist. */
function verdictOn(instance: Instance, key: CachedKey | null, code: Outcome): KeptVerdict {
  if (!key || code === 'NOT_FOUND') return NOT_FOUND
  if (key.verdict?.code === code) return key.verdict
  const { metadata } = key
  const row = { ...key, permissions: heldBy(instance, key), metadata: {} }
  key.verdict = {
    valid: code === 'VALID',
    code,
    keyId: key.id,
    storeId: key.store_id,
    ...showSettings(row, VERIFIED_SETTINGS),
    metadata,
  }
  return key.verdict
}

/** Of `anyPermissions` all that the key holds: which of them let it in nobody can tell, so none of them is unneeded. */
function exercisedBy(instance: Instance, key: CachedKey, { permissions = [], anyPermissions }: Question) {
  if (!anyPermissions) return permissions
  return [...permissions, ...anyPermissions.filter((permission) => holds(instance, key, permission))]
}

/** Without the permissions that the operator took out of the catalogue. */
function heldBy(instance: Instance, key: CachedKey): Permission[] {
  return key.permissions.filter((permission) => instance.permissions.includes(permission))
}

/** RFC 7662: for every reason that a key is not good, the answer is the same. */
export async function introspect(
  verifier: Verifier,
  { token, scope, types, ip }: Introspection,
  { stores, serviceId }: Pick<Question, 'stores' | 'serviceId'>,
  once: SpendOnce | null,
): Promise<Introspected> {
  const question = {
    key: token,
    stores,
    serviceId,
    ...(scope ? { permissions: wordsOf(scope) } : {}),
    // parseIntrospection has checked that these are types.
    ...(types ? { types: wordsOf(types) as Question['types'] } : {}),
    ...(ip ? { ip } : {}),
  } as Question
  return showIntrospected((await verifier.verify(question, once)).kept)
}

export function showIntrospected(verdict: Omit<KeptVerdict, 'metadata'>): Introspected {
  if (!verdict.valid || verdict.keyId === null || verdict.storeId === null) return { active: false }
  return {
    active: true,
    scope: verdict.permissions?.join(' ') ?? '',
    client_id: verdict.keyId,
    sub: verdict.keyId,
    aud: verdict.storeId,
    token_type: 'Bearer',
    ...(verdict.owner === null ? {} : { owner: verdict.owner }),
    ...(verdict.expiresAt ? { exp: Math.floor(Date.parse(verdict.expiresAt) / 1000) } : {}),
  }
}
