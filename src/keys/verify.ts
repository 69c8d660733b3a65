// Is this key good, and for this? Asked by the back ends of the platform, for every request they get. Answered from
// memory (auth/key-cache.ts), counted in memory (usage.ts); only a key that has rate limits or credits costs a statement
// (rate-limit.ts, spend.ts), which all requests of the same moment share.

import type { CachedKey } from '../auth/cached-key.ts'
import type { KeyCache } from '../auth/key-cache.ts'
import { isUnavailable, withPatience } from '../auth/last-known.ts'
import { nowMs } from '../core/clock.ts'
import { Failure, fail } from '../core/errors.ts'
import type { Permission } from '../core/permissions.ts'
import { keyFormOf } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import { firstRefusal, holds } from './checks.ts'
import { showSettings } from './columns.ts'
import { explainChecks, unknownKey } from './explain.ts'
import { wordsOf } from './input.ts'
import { isRateLimitOnly, purchaseFor, type Receipt, spendsSomething } from './purchase.ts'
import { allowanceOf, spendRateLimit } from './rate-limit.ts'
import {
  type Introspected,
  type Introspection,
  type KeptVerdict,
  type LeaseAsker,
  type Outcome,
  type Question,
  type SpendOnce,
  VERIFIED_SETTINGS,
  type Verdict,
  type Verifier,
} from './schema.ts'
import { peekAt, spend } from './spend.ts'
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

/** Every verdict goes through here, to be counted. */
function conclude({ instance, usage, onVerdict }: Parts, key: CachedKey | null, code: Outcome, question: Question) {
  const { ip, serviceId } = question
  onVerdict(code)
  if (!key || code === 'NOT_FOUND') return NOT_FOUND
  usage.count({
    keyId: key.id,
    secretNo: key.secret_no,
    rehashTo: key.rehash_to,
    outcome: code,
    permissions: exercisedBy(instance, key, question),
    source: { ip: ip ?? null, serviceId },
  })
  return verdictOn(instance, key, code)
}

/** The catalogue may have changed since the question was written: what is in it no more is told, too. */
function unknownIn(instance: Instance, { permissions = [], anyPermissions }: Question): string[] {
  return (anyPermissions ? [...permissions, ...anyPermissions] : permissions).filter(
    (permission) => !instance.permissions.includes(permission),
  )
}

function verifyNow(parts: Parts, question: Question): KeptVerdict | null {
  const { keys, instance } = parts
  const key = keys.find(question.key, question.stores)
  if (key instanceof Promise || (key && spendsSomething(key)) || unknownIn(instance, question).length > 0) return null
  return conclude(parts, key, key === null ? 'NOT_FOUND' : firstRefusal(instance, key, question), question)
}

/** Null when the database knows no such key. `asOf` is set where it could not be asked and the asker accepts that. */
async function findKey(
  keys: KeyCache,
  { key: token, stores, maxStaleSeconds = 0, askerKnownAt = null }: Question,
): Promise<{ key: CachedKey | null; asOf: string | null }> {
  let failure: unknown = null
  if (askerKnownAt === null)
    try {
      const found = keys.find(token, stores)
      const isWaited = found instanceof Promise && maxStaleSeconds > 0
      return { key: await (isWaited ? withPatience(found) : found), asOf: null }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      failure = error
    }
  const known = keys.lastKnown(token, stores)
  const asOf = Math.min(known?.trueUpTo ?? Number.NEGATIVE_INFINITY, askerKnownAt ?? Number.POSITIVE_INFINITY)
  if (!known || spendsSomething(known.found) || performance.now() - asOf > maxStaleSeconds * 1_000)
    throw failure ?? new Failure('unavailable', { retryAfterSeconds: 1 })
  return { key: known.found, asOf: new Date(nowMs() - (performance.now() - asOf)).toISOString() }
}

async function verify(parts: Parts, question: Question, once: SpendOnce | null): Promise<KeptVerdict> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const verdict = await tryToVerify(parts, question, once)
    if (verdict) return verdict
  }
  return fail('unavailable', { retryAfterSeconds: 1 })
}

