// A few at a time, and of those that wait, first one of a tenant with nothing under way, then of an account with the fewest, and
// among equals of the tenant whose last turn was the longest ago. Some places can be left for tenants that have nothing under
// way: then nobody has all of them for as long as their slowest takes. A tenant is an account, or several that one person
// stands behind.

import { Failure } from '../core/errors.ts'
import { newCounts } from './counts.ts'
import { type OfAccount, Waitlist } from './waitlist.ts'

export type FairSemaphore = {
  /** Resolves when it is the account's turn, with the function that ends it. Fails when too many wait, or it takes too long. */
  enter(account: string): Promise<() => void>
  /** How many wait. */
  waiting(): number
}

type Bounds = {
  inside: number
  /** Of the places inside, those that a tenant with something under way does not get. */
  forOthers?: number
  /** Who stands behind an account: itself, unless said. */
  tenantOf?: (account: string) => string
  waiting: number
  waitMs: number
  retryAfterSeconds?: number
}
const RETRY_AFTER_SECONDS = 5
const MAX_REMEMBERED = 10_000

type Waiting = OfAccount & { begin(): void; refuse(): void }

export function newFairSemaphore(max: Bounds): FairSemaphore {
  const waitlist = new Waitlist<Waiting>()
  const { forOthers = 0, tenantOf = (account: string) => account } = max
  const [ofAccount, ofTenant] = [newCounts(), newCounts()]
  /** By tenant, the number of its last turn. */
  const lastTurnOf = new Map<string, number>()
  let turns = 0
  let inside = 0
  const count = (account: string, change: 1 | -1) => {
    ofAccount.add(account, change)
    ofTenant.add(tenantOf(account), change)
    inside += change
  }
  const begin = (account: string) => {
    count(account, 1)
    if (lastTurnOf.size >= MAX_REMEMBERED) lastTurnOf.clear()
    turns += 1
    lastTurnOf.set(tenantOf(account), turns)
  }
  const lastTurn = (account: string) => lastTurnOf.get(tenantOf(account)) ?? 0
  const has = ofAccount.get
  const hasNone = (account: string) => ofTenant.get(tenantOf(account)) === 0
  const mayEnter = (account: string) => inside < max.inside - (hasNone(account) ? 0 : forOthers)
  /** When that one may not enter, none may. */
  const nextAccount = () => {
    const comesBefore = (one: string, other: string) => {
      if (hasNone(one) !== hasNone(other)) return hasNone(one)
      return has(one) === has(other) ? lastTurn(one) < lastTurn(other) : has(one) < has(other)
    }
    let next = waitlist.next()
    for (const account of waitlist.accounts()) if (next === undefined || comesBefore(account, next)) next = account
    return next
  }
  /** Of the account that has most under way and waiting, which is the one that comes if it has as many. */
  const newestOfMost = (own: string) => {
    const all = (account: string) => has(account) + waitlist.sizeOf(account)
    let most = own
    for (const account of waitlist.accounts()) if (all(account) > all(most)) most = account
    return waitlist.newestOf(most)
  }
  const wait = (account: string) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => waiting.refuse(), max.waitMs)
      const end = (settle: () => void) => {
        clearTimeout(timer)
        waitlist.remove(waiting)
        settle()
      }
      const waiting = {
        account,
        begin: () => end(resolve),
        refuse: () =>
          end(() =>
            reject(new Failure('overloaded', { retryAfterSeconds: max.retryAfterSeconds ?? RETRY_AFTER_SECONDS })),
          ),
      }
      waitlist.add(waiting)
      if (waitlist.size > max.waiting) newestOfMost(account)?.refuse()
    })
  const leave = (account: string) => {
    count(account, -1)
    const next = nextAccount()
    if (next === undefined || !mayEnter(next)) return
    begin(next)
    waitlist.take(next)?.begin()
  }
  return {
    async enter(account) {
      if (mayEnter(account)) begin(account)
      else await wait(account)
      let isInside = true
      return () => {
        if (isInside) leave(account)
        isInside = false
      }
    },
    waiting: () => waitlist.size,
  }
}
