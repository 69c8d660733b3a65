// The OpenAPI document, made from the routes' own rows and the table of errors. docs/openapi.json is this, committed;
// a test makes it anew and compares.

import type { TSchema } from 'typebox'
import { ERRORS, type ErrorCode } from '../core/errors.ts'
import { BUILT_IN_PERMISSIONS, type BuiltInPermission } from '../core/permissions.ts'
import type { Route, SuccessStatus } from '../core/route.ts'
import { WebhookMessage } from '../webhooks/schema.ts'
import { challengeOf } from './problem.ts'

const API_VERSION = '1.0.0'

type Json = Record<string, unknown>

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
      version: API_VERSION,
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

const TAGS = [
  ['Accounts', 'Signing up, signing in, sessions.'],
  ['Stores', 'Stores, their members, and invitations.'],
  ['Keys', 'API keys of a store.'],
  ['Billing', 'Billing addresses of a store user.'],
  ['Events', 'What happened in a store: the audit trail, live, and sealed.'],
  ['Webhooks', 'What happens in a store, sent to a URL.'],
  ['Countries', 'The address rules of every country.'],
] as const

export function tagOf(route: Route): string {
  if (/\/(keys?|leaks|oauth)\b/.test(route.path)) return 'Keys'
  if (/\/billing/.test(route.path)) return 'Billing'
  if (/\/events/.test(route.path)) return 'Events'
  if (/\/webhooks/.test(route.path)) return 'Webhooks'
  if (/\/countries/.test(route.path)) return 'Countries'
  return /store|invitations/.test(route.path) ? 'Stores' : 'Accounts'
}

/** `POST /v1/user/store/:storeId/keys` is `postUserStoreKeys`; what names one thing ends in it. */
export function operationId(route: Route): string {
  const words = route.path
    .replace('/v1/', '')
    .split('/')
    .map((part) => (part.startsWith(':') ? `By-${part.slice(1)}` : part))
  const last = words.at(-1)?.startsWith('By-') ? words : words.filter((word) => !word.startsWith('By-'))
  return [route.method.toLowerCase(), ...last.filter((word, i) => !word.startsWith('By-') || i === last.length - 1)]
    .join('-')
    .replace(/-+(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function operation(route: Route, schemas: Json): Json {
  const [status, schema] = route.returns
  return {
    operationId: operationId(route),
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
                schema: toRef(route.body, schemas),
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
      ...(route.cacheSeconds ? { 304: { description: 'What you have is still right.' } } : {}),
      ...problemsOf(route),
    },
  }
}

const SUCCESS: Record<SuccessStatus, string> = {
  200: 'Here it is.',
  201: 'Made.',
  204: 'Done.',
  302: 'Go on to `Location`.',
}

function headersOf({ returns, needs, etag, cacheSeconds }: Route): Json {
  const headers = {
    // Whoever signs up has made nothing that has a place of its own.
    ...(returns[0] === 201 && needs !== 'public' ? { Location: header('Where it can be read.') } : {}),
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

/** What a webhook's receiver is sent. */
function webhookOperation(schemas: Json): Json {
  const parameter = (name: string, description: string) => ({
    name,
    in: 'header',
    required: true,
    ...header(description),
  })
  return {
    operationId: 'receiveEvent',
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

function takesIdempotencyKey({ method, needs, effect }: Route): boolean {
  return method === 'POST' && needs !== 'public' && effect !== 'read'
}

export function accessText({ needs, signedBy }: Route): string {
  if (signedBy === 'github') return 'Only GitHub may call this: its signature says so.'
  switch (needs) {
    case 'public':
      return 'Anyone may call this.'
    case 'user':
      return 'Any signed-in user may call this.'
    case 'store user':
      return 'Any user with a part in the store may call this, customers included.'
    case 'key':
      return 'Only an API key may call this.'
    case 'service':
      return 'Only a service may call this, with the token that the operator issued.'
    default:
      return `Needs the permission \`${needs}\` in the store.`
  }
}

/** The failures a route can have: its own, and those of every route of its kind. */
export function errorsOf(route: Route): ErrorCode[] {
  const { needs } = route
  const inStore = BUILT_IN_PERMISSIONS.includes(needs as BuiltInPermission)
  const codes: ErrorCode[] = [
    ...(needs === 'public' ? [] : (['unauthenticated', 'invalid_token'] as const)),
    'invalid_request',
    ...(needs === 'public' ? [] : (['forbidden_ip', 'forbidden_origin'] as const)),
    ...(needs === 'user' || needs === 'store user' ? (['user_required'] as const) : []),
    ...(needs === 'key' || needs === 'service' ? ([`${needs}_required`] as const) : []),
    ...(inStore || needs === 'store user' ? (['store_not_found'] as const) : []),
    ...(inStore ? (['insufficient_permission'] as const) : []),
    ...(route.body
      ? ([route.form ? 'invalid_form' : 'invalid_json', 'unsupported_media_type', 'body_too_large'] as const)
      : []),
    ...(route.query && 'cursor' in route.query.properties ? (['invalid_cursor'] as const) : []),
    'invalid_input',
    ...(takesIdempotencyKey(route)
      ? (['invalid_idempotency_key', 'idempotency_in_progress', 'idempotency_mismatch'] as const)
      : []),
    ...(route.errors ?? []),
    'rate_limited',
    'internal_error',
    'unavailable',
    'overloaded',
  ]
  return [...new Set(codes)]
}

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
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      ]),
  )
}

const CHALLENGE = { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } }

function parametersOf(route: Route): Json[] {
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

/** A schema with a title is told once, under its title. */
function toRef(schema: TSchema, schemas: Json): Json {
  const { title } = schema as { title?: string }
  if (!title) return stripExtensions(schema, schemas)
  schemas[title] ??= stripExtensions(schema, schemas, true)
  return { $ref: `#/components/schemas/${title}` }
}

/** Without what only our validator understands. */
function stripExtensions(schema: unknown, schemas: Json | null = null, top = false): Json {
  if (Array.isArray(schema)) return schema.map((entry) => stripExtensions(entry, schemas)) as unknown as Json
  if (typeof schema !== 'object' || schema === null) return schema as Json
  if (!top && schemas && 'title' in schema && 'type' in schema) return toRef(schema as TSchema, schemas)
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => !name.startsWith('x-'))
      .map(([name, value]) => [name, stripExtensions(value, schemas)]),
  )
}

const PROBLEM = {
  type: 'object',
  description: 'What went wrong (RFC 9457). `code` is stable; the wording is not.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { type: 'string', description: 'Leads to a page about this error.', examples: ['/errors/invalid_input'] },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(ERRORS) },
    requestId: { type: 'string' },
    required: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `insufficient_permission`: what would do.',
    },
    permissions: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `cannot_grant`: what you do not hold.',
    },
    resource: {
      type: 'object',
      properties: { id: { type: 'string' } },
      description: 'With `secret_no_longer_available`: what was made.',
    },
    errors: {
      type: 'array',
      maxItems: 32,
      description: 'With `invalid_input`: every fault at once.',
      items: {
        type: 'object',
        required: ['pointer', 'code', 'detail'],
        properties: {
          pointer: { type: 'string', description: 'Where: `#/name` in the body, `?limit` in the query.' },
          code: { type: 'string' },
          detail: { type: 'string' },
          example: { type: 'string' },
        },
      },
    },
  },
}
