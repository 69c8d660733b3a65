// A billing address, as it looks from outside.

import type { Static } from 'typebox'
import { pageOf } from '../core/pagination.ts'
import { DateTime, Line, Nullable, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

const closed = { additionalProperties: false }

/** In code points. */
export const ADDRESS_LENGTHS = {
  firstName: 100,
  lastName: 100,
  company: 150,
  taxId: 50,
  addressLine1: 200,
  addressLine2: 200,
  city: 100,
  state: 100,
  postalCode: 20,
  country: 100,
  phone: 40,
} as const

/** The sample of the docs, the tests and the benchmarks. */
export const EXAMPLE_ADDRESS = {
  firstName: 'Ada',
  lastName: 'Lovelace',
  addressLine1: '1 Infinite Loop',
  city: 'Cupertino',
  state: 'CA',
  postalCode: '95014',
  country: 'US',
  phone: '+14085550123',
}

/** Text of an address. An empty one counts as left out. */
function Text(field: keyof typeof ADDRESS_LENGTHS, options: Record<string, unknown> = {}) {
  return Line(0, ADDRESS_LENGTHS[field], options)
}

/** The members that a person fills in, in their normal form. */
const text = {
  firstName: Nullable(Text('firstName')),
  lastName: Nullable(Text('lastName')),
  company: Nullable(Text('company')),
  taxId: Nullable(Text('taxId')),
  addressLine1: Text('addressLine1', { examples: [EXAMPLE_ADDRESS.addressLine1] }),
  addressLine2: Nullable(Text('addressLine2')),
  city: Nullable(Text('city')),
  state: Nullable(
    Text('state', {
      description: 'Code or name; answered as the ISO 3166-2 code without its country, where there is one.',
    }),
  ),
  postalCode: Nullable(Text('postalCode', { description: 'Answered in the spelling of its country.' })),
  country: Text('country', {
    description: 'ISO 3166 code of two or three letters, or a name; answered as two letters.',
  }),
  phone: Nullable(
    Text('phone', {
      description: 'With `+` or `00`, or as it is dialled in the country of the address; answered in E.164.',
      examples: [EXAMPLE_ADDRESS.phone],
    }),
  ),
}

export const NormalAddress = Type.Object(text, closed)
export type NormalAddress = Static<typeof NormalAddress>

const suggestion = Type.Optional(
  Type.String({ description: 'What was perhaps meant: the code of a state.', examples: ['KA'] }),
)

const Warning = Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String(), suggestion }, closed)

export const Address = Type.Object(
  {
    id: Type.String({ examples: ['addr_01k9wz3v5e8tvs8v4m8m3v5yqd'] }),
    storeId: Type.String(),
    userId: Type.String(),
    ...text,
    isDefault: Type.Boolean(),
    formatted: Type.Array(Type.String(), { description: 'The label, line by line, as its country writes it.' }),
    warnings: Type.Array(Warning, { description: 'What is odd but possible.' }),
    version: Type.Integer({ description: 'Counts the changes of content.' }),
    createdAt: DateTime(),
    updatedAt: DateTime(),
  },
  { title: 'Address', ...closed },
)
export type Address = Static<typeof Address>
export const Addresses = pageOf(Address, 'Addresses')

export const NewAddress = Type.Object(
  {
    ...Type.Partial(NormalAddress).properties,
    addressLine1: text.addressLine1,
    country: text.country,
    isDefault: Type.Optional(
      Type.Boolean({
        description: 'The first address is the default whatever this says; `true` moves the default here.',
      }),
    ),
  },
  {
    title: 'NewAddress',
    description:
      'At least one of `firstName`, `lastName` and `company`. City, state and postal code as the rules of the country say.',
    ...closed,
  },
)
export type NewAddress = Static<typeof NewAddress>

export const AddressChanges = Type.Partial(
  Type.Object({
    ...NewAddress.properties,
    isDefault: Type.Boolean({
      description:
        '`true` moves the default here; `false` hands it to the newest of the others. Your only address keeps it.',
    }),
  }),
  {
    title: 'AddressChanges',
    description:
      'What is left out stays as it is; `null` clears. The address that comes of it is checked as a whole, as if it were new.',
    ...closed,
  },
)
export type AddressChanges = Static<typeof AddressChanges>

const { isDefault, ...content } = Address.properties

