// Access tokens of a configured identity provider (RFC 9068 in spirit): signed with an asymmetric algorithm by a key
// that the provider publishes, for us, and not yet expired. The user is (`iss`, `sub`).

import type { JWTPayload } from 'jose'
import type { Config } from '../config.ts'
import { boundedFetch } from '../core/bounded-fetch.ts'
import type { UserCaller } from '../core/caller.ts'
import { now, SECOND } from '../core/clock.ts'
import { normalizeEmail } from '../core/email.ts'
import { fail } from '../core/errors.ts'
import { normalizeText, wrongCharacters } from '../schema/text.ts'

/** What the token says of its user: when they signed in at the provider (`auth_time`), if it makes sense, and their e-mail. */
export type Claims = Pick<UserCaller, 'authenticatedAt' | 'claimedEmail'>
export type Identity = { issuer: string; subject: string; claims: Claims; profile: Profile }

/** What the token says about the person. Null: nothing that may be taken over. Without a sensible `iat` it is older than any record. */
export type Profile = { email: string | null; emailVerified: boolean; name: string | null; issuedAt: Date }

export type JwtCheck = (token: string) => Promise<Identity>

/** No HMAC: with a public key as its secret anyone could sign. No `none`. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const CLOCK_TOLERANCE_SECONDS = 5
const FETCH_BOUNDS = { timeoutMs: 3 * SECOND, maxBytes: 256 * 1024 }
const SILENT_FOR_MS = 5 * SECOND
const MAX_CHARACTERS = 8_192

type FetchKeys = (url: string, options: RequestInit) => Promise<Response>

/** Null when no provider is configured: then no JWT is valid, and the library for them is not even loaded. */
export async function jwtCheckFrom(config: Config): Promise<JwtCheck | null> {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: url } = config
  if (issuer === null || audience === null || url === null) return null
  const { createRemoteJWKSet, customFetch, errors, jwtVerify } = await import('jose')
  const keys = createRemoteJWKSet(new URL(url), { [customFetch]: rememberingTimeout(fetchKeys) })
  return async (token) => {
    if (token.length > MAX_CHARACTERS) fail('invalid_token')
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: now(),
    }).catch((error) => {
      if (providerIsAway(errors, error)) return fail('unavailable', { retryAfterSeconds: 5, cause: error })
      return fail('invalid_token')
    })
    if (!isAccessToken(protectedHeader.typ, payload)) fail('invalid_token')
    const subject: unknown = payload.sub
    if (!isSubject(subject)) return fail('invalid_token')
    const claims = { authenticatedAt: parsePastTime(payload.auth_time), claimedEmail: claimedEmailOf(payload) }
    return { issuer, subject, claims, profile: profileFrom(payload) }
  }
}

const fetchKeys = (url: string, options: RequestInit) => boundedFetch(url, options, FETCH_BOUNDS)

/** While a provider does not answer, whoever comes with a token next does not wait for it as long again: that fails at once. */
function rememberingTimeout(fetchKeys: FetchKeys): FetchKeys {
  let [timeout, until]: [unknown, number] = [null, 0]
  return async (url, options) => {
    if (performance.now() < until) throw timeout
    try {
      return await fetchKeys(url, options)
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') [timeout, until] = [error, performance.now() + SILENT_FOR_MS]
      throw error
    }
  }
}

/** An e-mail that the provider says is not verified is nobody's. */
export function claimedEmailOf({ email, email_verified }: Record<string, unknown>): string | null {
  if (email === undefined) return null
  return isRefuted(email_verified) ? '' : (normalizeEmail(String(email)) ?? '')
}

/**
 * Seconds since 1970, as `auth_time` and `iat` are. Null for one that is ahead of us, such as milliseconds: that sign-in
 * would stay recent for ever, and that token would always be the newest. Null also for what PostgreSQL has no date for.
 */
export function parsePastTime(claim: unknown, toleranceSeconds = CLOCK_TOLERANCE_SECONDS): Date | null {
  if (typeof claim !== 'number' || !(claim >= 0)) return null
  const at = now().getTime()
  if (claim * SECOND > at + toleranceSeconds * SECOND) return null
  return new Date(Math.min(claim * SECOND, at))
}

/** Claims that an ID token carries and an access token does not (OpenID Connect Core, 2 and 3.3.2.11). */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash']

/**
 * An ID token tells a client who signed in; it is no key to our API. RFC 9068 marks access tokens with `at+jwt`, but many
 * providers still send `JWT` or nothing: those are told by their claims. Any other `typ` is a token for something else.
 */
function isAccessToken(typ: unknown, payload: object): boolean {
  const type = typ ?? 'JWT'
  if (typeof type !== 'string') return false
  const kind = type.toLowerCase().replace(/^application\//, '')
  return kind === 'at+jwt' || (kind === 'jwt' && !ID_TOKEN_CLAIMS.some((claim) => claim in payload))
}

/** The library types `sub` as a string, but checks only that it is present. */
export function isSubject(subject: unknown): subject is string {
  if (typeof subject !== 'string' || subject === '' || subject.length > 255) return false
  return subject.isWellFormed() && !subject.includes('\0')
}

/**
 * An e-mail that the provider says is not verified is not taken over. Some send the claim as text, and some, such as
 * Entra ID, never send it: then the e-mail is taken over as one that nobody has confirmed.
 */
function profileFrom(payload: JWTPayload): Profile {
  const { email, email_verified, name, iat } = payload
  const emailVerified = isTrue(email_verified)
  const isUsable = typeof email === 'string' && email.length <= 254 && !isRefuted(email_verified)
  return {
    email: isUsable ? normalizeEmail(email) : null,
    emailVerified,
    name: typeof name === 'string' ? displayName(name) : null,
    issuedAt: parsePastTime(iat) ?? new Date(0),
  }
}

function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}

function isRefuted(emailVerified: unknown): boolean {
  return emailVerified !== undefined && !isTrue(emailVerified)
}

const MAX_NAME_LENGTH = 100

/** As a name given at sign-up would be kept; one that sign-up would refuse is left out. */
export function displayName(claim: string): string | null {
  const name = normalizeText(claim, 'line')
  const isName =
    name !== '' && name.length <= MAX_NAME_LENGTH && name.isWellFormed() && wrongCharacters(name, 'line') === null
  return isName ? name : null
}

/** The token cannot be checked while the provider's keys cannot be fetched. */
function providerIsAway(errors: typeof import('jose').errors, error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true
  return error instanceof errors.JOSEError ? error.code === 'ERR_JOSE_GENERIC' : true
}
