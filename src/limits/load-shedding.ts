// Load shedding: when the event loop lags, or too many requests wait for a database connection or are in flight, a new
// request gets 503 before any work is done for it, since a slow failure would cost the caller more. Health checks are
// always admitted. Verification of keys is shed last: other systems call it for each of their own requests.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fail } from '../core/errors.ts'
import type { Database } from '../db/db.ts'

const MAX_IN_FLIGHT = 2_000
const MAX_WAITING = 500
const MAX_LAG_MS = 1_000
const LAG_WINDOW_MS = 1_000
/** By how much a request may exceed the limits above before it is shed. */
const FACTORS = { normal: 1, high: 2, always: Number.POSITIVE_INFINITY }

export type Priority = keyof typeof FACTORS

export type LoadShedder = {
  /** Counts the request, and throws when it must be shed. Either way `release` ends it. */
  admit(priority: Priority): void
  release(): void
  inFlight(): number
  close(): void
}

export function newLoadShedder(db: Pick<Database, 'waiting'>): LoadShedder {
  let inFlight = 0
  let lagMs = 0
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  const timer = setInterval(() => {
    lagMs = delay.percentile(50) / 1e6
    delay.reset()
  }, LAG_WINDOW_MS).unref()

  return {
    admit(priority) {
      inFlight += 1
      const factor = FACTORS[priority]
      if (inFlight > MAX_IN_FLIGHT * factor || db.waiting() > MAX_WAITING * factor || lagMs > MAX_LAG_MS * factor)
        fail('overloaded', { retryAfterSeconds: 1 })
    },
    release() {
      inFlight -= 1
    },
    inFlight: () => inFlight,
    close() {
      clearInterval(timer)
      delay.disable()
    },
  }
}
