// Every request comes through here before it reaches the framework. An overloaded node refuses it at a fraction of what
// the framework would cost, and the requests of one connection are served one after the other.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import type { LoadShedder } from '../limits/load-shedding.ts'
import { newArrivingBodies } from './arriving.ts'
import type { Connections } from './connections.ts'
import type { Metrics } from './metrics.ts'
import { renderProblem } from './problem.ts'
import { newReadingTurns } from './reading-turns.ts'
import { SAFE_HEADERS } from './response.ts'
import { priorityOf } from './routing.ts'

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

export type Admission = {
  handle: RequestListener
  /** The connection has brought a request of high priority, which was answered without admission. */
  prefer(socket: Socket): void
  /** From now on new requests wait. */
  hold(): void
  /** Those that wait are handled now. */
  resume(): void
}

/** More requests than these that wait behind one under way end the connection: no client needs so many answers at once. */
const MAX_PIPELINED = 100
/** What those that wait may take of memory: on one connection, and on all of them. */
const MAX_PIPELINED_BYTES = 256 * 1024
const MAX_WAITING_BYTES = 64 * 1024 * 1024
/** Requests whose body is still arriving. */
const MAX_ARRIVING = 500

type Pipelined = { requests: { request: IncomingMessage; response: ServerResponse; bytes: number }[]; bytes: number }

type Parts = { load: LoadShedder; metrics: Metrics; connections: Connections; draining(): boolean }

/**
 * Requests that a client pipelines wait for their turn: the next is begun when the answer to the one before has been handed
 * to the operating system. So a connection costs one request at a time, and a client that does not read its answers gets
 * no further ones.
 */
export function newAdmission(parts: Parts, serve: RequestListener): Admission {
  const { load, connections } = parts
  const turns = newReadingTurns(parts)
  const refuse = newRefusal(parts)
  /** The requests that wait for one under way on the same connection. */
  const waiting = new WeakMap<Socket, Pipelined>()
  let waitingBytes = 0
  /** They do not count as in flight. */
  const arriving = newArrivingBodies(MAX_ARRIVING, ({ socket }) => connections.placeOf(socket))
  let held: (() => void)[] | null = null

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const end = connections.begin(socket)
    response.once('close', () => {
      end()
      beginNext(socket)
    })
    const priority = priorityOf(pathOf(request))
    if (!turns.wasRead(socket, priority) || !load.admit(priority)) {
      refuse(request, response)
      return turns.wasRefused()
    }
    if (hasBody(request)) awaitBody(request, response)
    else response.once('close', load.release)
    serve(request, response)
  }

  /** On a connection that is gone, none is begun: its response would never close, and hold what it takes for ever. */
  function beginNext(socket: Socket): void {
    const pipelined = waiting.get(socket)
    const next = socket.destroyed ? undefined : pipelined?.requests.shift()
    if (pipelined && next) {
      count(pipelined, -next.bytes)
      return begin(next.request, next.response)
    }
    if (pipelined) count(pipelined, -pipelined.bytes)
    waiting.delete(socket)
  }

  function count(pipelined: Pipelined, bytes: number): void {
    pipelined.bytes += bytes
    waitingBytes += bytes
  }

  /** False when the connection sends more than it may. */
  function wait(pipelined: Pipelined, request: IncomingMessage, response: ServerResponse): boolean {
    const bytes = bytesOf(request)
    const isTooMuch = pipelined.bytes + bytes > MAX_PIPELINED_BYTES || waitingBytes + bytes > MAX_WAITING_BYTES
    if (isTooMuch || pipelined.requests.length >= MAX_PIPELINED) return false
    pipelined.requests.push({ request, response, bytes })
    count(pipelined, bytes)
    return true
  }

  function awaitBody(request: IncomingMessage, response: ServerResponse): void {
    load.park()
    arriving.add(request)
    request.once('end', () => {
      if (!arriving.delete(request)) return
      load.unpark()
      response.once('close', load.release)
    })
    response.once('close', () => void arriving.delete(request))
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    if (held) return void held.push(() => handle(request, response))
    const { socket } = request
    if (socket.destroyed) return
    const pipelined = waiting.get(socket)
    if (pipelined) {
      if (!wait(pipelined, request, response)) socket.destroy()
      return
    }
    waiting.set(socket, { requests: [], bytes: 0 })
    // Without a connection it stands behind an answer of the fast path.
    if (response.socket === null) response.once('socket', () => begin(request, response))
    else begin(request, response)
  }

  return {
    handle,
    prefer: (socket) => void turns.wasRead(socket, 'high'),
    hold() {
      held ??= []
    },
    resume() {
      const requests = held ?? []
      held = null
      for (const handle of requests) handle()
    },
  }
}

const OVERLOADED = new Failure('overloaded', { retryAfterSeconds: 1 })
const { status: STATUS, headers: OWN_HEADERS } = renderProblem(OVERLOADED, '', '')
const HEADERS = Object.entries({ ...SAFE_HEADERS, ...OWN_HEADERS }).flat()
/** Node.js reads so much of a body before somebody asks for it. */
const READ_AHEAD = 64 * 1024
const CLOSE = ['connection', 'close']

function newRefusal({ metrics, draining }: Parts): RequestListener {
  const counters = new Map<string, (seconds: number) => void>()
  return (request, response) => {
    const { method = '' } = request
    const requestId = newId('req')
    const { body } = renderProblem(OVERLOADED, requestId, pathOf(request))
    const own = ['x-request-id', requestId, 'content-length', String(Buffer.byteLength(body))]
    response.writeHead(STATUS, [...HEADERS, ...own, ...(draining() ? CLOSE : [])]).end(body)
    const count = counters.get(method) ?? metrics.bufferedCounter(method, 'none', STATUS)
    counters.set(method, count)
    count(0)
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
}

/** What a request that waits takes of memory, about. Of a body that is larger, no more is read before its turn. */
function bytesOf({ headers, rawHeaders }: IncomingMessage): number {
  const body = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : READ_AHEAD
  return 1_000 + Math.min(body, READ_AHEAD) + rawHeaders.reduce((sum, text) => sum + text.length, 0)
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] as string
}
