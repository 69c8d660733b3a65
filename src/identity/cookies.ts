// The cookies of browsers: the session, and a sign-in with the identity provider that is under way.

import { SESSION_COOKIE } from '../auth/credential.ts'
import type { SignInAttempt } from '../auth/schema.ts'
import { addMs, MINUTE, now, nowMs } from '../core/clock.ts'
import { keysById } from '../crypto/keyring.ts'
import { seal, unseal } from '../crypto/seal.ts'
import type { Instance } from '../instance.ts'
import type { NewSession } from './sessions.ts'

/** The prefix makes the browser insist: this host alone, over TLS, for every path. Null removes the cookie. */
export function sessionCookie(session: NewSession | null): string {
  const seconds = session ? Math.floor((session.expiresAt.getTime() - nowMs()) / 1000) : 0
  const expires = addMs(session ? now() : new Date(0), seconds * 1000).toUTCString()
  const value = session?.token.reveal() ?? ''
  return `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${seconds}; Expires=${expires}; Secure; HttpOnly; SameSite=Strict`
}

/** How long a person may take at the provider. */
export const ATTEMPT_MS = 10 * MINUTE
const PURPOSE = 'oidc-attempt'

/**
 * A browser sends it along when it is sent back from the provider's site, hence `Lax`. Over plain HTTP, which is for trying
 * out on one machine, it has no prefix: not every browser would keep it. Null removes the cookie.
 */
export function attemptCookie(instance: Instance, attempt: SignInAttempt | null): string {
  const { current } = instance.keyring
  const sealed = attempt && seal(current.hmac(PURPOSE, 'cookie'), JSON.stringify(attempt), PURPOSE)
  const value = sealed ? `${current.kid}.${sealed.toString('base64url')}` : ''
  const seconds = attempt ? ATTEMPT_MS / 1000 : 0
  const secure = isSecure(instance) ? ' Secure;' : ''
  return `${attemptCookieName(instance)}=${value}; Path=/; Max-Age=${seconds};${secure} HttpOnly; SameSite=Lax`
}

/** Null when the browser has set out with none, or too long ago, or when it was not sealed by this service. */
export function readAttempt(instance: Instance, cookies: string | undefined): SignInAttempt | null {
  const name = `${attemptCookieName(instance)}=`
  const found = (cookies ?? '').split(/;\s*/).filter((cookie) => cookie.startsWith(name))
  const [kid = '', sealed = ''] = found.length === 1 ? (found[0] as string).slice(name.length).split('.') : []
  const keys = keysById(instance.keyring, kid)
  if (!keys) return null
  try {
    const text = unseal(keys.hmac(PURPOSE, 'cookie'), Buffer.from(sealed, 'base64url'), PURPOSE).toString()
    // Sealed by `attemptCookie`, so it is what was put in there.
    const attempt = JSON.parse(text) as SignInAttempt
    return nowMs() < attempt.startedAt + ATTEMPT_MS ? attempt : null
  } catch {
    return null
  }
}

function attemptCookieName(instance: Instance): string {
  return isSecure(instance) ? `${SESSION_COOKIE}-oidc` : 'storekeeper-oidc'
}

function isSecure({ publicUrl }: Instance): boolean {
  return publicUrl?.startsWith('https:') ?? true
}
