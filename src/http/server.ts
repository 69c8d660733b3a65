// The only file that names the framework. Fastify carries the bytes; pipeline.ts answers the request. Fastify's defaults
// that would coerce, drop, or answer in another form than problem+json are turned off here.

import type { OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { withoutPort } from '../auth/ip.ts'
import { now } from '../core/clock.ts'
import type { Failure } from '../core/errors.ts'
import { describeError } from '../core/failures.ts'
import { newId } from '../core/ids.ts'
import type { Chunks, Route, Stream } from '../core/route.ts'
import { LEASE_PATH } from '../keys/in-process/schema.ts'
import { VERIFY_PATH } from '../keys/schema.ts'
import { type RateLimits, rateLimitHeaders } from '../limits/token-bucket.ts'
import { type Admission, newAdmission, type RequestListener, releaseEarly, ticketOf } from './admission.ts'
import { readBody } from './body.ts'
import { type IsProxy, newIsProxy, placeOfClient, type TrustProxy } from './client-address.ts'
import { answerClientError, checkHead, failureOf, frameworkFailure, MAX_HEADERS } from './client-errors.ts'
import { type Connections, trackConnections } from './connections.ts'
import type { Incoming, Outgoing, Pipeline } from './context.ts'
import { pipeEvents } from './event-stream.ts'
import { type FastPath, newFastVerify } from './fast-verify.ts'
import { admitStream } from './holders.ts'
import { MAX_BODY_BYTES } from './input.ts'
import { toReadable } from './json-stream.ts'
import { admitLargeBody } from './large-body.ts'
import { countsTowardsLimit } from './pace.ts'
import { NOT_FOUND_PAGE } from './pages/docs.ts'
import type { HtmlPage } from './pages/pages.ts'
import { type Admitted, checkRate, handle } from './pipeline.ts'
import { renderProblem, toFailure } from './problem.ts'
import { SAFE_HEADERS } from './response.ts'
import { isBrowser, newNotFoundOr405, shadowedMethods } from './routing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's id goes into the request's log line. */
    caller: Outgoing['caller']
    /** The pattern of the path that matched. */
    route: string | null
    /** For a stream: how long it took until the stream began. */
    beganMs: number | null
    /** For a large body. */
    admitted: Admitted | undefined
  }
}

/** `pages` are what is served beside the API: health, metrics, docs. */
export async function buildServer(
  pipeline: Pipeline,
  routes: Route[],
  pages: HtmlPage[],
  trustProxy: TrustProxy,
): Promise<{ app: FastifyInstance; admission: Admission; connections: Connections }> {
  const isProxy = newIsProxy(trustProxy)
  const app = newApp(isProxy)
  const connections = trackConnections(app.server, isProxy && ((request) => placeOfClient(request, isProxy)))
  // Bodies stay bytes: input.ts parses them, after the caller is known.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', readBody)
  app.setErrorHandler((error, request, reply) => {
    const failure = failureOf(error, request.raw)
    if (failure.code === 'internal_error')
      pipeline.log.error({ ...idsOf(pipeline, request), err: describeError(failure.cause) }, 'failed')
    return sendProblem(reply, request, failure)
  })
  addHooks(app, pipeline)
  await addCors(app, pipeline.auth.corsOrigins)
  const isPaced = !isProxy && pipeline.limits.rate !== null
  const { fastPath, admission } = addAdmission(app, pipeline, routes, connections, isPaced)
  for (const route of routes) addRoute(app, pipeline, route, fastPath)
  const notFoundOr405 = newNotFoundOr405([...routes, ...pages.map(({ path }) => ({ method: 'GET', path }))])
  const refuse = (request: FastifyRequest, reply: FastifyReply) =>
    sendProblem(reply, request, notFoundOr405(pathOf(request)))
  for (const shadowed of shadowedMethods(routes)) app.route({ ...shadowed, handler: refuse })
  for (const page of pages) addPage(app, pipeline.limits.rate, page)
  app.setNotFoundHandler(refuse)
  return { app, admission, connections }
}

function clientIp(request: FastifyRequest): string {
  return withoutPort(request.ip ?? '') // none when the connection was reset before it was accepted
}

function newApp(isProxy: IsProxy | null): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: 30_000,
    http: {
      headersTimeout: 10_000,
      maxHeaderSize: 16_384,
      connectionsCheckingInterval: 2_000,
      // Node would answer with an empty 400; checkHead answers with a problem.
      requireHostHeader: false,
    },
    keepAliveTimeout: 65_000,
    return503OnClosing: false,
    forceCloseConnections: false,
    exposeHeadRoutes: true,
    trustProxy: isProxy ?? false,
    genReqId: () => newId('req'),
    // As long as a URL can be: an id that is too long is an id that does not exist. (No route has a regular expression.)
    routerOptions: { maxParamLength: 16_384, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => sendProblem(reply, request, frameworkFailure(error)),
    clientErrorHandler: answerClientError,
  })
  app.decorateRequest('caller', null)
  app.decorateRequest('route', null)
  app.decorateRequest('beganMs', null)
  app.decorateRequest('admitted', undefined)
  // Node silently drops headers past its limit: one more than ours is let in, so that checkHead sees there are too many.
  app.server.maxHeadersCount = MAX_HEADERS + 1
  // An unknown expectation is ignored (RFC 9110, 10.1.1), instead of an empty 417.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  return app
}

