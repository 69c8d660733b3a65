// events.follow: over connections that break, fall silent or are refused.

import type { ServerResponse } from 'node:http'
import { expect, test, vi } from 'vitest'
import { faultyServer, json, lost, problem, type Reply } from '../../../tests/faulty-server.ts'
import { fakeTimersOf } from '../../../tests/timers-of.ts'
import { storekeeper } from './index.ts'
import { readEvents, type ServerSentEvent } from './sse.ts'

const clientOf = (url: string, more: object = {}) => storekeeper({ url, token: 't', storeId: 'store_1', ...more })
const message = (n: number) => `id: evt_${n}\ndata: {"id":"evt_${n}"}\n\n`

/** Writes these chunks, then ends the connection, properly or not; without an end it stays open. */
const stream =
  (chunks: string[], end?: 'end' | 'break'): Reply =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const chunk of chunks) response.write(chunk)
    if (end === 'end') response.end()
    // What was written goes out first.
    if (end === 'break') setTimeout(() => response.socket?.destroy(), 20)
  }

async function take(events: AsyncGenerator<{ id: string }>, count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const { value, done } = await events.next()
    if (done) break
    ids.push((value as { id: string }).id)
  }
  return ids
}

test('a stream that ends, breaks off within an event or is not to be had goes on after the last whole event', async () => {
  const { url, seen } = await faultyServer(
    stream(['retry: 1\n\n', message(1), ':\n\n', message(2), message(3).slice(0, -3)], 'break'),
    lost,
    problem(503, 'unavailable'),
    stream([message(3)], 'end'),
    stream([':\n\n', message(4)]),
  )
  const events = clientOf(url).store().events.follow({ type: 'key.*', after: 'evt_0' })
  expect(await take(events, 4)).toEqual(['evt_1', 'evt_2', 'evt_3', 'evt_4'])
  await events.return()
  expect(seen.map(({ path, headers }) => [path, headers['last-event-id'], headers.accept])).toEqual(
    ['evt_0', 'evt_2', 'evt_2', 'evt_2', 'evt_3'].map((id) => [
      '/v1/user/store/store_1/events/stream?type=key.*',
      id,
      'text/event-stream',
    ]),
  )
})

test('without an event to begin after, it begins after the newest that has its place', async () => {
  const trail = {
    data: [
      { id: 'evt_9', position: null },
      { id: 'evt_8', position: 8 },
    ],
    nextCursor: null,
  }
  const { url, seen } = await faultyServer(json(200, trail), lost, stream(['retry: 1\n\n', message(9)]))
  const events = clientOf(url).store().events.follow()
  expect(await take(events, 1)).toEqual(['evt_9'])
  await events.return()
  expect(seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'evt_8', 'evt_8'])
})

test('it ends by its signal and with its client, and fails when the service says no', async () => {
  const stopping = new AbortController()
  const open = await faultyServer(stream(['retry: 1\n\n', message(1)]))
  const [stopped, closed] = [clientOf(open.url), clientOf(open.url)]
  const first = stopped.store().events.follow({ after: 'evt_0' }, { signal: stopping.signal })
  const second = closed.store().events.follow({ after: 'evt_0' })
  expect([await take(first, 1), await take(second, 1)]).toEqual([['evt_1'], ['evt_1']])
  const [one, other] = [first.next(), second.next()]
  stopping.abort()
  await closed.close()
  expect([await one, await other]).toEqual([
    { done: true, value: undefined },
    { done: true, value: undefined },
  ])
  const refused = await faultyServer(
    stream(['retry: 1\n\n', message(1)], 'end'),
    problem(403, 'insufficient_permission'),
  )
  const events = clientOf(refused.url).store().events.follow({ after: 'evt_0' })
  await expect(take(events, 2)).rejects.toMatchObject({ code: 'insufficient_permission' })
})

test('a connection that is silent for two beats is given up, and never are there two', async () => {
  // Loaded by the first use, which takes real time.
  await import('./events.ts')
  fakeTimersOf('/packages/client/src/')
  let [open, most, opened] = [0, 0, 0]
  /** Connections that are accepted, and on which nothing ever comes. */
  const silent = async (_: unknown, { signal }: RequestInit = {}) => {
    opened += 1
    most = Math.max(most, ++open)
    const body = new ReadableStream({
      start: (controller) =>
        signal?.addEventListener('abort', () => {
          open -= 1
          controller.error(signal.reason)
        }),
    })
    return new Response(body)
  }
  const stopping = new AbortController()
  const sk = clientOf('http://nowhere', { fetch: silent })
  const next = sk.store().events.follow({ after: 'evt_0' }, { signal: stopping.signal }).next()
  await vi.advanceTimersByTimeAsync(29_000)
  expect([opened, open]).toEqual([1, 1])
  await vi.advanceTimersByTimeAsync(3_000)
  expect([opened, open]).toEqual([2, 1])
  await vi.advanceTimersByTimeAsync(3_600_000)
  // Half a minute of silence, then a wait of 15 to 30 seconds.
  expect(opened).toBeGreaterThan(3_600 / 60)
  expect(opened).toBeLessThan(3_600 / 45 + 10)
  stopping.abort()
  expect([await next, most, open]).toEqual([{ done: true, value: undefined }, 1, 0])
  const before = opened
  await vi.advanceTimersByTimeAsync(3_600_000)
  expect([opened, open]).toEqual([before, 0])
})

test('server-sent events are read as the standard says, wherever the bytes are cut', async () => {
  const text =
    ': hello\n\nretry: 1500\nid: 1\ndata: a\ndata:b\r\n\r\nevent: beat\rdata: ä€\r\rdata\n\nid: 2\n\nid\ndata: no id\n\nretry: x\nunknown: y\n\ndata: cut off'
  const expected = [
    { kind: 'retry', ms: 1500 },
    { kind: 'event', event: 'message', id: '1', data: 'a\nb' },
    { kind: 'event', event: 'beat', id: '1', data: 'ä€' },
    { kind: 'event', event: 'message', id: '1', data: '' },
    { kind: 'id', id: '2' },
    { kind: 'event', event: 'message', id: '', data: 'no id' },
  ]
  const bytes = new TextEncoder().encode(text)
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.slice(i * size, (i + 1) * size),
    )
    const frames: ServerSentEvent[] = []
    for await (const frame of readEvents(ReadableStream.from(chunks))) if (frame.kind !== 'beat') frames.push(frame)
    expect(frames, `in pieces of ${size}`).toEqual(expected)
  }
})

test('an event that does not end is given up, however it is written', async () => {
  const MIB = 1024 * 1024
  for (const line of ['x'.repeat(MIB), `data: ${'x'.repeat(MIB)}\n`]) {
    let taken = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        taken += 1
        controller.enqueue(new TextEncoder().encode(line))
      },
    })
    const reading = async () => {
      for await (const { kind } of readEvents(endless)) expect(kind).toBe('beat')
    }
    await expect(reading()).rejects.toThrow('An event does not end.')
    expect(taken).toBeLessThanOrEqual(10)
  }
})
