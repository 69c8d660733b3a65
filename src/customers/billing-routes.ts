// The billing addresses of a customer, kept by the store on their behalf: the same operations that a user has for their own,
// by the same rules.

import { createAddress, parseNewAddress } from '../billing/create.ts'
import { listAddresses, readAddress } from '../billing/read.ts'
import {
  Address,
  AddressChanges,
  Addresses,
  AddressVersion,
  AddressVersions,
  CheckedAddress,
  EXAMPLE_ADDRESS,
  NewAddress,
} from '../billing/schema.ts'
import { deleteAddress, updateAddress } from '../billing/update.ts'
import { validationReport } from '../billing/validate.ts'
import { listVersions, readVersion } from '../billing/versions.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { Type } from '../schema/type.ts'
import { addressesOf } from './customers.ts'

const BILLING = '/v1/user/store/:storeId/customers/:externalId/billing'
const closed = { additionalProperties: false }

export const customerBillingRoutes: Route[] = [
  route(
    {
      id: 'customers.addresses.create',
      method: 'POST',
      path: BILLING,
      needs: 'MANAGE_CUSTOMERS',
      summary: 'Create a billing address for a customer',
      description:
        'It belongs to the customer, and the event names you. It is answered in normal form, with the label as its country writes it. Their first address in the store is their default there; `isDefault: true` moves the default.',
      body: NewAddress,
      parse: parseNewAddress,
      returns: [201, Address],
      etag: true,
      errors: ['customer_not_found', 'limit_exceeded'],
      access: 'unchanged',
      example: { body: { ...EXAMPLE_ADDRESS, isDefault: true } },
    },
    async ({ db, instance, caller, params, body }) =>
      createAddress(db, instance, caller, await addressesOf(db, params), params.storeId, body, null),
  ),
  route(
    {
      id: 'customers.addresses.validate',
      method: 'POST',
      path: `${BILLING}/validate`,
      needs: 'READ',
      summary: 'Try a billing address for a customer without storing it',
      description:
        'The same check as creation, and nothing is stored. What creation would answer with 422 comes as `errors` with `valid: false`; only a body that is not JSON is refused.',
      body: NewAddress,
      parse: parseNewAddress,
      handlesFaults: true,
      effect: 'read',
      returns: [200, CheckedAddress],
      errors: ['customer_not_found'],
      example: { body: EXAMPLE_ADDRESS },
    },
    async ({ db, params, body, faults }) => {
      await addressesOf(db, params)
      return { body: validationReport(body, faults) }
    },
  ),
  route(
    {
      id: 'customers.addresses.list',
      method: 'GET',
      path: BILLING,
      needs: 'READ',
      summary: 'List the billing addresses of a customer',
      description: 'The default first, then the newest.',
      query: Type.Object(PageQuery, closed),
      returns: [200, Addresses],
      errors: ['customer_not_found'],
    },
    async ({ db, instance, params, query }) => ({
      body: await listAddresses(db, instance, await addressesOf(db, params), params.storeId, query),
    }),
  ),
  route(
    {
      id: 'customers.addresses.read',
      method: 'GET',
      path: `${BILLING}/:addressId`,
      needs: 'READ',
      summary: 'Read a billing address of a customer',
      description: 'Only this customer’s: an address of somebody else looks as if it did not exist.',
      returns: [200, Address],
      etag: true,
      errors: ['customer_not_found', 'address_not_found'],
    },
    async ({ db, instance, params }) => readAddress(db, instance, await addressesOf(db, params), params),
  ),
  route(
    {
      id: 'customers.addresses.update',
      method: 'PATCH',
      path: `${BILLING}/:addressId`,
      needs: 'MANAGE_CUSTOMERS',
      summary: 'Change a billing address of a customer',
      description:
        'What is left out stays, `null` clears, and the address that comes of it is checked as a whole. A change of content makes a new version; moving the default makes none, but changes the `ETag` of both addresses.',
      body: AddressChanges,
      returns: [200, Address],
      etag: true,
      errors: ['customer_not_found', 'address_not_found', 'precondition_failed'],
      handlesFaults: true,
      access: 'unchanged',
      example: { body: { addressLine1: '2 Infinite Loop', isDefault: true } },
    },
    async ({ db, instance, caller, params, body, ifMatch, faults }) =>
      updateAddress(db, instance, caller, await addressesOf(db, params, faults), params, {
        changes: body,
        ifMatch,
        faults,
      }),
  ),
  route(
    {
      id: 'customers.addresses.delete',
      method: 'DELETE',
      path: `${BILLING}/:addressId`,
      needs: 'MANAGE_CUSTOMERS',
      summary: 'Delete a billing address of a customer',
      description:
        'If it was the default, the newest of the others becomes it. Its versions stay readable for invoices.',
      returns: [204, null],
      errors: ['customer_not_found', 'address_not_found', 'precondition_failed'],
      access: 'unchanged',
    },
    async ({ db, instance, caller, params, ifMatch }) => {
      await deleteAddress(db, instance, caller, await addressesOf(db, params), params, ifMatch)
      return { body: null }
    },
  ),
  route(
    {
      id: 'customers.addresses.versions',
      method: 'GET',
      path: `${BILLING}/:addressId/versions`,
      needs: 'READ',
      summary: 'List the versions of a billing address of a customer',
      description: 'What it was after each change of its content, the newest first.',
      query: Type.Object(PageQuery, closed),
      returns: [200, AddressVersions],
      errors: ['customer_not_found', 'address_not_found'],
    },
    async ({ db, instance, params, query }) => ({
      body: await listVersions(db, instance, await addressesOf(db, params), params, query),
    }),
  ),
  route(
    {
      id: 'customers.addresses.readVersion',
      method: 'GET',
      path: `${BILLING}/:addressId/versions/:n`,
      needs: 'READ',
      summary: 'Read a version of a billing address of a customer',
      description: 'A version once made never changes.',
      returns: [200, AddressVersion],
      errors: ['customer_not_found', 'address_not_found', 'version_not_found'],
    },
    async ({ db, instance, params }) => ({
      body: await readVersion(db, instance, await addressesOf(db, params), params),
    }),
  ),
]
