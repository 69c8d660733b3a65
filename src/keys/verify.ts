// Is this key good, and for this? Asked by the back ends of the platform, for every request they get. Answered from
// memory (auth/key-cache.ts), counted in memory (usage.ts); only a key that has a rate limit costs a statement, which
// it shares with whoever asks at the same moment.

import { isIpAllowed } from '../auth/ip.ts'
import { type CachedKey, type KeyCache, REFUSALS, type Refusal, refusalOf } from '../auth/key-cache.ts'
import { nowMs } from '../core/clock.ts'
import type { Permission } from '../core/permissions.ts'
import { tokenKind } from '../crypto/tokens.ts'
import type { Batch } from '../db/batch.ts'
import { type Db, sql } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import type { Introspected, Introspection, Outcome, Question, Verdict, Verifier } from './schema.ts'
import type { Usage } from './usage.ts'

type RateLimitVerdict = NonNullable<Verdict['rateLimit']>
type Check = NonNullable<Verdict['checks']>[number]

export function newVerifier(
  db: Db,
  instance: Instance,
  keys: KeyCache,
  usage: Usage,
  onVerdict: (code: Outcome) => void,
): Verifier {
  /** Told and counted. */
  function conclude(key: CachedKey | null, code: Outcome, { permissions = NONE }: { permissions?: readonly string[] }) {
    onVerdict(code)
    if (!key || code === 'NOT_FOUND') return NOT_FOUND
    usage.count({ keyId: key.id, secretNo: key.secret_no, rehashTo: key.rehash_to, outcome: code, permissions })
    return verdictOn(instance, key, code)
  }

  function verifyNow(question: Question): Verdict | null {
    const key = keys.find(question.key)
    if (key instanceof Promise || (key && key.rate_limit !== null)) return null
    return conclude(key, key ? firstRefusal(instance, key, question) : 'NOT_FOUND', question)
  }

  async function verify(question: Question): Promise<Verdict> {
    const key = await keys.find(question.key)
    const code = key ? firstRefusal(instance, key, question) : 'NOT_FOUND'
    if (!key || code !== 'VALID' || key.rate_limit === null) return conclude(key, code, question)
    const spent = await db.batched(spend, rateWindow(key))
    const verdict = conclude(key, spent.used > key.rate_limit ? 'RATE_LIMITED' : 'VALID', question)
    return { ...verdict, rateLimit: allowanceOf(key, spent) }
  }

  async function explain(question: Question): Promise<Verdict> {
    const key = await keys.find(question.key)
    if (!key) return { ...NOT_FOUND, checks: [unknownKey(instance, question.key)] }
    const spent = key.rate_limit === null ? null : await peek(db, key)
    const checks = explainChecks(instance, key, question, spent)
    const code = checks.find((check) => !check.ok)?.code ?? 'VALID'
    if (code === 'NOT_FOUND') return { ...NOT_FOUND, checks: checks.slice(0, 1) }
    return {
      ...verdictOn(instance, key, code),
      ...(spent ? { rateLimit: allowanceOf(key, spent) } : {}),
      checks,
    }
  }

  return {
    verify,
    verifyNow,
    explain,
    acted: ({ id: keyId, secretNo, rehashTo }, outcome, permissions) =>
      usage.count({ keyId, secretNo, rehashTo, outcome, permissions }),
  }
}

const NONE: readonly Permission[] = []

const NOT_FOUND: Verdict = {
  valid: false,
  code: 'NOT_FOUND',
  keyId: null,
  storeId: null,
  name: null,
  type: null,
  permissions: null,
  metadata: null,
  expiresAt: null,
}

function verdictOn(instance: Instance, key: CachedKey, code: Outcome): Verdict {
  if (key.verdict?.code === code) return key.verdict
  key.verdict = {
    valid: code === 'VALID',
    code,
    keyId: key.id,
    storeId: key.store_id,
    name: key.name,
    type: key.type,
    permissions: heldBy(instance, key),
    metadata: JSON.parse(key.metadata),
    expiresAt: key.expires_at?.toISOString() ?? null,
  }
  return key.verdict
}

