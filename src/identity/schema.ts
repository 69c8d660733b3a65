// Users and their sessions, as they look from outside.

import type { Static } from 'typebox'
import { ExportedAddress, ExportedDefault, ExportedHold, ExportedVersion, held } from '../billing/schema.ts'
import { pageOf } from '../core/pagination.ts'
import { ROLES } from '../core/permissions.ts'
import { ExportedRecord } from '../customers/schema.ts'
import { MailSwitches } from '../mail/schema.ts'
import { DateTime, Line, Nullable, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { MadeInStores, Store } from '../stores/schema.ts'

const Email = Type.String({ minLength: 3, maxLength: 254, description: 'Upper and lower case are the same.' })
const Password = Type.String({
  minLength: 15,
  maxLength: 256,
  description: 'Any 15 to 256 characters; a sentence is a good one. The commonest are refused.',
})
/** A password that is only compared may be anything: a wrong one is wrong, not invalid. */
const GivenPassword = Type.String({ maxLength: 256 })

export const User = Type.Object(
  {
    id: Type.String({ examples: ['user_01k9wz3v5e8tvs8v4m8m3v5yqd'] }),
    email: Nullable(
      Type.String({
        description: '`null` for a user of an identity provider, and for an account whose e-mail is not confirmed yet.',
      }),
    ),
    emailVerified: Type.Boolean({ description: 'Whether the user has confirmed the e-mail by a link sent to it.' }),
    pendingEmail: Nullable(
      Type.String({ description: 'The e-mail that will be in its place once it is confirmed by the link sent to it.' }),
    ),
    name: Nullable(Type.String()),
    mail: MailSwitches,
    secondFactor: Type.Object(
      {
        totp: Type.Boolean({ description: 'Whether an authenticator app is set up.' }),
        passkeys: Type.Integer({ description: 'How many passkeys there are.' }),
        recoveryCodesLeft: Type.Integer({ description: 'How many recovery codes were not used yet.' }),
      },
      { additionalProperties: false, description: 'With an app or a passkey, a password alone opens no session.' },
    ),
    createdAt: DateTime(),
  },
  { title: 'User', additionalProperties: false },
)
export type User = Static<typeof User>

export const SignUp = Type.Object(
  {
    email: Email,
    password: Password,
    name: Type.Optional(Line(1, 100)),
    cookie: Type.Optional(
      Type.Boolean({ description: 'For browsers: the session comes as a cookie instead of a token.' }),
    ),
    invitation: Type.Optional(
      Type.String({ maxLength: 200, description: 'The token of an invitation, where accounts are by invitation.' }),
    ),
  },
  { title: 'SignUp', additionalProperties: false },
)
export type SignUp = Static<typeof SignUp>

export const SignIn = Type.Object(
  { email: Type.String({ maxLength: 254 }), password: GivenPassword, cookie: SignUp.properties.cookie },
  { title: 'SignIn', additionalProperties: false },
)
export type SignIn = Static<typeof SignIn>

export const SignedIn = Type.Object(
  {
    user: User,
    token: Type.Optional(Type.String({ description: 'The session token. Left out when it was set as a cookie.' })),
    expiresAt: DateTime(),
  },
  { title: 'SignedIn', additionalProperties: false },
)

export const Me = Type.Object(
  {
    user: User,
    stores: Type.Array(
      Type.Object(
        { store: Store, role: OneOf(ROLES), permissions: Type.Array(Type.String()) },
        { additionalProperties: false },
      ),
    ),
  },
  { title: 'Me', additionalProperties: false },
)
export type Me = Static<typeof Me>

const Session = Type.Object(
  {
    id: Type.String(),
    current: Type.Boolean({ description: 'Whether this very request was made with it.' }),
    userAgent: Nullable(Type.String()),
    ip: Nullable(Type.String()),
    createdAt: DateTime(),
    lastUsedAt: Type.String({ format: 'date-time', description: 'Exact to the hour.' }),
    expiresAt: DateTime(),
  },
  { title: 'Session', additionalProperties: false },
)
export type Session = Static<typeof Session>
export const Sessions = pageOf(Session, 'Sessions')

export const Passkey = Type.Object(
  {
    id: Type.String({ examples: ['passkey_01k9wz3v5e8tvs8v4m8m3v5yqd'] }),
    name: Type.String({ description: 'The name you gave it.' }),
    backedUp: Type.Boolean({ description: 'Whether a password manager kept a copy of it when it was last used.' }),
    createdAt: DateTime(),
    lastUsedAt: Nullable(DateTime({ description: 'When somebody last signed in with it.' })),
  },
  { title: 'Passkey', additionalProperties: false },
)
export type Passkey = Static<typeof Passkey>

export const PasswordChange = Type.Object(
  { currentPassword: GivenPassword, newPassword: Password },
  { title: 'PasswordChange', additionalProperties: false },
)

const OneTimeToken = Type.String({ maxLength: 200, description: 'What stands behind `#token=` in the link.' })

export const Confirmation = Type.Object({ token: OneTimeToken }, { title: 'Confirmation', additionalProperties: false })

export const UserChanges = Type.Object(
  {
    name: Type.Optional(Nullable(Line(1, 100))),
    email: Type.Optional(Email),
    currentPassword: Type.Optional(
      Type.String({ maxLength: 256, description: 'Your password: a new e-mail needs it.' }),
    ),
    mail: Type.Optional(Type.Partial(MailSwitches, { additionalProperties: false })),
  },
  { title: 'UserChanges', additionalProperties: false, minProperties: 1 },
)

export const ResetRequest = Type.Object(
  { email: Type.String({ maxLength: 254 }) },
  { title: 'ResetRequest', additionalProperties: false },
)

export const Reset = Type.Object(
  { token: OneTimeToken, newPassword: Password },
  { title: 'Reset', additionalProperties: false },
)

const closed = { additionalProperties: false }

export const ErasedUser = Type.Object({ ...MadeInStores.properties, held }, { title: 'ErasedUser', ...closed })
export type ErasedUser = Static<typeof ErasedUser>

const membership = {
  storeId: Type.String(),
  storeName: Type.String(),
  role: OneOf(ROLES),
  permissions: Type.Array(Type.String()),
  createdAt: DateTime(),
  updatedAt: DateTime(),
}

const event = {
  id: Type.String(),
  storeId: Nullable(Type.String()),
  type: Type.String({ examples: ['address.created'] }),
  at: DateTime(),
  subject: Type.String({ description: 'The id of what it happened to.' }),
}

export const Export = Type.Object(
  {
    exportedAt: DateTime(),
    user: Type.Object(
      {
        ...User.properties,
        issuer: Nullable(Type.String({ description: 'Of a user of an identity provider: its `iss`.' })),
        subject: Nullable(Type.String({ description: 'And their `sub` there.' })),
        updatedAt: DateTime(),
      },
      closed,
    ),
    sessions: Type.Array(Type.Pick(Session, ['id', 'userAgent', 'ip', 'createdAt', 'lastUsedAt', 'expiresAt'], closed)),
    passkeys: Type.Array(Passkey, { description: 'Without their keys, which are public.' }),
    memberships: Type.Array(Type.Object(membership, closed)),
    formerMemberships: Type.Array(Type.Object({ ...membership, endedAt: DateTime() }, closed), {
      description: 'The last one in each store that you left or were removed from.',
    }),
    invitations: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          storeId: Type.String(),
          email: Nullable(Type.String()),
          role: OneOf(ROLES),
          permissions: Type.Array(Type.String()),
          createdAt: DateTime(),
          expiresAt: DateTime(),
          acceptedAt: Nullable(DateTime()),
          withdrawnAt: Nullable(DateTime()),
        },
        closed,
      ),
      { description: 'To your e-mail, or accepted by you.' },
    ),
    customerRecords: Type.Array(ExportedRecord, {
      description: 'What stores that have linked you to a customer of theirs say of you.',
    }),
    addresses: Type.Array(ExportedAddress, {
      description: 'In every store, also where you have no part any more.',
    }),
    addressVersions: Type.Array(ExportedVersion, {
      description: 'What your addresses were before they were changed or deleted: invoices may point at it.',
    }),
    addressDefaults: Type.Array(ExportedDefault, {
      description: 'Which of your addresses was the default when, also of those that were deleted.',
    }),
    addressHolds: Type.Array(ExportedHold, {
      description: 'The versions of your addresses that stores keep for longer, and why.',
    }),
    events: Type.Array(
      Type.Object({ ...event, ip: Nullable(Type.String({ description: 'The address you did it from.' })) }, closed),
      { description: 'What you did, newest first.' },
    ),
    eventsByOthers: Type.Array(
      Type.Object(
        {
          ...event,
          by: OneOf(['user', 'key', 'service', 'system'], {
            description: 'What kind of caller it was. Who it was is theirs.',
          }),
          data: Type.Unsafe<Record<string, unknown>>({
            type: 'object',
            additionalProperties: true,
            description: 'What there is to say, by the type: of a changed role what it was and what it became.',
          }),
        },
        closed,
      ),
      { description: 'What others did to your part in a store, then to invitations to you; each newest first.' },
    ),
  },
  { title: 'Export', ...closed },
)
export type Export = Static<typeof Export>
