/**
 * A billing address in its normal form, or everything that is wrong with it at once. Pure: the same input gives the
 * same answer, and the normal form given back comes out unchanged.
 *
 * What is surely wrong is a fault. What is only unusual is a warning and is kept, for the shopper knows the address
 * better than any table does.
 */
import { parsePhoneNumberFromString } from 'libphonenumber-js/max'
import {
  findCountry,
  findState,
  needs,
  neighbourOf,
  postalPattern,
  rulesOf,
  type State,
  statesWithPostalCode,
} from './countries.ts'
import { phoneExample } from './phone.ts'
import { isPostOfficeBox } from './po-box.ts'
import { ADDRESS_LENGTHS, type NormalAddress } from './schema.ts'

/** What the schema has already passed structurally: every member is a string, trimmed or not; absent is undefined or null. */
export type AddressInput = {
  firstName?: string | null | undefined
  lastName?: string | null | undefined
  company?: string | null | undefined
  taxId?: string | null | undefined
  addressLine1?: string | null | undefined
  addressLine2?: string | null | undefined
  city?: string | null | undefined
  state?: string | null | undefined
  postalCode?: string | null | undefined
  country?: string | null | undefined
  phone?: string | null | undefined
}

export type AddressFault = { pointer: string; code: FaultCode; detail: string; example?: string }
export type AddressWarning = { pointer: string; code: WarningCode; detail: string }

/** Every fault, with what it means. Codes are for ever, wording is not. */
export const ADDRESS_FAULTS = {
  required: 'The country’s rules require this field.',
  name_required: 'An address needs a first name, a last name, or both.',
  invalid_characters: 'The text holds control, bidirectional or invisible characters.',
  too_long: 'The text is longer than the field takes.',
  unknown_country: 'The country is neither an ISO 3166 code nor a name in English or its own languages.',
  unknown_state: 'The country has no such state, province or region.',
  invalid_postal_code: 'The postal code is not one the country uses.',
  postal_code_state_mismatch: 'The postal code belongs to another state.',
  invalid_phone: 'The phone number is not a valid international number.',
} as const

/** Every warning, with what it means. The address is accepted all the same. */
export const ADDRESS_WARNINGS = {
  unrecognized_state: 'The text is kept as it was given: it is no subdivision known in that country.',
  postal_code_not_used: 'The country has no postal codes; the text is kept as it was given.',
  postal_code_missing: 'The country has postal codes, and the address is found faster with one.',
  postal_code_state_mismatch: 'The postal code usually belongs to another state.',
  postal_code_of_neighbour: 'The postal code looks like one of another country.',
  po_box: 'The address is a post-office box, where no parcel service delivers.',
  phone_of_another_country: 'The phone number belongs to another country than the address.',
} as const

type FaultCode = keyof typeof ADDRESS_FAULTS
type WarningCode = keyof typeof ADDRESS_WARNINGS

type Field = keyof typeof ADDRESS_LENGTHS
type Texts = Record<Field, string | null>
type Findings = { faults: AddressFault[]; warnings: AddressWarning[]; bad: Set<Field> }

export function normalizeAddress(
  input: AddressInput,
):
  | { address: NormalAddress; faults: []; warnings: AddressWarning[] }
  | { address: null; faults: AddressFault[]; warnings: AddressWarning[] } {
  const found: Findings = { faults: [], warnings: [], bad: new Set() }
  const texts = cleanTexts(input, found)
  requireNameAndLine(texts, found)
  const country = checkCountry(texts, found)
  const state = country ? checkState(country, texts, found) : null
  const postalCode = country ? checkPostalCode(country, texts, state, found) : null
  if (country) requireCity(country, texts, found)
  const phone = checkPhone(country, texts, found)
  warnOfBox(country, texts, found)
  if (found.faults.length > 0 || !country) return { address: null, faults: found.faults, warnings: found.warnings }
  const { firstName, lastName, company, taxId, addressLine1, addressLine2, city } = texts
  const address: NormalAddress = {
    firstName,
    lastName,
    company,
    taxId,
    addressLine1: addressLine1 as string, // required above
    addressLine2,
    city,
    state: state ? state.code : texts.state,
    postalCode,
    country,
    phone,
  }
  return { address, faults: [], warnings: found.warnings }
}

