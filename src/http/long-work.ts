// Imports and bulk changes keep a core busy for a tenth of a second and more. A store has one of them under way and an account
// two, with whichever of its keys and stores, and an address a few; a node works on some of them, and the others wait. So
// nobody has all of a node.

import { networkOf } from '../auth/ip.ts'
import { newSemaphore } from '../core/semaphore.ts'
import { newConcurrencyLimiter } from '../limits/concurrency.ts'
import { newLargeBodies } from '../limits/large-bodies.ts'
import { readOwnerIds } from '../stores/members.ts'
import type { Call, LongWork, Pipeline } from './context.ts'

const MAX_OF_STORE = 1
const MAX_OF_ACCOUNT = 2
/** Half of those that run and wait: the others are left to other addresses. */
const MAX_OF_ADDRESS = 12
const MAX_RUNNING = 4
const MAX_WAITING = 20
/** How many of a store's owners are looked at. */
const MAX_OWNERS = 20

const STORE_BUSY = 'Another import or bulk change in this store is under way on this node. Send one at a time.'
const ACCOUNT_BUSY = `You have ${MAX_OF_ACCOUNT} imports or bulk changes under way on this node. Wait until one has ended.`
const ADDRESS_BUSY = `Your address has ${MAX_OF_ADDRESS} imports or bulk changes under way on this node. Wait until one has ended.`

export type Turn = { release(): void }

export function newLongWork(): LongWork {
  return {
    turns: newConcurrencyLimiter(Number.POSITIVE_INFINITY),
    run: newSemaphore(MAX_RUNNING, MAX_WAITING),
    bodies: newLargeBodies(),
  }
}

/** Fails when the store, or an account behind the caller, has as many under way as it may have. */
export async function takeTurn(
  { db, limits }: Pipeline,
  { caller, incoming }: Pick<Call, 'caller' | 'incoming'>,
): Promise<Turn> {
  const { storeId } = incoming.params
  // A key acts for those who own its store: a user can have many stores, and a store many keys.
  const accounts =
    caller?.kind === 'key' ? await readOwnerIds(db, caller.storeId, MAX_OWNERS) : [caller?.id ?? incoming.ip]
  const holders = [
    ...(storeId === undefined ? [] : [{ id: storeId, max: MAX_OF_STORE, full: STORE_BUSY }]),
    ...accounts.map((id) => ({ id, max: MAX_OF_ACCOUNT, full: ACCOUNT_BUSY })),
    { id: networkOf(incoming.ip).place, max: MAX_OF_ADDRESS, full: ADDRESS_BUSY },
  ]
  return limits.longWork.turns.acquire({ holders, account: null })
}
