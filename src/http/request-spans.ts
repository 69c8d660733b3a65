// A span for each request, named and described by OpenTelemetry's conventions for HTTP. Its parent is the caller's span, as
// told in `traceparent` or in whichever header the SDK reads.

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Attributes,
  type Context,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { findTracer } from '../core/tracing.ts'

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

/** A request as the span shows it, once it is known which route it is for. */
type Described = { route: string | null; requestId: string; scheme?: string; code?: string }

export type RequestSpans = {
  /** The listener, with a span around each request. */
  around(listener: RequestListener): RequestListener
  /** Runs a part of the request that an event of its socket has begun, and that is therefore outside of the span's context. */
  within<T>(request: IncomingMessage, run: () => T): T
  describe(request: IncomingMessage, described: Described): void
  /** A stream has begun: how long it lasts is not the time that its answer took. */
  end(request: IncomingMessage, response: ServerResponse): void
  traceIdOf(request: IncomingMessage): string | undefined
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'])

/** Null without an SDK. */
export function newRequestSpans(tracer = findTracer()): RequestSpans | null {
  if (!tracer) return null
  const contexts = new WeakMap<IncomingMessage, Context>()
  const spanOf = (request: IncomingMessage): Span | undefined => {
    const own = contexts.get(request)
    return own && trace.getSpan(own)
  }
  function end(request: IncomingMessage, response: ServerResponse): void {
    const span = spanOf(request)
    if (!span?.isRecording()) return
    if (response.headersSent) span.setAttributes(resultOf(response.statusCode))
    if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }
  return {
    around: (listener) => (request, response) => {
      // Where the operator has also instrumented Node's HTTP server, its span is the parent.
      const active = context.active()
      const parent = trace.getSpan(active) ? active : propagation.extract(active, request.headers)
      const method = methodOf(request)
      const span = tracer.startSpan(
        method === '_OTHER' ? 'HTTP' : method,
        {
          kind: SpanKind.SERVER,
          attributes: {
            'http.request.method': method,
            'url.scheme': 'http',
            'url.path': '/REDACTED',
            'network.protocol.version': request.httpVersion,
          },
        },
        parent,
      )
      const own = trace.setSpan(parent, span)
      contexts.set(request, own)
      response.once('close', () => end(request, response))
      context.with(own, listener, undefined, request, response)
    },
    within: (request, run) => context.with(contexts.get(request) ?? context.active(), run),
    describe(request, described) {
      const span = spanOf(request)
      if (!span?.isRecording()) return
      span.setAttributes(attributesOf(described))
      if (described.route !== null) span.updateName(`${methodOf(request)} ${described.route}`)
    },
    end,
    traceIdOf: (request) => spanOf(request)?.spanContext().traceId,
  }
}

function methodOf({ method = '' }: IncomingMessage): string {
  return METHODS.has(method) ? method : '_OTHER'
}

/** Of a path only what the route says: ids in it are the callers' own, and one that matches no route may hold anything. */
function attributesOf({ route, requestId, scheme, code }: Described): Attributes {
  return {
    'storekeeper.request_id': requestId,
    ...(route === null ? {} : { 'http.route': route, 'url.path': route.replace(/:\w+|\*/g, 'REDACTED') }),
    ...(scheme === undefined ? {} : { 'url.scheme': scheme }),
    ...(code === undefined ? {} : { 'storekeeper.verification.code': code }),
  }
}

function resultOf(status: number): Attributes {
  return { 'http.response.status_code': status, ...(status >= 500 ? { 'error.type': String(status) } : {}) }
}
