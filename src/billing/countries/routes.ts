// The routes of the rules of countries.

import { fail } from '../../core/errors.ts'
import { etagOfContent } from '../../core/etag.ts'
import { type Answer, type Route, route } from '../../core/route.ts'
import { nameKey } from '../address/name-key.ts'
import { phoneExample } from '../address/phone.ts'
import {
  type CountryData,
  countryCodes,
  formatOf,
  postalPattern,
  requiresField,
  rulesOf,
  stateRows,
} from './countries.ts'
import { Countries, Country, type CountryField, type CountrySummary } from './schema.ts'

/** The rules change with a release; a form has the new ones at most an hour later. */
const RULES_CACHE_SECONDS = 60 * 60

export const countryRoutes: Route[] = [
  route(
    {
      id: 'countries.list',
      method: 'GET',
      path: '/v1/countries',
      needs: 'public',
      summary: 'List the countries',
      description: 'All countries in one response, ordered by their English names.',
      returns: [200, Countries],
      cacheSeconds: RULES_CACHE_SECONDS,
    },
    () => listCountries(),
  ),
  route(
    {
      id: 'countries.read',
      method: 'GET',
      path: '/v1/countries/:code',
      needs: 'public',
      summary: 'Read the address rules of a country',
      description:
        'The same rules that addresses are validated with: the fields in the order the country writes them, their labels, which of them are required, and the states to choose from.',
      returns: [200, Country],
      errors: ['country_not_found'],
      cacheSeconds: RULES_CACHE_SECONDS,
    },
    ({ params }) => readCountry(params.code),
  ),
]

let list: Answer<Countries> | null = null

/** All of them, in the order of their English names. */
async function listCountries(): Promise<Answer<Countries>> {
  list ??= withEtag({ data: countrySummaries(), nextCursor: null })
  return list
}

async function readCountry(code: string): Promise<Answer<Country>> {
  const country = showCountry(code)
  return country ? withEtag(country) : fail('country_not_found')
}

function withEtag<Body>(body: Body): Answer<Body> {
  return { body, etag: etagOfContent(body) }
}

export function countrySummaries(): CountrySummary[] {
  return countryCodes()
    .map(summaryOf)
    .sort((a, b) => (nameKey(a.name) < nameKey(b.name) ? -1 : 1))
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
    requireOneOf: [['firstName', 'lastName', 'company']],
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
    C: [{ name: 'city', label: data.labels?.city ?? 'City', required: requiresField(data, 'C') }],
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
  const field = { name: 'state', label: data.labels?.state ?? 'State', required: requiresField(data, 'S') }
  return example === undefined ? field : { ...field, example }
}

function postalField(country: string, data: CountryData): CountryField {
  const field = {
    name: 'postalCode',
    label: data.labels?.postalCode ?? 'Postal code',
    required: requiresField(data, 'Z'),
  }
  const pattern = postalPattern(country)?.source
  const example = data.postal?.examples[0]
  return { ...field, ...(pattern && { pattern }), ...(example && { example }) }
}
