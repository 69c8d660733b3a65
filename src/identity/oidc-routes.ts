// The routes that a browser takes to the identity provider and back.

import { CALLBACK_PATH } from '../auth/oidc.ts'
import type { OidcClient } from '../auth/schema.ts'
import { fail } from '../core/errors.ts'
import { type Route, route } from '../core/route.ts'
import { OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { attemptCookie, sessionCookie } from './cookies.ts'
import { finishSignIn, newAttempt } from './oidc.ts'

/**
 * A path of this service. Nothing in it can lead a browser to another host: no `//`, no dot segment, after which another
 * path may begin with `//`, no backslash and no control character.
 */
const OWN_PATH = "^(?![^?]*/(?:/|(?:\\.|%2[eE]){1,2}(?:[/?]|$)))/[\\w.~!$&'()*+,;=:@%/?-]{0,500}$"

const parameter = (description: string) => Type.Optional(Type.String({ maxLength: 8_192, description }))

export const oidcRoutes: Route[] = [
  route(
    {
      id: 'auth.startOidc',
      method: 'GET',
      path: '/v1/auth/oidc/start',
      needs: 'public',
      summary: 'Start single sign-on',
      description:
        'For browsers: link to this URL to send people to the identity provider, if one is configured (`oidc` in `GET /v1/settings`). Sets a cookie, valid for 10 minutes, that the browser needs to complete the sign-in.',
      query: Type.Object(
        {
          fresh: Type.Optional(
            OneOf(['true', 'false'], {
              description:
                '`true` makes the provider ask the person to sign in again, even if they have a session there. Use it before operations that require a recent sign-in.',
            }),
          ),
          returnTo: Type.Optional(
            Type.String({
              pattern: OWN_PATH,
              description: 'The page to go to afterwards: a path of this service. Defaults to `/`.',
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
      summary: 'Complete single sign-on',
      description:
        'The redirect URI to register at the provider; only the provider redirects to it. Creates a session, sets its cookie, and redirects to `returnTo`. Creates the user on their first sign-in, even if `SIGN_UP` is `closed`. Errors are shown as a page, or returned as a problem to clients that do not accept HTML.',
      query: Type.Object(
        {
          code: parameter('The authorization code.'),
          state: parameter('The `state` the sign-in was started with.'),
          iss: parameter('The issuer (RFC 9207).'),
          error: parameter('Why the provider did not sign the person in.'),
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
  return oidc ?? fail('not_found', { detail: 'Single sign-on is not configured on this service.' })
}
