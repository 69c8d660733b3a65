// Every request comes through here before it reaches the framework. An overloaded node refuses it at a fraction of what
// the framework would cost, and the requests of one connection are served one after the other.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import type { LoadShedder, Priority } from '../limits/load-shedding.ts'
import type { Connections } from './connections.ts'
import type { Metrics } from './metrics.ts'
import { renderProblem } from './problem.ts'
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

type Parts = { load: LoadShedder; metrics: Metrics; connections: Connections; draining(): boolean }

/**
 * Requests that a client pipelines wait for their turn: the next is begun when the answer to the one before has been handed
 * to the operating system. So a connection costs one request at a time, and a client that does not read its answers gets
 * no further ones.
 */
export function newAdmission(parts: Parts, serve: RequestListener): Admission {
  const { load, connections } = parts
  const refuse = newRefusal(parts)
  const turns = newReadingTurns(parts)
  const waiting = new WeakMap<Socket, (() => void)[]>()
  let held: (() => void)[] | null = null

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const end = connections.begin(socket)
    response.once('close', () => {
      end()
      const next = waiting.get(socket)?.shift()
      if (next) next()
      else waiting.delete(socket)
    })
    const priority = priorityOf(pathOf(request))
    if (!turns.wasRead(socket, priority) || !load.admit(priority)) {
      refuse(request, response)
      return turns.wasRefused()
    }
    response.once('close', load.release)
    serve(request, response)
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    if (held) return void held.push(() => handle(request, response))
    const before = waiting.get(request.socket)
    if (before) return void before.push(() => begin(request, response))
    waiting.set(request.socket, [])
    begin(request, response)
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
const HEADERS = Object.entries(SAFE_HEADERS).flat()
const CLOSE = ['connection', 'close']

function newRefusal({ metrics, draining }: Parts): RequestListener {
  const counters = new Map<string, (seconds: number) => void>()
  return (request, response) => {
    const { method = '' } = request
    const requestId = newId('req')
    const { status, headers, body } = renderProblem(OVERLOADED, requestId, pathOf(request))
    const own = Object.entries({ ...headers, 'x-request-id': requestId, 'content-length': Buffer.byteLength(body) })
    response.writeHead(status, [...HEADERS, ...own.flat(), ...(draining() ? CLOSE : [])]).end(body)
    const count = counters.get(method) ?? metrics.bufferedCounter(method, 'none', status)
    counters.set(method, count)
    count(0)
  }
}

const TICK_MS = 20
/** Of the event loop's time: with less than this, there is time to read more connections; with more, fewer. */
const BUSY = { low: 0.8, high: 0.95 }
const MIN_TURNS_PER_SECOND = 100
/** A request that may have waited longer than this for its connection to be read is refused, also when there is room. */
const STALE_MS = 1_000

/**
 * Refusing has a cost too, and must not take the time of the requests that are served. When more is refused than the event
 * loop has time for, idle connections are not read any more; requests that come on them wait in the operating system. As
 * many of them are read as there is room for requests, those first that have waited the least, since these are served in
 * time; and beside them as many as are completed, those first that have waited the longest, to be refused. Connections
 * that verify keys or check the health are always read. (Closing connections would cost more: to accept one takes three
 * times the processor time of a refusal.)
 */
function newReadingTurns({ load, connections, draining }: Parts) {
  /** Since when. */
  const paused = new Map<Socket, number>()
  /** Not to be paused: it is their turn and no request has come yet, or their last request had priority. */
  const exempt = new WeakSet<Socket>()
  /** What comes on them before the next tick has waited too long. */
  const stale = new Set<Socket>()
  let perSecond = 0
  let refusals = 0
  let tickedAt = 0
  let loop = performance.eventLoopUtilization()
  let timer: NodeJS.Timeout | undefined

  /** Since the last tick. */
  const affordable = () => Math.ceil((perSecond * Math.max(TICK_MS, performance.now() - tickedAt)) / 1000)

  function tick(): void {
    stale.clear()
    const sockets = [...paused.keys()]
    const served = draining() ? sockets.splice(0) : sockets.splice(Math.max(0, sockets.length - load.room()))
    const before = performance.now() - STALE_MS
    for (const socket of [...served, ...sockets.slice(0, affordable())]) {
      if ((paused.get(socket) ?? 0) < before) stale.add(socket)
      paused.delete(socket)
      exempt.add(socket)
      socket.resume()
    }
    const { utilization } = performance.eventLoopUtilization(loop)
    const change = utilization < BUSY.low ? 1.5 : utilization > BUSY.high ? 0.7 : 1
    perSecond = Math.max(MIN_TURNS_PER_SECOND, load.completedPerSecond(), perSecond * change)
    measure()
    if (paused.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function measure(): void {
    refusals = 0
    tickedAt = performance.now()
    loop = performance.eventLoopUtilization()
  }

  return {
    /** Whether a request on the connection may be admitted. */
    wasRead(socket: Socket, priority: Priority): boolean {
      if (priority === 'normal') exempt.delete(socket)
      else exempt.add(socket)
      return priority !== 'normal' || !stale.has(socket)
    },
    wasRefused(): void {
      if (!timer) {
        measure()
        timer = setInterval(tick, TICK_MS).unref()
      }
      refusals += 1
      if (draining() || refusals <= affordable()) return
      refusals = 0
      for (const socket of connections.idle())
        if (!exempt.has(socket) && !paused.has(socket)) paused.set(socket.pause(), performance.now())
    },
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] as string
}
