// Before TLS knows whether it trusts a receiver it checks every signature of its certificates, on the thread that serves requests.
// Those of an ordinary receiver take some milliseconds, and reading its response takes less. All that this does for an account
// takes a quarter of the thread's time at most, and all that it does for all of them half: once it has taken more, an account rests.
// Accounts do not wait for each other's handshakes, also where their receivers share an address: a receiver is one network's, for
// one account.

import { siteOf } from '../auth/ip.ts'

/** An ordinary handshake takes some 5 ms. */
const COSTLY_MS = 20
/** An account rests so many times as long as its receivers have kept the thread busy, ... */
const REST = { ordinary: 4, costly: 20 }
/** ... but so much of that rest may be put off, ... */
const CREDIT_MS = 2_000
/**
 * ... and it is never longer than a connection waits: the process may have stood still in the middle of the work, for which the
 * account can do nothing.
 */
const MAX_REST_MS = 4_000
/** With more accounts than this that have something to make up for, each rests for longer. */
const FULL_SHARES = 2
/** When all of them have taken so long without a request in between, the rest waits until requests have had their turn. */
const TURN_MS = 20
const NEXT_TURN_MS = 1
const COUNTED_EVERY_MS = 10
/** A costly handshake is remembered for so long. */
const COSTLY_FOR_MS = 600_000
/** At once: with a receiver whose last handshake was cheap, with any other, and with all others of an account. */
const AT_ONCE = { cheap: 4, other: 1, others: 4 }
const PATIENCE_MS = 5_000
const MAX_ACCOUNTS = 10_000
const MAX_RECEIVERS = 1_000

/** To be called when the handshake is over: with what it has taken, and whether it came to its end. */
type End = (ms: number, isDone: boolean) => void
export type ThreadShares = {
  enter(account: string, address: string): Promise<End>
  /** To be called when an account's receiver has kept the thread busy, in a handshake or later. */
  spend(account: string, ms: number): void
  /** For how long nothing more is to be done for the account. */
  restMs(account: string): number
}

type Receiver = { isCheap: boolean; inside: number }
type Waiting = { receiver: Receiver; begin(): void }
type Account = {
  receivers: Map<string, Receiver>
  others: number
  /** One of its handshakes was costly. */
  costlyUntil: number
  /** When all its rest is made up for. */
  restedAt: number
  waiting: Set<Waiting>
  timer?: NodeJS.Timeout
}

export function newThreadShares(clock = () => performance.now()): ThreadShares {
  const accounts = new Map<string, Account>()
  /** Those with something to make up for, and when those that have made up for it were last taken out. */
  const resting = new Set<Account>()
  let countedAt = 0
  /** Of the turn of the event loop. */
  let turnMs = 0

  function accountOf(name: string): Account {
    const known = accounts.get(name)
    if (known) return known
    if (accounts.size >= MAX_ACCOUNTS) forgetIdle()
    const [receivers, waiting] = [new Map<string, Receiver>(), new Set<Waiting>()]
    const account = { receivers, others: 0, costlyUntil: 0, restedAt: 0, waiting }
    accounts.set(name, account)
    return account
  }

  function forgetIdle(): void {
    for (const [name, { receivers, waiting, restedAt }] of accounts)
      if (waiting.size === 0 && restedAt <= clock() && [...receivers.values()].every(({ inside }) => inside === 0))
        accounts.delete(name)
  }

  function receiverOf({ receivers }: Account, address: string): Receiver {
    const site = siteOf(address)
    const receiver = receivers.get(site) ?? { isCheap: false, inside: 0 }
    if (receivers.size >= MAX_RECEIVERS)
      for (const [other, { inside }] of receivers) if (inside === 0) receivers.delete(other)
    receivers.set(site, receiver)
    return receiver
  }

  const restOf = ({ restedAt }: Account) => Math.max(0, restedAt - CREDIT_MS - clock())

  function mayBegin(account: Account, { isCheap, inside }: Receiver): boolean {
    if (restOf(account) > 0) return false
    if (isCheap) return inside < AT_ONCE.cheap
    // Whoever had a costly one of late has no more of them at a time.
    return inside < AT_ONCE.other && account.others < (account.costlyUntil > clock() ? 1 : AT_ONCE.others)
  }

  /** Returns the end of the handshake that begins. */
  function begin(account: Account, receiver: Receiver): End {
    const isOther = !receiver.isCheap
    receiver.inside += 1
    if (isOther) account.others += 1
    let isInside = true
    return (ms, isDone) => {
      if (!isInside) return
      isInside = false
      receiver.inside -= 1
      if (isOther) account.others -= 1
      if (ms >= COSTLY_MS) account.costlyUntil = clock() + COSTLY_FOR_MS
      if (ms >= COSTLY_MS || isDone) receiver.isCheap = ms < COSTLY_MS
      beginNext(account)
    }
  }

  function beginNext(account: Account): void {
    for (const next of account.waiting) if (mayBegin(account, next.receiver)) next.begin()
    if (account.waiting.size > 0) beginWhenRested(account)
  }

  function beginWhenRested(account: Account): void {
    const restMs = restOf(account)
    if (restMs === 0 || account.timer) return
    account.timer = setTimeout(() => {
      delete account.timer
      beginNext(account)
    }, Math.ceil(restMs)).unref()
  }

  function countResting(): number {
    if (clock() - countedAt >= COUNTED_EVERY_MS) {
      countedAt = clock()
      for (const account of resting) if (account.restedAt <= countedAt) resting.delete(account)
    }
    return resting.size
  }

  function beginTurn(): void {
    turnMs = 0
  }

  return {
    enter(name, address) {
      const account = accountOf(name)
      const receiver = receiverOf(account, address)
      if (mayBegin(account, receiver)) return Promise.resolve(begin(account, receiver))
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          account.waiting.delete(waiting)
          reject(Object.assign(new Error('The receiver has too many handshakes.'), { code: 'ETIMEDOUT' }))
        }, PATIENCE_MS).unref()
        const waiting = {
          receiver,
          begin() {
            clearTimeout(timer)
            account.waiting.delete(waiting)
            resolve(begin(account, receiver))
          },
        }
        account.waiting.add(waiting)
        beginWhenRested(account)
      })
    },
    spend(name, ms) {
      const account = accountOf(name)
      const rest = (ms >= COSTLY_MS ? REST.costly : REST.ordinary) * Math.max(1, countResting() / FULL_SHARES)
      const restedAt = Math.max(account.restedAt, clock()) + rest * ms
      account.restedAt = Math.min(restedAt, clock() + CREDIT_MS + MAX_REST_MS)
      resting.add(account)
      if (turnMs === 0) setImmediate(beginTurn).unref()
      turnMs += ms
    },
    restMs: (name) => Math.max(restOf(accountOf(name)), turnMs < TURN_MS ? 0 : NEXT_TURN_MS),
  }
}
