// How HTTP speaks of stores, members and invitations.

import type { Static } from 'typebox'
import { Words } from '../check.ts'
import { readEmail } from '../email.ts'
import type { Fault } from '../errors.ts'
import { OWNER_HOLDS_ALL, readPermissions } from '../grant.ts'
import type { Here } from '../here.ts'
import { PageQuery } from '../page.ts'
import { inOrder, type Permission, type Role } from '../permissions.ts'
import { type Route, route } from '../route.ts'
import { Type } from '../type.ts'
import {
  acceptInvitation,
  invite,
  joinStore,
  listInvitations,
  readInvitation,
  withdrawInvitation,
} from './invitations.ts'
import { changeMember, leaveStore, listMembers, readMember, removeMember } from './members.ts'
import {
  Acceptance,
  ChangedMember,
  Invitation,
  Invitations,
  InvitationWithToken,
  Member,
  MemberChanges,
  Members,
  Membership,
  NewInvitation,
  NewStore,
  Store,
  StoreChanges,
  Stores,
} from './schema.ts'
import { changeStore, createStore, deleteStore, listStores, readStore } from './stores.ts'

const page = Type.Object(PageQuery, { additionalProperties: false })
const fate = Type.Object(
  {
    keys: Type.Optional(
      Words(['keep', 'revoke'], { default: 'keep', description: 'What becomes of the keys this member made.' }),
    ),
    webhooks: Type.Optional(
      Words(['keep', 'disable'], {
        default: 'keep',
        description: 'What becomes of the webhooks that this member, or a key they made, has made.',
      }),
    ),
  },
  { additionalProperties: false },
)

