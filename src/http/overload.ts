// Sheds before work is begun. When the event loop lags, too many requests wait for a connection, or too many are under
// way, a new one hears 503 at once, which is kinder than a slow failure. Liveness is always answered; verification of
// keys, which other systems hang on, is shed last.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Database } from '../db/db.ts'
import { fail } from '../errors.ts'

const MOST_UNDER_WAY = 2_000
const MOST_WAITING = 500
const MOST_LAG_MS = 1_000
const LAG_WINDOW_MS = 1_000
/** Verification is let in up to so many times the marks above. */
const VERIFY_FACTOR = 2

export type Overload = { admit(route: string | null): void; done(): void; close(): void; underWay(): number }

export function newOverload(db: Pick<Database, 'waiting'>): Overload {
  let underWay = 0
  let lagMs = 0
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  const timer = setInterval(() => {
    lagMs = delay.percentile(50) / 1e6
    delay.reset()
  }, LAG_WINDOW_MS).unref()

  return {
    admit(route) {
      underWay += 1
      if (route === '/livez' || route === '/readyz' || route === '/metrics') return
      const factor = route === '/v1/keys/verify' ? VERIFY_FACTOR : 1
      if (underWay > MOST_UNDER_WAY * factor || db.waiting() > MOST_WAITING * factor || lagMs > MOST_LAG_MS * factor)
        fail('overloaded', { retryAfterSeconds: 1 })
    },
    done() {
      underWay -= 1
    },
    underWay: () => underWay,
    close() {
      clearInterval(timer)
      delay.disable()
    },
  }
}
