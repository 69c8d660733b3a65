// A request walks one way: who is calling → limits → may they → what they sent → what happens → the answer, and back
// up the same stairs. A retry with an Idempotency-Key meets its earlier answer on the way.

import fastJson from 'fast-json-stringify'
import type { TObject, TSchema } from 'typebox'
import { type Credential, checkQuery, readCredential } from '../access/credential.ts'
import { unwrapDataKey } from '../access/data-key.ts'
import type { SignatureCheck } from '../access/github.ts'
import type { JwtCheck } from '../access/jwt.ts'
import type { Known } from '../access/known.ts'
import type { KnownKeys } from '../access/known-keys.ts'
import { CallerChanged, standFast } from '../access/standing.ts'
import { type Found, findCaller } from '../access/who.ts'
import { type Caller, held, type KeyCaller, type UserCaller } from '../caller.ts'
import { check, step } from '../check.ts'
import { DAY, later } from '../clock.ts'
import type { Database, Db } from '../db/db.ts'
import { type ErrorCode, Failure, type Fault, fail, failInput } from '../errors.ts'
import { matchesAny } from '../etag.ts'
import type { Feed, StillMay } from '../events/stream.ts'
import type { Here } from '../here.ts'
import {
  AnsweredBefore,
  claim,
  isRememberable,
  lastingCredential,
  lookupFor,
  type Request as RetriedRequest,
  readIdempotencyKey,
  recall,
  refuseAnsweredUnderPrevious,
  remember,
  rowFor,
} from '../idempotency/retry.ts'
import { type IdKind, isId } from '../ids.ts'
import type { Verifier } from '../keys/verify.ts'
import { type Allowance, Buckets, rateLimitHeaders } from '../limits/bucket.ts'
import { BUILT_IN_PERMISSIONS } from '../permissions.ts'
import type { Answer, Retry, Route, Sent } from '../route.ts'
import { readJson } from './json.ts'
import { begin, piecesOf } from './pieces.ts'
import { renderProblem } from './problem.ts'
import type { Seats } from './seats.ts'

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

export type Outgoing = Sent & { caller: Caller | null }

export type Gate = {
  db: Database
  here: Here
  jwt: JwtCheck | null
  known: { callers: Known<Found>; keys: KnownKeys }
  corsOrigins: string[]
  /** Null when RATE_LIMIT is off. */
  limits: { callers: Buckets; addresses: Buckets } | null
  verifier: Verifier
  feed: Feed
  longAnswers: Seats
  /** Called after every change: whoever has to tell of it may look. */
  changed(): void
  /** Whose signature a row can ask for. */
  signatures: Record<NonNullable<Route['signedBy']>, SignatureCheck>
}

export function newLimits(perMinute: number | null): Gate['limits'] {
  if (perMinute === null) return null
  return { callers: new Buckets(perMinute), addresses: new Buckets(Math.max(1, Math.floor(perMinute / 10))) }
}

/** A caller whose rights change under way is met anew; nobody's rights change so often as this. */
const MOST_MEETINGS = 5

export async function walk(gate: Gate, route: Route, incoming: Incoming, meeting = 1): Promise<Outgoing> {
  const { credential, caller, allowance } = await whoIsCalling(gate, route, incoming)
  const moreHeaders = { ...(allowance ? rateLimitHeaders(allowance) : {}), ...sunsetOf(caller) }
  try {
    if (allowance && !allowance.allowed) fail('rate_limited', { retryAfterSeconds: allowance.resetSeconds })
    mayThey(gate, route, caller, incoming)
    // Whoever is met anew has come once.
    if (caller?.kind === 'key' && meeting === 1)
      gate.verifier.acted(caller, 'VALID', needsPermission(route) ? [route.needs] : [])
    const sent = await answerOnce(gate, route, incoming, caller, credential)
    return { ...sent, headers: { ...sent.headers, ...moreHeaders }, caller }
  } catch (error) {
    if (error instanceof CallerChanged) {
      if (meeting === MOST_MEETINGS) throw new Failure('unavailable', { retryAfterSeconds: 1 })
      forget(gate, caller?.kind === 'key' ? caller.id : incoming.params.storeId)
      return walk(gate, route, incoming, meeting + 1)
    }
    if (!(error instanceof Failure)) throw error
    const problem = renderProblem(error, incoming.requestId, incoming.path)
    return { ...problem, headers: { ...problem.headers, ...moreHeaders }, caller }
  }
}

