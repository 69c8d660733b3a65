// Single sign-on: the client of an OpenID provider (OpenID Connect Core, RFC 9700), by the library `openid-client`. The
// authorization code flow with PKCE, state and nonce; the signature of the ID token is checked although it comes over TLS
// from the provider itself. Nothing is asked of the provider before somebody signs in, so it may be down when we start.

import type { ClientError, Configuration, CustomFetch, IDToken, UserInfoResponse } from 'openid-client'
import { type Config, isSafe } from '../config.ts'
import { boundedFetch } from '../core/bounded-fetch.ts'
import { HOUR, SECOND } from '../core/clock.ts'
import { normalizeEmail } from '../core/email.ts'
import { Failure, type FailureDetails, fail } from '../core/errors.ts'
import { claimedEmailOf, displayName, isSubject, parsePastTime } from './jwt.ts'
import type { OidcClient, ProviderIdentity, SignInAttempt } from './schema.ts'

type Library = typeof import('openid-client')
type Connection = { library: Library; config: Configuration }

const FETCH_BOUNDS = { timeoutMs: 5 * SECOND, maxBytes: 256 * 1024 }
const DISCOVERY_TTL_MS = HOUR
const RETRY_AFTER_SECONDS = 10
/** A provider's clock may be so much ahead. A sign-in that is farther ahead says nothing about when it was. */
const CLOCK_TOLERANCE_SECONDS = 30

export const CALLBACK_PATH = '/v1/auth/oidc/callback'

/** Tells the operator why a sign-in failed that should not have. */
type Report = (reason: string) => void

/** Null when no provider is configured. */
export async function newOidcClient(config: Config, report: Report): Promise<OidcClient | null> {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: id, OIDC_CLIENT_SECRET: secret, PUBLIC_URL: publicUrl } = config
  if (issuer === null || id === null || secret === null || publicUrl === null) return null
  const redirectUri = `${publicUrl}${CALLBACK_PATH}`
  // At the start: Node.js keeps a failure to load it for good.
  const library = await import('openid-client')
  const connect = cached(() => discover(library, issuer, id, secret.reveal()))
  const guarded = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await connect().catch((error) => {
      report(reasonOf(error))
      return fail('unavailable', away(error))
    })
    try {
      return await work(connection)
    } catch (error) {
      throw toFailure(error, report)
    }
  }
  return {
    authorizationUrl: (attempt) =>
      guarded(async ({ library, config }) => {
        const url = library.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: 'openid email profile',
          state: attempt.state,
          nonce: attempt.nonce,
          code_challenge: await library.calculatePKCECodeChallenge(attempt.verifier),
          code_challenge_method: 'S256',
          ...(attempt.fresh ? { max_age: '0' } : {}),
        })
        if (!isSafe(url)) throw new Error('The authorization endpoint is not an https: URL')
        return url.href
      }),
    identify: (response, attempt) => guarded((connection) => redeem(connection, `${redirectUri}?${response}`, attempt)),
  }
}

async function redeem(
  { library, config }: Connection,
  callbackUrl: string,
  attempt: SignInAttempt,
): Promise<ProviderIdentity> {
  const tokens = await library.authorizationCodeGrant(config, new URL(callbackUrl), {
    expectedState: attempt.state,
    expectedNonce: attempt.nonce,
    pkceCodeVerifier: attempt.verifier,
    idTokenExpected: true,
  })
  // The library fails when there is no ID token.
  const claims = tokens.claims() as IDToken
  if (!isSubject(claims.sub)) return fail('sign_in_incomplete')
  // By the standard these claims come from the userinfo endpoint; most providers put them into the ID token too.
  const isTold = claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined
  const profile = isTold ? claims : await library.fetchUserInfo(config, tokens.access_token, claims.sub)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    authenticatedAt: parsePastTime(claims.auth_time, CLOCK_TOLERANCE_SECONDS),
    ...profileOf(profile),
  }
}

function profileOf({ email, email_verified, name }: IDToken | UserInfoResponse) {
  const isVerified = email_verified === true && typeof email === 'string' && email.length <= 254
  return {
    email: isVerified ? normalizeEmail(email) : null,
    claimedEmail: claimedEmailOf({ email, email_verified }),
    name: typeof name === 'string' ? displayName(name) : null,
  }
}

async function discover(library: Library, issuer: string, clientId: string, secret: string): Promise<Connection> {
  const isPlain = new URL(issuer).protocol === 'http:'
  const [basic, post] = [library.ClientSecretBasic(secret), library.ClientSecretPost(secret)]
  const config = await library.discovery(
    new URL(issuer),
    clientId,
    {},
    // Every provider takes Basic (RFC 6749, 2.3.1), unless it lists what it takes and leaves it out.
    (as, ...rest) => {
      const methods = as.token_endpoint_auth_methods_supported
      return (methods === undefined || methods.includes('client_secret_basic') ? basic : post)(as, ...rest)
    },
    {
      [library.customFetch]: fetchFromProvider,
      execute: [library.enableNonRepudiationChecks, ...(isPlain ? [library.allowInsecureRequests] : [])],
    },
  )
  // The library accepts any tenant for some issuers of Microsoft; here an issuer vouches for its own people alone.
  if (new URL(config.serverMetadata().issuer).href !== new URL(issuer).href)
    throw new Error('The provider names another issuer')
  return { library, config }
}

const fetchFromProvider: CustomFetch = async (url, options) => {
  if (!isSafe(new URL(url))) throw new Error('An endpoint of the provider is not an https: URL')
  return boundedFetch(url, options as RequestInit, FETCH_BOUNDS)
}

/** One request at a time for all who wait; a failure is not kept. */
function cached<T>(load: () => Promise<T>): () => Promise<T> {
  let [value, until]: [Promise<T> | null, number] = [null, 0]
  return () => {
    if (value && performance.now() < until) return value
    const loading = load()
    value = loading
    until = performance.now() + DISCOVERY_TTL_MS
    loading.catch(() => {
      if (value === loading) value = null
    })
    return loading
  }
}

/** What the provider's answer, or the browser's, is not valid by: to start again may help, to wait does not. */
const INVALID = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
])
const AWAY = new Set(['server_error', 'temporarily_unavailable'])

/** The errors of the library, told apart by the code of OAuth that they carry and by their own. */
function toFailure(error: unknown, report: Report): Failure {
  if (error instanceof Failure) return error
  const { error: said, code } = error as { error?: unknown; code?: ClientError['code'] }
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' && !AWAY.has(String(said))) {
    if (said !== 'access_denied') report(reasonOf(error))
    return new Failure('sign_in_refused', {
      detail:
        'The identity provider did not sign you in. You may have cancelled, or not be allowed to use this service.',
    })
  }
  // The code was redeemed before, or is not one of the provider's.
  if (said === 'invalid_grant') return new Failure('sign_in_incomplete')
  report(reasonOf(error))
  return code !== undefined && INVALID.has(code)
    ? new Failure('sign_in_incomplete')
    : new Failure('unavailable', away(error))
}

function away(cause: unknown): FailureDetails {
  const detail = 'The identity provider cannot be reached, or does not answer as it should.'
  return { detail, retryAfterSeconds: RETRY_AFTER_SECONDS, cause }
}

/** For the log: a code, and nothing that somebody could have written into an answer. */
function reasonOf(cause: unknown): string {
  const { error, code, name } = cause as { error?: unknown; code?: unknown; name?: unknown }
  const reason = String(error ?? code ?? name)
  return /^\w{1,60}$/.test(reason) ? reason : 'unknown'
}
