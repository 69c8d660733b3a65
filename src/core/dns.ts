// DNS lookups: all addresses of a host name. The only place that asks DNS, so that a test can fake its answers.

import { lookup, Resolver } from 'node:dns/promises'

export type Resolve = (host: string) => Promise<string[]>

const LOOKUP_TIMEOUT_MS = 2_000
const TRIES = 2

/**
 * With c-ares, not the system's `getaddrinfo`: that one runs in a handful of threads shared by all lookups, so a few
 * name servers that never answer would block every lookup.
 */
export function newResolve(servers?: string[]): Resolve {
  const resolver = new Resolver({ timeout: LOOKUP_TIMEOUT_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length === 0) throw (answers[0] as PromiseRejectedResult).reason
    return found
  }
}

/** Knows the names of this machine and its neighbours too (`localhost`, /etc/hosts). For development. */
export const resolveLocally: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address)
