import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
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

const by = (callerId: string, account = callerId) => ({ callerId, account })

test('the pieces make the body that the schema would write, and nothing that it does not list', async () => {
  const some = pages([{ n: 1, secret: 'x' }, { n: 2 }], [], [{ n: 3 }])
  const { first, rest } = await start(newLongAnswers(), by('a'), jsonChunks(Body, bodyOf(some), serialize))
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
  const { first, rest } = await start(newLongAnswers(), by('b'), endless())
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
    const { first, rest } = await start(limiter, by('c'), endless())
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
  for (let n = 0; n < 3; n++) await expect(start(limiter, by('d'), broken())).rejects.toThrow('no page')
  const open = [await start(limiter, by('d'), endless()), await start(limiter, by('d'), endless())]
  await expect(start(limiter, by('d'), endless())).rejects.toMatchObject({ code: 'rate_limited' })
  for (let n = 0; n < 48; n++) open.push(await start(limiter, by(`e${n}`), endless()))
  // One more waits until another has ended.
  const late = start(limiter, by('f'), endless())
  expect(await Promise.race([late, turn('waits')])).toBe('waits')
  await open[0]?.rest.return()
  open.push(await late)
  for (const { rest } of open) await rest.return()
  const { rest } = await start(limiter, by('d'), endless())
  await rest.return()
})

test('slow readers keep nobody else from theirs: on a full node one of them is cut off', async () => {
  async function* endless(): Chunks {
    for (;;) yield 'x'
  }
  const limiter = newLongAnswers(20)
  const open = []
  for (let n = 0; n < 50; n++) open.push(await start(limiter, by(`g${n}`), endless()))
  const late = await start(limiter, by('h'), endless())
  const next = await Promise.allSettled(open.map(({ rest }) => rest.next()))
  const cutOff = next.flatMap((one) => (one.status === 'rejected' ? one.reason.code : []))
  expect(cutOff).toEqual(['overloaded'])
  for (const { rest } of [...open, late]) await rest.return()
  expect(limiter.holders.inUse()).toBe(0)
})

test('the keys of an account are sent a few at a time, beside what its owner is sent', async () => {
  async function* endless(): Chunks {
    for (;;) yield 'x'
  }
  const limiter = newLongAnswers()
  const open = []
  for (let n = 0; n < 6; n++) open.push(await start(limiter, by(`key_${n}`, 'ada'), endless()))
  await expect(start(limiter, by('key_6', 'ada'), endless())).rejects.toMatchObject({ code: 'rate_limited' })
  open.push(await start(limiter, by('ada'), endless()))
  open.push(await start(limiter, by('key_of_bob', 'bob'), endless()))
  for (const { rest } of open) await rest.return()
  expect(limiter.holders.inUse()).toBe(0)
})
