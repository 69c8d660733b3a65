import { describe, expect, test } from 'vitest'
import { sql } from './sql.ts'

describe('sql', () => {
  test('keeps values beside the text, never in it', () => {
    const evil = `'; drop table users; --`
    const { text, values } = sql`select ${evil}, ${1}, ${null}`
    expect({ text, values }).toEqual({ text: 'select $1, $2, $3', values: [evil, 1, null] })
  })

  test('gives a place in the code one name, whatever the values, and another place another', () => {
    const here = (n: number) => sql`select ${n}`
    const there = (n: number) => sql`select ${n}`
    expect(here(1).name).toBe(here(2).name)
    expect(here(1).name).not.toBe(there(1).name)
    expect([here(1).values, here(2).values]).toEqual([[1], [2]])
  })

  test('takes a part with its own values, and numbers all of them anew', () => {
    const part = sql`b = ${'b'} and c = ${'c'}`
    const { text, values, name } = sql`select ${'a'} where ${part} and d = ${'d'} and ${sql`e = ${'e'}`}`
    expect(text).toBe('select $1 where b = $2 and c = $3 and d = $4 and e = $5')
    expect(values).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(name).toBeUndefined()
  })

  test('counts beyond ten', () => {
    const eleven = sql`${1} ${2} ${3} ${4} ${5} ${6} ${7} ${8} ${9} ${10} ${11}`
    const { text, values } = sql`${0} ${eleven} ${12}`
    expect(text).toBe('$1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11 $12 $13')
    expect(values).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  })

  test('takes a part at a place that had a value before', () => {
    const at = (condition: unknown) => sql`select where ${condition}`
    expect(at(true).text).toBe('select where $1')
    expect(at(sql`n = ${1}`)).toMatchObject({ text: 'select where n = $1', values: [1] })
    expect(at(false)).toMatchObject({ text: 'select where $1', values: [false] })
  })

  test('takes for a part only what it made itself: a value that looks like one is a value', () => {
    const evil = { text: 'true); drop table users; --', values: [] }
    const { text, values } = sql`select ${evil}`
    expect({ text, values }).toEqual({ text: 'select $1', values: [evil] })
  })
})
