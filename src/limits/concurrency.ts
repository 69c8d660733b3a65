// Limits answers that take long, such as streams and exports: a number of slots for the node, and of these a number for
// each holder, such as a caller or a store. When the node has none left, an account with fewer takes one of the account with
// the most.

import { fail } from '../core/errors.ts'

/** `full` is the message when all of the holder's own slots are in use. */
type SlotHolder = { id: string; max: number; full: string }

type SlotClaim = {
  holders: SlotHolder[]
  /** Whom the slot counts for when the node has none left; null: it is never taken for another account. */
  account: string | null
  /** The slot was given to another answer: this one must end. */
  onEvicted?: () => void
}

type Slot = {
  /** Called around each wait for the answer's reader. */
  waiting(isWaiting: boolean): void
  release(): void
}

type HeldSlot = Slot & { waitedMs(): number; evict(): void }

export type ConcurrencyLimiter = {
  /** Throws when the node's or a holder's slots are all in use. */
  acquire(claim: SlotClaim): Slot
  inUse(): number
}

/**
 * How long an answer must have waited for its reader, in all, to lose its slot when all are in use: one of the account with the
 * most slots, or else any.
 */
type Eviction = { ofMostMs: number; ofAnyMs: number }

/** In milliseconds, from any moment. */
type Clock = () => number

/** Slow readers keep nobody else from theirs, and nor does an account that asks often. */
export function newConcurrencyLimiter(
  maxPerNode: number,
  { ofMostMs, ofAnyMs }: Eviction = { ofMostMs: 0, ofAnyMs: Number.POSITIVE_INFINITY },
  clock: Clock = () => performance.now(),
): ConcurrencyLimiter {
  const held = new Map<string, number>()
  const slotsOf = new Map<string | null, Set<HeldSlot>>()
  let inUse = 0
  const count = (holders: SlotHolder[], change: 1 | -1) => {
    for (const { id } of holders) {
      const own = (held.get(id) ?? 0) + change
      if (own === 0) held.delete(id)
      else held.set(id, own)
    }
  }
  return {
    acquire({ holders, account, onEvicted }) {
      const full = holders.find(({ id, max }) => (held.get(id) ?? 0) >= max)
      if (full) fail('rate_limited', { retryAfterSeconds: 5, detail: full.full })
      const own = slotsOf.get(account) ?? new Set()
      if (inUse >= maxPerNode) {
        const slot = ofMost(slotsOf, account === null ? 0 : own.size, ofMostMs) ?? ofAny(slotsOf, ofAnyMs)
        if (!slot) return fail('overloaded', { retryAfterSeconds: 5 })
        slot.evict()
      }
      const slot = newSlot(
        clock,
        () => {
          if (!own.delete(slot)) return
          if (own.size === 0) slotsOf.delete(account)
          inUse -= 1
          count(holders, -1)
        },
        () => onEvicted?.(),
      )
      slotsOf.set(account, own.add(slot))
      inUse += 1
      count(holders, 1)
      return slot
    },
    inUse: () => inUse,
  }
}

function newSlot(clock: Clock, release: () => void, onEvicted: () => void): HeldSlot {
  let waitedMs = 0
  let since: number | null = null
  const current = () => (since === null ? 0 : clock() - since)
  return {
    waitedMs: () => waitedMs + current(),
    waiting(isWaiting) {
      waitedMs += current()
      since = isWaiting ? clock() : null
    },
    release,
    evict() {
      release()
      onEvicted()
    },
  }
}

type SlotsOf = Map<string | null, Set<HeldSlot>>

/** Of the account with the most, the one with the slowest reader, or the oldest; none if the account that comes would have as many. */
function ofMost(slotsOf: SlotsOf, own: number, waitedMs: number): HeldSlot | undefined {
  let most: Set<HeldSlot> | undefined
  for (const [account, slots] of slotsOf) if (account !== null && slots.size > (most?.size ?? 0)) most = slots
  return most && most.size > own + 1 ? slowest(most, waitedMs) : undefined
}

function ofAny(slotsOf: SlotsOf, waitedMs: number): HeldSlot | undefined {
  // None where nobody is evicted: whoever is refused must not cost more than the refusal.
  return Number.isFinite(waitedMs)
    ? slowest(
        [...slotsOf.values()].flatMap((slots) => [...slots]),
        waitedMs,
      )
    : undefined
}

function slowest(slots: Iterable<HeldSlot>, waitedMs: number): HeldSlot | undefined {
  let slowest: HeldSlot | undefined
  for (const slot of slots) if (!slowest || slot.waitedMs() > slowest.waitedMs()) slowest = slot
  return slowest && slowest.waitedMs() >= waitedMs ? slowest : undefined
}
