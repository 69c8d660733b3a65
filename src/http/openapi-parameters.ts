// The parameters of an operation in the OpenAPI document: of the path, of the query, and headers.

import type { Route } from '../core/route.ts'
import { type Json, stripExtensions } from './openapi-schemas.ts'
import { takesIdempotencyKey } from './operation.ts'

const PATH_PARAMETERS: Record<string, string> = {
  storeId: 'The id of the store, `store_…`.',
  keyId: 'The id of the key, `key_…`. Not the key itself.',
  addressId: 'The id of the address, `addr_…`.',
  n: 'The number of the version, counted from 1.',
  externalId: 'The id of the customer in your own system, percent-encoded: `/` is `%2F`.',
  owner: 'The `owner` of keys, your own id for them, percent-encoded: `/` is `%2F`.',
  code: 'The ISO 3166-1 code of the country, of two or three letters.',
  userId: 'The id of the user, `user_…`.',
  invitationId: 'The id of the invitation, `inv_…`.',
  serviceTokenId: 'The id of the service token, `svc_…`.',
  eventId: 'The id of the event, `evt_…`.',
  webhookId: 'The id of the webhook, `wh_…`.',
  deliveryId: 'The id of the delivery, `dlv_…`.',
  passkeyId: 'The id of the passkey, `passkey_…`.',
  sessionId: 'The id of the session, `sess_…`.',
}

export function parametersOf(route: Route): Json[] {
  const path = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: PATH_PARAMETERS[name ?? ''],
  }))
  const required = (route.query as { required?: string[] } | undefined)?.required ?? []
  const query = Object.entries(route.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    schema: stripExtensions(schema),
    ...('description' in schema ? { description: schema.description } : {}),
  }))
  const resumed =
    route.answer === 'events'
      ? [
          {
            name: 'Last-Event-ID',
            in: 'header',
            schema: { type: 'string' },
            description: 'The `id` of the last event you received. The stream continues after it.',
          },
        ]
      : []
  const signed = route.signedBy === 'github'
  const guarded = route.errors?.includes('precondition_failed')
  return [
    ...path,
    ...query,
    ...resumed,
    ...(takesIdempotencyKey(route)
      ? [
          {
            name: 'Idempotency-Key',
            in: 'header',
            schema: { type: 'string', maxLength: 257 },
            description:
              'A value of your choice, unique to this request. If you send the request again with the same value, nothing is done twice and you get the same response.',
          },
        ]
      : []),
    ...(signed
      ? ['Github-Public-Key-Identifier', 'Github-Public-Key-Signature'].map((name) => ({
          name,
          in: 'header',
          required: true,
          schema: { type: 'string' },
          description: `GitHub sends it: the ${name.endsWith('Signature') ? 'signature of the body' : 'id of the key that signed the body'}.`,
        }))
      : []),
    ...(guarded
      ? [
          {
            name: 'If-Match',
            in: 'header',
            schema: { type: 'string' },
            description: 'The `ETag` you last received. If the record has changed since, the response is 412.',
          },
        ]
      : []),
    ...(route.cacheSeconds
      ? [
          {
            name: 'If-None-Match',
            in: 'header',
            schema: { type: 'string' },
            description: 'The `ETag` of the response you have. If it is still current, the response is 304.',
          },
        ]
      : []),
  ]
}
