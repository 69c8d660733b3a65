// A request walks one way: who is calling → limits → may they → what they sent → what happens → the answer, and back
// up the same stairs. A retry with an Idempotency-Key meets its earlier answer on the way.

import fastJson from 'fast-json-stringify'
import type { TObject, TSchema } from 'typebox'
import { authenticate, type CallerRow } from '../auth/authenticate.ts'
import type { CallerCache } from '../auth/caller-cache.ts'
import { type Credential, checkQuery, readCredential } from '../auth/credential.ts'
import { unwrapDataKey } from '../auth/data-key.ts'
import type { SignatureCheck } from '../auth/github-signature.ts'
import type { JwtCheck } from '../auth/jwt.ts'
import type { KeyCache } from '../auth/key-cache.ts'
import { CallerChanged, lockStoreAndRecheck } from '../auth/recheck.ts'
import { type Caller, heldPermissions, type Manager } from '../core/caller.ts'
import { DAY, fromNow } from '../core/clock.ts'
import { type ErrorCode, Failure, type Fault, fail, failInput } from '../core/errors.ts'
import { matchesIfNoneMatch } from '../core/etag.ts'
import { type IdKind, isId } from '../core/ids.ts'
import { BUILT_IN_PERMISSIONS } from '../core/permissions.ts'
import type { Answer, Idempotency, Route, WireResponse } from '../core/route.ts'
import type { Database, Db } from '../db/db.ts'
import type { AuthorizationProbe, EventFeed } from '../events/stream.ts'
import {
  AlreadyAnswered,
  checkUnderPreviousSecret,
  claim,
  type IdempotentRequest,
  isReplayable,
  lastingCredential,
  lookupFor,
  parseIdempotencyKey,
  replay,
  storeResponse,
  toStoredResponse,
} from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import type { Verifier } from '../keys/schema.ts'
import type { ConcurrencyLimiter } from '../limits/concurrency.ts'
import { type RateLimitState, rateLimitHeaders, TokenBuckets } from '../limits/token-bucket.ts'
import { pointerToken, validate } from '../schema/validate.ts'
import { parseStrictJson } from './json.ts'
import { jsonChunks, start } from './json-stream.ts'
import { renderProblem } from './problem.ts'

/** What the walk needs of a request; the framework is named in server.ts alone. */
export type Incoming = {
  requestId: string
  method: string
  /** Path and query, as they were sent. */
  url: string
  path: string
  /** When it came in. */
  at: Date
  params: Record<string, string>
  query: Record<string, unknown>
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  ip: string
}

export type Outgoing = WireResponse & { caller: Caller | null }

export type Pipeline = {
  db: Database
  instance: Instance
  jwt: JwtCheck | null
  caches: { callers: CallerCache<CallerRow>; keys: KeyCache }
  corsOrigins: string[]
  /** Null when RATE_LIMIT is off. */
  limits: { callers: TokenBuckets; addresses: TokenBuckets } | null
  verifier: Verifier
  feed: EventFeed
  longAnswers: ConcurrencyLimiter
  /** Called after every change: whoever has to tell of it may look. */
  changed(): void
  /** Whose signature a row can ask for. */
  signatures: Record<NonNullable<Route['signedBy']>, SignatureCheck>
}

export function newLimits(perMinute: number | null): Pipeline['limits'] {
  if (perMinute === null) return null
  return { callers: new TokenBuckets(perMinute), addresses: new TokenBuckets(Math.max(1, Math.floor(perMinute / 10))) }
}

/** A caller whose rights change under way is met anew; nobody's rights change so often as this. */
const MAX_AUTH_TRIES = 5

