import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Chunks } from '../core/route.ts'
import { Type } from '../schema/type.ts'
import { jsonChunks, newLongAnswers, start, toReadable } from './json-stream.ts'
import { serialize } from './response.ts'

const List = Type.Array(Type.Object({ n: Type.Integer() }, { additionalProperties: false }))
const Body = Type.Object({ at: Type.String(), none: List, some: List, more: List, last: Type.String() })

async function* pages(...all: object[][]): AsyncGenerator<object[]> {
  yield* all
}

function bodyOf(some: AsyncGenerator<object[]>) {
  return { at: 'now', none: pages(), some, more: pages([], [{ n: 4 }]), last: '"' }
}

test('the pieces make the body that the schema would write, and nothing that it does not list', async () => {
  const some = pages([{ n: 1, secret: 'x' }, { n: 2 }], [], [{ n: 3 }])
  const { first, rest } = await start(newLongAnswers(), 'a', jsonChunks(Body, bodyOf(some), serialize))
  expect(first).toBe('{"at":"now","none":[],"some":[{"n":1},{"n":2}')
  expect(JSON.parse(await text(toReadable(first, rest)))).toEqual({
    at: 'now',
    none: [],
    some: [{ n: 1 }, { n: 2 }, { n: 3 }],
    more: [{ n: 4 }],
    last: '"',
  })
})

test('a page is read when there is room for it, not before', async () => {
  let read = 0
  async function* endless(): Chunks {
    for (;;) yield `${++read}`.padEnd(100_000)
  }
  const { first, rest } = await start(newLongAnswers(), 'b', endless())
  const stream = toReadable(first, rest)
  for (let n = 0; n < 20; n++) await turn()
  expect(read).toBe(1)
  stream.read()
  for (let n = 0; n < 20; n++) await turn()
  expect(read).toBe(2)
  stream.destroy()
})

test('whoever does not take it is cut off, and counts no more', async () => {
  let ended = 0
  async function* endless(): Chunks {
    try {
      for (;;) yield 'x'.repeat(100_000)
    } finally {
      ended += 1
    }
  }
  const limiter = newLongAnswers()
  for (let n = 1; n <= 3; n++) {
    const { first, rest } = await start(limiter, 'c', endless())
    const [error] = await once(toReadable(first, rest, 5), 'error')
    expect([error.code, ended]).toEqual(['request_timeout', n])
  }
})

test('so many for one caller, so many on a node; one whose first page fails is none', async () => {
  async function* endless(): Chunks {
    for (;;) yield 'x'
  }
  async function* broken(): Chunks {
    throw new Error('no page')
  }
  const limiter = newLongAnswers()
  for (let n = 0; n < 3; n++) await expect(start(limiter, 'd', broken())).rejects.toThrow('no page')
  const open = [await start(limiter, 'd', endless()), await start(limiter, 'd', endless())]
  await expect(start(limiter, 'd', endless())).rejects.toMatchObject({ code: 'rate_limited' })
  for (let n = 0; n < 48; n++) open.push(await start(limiter, `e${n}`, endless()))
  await expect(start(limiter, 'f', endless())).rejects.toMatchObject({ code: 'overloaded' })
  for (const { rest } of open) await rest.return()
  const { rest } = await start(limiter, 'd', endless())
  await rest.return()
})

test('slow readers keep nobody else from theirs: on a full node the slowest is cut off', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  async function* endless(): Chunks {
    for (;;) yield 'x'
  }
  const limiter = newLongAnswers()
  const open = []
  for (let n = 0; n < 50; n++) open.push(await start(limiter, `g${n}`, endless()))
  const [slowest, ...others] = open
  vi.advanceTimersByTime(6_000)
  for (const { rest } of others) await rest.next()
  await expect(start(limiter, 'h', endless())).rejects.toMatchObject({ code: 'overloaded' })
  vi.advanceTimersByTime(5_000)
  for (const { rest } of others) await rest.next()
  const late = await start(limiter, 'h', endless())
  expect(limiter.inUse()).toBe(50)
  await expect(slowest?.rest.next()).rejects.toMatchObject({ code: 'overloaded' })
  expect((await others[0]?.rest.next())?.done).toBe(false)
  for (const { rest } of [...open, late]) await rest.return()
  expect(limiter.inUse()).toBe(0)
})