/** Hooks with a callback: a promise for each hook and request is a good part of what a short answer costs. */
function addHooks(app: FastifyInstance, pipeline: Pipeline): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SAFE_HEADERS)
    reply.header('x-request-id', request.id)
    if (pipeline.draining()) reply.header('connection', 'close')
    // Read once: Fastify builds `routeOptions` anew at each access.
    request.route = request.routeOptions.url ?? null
    pipeline.spans?.describe(request.raw, { route: request.route, requestId: request.id, scheme: request.protocol })
    try {
      checkHead(request.raw)
      done()
    } catch (error) {
      done(error as Failure)
    }
  })
  app.addHook('onResponse', (request, reply, done) => {
    logAndCount(pipeline, request, reply)
    done()
  })
}

async function addCors(app: FastifyInstance, origins: string[]): Promise<void> {
  if (origins.length === 0) return
  await app.register((await import('@fastify/cors')).default, {
    origin: origins,
    credentials: true,
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders:
      'authorization, content-type, expected-user, idempotency-key, if-match, if-none-match, last-event-id',
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
}

/** The fast path gets every request first. What it does not handle is admitted to the framework, or refused. */
function addAdmission(
  app: FastifyInstance,
  pipeline: Pipeline,
  routes: Route[],
  connections: Connections,
  isPaced: boolean,
) {
  const [framework] = app.server.listeners('request') as RequestListener[]
  if (!framework) throw new Error('The framework listens to no requests')
  const { metrics, draining, limits } = pipeline
  const admission = newAdmission({ load: limits.load, metrics, connections, isPaced, draining }, framework)
  const fastPath = newFastVerify(pipeline, routes, admission)
  app.server.removeAllListeners('request')
  const listener: RequestListener = (request, response) => {
    if (!fastPath.tryHandle(request, response)) return admission.handle(request, response)
    connections.touch(request.socket)
    admission.prefer(request.socket)
  }
  app.server.on('request', pipeline.spans?.around(listener) ?? listener)
  return { fastPath, admission }
}

function addRoute(app: FastifyInstance, pipeline: Pipeline, route: Route, fastPath: FastPath): void {
  app.route({
    method: route.method,
    url: route.path,
    ...(route.path === VERIFY_PATH
      ? {
          preParsing: (request, _reply, payload, done) => {
            const delegated = fastPath.delegated(request.raw)
            if (delegated?.failure) done(delegated.failure)
            else done(null, delegated ? Readable.from(delegated.body) : payload)
          },
        }
      : {}),
    ...(route.maxBodyBytes ? largeBody(pipeline, route, route.maxBodyBytes) : {}),
    handler: async (request, reply) => {
      const run = () => handle(pipeline, route, toIncoming(route, request, reply.raw), request.admitted)
      const outgoing = await (pipeline.spans ? pipeline.spans.within(request.raw, run) : run())
      request.caller = outgoing.caller
      if (outgoing.stream) return sendStream(pipeline, route, request, reply, outgoing, outgoing.stream)
      if (outgoing.rest) return sendChunks(pipeline, request, reply, outgoing, outgoing.rest)
      // For an empty body `undefined`: Fastify would give an empty text a content type.
      return reply
        .code(outgoing.status)
        .headers(outgoing.headers)
        .send(outgoing.body || undefined)
    },
  })
}

function largeBody(pipeline: Pipeline, route: Route, bodyLimit: number) {
  const preParsing = async (request: FastifyRequest, { raw: response }: FastifyReply, payload: Readable) => {
    const letGo = () => void (request.body = NO_BODY)
    const incoming = toIncoming(route, request, response)
    request.admitted = await admitLargeBody(pipeline, route, incoming, response, bodyLimit, letGo)
    return payload
  }
  return { bodyLimit, preParsing }
}

const NO_BODY = Buffer.alloc(0)
function toIncoming(route: Route, request: FastifyRequest, response: FastifyReply['raw']): Incoming {
  countsTowardsLimit(request.raw)
  return {
    requestId: request.id,
    method: route.method,
    protocol: request.protocol,
    url: request.url,
    path: pathOf(request),
    at: now(),
    receivedAt: performance.now(),
    // Fastify's types leave these open; a path's parameters are text.
    params: request.params as Record<string, string>,
    query: request.query as Record<string, unknown>,
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : NO_BODY,
    ip: clientIp(request),
    ticket: ticketOf(response),
  }
}

/** An open stream does not count as a request in flight: it may last for hours, and is mostly idle. */
async function sendStream(
  pipeline: Pipeline,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  outgoing: Outgoing,
  stream: Stream,
): Promise<FastifyReply> {
  const open = await admitStream(pipeline, route, request.params, outgoing, clientIp(request))
  // The caller has disconnected, and the load shedder has released the request already.
  if (reply.raw.destroyed) open.done()
  if (reply.raw.destroyed) return reply.hijack()
  releaseEarly(reply.raw)
  request.beganMs = reply.elapsedTime
  reply.hijack()
  reply.raw.writeHead(outgoing.status, { ...reply.getHeaders(), ...outgoing.headers } as OutgoingHttpHeaders)
  pipeline.spans?.end(request.raw, reply.raw)
  // A failure from here on closes the stream: an answer begun with 200 cannot become a problem any more.
  if (request.method === 'HEAD') {
    open.done()
    reply.raw.end()
  } else void pipeEvents(reply.raw, stream, open)
  return reply
}

/** A failure after the first chunk cuts the answer off. The caller notices: the last chunk is missing. */
async function sendChunks(
  pipeline: Pipeline,
  request: FastifyRequest,
  reply: FastifyReply,
  outgoing: Outgoing,
  rest: Chunks,
): Promise<FastifyReply> {
  reply.code(outgoing.status).headers(outgoing.headers)
  // The rest is not wanted: the request is a HEAD, or the caller has disconnected.
  if (request.method === 'HEAD' || reply.raw.destroyed) {
    await rest.return()
    return reply.send(Readable.from([]))
  }
  const stream = toReadable(outgoing.body, rest)
  stream.once('error', (error) => {
    const { code, cause } = toFailure(error)
    const level = code === 'internal_error' ? 'error' : 'warn'
    pipeline.log[level](
      { ...idsOf(pipeline, request), code, ...(cause ? { err: describeError(cause) } : {}) },
      'cut off',
    )
  })
  return reply.send(stream)
}

function addPage(app: FastifyInstance, rate: RateLimits | null, page: HtmlPage): void {
  app.get(page.path, async (request, reply) => {
    const limit = page.unlimited ? null : (rate?.takeForAddress(clientIp(request)) ?? null)
    if (limit) reply.headers(rateLimitHeaders(limit))
    checkRate(limit)
    const { headers: asked, socket } = request.raw
    const query = new URLSearchParams(request.url.split('?', 2)[1] ?? '')
    const about = { headers: asked, socketAddress: socket.remoteAddress, query }
    const { status, headers, body } = await page.render(request.params as Record<string, string>, about)
    return reply.code(status).headers(headers).send(body)
  })
}

function sendProblem(reply: FastifyReply, request: FastifyRequest, failure: Failure): FastifyReply {
  const isPage = failure.code === 'not_found' && isBrowser(request.raw)
  const { status, headers, body } = isPage ? NOT_FOUND_PAGE : renderProblem(failure, request.id, pathOf(request))
  return reply
    .code(status)
    .headers({ ...SAFE_HEADERS, 'x-request-id': request.id, ...headers })
    .send(body)
}

/** Without the host that a request for a proxy names before its path. */
function pathOf(request: FastifyRequest): string {
  const [path] = request.url.replace(/^https?:\/\/[^/?#]*/i, '').split('?', 1)
  return path || '/'
}

/** What the lines of a request in the log are found by. */
function idsOf({ spans }: Pipeline, request: FastifyRequest): { requestId: string; traceId?: string } {
  const traceId = spans?.traceIdOf(request.raw)
  return traceId === undefined ? { requestId: request.id } : { requestId: request.id, traceId }
}

function logAndCount(pipeline: Pipeline, request: FastifyRequest, reply: FastifyReply): void {
  const ms = request.beganMs ?? reply.elapsedTime
  const route = request.route ?? 'none'
  pipeline.metrics.request(request.method, route, reply.statusCode, ms / 1000)
  // Verifications are too many for a line each: they are counted, in the metrics and with the key.
  const level = (route === VERIFY_PATH || route === LEASE_PATH) && reply.statusCode === 200 ? 'debug' : 'info'
  // An allow-list of fields: nothing the caller wrote can forge a line or carry a secret into the log.
  pipeline.log[level](
    {
      ...idsOf(pipeline, request),
      method: request.method,
      route,
      status: reply.statusCode,
      ms: Math.round(ms * 10) / 10,
      ...(request.caller ? { caller: request.caller.id } : {}),
    },
    'request',
  )
}