export async function handle(pipeline: Pipeline, route: Route, incoming: Incoming, attempt = 1): Promise<Outgoing> {
  const { credential, caller, rateLimit } = await identify(pipeline, route, incoming)
  const moreHeaders = { ...(rateLimit ? rateLimitHeaders(rateLimit) : {}), ...sunsetOf(caller) }
  try {
    if (rateLimit && !rateLimit.allowed) fail('rate_limited', { retryAfterSeconds: rateLimit.resetSeconds })
    authorize(pipeline, route, caller, incoming)
    // Whoever is met anew has come once.
    if (caller?.kind === 'key' && attempt === 1)
      pipeline.verifier.acted(caller, 'VALID', needsPermission(route) ? [route.needs] : [])
    const sent = await executeOnce(pipeline, route, incoming, caller, credential)
    return { ...sent, headers: { ...sent.headers, ...moreHeaders }, caller }
  } catch (error) {
    if (error instanceof CallerChanged) {
      if (attempt === MAX_AUTH_TRIES) throw new Failure('unavailable', { retryAfterSeconds: 1 })
      invalidate(pipeline, caller?.kind === 'key' ? caller.id : incoming.params.storeId)
      return handle(pipeline, route, incoming, attempt + 1)
    }
    if (!(error instanceof Failure)) throw error
    const problem = renderProblem(error, incoming.requestId, incoming.path)
    return { ...problem, headers: { ...problem.headers, ...moreHeaders }, caller }
  }
}

// ---- who is calling, and how often ---------------------------------------------------------------------------------

type Identified = { credential: Credential | null; caller: Caller | null; rateLimit: RateLimitState | null }

async function identify(pipeline: Pipeline, route: Route, incoming: Incoming): Promise<Identified> {
  const { limits } = pipeline
  try {
    checkQuery(incoming.query)
    // Where anyone may call, what a browser still carries of an old session is nobody's business.
    if (route.needs === 'public')
      return { credential: null, caller: null, rateLimit: limits && limits.addresses.take(incoming.ip) }
    const { credential, caller } = await authenticateRequest(pipeline, pipeline.caches, incoming)
    return {
      credential,
      caller,
      rateLimit: caller.kind === 'service' ? null : limits && limits.callers.take(caller.id),
    }
  } catch (error) {
    // Whoever is not known is counted by the address they come from.
    const rateLimit =
      limits && error instanceof Failure && error.code !== 'unavailable' ? limits.addresses.take(incoming.ip) : null
    if (rateLimit && !rateLimit.allowed) return { credential: null, caller: null, rateLimit }
    throw error
  }
}

async function authenticateRequest(
  pipeline: Pipeline,
  caches: Pipeline['caches'],
  incoming: Incoming,
): Promise<{ credential: Credential; caller: Caller }> {
  const credential = readCredential(pipeline.instance.keyPrefix, {
    authorization: header(incoming, 'authorization'),
    cookie: header(incoming, 'cookie'),
  })
  if (!credential) return fail('unauthenticated')
  if (credential.kind === 'session' && credential.fromCookie) checkOrigin(pipeline, incoming)
  const storeId = incoming.params.storeId
  const store = storeId && isId('store', storeId) ? storeId : null
  const caller = await authenticate(
    pipeline.db,
    pipeline.instance,
    pipeline.jwt,
    caches,
    credential,
    store,
    incoming.ip,
  )
  return { credential, caller }
}

/**
 * For an answer that goes on for long: the same questions as at its beginning, asked anew. Nothing of a moment ago will do:
 * whoever was removed must not be told of it.
 */
function stillAuthorized(pipeline: Pipeline, route: Route, incoming: Incoming): AuthorizationProbe {
  const known = { callers: NO_CACHE, keys: pipeline.caches.keys }
  return async () => {
    try {
      authorize(pipeline, route, (await authenticateRequest(pipeline, known, incoming)).caller, incoming)
      return 'yes'
    } catch (error) {
      return error instanceof Failure && error.code === 'unavailable' ? 'unknown' : 'no'
    }
  }
}

const NO_CACHE: CallerCache<CallerRow> = {
  get: () => undefined,
  needsRefresh: () => false,
  set() {},
  generation: () => ({ changes: 0, at: 0 }),
  invalidate() {},
}

