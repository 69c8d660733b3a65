// To parse a body of 64 KiB, and to find its faults, may take 20 ms, in one piece. So one of them is parsed in each turn of the
// event loop, and tenants take turns: whoever sends many keeps others waiting for one of them, and not for all.

import { newFairQueue } from '../limits/fair-queue.ts'
import type { Call, ParseTurns, Pipeline } from './context.ts'
import { tenantOf } from './holders.ts'

/** Smaller ones take no turn: none takes longer than all else that is done for its request. */
export const SMALL_BODY_BYTES = 2 * 1024

export const newParseTurns = (): ParseTurns =>
  newFairQueue(
    ({ tenant }) => tenant,
    ({ begin }) => begin(),
    1,
  )

export async function turnToParse({ limits }: Pipeline, { account, incoming }: Call): Promise<void> {
  if (incoming.body.length <= SMALL_BODY_BYTES) return
  await new Promise<void>((begin) => limits.parseTurns.add({ tenant: tenantOf(account), begin }))
}
