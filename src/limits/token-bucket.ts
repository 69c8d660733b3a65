// Rate limits by token buckets: a bucket holds a minute's worth of requests and fills steadily. Buckets are kept in
// memory, each node its own: the limit protects a node from a runaway caller, and a query for each request would be the
// load it guards against. `rate-limiter-flexible` was tried and left: its limiters count in fixed windows.

import { networkOf } from '../auth/ip.ts'
import { now } from '../core/clock.ts'

export type RateLimitState = { allowed: boolean; limit: number; remaining: number; resetSeconds: number }

export type RateLimits = {
  takeForCaller(id: string): RateLimitState
  takeForAddress(ip: string): RateLimitState
  /** Of a user, or of a store, for all of its keys: they cannot use up what its owner may store. */
  storageOf(payerId: string): StorageLimit
}

/** Of what is stored for retries: what one caller has to pay for together with others. */
type StorageLimit = {
  /** Whether more may be stored: looked at before anything is spent. */
  check(): RateLimitState | null
  /** Counts what was stored, of which the size is known only then. Whoever stores more than is left waits the longer. */
  charge(bytes: number): void
}

/** Of service tokens. Null for one without a limit. */
export type ServiceRateLimit = {
  /** Of the token, and of all tokens of the store together. */
  take(id: string, issuedFor: string | null): RateLimitState | null
  /** For all tokens of the account's stores. */
  takeBytes(token: IssuedToken, account: string, bytes: number): RateLimitState | null
  /** Of the store, which may have several owners, and of its account. Nobody pays for a token of the operator. */
  storageOf(token: IssuedToken, account: string): StorageLimit
}

type IssuedToken = { createdBy: string | null; storeIds: readonly string[] | null }

/**
 * The store for which an owner has issued the token, whether they still are one or not: they have no part in its limits.
 * Null: the operator has issued it.
 */
export const issuedFor = ({ createdBy, storeIds }: IssuedToken): string | null =>
  createdBy === null ? null : (storeIds?.[0] ?? null)

const WINDOW_SECONDS = 60
/** Requests without a caller are counted by IP address: an address gets a tenth of a caller's limit. */
const ADDRESS_DIVISOR = 10
/** An address of IPv6 is a /64. All of a /48 together get this many times its limit. */
const SITE_FACTOR = 10
/** All service tokens that owners have issued for a store together get this many times the limit of one. */
const STORE_FACTOR = 10
const MAX_BUCKETS = 100_000
/**
 * Of metered bodies, for each account. Usage reports of 64 KiB took up to 18 ms of a core each, measured on a busy machine,
 * so all tokens of an account together keep less than a twelfth of a core busy with them.
 */
const BYTES_PER_MINUTE = 16 * 1024 * 1024

/**
 * Of responses that are stored for retries: an account, and a store, may have this much stored for each request that one
 * service token may send. The verdict on an ordinary key counts for 1,060 bytes; with ten permissions and five named limits it would be
 * some 1,900, which is an estimate. So a back end at its rate limit is not refused.
 */
const STORED_BYTES_PER_REQUEST = 2_000
/** The same of a user, or of the keys of a store, who may send a tenth as many requests by default. */
const STORED_BYTES_PER_CALLER_REQUEST = 20_000

type Bucket = { tokens: number; at: number }

