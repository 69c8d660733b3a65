// Limits answers that take long, such as streams and exports: a number of slots for the node, and of these a number for
// each caller.

import { fail } from '../core/errors.ts'

export type ConcurrencyLimiter = {
  /** Returns the function that releases the slot. Throws when the node's or the caller's slots are all in use. */
  acquire(callerId: string): () => void
  inUse(): number
}

/** `callerFull` is the message to a caller who uses all of their own slots. */
export function newConcurrencyLimiter(
  maxPerNode: number,
  maxPerCaller: number,
  callerFull: string,
): ConcurrencyLimiter {
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
      if (inUse >= maxPerNode) fail('overloaded', { retryAfterSeconds: 5 })
      if ((ofCaller.get(callerId) ?? 0) >= maxPerCaller)
        fail('rate_limited', { retryAfterSeconds: 5, detail: callerFull })
      change(callerId, 1)
      return () => change(callerId, -1)
    },
    inUse: () => inUse,
  }
}
