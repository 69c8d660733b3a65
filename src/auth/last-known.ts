// What a node knew when it lost the database: for askers who accept an answer of that age while there is none
// (`maxStaleSeconds`). Nothing else is ever answered from here. A change that the node hears of, or makes, counts at once.

import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, fail } from '../core/errors.ts'
import { ageOf, type Moment, NEVER, thisMoment } from '../core/moment.ts'

/** The oldest answer that anyone may accept (keys/schema.ts). */
const MAX_STALE_MS = 60_000
/** Who accepts an old answer waits no longer than this for a new one: like /readyz. */
const PATIENCE_MS = 1_000

export type Known<Found> = { found: Found; trueUpTo: Moment }

export type LastKnown<Found> = {
  keep(name: string, known: Known<Found>): void
  get(name: string): Known<Found> | null
  /** It was looked up anew: what the database says now is all that counts. */
  forget(name: string): void
  /** What has this id, or belongs to the store with this id, has changed; without an id, all may have. */
  changed(id?: string): void
}

export function newLastKnown<Found extends { id: string; store_id: string }>(): LastKnown<Found> {
  const kept = new Map<string, Known<Found> & { change: number }>()
  /** Changes are numbered: of each id the last one. */
  const changedAt = new Map<string, number>()
  let change = 0
  let lastKeptAt = NEVER
  const clear = () => {
    kept.clear()
    changedAt.clear()
  }
  return {
    keep(name, known) {
      lastKeptAt = thisMoment()
      if (ageOf(known.trueUpTo) < MAX_STALE_MS) kept.set(name, { ...known, change })
    },
    get(name) {
      const known = kept.get(name)
      const isChanged = (id: string) => (changedAt.get(id) ?? 0) > (known?.change ?? 0)
      return known && !isChanged(known.found.id) && !isChanged(known.found.store_id) ? known : null
    },
    forget(name) {
      kept.delete(name)
      // The database is there again, and nobody may ask for what is left.
      if (kept.size > 0 && ageOf(lastKeptAt) > MAX_STALE_MS) clear()
    },
    changed(id) {
      if (id === undefined) clear()
      else if (kept.size > 0) changedAt.set(id, ++change)
    },
  }
}

/** `unavailable` when the database has not answered within a second. */
export function withPatience<T>(answer: Promise<T>): Promise<T> {
  const timer = new AbortController()
  const late = sleep(PATIENCE_MS, undefined, { signal: timer.signal }).then(() =>
    fail('unavailable', { retryAfterSeconds: 1 }),
  )
  return Promise.race([answer, late]).finally(() => timer.abort())
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unavailable'
}
