// Server-sent events: text is written as it is produced, and no faster than the client reads. A client that reads too
// slowly is disconnected, and comes back. The streams of a node, a store and a caller are limited in number. On a node that is
// full, an account with fewer streams takes a seat of the one with the most.

import type { ServerResponse } from 'node:http'
import type { Caller } from '../core/caller.ts'
import { SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Stream } from '../core/route.ts'
import { newConcurrencyLimiter } from '../limits/concurrency.ts'
import { newPlaceBound } from '../limits/place-bound.ts'
import { MAX_CONNECTIONS } from './connections.ts'

/** How many streams may be open at a time. Of a node's connections (connections.ts), a fifth is left for everything else. */
type Seats = { ofNode: number; ofCaller: number; ofStore: number }
const SEATS_OF_NODE = 0.4 * MAX_CONNECTIONS
const EVENT_SEATS: Seats = { ofNode: SEATS_OF_NODE, ofCaller: 100, ofStore: 200 }
/** Each process of a back end follows the changes of keys, and all of them may have the same token. */
export const CHANGE_SEATS: Seats = { ofNode: SEATS_OF_NODE, ofCaller: 2_000, ofStore: 2_000 }
/** A client must read what was written within this time, and each further piece of a page within another second. */
const SLOW_MS = 10 * SECOND
const SLOW_MS_OF_PIECE = SECOND
/** When a stream ends, its last text has this long to be sent. */
const END_MS = SECOND
/** As much is handed on at a time. The rest of a page waits until the client has read it. */
const PIECE_BYTES = 64 * 1024
/**
 * What all pages take that wait to be read, at most: of each character its bytes and, in the text, two more. Of more, the
 * account that holds the most loses the stream that has waited the longest.
 */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024
const KEPT_FOR_A_CHARACTER = 5

export type EventStreams = {
  /** Throws when there are too many streams, or the service is stopping. */
  admit(holder: StreamHolder): OpenStream
  open(): number
  /** Ends all streams. */
  close(): void
}

/** Whose seat a stream takes. `store` is null for streams about many stores. */
type StreamHolder = { callerId: string; store: { id: string; account: string } | null }

export type OpenStream = {
  closing: AbortController
  slowMs: number
  done(): void
  /** So much of it waits to be read. Over all streams this has a bound, and the stream may be closed. */
  hold(bytes: number): void
  release(): void
}

export function newEventStreams(
  slowMs = SLOW_MS,
  seats = EVENT_SEATS,
  maxUnreadBytes = MAX_UNREAD_BYTES,
): EventStreams {
  const ofCaller = `You have ${seats.ofCaller} streams open on this node. Close one first.`
  const limiter = newConcurrencyLimiter(seats.ofNode)
  const streams = new Set<OpenStream>()
  const unread = newPlaceBound<OpenStream>(maxUnreadBytes, (stream) => stream.done())
  let stopping = false
  return {
    admit({ callerId, store }) {
      if (stopping) fail('unavailable', { retryAfterSeconds: 1 })
      const full = `The store can have ${seats.ofStore} streams on this node. Close one first, or let readers share one.`
      const slot = limiter.acquire({
        holders: [
          { id: callerId, max: seats.ofCaller, full: ofCaller },
          ...(store ? [{ id: store.id, max: seats.ofStore, full }] : []),
        ],
        // Nobody takes a seat of streams about many stores: the operator issues their tokens.
        account: store && store.account,
        onEvicted: () => stream.done(),
      })
      const stream: OpenStream = {
        closing: new AbortController(),
        slowMs,
        done() {
          if (!streams.delete(stream)) return
          slot.release()
          stream.closing.abort()
        },
        hold: (bytes: number) => unread.add(stream, store?.account ?? callerId, bytes),
        release: () => void unread.delete(stream),
      }
      streams.add(stream)
      return stream
    },
    open: limiter.inUse,
    close() {
      stopping = true
      for (const { closing } of streams) closing.abort()
    },
  }
}

export async function pipeEvents(response: ServerResponse, stream: Stream, open: OpenStream): Promise<void> {
  const { closing, done } = open
  response.once('close', done)
  try {
    for await (const text of stream(closing.signal)) if (!(await write(response, text, open))) break
  } catch {
    response.destroy()
  }
  if (response.destroyed) return done()
  const timeout = setTimeout(() => response.destroy(), END_MS)
  response.once('close', () => clearTimeout(timeout))
  response.end()
}

/** False when the client did not read in time, or the stream is closing. */
async function write(response: ServerResponse, text: string, open: OpenStream): Promise<boolean> {
  let deadline = performance.now() + open.slowMs - SLOW_MS_OF_PIECE
  for (const piece of piecesOf(text)) {
    deadline += SLOW_MS_OF_PIECE
    if (response.write(piece)) continue
    open.hold(KEPT_FOR_A_CHARACTER * text.length)
    const inTime = await drained(response, deadline - performance.now(), open.closing.signal)
    open.release()
    if (!inTime) return false
  }
  return true
}

function* piecesOf(text: string): Generator<string | Buffer> {
  if (text.length <= PIECE_BYTES) return yield text
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
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
