// The rules of a country as a form needs them, from the very data that addresses are checked by.

import type { Static } from 'typebox'
import { pageOf } from '../../core/pagination.ts'
import { Type } from '../../schema/type.ts'

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
export type CountrySummary = Static<typeof CountrySummary>

/** In the form of every list, though it has one page. */
export const Countries = pageOf(CountrySummary, 'Countries')
export type Countries = Static<typeof Countries>

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
export type CountryField = Static<typeof CountryField>

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
