// Webhooks must not slow down requests to the API. While requests come in and the event loop is busy, the rate of deliveries
// is halved ten times a second, down to a minimum; whenever there is room again it grows. What is not sent meanwhile waits
// in the database, and another node may send it. Making deliveries (fan-out) and sending them have a budget each, so that
// those who have much to send keep nobody's event in the outbox.

import { performance } from 'node:perf_hooks'

const TICK_MS = 100
/** Deliveries for each tick. */
const MIN_RATE = 10
const MAX_RATE = 1_000
const FIRST_RATE = 250
const BUSY_UTILIZATION = 0.8

/** What making a delivery costs, when sending one is 1. */
const FAN_OUT_COST = 0.25

type Work = 'fan-out' | 'send'

export type Throttle = {
  /** Whether anything is left to spend in this tick. */
  hasBudget(work: Work): boolean
  spend(work: Work, deliveries: number): void
  close(): void
}

/** `answered` counts the requests answered so far; `onBudget` is called when something may be sent again. */
export function newThrottle(answered: () => number, onBudget: () => void): Throttle {
  let rate = FIRST_RATE
  const budgets: Record<Work, number> = { 'fan-out': rate, send: rate }
  let before = { loop: performance.eventLoopUtilization(), answered: answered() }
  const timer = setInterval(() => {
    const now = { loop: performance.eventLoopUtilization(), answered: answered() }
    const isBusy = performance.eventLoopUtilization(now.loop, before.loop).utilization > BUSY_UTILIZATION
    rate = isBusy && now.answered > before.answered ? Math.max(MIN_RATE, rate / 2) : Math.min(MAX_RATE, rate * 1.2)
    before = now
    // A negative budget is made up for first; an unspent one does not accumulate.
    for (const work of ['fan-out', 'send'] as const) budgets[work] = Math.min(rate, budgets[work] + rate)
    if (budgets.send > 0) onBudget()
  }, TICK_MS).unref()
  return {
    hasBudget: (work) => budgets[work] > 0,
    spend(work, deliveries) {
      budgets[work] -= work === 'fan-out' ? deliveries * FAN_OUT_COST : deliveries
    },
    close: () => clearInterval(timer),
  }
}
