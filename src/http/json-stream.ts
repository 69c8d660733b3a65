// Answers with lists of any length. They are written a page at a time, and the next page is read when the one before it
// has been sent: an answer holds about a page in memory, however long it is. A client that reads too slowly is cut off.

import { Readable } from 'node:stream'
import type { TObject, TSchema } from 'typebox'
import { MINUTE, SECOND } from '../core/clock.ts'
import { Failure } from '../core/errors.ts'
import type { Chunks } from '../core/route.ts'
import { type ConcurrencyLimiter, newConcurrencyLimiter } from '../limits/concurrency.ts'
import { type FairSemaphore, newFairSemaphore } from '../limits/fair-semaphore.ts'

/** Each answer holds a page in memory, of half a megabyte at most. */
const MAX_PER_NODE = 50
const MAX_PER_CALLER = 2
const MAX_PER_ACCOUNT = 6
/** Of these, so many pages are read and serialized at a time. */
const PAGES_AT_ONCE = 2
/** So many more wait for their turn to begin, and for so long. */
const WAITING = { waiting: 20, waitMs: 10 * SECOND }
/** A client must read a chunk within this time. */
const SLOW_MS = 10 * SECOND
/** While others wait for their turn, an answer that has waited this long for its client, in all, ends. */
const PATIENCE_MS = 3 * SECOND

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

export type LongAnswers = {
  /** Of callers and accounts. */
  holders: ConcurrencyLimiter
  /** Of the node. */
  answers: FairSemaphore
  pages: FairSemaphore
  patienceMs: number
}

export function newLongAnswers(patienceMs = PATIENCE_MS): LongAnswers {
  return {
    holders: newConcurrencyLimiter(Number.POSITIVE_INFINITY),
    answers: newFairSemaphore({ inside: MAX_PER_NODE, ...WAITING }),
    pages: newFairSemaphore({ inside: PAGES_AT_ONCE, waiting: MAX_PER_NODE, waitMs: MINUTE }),
    patienceMs,
  }
}

/** Waits for the first chunk. The answer takes its place until `rest` ends or its `return()` is called. */
export async function start(
  longAnswers: LongAnswers,
  holder: Holder,
  chunks: Chunks,
): Promise<{ first: string; rest: Chunks }> {
  const rest = inTurn(longAnswers, holder, chunks)
  const { value } = await rest.next()
  return { first: value ?? '', rest }
}

const FULL = `You are being sent ${MAX_PER_CALLER} long answers already. Let one of them end first.`
const ACCOUNT_FULL = `The keys of your account are being sent ${MAX_PER_ACCOUNT} long answers already. Let one of them end first.`

/** Accounts take turns, to begin an answer and to read the next page of one. */
async function* inTurn({ holders, answers, pages, patienceMs }: LongAnswers, holder: Holder, chunks: Chunks): Chunks {
  const { callerId, account } = holder
  const slot = holders.acquire({
    holders: [
      { id: callerId, max: MAX_PER_CALLER, full: FULL },
      ...(account === callerId ? [] : [{ id: `keys of ${account}`, max: MAX_PER_ACCOUNT, full: ACCOUNT_FULL }]),
    ],
    account: null,
  })
  let leave = () => {}
  let isOver = false
  const patience = newPatience(patienceMs, () => {
    if (answers.waiting() === 0) return
    isOver = true
    leave()
  })
  try {
    leave = await answers.enter(account)
    for (;;) {
      const endPage = await pages.enter(account)
      const { value, done } = await chunks.next().finally(endPage)
      if (done) return
      patience.start()
      yield value
      patience.stop()
      if (isOver) throw new Failure('overloaded')
    }
  } finally {
    patience.stop()
    leave()
    slot.release()
    await chunks.return()
  }
}

/** Calls `onEnd` when the waits have taken so long in all, and then every second of them. */
function newPatience(ms: number, onEnd: () => void): { start(): void; stop(): void } {
  let left = ms
  let since = 0
  let timer: NodeJS.Timeout | undefined
  const run = (afterMs: number) => {
    timer = setTimeout(() => {
      onEnd()
      run(SECOND)
    }, afterMs)
  }
  return {
    start() {
      since = performance.now()
      run(left)
    },
    stop() {
      if (timer === undefined) return
      clearTimeout(timer)
      timer = undefined
      left = Math.max(0, left - (performance.now() - since))
    },
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
