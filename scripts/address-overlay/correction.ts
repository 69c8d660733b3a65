/**
 * What Google's address metadata and ISO 3166 have wrong, out of date or leave out, country by country, and the rules
 * neither has. Every rule of a country is in this folder, and each line says where it is from:
 *
 *   postal.ts         how postal codes are spelt
 *   postal-ranges.ts  which codes exist, and which belong to a neighbour
 *   formats.ts        the label, the required fields, the order of names, the words for fields, boxes, phone numbers
 *   states.ts         which states there are, when a city names one, and their postal codes
 *   names.ts          the names of countries
 *   state-names.ts    the names of states
 *
 * Later lines overrule earlier ones, member by member. `npm run rules` puts them into rules.json, where `CountryData`
 * describes what the service reads.
 *
 * "UPU" is the Universal Postal Union's addressing sheet of that country. A line that refuses more than Google's pattern
 * names where it was looked up: "Wikipedia" is the article "Postal codes in …" of that country unless it says otherwise,
 * "Wikipedia’s list" its "List of postal codes" as it stands in the notes of detain/zip-zapper, Validator.php, and "Google"
 * the postal codes that the metadata give to the country's states. Nothing is refused on memory alone.
 */
import type { CountryData, PostalData } from '../../src/billing/countries/countries.ts'

/** The rules that go into rules.json as they stand here. */
export const VERBATIM = [
  'place',
  'familyFirst',
  'spacedNames',
  'mononyms',
  'cityOrState',
  'cityStates',
  'countryAsCity',
  'print',
  'prefixes',
  'borders',
  'neighbours',
  'poBox',
  'phoneOf',
  'phoneRegions',
] as const satisfies (keyof CountryData)[]

export type Correction = Pick<CountryData, (typeof VERBATIM)[number] | 'format' | 'latin' | 'require' | 'labels'> & {
  /** One alpha-2 code, or several with a blank between. */
  country: string
  source: string
  /** null: no postal codes. */
  postal?: Partial<PostalData> | null
  /** Only the first level of ISO 3166-2, or only the codes that match: nobody writes the rest, and it is long. */
  onlyStates?: 'first level' | RegExp
  /** Google's key of a state → its ISO 3166-2 code. The key stays an alias. */
  stateKeys?: Record<string, string>
  /** The postal codes of a state, as a regular expression for their beginning. */
  statePrefixes?: Record<string, string>
  /** ISO codes that are no subdivision of an address: groups of islands, territories that are countries here. */
  withoutStates?: string
  /** Google lists something else than ISO: leave it. */
  withoutGoogleStates?: true
  /** Whether only the states listed are states. Left out: where Google lists them. */
  closed?: boolean
}
