// Before TLS knows whether it trusts a receiver it checks every signature of its certificates, on the thread that serves requests.
// Those of an ordinary receiver take some milliseconds. One whose certificates take long gets few handshakes: the time that they
// take, with each and with all such receivers, stays a small part of the thread's. Accounts whose receivers share an address do not
// wait for each other: a receiver is one network's, for one account.

import { siteOf } from '../auth/ip.ts'

/** An ordinary handshake takes some 5 ms. */
const COSTLY_MS = 20
/** After a costly one its receiver rests so many times as long, and all that are costly so many. */
const REST = { own: 20, all: 10 }
/** At once, of a receiver whose last handshake cost little, and of others. */
const AT_ONCE = { cheap: 4, other: 1 }
const PATIENCE_MS = 5_000
const MAX_RECEIVERS = 10_000

/** To be called when the handshake is over: with what it has taken, and whether it came to its end. */
type End = (ms: number, isDone: boolean) => void
export type HandshakeTurns = { enter(account: string, address: string): Promise<End> }

type Waiting = { begin(): void }
type Receiver = { isCheap: boolean; isCostly: boolean; inside: number; restsUntil: number; waiting: Set<Waiting> }

export function newHandshakeTurns(clock = () => performance.now()): HandshakeTurns {
  const receivers = new Map<string, Receiver>()
  let allRestUntil = 0

  function find(account: string, address: string): Receiver {
    const name = `${account} ${siteOf(address)}`
    const known = receivers.get(name)
    if (known) return known
    if (receivers.size >= MAX_RECEIVERS) forgetIdle()
    const receiver = { isCheap: false, isCostly: false, inside: 0, restsUntil: 0, waiting: new Set<Waiting>() }
    receivers.set(name, receiver)
    return receiver
  }

  function forgetIdle(): void {
    for (const [name, { inside, waiting, restsUntil }] of receivers)
      if (inside === 0 && waiting.size === 0 && restsUntil <= clock()) receivers.delete(name)
  }

  const restOf = ({ isCostly, restsUntil }: Receiver) =>
    Math.max(0, (isCostly ? Math.max(restsUntil, allRestUntil) : restsUntil) - clock())
  const hasRoom = ({ isCheap, inside }: Receiver) => inside < (isCheap ? AT_ONCE.cheap : AT_ONCE.other)

  function beginNext(receiver: Receiver): void {
    for (const next of receiver.waiting) {
      if (!hasRoom(receiver)) return
      const rest = restOf(receiver)
      if (rest > 0) return void setTimeout(beginNext, rest, receiver).unref()
      receiver.waiting.delete(next)
      receiver.inside += 1
      next.begin()
    }
  }

  function end(receiver: Receiver, ms: number, isDone: boolean): void {
    receiver.inside -= 1
    if (ms >= COSTLY_MS) {
      receiver.restsUntil = Math.max(receiver.restsUntil, clock()) + REST.own * ms
      allRestUntil = Math.max(allRestUntil, clock()) + REST.all * ms
    }
    if (ms >= COSTLY_MS || isDone) {
      receiver.isCostly = ms >= COSTLY_MS
      receiver.isCheap = !receiver.isCostly
    }
    beginNext(receiver)
  }

  return {
    async enter(account, address) {
      const receiver = find(account, address)
      if (hasRoom(receiver) && restOf(receiver) === 0) receiver.inside += 1
      else await wait(receiver)
      let isInside = true
      return (ms, isDone) => {
        if (isInside) end(receiver, ms, isDone)
        isInside = false
      }
    },
  }

  function wait(receiver: Receiver): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        receiver.waiting.delete(waiting)
        reject(Object.assign(new Error('The receiver has too many handshakes.'), { code: 'ETIMEDOUT' }))
      }, PATIENCE_MS).unref()
      const waiting = {
        begin() {
          clearTimeout(timer)
          resolve()
        },
      }
      receiver.waiting.add(waiting)
      beginNext(receiver)
    })
  }
}
