// The fast path of verification. Other systems verify a key for each of their own requests, so plain questions of cached
// services bypass the framework. A cached key is answered from memory, in the same turn of the event loop; any other key
// is looked up first. The answer is exactly the pipeline's (a test compares them byte for byte). All other requests, and
// every one that might fail, go on to the framework, with the body that was already read. So does one whose key could not
// be looked up or charged, with that failure as its answer: a key may have been charged though nobody was told, so the
// framework does not verify it once more.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TSchema } from 'typebox'
import { type CachedService, cachedService } from '../auth/authenticate.ts'
import type { Fault } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import type { Route } from '../core/route.ts'
import { sha256 } from '../crypto/tokens.ts'
import { checkNames, parseStores } from '../keys/input.ts'
import {
  type KeptVerdict,
  type Question,
  UnkeptVerdict,
  VERIFY_PATH,
  type Verification,
  type Verified,
} from '../keys/schema.ts'
import { issuedFor } from '../limits/token-bucket.ts'
import { validate } from '../schema/validate.ts'
import type { Admission, RequestListener } from './admission.ts'
import { newBodyBuffer } from './body.ts'
import type { Pipeline } from './context.ts'
import { servicesOf } from './holders.ts'
import { parseStrictJson } from './json.ts'
import { SMALL_BODY_BYTES } from './parse-turns.ts'
import { SAFE_HEADERS, serialize } from './response.ts'
import { failShareFull } from './shares.ts'

export type FastPath = {
  /** False when the request is left to the framework. */
  tryHandle(request: IncomingMessage, response: ServerResponse): boolean
  /** What is known of a request that was delegated to the framework: its body, and the failure that is its answer. */
  delegated(request: IncomingMessage): Delegated | undefined
}

type Delegated = { body: Buffer; failure: Error | null }

/** Of a body. Larger ones are admitted first: a node bounds how many of those may be arriving (admission.ts), and parsed at once. */
const MAX_FAST_BYTES = SMALL_BODY_BYTES

type FastVerifyState = {
  pipeline: Pipeline
  schemas: { question: TSchema; answer: TSchema }
  /** On the way to the framework. */
  fallback: RequestListener
  /** The requests that were delegated to it. */
  delegated: WeakMap<IncomingMessage, Delegated>
  unsent: Admission['unsent']
  /** The last credential and its hash: the next request mostly comes from the same service. */
  last: { authorization: string; hash: string }
  /** Counts an answer and how long it took. */
  count(seconds: number): void
}

export function newFastVerify(
  pipeline: Pipeline,
  routes: Route[],
  { handle: fallback, unsent }: Pick<Admission, 'handle' | 'unsent'>,
): FastPath {
  const state: FastVerifyState = {
    pipeline,
    schemas: schemasOf(routes),
    fallback,
    unsent,
    delegated: new WeakMap(),
    last: { authorization: '', hash: '' },
    count: pipeline.metrics.bufferedCounter('POST', VERIFY_PATH, 200),
  }
  return {
    tryHandle(request, response) {
      // One that was pipelined has no connection before its turn, and waits for it in admission.ts.
      if (!isEligible(request) || response.socket === null || pipeline.draining()) return false
      readAndAnswer(state, request, response)
      return true
    },
    delegated: (request) => state.delegated.get(request),
  }
}

function schemasOf(routes: Route[]): FastVerifyState['schemas'] {
  const route = routes.find((row) => row.path === VERIFY_PATH)
  const answer = route?.returns[1]
  if (!route?.body || !answer) throw new Error(`There is no ${VERIFY_PATH} to have a fast path for`)
  return { question: route.body, answer }
}

function isEligible({ method, url, headers, rawHeaders }: IncomingMessage): boolean {
  return (
    url === VERIFY_PATH &&
    method === 'POST' &&
    headers['content-type'] === 'application/json' &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    headers.cookie === undefined &&
    headers.origin === undefined &&
    // What a key spends under one is stored with the response.
    headers['idempotency-key'] === undefined &&
    headers['expected-user'] === undefined &&
    headers.host !== undefined &&
    Number(headers['content-length']) <= MAX_FAST_BYTES &&
    // No header was sent twice.
    rawHeaders.length === 2 * Object.keys(headers).length
  )
}

function readAndAnswer(state: FastVerifyState, request: IncomingMessage, response: ServerResponse): void {
  const began = performance.now()
  const arrived = newBodyBuffer()
  request.on('data', arrived.add)
  request.on('end', () => {
    const body = arrived.bytes()
    const answer = (verdict: Verified) => send(state, response, verdict, began)
    const delegate = (failure: Error | null) => {
      state.delegated.set(request, { body, failure })
      state.fallback(request, response)
    }
    const { spans } = state.pipeline
    const verdict = spans
      ? spans.within(request, () => verdictOn(state, request, body))
      : verdictOn(state, request, body)
    if (verdict === null) delegate(null)
    else if (verdict instanceof Promise) verdict.then(answer, delegate)
    else answer(verdict)
  })
}

/** Null when the framework has to answer. */
function verdictOn(
  state: FastVerifyState,
  request: IncomingMessage,
  body: Buffer,
): Verified | Promise<Verified> | null {
  const service = serviceOf(state, request.headers.authorization)
  const question = service && readQuestion(state.schemas.question, service, body)
  if (!question) return null
  const { verifier, limits } = state.pipeline
  const storeId = issuedFor({ createdBy: service.service_created_by, storeIds: service.service_store_ids })
  if (limits.services.take(service.service_id, storeId)?.allowed === false) return null
  return verifier.verifyNow(question) ?? verifyAdmitted(state.pipeline, storeId, question)
}

