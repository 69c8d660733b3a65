// What an installation has decided, as clients may know it.

import { ROLES } from '../core/permissions.ts'
import { OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

const closed = { additionalProperties: false }

export const Settings = Type.Object(
  {
    version: Type.String({ description: 'The version of the service.', examples: ['0.1.0'] }),
    signUp: OneOf(['open', 'closed'], { description: 'Whether anyone may sign up, or only who was invited.' }),
    keyPrefix: Type.String({ description: 'What every key and token begins with.', examples: ['skp'] }),
    limits: Type.Object(
      {
        keysPerStore: Type.Integer({ description: 'How many live keys a store may hold.' }),
        addressesPerUser: Type.Integer({ description: 'How many addresses a user may keep in a store.' }),
        storesPerUser: Type.Integer({ description: 'How many stores a user may own.' }),
        invitationsPerStore: Type.Integer({ description: 'How many open invitations a store may have.' }),
        webhooksPerStore: Type.Integer({ description: 'How many webhooks a store may have.' }),
        sessionsPerUser: Type.Integer({ description: 'How many sessions a user may have.' }),
        versionsPerDay: Type.Integer({ description: "How often a user's addresses in a store may change in a day." }),
      },
      { ...closed, description: 'What this installation allows.' },
    ),
    mail: Type.Boolean({ description: 'Whether the service sends mail: invitations, password resets.' }),
    oidc: Type.Boolean({ description: 'Whether people can sign in with an identity provider.' }),
  },
  { title: 'Settings', ...closed },
)

export const Permissions = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          permission: Type.String({ description: 'The permission.', examples: ['MANAGE_KEYS'] }),
          description: Type.String({ description: 'What whoever holds it may do.' }),
          roles: Type.Array(OneOf(ROLES), { description: 'The roles that bring it.' }),
        },
        closed,
      ),
      { description: 'Every permission there is, in the order in which lists of permissions are given.' },
    ),
  },
  { title: 'Permissions', ...closed },
)
