// Answers with lists of any length. They are written a page at a time, and the next page is read when the one before it
// has been taken: an answer holds about a page in memory, however long it is. Whoever does not take it is cut off.

import { Readable } from 'node:stream'
import type { TObject, TSchema } from 'typebox'
import { SECOND } from '../core/clock.ts'
import { Failure } from '../core/errors.ts'
import type { Chunks } from '../core/route.ts'
import { type ConcurrencyLimiter, newConcurrencyLimiter } from '../limits/concurrency.ts'

/** Each holds a page, of half a megabyte at most. */
const MAX_PER_NODE = 50
const MAX_PER_CALLER = 2
/** What was written must be taken within so long. */
const SLOW_MS = 10 * SECOND

type Write = (schema: TSchema, value: unknown) => string

/** The body as JSON: what is a list of pages piece by piece, the rest with what follows it. */
export async function* jsonChunks(schema: TObject, body: Record<string, unknown>, write: Write): Chunks {
  let text = '{'
  for (const [n, [name, member]] of Object.entries(schema.properties).entries()) {
    text += `${n > 0 ? ',' : ''}${JSON.stringify(name)}:`
    const value = body[name]
    if (!isPaged(value)) {
      text += write(member, value)
      continue
    }
    const { items } = member as TSchema & { items: TSchema }
    let sign = '['
    for await (const page of value) {
      if (page.length === 0) continue
      yield text + sign + page.map((item) => write(items, item)).join(',')
      text = ''
      sign = ','
    }
    text += sign === '[' ? '[]' : ']'
  }
  yield `${text}}`
}

function isPaged(value: unknown): value is AsyncIterable<unknown[]> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

export function newLongAnswers(): ConcurrencyLimiter {
  const full = `You are being sent ${MAX_PER_CALLER} long answers already. Let one of them end first.`
  return newConcurrencyLimiter(MAX_PER_NODE, MAX_PER_CALLER, full)
}

/** Waits for the first piece. From then on it is counted until it ends or is told to return. */
export async function start(
  limiter: ConcurrencyLimiter,
  callerId: string,
  pieces: Chunks,
): Promise<{ first: string; rest: Chunks }> {
  const rest = withSlot(limiter, callerId, pieces)
  const { value } = await rest.next()
  return { first: value ?? '', rest }
}

async function* withSlot(limiter: ConcurrencyLimiter, callerId: string, pieces: Chunks): Chunks {
  const release = limiter.acquire(callerId)
  try {
    yield* pieces
  } finally {
    release()
  }
}

/** One piece is asked for after the other, as they are taken. */
export function toReadable(first: string, rest: Chunks, slowMs = SLOW_MS): Readable {
  let slow: NodeJS.Timeout | undefined
  const give = (piece: string) => {
    slow = setTimeout(() => stream.destroy(new Failure('request_timeout')), slowMs)
    stream.push(piece)
  }
  const stream = new Readable({
    read() {
      clearTimeout(slow)
      rest.next().then(
        ({ value, done }) => (done ? stream.push(null) : give(value)),
        (error) => stream.destroy(error),
      )
    },
    destroy(error, done) {
      clearTimeout(slow)
      rest.return().then(
        () => done(error),
        () => done(error),
      )
    },
  })
  give(first)
  return stream
}
