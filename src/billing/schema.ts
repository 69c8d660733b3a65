// A billing address, as it looks from outside.

import type { Static } from 'typebox'
import { pageOf } from '../core/pagination.ts'
import { ActorOf, CreatedAt, DateTime, Id, Line, Nullable, StoreId, UpdatedAt } from '../schema/fields.ts'
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
  firstName: Nullable(Text('firstName', { description: 'Given name.', examples: [EXAMPLE_ADDRESS.firstName] })),
  lastName: Nullable(Text('lastName', { description: 'Family name.', examples: [EXAMPLE_ADDRESS.lastName] })),
  company: Nullable(Text('company', { description: 'The company, for business customers.' })),
  taxId: Nullable(
    Text('taxId', {
      description:
        'VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal form, an invalid one is kept with a warning.',
      examples: ['DE136695976'],
    }),
  ),
  addressLine1: Text('addressLine1', {
    description: 'Street and number, or a PO box.',
    examples: [EXAMPLE_ADDRESS.addressLine1],
  }),
  addressLine2: Nullable(Text('addressLine2', { description: 'Apartment, floor, building and the like.' })),
  city: Nullable(Text('city', { description: 'City or town.', examples: [EXAMPLE_ADDRESS.city] })),
  state: Nullable(
    Text('state', {
      description:
        'State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there is one.',
    }),
  ),
  postalCode: Nullable(Text('postalCode', { description: 'Postal code. Returned the way its country writes it.' })),
  country: Text('country', {
    description: 'Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters.',
  }),
  phone: Nullable(
    Text('phone', {
      description:
        'Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format.',
      examples: [EXAMPLE_ADDRESS.phone],
    }),
  ),
}

export const NormalAddress = Type.Object(text, closed)
export type NormalAddress = Static<typeof NormalAddress>

const suggestion = Type.Optional(
  Type.String({ description: 'What may have been meant: the code of a state or a country.', examples: ['KA'] }),
)

const Warning = Type.Object(
  {
    pointer: Type.String({ description: 'The field, as a JSON pointer.', examples: ['#/postalCode'] }),
    code: Type.String({
      description: 'A stable code for programs. New codes may be added.',
      examples: ['invalid_tax_id'],
    }),
    detail: Type.String({ description: 'An explanation that you can show to the person filling in the form.' }),
    suggestion,
  },
  closed,
)

export const Address = Type.Object(
  {
    id: Id('addr', 'The id of the address.'),
    storeId: StoreId,
    userId: Id('user', 'The id of the user or customer the address belongs to.'),
    ...text,
    isDefault: Type.Boolean({ description: "Whether it is the user's default address in this store." }),
    formatted: Type.Array(Type.String(), {
      description: 'The address label, line by line, the way its country writes it.',
    }),
    warnings: Type.Array(Warning, { description: 'What looks wrong but was accepted.' }),
    version: Type.Integer({
      description: 'Starts at 1 and goes up with every change of the content. Invoices can refer to it.',
    }),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { title: 'Address', description: 'A billing address.', ...closed },
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
        description:
          "`true` makes this the default instead of the current one. A user's first address is always the default.",
      }),
    ),
  },
  {
    title: 'NewAddress',
    description:
      'A billing address to create. At least one of `firstName`, `lastName` and `company` is required; whether city, state and postal code are depends on the country.',
    ...closed,
  },
)
export type NewAddress = Static<typeof NewAddress>

export const AddressChanges = Type.Partial(
  Type.Object({
    ...NewAddress.properties,
    isDefault: Type.Boolean({
      description:
        '`true` makes this the default instead of the current one. `false` makes the newest of the other addresses the default; the only address of a user is always the default.',
    }),
  }),
  {
    title: 'AddressChanges',
    description:
      'Changes to a billing address. Fields that are left out keep their value; `null` clears a field. The resulting address is validated as a whole, like a new one.',
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
        '`true` if its user was erased: only country, state and postal code are left, and all other fields are `null` or empty.',
    }),
  },
  { title: 'AddressContent', description: 'The content of an address at one time.', ...closed },
)
export type AddressContent = Static<typeof AddressContent>

const holdFields = {
  reason: Line(1, 200, {
    description: 'Why the version is kept. Its user can read this.',
    examples: ['Invoice 2026-0042'],
  }),
  until: DateTime({ description: 'When the hold ends: at most 5,479 days (15 years) from now.' }),
}

export const NewHold = Type.Object(holdFields, {
  title: 'NewHold',
  description: 'A hold to put on a version of an address.',
  ...closed,
})
export type NewHold = Static<typeof NewHold>