/** What the operator took out of the catalogue is held by nobody any more. */
function heldBy(instance: Instance, key: CachedKey): Permission[] {
  return key.permissions.filter((permission) => instance.permissions.includes(permission))
}

/** The first that is wrong; the limit comes last, and is spent instead of looked at. */
function firstRefusal(instance: Instance, key: CachedKey, question: Question): Outcome {
  if (ofAnotherStore(key, question)) return 'NOT_FOUND'
  const fault = refusalOf(key)
  if (fault) return fault
  if (ipRefused(key, question)) return 'FORBIDDEN_IP'
  return question.permissions?.every((permission) => holds(instance, key, permission)) === false
    ? 'INSUFFICIENT_PERMISSIONS'
    : 'VALID'
}

function ofAnotherStore(key: CachedKey, { storeId }: Question): boolean {
  return storeId !== undefined && storeId !== key.store_id
}

/** An allow-list without an address to hold against it lets nobody in. */
function ipRefused(key: CachedKey, { ip }: Question): boolean {
  return key.ip_allowlist !== null && (ip === undefined || !isIpAllowed(key.ip_allowlist, ip))
}

function holds(instance: Instance, key: CachedKey, permission: string): boolean {
  return key.permissions.includes(permission) && instance.permissions.includes(permission)
}

/** RFC 7662: whatever is wrong, the answer is the same. */
export async function introspect(verifier: Verifier, asked: Introspection): Promise<Introspected> {
  const verdict = await verifier.verify({
    key: asked.token,
    ...(asked.scope ? { permissions: asked.scope.split(' ').filter(Boolean) } : {}),
    ...(asked.ip ? { ip: asked.ip } : {}),
    ...(asked.store_id ? { storeId: asked.store_id } : {}),
  })
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
    wrong: () => 'This secret was replaced when the key was rotated, and its grace is over.',
  },
  REVOKED: { fine: 'It is not revoked.', wrong: (key) => `It was revoked at ${key.revoked_at?.toISOString()}.` },
  EXPIRED: { fine: 'It has not expired.', wrong: (key) => `It expired at ${key.expires_at?.toISOString()}.` },
  DISABLED: { fine: 'It is enabled.', wrong: () => 'It is disabled. Somebody who manages keys can enable it again.' },
  FROZEN: { fine: 'The store is not frozen.', wrong: () => 'All keys of the store are frozen.' },
}

function unknownKey(instance: Instance, token: string): Check {
  const detail =
    tokenKind(instance.keyPrefix, token) === null
      ? `This is no key of ours: it must look like ${instance.keyPrefix}_prod_… and its last six characters, a checksum, must fit the rest.`
      : 'There is no such key, or its store was deleted.'
  return { code: 'NOT_FOUND', ok: false, detail }
}

function explainChecks(instance: Instance, key: CachedKey, question: Question, spent: Spent | null): Check[] {
  const at = nowMs()
  if (ofAnotherStore(key, question))
    return [{ code: 'NOT_FOUND', ok: false, detail: 'There is no such key in that store.' }]
  const states = Object.entries(REFUSALS).map(([name, holds]): Check => {
    const code = name as Refusal
    const wrong = holds(key, at)
    return { code, ok: !wrong, detail: wrong ? REFUSAL_TEXTS[code].wrong(key) : REFUSAL_TEXTS[code].fine }
  })
  return [...states, explainIp(key, question), explainPermissions(instance, key, question), explainLimit(key, spent)]
}

function explainIp(key: CachedKey, question: Question): Check {
  const ok = !ipRefused(key, question)
  const { ip } = question
  if (key.ip_allowlist === null) return { code: 'FORBIDDEN_IP', ok, detail: 'It may be used from anywhere.' }
  if (ip === undefined)
    return { code: 'FORBIDDEN_IP', ok, detail: 'It has an allow-list, and no "ip" was sent to hold against it.' }
  const detail = `${ip} is ${ok ? '' : 'not '}in its allow-list, ${key.ip_allowlist.join(', ')}.`
  return { code: 'FORBIDDEN_IP', ok, detail }
}

