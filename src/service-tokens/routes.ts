// The routes of a store's service tokens.

import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { Type } from '../schema/type.ts'
import { NewServiceToken, ServiceToken, ServiceTokens, ServiceTokenWithSecret } from './schema.ts'
import { createServiceToken, listServiceTokens, readServiceToken, revokeServiceToken } from './service-tokens.ts'

export const serviceTokenRoutes: Route[] = [
  route(
    {
      id: 'serviceTokens.create',
      method: 'POST',
      path: '/v1/user/store/:storeId/service-tokens',
      needs: 'owner',
      summary: 'Issue a service token',
      description:
        "For a back end that verifies this store's keys. The token works for this store only, so requests to verify need no `storeId`, and a key of any other store is `NOT_FOUND`. It is shown only once. The operator sets how many requests per minute it can make (`SERVICE_TOKEN_RATE_LIMIT`, by default 6,000; all tokens of the store together ten times as many); beyond that, requests get 429 with `Retry-After`. Requires a sign-in within the last 10 minutes.",
      body: NewServiceToken,
      returns: [201, ServiceTokenWithSecret],
      errors: ['limit_exceeded', 'recent_sign_in_required', 'secret_no_longer_available'],
      revealsSecret: true,
      recentSignIn: true,
      example: { body: { name: 'Checkout back end' } },
    },
    ({ db, instance, caller, params, body }) => createServiceToken(db, instance, caller, params.storeId, body.name),
  ),
  route(
    {
      id: 'serviceTokens.list',
      method: 'GET',
      path: '/v1/user/store/:storeId/service-tokens',
      needs: 'owner',
      summary: 'List the service tokens',
      description: 'The tokens that owners issued for this store, newest first, without the tokens themselves.',
      query: Type.Object(PageQuery, { additionalProperties: false }),
      returns: [200, ServiceTokens],
    },
    async ({ db, instance, params, query }) => ({
      body: await listServiceTokens(db, instance, params.storeId, query),
    }),
  ),
  route(
    {
      id: 'serviceTokens.read',
      method: 'GET',
      path: '/v1/user/store/:storeId/service-tokens/:serviceTokenId',
      needs: 'owner',
      summary: 'Read a service token',
      description: 'The record, without the token itself.',
      returns: [200, ServiceToken],
      errors: ['service_token_not_found'],
    },
    async ({ db, params }) => ({ body: await readServiceToken(db, params) }),
  ),
  route(
    {
      id: 'serviceTokens.revoke',
      method: 'DELETE',
      path: '/v1/user/store/:storeId/service-tokens/:serviceTokenId',
      needs: 'owner',
      summary: 'Revoke a service token',
      description:
        'The token stops working: immediately on the node that responds, within 250 ms on the others. Revoking it again gives the same response.',
      returns: [200, ServiceToken],
      errors: ['service_token_not_found'],
    },
    async ({ db, caller, params }) => ({ body: await revokeServiceToken(db, caller, params) }),
  ),
]
