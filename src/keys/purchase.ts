// What a verification is about to spend, and what it gets for it. Nothing here knows the database: spend.ts reads what is left,
// and writes what was taken.

import type { CachedKey } from '../auth/cached-key.ts'
import { sha256 } from '../crypto/tokens.ts'
import type { Question, UnkeptVerdict } from './schema.ts'

const DEFAULT_LIMIT = 'default'

type Window = { id: string; name: string; limit: number; seconds: number; cost: number }
export type Purchase = {
  storeId: string
  keyId: string
  /** What is spent follows from the key as it was then. */
  keyRevision: number
  /** Credits. Null: the key has none and needs none. */
  cost: number | null
  windows: Window[]
  /** The key, or all keys of the store with this owner if it shares windows with those: no other has these windows. */
  sharing: string
  /** Whether the answer lists them: `rateLimit` alone has a member of its own. */
  listsLimits: boolean
}

export type Receipt = {
  code: 'VALID' | 'USAGE_EXCEEDED' | 'RATE_LIMITED'
  /** What is left of it, as the verdict tells it. */
  left: Pick<UnkeptVerdict, 'credits' | 'rateLimit' | 'limits'>
}

export function spendsSomething(key: CachedKey): boolean {
  return key.rate_limit !== null || key.has_credits || key.rate_limits.length > 0
}

/** What a question about this key would spend. Null: nothing. */
export function purchaseFor(key: CachedKey, { cost = 1, limits }: Question): Purchase | null {
  if (!spendsSomething(key)) return null
  const windows = limits ? namedWindows(key, limits) : allWindows(key)
  return windows.length === 0 && !key.has_credits
    ? null
    : {
        storeId: key.store_id,
        keyId: key.id,
        keyRevision: key.revision,
        cost: key.has_credits ? cost : null,
        windows,
        sharing: key.rate_limits.some(({ shared }) => shared !== null) ? `${key.store_id}:${key.owner ?? ''}` : key.id,
        listsLimits: limits !== undefined || key.rate_limits.length > 0,
      }
}

/** Whether the key's own `rateLimit`, once, is all that is spent. */
export function isRateLimitOnly({ cost, listsLimits }: Purchase): boolean {
  return cost === null && !listsLimits
}

function namedWindows(key: CachedKey, limits: NonNullable<Question['limits']>): Window[] {
  return allWindows(key).flatMap((window) => {
    const named = limits.find(({ name }) => name === window.name)
    return named ? [{ ...window, cost: named.cost ?? 1 }] : []
  })
}

const windowsByKey = new WeakMap<CachedKey, Window[]>()

/** Each at a cost of 1. Made once for a cached key. */
function allWindows(key: CachedKey): Window[] {
  const existing = windowsByKey.get(key)
  if (existing) return existing
  const windows = windowsOf(key).map((window) => ({ ...window, cost: 1 }))
  windowsByKey.set(key, windows)
  return windows
}

function windowsOf(key: CachedKey): Omit<Window, 'cost'>[] {
  const named = key.rate_limits.map(({ name, limit, windowSeconds: seconds, shared }) => ({
    id:
      shared === 'owner'
        ? sharedWindowId(key.store_id, { name, windowSeconds: seconds }, key.owner)
        : `${key.id}:${name}`,
    name,
    limit,
    seconds,
  }))
  if (key.rate_limit === null || key.rate_limit_window_seconds === null) return named
  const own = { id: key.id, name: DEFAULT_LIMIT, limit: key.rate_limit, seconds: key.rate_limit_window_seconds }
  return [own, ...named]
}

/** The owner is hashed: windows outlive the keys and limits they were begun for, and an owner who is erased is named nowhere. */
export function sharedWindowId(
  storeId: string,
  { name, windowSeconds }: { name: string; windowSeconds: number },
  owner: string | null,
): string {
  return `${storeId}:${name}:${windowSeconds}:${sha256(owner ?? '', 'base64')}`
}

/** What is left, by the id of the key or the window. */
export type Rest = { credits: Map<string, CreditRow>; windows: Map<string, WindowRow> }
export type CreditRow = { key_id: string; remaining: number; refills_at: Date | null }
export type WindowRow = { id: string; used: number; reset_seconds: number }

/** One purchase out of what those before it have left. Rows that it takes from are added to `spent`; null: nothing is taken. */
export function settle(purchase: Purchase, rest: Rest, spent: Set<object> | null): Receipt {
  const { keyId, cost, windows, listsLimits } = purchase
  const credit = cost === null ? undefined : rest.credits.get(keyId)
  const rows = windows.map((window) => rest.windows.get(window.id) ?? newWindow(window))
  // What costs nothing passes, also where `used` exceeds the limit: rate-limit.ts counts refused uses too.
  const exceeded = windows.map(({ cost, limit }, n) => cost > 0 && (rows[n] as WindowRow).used + cost > limit)
  const isShort = credit !== undefined && credit.remaining < (cost ?? 0)
  const code = isShort ? 'USAGE_EXCEEDED' : exceeded.includes(true) ? 'RATE_LIMITED' : 'VALID'
  if (code === 'VALID' && spent) {
    if (credit) {
      credit.remaining -= cost ?? 0
      spent.add(credit)
    }
    rows.forEach((row, n) => {
      row.used += (windows[n] as Window).cost
      spent.add(row)
    })
  }
  const left: Receipt['left'] = {}
  if (credit) left.credits = showCredits(credit)
  const own = windows.findIndex(({ name }) => name === DEFAULT_LIMIT)
  if (own >= 0) left.rateLimit = allowance(windows[own] as Window, rows[own] as WindowRow)
  if (listsLimits)
    left.limits = windows.map((window, n) => ({
      name: window.name,
      ...allowance(window, rows[n] as WindowRow),
      exceeded: exceeded[n] === true,
    }))
  return { code, left }
}

function showCredits({ remaining, refills_at }: CreditRow): NonNullable<UnkeptVerdict['credits']> {
  return { remaining, refillsAt: refills_at?.toISOString() ?? null }
}

function allowance({ limit }: Window, { used, reset_seconds }: WindowRow): NonNullable<UnkeptVerdict['rateLimit']> {
  return { limit, remaining: Math.max(0, limit - used), resetSeconds: reset_seconds }
}

export function byId<Row, Id extends keyof Row>(rows: Row[], id: Id): Map<Row[Id], Row> {
  return new Map(rows.map((row) => [row[id], row]))
}

const newWindow = ({ id, seconds }: Window): WindowRow => ({ id, used: 0, reset_seconds: seconds })
