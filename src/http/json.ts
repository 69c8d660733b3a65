// Strict JSON: accepts only bodies that every parser reads alike. Valid UTF-8, no member twice, no NUL, no lone
// surrogate, no `__proto__`, at most 32 levels deep. The text is scanned once before it is parsed, so a body with too many
// levels, objects or fields, or a duplicate, never becomes an object. Whether it is JSON at all, JSON.parse decides.

import { isAscii } from 'node:buffer'
import { fail, failInput } from '../core/errors.ts'
import { MAX_MEMBERS, TOO_MANY_FIELDS } from '../schema/validate.ts'

const MAX_LEVELS = 32
/** Objects and lists, and the members of all objects. The largest import of customers has some 13,000 and 85,000. */
const MAX_OPENED = 100_000
const MAX_NAMES = 100_000
/** Of one object below the first level: metadata of 16 KiB has no more. */
const MAX_MEMBERS_BELOW = 3_000
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parseStrictJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) refuse('The body is empty. Send a JSON object.')
  const text = decode(bytes)
  scan(text)
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message repeats what was sent, which may be a secret.
    return refuse('The body is not JSON. Look for a missing quote, comma or bracket, or a comma too many.')
  }
}

function decode(bytes: Uint8Array): string {
  // Most bodies are ASCII, which needs no decoding.
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  try {
    return utf8.decode(bytes)
  } catch {
    return refuse('The body is not valid UTF-8.')
  }
}

const CHARACTER = {
  QUOTE: 0x22,
  BACKSLASH: 0x5c,
  OPEN_BRACE: 0x7b,
  CLOSE_BRACE: 0x7d,
  OPEN_LIST: 0x5b,
  CLOSE_LIST: 0x5d,
  COMMA: 0x2c,
  COLON: 0x3a,
} as const

/** An open object or list: the names of its members so far, the last of them, and its own name. */
type Level = { isObject: boolean; names: Set<string> | null; nameIsNext: boolean; last: string; under: string }

/** The levels are made once for each depth, and a set of names with the first of them: `{}` costs next to nothing. */
function scan(text: string): void {
  const levels: Level[] = []
  let depth = 0
  let opened = 0
  let names = 0
  let level: Level | undefined
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case CHARACTER.QUOTE: {
        const end = endOfString(text, i)
        const raw = text.slice(i, end + 1)
        const isName = level?.nameIsNext ?? false
        const value = isName || NEEDS_A_LOOK.test(raw) ? checkString(raw) : ''
        if (level && isName) {
          names += 1
          level.names ??= new Set()
          checkName(value, level.names, level.under)
          const max = depth === 1 ? MAX_MEMBERS : MAX_MEMBERS_BELOW
          if (level.names.size > max || names > MAX_NAMES) failInput([TOO_MANY_FIELDS])
          level.nameIsNext = false
          level.last = value
        }
        i = end
        break
      }
      case CHARACTER.OPEN_BRACE:
      case CHARACTER.OPEN_LIST: {
        const isObject = text.charCodeAt(i) === CHARACTER.OPEN_BRACE
        const under = level?.last ?? ''
        depth += 1
        opened += 1
        if (opened > MAX_OPENED) failInput([TOO_MANY_FIELDS])
        if (depth > MAX_LEVELS) refuse(`The body is more than ${MAX_LEVELS} levels deep.`)
        level = openLevel(levels, depth, isObject, under)
        break
      }
      case CHARACTER.CLOSE_BRACE:
      case CHARACTER.CLOSE_LIST:
        depth = Math.max(0, depth - 1)
        level = depth === 0 ? undefined : levels[depth]
        break
      case CHARACTER.COMMA:
        if (level?.isObject) level.nameIsNext = true
        break
    }
  }
}

function openLevel(levels: Level[], depth: number, isObject: boolean, under: string): Level {
  levels[depth] ??= { isObject, names: null, nameIsNext: isObject, last: '', under }
  const level = levels[depth]
  level.isObject = isObject
  level.names = null
  level.nameIsNext = isObject
  level.last = ''
  level.under = under
  return level
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === CHARACTER.BACKSLASH) i++
    else if (code === CHARACTER.QUOTE) return i
  }
  return refuse('The body is not JSON: a string does not end.')
}

/** What may be the escape of a NUL or of a surrogate, or no escape at all. */
const NEEDS_A_LOOK = /\\(?:u(?:0000|d[89a-f])|[^"\\/bfnrtu])/i

/** The string's value. Only one with an escape can hold a NUL or a lone surrogate: UTF-8 has been checked before. */
function checkString(raw: string): string {
  if (!raw.includes('\\')) return raw.slice(1, -1)
  let value: string
  try {
    value = JSON.parse(raw)
  } catch {
    return refuse('The body is not JSON: a string holds an escape that does not exist.')
  }
  if (value.includes('\0')) refuse('A string holds NUL (U+0000).')
  if (!value.isWellFormed()) refuse('A string holds half of a surrogate pair.')
  return value
}

function checkName(name: string, names: Set<string>, under: string): void {
  if (name === '__proto__') refuse('"__proto__" is not a name for a member.')
  if (name === 'prototype' && under === 'constructor') refuse('"constructor.prototype" is not a name for a member.')
  if (names.has(name)) refuse('An object holds the same member twice.')
  names.add(name)
}

function refuse(detail: string): never {
  return fail('invalid_json', { detail })
}
