// The stream of changes is followed: one connection at a time, made again when it ends, breaks or falls silent.

import { StorekeeperError } from '../error.ts'
import { readEvents } from '../sse.ts'
import type { Transport } from '../transport.ts'
import { closeStream, isSilent, type Machine, onFrame, openStream } from './machine.ts'
import type { Moment } from './moment.ts'
import { sleep } from './timers.ts'

const OPEN_TIMEOUT_MS = 2_000
/** Waits before the next try are drawn from 0 up to these, doubled each time. */
const [FIRST_WAIT_MS, MOST_WAIT_MS] = [300, 5_000]

export type Following = {
  start(): void
  /** Called now and then: gives up a stream that is silent, or wanted no more. */
  look(): void
  stop(): void
}

export function newFollowing(
  transport: Transport,
  machine: Machine,
  moment: () => Moment,
  isWanted: () => boolean,
  onRefused: (error: StorekeeperError) => void,
): Following {
  let isRunning = false
  let ending = new AbortController()
  let failures = 0

  /** How long to wait before the next stream. */
  async function followOne(signal: AbortSignal): Promise<number> {
    const stream = openStream(machine, moment())
    const query = stream.back > 0 ? { back: stream.back } : {}
    try {
      const { body } = await keepNobodyUp(() =>
        transport.openStream('/v1/keys/changes', { query, signal, timeout: OPEN_TIMEOUT_MS }),
      )
      for await (const event of readEvents(body as ReadableStream<Uint8Array>)) {
        if (event.kind !== 'event') continue
        const step = onFrame(machine, stream, event, moment())
        if (event.event === 'beat') failures = 0
        if (step === 'again') return 0
        if (step === 'stop') break
      }
    } catch (error) {
      if (error instanceof StorekeeperError) {
        onRefused(error)
        if (error.retryAfter) return (1 + Math.random()) * 1_000 * error.retryAfter
      }
    } finally {
      closeStream(machine, stream)
    }
    return Math.random() * Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures++)
  }

  async function follow(): Promise<void> {
    while (isWanted()) {
      ending = new AbortController()
      const wait = await followOne(ending.signal)
      ending.abort()
      ending = new AbortController()
      await sleep(wait, ending.signal)
    }
    isRunning = false
  }

  return {
    start() {
      if (isRunning) return
      isRunning = true
      follow().catch(() => {})
    },
    look() {
      if (!isWanted() || isSilent(machine, moment())) ending.abort()
      else this.start()
    },
    stop: () => ending.abort(),
  }
}

type SentHeaders = { request: { path: string }; socket: { unref?: () => void } }

/** The stream's connection must not keep a process alive that has nothing else to do. Node tells of it on this channel. */
async function keepNobodyUp<Value>(open: () => Promise<Value>): Promise<Value> {
  const channel = globalThis.process
    ?.getBuiltinModule?.('node:diagnostics_channel')
    ?.channel('undici:client:sendHeaders')
  const onHeaders = (message: unknown) => {
    const { request, socket } = message as SentHeaders
    if (request.path.includes('/v1/keys/changes')) socket.unref?.()
  }
  channel?.subscribe(onHeaders)
  try {
    return await open()
  } finally {
    channel?.unsubscribe(onHeaders)
  }
}
