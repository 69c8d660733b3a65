// Refusing has a cost too, and must not take the time of the requests that are served. When more is refused than the event
// loop has time for, idle connections are not read any more; requests that come on them wait in the operating system.

import type { Socket } from 'node:net'
import type { LoadShedder, Priority } from '../limits/load-shedding.ts'
import type { Connections } from './connections.ts'

export type ReadingTurns = {
  /** Whether a request on the connection may be admitted. */
  wasRead(socket: Socket, priority: Priority): boolean
  wasRefused(): void
}

type Parts = {
  load: Pick<LoadShedder, 'room' | 'completedPerSecond'>
  connections: Pick<Connections, 'takeIdle'>
  draining(): boolean
}

const TICK_MS = 20
/** Of the event loop's time: with less than this, there is time to read more connections; with more, fewer. */
const BUSY = { low: 0.8, high: 0.95 }
const MIN_TURNS_PER_SECOND = 100
/**
 * For each request that is completed, so many are refused though the event loop is busy. A refusal takes about a fifth of the
 * time of a new key: with one for each, goodput was 0.67 of what the node sustains, with four 0.50 (docs/measured.md).
 */
const REFUSED_PER_COMPLETED = 0.5
/** A request that may have waited longer than this for its connection to be read is refused, also when there is room. */
const STALE_MS = 1_000

/**
 * As many of the connections that are not read get their turn as there is room for requests, those first that have waited
 * the least, since these are served in time; and beside them half as many as are completed, those first that have waited
 * the longest, to be refused. Connections that verify keys or check the health are always read. (Roads not
 * taken: closing connections, since to accept one takes three times the processor time of a refusal; and refusing before the
 * parser of HTTP, since reading the bytes in JavaScript takes the time that the parser would.)
 */
export function newReadingTurns({ load, connections, draining }: Parts): ReadingTurns {
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
    perSecond = Math.max(MIN_TURNS_PER_SECOND, REFUSED_PER_COMPLETED * load.completedPerSecond(), perSecond * change)
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
    wasRead(socket, priority) {
      if (priority === 'normal') exempt.delete(socket)
      else exempt.add(socket)
      return priority !== 'normal' || !stale.has(socket)
    },
    wasRefused() {
      if (!timer) {
        measure()
        timer = setInterval(tick, TICK_MS).unref()
      }
      refusals += 1
      if (draining() || refusals <= affordable()) return
      refusals = 0
      for (const socket of connections.takeIdle())
        if (!exempt.has(socket)) paused.set(socket.pause(), performance.now())
    },
  }
}
