import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { newEventStreams, type OpenStream, pipeEvents } from './event-stream.ts'

const PIECE_BYTES = 64 * 1024
const SEATS = { ofNode: 100, ofCaller: 100, ofStore: 100 }

/** A response whose client reads when the test says so. */
class UnreadResponse extends EventEmitter {
  readonly written: Buffer[] = []
  destroyed = false
  isFull = true

  write(piece: string | Buffer): boolean {
    this.written.push(Buffer.from(piece))
    return !this.isFull
  }

  end(): void {
    this.emit('close')
  }

  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }

  text(): string {
    return Buffer.concat(this.written).toString()
  }
}

function pipe(stream: OpenStream, text: string) {
  const response = new UnreadResponse()
  async function* once() {
    yield text
  }
  return { response, over: pipeEvents(response as EventEmitter as ServerResponse, once, stream) }
}

test('a page is handed on in pieces, no faster than it is read, and arrives as it is', async () => {
  const streams = newEventStreams(undefined, SEATS)
  const page = '🛒ä'.repeat(100_000)
  const { response, over } = pipe(streams.admit({ callerId: 'ada', store: null }), page)
  const pieces = Math.ceil(Buffer.byteLength(page) / PIECE_BYTES)
  for (let n = 1; n <= pieces; n++) {
    await new Promise(setImmediate)
    expect(response.written).toHaveLength(n)
    response.emit('drain')
  }
  await over
  expect(response.text()).toBe(page)
})

test('of pages that nobody reads, the account that holds the most loses the one that has waited the longest', async () => {
  const page = 'x'.repeat(100_000)
  const streams = newEventStreams(undefined, SEATS, 10 * 5 * page.length)
  const open = (account: string) => {
    const stream = streams.admit({ callerId: 'caller', store: { id: `store_${account}`, account } })
    return { stream, ...pipe(stream, page) }
  }
  const bob = open('bob')
  const ada = Array.from({ length: 9 }, () => open('ada'))
  await new Promise(setImmediate)
  const isOpen = ({ stream }: { stream: OpenStream }) => !stream.closing.signal.aborted
  expect([bob, ...ada].map(isOpen)).toEqual(Array(10).fill(true))
  const carl = open('carl')
  await ada[0]?.over
  expect([bob, carl, ...ada].map(isOpen)).toEqual([true, true, false, ...Array(8).fill(true)])
  expect(streams.open()).toBe(10)
  // What has been read counts no more.
  for (const { response } of ada) {
    response.isFull = false
    response.emit('drain')
  }
  await Promise.all(ada.map(({ over }) => over))
  const more = Array.from({ length: 8 }, () => open('carl'))
  await new Promise(setImmediate)
  expect([bob, carl, ...more].every(isOpen)).toBe(true)
  streams.close()
  await Promise.all([bob, carl, ...more].map(({ over }) => over))
})
