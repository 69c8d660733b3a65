// The parameters of an operation in the OpenAPI document: of the path, of the query, and headers.

import type { Route } from '../core/route.ts'
import { type Json, stripExtensions } from './openapi-schemas.ts'
import { takesExpectedUser, takesIdempotencyKey } from './operation.ts'

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
  return [...path, ...query, ...headersOf(route)]
}

/** Named in the order in which a request comes to them. */
function headersOf(route: Route): Json[] {
  const headers: (Json | false)[] = [
    route.answer === 'events' &&
      header('Last-Event-ID', 'The `id` of the last event you received. The stream continues after it.'),
    takesExpectedUser(route) &&
      header(
        'Expected-User',
        'The id of the user you are calling for, `user_…`. If the credential is not theirs, nothing is done and the response is 409.',
      ),
    takesIdempotencyKey(route) &&
      header(
        'Idempotency-Key',
        'A value of your choice, unique to this request. If you send the request again with the same value, nothing is done twice and you get the same response.',
        { schema: { type: 'string', maxLength: 257 } },
      ),
    ...(route.signedBy === 'github' ? SIGNATURE : []),
    route.errors?.includes('precondition_failed') === true &&
      header('If-Match', 'The `ETag` you last received. If the record has changed since, the response is 412.'),
    route.cacheSeconds !== undefined &&
      header('If-None-Match', 'The `ETag` of the response you have. If it is still current, the response is 304.'),
  ]
  return headers.filter((one) => one !== false)
}

const SIGNATURE: Json[] = [
  header('Github-Public-Key-Identifier', 'GitHub sends it: the id of the key that signed the body.', {
    required: true,
  }),
  header('Github-Public-Key-Signature', 'GitHub sends it: the signature of the body.', { required: true }),
]

function header(name: string, description: string, more: Json = {}): Json {
  return { name, in: 'header', schema: { type: 'string' }, ...more, description }
}
