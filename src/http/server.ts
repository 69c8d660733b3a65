// The only file that names the framework. Fastify carries the bytes; what a request means is walk.ts.
// Its defaults that would coerce, drop, or answer in another form than problem+json are turned off here.

import type { OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { now } from '../core/clock.ts'
import { ERRORS, type ErrorCode, Failure } from '../core/errors.ts'
import { describeError } from '../core/failures.ts'
import { newId } from '../core/ids.ts'
import type { Chunks, Route, Stream } from '../core/route.ts'
import { VERIFY_PATH } from '../keys/schema.ts'
import type { LoadShedder, Priority } from '../limits/load-shedding.ts'
import { type EventStreams, pipeEvents } from './event-stream.ts'
import { type FastPath, newFastVerify } from './fast-verify.ts'
import { toReadable } from './json-stream.ts'
import type { Metrics } from './metrics.ts'
import type { Page } from './pages.ts'
import { handle, type Outgoing, type Pipeline } from './pipeline.ts'
import { renderProblem, toFailure } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who made the request, for its line in the log. */
    caller: Outgoing['caller']
    /** The pattern of the path it came by. */
    route: string | null
    /** Of a stream: how long it took until the stream began. */
    beganMs: number | null
  }
}

const BODY_LIMIT = 64 * 1024
const MAX_CONNECTIONS = 10_000
const MAX_HEADERS = 100

export type ServerParts = {
  pipeline: Pipeline
  routes: Route[]
  /** What is not part of the API: health, metrics, docs. */
  pages: Page[]
  /** While we stop, whoever is answered is told not to send more on that connection. */
  draining: () => boolean
  loadShedder: LoadShedder
  streams: EventStreams
  metrics: Metrics
  log: Logger
  trustProxy: false | number | string[]
}

export async function buildServer(parts: ServerParts): Promise<FastifyInstance> {
  const app = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT,
    requestTimeout: 30_000,
    http: {
      headersTimeout: 10_000,
      maxHeaderSize: 16_384,
      connectionsCheckingInterval: 2_000,
      // Node would answer it with an empty 400: checkHead says it as everything else is said.
      requireHostHeader: false,
    },
    keepAliveTimeout: 65_000,
    return503OnClosing: false,
    forceCloseConnections: false,
    exposeHeadRoutes: true,
    trustProxy: trusted(parts.trustProxy),
    genReqId: () => newId('req'),
    // As long as a URL can be: an id that is too long is an id that does not exist. (No route has a pattern to run wild.)
    routerOptions: { maxParamLength: 16_384, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => sendProblem(reply, request, frameworkFailure(error)),
    clientErrorHandler: answerClientError,
  })
  app.decorateRequest('caller', null)
  app.decorateRequest('route', null)
  app.decorateRequest('beganMs', null)
  app.server.maxConnections = MAX_CONNECTIONS
  // Node drops what comes after so many and says nothing: one more is let in, so that checkHead sees there are too many.
  app.server.maxHeadersCount = MAX_HEADERS + 1
  // An expectation we do not know is ignored (RFC 9110, 10.1.1), instead of an empty 417.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // Bytes come through as they are: json.ts reads them, after we know who sent them.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error, request, reply) => {
    const failure = failureOf(error, request)
    if (failure.code === 'internal_error')
      parts.log.error({ requestId: request.id, err: describeError(failure.cause) }, 'failed')
    return sendProblem(reply, request, failure)
  })
  // Hooks with a callback: a promise for each hook and request is a good part of what a short answer costs.
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SAFE_HEADERS)
    reply.header('x-request-id', request.id)
    if (parts.draining()) reply.header('connection', 'close')
    // Read once: Fastify makes a new object of the route's facts each time they are asked for.
    request.route = request.routeOptions.url ?? null
    try {
      checkHead(request)
      // Counted by the answer's end, which comes also when the caller went away in the middle of a body.
      reply.raw.once('close', parts.loadShedder.release)
      parts.loadShedder.admit(PRIORITIES[request.route ?? ''] ?? 'normal')
      done()
    } catch (error) {
      done(error as Failure)
    }
  })
  app.addHook('onResponse', (request, reply, done) => {
    logAndCount(parts, request, reply)
    done()
  })
  if (parts.pipeline.corsOrigins.length > 0)
    await app.register((await import('@fastify/cors')).default, {
      origin: parts.pipeline.corsOrigins,
      credentials: true,
      methods: ['GET', 'POST', 'PATCH', 'DELETE'],
      allowedHeaders: [
        'authorization',
        'content-type',
        'idempotency-key',
        'if-match',
        'if-none-match',
        'last-event-id',
      ],
      exposedHeaders: [
        'etag',
        'location',
        'retry-after',
        'ratelimit',
        'ratelimit-policy',
        'idempotent-replayed',
        'x-request-id',
      ],
      maxAge: 600,
    })
  const fastPath = addFastVerify(app, parts)
  for (const route of parts.routes) addRoute(app, parts, route, fastPath)
  for (const shadow of shadowedMethods(parts.routes))
    app.route({ ...shadow, handler: (request, reply) => sendProblem(reply, request, notFoundOr405(parts, request)) })
  for (const page of parts.pages) addPage(app, page)
  app.setNotFoundHandler((request, reply) => sendProblem(reply, request, notFoundOr405(parts, request)))
  return app
}

