// Who is calling: reads the credential of a request, checks where a cookie comes from, and looks the caller up, in the
// caller cache first.

import { authenticate, type CallerRow } from '../auth/authenticate.ts'
import type { CallerCache } from '../auth/caller-cache.ts'
import { type Credential, readCredential, refuseCredentialInQuery } from '../auth/credential.ts'
import type { Caller, UserCaller } from '../core/caller.ts'
import { type ErrorCode, Failure, fail } from '../core/errors.ts'
import { isId } from '../core/ids.ts'
import { NEVER } from '../core/moment.ts'
import type { Route } from '../core/route.ts'
import type { AuthorizationProbe } from '../events/schema.ts'
import { authorize } from './authorize.ts'
import { type AuthCaches, type Call, header, type Incoming, type Pipeline } from './context.ts'

type Identity = {
  credential: Credential | null
  caller: Caller | null
  /** Why the caller is not known, on a route that needs one. */
  refusal: Failure | null
}

const ANYONE: Identity = { credential: null, caller: null, refusal: null }

export async function identify(pipeline: Pipeline, route: Route, incoming: Incoming): Promise<Identity> {
  try {
    refuseCredentialInQuery(incoming.query)
    // A public route ignores credentials: a browser may still send the cookie of an expired session.
    if (route.needs === 'public') {
      if (header(incoming, EXPECTED_USER) !== undefined) await visitorOf(pipeline, incoming)
      return ANYONE
    }
    return {
      ...(await authenticateRequest(pipeline, pipeline.auth.caches, incoming, route.answersStale)),
      refusal: null,
    }
  } catch (error) {
    // While the database is away no caller can be identified, which must not count against their address.
    if (!(error instanceof Failure) || error.code === 'unavailable') throw error
    return { ...ANYONE, refusal: error }
  }
}

const THROWN_FOR_VISITORS: ErrorCode[] = ['unavailable', 'signed_in_as_another']

/** For a public route that does more for a user who is signed in. */
export async function visitorOf(pipeline: Pipeline, incoming: Incoming): Promise<UserCaller | null> {
  try {
    const { caller } = await authenticateRequest(pipeline, pipeline.auth.caches, incoming)
    return caller.kind === 'user' ? caller : null
  } catch (error) {
    if (!(error instanceof Failure) || THROWN_FOR_VISITORS.includes(error.code)) throw error
    return null
  }
}

async function authenticateRequest(
  { db, instance, auth }: Pipeline,
  caches: AuthCaches,
  incoming: Incoming,
  mayBeStale = false,
): Promise<{ credential: Credential; caller: Caller }> {
  const credential = readCredential(instance.keyPrefix, {
    authorization: header(incoming, 'authorization'),
    cookie: header(incoming, 'cookie'),
  })
  if (!credential) return fail('unauthenticated')
  if (credential.kind === 'session' && credential.fromCookie) checkOrigin(auth.corsOrigins, incoming)
  const { storeId } = incoming.params
  const store = storeId && isId('store', storeId) ? storeId : null
  const caller = await authenticate(db, instance, auth.jwt, caches, credential, store, incoming.ip, mayBeStale)
  checkExpectedUser(caller, incoming)
  return { credential, caller }
}

const EXPECTED_USER = 'expected-user'

/**
 * The tabs of a browser share the session cookie, so a page that one user opened may be sent in the session of another.
 * The header says for whom the page was opened. A malformed one names nobody, and is refused like another user's.
 */
function checkExpectedUser(caller: Caller, incoming: Incoming): void {
  const expected = header(incoming, EXPECTED_USER)
  if (expected === undefined || (caller.kind === 'user' && caller.id === expected)) return
  fail('signed_in_as_another')
}

/** A browser sends the cookie with requests of any page, so the page must be ours. Bearer tokens need no such check. */
function checkOrigin(corsOrigins: string[], incoming: Incoming): void {
  const origin = header(incoming, 'origin')
  const isListed = origin !== undefined && corsOrigins.includes(origin)
  const isAllowed = origin === undefined || isListed || isOwnOrigin(origin, incoming)
  const site = header(incoming, 'sec-fetch-site')
  const isForeign = (site === 'cross-site' || site === 'same-site') && !isListed
  if (!isAllowed || isForeign) fail('forbidden_origin')
}

/**
 * By scheme, host and port. A page that came over TLS is ours also where the proxy that ends TLS is not known to us
 * (TRUST_PROXY): nobody else has a certificate for this host.
 */
function isOwnOrigin(origin: string, incoming: Incoming): boolean {
  const host = header(incoming, 'host')
  return [incoming.protocol, 'https'].some((protocol) => {
    const own = `${protocol}://${host}`
    return URL.canParse(own) && new URL(own).origin === origin
  })
}

/**
 * For an answer that goes on for long: authenticates and authorizes its caller again. It bypasses the caller cache, so
 * that a member who was removed does not even see the event that tells of it.
 */
export function authorizationProbe(pipeline: Pipeline, { route, incoming }: Call): AuthorizationProbe {
  const caches = { callers: NO_CACHE, keys: pipeline.auth.caches.keys }
  return async () => {
    try {
      const { caller } = await authenticateRequest(pipeline, caches, incoming)
      authorize(pipeline.verifier, route, caller, incoming.params)
      return 'yes'
    } catch (error) {
      return error instanceof Failure && error.code === 'unavailable' ? 'unknown' : 'no'
    }
  }
}

const NO_CACHE: CallerCache<CallerRow> = {
  get: () => undefined,
  lastKnown: () => null,
  forget() {},
  needsRefresh: () => false,
  set() {},
  generation: () => ({ changes: 0, at: NEVER }),
  invalidate() {},
}
