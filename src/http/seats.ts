// What goes on for a while takes a seat: there are so many on a node, and so many for one caller.

import { fail } from '../errors.ts'

export type Seats = {
  /** Refuses one too many; else gives what frees the seat again. */
  take(callerId: string): () => void
  taken(): number
}

/** `full` is what a caller hears who has taken all their own. */
export function newSeats(inAll: number, ofOne: number, full: string): Seats {
  const ofCaller = new Map<string, number>()
  let taken = 0
  function give(callerId: string, change: 1 | -1): void {
    const own = (ofCaller.get(callerId) ?? 0) + change
    if (own === 0) ofCaller.delete(callerId)
    else ofCaller.set(callerId, own)
    taken += change
  }
  return {
    take(callerId) {
      if (taken >= inAll) fail('overloaded', { retryAfterSeconds: 5 })
      if ((ofCaller.get(callerId) ?? 0) >= ofOne) fail('rate_limited', { retryAfterSeconds: 5, detail: full })
      give(callerId, 1)
      return () => give(callerId, -1)
    },
    taken: () => taken,
  }
}