function fault(found: Findings, field: Field, code: FaultCode, detail: string, example?: string): void {
  found.bad.add(field)
  found.faults.push({ pointer: `#/${field}`, code, detail, ...(example === undefined ? {} : { example }) })
}

function warn(found: Findings, field: Field, code: WarningCode, detail: string): void {
  found.warnings.push({ pointer: `#/${field}`, code, detail })
}

/** Controls, line and paragraph separators, surrogates, noncharacters, and what shows nothing at all. */
const FORBIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]|(?!\p{Variation_Selector})\p{Default_Ignorable_Code_Point}/u

/** Persian and the scripts of India write with joiners; after any other letter they only hide. */
const JOINER_IN_PLACE =
  /(?<=[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[\u200c\u200d]/gu

/** What a person writes in words. */
const WORDS = new Set<Field>(['firstName', 'lastName', 'company', 'addressLine1', 'addressLine2', 'city'])

/** What people type into a field that will not stay empty. None is a town in Piedmont, and Null a family name. */
const NO_VALUE: Partial<Record<Field, RegExp>> = {
  addressLine1: /^(?:n\/a|none|null|nil|x{3,9})$/i,
  addressLine2: /^(?:n\/a|none|null|nil|x{3,9})$/i,
  city: /^(?:n\/a|x{3,9})$/i,
  state: /^(?:n\/a|n\.a\.?|none|null|nil|x{3,9}|\p{Pd}+)$/iu,
}

/** The same for a postal code, where Hongkong Post itself advises zeros or HKG to forms that insist on one. */
const NO_POSTAL_CODE = /^(?:n\/?a|n\.a\.?|none|null|nil|x{3,9}|\p{Pd}+|0{3,}(?:[ -]0+)?)$/iu

const PLAIN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/

function cleanTexts(input: AddressInput, found: Findings): Texts {
  const texts = {} as Texts
  for (const field of Object.keys(ADDRESS_LENGTHS) as Field[]) {
    const given = input[field]
    const text = given === undefined || given === null ? '' : cleanText(given)
    texts[field] = text === '' || NO_VALUE[field]?.test(text) ? null : text
    if (WORDS.has(field) && text !== '' && !/[\p{L}\p{N}]/u.test(text)) {
      fault(found, field, 'invalid_characters', `${words(field)} holds no letter and no digit.`)
      continue
    }
    if (PLAIN.test(text) && text.length <= ADDRESS_LENGTHS[field]) continue
    if (FORBIDDEN.test(text.replace(JOINER_IN_PLACE, ''))) {
      fault(
        found,
        field,
        'invalid_characters',
        `${words(field)} holds characters that cannot be seen or printed. Type it again without them.`,
      )
    } else if ([...text].length > ADDRESS_LENGTHS[field]) {
      fault(found, field, 'too_long', `${words(field)} may have at most ${ADDRESS_LENGTHS[field]} characters.`)
    }
  }
  return texts
}

/** trim() would also take away a byte order mark and line separators, which are to be refused wherever they stand. */
function cleanText(text: string): string {
  if (PLAIN.test(text)) return text
  const single = text.normalize('NFC').replace(/\p{Zs}+/gu, ' ')
  return /[\ufeff\u2028\u2029]/.test(single) ? single : single.trim()
}

function requireNameAndLine(texts: Texts, found: Findings): void {
  if (texts.firstName === null && texts.lastName === null) {
    fault(found, 'firstName', 'name_required', 'Give a first name, a last name, or both.')
  }
  if (texts.addressLine1 === null)
    fault(found, 'addressLine1', 'required', 'Give the street and number, or the post-office box.')
}

function checkCountry(texts: Texts, found: Findings): string | null {
  if (found.bad.has('country')) return null
  if (texts.country === null) {
    fault(found, 'country', 'required', 'Give the country, by its name or its two-letter code.', 'US')
    return null
  }
  const country = findCountry(texts.country)
  if (!country)
    fault(
      found,
      'country',
      'unknown_country',
      'This country is not known. Give its name in English or its two-letter code.',
      'US',
    )
  return country
}

function requireCity(country: string, texts: Texts, found: Findings): void {
  const rules = rulesOf(country)
  if (texts.city !== null || !needs(rules, 'C')) return
  if (country === 'HK' && texts.state !== null) return // "Kowloon" is enough
  fault(
    found,
    'city',
    'required',
    `Addresses in ${nameInText(country)} need ${withArticle(rules.labels?.city ?? 'City')}.`,
  )
}

function checkState(country: string, texts: Texts, found: Findings): State | null {
  if (found.bad.has('state')) return null
  const rules = rulesOf(country)
  const label = lower(rules.labels?.state ?? 'State')
  const example = rules.states?.split(/[;|]/, 1)[0]
  if (texts.state === null) {
    const named = stateOfCity(country, texts.city)
    if (named) return named
    if (needs(rules, 'S'))
      fault(found, 'state', 'required', `Addresses in ${nameInText(country)} need ${withArticle(label)}.`, example)
    return null
  }
  const state = findState(country, texts.state)
  if (state || !rules.states) return state
  if (rules.closed || isForeignCode(country, texts.state)) {
    fault(
      found,
      'state',
      'unknown_state',
      `There is no ${label} of that name or code in ${nameInText(country)}.`,
      example,
    )
  } else {
    warn(
      found,
      'state',
      'unrecognized_state',
      `No ${label} of ${nameInText(country)} is known by that name; it is kept as you wrote it.`,
    )
  }
  return null
}

/**
 * A city that is a state of its own, or its capital and namesake: Moscow, Bogotá, Dubai, 서울특별시 중구. Not in the United
 * States, where Washington is no city of Washington.
 */
function stateOfCity(country: string, city: string | null): State | null {
  if (city === null || country === 'US') return null
  if (!needs(rulesOf(country), 'S') && !WITHOUT_STATE.has(country)) return null
  if (country === 'HK' && findCountry(city) === 'HK') return null // the island, or all of it
  // A city and its district; elsewhere the first word says nothing: Santander de Quilichao is not in Santander.
  const names = /^\p{Script=Hangul}/u.test(city) ? [city, city.split(' ')[0] as string] : [city]
  for (const name of names) {
    const state = /^[a-z0-9]{1,3}$/i.test(name) ? null : findState(country, name)
    if (state && (CITY_STATES[country]?.includes(state.code) ?? true)) return state
  }
  return null
}

/** Where a town with the name of a state may well lie in another: these alone are both. */
const CITY_STATES: Record<string, string[]> = { CO: ['DC'], VE: ['A'] }

/** Where letters do without the state, but a city that is one is known as such. */
const WITHOUT_STATE = new Set(['HK', 'RU'])

/** Short enough to be meant as a code, but not the country's own ("SG" is harmless), or the code of a state elsewhere: "US-CA". */
function isForeignCode(country: string, text: string): boolean {
  if (/^[a-z0-9]{1,3}$/i.test(text)) return findCountry(text) !== country
  const [, prefix = '', code = ''] = /^([a-z]{2})-([a-z0-9]{1,3})$/i.exec(text) ?? []
  const other = prefix === '' ? null : findCountry(prefix)
  return other !== null && (other === country || findState(other, code) !== null)
}

function checkPostalCode(country: string, texts: Texts, state: State | null, found: Findings): string | null {
  if (found.bad.has('postalCode')) return null
  const rules = rulesOf(country)
  const label = lower(rules.labels?.postalCode ?? 'Postal code')
  const example = rules.postal?.examples[0]
  if (texts.postalCode === null) {
    if (needs(rules, 'Z'))
      fault(found, 'postalCode', 'required', `Addresses in ${nameInText(country)} need ${withArticle(label)}.`, example)
    else if (country === 'IE')
      warn(found, 'postalCode', 'postal_code_missing', 'An Eircode finds the address faster; you may leave it out.')
    return null
  }
  const nothing = NO_POSTAL_CODE.test(texts.postalCode) || texts.postalCode.toUpperCase() === rules.alpha3
  if (nothing && !needs(rules, 'Z')) return null
  if (!rules.postal) {
    warn(
      found,
      'postalCode',
      'postal_code_not_used',
      `Addresses in ${nameInText(country)} carry no postal code; it is kept as you wrote it.`,
    )
    return texts.postalCode
  }
  const spelt = nothing ? null : spellPostalCode(country, texts.postalCode)
  if (spelt === null) {
    fault(
      found,
      'postalCode',
      'invalid_postal_code',
      `This is not ${withArticle(label)} of ${nameInText(country)}.`,
      example,
    )
    return null
  }
  warnOfNeighbour(country, spelt, found)
  if (state) holdAgainstState(country, spelt, state, found)
  return spelt
}

function warnOfNeighbour(country: string, postalCode: string, found: Findings): void {
  const neighbour = neighbourOf(country, postalCode)
  if (!neighbour) return
  warn(
    found,
    'postalCode',
    'postal_code_of_neighbour',
    `This postal code looks like ${nameInText(neighbour)}. Please check the country.`,
  )
}

/** A fault where the post gives each code to one state; a warning where villages are served from across the border. */
function holdAgainstState(country: string, postalCode: string, state: State, found: Findings): void {
  if (!state.prefix || state.prefix.test(postalCode)) return
  const { prefixes, borders } = rulesOf(country)
  const owners = statesWithPostalCode(country, postalCode)
  const detail = `${postalCode} ${owners[0] ? `is in ${owners[0].name}` : 'is elsewhere'}, not in ${state.name}. Please check both.`
  const across = owners.some(({ code }) => borders?.[state.code]?.split(' ').includes(code))
  if (prefixes === 'certain' && owners.length > 0 && !across)
    fault(found, 'postalCode', 'postal_code_state_mismatch', detail)
  else warn(found, 'postalCode', 'postal_code_state_mismatch', detail)
}

/** The code in the country's own spelling, or null when it has none of its shapes. */
function spellPostalCode(country: string, text: string): string | null {
  const { alpha3, postal } = rulesOf(country)
  const { shapes = [], strip = [] } = postal ?? {}
  const pattern = postalPattern(country)
  const compact = asciiDigits(text.normalize('NFKC'))
    .toUpperCase()
    .replace(/[\s.\p{Pd}\u2212]+/gu, '')
  for (const candidate of [compact, ...withoutPrefix(compact, [alpha3, country, 'CP', ...strip])]) {
    for (const shape of shapes) {
      const spelt = fitShape(shape, candidate)
      if (spelt !== null && pattern?.test(spelt)) return spelt
    }
  }
  return null
}

function withoutPrefix(compact: string, prefixes: string[]): string[] {
  return prefixes.filter((prefix) => compact.startsWith(prefix)).map((prefix) => compact.slice(prefix.length))
}

/** "1234AB" into "#### @@". Up to three letters that begin a shape may be left out: "1010" is LV-1010. */
function fitShape(shape: string, compact: string): string | null {
  const lead = /^[A-Z]{1,3}(?=[^A-Z]*#)/.exec(shape)?.[0] ?? ''
  const text = lead !== '' && !compact.startsWith(lead) ? lead + compact : compact
  let at = 0
  let spelt = ''
  for (const mark of shape) {
    if (mark === ' ' || mark === '-') {
      spelt += mark
      continue
    }
    const char = text[at++] ?? ''
    const fits =
      mark === '#'
        ? isDigit(char)
        : mark === '@'
          ? isLetter(char)
          : mark === '*'
            ? isDigit(char) || isLetter(char)
            : mark === char
    if (!fits) return null
    spelt += char
  }
  return at === text.length ? spelt : null
}

const isDigit = (char: string) => char >= '0' && char <= '9'
const isLetter = (char: string) => char >= 'A' && char <= 'Z'

/** Where the digits of Arabic, Persian, the scripts of India, Thai, Lao, Tibetan, Burmese, Khmer and Mongolian begin. */
const ZEROS = [
  0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20, 0x1040,
  0x17e0, 0x1810,
]

function asciiDigits(text: string): string {
  return text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    const point = digit.codePointAt(0) ?? 0
    const zero = ZEROS.find((start) => point >= start && point < start + 10)
    return zero === undefined ? digit : String(point - zero)
  })
}

function checkPhone(country: string | null, texts: Texts, found: Findings): string | null {
  if (texts.phone === null || found.bad.has('phone')) return null
  const text = asciiDigits(texts.phone.normalize('NFKC'))
  if (!text.startsWith('+')) {
    fault(
      found,
      'phone',
      'invalid_phone',
      'Give the phone number with a plus sign and the country code first.',
      phoneExample(country),
    )
    return null
  }
  const phone = /^\+[\d\s()./\p{Pd}\u2212]+$/u.test(text)
    ? parsePhoneNumberFromString(text, { extract: false })
    : undefined
  if (!phone?.isValid()) {
    fault(
      found,
      'phone',
      'invalid_phone',
      'This is not a valid phone number. Leave out letters and extensions.',
      phoneExample(country),
    )
    return null
  }
  // Ascension and Tristan da Cunha have numbers, but no country code of their own.
  const home = phone.country === 'AC' || phone.country === 'TA' ? 'SH' : phone.country
  if (country && home && home !== country && home !== NUMBERS_OF[country]) {
    warn(
      found,
      'phone',
      'phone_of_another_country',
      `The phone number belongs to ${nameInText(home)}, the address does not.`,
    )
  }
  return phone.number
}

/** Where people have the numbers of a neighbour: nothing is odd about those. */
const NUMBERS_OF: Record<string, string> = {
  AX: 'FI',
  BL: 'GP',
  CC: 'AU',
  CX: 'AU',
  EH: 'MA',
  GG: 'GB',
  GS: 'FK',
  IM: 'GB',
  JE: 'GB',
  MF: 'GP',
  NF: 'AU',
  PN: 'NZ',
  SJ: 'NO',
  UM: 'US',
  VA: 'IT',
}

function warnOfBox(country: string | null, texts: Texts, found: Findings): void {
  for (const field of ['addressLine1', 'addressLine2'] as const) {
    if (texts[field] !== null && isPostOfficeBox(texts[field], country)) {
      warn(found, field, 'po_box', 'This looks like a post-office box; parcels cannot be delivered there.')
    }
  }
}

const words = (field: Field) =>
  field.charAt(0).toUpperCase() + field.slice(1).replace(/[A-Z]|\d+/g, (part) => ` ${part.toLowerCase()}`)

/** The name within a sentence: in Spain, in the Netherlands. */
function nameInText(country: string): string {
  const { name } = rulesOf(country)
  return WITH_ARTICLE.test(name) ? `the ${name}` : name
}

const WITH_ARTICLE =
  /^(?:United|U\.S\.|British|Bahamas|Caribbean|Central African|Comoros|Dominican|Gambia|Isle|Maldives|Netherlands|Philippines|Seychelles)| (?:Islands|Territory|Territories)$/

function withArticle(label: string): string {
  return `${/^[aeiou]/i.test(label) ? 'an' : 'a'} ${lower(label)}`
}

/** "State" → "state", but "ZIP code" stays. */
const lower = (label: string) => (/^\p{Lu}\p{Ll}/u.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label)
