// Server-sent events: text is written as it is produced, and no faster than the client reads. A client that reads too
// slowly is disconnected, and comes back. The streams of a node, a store and a caller are limited in number. On a node that is
// full, a store with fewer streams takes a seat of the one with the most.

import type { ServerResponse } from 'node:http'
import type { Caller } from '../core/caller.ts'
import { SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Stream } from '../core/route.ts'
import { newConcurrencyLimiter } from '../limits/concurrency.ts'

/** How many streams may be open at a time. */
type Seats = { ofNode: number; ofCaller: number; ofStore: number }
const EVENT_SEATS: Seats = { ofNode: 5_000, ofCaller: 100, ofStore: 200 }
/** Each process of a back end follows the changes of keys, and all of them may have the same token. */
export const CHANGE_SEATS: Seats = { ofNode: 5_000, ofCaller: 2_000, ofStore: 2_000 }
/** A client must read what was written within this time. */
const SLOW_MS = 10 * SECOND
/** When a stream ends, its last text has this long to be sent. */
const END_MS = SECOND

export type EventStreams = {
  /** Throws when there are too many streams, or the service is stopping. */
  admit(callerId: string, storeId: string | null): OpenStream
  open(): number
  /** Ends all streams. */
  close(): void
}

export type OpenStream = { closing: AbortController; slowMs: number; done(): void }

/** Those that are open, of each store, the oldest first; null: those about many stores, which nobody takes a seat of. */
type StreamsOf = Map<string | null, Set<OpenStream>>

export function newEventStreams(slowMs = SLOW_MS, seats = EVENT_SEATS): EventStreams {
  const ofCaller = `You have ${seats.ofCaller} streams open on this node. Close one first.`
  const limiter = newConcurrencyLimiter(seats.ofNode)
  const open: StreamsOf = new Map()
  let stopping = false
  return {
    admit(callerId, storeId) {
      if (stopping) fail('unavailable', { retryAfterSeconds: 1 })
      const own = open.get(storeId) ?? new Set()
      const full = `The store can have ${seats.ofStore} streams on this node. Close one first, or let readers share one.`
      const holders = [
        { id: callerId, max: seats.ofCaller, full: ofCaller },
        ...(storeId === null ? [] : [{ id: storeId, max: seats.ofStore, full }]),
      ]
      if (limiter.inUse() >= seats.ofNode && limiter.mayHold(holders))
        endOneOfMost(open, storeId === null ? 0 : own.size)
      const slot = limiter.acquire(holders)
      const stream = {
        closing: new AbortController(),
        slowMs,
        done() {
          if (!own.delete(stream)) return
          if (own.size === 0) open.delete(storeId)
          slot.release()
          stream.closing.abort()
        },
      }
      open.set(storeId, own.add(stream))
      return stream
    },
    open: limiter.inUse,
    close() {
      stopping = true
      for (const streams of open.values()) for (const { closing } of streams) closing.abort()
    },
  }
}

/**
 * Ends the oldest stream of the store that has the most, if the one who comes would still have fewer. Not those about many
 * stores: the operator issues their tokens, and they must not have fewer seats the more stores a tenant has.
 */
function endOneOfMost(open: StreamsOf, own: number): void {
  let most: Set<OpenStream> | undefined
  for (const [storeId, streams] of open) if (storeId !== null && streams.size > (most?.size ?? 0)) most = streams
  if (!most || most.size <= own + 1) return
  const [oldest] = most
  oldest?.done()
}

export async function pipeEvents(
  response: ServerResponse,
  stream: Stream,
  { closing, slowMs, done }: OpenStream,
): Promise<void> {
  response.once('close', done)
  try {
    for await (const text of stream(closing.signal))
      if (!response.write(text) && !(await drained(response, slowMs, closing.signal))) break
  } catch {
    response.destroy()
  }
  if (response.destroyed) return done()
  const timeout = setTimeout(() => response.destroy(), END_MS)
  response.once('close', () => clearTimeout(timeout))
  response.end()
}

/** False when the client did not read in time, or the stream is closing. */
function drained(response: ServerResponse, slowMs: number, closing: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (inTime: boolean) => {
      clearTimeout(slow)
      response.off('drain', onDrain)
      closing.removeEventListener('abort', onAbort)
      resolve(inTime)
    }
    const onDrain = () => finish(true)
    const onAbort = () => finish(false)
    const slow = setTimeout(() => {
      response.destroy()
      finish(false)
    }, slowMs)
    response.on('drain', onDrain)
    closing.addEventListener('abort', onAbort)
    if (closing.aborted) onAbort()
  })
}

/** Whose seats a stream takes: events are of a store, and so is a service token for one store, which its owners issue. */
export function storeOfStream(params: unknown, caller: Caller | null): string | null {
  const { storeId } = params as { storeId?: string }
  const [only, ...others] = (caller?.kind === 'service' && caller.storeIds) || []
  return storeId ?? (others.length === 0 ? only : undefined) ?? null
}
