// Before TLS knows whether it trusts a receiver it checks every signature of its certificates, on the thread that serves requests.
// Those of an ordinary receiver take some milliseconds. An account whose receivers' take long gets few handshakes with them: these
// take a small part of the thread's time. Accounts do not wait for each other, also where their receivers share an address: a
// receiver is one network's, for one account.

import { siteOf } from '../auth/ip.ts'

/** An ordinary handshake takes some 5 ms. */
const COSTLY_MS = 20
/** After a costly one no other begins for so many times as long, but with receivers whose last one was cheap. */
const REST = 20
/** At once: with a receiver whose last handshake was cheap, with any other, and with all others of an account. */
const AT_ONCE = { cheap: 4, other: 1, others: 4 }
const PATIENCE_MS = 5_000
const MAX_ACCOUNTS = 10_000
const MAX_RECEIVERS = 1_000

/** To be called when the handshake is over: with what it has taken, and whether it came to its end. */
type End = (ms: number, isDone: boolean) => void
export type HandshakeTurns = { enter(account: string, address: string): Promise<End> }

type Receiver = { isCheap: boolean; inside: number }
type Waiting = { receiver: Receiver; begin(): void }
type Account = { receivers: Map<string, Receiver>; others: number; restsUntil: number; waiting: Set<Waiting> }

export function newHandshakeTurns(clock = () => performance.now()): HandshakeTurns {
  const accounts = new Map<string, Account>()

  function accountOf(name: string): Account {
    const known = accounts.get(name)
    if (known) return known
    if (accounts.size >= MAX_ACCOUNTS) forgetIdle()
    const account = { receivers: new Map<string, Receiver>(), others: 0, restsUntil: 0, waiting: new Set<Waiting>() }
    accounts.set(name, account)
    return account
  }

  function forgetIdle(): void {
    for (const [name, { receivers, waiting, restsUntil }] of accounts)
      if (waiting.size === 0 && restsUntil <= clock() && [...receivers.values()].every(({ inside }) => inside === 0))
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

  function mayBegin(account: Account, { isCheap, inside }: Receiver): boolean {
    if (isCheap) return inside < AT_ONCE.cheap
    // Whoever had a costly one has no more of them at a time.
    const others = account.restsUntil === 0 ? AT_ONCE.others : 1
    return inside < AT_ONCE.other && account.others < others && account.restsUntil <= clock()
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
      if (ms >= COSTLY_MS) {
        account.restsUntil = Math.max(account.restsUntil, clock()) + REST * ms
        setTimeout(beginNext, account.restsUntil - clock(), account).unref()
      }
      if (ms >= COSTLY_MS || isDone) receiver.isCheap = ms < COSTLY_MS
      beginNext(account)
    }
  }

  function beginNext(account: Account): void {
    for (const next of account.waiting) if (mayBegin(account, next.receiver)) next.begin()
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
      })
    },
  }
}
