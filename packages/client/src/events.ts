// The events of a store as they happen, over a connection that is made again whenever it breaks.

import type { EventsStreamQuery, StoreApi } from './api.gen.ts'
import { isStorekeeperError } from './error.ts'
import type { StoreEvent } from './event-types.ts'
import { sleep } from './request.ts'
import { readEvents } from './sse.ts'
import type { Transport } from './transport.ts'

/** The service sends something at least this often. Two beats missed, and the connection is dead. */
const BEAT_MS = 15_000
const SILENCE_MS = 2 * BEAT_MS
const [LEAST_WAIT_MS, MOST_WAIT_MS] = [1_000, 30_000]

export async function* followEvents(
  transport: Transport,
  store: Pick<StoreApi, 'events'>,
  path: string,
  query: EventsStreamQuery,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoreEvent, void, undefined> {
  const { after, ...filters } = query
  const ending = new AbortController()
  const end = () => ending.abort()
  const signals = [signal, transport.closing].filter((given) => given !== undefined)
  for (const given of signals) {
    given.addEventListener('abort', end)
    if (given.aborted) end()
  }
  const state = { lastId: after, retryMs: LEAST_WAIT_MS, failures: 0 }
  try {
    while (!ending.signal.aborted) {
      try {
        // Without an event to start after, what happens between two connections would be missed.
        state.lastId ??= await newestSealed(store, ending.signal)
        yield* readStream(transport, path, filters, state, ending.signal)
      } catch (error) {
        if (ending.signal.aborted) return
        if (!isPassing(error)) throw error
      }
      if (ending.signal.aborted) return
      const most = Math.min(MOST_WAIT_MS, state.retryMs * 2 ** state.failures++)
      await sleep(state.failures === 1 ? state.retryMs : most * (0.5 + Math.random() / 2), ending.signal)
    }
  } finally {
    for (const given of signals) given.removeEventListener('abort', end)
    end()
  }
}

type State = { lastId: string | undefined; retryMs: number; failures: number }

async function* readStream(
  transport: Transport,
  path: string,
  query: object,
  state: State,
  ending: AbortSignal,
): AsyncGenerator<StoreEvent, void, undefined> {
  const silence = new AbortController()
  const end = () => silence.abort()
  ending.addEventListener('abort', end)
  let timer: ReturnType<typeof setTimeout> | undefined
  const heard = () => {
    clearTimeout(timer)
    timer = setTimeout(end, SILENCE_MS)
  }
  try {
    const headers: Record<string, string> = state.lastId ? { 'last-event-id': state.lastId } : {}
    const { body } = await transport.openStream(path, { query, headers, signal: silence.signal })
    if (!body) return
    heard()
    for await (const frame of readEvents(body)) {
      heard()
      state.failures = 0
      if (frame.kind === 'retry') state.retryMs = Math.min(frame.ms, MOST_WAIT_MS)
      if (frame.kind === 'id') state.lastId = frame.id || state.lastId
      if (frame.kind !== 'event') continue
      // While the reader is busy with this one, silence is the reader's own.
      clearTimeout(timer)
      state.lastId = frame.id || state.lastId
      yield JSON.parse(frame.data) as StoreEvent
      heard()
    }
  } finally {
    clearTimeout(timer)
    ending.removeEventListener('abort', end)
    end()
  }
}

/**
 * The newest event that has its place in the trail: all that happens from now on comes after it. In a store so new that no
 * event has one, the first event.
 */
async function newestSealed({ events }: Pick<StoreApi, 'events'>, signal: AbortSignal): Promise<string | undefined> {
  let oldest: string | undefined
  for await (const { id, position } of events.list({ limit: 10 }, { signal })) {
    if (position !== null) return id
    oldest = id
  }
  return oldest
}

/** Whether trying again may help; a broken stream is no StorekeeperError. */
function isPassing(error: unknown): boolean {
  if (!isStorekeeperError(error)) return true
  const { status = 0, code } = error
  return ['connection_failed', 'timeout'].includes(code) || status === 408 || status === 429 || status >= 500
}