/** A cookie is sent by the browser whoever asks, so the page that asks must be ours. Bearer tokens need none of this. */
function checkOrigin(pipeline: Pick<Pipeline, 'corsOrigins'>, incoming: Incoming): void {
  const origin = header(incoming, 'origin')
  const allowed =
    origin === undefined || pipeline.corsOrigins.includes(origin) || hostOf(origin) === header(incoming, 'host')
  const site = header(incoming, 'sec-fetch-site')
  const foreign = (site === 'cross-site' || site === 'same-site') && !(origin && pipeline.corsOrigins.includes(origin))
  if (!allowed || foreign) fail('forbidden_origin')
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null
}

function header(incoming: Incoming, name: string): string | undefined {
  const value = incoming.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Whoever comes with a key that ends soon is told when (RFC 8594). */
const SUNSET_MS = 30 * DAY

function sunsetOf(caller: Caller | null): Record<string, string> {
  if (caller?.kind !== 'key' || caller.expiresAt === null || caller.expiresAt > fromNow(SUNSET_MS)) return {}
  return { sunset: caller.expiresAt.toUTCString() }
}

// ---- may they -----------------------------------------------------------------------------------------------------

function authorize(pipeline: Pipeline, route: Route, caller: Caller | null, incoming: Incoming): void {
  const { needs } = route
  if (needs === 'public' || !caller) return
  if (needs === 'service' || needs === 'key') {
    if (caller.kind !== needs) fail(needs === 'key' ? 'key_required' : 'service_required')
    return
  }
  if (needs === 'user' || needs === 'store user') {
    if (caller.kind !== 'user') fail('user_required')
    if (needs === 'store user' && !caller.member) fail('store_not_found')
    return
  }
  if (caller.kind === 'service') return fail('store_not_found')
  const inStore = caller.kind === 'key' ? caller.storeId === incoming.params.storeId : caller.member !== null
  if (!inStore) fail('store_not_found')
  if (!heldPermissions(caller).includes(needs)) {
    if (caller.kind === 'key') pipeline.verifier.acted(caller, 'INSUFFICIENT_PERMISSIONS', [])
    fail('insufficient_permission', {
      required: [needs],
      detail: `This needs the permission ${needs}, which you do not hold in this store.`,
    })
  }
}

function needsPermission({ needs }: Route): boolean {
  return BUILT_IN_PERMISSIONS.some((permission) => permission === needs)
}

/** An id that is not well formed is answered exactly as one that does not exist: after the input, like everything missing. */
const IDS: Record<string, { kind: IdKind; missing: ErrorCode }> = {
  storeId: { kind: 'store', missing: 'store_not_found' },
  keyId: { kind: 'key', missing: 'key_not_found' },
  addressId: { kind: 'addr', missing: 'address_not_found' },
  userId: { kind: 'user', missing: 'member_not_found' },
  invitationId: { kind: 'inv', missing: 'invitation_not_found' },
  sessionId: { kind: 'sess', missing: 'session_not_found' },
  webhookId: { kind: 'wh', missing: 'webhook_not_found' },
  deliveryId: { kind: 'dlv', missing: 'delivery_not_found' },
}

/** What is no id is for the row's call to look at. */
const OTHER_PARAMS = ['code', 'n']

function checkIds(route: Route, params: Record<string, string>, faults: Fault[]): void {
  for (const [name, value] of Object.entries(params)) {
    if (OTHER_PARAMS.includes(name)) continue
    const id = IDS[name]
    if (!id) throw new Error(`${route.path} has a parameter ${name} that nobody declared`)
    if (!isId(id.kind, value)) return faults.length > 0 ? failInput(faults) : fail(id.missing)
  }
}

// ---- the answer, once -----------------------------------------------------------------------------------------------

async function executeOnce(
  pipeline: Pipeline,
  route: Route,
  incoming: Incoming,
  caller: Caller | null,
  credential: Credential | null,
): Promise<WireResponse> {
  const key =
    route.method === 'POST' && route.effect !== 'read' && caller
      ? parseIdempotencyKey(header(incoming, 'idempotency-key'))
      : null
  if (key === null || !caller || !credential) return execute(pipeline, route, incoming, caller, null)
  const request: IdempotentRequest = {
    keyring: pipeline.instance.keyring,
    callerId: caller.id,
    credential: lastingCredential(credential, caller, key),
    userKey: caller.kind === 'user' ? () => unwrapDataKey(pipeline.instance.keyring, caller) : null,
    key,
    method: incoming.method,
    url: incoming.url,
    body: incoming.body,
    revealsSecret: route.revealsSecret === true,
  }
  for (;;) {
    try {
      return await executeAndStore(pipeline, route, incoming, caller, request)
    } catch (error) {
      if (!(error instanceof AlreadyAnswered)) throw error
      const sent = await replay(pipeline.db, request)
      if (sent) return { ...sent, headers: { ...sent.headers, 'idempotent-replayed': 'true' } }
    }
  }
}

/** A failure that would come again is remembered like a success, though nothing else is written with it. */
async function executeAndStore(
  pipeline: Pipeline,
  route: Route,
  incoming: Incoming,
  caller: Caller,
  request: IdempotentRequest,
): Promise<WireResponse> {
  await checkUnderPreviousSecret(pipeline.db, request)
  try {
    return await execute(pipeline, route, incoming, caller, request)
  } catch (error) {
    if (!(error instanceof Failure) || !isReplayable(error.code)) throw error
    const sent = renderProblem(error, incoming.requestId, incoming.path)
    await storeResponse(pipeline.db, toStoredResponse(request, sent))
    return sent
  }
}

async function execute(
  pipeline: Pipeline,
  route: Route,
  incoming: Incoming,
  caller: Caller | null,
  request: IdempotentRequest | null,
): Promise<WireResponse> {
  if (route.signedBy) await pipeline.signatures[route.signedBy](incoming.body, (name) => header(incoming, name))
  const { query, body, faults } = readInput(pipeline.instance, route, incoming)
  checkIds(route, incoming.params, faults)
  const idempotency = request && idempotencyFor(route, request)
  const userAgent = header(incoming, 'user-agent')?.slice(0, 300) ?? null
  const args = {
    instance: pipeline.instance,
    // The row's `needs` has been held against the caller: the handler's own type for it is true.
    caller: caller as never,
    params: incoming.params,
    query,
    body,
    faults,
    ifMatch: header(incoming, 'if-match') ?? null,
    idempotency,
    verifier: pipeline.verifier,
    stream: { feed: pipeline.feed, stillAuthorized: stillAuthorized(pipeline, route, incoming) },
    request: {
      at: incoming.at,
      ip: incoming.ip,
      userAgent,
      path: incoming.path,
      raw: incoming.body,
      header: (name: string) => header(incoming, name),
    },
  }
  let changed = [incoming.params.keyId ?? incoming.params.storeId]
  const handle = async (db: Db) => {
    const answer = await route.handle({ ...args, db })
    changed = answer.changedKeys ?? changed
    if (route.answer === 'paged') return startPages(pipeline, route, answer, caller?.id ?? incoming.ip)
    return answer.wire ?? toWire(route, answer)
  }
  if (route.method === 'GET' || route.effect === 'read') return notModified(route, incoming, await handle(pipeline.db))
  const sent =
    route.effect === 'own'
      ? await handle(pipeline.db)
      : await inTransaction(pipeline.db, route, caller, incoming.params.storeId, request, handle)
  if (changed.length > 0) pipeline.changed()
  if (route.access !== 'unchanged') for (const id of changed) invalidate(pipeline, id)
  return sent
}

/**
 * 304 for whoever has this very answer already. Only where answers may be kept: of all others nobody should have one, and
 * the ETag of a record is for changing it (what a key was last used for moves on without it).
 */
function notModified(route: Route, incoming: Incoming, sent: WireResponse): WireResponse {
  const kept = header(incoming, 'if-none-match')
  if (!route.cacheSeconds || !sent.headers.etag || !kept || !matchesIfNoneMatch(kept, sent.headers.etag)) return sent
  const { 'content-type': _, ...headers } = sent.headers
  return { ...sent, status: 304, headers, body: '' }
}

/** After a change, before its answer: of callers all, of keys the one, or the store's, or all that it may have touched. */
function invalidate(pipeline: Pipeline, id: string | undefined): void {
  pipeline.caches.callers.invalidate()
  pipeline.caches.keys.invalidate(id)
}

function inTransaction(
  db: Db,
  route: Route,
  caller: Caller | null,
  storeId: string | undefined,
  request: IdempotentRequest | null,
  handle: (tx: Db) => Promise<WireResponse>,
): Promise<WireResponse> {
  return db.transaction(async (tx) => {
    if (request) await claim(tx, request)
    if (needsPermission(route) && storeId) await lockStoreAndRecheck(tx, caller as Manager, storeId)
    const sent = await handle(tx)
    if (request) await storeResponse(tx, toStoredResponse(request, sent))
    return sent
  })
}

function idempotencyFor(route: Route, request: IdempotentRequest): Idempotency {
  const lookup = lookupFor(request)
  return {
    lookup,
    claim: (tx) => claim(tx, request),
    toStoredResponse: (answer) => {
      // An answer is written once, though it is both remembered and sent.
      answer.wire = toWire(route, answer)
      return toStoredResponse(request, answer.wire, lookup)
    },
  }
}

// ---- what they sent -------------------------------------------------------------------------------------------------

type Input = { query: object; body: unknown; faults: Fault[] }

function readInput(instance: Instance, route: Route, incoming: Incoming): Input {
  const inQuery: Fault[] = []
  const inBody: Fault[] = []
  const query = readQuery(route, incoming.query, inQuery)
  const body = readBody(instance, route, incoming, inBody)
  const failing = route.handlesFaults ? inQuery : [...inQuery, ...inBody]
  if (failing.length > 0) failInput(failing)
  return { query, body, faults: inBody }
}

function readQuery(route: Route, sent: Record<string, unknown>, faults: Fault[]): object {
  const properties = route.query?.properties ?? {}
  const query = Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [name, asNumber(properties[name], value)]),
  )
  for (const [name, value] of Object.entries(query))
    if (typeof value === 'string' && value.includes('\0') && !CURSORS.has(name))
      faults.push({
        pointer: `?${pointerToken(name)}`,
        code: 'invalid_characters',
        detail: 'This may not hold U+0000.',
      })
  if (route.query) {
    faults.push(...validate(route.query, query, asInQuery))
    route.checkQuery?.(withoutFaulty(query, faults), faults)
  } else
    for (const name of Object.keys(query))
      faults.push({
        pointer: `?${pointerToken(name)}`,
        code: 'unknown_member',
        detail: 'This parameter is not known here. Leave it out.',
      })
  return query
}

