// Answers that take nothing of a rate limit: refusals of those who have spent theirs (429), malformed requests, unknown
// paths, health checks. Each costs little, but a client that asks again at once, on hundreds of connections, would have the
// event loop to itself. So an address gets so many of them in a second. Beyond that, connections that had nothing but such
// answers lately are queued: they are not read, and what they have sent is begun when their turn comes.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Priority } from '../limits/load-shedding.ts'
import type { Connections } from './connections.ts'

const PER_SECOND = 100
const INTERVAL_MS = 1000 / PER_SECOND
/** After a quiet time so many are answered at once. */
const BURST = 100
/** One by one a connection has such an answer now and then: somebody else at the same address may be flooding. */
const FREE_IN_A_ROW = 3

export type Pace = {
  /** The response was given. */
  count(request: IncomingMessage, response: ServerResponse, priority: Priority): void
  /** Whether the connection is queued. If so, `begin` is called when its turn comes, unless it is closed before. */
  hold(socket: Socket, begin: () => void): boolean
}

type Queued = { begin: (() => void) | null; leave(): void }
/** `spent` goes down with the time; the queue is empty unless the burst is spent. */
type Place = { spent: number; at: number; queue: Map<Socket, Queued>; timer: NodeJS.Timeout | null }

export function newPace({ placeOf }: Pick<Connections, 'placeOf'>): Pace {
  const places = new Map<string, Place>()
  const queues = new WeakMap<Socket, Place['queue']>()
  /** Of each connection, how many there were in a row. */
  const inARow = new WeakMap<Socket, number>()

  function spend(name: string): Place {
    const now = performance.now()
    const place = places.get(name) ?? { spent: 0, at: now, queue: new Map(), timer: null }
    place.spent = Math.min(BURST, Math.max(0, place.spent - (now - place.at) / INTERVAL_MS) + 1)
    place.at = now
    // Past the end they are the newest: the oldest, which have long recovered, are forgotten.
    places.delete(name)
    places.set(name, place)
    for (const [oldest, { at, queue }] of places) {
      if (queue.size > 0 || now - at < BURST * INTERVAL_MS) break
      places.delete(oldest)
    }
    return place
  }

  function enqueue(place: Place, socket: Socket): void {
    const leave = () => void place.queue.delete(socket)
    place.queue.set(socket.pause(), { begin: null, leave })
    queues.set(socket, place.queue)
    socket.once('close', leave)
    place.timer ??= setInterval(() => letOneGo(place), INTERVAL_MS).unref()
  }

  function letOneGo(place: Place): void {
    for (const [socket, { begin, leave }] of place.queue) {
      leave()
      socket.off('close', leave).resume()
      begin?.()
      return
    }
    clearInterval(place.timer ?? undefined)
    place.timer = null
  }

  return {
    count(request, response, priority) {
      const { socket } = request
      if (!isFree(request, response, priority)) return void inARow.delete(socket)
      const many = (inARow.get(socket) ?? 0) + 1
      inARow.set(socket, many)
      const place = spend(placeOf(socket))
      if (place.spent >= BURST && many > FREE_IN_A_ROW && !place.queue.has(socket)) enqueue(place, socket)
    },
    hold(socket, begin) {
      const queued = queues.get(socket)?.get(socket)
      if (queued) queued.begin = begin
      return queued !== undefined
    },
  }
}

const counted = new WeakSet<IncomingMessage>()

/** The request counts towards the rate limit of whoever sent it. */
export function countsTowardsLimit(request: IncomingMessage): void {
  counted.add(request)
}

/** A node that is overloaded or without its database is not the client's doing. */
function isFree(request: IncomingMessage, response: ServerResponse, priority: Priority): boolean {
  const { statusCode } = response
  if (priority === 'always' || statusCode === 429) return true
  return statusCode >= 400 && statusCode < 500 && !counted.has(request) && !response.hasHeader('ratelimit')
}
