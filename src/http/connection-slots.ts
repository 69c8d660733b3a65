// Accounts take turns for the connections that requests are served with: however many stores and keys somebody has, others have
// connections, too. An account with nothing under way comes first, and some connections are left for such accounts; the keys of
// its stores count with it. Of what one account waits for, people do not wait behind keys, nor changes, such as revoking a key,
// behind reads.

import { siteOf } from '../auth/ip.ts'
import { SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { type FairSemaphore, newFairSemaphore } from '../limits/fair-semaphore.ts'
import type { Call, Pipeline } from './context.ts'
import { changesOf, holderOf, keysOf, servicesOf, tenantOf } from './holders.ts'

/** With those for large answers fewer than load shedding always admits: what waits here keeps no other request out. */
const MAX_WAITING = 150
const WAIT_MS = 2 * SECOND

const TOO_MANY =
  'Too many of your requests are in progress at once. Send fewer at a time, or wait a moment before you send the next.'

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

/** Who waits for a slot: the account, its stores' keys, its back ends, or the address of somebody without an account. */
export async function accountOf(pipeline: Pipeline, { caller, incoming }: Call): Promise<string> {
  if (!caller) return siteOf(incoming.ip)
  if (caller.kind === 'service') return caller.createdBy === null ? caller.id : servicesOf(caller.createdBy)
  const { account } = await holderOf(pipeline, { caller, incoming })
  return caller.kind === 'key' ? keysOf(account) : account
}

/**
 * Begins a request, unless its tenant has so many under way that others would find no room. The operator's back ends have no
 * such bound.
 */
export async function inShare<T>(pipeline: Pipeline, call: Call, run: () => Promise<T>): Promise<T> {
  if (call.caller?.kind === 'service' && call.caller.createdBy === null) return run()
  const account = await accountOf(pipeline, call)
  const leave = pipeline.limits.shares.enter(tenantOf(account), account)
  if (leave === null) return fail('rate_limited', { retryAfterSeconds: 1, detail: TOO_MANY })
  return run().finally(leave)
}

/**
 * The database for a change: each of its transactions has a slot. Whoever waits for the lock of a store has no slot until it is
 * their turn (db/turns.ts), and none between two tries.
 */
export async function inChangeSlots(pipeline: Pipeline, call: Call): Promise<Db> {
  const { db, limits } = pipeline
  const account = changesOf(await accountOf(pipeline, call))
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
