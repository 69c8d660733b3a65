import { expect, test } from 'vitest'
import { newLargeBodies } from './large-bodies.ts'

const overloaded = expect.objectContaining({ code: 'overloaded' })

/** Room for ten bytes, of which four are fair. */
function newBodies() {
  let ms = 0
  const bodies = newLargeBodies(10, 4, () => ms)
  const cut: string[] = []
  const hold = (name: string, bytes: number, tenant = name, received = 0) =>
    bodies.hold(bytes, tenant, { cutOff: () => cut.push(name), received: () => received })
  return { hold, cut, wait: (by: number) => (ms += by) }
}

test('large bodies share a number of bytes; the oldest that is still arriving makes room, and nothing else does', () => {
  const { hold, cut } = newBodies()
  const first = hold('first', 4)
  const second = hold('second', 4)
  hold('third', 2)
  first.arrived()
  const fourth = hold('fourth', 2)
  expect(cut).toEqual(['second'])
  // What was cut off has given its bytes back once.
  second.release()
  hold('fifth', 2)
  expect(cut).toEqual(['second'])
  fourth.arrived()
  expect(() => hold('sixth', 5)).toThrow(overloaded)
  hold('sixth', 2)
  expect(cut).toEqual(['second', 'third'])
  first.release()
  first.release()
  hold('seventh', 4)
  expect(() => hold('eighth', 11)).toThrow(overloaded)
})

test('who holds the most makes room for others, and is refused when they hold less', () => {
  const { hold, cut } = newBodies()
  hold('one', 1)
  hold('two', 2)
  const more = ['more 1', 'more 2', 'more 3'].map((name) => hold(name, 2, 'more'))
  hold('three', 2)
  expect(cut).toEqual(['more 1'])
  for (const body of more) body.arrived()
  // One of those that have arrived is not cut off, and those who hold less make no room.
  expect(() => hold('more 4', 2, 'more')).toThrow(overloaded)
  expect(cut).toEqual(['more 1'])
})

test('when nobody holds more than is fair, the slowest makes room, though the newcomer is larger', () => {
  const { hold, cut, wait } = newBodies()
  hold('fast', 3, 'fast', 3_000)
  hold('stalled', 2, 'stalled', 14)
  hold('slow', 3, 'slow', 300)
  wait(1_000)
  hold('new', 2)
  hold('newer', 4)
  expect(cut).toEqual(['stalled', 'slow'])
  wait(999)
  // Nothing is known of those that have just begun.
  hold('newest', 2)
  expect(cut).toEqual(['stalled', 'slow', 'fast'])
})
