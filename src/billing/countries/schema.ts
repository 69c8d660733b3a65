// The rules of a country as a form needs them, from the very data that addresses are checked by.

import type { Static } from 'typebox'
import { pageOf } from '../../core/pagination.ts'
import { Type } from '../../schema/type.ts'

const closed = { additionalProperties: false }

const summaryFields = {
  code: Type.String({ description: 'ISO 3166-1 code of two letters.', examples: ['JP'] }),
  alpha3: Type.String({ description: 'ISO 3166-1 code of three letters.', examples: ['JPN'] }),
  name: Type.String({ description: 'The name in English.', examples: ['Japan'] }),
  localNames: Type.Array(Type.String(), {
    description: 'The name in the languages of the country.',
    examples: [['日本']],
  }),
  hasStates: Type.Boolean({ description: 'Whether `subdivisions` has states to choose from.' }),
  hasPostalCode: Type.Boolean({ description: 'Whether it has postal codes.' }),
}

const CountrySummary = Type.Object(summaryFields, {
  title: 'CountrySummary',
  description: 'A country in short.',
  ...closed,
})
export type CountrySummary = Static<typeof CountrySummary>

/** In the form of every list, though it has one page. */
export const Countries = pageOf(CountrySummary, 'Countries')
export type Countries = Static<typeof Countries>

const CountryField = Type.Object(
  {
    name: Type.String({ description: 'The field of an address.', examples: ['postalCode'] }),
    label: Type.String({
      description: 'The label to show, in English, as used in that country.',
      examples: ['ZIP code'],
    }),
    required: Type.Boolean({ description: 'Whether an address in this country needs it.' }),
    pattern: Type.Optional(Type.String({ description: 'A regular expression that the normal form matches.' })),
    example: Type.Optional(Type.String({ description: 'A valid value.' })),
  },
  { title: 'CountryField', description: 'A field of an address form.', ...closed },
)
export type CountryField = Static<typeof CountryField>

const Subdivision = Type.Object(
  {
    code: Type.String({ description: 'The value that `state` is returned as.', examples: ['13'] }),
    name: Type.String({ description: 'The name in English or in Latin script.', examples: ['Tokyo'] }),
    localName: Type.Optional(
      Type.String({ description: 'The name in local script, if it differs.', examples: ['東京都'] }),
    ),
    aliases: Type.Array(Type.String(), { description: 'Other names that are accepted.' }),
  },
  { title: 'Subdivision', description: 'A state, province or region.', ...closed },
)

export const Country = Type.Object(
  {
    ...summaryFields,
    fields: Type.Array(CountryField, {
      description:
        'The fields of a form, in the order the country writes them. Other fields are accepted but not needed.',
    }),
    requireOneOf: Type.Array(Type.Array(Type.String()), {
      description: 'Of each list, at least one field is required.',
    }),
    familyNameFirst: Type.Boolean({ description: 'Whether names are written with the family name first.' }),
    mononyms: Type.Boolean({ description: 'Whether people commonly have a single name.' }),
    onlyListedStates: Type.Boolean({
      description:
        'Whether `state` must be one of the subdivisions. Otherwise any other text is accepted, with a warning.',
    }),
    subdivisions: Type.Array(Subdivision, {
      description: 'The states, provinces or regions. Empty if there are none to choose from.',
    }),
  },
  { title: 'Country', description: 'The address rules of a country.', ...closed },
)
export type Country = Static<typeof Country>
