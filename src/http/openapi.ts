// The OpenAPI document, made from the rows of the routes and the table of errors. docs/openapi.json is this, committed;
// a test makes it anew and compares.

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
        'Issues API keys for a store and keeps the billing addresses of its users.\n\nA method that a path does not have is 405 `method_not_allowed`, with `Allow`; a path that is not there is 404 `not_found`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }, { cookie: [] }],
    paths,
    webhooks: { event: { post: webhookOperation(schemas) } },
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      headers: { 'WWW-Authenticate': header('What the credential lacks (RFC 6750).') },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A session token (`skp_sess_…`), an access token of the configured identity provider, an API key, or a service token.',
        },
        cookie: { type: 'apiKey', in: 'cookie', name: '__Host-storekeeper', description: 'A session, for browsers.' },
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
        description: SUCCESS[status],
        ...headersOf(route),
        ...(schema ? { content: { 'application/json': { schema: toRef(schema, schemas) } } } : {}),
        ...(route.answer === 'events' ? { content: { 'text/event-stream': { schema: { type: 'string' } } } } : {}),
      },
      ...(route.mayCreate && schema
        ? {
            201: {
              description: SUCCESS[201],
              headers: { Location: LOCATION },
              content: { 'application/json': { schema: toRef(schema, schemas) } },
            },
          }
        : {}),
      ...(route.cacheSeconds ? { 304: { description: 'Not modified: your copy is current.' } } : {}),
      ...problemsOf(route),
    },
  }
}

const SUCCESS: Record<SuccessStatus, string> = {
  200: 'OK.',
  201: 'Created.',
  202: 'Accepted.',
  204: 'Done. There is no body.',
  303: 'Redirect to `Location`.',
}

function headersOf({ returns, needs, etag, cacheSeconds }: Route): Json {
  const headers = {
    // The public routes that create something, such as signing up, create nothing that has a URL of its own.
    ...(returns[0] === 201 && needs !== 'public' ? { Location: LOCATION } : {}),
    ...(returns[0] === 303
      ? { Location: header('Where to go on.'), 'Set-Cookie': header('See the description.') }
      : {}),
    ...(etag ? { ETag: header('Send it as `If-Match` to change the record only as it is now.') } : {}),
    ...(cacheSeconds
      ? { ETag: header('Changes with the content.'), 'Cache-Control': header('How long anyone may keep the answer.') }
      : {}),
  }
  return Object.keys(headers).length > 0 ? { headers } : {}
}

function header(description: string): Json {
  return { schema: { type: 'string' }, description }
}

const LOCATION = header('Where it can be read.')

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
      'Sent to the URL of every webhook that listens to the type, signed as Standard Webhooks says. It may come twice, and not in order.',
    security: [],
    parameters: [
      parameter('webhook-id', 'The `id` of the event, the same at every try: remember those you have seen.'),
      parameter('webhook-timestamp', 'When it was sent, in seconds since 1970. Refuse what is five minutes off.'),
      parameter(
        'webhook-signature',
        '`v1,` and the HMAC-SHA-256, in base64, of `{webhook-id}.{webhook-timestamp}.{body}` under the secret. While the secret is being changed there are two, with a space between: one must fit.',
      ),
    ],
    requestBody: { required: true, content: { 'application/json': { schema: toRef(WebhookMessage, schemas) } } },
    responses: {
      '2XX': { description: 'Taken. Answer within 15 seconds.' },
      410: { description: 'Gone: the webhook is switched off.' },
      default: { description: 'Not taken: it is tried again, over about three days.' },
    },
  }
}
