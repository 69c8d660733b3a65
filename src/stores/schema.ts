// Stores, their members and the invitations to become one, as they look from outside.

import type { Static } from 'typebox'
import { pageOf } from '../core/pagination.ts'
import { ROLES } from '../core/permissions.ts'
import type { MembersRow, StoresRow, UsersRow } from '../db/tables.gen.ts'
import { CreatedAt, DateTime, Id, Line, Nullable, OneOf, StoreId, UpdatedAt, UserId } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

const closed = { additionalProperties: false }
const Name = Line(1, 100, { description: 'The name of the store.', examples: ['Analytical Engines'] })
const Role = OneOf(ROLES, {
  description:
    '`OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`. `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role includes.',
})
const Registration = OneOf(['OPEN', 'CLOSED'], {
  description:
    '`OPEN`: any signed-in user can join as a customer. `CLOSED`: people join by invitation only, and to anyone else the store looks as if it did not exist.',
})
const LeakGraceSeconds = Type.Integer({
  minimum: 0,
  maximum: 604_800,
  default: 0,
  description:
    'How long a leaked `PROD` key keeps working, in seconds: at most 7 days. `0` revokes it immediately. `TEST` and `DEV` keys are always revoked immediately.',
})
const permissionList = (description: string, example: string[]) =>
  Type.Array(Type.String({ maxLength: 63 }), { maxItems: 100, uniqueItems: true, description, examples: [example] })
const wholeSet = permissionList('The complete set of permissions, which replaces those of the role.', ['READ', 'WRITE'])
const relativePermissions = {
  addPermissions: Type.Optional(permissionList('Permissions to add. The others stay as they are.', ['VIEW_EVENTS'])),
  removePermissions: Type.Optional(permissionList('Permissions to remove. The others stay as they are.', ['WRITE'])),
}

export const Store = Type.Object(
  {
    id: StoreId,
    name: Name,
    registration: Registration,
    leakGraceSeconds: LeakGraceSeconds,
    frozenAt: Nullable(
      DateTime({ description: 'When all keys of the store were frozen. `null`: they are not frozen.' }),
    ),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
    deletedAt: Nullable(
      DateTime({
        description: 'When the store was deleted. It can be restored for 30 days. `null`: it is not deleted.',
      }),
    ),
  },
  { title: 'Store', description: 'A store.', ...closed },
)
export const Stores = pageOf(Store, 'Stores')
export const NewStore = Type.Object(
  { name: Name, registration: Type.Optional(Registration), leakGraceSeconds: Type.Optional(LeakGraceSeconds) },
  { title: 'NewStore', description: 'A store to create.', ...closed },
)
export type NewStore = Static<typeof NewStore>
export const StoreChanges = Type.Partial(Type.Pick(Store, ['name', 'registration', 'leakGraceSeconds']), {
  title: 'StoreChanges',
  description: 'Changes to a store. Fields that are left out keep their value.',
  ...closed,
})
export type StoreChanges = Static<typeof StoreChanges>

export const Member = Type.Object(
  {
    storeId: StoreId,
    userId: UserId,
    name: Nullable(Type.String({ description: "The user's name, if they gave one." })),
    email: Nullable(Type.String({ description: "The user's e-mail address, if it is known." })),
    emailVerified: Type.Boolean({
      description:
        'Whether the user, signed in, confirmed the address with a link sent to it, or their identity provider verified it. Otherwise it may be somebody else’s.',
    }),
    role: Role,
    permissions: Type.Array(Type.String(), {
      description: 'The permissions the member has: those that were set, otherwise those of the role.',
    }),
    createdAt: DateTime({ description: 'When the user joined.' }),
    updatedAt: UpdatedAt,
  },
  { title: 'Member', description: 'A member of a store.', ...closed },
)
export const Members = pageOf(Member, 'Members')
/** What a user is told about their own part in a store. */
export const Membership = Type.Object(
  {
    store: Store,
    userId: UserId,
    role: Role,
    permissions: Member.properties.permissions,
    createdAt: Member.properties.createdAt,
  },
  { title: 'Membership', description: 'Your own membership in a store.', ...closed },
)
export const MemberChanges = Type.Object(
  {
    role: Type.Optional(Role),
    permissions: Type.Optional(Nullable(wholeSet)),
    ...relativePermissions,
  },
  {
    title: 'MemberChanges',
    description:
      '`permissions` is the complete set (`null`: those of the role). `addPermissions` and `removePermissions` change the current permissions or, together with a new role, those of that role.',
    ...closed,
  },
)
/** What becomes of the keys and webhooks of somebody who goes. */
export const CascadeQuery = Type.Object(
  {
    keys: Type.Optional(
      OneOf(['keep', 'revoke'], {
        default: 'keep',
        description:
          'What to do with the keys they created, and with those they rotated: `keep` them, or `revoke` them.',
      }),
    ),
    webhooks: Type.Optional(
      OneOf(['keep', 'disable'], {
        default: 'keep',
        description:
          'What to do with the webhooks they created, themselves or with one of these keys: `keep` them, or `disable` them.',
      }),
    ),
  },
  closed,
)

