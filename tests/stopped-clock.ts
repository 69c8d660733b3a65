// The clocks and timers of the process, which stand still until a test lets time pass. Those of Vitest look through all timers
// for each one that fires: with thousands of timers that takes seconds.

import { setImmediate as turn } from 'node:timers/promises'
import { vi } from 'vitest'

type Timer = { at: number; run: () => void; unref(): Timer }

export function stopClock(): { pass(ms: number): Promise<void>; goOn(): void } {
  const start = Date.now()
  let ms = 0
  /** In the order in which they fire. */
  const timers: Timer[] = []
  vi.useFakeTimers({ toFake: ['Date'], now: start })
  vi.spyOn(performance, 'now').mockImplementation(() => ms)
  vi.stubGlobal('setTimeout', (run: (...args: unknown[]) => void, afterMs = 0, ...args: unknown[]) => {
    const timer: Timer = { at: ms + Math.max(1, afterMs), run: () => run(...args), unref: () => timer }
    timers.splice(placeOf(timers, timer.at), 0, timer)
    return timer
  })
  vi.stubGlobal('clearTimeout', (timer: Timer | undefined) => {
    const at = timer ? timers.indexOf(timer) : -1
    if (at !== -1) timers.splice(at, 1)
  })
  const moveTo = (at: number) => {
    ms = at
    vi.setSystemTime(start + ms)
  }
  return {
    async pass(forMs) {
      const end = ms + forMs
      await turn()
      for (let next = timers[0]; next && next.at <= end; next = timers[0]) {
        moveTo(next.at)
        while (timers[0]?.at === ms) timers.shift()?.run()
        // What was waiting for them.
        await turn()
      }
      moveTo(end)
    },
    goOn() {
      vi.useRealTimers()
      vi.unstubAllGlobals()
      vi.restoreAllMocks()
    },
  }
}

/** Behind those that fire at the same moment. */
function placeOf(timers: Timer[], at: number): number {
  let [from, to] = [0, timers.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((timers[middle] as Timer).at <= at) from = middle + 1
    else to = middle
  }
  return from
}
