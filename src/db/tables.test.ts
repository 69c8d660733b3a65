import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { generateTables } from '../../scripts/generate.ts'
import { shop } from '../../tests/shop.ts'
import { sql as statement } from './sql.ts'

test('the row types are those of the catalogue: else run "npm run generate"', async () => {
  const { sql } = await shop()
  const files = await generateTables(sql)
  expect(Object.keys(files)).toEqual(['src/db/tables.gen.ts'])
  for (const [path, text] of Object.entries(files)) expect(readFileSync(path, 'utf8'), path).toBe(text)
})

test('the driver returns each type of column as the row types say', async () => {
  const { service } = await shop()
  const row = await service.db.one(statement`
    select 'a'::text as text, array['a']::text[] as texts, true as bool, 1::int as int4, 9007199254740993::bigint as int8,
           '18446744073709551615'::xid8 as xid8, '\\x00ff'::bytea as bytea,
           '2026-03-29 01:30:00.123+02'::timestamptz as timestamptz, '{"a":[1]}'::json as json, '{"a":[1]}'::jsonb as jsonb`)
  expect(row).toEqual({
    text: 'a',
    texts: ['a'],
    bool: true,
    int4: 1,
    int8: '9007199254740993',
    xid8: '18446744073709551615',
    bytea: Buffer.from([0, 255]),
    timestamptz: new Date('2026-03-28T23:30:00.123Z'),
    json: { a: [1] },
    jsonb: { a: [1] },
  })
})
