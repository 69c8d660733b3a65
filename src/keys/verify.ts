// Is this key good, and for this? Asked by the back ends of the platform, for every request they get. Answered from
// memory (auth/key-cache.ts), counted in memory (usage.ts); only a key that has a rate limit costs a statement
// (rate-limit.ts), which all requests of the same moment share.

import { isIpAllowed } from '../auth/ip.ts'
import { type CachedKey, type KeyCache, REFUSALS, type Refusal, refusalOf } from '../auth/key-cache.ts'
import { nowMs } from '../core/clock.ts'
import type { Permission } from '../core/permissions.ts'
import { tokenKind } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import { showSettings } from './columns.ts'
import { wordsOf } from './input.ts'
import { allowanceOf, peek, type Spent, spend } from './rate-limit.ts'
import {
  type Introspected,
  type Introspection,
  type KeptVerdict,
  type Outcome,
  type Question,
  VERIFIED_SETTINGS,
  type Verifier,
} from './schema.ts'
import type { Usage } from './usage.ts'

type Check = NonNullable<KeptVerdict['checks']>[number]

export function newVerifier(
  db: Db,
  instance: Instance,
  keys: KeyCache,
  usage: Usage,
  onVerdict: (code: Outcome) => void,
): Verifier {
  /** Every verdict goes through here, to be counted. */
  function conclude(key: CachedKey | null, code: Outcome, question: Question) {
    const { permissions = [], ip, serviceId } = question
    onVerdict(code)
    if (!key || code === 'NOT_FOUND') return NOT_FOUND
    usage.count({
      keyId: key.id,
      secretNo: key.secret_no,
      rehashTo: key.rehash_to,
      outcome: code,
      permissions,
      source: { ip: ip ?? null, serviceId },
    })
    return verdictOn(instance, key, code)
  }

  /** The catalogue may have changed since the question was written: what is in it no more is told, too. */
  const unknownIn = ({ permissions = [] }: Question) =>
    permissions.filter((permission) => !instance.permissions.includes(permission))

  function verifyNow(question: Question): KeptVerdict | null {
    const key = keys.find(question.key)
    if (key instanceof Promise || (key && key.rate_limit !== null) || unknownIn(question).length > 0) return null
    return conclude(key, key === null ? 'NOT_FOUND' : firstRefusal(instance, key, question), question)
  }

  async function verify(question: Question): Promise<KeptVerdict> {
    const key = await keys.find(question.key)
    const code = key ? firstRefusal(instance, key, question) : 'NOT_FOUND'
    if (!key || code !== 'VALID' || key.rate_limit === null)
      return withUnknown(conclude(key, code, question), unknownIn(question))
    const spent = await spend(db, key)
    const verdict = conclude(key, spent.used > key.rate_limit ? 'RATE_LIMITED' : 'VALID', question)
    return { ...verdict, rateLimit: allowanceOf(key, spent) }
  }

  async function explain(question: Question): Promise<KeptVerdict> {
    const key = await keys.find(question.key)
    if (!key) return { ...NOT_FOUND, checks: [unknownKey(instance, question.key)] }
    const spent = key.rate_limit === null ? null : await peek(db, key)
    const checks = explainChecks(instance, key, question, spent)
    const code = checks.find((check) => !check.ok)?.code ?? 'VALID'
    if (code === 'NOT_FOUND') return { ...NOT_FOUND, checks: checks.slice(0, 1) }
    return {
      ...withUnknown(verdictOn(instance, key, code), unknownIn(question)),
      ...(spent ? { rateLimit: allowanceOf(key, spent) } : {}),
      checks,
    }
  }

  return {
    verify,
    verifyNow,
    explain,
    countOwnUse: ({ id: keyId, secretNo, rehashTo, ip }, outcome, permissions) =>
      usage.count({ keyId, secretNo, rehashTo, outcome, permissions, source: { ip, serviceId: null } }),
  }
}

const NOT_FOUND = {
  valid: false,
  code: 'NOT_FOUND',
  keyId: null,
  storeId: null,
  ...Object.fromEntries(VERIFIED_SETTINGS.map((name) => [name, null])),
} as KeptVerdict

