// Bodies, queries and headers that are cheap to send and may be dear to read: each the longest that fits, each of one kind.

import type { TSchema } from 'typebox'
import type { Route } from '../../src/core/route.ts'

/** A request's input, and what is special about it. */
export type Input = { what: string; text: string }

/** Text that has proved dear somewhere: it is repeated to the length. */
const TEXTS = {
  letters: 'a',
  digits: '7',
  spaces: ' ',
  'spaces and a letter': '          a',
  accents: '\u0301\u0316',
  'letters with accents': `a${'\u0301\u0316'.repeat(15)}`,
  ligatures: '\ufdfa',
  'capitals with dots': 'İ',
  emoji: '👩‍👩‍👧‍👦',
  hangul: '각',
  jamo: '\u1100\u1161\u11a8',
  ideographs: '東京都',
  'right to left': '\u202e\u05d0',
  'halves of pairs': '\ud800',
  nul: '\u0000',
  newlines: '\n',
  quotes: '"',
  html: '<&>',
  'dots and letters': 'a.',
  'dashes and letters': 'a-',
  slashes: '/',
  'colons and digits': '1:',
  'at signs': '@',
  signs: '+-',
  commas: 'a,',
  brackets: '[',
  percent: '%',
  keys: 'skp_prod_',
}

const LIST_ITEMS = ['1', '1e-7', '""', '"READ"', '[]', '{}', 'null', '{"a":1}']
const MEMBER_VALUES = ['1', '{}', 'null', '"a"']
const NESTED = [
  ['[', ']'],
  ['{"a":', '}'],
  ['[{"a":', '}]'],
] as const
/** Deep, and not yet refused for it. */
const LEVELS = 28

type Schema = TSchema & {
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
  maxLength?: number
}
type Path = (string | number)[]

/** Every place of the row's body, with what the schema says of it; of a list its first entry. */
function placesOf(schema: Schema | undefined, path: Path = []): { path: Path; schema: Schema }[] {
  if (!schema) return []
  if (schema.anyOf) return schema.anyOf.flatMap((each) => placesOf(each, path))
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, each]) => placesOf(each, [...path, name]))
  return [{ path, schema }, ...inner, ...placesOf(schema.items, [...path, 0])]
}

/** The example as JSON, with this text at the place. */
function withAt(example: unknown, path: Path, json: string): string {
  const MARK = 'the place'
  return JSON.stringify(placed(example, path, MARK)).replace(`"${MARK}"`, () => json)
}

function placed(base: unknown, [first, ...rest]: Path, value: unknown): unknown {
  if (first === undefined) return value
  const inner = (base as Record<string | number, unknown> | undefined)?.[first]
  if (typeof first === 'number') return [placed(inner, rest, value)]
  return { ...(base as object | undefined), [first]: placed(inner, rest, value) }
}