/** Null for a key that changed while it was verified, with nothing spent. */
async function tryToVerify(parts: Parts, question: Question, once: SpendOnce | null): Promise<KeptVerdict | null> {
  const { db, instance, keys } = parts
  const { key, asOf } = await findKey(keys, question)
  const code = key ? firstRefusal(instance, key, question) : 'NOT_FOUND'
  const purchase = key && code === 'VALID' ? purchaseFor(key, question) : null
  const unknown = unknownIn(instance, question)
  if (!key || !purchase)
    return withUnknown(conclude(parts, key, code, question), unknown, asOf === null ? undefined : { asOf })
  const began = performance.now()
  // It may have changed while its purchase waited for a lock. What was spent stays spent.
  const afterwards = (code: Outcome) =>
    code === 'VALID' && performance.now() - began > LONG_WAIT_MS ? lookAgain(parts, question, key) : { key, code }
  if (isRateLimitOnly(purchase) && !once) {
    const spent = await spendRateLimit(db, key)
    const rateLimit = allowanceOf(key, spent)
    const after = await afterwards(spent.used > rateLimit.limit ? 'RATE_LIMITED' : 'VALID')
    return withUnknown(conclude(parts, after.key, after.code, question), unknown, { rateLimit })
  }
  const spent = await spend(db, purchase, once, async ({ code: spentCode, ...left }) => {
    const { key: now, code } = await afterwards(spentCode)
    const kept = code === 'NOT_FOUND' ? NOT_FOUND : verdictOn(instance, now, code)
    return { key: now, code, verdict: withUnknown(kept, unknown, left) }
  })
  if (spent) conclude(parts, spent.key, spent.code, question)
  else keys.invalidate(key.id)
  return spent && spent.verdict
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
  const known = verdict.valid ? parts.keys.peek(question.key, question.stores) : null
  if (known?.key.verdict !== verdict || spendsSomething(known.key)) return { verdict, lease: null }
  if (keyFormOf(parts.instance.keyPrefix, question.key) !== 'issued' && storeIds?.length !== 1)
    return { verdict, lease: null }
  const { valid_until, secret_no: secret, ip_allowlist } = known.key
  return {
    verdict,
    lease: {
      ageMs: Math.max(0, Math.ceil(receivedAt - known.trueUpTo)),
      validForMs: Number.isFinite(valid_until) ? Math.max(0, Math.floor(valid_until - nowMs())) : null,
      secret,
      byAddress: ip_allowlist !== null,
    },
  }
}

async function explain({ db, instance, keys }: Parts, question: Question): Promise<KeptVerdict> {
  if (typeof question.askerKnownAt === 'number') fail('unavailable', { retryAfterSeconds: 1 })
  const key = await keys.find(question.key, question.stores)
  if (!key) return { ...NOT_FOUND, checks: [unknownKey(instance, question)] }
  const purchase = purchaseFor(key, question)
  const receipt = purchase && (await peekAt(db, purchase))
  const { code: _, ...left } = receipt ?? { code: 'VALID' }
  const checks = explainChecks(instance, key, question, receipt)
  const code = checks.find((check) => !check.ok)?.code ?? 'VALID'
  if (code === 'NOT_FOUND') return { ...NOT_FOUND, checks: checks.slice(0, 1) }
  return {
    ...withUnknown(verdictOn(instance, key, code), unknownIn(instance, question), left),
    checks,
  }
}

const NOT_FOUND = {
  valid: false,
  code: 'NOT_FOUND',
  keyId: null,
  storeId: null,
  ...Object.fromEntries(VERIFIED_SETTINGS.map((name) => [name, null])),
} as KeptVerdict

/** Not on the kept verdict: what was asked for, and what is left of it, differ from question to question. */
function withUnknown(
  kept: KeptVerdict,
  unknownPermissions: string[],
  left?: Omit<Receipt, 'code'> | { asOf: string },
): KeptVerdict {
  if (unknownPermissions.length === 0) return left ? { ...kept, ...left, kept } : kept
  return { ...kept, ...left, unknownPermissions, kept }
}

function verdictOn(instance: Instance, key: CachedKey, code: Outcome): KeptVerdict {
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
  return showIntrospected(await verifier.verify(question, once))
}

export function showIntrospected(verdict: Omit<Verdict, 'metadata'>): Introspected {
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
