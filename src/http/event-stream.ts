// Server-sent events: text is written as it is produced, and no faster than the client reads. A client that reads too
// slowly is disconnected, and resumes with Last-Event-ID. The streams of a node, a store and a caller are limited in
// number.

import type { ServerResponse } from 'node:http'
import { SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Stream } from '../core/route.ts'
import { newConcurrencyLimiter } from '../limits/concurrency.ts'

const MAX_PER_NODE = 5_000
const MAX_PER_STORE = 200
const MAX_PER_CALLER = 100
/** A client must read what was written within this time. */
const SLOW_MS = 10 * SECOND
/** When a stream ends, its last text has this long to be sent. */
const END_MS = SECOND

export type EventStreams = {
  /** Throws when there are too many streams, or the service is stopping. */
  admit(callerId: string, storeId: string): OpenStream
  open(): number
  /** Ends all streams. */
  close(): void
}

export type OpenStream = { closing: AbortController; slowMs: number; done(): void }

export function newEventStreams(slowMs = SLOW_MS): EventStreams {
  const ofCaller = `You have ${MAX_PER_CALLER} streams open on this node. Close one first.`
  const ofStore = `The store has ${MAX_PER_STORE} streams open on this node. Close one first, or let readers share one.`
  const limiter = newConcurrencyLimiter(MAX_PER_NODE)
  const open = new Set<AbortController>()
  let stopping = false
  return {
    admit(callerId, storeId) {
      if (stopping) fail('unavailable', { retryAfterSeconds: 1 })
      const slot = limiter.acquire([
        { id: callerId, max: MAX_PER_CALLER, full: ofCaller },
        { id: storeId, max: MAX_PER_STORE, full: ofStore },
      ])
      const closing = new AbortController()
      open.add(closing)
      return {
        closing,
        slowMs,
        done() {
          if (!open.delete(closing)) return
          slot.release()
          closing.abort()
        },
      }
    },
    open: limiter.inUse,
    close() {
      stopping = true
      for (const closing of open) closing.abort()
    },
  }
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