export function* bodiesOf(row: Route, bytes: number): Generator<Input> {
  const example = row.example?.body ?? {}
  const room = bytes - 2_000
  for (const { path, schema } of placesOf((row.documentedBody ?? row.body) as Schema | undefined)) {
    const at = (what: string, json: string) => ({
      what: `${path.join('.') || 'body'}: ${what}`,
      text: withAt(example, path, json),
    })
    for (const [name, unit] of Object.entries(TEXTS)) {
      yield at(name, jsonText(unit, room))
      if (schema.maxLength) yield at(`${schema.maxLength} of ${name}`, JSON.stringify(ofLength(unit, schema.maxLength)))
    }
    for (const item of LIST_ITEMS) yield at(`list of ${item}`, `[${repeated(item, ',', room)}]`)
    yield at('list of different texts', `[${different(room, (name) => `"${name}"`)}]`)
    for (const value of MEMBER_VALUES)
      yield at(`members with ${value}`, `{${different(room, (name) => `"${name}":${value}`)}}`)
    for (const [open, close] of NESTED) {
      yield at(`${open} to the end`, nested(open, close, Math.floor(room / (open.length + close.length)) - 2))
      const levels = Math.floor(LEVELS / (open.match(/[[{]/g)?.length ?? 1))
      yield at(`list of ${levels} ${open}`, `[${repeated(nested(open, close, levels), ',', room)}]`)
    }
    yield at('digits', '7'.repeat(room))
    yield at('a fraction', `0.${'7'.repeat(room - 10)}e-300`)
  }
  yield { what: 'spaces', text: ' '.repeat(bytes) }
  yield { what: 'no JSON', text: '\u0001'.repeat(bytes) }
  yield { what: 'a member again and again', text: `{${repeated('"name":1', ',', room)}}` }
  yield { what: 'escapes', text: `{"name":"${'\\u0301'.repeat(room / 6)}"}` }
}

export function* formsOf(bytes: number): Generator<Input> {
  for (const [name, unit] of Object.entries(TEXTS))
    for (const field of ['token', 'x'])
      yield { what: `${field}: ${name}`, text: `${field}=${encoded(unit, bytes - 50)}` }
  yield { what: 'names', text: different(bytes, (name) => name, '&') }
  yield { what: 'a field again and again', text: repeated('token=1', '&', bytes) }
}

/** Less than the 16 KiB that all headers may have together. */
const LINE_BYTES = 14_000

export function* queriesOf(row: Route): Generator<Input> {
  const known = Object.keys((row.query as { properties?: object } | undefined)?.properties ?? {})
  for (const name of [...known, 'unknown']) {
    for (const [what, unit] of Object.entries(TEXTS))
      yield { what: `?${name}: ${what}`, text: `${name}=${encoded(unit, LINE_BYTES)}` }
    yield { what: `?${name}: again and again`, text: repeated(`${name}=1`, '&', LINE_BYTES) }
  }
  yield { what: '?: names', text: different(LINE_BYTES, (name) => name, '&') }
  for (const sign of '&+%') yield { what: `?: ${sign}`, text: `q=${sign.repeat(LINE_BYTES)}` }
}

const HEADERS =
  'authorization idempotency-key if-match if-none-match accept accept-language cookie x-forwarded-for forwarded last-event-id traceparent tracestate origin x-request-id expected-user user-agent host github-public-key-signature'
const HEADER_PARTS = ['a', 'a,', '"a", ', 'W/"a",', 'a ', 'a=b; ', '"', ', ,', '/', '*/*, ', '1.', 'a/b;q=0.1,', '%41']
const MORE_PARTS = ['de-x;q=0.5,', 'eyJh.', '192.0.2.1, ', '2001:db8::1, ', 'Bearer ', 'for="[::1]",']

export function* headersOf(): Generator<Input & { name: string }> {
  for (const name of HEADERS.split(' '))
    for (const part of [...HEADER_PARTS, ...MORE_PARTS])
      yield { what: `${name}: ${part}`, name, text: ofLength(part, LINE_BYTES) }
}

// ---- lengths --------------------------------------------------------------------------------------------------------

function ofLength(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
}

function jsonText(unit: string, bytes: number): string {
  const each = Buffer.byteLength(JSON.stringify(unit)) - 2
  return JSON.stringify(unit.repeat(Math.floor(bytes / each)))
}

function encoded(unit: string, bytes: number): string {
  const text = encodeURIComponent(unit.toWellFormed())
  return text.repeat(Math.floor(bytes / text.length))
}

function repeated(item: string, separator: string, bytes: number): string {
  return Array(Math.floor(bytes / (item.length + separator.length)))
    .fill(item)
    .join(separator)
}

function different(bytes: number, make: (name: string) => string, separator = ','): string {
  const count = Math.floor(bytes / (make('aaaa').length + separator.length))
  return Array.from({ length: count }, (_, n) => make(n.toString(36).padStart(4, 'a'))).join(separator)
}

function nested(open: string, close: string, levels: number): string {
  return open.repeat(levels) + 1 + close.repeat(levels)
}