export const storeRoutes: Route[] = [
  route(
    {
      method: 'POST',
      path: '/v1/user/store',
      needs: 'user',
      summary: 'Make a store',
      description: 'You become its owner.',
      body: NewStore,
      returns: [201, Store],
      tagged: true,
      example: { body: { name: 'Analytical Engines' } },
    },
    ({ db, caller, body }) => createStore(db, caller, body),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store',
      needs: 'user',
      summary: 'List my stores',
      description: 'Newest first.',
      query: page,
      returns: [200, Stores],
    },
    async ({ db, here, caller, query }) => ({ body: await listStores(db, here, caller, query) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store/:storeId',
      needs: 'READ',
      summary: 'Read a store',
      description: 'The `ETag` is what `If-Match` takes in a change.',
      returns: [200, Store],
      tagged: true,
    },
    ({ db, params }) => readStore(db, params.storeId),
  ),
  route(
    {
      method: 'PATCH',
      path: '/v1/user/store/:storeId',
      needs: 'MANAGE_STORE',
      summary: 'Change a store',
      description: 'What is left out stays. Honours `If-Match`.',
      body: StoreChanges,
      returns: [200, Store],
      tagged: true,
      errors: ['precondition_failed'],
      example: { body: { registration: 'OPEN' } },
    },
    ({ db, caller, params, body, ifMatch }) => changeStore(db, caller, params.storeId, body, ifMatch),
  ),
  route(
    {
      method: 'DELETE',
      path: '/v1/user/store/:storeId',
      needs: 'MANAGE_STORE',
      summary: 'Delete a store',
      description: 'Its keys stop working. What it held is kept for 30 days, then it goes.',
      returns: [204, null],
      errors: ['precondition_failed'],
    },
    async ({ db, caller, params, ifMatch }) => ({
      body: (await deleteStore(db, caller, params.storeId, ifMatch), null),
    }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store/:storeId/members',
      needs: 'READ',
      summary: 'List the members',
      description: 'Newest user first.',
      query: page,
      returns: [200, Members],
    },
    async ({ db, here, params, query }) => ({ body: await listMembers(db, here, params.storeId, query) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store/:storeId/members/:userId',
      needs: 'READ',
      summary: 'Read a member',
      description: 'Their role, and what they hold in this store.',
      returns: [200, Member],
      tagged: true,
      errors: ['member_not_found'],
    },
    ({ db, here, params }) => readMember(db, here, params.storeId, params.userId),
  ),
  route(
    {
      method: 'PATCH',
      path: '/v1/user/store/:storeId/members/:userId',
      needs: 'MANAGE_MEMBERS',
      summary: 'Change a member',
      description:
        'Sets the role, or permissions one by one (`null`: what the role brings). You cannot give what you do not hold, nor change somebody who holds more. `keys` and `webhooks` decide over the keys and webhooks they made, should they lose a permission.',
      query: fate,
      body: MemberChanges,
      reads: readMemberChanges,
      returns: [200, ChangedMember],
      tagged: true,
      errors: ['member_not_found', 'cannot_grant', 'outranked', 'last_owner', 'precondition_failed'],
      example: { body: { role: 'MANAGER' } },
    },
    ({ db, here, caller, params, query, body, ifMatch }) =>
      changeMember(db, here, caller, params, body, { ...fates(query), ifMatch }),
  ),
  route(
    {
      method: 'DELETE',
      path: '/v1/user/store/:storeId/members/:userId',
      needs: 'MANAGE_MEMBERS',
      summary: 'Remove a member',
      description:
        'Their billing addresses stay for the invoices that point at them. `keys` and `webhooks` decide over the keys and webhooks they made: both go on unless you say otherwise.',
      query: fate,
      returns: [200, ChangedMember],
      errors: ['member_not_found', 'outranked', 'last_owner', 'precondition_failed'],
    },
    ({ db, here, caller, params, query, ifMatch }) =>
      removeMember(db, here, caller, params, { ...fates(query), ifMatch }),
  ),
  route(
    {
      method: 'POST',
      path: '/v1/user/store/:storeId/invitations',
      needs: 'MANAGE_MEMBERS',
      summary: 'Invite somebody',
      description:
        'The `token` is shown once: give it to the person, who accepts it within 7 days, signed in with that e-mail. You cannot give what you do not hold.',
      body: NewInvitation,
      reads: readNewInvitation,
      returns: [201, InvitationWithToken],
      errors: ['cannot_grant', 'secret_no_longer_available'],
      onceOnly: true,
      example: { body: { email: 'charles@example.com', role: 'STAFF' } },
    },
    ({ db, here, caller, params, body }) => invite(db, here, caller, params.storeId, body),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store/:storeId/invitations',
      needs: 'MANAGE_MEMBERS',
      summary: 'List the open invitations',
      description: 'Newest first, without their tokens.',
      query: page,
      returns: [200, Invitations],
    },
    async ({ db, here, params, query }) => ({ body: await listInvitations(db, here, params.storeId, query) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/user/store/:storeId/invitations/:invitationId',
      needs: 'MANAGE_MEMBERS',
      summary: 'Read an open invitation',
      description: 'Without its token.',
      returns: [200, Invitation],
      errors: ['invitation_not_found'],
    },
    ({ db, here, params }) => readInvitation(db, here, params.storeId, params.invitationId),
  ),
  route(
    {
      method: 'DELETE',
      path: '/v1/user/store/:storeId/invitations/:invitationId',
      needs: 'MANAGE_MEMBERS',
      summary: 'Withdraw an invitation',
      description: 'Its token stops working at once.',
      returns: [204, null],
      errors: ['invitation_not_found'],
    },
    async ({ db, caller, params }) => ({
      body: (await withdrawInvitation(db, caller, params.storeId, params.invitationId), null),
    }),
  ),
  route(
    {
      method: 'POST',
      path: '/v1/user/invitations/accept',
      needs: 'user',
      summary: 'Accept an invitation',
      description:
        'Works once, for the user with the e-mail that was invited. A customer who is invited to more moves up.',
      body: Acceptance,
      returns: [200, Membership],
      errors: ['invitation_not_found', 'invitation_mismatch', 'already_member'],
      example: { body: { token: 'skp_inv_…' } },
    },
    ({ db, here, caller, body }) => acceptInvitation(db, here, caller, body.token),
  ),
  route(
    {
      method: 'POST',
      path: '/v1/store/:storeId/join',
      needs: 'user',
      summary: 'Join a store',
      description:
        'You become a customer of a store whose `registration` is `OPEN`. Any other store looks as if it did not exist.',
      returns: [201, Membership],
      errors: ['store_not_found', 'already_member'],
    },
    ({ db, caller, params }) => joinStore(db, caller, params.storeId),
  ),
  route(
    {
      method: 'POST',
      path: '/v1/store/:storeId/leave',
      needs: 'store user',
      summary: 'Leave a store',
      description: 'You have no part in it any more. Keys and webhooks you made go on; the last owner cannot leave.',
      returns: [204, null],
      errors: ['last_owner'],
    },
    async ({ db, caller, params }) => ({ body: (await leaveStore(db, caller, params.storeId), null) }),
  ),
]

function fates({ keys = 'keep', webhooks = 'keep' }: Static<typeof fate>) {
  return { keys, webhooks }
}

function readMemberChanges(body: { role?: Role; permissions?: string[] | null }, here: Here, faults: Fault[]) {
  const changes: { role?: Role; permissions?: Permission[] | null } = {}
  if (body.role !== undefined) changes.role = body.role
  if (body.permissions !== undefined)
    changes.permissions = body.permissions && readInOrder(here, body.permissions, body.role, faults)
  return changes
}

function readNewInvitation(body: { email?: string; role?: Role; permissions?: string[] }, here: Here, faults: Fault[]) {
  return {
    email: readEmail(body.email, faults),
    role: body.role ?? 'STAFF',
    permissions: body.permissions ? readInOrder(here, body.permissions, body.role, faults) : null,
  }
}

/** The order they were sent in means nothing: the same permissions are no change. */
function readInOrder(here: Here, given: string[], role: Role | undefined, faults: Fault[]): Permission[] {
  if (role === 'OWNER') faults.push(OWNER_HOLDS_ALL)
  return inOrder(here.permissions, readPermissions(here.permissions, given, faults))
}