/** So many proxies stand in front: the address before them is the caller's. */
function trusted(setting: ServerParts['trustProxy']): boolean | string[] | ((address: string, hop: number) => boolean) {
  return typeof setting === 'number' ? (_address, hop) => hop < setting : setting
}

/** Stands before the framework and takes what it can answer at once. */
function addFastVerify(app: FastifyInstance, parts: ServerParts): FastPath {
  const [fallback] = app.server.listeners('request') as ((request: unknown, response: unknown) => void)[]
  if (!fallback) throw new Error('The framework listens to no requests')
  const fastPath = newFastVerify({
    pipeline: parts.pipeline,
    routes: parts.routes,
    loadShedder: parts.loadShedder,
    draining: parts.draining,
    headers: SAFE_HEADERS,
    longestBody: BODY_LIMIT,
    fallback,
    answered: parts.metrics.bufferedCounter('POST', VERIFY_PATH, 200),
  })
  app.server.removeAllListeners('request')
  app.server.on('request', (request, response) => {
    if (!fastPath.tryHandle(request, response)) fallback(request, response)
  })
  return fastPath
}

function addRoute(app: FastifyInstance, parts: ServerParts, route: Route, fastPath: FastPath): void {
  app.route({
    method: route.method,
    url: route.path,
    ...(route.path === VERIFY_PATH
      ? {
          preParsing: (request, _reply, payload, done) => {
            const body = fastPath.bufferedBody(request.raw)
            done(null, body ? Readable.from(body) : payload)
          },
        }
      : {}),
    handler: async (request, reply) => {
      const sent = await handle(parts.pipeline, route, {
        requestId: request.id,
        method: route.method,
        url: request.url,
        path: pathOf(request),
        at: now(),
        // Fastify's types leave these open; a path's parameters are text.
        params: request.params as Record<string, string>,
        query: request.query as Record<string, unknown>,
        headers: request.headers,
        body: Buffer.isBuffer(request.body) ? request.body : NO_BODY,
        ip: request.ip,
      })
      request.caller = sent.caller
      if (sent.stream) return sendStream(parts, request, reply, sent, sent.stream)
      if (sent.rest) return sendChunks(parts, request, reply, sent, sent.rest)
      // Nothing is sent as nothing: an empty text would be given a type.
      return reply
        .code(sent.status)
        .headers(sent.headers)
        .send(sent.body || undefined)
    },
  })
}

