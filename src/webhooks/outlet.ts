// The one way out: a POST to a webhook's URL, over connections that are guarded (see guard.ts). Redirects are not
// followed, a message has 15 seconds from beginning to end, and of the answer at most 64 KiB are read and 1 KiB is kept.

import type { LookupFunction } from 'node:net'
import { Agent, buildConnector, request } from 'undici'
import type { Resolve } from '../core/dns.ts'
import { bare, isLiteral, isPublic } from './guard.ts'

export type Reply = { status: number; body: string; retryAfter: string | null }
const TROUBLES = [
  'timeout',
  'forbidden_address',
  'unknown_host',
  'connection_failed',
  'tls_failed',
  'secret_unreadable',
] as const
export type Trouble = (typeof TROUBLES)[number]

export type Outlet = {
  /** Null: it was broken off by us, and says nothing about the other side. */
  post(url: string, headers: Record<string, string>, body: string): Promise<Reply | { trouble: Trouble } | null>
  /** Breaks off whatever is under way. */
  close(): Promise<void>
}

const PATIENCE_MS = 15_000
const CONNECT_MS = 5_000
const READ_BYTES = 64 * 1024
const KEPT_BYTES = 1024

class Forbidden extends Error {
  readonly code = 'FORBIDDEN_ADDRESS'
}

export function newOutlet(resolve: Resolve, allowPrivate: boolean, patienceMs = PATIENCE_MS): Outlet {
  const underWay = new Set<AbortController>()
  let closing = false
  const agent = new Agent({
    connect: guarded(resolve, (address) => allowPrivate || isPublic(address)),
    keepAliveTimeout: 10_000,
    maxHeaderSize: 16 * 1024,
  })
  return {
    async post(url, headers, body) {
      if (closing) return null
      const call = new AbortController()
      underWay.add(call)
      let late = false
      const patience = setTimeout(() => {
        late = true
        call.abort()
      }, patienceMs)
      try {
        const { signal } = call
        const response = await request(url, { method: 'POST', headers, body, dispatcher: agent, signal })
        const retryAfter = response.headers['retry-after']
        return {
          status: response.statusCode,
          body: await readStart(response.body),
          retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
        }
      } catch (error) {
        if (closing) return null
        return { trouble: late ? 'timeout' : troubleOf(error) }
      } finally {
        clearTimeout(patience)
        underWay.delete(call)
      }
    },
    async close() {
      closing = true
      for (const call of underWay) call.abort()
      await agent.destroy()
    },
  }
}

/** Node asks `lookup` about names only. So a literal is looked at before, and what was reached once more afterwards. */
function guarded(resolve: Resolve, mayReach: (address: string) => boolean): buildConnector.connector {
  const lookup: LookupFunction = (hostname, options, done) => {
    resolve(hostname).then(
      (addresses) => {
        // One forbidden answer is enough: whoever mixes them means to be tried again.
        if (!addresses.every(mayReach)) return done(new Forbidden(), '')
        const wanted = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
        const fitting = wanted.filter(({ family }) => !options.family || options.family === family)
        const [first] = fitting
        if (!first) return done(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '')
        return options.all ? done(null, fitting) : done(null, first.address, first.family)
      },
      (error) => done(error, ''),
    )
  }
  // The connector hands what it does not know itself to net.connect and tls.connect.
  const connect = buildConnector({ lookup, timeout: CONNECT_MS } as buildConnector.BuildOptions)
  return (options, done) => {
    if (isLiteral(options.hostname) && !mayReach(bare(options.hostname))) return done(new Forbidden(), null)
    connect(options, (...[error, socket]) => {
      if (error) return done(error, null)
      if (socket.remoteAddress !== undefined && mayReach(socket.remoteAddress)) return done(null, socket)
      socket.destroy()
      done(new Forbidden(), null)
    })
  }
}

async function readStart(stream: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  const kept: Buffer[] = []
  let read = 0
  for await (const chunk of stream) {
    if (read < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - read))
    read += chunk.length
    if (read > READ_BYTES) break
  }
  // Half a character at the end, and what no database keeps, become U+FFFD.
  return Buffer.concat(kept).toString().replaceAll('\0', '\uFFFD')
}

function troubleOf(error: unknown): Trouble {
  const { code = '', cause } = error as { code?: string; cause?: { code?: string } }
  const word = `${code} ${cause?.code ?? ''}`
  if (word.includes('FORBIDDEN_ADDRESS')) return 'forbidden_address'
  if (/TIMEOUT|ETIMEDOUT/.test(word)) return 'timeout'
  if (/ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EAI_/.test(word)) return 'unknown_host'
  if (/CERT|SSL|TLS|UNABLE_TO|SELF_SIGNED/.test(word)) return 'tls_failed'
  return 'connection_failed'
}
