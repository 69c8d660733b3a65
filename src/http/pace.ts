// Answers that take nothing of a rate limit: refusals of those who have spent theirs (429), malformed requests, unknown
// paths, health checks. Each costs little, but a client that asks again at once, on hundreds of connections, would have the
// event loop to itself. So an address gets so many of them in a second; of more, each waits for its turn, and its connection
// is not read until then.

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Priority } from '../limits/load-shedding.ts'
import type { Connections } from './connections.ts'

const PER_SECOND = 100
const INTERVAL_MS = 1000 / PER_SECOND
/** After a quiet time so many are answered at once. */
const BURST = 100
/** When more are known, those that have no turn to come are forgotten. */
const MAX_PLACES = 10_000

export type Pace = {
  /** The response was given. */
  count(socket: Socket, response: ServerResponse, priority: Priority): void
  /** How long the next request of the connection has to wait. */
  waitMs(socket: Socket): number
}

export function newPace({ placeOf }: Pick<Connections, 'placeOf'>): Pace {
  /** When the last answer of each place was due. */
  const dueByPlace = new Map<string, number>()
  const dueBySocket = new WeakMap<Socket, number>()

  function forgetPast(): void {
    for (const [place, due] of dueByPlace) if (due <= performance.now()) dueByPlace.delete(place)
  }

  return {
    count(socket, response, priority) {
      if (!isFree(response, priority)) return
      const place = placeOf(socket)
      const now = performance.now()
      const due = Math.max(dueByPlace.get(place) ?? 0, now - BURST * INTERVAL_MS) + INTERVAL_MS
      if (dueByPlace.size >= MAX_PLACES) forgetPast()
      dueByPlace.set(place, due)
      if (due <= now) return
      dueBySocket.set(socket, due)
      socket.pause()
      setTimeout(() => socket.resume(), due - now).unref()
    },
    waitMs: (socket) => Math.max(0, (dueBySocket.get(socket) ?? 0) - performance.now()),
  }
}

/** A node that is overloaded or without its database is not the client's doing. */
function isFree(response: ServerResponse, priority: Priority): boolean {
  const { statusCode } = response
  const isRefusal = statusCode >= 400 && statusCode < 500
  return priority === 'always' || statusCode === 429 || (isRefusal && !response.hasHeader('ratelimit'))
}
