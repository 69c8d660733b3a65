// One bound for each host that webhooks lead to, over all stores: so many requests at once and so many a second, from one
// node. Nobody agreed to receive them, and twenty webhooks with one URL, redelivered, would be a weapon. What exceeds the
// bound waits, and holds up no other host. A host is the address that its name led to, as soon as that is known: many
// names for one address are one host.

import { SECOND } from '../core/clock.ts'

export type HostLimits = { abreast: number; perSecond: number }
export const HOST_LIMITS: HostLimits = { abreast: 50, perSecond: 50 }

type Host<Queue> = { inFlight: number; tokens: number; at: number; waitlist: Set<Queue>; timer?: NodeJS.Timeout }

export type HostGate<Queue> = {
  /** Whether a request to this host may start. If not, the queue is passed to `onRoom` when its turn has come. */
  hasRoom(host: string, queue: Queue): boolean
  enter(host: string): void
  leave(host: string): void
  /** How many queues wait for this host. */
  waiting(host: string): number
}

/** Hosts beyond this number are forgotten once they are idle. */
const MAX_HOSTS = 10_000

export function newHostGate<Queue>(
  { abreast, perSecond }: HostLimits,
  onRoom: (queue: Queue) => void,
): HostGate<Queue> {
  const hosts = new Map<string, Host<Queue>>()
  const find = (name: string): Host<Queue> => {
    const found = hosts.get(name) ?? { inFlight: 0, tokens: perSecond, at: performance.now(), waitlist: new Set() }
    if (hosts.size >= MAX_HOSTS) forgetIdle(hosts)
    hosts.set(name, found)
    refill(found, perSecond)
    return found
  }
  const isOpen = (host: Host<Queue>) => host.inFlight < abreast && host.tokens >= 1
  /** Lets the next queue in, and looks again when the next token is there. */
  const admit = (host: Host<Queue>) => {
    refill(host, perSecond)
    while (isOpen(host) && host.waitlist.size > 0) {
      const [next] = host.waitlist as Set<Queue> & Iterable<Queue>
      host.waitlist.delete(next as Queue)
      onRoom(next as Queue)
    }
    if (host.waitlist.size === 0 || host.timer || host.inFlight >= abreast) return
    const untilTokenMs = (Math.max(0, 1 - host.tokens) * SECOND) / perSecond
    host.timer = setTimeout(() => {
      delete host.timer
      admit(host)
    }, Math.ceil(untilTokenMs)).unref()
  }
  return {
    hasRoom(name, queue) {
      const host = find(name)
      if (isOpen(host)) return true
      host.waitlist.add(queue)
      admit(host)
      return false
    },
    enter(name) {
      const host = find(name)
      host.inFlight += 1
      host.tokens -= 1
    },
    leave(name) {
      const host = find(name)
      host.inFlight -= 1
      admit(host)
    },
    waiting: (name) => hosts.get(name)?.waitlist.size ?? 0,
  }
}

function refill(host: Host<unknown>, perSecond: number): void {
  const at = performance.now()
  host.tokens = Math.min(perSecond, host.tokens + ((at - host.at) * perSecond) / SECOND)
  host.at = at
}

function forgetIdle(hosts: Map<string, Host<unknown>>): void {
  for (const [name, host] of hosts) if (host.inFlight === 0 && host.waitlist.size === 0) hosts.delete(name)
}
