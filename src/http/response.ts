// What the caller gets: the answer serialized by its schema, with its headers; 304 for a cached answer; lists of any
// length a page at a time.

import fastJson from 'fast-json-stringify'
import type { TObject, TSchema } from 'typebox'
import type { Caller } from '../core/caller.ts'
import { DAY, fromNow } from '../core/clock.ts'
import { matchesIfNoneMatch } from '../core/etag.ts'
import type { Answer, ResponseHeaders, Route, WireResponse } from '../core/route.ts'
import { type Call, header, type Incoming, type Outgoing, type Pipeline } from './context.ts'
import { holderOf } from './holders.ts'
import { jsonChunks, start } from './json-stream.ts'

/** Sent with every answer. The API shows nothing in a browser; the pages loosen the policy for themselves. */
export const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'cache-control': 'no-store',
}

export function respond(call: Call, wire: WireResponse, headers: Record<string, string>): Outgoing {
  const response = notModified(call.route, call.incoming, wire)
  return { ...response, headers: { ...response.headers, ...headers }, caller: call.caller }
}

/**
 * 304 when the caller's cache has this very answer. Only where caching is allowed: the ETag of a record is for changing
 * it, and stays the same when, for instance, a key's last use moves on.
 */
function notModified(route: Route, incoming: Incoming, wire: WireResponse): WireResponse {
  const cached = header(incoming, 'if-none-match')
  if (!route.cacheSeconds || !wire.headers.etag || !cached || !matchesIfNoneMatch(cached, String(wire.headers.etag)))
    return wire
  const { 'content-type': _, ...headers } = wire.headers
  return { ...wire, status: 304, headers, body: '' }
}

const SUNSET_MS = 30 * DAY

/** A caller whose key expires soon is told when (RFC 8594). */
export function sunsetHeader(caller: Caller | null): Record<string, string> {
  if (caller?.kind !== 'key' || caller.expiresAt === null || caller.expiresAt > fromNow(SUNSET_MS)) return {}
  return { sunset: caller.expiresAt.toUTCString() }
}

/** The schema serializes the answer, so a member that it does not list cannot leak. */
export function toWire(route: Route, answer: Answer<unknown>, text?: string): WireResponse {
  const [usual, schema] = route.returns
  const status = route.mayCreate && answer.resource ? 201 : usual
  const headers: ResponseHeaders = { ...answer.headers }
  if (schema) headers['content-type'] = 'application/json; charset=utf-8'
  if (answer.stream) Object.assign(headers, STREAM_HEADERS)
  if (answer.resource && status === 201) headers.location = answer.resource.location
  if (answer.etag) headers.etag = answer.etag
  if (route.cacheSeconds) headers['cache-control'] = `public, max-age=${route.cacheSeconds}`
  const body = text ?? (schema ? withMetadata(serialize(schema, answer.body), answer.metadata) : '')
  return { status, headers, body, resourceId: answer.resource?.id ?? null, stream: answer.stream }
}

/** Text with these characters in it has its quotes escaped: each occurrence is the metadata of a key. */
const NO_METADATA = '"metadata":{}'

export function withMetadata(frame: string, metadata: string[] | undefined): string {
  if (!metadata) return frame
  const [first, ...rest] = frame.split(NO_METADATA)
  return first + rest.map((part, n) => `"metadata":${metadata[n]}${part}`).join('')
}

/** The second header asks nginx and its like not to buffer events. */
const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }

/** Waits for the first chunk of a paged answer: a failure until then is answered like any other. */
export async function startPages(pipeline: Pipeline, call: Call, answer: Answer<unknown>): Promise<WireResponse> {
  const { route } = call
  // A row with `answer: 'paged'` returns an object, whose lists are the pages.
  const [schema, body] = [route.returns[1] as TObject, answer.body as Record<string, unknown>]
  const { first, rest } = await start(
    pipeline.limits.longAnswers,
    await holderOf(pipeline, call),
    jsonChunks(schema, body, serialize),
  )
  return { ...toWire(route, answer, first), rest }
}

const serializers = new WeakMap<TSchema, (body: unknown) => string>()

/** A schema's serializer is compiled at its first use. */
export function serialize(schema: TSchema, body: unknown): string {
  let serializer = serializers.get(schema)
  if (!serializer) {
    serializer = fastJson(JSON.parse(JSON.stringify(schema)))
    serializers.set(schema, serializer)
  }
  return serializer(body)
}