// ---- who is calling, and how often ---------------------------------------------------------------------------------

type Met = { credential: Credential | null; caller: Caller | null; allowance: Allowance | null }

async function whoIsCalling(gate: Gate, route: Route, incoming: Incoming): Promise<Met> {
  const { limits } = gate
  try {
    checkQuery(incoming.query)
    // Where anyone may call, what a browser still carries of an old session is nobody's business.
    if (route.needs === 'nothing')
      return { credential: null, caller: null, allowance: limits && limits.addresses.take(incoming.ip) }
    const { credential, caller } = await meet(gate, gate.known, incoming)
    return {
      credential,
      caller,
      allowance: caller.kind === 'service' ? null : limits && limits.callers.take(caller.id),
    }
  } catch (error) {
    // Whoever is not known is counted by the address they come from.
    const allowance =
      limits && error instanceof Failure && error.code !== 'unavailable' ? limits.addresses.take(incoming.ip) : null
    if (allowance && !allowance.allowed) return { credential: null, caller: null, allowance }
    throw error
  }
}

async function meet(
  gate: Gate,
  known: Gate['known'],
  incoming: Incoming,
): Promise<{ credential: Credential; caller: Caller }> {
  const credential = readCredential(gate.here.keyPrefix, {
    authorization: header(incoming, 'authorization'),
    cookie: header(incoming, 'cookie'),
  })
  if (!credential) return fail('unauthenticated')
  if (credential.kind === 'session' && credential.fromCookie) checkOrigin(gate, incoming)
  const storeId = incoming.params.storeId
  const store = storeId && isId('store', storeId) ? storeId : null
  const caller = await findCaller(gate.db, gate.here, gate.jwt, known, credential, store, incoming.ip)
  return { credential, caller }
}

/**
 * For an answer that goes on for long: the same questions as at its beginning, asked anew. Nothing of a moment ago will do:
 * whoever was removed must not be told of it.
 */
function stillMay(gate: Gate, route: Route, incoming: Incoming): StillMay {
  const known = { callers: KNOWS_NOBODY, keys: gate.known.keys }
  return async () => {
    try {
      mayThey(gate, route, (await meet(gate, known, incoming)).caller, incoming)
      return 'yes'
    } catch (error) {
      return error instanceof Failure && error.code === 'unavailable' ? 'unknown' : 'no'
    }
  }
}

const KNOWS_NOBODY: Known<Found> = {
  get: () => undefined,
  ages: () => false,
  set() {},
  mark: () => ({ changes: 0, at: 0 }),
  forget() {},
}

/** A cookie is sent by the browser whoever asks, so the page that asks must be ours. Bearer tokens need none of this. */
function checkOrigin(gate: Pick<Gate, 'corsOrigins'>, incoming: Incoming): void {
  const origin = header(incoming, 'origin')
  const allowed =
    origin === undefined || gate.corsOrigins.includes(origin) || hostOf(origin) === header(incoming, 'host')
  const site = header(incoming, 'sec-fetch-site')
  const foreign = (site === 'cross-site' || site === 'same-site') && !(origin && gate.corsOrigins.includes(origin))
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
  if (caller?.kind !== 'key' || caller.expiresAt === null || caller.expiresAt > later(SUNSET_MS)) return {}
  return { sunset: caller.expiresAt.toUTCString() }
}

// ---- may they -----------------------------------------------------------------------------------------------------