/** One of ours that was altered is told as such, however it was altered. */
const CURSORS = new Set(['cursor', 'after'])

/** A query holds text only: where a number is meant, digits are one. */
function asNumber(schema: TSchema | undefined, value: unknown): unknown {
  const isInteger = (schema as { type?: string } | undefined)?.type === 'integer'
  return isInteger && typeof value === 'string' && /^-?\d{1,9}$/.test(value) ? Number(value) : value
}

function asInQuery(fault: Fault): Fault {
  return { ...fault, pointer: fault.pointer.replace(/^#\//, '?') }
}

function readBody(instance: Instance, route: Route, incoming: Incoming, faults: Fault[]): unknown {
  if (!route.body) {
    if (route.method === 'POST' && incoming.body.length > 0) {
      const body = parseBody(incoming)
      if (!isObject(body) || Object.keys(body).length > 0)
        faults.push({ pointer: '#', code: 'unknown_member', detail: 'This operation takes no body, or {}.' })
    }
    return undefined
  }
  const body = route.form ? parseForm(incoming) : bodyOf(route, incoming)
  const found = validate(route.body, body)
  faults.push(...found)
  const sound = isObject(body) ? withoutFaulty(body, found) : {}
  if (!route.parse) return found.length > 0 ? sound : body
  const more: Fault[] = []
  const value = route.parse(sound, instance, more)
  const told = new Set(found.map(memberOf))
  faults.push(...more.filter((fault) => !told.has(memberOf(fault))))
  return value
}

function bodyOf(route: Route, incoming: Incoming): unknown {
  return route.bodyOptional && incoming.body.length === 0 ? {} : parseBody(incoming)
}

function parseBody(incoming: Incoming): unknown {
  if (incoming.body.length > 0 || header(incoming, 'content-type') !== undefined)
    checkMediaType(incoming, /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i)
  return parseStrictJson(incoming.body)
}

/** Each name once (RFC 6749, 3.1). */
function parseForm(incoming: Incoming): Record<string, string> {
  checkMediaType(incoming, /^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i)
  const pairs = [...new URLSearchParams(incoming.body.toString())]
  if (new Set(pairs.map(([name]) => name)).size < pairs.length)
    fail('invalid_form', { detail: 'A name stands in the form twice. Send each once.' })
  return Object.fromEntries(pairs)
}

function checkMediaType(incoming: Incoming, wanted: RegExp): void {
  const encoding = header(incoming, 'content-encoding')
  if (!wanted.test(header(incoming, 'content-type') ?? '') || (encoding !== undefined && encoding !== 'identity'))
    fail('unsupported_media_type')
}

/** What is left when the members with a fault are put aside, so that the rest can still be looked at. */
function withoutFaulty(body: Record<string, unknown>, faults: Fault[]): Record<string, unknown> {
  if (faults.length === 0) return body
  const faulty = new Set(faults.map(memberOf))
  return Object.fromEntries(Object.entries(body).filter(([name]) => !faulty.has(name)))
}

function memberOf(fault: Fault): string {
  return fault.pointer.split('/')[1] ?? fault.pointer.slice(1)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// ---- what they get --------------------------------------------------------------------------------------------------

const writers = new WeakMap<TSchema, (body: unknown) => string>()

/** The answer's schema writes it, so nothing that the schema does not list can leave. */
function toWire(route: Route, answer: Answer<unknown>, text?: string): WireResponse {
  const [status, schema] = route.returns
  const headers: Record<string, string> = { ...answer.headers }
  if (schema) headers['content-type'] = 'application/json; charset=utf-8'
  if (answer.stream) Object.assign(headers, STREAM_HEADERS)
  if (answer.resource && status === 201) headers.location = answer.resource.location
  if (answer.etag) headers.etag = answer.etag
  if (route.cacheSeconds) headers['cache-control'] = `public, max-age=${route.cacheSeconds}`
  const body = text ?? (schema ? serialize(schema, answer.body) : '')
  return { status, headers, body, resourceId: answer.resource?.id ?? null, stream: answer.stream }
}

/** Of an answer in pages the first piece is waited for: what fails until then is answered as every failure is. */
async function startPages(
  pipeline: Pipeline,
  route: Route,
  answer: Answer<unknown>,
  callerId: string,
): Promise<WireResponse> {
  // Only what has lists has pages of them.
  const [schema, body] = [route.returns[1] as TObject, answer.body as Record<string, unknown>]
  const { first, rest } = await start(pipeline.longAnswers, callerId, jsonChunks(schema, body, serialize))
  return { ...toWire(route, answer, first), rest }
}

/** The second keeps proxies that know it from collecting what should be heard at once. */
const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }

export function serialize(schema: TSchema, body: unknown): string {
  let writer = writers.get(schema)
  if (!writer) {
    writer = fastJson(JSON.parse(JSON.stringify(schema)))
    writers.set(schema, writer)
  }
  return writer(body)
}
