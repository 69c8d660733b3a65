// Every request comes through here before it reaches the framework. An overloaded node refuses it at a fraction of what
// the framework would cost, and the requests of one connection are served one after the other.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { newFairQueue } from '../limits/fair-queue.ts'
import type { LoadShedder, Priority, Ticket } from '../limits/load-shedding.ts'
import { newPlaceBound } from '../limits/place-bound.ts'
import type { Connections } from './connections.ts'
import type { Metrics } from './metrics.ts'
import { newPace } from './pace.ts'
import { renderProblem } from './problem.ts'
import { newReadingTurns } from './reading-turns.ts'
import { SAFE_HEADERS } from './response.ts'
import { priorityOf } from './routing.ts'
import { newUnsentAnswers, type UnsentAnswers } from './unsent.ts'

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

export type Admission = {
  handle: RequestListener
  /** Of the fast path too. */
  unsent: UnsentAnswers
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
/** Requests of high priority that wait for their turn. */
const MAX_WAITING_HIGH = 600
/** Requests whose body is still arriving. */
const MAX_ARRIVING = 500

/** The requests of a connection that wait for their turn. */
type Pipelined = { requests: number; bytes: number }

type Admitted = { request: IncomingMessage; response: ServerResponse; ticket: Ticket }

type Parts = {
  load: LoadShedder
  metrics: Metrics
  connections: Connections
  /** Not without rate limits, and not when connections are those of a proxy, which many clients share. */
  isPaced: boolean
  draining(): boolean
}

/**
 * Requests that a client pipelines wait for their turn: the next is begun when the answer to the one before has been handed
 * to the operating system. So a connection costs one request at a time, and a client that does not read its answers gets
 * no further ones. A request is in flight until its answer is complete, whether or not the client reads it (unsent.ts).
 */
export function newAdmission(parts: Parts, serve: RequestListener): Admission {
  const { load, connections } = parts
  const unsent = newUnsentAnswers(connections)
  const pace = parts.isPaced ? newPace(connections) : null
  const turns = newReadingTurns(parts)
  const refuse = newRefusal(parts)
  const waiting = new WeakMap<Socket, Pipelined>()
  let waitingBytes = 0
  /** They do not count as in flight. */
  const arriving = newPlaceBound<IncomingMessage>(MAX_ARRIVING, ({ socket }) => socket.destroy())
  const newQueue = () => newFairQueue<Admitted>(({ request }) => connections.placeOf(request.socket), begin)
  const queues = { normal: newQueue(), high: newQueue(), always: newQueue() }
  let held: (() => void)[] | null = null

  /** On a connection that is gone, none is begun: its response would never close. */
  function admit(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    if (socket.destroyed) return
    if (pace?.hold(socket, () => admit(request, response))) return
    const end = connections.begin(request)
    const priority = priorityOf(pathOf(request))
    onceAnswered(response, end)
    response.once('prefinish', () => {
      unsent.add(response)
      pace?.count(request, response, priority)
    })
    const ticket = turns.wasRead(socket, priority) ? takeTicket(request, priority) : null
    if (!ticket) {
      refuse(request, response)
      return turns.wasRefused()
    }
    tickets.set(response, ticket)
    onceAnswered(response, ticket.release)
    queues[priority].add({ request, response, ticket })
  }

  /** Of those that wait to be begun, only requests of normal priority count as in flight: the others take nobody's room. */
  function takeTicket(request: IncomingMessage, priority: Priority): Ticket | null {
    if (priority === 'normal')
      return load.admit(priority) ?? (makeRoom(request, priority) ? load.admit(priority) : null)
    const isFull = priority === 'high' && queues.high.size() >= MAX_WAITING_HIGH
    if (isFull && !makeRoom(request, priority)) return null
    const ticket = load.admit(priority)
    ticket?.park()
    return ticket
  }

  /** An overloaded node first refuses an address that has more requests waiting to be begun than this one. */
  function makeRoom(request: IncomingMessage, priority: Priority): boolean {
    const other = queues[priority].takeFromLongest(connections.placeOf(request.socket))
    if (!other) return false
    other.ticket.park()
    refuse(other.request, other.response)
    turns.wasRefused()
    return true
  }

  function begin({ request, response, ticket }: Admitted): void {
    if (request.socket.destroyed) return
    ticket.unpark()
    if (isArriving(request)) awaitBody(request, response, ticket)
    serve(request, response)
  }

  /** False when the connection sends more than it may. */
  function wait(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    const pipelined = waiting.get(socket) ?? newPipelined(socket)
    const bytes = bytesOf(request)
    const isTooMuch = pipelined.bytes + bytes > MAX_PIPELINED_BYTES || waitingBytes + bytes > MAX_WAITING_BYTES
    if (isTooMuch || pipelined.requests >= MAX_PIPELINED) return false
    count(pipelined, 1, bytes)
    response.once('socket', () => {
      count(pipelined, -1, -bytes)
      admit(request, response)
    })
    return true
  }

  function newPipelined(socket: Socket): Pipelined {
    const pipelined = { requests: 0, bytes: 0 }
    waiting.set(socket, pipelined)
    socket.once('close', () => count(pipelined, -pipelined.requests, -pipelined.bytes))
    return pipelined
  }

  function count(pipelined: Pipelined, requests: number, bytes: number): void {
    pipelined.requests += requests
    pipelined.bytes += bytes
    waitingBytes += bytes
  }

  function awaitBody(request: IncomingMessage, response: ServerResponse, ticket: Ticket): void {
    ticket.park()
    arriving.add(request, connections.placeOf(request.socket))
    request.once('end', () => {
      if (arriving.delete(request)) ticket.unpark()
    })
    response.once('close', () => void arriving.delete(request))
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    if (held) return void held.push(() => handle(request, response))
    // A response has its connection when it is its turn.
    if (response.socket !== null) admit(request, response)
    else if (!wait(request, response)) request.socket.destroy()
  }

  return {
    handle,
    unsent,
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

const tickets = new WeakMap<ServerResponse, Ticket>()

/** For an answer that may last for hours: it is in flight no more. */
export function releaseEarly(response: ServerResponse): void {
  tickets.get(response)?.release()
}

/** Once the whole answer was given, or the connection has ended before. */
export function onceAnswered(response: ServerResponse, run: () => void): void {
  let isOver = false
  const end = () => {
    if (!isOver) run()
    isOver = true
  }
  response.once('prefinish', end)
  response.once('close', end)
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

/** The framework reads no body of a GET. That of a request from the fast path has been read. */
function isArriving({ method, headers, readableEnded }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
  return hasBody && !readableEnded && method !== 'GET' && method !== 'HEAD'
}

/** What a request that waits takes of memory, about. Of a body that is larger, no more is read before its turn. */
function bytesOf({ headers, rawHeaders }: IncomingMessage): number {
  const body = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : READ_AHEAD
  return 1_000 + Math.min(body, READ_AHEAD) + rawHeaders.reduce((sum, text) => sum + text.length, 0)
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] as string
}
