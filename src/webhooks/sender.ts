// Sends a message: a POST to a webhook's URL, over connections to public addresses only (see url-guard.ts). Redirects are
// not followed, a request has 15 seconds from beginning to end, and of the answer at most 64 KiB are read and 1 KiB is kept.

import { Agent, request } from 'undici'
import { networkOf } from '../auth/ip.ts'
import type { Resolve } from '../core/dns.ts'
import { guardedConnector } from './connector.ts'
import { newThreadShares } from './thread-shares.ts'
import { isPublic } from './url-guard.ts'

export type Reply = { status: number; body: string; retryAfter: string | null }
const DELIVERY_ERRORS = [
  'timeout',
  'forbidden_address',
  'unknown_host',
  'connection_failed',
  'tls_failed',
  'secret_unreadable',
] as const
export type DeliveryError = (typeof DELIVERY_ERRORS)[number]

export type Sender = {
  /** Null when the request was broken off by `close`, which says nothing about the receiver. */
  post(
    url: string,
    headers: Record<string, string>,
    body: string,
    account?: string,
  ): Promise<Reply | { error: DeliveryError } | null>
  /** Where this host was last looked for, whether or not anything answered there: an address, or the /64 of one of IPv6. */
  addressOf(hostname: string): string | undefined
  /** Breaks off the requests in flight. */
  close(): Promise<void>
}

type AccountAgent = { agent: Agent; inFlight: number; idle?: NodeJS.Timeout }

const REQUEST_TIMEOUT_MS = 15_000
const KEEP_ALIVE_MS = 10_000
const MAX_READ_BYTES = 64 * 1024
const MAX_KEPT_BYTES = 1024
/** Of responses like "103 Early Hints", which come before the one that counts. */
const MAX_INFORMATIONAL = 10
const MAX_ADDRESSES = 10_000
/**
 * More than can come before what has come is looked at: undici does not bear that a response ends while it is not read, and
 * ends the process.
 */
const READ_AHEAD_BYTES = 1024 * 1024

export function newSender(
  resolve: Resolve,
  allowPrivate: boolean,
  timeoutMs = REQUEST_TIMEOUT_MS,
  keepAliveMs = KEEP_ALIVE_MS,
  shares = newThreadShares(),
): Sender {
  const inFlight = new Set<AbortController>()
  let closing = false
  const addresses = new Map<string, string>()
  const onAddress = (hostname: string, address: string) => {
    if (addresses.size >= MAX_ADDRESSES) addresses.clear()
    addresses.set(hostname, networkOf(address).place)
  }
  /** Each account has its own connections: nobody's messages wait for what another's receivers cost. */
  const agents = new Map<string, AccountAgent>()
  const newAgent = (account: string) =>
    new Agent({
      connect: guardedConnector({
        account,
        shares,
        resolve: (host) => resolve(host, account),
        mayReach: (address) => allowPrivate || isPublic(address),
        onAddress,
      }),
      keepAliveTimeout: keepAliveMs,
      // A receiver may ask for less, not for more.
      keepAliveMaxTimeout: keepAliveMs,
      maxHeaderSize: 16 * 1024,
    })
  const enter = (account: string): AccountAgent => {
    const known = agents.get(account) ?? { agent: newAgent(account), inFlight: 0 }
    agents.set(account, known)
    clearTimeout(known.idle)
    known.inFlight += 1
    return known
  }
  const leave = (account: string, known: AccountAgent) => {
    known.inFlight -= 1
    if (known.inFlight > 0) return
    known.idle = setTimeout(() => {
      agents.delete(account)
      void known.agent.destroy()
    }, keepAliveMs).unref()
  }
  return {
    async post(url, headers, body, account = '') {
      if (closing) return null
      const call = new AbortController()
      inFlight.add(call)
      let timedOut = false
      const known = enter(account)
      const timer = setTimeout(() => {
        timedOut = true
        call.abort()
      }, timeoutMs)
      try {
        const { signal } = call
        let informational = 0
        const onInfo = () => {
          informational += 1
          if (informational > MAX_INFORMATIONAL) call.abort()
        }
        const options = { dispatcher: known.agent, signal, onInfo, highWaterMark: READ_AHEAD_BYTES }
        const response = await request(url, { method: 'POST', headers, body, ...options })
        const retryAfter = response.headers['retry-after']
        return {
          status: response.statusCode,
          body: await readStart(response.body),
          retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
        }
      } catch (error) {
        if (closing) return null
        return { error: timedOut ? 'timeout' : deliveryErrorOf(error) }
      } finally {
        clearTimeout(timer)
        inFlight.delete(call)
        leave(account, known)
      }
    },
    addressOf: (hostname) => addresses.get(hostname),
    async close() {
      closing = true
      for (const call of inFlight) call.abort()
      await Promise.all([...agents.values()].map(({ agent }) => agent.destroy()))
    },
  }
}

async function readStart(stream: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  const kept: Buffer[] = []
  let read = 0
  for await (const chunk of stream) {
    if (read < MAX_KEPT_BYTES) kept.push(chunk.subarray(0, MAX_KEPT_BYTES - read))
    read += chunk.length
    if (read > MAX_READ_BYTES) break
  }
  // Half a character at the end, and NUL, which PostgreSQL does not store, become U+FFFD.
  return Buffer.concat(kept).toString().replaceAll('\0', '\uFFFD')
}

function deliveryErrorOf(error: unknown): DeliveryError {
  const { code = '', cause } = error as { code?: string; cause?: { code?: string } }
  const word = `${code} ${cause?.code ?? ''}`
  if (word.includes('FORBIDDEN_ADDRESS')) return 'forbidden_address'
  if (/TIMEOUT|ETIMEDOUT/.test(word)) return 'timeout'
  if (/ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EAI_/.test(word)) return 'unknown_host'
  if (/CERT|SSL|TLS|UNABLE_TO|SELF_SIGNED|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH/.test(word)) return 'tls_failed'
  return 'connection_failed'
}
