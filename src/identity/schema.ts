// Users and their sessions, as they look from outside.

import type { Static } from 'typebox'
import { ExportedAddress, ExportedDefault, ExportedHold, ExportedVersion, held } from '../billing/schema.ts'
import { pageOf } from '../core/pagination.ts'
import { ROLES } from '../core/permissions.ts'
import { ExportedRecord } from '../customers/schema.ts'
import { MailSwitches } from '../mail/schema.ts'
import { CreatedAt, DateTime, Id, Line, Nullable, OneOf, StoreId, UpdatedAt, UserId } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { MadeInStores, Store } from '../stores/schema.ts'

const Email = Type.String({ minLength: 3, maxLength: 254, description: 'E-mail address. Not case-sensitive.' })
const Password = Type.String({
  minLength: 15,
  maxLength: 256,
  description: '15 to 256 characters of any kind; a sentence works well. Very common passwords are rejected.',
})
/** A password that is only compared may be anything: a wrong one is wrong, not invalid. */
const GivenPassword = Type.String({ maxLength: 256, description: 'The current password.' })

const Role = OneOf(ROLES, { description: 'The role in the store.' })
const HeldPermissions = Type.Array(Type.String(), { description: 'The permissions in the store.' })

export const User = Type.Object(
  {
    id: UserId,
    email: Nullable(
      Type.String({
        description:
          'The e-mail address. `null` if it is still `pendingEmail`, or if the identity provider sent no address or one that another account has.',
      }),
    ),
    emailVerified: Type.Boolean({
      description:
        'Whether the user confirmed the address with a link sent to it, or their identity provider verified it.',
    }),
    pendingEmail: Nullable(
      Type.String({
        description: 'A new e-mail address that replaces `email` once it is confirmed. `null` if there is none.',
      }),
    ),
    name: Nullable(Type.String({ description: 'The name the user entered, or the one from their identity provider.' })),
    mail: MailSwitches,
    secondFactor: Type.Object(
      {
        totp: Type.Boolean({ description: 'Whether an authenticator app is set up.' }),
        passkeys: Type.Integer({ description: 'The number of passkeys.' }),
        recoveryCodesLeft: Type.Integer({ description: 'The number of recovery codes that have not been used.' }),
      },
      {
        additionalProperties: false,
        description: 'The second factors of the account. If there are any, a password alone is not enough to sign in.',
      },
    ),
    createdAt: CreatedAt,
  },
  { title: 'User', description: 'A user account.', additionalProperties: false },
)
export type User = Static<typeof User>

export const SignUp = Type.Object(
  {
    email: Email,
    password: Password,
    name: Type.Optional(Line(1, 100, { description: 'Your name, as other members of a store see it.' })),
    cookie: Type.Optional(
      Type.Boolean({ description: 'For browsers: set the session as a cookie instead of returning a token.' }),
    ),
    invitation: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'The token of an invitation. Required where sign-up is by invitation only.',
      }),
    ),
  },
  { title: 'SignUp', description: 'An account to create.', additionalProperties: false },
)
export type SignUp = Static<typeof SignUp>

export const SignIn = Type.Object(
  {
    email: Type.String({ maxLength: 254, description: 'E-mail address. Not case-sensitive.' }),
    password: GivenPassword,
    cookie: SignUp.properties.cookie,
  },
  { title: 'SignIn', description: 'Credentials to sign in with.', additionalProperties: false },
)
export type SignIn = Static<typeof SignIn>

export const SignedIn = Type.Object(
  {
    user: User,
    token: Type.Optional(
      Type.String({
        description:
          'The session token, to send as `Authorization: Bearer …`. Absent if the session was set as a cookie.',
      }),
    ),
    expiresAt: DateTime({ description: 'When the session expires.' }),
  },
  { title: 'SignedIn', description: 'The new session, and whose it is.', additionalProperties: false },
)

