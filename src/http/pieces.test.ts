import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Pieces } from '../route.ts'
import { Type } from '../type.ts'
import { asStream, begin, newLongAnswers, piecesOf } from './pieces.ts'
import { write } from './walk.ts'

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
  const { first, rest } = await begin(newLongAnswers(), 'a', piecesOf(Body, bodyOf(some), write))
  expect(first).toBe('{"at":"now","none":[],"some":[{"n":1},{"n":2}')
  expect(JSON.parse(await text(asStream(first, rest)))).toEqual({
    at: 'now',
    none: [],
    some: [{ n: 1 }, { n: 2 }, { n: 3 }],
    more: [{ n: 4 }],
    last: '"',
  })
})

test('a page is read when there is room for it, not before', async () => {
  let read = 0
  async function* endless(): Pieces {
    for (;;) yield `${++read}`.padEnd(100_000)
  }
  const { first, rest } = await begin(newLongAnswers(), 'b', endless())
  const stream = asStream(first, rest)
  for (let n = 0; n < 20; n++) await turn()
  expect(read).toBe(1)
  stream.read()
  for (let n = 0; n < 20; n++) await turn()
  expect(read).toBe(2)
  stream.destroy()
})

test('whoever does not take it is cut off, and counts no more', async () => {
  let ended = 0
  async function* endless(): Pieces {
    try {
      for (;;) yield 'x'.repeat(100_000)
    } finally {
      ended += 1
    }
  }
  const seats = newLongAnswers()
  for (let n = 1; n <= 3; n++) {
    const { first, rest } = await begin(seats, 'c', endless())
    const [error] = await once(asStream(first, rest, 5), 'error')
    expect([error.code, ended]).toEqual(['request_timeout', n])
  }
})

test('so many for one caller, so many on a node; one whose first page fails is none', async () => {
  async function* endless(): Pieces {
    for (;;) yield 'x'
  }
  async function* broken(): Pieces {
    throw new Error('no page')
  }
  const seats = newLongAnswers()
  for (let n = 0; n < 3; n++) await expect(begin(seats, 'd', broken())).rejects.toThrow('no page')
  const open = [await begin(seats, 'd', endless()), await begin(seats, 'd', endless())]
  await expect(begin(seats, 'd', endless())).rejects.toMatchObject({ code: 'rate_limited' })
  for (let n = 0; n < 48; n++) open.push(await begin(seats, `e${n}`, endless()))
  await expect(begin(seats, 'f', endless())).rejects.toMatchObject({ code: 'overloaded' })
  for (const { rest } of open) await rest.return()
  const { rest } = await begin(seats, 'd', endless())
  await rest.return()
})
