// Reads the credential of a request, before anything is looked up: exactly one, in the Authorization header or in the
// session cookie, and never in the query string.

import { fail } from '../core/errors.ts'
import { isKeyKind, tokenKind } from '../crypto/tokens.ts'

export const SESSION_COOKIE = '__Host-storekeeper'

export type Credential =
  | { kind: 'session'; token: string; fromCookie: boolean }
  | { kind: 'key'; token: string }
  | { kind: 'service'; token: string }
  | { kind: 'jwt'; token: string }

const QUERY_NAMES = ['access_token', 'api_key', 'apikey', 'key', 'token']
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

export type Presented = {
  authorization: string | undefined
  cookie: string | undefined
}

/** URLs end up in logs and histories, so a credential in the query string is refused before anything else. */
export function refuseCredentialInQuery(query: Record<string, unknown>): void {
  if (QUERY_NAMES.some((name) => Object.hasOwn(query, name)))
    fail('invalid_request', {
      detail: 'Credentials in the query string are not accepted. Send a Bearer token in the Authorization header.',
    })
}

/** Null when nothing was presented. */
export function readCredential(prefix: string, presented: Presented): Credential | null {
  const bearer = bearerToken(presented.authorization)
  const cookie = cookieToken(presented.cookie)
  if (bearer !== null && cookie !== null)
    fail('invalid_request', { detail: 'You sent both a Bearer token and a session cookie. Send only one.' })
  if (cookie !== null) return tokenKind(prefix, cookie) === 'sess' ? session(cookie, true) : fail('invalid_token')
  if (bearer === null) return null
  const kind = tokenKind(prefix, bearer)
  if (kind === 'sess') return session(bearer, false)
  if (kind === 'svc') return { kind: 'service', token: bearer }
  if (kind !== null && isKeyKind(kind)) return { kind: 'key', token: bearer }
  return JWT.test(bearer) ? { kind: 'jwt', token: bearer } : fail('invalid_token')
}

function session(token: string, fromCookie: boolean): Credential {
  return { kind: 'session', token, fromCookie }
}

function bearerToken(header: string | undefined): string | null {
  if (header === undefined) return null
  const [scheme, token, ...more] = header.trim().split(/\s+/)
  if (scheme?.toLowerCase() !== 'bearer') return scheme ? fail('invalid_token') : null
  if (more.length > 0) fail('invalid_request', { detail: 'The Bearer token must not contain spaces.' })
  return token ?? null
}

function cookieToken(header: string | undefined): string | null {
  const found = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${SESSION_COOKIE}=`))
  if (found.length > 1) fail('invalid_request', { detail: 'The session cookie was sent twice. Send it once.' })
  return found[0]?.slice(SESSION_COOKIE.length + 1) ?? null
}
