// A route is a row of facts and one call. Validation, the permission check, idempotency, OpenAPI and the tests of who may
// do what are all made from the row, so a row without a rule does not compile. This file stands above db/, since a
// handler is given the database, and below everything that declares routes or stores answers.

import type { Static, TObject, TSchema } from 'typebox'
import type { OidcClient } from '../auth/schema.ts'
import type { Db } from '../db/db.ts'
import type { Turn } from '../db/turns.ts'
import type { AuthorizationProbe, EventFeed } from '../events/schema.ts'
import type { Instance } from '../instance.ts'
import type { KeyChanges, UsageReports } from '../keys/in-process/schema.ts'
import type { Verifier } from '../keys/schema.ts'
import type { Caller, KeyCaller, Manager, ServiceCaller, UserCaller } from './caller.ts'
import type { ErrorCode, Fault } from './errors.ts'
import type { BuiltInPermission } from './permissions.ts'
import type { StoredResponse } from './stored-response.ts'

/**
 * Who may call. A permission: members and keys that hold it in the store of the path. `user`: any signed-in user.
 * `store user`: a user with a part in the store of the path. `owner`: an owner of it, in person. `key`: any API key.
 * `service`: a back end, by its service token. `caller`: a user, a key or a service, whatever they hold. `public`: anyone.
 */
export type Needs = BuiltInPermission | 'user' | 'store user' | 'owner' | 'key' | 'service' | 'caller' | 'public'

type CallerFor<N extends Needs> = N extends 'public'
  ? null
  : N extends 'user' | 'store user' | 'owner'
    ? UserCaller
    : N extends 'key'
      ? KeyCaller
      : N extends 'service'
        ? ServiceCaller
        : N extends 'caller'
          ? Caller
          : Manager

type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & ParamsOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : unknown

/** Stores the answer, so that a retry gets it again: see idempotency/. */
export type Idempotency = {
  /**
   * Throws when the request was answered before or is being answered now. When as much is stored for the caller as may be, it
   * throws if the request can be refused; any other is executed, and stored without its response.
   */
  claim(tx: Db, canBeRefused?: boolean): Promise<void>
  /** What the stored row is found by: HMACs of the caller and their Idempotency-Key, the current server secret's first. */
  lookups: [string, ...string[]]
  /** Why no further response may be stored for the caller, or null: asked before anything is done. */
  storageRefusal(): Error | null
  /** The row to write in the same transaction as the change. */
  toStoredResponse(answer: Answer<unknown>): StoredResponse
}

export type Answer<Body> = {
  body: Body
  /** What was created, sent as `Location`, or changed. Named in a replay that may no longer show the response. */
  resource?: { id: string; location: string }
  etag?: string
  headers?: ResponseHeaders
  /** For a row with `answer: 'events'` or `'changes'`: text sent as it is produced, until it ends or `closing` is aborted. */
  stream?: Stream
  /** The API keys that changed, or their stores, where the path does not name them: only these are evicted from the key cache. */
  changedKeys?: string[]
  /**
   * The metadata of the keys in the body, in their order, as JSON text; in the body it is `{}`. A hundred keys may hold
   * 1.6 MB of it, which is slow to parse and to serialize again.
   */
  metadata?: string[]
  /** The serialized answer, kept when it was made to be stored, so that it is not serialized again to be sent. */
  wire?: WireResponse
}

/** A list is a header that is sent several times: `set-cookie`. */
export type ResponseHeaders = Record<string, string | string[]>

/** An answer as it is sent, and stored to be replayed byte for byte. */
export type WireResponse = {
  status: number
  headers: ResponseHeaders
  body: string
  resourceId: string | null
  stream?: Stream | undefined
  /** For a row with `answer: 'paged'`: the chunks that follow `body`, read as they are sent. */
  rest?: Chunks
}

export type Stream = (closing: AbortSignal) => AsyncIterable<string>

/** The consumer must read it to its end or call `return()`: until then it holds a slot of the concurrency limiter. */
export type Chunks = AsyncGenerator<string, void>