/** The content of an address at one time. Whether it was the default then is not part of it. */
export const AddressContent = Type.Object(
  {
    ...content,
    addressLine1: Nullable(text.addressLine1),
    erased: Type.Boolean({
      description:
        'The account of its user was erased: country, state and postal code are all that is left, the rest is `null` or empty.',
    }),
  },
  { title: 'AddressContent', ...closed },
)
export type AddressContent = Static<typeof AddressContent>

const holdFields = {
  reason: Line(1, 200, { description: 'Why it is kept. Its user is told.', examples: ['Invoice 2026-0042'] }),
  until: DateTime({ description: 'When the hold ends by itself: at most 5,479 days (15 years) ahead.' }),
}

export const NewHold = Type.Object(holdFields, { title: 'NewHold', ...closed })
export type NewHold = Static<typeof NewHold>

const Hold = Type.Object(
  {
    ...holdFields,
    by: Type.Object(
      { kind: OneOf(['user', 'key']), id: Type.String() },
      { ...closed, description: 'Who put it on hold.' },
    ),
    at: DateTime({ description: 'When it was put on hold.' }),
  },
  { description: 'The version stays readable for the store until then, also when its user is erased.', ...closed },
)

export const AddressVersion = Type.Object(
  {
    version: Type.Integer(),
    at: DateTime({ description: 'When this version was made.' }),
    by: Type.Object(
      { kind: OneOf(['user', 'key']), id: Type.String() },
      {
        ...closed,
        description:
          'Who made it: the user themselves or, where the store keeps their addresses, a member or key of it.',
      },
    ),
    address: AddressContent,
    hold: Nullable(Hold),
  },
  { title: 'AddressVersion', ...closed },
)
export type AddressVersion = Static<typeof AddressVersion>
export const AddressVersions = pageOf(AddressVersion, 'AddressVersions')

export const InvoiceAddress = Type.Object(
  { ...AddressContent.properties, isDefault },
  { title: 'InvoiceAddress', ...closed },
)
export type InvoiceAddress = Static<typeof InvoiceAddress>
export const InvoiceAddresses = pageOf(InvoiceAddress, 'InvoiceAddresses')

export const AddressFault = Type.Object(
  {
    pointer: Type.String({ examples: ['#/postalCode'] }),
    code: Type.String({ examples: ['invalid_postal_code'] }),
    detail: Type.String(),
    example: Type.Optional(Type.String()),
    suggestion,
  },
  { title: 'AddressFault', ...closed },
)

export const CheckedAddress = Type.Object(
  {
    valid: Type.Boolean({ description: 'Whether creation would take it.' }),
    normalized: Nullable(
      Type.Object(text, { description: 'As it would be stored; null when it is not valid.', ...closed }),
    ),
    formatted: Nullable(
      Type.Array(Type.String(), { description: 'The label, line by line; null when it is not valid.' }),
    ),
    errors: Type.Array(AddressFault, { description: 'What creation would answer with 422.' }),
    warnings: Address.properties.warnings,
  },
  { title: 'CheckedAddress', ...closed },
)
export type CheckedAddress = Static<typeof CheckedAddress>

const HeldVersion = Type.Object(
  {
    addressId: Type.String(),
    version: Type.Integer(),
    reason: Type.String({ description: 'Why the store keeps it.' }),
    until: DateTime({ description: 'When it is erased as well.' }),
  },
  { title: 'HeldVersion', ...closed },
)
export type HeldVersion = Static<typeof HeldVersion>

/** What outlives an erasure. */
export const held = Type.Array(HeldVersion, {
  description: 'The versions of addresses that stay readable for the store, because it has put a hold on them.',
})

// ---- in an export ----------------------------------------------------------------------------------------------------

/** An address without its user, whose export it is. The label and the warnings are those that are kept with it. */
const { userId: _userId, ...exported } = Address.properties
const { isDefault: _isDefault, updatedAt: _updatedAt, ...exportedVersion } = exported

export const ExportedAddress = Type.Object(exported, closed)
export const ExportedVersion = Type.Object({ ...exportedVersion, from: DateTime(), until: DateTime() }, closed)
export const ExportedDefault = Type.Object(
  {
    storeId: Type.String(),
    addressId: Type.String(),
    from: DateTime(),
    until: Nullable(Type.String({ format: 'date-time', description: '`null`: it still is.' })),
  },
  closed,
)
export const ExportedHold = Type.Object({ storeId: Type.String(), ...HeldVersion.properties }, closed)
