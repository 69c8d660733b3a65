// Limits what takes long, such as streams and exports: a number of slots for the node, and of these a number for each holder,
// such as a caller or a store. When the node has none left, an account with fewer takes one of the account with the most.

import { fail } from '../core/errors.ts'

/** `full` is the message when all of the holder's own slots are in use. */
type SlotHolder = { id: string; max: number; full: string }

type SlotClaim = {
  holders: SlotHolder[]
  /** Whom the slot counts for when the node has none left; null: it is never taken for another account. */
  account: string | null
  /** The slot was given to another account: this answer must end. */
  onEvicted?: () => void
}

type Slot = { release(): void }
type HeldSlot = Slot & { evict(): void }

export type ConcurrencyLimiter = {
  /** Throws when the node's or a holder's slots are all in use. */
  acquire(claim: SlotClaim): Slot
  inUse(): number
}

export function newConcurrencyLimiter(maxPerNode: number): ConcurrencyLimiter {
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
        const slot = oldestOfMost(slotsOf, account === null ? 0 : own.size)
        if (!slot) return fail('overloaded', { retryAfterSeconds: 5 })
        slot.evict()
      }
      const slot = {
        release() {
          if (!own.delete(slot)) return
          if (own.size === 0) slotsOf.delete(account)
          inUse -= 1
          count(holders, -1)
        },
        evict() {
          slot.release()
          onEvicted?.()
        },
      }
      slotsOf.set(account, own.add(slot))
      inUse += 1
      count(holders, 1)
      return slot
    },
    inUse: () => inUse,
  }
}

/** Of the account with the most; none if the account that comes would have as many. */
function oldestOfMost(slotsOf: Map<string | null, Set<HeldSlot>>, own: number): HeldSlot | undefined {
  let most: Set<HeldSlot> | undefined
  for (const [account, slots] of slotsOf) if (account !== null && slots.size > (most?.size ?? 0)) most = slots
  if (!most || most.size <= own + 1) return undefined
  const [oldest] = most
  return oldest
}
