// The routes that a browser takes to the identity provider and back.

import { CALLBACK_PATH } from '../auth/oidc.ts'
import type { OidcClient } from '../auth/schema.ts'
import { fail } from '../core/errors.ts'
import { type Route, route } from '../core/route.ts'
import { OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { attemptCookie, sessionCookie } from './cookies.ts'
import { finishSignIn, newAttempt } from './oidc.ts'

/** A path of this service. Nothing in it can lead a browser to another host: not `//`, not `/\`, no control character. */
const OWN_PATH = "^/(?![/\\\\])[\\w.~!$&'()*+,;=:@%/?-]{0,500}$"

const parameter = (description: string) => Type.Optional(Type.String({ maxLength: 8_192, description }))

export const oidcRoutes: Route[] = [
  route(
    {
      id: 'auth.startOidc',
      method: 'GET',
      path: '/v1/auth/oidc/start',
      needs: 'public',
      summary: 'Sign in with the identity provider',
      description:
        'For browsers: a link leads here, and from here to the identity provider, where one is configured (`oidc` in the settings). A cookie keeps what the browser must come back with, for 10 minutes.',
      query: Type.Object(
        {
          fresh: Type.Optional(
            OneOf(['true', 'false'], {
              description:
                '`true`: the person signs in at the provider now, even if they have a session there. For what needs a recent sign-in.',
            }),
          ),
          returnTo: Type.Optional(
            Type.String({
              pattern: OWN_PATH,
              description: 'The page to go to afterwards, a path of this service. `/` if left out.',
              examples: ['/sign-in'],
            }),
          ),
        },
        { additionalProperties: false },
      ),
      returns: [303, null],
      errors: ['not_found'],
      effect: 'read',
      browser: true,
    },
    async ({ instance, oidc, query }) => {
      const attempt = newAttempt(query.fresh === 'true', query.returnTo ?? '/')
      const location = await configured(oidc).authorizationUrl(attempt)
      return { body: null, headers: { location, 'set-cookie': attemptCookie(instance, attempt) } }
    },
  ),
  route(
    {
      id: 'auth.finishOidc',
      method: 'GET',
      path: CALLBACK_PATH,
      needs: 'public',
      summary: 'Come back from the identity provider',
      description:
        'The redirect URI to register at the provider; nobody else calls it. Opens a session, sets its cookie, and leads to `/` or where the sign-in was asked to. A user is made at first sight, also where `SIGN_UP` is `closed`. A refusal is a page, or a problem for a client that accepts no HTML.',
      query: Type.Object(
        {
          code: parameter('The authorization code.'),
          state: parameter('What the browser set out with.'),
          iss: parameter('The issuer (RFC 9207).'),
          error: parameter('Why the provider signed nobody in.'),
        },
        // Providers add parameters of their own.
        { additionalProperties: true },
      ),
      returns: [303, null],
      errors: ['not_found', 'sign_in_incomplete', 'sign_in_refused', 'recent_sign_in_required'],
      effect: 'own',
      access: 'unchanged',
      browser: true,
    },
    async ({ db, instance, oidc, query, request }) => {
      const { code, state, iss, error } = query
      const response = new URLSearchParams()
      for (const [name, value] of Object.entries({ code, state, iss, error })) if (value) response.set(name, value)
      const cookies = request.header('cookie')
      const { session, returnTo } = await finishSignIn(db, instance, configured(oidc), response, cookies, request)
      return {
        body: null,
        headers: { location: returnTo, 'set-cookie': [sessionCookie(session), attemptCookie(instance, null)] },
      }
    },
  ),
]

function configured(oidc: OidcClient | null): OidcClient {
  return oidc ?? fail('not_found', { detail: 'This service has no identity provider to sign in with.' })
}
