// Limits answers that take long, such as streams and exports: a number of slots for the node, and of these a number for
// each holder, such as a caller or a store.

import { fail } from '../core/errors.ts'

/** `full` is the message when all of the holder's own slots are in use. */
type SlotHolder = { id: string; max: number; full: string }

type Slot = {
  /** How long the answer has waited for its reader, in all. */
  waitedMs(): number
  /** Called around each wait. */
  waiting(isWaiting: boolean): void
  /** The slot was given to another answer: this one must end. */
  evicted: boolean
  release(): void
}

export type ConcurrencyLimiter = {
  /** Throws when the node's or a holder's slots are all in use. */
  acquire(holders: SlotHolder[]): Slot
  /** Whether each holder has a slot of its own left. */
  mayHold(holders: SlotHolder[]): boolean
  inUse(): number
}

/**
 * When all slots are in use, a new answer takes the slot of the one that has waited longest for its reader, if that was
 * `evictAfterMs` or more: slow readers keep nobody else from theirs.
 */
export function newConcurrencyLimiter(maxPerNode: number, evictAfterMs = Number.POSITIVE_INFINITY): ConcurrencyLimiter {
  const held = new Map<string, number>()
  const slots = new Set<Slot>()
  const count = (holders: SlotHolder[], change: 1 | -1) => {
    for (const { id } of holders) {
      const own = (held.get(id) ?? 0) + change
      if (own === 0) held.delete(id)
      else held.set(id, own)
    }
  }
  const hasAll = ({ id, max }: SlotHolder) => (held.get(id) ?? 0) >= max
  return {
    mayHold: (holders) => !holders.some(hasAll),
    acquire(holders) {
      const full = holders.find(hasAll)
      if (full) fail('rate_limited', { retryAfterSeconds: 5, detail: full.full })
      if (slots.size >= maxPerNode) evictSlowest(slots, evictAfterMs)
      const slot = newSlot(() => {
        if (slots.delete(slot)) count(holders, -1)
      })
      slots.add(slot)
      count(holders, 1)
      return slot
    },
    inUse: () => slots.size,
  }
}

function newSlot(release: () => void): Slot {
  let waitedMs = 0
  let since: number | null = null
  const current = () => (since === null ? 0 : performance.now() - since)
  return {
    waitedMs: () => waitedMs + current(),
    waiting(isWaiting) {
      waitedMs += current()
      since = isWaiting ? performance.now() : null
    },
    evicted: false,
    release,
  }
}

function evictSlowest(slots: Set<Slot>, evictAfterMs: number): void {
  // One pass, and none where nobody is evicted: whoever is refused must not cost more than the refusal.
  let slowest: Slot | undefined
  if (Number.isFinite(evictAfterMs))
    for (const slot of slots) if (!slowest || slot.waitedMs() > slowest.waitedMs()) slowest = slot
  if (!slowest || slowest.waitedMs() < evictAfterMs) return fail('overloaded', { retryAfterSeconds: 5 })
  slowest.evicted = true
  slowest.release()
}
