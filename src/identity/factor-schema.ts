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
  description: 'Ten codes, each of which stands in once for the app or the passkey. They are shown only here.',
})

export const NewTotp = Type.Object(
  {
    secret: Type.String({ description: 'The secret in base32, to be typed into an authenticator app.' }),
    uri: Type.String({ description: 'The same as `otpauth://…`, to be shown as a QR code or opened on the phone.' }),
    recoveryCodes: RecoveryCodeList,
  },
  { title: 'NewTotp', ...closed },
)
export type NewTotp = Static<typeof NewTotp>

export const TotpConfirmation = Type.Object(
  { code: Type.String({ maxLength: 20, description: 'The six digits that the app shows.' }) },
  { title: 'TotpConfirmation', ...closed },
)

export const RecoveryCodes = Type.Object({ recoveryCodes: RecoveryCodeList }, { title: 'RecoveryCodes', ...closed })

const base64url = (description: string, maxLength: number) => Type.String({ maxLength, description })

const credential = {
  id: base64url('The id of the passkey, in base64url.', 1_400),
  rawId: base64url('The same.', 1_400),
  type: Type.String({ maxLength: 20, description: 'Always `public-key`.', examples: ['public-key'] }),
}
const clientDataJSON = base64url('What the browser says it has signed, in base64url.', 8_000)

export const Attestation = Type.Object(
  {
    ...credential,
    response: Type.Object(
      {
        clientDataJSON,
        attestationObject: base64url('The public key with what the authenticator says of itself.', 40_000),
        transports: Type.Optional(
          Type.Array(Type.String({ maxLength: 20 }), {
            maxItems: 10,
            description: 'How the authenticator can be reached.',
          }),
        ),
      },
      { ...webAuthn, description: 'What the authenticator answered.' },
    ),
  },
  {
    title: 'Attestation',
    ...webAuthn,
    description: "A new passkey: WebAuthn's `RegistrationResponseJSON`, as `credential.toJSON()` gives it.",
  },
)
export type Attestation = Static<typeof Attestation>

export const Assertion = Type.Object(
  {
    ...credential,
    response: Type.Object(
      {
        clientDataJSON,
        authenticatorData: base64url('What the authenticator says it has checked.', 8_000),
        signature: base64url('Its signature over both.', 8_000),
        userHandle: Type.Optional(Nullable(base64url('Whose passkey it is.', 100))),
      },
      { ...webAuthn, description: 'What the authenticator answered.' },
    ),
  },
  {
    title: 'Assertion',
    ...webAuthn,
    description: "A use of a passkey: WebAuthn's `AuthenticationResponseJSON`, as `credential.toJSON()` gives it.",
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
  { name: Line(1, 100, { description: 'What you call it, such as the device it is on.' }), credential: Attestation },
  { title: 'NewPasskey', ...closed },
)

export const AddedPasskey = Type.Object(
  {
    ...Passkey.properties,
    recoveryCodes: Nullable(
      Type.Array(Type.String(), {
        description: 'With your first second factor: ten recovery codes, shown only here. Otherwise `null`.',
      }),
    ),
  },
  { title: 'AddedPasskey', ...closed },
)
export type AddedPasskey = Static<typeof AddedPasskey>

export const PasskeySignIn = Type.Object(
  { credential: Assertion, cookie: SignUp.properties.cookie },
  { title: 'PasskeySignIn', ...closed },
)

export const SecondFactor = Type.Object(
  {
    challenge: Type.String({ maxLength: 1_000, description: 'From the answer `second_factor_required`.' }),
    code: Type.Optional(
      Type.String({ maxLength: 40, description: 'The six digits that the app shows, or a recovery code.' }),
    ),
    credential: Type.Optional(Assertion),
    cookie: SignUp.properties.cookie,
  },
  { title: 'SecondFactor', ...closed },
)
export type SecondFactor = Static<typeof SecondFactor>
