// The parameters of an operation in the OpenAPI document: of the path, of the query, and headers.

import type { Route } from '../core/route.ts'
import { type Json, stripExtensions } from './openapi-schemas.ts'
import { takesIdempotencyKey } from './operation.ts'

export function parametersOf(route: Route): Json[] {
  const path = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
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
            description: 'The `id` of the last event you have: the stream goes on after it.',
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
            description: 'Makes the request safe to send again: the same answer comes back, and nothing is done twice.',
          },
        ]
      : []),
    ...(signed
      ? ['Github-Public-Key-Identifier', 'Github-Public-Key-Signature'].map((name) => ({
          name,
          in: 'header',
          required: true,
          schema: { type: 'string' },
        }))
      : []),
    ...(guarded
      ? [
          {
            name: 'If-Match',
            in: 'header',
            schema: { type: 'string' },
            description: 'The `ETag` you read; 412 when it is no longer the current one.',
          },
        ]
      : []),
    ...(route.cacheSeconds
      ? [
          {
            name: 'If-None-Match',
            in: 'header',
            schema: { type: 'string' },
            description: 'The `ETag` of the answer you have; 304 when it is still the same.',
          },
        ]
      : []),
  ]
}
