// Text that no name, city or street has: markup, or digits where words belong. It is kept with a warning.

import { type Field, type Findings, fieldName, type Texts, warn } from './findings.ts'

const MARKUP = /<[a-z!/?]|&(?:[a-z]{2,8}|#x?[\da-f]{1,6});/i
const MAY_HOLD_MARKUP = ['firstName', 'lastName', 'company', 'addressLine1', 'addressLine2', 'city'] as const
const WITH_LETTERS = ['firstName', 'lastName', 'city'] as const

export function warnOfOddText(texts: Texts, found: Findings): void {
  const check = (field: Field, isOdd: (text: string) => boolean, warning: () => void) => {
    const text = texts[field]
    if (text !== null && !found.bad.has(field) && isOdd(text)) warning()
  }
  for (const field of MAY_HOLD_MARKUP) {
    const warning = () =>
      warn(
        found,
        field,
        'markup',
        `${fieldName(field)} holds markup, such as <b> or &amp;. Escape it wherever you show it.`,
      )
    check(field, (text) => MARKUP.test(text), warning)
  }
  for (const field of WITH_LETTERS) {
    const warning = () => warn(found, field, 'no_letters', `${fieldName(field)} has no letters. Please check it.`)
    check(field, (text) => !/\p{L}/u.test(text), warning)
  }
  const warning = () =>
    warn(
      found,
      'addressLine1',
      'no_letters',
      'Address line 1 is only a number. Please add the street, if there is one.',
    )
  check('addressLine1', (text) => /^\p{N}+$/u.test(text), warning)
}