export const Me = Type.Object(
  {
    user: User,
    stores: Type.Array(
      Type.Object({ store: Store, role: Role, permissions: HeldPermissions }, { additionalProperties: false }),
      { description: 'The stores you are a member of.' },
    ),
  },
  { title: 'Me', description: 'You, and the stores you are a member of.', additionalProperties: false },
)
export type Me = Static<typeof Me>

const SIGN_IN_METHODS = ['password', 'passkey', 'oidc'] as const
export type SignInMethod = (typeof SIGN_IN_METHODS)[number]

const Session = Type.Object(
  {
    id: Id('sess', 'The id of the session.'),
    current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
    method: OneOf(SIGN_IN_METHODS, { description: 'How the user signed in. `oidc` is single sign-on.' }),
    userAgent: Nullable(Type.String({ description: 'The `User-Agent` of the browser or program that signed in.' })),
    ip: Nullable(Type.String({ description: 'The IP address the user signed in from.' })),
    createdAt: DateTime({ description: 'When the user signed in.' }),
    lastUsedAt: Type.String({ format: 'date-time', description: 'When it was last used, to five minutes.' }),
    expiresAt: DateTime({ description: 'When the session expires.' }),
  },
  { title: 'Session', description: 'A session of a signed-in user.', additionalProperties: false },
)
export type Session = Static<typeof Session>
export const Sessions = pageOf(Session, 'Sessions')

export const Passkey = Type.Object(
  {
    id: Id('passkey', 'The id of the passkey.'),
    name: Type.String({ description: 'The name you gave it.' }),
    backedUp: Type.Boolean({
      description: 'Whether the passkey was synced, for example by a password manager, when it was last used.',
    }),
    createdAt: CreatedAt,
    lastUsedAt: Nullable(DateTime({ description: 'When it was last used to sign in. `null` if it was never used.' })),
  },
  { title: 'Passkey', description: 'A passkey of a user.', additionalProperties: false },
)
export type Passkey = Static<typeof Passkey>

export const PasswordChange = Type.Object(
  { currentPassword: GivenPassword, newPassword: Password },
  { title: 'PasswordChange', description: 'A password change.', additionalProperties: false },
)

const OneTimeToken = Type.String({ maxLength: 200, description: 'The token from the link: the part after `#token=`.' })

export const Confirmation = Type.Object(
  { token: OneTimeToken },
  { title: 'Confirmation', description: 'The confirmation of an e-mail address.', additionalProperties: false },
)

export const UserChanges = Type.Object(
  {
    name: Type.Optional(Nullable(Line(1, 100, { description: 'Your name, as other members of a store see it.' }))),
    email: Type.Optional(Email),
    currentPassword: Type.Optional(
      Type.String({ maxLength: 256, description: 'Your current password. Required to change the e-mail address.' }),
    ),
    mail: Type.Optional(
      Type.Partial(MailSwitches, {
        additionalProperties: false,
        description: 'Which e-mails you want to get. Settings that are left out keep their value.',
      }),
    ),
  },
  {
    title: 'UserChanges',
    description: 'Changes to your account. Fields that are left out keep their value; `null` clears the name.',
    additionalProperties: false,
    minProperties: 1,
  },
)

export const ResetRequest = Type.Object(
  { email: Type.String({ maxLength: 254, description: 'The e-mail address of the account.' }) },
  { title: 'ResetRequest', description: 'A request for a reset link.', additionalProperties: false },
)

export const Reset = Type.Object(
  { token: OneTimeToken, newPassword: Password },
  { title: 'Reset', description: 'A new password, with the token of a reset link.', additionalProperties: false },
)

const closed = { additionalProperties: false }

export const ErasedUser = Type.Object(
  { ...MadeInStores.properties, held },
  { title: 'ErasedUser', description: 'What an erased user leaves behind.', ...closed },
)
export type ErasedUser = Static<typeof ErasedUser>

const membership = {
  storeId: StoreId,
  storeName: Type.String({ description: 'The name of the store.' }),
  role: Role,
  permissions: HeldPermissions,
  createdAt: DateTime({ description: 'When you joined.' }),
  updatedAt: UpdatedAt,
}