function explainPermissions(instance: Instance, key: CachedKey, question: Question): Check {
  const missing = (question.permissions ?? []).filter((permission) => !holds(instance, key, permission))
  const detail = missing.length > 0 ? `It lacks ${missing.join(', ')}.` : 'It holds what was asked for.'
  return { code: 'INSUFFICIENT_PERMISSIONS', ok: missing.length === 0, detail }
}

function explainLimit(key: CachedKey, spent: Spent | null): Check {
  if (spent === null) return { code: 'RATE_LIMITED', ok: true, detail: 'It has no rate limit.' }
  const { remaining, limit, resetSeconds } = allowanceOf(key, spent)
  const detail = `${remaining} of ${limit} are left, and the window ends in ${resetSeconds} s.`
  return { code: 'RATE_LIMITED', ok: remaining > 0, detail }
}

// ---- rate limits ------------------------------------------------------------------------------------------------------
// A window begins with the first use and lasts as long as the key says, by the database's clock, so that all nodes count
// in the same one. What was asked for beyond the limit is counted too: then each caller's place in the queue is simply
// the count after them.

type RateWindow = { key_id: string; seconds: number }
/** How many were asked for in this window, this one included, and how long it lasts. */
type Spent = { used: number; reset_seconds: number }

const spend: Batch<RateWindow, Spent> = (db, rows) =>
  db.query<Spent>(sql`
    with asked as (
      select row_number() over () as n, row_number() over (partition by key_id) as place, key_id, seconds
        from json_to_recordset(${JSON.stringify(rows)}) as asked(key_id text, seconds int)
    ), taken as (
      insert into key_windows as running (key_id, began_at, seconds, used)
      select key_id, clock_timestamp(), max(seconds), count(*)
        from asked
       group by key_id
       order by key_id
          on conflict (key_id) do update
         set began_at = case when running.began_at + excluded.seconds * interval '1 s' <= excluded.began_at
                             then excluded.began_at else running.began_at end,
             used = case when running.began_at + excluded.seconds * interval '1 s' <= excluded.began_at
                         then excluded.used else least(running.used::bigint + excluded.used, 2000000000)::int end,
             seconds = excluded.seconds
      returning key_id, used, extract(epoch from began_at + seconds * interval '1 s' - clock_timestamp()) as left_seconds
    ), wanted as (
      select key_id, count(*) as wanted
        from asked
       group by key_id
    )
    select (taken.used - wanted.wanted + asked.place)::int as used,
           greatest(1, ceil(taken.left_seconds))::int as reset_seconds
      from asked
      join taken on taken.key_id = asked.key_id
      join wanted on wanted.key_id = asked.key_id
     order by asked.n`)

/** By the key's window as it is now, like `spend`: the running one may have begun under another. */
async function peek(db: Db, key: CachedKey): Promise<Spent> {
  const { key_id, seconds } = rateWindow(key)
  const found = await db.one<Spent>(sql`
    select used, greatest(1, ceil(extract(epoch from began_at + ${seconds} * interval '1 s' - now())))::int as reset_seconds
      from key_windows
     where key_id = ${key_id}
       and began_at + ${seconds} * interval '1 s' > now()`)
  return found ?? { used: 0, reset_seconds: seconds }
}

function rateWindow(key: CachedKey): RateWindow {
  return { key_id: key.id, seconds: key.rate_limit_window_seconds ?? 1 }
}

function allowanceOf(key: CachedKey, { used, reset_seconds }: Spent): RateLimitVerdict {
  const limit = key.rate_limit ?? 0
  return { limit, remaining: Math.max(0, limit - used), resetSeconds: reset_seconds }
}
