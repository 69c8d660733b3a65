// Answers that go on. Each is written as its text comes, and no faster than it is taken: whoever does not take it is cut
// off, and comes back where they were. So many may be open on a node, and so many for one caller.

import type { ServerResponse } from 'node:http'
import { SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Stream } from '../core/route.ts'
import { newConcurrencyLimiter } from '../limits/concurrency.ts'

const MAX_PER_NODE = 5_000
const MAX_PER_CALLER = 100
/** What was written must be taken within so long. */
const SLOW_MS = 10 * SECOND
/** At the end, the last words are given so long to leave. */
const END_MS = SECOND

export type EventStreams = {
  /** Refuses one too many, and every one once we stop. */
  admit(callerId: string): OpenStream
  open(): number
  /** Ends them all. */
  close(): void
}

export type OpenStream = { closing: AbortController; done(): void }

export function newEventStreams(): EventStreams {
  const full = `You have ${MAX_PER_CALLER} streams open on this node. Close one first.`
  const limiter = newConcurrencyLimiter(MAX_PER_NODE, MAX_PER_CALLER, full)
  const open = new Set<AbortController>()
  let stopping = false
  return {
    admit(callerId) {
      if (stopping) fail('unavailable', { retryAfterSeconds: 1 })
      const release = limiter.acquire(callerId)
      const closing = new AbortController()
      open.add(closing)
      return {
        closing,
        done() {
          if (!open.delete(closing)) return
          release()
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
  { closing, done }: OpenStream,
): Promise<void> {
  response.once('close', done)
  try {
    for await (const text of stream(closing.signal))
      if (!response.write(text) && !(await drained(response, closing.signal))) break
  } catch {
    response.destroy()
  }
  if (response.destroyed) return done()
  const over = setTimeout(() => response.destroy(), END_MS)
  response.once('close', () => clearTimeout(over))
  response.end()
}

/** False when it was not taken in time, or nobody is there any more. */
function drained(response: ServerResponse, closing: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const over = (was: boolean) => {
      clearTimeout(slow)
      response.off('drain', onDrain)
      closing.removeEventListener('abort', cut)
      resolve(was)
    }
    const onDrain = () => over(true)
    const cut = () => over(false)
    const slow = setTimeout(() => {
      response.destroy()
      over(false)
    }, SLOW_MS)
    response.on('drain', onDrain)
    closing.addEventListener('abort', cut)
    if (closing.aborted) cut()
  })
}
