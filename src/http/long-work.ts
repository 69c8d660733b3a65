// Imports and bulk changes keep a core busy for a tenth of a second and more. A store has one of them under way and an account
// two, with whichever of its keys and stores, and an address a few; a node works on some of them, and the others wait. So
// nobody has all of a node. What keys have under way is counted apart from people's: whoever has a leaked key must not keep
// people from revoking keys.

import { siteOf } from '../auth/ip.ts'
import { MINUTE } from '../core/clock.ts'
import { newConcurrencyLimiter } from '../limits/concurrency.ts'
import { newFairSemaphore } from '../limits/fair-semaphore.ts'
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

/** `account`: whose turn it is among those that wait to run. */
export type Turn = { account: string; release(): void }

export function newLongWork(): LongWork {
  return {
    turns: newConcurrencyLimiter(Number.POSITIVE_INFINITY),
    running: newFairSemaphore({ inside: MAX_RUNNING, forOthers: 1, waiting: MAX_WAITING, waitMs: MINUTE }),
    bodies: newLargeBodies(),
  }
}

/** Fails when the store, or an account behind the caller, has as many under way as it may have. */
export async function takeTurn(
  { db, limits }: Pipeline,
  { caller, incoming }: Pick<Call, 'caller' | 'incoming'>,
): Promise<Turn> {
  const { storeId } = incoming.params
  const site = siteOf(incoming.ip)
  // A key acts for those who own its store: a user can have many stores, and a store many keys.
  const isKey = caller?.kind === 'key'
  const accounts = isKey ? await readOwnerIds(db, caller.storeId, MAX_OWNERS) : [caller?.id ?? site]
  const counted = (id: string) => (isKey ? `keys of ${id}` : id)
  const holders = [
    ...(storeId === undefined ? [] : [{ id: counted(storeId), max: MAX_OF_STORE, full: STORE_BUSY }]),
    ...accounts.map((id) => ({ id: counted(id), max: MAX_OF_ACCOUNT, full: ACCOUNT_BUSY })),
    { id: site, max: MAX_OF_ADDRESS, full: ADDRESS_BUSY },
  ]
  const { release } = limits.longWork.turns.acquire({ holders, account: null })
  return { account: accounts[0] === undefined ? site : counted(accounts[0]), release }
}
