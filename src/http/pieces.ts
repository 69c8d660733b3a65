// Answers with lists of any length. They are written a page at a time, and the next page is read when the one before it
// has been taken: an answer holds about a page in memory, however long it is. Whoever does not take it is cut off.

import { Readable } from 'node:stream'
import type { TObject, TSchema } from 'typebox'
import { SECOND } from '../clock.ts'
import { Failure } from '../errors.ts'
import type { Pieces } from '../route.ts'
import { newSeats, type Seats } from './seats.ts'

/** Each holds a page, of half a megabyte at most. */
const MOST_ON_A_NODE = 50
const MOST_OF_ONE = 2
/** What was written must be taken within so long. */
const SLOW_MS = 10 * SECOND

type Write = (schema: TSchema, value: unknown) => string

/** The body as JSON: what is a list of pages piece by piece, the rest with what follows it. */
export async function* piecesOf(schema: TObject, body: Record<string, unknown>, write: Write): Pieces {
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

export function newLongAnswers(): Seats {
  const full = `You are being sent ${MOST_OF_ONE} long answers already. Let one of them end first.`
  return newSeats(MOST_ON_A_NODE, MOST_OF_ONE, full)
}

/** Waits for the first piece. From then on it is counted until it ends or is told to return. */
export async function begin(seats: Seats, callerId: string, pieces: Pieces): Promise<{ first: string; rest: Pieces }> {
  const rest = seated(seats, callerId, pieces)
  const { value } = await rest.next()
  return { first: value ?? '', rest }
}

async function* seated(seats: Seats, callerId: string, pieces: Pieces): Pieces {
  const leave = seats.take(callerId)
  try {
    yield* pieces
  } finally {
    leave()
  }
}

/** One piece is asked for after the other, as they are taken. */
export function asStream(first: string, rest: Pieces, slowMs = SLOW_MS): Readable {
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
