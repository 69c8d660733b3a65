// A route is a row of facts and one call. Validation, the permission check, retries, OpenAPI and the tests of who may
// do what are all made from the row, so a row without a rule does not compile.

import type { Static, TObject, TSchema } from 'typebox'
import type { Db } from '../db/db.ts'
import type { AuthorizationProbe, EventFeed } from '../events/stream.ts'
import type { Instance } from '../instance.ts'
import type { Verifier } from '../keys/schema.ts'
import type { KeyCaller, Manager, ServiceCaller, UserCaller } from './caller.ts'
import type { ErrorCode, Fault } from './errors.ts'
import type { BuiltInPermission } from './permissions.ts'

/**
 * Who may call. A permission: whoever holds it in the store of the path, member or key. `user`: any signed-in user.
 * `store user`: a user with a part in the store of the path. `key`: any API key. `service`: a back end of the operator,
 * by its service token. `nothing`: anyone.
 */
export type Needs = BuiltInPermission | 'user' | 'store user' | 'key' | 'service' | 'public'

type CallerFor<N extends Needs> = N extends 'public'
  ? null
  : N extends 'user' | 'store user'
    ? UserCaller
    : N extends 'key'
      ? KeyCaller
      : N extends 'service'
        ? ServiceCaller
        : Manager

type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & ParamsOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : unknown

/** Keeps what was answered, so that a retry gets it again: see idempotency/. Null when the caller sent no key. */
export type Idempotency = {
  /** Ends the request here when it was answered before or is being answered now. */
  claim(tx: Db): Promise<void>
  /** What the row will be found by. */
  lookup: string
  /** The row to write in the same transaction as the change. */
  toStoredResponse(answer: Answer<unknown>): StoredResponse
}

export type StoredResponse = {
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
  wire?: WireResponse
}

/** What went over the wire, so that it can go again byte for byte. */
export type WireResponse = {
  status: number
  headers: Record<string, string>
  body: string
  resourceId: string | null
  stream?: Stream | undefined
  /** What follows the body, where it is sent as it is read. */
  rest?: Chunks
}

export type Stream = (closing: AbortSignal) => AsyncIterable<string>

/** Must be taken to its end, or told to return. */
export type Chunks = AsyncGenerator<string, void>

/** A body whose lists come a page at a time, each read when the one before it has been taken. */
export type Paged<Body> = {
  [Name in keyof Body]: Body[Name] extends (infer Item)[] ? AsyncIterable<Item[]> : Body[Name]
}

export type HandlerArgs<Path extends string, N extends Needs, Query, Body> = {
  db: Db
  instance: Instance
  caller: CallerFor<N>
  params: ParamsOf<Path>
  query: Query
  body: Body
  ifMatch: string | null
  /** Of the body, where the row says `tellsFaults`; otherwise there are none. */
  faults: Fault[]
  idempotency: Idempotency | null
  verifier: Verifier
  /** For routes that stream: what happens, and whether the caller still may hear of it. */
  stream: { feed: EventFeed; stillAuthorized: AuthorizationProbe }
  /** How the request came: for sessions, the trail and signatures. */
  request: {
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
  checkQuery?: (query: Partial<Static<Query>>, faults: Fault[]) => void
  body?: Body
  /** What no schema can say: pushes more faults, and gives the value in its normal form. May meet absent members. */
  parse?: (body: Partial<Static<Body>>, instance: Instance, faults: Fault[]) => Value
  /** Its call is handed the faults of the body and tells them, with what is wrong only beside the record it changes. */
  handlesFaults?: true
  returns: readonly [200 | 201 | 204, TSchema | null]
  /** The answer is one record, with the ETag to send as If-Match when it is changed. */
  etag?: true
  /** Its own failures, beside those that every route of its kind has. */
  errors?: ErrorCode[]
  /** The answer holds a secret that is shown once. */
  revealsSecret?: true
  /** The answer is the same for everyone, with an ETag: anyone may keep it so long, and ask again with If-None-Match. */
  cacheSeconds?: number
  /** The body may be left out, which is as good as `{}`. */
  bodyOptional?: true
  /** The body is a form, not JSON. */
  form?: true
  /** The body is signed by whom it comes from: the signature is checked before the body is read. */
  signedBy?: 'github'
  /**
   * What the handler does to the database. A GET reads, and everything else runs inside one transaction, unless the row
   * says otherwise. `read`: it changes nothing, though it is a POST (no transaction, no retries, its answer is never
   * stored). `own`: it writes by a batch or in transactions of its own.
   */
  effect?: 'read' | 'own'
  /**
   * The form of the answer: one JSON document, unless the row says otherwise. `events`: a stream of server-sent events,
   * given as `stream`. `paged`: lists of any length, read and sent a page at a time (see `Paged`).
   */
  answer?: 'events' | 'paged'
  /** The change leaves everyone's rights as they are. Every other change makes this node look up all callers anew. */
  access?: 'unchanged'
  /** A request that really works; a test sends it. */
  example?: { body?: Static<Body>; query?: string }
}

export type Route = Omit<RouteFacts<string, Needs, TObject, TSchema, unknown>, 'parse' | 'checkQuery'> & {
  checkQuery?: (query: object, faults: Fault[]) => void
  parse?: (body: object, instance: Instance, faults: Fault[]) => unknown
  handle: (args: HandlerArgs<string, Needs, unknown, unknown>) => Promise<Answer<unknown>>
}

export function route<
  const Path extends string,
  const N extends Needs,
  Query extends TObject,
  Body extends TSchema,
  const Status extends 200 | 201 | 204,
  Result extends TSchema | null,
  Value = Static<Body>,
  const Form extends RouteFacts<Path, N, Query, Body, Value>['answer'] = undefined,
>(
  facts: Omit<RouteFacts<Path, N, Query, Body, Value>, 'returns' | 'answer'> & {
    returns: readonly [Status, Result]
    answer?: Form
  },
  handle: (
    args: HandlerArgs<Path, N, Static<Query>, Value>,
  ) => Promise<Answer<Result extends TSchema ? (Form extends 'paged' ? Paged<Static<Result>> : Static<Result>) : null>>,
): Route {
  // Inside the table all routes have one type; the facts above were checked against the handler here.
  return { ...facts, handle } as unknown as Route
}
