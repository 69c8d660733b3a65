import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Failure } from '../core/errors.ts'
import { parseStrictJson } from './json.ts'

const PLAIN = JSON.stringify(Array.from({ length: 100_000 }, (_, n) => n))

/** What the door says to a text: the value, `refused`, or `too many fields`. Anything else is thrown on. */
function say(text: string | Uint8Array): unknown {
  try {
    return { value: parseStrictJson(typeof text === 'string' ? Buffer.from(text) : text) }
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_json') return 'refused'
    if (error instanceof Failure && error.code === 'invalid_input') return 'too many fields'
    throw error
  }
}

/** Strings as JSON can carry them: any code point, without NUL. */
const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0'))
const name = text.filter((value) => !['__proto__', 'prototype'].includes(value))

const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 6, withCrossShrink: true }, tie('leaf'), tie('list'), tie('object')),
  leaf: fc.oneof(fc.constant(null), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }), text),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
}))

test('whatever is valid comes in as JSON.parse reads it', () => {
  fc.assert(
    fc.property(anyValue, fc.constantFrom('', ' ', '\t', '   '), (value, indent) => {
      const written = JSON.stringify(value, null, indent)
      expect(say(written)).toEqual({ value: JSON.parse(written) })
    }),
  )
})

test('every string may be spelt with escapes, and means the same', () => {
  fc.assert(
    fc.property(text, name, (value, member) => {
      expect(say(`{${spell(member)}:${spell(value)}}`)).toEqual({ value: { [member]: value } })
    }),
  )
})

test('names that code might trip over are ordinary members', () => {
  for (const member of ['constructor', 'prototype', 'toString', 'then', 'length', 'hasOwnProperty', '', '__proto', 'é'])
    expect(say(`{"a":{${JSON.stringify(member)}:"ACME"}}`)).toEqual({ value: { a: { [member]: 'ACME' } } })
})

test('the same name may stand in two objects, as a value, and in a list', () => {
  const written = '{"a":{"a":"a"},"b":[{"a":1},{"a":1},"a","a"],"c":"a","\\u0064":"{\\"c\\":1,\\"c\\":2}"}'
  expect(say(written)).toEqual({ value: JSON.parse(written) })
})

/** Puts a text somewhere inside a larger one, `ways.length` levels further down. */
const WAYS = ['[?]', '[1,?,"]"]', '{"x":?}', '{"x":"}{","y":?,"z":null}', '[{},?]', '{"x":[],"y":?}']
const ways = fc.array(fc.constantFrom(...WAYS), { maxLength: 20 })
function bury(inner: string, around: string[]): string {
  return around.reduce((whole, way) => way.replace('?', () => whole), inner)
}

test('a member twice is refused at any depth, however its name is spelt', () => {
  fc.assert(
    fc.property(ways, name, anyValue, (around, member, value) => {
      const [first, second] = [JSON.stringify(member), spell(member)]
      const between = JSON.stringify(value)
      expect(say(bury(`{${first}:${between}}`, around))).not.toBe('refused')
      expect(say(bury(`{${first}:${between},${second}:1}`, around))).toBe('refused')
      expect(say(bury(`{${second}:1,"between":{"a":${between}},${first}:1}`, around))).toBe('refused')
    }),
  )
})

const FORBIDDEN = [
  ['NUL in a value', '"\\u0000"'],
  ['NUL in a name', '{"a\\u0000b":1}'],
  ['NUL as it is', '"\0"'],
  ['half a surrogate pair in a value', '"\\ud800"'],
  ['the other half', '"x\\uDC00"'],
  ['the halves in the wrong order', '"\\udc00\\ud800"'],
  ['half a surrogate pair in a name', '{"\\ud83d":1}'],
  ['a half before a whole', '"\\ud83d\\ud83d\\ude00"'],
  ['__proto__', '{"__proto__":{}}'],
  ['__proto__ in escapes', '{"\\u005f_proto_\\u005f":1}'],
  ['constructor.prototype', '{"constructor":{"prototype":{}}}'],
  ['constructor.prototype after another', '{"constructor":{"a":{},"prototype":1}}'],
  ['constructor.prototype in escapes', '{"constructo\\u0072":{"prototyp\\u0065":{}}}'],
] as const

test.each(FORBIDDEN)('%s is refused at any depth', (_, inner) => {
  fc.assert(fc.property(ways, (around) => void expect(say(bury(inner, around))).toBe('refused')))
})

test('32 levels come in, 33 do not, of lists, of objects and of both', () => {
  for (const turns of [['[?]'], ['{"x":?}'], ['[0,?,"["]'], ['[?]', '{"x":?}']]) {
    const levels = (n: number) => Array.from({ length: n }, (_, i) => turns[i % turns.length] as string)
    expect(say(bury('1', levels(32)))).not.toBe('refused')
    expect(say(bury('1', levels(33)))).toBe('refused')
  }
  expect(say(bury('1', Array(100_000).fill('[?]')))).toBe('refused')
  // Beside each other is not inside each other.
  expect(say(`[${Array(1000).fill('[[]]').join()}]`)).not.toBe('refused')
})

