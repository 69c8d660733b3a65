// Stores, their members and the invitations to become one, as they look from outside.

import type { Static } from 'typebox'
import { pageOf } from '../core/pagination.ts'
import { ROLES } from '../core/permissions.ts'
import type { MembersRow, StoresRow, UsersRow } from '../db/tables.gen.ts'
import { DateTime, Line, Nullable, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

const closed = { additionalProperties: false }
const Name = Line(1, 100)
const Registration = OneOf(['OPEN', 'CLOSED'], {
  description:
    'Whether anyone signed in may join as a customer. A closed store looks to a stranger as if it did not exist.',
})
const LeakGraceSeconds = Type.Integer({
  minimum: 0,
  maximum: 604_800,
  default: 0,
  description:
    'How long a `PROD` key whose secret became known may still be used: 7 days at most, and `0` revokes it at once. `TEST` and `DEV` keys are always revoked at once.',
})
const permissionList = (description: string, example: string[]) =>
  Type.Array(Type.String({ maxLength: 63 }), { maxItems: 100, uniqueItems: true, description, examples: [example] })
const wholeSet = permissionList("The whole set, in place of the role's: what is not in it is not held.", [
  'READ',
  'WRITE',
])
const relativePermissions = {
  addPermissions: Type.Optional(permissionList('Held in addition, beside all else.', ['VIEW_EVENTS'])),
  removePermissions: Type.Optional(permissionList('Not held any longer; the rest stays.', ['WRITE'])),
}

export const Store = Type.Object(
  {
    id: Type.String({ examples: ['store_01k9wz3v5e8tvs8v4m8m3v5yqd'] }),
    name: Name,
    registration: Registration,
    leakGraceSeconds: LeakGraceSeconds,
    frozenAt: Nullable(DateTime({ description: 'Since when all keys of the store are frozen. `null`: they are not.' })),
    createdAt: DateTime(),
    updatedAt: DateTime(),
    deletedAt: Nullable(
      DateTime({
        description: 'When it was deleted. Until 30 days later it can be restored. `null`: it is not deleted.',
      }),
    ),
  },
  { title: 'Store', ...closed },
)
export const Stores = pageOf(Store, 'Stores')
export const NewStore = Type.Object(
  { name: Name, registration: Type.Optional(Registration), leakGraceSeconds: Type.Optional(LeakGraceSeconds) },
  { title: 'NewStore', ...closed },
)
export type NewStore = Static<typeof NewStore>
export const StoreChanges = Type.Partial(Type.Pick(Store, ['name', 'registration', 'leakGraceSeconds']), {
  title: 'StoreChanges',
  ...closed,
})
export type StoreChanges = Static<typeof StoreChanges>

export const Member = Type.Object(
  {
    storeId: Type.String(),
    userId: Type.String(),
    name: Nullable(Type.String()),
    email: Nullable(Type.String()),
    role: OneOf(ROLES),
    permissions: Type.Array(Type.String(), {
      description: 'What the member holds: what was set, or what the role brings.',
    }),
    createdAt: DateTime(),
    updatedAt: DateTime(),
  },
  { title: 'Member', ...closed },
)
export const Members = pageOf(Member, 'Members')
/** What a user is told about their own part in a store. */
export const Membership = Type.Object(
  {
    store: Store,
    userId: Type.String(),
    role: OneOf(ROLES),
    permissions: Type.Array(Type.String()),
    createdAt: DateTime(),
  },
  { title: 'Membership', ...closed },
)
export const MemberChanges = Type.Object(
  {
    role: Type.Optional(OneOf(ROLES)),
    permissions: Type.Optional(Nullable(wholeSet)),
    ...relativePermissions,
  },
  {
    title: 'MemberChanges',
    description:
      '`permissions` is the whole set (`null`: what the role brings). `addPermissions` and `removePermissions` change what is held, or, with a new role, what that role brings.',
    ...closed,
  },
)
/** What becomes of the keys and webhooks of somebody who goes. */
export const CascadeQuery = Type.Object(
  {
    keys: Type.Optional(
      OneOf(['keep', 'revoke'], {
        default: 'keep',
        description: 'What becomes of the keys that were made, and of those whose secret was taken by rotating them.',
      }),
    ),
    webhooks: Type.Optional(
      OneOf(['keep', 'disable'], {
        default: 'keep',
        description: 'What becomes of the webhooks that were made, also with one of these keys.',
      }),
    ),
  },
  closed,
)

const madeKey = { id: Type.String(), name: Type.String(), status: Type.String() }
const madeWebhook = { id: Type.String(), url: Nullable(Type.String()), enabled: Type.Boolean() }
const madeMember = { userId: Type.String(), role: OneOf(ROLES) }
const madeKeys = {
  description:
    'The keys they created, and those of which they rotated a secret that still works: themselves, or with a key of these. As they are now, the newest 1,000.',
}
const madeWebhooks = {
  description:
    'The webhooks they made, themselves or with a key of theirs, as they are now. `url` is `null` unless you hold `MANAGE_WEBHOOKS`.',
}
const madeMembers = {
  description:
    'Those who accepted an invitation that they made, themselves or with a key of theirs, and are members since, with their role now. The newest 1,000. They stay, unless you remove them.',
}
const madeServiceToken = {
  id: Type.String({ description: 'The id of the token.' }),
  name: Type.String({ description: 'Which back end uses it.' }),
  revoked: Type.Boolean({ description: 'Whether it was revoked just now, by `keys=revoke`.' }),
}
const madeServiceTokens = {
  description:
    'The service tokens that they issued as an owner and that worked until now. They go on, unless an owner says `keys=revoke`.',
}
/** What a member or a key leaves behind in a store. */
export const Made = Type.Object(
  {
    keys: Type.Array(Type.Object(madeKey, closed), madeKeys),
    webhooks: Type.Array(Type.Object(madeWebhook, closed), madeWebhooks),
    members: Type.Array(Type.Object(madeMember, closed), madeMembers),
    serviceTokens: Type.Array(Type.Object(madeServiceToken, closed), madeServiceTokens),
  },
  { title: 'Made', ...closed },
)
export type Made = Static<typeof Made>
export const ChangedMember = Type.Object({ member: Member, ...Made.properties }, { title: 'ChangedMember', ...closed })
/** What an erased user leaves behind in the stores that they were a member of. */
export const MadeInStores = Type.Object(
  {
    keys: Type.Array(Type.Object({ storeId: Type.String(), ...madeKey }, closed), madeKeys),
    webhooks: Type.Array(Type.Object({ storeId: Type.String(), ...madeWebhook }, closed), madeWebhooks),
    members: Type.Array(Type.Object({ storeId: Type.String(), ...madeMember }, closed), madeMembers),
    serviceTokens: Type.Array(Type.Object({ storeId: Type.String(), ...madeServiceToken }, closed), madeServiceTokens),
  },
  { title: 'MadeInStores', ...closed },
)
export type MadeInStores = Static<typeof MadeInStores>

export const Invitation = Type.Object(
  {
    id: Type.String(),
    storeId: Type.String(),
    email: Type.String(),
    role: OneOf(ROLES),
    permissions: Type.Array(Type.String()),
    createdAt: DateTime(),
    createdBy: Type.Object({ kind: Type.String(), id: Type.String() }, closed),
    expiresAt: DateTime(),
  },
  { title: 'Invitation', ...closed },
)
export const Invitations = pageOf(Invitation, 'Invitations')
export const InvitationWithToken = Type.Object(
  {
    ...Invitation.properties,
    token: Type.String({ description: 'Shown once. Give it to the person you invite.' }),
    mailed: Type.Boolean({
      description: 'Whether it is mailed too: where the service sends mail, up to 5 times a day to one address.',
    }),
  },
  { title: 'InvitationWithToken', ...closed },
)
export const NewInvitation = Type.Object(
  {
    email: Type.String({ minLength: 3, maxLength: 254 }),
    role: OneOf(ROLES),
    permissions: Type.Optional(wholeSet),
    ...relativePermissions,
  },
  { title: 'NewInvitation', ...closed },
)
export const Acceptance = Type.Object({ token: Type.String({ maxLength: 200 }) }, { title: 'Acceptance', ...closed })

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
  Pick<UsersRow, 'name' | 'email'>
/** `own_since`: what they made before, the store has decided over. */
export type SettledMemberRow = MemberRow & { own_since: Date }
