// What an installation has decided, as clients may know it.

import { ROLES } from '../core/permissions.ts'
import { OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

const closed = { additionalProperties: false }

export const Settings = Type.Object(
  {
    version: Type.String({ description: 'The version of the service.', examples: ['0.1.0'] }),
    signUp: OneOf(['open', 'closed'], {
      description: '`open`: anyone can sign up. `closed`: only people who were invited can.',
    }),
    keyPrefix: Type.String({ description: 'The prefix of every key and token.', examples: ['skp'] }),
    limits: Type.Object(
      {
        keysPerStore: Type.Integer({ description: 'Live keys per store.' }),
        addressesPerUser: Type.Integer({ description: 'Addresses per user and store.' }),
        storesPerUser: Type.Integer({ description: 'Stores a user can own.' }),
        invitationsPerStore: Type.Integer({ description: 'Open invitations per store.' }),
        customersPerStore: Type.Integer({ description: 'Customers per store.' }),
        webhooksPerStore: Type.Integer({ description: 'Webhooks per store.' }),
        sessionsPerUser: Type.Integer({ description: 'Sessions per user.' }),
        versionsPerDay: Type.Integer({ description: "Changes to a user's addresses in one store within 24 hours." }),
      },
      { ...closed, description: 'The limits of this installation.' },
    ),
    mail: Type.Boolean({ description: 'Whether the service sends mail: invitations, password resets.' }),
    oidc: Type.Boolean({ description: 'Whether people can sign in with an identity provider.' }),
  },
  { title: 'Settings', description: 'How this installation is configured, as far as clients need to know.', ...closed },
)

export const Permissions = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          permission: Type.String({ description: 'The name of the permission.', examples: ['MANAGE_KEYS'] }),
          description: Type.String({ description: 'What it allows.' }),
          roles: Type.Array(OneOf(ROLES), { description: 'The roles that include it.' }),
        },
        closed,
      ),
      { description: 'All permissions, in the order in which the API lists them.' },
    ),
  },
  { title: 'Permissions', description: 'All permissions of this installation.', ...closed },
)
