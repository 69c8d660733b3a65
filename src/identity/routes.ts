// The routes of accounts and sessions.

import type { Static } from 'typebox'
import { SESSION_COOKIE } from '../auth/credential.ts'
import { addMs, now } from '../core/clock.ts'
import { parseEmail } from '../core/email.ts'
import type { Fault } from '../core/errors.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Answer, type Route, route } from '../core/route.ts'
import { Type } from '../schema/type.ts'
import { CascadeQuery } from '../stores/schema.ts'
import { changePassword, readMe, signUp } from './accounts.ts'
import { confirmEmail } from './emails.ts'
import { eraseMe } from './erase.ts'
import { exportUser } from './export.ts'
import { checkPassword } from './passwords.ts'
import { updateMe } from './profile.ts'
import { requestReset, resetPassword } from './reset.ts'
import {
  Confirmation,
  ErasedUser,
  Export,
  Me,
  PasswordChange,
  Reset,
  ResetRequest,
  Sessions,
  SignedIn,
  SignIn,
  SignUp,
  User,
  UserChanges,
} from './schema.ts'
import { endOtherSessions, endSession, listSessions, type NewSession, signOut } from './sessions.ts'
import { signIn } from './sign-in.ts'

export const identityRoutes: Route[] = [
  route(
    {
      id: 'auth.signUp',
      method: 'POST',
      path: '/v1/auth/sign-up',
      needs: 'public',
      summary: 'Make an account',
      description: 'Makes a user and signs them in. The token is a session: send it as `Authorization: Bearer …`.',
      body: SignUp,
      parse: (body, _instance, faults) => parseSignUp(body, faults),
      returns: [201, SignedIn],
      errors: ['email_taken', 'sign_up_closed', 'invitation_mismatch'],
      effect: 'own',
      access: 'unchanged',
      example: { body: { email: 'ada@example.com', password: 'correct horse battery staple', name: 'Ada Lovelace' } },
    },
    async ({ db, instance, body, request }) => signedIn(await signUp(db, instance, body, request), body.cookie),
  ),
  route(
    {
      id: 'auth.signIn',
      method: 'POST',
      path: '/v1/auth/sign-in',
      needs: 'public',
      summary: 'Sign in',
      description:
        'An unknown e-mail and a wrong password look the same. After 10 failures in 15 minutes, for the account or from the address, further tries are answered 429. Places the account has signed in from count for themselves. An account with a second factor is answered 401 `second_factor_required` when the password is right, with a `challenge` for `POST /v1/auth/second-factor`. A session beyond `MAX_SESSIONS_PER_USER` ends the one that was idle longest.',
      body: SignIn,
      returns: [200, SignedIn],
      errors: ['invalid_credentials', 'second_factor_required'],
      effect: 'own',
      access: 'unchanged',
      example: { body: { email: 'ada@example.com', password: 'correct horse battery staple' } },
    },
    async ({ db, instance, body, request }) =>
      signedIn(await signIn(db, instance, body, request), body.cookie === true),
  ),
  route(
    {
      id: 'auth.requestReset',
      method: 'POST',
      path: '/v1/auth/reset',
      needs: 'public',
      summary: 'Ask for a new password',
      description:
        'Mails a link to the account with this e-mail, if there is one and the service sends mail. The answer is the same for every e-mail. After 10 requests in 15 minutes, for the e-mail or from the address, further ones are answered 429. Where no mail is sent, the operator makes the link.',
      body: ResetRequest,
      returns: [202, null],
      effect: 'own',
      access: 'unchanged',
      example: { body: { email: 'ada@example.com' } },
    },
    async ({ db, instance, body, request }) => ({
      body: (await requestReset(db, instance, body.email, request), null),
    }),
  ),
  route(
    {
      id: 'auth.reset',
      method: 'POST',
      path: '/v1/auth/reset/confirm',
      needs: 'public',
      summary: 'Set a new password by a link',
      description:
        'Takes the token of a link that was mailed, or made by the operator. It works once and for an hour; a newer one ends the older. A second factor stays. Every session of the user ends, and the open invitations they made are withdrawn.',
      body: Reset,
      returns: [204, null],
      errors: ['reset_not_found'],
      effect: 'own',
      example: {
        body: {
          token: 'skp_reset_0000000000000000000000000000000000000000000000000',
          newPassword: 'another horse, another battery',
        },
      },
    },
    async ({ db, instance, body, request }) => ({
      body: (await resetPassword(db, instance, body, request), null),
    }),
  ),
  route(
    {
      id: 'auth.confirm',
      method: 'POST',
      path: '/v1/auth/confirm',
      needs: 'public',
      summary: 'Confirm an e-mail',
      description:
        'Takes the token of the link that was mailed after signing up or after giving a new e-mail. It works once and for three days; a newer one ends the older. An older account that has the e-mail and never confirmed it loses it.',
      body: Confirmation,
      returns: [204, null],
      errors: ['confirmation_not_found', 'email_taken'],
      effect: 'own',
      example: { body: { token: 'skp_confirm_0000000000000000000000000000000000000000000000000' } },
    },
    async ({ db, instance, body, request }) => ({
      body: (await confirmEmail(db, instance, body.token, request.ip), null),
    }),
  ),
  route(
    {
      id: 'auth.signOut',
      method: 'POST',
      path: '/v1/auth/sign-out',
      needs: 'user',
      summary: 'Sign out',
      description: 'Ends the session this request is made with. Invitations made with it stay open.',
      returns: [204, null],
      recheck: 'own',
    },
    async ({ db, caller }) => {
      await signOut(db, caller)
      return { body: null, headers: { 'set-cookie': sessionCookie('', 0) } }
    },
  ),
  route(
    {
      id: 'user.read',
      method: 'GET',
      path: '/v1/user',
      needs: 'user',
      summary: 'Who am I',
      description:
        'The user, and the stores they have a part in, with their role and permissions in each (the newest 100).',
      returns: [200, Me],
    },
    async ({ db, instance, caller }) => ({ body: await readMe(db, instance, caller) }),
  ),
  route(
    {
      id: 'user.update',
      method: 'PATCH',
      path: '/v1/user',
      needs: 'user',
      summary: 'Change my name, e-mail or mails',
      description:
        'What is left out stays. A new e-mail needs `currentPassword`; where the service sends mail, it is `pendingEmail` until it is confirmed by the link that is sent to it, and giving the present one again sends another link. `mail` says which mails you want; those about a changed password, e-mail or second factor always come.',
      body: UserChanges,
      parse: (body, _instance, faults) => ({
        ...body,
        ...(body.email === undefined ? {} : { email: parseEmail(body.email, faults) }),
      }),
      returns: [200, User],
      errors: ['invalid_credentials', 'email_taken'],
      effect: 'own',
      example: { body: { name: 'Ada King', mail: { newSignIns: false } } },
    },
    async ({ db, instance, caller, body }) => ({ body: await updateMe(db, instance, caller, body) }),
  ),
  route(
    {
      id: 'user.erase',
      method: 'DELETE',
      path: '/v1/user',
      needs: 'user',
      summary: 'Erase me',
      description:
        'Cannot be undone. E-mail, name, password, second factor, sessions and memberships go, invitations to you are withdrawn, and the key that your addresses are sealed under is destroyed: of an address that an invoice points at, country, state and postal code are left. A version that a store has put on hold stays readable for that store until the hold ends: `held` lists them, with the reason. Needs a session opened in the last 10 minutes. The last owner of a store hands it over or deletes it first; `stores` names them. Keys and webhooks you made or took go on in the stores that you are a member of, unless you say otherwise; the answer lists them.',
      query: CascadeQuery,
      returns: [200, ErasedUser],
      recheck: 'own',
      errors: ['recent_sign_in_required', 'last_owner'],
    },
    async ({ db, instance, caller, query: { keys = 'keep', webhooks = 'keep' } }) => ({
      body: await eraseMe(db, instance, caller, { keys, webhooks }),
      headers: { 'set-cookie': sessionCookie('', 0) },
    }),
  ),
  route(
    {
      id: 'user.export',
      method: 'GET',
      path: '/v1/user/export',
      needs: 'user',
      summary: 'Export all that is held about me',
      description:
        'Account, sessions, passkeys, memberships, invitations, addresses in every store with all they were, what you did and what others did to you, complete, as one JSON file to download. It is sent as it is read: when it breaks off, ask again. Two at a time for each user.',
      returns: [200, Export],
      answer: 'paged',
    },
    ({ db, instance, caller }) => exportUser(db, instance, caller),
  ),
  route(
    {
      id: 'sessions.list',
      method: 'GET',
      path: '/v1/user/sessions',
      needs: 'user',
      summary: 'List my sessions',
      description: 'Newest first. A session ends after 30 days without use, and after 90 days in any case.',
      query: Type.Object(PageQuery, { additionalProperties: false }),
      returns: [200, Sessions],
    },
    async ({ db, instance, caller, query }) => ({ body: await listSessions(db, instance, caller, query) }),
  ),
  route(
    {
      id: 'sessions.endOthers',
      method: 'DELETE',
      path: '/v1/user/sessions',
      needs: 'user',
      summary: 'End my other sessions',
      description:
        'Every session but the one this request is made with. Open invitations made with any other session, also one that is over, are withdrawn.',
      returns: [204, null],
      recheck: 'own',
    },
    async ({ db, caller }) => ({ body: (await endOtherSessions(db, caller), null) }),
  ),
  route(
    {
      id: 'sessions.end',
      method: 'DELETE',
      path: '/v1/user/sessions/:sessionId',
      needs: 'user',
      summary: 'End one session',
      description: 'The session stops working at once, on every node, and open invitations made with it are withdrawn.',
      returns: [204, null],
      recheck: 'own',
      errors: ['session_not_found'],
    },
    async ({ db, caller, params }) => ({ body: (await endSession(db, caller, params.sessionId), null) }),
  ),
  route(
    {
      id: 'user.changePassword',
      method: 'POST',
      path: '/v1/user/password',
      needs: 'user',
      summary: 'Change my password',
      description: 'Ends every other session, and withdraws the open invitations made with any other.',
      body: PasswordChange,
      returns: [204, null],
      errors: ['invalid_credentials'],
      effect: 'own',
      example: {
        body: { currentPassword: 'correct horse battery staple', newPassword: 'another horse, another battery' },
      },
    },
    async ({ db, instance, caller, body, idempotency }) => ({
      body: (await changePassword(db, instance, caller, body, idempotency), null),
    }),
  ),
]

function parseSignUp(body: Partial<SignUp>, faults: Fault[]) {
  const email = parseEmail(body.email, faults)
  if (body.password !== undefined) checkPassword(body.password, email, '#/password', faults)
  return {
    email,
    password: body.password ?? '',
    name: body.name ?? null,
    cookie: body.cookie === true,
    invitation: body.invitation ?? null,
  }
}

export function signedIn(session: NewSession, asCookie: boolean): Answer<Static<typeof SignedIn>> {
  const { user, token, expiresAt } = session
  const body = { user, expiresAt: expiresAt.toISOString() }
  if (!asCookie) return { body: { ...body, token: token.reveal() } }
  const seconds = Math.floor((expiresAt.getTime() - now().getTime()) / 1000)
  return { body, headers: { 'set-cookie': sessionCookie(token.reveal(), seconds) } }
}

/** The prefix makes the browser insist: this host alone, over TLS, for every path. */
function sessionCookie(value: string, seconds: number): string {
  const expires = addMs(seconds > 0 ? now() : new Date(0), seconds * 1000).toUTCString()
  return `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${seconds}; Expires=${expires}; Secure; HttpOnly; SameSite=Strict`
}
