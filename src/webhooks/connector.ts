// Connects to receivers: to public addresses only, and so that none of them chooses how long a handshake of TLS takes.

import { constants } from 'node:crypto'
import type { LookupFunction, Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { DEFAULT_CIPHERS } from 'node:tls'
// Loaded at the start: a library that cannot be loaded when the first message is sent, such as for want of file descriptors, is
// not loaded later either, since Node.js keeps the failure.
import { buildConnector } from 'undici'
import type { ThreadShares } from './thread-shares.ts'
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
/** As much as TLS takes in one piece, whether or not it comes all at once. */
const PIECE_BYTES = 16 * 1024
const NOTHING = Buffer.alloc(0)

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

type Guard = {
  /** Whose messages go over the connections. */
  account: string
  shares: ThreadShares
  resolve: (host: string) => Promise<string[]>
  mayReach: (address: string) => boolean
  onAddress: (hostname: string, address: string) => void
}

/**
 * A connector that refuses forbidden addresses. Node calls `lookup` for names only, so a literal address is checked before
 * it connects; and the address that was reached is checked once more.
 */
export function guardedConnector({ account, shares, resolve, mayReach, onAddress }: Guard): buildConnector.connector {
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
  const secure = newSecure(account, shares)
  return (options, done) => {
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
      if (isSecure) secure(options, socket, address, done)
      else done(null, socket)
    })
  }
}

function newSecure(account: string, shares: ThreadShares) {
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    ...CHEAP_KEYS,
    ...ONE_HANDSHAKE,
  } as buildConnector.BuildOptions)
  return (options: Options, socket: Socket, address: string, done: Done) => {
    // Whatever happens to it while it waits for its turn is told by what follows.
    socket.on('error', () => {})
    const fail = (error: Error) => {
      socket.destroy()
      done(error, null)
    }
    shares
      .enter(account, address)
      .then((end) => {
        const connection = new PacedConnection(socket, shares, account)
        connection.once('close', () => end(connection.endHandshake(), false))
        // undici passes it on to Node.js, which takes any stream.
        connect({ ...options, httpSocket: connection as unknown as Socket }, (...[error, secured]) => {
          end(connection.endHandshake(), error === null)
          if (error) return done(error, null)
          guardEvents(secured, (ms) => shares.spend(account, ms))
          done(null, secured)
        })
      })
      .catch(fail)
  }
}

/**
 * What undici does when the socket tells it of something is timed: a response of chunks of one byte takes long to read. Once
 * the socket has closed undici has forgotten it, and an error that came afterwards would end the process.
 */
function guardEvents(socket: Socket, spend: (ms: number) => void): void {
  const emit = socket.emit
  let isClosed = false
  socket.emit = (...told: unknown[]) => {
    isClosed ||= told[0] === 'close'
    if (isClosed && told[0] === 'error') return true
    const began = performance.now()
    const isHeard = Reflect.apply(emit, socket, told)
    spend(performance.now() - began)
    return isHeard
  }
}

/**
 * What a receiver sends goes through it to TLS, which works on each piece at once. When the account has had its share of the
 * thread's time the rest is read later: a receiver can send what takes long after the handshake, too, such as thousands of
 * session tickets.
 */
class PacedConnection extends Duplex {
  readonly #socket: Socket
  readonly #shares: ThreadShares
  readonly #account: string
  #unread: Buffer = NOTHING
  #received = 0
  /** When TLS began to work on what it works on; 0 when it does not. */
  #workingSince = 0
  #handshakeMs = 0
  #isHandshake = true
  #isReading = false
  #isAtEnd = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined

  constructor(socket: Socket, shares: ThreadShares, account: string) {
    super()
    this.#socket = socket
    this.#shares = shares
    this.#account = account
    socket.on('data', (part) => {
      this.#received += part.length
      // Whatever still comes while it is paused.
      this.#unread = this.#unread.length === 0 ? part : Buffer.concat([this.#unread, part])
      this.#read()
    })
    socket.on('end', () => {
      this.#isAtEnd = true
      this.#read()
    })
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => {
      this.#isClosed = true
      this.#read()
    })
  }

  /** From now on the receiver may send as much as it likes. Returns how long TLS has worked on what came until now. */
  endHandshake(): number {
    this.#isHandshake = false
    return this.#handshakeMs + this.#workedMs()
  }

  #read(): void {
    // TLS asks for more while it works on a piece.
    if (this.#isReading) return
    this.#isReading = true
    let wantsMore = true
    while (this.#unread.length > 0 && !this.destroyed && this.#mayRead()) {
      const piece = this.#unread.subarray(0, PIECE_BYTES)
      this.#unread = this.#unread.subarray(PIECE_BYTES)
      wantsMore = this.push(piece)
      if (!wantsMore) break
    }
    this.#isReading = false
    if (this.#unread.length > 0 || !wantsMore) this.#socket.pause()
    if (this.#unread.length > 0) return
    if (this.#isAtEnd) this.push(null)
    if (this.#isClosed) setImmediate(() => this.destroy())
  }

  #mayRead(): boolean {
    if (this.#isHandshake && this.#received > MAX_HANDSHAKE_BYTES) {
      this.destroy(Object.assign(new Error('The receiver sends too many certificates.'), { code: 'TLS_TOO_LARGE' }))
      return false
    }
    const restMs = this.#shares.restMs(this.#account)
    if (restMs > 0)
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this._read()
      }, Math.ceil(restMs))
    return restMs === 0
  }

  #workedMs(): number {
    return this.#workingSince === 0 ? 0 : performance.now() - this.#workingSince
  }

  /** TLS works on each piece when it is told of it: within `push`, or later if it has stopped reading meanwhile. */
  override emit(event: string | symbol, ...told: unknown[]): boolean {
    if (event !== 'data') return super.emit(event, ...told)
    this.#workingSince = performance.now()
    try {
      return super.emit(event, ...told)
    } finally {
      const ms = this.#workedMs()
      this.#workingSince = 0
      if (this.#isHandshake) this.#handshakeMs += ms
      this.#shares.spend(this.#account, ms)
    }
  }

  override _read(): void {
    this.#read()
    if (this.#unread.length === 0) this.#socket.resume()
  }

  override _write(part: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(part, done)
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer)
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
