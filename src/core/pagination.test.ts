import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Keyring, ServerKeys } from '../crypto/keyring.ts'
import { Failure } from './errors.ts'
import { type Page, type PageParams, pageWindow, toPage } from './pagination.ts'

const keys = (n: number) => new ServerKeys(Buffer.alloc(32, n))
const keyring: Keyring = { current: keys(1), previous: null }

/** A list of rows, read as a domain function reads it: newest first, one more than the page. */
function read(rows: string[], list: (string | undefined)[], query: PageParams, ring = keyring): Page<string> {
  const window = pageWindow(ring, list, query)
  const found = rows.filter((row) => row < window.after).slice(0, window.limit + 1)
  return toPage(
    ring,
    list,
    window,
    found,
    (row) => row,
    (row) => row,
  )
}

/** A row is known by its id: letters, digits and underscores. */
const someRows = fc.uniqueArray(fc.stringMatching(/^[a-z]+_[0-9a-z]+$/), { minLength: 1, maxLength: 50 })
const sorted = someRows.map((rows) => rows.sort().reverse())
const aList = fc.array(fc.option(fc.string(), { nil: undefined }), { minLength: 1, maxLength: 4 })

test('page after page, every row comes once and in order', () => {
  fc.assert(
    fc.property(sorted, fc.integer({ min: 1, max: 10 }), aList, (rows, limit, list) => {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const page: Page<string> = read(rows, list, { limit, ...(cursor === null ? {} : { cursor }) })
        expect(page.data.length).toBeLessThanOrEqual(limit)
        seen.push(...page.data)
        cursor = page.nextCursor
      } while (cursor !== null)
      expect(seen).toEqual(rows)
    }),
  )
})

test('a page holds 20 when nobody says otherwise, and the last one has no cursor', () => {
  const rows = Array.from({ length: 21 }, (_, i) => `key_${String.fromCharCode(122 - i)}`)
  expect(read(rows, ['keys'], {}).data).toEqual(rows.slice(0, 20))
  expect(read(rows.slice(0, 20), ['keys'], {}).nextCursor).toBe(null)
  expect(read([], ['keys'], {})).toEqual({ data: [], nextCursor: null })
})

const cursorOf = (list: (string | undefined)[], ring = keyring) =>
  read(['key_c', 'key_b', 'key_a'], list, { limit: 1 }, ring).nextCursor as string

test('a cursor fits the list it was given for, and no other', () => {
  const list = ['keys', 'store_a', 'ACTIVE', undefined]
  const cursor = cursorOf(list)
  expect(pageWindow(keyring, list, { cursor })).toEqual({ limit: 20, take: 21, after: 'key_c' })
  const others = [
    ['keys', 'store_b', 'ACTIVE', undefined],
    ['keys', 'store_a', undefined, 'ACTIVE'],
    ['keys', 'store_a', undefined, undefined],
    ['keys', 'store_a', 'ACTIVE'],
    ['invitations', 'store_a', 'ACTIVE', undefined],
    ['keys,store_a', 'ACTIVE', undefined],
    [],
  ]
  for (const other of others) expect(refusal(() => pageWindow(keyring, other, { cursor }))).toBe('invalid_cursor')
})

test('a cursor that was altered in any way is refused', () => {
  const list = ['keys', 'store_a']
  const cursor = cursorOf(list)
  fc.assert(
    fc.property(fc.nat(cursor.length - 1), fc.string({ maxLength: 2, unit: 'binary' }), (at, other) => {
      const altered = cursor.slice(0, at) + other + cursor.slice(at + 1)
      fc.pre(altered !== cursor)
      expect(refusal(() => pageWindow(keyring, list, { cursor: altered }))).toBe('invalid_cursor')
    }),
    { numRuns: 1000 },
  )
})

test('whatever else is sent as a cursor is refused, and nothing else is thrown', () => {
  const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.stringMatching(/^[\w-]{0,80}$/))
  fc.assert(
    fc.property(anything, (cursor) => {
      expect(refusal(() => pageWindow(keyring, ['keys'], { cursor }))).toBe('invalid_cursor')
    }),
  )
})

test('a cursor lives through one change of the server secret', () => {
  const cursor = cursorOf(['keys'])
  const next = { current: keys(2), previous: keys(1) }
  expect(pageWindow(next, ['keys'], { cursor }).after).toBe('key_c')
  expect(cursorOf(['keys'], next)).not.toBe(cursor)
  const afterNext = { current: keys(3), previous: keys(2) }
  expect(refusal(() => pageWindow(afterNext, ['keys'], { cursor }))).toBe('invalid_cursor')
})

function refusal(work: () => unknown): string {
  try {
    return `let in: ${JSON.stringify(work())}`
  } catch (error) {
    if (error instanceof Failure) return error.code
    throw error
  }
}
