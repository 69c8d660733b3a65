// Sends a message: a POST to a webhook's URL, over connections to public addresses only (see url-guard.ts). Redirects are
// not followed, a request has 15 seconds from beginning to end, and of the answer at most 64 KiB are read and 1 KiB is kept.

import type { LookupFunction, Socket } from 'node:net'
import { DEFAULT_CIPHERS } from 'node:tls'
// Loaded at the start: a library that cannot be loaded when the first message is sent, such as for want of file descriptors, is
// not loaded later either, since Node.js keeps the failure.
import { Agent, buildConnector, request } from 'undici'
import { networkOf } from '../auth/ip.ts'
import type { Resolve } from '../core/dns.ts'
import { isLiteral, isPublic, withoutBrackets } from './url-guard.ts'

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
  post(url: string, headers: Record<string, string>, body: string): Promise<Reply | { error: DeliveryError } | null>
  /** Where this host was last looked for, whether or not anything answered there: an address, or the /64 of one of IPv6. */
  addressOf(hostname: string): string | undefined
  /** Breaks off the requests in flight. */
  close(): Promise<void>
}

const REQUEST_TIMEOUT_MS = 15_000
const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 10_000
const MAX_READ_BYTES = 64 * 1024
const MAX_KEPT_BYTES = 1024
/** Of responses like "103 Early Hints", which come before the one that counts. */
const MAX_INFORMATIONAL = 10
/** More than a response that is read needs, headers and all, even if the whole of it comes at once. */
const MAX_BURST_BYTES = 512 * 1024
const BURST_MS = 100
const MAX_ADDRESSES = 10_000

class ForbiddenAddress extends Error {
  readonly code = 'FORBIDDEN_ADDRESS'
}

export function newSender(
  resolve: Resolve,
  allowPrivate: boolean,
  timeoutMs = REQUEST_TIMEOUT_MS,
  keepAliveMs = KEEP_ALIVE_MS,
): Sender {
  const inFlight = new Set<AbortController>()
  let closing = false
  const addresses = new Map<string, string>()
  const onAddress = (hostname: string, address: string) => {
    if (addresses.size >= MAX_ADDRESSES) addresses.clear()
    addresses.set(hostname, networkOf(address).place)
  }
  const agent = new Agent({
    connect: guardedConnector(resolve, (address) => allowPrivate || isPublic(address), onAddress),
    keepAliveTimeout: keepAliveMs,
    // A receiver may ask for less, not for more.
    keepAliveMaxTimeout: keepAliveMs,
    maxHeaderSize: 16 * 1024,
  })
  return {
    async post(url, headers, body) {
      if (closing) return null
      const call = new AbortController()
      inFlight.add(call)
      let timedOut = false
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
        const response = await request(url, { method: 'POST', headers, body, dispatcher: agent, signal, onInfo })
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
      }
    },
    addressOf: (hostname) => addresses.get(hostname),
    async close() {
      closing = true
      for (const call of inFlight) call.abort()
      await agent.destroy()
    },
  }
}

/**
 * Elliptic curves only: of Diffie-Hellman with plain numbers, which few still need, the receiver chooses the size, and one of
 * 10,000 bits takes more than a second, in which the node does nothing else.
 */
const CHEAP_KEYS = { ciphers: `${DEFAULT_CIPHERS}:!kDHE`, ecdhCurve: 'X25519:P-256:P-384:P-521' }

/**
 * A connector that refuses forbidden addresses. Node calls `lookup` for names only, so a literal address is checked before
 * it connects; and the address that was reached is checked once more.
 */
function guardedConnector(
  resolve: Resolve,
  mayReach: (address: string) => boolean,
  onAddress: (hostname: string, address: string) => void,
): buildConnector.connector {
  const lookup: LookupFunction = (hostname, options, done) => {
    resolve(hostname).then(
      (addresses) => {
        // One forbidden address among them is enough: a name that mixes both is made to be resolved again.
        if (!addresses.every(mayReach)) return done(new ForbiddenAddress(), '')
        const wanted = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
        const fitting = wanted.filter(({ family }) => !options.family || options.family === family)
        const [first] = fitting
        if (!first) return done(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '')
        onAddress(hostname, first.address)
        return options.all ? done(null, fitting) : done(null, first.address, first.family)
      },
      (error) => done(error, ''),
    )
  }
  // Options that undici's connector does not know, `lookup` among them, are passed to net.connect and tls.connect.
  const connect = buildConnector({ lookup, timeout: CONNECT_TIMEOUT_MS, ...CHEAP_KEYS } as buildConnector.BuildOptions)
  return (options, done) => {
    if (isLiteral(options.hostname) && !mayReach(withoutBrackets(options.hostname)))
      return done(new ForbiddenAddress(), null)
    connect(options, (...[error, socket]) => {
      if (error) return done(error, null)
      if (socket.remoteAddress !== undefined && mayReach(socket.remoteAddress)) {
        onAddress(options.hostname, socket.remoteAddress)
        endIfFlooded(socket)
        return done(null, socket)
      }
      socket.destroy()
      done(new ForbiddenAddress(), null)
    })
  }
}

/** Line breaks before a response and extensions of its chunks are no part of it, but they are read: there is no other bound. */
function endIfFlooded(socket: Socket): void {
  let before = socket.bytesRead
  const timer = setInterval(() => {
    if (socket.bytesRead - before > MAX_BURST_BYTES) socket.destroy(new Error('The receiver sends too much.'))
    before = socket.bytesRead
  }, BURST_MS).unref()
  socket.once('close', () => clearInterval(timer))
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
  if (/CERT|SSL|TLS|UNABLE_TO|SELF_SIGNED/.test(word)) return 'tls_failed'
  return 'connection_failed'
}
