// The routes of billing addresses.

import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { DateTime } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { createAddress, parseNewAddress } from './create.ts'
import { holdVersion, parseHold, releaseVersion } from './holds.ts'
import { ownAddresses } from './owner.ts'
import { listAddresses, listForInvoices, readAddress, readForInvoice } from './read.ts'
import {
  Address,
  AddressChanges,
  Addresses,
  AddressVersion,
  AddressVersions,
  CheckedAddress,
  EXAMPLE_ADDRESS,
  InvoiceAddress,
  InvoiceAddresses,
  NewAddress,
  NewHold,
} from './schema.ts'
import { deleteAddress, updateAddress } from './update.ts'
import { parseTriedAddress, validationReport } from './validate.ts'
import { listVersions, readVersion } from './versions.ts'

const closed = { additionalProperties: false }

/** On the routes that are read for invoices. */
const at = Type.Optional(
  DateTime({ description: 'Show the address, and which one was the default, as of this time. Defaults to now.' }),
)

export const billingRoutes: Route[] = [
  route(
    {
      id: 'addresses.create',
      method: 'POST',
      path: '/v1/store/:storeId/billing',
      needs: 'store user',
      summary: 'Create a billing address',
      description:
        'Creates an address that belongs to you. The response has it in normal form, with the address label the way its country writes it. Your first address in a store is your default there; `isDefault: true` makes another one the default.',
      body: NewAddress,
      parse: parseNewAddress,
      returns: [201, Address],
      etag: true,
      errors: ['limit_exceeded'],
      effect: 'own',
      access: 'unchanged',
      example: {
        body: {
          ...EXAMPLE_ADDRESS,
          state: 'California',
          country: 'United States',
          phone: '+1 (408) 555-0123',
          isDefault: true,
        },
      },
    },
    ({ db, instance, caller, params, body, idempotency }) =>
      createAddress(db, instance, caller, ownAddresses(caller, params.storeId), params.storeId, body, idempotency),
  ),
  route(
    {
      id: 'addresses.validate',
      method: 'POST',
      path: '/v1/store/:storeId/billing/validate',
      needs: 'store user',
      summary: 'Validate a billing address',
      description:
        'Runs the same checks as creating an address, and stores nothing. Problems are returned as `errors` with `valid: false`, so that a form can show them; only a body that is not JSON is an error (400).',
      body: NewAddress,
      parse: parseTriedAddress,
      handlesFaults: true,
      effect: 'read',
      returns: [200, CheckedAddress],
      example: {
        body: {
          firstName: '太郎',
          lastName: '山田',
          country: '日本',
          state: '東京',
          postalCode: '1000014',
          city: '千代田区',
          addressLine1: '永田町1-7-1',
        },
      },
    },
    async ({ body, faults }) => ({ body: validationReport(body, faults) }),
  ),
  route(
    {
      id: 'addresses.validateAnonymously',
      method: 'POST',
      path: '/v1/addresses/validate',
      needs: 'caller',
      summary: 'Validate an address without a store',
      description: 'Runs the same checks as in a store, without a store or a customer. Nothing is stored.',
      body: NewAddress,
      parse: parseTriedAddress,
      handlesFaults: true,
      effect: 'read',
      returns: [200, CheckedAddress],
      example: { body: { ...EXAMPLE_ADDRESS, phone: '(408) 555-0123' } },
    },
    async ({ body, faults }) => ({ body: validationReport(body, faults) }),
  ),
  route(
    {
      id: 'addresses.list',
      method: 'GET',
      path: '/v1/store/:storeId/billing',
      needs: 'store user',
      summary: 'List my billing addresses',
      description: 'The default comes first, then the newest.',
      query: Type.Object(PageQuery, closed),
      returns: [200, Addresses],
    },
    async ({ db, instance, caller, params, query }) => ({
      body: await listAddresses(db, instance, ownAddresses(caller, params.storeId), params.storeId, query),
    }),
  ),
  route(
    {
      id: 'addresses.read',
      method: 'GET',
      path: '/v1/store/:storeId/billing/:addressId',
      needs: 'store user',
      summary: 'Read one of my billing addresses',
      description: "Only your own addresses: somebody else's looks as if it did not exist.",
      returns: [200, Address],
      etag: true,
      errors: ['address_not_found'],
    },
    ({ db, instance, caller, params }) => readAddress(db, instance, ownAddresses(caller, params.storeId), params),
  ),
  route(
    {
      id: 'addresses.update',
      method: 'PATCH',
      path: '/v1/store/:storeId/billing/:addressId',
      needs: 'store user',
      summary: 'Change one of my billing addresses',
      description:
        'Fields that are left out keep their value, and `null` clears a field. The resulting address is validated as a whole. Changing the content creates a new version; changing the default does not, but it changes the `ETag` of both addresses.',
      body: AddressChanges,
      returns: [200, Address],
      etag: true,
      errors: ['address_not_found', 'precondition_failed'],
      handlesFaults: true,
      recheck: 'own',
      access: 'unchanged',
      example: { body: { addressLine1: '2 Infinite Loop', addressLine2: null, isDefault: true } },
    },
    ({ db, instance, caller, params, body, ifMatch, faults }) =>
      updateAddress(db, instance, caller, ownAddresses(caller, params.storeId), params, {
        changes: body,
        ifMatch,
        faults,
      }),
  ),
  route(
    {
      id: 'addresses.delete',
      method: 'DELETE',
      path: '/v1/store/:storeId/billing/:addressId',
      needs: 'store user',
      summary: 'Delete one of my billing addresses',
      description:
        "If it was the default, the newest of your other addresses becomes the default. Its versions stay readable for the store's invoices.",
      returns: [204, null],
      errors: ['address_not_found', 'precondition_failed'],
      recheck: 'own',
      access: 'unchanged',
    },
    async ({ db, instance, caller, params, ifMatch }) => {
      await deleteAddress(db, instance, caller, ownAddresses(caller, params.storeId), params, ifMatch)
      return { body: null }
    },
  ),
  route(
    {
      id: 'addresses.versions',
      method: 'GET',
      path: '/v1/store/:storeId/billing/:addressId/versions',
      needs: 'store user',
      summary: 'List the versions of one of my billing addresses',
      description: 'The content of the address after each change, newest first.',
      query: Type.Object(PageQuery, closed),
      returns: [200, AddressVersions],
      errors: ['address_not_found'],
    },
    async ({ db, instance, caller, params, query }) => ({
      body: await listVersions(db, instance, ownAddresses(caller, params.storeId), params, query),
    }),
  ),
  route(
    {
      id: 'addresses.readVersion',
      method: 'GET',
      path: '/v1/store/:storeId/billing/:addressId/versions/:n',
      needs: 'store user',
      summary: 'Read a version of one of my billing addresses',
      description: 'A version never changes.',
      returns: [200, AddressVersion],
      errors: ['address_not_found', 'version_not_found'],
    },
    async ({ db, instance, caller, params }) => ({
      body: await readVersion(db, instance, ownAddresses(caller, params.storeId), params),
    }),
  ),
  route(
    {
      id: 'invoicing.list',
      method: 'GET',
      path: '/v1/user/store/:storeId/billing',
      needs: 'READ',
      summary: 'List the billing addresses of a user, for invoices',
      description:
        'The default comes first, then the newest. The list is empty for a user without addresses in this store, and for an unknown one.',
      query: Type.Object(
        { userId: Type.String({ maxLength: 100, description: 'The id of the user or customer.' }), at, ...PageQuery },
        closed,
      ),
      returns: [200, InvoiceAddresses],
      example: { query: 'userId=user_01k9wz3v5e8tvs8v4m8m3v5yqd&at=2026-01-31T12:00:00Z' },
    },
    async ({ db, instance, params, query }) => ({ body: await listForInvoices(db, instance, params.storeId, query) }),
  ),
  route(
    {
      id: 'invoicing.read',
      method: 'GET',
      path: '/v1/user/store/:storeId/billing/:addressId',
      needs: 'READ',
      summary: 'Read a billing address, for an invoice',
      description:
        'With `at`, this also finds an address that was deleted later. For an invoice, keep the `version` it was issued with, and put that version on hold.',
      query: Type.Object({ at }, closed),
      returns: [200, InvoiceAddress],
      errors: ['address_not_found'],
    },
    async ({ db, instance, params, query }) => ({ body: await readForInvoice(db, instance, params, query) }),
  ),
  route(
    {
      id: 'invoicing.versions',
      method: 'GET',
      path: '/v1/user/store/:storeId/billing/:addressId/versions',
      needs: 'READ',
      summary: 'List the versions of a billing address, for invoices',
      description: 'Newest first. They remain after the address is deleted.',
      query: Type.Object(PageQuery, closed),
      returns: [200, AddressVersions],
      errors: ['address_not_found'],
    },
    async ({ db, instance, params, query }) => ({ body: await listVersions(db, instance, null, params, query) }),
  ),
  route(
    {
      id: 'invoicing.readVersion',
      method: 'GET',
      path: '/v1/user/store/:storeId/billing/:addressId/versions/:n',
      needs: 'READ',
      summary: 'Read a version of a billing address, for an invoice',
      description:
        'The version an invoice refers to. It never changes, and it remains after the address is deleted and its user has left. When its user is erased, only a hold keeps its text.',
      returns: [200, AddressVersion],
      errors: ['address_not_found', 'version_not_found'],
    },
    async ({ db, instance, params }) => ({ body: await readVersion(db, instance, null, params) }),
  ),
  route(
    {
      id: 'invoicing.hold',
      method: 'POST',
      path: '/v1/user/store/:storeId/billing/:addressId/versions/:n/hold',
      needs: 'MANAGE_ORDERS',
      summary: 'Put a version of a billing address on hold',
      description:
        'Keeps the version readable for the store until the hold ends, encrypted under its own key: even if its user is erased and, for the operator, after the store is gone. When the user erases their account, they are told what is kept and why. A second request replaces the hold.',
      body: NewHold,
      parse: (body, _instance, faults) => parseHold(body, faults),
      returns: [200, AddressVersion],
      readableWith: { permission: 'READ', identifiedBy: ['version', 'hold'] },
      errors: ['address_not_found', 'version_not_found', 'version_erased'],
      access: 'unchanged',
      example: { body: { reason: 'Invoice 2026-0042', until: '2036-12-31T00:00:00Z' } },
    },
    ({ db, instance, caller, params, body }) => holdVersion(db, instance, caller, params, body),
  ),
  route(
    {
      id: 'invoicing.release',
      method: 'DELETE',
      path: '/v1/user/store/:storeId/billing/:addressId/versions/:n/hold',
      needs: 'MANAGE_ORDERS',
      summary: 'End the hold of a version of a billing address',
      description: 'If its user has been erased in the meantime, the version is erased too, and cannot be recovered.',
      returns: [204, null],
      errors: ['address_not_found', 'version_not_found', 'hold_not_found'],
      access: 'unchanged',
    },
    async ({ db, caller, params }) => {
      await releaseVersion(db, caller, params)
      return { body: null }
    },
  ),
]
