// Every check of a verification in words, for whoever wonders why a key is refused. Nothing is spent or counted.

import { type CachedKey, REFUSALS, type Refusal } from '../auth/cached-key.ts'
import { nowMs } from '../core/clock.ts'
import { keyFormOf } from '../crypto/tokens.ts'
import type { Instance } from '../instance.ts'
import { holds, ipRefused, lacksAny, ofAnotherStore, ofWrongType } from './checks.ts'
import type { Receipt } from './purchase.ts'
import type { Question, Verdict } from './schema.ts'

export type Check = NonNullable<Verdict['checks']>[number]

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

export function unknownKey(instance: Instance, { key, stores }: Pick<Question, 'key' | 'stores'>): Check {
  const ours = `a key looks like ${instance.keyPrefix}_prod_…, and its last six characters are a checksum of the rest`
  const form = keyFormOf(instance.keyPrefix, key)
  if (form === 'issued') return notFound('There is no such key in the stores you asked about.')
  if (form === null) return notFound(`This is not a key of this service: ${ours}.`)
  return notFound(
    stores?.length === 1
      ? `This is not a key of this service: ${ours}. Nor was it imported into the store you asked about.`
      : `This is not a key of this service: ${ours}. A key that was imported is found only if you ask about its store alone.`,
  )
}

function notFound(detail: string): Check {
  return { code: 'NOT_FOUND', ok: false, detail }
}

export function explainChecks(
  instance: Instance,
  key: CachedKey,
  question: Question,
  receipt: Receipt | null,
): Check[] {
  const at = nowMs()
  if (ofAnotherStore(key, question)) return [unknownKey(instance, question)]
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
    explainCredits(question, receipt),
    explainLimits(receipt),
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
  const lacking = [
    ...(missing.length > 0 ? [`It does not have ${missing.join(', ')}.`] : []),
    ...(lacksAny(instance, key, question) ? [`It has none of ${question.anyPermissions?.join(', ')}.`] : []),
  ]
  const detail = lacking.length > 0 ? lacking.join(' ') : 'It has the permissions you asked for.'
  return { code: 'INSUFFICIENT_PERMISSIONS', ok: lacking.length === 0, detail }
}

function explainCredits({ cost = 1 }: Question, receipt: Receipt | null): Check {
  const ok = receipt?.code !== 'USAGE_EXCEEDED'
  if (!receipt?.left.credits) return { code: 'USAGE_EXCEEDED', ok, detail: 'It needs no credits.' }
  const { remaining, refillsAt } = receipt.left.credits
  // What is left is told as it is before the question: nothing was spent.
  const refill = refillsAt ? ` The next refill is at ${refillsAt}.` : ''
  return { code: 'USAGE_EXCEEDED', ok, detail: `It has ${remaining} credits, and this costs ${cost}.${refill}` }
}

function explainLimits(receipt: Receipt | null): Check {
  const { limits = [], rateLimit } = receipt?.left ?? {}
  const ok = rateLimit && limits.length === 0 ? rateLimit.remaining > 0 : !limits.some(({ exceeded }) => exceeded)
  const told = limits.map(({ name, ...limit }) => `${name}: ${leftOf(limit)}`)
  if (rateLimit && limits.length === 0) told.push(leftOf(rateLimit))
  return { code: 'RATE_LIMITED', ok, detail: told.length > 0 ? told.join(' ') : 'The key has no rate limit.' }
}

function leftOf({ remaining, limit, resetSeconds }: NonNullable<Verdict['rateLimit']>): string {
  return `${remaining} of ${limit} are left, and the window ends in ${resetSeconds} s.`
}