const Hold = Type.Object(
  {
    ...holdFields,
    by: ActorOf(['user', 'key'], 'Who put it on hold.'),
    at: DateTime({ description: 'When it was put on hold.' }),
  },
  {
    description: 'Set if the version is on hold: the store can read it until then, even if its user is erased.',
    ...closed,
  },
)

export const AddressVersion = Type.Object(
  {
    version: Type.Integer({ description: 'The number of the version, counted from 1.' }),
    at: DateTime({ description: 'When this version was created.' }),
    by: ActorOf(
      ['user', 'key'],
      'Who created it: the user themselves, or a member or key of the store that manages the address for them.',
    ),
    address: AddressContent,
    hold: Nullable(Hold),
  },
  { title: 'AddressVersion', description: 'One version of an address. Versions never change.', ...closed },
)
export type AddressVersion = Static<typeof AddressVersion>
export const AddressVersions = pageOf(AddressVersion, 'AddressVersions')

export const InvoiceAddress = Type.Object(
  { ...AddressContent.properties, isDefault },
  { title: 'InvoiceAddress', description: 'A billing address, as the store sees it.', ...closed },
)
export type InvoiceAddress = Static<typeof InvoiceAddress>
export const InvoiceAddresses = pageOf(InvoiceAddress, 'InvoiceAddresses')

export const AddressFault = Type.Object(
  {
    pointer: Type.String({ description: 'The field, as a JSON pointer.', examples: ['#/postalCode'] }),
    code: Type.String({ description: 'A stable code for programs.', examples: ['invalid_postal_code'] }),
    detail: Type.String({ description: 'An explanation that you can show to the person filling in the form.' }),
    example: Type.Optional(Type.String({ description: 'A valid value.', examples: ['80331'] })),
    suggestion,
  },
  { title: 'AddressFault', description: 'One thing that is wrong with an address.', ...closed },
)

export const CheckedAddress = Type.Object(
  {
    valid: Type.Boolean({ description: 'Whether the address would be accepted.' }),
    normalized: Nullable(
      Type.Object(text, { description: 'The address as it would be stored. `null` if it is not valid.', ...closed }),
    ),
    formatted: Nullable(
      Type.Array(Type.String(), { description: 'The address label, line by line. `null` if it is not valid.' }),
    ),
    preview: Nullable(
      Type.Object(
        {
          address: Type.Object(
            { ...text, addressLine1: Nullable(text.addressLine1) },
            { description: 'Each field in normal form where it is valid, otherwise as it was sent.', ...closed },
          ),
          formatted: Address.properties.formatted,
        },
        {
          description:
            'The address as far as it is filled in, valid or not, to show while somebody types. `null` if the country is not known.',
          ...closed,
        },
      ),
    ),
    errors: Type.Array(AddressFault, { description: 'What is wrong with the address. Empty if it is valid.' }),
    warnings: Address.properties.warnings,
  },
  { title: 'CheckedAddress', description: 'The result of validating an address.', ...closed },
)
export type CheckedAddress = Static<typeof CheckedAddress>

const HeldVersion = Type.Object(
  {
    addressId: Id('addr', 'The id of the address.'),
    version: Type.Integer({ description: 'The number of the version.' }),
    reason: Type.String({ description: 'Why the store keeps it.' }),
    until: DateTime({ description: 'When the hold ends and the version is erased as well.' }),
  },
  { title: 'HeldVersion', description: 'A version of an address that is on hold.', ...closed },
)
export type HeldVersion = Static<typeof HeldVersion>

/** The versions on hold, which outlive an erasure. */
export const held = Type.Array(HeldVersion, {
  description: 'The versions of addresses that the store can still read, because it has put them on hold.',
})

// ---- in an export ----------------------------------------------------------------------------------------------------

/** An address without its user, whose export it is. The label and the warnings are those that are kept with it. */
const { userId: _userId, ...exported } = Address.properties
const { isDefault: _isDefault, updatedAt: _updatedAt, ...exportedVersion } = exported

export const ExportedAddress = Type.Object(exported, closed)
export const ExportedVersion = Type.Object(
  {
    ...exportedVersion,
    from: DateTime({ description: 'Since when the address had this content.' }),
    until: DateTime({ description: 'When it was changed or deleted.' }),
  },
  closed,
)
export const ExportedDefault = Type.Object(
  {
    storeId: StoreId,
    addressId: Id('addr', 'The id of the address.'),
    from: DateTime({ description: 'Since when it was the default.' }),
    until: Nullable(
      Type.String({ format: 'date-time', description: 'Until when it was the default. `null`: it still is.' }),
    ),
  },
  closed,
)
export const ExportedHold = Type.Object({ storeId: StoreId, ...HeldVersion.properties }, closed)
