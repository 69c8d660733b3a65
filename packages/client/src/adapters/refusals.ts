// The responses to requests that are refused: problem documents (RFC 9457) with the challenges of RFC 6750, and the
// headers that a caller who is let in gets.

import type { RefusedVerdict, Verdict, Verification } from '../api.gen.ts'
import { isStorekeeperError } from '../error.ts'

export type Refusal = {
  ok: false
  status: number
  headers: Record<string, string>
  /** A problem document, unless `onRefused` has replaced it. */
  body: unknown
  /** The verdict; null when the request had no key that could be asked about, or none could be had. */
  verdict: RefusedVerdict | null
}

type Code = keyof typeof KINDS
/** What of a policy a refusal speaks of. */
type Demands = Pick<Verification, 'anyPermissions' | 'types'> & {
  permissions: readonly string[]
  header: string | null
  tell?: boolean | undefined
}

const INVALID = 'The API key is not valid: it is unknown, expired, disabled or revoked.'

/** `error` is that of the challenge. */
const KINDS = {
  unauthenticated: { status: 401, title: 'Unauthorized', detail: '' },
  invalid_request: { status: 400, title: 'Bad Request', detail: '', error: 'invalid_request' },
  invalid_token: { status: 401, title: 'Unauthorized', detail: INVALID, error: 'invalid_token' },
  insufficient_permission: {
    status: 403,
    title: 'Forbidden',
    detail: 'The API key does not have the permission that this needs.',
    error: 'insufficient_scope',
  },
  wrong_type: { status: 403, title: 'Forbidden', detail: 'API keys of this type are not accepted here.' },
  forbidden_ip: { status: 403, title: 'Forbidden', detail: 'The API key cannot be used from this address.' },
  forbidden: { status: 403, title: 'Forbidden', detail: 'The API key is not accepted here.' },
  usage_exceeded: { status: 429, title: 'Too Many Requests', detail: 'The API key has too few credits left.' },
  rate_limited: {
    status: 429,
    title: 'Too Many Requests',
    detail: 'The API key was used too often. Try again after the time in Retry-After.',
  },
  unavailable: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'API keys cannot be verified at the moment. Try again.',
  },
} satisfies Record<string, { status: number; title: string; detail: string; error?: string }>

const KIND_OF = new Map<string, Code>(
  Object.entries({
    NOT_FOUND: 'invalid_token',
    REVOKED: 'invalid_token',
    EXPIRED: 'invalid_token',
    DISABLED: 'invalid_token',
    FROZEN: 'invalid_token',
    WRONG_TYPE: 'wrong_type',
    FORBIDDEN_IP: 'forbidden_ip',
    INSUFFICIENT_PERMISSIONS: 'insufficient_permission',
    USAGE_EXCEEDED: 'usage_exceeded',
    RATE_LIMITED: 'rate_limited',
  }),
)

const RETRY_SECONDS = 5
const SUNSET_DAYS = 30
const DAY_MS = 86_400_000

export function refuse(code: Code, demands: Demands, more: { members?: object; detail?: string } = {}): Refusal {
  const { status, title, detail, error }: (typeof KINDS)[Code] & { error?: string } = KINDS[code]
  const body = { title, status, detail: more.detail ?? detail, code, ...more.members }
  const headers: Record<string, string> = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' }
  if (status === 401 || error) headers['www-authenticate'] = challenge(demands, code, error)
  return { ok: false, status, headers, body, verdict: null }
}

/** A key in a header of its own is no Bearer token, and has no scheme that is registered. */
function challenge({ header, permissions, anyPermissions = [] }: Demands, code: Code, error?: string): string {
  const parameters = [
    ...(header ? [`header="${header}"`] : []),
    ...(error ? [`error="${error}"`] : []),
    ...(code === 'insufficient_permission' ? [`scope="${[...permissions, ...anyPermissions].join(' ')}"`] : []),
  ]
  return [header ? 'ApiKey' : 'Bearer', parameters.join(', ')].filter(Boolean).join(' ')
}

export function refuseWithoutKey(demands: Demands): Refusal {
  return refuse('unauthenticated', demands, { detail: `Send your API key ${wayIn(demands)}.` })
}

export function refuseTwoKeys(demands: Demands): Refusal {
  return refuse('invalid_request', demands, { detail: `Send exactly one API key, ${wayIn(demands)}.` })
}

function wayIn({ header }: Demands): string {
  return header ? `in the header "${header}"` : 'as "Authorization: Bearer <key>"'
}

/** A code of a newer service, or a verdict that is none, lets nobody in either. */
export function refuseVerdict(verdict: RefusedVerdict, demands: Demands): Refusal {
  const code = KIND_OF.get(verdict.code) ?? 'forbidden'
  const { permissions, anyPermissions, types, tell } = demands
  const members = {
    ...(code === 'insufficient_permission' ? { required: permissions } : {}),
    ...(code === 'insufficient_permission' && anyPermissions ? { requiredAny: anyPermissions } : {}),
    ...(code === 'wrong_type' ? { accepted: types } : {}),
    ...(tell ? { reason: verdict.code } : {}),
  }
  const refusal = refuse(code, demands, { members })
  const retryAfter = secondsToWait(verdict)
  if (refusal.status === 429) Object.assign(refusal.headers, rateLimitHeaders(verdict))
  if (refusal.status === 429 && retryAfter !== null) refusal.headers['retry-after'] = String(retryAfter)
  return { ...refusal, verdict }
}

export function refuseUnavailable(error: unknown, demands: Demands): Refusal {
  const refusal = refuse('unavailable', demands)
  const seconds = isStorekeeperError(error) ? (error.retryAfter ?? RETRY_SECONDS) : RETRY_SECONDS
  refusal.headers['retry-after'] = String(Math.max(1, Math.ceil(seconds)))
  return refusal
}

/** Null when waiting does not help: credits that are never refilled. */
function secondsToWait({ code, credits, limits = [], rateLimit }: Verdict): number | null {
  if (code === 'USAGE_EXCEEDED') {
    const refillsAt = credits?.refillsAt
    return refillsAt ? Math.max(1, Math.ceil((Date.parse(refillsAt) - Date.now()) / 1000)) : null
  }
  const exceeded = limits.filter((limit) => limit.exceeded).map(({ resetSeconds }) => resetSeconds)
  if (exceeded.length > 0) return Math.max(...exceeded)
  return rateLimit?.resetSeconds ?? 1
}

/** Of draft-ietf-httpapi-ratelimit-headers, as the service sends them. The length of a window is not in a verdict. */
function rateLimitHeaders({ rateLimit, limits }: Verdict): Record<string, string> {
  const states = limits?.length ? limits : rateLimit ? [{ name: 'default', ...rateLimit }] : []
  if (states.length === 0) return {}
  return {
    'ratelimit-policy': states.map(({ name, limit }) => `"${name}";q=${limit}`).join(', '),
    ratelimit: states
      .map(({ name, remaining, resetSeconds }) => `"${name}";r=${remaining};t=${resetSeconds}`)
      .join(', '),
  }
}

/** `Sunset` (RFC 8594) warns the holder of a key that ends within 30 days. */
export function headersFor(verdict: Verdict): Record<string, string> {
  const headers = rateLimitHeaders(verdict)
  const end = verdict.expiresAt ? Date.parse(verdict.expiresAt) : Number.NaN
  if (end - Date.now() < SUNSET_DAYS * DAY_MS) headers.sunset = new Date(end).toUTCString()
  return headers
}
