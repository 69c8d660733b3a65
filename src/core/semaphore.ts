// Work that costs much memory or CPU, such as hashing a password, runs a few at a time. The rest wait in a queue; when the
// queue is full, callers get 503 with Retry-After.

import { fail } from '../core/errors.ts'

export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

export function newSemaphore(maxRunning: number, maxWaiting: number): Semaphore {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (waiting.length >= maxWaiting) fail('overloaded', { retryAfterSeconds: 2 })
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve))
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
