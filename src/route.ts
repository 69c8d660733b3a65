// A route is a row of facts and one call. Validation, the permission check, retries, OpenAPI and the tests of who may
// do what are all made from the row, so a row without a rule does not compile.

import type { Static, TObject, TSchema } from 'typebox'
import type { KeyCaller, ServiceCaller, UserCaller } from './caller.ts'
import type { Db } from './db/db.ts'
import type { ErrorCode, Fault } from './errors.ts'
import type { Feed, StillMay } from './events/stream.ts'
import type { Here } from './here.ts'
import type { Verifier } from './keys/verify.ts'
import type { BuiltInPermission } from './permissions.ts'

/**
 * Who may call. A permission: whoever holds it in the store of the path, member or key. `user`: any signed-in user.
 * `store user`: a user with a part in the store of the path. `key`: any API key. `service`: a back end of the operator,
 * by its service token. `nothing`: anyone.
 */
export type Needs = BuiltInPermission | 'user' | 'store user' | 'key' | 'service' | 'nothing'

type CallerFor<N extends Needs> = N extends 'nothing'
  ? null
  : N extends 'user' | 'store user'
    ? UserCaller
    : N extends 'key'
      ? KeyCaller
      : N extends 'service'
        ? ServiceCaller
        : UserCaller | KeyCaller

type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & ParamsOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : unknown

/** Keeps what was answered, so that a retry gets it again: see idempotency/. Null when the caller sent no key. */
export type Retry = {
  /** Ends the request here when it was answered before or is being answered now. */
  claim(tx: Db): Promise<void>
  /** What the row will be found by. */
  lookup: string
  /** The row to write in the same transaction as the change. */
  rowFor(answer: Answer<unknown>): RememberedRow
}

export type RememberedRow = {
  lookup: string
  fingerprint: string
  once_only: boolean
  status: number
  resource_id: string | null
  kid: string
  salt: string | null
  sealed: string | null
  created_at: Date
}

export type Answer<Body> = {
  body: Body
  /** What was made: it becomes the Location and is named should its secret no longer be shown. */
  resource?: { id: string; location: string }
  etag?: string
  headers?: Record<string, string>
  /** Of a route that streams: text that is sent as it comes, until it ends or `closing` is aborted. */
  stream?: Stream
  /** The keys it changed, where the path does not name them: only these are looked up anew. */
  changedKeys?: string[]
  /** As it goes over the wire, once somebody had to know. */
  sent?: Sent
}

/** What went over the wire, so that it can go again byte for byte. */
export type Sent = {
  status: number
  headers: Record<string, string>
  body: string
  resourceId: string | null
  stream?: Stream | undefined
  /** What follows the body, where it is sent as it is read. */
  rest?: Pieces
}

export type Stream = (closing: AbortSignal) => AsyncIterable<string>

/** Must be taken to its end, or told to return. */
export type Pieces = AsyncGenerator<string, void>

/** A body whose lists come a page at a time, each read when the one before it has been taken. */
export type InPages<Body> = {
  [Name in keyof Body]: Body[Name] extends (infer Item)[] ? AsyncIterable<Item[]> : Body[Name]
}

export type Asked<Path extends string, N extends Needs, Query, Body> = {
  db: Db
  here: Here
  caller: CallerFor<N>
  params: ParamsOf<Path>
  query: Query
  body: Body
  ifMatch: string | null
  /** Of the body, where the row says `tellsFaults`; otherwise there are none. */
  faults: Fault[]
  retry: Retry | null
  verifier: Verifier
  /** For routes that stream: what happens, and whether the caller still may hear of it. */
  live: { feed: Feed; stillMay: StillMay }
  /** How the request came: for sessions, the trail and signatures. */
  from: {
    at: Date
    ip: string
    userAgent: string | null
    path: string
    raw: Buffer
    header(name: string): string | undefined
  }
}

export type RouteFacts<Path extends string, N extends Needs, Query extends TObject, Body extends TSchema, Value> = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: Path
  needs: N
  /** For the docs: what it does in a few words, and what to know about it. */
  summary: string
  description: string
  query?: Query
  /** What no schema can say of the query: pushes more faults. Is shown only what passed the schema. */
  checksQuery?: (query: Partial<Static<Query>>, faults: Fault[]) => void
  body?: Body
  /** What no schema can say: pushes more faults, and gives the value in its normal form. May meet absent members. */
  reads?: (body: Partial<Static<Body>>, here: Here, faults: Fault[]) => Value
  /** Its call is handed the faults of the body and tells them, with what is wrong only beside the record it changes. */
  tellsFaults?: true
  returns: readonly [200 | 201 | 204, TSchema | null]
  /** The answer is one record, with the ETag to send as If-Match when it is changed. */
  tagged?: true
  /** Its own failures, beside those that every route of its kind has. */
  errors?: ErrorCode[]
  /** The answer holds a secret that is shown once. */
  onceOnly?: true
  /** It asks and changes nothing, though it is a POST: no transaction, no retries, and its answer is never remembered. */
  asksOnly?: true
  /** The answer is the same for everyone, with an ETag: anyone may keep it so long, and ask again with If-None-Match. */
  cacheSeconds?: number
  /** The body may be left out, which is as good as `{}`. */
  bodyOptional?: true
  /** The body is a form, not JSON. */
  form?: true
  /** The body is signed by whom it comes from: the signature is checked before the body is read. */
  signedBy?: 'github'
  /** The change is written by a batch or in transactions of its own. Otherwise it runs inside one. */
  ownTransaction?: true
  /** The answer is a stream of server-sent events, given as `stream`. */
  streams?: true
  /** The lists of the answer may be of any length: they are read and sent a page at a time (see `InPages`). */
  inPages?: true
  /** It changes nothing about what anyone may do. Every other change makes this node look everyone up anew. */
  leavesAccess?: true
  /** A request that really works; a test sends it. */
  example?: { body?: Static<Body>; query?: string }
}

export type Route = Omit<RouteFacts<string, Needs, TObject, TSchema, unknown>, 'reads' | 'checksQuery'> & {
  checksQuery?: (query: object, faults: Fault[]) => void
  reads?: (body: object, here: Here, faults: Fault[]) => unknown
  handle: (asked: Asked<string, Needs, unknown, unknown>) => Promise<Answer<unknown>>
}

export function route<
  const Path extends string,
  const N extends Needs,
  Query extends TObject,
  Body extends TSchema,
  const Status extends 200 | 201 | 204,
  Result extends TSchema | null,
  Value = Static<Body>,
  const Paged extends true | undefined = undefined,
>(
  facts: Omit<RouteFacts<Path, N, Query, Body, Value>, 'returns' | 'inPages'> & {
    returns: readonly [Status, Result]
    inPages?: Paged
  },
  handle: (
    asked: Asked<Path, N, Static<Query>, Value>,
  ) => Promise<Answer<Result extends TSchema ? (Paged extends true ? InPages<Static<Result>> : Static<Result>) : null>>,
): Route {
  // Inside the table all routes have one type; the facts above were checked against the handler here.
  return { ...facts, handle } as unknown as Route
}