const madeKey = {
  id: Id('key', 'The id of the key.'),
  name: Type.String({ description: 'The name of the key.' }),
  status: Type.String({ description: '`ACTIVE`, `DISABLED`, `EXPIRED` or `REVOKED`, after this request.' }),
}
const madeWebhook = {
  id: Id('wh', 'The id of the webhook.'),
  url: Nullable(Type.String({ description: 'Where its messages are sent. `null` without `MANAGE_WEBHOOKS`.' })),
  enabled: Type.Boolean({ description: 'Whether it is enabled after this request.' }),
}
const madeMember = { userId: UserId, role: Role }
const madeKeys = {
  description:
    'The keys they created, and those they rotated whose secret still works: themselves, or with one of these keys. The newest 1,000, in their current state.',
}
const madeWebhooks = {
  description: 'The webhooks they created, themselves or with one of their keys, in their current state.',
}
const madeMembers = {
  description:
    'Members who joined by an invitation that they sent, themselves or with one of their keys, with their current role. The newest 1,000. They remain members unless you remove them.',
}
const madeServiceToken = {
  id: Type.String({ description: 'The id of the token.' }),
  name: Type.String({ description: 'The back end that uses it.' }),
  revoked: Type.Boolean({ description: 'Whether this request revoked it, with `keys=revoke`.' }),
}
const madeServiceTokens = {
  description:
    'The service tokens they issued as an owner that were still working. They keep working unless an owner asks for `keys=revoke`.',
}
/** What a member or a key leaves behind in a store. */
export const Made = Type.Object(
  {
    keys: Type.Array(Type.Object(madeKey, closed), madeKeys),
    webhooks: Type.Array(Type.Object(madeWebhook, closed), madeWebhooks),
    members: Type.Array(Type.Object(madeMember, closed), madeMembers),
    serviceTokens: Type.Array(Type.Object(madeServiceToken, closed), madeServiceTokens),
  },
  { title: 'Made', description: 'What a member or a key created in the store and leaves behind.', ...closed },
)
export type Made = Static<typeof Made>
export const ChangedMember = Type.Object(
  { member: Member, ...Made.properties },
  { title: 'ChangedMember', description: 'The member, and what they created in the store.', ...closed },
)
/** What an erased user leaves behind in the stores that they were a member of. */
export const MadeInStores = Type.Object(
  {
    keys: Type.Array(Type.Object({ storeId: StoreId, ...madeKey }, closed), madeKeys),
    webhooks: Type.Array(Type.Object({ storeId: StoreId, ...madeWebhook }, closed), madeWebhooks),
    members: Type.Array(Type.Object({ storeId: StoreId, ...madeMember }, closed), madeMembers),
    serviceTokens: Type.Array(Type.Object({ storeId: StoreId, ...madeServiceToken }, closed), madeServiceTokens),
  },
  { title: 'MadeInStores', description: 'What a user created in stores and leaves behind.', ...closed },
)
export type MadeInStores = Static<typeof MadeInStores>

export const Invitation = Type.Object(
  {
    id: Id('inv', 'The id of the invitation.'),
    storeId: StoreId,
    email: Type.String({ description: 'The e-mail address of the person who is invited.' }),
    role: Role,
    permissions: Type.Array(Type.String(), { description: 'The permissions they will have.' }),
    createdAt: CreatedAt,
    createdBy: Type.Object(
      {
        kind: Type.String({ description: '`user` or `key`.' }),
        id: Type.String({ description: 'The id of that user or key.' }),
      },
      { ...closed, description: 'Who invited them.' },
    ),
    expiresAt: DateTime({ description: 'When the invitation expires: 7 days after it was created.' }),
  },
  { title: 'Invitation', description: 'An invitation to a store, without its token.', ...closed },
)
export const Invitations = pageOf(Invitation, 'Invitations')
export const InvitationWithToken = Type.Object(
  {
    ...Invitation.properties,
    token: Type.String({ description: 'The token the person accepts the invitation with. It is shown only once.' }),
    mailed: Type.Boolean({
      description: 'Whether it was mailed as well: where the service sends mail, up to 5 times a day to one address.',
    }),
  },
  { title: 'InvitationWithToken', description: 'An invitation with its token, which is shown only once.', ...closed },
)
export const NewInvitation = Type.Object(
  {
    email: Type.String({
      minLength: 3,
      maxLength: 254,
      description: 'The e-mail address of the person to invite. Only an account with this address can accept.',
      examples: ['grace@example.com'],
    }),
    role: Role,
    permissions: Type.Optional(wholeSet),
    ...relativePermissions,
  },
  { title: 'NewInvitation', description: 'An invitation to send.', ...closed },
)
export const InvitationPreview = Type.Object(
  {
    store: Type.Object(
      { id: StoreId, name: Name },
      { ...closed, description: 'The store that the holder is invited to.' },
    ),
    role: Role,
    expiresAt: Invitation.properties.expiresAt,
  },
  {
    title: 'InvitationPreview',
    description: 'What the holder of a token learns of their invitation before they accept it.',
    ...closed,
  },
)
export type InvitationPreview = Static<typeof InvitationPreview>
export const Acceptance = Type.Object(
  { token: Type.String({ maxLength: 200, description: 'The token of the invitation.' }) },
  { title: 'Acceptance', description: 'An invitation to accept.', ...closed },
)

// ---- from rows to what is shown -------------------------------------------------------------------------------------

export type StoreRow = Pick<
  StoresRow,
  | 'id'
  | 'name'
  | 'registration'
  | 'leak_grace_seconds'
  | 'frozen_at'
  | 'revision'
  | 'created_at'
  | 'updated_at'
  | 'deleted_at'
>

export function showStore(row: StoreRow): Static<typeof Store> {
  return {
    id: row.id,
    name: row.name,
    registration: row.registration,
    leakGraceSeconds: row.leak_grace_seconds,
    frozenAt: row.frozen_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    deletedAt: row.deleted_at?.toISOString() ?? null,
  }
}

export type MemberRow = Pick<
  MembersRow,
  'store_id' | 'user_id' | 'role' | 'permissions' | 'revision' | 'created_at' | 'updated_at'
> &
  Pick<UsersRow, 'name' | 'email'> & { is_email_own: boolean }
/** `own_since`: what they made before, the store has decided over. */
export type SettledMemberRow = MemberRow & { own_since: Date }
