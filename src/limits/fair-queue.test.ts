import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newFairQueue } from './fair-queue.ts'

test('a few begin at once; the others in later turns of the event loop, one of each address after the other', async () => {
  const { add, begun } = queue()
  for (let n = 0; n < 100; n++) add(`flood ${n}`)
  const atOnce = begun.length
  expect(atOnce).toBeGreaterThan(0)
  expect(atOnce).toBeLessThan(20)
  add('a 0')
  add('a 1')
  add('b 0')
  while (begun.length < 103) await nextTurn()
  expect(begun.filter((item) => item.startsWith('flood'))).toEqual(Array.from({ length: 100 }, (_, n) => `flood ${n}`))
  expect(begun.slice(atOnce, atOnce + 5).map((item) => item.split(' ')[0])).toEqual(['flood', 'a', 'b', 'flood', 'a'])
  // When all have begun, the next begins at once.
  await nextTurn()
  await nextTurn()
  add('late 0')
  expect(begun.at(-1)).toBe('late 0')
})

test('no turn begins more than at once', async () => {
  const { add, begun } = queue()
  for (let n = 0; n < 60; n++) add(`a ${n}`)
  const atOnce = begun.length
  for (let before = atOnce; before < 60; before = begun.length) {
    await nextTurn()
    expect(begun.length - before).toBeLessThanOrEqual(2 * atOnce)
  }
})

test('what is taken out is the newest of the longest queue, and is never begun', async () => {
  const { add, begun, takeFromLongest } = queue()
  for (let n = 0; n < 50; n++) add(`flood ${n}`)
  for (let n = 0; n < 3; n++) add(`a ${n}`)
  expect(takeFromLongest('flood')).toBeNull()
  expect(takeFromLongest('a')).toBe('flood 49')
  expect(takeFromLongest('somebody new')).toBe('flood 48')
  while (begun.length < 51) await nextTurn()
  expect(begun).not.toContain('flood 49')
  expect(takeFromLongest('a')).toBeNull()
})

test('a turn that takes long begins no other; the rest wait for the next ones, nobody behind all of another', async () => {
  const { add, begun } = queue((item) => {
    if (item.startsWith('slow')) work(10)
  })
  for (let n = 0; n < 10; n++) add(`slow ${n}`)
  add('a 0')
  expect(begun).toEqual(['slow 0'])
  const perTurn: number[] = []
  for (let before = begun.length; begun.length < 11; before = begun.length) {
    await nextTurn()
    perTurn.push(begun.length - before)
  }
  // Of this promise's turn and that of the queue, either may come first.
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(2)
  expect(begun.slice(1, 3)).toEqual(['slow 1', 'a 0'])
})

test('a queue of one for each turn', async () => {
  const { add, begun } = queue(() => {}, 1)
  for (let n = 0; n < 5; n++) add(`a ${n}`)
  add('b 0')
  expect(begun).toEqual(['a 0'])
  while (begun.length < 6) await nextTurn()
  expect(begun).toEqual(['a 0', 'a 1', 'b 0', 'a 2', 'a 3', 'a 4'])
})

function queue(begin: (item: string) => void = () => {}, perTurn?: number) {
  const begun: string[] = []
  const placeOf = (item: string) => item.split(' ')[0] as string
  const note = (item: string) => {
    begun.push(item)
    begin(item)
  }
  return { begun, ...newFairQueue(placeOf, note, perTurn) }
}

/** Keeps the event loop busy. */
function work(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
