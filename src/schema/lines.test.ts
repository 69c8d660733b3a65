import { expect, test } from 'vitest'
import { leastCpuTime } from '../../tests/cpu-time.ts'
import { MAX_FAULTS } from '../core/errors.ts'
import { Line } from './fields.ts'
import { checkLine } from './lines.ts'
import { Type } from './type.ts'
import { validate } from './validate.ts'

const closed = { additionalProperties: false }
const List = Type.Object({ list: Type.Array(Type.Object({ name: Line(1, 100) }, closed)) }, closed)

/** So many entries, with members that are not known. */
const list = (count: number, unknown: number, name: string) => ({
  list: Array.from({ length: count }, () => ({
    name,
    ...Object.fromEntries(Array.from({ length: unknown }, (_, n) => [`k${n}`, 1])),
  })),
})

test('a line with very many members is not validated', () => {
  const tooMany = {
    faults: [{ pointer: '#', code: 'too_long', detail: 'This has far too many fields.' }],
    isComplete: false,
  }
  expect(checkLine(List, list(1_000, 9, 'x'))).toEqual(tooMany)
  expect(checkLine(List, [[Array(10_000).fill(0)]])).toEqual(tooMany)
})

test('with very many faults only the first are told, and the rest is not checked', () => {
  const { faults, isComplete } = checkLine(List, list(900, 9, 'x'))
  expect([faults.length, isComplete]).toEqual([MAX_FAULTS, false])
  expect(faults[0]).toMatchObject({ pointer: '#/list/0/k0', code: 'unknown_member' })
  expect(checkLine(List, list(9, 9, 'x'))).toMatchObject({ isComplete: true })
})

test('a fault of a text costs no more the more faults there are before it', () => {
  const timeOf = (name: string) => {
    // What is validated is not changed: the text is in its normal form.
    const body = list(1_000, 50, name)
    return leastCpuTime(8, () => expect(() => validate(List, body)).toThrow('invalid_input'))
  }
  // Both once before: code that has just been loaded takes longer.
  for (const name of ['x', '\u202ex']) timeOf(name)
  // Some 1.3 times, more while code is not compiled yet; 90 times and more if each were copied with those before it.
  expect(timeOf('\u202ex')).toBeLessThan(30 * timeOf('x'))
})

test('a list in the place of an object costs next to nothing, however long it is', () => {
  const text = `[${Array(500_000).fill(1).join(',')}]`
  const numbers = JSON.parse(text)
  const parsing = leastCpuTime(3, () => JSON.parse(text))
  expect(leastCpuTime(3, () => expect(() => validate(List, numbers)).toThrow('invalid_input'))).toBeLessThan(parsing)
  expect(leastCpuTime(3, () => expect(checkLine(List, numbers).isComplete).toBe(false))).toBeLessThan(parsing)
})
