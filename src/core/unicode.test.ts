import { expect, test } from 'vitest'
import { normalForm } from './unicode.ts'

const FORMS = ['NFC', 'NFKC', 'NFKD'] as const
/** In the order of Unicode the last comes first. */
const [ABOVE, BELOW, THROUGH] = ['\u0301', '\u0316', '\u0334']

test('30 accents on a letter are sorted and joined with it, more are left as they are', () => {
  for (const form of FORMS) {
    const most = `a${ABOVE.repeat(29)}${THROUGH}`
    expect(normalForm(most, form)).toBe(most.normalize(form))
    expect(normalForm(most, form)).not.toBe(most)
    expect(normalForm(`${most}e${most}`, form)).toBe(`${most}e${most}`.normalize(form))
    for (const many of [
      `a${ABOVE.repeat(30)}${THROUGH}`,
      ABOVE.repeat(31),
      `a${`${ABOVE}${BELOW}${THROUGH}`.repeat(500)}`,
    ])
      expect(normalForm(`${most} ${many}`, form)).toBe(`${most} ${many}`)
  }
})

test('each character that is sorted counts as an accent, and so does what becomes one', () => {
  // Sorted are those that change places with the one before or after them.
  const isSorted = (char: string) =>
    `a${char}${THROUGH}`.normalize('NFD') !== `a${char}${THROUGH}` ||
    `a\u0345${char}`.normalize('NFD') !== `a\u0345${char}`
  const missed: string[] = []
  let sorted = 0
  for (let code = 0x80; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const char = String.fromCodePoint(code)
    const [first = ''] = char.normalize('NFKD')
    if (!isSorted(first)) continue
    sorted += 1
    if (normalForm(`a\u0301\u0334${char.repeat(31)}`, 'NFC') !== `a\u0301\u0334${char.repeat(31)}`) missed.push(char)
  }
  expect([missed, sorted > 900]).toEqual([[], true])
})
