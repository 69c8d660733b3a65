// Reads take turns: of those that wait for the database, first one of an account that has the fewest under way; people are not
// kept waiting by their stores' keys. Some connections are left for changes, and some for accounts that read nothing else. Large
// answers, such as a hundred keys with all the metadata they may have, and slow ones keep a core busy: of these a few are read at
// a time, so that others get their turns in between.

import { siteOf } from '../auth/ip.ts'
import { MINUTE, SECOND } from '../core/clock.ts'
import type { WireResponse } from '../core/route.ts'
import { isStatementTimeout } from '../db/errors.ts'
import { newFairSemaphore } from '../limits/fair-semaphore.ts'
import type { Call, Pipeline, ReadSlots } from './context.ts'
import { holderOf, keysOf, tenantOf } from './holders.ts'

const SHARE_OF_CHANGES = 1 / 4
/** With those for large answers fewer than load shedding always admits: reads that wait keep no other request out. */
const MAX_WAITING = 150
const MAX_LARGE_WAITING = 100
const WAIT_MS = 2 * SECOND
/** Longer than a statement may take: who holds the other places has ended by then. */
const LARGE_WAIT_MS = 10 * SECOND
const LARGE_AT_ONCE = 2
const LARGE = 200_000
const SLOW_MS = SECOND
/**
 * An answer is taken for large when the account got a large or slow one from the same route so long ago. Once may be chance, or a
 * busy machine; twice within ten minutes is remembered for longer, so that nobody comes in bursts that nothing is known of.
 */
const KNOWN_FOR_MS = 10 * SECOND
const KNOWN_AGAIN_FOR_MS = 2 * MINUTE
const AGAIN_WITHIN_MS = 10 * MINUTE
const MAX_REMEMBERED = 10_000

/** `connections`: those that serve requests. */
export function newReadSlots(connections: number): ReadSlots {
  const inside = Math.max(1, connections - Math.max(1, Math.floor(connections * SHARE_OF_CHANGES)))
  const forOthers = Math.floor(inside / 3)
  const large = { inside: LARGE_AT_ONCE, forOthers: 1, tenantOf, waiting: MAX_LARGE_WAITING, waitMs: LARGE_WAIT_MS }
  return {
    all: newFairSemaphore({ inside, forOthers, tenantOf, waiting: MAX_WAITING, waitMs: WAIT_MS, retryAfterSeconds: 1 }),
    large: newFairSemaphore({ ...large, retryAfterSeconds: 1 }),
    known: new Map(),
  }
}

/** Answers of any length have turns of their own (json-stream.ts), and so have streams (event-stream.ts). */
export async function inReadSlot(
  pipeline: Pipeline,
  call: Call,
  read: () => Promise<WireResponse>,
): Promise<WireResponse> {
  const { route } = call
  if (route.method !== 'GET' || route.effect || route.answer) return read()
  const { reads } = pipeline.limits
  const account = await accountOf(pipeline, call)
  const name = `${route.id} ${account}`
  const leave = await enter(reads, account, name)
  // While it runs: others like it are not begun until it ends.
  const slow = setTimeout(() => noteLarge(reads, name), SLOW_MS)
  try {
    const wire = await read()
    if (wire.body.length > LARGE) noteLarge(reads, name)
    return wire
  } catch (error) {
    if (isStatementTimeout(error)) noteLarge(reads, name)
    throw error
  } finally {
    clearTimeout(slow)
    leave()
  }
}

async function accountOf(pipeline: Pipeline, { caller, incoming }: Call): Promise<string> {
  if (!caller) return siteOf(incoming.ip)
  const { account } = await holderOf(pipeline, { caller, incoming })
  return caller.kind === 'key' ? keysOf(account) : account
}

/** The first large answer shows while others of the account already wait: so it is looked at when their turn has come. */
async function enter({ all, large, known }: ReadSlots, account: string, name: string): Promise<() => void> {
  const leave = await all.enter(account)
  if (performance.now() >= (known.get(name)?.until ?? 0)) return leave
  leave()
  const leaveLarge = await large.enter(account)
  try {
    const leaveAll = await all.enter(account)
    return () => {
      leaveAll()
      leaveLarge()
    }
  } catch (error) {
    leaveLarge()
    throw error
  }
}

function noteLarge({ known }: ReadSlots, name: string): void {
  const noted = performance.now()
  const before = known.get(name)
  const isAgain = before !== undefined && noted - before.noted < AGAIN_WITHIN_MS
  if (known.size >= MAX_REMEMBERED) known.clear()
  known.set(name, { noted, until: noted + (isAgain ? KNOWN_AGAIN_FOR_MS : KNOWN_FOR_MS) })
}
