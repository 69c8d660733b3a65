// The routes of customers. Those of their addresses are in billing-routes.ts.

import { EXAMPLE_ADDRESS } from '../billing/schema.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { MAX_EXTERNAL_ID_LENGTH } from '../schema/external-id.ts'
import { OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { customerBillingRoutes } from './billing-routes.ts'
import { listCustomers, parseCustomerChanges, putCustomer, readCustomer } from './customers.ts'
import { eraseCustomer } from './erase.ts'
import { exportCustomer } from './export.ts'
import { importCustomers } from './import.ts'
import { checkAddressCount } from './import-lines.ts'
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
      description: 'Newest first; with `q`, ordered by external id.',
      query: Type.Object(
        {
          q: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: MAX_EXTERNAL_ID_LENGTH,
              description: 'The beginning of an `externalId`, or a whole e-mail address.',
            }),
          ),
          id: Type.Optional(Type.String({ maxLength: 100, description: 'Only the customer with this `id`.' })),
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
        'Takes up to 1,000 customers, with up to 5,000 addresses in all, in a body of up to 2 MiB. Each succeeds or fails on its own: new customers are created, existing ones are changed as with PUT, and addresses a customer does not have yet are added. Sending the same import again changes nothing. Imported addresses do not count towards the daily limit on versions. Imports can change all customers that the store may have twice a day (UTC): beyond that, 429. One import at a time per store, and two per account: another one gets 429.',
      body: Import,
      documentedBody: DocumentedImport,
      parse: ({ customers = [] }, _instance, faults) => {
        checkAddressCount(customers, faults)
        return customers
      },
      maxBodyBytes: MAX_IMPORT_BYTES,
      oneAtATime: 'import',
      returns: [200, ImportResults],
      effect: 'own',
      access: 'unchanged',
      example: {
        body: { customers: [{ externalId: 'customer-43', email: 'grace@example.com', addresses: [EXAMPLE_ADDRESS] }] },
      },
    },
    ({ db, instance, caller, params, body, idempotency }) =>
      importCustomers(db, instance, caller, params.storeId, body, idempotency),
  ),
  route(
    {
      id: 'customers.put',
      method: 'PUT',
      path: CUSTOMER,
      needs: 'MANAGE_CUSTOMERS',
      summary: 'Create or change a customer',
      description:
        'Creates the customer with this id in your own system (201), or updates the existing one (200). Sending the same request again changes nothing. Customers need no account. With `userId`, the external id is linked to a member who has an account; nothing else links the two.',
      body: CustomerChanges,
      bodyOptional: true,
      parse: (body, _instance, faults) => parseCustomerChanges(body, faults),
      returns: [200, Customer],
      readableWith: { permission: 'READ', identifiedBy: ['id', 'externalId'] },
      mayCreate: true,
      errors: ['already_linked', 'limit_exceeded'],
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
      description: 'Finds the customer by their id in your own system.',
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
        'This cannot be undone. E-mail, name and external id are deleted, and the key their addresses are encrypted under is destroyed. Of an address, only country, state and postal code are left for invoices, unless a version is on hold. A linked customer keeps their account and addresses: only the link and the details you stored about them are deleted. `keys` lists the keys whose `owner` is this external id: they keep working, under a random `owner`, unless you send `keys=revoke`, which also needs `MANAGE_KEYS`.',
      query: Type.Object(
        {
          keys: Type.Optional(
            OneOf(['keep', 'revoke'], {
              default: 'keep',
              description:
                'What to do with the keys whose `owner` is the external id: `keep` them, under a random `owner` in its place, or `revoke` them as well.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
      returns: [200, ErasedCustomer],
      errors: ['customer_not_found'],
      example: { query: 'keys=revoke' },
    },
    async ({ db, caller, params, query: { keys = 'keep' } }) => ({
      body: await eraseCustomer(db, caller, params, { keys }),
    }),
  ),
  route(
    {
      id: 'customers.export',
      method: 'GET',
      path: `${CUSTOMER}/export`,
      needs: 'READ',
      summary: 'Export everything held about a customer',
      description:
        'The customer, their addresses in this store with all versions, the keys whose `owner` they are (without permissions and metadata), and the events about them, as one JSON file to download. `READ` is enough for all of it, although the lists of keys and events require more. The file is streamed: if it ends early, request it again. At most two exports at a time per caller.',
      returns: [200, CustomerExport],
      answer: 'paged',
      errors: ['customer_not_found'],
    },
    ({ db, instance, params, stream }) => exportCustomer(db, instance, params, stream.stillAuthorized),
  ),
  ...customerBillingRoutes,
]