const event = {
  id: Id('evt', 'The id of the event.'),
  storeId: Nullable(Id('store', 'The id of the store. `null` for events of an account.')),
  type: Type.String({ description: 'What happened.', examples: ['address.created'] }),
  at: DateTime({ description: 'When it happened.' }),
  subject: Type.String({ description: 'The id of what it happened to.' }),
}

export const Export = Type.Object(
  {
    exportedAt: DateTime({ description: 'When the export was made.' }),
    user: Type.Object(
      {
        ...User.properties,
        issuer: Nullable(Type.String({ description: 'The `iss` of your identity provider, if you sign in with one.' })),
        subject: Nullable(Type.String({ description: 'Your `sub` at that provider.' })),
        updatedAt: UpdatedAt,
      },
      { ...closed, description: 'Your account.' },
    ),
    sessions: Type.Array(
      Type.Pick(Session, ['id', 'method', 'userAgent', 'ip', 'createdAt', 'lastUsedAt', 'expiresAt'], closed),
      {
        description: 'Your sessions.',
      },
    ),
    memberships: Type.Array(Type.Object(membership, closed), { description: 'The stores you are a member of.' }),
    formerMemberships: Type.Array(
      Type.Object(
        {
          ...membership,
          storeName: Type.String({
            description: 'The name that the store had when the membership ended. Empty if it is not known.',
          }),
          endedAt: DateTime({ description: 'When it ended.' }),
        },
        closed,
      ),
      {
        description: 'Your last membership in each store that you left or were removed from.',
      },
    ),
    passkeys: Type.Array(Passkey, { description: 'Your passkeys, without their public keys.' }),
    invitations: Type.Array(
      Type.Object(
        {
          id: Id('inv', 'The id of the invitation.'),
          storeId: StoreId,
          email: Nullable(Type.String({ description: 'The e-mail address it was sent to.' })),
          role: Role,
          permissions: HeldPermissions,
          createdAt: CreatedAt,
          expiresAt: DateTime({ description: 'When it expires.' }),
          acceptedAt: Nullable(DateTime({ description: 'When you accepted it. `null`: you did not.' })),
          withdrawnAt: Nullable(DateTime({ description: 'When it was withdrawn. `null`: it was not.' })),
        },
        closed,
      ),
      { description: 'Invitations sent to your e-mail address, or accepted by you.' },
    ),
    customerRecords: Type.Array(ExportedRecord, {
      description: 'What stores that have linked you to one of their customers keep about you.',
    }),
    addresses: Type.Array(ExportedAddress, {
      description: 'Your addresses in every store, including stores you are no longer a member of.',
    }),
    addressVersions: Type.Array(ExportedVersion, {
      description: 'Earlier versions of your addresses, including deleted addresses. Invoices may refer to them.',
    }),
    addressDefaults: Type.Array(ExportedDefault, {
      description: 'Which of your addresses was the default, and when, including deleted ones.',
    }),
    addressHolds: Type.Array(ExportedHold, {
      description: 'The versions of your addresses that stores have put on hold, and why.',
    }),
    events: Type.Array(
      Type.Object({ ...event, ip: Nullable(Type.String({ description: 'The IP address you did it from.' })) }, closed),
      { description: 'What you did, newest first.' },
    ),
    eventsByOthers: Type.Array(
      Type.Object(
        {
          ...event,
          by: OneOf(['user', 'key', 'service', 'system'], {
            description: 'What kind of caller it was. Their identity is not part of your data.',
          }),
          data: Type.Unsafe<Record<string, unknown>>({
            type: 'object',
            additionalProperties: true,
            description: 'Details, depending on the type: for a changed role, the old one and the new one.',
          }),
        },
        closed,
      ),
      { description: 'What others did to your memberships, then to invitations sent to you; each newest first.' },
    ),
  },
  { title: 'Export', description: 'Everything the service holds about you.', ...closed },
)
export type Export = Static<typeof Export>
