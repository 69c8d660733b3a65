// A cache of authenticated callers with a TTL of 200 ms: a caller who sends many requests is not looked up for each of
// them. A right that was taken away is refused at once by the node that made the change, which invalidates its cache,
// and by every other node when its entries expire. That needs no message between nodes, and no clocks but the node's
// own.
//
// An expired entry stays for askers who accept old answers while there is no database (last-known.ts).
//
// An entry is the row as the database returned it; whether a session has expired is checked at every use.

import { ageOf, type Moment, thisMoment } from '../core/moment.ts'
import type { Known } from './last-known.ts'

/** Every node must refuse within 250 ms of a change; this leaves 50 ms for the lookup itself. */
export const CALLER_TTL_MS = 200
const MAX_CALLERS = 10_000

/** The number of invalidations so far, and the time, taken before a lookup. */
type Generation = { changes: number; at: Moment }

export type CallerCache<Found> = {
  get(name: string): Found | undefined
  /** Also when it has expired: only for askers who accept that (last-known.ts). */
  lastKnown(name: string): Known<Found> | null
  /** True once in the second half of an entry's life, for the caller to refresh it in the background. */
  needsRefresh(name: string): boolean
  /** `since` is the generation taken before the lookup: a row read before an invalidation is not cached. */
  set(name: string, found: Found, since: Generation): void
  /** There is no such caller any more. */
  forget(name: string): void
  generation(): Generation
  /** Called after every change that may affect anyone's rights. That of a key, by its id, affects no other caller's. */
  invalidate(id?: string): void
}

export function newCallerCache<Found>(): CallerCache<Found> {
  const entries = new Map<string, { found: Found; since: Generation; old: boolean }>()
  let changes = 0
  return {
    get(name) {
      const entry = entries.get(name)
      const isCurrent = entry?.since.changes === changes && ageOf(entry.since.at) < CALLER_TTL_MS
      return isCurrent ? entry.found : undefined
    },
    lastKnown(name) {
      const entry = entries.get(name)
      return entry ? { found: entry.found, trueUpTo: entry.since.at } : null
    },
    forget: (name) => void entries.delete(name),
    needsRefresh(name) {
      const entry = entries.get(name)
      if (!entry || entry.old || ageOf(entry.since.at) < CALLER_TTL_MS / 2) return false
      entry.old = true
      return true
    },
    set(name, found, since) {
      if (since.changes !== changes) return
      if (entries.size >= MAX_CALLERS) entries.clear()
      entries.set(name, { found, since, old: false })
    },
    generation: () => ({ changes, at: thisMoment() }),
    invalidate(id) {
      changes += 1
      if (!id?.startsWith('key_')) entries.clear()
    },
  }
}