test('bytes that are not UTF-8 are refused, wherever they stand', () => {
  const bad = ['c328', 'c0af', 'ff', 'eda080', 'f4908080', 'e282', 'f09f98'].map((hex) => Buffer.from(hex, 'hex'))
  const [before, after] = [Buffer.from('{"name":"a'), Buffer.from('b"}')]
  expect(say(Buffer.concat([before, after]))).toEqual({ value: { name: 'ab' } })
  for (const bytes of bad) {
    expect(say(Buffer.concat([before, bytes, after]))).toBe('refused')
    expect(say(bytes)).toBe('refused')
  }
})

test('what JSON.parse refuses is refused, and nothing else is ever thrown', () => {
  const scrap = fc.constantFrom(
    ...'{}[]:,"\\ \n0-.eEtrufalsn',
    '"a"',
    '"a":',
    '\\u0000',
    '\\ud83d',
    '"__proto__":',
    '\uffff',
    '\0',
  )
  const garbage = fc.oneof(
    fc.array(scrap).map((parts) => Buffer.from(parts.join(''))),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: 'binary' }).map((written) => Buffer.from(written)),
  )
  fc.assert(
    fc.property(garbage, (bytes) => {
      const said = say(bytes)
      if (said !== 'refused') expect(said).toEqual({ value: JSON.parse(bytes.toString()) })
    }),
    { numRuns: 2000 },
  )
  for (const nearly of [
    '',
    ' ',
    '\ufeff{}',
    '{"a":1,}',
    "{'a':1}",
    '{a:1}',
    '[1 2]',
    '{"a" "a"}',
    '01',
    'NaN',
    '{"a":1}}',
    '"',
    '"\\',
  ])
    expect(say(nearly)).toBe('refused')
})

test('a refusal never repeats what was sent', () => {
  for (const body of ['{"password":"hunter2 hunter2"', '{"hunter2":1,"hunter2":2}', '"hunter2\\u0000"', 'hunter2']) {
    const failure = catchFailure(() => parseStrictJson(Buffer.from(body)))
    expect(JSON.stringify([failure.message, failure.details, String(failure.cause)])).not.toContain('hunter2')
  }
})

test('a body made to be slow costs little more than JSON.parse does, and within 64 KiB next to nothing', () => {
  const few = Array.from({ length: 5_500 }, (_, i) => `"m${i}":${i}`).join()
  const members = Array.from({ length: 100_000 }, (_, i) => `"m${i}":${i}`).join()
  const slow = {
    '64 KiB of members': `{${few}}`,
    '64 KiB of strings': `[${Array(9_000).fill('"a\\n"').join()}]`,
    '64 KiB of a string that does not end': `"${'\\"'.repeat(32_000)}`,
    '100,000 members': `{${members}}`,
    '100,000 members, the last twice': `{${members},"m99999":1}`,
    'a name of 1 MB': `{"${'n'.repeat(1e6)}":1}`,
    'a name of 1 MB in escapes': `{"${'\\u006e'.repeat(170_000)}":1}`,
    'a string of 1 MB that does not end': `"${'\\"'.repeat(500_000)}`,
    '1,000,000 levels': '['.repeat(1e6),
    '1,000,000 ends': ']'.repeat(1e6),
  }
  for (const [what, body] of Object.entries(slow)) {
    const bytes = Buffer.from(body)
    // The best of three: other work on the machine is not the door's.
    const best = (work: () => unknown) => Math.min(...[1, 2, 3].map(() => time(work)))
    // Against reading a plain list of 600 KB, in this run.
    const unit = best(() => JSON.parse(PLAIN))
    const bound = body.length <= 65_536 ? 10 * unit : 20 * unit + 5 * best(() => parse(body))
    expect(
      best(() => say(bytes)),
      what,
    ).toBeLessThan(bound)
  }
})

test('a thousand fields are read; of more none is, however many there are; below the first level more are', () => {
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]))
  expect(say(JSON.stringify(fields(1_000)))).toEqual({ value: fields(1_000) })
  expect(say(JSON.stringify(fields(1_001)))).toBe('too many fields')
  expect(say(`${JSON.stringify(fields(1_001)).slice(0, -1)},"m0":1,`)).toBe('too many fields')
  expect(say(JSON.stringify({ metadata: fields(3_000) }))).toEqual({ value: { metadata: fields(3_000) } })
  expect(say(JSON.stringify({ metadata: fields(3_001) }))).toBe('too many fields')
  const lines = (count: number, line: object) => JSON.stringify({ lines: Array.from({ length: count }, () => line) })
  expect(say(lines(99_990, {}))).toHaveProperty('value')
  for (const many of [
    lines(100_001, {}),
    lines(1_001, fields(100)),
    lines(1, fields(140_000)),
    `[${'[],'.repeat(100_000)}`,
  ])
    expect(say(many)).toBe('too many fields')
})

/** Every UTF-16 unit as an escape. */
function spell(value: string): string {
  const units = value.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `"${units.join('')}"`
}

function parse(written: string): unknown {
  try {
    return JSON.parse(written)
  } catch {
    return 'refused'
  }
}

function catchFailure(work: () => unknown): Failure {
  try {
    work()
  } catch (error) {
    if (error instanceof Failure) return error
  }
  throw new Error('it was let in')
}

/** In milliseconds of this process alone. */
function time(work: () => unknown): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
