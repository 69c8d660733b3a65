// Sheds before work is begun. When the event loop lags, too many requests wait for a connection, or too many are under
// way, a new one hears 503 at once, which is kinder than a slow failure. Liveness is always answered; verification of
// keys, which other systems hang on, is shed last.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fail } from '../core/errors.ts'
import type { Database } from '../db/db.ts'

const MAX_IN_FLIGHT = 2_000
const MAX_WAITING = 500
const MAX_LAG_MS = 1_000
const LAG_WINDOW_MS = 1_000
/** Verification is let in up to so many times the marks above. */
const VERIFY_FACTOR = 2

export type LoadShedder = { admit(route: string | null): void; release(): void; close(): void; inFlight(): number }

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
    admit(route) {
      inFlight += 1
      if (route === '/livez' || route === '/readyz' || route === '/metrics') return
      const factor = route === '/v1/keys/verify' ? VERIFY_FACTOR : 1
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
