// The rules of a country as a form needs them, from the very data that the check goes by.

import type { Static } from 'typebox'
import { fail } from '../core/errors.ts'
import { etagOfContent } from '../core/etag.ts'
import { pageOf } from '../core/pagination.ts'
import type { Answer } from '../core/route.ts'
import { Type } from '../schema/type.ts'
import { type CountryData, countryCodes, formatOf, needs, postalPattern, rulesOf, stateRows } from './countries.ts'
import { fold } from './fold.ts'
import { phoneExample } from './phone.ts'

const closed = { additionalProperties: false }

const summaryFields = {
  code: Type.String({ description: 'ISO 3166-1, two letters.', examples: ['JP'] }),
  alpha3: Type.String({ description: 'ISO 3166-1, three letters.', examples: ['JPN'] }),
  name: Type.String({ description: 'In English.', examples: ['Japan'] }),
  localNames: Type.Array(Type.String(), { description: 'In its own languages.', examples: [['日本']] }),
  hasStates: Type.Boolean({ description: 'Whether it has subdivisions to choose from.' }),
  hasPostalCode: Type.Boolean({ description: 'Whether it has postal codes.' }),
}

const CountrySummary = Type.Object(summaryFields, { title: 'CountrySummary', ...closed })
type CountrySummary = Static<typeof CountrySummary>

/** In the form of every list, though it is never cut. */
export const Countries = pageOf(CountrySummary, 'Countries')
type Countries = Static<typeof Countries>

const CountryField = Type.Object(
  {
    name: Type.String({ description: 'The member of an address.', examples: ['postalCode'] }),
    label: Type.String({ description: 'What it is called there, in English.', examples: ['ZIP code'] }),
    required: Type.Boolean(),
    pattern: Type.Optional(Type.String({ description: 'A regular expression for its normal form.' })),
    example: Type.Optional(Type.String({ description: 'A value that would do.' })),
  },
  { title: 'CountryField', ...closed },
)
type CountryField = Static<typeof CountryField>

const Subdivision = Type.Object(
  {
    code: Type.String({ description: 'What `state` is answered as.', examples: ['13'] }),
    name: Type.String({ examples: ['Tokyo'] }),
    localName: Type.Optional(Type.String({ examples: ['東京都'] })),
    aliases: Type.Array(Type.String(), { description: 'What else it is called.' }),
  },
  { title: 'Subdivision', ...closed },
)

export const Country = Type.Object(
  {
    ...summaryFields,
    fields: Type.Array(CountryField, {
      description: 'In the order the country writes them. What is not listed may be sent, and is not needed.',
    }),
    requireOneOf: Type.Array(Type.Array(Type.String()), { description: 'At least one of each list must be given.' }),
    familyNameFirst: Type.Boolean({ description: 'Whether names are written with the family name first.' }),
    mononyms: Type.Boolean({ description: 'Whether one name is commonly a whole name.' }),
    onlyListedStates: Type.Boolean({
      description: 'Whether a `state` must be one of the subdivisions; elsewhere other text is kept, with a warning.',
    }),
    subdivisions: Type.Array(Subdivision),
  },
  { title: 'Country', ...closed },
)
export type Country = Static<typeof Country>

let list: Answer<Countries> | null = null

/** All of them, in the order of their English names. */
export async function listCountries(): Promise<Answer<Countries>> {
  list ??= withEtag({ data: countrySummaries(), nextCursor: null })
  return list
}

export async function readCountry(code: string): Promise<Answer<Country>> {
  const country = showCountry(code)
  return country ? withEtag(country) : fail('country_not_found')
}

function withEtag<Body>(body: Body): Answer<Body> {
  return { body, etag: etagOfContent(body) }
}

export function countrySummaries(): CountrySummary[] {
  return countryCodes()
    .map(summaryOf)
    .sort((a, b) => (fold(a.name) < fold(b.name) ? -1 : 1))
}

/** The rules of a country by its code of two or three letters, or null when there is no such code. */
export function showCountry(text: string): Country | null {
  const wanted = text.toUpperCase()
  const code = countryCodes().find((known) => known === wanted || rulesOf(known).alpha3 === wanted)
  if (!code) return null
  const { familyFirst, mononyms = false, closed: onlyListedStates = false } = rulesOf(code)
  return {
    ...summaryOf(code),
    fields: fieldsOf(code),
    requireOneOf: [['firstName', 'lastName']],
    familyNameFirst: familyFirst !== undefined,
    mononyms,
    onlyListedStates,
    subdivisions: stateRows(code).map(({ code, name, localName, aliases }) => ({
      code,
      name,
      ...(localName && { localName }),
      aliases: aliases.map((alias) => alias.replace(/^=/, '')),
    })),
  }
}

function summaryOf(code: string): CountrySummary {
  const { alpha3, name, local = [], states, postal } = rulesOf(code)
  return { code, alpha3, name, localNames: local, hasStates: states !== undefined, hasPostalCode: postal !== undefined }
}

function fieldsOf(country: string): CountryField[] {
  const data = rulesOf(country)
  const names = [
    { name: 'firstName', label: 'First name', required: false },
    { name: 'lastName', label: 'Last name', required: false },
  ]
  const byLetter: Record<string, CountryField[]> = {
    N: data.familyFirst ? names.toReversed() : names,
    O: [{ name: 'company', label: 'Company', required: false }],
    A: [
      { name: 'addressLine1', label: 'Address', required: true },
      { name: 'addressLine2', label: 'Address, second line', required: false },
    ],
    C: [{ name: 'city', label: data.labels?.city ?? 'City', required: needs(data, 'C') }],
    S: [stateField(country, data)],
    Z: [postalField(country, data)],
  }
  const written = [...formatOf(data).matchAll(/%([NOACSZ])/g)].flatMap(([, letter]) => byLetter[letter ?? ''] ?? [])
  return [
    ...written,
    { name: 'country', label: 'Country', required: true, example: country },
    { name: 'taxId', label: 'Tax number', required: false },
    { name: 'phone', label: 'Phone', required: false, example: phoneExample(country) },
  ]
}

function stateField(country: string, data: CountryData): CountryField {
  const example = stateRows(country)[0]?.code
  const field = { name: 'state', label: data.labels?.state ?? 'State', required: needs(data, 'S') }
  return example === undefined ? field : { ...field, example }
}

function postalField(country: string, data: CountryData): CountryField {
  const field = { name: 'postalCode', label: data.labels?.postalCode ?? 'Postal code', required: needs(data, 'Z') }
  const pattern = postalPattern(country)?.source
  const example = data.postal?.examples[0]
  return { ...field, ...(pattern && { pattern }), ...(example && { example }) }
}
