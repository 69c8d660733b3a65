/**
 * A billing address in its normal form, or everything that is wrong with it at once. Pure: the same input gives the
 * same answer, and the normal form given back comes out unchanged. Which rules hold is data: see countries/.
 */

import { normalizeText } from '../../schema/text.ts'
import { requiresField, rulesOf } from '../countries/countries.ts'
import { ADDRESS_LENGTHS, type NormalAddress } from '../schema.ts'
import { checkCountry } from './country.ts'
import {
  type AddressFault,
  type AddressWarning,
  type Field,
  type Findings,
  fault,
  fieldName,
  nameInText,
  type Texts,
  withArticle,
} from './findings.ts'
import { warnOfOddText } from './odd-text.ts'
import { checkPhone } from './phone.ts'
import { warnOfBox } from './po-box.ts'
import { checkPostalCode } from './postal-code.ts'
import { checkState } from './state.ts'
import { checkTaxId } from './tax-id.ts'

/** What the schema has passed: each member is a string, trimmed or not, or null, or absent. */
export type AddressInput = { [Name in Field]?: string | null | undefined }

/** An address whose country is known, though it need not be complete or right yet. */
export type AddressPreview = Omit<NormalAddress, 'addressLine1'> & { addressLine1: string | null }

type Normalized = {
  warnings: AddressWarning[]
  /** Fields in normal form where they are right, and as they were typed where not. Null: the country is not known. */
  preview: AddressPreview | null
} & ({ address: NormalAddress; faults: [] } | { address: null; faults: AddressFault[] })

export function normalizeAddress(input: AddressInput): Normalized {
  const found: Findings = { faults: [], warnings: [], bad: new Set() }
  const texts = cleanTexts(input, found)
  requireNameAndLine(texts, found)
  const country = checkCountry(texts, found)
  const state = country ? checkState(country, texts, found) : null
  const postalCode = country ? checkPostalCode(country, texts, state, found) : null
  if (country) requireCity(country, texts, found)
  const phone = checkPhone(country, texts, found)
  const taxId = checkTaxId(country, texts, found)
  warnOfBox(country, texts, found)
  warnOfOddText(texts, found)
  const { faults, warnings } = found
  if (!country) return { address: null, faults, warnings, preview: null }
  const preview: AddressPreview = {
    firstName: texts.firstName,
    lastName: texts.lastName,
    company: texts.company,
    taxId: taxId ?? texts.taxId,
    addressLine1: texts.addressLine1,
    addressLine2: texts.addressLine2,
    city: texts.city,
    state: state?.code ?? texts.state,
    postalCode: postalCode ?? texts.postalCode,
    country,
    phone: phone ?? texts.phone,
  }
  if (faults.length > 0) return { address: null, faults, warnings, preview }
  // The line is required above; and what the checks have answered is all that is stored.
  const address = { ...preview, addressLine1: texts.addressLine1 as string, taxId, postalCode, phone }
  return { address, faults: [], warnings, preview: address }
}

/** Controls, line and paragraph separators, surrogates, noncharacters, and characters that show nothing. */
const FORBIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]|(?!\p{Variation_Selector})\p{Default_Ignorable_Code_Point}/u

/** Fields that hold words, so at least one letter or digit. */
const WORDS = new Set<Field>(['firstName', 'lastName', 'company', 'addressLine1', 'addressLine2', 'city'])

/** Placeholders for an empty field. A city may be called None, a town in Piedmont; Null is a family name. */
const NO_VALUE: Partial<Record<Field, RegExp>> = {
  addressLine1: /^(?:n\/a|none|null|nil|x{3,9})$/i,
  addressLine2: /^(?:n\/a|none|null|nil|x{3,9})$/i,
  city: /^(?:n\/a|x{3,9})$/i,
  state: /^(?:n\/a|n\.a\.?|none|null|nil|x{3,9}|\p{Pd}+)$/iu,
}

const PLAIN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/

function cleanTexts(input: AddressInput, found: Findings): Texts {
  const texts = {} as Texts
  for (const field of Object.keys(ADDRESS_LENGTHS) as Field[]) {
    const text = cleanText(input[field] ?? '')
    texts[field] = text === '' || NO_VALUE[field]?.test(text) ? null : text
    if (WORDS.has(field) && text !== '' && !/[\p{L}\p{N}]/u.test(text)) {
      fault(found, field, 'invalid_characters', `${fieldName(field)} has no letters or digits.`)
      continue
    }
    if (PLAIN.test(text) && text.length <= ADDRESS_LENGTHS[field]) continue
    if (FORBIDDEN.test(text.replace(/[\u200c\u200d]/g, ''))) {
      fault(
        found,
        field,
        'invalid_characters',
        `${fieldName(field)} holds characters that cannot be seen or printed. Type it again without them.`,
      )
    } else if ([...text].length > ADDRESS_LENGTHS[field]) {
      fault(found, field, 'too_long', `${fieldName(field)} may have at most ${ADDRESS_LENGTHS[field]} characters.`)
    }
  }
  return texts
}

function cleanText(text: string): string {
  return PLAIN.test(text) ? text : normalizeText(text, 'line').replace(/\p{Zs}+/gu, ' ')
}

function requireNameAndLine(texts: Texts, found: Findings): void {
  if (texts.firstName === null && texts.lastName === null && texts.company === null) {
    fault(found, 'firstName', 'name_required', 'Enter a first name, a last name, or a company.')
  }
  if (texts.addressLine1 === null)
    fault(found, 'addressLine1', 'required', 'Enter the street and number, or the PO box.')
}

function requireCity(country: string, texts: Texts, found: Findings): void {
  const rules = rulesOf(country)
  if (texts.city !== null || !requiresField(rules, 'C') || (rules.cityOrState && texts.state !== null)) return
  fault(
    found,
    'city',
    'required',
    `Addresses in ${nameInText(country)} need ${withArticle(rules.labels?.city ?? 'City')}.`,
  )
}
