// Token buckets: a bucket holds a minute's worth of requests and fills steadily. Kept in memory, for each node its
// own: the limit protects a node from a caller that runs wild, and asking the database about it would be the load it
// guards against. `rate-limiter-flexible` was looked at and left: its limiters count in fixed windows.

import { now } from '../core/clock.ts'

export type RateLimitState = { allowed: boolean; limit: number; remaining: number; resetSeconds: number }

const WINDOW_SECONDS = 60
const MAX_BUCKETS = 100_000

type Bucket = { tokens: number; at: number }

export class TokenBuckets {
  readonly #limit: number
  readonly #buckets = new Map<string, Bucket>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Takes one token, if there is one. */
  take(name: string): RateLimitState {
    const at = now().getTime()
    const bucket = this.#buckets.get(name) ?? { tokens: this.#limit, at }
    const perMs = this.#limit / WINDOW_SECONDS / 1000
    bucket.tokens = Math.min(this.#limit, bucket.tokens + Math.max(0, at - bucket.at) * perMs)
    bucket.at = at
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    this.#keep(name, bucket)
    const missing = allowed ? this.#limit - bucket.tokens : 1 - bucket.tokens
    return {
      allowed,
      limit: this.#limit,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.max(1, Math.ceil(missing / perMs / 1000)),
    }
  }

  /** The least recently used bucket goes first when there are too many; a full one is as good as none. */
  #keep(name: string, bucket: Bucket): void {
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
    if (this.#buckets.size <= MAX_BUCKETS) return
    const [oldest] = this.#buckets.keys()
    if (oldest !== undefined) this.#buckets.delete(oldest)
  }
}

/** The headers of draft-ietf-httpapi-ratelimit-headers. */
export function rateLimitHeaders({ limit, remaining, resetSeconds }: RateLimitState): Record<string, string> {
  return {
    'ratelimit-policy': `"default";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
  }
}
