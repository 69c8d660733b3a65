// Reads take turns with everything else for connections (connection-slots.ts). Large answers, such as a hundred keys with all the
// metadata they may have, and slow ones keep a core busy: of these a few are read at a time, so that others get their turns in
// between.

import { MINUTE, SECOND } from '../core/clock.ts'
import type { WireResponse } from '../core/route.ts'
import { isStatementTimeout } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import { newFairSemaphore } from '../limits/fair-semaphore.ts'
import type { Call, LargeReads, Pipeline } from './context.ts'
import { tenantOf } from './holders.ts'

const MAX_WAITING = 100
/** Longer than a statement may take: who holds the other places has ended by then. */
const WAIT_MS = 10 * SECOND
const AT_ONCE = 2
const LARGE = 200_000
const SLOW_MS = SECOND
/** Where the shortest statement takes this long, a read is slow because everything is. */
const EVERYTHING_SLOW_MS = 100
/**
 * An answer is taken for large when the account got a large or slow one from the same route so long ago. Once may be chance;
 * twice within ten minutes is remembered for longer, so that nobody comes in bursts that nothing is known of.
 */
const KNOWN_FOR_MS = 10 * SECOND
const KNOWN_AGAIN_FOR_MS = 2 * MINUTE
const AGAIN_WITHIN_MS = 10 * MINUTE
const MAX_REMEMBERED = 10_000

export function newLargeReads(): LargeReads {
  const max = { inside: AT_ONCE, forOthers: 1, waiting: MAX_WAITING, waitMs: WAIT_MS }
  return { slots: newFairSemaphore({ ...max, tenantOf, retryAfterSeconds: 1 }), known: new Map() }
}

/** Answers of any length have turns of their own (json-stream.ts), and so have streams (event-stream.ts). */
export async function inReadSlot(
  pipeline: Pipeline,
  call: Call,
  read: () => Promise<WireResponse>,
): Promise<WireResponse> {
  const { route, account } = call
  if (route.method !== 'GET' || route.effect || route.answer) return read()
  const name = `${route.id} ${account}`
  const leave = await enter(pipeline, account, name)
  const { largeReads } = pipeline.limits
  // While it runs: others like it are not begun until it ends.
  const slow = setTimeout(() => void noteSlow(pipeline, name), SLOW_MS)
  try {
    const wire = await read()
    if (wire.body.length > LARGE) noteLarge(largeReads, name)
    return wire
  } catch (error) {
    if (isStatementTimeout(error)) noteLarge(largeReads, name)
    throw error
  } finally {
    clearTimeout(slow)
    leave()
  }
}

/** The first large answer shows while others of the account already wait: so it is looked at when their turn has come. */
async function enter({ limits }: Pipeline, account: string, name: string): Promise<() => void> {
  const { slots, largeReads } = limits
  const leave = await slots.enter(account)
  if (performance.now() >= (largeReads.known.get(name)?.until ?? 0)) return leave
  leave()
  const leaveLarge = await largeReads.slots.enter(account)
  try {
    const leaveAll = await slots.enter(account)
    return () => {
      leaveAll()
      leaveLarge()
    }
  } catch (error) {
    leaveLarge()
    throw error
  }
}

/** On a machine that is slow for everybody every read takes long, which says nothing of this one. */
async function noteSlow({ db, limits }: Pipeline, name: string): Promise<void> {
  const asked = performance.now()
  const answered = await db.lookUps.query(sql`select 1`).catch(() => null)
  if (answered && performance.now() - asked < EVERYTHING_SLOW_MS) noteLarge(limits.largeReads, name)
}

function noteLarge({ known }: LargeReads, name: string): void {
  const noted = performance.now()
  const before = known.get(name)
  const isAgain = before !== undefined && noted - before.noted < AGAIN_WITHIN_MS
  if (known.size >= MAX_REMEMBERED) known.clear()
  known.set(name, { noted, until: noted + (isAgain ? KNOWN_AGAIN_FOR_MS : KNOWN_FOR_MS) })
}
