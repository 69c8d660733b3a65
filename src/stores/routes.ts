// The routes of stores, members and invitations.

import type { Static } from 'typebox'
import { PageQuery } from '../core/pagination.ts'
import { ROLES } from '../core/permissions.ts'
import { type Route, route } from '../core/route.ts'
import { Line, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { parseMemberChanges, parseNewInvitation } from './input.ts'
import {
  checkInvitation,
  invite,
  listInvitations,
  previewInvitation,
  readInvitation,
  withdrawInvitation,
} from './invitations.ts'
import { acceptInvitation, checkStillMember, joinStore } from './joining.ts'
import { leaveStore, removeMember } from './leaving.ts'
import { listMembers, readMember, updateMember } from './members.ts'
import {
  Acceptance,
  CascadeQuery,
  ChangedMember,
  Invitation,
  InvitationPreview,
  Invitations,
  InvitationWithToken,
  Made,
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
import { createStore, deleteStore, listStores, readStore, restoreStore, updateStore } from './stores.ts'
import { turnToAccept, turnToJoin, turnToLeave, turnToRestore } from './turns.ts'

const page = Type.Object(PageQuery, { additionalProperties: false })
export const storeRoutes: Route[] = [
  route(
    {
      id: 'stores.create',
      method: 'POST',
      path: '/v1/user/store',
      needs: 'user',
      summary: 'Create a store',
      description: 'You become its owner.',
      body: NewStore,
      returns: [201, Store],
      errors: ['limit_exceeded', 'response_no_longer_available'],
      etag: true,
      checkReplay: checkStillMember,
      example: { body: { name: 'Analytical Engines' } },
    },
    ({ db, instance, caller, body }) => createStore(db, instance, caller, body),
  ),
  route(
    {
      id: 'stores.list',
      method: 'GET',
      path: '/v1/user/store',
      needs: 'user',
      summary: 'List my stores',
      description:
        'Newest first. With `deleted=true`, you get the stores you own that were deleted in the last 30 days.',
      query: Type.Object(
        {
          ...PageQuery,
          deleted: Type.Optional(
            OneOf(['true', 'false'], { description: '`true`: list the deleted stores that you can restore instead.' }),
          ),
        },
        { additionalProperties: false },
      ),
      returns: [200, Stores],
    },
    async ({ db, instance, caller, query }) => ({ body: await listStores(db, instance, caller, query) }),
  ),
  route(
    {
      id: 'stores.read',
      method: 'GET',
      path: '/v1/user/store/:storeId',
      needs: 'READ',
      summary: 'Read a store',
      description:
        "Send the `ETag` as `If-Match` when you change the store, so that you overwrite nobody else's change.",
      returns: [200, Store],
      etag: true,
    },
    ({ db, params }) => readStore(db, params.storeId),
  ),
  route(
    {
      id: 'stores.update',
      method: 'PATCH',
      path: '/v1/user/store/:storeId',
      needs: 'MANAGE_STORE',
      summary: 'Change a store',
      description:
        'Fields that are left out keep their value. A key can shorten `leakGraceSeconds`, but not lengthen it.',
      body: StoreChanges,
      returns: [200, Store],
      readableWith: { permission: 'READ', identifiedBy: ['id'] },
      etag: true,
      errors: ['precondition_failed', 'cannot_grant'],
      example: { body: { registration: 'OPEN' } },
    },
    ({ db, caller, params, body, ifMatch }) => updateStore(db, caller, params.storeId, body, ifMatch),
  ),
  route(
    {
      id: 'stores.delete',
      method: 'DELETE',
      path: '/v1/user/store/:storeId',
      needs: 'owner',
      summary: 'Delete a store',
      description:
        'Its keys stop working. An owner can restore the store for 30 days; then its data is deleted permanently. Requires a sign-in within the last 10 minutes.',
      returns: [204, null],
      errors: ['recent_sign_in_required', 'precondition_failed'],
    },
    async ({ db, caller, params, ifMatch }) => ({
      body: (await deleteStore(db, caller, params.storeId, ifMatch), null),
    }),
  ),
  route(
    {
      id: 'stores.restore',
      method: 'POST',
      path: '/v1/user/store/:storeId/restore',
      needs: 'user',
      summary: 'Restore a deleted store',
      description:
        'Within 30 days of its deletion, an owner can restore a store with its members, keys, webhooks and addresses. Requires a sign-in within the last 10 minutes. Webhook messages that were still waiting an hour after the deletion are not sent.',
      returns: [200, Store],
      etag: true,
      errors: ['store_not_found', 'recent_sign_in_required', 'limit_exceeded', 'response_no_longer_available'],
      recentSignIn: true,
      checkReplay: checkStillMember,
      storeTurn: turnToRestore,
    },
    ({ db, instance, caller, params }) => restoreStore(db, instance, caller, params.storeId),
  ),
  route(
    {
      id: 'members.list',
      method: 'GET',
      path: '/v1/user/store/:storeId/members',
      needs: 'READ',
      summary: 'List the members',
      description: 'Newest account first.',
      query: Type.Object(
        {
          ...PageQuery,
          role: Type.Optional(OneOf(ROLES, { description: 'Only members with this role.' })),
          q: Type.Optional(Line(1, 100, { description: 'Only members whose name or e-mail contains this.' })),
        },
        { additionalProperties: false },
      ),
      returns: [200, Members],
    },
    async ({ db, instance, params, query }) => ({ body: await listMembers(db, instance, params.storeId, query) }),
  ),
  route(
    {
      id: 'members.read',
      method: 'GET',
      path: '/v1/user/store/:storeId/members/:userId',
      needs: 'READ',
      summary: 'Read a member',
      description: 'Their role and permissions in this store.',
      returns: [200, Member],
      etag: true,
      errors: ['member_not_found'],
    },
    ({ db, instance, params }) => readMember(db, instance, params.storeId, params.userId),
  ),
  route(
    {
      id: 'members.update',
      method: 'PATCH',
      path: '/v1/user/store/:storeId/members/:userId',
      needs: 'MANAGE_MEMBERS',
      summary: 'Change a member',
      description:
        "Sets the role, the permissions, or both. `permissions` is the complete set, which replaces that of the role (`null`: back to the role's); `addPermissions` and `removePermissions` change single permissions and leave the rest. You can't grant a permission you don't have, nor change a member with permissions you don't have. If the member loses a permission or is no longer an owner, `keys` and `webhooks` say what happens to the keys and webhooks they created or rotated: `keys=revoke` requires `MANAGE_KEYS` and `webhooks=disable` requires `MANAGE_WEBHOOKS`, unless you change yourself.",
      query: CascadeQuery,
      body: MemberChanges,
      parse: parseMemberChanges,
      returns: [200, ChangedMember],
      readableWith: { permission: 'READ', in: 'member', identifiedBy: ['storeId', 'userId'] },
      etag: true,
      errors: ['member_not_found', 'cannot_grant', 'outranked', 'last_owner', 'precondition_failed'],
      example: { body: { role: 'MANAGER' } },
    },
    ({ db, instance, caller, params, query, body, ifMatch }) =>
      updateMember(db, instance, caller, params, body, { ...fates(query), ifMatch }),
  ),
  route(
    {
      id: 'members.remove',
      method: 'DELETE',
      path: '/v1/user/store/:storeId/members/:userId',
      needs: 'MANAGE_MEMBERS',
      summary: 'Remove a member',
      description:
        'Their billing addresses remain for invoices, and open invitations to them and from them are withdrawn. `keys` and `webhooks` say what happens to the keys and webhooks they created or rotated: they keep working unless you say otherwise. `keys=revoke` requires `MANAGE_KEYS` and `webhooks=disable` requires `MANAGE_WEBHOOKS`, unless you remove yourself. The request also works for a former member, so that you can still revoke what they left behind; `member` is then their last membership, without name and e-mail.',
      query: CascadeQuery,
      returns: [200, ChangedMember],
      readableWith: { permission: 'READ', in: 'member', identifiedBy: ['storeId', 'userId'] },
      errors: ['member_not_found', 'outranked', 'last_owner', 'precondition_failed'],
    },
    ({ db, instance, caller, params, query, ifMatch }) =>
      removeMember(db, instance, caller, params, { ...fates(query), ifMatch }),
  ),
  route(
    {
      id: 'invitations.create',
      method: 'POST',
      path: '/v1/user/store/:storeId/invitations',
      needs: 'MANAGE_MEMBERS',
      summary: 'Invite somebody',
      description:
        "The `token` is shown only once. Give it to the person, who must accept it within 7 days (where the service sends mail, a link is mailed to them as well), signed in with that e-mail address. `permissions` is the complete set, which replaces that of the role; `addPermissions` and `removePermissions` change the role's. You can't grant a permission you don't have. A key with an expiry, an allowlist or a rate limit can invite only customers without permissions. An invitation sent with a key is valid only as long as the secret it was sent with.",
      body: NewInvitation,
      parse: parseNewInvitation,
      returns: [201, InvitationWithToken],
      errors: ['cannot_grant', 'limit_exceeded', 'secret_no_longer_available'],
      revealsSecret: true,
      checkReplay: ({ caller, sent }) => checkInvitation(caller, JSON.parse(sent.body)),
      example: { body: { email: 'charles@example.com', role: 'STAFF' } },
    },
    ({ db, instance, caller, params, body }) => invite(db, instance, caller, params.storeId, body),
  ),
  route(
    {
      id: 'invitations.list',
      method: 'GET',
      path: '/v1/user/store/:storeId/invitations',
      needs: 'MANAGE_MEMBERS',
      summary: 'List the open invitations',
      description: 'Newest first, without their tokens.',
      query: page,
      returns: [200, Invitations],
    },
    async ({ db, instance, params, query }) => ({ body: await listInvitations(db, instance, params.storeId, query) }),
  ),
  route(
    {
      id: 'invitations.read',
      method: 'GET',
      path: '/v1/user/store/:storeId/invitations/:invitationId',
      needs: 'MANAGE_MEMBERS',
      summary: 'Read an open invitation',
      description: 'Without its token.',
      returns: [200, Invitation],
      errors: ['invitation_not_found'],
    },
    ({ db, instance, params }) => readInvitation(db, instance, params.storeId, params.invitationId),
  ),
  route(
    {
      id: 'invitations.withdraw',
      method: 'DELETE',
      path: '/v1/user/store/:storeId/invitations/:invitationId',
      needs: 'MANAGE_MEMBERS',
      summary: 'Withdraw an invitation',
      description: 'Its token stops working immediately.',
      returns: [204, null],
      errors: ['invitation_not_found'],
    },
    async ({ db, caller, params }) => ({
      body: (await withdrawInvitation(db, caller, params.storeId, params.invitationId), null),
    }),
  ),
  route(
    {
      id: 'invitations.preview',
      method: 'POST',
      path: '/v1/auth/invitation',
      needs: 'public',
      summary: 'Read an invitation by its token',
      description:
        'Tells the holder of the token which store and role the invitation is for, before they sign in or sign up. It changes nothing, and does not say who was invited or by whom. A token that cannot be accepted any more gets the same 404 as one that never existed.',
      body: Acceptance,
      returns: [200, InvitationPreview],
      effect: 'read',
      errors: ['invitation_not_found'],
      example: { body: { token: 'skp_inv_…' } },
    },
    ({ db, instance, body }) => previewInvitation(db, instance, body.token),
  ),
  route(
    {
      id: 'invitations.accept',
      method: 'POST',
      path: '/v1/user/invitations/accept',
      needs: 'user',
      summary: 'Accept an invitation',
      description:
        'An invitation can be accepted once, by the user with the invited e-mail address. A customer who accepts an invitation to a higher role gets that role.',
      body: Acceptance,
      returns: [200, Membership],
      recheck: 'own',
      errors: ['invitation_not_found', 'invitation_mismatch', 'already_member', 'response_no_longer_available'],
      checkReplay: checkStillMember,
      storeTurn: turnToAccept,
      example: { body: { token: 'skp_inv_…' } },
    },
    ({ db, instance, caller, body }) => acceptInvitation(db, instance, caller, body.token),
  ),
  route(
    {
      id: 'stores.join',
      method: 'POST',
      path: '/v1/store/:storeId/join',
      needs: 'user',
      summary: 'Join a store',
      description:
        'Makes you a customer of a store whose `registration` is `OPEN`. Any other store looks as if it did not exist.',
      returns: [201, Membership],
      errors: ['store_not_found', 'already_member', 'response_no_longer_available'],
      checkReplay: checkStillMember,
      storeTurn: turnToJoin,
    },
    ({ db, caller, params }) => joinStore(db, caller, params.storeId),
  ),
  route(
    {
      id: 'stores.leave',
      method: 'POST',
      path: '/v1/store/:storeId/leave',
      needs: 'store user',
      summary: 'Leave a store',
      description:
        'Ends your membership and withdraws the invitations you sent. Keys and webhooks you created or rotated keep working unless you say otherwise; the response lists them. The last owner cannot leave.',
      query: CascadeQuery,
      returns: [200, Made],
      errors: ['last_owner'],
      storeTurn: turnToLeave,
    },
    ({ db, caller, params, query }) => leaveStore(db, caller, params.storeId, fates(query)),
  ),
]

function fates({ keys = 'keep', webhooks = 'keep' }: Static<typeof CascadeQuery>) {
  return { keys, webhooks }
}
