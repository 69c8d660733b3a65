// DNS lookups: all addresses of a host name. The only place that asks DNS, so that a test can fake its answers.

import { lookup } from 'node:dns/promises'
import { Worker } from 'node:worker_threads'

/** `account`: for whom it is asked. Accounts do not wait for each other's lookups. */
export type Resolve = (host: string, account?: string) => Promise<string[]>

const LOOKUP_TIMEOUT_MS = 2_000
const TRIES = 2
/**
 * Of each family. To check thousands would take long, and Node.js tries them one within the other: where each connection fails
 * at once, thousands end the process. Those that are left out are not used either.
 */
const MAX_ADDRESSES = 32

/**
 * With c-ares, not the system's `getaddrinfo`: that one runs in a handful of threads shared by all lookups, so a few
 * name servers that never answer would block every lookup. c-ares reads an answer in a time that grows with its square, and
 * whoever has a name server can answer with 64 KB, which take 60 ms: so it does it in a thread of its own.
 */
const THREAD = `
  const { Resolver } = require('node:dns/promises')
  const { parentPort, workerData } = require('node:worker_threads')
  const { servers, timeout, tries, max } = workerData
  const resolver = new Resolver({ timeout, tries })
  if (servers) resolver.setServers(servers)
  parentPort.on('message', async ({ id, host }) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = answers.flatMap(({ value }) => value?.slice(0, max) ?? [])
    parentPort.postMessage({ id, found, code: answers.map(({ reason }) => reason?.code).find(Boolean) })
  })`

/**
 * So many lookups of an account at once: one whose answers take long to read does not fill the thread, and others are asked
 * between its own.
 */
const AT_ONCE_OF_ACCOUNT = 4
/** Whoever asked has given up by then. */
const PATIENCE_MS = 5_000

type Reply = { id: number; found: string[]; code?: string }
type Lookup = { resolve(addresses: string[]): void; reject(error: Error): void }

export function newResolve(servers?: string[]): Resolve {
  const waiting = new Map<number, Lookup>()
  let thread: Worker | null = null
  let lookups = 0

  function start(): Worker {
    const workerData = { servers, timeout: LOOKUP_TIMEOUT_MS, tries: TRIES, max: MAX_ADDRESSES }
    const started = new Worker(THREAD, { eval: true, workerData })
    started.on('message', ({ id, found, code }: Reply) => {
      const lookup = waiting.get(id)
      waiting.delete(id)
      if (waiting.size === 0) started.unref()
      if (found.length > 0) lookup?.resolve(found)
      else lookup?.reject(Object.assign(new Error(`DNS has no address: ${code}`), { code }))
    })
    // The next lookup starts another one.
    started.once('error', (error) => {
      thread = null
      for (const lookup of waiting.values()) lookup.reject(error)
      waiting.clear()
    })
    return started
  }

  const ask = (host: string): Promise<string[]> =>
    new Promise((resolve, reject) => {
      thread ??= start()
      const id = ++lookups
      waiting.set(id, { resolve, reject })
      // A lookup keeps the process running, the thread by itself does not.
      thread.ref()
      thread.postMessage({ id, host })
    })
  return inTurns(ask)
}

function inTurns(ask: (host: string) => Promise<string[]>): Resolve {
  const lines = new Map<string, { inside: number; next: (() => void)[] }>()
  const underWay = new Map<string, Promise<string[]>>()

  async function askInTurn(host: string, account: string): Promise<string[]> {
    const line = lines.get(account) ?? { inside: 0, next: [] }
    lines.set(account, line)
    const askedAt = performance.now()
    if (line.inside >= AT_ONCE_OF_ACCOUNT) await new Promise<void>((begin) => line.next.push(begin))
    else line.inside += 1
    try {
      if (performance.now() - askedAt > PATIENCE_MS) throw Object.assign(new Error('too late'), { code: 'ETIMEOUT' })
      return await ask(host)
    } finally {
      const begin = line.next.shift()
      if (begin) begin()
      else if (--line.inside === 0) lines.delete(account)
    }
  }

  // Whatever an account asks for twice at once is asked once: one name that nobody answers for keeps none of its others waiting.
  return (host, account = '') => {
    const name = `${account} ${host}`
    const asked = underWay.get(name) ?? askInTurn(host, account).finally(() => underWay.delete(name))
    underWay.set(name, asked)
    return asked
  }
}

/** Knows the names of this machine and its neighbours too (`localhost`, /etc/hosts). For development. */
export const resolveLocally: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).slice(0, MAX_ADDRESSES).map(({ address }) => address)