/** A stream is no request under way: it would count for hours, and mostly does nothing. */
function sendStream(
  parts: ServerParts,
  request: FastifyRequest,
  reply: FastifyReply,
  sent: Outgoing,
  stream: Stream,
): FastifyReply {
  // Whoever left while we looked has been counted out already.
  if (reply.raw.destroyed) return reply.hijack()
  const open = parts.streams.admit(sent.caller?.id ?? request.ip)
  reply.raw.off('close', parts.loadShedder.release)
  parts.loadShedder.release()
  request.beganMs = reply.elapsedTime
  reply.hijack()
  reply.raw.writeHead(sent.status, { ...reply.getHeaders(), ...sent.headers } as OutgoingHttpHeaders)
  // Its failures end it: what was begun with 200 cannot become a problem any more.
  if (request.method === 'HEAD') {
    open.done()
    reply.raw.end()
  } else void pipeEvents(reply.raw, stream, open)
  return reply
}

/** What fails once it has begun can only be cut off. The caller sees that: the end of a chunked body is missing. */
async function sendChunks(
  parts: ServerParts,
  request: FastifyRequest,
  reply: FastifyReply,
  sent: Outgoing,
  rest: Chunks,
): Promise<FastifyReply> {
  reply.code(sent.status).headers(sent.headers)
  // Nobody waits for the rest: a HEAD, or a caller who has gone.
  if (request.method === 'HEAD' || reply.raw.destroyed) {
    await rest.return()
    return reply.send(Readable.from([]))
  }
  const stream = toReadable(sent.body, rest)
  stream.once('error', (error) => {
    const { code, cause } = toFailure(error)
    const level = code === 'internal_error' ? 'error' : 'warn'
    parts.log[level]({ requestId: request.id, code, ...(cause ? { err: describeError(cause) } : {}) }, 'cut off')
  })
  return reply.send(stream)
}

function addPage(app: FastifyInstance, page: Page): void {
  app.get(page.path, async (request, reply) => {
    const { status, headers, body } = await page.render(request.params as Record<string, string>)
    return reply.code(status).headers(headers).send(body)
  })
}

const NO_BODY = Buffer.alloc(0)

/** How late a request is shed when the node is overloaded, by its route. */
const PRIORITIES: Record<string, Priority> = {
  '/livez': 'always',
  '/readyz': 'always',
  '/metrics': 'always',
  [VERIFY_PATH]: 'high',
}

/** For every answer. The API shows nothing in a browser; the pages loosen the policy for themselves. */
const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'cache-control': 'no-store',
}

function sendProblem(reply: FastifyReply, request: FastifyRequest, failure: Failure): FastifyReply {
  const { status, headers, body } = renderProblem(failure, request.id, pathOf(request))
  return reply
    .code(status)
    .headers({ ...SAFE_HEADERS, 'x-request-id': request.id, ...headers })
    .send(body)
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] as string
}

function logAndCount(parts: ServerParts, request: FastifyRequest, reply: FastifyReply): void {
  const ms = request.beganMs ?? reply.elapsedTime
  const route = request.route ?? 'none'
  parts.metrics.request(request.method, route, reply.statusCode, ms / 1000)
  const { caller } = request
  // One line for each key that was verified would say nothing: they are counted, here and with the key.
  const level = route === VERIFY_PATH && reply.statusCode === 200 ? 'debug' : 'info'
  // An allow-list, in fields: nothing the caller wrote can become a line of its own or carry a secret here.
  parts.log[level](
    {
      requestId: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      ms: Math.round(ms * 10) / 10,
      ...(caller ? { caller: caller.id } : {}),
    },
    'request',
  )
}

// ---- what the framework or the socket rejects -----------------------------------------------------------------------

const ONCE = ['host', 'authorization', 'content-type', 'idempotency-key', 'if-match', 'origin', 'cookie']