/** Not on the kept verdict: what was asked for differs from question to question. */
function withUnknown(verdict: KeptVerdict, unknownPermissions: string[]): KeptVerdict {
  return unknownPermissions.length === 0 ? verdict : { ...verdict, unknownPermissions }
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

/** Without the permissions that the operator took out of the catalogue. */
function heldBy(instance: Instance, key: CachedKey): Permission[] {
  return key.permissions.filter((permission) => instance.permissions.includes(permission))
}

/** The first check that fails. The rate limit comes after these: asking for it spends it. */
function firstRefusal(instance: Instance, key: CachedKey, question: Question): Outcome {
  if (ofAnotherStore(key, question)) return 'NOT_FOUND'
  const refusal = refusalOf(key)
  if (refusal) return refusal
  if (ofWrongType(key, question)) return 'WRONG_TYPE'
  if (ipRefused(key, question)) return 'FORBIDDEN_IP'
  return question.permissions?.every((permission) => holds(instance, key, permission)) === false
    ? 'INSUFFICIENT_PERMISSIONS'
    : 'VALID'
}

function ofAnotherStore(key: CachedKey, { stores }: Question): boolean {
  return stores?.includes(key.store_id) === false
}

function ofWrongType(key: CachedKey, { types }: Question): boolean {
  return types?.includes(key.type) === false
}

/** An allow-list without an address to hold against it lets nobody in. */
function ipRefused(key: CachedKey, { ip }: Question): boolean {
  return key.ip_allowlist !== null && (ip === undefined || !isIpAllowed(key.ip_allowlist, ip))
}

function holds(instance: Instance, key: CachedKey, permission: string): boolean {
  return key.permissions.includes(permission) && instance.permissions.includes(permission)
}

/** RFC 7662: for every reason that a key is not good, the answer is the same. */
export async function introspect(
  verifier: Verifier,
  { token, scope, types, ip }: Introspection,
  { stores, serviceId }: Pick<Question, 'stores' | 'serviceId'>,
): Promise<Introspected> {
  const verdict = await verifier.verify({
    key: token,
    stores,
    serviceId,
    ...(scope ? { permissions: wordsOf(scope) } : {}),
    // parseIntrospection has checked that these are types.
    ...(types ? { types: wordsOf(types) as Question['types'] } : {}),
    ...(ip ? { ip } : {}),
  } as Question)
  if (!verdict.valid || verdict.keyId === null || verdict.storeId === null) return { active: false }
  return {
    active: true,
    scope: verdict.permissions?.join(' ') ?? '',
    client_id: verdict.keyId,
    sub: verdict.keyId,
    aud: verdict.storeId,
    token_type: 'api_key',
    ...(verdict.expiresAt ? { exp: Math.floor(Date.parse(verdict.expiresAt) / 1000) } : {}),
  }
}

// ---- every check, in words ------------------------------------------------------------------------------------------

const REFUSAL_TEXTS: Record<Refusal, { fine: string; wrong: (key: CachedKey) => string }> = {
  NOT_FOUND: {
    fine: 'The key exists.',
    wrong: () => 'This secret was replaced when the key was rotated, and its grace period has ended.',
  },
  REVOKED: { fine: 'It is not revoked.', wrong: (key) => `It was revoked at ${key.revoked_at?.toISOString()}.` },
  EXPIRED: { fine: 'It has not expired.', wrong: (key) => `It expired at ${key.expires_at?.toISOString()}.` },
  DISABLED: { fine: 'It is enabled.', wrong: () => 'It is disabled. Somebody who manages keys can enable it again.' },
  FROZEN: { fine: 'The store is not frozen.', wrong: () => 'All keys of the store are frozen.' },
}

function unknownKey(instance: Instance, token: string): Check {
  const detail =
    tokenKind(instance.keyPrefix, token) === null
      ? `This is not a key of this service: a key looks like ${instance.keyPrefix}_prod_…, and its last six characters are a checksum of the rest.`
      : 'There is no such key in the stores you asked about.'
  return { code: 'NOT_FOUND', ok: false, detail }
}

function explainChecks(instance: Instance, key: CachedKey, question: Question, spent: Spent | null): Check[] {
  const at = nowMs()
  if (ofAnotherStore(key, question)) return [unknownKey(instance, question.key)]
  const states = Object.entries(REFUSALS).map(([name, holds]): Check => {
    const code = name as Refusal
    const wrong = holds(key, at)
    return { code, ok: !wrong, detail: wrong ? REFUSAL_TEXTS[code].wrong(key) : REFUSAL_TEXTS[code].fine }
  })
  return [
    ...states,
    explainType(key, question),
    explainIp(key, question),
    explainPermissions(instance, key, question),
    explainLimit(key, spent),
  ]
}

function explainType(key: CachedKey, question: Question): Check {
  const ok = !ofWrongType(key, question)
  return {
    code: 'WRONG_TYPE',
    ok,
    detail: ok
      ? `It is a ${key.type} key.`
      : `It is a ${key.type} key, and ${question.types?.join(' or ')} was asked for.`,
  }
}

function explainIp(key: CachedKey, question: Question): Check {
  const ok = !ipRefused(key, question)
  const { ip } = question
  if (key.ip_allowlist === null) return { code: 'FORBIDDEN_IP', ok, detail: 'The key can be used from anywhere.' }
  if (ip === undefined) return { code: 'FORBIDDEN_IP', ok, detail: 'The key has an allowlist, and no "ip" was sent.' }
  const detail = `${ip} is ${ok ? '' : 'not '}in its allowlist, ${key.ip_allowlist.join(', ')}.`
  return { code: 'FORBIDDEN_IP', ok, detail }
}

function explainPermissions(instance: Instance, key: CachedKey, question: Question): Check {
  const missing = (question.permissions ?? []).filter((permission) => !holds(instance, key, permission))
  const detail =
    missing.length > 0 ? `It does not have ${missing.join(', ')}.` : 'It has the permissions you asked for.'
  return { code: 'INSUFFICIENT_PERMISSIONS', ok: missing.length === 0, detail }
}

function explainLimit(key: CachedKey, spent: Spent | null): Check {
  if (spent === null) return { code: 'RATE_LIMITED', ok: true, detail: 'The key has no rate limit.' }
  const { remaining, limit, resetSeconds } = allowanceOf(key, spent)
  const detail = `${remaining} of ${limit} are left, and the window ends in ${resetSeconds} s.`
  return { code: 'RATE_LIMITED', ok: remaining > 0, detail }
}
