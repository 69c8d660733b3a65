// How a membership ends: by removal, by leaving, and by the user's erasure (identity/erase.ts). Whoever was a member stays
// known as a former one, so that what they made can still be settled.

import { isEmailOwn } from '../auth/email-own.ts'
import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import type { Manager, UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { checkIfMatch } from '../core/etag.ts'
import type { Answer } from '../core/route.ts'
import { unlinkCustomer } from '../customers/erase.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import type { Cascade } from '../keys/revoke.ts'
import {
  afterInvitations,
  type ChangedMember,
  checkCascade,
  checkRank,
  lockIfMember,
  lockMember,
  type MemberRef,
  requireAnotherOwner,
  settleMember,
  showMember,
  withdrawInvitationsTo,
} from './members.ts'
import type { Made, MemberRow, SettledMemberRow } from './schema.ts'

/**
 * A former member is settled again in the same way, and shown as they were when they were a member last, but for name and
 * e-mail: no list of the store shows these any more, and they may be new since.
 */
export async function removeMember(
  tx: Db,
  instance: Instance,
  caller: Manager,
  ref: MemberRef,
  options: Cascade & { ifMatch: string | null },
): Promise<Answer<ChangedMember>> {
  checkCascade(caller, ref.userId, options)
  const member = await lockIfMember(tx, ref)
  const row = member ?? (await findFormerMember(tx, ref)) ?? fail('member_not_found')
  checkIfMatch(options.ifMatch, row.revision)
  if (member) {
    checkRank(instance, caller, member)
    if (member.role === 'OWNER') await requireAnotherOwner(tx, ref.storeId)
  }
  const made = await settleMember(tx, caller, row, options)
  await withdrawInvitationsTo(tx, caller, row)
  if (member) {
    await endMemberships(tx, caller, ref.userId, sql`store_id = ${ref.storeId}`)
    await writeEvents(tx, [
      newEvent(caller, ref.storeId, 'member.removed', ref.userId, { role: member.role, keys: options.keys }),
    ])
  }
  await tx.query(sql`
    update former_members
       set removed_at = ${afterInvitations(ref.storeId, now())}
     where store_id = ${ref.storeId}
       and user_id = ${ref.userId}`)
  return {
    body: { member: showMember(instance, member ?? { ...row, name: null, email: null, is_email_own: false }), ...made },
  }
}

/** Any member may leave, except for the last owner. */
export async function leaveStore(tx: Db, caller: UserCaller, storeId: string, cascade: Cascade): Promise<Answer<Made>> {
  const ref = { storeId, userId: caller.id }
  const member = await lockMember(tx, ref)
  if (member.role === 'OWNER') await requireAnotherOwner(tx, storeId)
  const made = await settleMember(tx, caller, member, cascade)
  await endMemberships(tx, caller, caller.id, sql`store_id = ${storeId}`)
  await writeEvents(tx, [newEvent(caller, storeId, 'member.left', caller.id, { role: member.role })])
  return { body: made }
}

/**
 * With a membership end the open invitations that its member made, and the link of a customer to an external id: neither
 * comes to life when the member returns.
 */
export async function endMemberships(tx: Db, by: Actor, userId: string, which: Sql): Promise<void> {
  const ended = await tx.query<Pick<MemberRow, 'store_id'>>(sql`
    with ended as (
      delete from members
       where user_id = ${userId}
         and ${which}
      returning store_id, user_id, role, permissions, revision, created_at, updated_at, demoted_at
    )
    insert into former_members as former
           (store_id, store_name, user_id, role, permissions, revision, created_at, updated_at, ended_at, removed_at)
    select ended.store_id, store.name, ended.user_id, ended.role, ended.permissions, ended.revision, ended.created_at,
           ended.updated_at, ${now()}::timestamptz, ended.demoted_at
      from ended
      join stores store on store.id = ended.store_id
        on conflict (store_id, user_id) do update
       set store_name = excluded.store_name, role = excluded.role, permissions = excluded.permissions,
           revision = excluded.revision, created_at = excluded.created_at, updated_at = excluded.updated_at, ended_at = excluded.ended_at,
           removed_at = greatest(former.removed_at, excluded.removed_at)
 returning store_id`)
  const storeIds = ended.map(({ store_id }) => store_id)
  await withdrawInvitations(tx, by, sql`created_by_id = ${userId} and store_id = any(${storeIds})`)
  await unlinkCustomer(tx, by, userId, storeIds)
}

function findFormerMember(tx: Db, { storeId, userId }: MemberRef): Promise<SettledMemberRow | null> {
  return tx.one<SettledMemberRow>(sql`
    select former.store_id, former.user_id, person.name, person.email, ${isEmailOwn} as is_email_own, former.role,
           former.permissions, former.revision, former.created_at, former.updated_at, former.ended_at as own_since
      from former_members former
      join users person on person.id = former.user_id
     where former.store_id = ${storeId}
       and former.user_id = ${userId}`)
}