/** A body whose lists come a page at a time; the next page is read when the one before it has been sent. */
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
  /** The faults of the body, for a row with `handlesFaults`; empty for all others. */
  faults: Fault[]
  /** Null when the request carries no Idempotency-Key. */
  idempotency: Idempotency | null
  verifier: Verifier
  /** Null where no provider of single sign-on is configured. */
  oidc: OidcClient | null
  /** On a public route: the user who is signed in, if any. A credential that is not valid counts as none. */
  visitor(): Promise<UserCaller | null>
  /** For a row with `answer: 'events'`: the live events, and the check that the caller may still see them. */
  stream: { feed: EventFeed; stillAuthorized: AuthorizationProbe }
  /** The changes of keys, as this node hears of them. */
  changes: KeyChanges
  /** What back ends counted that verify in their own process. */
  usageReports: UsageReports
  /** The request's origin and raw bytes: for sessions, the audit trail and signatures. */
  request: {
    at: Date
    /** The same moment on `performance.now()`'s clock. */
    receivedAt: number
    ip: string
    userAgent: string | null
    path: string
    raw: Buffer
    header(name: string): string | undefined
  }
}

/** What is known of a request before its transaction begins. */
type TurnArgs<Path extends string, N extends Needs, Body> = Pick<
  HandlerArgs<Path, N, unknown, Body>,
  'db' | 'caller' | 'params' | 'body'
>

/** What is known of a retry that is about to get the response of the first request again. */
type ReplayArgs<Path extends string, N extends Needs> = Pick<
  HandlerArgs<Path, N, unknown, unknown>,
  'db' | 'caller' | 'params'
> & { sent: WireResponse }

/** The store in whose line a change waits, and for which purpose. */
/** What keeps a core busy, of which a node does a few at a time; each kind has its own line. */
export type LongWorkKind = 'import' | 'bulk change'

export type StoreTurn = Pick<Turn, 'holder' | 'purpose'>

export type SuccessStatus = 200 | 201 | 202 | 204 | 303

