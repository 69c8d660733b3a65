// What goes on for a while takes a seat: there are so many on a node, and so many for one caller.

import { fail } from '../core/errors.ts'

export type ConcurrencyLimiter = {
  /** Refuses one too many; else gives what frees the seat again. */
  acquire(callerId: string): () => void
  inUse(): number
}

/** `full` is what a caller hears who has taken all their own. */
export function newConcurrencyLimiter(inAll: number, ofOne: number, full: string): ConcurrencyLimiter {
  const ofCaller = new Map<string, number>()
  let inUse = 0
  function change(callerId: string, change: 1 | -1): void {
    const own = (ofCaller.get(callerId) ?? 0) + change
    if (own === 0) ofCaller.delete(callerId)
    else ofCaller.set(callerId, own)
    inUse += change
  }
  return {
    acquire(callerId) {
      if (inUse >= inAll) fail('overloaded', { retryAfterSeconds: 5 })
      if ((ofCaller.get(callerId) ?? 0) >= ofOne) fail('rate_limited', { retryAfterSeconds: 5, detail: full })
      change(callerId, 1)
      return () => change(callerId, -1)
    },
    inUse: () => inUse,
  }
}