/** Node keeps the first of two such headers and says nothing: two are a mistake, or an attempt. */
function checkHead(request: FastifyRequest): void {
  const { rawHeaders: raw, headers, httpVersion, url = '' } = request.raw
  // The router takes "*" for "/".
  if (!/^(\/|https?:\/\/)/i.test(url)) throw new Failure('not_found')
  if (raw.length > 2 * MAX_HEADERS) throw new Failure('headers_too_large')
  if (headers.host === undefined && httpVersion === '1.1')
    throw new Failure('bad_request', { detail: 'The header "host" is missing.' })
  // Node has one entry for each name: as many names as headers are no name twice.
  if (raw.length === 2 * Object.keys(headers).length) return
  const seen = new Set<string>()
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    if (seen.has(name) && ONCE.includes(name)) {
      const code = name === 'authorization' || name === 'cookie' ? 'invalid_request' : 'bad_request'
      throw new Failure(code, { detail: `The header "${name}" was sent twice. Send it once.` })
    }
    seen.add(name)
  }
}

function failureOf(error: unknown, request: FastifyRequest): Failure {
  if (isFrameworkError(error)) return frameworkFailure(error)
  // Whoever went away in the middle of a body hears nothing of it, and it is no fault of ours.
  return request.raw.destroyed && !request.raw.complete ? new Failure('bad_request') : toFailure(error)
}

function isFrameworkError(error: unknown): error is { code: string; statusCode?: number } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('FST_')
}

const FRAMEWORK_CODES: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_json',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_ASYNC_CONSTRAINT: 'bad_request',
}

function frameworkFailure(error: { code?: string; statusCode?: number }): Failure {
  const code = FRAMEWORK_CODES[error.code ?? ''] ?? ((error.statusCode ?? 500) < 500 ? 'bad_request' : 'internal_error')
  return new Failure(code, { cause: error })
}

function notFoundOr405(parts: ServerParts, request: FastifyRequest): Failure {
  const path = pathOf(request)
  const all = [...parts.routes, ...parts.pages.map((page) => ({ method: 'GET', path: page.path }))]
  const there = all.filter((route) => matches(route.path, path))
  // "/keys/grantable" is also a "/keys/:keyId", but only to whoever has not read on.
  const closest = Math.min(...there.map((route) => paramsIn(route.path)))
  const methods = there.filter((route) => paramsIn(route.path) === closest).map((route) => route.method)
  if (methods.length === 0) return new Failure('not_found')
  const allow = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
  return new Failure('method_not_allowed', { allow })
}

/** "PATCH /keys/grantable" would otherwise be taken for a change of the key "grantable". */
function shadowedMethods(routes: Route[]): { method: Route['method']; url: string }[] {
  const exists = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  const shadows = routes.flatMap(({ path: url }) =>
    routes
      .filter(({ path }) => paramsIn(path) > paramsIn(url) && matches(path, url))
      .map(({ method }) => ({ method, url })),
  )
  return shadows.filter(({ method, url }) => {
    const name = `${method} ${url}`
    return !exists.has(name) && exists.add(name)
  })
}

function paramsIn(pattern: string): number {
  return pattern.split('/:').length - 1
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const given = path.split('/')
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => part === given[i] || (part.startsWith(':') && given[i] !== ''))
  )
}

const SOCKET_CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** What is not even HTTP: there is no request to answer, only a socket to tell and to close. */
function answerClientError(error: { code: string }, socket: import('node:net').Socket): void {
  // Whoever is still sending would lose the answer if the connection closed on them: the rest is let run past.
  if (refused.has(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const code = SOCKET_CODES[error.code] ?? 'bad_request'
  const { body } = renderProblem(new Failure(code), newId('req'), '')
  const head = {
    ...SAFE_HEADERS,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${ERRORS[code].status} ${ERRORS[code].title}\r\n${lines.join('')}\r\n${body}`)
  refused.add(socket)
  socket.removeAllListeners('data')
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

const refused = new WeakSet<object>()
const LINGER_MS = 1_000
