// The routes of second factors: the authenticator app, recovery codes, passkeys, and signing in with them.

import type { Fault } from '../core/errors.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { Type } from '../schema/type.ts'
import {
  AddedPasskey,
  CreationOptions,
  NewPasskey,
  NewTotp,
  PasskeySignIn,
  Passkeys,
  RecoveryCodes,
  RequestOptions,
  SecondFactor,
  TotpConfirmation,
} from './factor-schema.ts'
import { addPasskey, listPasskeys, newPasskeyOptions, removePasskey } from './passkeys.ts'
import { replaceRecoveryCodes } from './recovery-codes.ts'
import { signedIn } from './routes.ts'
import { SignedIn } from './schema.ts'
import { completeSignIn, type GivenFactor, passkeyOptions, signInWithPasskey } from './second-factor.ts'
import { confirmTotp, removeTotp, startTotp } from './totp.ts'

const EXAMPLE = { id: 'pG3q…', rawId: 'pG3q…', type: 'public-key' }
const FRESH = 'Requires a sign-in within the last 10 minutes.'

export const factorRoutes: Route[] = [
  route(
    {
      id: 'auth.secondFactor',
      method: 'POST',
      path: '/v1/auth/second-factor',
      needs: 'public',
      summary: 'Complete a sign-in with a second factor',
      description:
        'Takes the `challenge` from the response to the password, and either a `code` (from the authenticator app, or a recovery code) or the `credential` of a passkey that signed the options in `passkey`. A challenge works once, within 5 minutes; a code works once. After 10 wrong codes within 15 minutes, for the account or from the IP address, further attempts get 429. Places the account has signed in from before are counted separately.',
      body: SecondFactor,
      parse: parseFactor,
      returns: [200, SignedIn],
      errors: ['invalid_challenge', 'invalid_code', 'invalid_passkey'],
      effect: 'own',
      access: 'unchanged',
      example: { body: { challenge: 'q1Kx…', code: '123456' } },
    },
    async ({ db, instance, body, request }) =>
      signedIn(await completeSignIn(db, instance, body.factor, request), body.cookie),
  ),
  route(
    {
      id: 'auth.passkeyOptions',
      method: 'POST',
      path: '/v1/auth/passkey/options',
      needs: 'public',
      summary: 'Start a sign-in with a passkey',
      description:
        "Returns the options to pass to the authenticator, in WebAuthn's own JSON. They name no user: the authenticator offers the passkeys it has for this service.",
      returns: [200, RequestOptions],
      effect: 'read',
    },
    async ({ instance }) => ({ body: passkeyOptions(instance) }),
  ),
  route(
    {
      id: 'auth.passkey',
      method: 'POST',
      path: '/v1/auth/passkey',
      needs: 'public',
      summary: 'Sign in with a passkey',
      description:
        "Takes the authenticator's response to the options. A passkey verifies its user (by fingerprint, face or PIN), so it counts as both factors: no password and no code are needed. The options work once, within 5 minutes.",
      body: PasskeySignIn,
      returns: [200, SignedIn],
      errors: ['invalid_passkey', 'invalid_challenge'],
      effect: 'own',
      access: 'unchanged',
      example: {
        body: {
          credential: {
            ...EXAMPLE,
            response: { clientDataJSON: 'eyJ0…', authenticatorData: 'SZYN…', signature: 'MEUC…', userHandle: 'dXNl…' },
          },
        },
      },
    },
    async ({ db, instance, body, request }) =>
      signedIn(await signInWithPasskey(db, instance, body.credential, request), body.cookie === true),
  ),
  route(
    {
      id: 'totp.create',
      method: 'POST',
      path: '/v1/user/totp',
      needs: 'user',
      summary: 'Set up an authenticator app',
      description: `Returns a new secret for the app (RFC 6238: SHA-1, 6 digits, 30 seconds) and ten recovery codes, which are not shown again. They take effect when the same session confirms them, within 15 minutes. ${FRESH}`,
      returns: [200, NewTotp],
      recheck: 'own',
      errors: ['recent_sign_in_required', 'no_password'],
      recentSignIn: true,
      revealsSecret: true,
      access: 'unchanged',
    },
    async ({ db, instance, caller }) => ({ body: await startTotp(db, instance, caller) }),
  ),
  route(
    {
      id: 'totp.confirm',
      method: 'POST',
      path: '/v1/user/totp/confirm',
      needs: 'user',
      summary: 'Confirm the authenticator app',
      description:
        'Takes a code from the app. From then on, signing in with the password also requires a code. A previous app and its recovery codes stop working. If this is your first second factor, all your other sessions end, and open invitations sent from them are withdrawn.',
      body: TotpConfirmation,
      returns: [204, null],
      recheck: 'own',
      errors: ['second_factor_not_found'],
      example: { body: { code: '123456' } },
    },
    async ({ db, instance, caller, body }) => ({ body: (await confirmTotp(db, instance, caller, body.code), null) }),
  ),
  route(
    {
      id: 'totp.delete',
      method: 'DELETE',
      path: '/v1/user/totp',
      needs: 'user',
      summary: 'Remove the authenticator app',
      description: `If you have no passkey, the password alone is enough to sign in again, and the recovery codes are deleted. ${FRESH}`,
      returns: [204, null],
      recheck: 'own',
      errors: ['recent_sign_in_required', 'second_factor_not_found'],
      access: 'unchanged',
    },
    async ({ db, instance, caller }) => ({ body: (await removeTotp(db, instance, caller), null) }),
  ),
  route(
    {
      id: 'recoveryCodes.replace',
      method: 'POST',
      path: '/v1/user/recovery-codes',
      needs: 'user',
      summary: 'Generate new recovery codes',
      description: `Returns ten new codes, which are not shown again. The previous ones stop working. ${FRESH}`,
      returns: [200, RecoveryCodes],
      recheck: 'own',
      errors: ['recent_sign_in_required', 'second_factor_not_found'],
      recentSignIn: true,
      revealsSecret: true,
      access: 'unchanged',
    },
    async ({ db, instance, caller }) => ({
      body: { recoveryCodes: await replaceRecoveryCodes(db, instance, caller) },
    }),
  ),
  route(
    {
      id: 'passkeys.list',
      method: 'GET',
      path: '/v1/user/passkeys',
      needs: 'user',
      summary: 'List my passkeys',
      description: 'Newest first.',
      query: Type.Object(PageQuery, { additionalProperties: false }),
      returns: [200, Passkeys],
    },
    async ({ db, instance, caller, query }) => ({ body: await listPasskeys(db, instance, caller, query) }),
  ),
  route(
    {
      id: 'passkeys.options',
      method: 'POST',
      path: '/v1/user/passkeys/options',
      needs: 'user',
      summary: 'Start adding a passkey',
      description: `Returns the options to pass to the authenticator, in WebAuthn's own JSON. They work once, within 5 minutes, for the session that requested them. ${FRESH}`,
      returns: [200, CreationOptions],
      errors: ['recent_sign_in_required', 'no_password'],
      effect: 'read',
    },
    async ({ db, instance, caller }) => ({ body: await newPasskeyOptions(db, instance, caller) }),
  ),
  route(
    {
      id: 'passkeys.create',
      method: 'POST',
      path: '/v1/user/passkeys',
      needs: 'user',
      summary: 'Add a passkey',
      description: `Takes the authenticator's response to the options. You can then sign in with just the passkey; signing in with the password also requires the passkey, your app or a recovery code. If this is your first second factor, the response has ten recovery codes, all your other sessions end, and open invitations sent from them are withdrawn. You can have at most 20 passkeys. ${FRESH}`,
      body: NewPasskey,
      returns: [201, AddedPasskey],
      recheck: 'own',
      errors: ['recent_sign_in_required', 'no_password', 'limit_exceeded'],
      recentSignIn: true,
      revealsSecret: true,
      example: {
        body: {
          name: 'My phone',
          credential: { ...EXAMPLE, response: { clientDataJSON: 'eyJ0…', attestationObject: 'o2Nm…' } },
        },
      },
    },
    async ({ db, instance, caller, body }) => {
      const added = await addPasskey(db, instance, caller, body)
      return { body: added, resource: { id: added.id, location: `/v1/user/passkeys/${added.id}` } }
    },
  ),
  route(
    {
      id: 'passkeys.delete',
      method: 'DELETE',
      path: '/v1/user/passkeys/:passkeyId',
      needs: 'user',
      summary: 'Remove a passkey',
      description: `The passkey can no longer be used to sign in. Removing your last second factor also deletes the recovery codes. ${FRESH}`,
      returns: [204, null],
      recheck: 'own',
      errors: ['recent_sign_in_required', 'passkey_not_found'],
      access: 'unchanged',
    },
    async ({ db, instance, caller, params }) => ({
      body: (await removePasskey(db, instance, caller, params.passkeyId), null),
    }),
  ),
]

function parseFactor(
  { challenge = '', code, credential, cookie }: Partial<SecondFactor>,
  _instance: unknown,
  faults: Fault[],
): { factor: GivenFactor; cookie: boolean } {
  const isOne = (code === undefined) !== (credential === undefined)
  if (!isOne && faults.length === 0)
    faults.push({ pointer: '#/code', code: 'required', detail: 'Send either a code or the credential of a passkey.' })
  const factor = credential ? { challenge, credential } : { challenge, code: code ?? '' }
  return { factor, cookie: cookie === true }
}
