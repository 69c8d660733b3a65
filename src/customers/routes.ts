// The routes of customers. Those of their addresses are in billing-routes.ts.

import { EXAMPLE_ADDRESS } from '../billing/schema.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { MAX_EXTERNAL_ID_LENGTH } from '../schema/external-id.ts'
import { Type } from '../schema/type.ts'
import { customerBillingRoutes } from './billing-routes.ts'
import { listCustomers, parseCustomerChanges, putCustomer, readCustomer } from './customers.ts'
import { eraseCustomer } from './erase.ts'
import { exportCustomer } from './export.ts'
import { importCustomers } from './import.ts'
import {
  Customer,
  CustomerChanges,
  CustomerExport,
  Customers,
  DocumentedImport,
  ErasedCustomer,
  Import,
  ImportResults,
} from './schema.ts'

const MAX_IMPORT_BYTES = 2 * 1024 * 1024
const CUSTOMER = '/v1/user/store/:storeId/customers/:externalId'

/** A cursor of this list may hold an external id. */
const cursor = Type.Optional(Type.String({ ...PageQuery.cursor, maxLength: 2_000 }))

export const customerRoutes: Route[] = [
  route(
    {
      id: 'customers.list',
      method: 'GET',
      path: '/v1/user/store/:storeId/customers',
      needs: 'READ',
      summary: 'List the customers of a store',
      description: 'Newest first; with `q` in the order of their external ids.',
      query: Type.Object(
        {
          q: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: MAX_EXTERNAL_ID_LENGTH,
              description: 'The beginning of an `externalId`, or a whole e-mail address.',
            }),
          ),
          id: Type.Optional(Type.String({ maxLength: 100, description: 'The one customer with this `id`.' })),
          limit: PageQuery.limit,
          cursor,
        },
        { additionalProperties: false },
      ),
      returns: [200, Customers],
      example: { query: 'q=customer-' },
    },
    async ({ db, instance, params, query }) => ({ body: await listCustomers(db, instance, params.storeId, query) }),
  ),
  route(
    {
      id: 'customers.import',
      method: 'POST',
      path: '/v1/user/store/:storeId/customers/import',
      needs: 'MANAGE_CUSTOMERS',
      summary: 'Import customers',
      description:
        'Up to 1,000 lines in a body of up to 2 MiB, each answered for itself and written whole or not at all: new customers are created, others are changed as PUT changes them, and addresses that a customer does not have yet are added. The same import sent again changes nothing. Addresses that are imported do not count towards the versions of a day.',
      body: Import,
      documentedBody: DocumentedImport,
      maxBodyBytes: MAX_IMPORT_BYTES,
      returns: [200, ImportResults],
      effect: 'own',
      access: 'unchanged',
      example: {
        body: { customers: [{ externalId: 'customer-43', email: 'grace@example.com', addresses: [EXAMPLE_ADDRESS] }] },
      },
    },
    ({ db, instance, caller, params, body, idempotency }) =>
      importCustomers(db, instance, caller, params.storeId, body.customers, idempotency),
  ),
  route(
    {
      id: 'customers.put',
      method: 'PUT',
      path: CUSTOMER,
      needs: 'MANAGE_CUSTOMERS',
      summary: 'Create or change a customer',
      description:
        'Makes the customer with this id of your own system (201), or finds and changes the one there is (200); sent again it changes nothing. They need no account. With `userId` the external id is linked to a member who has one; that is the only way the two are joined.',
      body: CustomerChanges,
      bodyOptional: true,
      parse: (body, _instance, faults) => parseCustomerChanges(body, faults),
      returns: [200, Customer],
      mayCreate: true,
      errors: ['already_linked'],
      access: 'unchanged',
      example: { body: { email: 'ada@example.com', name: 'Ada Lovelace' } },
    },
    ({ db, instance, caller, params, body }) => putCustomer(db, instance, caller, params, body),
  ),
  route(
    {
      id: 'customers.read',
      method: 'GET',
      path: CUSTOMER,
      needs: 'READ',
      summary: 'Read a customer',
      description: 'By the id of your own system, percent-encoded: a slash in it is written as `%2F`.',
      returns: [200, Customer],
      errors: ['customer_not_found'],
    },
    ({ db, instance, params }) => readCustomer(db, instance, params),
  ),
  route(
    {
      id: 'customers.erase',
      method: 'DELETE',
      path: CUSTOMER,
      needs: 'MANAGE_CUSTOMERS',
      summary: 'Erase a customer',
      description:
        'Cannot be undone. E-mail, name and external id go, and the key that the addresses are sealed under is destroyed: of an address that an invoice points at, country, state and postal code are left, unless its version is on hold. A customer who was linked keeps their account and their addresses: only the link and what you have said of them go.',
      returns: [200, ErasedCustomer],
      errors: ['customer_not_found'],
      access: 'unchanged',
    },
    async ({ db, caller, params }) => ({ body: await eraseCustomer(db, caller, params) }),
  ),
  route(
    {
      id: 'customers.export',
      method: 'GET',
      path: `${CUSTOMER}/export`,
      needs: 'READ',
      summary: 'Export all that is held about a customer',
      description:
        'The customer, their addresses in this store with all they were, and what happened to them, complete, as one JSON file to download. It is sent as it is read: when it breaks off, ask again. Two at a time for each caller.',
      returns: [200, CustomerExport],
      answer: 'paged',
      errors: ['customer_not_found'],
    },
    ({ db, instance, params, stream }) => exportCustomer(db, instance, params, stream.stillAuthorized),
  ),
  ...customerBillingRoutes,
]
