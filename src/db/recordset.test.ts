import { expect, test } from 'vitest'
import { columnList, recordset } from './recordset.ts'
import { sql } from './sql.ts'

const asked = recordset('asked', { id: 'text', at: 'timestamptz', tags: 'text[]' })

test('rows are one parameter, and their columns are listed once, with their types', () => {
  const rows = [{ id: 'a', at: new Date(0), tags: ['x'] }]
  const { text, values } = sql`select ${1}, id from ${asked(rows)} where id = ${'a'}`
  expect(text).toBe(
    'select $1, id from json_to_recordset($2) as asked(id text, at timestamptz, tags text[]) where id = $3',
  )
  expect(values).toEqual([1, '[{"id":"a","at":"1970-01-01T00:00:00.000Z","tags":["x"]}]', 'a'])
})

test('an absent member is left out', () => {
  expect(asked([{ id: 'a', at: undefined, tags: null }]).values).toEqual(['[{"id":"a","tags":null}]'])
})

test('columns are listed by their names, of a table if one is named', () => {
  expect(columnList(['id', 'at']).text).toBe('id, at')
  expect(columnList(['id', 'at'], 'key').text).toBe('key.id, key.at')
})

test('a statement of lists and rows stays prepared, whatever the rows', () => {
  const list = columnList(['id'])
  const ask = (id: string, n: number) => sql`select ${list} from ${asked([{ id, at: null, tags: null }])} limit ${n}`
  const [first, second] = [ask('a', 1), ask('b', 2)]
  expect(first.name).toEqual(expect.any(String))
  expect(second).toMatchObject({ name: first.name, text: first.text })
  expect(second.values).toEqual(['[{"id":"b","at":null,"tags":null}]', 2])
})

test('another list at the same place is another statement, and is not taken for the first', () => {
  const ask = (names: string[]) => sql`select ${columnList(names)} from stores`
  expect(ask(['id'])).toMatchObject({ text: 'select id from stores', name: expect.any(String) })
  expect(ask(['name']).text).toBe('select name from stores')
  expect(ask(['name']).name).toBeUndefined()
})
