// Answers that were given, but not yet taken: the client reads slowly, or not at all. They count as in flight no more, and
// hold memory until they are sent. A client has a time for it that goes by what there is to send, not by whether it takes a
// byte now and then; and all of them together have so many bytes of a node.

import type { ServerResponse } from 'node:http'
import { SECOND } from '../core/clock.ts'
import { newPlaceBound } from '../limits/place-bound.ts'
import type { Connections } from './connections.ts'

const MAX_BYTES = 64 * 1024 * 1024
const SLOW_MS = 10 * SECOND
/** A slow line has this and the time above. */
const MIN_BYTES_PER_SECOND = 32 * 1024

export type UnsentAnswers = {
  /** The answer was handed to Node.js as a whole. */
  add(response: ServerResponse): void
}

export function newUnsentAnswers({ placeOf }: Pick<Connections, 'placeOf'>, slowMs = SLOW_MS): UnsentAnswers {
  const unsent = newPlaceBound<ServerResponse>(MAX_BYTES, (response) => void response.destroy())
  return {
    add(response) {
      const { socket } = response
      // What the operating system has not taken.
      const bytes = socket?.writableLength ?? 0
      if (!socket || bytes === 0) return
      const timeout = setTimeout(() => response.destroy(), slowMs + (bytes * SECOND) / MIN_BYTES_PER_SECOND).unref()
      response.once('close', () => {
        clearTimeout(timeout)
        unsent.delete(response)
      })
      unsent.add(response, placeOf(socket), bytes)
    },
  }
}