/** Null when the framework has to authenticate it. */
function serviceOf(state: FastVerifyState, authorization: string | undefined): CachedService | null {
  if (authorization?.startsWith('Bearer ') !== true) return null
  return cachedService(state.pipeline.db, state.pipeline.auth.caches.callers, hashOf(state, authorization))
}

function hashOf(state: FastVerifyState, authorization: string): string {
  if (state.last.authorization !== authorization)
    state.last = { authorization, hash: sha256(authorization.slice('Bearer '.length)).toString('hex') }
  return state.last.hash
}

/** As a program writes it. ASCII, no escape and no member twice: parseStrictJson would find nothing to refuse. */
const PLAIN =
  /^\{"key":"\w+"(?:,"storeId":"\w+")?(?:,"permissions":\[(?:"\w+"(?:,"\w+")*)?\])?(?:,"maxStaleSeconds":[1-9]\d?)?\}$/

/** Null for anything but a plain question without a fault. */
function readQuestion(schema: TSchema, service: CachedService, body: Buffer): Question | null {
  try {
    const text = body.toString('latin1')
    const parsed = PLAIN.test(text) ? JSON.parse(text) : parseStrictJson(body)
    if (validate(schema, parsed).length > 0) return null
    const asked = parsed as Verification & Pick<Question, 'stores' | 'serviceId'>
    // An IP address must be parsed, and an explanation may read the database: both are rare.
    if (asked.explain || asked.ip !== undefined) return null
    const faults: Fault[] = []
    if (asked.limits) checkNames(asked.limits, '#/limits', faults)
    // Added, not copied with the rest: the copy alone would take a third of a verification.
    asked.stores = parseStores(service.service_store_ids, asked, faults)
    asked.serviceId = service.service_id
    return faults.length === 0 ? asked : null
  } catch {
    return null
  }
}

/** A request that waits for the database counts as in flight, like all others. Null when it is not admitted. */
function verifyAdmitted(pipeline: Pipeline, storeId: string | null, question: Question): Promise<Verified> | null {
  const { verifier, limits } = pipeline
  const ticket = limits.load.admit('high')
  if (!ticket) return null
  const verdict =
    storeId === null ? verifier.verify(question) : verifyInShare(pipeline, storeId, () => verifier.verify(question))
  verdict.then(ticket.release, ticket.release)
  return verdict
}

/** A verification for an owner's back end counts in the share of the store's account. */
async function verifyInShare({ limits, accountOf }: Pipeline, storeId: string, verify: () => Promise<Verified>) {
  const account = await accountOf(storeId)
  const leave = limits.shares.enter(account, servicesOf(account))
  return leave === null ? failShareFull() : verify().finally(leave)
}

const HEADERS = Object.entries({ ...SAFE_HEADERS, 'content-type': 'application/json; charset=utf-8' }).flat()

function send(state: FastVerifyState, response: ServerResponse, verdict: Verified, began: number): void {
  // The caller disconnected while the key was looked up.
  if (response.destroyed) return
  const { before, after, length, encoding } = serializedFor(state.schemas.answer, verdict)
  const requestId = newId('req')
  response.writeHead(200, [...HEADERS, 'x-request-id', requestId, 'content-length', String(length)])
  const { spans } = state.pipeline
  if (spans) spans.describe(response.req, { route: VERIFY_PATH, requestId, code: verdict.kept.code })
  // Written and flushed before the end: `end` with a text adds an empty piece, and to send two costs 10 µs more than one.
  response.write(before + verdict.kept.metadata + after, encoding)
  response.socket?.uncork()
  response.end()
  state.unsent.add(response)
  state.count((performance.now() - began) / 1000)
}

/** Kept on the verdict itself: with very many keys in turn, another map would be one more cache miss of the processor. */
const SERIALIZED = Symbol('serialized')
/** The texts before and after the metadata, of which the key cache has the one copy. */
type Serialized = { before: string; after: string; length: number; encoding: 'latin1' | 'utf8' }

/** The key cache hands out the same verdict again and again: it is serialized once. What else the answer has comes last. */
function serializedFor(schema: TSchema, { kept, more }: Verified): Serialized {
  const whole = serializedOnce(schema, kept)
  if (more === null) return whole
  const { before, after, length, encoding } = whole
  const text = serialize(UnkeptVerdict, more)
  if (text === '{}') return whole
  const textLength = Buffer.byteLength(text)
  return {
    before,
    after: `${after.slice(0, -1)},${text.slice(1)}`,
    length: length + textLength - 1,
    encoding: textLength === text.length ? encoding : 'utf8',
  }
}

function serializedOnce(schema: TSchema, verdict: KeptVerdict & { [SERIALIZED]?: Serialized }): Serialized {
  const existing = verdict[SERIALIZED]
  if (existing) return existing
  const { metadata } = verdict
  const frame = serialize(schema, { ...verdict, metadata: null })
  // A name that holds these characters has its quotes escaped.
  const at = frame.indexOf('"metadata":null') + '"metadata":'.length
  const [before, after] = [frame.slice(0, at), frame.slice(at + 'null'.length)]
  const text = before + metadata + after
  const length = Buffer.byteLength(text)
  // As many bytes as characters is ASCII, which `latin1` writes without encoding.
  const encoding = length === text.length ? 'latin1' : 'utf8'
  const made: Serialized = { before, after, length, encoding }
  verdict[SERIALIZED] = made
  return made
}
