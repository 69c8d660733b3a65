// Sending must not slow down requests to the API. While requests come in and the event loop is busy, the rate of deliveries
// is halved ten times a second, down to a minimum; whenever there is room again it grows. What is not sent meanwhile waits
// in the database, and another node may send it.

import { performance } from 'node:perf_hooks'

const TICK_MS = 100
/** Deliveries for each tick. */
const MIN_RATE = 10
const MAX_RATE = 1_000
const FIRST_RATE = 250
const BUSY_UTILIZATION = 0.8

export type Throttle = {
  /** Whether anything is left to spend in this tick. */
  hasBudget(): boolean
  spend(amount: number): void
  close(): void
}

/** `answered` counts the requests answered so far; `onBudget` is called when there is something to spend again. */
export function newThrottle(answered: () => number, onBudget: () => void): Throttle {
  let rate = FIRST_RATE
  let budget = rate
  let before = { loop: performance.eventLoopUtilization(), answered: answered() }
  const timer = setInterval(() => {
    const now = { loop: performance.eventLoopUtilization(), answered: answered() }
    const isBusy = performance.eventLoopUtilization(now.loop, before.loop).utilization > BUSY_UTILIZATION
    rate = isBusy && now.answered > before.answered ? Math.max(MIN_RATE, rate / 2) : Math.min(MAX_RATE, rate * 1.2)
    before = now
    // A negative budget is made up for first; an unspent one does not accumulate.
    budget = Math.min(rate, budget + rate)
    if (budget > 0) onBudget()
  }, TICK_MS).unref()
  return {
    hasBudget: () => budget > 0,
    spend(amount) {
      budget -= amount
    },
    close: () => clearInterval(timer),
  }
}
