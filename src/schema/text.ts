// Text from outside, in one form: NFC, trimmed, without characters that cannot be seen or that turn the line around.

/** Controls, line and paragraph separators, bidirectional controls, zero-width and other invisible characters. */
const INVISIBLE =
  /[\p{Cc}\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/u
/**
 * They join or part letters, or choose another form of one. Persian, Hindi, Mongolian and Japanese need them in an address; a
 * name of ours never does, but for the selector that makes a picture of a character.
 */
const JOINERS_AND_SELECTORS =
  /[\u180B-\u180F\u200C\u200D\uFE00-\uFE0E\u{E0100}-\u{E01EF}]|(?<!\p{Extended_Pictographic})\uFE0F(?!\u20E3)/u

export type TextKind = 'line' | 'address'

/**
 * Longer texts are not normalized: no field allows more than 200 characters, so they are refused for their length anyway,
 * and normalizing 64 KiB of combining accents takes two seconds.
 */
const MAX_NORMALIZED_LENGTH = 2_000

export function normalizeText(text: string): string {
  const trimmed = text.trim()
  return trimmed.length > MAX_NORMALIZED_LENGTH ? trimmed : trimmed.normalize('NFC').trim()
}

/** The first character that may not stand in such a text, as U+XXXX, or null. */
export function findInvisible(text: string, kind: TextKind): string | null {
  const found = INVISIBLE.exec(text) ?? (kind === 'line' ? JOINERS_AND_SELECTORS.exec(text) : null)
  if (!found) return null
  return `U+${(found[0].codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`
}
