// One bound for each host that webhooks lead to, over all stores: so many requests at once and so many a second, from one
// node. Nobody agreed to receive them, and twenty webhooks with one URL, redelivered, would be a weapon. What exceeds the
// bound waits, and holds up no other host. A host is the address that its name led to, as soon as that is known: many
// names for one address are one host.
//
// Receivers of many stores may be at one host, so accounts take turns there (limits/waitlist.ts). Turns alone share out the tokens,
// but not the places, which slow requests keep: accounts with less than a quarter of the places come before others, and the
// last quarter is theirs.

import { SECOND } from '../core/clock.ts'
import { type OfAccount, Waitlist } from '../limits/waitlist.ts'

export type HostLimits = { abreast: number; perSecond: number }
export const HOST_LIMITS: HostLimits = { abreast: 50, perSecond: 50 }
/** Of a host's limits, what an account can count on while others use the host, too. */
const SHARE = 1 / 4

type Host<Q extends OfAccount> = {
  inFlight: number
  inFlightOf: Map<string, number>
  tokens: number
  at: number
  waitlist: Waitlist<Q>
  isAdmitting: boolean
  timer?: NodeJS.Timeout
}

export type HostGate<Q extends OfAccount> = {
  /** Whether a request to this host may start. If not, the queue is passed to `onRoom` when its turn has come. */
  hasRoom(host: string, queue: Q): boolean
  /** To be called when a request starts; the result, when it is over. */
  enter(host: string, queue: Q): () => void
  /** How many queues wait for this host. */
  waiting(host: string): number
  /** Whether more queues wait for this host than it has turns in a second, and of this account more than its share. */
  isCrowded(host: string, queue: Q): boolean
}

/** Hosts beyond this number are forgotten once they are idle. */
const MAX_HOSTS = 10_000

export function newHostGate<Q extends OfAccount>(
  { abreast, perSecond }: HostLimits,
  onRoom: (queue: Q) => void,
): HostGate<Q> {
  const hosts = new Map<string, Host<Q>>()
  const share = Math.ceil(abreast * SHARE)
  const find = (name: string): Host<Q> => {
    const found = hosts.get(name) ?? newHost<Q>(perSecond)
    if (hosts.size >= MAX_HOSTS) forgetIdle(hosts)
    hosts.set(name, found)
    refill(found, perSecond)
    return found
  }
  const isBelowShare = (host: Host<Q>, account: string) => (host.inFlightOf.get(account) ?? 0) < share
  /** At most three accounts have their share, so this looks at four at most. */
  const nextBelowShare = (host: Host<Q>) => {
    for (const account of host.waitlist.accounts()) if (isBelowShare(host, account)) return account
    return undefined
  }
  const isOpenTo = (host: Host<Q>, account: string) => {
    if (host.inFlight >= abreast || host.tokens < 1) return false
    if (isBelowShare(host, account)) return true
    return host.inFlight < abreast - share && nextBelowShare(host) === undefined
  }
  /** Lets the next queues in, and looks again when the next token is there. */
  const admit = (host: Host<Q>) => {
    if (host.isAdmitting) return
    host.isAdmitting = true
    refill(host, perSecond)
    const nextAccount = () => nextBelowShare(host) ?? host.waitlist.next()
    let account = nextAccount()
    while (account !== undefined && isOpenTo(host, account)) {
      onRoom(host.waitlist.take(account) as Q) // it waits
      account = nextAccount()
    }
    host.isAdmitting = false
    if (account === undefined || host.timer || host.tokens >= 1) return
    const untilTokenMs = ((1 - host.tokens) * SECOND) / perSecond
    host.timer = setTimeout(() => {
      delete host.timer
      admit(host)
    }, Math.ceil(untilTokenMs)).unref()
  }
  return {
    hasRoom(name, queue) {
      const host = find(name)
      // Whoever waits comes before a queue that comes now.
      admit(host)
      if (isOpenTo(host, queue.account)) return true
      host.waitlist.add(queue)
      admit(host)
      return false
    },
    enter(name, { account }) {
      const host = find(name)
      host.tokens -= 1
      host.inFlight += 1
      host.inFlightOf.set(account, (host.inFlightOf.get(account) ?? 0) + 1)
      return () => {
        host.inFlight -= 1
        const left = (host.inFlightOf.get(account) ?? 0) - 1
        if (left > 0) host.inFlightOf.set(account, left)
        else host.inFlightOf.delete(account)
        admit(host)
      }
    },
    waiting: (name) => hosts.get(name)?.waitlist.size ?? 0,
    isCrowded(name, { account }) {
      const host = hosts.get(name)
      if (!host || host.waitlist.size < perSecond) return false
      return host.waitlist.sizeOf(account) >= perSecond * SHARE
    },
  }
}

function newHost<Q extends OfAccount>(tokens: number): Host<Q> {
  const at = performance.now()
  return { inFlight: 0, inFlightOf: new Map(), tokens, at, waitlist: new Waitlist<Q>(), isAdmitting: false }
}

function refill(host: { tokens: number; at: number }, perSecond: number): void {
  const at = performance.now()
  host.tokens = Math.min(perSecond, host.tokens + ((at - host.at) * perSecond) / SECOND)
  host.at = at
}

function forgetIdle<Q extends OfAccount>(hosts: Map<string, Host<Q>>): void {
  for (const [name, host] of hosts) if (host.inFlight === 0 && host.waitlist.size === 0) hosts.delete(name)
}
