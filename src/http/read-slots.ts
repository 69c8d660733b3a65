// Reads take turns: of those that wait for the database, first one of an account that has the fewest under way. A page of a
// hundred keys with all the metadata they may have takes ten times as long as a small one, and whoever asks for many of those
// must not keep others waiting. Some connections are left for changes.

import { networkOf } from '../auth/ip.ts'
import { SECOND } from '../core/clock.ts'
import { type FairSemaphore, newFairSemaphore } from '../limits/fair-semaphore.ts'
import type { Call, Pipeline } from './context.ts'
import { holderOf } from './holders.ts'

const LEFT_FOR_CHANGES = 2
/** Fewer than load shedding always admits: reads that wait keep no other request out. */
const MAX_WAITING = 250
const WAIT_MS = 2 * SECOND

/** `connections`: those that serve requests. */
export function newReadSlots(connections: number): FairSemaphore {
  const inside = Math.max(1, connections - LEFT_FOR_CHANGES)
  return newFairSemaphore({ inside, waiting: MAX_WAITING, waitMs: WAIT_MS, retryAfterSeconds: 1 })
}

/** Answers of any length have turns of their own (json-stream.ts), and so have streams (event-stream.ts). */
export async function inReadSlot<T>(pipeline: Pipeline, call: Call, read: () => Promise<T>): Promise<T> {
  const { route, caller, incoming } = call
  if (route.method !== 'GET' || route.effect || route.answer) return read()
  const account = caller ? (await holderOf(pipeline, call)).account : networkOf(incoming.ip).place
  const leave = await pipeline.limits.reads.enter(account)
  return read().finally(leave)
}
