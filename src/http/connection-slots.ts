// Accounts take turns for the connections that requests are served with: however many stores and keys somebody has, others have
// connections, too. An account with nothing under way comes first, and some connections are left for such accounts; the keys of
// its stores count with it. Of what one account waits for, people do not wait behind keys, nor changes, such as revoking a key,
// behind reads.

import { SECOND } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { type FairSemaphore, newFairSemaphore } from '../limits/fair-semaphore.ts'
import type { Call, Pipeline } from './context.ts'
import { changesOf, tenantOf } from './holders.ts'

/** With those for large answers fewer than load shedding always admits: what waits here keeps no other request out. */
const MAX_WAITING = 150
const WAIT_MS = 2 * SECOND

/** `connections`: those that serve requests. One is left to what the node does by itself, and to batches. */
export function newConnectionSlots(connections: number): FairSemaphore {
  const inside = Math.max(1, connections - 1)
  const forOthers = Math.floor(inside / 3)
  return newFairSemaphore({
    inside,
    forOthers,
    tenantOf,
    waiting: MAX_WAITING,
    waitMs: WAIT_MS,
    retryAfterSeconds: 1,
  })
}

/**
 * The database for a change: each of its transactions has a slot. Whoever waits for the lock of a store has no slot until it is
 * their turn (db/turns.ts), and none between two tries.
 */
export function inChangeSlots({ db, limits }: Pipeline, call: Call): Db {
  const account = changesOf(call.account)
  const enter = () => limits.slots.enter(account)
  return {
    ...db,
    transaction: async (work, turn) => {
      if (turn) return db.transaction(work, { ...turn, enter })
      const leave = await enter()
      try {
        return await db.transaction(work)
      } finally {
        leave()
      }
    },
  }
}
