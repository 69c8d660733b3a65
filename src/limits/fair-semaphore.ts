// A few at a time, and of those that wait, first one of an account with the fewest under way, and otherwise one of each account
// after the other. Some places can be left for accounts that have nothing under way: then nobody has all of them for as long as
// their slowest takes.

import { Failure } from '../core/errors.ts'
import { type OfAccount, Waitlist } from './waitlist.ts'

export type FairSemaphore = {
  /** Resolves when it is the account's turn, with the function that ends it. Fails when too many wait, or it takes too long. */
  enter(account: string): Promise<() => void>
  /** How many wait. */
  waiting(): number
}

/** `forOthers`: of the places inside, those that an account with something under way does not get. */
type Bounds = { inside: number; forOthers?: number; waiting: number; waitMs: number; retryAfterSeconds?: number }
const RETRY_AFTER_SECONDS = 5

type Waiting = OfAccount & { begin(): void; refuse(): void }

export function newFairSemaphore(max: Bounds): FairSemaphore {
  const waitlist = new Waitlist<Waiting>()
  const insideOf = new Map<string, number>()
  let inside = 0
  const count = (account: string, change: 1 | -1) => {
    const own = (insideOf.get(account) ?? 0) + change
    if (own === 0) insideOf.delete(account)
    else insideOf.set(account, own)
    inside += change
  }
  const has = (account: string) => insideOf.get(account) ?? 0
  const mayEnter = (account: string) => inside < max.inside - (has(account) === 0 ? 0 : (max.forOthers ?? 0))
  const nextAccount = () => {
    let fewest = waitlist.next()
    for (const account of waitlist.accounts()) if (fewest === undefined || has(account) < has(fewest)) fewest = account
    return fewest
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
    count(next, 1)
    waitlist.take(next)?.begin()
  }
  return {
    async enter(account) {
      if (mayEnter(account)) count(account, 1)
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