export type RouteFacts<Path extends string, N extends Needs, Query extends TObject, Body extends TSchema, Value> = {
  /** The operation's name, `resource.verb`: its id in OpenAPI and its name in clients. */
  id: `${string}.${string}`
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: Path
  needs: N
  /** Shown in the docs: the operation in a few words, then in full. */
  summary: string
  description: string
  query?: Query
  /** Checks of the query that a schema cannot express: pushes more faults. Gets the members that passed the schema. */
  checkQuery?: (query: Partial<Static<Query>>, faults: Fault[]) => void
  body?: Body
  /**
   * Checks of the body that a schema cannot express: pushes more faults, and returns the value in its normal form.
   * Members that failed the schema are absent.
   */
  parse?: (body: Partial<Static<Body>>, instance: Instance, faults: Fault[]) => Value
  /** The handler reports the faults of the body itself, with those it finds by comparing with the stored record. */
  handlesFaults?: true
  /** 303 sends no body; its handler sets `location` in the answer's headers. */
  returns: readonly [SuccessStatus, TSchema | null]
  /** A PUT that makes what is not there yet: then its answer has a `resource` and is 201 instead of 200. */
  mayCreate?: true
  /** The answer is one record with an ETag, which a change of it may send as If-Match. */
  etag?: true
  /**
   * For a change that answers with a record which takes another permission to read: that permission, the member of the
   * answer that holds the record where that is not the whole of it, and the members that tell which record it is.
   * Callers without the permission get these and the members that they sent (http/withhold.ts).
   */
  readableWith?: { permission: BuiltInPermission; in?: string; identifiedBy: readonly string[] }
  /** Errors of this route, beside those that every route of its kind has. */
  errors?: ErrorCode[]
  /** The answer holds a secret that is shown once. */
  revealsSecret?: true
  /** Its response is stored without the metadata of the key that it names: a retry shows what the key has by then. */
  storedWithoutMetadata?: true
  /** The handler needs a recent sign-in (auth/recent-sign-in.ts), and so does a retry that gets its answer again. */
  recentSignIn?: true
  /**
   * Fails when the caller, as they are now, may not have the response that they got before: called before a retry gets it
   * again. It locks nothing, since the stored response is locked.
   */
  checkReplay?: (args: ReplayArgs<Path, N>) => Promise<void> | void
  /** The answer is public: any cache may keep it for this long, then revalidate it with If-None-Match. */
  cacheSeconds?: number
  /** The body as the docs show it, where the handler checks a part of it that `body` leaves open. */
  documentedBody?: TSchema
  /** More than other bodies may have, for callers who may call this: nobody else's body is read. */
  maxBodyBytes?: number
  /** It keeps a core busy: one of a kind at a time for each store, two for each account, and a few on a node (http/long-work.ts). */
  oneAtATime?: LongWorkKind
  /** The bytes of its body are limited for each account whose service tokens call it (limits/token-bucket.ts). */
  meteredBody?: true
  /** A missing body counts as `{}`. */
  bodyOptional?: true
  /** The body is `application/x-www-form-urlencoded` instead of JSON. */
  form?: true
  /** The sender who signs the body: the signature is checked before the body is parsed. */
  signedBy?: 'github'
  /**
   * While the database does not answer, a service is served as the node knew it last: the handler decides how old that may
   * be.
   */
  answersStale?: true
  /**
   * What the handler does to the database. A GET reads, and everything else runs inside one transaction, unless the row
   * says otherwise. `read`: it changes nothing, though it is a POST (no transaction, no retries, its answer is never
   * stored). `own`: it writes by a batch or in transactions of its own.
   */
  effect?: 'read' | 'own'
  /**
   * Before a change is committed the caller's rights and session are looked at again, under lock (auth/recheck.ts). `own`:
   * the handler does so itself, because it ends sessions, or with its first statement. So does one with `effect: 'own'`.
   */
  recheck?: 'own'
  /**
   * For a change that locks a store though `needs` is no permission there: in whose line it waits (db/turns.ts). Null when the
   * handler will refuse it without the lock, so that it takes nobody's place.
   */
  storeTurn?: (args: TurnArgs<Path, N, Value>) => Promise<StoreTurn | null>
  /**
   * The form of the answer: one JSON document, unless the row says otherwise. `events`: a stream of server-sent events, given
   * as `stream`. `changes`: the same, with seats of its own. `paged`: lists of any length, read and sent a page at a time
   * (see `Paged`).
   */
  answer?: 'events' | 'changes' | 'paged'
  /** A person's browser is sent here: a refusal is a page, unless the request accepts no HTML. */
  browser?: true
  /** The change affects nobody's rights. Every other change empties this node's caller cache. */
  access?: 'unchanged'
  /** A request that works: a test sends it, and the docs show it. */
  example?: { body?: Static<Body>; query?: string }
}

export type Route = Omit<
  RouteFacts<string, Needs, TObject, TSchema, unknown>,
  'parse' | 'checkQuery' | 'storeTurn' | 'checkReplay'
> & {
  checkQuery?: (query: object, faults: Fault[]) => void
  parse?: (body: object, instance: Instance, faults: Fault[]) => unknown
  storeTurn?: (args: TurnArgs<string, Needs, unknown>) => Promise<StoreTurn | null>
  checkReplay?: (args: ReplayArgs<string, Needs>) => Promise<void> | void
  handle: (args: HandlerArgs<string, Needs, unknown, unknown>) => Promise<Answer<unknown>>
}

/** Whether the route changes anything, as its row declares it. */
export function isChange({ method, effect }: Pick<Route, 'method' | 'effect'>): boolean {
  return method !== 'GET' && effect !== 'read'
}

export function route<
  const Path extends string,
  const N extends Needs,
  Query extends TObject,
  Body extends TSchema,
  const Status extends SuccessStatus,
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
