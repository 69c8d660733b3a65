// Why a call failed: what the service said, or that nothing came of it.

import type { ErrorDetails, Fault, ServiceErrorCode } from './api.gen.ts'

/** What the client itself finds, where the service has said nothing. */
export type ClientErrorCode =
  /** No connection, or it broke before the whole answer was there: what was asked may have been done. */
  | 'connection_failed'
  /** No answer within the time of the call: what was asked may have been done. */
  | 'timeout'
  /** The `signal` of the call ended it: what was asked may have been done. */
  | 'aborted'
  /** Something answered that is not Storekeeper, such as a proxy. */
  | 'invalid_response'
  /** The client was closed. */
  | 'closed'
  /** `readWebhook` was given a message that is not to be trusted. */
  | 'invalid_webhook'

export type KnownErrorCode = ServiceErrorCode | ClientErrorCode
/** A newer service may have codes that this client does not know. */
export type ErrorCode = KnownErrorCode | (string & {})

type DetailsOf<Code> = Code extends keyof ErrorDetails ? ErrorDetails[Code] : Record<string, unknown>

export type ErrorFacts = {
  status?: number | undefined
  requestId?: string | undefined
  retryAfter?: number | undefined
  errors?: Fault[] | undefined
  idempotencyKey?: string | undefined
  details?: Record<string, unknown> | undefined
  cause?: unknown
}

// Of the registry of symbols, since two copies of this package may be in one process: `instanceof` would tell them apart.
const BRAND = Symbol.for('storekeeper.error')

export class StorekeeperError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'StorekeeperError'
  /** A stable code for programs; `/errors/{code}` of the service explains it. */
  readonly code: Code
  /** The HTTP status; undefined when no answer came. */
  readonly status: number | undefined
  /** Quote it when you ask the operator for help. */
  readonly requestId: string | undefined
  /** Seconds to wait before the next try, if the service said so. */
  readonly retryAfter: number | undefined
  /** With `invalid_input`: everything that is wrong with the input. */
  readonly errors: readonly Fault[]
  /** Of a call that makes something: repeat the call with it, and nothing is made twice; a lost answer comes again. */
  readonly idempotencyKey: string | undefined
  /** What errors of this code say beside, such as the `required` permissions. */
  readonly details: DetailsOf<Code>

  constructor(code: Code, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = code
    this.status = facts.status
    this.requestId = facts.requestId
    this.retryAfter = facts.retryAfter
    this.errors = facts.errors ?? []
    this.idempotencyKey = facts.idempotencyKey
    // The service says which members an error of this code has; answers are never checked against their types.
    this.details = (facts.details ?? {}) as DetailsOf<Code>
    Object.defineProperty(this, BRAND, { value: true })
  }
}

/** Whether an error is one of ours, of one of these codes if any are named; then its type says so too. */
export function isStorekeeperError(error: unknown): error is StorekeeperError
export function isStorekeeperError<Code extends KnownErrorCode>(
  error: unknown,
  ...codes: Code[]
): error is StorekeeperError<Code>
export function isStorekeeperError(error: unknown, ...codes: string[]): boolean {
  if (typeof error !== 'object' || error === null || !(BRAND in error)) return false
  return codes.length === 0 || codes.includes((error as { code?: string }).code ?? '')
}

/** What the service answered instead of success. Anything but its own problem document is `invalid_response`. */
export function toError(response: Response, body: unknown, idempotencyKey: string | undefined): StorekeeperError {
  const { status, headers } = response
  const facts = { status, idempotencyKey, retryAfter: retryAfterOf(headers) }
  if (!isProblem(body)) {
    const message = `${response.url || 'The service'} answered ${status}, and not as Storekeeper answers.`
    return new StorekeeperError('invalid_response', message, facts)
  }
  const { type: _, title, status: __, detail, instance: ___, code, requestId, errors, ...details } = body
  return new StorekeeperError(code, `${title ?? code}: ${detail ?? status}`, { ...facts, requestId, errors, details })
}

type Problem = { code: string; title?: string; detail?: string; requestId?: string; errors?: Fault[] } & Record<
  string,
  unknown
>

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string'
}

/** `Retry-After` in seconds: it may be a number of them, or a date. */
function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim()
  if (!text) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
