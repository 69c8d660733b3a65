// A row of better-auth's table `apikey`, as a line of an import. The columns are those of better-auth 1.2 to 1.6: the owner
// is `userId` or, since the plugin is a package of its own, `referenceId`.

export type BetterAuthKey = {
  id: string
  name: string | null
  /** SHA-256 of the key, in base64url without padding; with the option `disableKeyHashing` the key itself. */
  key: string
  userId?: string | null
  referenceId?: string | null
  enabled: boolean | null
  expiresAt: Date | null
  remaining: number | null
  refillAmount: number | null
  refillInterval: number | null
  rateLimitEnabled: boolean | null
  rateLimitMax: number | null
  rateLimitTimeWindow: number | null
  permissions: string | null
  metadata: string | null
}

type Line = Record<string, unknown>

const HOUR_MS = 3_600_000
const MAX_WINDOW_SECONDS = 86_400
/** In milliseconds: the intervals that a refill can have here. A month is one of 28 to 31 days. */
const INTERVALS = [
  { interval: 'HOUR', from: HOUR_MS, to: HOUR_MS },
  { interval: 'DAY', from: 24 * HOUR_MS, to: 24 * HOUR_MS },
  { interval: 'MONTH', from: 28 * 24 * HOUR_MS, to: 31 * 24 * HOUR_MS },
]

/** `skipped` says why a key is not worth importing, or cannot be as it is. */
export function toLine(
  row: BetterAuthKey,
  { plain, ...defaults }: { type: string; permissions: string[]; plain: boolean },
  now: Date,
): { line: Line; skipped: string | null } {
  const credits = creditsOf(row)
  const rateLimit = rateLimitOf(row)
  const line = {
    ...(plain ? { value: row.key } : { sha256: row.key }),
    name: (row.name ?? '').trim() || `better-auth ${row.id}`,
    ...defaults,
    owner: row.referenceId ?? row.userId ?? null,
    enabled: row.enabled ?? true,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    metadata: metadataOf(row),
    credits: credits === 'unknown' ? null : credits,
    rateLimit: rateLimit === 'unknown' ? null : rateLimit,
  }
  return { line, skipped: whySkipped(row, credits, rateLimit, now) }
}

function whySkipped(row: BetterAuthKey, credits: unknown, rateLimit: unknown, now: Date): string | null {
  if (row.expiresAt && row.expiresAt <= now) return 'It has expired.'
  if (credits === 'unknown') return `Its refill comes every ${row.refillInterval} ms; ours every hour, day or month.`
  if (rateLimit === 'unknown') return `Its window of ${row.rateLimitTimeWindow} ms is not 1 second to 1 day.`
  return null
}

/** Their permissions are statements such as {"orders": ["read"]}: kept, for back ends that read them. */
function metadataOf(row: BetterAuthKey): Line {
  const metadata: unknown = parse(row.metadata)
  const permissions: unknown = parse(row.permissions)
  return {
    ...(typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata) ? metadata : {}),
    ...(permissions ? { betterAuthPermissions: permissions } : {}),
  }
}

/** Some versions wrote JSON twice. */
function parse(text: string | null): unknown {
  if (!text) return null
  const value: unknown = JSON.parse(text)
  return typeof value === 'string' ? JSON.parse(value) : value
}

function creditsOf({ remaining, refillAmount, refillInterval }: BetterAuthKey): Line | 'unknown' | null {
  if (remaining === null) return null
  if (!refillAmount || !refillInterval) return { remaining, refill: null }
  const found = INTERVALS.find(({ from, to }) => refillInterval >= from && refillInterval <= to)
  return found ? { remaining, refill: { amount: refillAmount, interval: found.interval } } : 'unknown'
}

function rateLimitOf(row: BetterAuthKey): Line | 'unknown' | null {
  const { rateLimitEnabled, rateLimitMax: limit, rateLimitTimeWindow: ms } = row
  if (rateLimitEnabled === false || !limit || !ms) return null
  const windowSeconds = Math.ceil(ms / 1_000)
  return windowSeconds <= MAX_WINDOW_SECONDS ? { limit, windowSeconds } : 'unknown'
}