function mayThey(gate: Gate, route: Route, caller: Caller | null, incoming: Incoming): void {
  const { needs } = route
  if (needs === 'nothing' || !caller) return
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
  if (!held(caller).includes(needs)) {
    if (caller.kind === 'key') gate.verifier.acted(caller, 'INSUFFICIENT_PERMISSIONS', [])
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

async function answerOnce(
  gate: Gate,
  route: Route,
  incoming: Incoming,
  caller: Caller | null,
  credential: Credential | null,
): Promise<Sent> {
  const key =
    route.method === 'POST' && !route.asksOnly && caller
      ? readIdempotencyKey(header(incoming, 'idempotency-key'))
      : null
  if (key === null || !caller || !credential) return perform(gate, route, incoming, caller, null)
  const request: RetriedRequest = {
    keyring: gate.here.keyring,
    callerId: caller.id,
    credential: lastingCredential(credential, caller, key),
    personal: caller.kind === 'user' ? () => unwrapDataKey(gate.here.keyring, caller) : null,
    key,
    method: incoming.method,
    url: incoming.url,
    body: incoming.body,
    onceOnly: route.onceOnly === true,
  }
  for (;;) {
    try {
      return await performRemembered(gate, route, incoming, caller, request)
    } catch (error) {
      if (!(error instanceof AnsweredBefore)) throw error
      const sent = await recall(gate.db, request)
      if (sent) return { ...sent, headers: { ...sent.headers, 'idempotent-replayed': 'true' } }
    }
  }
}

/** A failure that would come again is remembered like a success, though nothing else is written with it. */
async function performRemembered(
  gate: Gate,
  route: Route,
  incoming: Incoming,
  caller: Caller,
  request: RetriedRequest,
): Promise<Sent> {
  await refuseAnsweredUnderPrevious(gate.db, request)
  try {
    return await perform(gate, route, incoming, caller, request)
  } catch (error) {
    if (!(error instanceof Failure) || !isRememberable(error.code)) throw error
    const sent = renderProblem(error, incoming.requestId, incoming.path)
    await remember(gate.db, rowFor(request, sent))
    return sent
  }
}

async function perform(
  gate: Gate,
  route: Route,
  incoming: Incoming,
  caller: Caller | null,
  request: RetriedRequest | null,
): Promise<Sent> {
  if (route.signedBy) await gate.signatures[route.signedBy](incoming.body, (name) => header(incoming, name))
  const { query, body, faults } = readInput(gate.here, route, incoming)
  checkIds(route, incoming.params, faults)
  const retry = request && retryOf(route, request)
  const userAgent = header(incoming, 'user-agent')?.slice(0, 300) ?? null
  const asked = {
    here: gate.here,
    // The row's `needs` has been held against the caller: the handler's own type for it is true.
    caller: caller as never,
    params: incoming.params,
    query,
    body,
    faults,
    ifMatch: header(incoming, 'if-match') ?? null,
    retry,
    verifier: gate.verifier,
    live: { feed: gate.feed, stillMay: stillMay(gate, route, incoming) },
    from: {
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
    const answer = await route.handle({ ...asked, db })
    changed = answer.changedKeys ?? changed
    if (route.inPages) return beginPages(gate, route, answer, caller?.id ?? incoming.ip)
    return answer.sent ?? sentFor(route, answer)
  }
  if (route.method === 'GET' || route.asksOnly) return unlessKept(route, incoming, await handle(gate.db))
  const sent = route.ownTransaction
    ? await handle(gate.db)
    : await inTransaction(gate.db, route, caller, incoming.params.storeId, request, handle)
  if (changed.length > 0) gate.changed()
  if (!route.leavesAccess) for (const id of changed) forget(gate, id)
  return sent
}

/**
 * 304 for whoever has this very answer already. Only where answers may be kept: of all others nobody should have one, and
 * the ETag of a record is for changing it (what a key was last used for moves on without it).
 */
function unlessKept(route: Route, incoming: Incoming, sent: Sent): Sent {
  const kept = header(incoming, 'if-none-match')
  if (!route.cacheSeconds || !sent.headers.etag || !kept || !matchesAny(kept, sent.headers.etag)) return sent
  const { 'content-type': _, ...headers } = sent.headers
  return { ...sent, status: 304, headers, body: '' }
}

/** After a change, before its answer: of callers all, of keys the one, or the store's, or all that it may have touched. */
function forget(gate: Gate, id: string | undefined): void {
  gate.known.callers.forget()
  gate.known.keys.forget(id)
}

function inTransaction(
  db: Db,
  route: Route,
  caller: Caller | null,
  storeId: string | undefined,
  request: RetriedRequest | null,
  handle: (tx: Db) => Promise<Sent>,
): Promise<Sent> {
  return db.transaction(async (tx) => {
    if (request) await claim(tx, request)
    if (needsPermission(route) && storeId) await standFast(tx, caller as UserCaller | KeyCaller, storeId)
    const sent = await handle(tx)
    if (request) await remember(tx, rowFor(request, sent))
    return sent
  })
}

function retryOf(route: Route, request: RetriedRequest): Retry {
  const lookup = lookupFor(request)
  return {
    lookup,
    claim: (tx) => claim(tx, request),
    rowFor: (answer) => {
      // An answer is written once, though it is both remembered and sent.
      answer.sent = sentFor(route, answer)
      return rowFor(request, answer.sent, lookup)
    },
  }
}

// ---- what they sent -------------------------------------------------------------------------------------------------

type Input = { query: object; body: unknown; faults: Fault[] }

function readInput(here: Here, route: Route, incoming: Incoming): Input {
  const inQuery: Fault[] = []
  const inBody: Fault[] = []
  const query = readQuery(route, incoming.query, inQuery)
  const body = readBody(here, route, incoming, inBody)
  const failing = route.tellsFaults ? inQuery : [...inQuery, ...inBody]
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
      faults.push({ pointer: `?${step(name)}`, code: 'invalid_characters', detail: 'This may not hold U+0000.' })
  if (route.query) {
    faults.push(...check(route.query, query, asInQuery))
    route.checksQuery?.(without(query, faults), faults)
  } else
    for (const name of Object.keys(query))
      faults.push({
        pointer: `?${step(name)}`,
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

function readBody(here: Here, route: Route, incoming: Incoming, faults: Fault[]): unknown {
  if (!route.body) {
    if (route.method === 'POST' && incoming.body.length > 0) {
      const body = parseBody(incoming)
      if (!isObject(body) || Object.keys(body).length > 0)
        faults.push({ pointer: '#', code: 'unknown_member', detail: 'This operation takes no body, or {}.' })
    }
    return undefined
  }
  const body = route.form ? parseForm(incoming) : bodyOf(route, incoming)
  const found = check(route.body, body)
  faults.push(...found)
  const sound = isObject(body) ? without(body, found) : {}
  if (!route.reads) return found.length > 0 ? sound : body
  const more: Fault[] = []
  const value = route.reads(sound, here, more)
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
  return readJson(incoming.body)
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
function without(body: Record<string, unknown>, faults: Fault[]): Record<string, unknown> {
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
function sentFor(route: Route, answer: Answer<unknown>, text?: string): Sent {
  const [status, schema] = route.returns
  const headers: Record<string, string> = { ...answer.headers }
  if (schema) headers['content-type'] = 'application/json; charset=utf-8'
  if (answer.stream) Object.assign(headers, STREAM_HEADERS)
  if (answer.resource && status === 201) headers.location = answer.resource.location
  if (answer.etag) headers.etag = answer.etag
  if (route.cacheSeconds) headers['cache-control'] = `public, max-age=${route.cacheSeconds}`
  const body = text ?? (schema ? write(schema, answer.body) : '')
  return { status, headers, body, resourceId: answer.resource?.id ?? null, stream: answer.stream }
}

/** Of an answer in pages the first piece is waited for: what fails until then is answered as every failure is. */
async function beginPages(gate: Gate, route: Route, answer: Answer<unknown>, callerId: string): Promise<Sent> {
  // Only what has lists has pages of them.
  const [schema, body] = [route.returns[1] as TObject, answer.body as Record<string, unknown>]
  const { first, rest } = await begin(gate.longAnswers, callerId, piecesOf(schema, body, write))
  return { ...sentFor(route, answer, first), rest }
}

/** The second keeps proxies that know it from collecting what should be heard at once. */
const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }

export function write(schema: TSchema, body: unknown): string {
  let writer = writers.get(schema)
  if (!writer) {
    writer = fastJson(JSON.parse(JSON.stringify(schema)))
    writers.set(schema, writer)
  }
  return writer(body)
}
