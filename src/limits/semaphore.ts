// What costs much memory or much of a core is done a few at a time; the rest wait their turn, and past a bound they are
// told to come back.

import { fail } from '../core/errors.ts'

export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

export function newSemaphore(atOnce: number, mostWaiting: number): Semaphore {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (waiting.length >= mostWaiting) fail('overloaded', { retryAfterSeconds: 2 })
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
