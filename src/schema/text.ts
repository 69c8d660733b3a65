// Text from outside, in one form: NFC, trimmed, on one line, without characters that cannot be seen or that turn the line
// around. What comes along when text is copied from a page is removed; the rest is refused, since it may change what the
// text says.

import { hasTooManyMarks, normalForm, TOO_MANY_MARKS } from '../core/unicode.ts'

/** Controls, line and paragraph separators, bidirectional controls, zero-width and other invisible characters. */
const INVISIBLE =
  /[\p{Cc}\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/u
/** Zero-width space, word joiner, byte order mark, soft hyphen. */
const ZERO_WIDTH = /[\u200B\u2060\uFEFF\u00AD]/g
const LINE_BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g
/**
 * They join or part letters, or choose another form of one. Persian, Hindi, Mongolian and Japanese need them in an address; a
 * name of a key never does, but for the selector that makes a picture of a character.
 */
const JOINERS_AND_SELECTORS =
  /(?!\uFE0F)[\p{Cf}\p{Default_Ignorable_Code_Point}\uFFF0-\uFFF8\u{E0000}-\u{E0FFF}]|[\u180B-\u180F\u200C\u200D\uFE00-\uFE0E\u{E0100}-\u{E01EF}]|(?<!\p{Extended_Pictographic})\uFE0F(?!\u20E3)/u

/** Persian, the scripts of India and some emoji are written with joiners; after anything else they show nothing. */
const STRAY_JOINERS =
  /(?<![\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])[\u200C\u200D]+/gu

/** `exact` removes nothing and takes no joiners: two names of keys that look the same are the same. */
export type TextKind = 'line' | 'exact'

/** Longer texts are not normalized: no field allows more than 200 characters, so they are refused for their length anyway. */
const MAX_NORMALIZED_LENGTH = 1_000

export function normalizeText(text: string, kind: TextKind): string {
  const trimmed = text.trim()
  if (trimmed.length > MAX_NORMALIZED_LENGTH || PLAIN.test(trimmed)) return trimmed
  const normal = normalForm(trimmed, 'NFC')
  if (kind === 'exact') return normal.trim()
  const line = normal.replace(ZERO_WIDTH, '').replace(LINE_BREAKS, ' ').replace(STRAY_JOINERS, '')
  return normalForm(line, 'NFC').trim()
}

const PLAIN = /^[\x20-\x7e]*$/

/** What may not stand in such a text, as a sentence, or null. */
export function wrongCharacters(text: string, kind: TextKind): string | null {
  if (text.length <= MAX_NORMALIZED_LENGTH && hasTooManyMarks(text)) return TOO_MANY_MARKS
  const found = INVISIBLE.exec(text) ?? (kind === 'exact' ? JOINERS_AND_SELECTORS.exec(text) : null)
  if (!found) return null
  const code = (found[0].codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')
  return `This contains an invisible character (U+${code}). Remove it, or type the text again.`
}
