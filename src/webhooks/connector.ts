// Connects to receivers: to public addresses only, and so that none of them chooses how long a handshake of TLS takes.

import { constants } from 'node:crypto'
import type { LookupFunction, Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { DEFAULT_CIPHERS } from 'node:tls'
// Loaded at the start: a library that cannot be loaded when the first message is sent, such as for want of file descriptors, is
// not loaded later either, since Node.js keeps the failure.
import { buildConnector } from 'undici'
import type { Resolve } from '../core/dns.ts'
import { newHandshakeTurns } from './handshake-turns.ts'
import { isLiteral, withoutBrackets } from './url-guard.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** More than a response that is read needs, headers and all, even if the whole of it comes at once. */
const MAX_BURST_BYTES = 512 * 1024
const BURST_MS = 100
/**
 * Of all that a receiver sends until the handshake is over. Some 4 KB are usual. A chain of 64 certificates with keys of
 * the most costly kind has 85 KB, and takes half a second to check.
 */
const MAX_HANDSHAKE_BYTES = 16 * 1024

class ForbiddenAddress extends Error {
  readonly code = 'FORBIDDEN_ADDRESS'
}

/**
 * Elliptic curves only: of Diffie-Hellman with plain numbers, which few still need, the receiver chooses the size, and one of
 * 10,000 bits takes more than a second, in which the node does nothing else.
 */
const CHEAP_KEYS = { ciphers: `${DEFAULT_CIPHERS}:!kDHE`, ecdhCurve: 'X25519:P-256:P-384:P-521' }
/** A second handshake on the same connection would have no bounds. */
const ONE_HANDSHAKE = { secureOptions: constants.SSL_OP_NO_RENEGOTIATION }

type Done = buildConnector.Callback
type Options = buildConnector.Options
type Receiver = { account: string; address: string }

/**
 * A connector that refuses forbidden addresses. Node calls `lookup` for names only, so a literal address is checked before
 * it connects; and the address that was reached is checked once more.
 */
export function guardedConnector(
  resolve: Resolve,
  mayReach: (address: string) => boolean,
  onAddress: (hostname: string, address: string) => void,
  /** Asked when a connection begins. */
  accountNow: () => string,
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
  // Options that undici's connector does not know, `lookup` among them, are passed to net.connect.
  const connect = buildConnector({ lookup, timeout: CONNECT_TIMEOUT_MS } as buildConnector.BuildOptions)
  const secure = newSecure()
  return (options, done) => {
    const account = accountNow()
    if (isLiteral(options.hostname) && !mayReach(withoutBrackets(options.hostname)))
      return done(new ForbiddenAddress(), null)
    const isSecure = options.protocol === 'https:'
    const plain = isSecure ? { ...options, protocol: 'http:', port: options.port || '443' } : options
    connect(plain, (...[error, socket]) => {
      if (error) return done(error, null)
      const address = socket.remoteAddress
      if (address === undefined || !mayReach(address)) {
        socket.destroy()
        return done(new ForbiddenAddress(), null)
      }
      onAddress(options.hostname, address)
      endIfFlooded(socket)
      if (isSecure) secure(options, socket, { account, address }, done)
      else done(null, socket)
    })
  }
}

function newSecure() {
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    ...CHEAP_KEYS,
    ...ONE_HANDSHAKE,
  } as buildConnector.BuildOptions)
  const turns = newHandshakeTurns()
  return (options: Options, socket: Socket, { account, address }: Receiver, done: Done) => {
    // Whatever happens to it while it waits for its turn is told by what follows.
    socket.on('error', () => {})
    turns.enter(account, address).then(
      (end) => {
        const handshake = new Handshake(socket)
        handshake.once('close', () => end(handshake.finish(), false))
        // undici passes it on to Node.js, which takes any stream.
        connect({ ...options, httpSocket: handshake as unknown as Socket }, (...[error, secured]) => {
          end(handshake.finish(), error === null)
          if (error) return done(error, null)
          dropLateErrors(secured)
          done(null, secured)
        })
      },
      (error) => {
        socket.destroy()
        done(error, null)
      },
    )
  }
}

/** undici has forgotten a connection that has closed: an error of it that came afterwards would end the process. */
function dropLateErrors(socket: Socket): void {
  const emit = socket.emit
  let isClosed = false
  socket.emit = (...told: unknown[]) => {
    isClosed ||= told[0] === 'close'
    return isClosed && told[0] === 'error' ? true : Reflect.apply(emit, socket, told)
  }
}

/** What a receiver sends goes through it to TLS, which works on each part at once. */
class Handshake extends Duplex {
  readonly #socket: Socket
  #received = 0
  #ms = 0
  #isOver = false

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    socket.on('data', (part) => this.#take(part))
    socket.on('end', () => this.push(null))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.destroy())
  }

  /** From now on it may send as much as it likes. Returns how long TLS has worked on what came until now. */
  finish(): number {
    this.#isOver = true
    return this.#ms
  }

  #take(part: Buffer): void {
    if (!this.#isOver) {
      this.#received += part.length
      if (this.#received > MAX_HANDSHAKE_BYTES) {
        this.destroy(Object.assign(new Error('The receiver sends too many certificates.'), { code: 'TLS_TOO_LARGE' }))
        return
      }
    }
    const began = performance.now()
    if (!this.push(part)) this.#socket.pause()
    this.#ms += performance.now() - began
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(part: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(part, done)
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
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
