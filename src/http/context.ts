// What the steps of the pipeline are given: the parts of the service, built once in service.ts, and the request. The
// framework is named in server.ts alone, so a request has a type of its own here.

import type { Logger } from 'pino'
import type { AccountLookup } from '../auth/account.ts'
import type { CallerRow } from '../auth/authenticate.ts'
import type { CallerCache } from '../auth/caller-cache.ts'
import type { Credential } from '../auth/credential.ts'
import type { SignatureCheck } from '../auth/github-signature.ts'
import type { JwtCheck } from '../auth/jwt.ts'
import type { KeyCache } from '../auth/key-cache.ts'
import type { OidcClient } from '../auth/schema.ts'
import type { Caller } from '../core/caller.ts'
import type { LongWorkKind, Route, WireResponse } from '../core/route.ts'
import type { Database } from '../db/db.ts'
import type { EventFeed } from '../events/schema.ts'
import type { Instance } from '../instance.ts'
import type { KeyChanges, UsageReports } from '../keys/in-process/schema.ts'
import type { Verifier } from '../keys/schema.ts'
import type { ConcurrencyLimiter } from '../limits/concurrency.ts'
import type { FairQueue } from '../limits/fair-queue.ts'
import type { FairSemaphore } from '../limits/fair-semaphore.ts'
import type { LargeBodies } from '../limits/large-bodies.ts'
import type { LoadShedder, Ticket } from '../limits/load-shedding.ts'
import type { TenantShares } from '../limits/tenant-shares.ts'
import type { RateLimits, ServiceRateLimit } from '../limits/token-bucket.ts'
import type { EventStreams } from './event-stream.ts'
import type { LongAnswers } from './json-stream.ts'
import type { Metrics } from './metrics.ts'
import type { RequestSpans } from './request-spans.ts'

export type Pipeline = {
  db: Database
  instance: Instance
  auth: Auth
  limits: Limits
  verifier: Verifier
  feed: EventFeed
  changes: KeyChanges
  usageReports: UsageReports
  metrics: Metrics
  /** Null without an SDK for traces. */
  spans: RequestSpans | null
  log: Logger
  accountOf: AccountLookup
  /** Whether the service is stopping: answers then close their connections. */
  draining(): boolean
  /** Called after every change: wakes the webhook dispatcher. */
  onChange(): void
}

export type Auth = {
  jwt: JwtCheck | null
  oidc: OidcClient | null
  caches: AuthCaches
  corsOrigins: string[]
  /** By the sender that a row names in `signedBy`. */
  signatures: Record<NonNullable<Route['signedBy']>, SignatureCheck>
}

export type AuthCaches = { callers: CallerCache<CallerRow>; keys: KeyCache }

type Limits = {
  /** Null when RATE_LIMIT is off. */
  rate: RateLimits | null
  services: ServiceRateLimit
  load: LoadShedder
  shares: TenantShares
  /** The same for requests whose caller is not known yet, by address. */
  identifying: TenantShares
  /** Of larger bodies (parse-turns.ts). */
  parseTurns: ParseTurns
  /** For what is read and what is changed (connection-slots.ts). */
  slots: FairSemaphore
  largeReads: LargeReads
  streams: EventStreams
  changeStreams: EventStreams
  longAnswers: LongAnswers
  longWork: LongWork
}

export type ParseTurns = FairQueue<{ tenant: string; begin(): void }>

/** Of reads with large answers, and slow ones (read-slots.ts). */
export type LargeReads = {
  slots: FairSemaphore
  /** By route and account, what is known of those whose answers were large or slow: a moment on `performance.now()`'s clock. */
  known: Map<string, { noted: number; until: number }>
}

/** For rows with `oneAtATime` (long-work.ts). */
export type LongWork = Record<LongWorkKind, LongWorkLine> & {
  /** Of the node, from before a large body is read until the work with it is done. */
  bodies: LargeBodies
}
export type LongWorkLine = {
  /** Of stores and accounts, until the work is done. */
  turns: ConcurrencyLimiter
  /** Of the node, from before the body is parsed. */
  running: FairSemaphore
}

export type Incoming = {
  requestId: string
  method: string
  /** As the caller sees it: behind a trusted proxy what that one says. */
  protocol: 'http' | 'https'
  /** Path and query, as they were sent. */
  url: string
  path: string
  /** When the request was received. */
  at: Date
  /** The same moment on `performance.now()`'s clock. */
  receivedAt: number
  params: Record<string, string>
  query: Record<string, unknown>
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  ip: string
  /** Of load shedding. Null for one that was not admitted, in tests. */
  ticket: Ticket | null
}

/** A request with the route it matched and its caller; on a public route the caller is null. */
export type Call = {
  route: Route
  incoming: Incoming
  caller: Caller | null
  credential: Credential | null
  /** Whom it counts for, where accounts take turns (holders.ts). */
  account: string
}

export type Outgoing = WireResponse & { caller: Caller | null }

export function header(incoming: Incoming, name: string): string | undefined {
  const value = incoming.headers[name]
  return Array.isArray(value) ? value[0] : value
}
