// The faults and warnings that an address can have, and the sentences that tell of them. What is surely wrong is a fault.
// What is only unusual is a warning and is kept, for the shopper knows the address better than any table does.

import { rulesOf } from '../countries/countries.ts'
import type { ADDRESS_LENGTHS } from '../schema.ts'

export type AddressFault = { pointer: string; code: FaultCode; detail: string; example?: string; suggestion?: string }
export type AddressWarning = { pointer: string; code: WarningCode; detail: string; suggestion?: string }

/** Every fault, with what it means. Codes are for ever, wording is not. */
export const ADDRESS_FAULTS = {
  required: 'The country’s rules require this field.',
  name_required: 'An address needs a first name, a last name, or a company.',
  invalid_characters: 'The text contains control, bidirectional or invisible characters.',
  too_long: 'The text is too long for the field.',
  unknown_country:
    'The country is neither an ISO 3166 code nor a name in English or its own languages. `suggestion` is the code of one that may have been meant.',
  unknown_state:
    'The country has no such state, province or region. `suggestion` is the code of one that may have been meant.',
  invalid_postal_code: 'The postal code is not one the country uses.',
  postal_code_state_mismatch: 'The postal code belongs to another state.',
  invalid_phone: 'The phone number is valid neither as an international number nor in the address’s country.',
} as const

/** Every warning, with what it means. The address is accepted all the same. */
export const ADDRESS_WARNINGS = {
  unrecognized_state:
    'The text is not a known subdivision of the country, and is kept as entered. `suggestion` is the code of one that may have been meant.',
  postal_code_not_used: 'The country has no postal codes; the text is kept as entered.',
  postal_code_missing: 'The postal code is missing. It is not required, but mail arrives faster with it.',
  postal_code_state_mismatch: 'The postal code usually belongs to another state.',
  postal_code_of_neighbour: 'The postal code looks like one of another country.',
  po_box: 'The address is a PO box, where parcel services cannot deliver.',
  phone_of_another_country: 'The phone number and the address are in different countries.',
  invalid_tax_id:
    'The tax number matches no published format of the country, or its check digit is wrong. It is kept as entered.',
  markup: 'The text contains markup, which names do not have. Escape it wherever you display it.',
  no_letters: 'A name or city has no letters, or a street is only a number.',
} as const

type FaultCode = keyof typeof ADDRESS_FAULTS
type WarningCode = keyof typeof ADDRESS_WARNINGS

export type Field = keyof typeof ADDRESS_LENGTHS
export type Texts = Record<Field, string | null>
export type Findings = {
  faults: AddressFault[]
  warnings: AddressWarning[]
  /** The fields that have a fault already. */
  bad: Set<Field>
}

export function fault(
  found: Findings,
  field: Field,
  code: FaultCode,
  detail: string,
  example?: string,
  suggestion?: string,
): void {
  found.bad.add(field)
  found.faults.push({
    pointer: `#/${field}`,
    code,
    detail,
    ...(example === undefined ? {} : { example }),
    ...(suggestion === undefined ? {} : { suggestion }),
  })
}

export function warn(found: Findings, field: Field, code: WarningCode, detail: string, suggestion?: string): void {
  found.warnings.push({ pointer: `#/${field}`, code, detail, ...(suggestion === undefined ? {} : { suggestion }) })
}

/** The field within a sentence: "Address line 1". */
export const fieldName = (field: Field) =>
  field.charAt(0).toUpperCase() + field.slice(1).replace(/[A-Z]|\d+/g, (part) => ` ${part.toLowerCase()}`)

/** The country within a sentence: in Spain, in the Netherlands. */
export function nameInText(country: string): string {
  const { name, article } = rulesOf(country)
  return article ? `the ${name}` : name
}

export function withArticle(label: string): string {
  return `${articleOf(label)} ${lower(label)}`
}

export function articleOf(label: string): 'a' | 'an' {
  return /^[aeiou]/i.test(label) ? 'an' : 'a'
}

/** "State" → "state", but "ZIP code" stays. */
export const lower = (label: string) =>
  /^\p{Lu}\p{Ll}/u.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label
