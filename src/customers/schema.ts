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
import { Key } from '../keys/schema.ts'
import { CreatedAt, DateTime, Id, Line, Nullable, OneOf, StoreId } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { Made } from '../stores/schema.ts'

const closed = { additionalProperties: false }

const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  description: 'E-mail address. Not case-sensitive, and not unique: several customers can have the same one.',
  examples: ['ada@example.com'],
})
const Name = Line(1, 200, { description: 'The name of the person or company.', examples: ['Ada Lovelace'] })

export const Customer = Type.Object(
  {
    id: Type.String({
      description: 'The id of the customer. It is the `userId` of their addresses.',
      examples: ['user_01k9wz3v5e8tvs8v4m8m3v5yqd'],
    }),
    externalId: Type.String({ description: 'The id that your own system has for them.', examples: ['customer-42'] }),
    email: Nullable(Email),
    name: Nullable(Name),
    createdAt: CreatedAt,
    updatedAt: DateTime({ description: 'When `email` or `name` last changed.' }),
  },
  { title: 'Customer', description: 'A customer the store manages under its own id.', ...closed },
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
          'The id of a member with the role `CUSTOMER`, who has an account of their own. The external id is linked to that account.',
      }),
    ),
  },
  {
    title: 'CustomerChanges',
    description: 'The details of a customer. Fields that are left out keep their value; `null` clears a field.',
    ...closed,
  },
)
export type CustomerChanges = Static<typeof CustomerChanges>

// ---- importing --------------------------------------------------------------------------------------------------------

const MAX_LINES = 1_000
/** Of one import. Checking and sealing them keeps a core busy for most of a second. */
export const MAX_IMPORTED_ADDRESSES = 5_000

export const CustomerLine = Type.Object(
  {
    externalId: Type.String({ description: 'The id that your own system has for them.', examples: ['customer-42'] }),
    ...details,
    addresses: Type.Optional(
      Type.Array(NewAddress, {
        description: 'Addresses to add. One that the customer already has is not added again, and none is removed.',
      }),
    ),
  },
  { title: 'CustomerLine', description: 'A customer to import.', ...closed },
)
export type CustomerLine = Static<typeof CustomerLine>

/** Lines are checked one by one, so that one that is not right fails alone. */
export const Import = Type.Object(
  {
    customers: Type.Array(Type.Unsafe<unknown>({}), {
      maxItems: MAX_LINES,
      description: 'The customers to create or update.',
    }),
  },
  { title: 'Import', description: 'Customers to import, each of which succeeds or fails on its own.', ...closed },
)
export const DocumentedImport = Type.Object(
  { customers: Type.Array(CustomerLine, { maxItems: MAX_LINES, description: 'The customers to create or update.' }) },
  { title: 'Import', description: 'Customers to import, each of which succeeds or fails on its own.', ...closed },
)

const ImportResult = Type.Object(
  {
    externalId: Nullable(Type.String({ description: 'The external id as you sent it. `null` if there was none.' })),
    status: OneOf(['created', 'updated', 'failed'], {
      description:
        '`created`: the customer is new. `updated`: the customer already existed, whether or not anything changed. `failed`: nothing was written; see `errors`.',
    }),
    errors: Type.Optional(
      Type.Array(AddressFault, {
        description:
          'Why it failed: at most 32 errors, with pointers into the request. After 5,000 errors of all lines together, one for each line.',
      }),
    ),
  },
  { title: 'ImportResult', description: 'The result for one customer.', ...closed },
)
export type ImportResult = Static<typeof ImportResult>
export const ImportResults = Type.Object(
  {
    results: Type.Array(ImportResult, {
      description: 'One result for each customer in the request, in the same order.',
    }),
  },
  { title: 'ImportResults', description: 'The result for each customer.', ...closed },
)

// ---- erasing and exporting --------------------------------------------------------------------------------------------

export const ErasedCustomer = Type.Object(
  {
    held,
    keys: Type.Array(Made.properties.keys.items, {
      description:
        'The keys whose `owner` was the external id: at most 1,000, the newest first. Their `owner` is a random value now.',
    }),
  },
  { title: 'ErasedCustomer', description: 'What is kept after the erasure.', ...closed },
)

const { id: _id, ...record } = Customer.properties
export const ExportedRecord = Type.Object({ storeId: StoreId, ...record }, closed)

const keyMembers = Key.properties
const ExportedKey = Type.Object(
  {
    id: keyMembers.id,
    name: keyMembers.name,
    type: keyMembers.type,
    status: keyMembers.status,
    createdAt: keyMembers.createdAt,
    expiresAt: keyMembers.expiresAt,
    revokedAt: keyMembers.revokedAt,
    lastUsedAt: keyMembers.lastUsedAt,
  },
  closed,
)

export const CustomerExport = Type.Object(
  {
    exportedAt: DateTime({ description: 'When the export was made.' }),
    customer: Customer,
    addresses: Type.Array(ExportedAddress, { description: 'Their addresses in this store.' }),
    addressVersions: Type.Array(ExportedVersion, {
      description: 'Earlier versions of the addresses, including deleted addresses.',
    }),
    addressDefaults: Type.Array(ExportedDefault, { description: 'Which address was the default, and when.' }),
    keys: Type.Array(ExportedKey, {
      description:
        'The keys whose `owner` they are. Permissions and metadata of these are in the list of keys, for whoever has `MANAGE_KEYS`.',
    }),
    holds: Type.Array(ExportedHold, { description: 'Which versions of their addresses are on hold.' }),
    events: Type.Array(
      Type.Object(
        {
          id: Id('evt', 'The id of the event.'),
          type: Type.String({ description: 'What happened.', examples: ['customer.created'] }),
          at: DateTime({ description: 'When it happened.' }),
          by: OneOf(['user', 'key', 'service', 'system'], { description: 'What kind of caller it was.' }),
          data: Type.Unsafe<Record<string, unknown>>({
            type: 'object',
            additionalProperties: true,
            description: 'Details, depending on the type.',
          }),
        },
        closed,
      ),
      { description: 'What happened to the customer in this store, newest first.' },
    ),
  },
  { title: 'CustomerExport', description: 'Everything the store holds about a customer.', ...closed },
)
export type CustomerExport = Static<typeof CustomerExport>
