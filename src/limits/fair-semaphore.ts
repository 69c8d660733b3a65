// A few at a time, and of those that wait, one of each account after the other.

import { Failure } from '../core/errors.ts'
import { type OfAccount, Waitlist } from './waitlist.ts'

export type FairSemaphore = {
  /** Resolves when it is the account's turn, with the function that ends it. Fails when too many wait, or it takes too long. */
  enter(account: string): Promise<() => void>
  /** How many wait. */
  waiting(): number
}

type Bounds = { inside: number; waiting: number; waitMs: number }
type Waiting = OfAccount & { begin(): void; refuse(): void }

export function newFairSemaphore(max: Bounds): FairSemaphore {
  const waitlist = new Waitlist<Waiting>()
  let inside = 0
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
        refuse: () => end(() => reject(new Failure('overloaded', { retryAfterSeconds: 5 }))),
      }
      waitlist.add(waiting)
      if (waitlist.size > max.waiting) oneOfMost(waitlist, account)?.refuse()
    })
  const letNextIn = () => {
    const account = waitlist.next()
    if (account === undefined) inside -= 1
    else waitlist.take(account)?.begin()
  }
  return {
    async enter(account) {
      if (inside < max.inside) inside += 1
      else await wait(account)
      let isInside = true
      return () => {
        if (isInside) letNextIn()
        isInside = false
      }
    },
    waiting: () => waitlist.size,
  }
}

/** Of the account that has most waiting, which is the one that comes if it has as many. */
function oneOfMost(waitlist: Waitlist<Waiting>, own: string): Waiting | undefined {
  let most = own
  for (const account of waitlist.accounts()) if (waitlist.sizeOf(account) > waitlist.sizeOf(most)) most = account
  return waitlist.newestOf(most)
}
