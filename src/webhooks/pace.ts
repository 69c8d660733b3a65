// Telling others must not slow down those who ask. While requests come in and the event loop has nothing left to give, the
// share of deliveries is halved ten times a second, down to a trickle; whenever there is room again it grows. What waits
// meanwhile waits in the database, and another node may take it.

import { performance } from 'node:perf_hooks'

const TICK_MS = 100
/** For each tick: never less than so many, never more. */
const MIN = 10
const MAX = 1_000
const HOT = 0.8

export type Pace = {
  /** Whether there is anything left to spend in this tick. */
  left(): boolean
  spend(amount: number): void
  close(): void
}

/** `answered` counts the requests answered so far; `tick` is called when there is something to spend again. */
export function newPace(answered: () => number, tick: () => void): Pace {
  let share = MAX / 4
  let purse = share
  let before = { loop: performance.eventLoopUtilization(), answered: answered() }
  const timer = setInterval(() => {
    const now = { loop: performance.eventLoopUtilization(), answered: answered() }
    const busy = performance.eventLoopUtilization(now.loop, before.loop).utilization > HOT
    share = busy && now.answered > before.answered ? Math.max(MIN, share / 2) : Math.min(MAX, share * 1.2)
    before = now
    // A debt is paid off first; what was not spent is not saved.
    purse = Math.min(share, purse + share)
    if (purse > 0) tick()
  }, TICK_MS).unref()
  return {
    left: () => purse > 0,
    spend(amount) {
      purse -= amount
    },
    close: () => clearInterval(timer),
  }
}
