// Imports and bulk changes keep a core busy for a tenth of a second and more. Of each kind a store has one under way and an
// account two, with whichever of its keys and stores, and an address a few; a node works on some of them, and the others wait. So
// nobody has all of a node. What keys have under way is counted apart from people's: whoever has a leaked key must not keep
// people from revoking keys. For the same reason bulk changes do not wait for imports.

import { siteOf } from '../auth/ip.ts'
import { MINUTE } from '../core/clock.ts'
import type { LongWorkKind } from '../core/route.ts'
import { newConcurrencyLimiter } from '../limits/concurrency.ts'
import { newFairSemaphore } from '../limits/fair-semaphore.ts'
import { newLargeBodies } from '../limits/large-bodies.ts'
import type { Call, LongWork, LongWorkLine, Pipeline } from './context.ts'
import { keysOf, tenantOf } from './holders.ts'

const MAX_OF_STORE = 1
const MAX_OF_ACCOUNT = 2
/** Half of those that run and wait: the others are left to other addresses. */
const MAX_OF_ADDRESS = 12
/** Each has a connection to the database while it writes: an import once for long, a bulk change now and then. */
const IMPORTS = { share: 1 / 2, max: 4 }
const BULK_CHANGES = { share: 1 / 2, max: 2 }
const MAX_WAITING = 20

const storeBusy = (kind: LongWorkKind) => `Another ${kind} in this store is under way on this node. Send one at a time.`
const accountBusy = (kind: LongWorkKind) =>
  `You have ${MAX_OF_ACCOUNT} ${kind}s under way on this node. Wait until one has ended.`
const addressBusy = (kind: LongWorkKind) =>
  `Your address has ${MAX_OF_ADDRESS} ${kind}s under way on this node. Wait until one has ended.`

/** Until the work is done. */
export type Turn = {
  tenant: string
  /** Resolves when the work may begin, with the function that ends it. */
  begin(): Promise<() => void>
  release(): void
}

/** `connections`: those that serve requests. */
export function newLongWork(connections: number): LongWork {
  const newLine = ({ share, max }: typeof IMPORTS): LongWorkLine => {
    const inside = Math.min(Math.max(1, Math.floor(connections * share)), max)
    const forOthers = inside > 1 ? 1 : 0
    return {
      turns: newConcurrencyLimiter(Number.POSITIVE_INFINITY),
      running: newFairSemaphore({ inside, forOthers, tenantOf, waiting: MAX_WAITING, waitMs: MINUTE }),
    }
  }
  return { import: newLine(IMPORTS), 'bulk change': newLine(BULK_CHANGES), bodies: newLargeBodies() }
}

/** Fails when the store, or the account behind the caller, has as many of the kind under way as it may have. */
export async function takeTurn(
  { limits, accountOf }: Pick<Pipeline, 'limits' | 'accountOf'>,
  kind: LongWorkKind,
  { caller, incoming }: Pick<Call, 'caller' | 'incoming'>,
): Promise<Turn> {
  const { turns, running } = limits.longWork[kind]
  const { storeId } = incoming.params
  const site = siteOf(incoming.ip)
  // A key acts for the account that its store counts for: a user can have many stores, and a store many keys.
  const isKey = caller?.kind === 'key'
  const account = isKey ? keysOf(await accountOf(caller.storeId)) : (caller?.id ?? site)
  const holders = [
    ...(storeId === undefined
      ? []
      : [{ id: isKey ? keysOf(storeId) : storeId, max: MAX_OF_STORE, full: storeBusy(kind) }]),
    { id: account, max: MAX_OF_ACCOUNT, full: accountBusy(kind) },
    { id: site, max: MAX_OF_ADDRESS, full: addressBusy(kind) },
  ]
  const { release } = turns.acquire({ holders, account: null })
  return { tenant: tenantOf(account), begin: () => running.enter(account), release }
}
