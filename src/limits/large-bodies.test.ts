import { expect, test } from 'vitest'
import { newLargeBodies } from './large-bodies.ts'

test('large bodies share a number of bytes; the oldest that is still arriving makes room, and nothing else does', () => {
  const bodies = newLargeBodies(10)
  const cut: string[] = []
  const hold = (name: string, bytes: number) => bodies.hold(bytes, () => cut.push(name))
  const first = hold('first', 4)
  const second = hold('second', 4)
  hold('third', 2)
  first.arrived()
  const fourth = hold('fourth', 3)
  expect(cut).toEqual(['second'])
  // What was cut off has given its bytes back once.
  second.release()
  hold('fifth', 1)
  expect(cut).toEqual(['second'])
  fourth.arrived()
  expect(() => hold('sixth', 7)).toThrow(expect.objectContaining({ code: 'overloaded' }))
  expect(cut).toEqual(['second', 'third', 'fifth'])
  first.release()
  first.release()
  hold('seventh', 7)
  expect(() => hold('eighth', 11)).toThrow(expect.objectContaining({ code: 'overloaded' }))
})
