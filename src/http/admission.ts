// Every request comes through here before it reaches the framework. An overloaded node refuses it at a fraction of what
// the framework would cost, and the requests of one connection are served one after the other.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { type FairQueue, newFairQueue } from '../limits/fair-queue.ts'
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
/** What those that wait may take of memory: on one connection, and on all of them, where the address with the most loses one. */
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
  const control = new AdmissionControl(parts, serve)
  return {
    handle: (request, response) => control.handle(request, response),
    unsent: control.unsent,
    prefer: (socket) => control.prefer(socket),
    hold: () => control.hold(),
    resume: () => control.resume(),
  }
}

class AdmissionControl {
  readonly unsent: UnsentAnswers
  readonly #load: LoadShedder
  readonly #connections: Connections
  readonly #serve: RequestListener
  readonly #refuse: RequestListener
  readonly #pace: ReturnType<typeof newPace> | null
  readonly #turns: ReturnType<typeof newReadingTurns>
  readonly #queues: Record<Priority, FairQueue<Admitted>>
  readonly #pipelined = new WeakMap<Socket, Pipelined>()
  /** Connections by what waits behind the request under way. */
  readonly #waiting = newPlaceBound<Socket>(MAX_WAITING_BYTES, (socket) => socket.destroy())
  /** Requests whose body is arriving: they do not count as in flight. */
  readonly #arriving = newPlaceBound<IncomingMessage>(MAX_ARRIVING, ({ socket }) => socket.destroy())
  #held: (() => void)[] | null = null

  constructor(parts: Parts, serve: RequestListener) {
    const { load, connections } = parts
    this.#load = load
    this.#connections = connections
    this.#serve = serve
    this.unsent = newUnsentAnswers(connections)
    this.#pace = parts.isPaced ? newPace(connections) : null
    this.#turns = newReadingTurns(parts)
    this.#refuse = newRefusal(parts)
    const newQueue = () =>
      newFairQueue<Admitted>(
        ({ request }) => connections.placeOf(request.socket),
        (admitted) => this.#begin(admitted),
      )
    this.#queues = { normal: newQueue(), high: newQueue(), always: newQueue() }
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    if (this.#held) return void this.#held.push(() => this.handle(request, response))
    // A response has its connection when it is its turn.
    if (response.socket !== null) this.#admit(request, response)
    else if (!this.#wait(request, response)) request.socket.destroy()
  }

  prefer(socket: Socket): void {
    this.#turns.wasRead(socket, 'high')
  }

  hold(): void {
    this.#held ??= []
  }

  resume(): void {
    const requests = this.#held ?? []
    this.#held = null
    for (const handle of requests) handle()
  }

  /** On a connection that is gone, none is begun: its response would never close. */
  #admit(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    if (socket.destroyed) return
    if (this.#pace?.hold(socket, () => this.#admit(request, response))) return
    const end = this.#connections.begin(request)
    const priority = priorityOf(pathOf(request))
    onceAnswered(response, end)
    response.once('prefinish', () => {
      this.unsent.add(response)
      this.#pace?.count(request, response, priority)
    })
    const ticket = this.#turns.wasRead(socket, priority) ? this.#takeTicket(request, priority) : null
    if (!ticket) {
      this.#refuse(request, response)
      return this.#turns.wasRefused()
    }
    tickets.set(response, ticket)
    onceAnswered(response, ticket.release)
    this.#queues[priority].add({ request, response, ticket })
  }

  /** Of those that wait to be begun, only requests of normal priority count as in flight: the others take nobody's room. */
  #takeTicket(request: IncomingMessage, priority: Priority): Ticket | null {
    if (priority === 'normal') {
      let ticket = this.#load.admit(priority)
      while (!ticket && this.#makeRoom(request, priority)) ticket = this.#load.admit(priority)
      return ticket
    }
    const isFull = priority === 'high' && this.#queues.high.size() >= MAX_WAITING_HIGH
    if (isFull && !this.#makeRoom(request, priority)) return null
    const ticket = this.#load.admit(priority)
    ticket?.park()
    return ticket
  }

  /** An overloaded node first refuses an address that has more requests waiting to be begun than this one. */
  #makeRoom(request: IncomingMessage, priority: Priority): boolean {
    const other = this.#queues[priority].takeFromLongest(this.#connections.placeOf(request.socket))
    if (!other) return false
    other.ticket.park()
    this.#refuse(other.request, other.response)
    this.#turns.wasRefused()
    return true
  }

  #begin({ request, response, ticket }: Admitted): void {
    if (request.socket.destroyed) return
    ticket.unpark()
    if (isArriving(request)) this.#awaitBody(request, response, ticket)
    this.#serve(request, response)
  }

  /** False when the connection sends more than it may. */
  #wait(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    const pipelined = this.#pipelined.get(socket) ?? this.#newPipelined(socket)
    const bytes = bytesOf(request)
    if (pipelined.bytes + bytes > MAX_PIPELINED_BYTES || pipelined.requests >= MAX_PIPELINED) return false
    this.#count(socket, pipelined, 1, bytes)
    response.once('socket', () => {
      this.#count(socket, pipelined, -1, -bytes)
      this.#admit(request, response)
    })
    return true
  }

  #newPipelined(socket: Socket): Pipelined {
    const pipelined = { requests: 0, bytes: 0 }
    this.#pipelined.set(socket, pipelined)
    socket.once('close', () => this.#count(socket, pipelined, -pipelined.requests, -pipelined.bytes))
    return pipelined
  }

  #count(socket: Socket, pipelined: Pipelined, requests: number, bytes: number): void {
    pipelined.requests += requests
    pipelined.bytes += bytes
    this.#waiting.delete(socket)
    if (pipelined.bytes > 0) this.#waiting.add(socket, this.#connections.placeOf(socket), pipelined.bytes)
  }

  #awaitBody(request: IncomingMessage, response: ServerResponse, ticket: Ticket): void {
    ticket.park()
    this.#arriving.add(request, this.#connections.placeOf(request.socket))
    request.once('end', () => {
      if (this.#arriving.delete(request)) ticket.unpark()
    })
    response.once('close', () => void this.#arriving.delete(request))
  }
}

const tickets = new WeakMap<ServerResponse, Ticket>()

export const ticketOf = (response: ServerResponse): Ticket | null => tickets.get(response) ?? null

/** For an answer that may last for hours: it is in flight no more. */
export function releaseEarly(response: ServerResponse): void {
  tickets.get(response)?.release()
}

/** Once the whole answer was given, or the connection has ended before. */
function onceAnswered(response: ServerResponse, run: () => void): void {
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
