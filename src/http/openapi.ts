// The OpenAPI document, made from the rows of the routes and the table of errors. docs/openapi.json is this, committed;
// a test makes it anew and compares.

import type { TSchema } from 'typebox'
import { ERRORS, type ErrorCode } from '../core/errors.ts'
import type { Route, SuccessStatus } from '../core/route.ts'
import { VERSION } from '../core/version.ts'
import { WebhookMessage } from '../webhooks/schema.ts'
import { parametersOf } from './openapi-parameters.ts'
import { type Json, PROBLEM, toRef } from './openapi-schemas.ts'
import { accessText, errorsOf, TAGS, tagOf } from './operation.ts'
import { challengeOf } from './problem.ts'

export function openapi(routes: Route[]): Json {
  const schemas: Json = { Problem: PROBLEM }
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Storekeeper',
      version: VERSION,
      description:
        'API keys and billing addresses for online stores.\n\nA method that a path does not support returns 405 `method_not_allowed` with an `Allow` header; an unknown path returns 404 `not_found`.',
      contact: { name: 'The operator of this installation' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that serves this document.' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }, { cookie: [] }],
    paths,
    webhooks: { event: { post: webhookOperation(schemas) } },
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      headers: { 'WWW-Authenticate': header('Why the credential was rejected (RFC 6750).') },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A session token (`skp_sess_…`), an access token from the configured identity provider, an API key, or a service token.',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-storekeeper',
          description: 'A session cookie, for browsers.',
        },
      },
    },
  }
}

function operation(route: Route, schemas: Json): Json {
  const [status, schema] = route.returns
  return {
    operationId: route.id,
    tags: [tagOf(route)],
    summary: route.summary,
    description: `${route.description}\n\n${accessText(route)}`,
    ...(route.needs === 'public' ? { security: [] } : {}),
    parameters: parametersOf(route),
    ...(route.body
      ? {
          requestBody: {
            required: !route.bodyOptional,
            content: {
              [route.form ? 'application/x-www-form-urlencoded' : 'application/json']: {
                schema: toRef(route.documentedBody ?? route.body, schemas),
                ...(route.example?.body ? { example: route.example.body } : {}),
              },
            },
          },
        }
      : {}),
    responses: {
      [status]: {
        description: successText(status, schema),
        ...headersOf(route),
        ...(schema ? { content: { 'application/json': { schema: toRef(schema, schemas) } } } : {}),
        ...(route.answer === 'events' || route.answer === 'changes'
          ? { content: { 'text/event-stream': { schema: { type: 'string' } } } }
          : {}),
      },
      ...(route.mayCreate && schema
        ? {
            201: {
              description: successText(201, schema),
              headers: { Location: LOCATION },
              content: { 'application/json': { schema: toRef(schema, schemas) } },
            },
          }
        : {}),
      ...(route.cacheSeconds ? { 304: { description: 'Not modified: the copy you have is current.' } } : {}),
      ...problemsOf(route),
    },
  }
}

const SUCCESS: Record<SuccessStatus, string> = {
  200: 'OK.',
  201: 'Created.',
  202: 'Accepted. The response has no body.',
  204: 'Done. The response has no body.',
  303: 'Redirect to `Location`.',
}

function successText(status: SuccessStatus, schema: TSchema | null): string {
  const { description } = (schema ?? {}) as { description?: string }
  return description ? `${SUCCESS[status]} ${description}` : SUCCESS[status]
}

function headersOf({ returns, needs, etag, cacheSeconds }: Route): Json {
  const headers = {
    // The public routes that create something, such as signing up, create nothing that has a URL of its own.
    ...(returns[0] === 201 && needs !== 'public' ? { Location: LOCATION } : {}),
    ...(returns[0] === 303
      ? { Location: header('Where to go on.'), 'Set-Cookie': header('See the description.') }
      : {}),
    ...(etag ? { ETag: header('Send it as `If-Match` to change the record only if nobody else has changed it.') } : {}),
    ...(cacheSeconds
      ? { ETag: header('Changes with the content.'), 'Cache-Control': header('How long the response can be cached.') }
      : {}),
  }
  return Object.keys(headers).length > 0 ? { headers } : {}
}

function header(description: string): Json {
  return { schema: { type: 'string' }, description }
}

const LOCATION = header('The path of the new resource.')

function problemsOf(route: Route): Json {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of errorsOf(route))
    byStatus.set(ERRORS[code].status, [...(byStatus.get(ERRORS[code].status) ?? []), code])
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, codes]) => [
        status,
        {
          description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join('\n\n'),
          ...(codes.some((code) => challengeOf(code)) ? { headers: CHALLENGE } : {}),
          content: {
            'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
            ...(route.browser ? { 'text/html': { schema: { type: 'string' } } } : {}),
          },
        },
      ]),
  )
}

const CHALLENGE = { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } }

/** The message that a webhook's receiver gets. */
function webhookOperation(schemas: Json): Json {
  const parameter = (name: string, description: string) => ({
    name,
    in: 'header',
    required: true,
    ...header(description),
  })
  return {
    operationId: 'webhooks.receive',
    tags: ['Webhooks'],
    summary: 'A message to a webhook',
    description:
      'Sent to the URL of every webhook that is subscribed to the type of the event, and signed according to Standard Webhooks. Messages can arrive more than once and out of order.',
    security: [],
    parameters: [
      parameter(
        'webhook-id',
        'The `id` of the event, the same for every attempt. Use it to ignore messages you have already processed.',
      ),
      parameter(
        'webhook-timestamp',
        'When it was sent, in seconds since 1970. Reject messages that are more than five minutes off.',
      ),
      parameter(
        'webhook-signature',
        '`v1,` followed by the base64 HMAC-SHA-256 of `{webhook-id}.{webhook-timestamp}.{body}` with the secret. During a rotation there are two, separated by a space: one must match.',
      ),
    ],
    requestBody: { required: true, content: { 'application/json': { schema: toRef(WebhookMessage, schemas) } } },
    responses: {
      '2XX': { description: 'Accepted. Respond within 15 seconds.' },
      410: { description: 'Gone: the webhook is disabled.' },
      default: { description: 'Not accepted: the message is retried, for about three days.' },
    },
  }
}
