import { expect, test } from 'vitest'
import { suggestWord } from './suggest.ts'

const FIELDS = ['name', 'type', 'permissions', 'metadata', 'expiresAt', 'ip', 'owner']

test.each([
  ['metdata', 'metadata'],
  ['metadatas', 'metadata'],
  ['metadaat', 'metadata'],
  ['Metadata', 'metadata'],
  ['expires_at', 'expiresAt'],
  ['expires-At', 'expiresAt'],
  ['permision', undefined],
  ['permisions', 'permissions'],
  ['id', undefined],
  ['IP', 'ip'],
  ['nam', 'name'],
  ['nope', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('%.20s may stand for %s', (text, meant) => expect(suggestWord(text, FIELDS)).toBe(meant))

test('of several that are equally near none is suggested', () => {
  expect(suggestWord('READS', ['READ', 'READY'])).toBeUndefined()
  expect(suggestWord('ready', ['READ', 'READY'])).toBe('READY')
})
