// Unicode's normal forms, in a time that grows only with the length of the text.

/**
 * To normalize text the accents of each letter are sorted, in a time that grows with the square of their number: 2,000 on one
 * letter take 10 ms. No script needs more than 30 (UAX 15, stream-safe text). Two half-width marks of Japanese become accents.
 */
const MANY_MARKS = /(?:^|[^\p{M}\uFF9E\uFF9F])[\p{M}\uFF9E\uFF9F]{31}/u

/** Texts that are kept are refused with these: in two forms they would be two. */
export function hasTooManyMarks(text: string): boolean {
  return MANY_MARKS.test(text)
}

export const TOO_MANY_MARKS = 'This has more than 30 accents on one letter. Remove some.'

/** Text with too many accents on one letter stays as it is. */
export function normalForm(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  return hasTooManyMarks(text) ? text : text.normalize(form)
}
