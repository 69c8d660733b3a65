// Accounts take turns for the connections that requests are served with: however many stores and keys somebody has, others have
// connections, too. An account with nothing under way comes first, and some connections are left for such accounts; the keys of
// its stores count with it. Of what one account waits for, people do not wait behind keys, nor changes, such as revoking a key,
// behind reads.

import { siteOf } from '../auth/ip.ts'
import { SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { type FairSemaphore, newFairSemaphore } from '../limits/fair-semaphore.ts'
import type { Call, Incoming, Pipeline } from './context.ts'
import { changesOf, tenantOf } from './holders.ts'

/** With those for large answers fewer than load shedding always admits: what waits here keeps no other request out. */
const MAX_WAITING = 150
const WAIT_MS = 2 * SECOND

export function failTooMany(): never {
  const detail =
    'Too many of your requests are in progress at once. Send fewer at a time, or wait before you send more.'
  return fail('rate_limited', { retryAfterSeconds: 1, detail })
}

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
 * Begins a request, unless its tenant has so many under way that others would find no room. The operator's back ends have no
 * such bound. Before it is begun it does not count as in flight: to find out whom it counts for, and to refuse it, takes
 * nobody's room.
 */
export async function inShare<T>({ limits }: Pipeline, call: Call, run: () => Promise<T>): Promise<T> {
  const { incoming, caller, account } = call
  const isOperators = caller?.kind === 'service' && caller.createdBy === null
  const leave = isOperators ? () => {} : limits.shares.enter(tenantOf(account), account)
  if (leave === null) return failTooMany()
  incoming.ticket?.unpark()
  return run().finally(leave)
}

/**
 * Finds out who is calling. That may take seconds, such as while an identity provider does not answer: so an address has at
 * most two thirds of these, too.
 */
export async function identifying<T>(
  { limits }: Pipeline,
  { ip, ticket }: Incoming,
  run: () => Promise<T>,
): Promise<T> {
  const site = siteOf(ip)
  const leave = limits.identifying.enter(site, site)
  if (leave === null) return failTooMany()
  ticket?.park()
  return run().finally(leave)
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
