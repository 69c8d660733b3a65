// The routes of accounts and sessions.

import type { Static } from 'typebox'
import { parseEmail } from '../core/email.ts'
import type { Fault } from '../core/errors.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Answer, type Route, route } from '../core/route.ts'
import { Type } from '../schema/type.ts'
import { CascadeQuery } from '../stores/schema.ts'
import { changePassword, readMe, signUp } from './accounts.ts'
import { sessionCookie } from './cookies.ts'
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
      summary: 'Sign up',
      description: 'Creates an account and signs you in. Send the session token as `Authorization: Bearer …`.',
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
        'An unknown e-mail address and a wrong password get the same response. After 10 failures within 15 minutes, for the account or from the IP address, further attempts get 429. Places the account has signed in from before are counted separately. If the account has a second factor, a correct password gets 401 `second_factor_required` with a `challenge` for `POST /v1/auth/second-factor`. Beyond `MAX_SESSIONS_PER_USER` sessions, a new one ends the one that was idle longest.',
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
      summary: 'Request a password reset',
      description:
        'Sends a reset link to this e-mail address, if an account has it. The response is the same for every address. After 10 requests within 15 minutes, for the e-mail address or from the IP address, further requests get 429. Beyond 50 mails a day from one network, nothing is sent. If the service does not send mail, nothing is sent: ask the operator for a link.',
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
      summary: 'Set a new password with a reset link',
      description:
        'Takes the token of a reset link, from an e-mail or from the operator. A token works once, within an hour, and only the newest one is valid. All sessions of the user end, and their open invitations are withdrawn. The second factor does not change, unless nobody who was signed in to the account has confirmed its e-mail address: then it is removed, since whoever set it up never proved that the address was theirs.',
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
      summary: 'Confirm an e-mail address',
      description:
        'Takes the token of the link that is sent after signing up or changing the e-mail address. A token works once, within three days, and only the newest one is valid. If another account has the address but never confirmed it, that account loses it. If the address differs from the one your account has, other accounts want it too, or you are signed in to another account, send the request with a session of the account the link was sent for: 403 `sign_in_required` otherwise, and the token stays valid.',
      body: Confirmation,
      returns: [204, null],
      errors: ['confirmation_not_found', 'email_taken', 'sign_in_required'],
      effect: 'own',
      example: { body: { token: 'skp_confirm_0000000000000000000000000000000000000000000000000' } },
    },
    async ({ db, instance, body, visitor, request }) => ({
      body: (await confirmEmail(db, instance, body.token, await visitor(), request.ip), null),
    }),
  ),
  route(
    {
      id: 'auth.signOut',
      method: 'POST',
      path: '/v1/auth/sign-out',
      needs: 'user',
      summary: 'Sign out',
      description: 'Ends the session this request is made with. Invitations sent from it stay open.',
      returns: [204, null],
      recheck: 'own',
    },
    async ({ db, caller }) => {
      await signOut(db, caller)
      return { body: null, headers: { 'set-cookie': sessionCookie(null) } }
    },
  ),
  route(
    {
      id: 'user.read',
      method: 'GET',
      path: '/v1/user',
      needs: 'user',
      summary: 'Read my account',
      description:
        'Your account, and the stores you are a member of, with your role and permissions in each (the newest 100).',
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
      summary: 'Change my account',
      description:
        'Changes your name, e-mail address and mail preferences. Fields that are left out keep their value. A new e-mail address requires `currentPassword`. If the service sends mail, the new address is `pendingEmail` until you confirm it with the link sent to it; sending the current address again sends another link, unless you confirmed it while you were signed in. `mail` selects which e-mails you get; mails about a changed password, e-mail address or second factor are always sent.',
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
      summary: 'Erase my account',
      description:
        'This cannot be undone. E-mail, name, password, second factor, sessions and memberships are deleted, invitations to your e-mail address are withdrawn if you confirmed it while you were signed in, and the key your addresses are encrypted under is destroyed. Of an address, only country, state and postal code are left for invoices. A version that a store has put on hold stays readable for that store until the hold ends: `held` lists these with the reason. Requires a sign-in within the last 10 minutes. The last owner of a store must hand it over or delete it first; `stores` names these stores. Keys and webhooks that you created or rotated in your stores keep working unless you say otherwise; the response lists them.',
      query: CascadeQuery,
      returns: [200, ErasedUser],
      effect: 'own',
      errors: ['recent_sign_in_required', 'last_owner'],
    },
    async ({ db, instance, caller, query: { keys = 'keep', webhooks = 'keep' } }) => {
      const body = await eraseMe(db, instance, caller, { keys, webhooks })
      const stores = new Set(body.keys.map(({ storeId }) => storeId))
      return {
        body,
        headers: { 'set-cookie': sessionCookie(null) },
        ...(keys === 'revoke' && stores.size > 0 ? { changedKeys: [...stores] } : {}),
      }
    },
  ),
  route(
    {
      id: 'user.export',
      method: 'GET',
      path: '/v1/user/export',
      needs: 'user',
      summary: 'Export everything held about me',
      description:
        'Account, sessions, passkeys, memberships, invitations, addresses in every store with all versions, what you did, and what others did to your account, as one JSON file to download. The file is streamed: if it ends early, request it again. At most two exports at a time per user.',
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
      description: 'Newest first. A session expires after 30 days without use, and after 90 days in any case.',
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
        'Ends every session except the one this request is made with. Open invitations sent from any other session, including ended ones, are withdrawn, and a change of your e-mail address that is not confirmed yet is cancelled.',
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
      description:
        'The session stops working immediately, on every node. Open invitations sent from it are withdrawn, and a change of your e-mail address that is not confirmed yet is cancelled.',
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
      description: 'Ends every other session, and withdraws open invitations sent from any other.',
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
  return { body, headers: { 'set-cookie': sessionCookie(session) } }
}
