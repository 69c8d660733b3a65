// Rate limits and credits of the keys in memory: what a verification spends, all of it or nothing.

import type { Key, Verdict, Verification } from '../api.gen.ts'

export type Windows = Map<string, { beganAt: number; used: number }>
export type Credits = { remaining: number; refillsAt: number | null }
type Refill = NonNullable<NonNullable<Key['credits']>['refill']>
type Limit = { id: string; name: string; limit: number; windowSeconds: number; cost: number }

export type Receipt = Pick<Verdict, 'credits' | 'rateLimit' | 'limits'> & { code: string }

export function spendsSomething({ rateLimit, rateLimits, credits }: Key): boolean {
  return rateLimit !== null || rateLimits.length > 0 || credits !== null
}

/** Null when the question spends nothing of this key. `spends` is false for a question that only wants to know. */
export function spend(
  key: Key,
  credits: Credits | null,
  windows: Windows,
  { cost = 1, limits: named }: Verification,
  at: number,
  spends: boolean,
): Receipt | null {
  const limits = limitsOf(key).flatMap((limit): Limit[] => {
    const own = named?.find(({ name }) => name === limit.name)
    return named && !own ? [] : [{ ...limit, cost: own?.cost ?? 1 }]
  })
  if (limits.length === 0 && !credits) return null
  if (credits && key.credits?.refill) refillIfDue(credits, key.credits.refill, at)
  const states = limits.map((limit) => ({ limit, window: windowAt(windows, limit, at) }))
  const exceeded = states.filter(({ limit, window }) => limit.cost > 0 && window.used + limit.cost > limit.limit)
  const isShort = credits !== null && credits.remaining < cost
  const code = isShort ? 'USAGE_EXCEEDED' : exceeded.length > 0 ? 'RATE_LIMITED' : 'VALID'
  // A key that has `rateLimit` and nothing else counts what is refused, too.
  const listsLimits = named !== undefined || key.rateLimits.length > 0
  if (spends && (code === 'VALID' || (!credits && !listsLimits))) {
    if (credits) credits.remaining -= cost
    for (const { limit, window } of states) window.used += limit.cost
  }
  const shown = states.map(({ limit: { name, limit, windowSeconds }, window }, n) => ({
    name,
    limit,
    remaining: Math.max(0, limit - window.used),
    resetSeconds: Math.max(1, Math.ceil((window.beganAt + windowSeconds * 1000 - at) / 1000)),
    exceeded: exceeded.includes(states[n] as (typeof states)[number]),
  }))
  const own = shown.find(({ name }) => name === 'default')
  return {
    code,
    ...(credits ? { credits: { remaining: credits.remaining, refillsAt: isoOrNull(credits.refillsAt) } } : {}),
    ...(own ? { rateLimit: { limit: own.limit, remaining: own.remaining, resetSeconds: own.resetSeconds } } : {}),
    ...(listsLimits ? { limits: shown } : {}),
  }
}

function limitsOf(key: Key): Omit<Limit, 'cost'>[] {
  const named = key.rateLimits.map(({ name, limit, windowSeconds, shared }) => ({
    id: shared === 'owner' ? `${key.storeId}:${name}:${windowSeconds}:${key.owner}` : `${key.id}:${name}`,
    name,
    limit,
    windowSeconds,
  }))
  return key.rateLimit ? [{ id: key.id, name: 'default', ...key.rateLimit }, ...named] : named
}

function windowAt(windows: Windows, { id, windowSeconds }: Limit, at: number): { beganAt: number; used: number } {
  const running = windows.get(id)
  if (running && running.beganAt + windowSeconds * 1000 > at) return running
  const window = { beganAt: at, used: 0 }
  windows.set(id, window)
  return window
}

export function newCredits(key: Pick<Key, 'credits'>, at: number): Credits | null {
  const { credits } = key
  return credits && { remaining: credits.remaining, refillsAt: credits.refill ? nextRefill(credits.refill, at) : null }
}

function refillIfDue(credits: Credits, refill: Refill, at: number): void {
  if (credits.refillsAt === null || credits.refillsAt > at) return
  credits.remaining = Math.max(credits.remaining, refill.amount)
  credits.refillsAt = nextRefill(refill, at)
}

const HOUR_MS = 3_600_000

/** The beginning of the next hour, day or month in UTC; in months that are too short, their last day. */
function nextRefill({ interval, dayOfMonth = 1 }: Refill, at: number): number {
  const length = interval === 'HOUR' ? HOUR_MS : 24 * HOUR_MS
  if (interval !== 'MONTH') return (Math.floor(at / length) + 1) * length
  const now = new Date(at)
  const inMonth = (ahead: number) => {
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth() + ahead]
    return Date.UTC(year, month, Math.min(dayOfMonth, new Date(Date.UTC(year, month + 1, 0)).getUTCDate()))
  }
  return [0, 1].map(inMonth).find((moment) => moment > at) as number
}

function isoOrNull(moment: number | null): string | null {
  return moment === null ? null : new Date(moment).toISOString()
}
