// How HTTP speaks of billing addresses.

import { PageQuery } from '../page.ts'
import { type Route, route } from '../route.ts'
import { Type } from '../type.ts'
import { createAddress, listAddresses, readAddress, readNewAddress } from './billing.ts'
import { Address, Addresses, NewAddress } from './schema.ts'
import { CheckedAddress, checkAddress } from './validate.ts'

export const billingRoutes: Route[] = [
  route(
    {
      method: 'POST',
      path: '/v1/store/:storeId/billing',
      needs: 'store user',
      summary: 'Create a billing address',
      description:
        'It belongs to you. It is answered in normal form, with the label as its country writes it. Your first address in a store is your default there; `isDefault: true` moves the default.',
      body: NewAddress,
      reads: readNewAddress,
      returns: [201, Address],
      errors: ['limit_exceeded'],
      ownTransaction: true,
      leavesAccess: true,
      example: {
        body: {
          firstName: 'Ada',
          lastName: 'Lovelace',
          addressLine1: '1 Infinite Loop',
          city: 'Cupertino',
          state: 'California',
          postalCode: '95014',
          country: 'United States',
          phone: '+1 (408) 555-0123',
          isDefault: true,
        },
      },
    },
    ({ db, here, caller, params, body, retry }) => createAddress(db, here, caller, params.storeId, body, retry),
  ),
  route(
    {
      method: 'POST',
      path: '/v1/store/:storeId/billing/validate',
      needs: 'store user',
      summary: 'Try a billing address without storing it',
      description:
        'The same check as creation, and nothing is stored. What creation would answer with 422 comes as `errors` with `valid: false`, so that a form can show it; only a body that is not JSON is refused.',
      body: NewAddress,
      reads: readNewAddress,
      answersFaults: true,
      asksOnly: true,
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
    async ({ body, faults }) => ({ body: checkAddress(body, faults) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/store/:storeId/billing',
      needs: 'store user',
      summary: 'List my billing addresses',
      description: 'The default first, then the newest.',
      query: Type.Object(PageQuery, { additionalProperties: false }),
      returns: [200, Addresses],
    },
    async ({ db, here, caller, params, query }) => ({
      body: await listAddresses(db, here, caller, params.storeId, query),
    }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/store/:storeId/billing/:addressId',
      needs: 'store user',
      summary: 'Read one of my billing addresses',
      description: 'Only your own: an address of somebody else looks as if it did not exist.',
      returns: [200, Address],
      errors: ['address_not_found'],
    },
    ({ db, here, caller, params }) => readAddress(db, here, caller, params.storeId, params.addressId),
  ),
]
