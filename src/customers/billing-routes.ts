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
import { parseTriedAddress, validationReport } from '../billing/validate.ts'
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
        'The address belongs to the customer, and the event names you as the actor. The response has it in normal form, with the address label the way its country writes it. Their first address in the store is their default there; `isDefault: true` makes another one the default.',
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
      summary: 'Validate a billing address for a customer',
      description:
        'Runs the same checks as creating an address, and stores nothing. Problems are returned as `errors` with `valid: false`; only a body that is not JSON is an error (400).',
      body: NewAddress,
      parse: parseTriedAddress,
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
      description: 'The default comes first, then the newest.',
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
      description: "Only this customer's addresses: somebody else's looks as if it did not exist.",
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
        'Fields that are left out keep their value, and `null` clears a field. The resulting address is validated as a whole. Changing the content creates a new version; changing the default does not, but it changes the `ETag` of both addresses.',
      body: AddressChanges,
      returns: [200, Address],
      readableWith: { permission: 'READ', identifiedBy: ['id', 'storeId', 'userId', 'version'] },
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
        'If it was the default, the newest of their other addresses becomes the default. Its versions stay readable for invoices.',
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
      description: 'The content of the address after each change, newest first.',
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
      description: 'A version never changes.',
      returns: [200, AddressVersion],
      errors: ['customer_not_found', 'address_not_found', 'version_not_found'],
    },
    async ({ db, instance, params }) => ({
      body: await readVersion(db, instance, await addressesOf(db, params), params),
    }),
  ),
]
