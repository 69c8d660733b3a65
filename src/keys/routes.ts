// How HTTP speaks of API keys.

import { Words } from '../check.ts'
import { PageQuery } from '../page.ts'
import { type Route, route } from '../route.ts'
import { Type } from '../type.ts'
import { readNewKey } from './input.ts'
import { createKey, listKeys, readGrantable, readKey } from './keys.ts'
import { Grantable, KEY_STATUSES, KEY_TYPES, Key, Keys, KeyWithSecret, NewKey } from './schema.ts'

export const keyRoutes: Route[] = [
  route(
    {
      method: 'POST',
      path: '/v1/user/store/:storeId/keys',
      needs: 'MANAGE_KEYS',
      summary: 'Create an API key',
      description:
        'The answer carries the full key as `key`: it is shown once, here, and never again. Should the answer be lost on its way, send the same request with the same `Idempotency-Key` within the hour: you get the same key, not a second one. You cannot give a key what you do not hold yourself.',
      body: NewKey,
      reads: readNewKey,
      returns: [201, KeyWithSecret],
      errors: ['cannot_grant', 'limit_exceeded', 'secret_no_longer_available'],
      onceOnly: true,
      ownTransaction: true,
      leavesAccess: true,
      example: {
        body: {
          name: 'Checkout',
          type: 'PROD',
          permissions: ['READ', 'WRITE'],
          metadata: { description: 'Used by the checkout page' },
        },
      },
    },
    ({ db, here, caller, params, body, retry }) => createKey(db, here, caller, params.storeId, body, retry),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store/:storeId/keys',
      needs: 'MANAGE_KEYS',
      summary: 'List the keys',
      description: 'Newest first, without their secrets.',
      query: Type.Object(
        { ...PageQuery, status: Type.Optional(Words(KEY_STATUSES)), type: Type.Optional(Words(KEY_TYPES)) },
        { additionalProperties: false },
      ),
      returns: [200, Keys],
      example: { query: 'status=ACTIVE&limit=10' },
    },
    async ({ db, here, params, query }) => ({ body: await listKeys(db, here, params.storeId, query) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store/:storeId/keys/grantable',
      needs: 'MANAGE_KEYS',
      summary: 'What may I grant',
      description: 'The permissions and types you can give to a key here.',
      returns: [200, Grantable],
    },
    async ({ caller }) => ({ body: readGrantable(caller) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store/:storeId/keys/:keyId',
      needs: 'MANAGE_KEYS',
      summary: 'Read a key',
      description: 'The record, without its secret.',
      returns: [200, Key],
      errors: ['key_not_found'],
    },
    ({ db, params }) => readKey(db, params.storeId, params.keyId),
  ),
]
