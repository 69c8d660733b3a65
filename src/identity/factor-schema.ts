// Second factors and passkeys, as they look from outside. What comes from and goes to an authenticator is WebAuthn's own
// JSON, which browsers make and read by themselves: there, members that we do not know are let through.

import type { Static } from 'typebox'
import { pageOf } from '../core/pagination.ts'
import { Line, Nullable } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { Passkey, SignUp } from './schema.ts'

const closed = { additionalProperties: false }
const webAuthn = { additionalProperties: true }

const RecoveryCodeList = Type.Array(Type.String({ examples: ['7k2mq-x94tz'] }), {
  description:
    'Ten recovery codes. Each can be used once, instead of the app or a passkey. They are shown only in this response.',
})

export const NewTotp = Type.Object(
  {
    secret: Type.String({ description: 'The secret in base32, to type into an authenticator app.' }),
    uri: Type.String({ description: 'The secret as an `otpauth://` URI, to show as a QR code or open on a phone.' }),
    recoveryCodes: RecoveryCodeList,
  },
  { title: 'NewTotp', description: 'The secret and recovery codes of a new authenticator app.', ...closed },
)
export type NewTotp = Static<typeof NewTotp>

export const TotpConfirmation = Type.Object(
  { code: Type.String({ maxLength: 20, description: 'The six-digit code the app shows.' }) },
  { title: 'TotpConfirmation', description: 'The confirmation of a new authenticator app.', ...closed },
)

export const RecoveryCodes = Type.Object(
  { recoveryCodes: RecoveryCodeList },
  { title: 'RecoveryCodes', description: 'New recovery codes.', ...closed },
)

const base64url = (description: string, maxLength: number) => Type.String({ maxLength, description })

const credential = {
  id: base64url('The id of the passkey, in base64url.', 1_400),
  rawId: base64url('The same as `id`.', 1_400),
  type: Type.String({ maxLength: 20, description: 'Always `public-key`.', examples: ['public-key'] }),
}
const clientDataJSON = base64url('The client data that was signed, in base64url.', 8_000)

export const Attestation = Type.Object(
  {
    ...credential,
    response: Type.Object(
      {
        clientDataJSON,
        attestationObject: base64url('The public key and the attestation statement, in base64url.', 40_000),
        transports: Type.Optional(
          Type.Array(Type.String({ maxLength: 20 }), {
            maxItems: 10,
            description: 'How the browser can reach the authenticator, such as `internal` or `usb`.',
          }),
        ),
      },
      { ...webAuthn, description: 'The response of the authenticator.' },
    ),
  },
  {
    title: 'Attestation',
    ...webAuthn,
    description: "A new passkey, as WebAuthn's `RegistrationResponseJSON`: the result of `credential.toJSON()`.",
  },
)
export type Attestation = Static<typeof Attestation>

export const Assertion = Type.Object(
  {
    ...credential,
    response: Type.Object(
      {
        clientDataJSON,
        authenticatorData: base64url('The authenticator data, in base64url.', 8_000),
        signature: base64url('The signature, in base64url.', 8_000),
        userHandle: Type.Optional(Nullable(base64url('The user handle stored with the passkey, in base64url.', 100))),
      },
      { ...webAuthn, description: 'The response of the authenticator.' },
    ),
  },
  {
    title: 'Assertion',
    ...webAuthn,
    description:
      "A signature made with a passkey, as WebAuthn's `AuthenticationResponseJSON`: the result of `credential.toJSON()`.",
  },
)
export type Assertion = Static<typeof Assertion>

export const CreationOptions = Type.Unsafe<Record<string, unknown>>({
  title: 'PasskeyCreationOptions',
  type: 'object',
  ...webAuthn,
  description:
    "WebAuthn's `PublicKeyCredentialCreationOptionsJSON`, for `PublicKeyCredential.parseCreationOptionsFromJSON()`.",
})

export const RequestOptions = Type.Unsafe<Record<string, unknown>>({
  title: 'PasskeyRequestOptions',
  type: 'object',
  ...webAuthn,
  description:
    "WebAuthn's `PublicKeyCredentialRequestOptionsJSON`, for `PublicKeyCredential.parseRequestOptionsFromJSON()`.",
})

export const Passkeys = pageOf(Passkey, 'Passkeys')

export const NewPasskey = Type.Object(
  {
    name: Line(1, 100, { description: 'A name for the passkey, such as the device it is on.' }),
    credential: Attestation,
  },
  { title: 'NewPasskey', description: 'A passkey to add.', ...closed },
)

export const AddedPasskey = Type.Object(
  {
    ...Passkey.properties,
    recoveryCodes: Nullable(
      Type.Array(Type.String(), {
        description:
          'Ten recovery codes, if this is your first second factor; otherwise `null`. They are shown only in this response.',
      }),
    ),
  },
  { title: 'AddedPasskey', description: 'The passkey that was added.', ...closed },
)
export type AddedPasskey = Static<typeof AddedPasskey>

export const PasskeySignIn = Type.Object(
  { credential: Assertion, cookie: SignUp.properties.cookie },
  { title: 'PasskeySignIn', description: 'A sign-in with a passkey.', ...closed },
)

export const SecondFactor = Type.Object(
  {
    challenge: Type.String({
      maxLength: 1_000,
      description: 'The `challenge` from the `second_factor_required` response.',
    }),
    code: Type.Optional(
      Type.String({ maxLength: 40, description: 'The six-digit code from the app, or a recovery code.' }),
    ),
    credential: Type.Optional(Assertion),
    cookie: SignUp.properties.cookie,
  },
  { title: 'SecondFactor', description: 'The second step of a sign-in: either a code or a passkey.', ...closed },
)
export type SecondFactor = Static<typeof SecondFactor>
