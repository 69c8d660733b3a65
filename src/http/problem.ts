// An error is thrown anywhere and rendered here, once, as application/problem+json (RFC 9457).

import { RECENT_SIGN_IN_MS } from '../auth/recent-sign-in.ts'
import { SECOND } from '../core/clock.ts'
import { ERRORS, Failure } from '../core/errors.ts'
import type { WireResponse } from '../core/route.ts'
import { TOKENS_IN_TEXT } from '../crypto/tokens.ts'
import { isUnstorable } from '../db/errors.ts'

const REALM = 'Bearer realm="storekeeper"'

export function renderProblem(failure: Failure, requestId: string, path: string): WireResponse {
  const { code, details } = failure
  const { status, title, help } = ERRORS[code]
  const body = {
    type: `/errors/${code}`,
    title,
    status,
    detail: details.detail ?? help,
    instance: path,
    code,
    requestId,
    ...(details.required ? { required: details.required } : {}),
    ...details.members,
  }
  return { status, headers: headersOf(failure), body: redactTokens(JSON.stringify(body)), resourceId: null }
}

/** Text that PostgreSQL cannot store is a fault of the input; any other unexpected error is a 500 without details. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (isUnstorable(error)) return new Failure('invalid_input', { members: { errors: [] }, cause: error })
  return new Failure('internal_error', { cause: error })
}

/** A problem repeats the path and the names of members, and a caller may have put a key or token there. */
function redactTokens(text: string): string {
  return text.replace(TOKENS_IN_TEXT, '[secret]')
}

function headersOf({ code, details }: Failure): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/problem+json', ...details.headers }
  const challenge = challengeOf(code, details.required)
  if (challenge) headers['www-authenticate'] = challenge
  if (details.retryAfterSeconds) headers['retry-after'] = String(details.retryAfterSeconds)
  if (details.allow) headers.allow = details.allow.join(', ')
  return headers
}

export function challengeOf(code: Failure['code'], required?: string[]): string | null {
  switch (code) {
    case 'unauthenticated':
      return REALM
    case 'invalid_token':
    case 'invalid_request':
      return `${REALM}, error="${code}"`
    // RFC 9470.
    case 'recent_sign_in_required':
      return `${REALM}, error="insufficient_user_authentication", max_age=${RECENT_SIGN_IN_MS / SECOND}`
    case 'insufficient_permission':
      return `${REALM}, error="insufficient_scope", scope="${required?.join(' ')}"`
    default:
      return null
  }
}