class TokenBuckets {
  readonly #limit: number
  readonly #buckets = new Map<string, Bucket>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Takes tokens from the bucket of this name, if it has as many. */
  take(name: string, cost = 1): RateLimitState {
    const bucket = this.#filled(name)
    const allowed = bucket.tokens >= cost
    if (allowed) bucket.tokens -= cost
    const missing = allowed ? this.#limit - bucket.tokens : cost - bucket.tokens
    return {
      allowed,
      limit: this.#limit,
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      resetSeconds: Math.max(1, Math.ceil((missing / this.#limit) * WINDOW_SECONDS)),
    }
  }

  /**
   * Takes them even if the bucket has fewer: then nothing can be taken from it until it has filled up again. It never lacks
   * more than it holds when it is full.
   */
  charge(name: string, cost: number): void {
    const bucket = this.#filled(name)
    bucket.tokens = Math.max(-this.#limit, bucket.tokens - cost)
  }

  #filled(name: string): Bucket {
    const at = now().getTime()
    const bucket = this.#buckets.get(name) ?? { tokens: this.#limit, at }
    const perMs = this.#limit / WINDOW_SECONDS / 1000
    bucket.tokens = Math.min(this.#limit, bucket.tokens + Math.max(0, at - bucket.at) * perMs)
    bucket.at = at
    this.#keep(name, bucket)
    return bucket
  }

  /** Past MAX_BUCKETS the least recently used one is evicted: by then it is most likely full, like a new one. */
  #keep(name: string, bucket: Bucket): void {
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
    if (this.#buckets.size <= MAX_BUCKETS) return
    const [oldest] = this.#buckets.keys()
    if (oldest !== undefined) this.#buckets.delete(oldest)
  }
}

/** `perMinute` is the setting RATE_LIMIT; null switches the limits off. */
export function newRateLimits(perMinute: number | null): RateLimits | null {
  if (perMinute === null) return null
  const perAddress = Math.max(1, Math.floor(perMinute / ADDRESS_DIVISOR))
  const callers = new TokenBuckets(perMinute)
  const places = new TokenBuckets(perAddress)
  const sites = new TokenBuckets(perAddress * SITE_FACTOR)
  const storage = new TokenBuckets(perMinute * STORED_BYTES_PER_CALLER_REQUEST)
  return {
    takeForCaller: (id) => callers.take(id),
    storageOf: (payerId) => storageIn(storage, [payerId]),
    takeForAddress(ip) {
      const { place, site } = networkOf(ip)
      const ofPlace = places.take(place)
      if (site === null || !ofPlace.allowed) return ofPlace
      const ofSite = sites.take(site)
      return ofSite.allowed ? ofPlace : ofSite
    },
  }
}

/** `perMinute` is the setting SERVICE_TOKEN_RATE_LIMIT; null switches it off. The operator's own tokens have no limit. */
export function newServiceRateLimit(perMinute: number | null): ServiceRateLimit {
  const services = perMinute === null ? null : new TokenBuckets(perMinute)
  const stores = perMinute === null ? null : new TokenBuckets(perMinute * STORE_FACTOR)
  const bytesOf = perMinute === null ? null : new TokenBuckets(BYTES_PER_MINUTE)
  const storage = perMinute === null ? null : new TokenBuckets(perMinute * STORED_BYTES_PER_REQUEST)
  return {
    take(id, storeId) {
      if (storeId === null || !services || !stores) return null
      const ofToken = services.take(id)
      if (!ofToken.allowed) return ofToken
      const ofStore = stores.take(storeId)
      return ofStore.allowed ? ofToken : ofStore
    },
    takeBytes: (token, account, bytes) => (issuedFor(token) === null ? null : (bytesOf?.take(account, bytes) ?? null)),
    storageOf(token, account) {
      const storeId = issuedFor(token)
      return storageIn(storage, storeId === null ? [] : [account, storeId])
    },
  }
}

function storageIn(storage: TokenBuckets | null, payers: string[]): StorageLimit {
  return {
    check() {
      const states = storage ? payers.map((id) => storage.take(id, 0)) : []
      return states.find(({ allowed }) => !allowed) ?? states[0] ?? null
    },
    charge(bytes) {
      for (const id of payers) storage?.charge(id, bytes)
    },
  }
}

/** The headers of draft-ietf-httpapi-ratelimit-headers. */
export function rateLimitHeaders({ limit, remaining, resetSeconds }: RateLimitState): Record<string, string> {
  return {
    'ratelimit-policy': `"default";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
  }
}
