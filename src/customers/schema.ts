// A store's customer, as it looks from outside.

import type { Static } from 'typebox'
import {
  AddressFault,
  ExportedAddress,
  ExportedDefault,
  ExportedHold,
  ExportedVersion,
  held,
  NewAddress,
} from '../billing/schema.ts'
import { pageOf } from '../core/pagination.ts'
import { DateTime, Line, Nullable, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

const closed = { additionalProperties: false }

const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  description: 'Upper and lower case are the same. Several customers may have the same one.',
  examples: ['ada@example.com'],
})
const Name = Line(1, 200, { description: 'Of the person or company.', examples: ['Ada Lovelace'] })

export const Customer = Type.Object(
  {
    id: Type.String({
      description: 'The `userId` of their addresses.',
      examples: ['user_01k9wz3v5e8tvs8v4m8m3v5yqd'],
    }),
    externalId: Type.String({ description: 'The id that your own system has for them.', examples: ['customer-42'] }),
    email: Nullable(Email),
    name: Nullable(Name),
    createdAt: DateTime(),
    updatedAt: DateTime({ description: 'When `email` or `name` last changed.' }),
  },
  { title: 'Customer', ...closed },
)
export type Customer = Static<typeof Customer>
export const Customers = pageOf(Customer, 'Customers')

/** What a store says of a customer. */
const details = { email: Type.Optional(Nullable(Email)), name: Type.Optional(Nullable(Name)) }

export const CustomerChanges = Type.Object(
  {
    ...details,
    userId: Type.Optional(
      Type.String({
        maxLength: 100,
        description:
          'A member of the store with the role `CUSTOMER`, who has an account of their own: the external id is linked to them.',
      }),
    ),
  },
  { title: 'CustomerChanges', description: 'What is left out stays as it is; `null` clears.', ...closed },
)
export type CustomerChanges = Static<typeof CustomerChanges>

// ---- importing --------------------------------------------------------------------------------------------------------

const MAX_LINES = 1_000

export const CustomerLine = Type.Object(
  {
    externalId: Type.String({ description: 'The id that your own system has for them.', examples: ['customer-42'] }),
    ...details,
    addresses: Type.Optional(
      Type.Array(NewAddress, {
        description: 'Added to those that the customer has, unless they have the same one already. None is removed.',
      }),
    ),
  },
  { title: 'CustomerLine', ...closed },
)
export type CustomerLine = Static<typeof CustomerLine>

/** Lines are checked one by one, so that one that is not right fails alone. */
export const Import = Type.Object(
  { customers: Type.Array(Type.Unsafe<unknown>({}), { maxItems: MAX_LINES }) },
  { title: 'Import', ...closed },
)
export const DocumentedImport = Type.Object(
  { customers: Type.Array(CustomerLine, { maxItems: MAX_LINES }) },
  { title: 'Import', ...closed },
)

const ImportResult = Type.Object(
  {
    externalId: Nullable(Type.String({ description: 'As it was sent; `null` where there was none.' })),
    status: OneOf(['created', 'updated', 'failed'], {
      description: '`updated`: the customer was there, whether or not anything changed. `failed`: nothing was written.',
    }),
    errors: Type.Optional(
      Type.Array(AddressFault, { description: 'Why it failed: at most 32 faults, pointing into the request.' }),
    ),
  },
  { title: 'ImportResult', ...closed },
)
export type ImportResult = Static<typeof ImportResult>
export const ImportResults = Type.Object(
  { results: Type.Array(ImportResult, { description: 'One for each line, in their order.' }) },
  { title: 'ImportResults', ...closed },
)

// ---- erasing and exporting --------------------------------------------------------------------------------------------

export const ErasedCustomer = Type.Object({ held }, { title: 'ErasedCustomer', ...closed })

const { id: _id, ...record } = Customer.properties
export const ExportedRecord = Type.Object({ storeId: Type.String(), ...record }, closed)

export const CustomerExport = Type.Object(
  {
    exportedAt: DateTime(),
    customer: Customer,
    addresses: Type.Array(ExportedAddress, { description: 'In this store.' }),
    addressVersions: Type.Array(ExportedVersion, {
      description: 'What the addresses were before they were changed or deleted.',
    }),
    addressDefaults: Type.Array(ExportedDefault, { description: 'Which address was the default when.' }),
    holds: Type.Array(ExportedHold, { description: 'Which of their versions are on hold.' }),
    events: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          type: Type.String({ examples: ['customer.created'] }),
          at: DateTime(),
          by: OneOf(['user', 'key', 'service', 'system'], { description: 'What kind of caller it was.' }),
          data: Type.Unsafe<Record<string, unknown>>({
            type: 'object',
            additionalProperties: true,
            description: 'What else there is to say, by type.',
          }),
        },
        closed,
      ),
      { description: 'What happened to the customer in this store, newest first.' },
    ),
  },
  { title: 'CustomerExport', ...closed },
)
export type CustomerExport = Static<typeof CustomerExport>
