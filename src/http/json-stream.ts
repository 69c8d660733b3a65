// Answers with lists of any length. They are written a page at a time, and the next page is read when the one before it
// has been sent: an answer holds about a page in memory, however long it is. A client that reads too slowly is cut off.

import { Readable } from 'node:stream'
import type { TObject, TSchema } from 'typebox'
import { SECOND } from '../core/clock.ts'
import { Failure } from '../core/errors.ts'
import type { Chunks } from '../core/route.ts'
import { type ConcurrencyLimiter, newConcurrencyLimiter } from '../limits/concurrency.ts'

/** Each answer holds a page in memory, of half a megabyte at most. */
const MAX_PER_NODE = 50
const MAX_PER_CALLER = 2
const MAX_PER_ACCOUNT = 6
/** A client must read a chunk within this time. */
const SLOW_MS = 10 * SECOND
/** While all slots are in use, an answer that has waited this long for its client gives its slot to another. */
const EVICTION = { ofMostMs: SECOND, ofAnyMs: 3 * SECOND }

/** `account`: whom it counts for, too. */
type Holder = { callerId: string; account: string }

type Serialize = (schema: TSchema, value: unknown) => string

/** The body as JSON: a chunk for each page of a list, with the members before the list in its first chunk. */
export async function* jsonChunks(schema: TObject, body: Record<string, unknown>, serialize: Serialize): Chunks {
  let text = '{'
  for (const [n, [name, member]] of Object.entries(schema.properties).entries()) {
    text += `${n > 0 ? ',' : ''}${JSON.stringify(name)}:`
    const value = body[name]
    if (!isPaged(value)) {
      text += serialize(member, value)
      continue
    }
    const { items } = member as TSchema & { items: TSchema }
    let separator = '['
    for await (const page of value) {
      if (page.length === 0) continue
      yield text + separator + page.map((item) => serialize(items, item)).join(',')
      text = ''
      separator = ','
    }
    text += separator === '[' ? '[]' : ']'
  }
  yield `${text}}`
}

function isPaged(value: unknown): value is AsyncIterable<unknown[]> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

export function newLongAnswers(clock?: () => number): ConcurrencyLimiter {
  return newConcurrencyLimiter(MAX_PER_NODE, EVICTION, clock)
}

/** Waits for the first chunk. The answer holds its slot until `rest` ends or its `return()` is called. */
export async function start(
  limiter: ConcurrencyLimiter,
  holder: Holder,
  chunks: Chunks,
): Promise<{ first: string; rest: Chunks }> {
  const rest = withSlot(limiter, holder, chunks)
  const { value } = await rest.next()
  return { first: value ?? '', rest }
}

const FULL = `You are being sent ${MAX_PER_CALLER} long answers already. Let one of them end first.`
const ACCOUNT_FULL = `The keys of your account are being sent ${MAX_PER_ACCOUNT} long answers already. Let one of them end first.`

async function* withSlot(limiter: ConcurrencyLimiter, { callerId, account }: Holder, chunks: Chunks): Chunks {
  let evicted = false
  const slot = limiter.acquire({
    holders: [
      { id: callerId, max: MAX_PER_CALLER, full: FULL },
      ...(account === callerId ? [] : [{ id: `keys of ${account}`, max: MAX_PER_ACCOUNT, full: ACCOUNT_FULL }]),
    ],
    account,
    onEvicted: () => void (evicted = true),
  })
  try {
    for await (const chunk of chunks) {
      slot.waiting(true)
      yield chunk
      slot.waiting(false)
      if (evicted) throw new Failure('overloaded')
    }
  } finally {
    slot.release()
  }
}

/** Asks for the next chunk when the one before it was read. */
export function toReadable(first: string, rest: Chunks, slowMs = SLOW_MS): Readable {
  let slow: NodeJS.Timeout | undefined
  const push = (chunk: string) => {
    slow = setTimeout(() => stream.destroy(new Failure('request_timeout')), slowMs)
    stream.push(chunk)
  }
  const stream = new Readable({
    read() {
      clearTimeout(slow)
      rest.next().then(
        ({ value, done }) => (done ? stream.push(null) : push(value)),
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
  push(first)
  return stream
}
