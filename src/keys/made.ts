// What a member or a key has made in a store, and so might still use once they are gone.
//
// Whoever creates or rotates a key takes its secret, and with the secret whatever it can do: they make more keys and
// webhooks with it, and take more secrets. So the secrets they took are followed, from one to the next. A secret is a key
// and a number: what was made with a secret that somebody else took later is not theirs. Where it is not known with which
// secret of a key something was made, it counts as made with each.
//
// The members they let in by an invitation are told too. What those did as members is their own.
//
// A store has any number of keys that were revoked or have expired. These are followed if something was made with them, which
// a trigger keeps in key_makers. The others are not even read, but for some that are listed: a key has to be revoked, and a
// member removed, however many keys they made.

import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import type { MembersRow } from '../db/tables.gen.ts'
import { WORKS_UNTIL } from './filter.ts'

/** `ownSince`: the user settles themselves. Since then they are a member whom nobody has demoted. */
export type Maker = { userId: string; ownSince: Date | null } | { keyId: string }

type Admitted = { userId: string; role: MembersRow['role'] }
type Found = { keyIds: string[]; listedKeyIds: string[]; webhookIds: string[]; members: Admitted[] }

/** The answer lists no more of a kind than this, the newest first. Of keys, those that work come before all others. */
export const MAX_LISTED = 1_000

/** Where nothing is ended and all is only listed, no more secrets are followed than this, so that it takes no longer. */
const MAX_FOLLOWED = 20_000

/**
 * The keys that they made, or of which they took a secret that works: the current one, or the one before it in its
 * grace. And the webhooks that they made, and the members they invited, themselves or with any secret they ever took.
 *
 * Whoever settles themselves needs no permission for it, so of all this only what is theirs alone counts: made or taken
 * since they are a member and since somebody demoted them, and of keys those whose current secret is theirs. Over the
 * rest managers of the store have decided: when they removed or demoted this person and kept it, or by rotating the key.
 */
export async function findMade(tx: Db, storeId: string, maker: Maker, why: 'to end it' | 'to list it'): Promise<Found> {
  const at = now()
  const makerId = 'userId' in maker ? maker.userId : maker.keyId
  const ownSince = 'userId' in maker ? maker.ownSince : null
  const rows = await tx.query<{
    key_id: string | null
    place: 'works' | 'ended' | 'passed by' | null
    webhook_id: string | null
    user_id: string | null
    role: MembersRow['role'] | null
  }>(sql`
    with recursive followed as (
      ${'userId' in maker ? takenByUser(storeId, maker.userId, ownSince, at) : secretsOf(storeId, maker.keyId)}
       union
      select more.key_id, more.secret_no
        from followed
       cross join lateral (
               ${keysMadeBy(storeId, sql`created_by_secret_no = followed.secret_no`, at)}
                union all
               ${keysMadeBy(storeId, sql`created_by_secret_no is null`, at)}
                union all
               select rotation.key_id, rotation.secret_no
                 from key_rotations rotation
                where rotation.rotated_by_id = followed.key_id
                  and rotation.rotated_by_secret_no = followed.secret_no
                union all
               select rotation.key_id, rotation.secret_no
                 from key_rotations rotation
                where rotation.rotated_by_id = followed.key_id
                  and rotation.rotated_by_secret_no is null
             ) as more
    ),
    taken as (
      select key_id, secret_no
        from followed
       limit ${why === 'to list it' ? MAX_FOLLOWED : null}
    ),
    maker as (
      select ${makerId}::text as id, null::int as secret_no
       union all
      select key_id, secret_no
        from taken
    )
    select key.id as key_id, case when ${WORKS_UNTIL} > ${at} then 'works' else 'ended' end as place,
           null as webhook_id, null as user_id, null as role
      from taken
      join api_keys key on key.id = taken.key_id
     where key.id <> ${makerId}
       and (taken.secret_no = key.secret_no
            or (${ownSince === null}
                and (taken.secret_no = 1
                     or (taken.secret_no = key.secret_no - 1 and key.previous_expires_at > ${at}))))
     union
    select passed.id, 'passed by', null, null, null
      from (
             select key.*
               from maker
              cross join lateral (
                      ${keysPassedBy(storeId, sql`created_by_secret_no = maker.secret_no`, at)}
                       union all
                      ${keysPassedBy(storeId, sql`created_by_secret_no is null`, at)}
                    ) as key
              limit ${MAX_LISTED}
           ) as passed
     where passed.id <> ${makerId}
       and (${ownSince === null} or (passed.created_at >= ${ownSince} and passed.secret_no = 1))
     union
    select null, null, webhook.id, null, null
      from maker
      join webhooks webhook
        on webhook.created_by_id = maker.id
       and webhook.store_id = ${storeId}
       and webhook.created_at >= coalesce(${ownSince}::timestamptz, '-infinity')
       and coalesce(webhook.created_by_secret_no, maker.secret_no) is not distinct from maker.secret_no
     union
   (select null, null, null, member.user_id, member.role
      from (select distinct id from maker) as inviter
      -- Lateral joins, by the maker and the member: plain ones read all invitations and members of the store.
     cross join lateral (
             select accepted_by, accepted_at, created_at, created_by_id, created_by_secret_no
               from invitations
              where created_by_id = inviter.id
                and store_id = ${storeId}
             offset 0
           ) as invitation
     cross join lateral (
             select user_id, role, created_at
               from members
              where store_id = ${storeId}
                and user_id = invitation.accepted_by
             offset 0
           ) as member
     where member.user_id <> ${makerId}
       -- Whoever has left since, and came back in another way, was not let in by it.
       and member.created_at <= invitation.accepted_at
       and invitation.created_at >= coalesce(${ownSince}::timestamptz, '-infinity')
       and (invitation.created_by_secret_no is null
            or (invitation.created_by_id, invitation.created_by_secret_no) in (select id, secret_no from maker))
     order by member.user_id desc
     limit ${MAX_LISTED})`)
  const idsOf = (place: string) =>
    rows
      .flatMap((row) => (row.place === place && row.key_id ? row.key_id : []))
      .sort()
      .reverse()
  const [works, ended, passedBy] = [idsOf('works'), idsOf('ended'), idsOf('passed by')]
  return {
    keyIds: works,
    listedKeyIds: [...new Set([...works, ...ended, ...passedBy])].slice(0, MAX_LISTED),
    webhookIds: rows.flatMap(({ webhook_id }) => webhook_id ?? []),
    members: rows
      .flatMap(({ user_id: userId, role }) => (userId && role ? { userId, role } : []))
      .sort((one, other) => (one.userId < other.userId ? 1 : -1)),
  }
}

/** First what may still work, since a list does not follow all: keys they made, and the current and previous secrets they took. */
function takenByUser(storeId: string, userId: string, since: Date | null, at: Date): Sql {
  const rotated = sql`
      select rotation.key_id, rotation.secret_no
        from key_rotations rotation
        join api_keys key on key.id = rotation.key_id and key.store_id = ${storeId}
       where rotation.rotated_by_id = ${userId}
         and rotation.rotated_at >= coalesce(${since}::timestamptz, '-infinity')`
  return sql`
      select id as key_id, 1 as secret_no
        from api_keys
       where created_by_id = ${userId}
         and store_id = ${storeId}
         and created_by_secret_no is null
         and ${WORKS_UNTIL} > ${at}
         and created_at >= coalesce(${since}::timestamptz, '-infinity')
       union all
      ${rotated}
         and rotation.secret_no >= key.secret_no - 1
         and ${WORKS_UNTIL} > ${at}
       union all
      select key.id, 1
        from key_makers maker
        join api_keys key on key.id = maker.key_id
       where maker.created_by_id = ${userId}
         and maker.store_id = ${storeId}
         and key.created_at >= coalesce(${since}::timestamptz, '-infinity')
       union all
      ${rotated}`
}

function secretsOf(storeId: string, keyId: string): Sql {
  return sql`
      select id as key_id, generate_series(1, secret_no) as secret_no
        from api_keys
       where id = ${keyId}
         and store_id = ${storeId}`
}

/** The keys that work, or with which something was made, of those made with a `followed` secret. */
function keysMadeBy(storeId: string, withSecret: Sql, at: Date): Sql {
  return sql`
               select id as key_id, 1 as secret_no
                 from api_keys
                where created_by_id = followed.key_id
                  and store_id = ${storeId}
                  and ${withSecret}
                  and ${WORKS_UNTIL} > ${at}
                union all
               select key_id, 1
                 from key_makers
                where created_by_id = followed.key_id
                  and store_id = ${storeId}
                  and ${withSecret}`
}

/**
 * Keys made by a `maker` that do not work any more, about the newest of them. In the order of the index, so that the rest is
 * not read.
 */
function keysPassedBy(storeId: string, withSecret: Sql, at: Date): Sql {
  return sql`
                     (select id, created_at, secret_no
                        from api_keys
                       where created_by_id = maker.id
                         and store_id = ${storeId}
                         and ${withSecret}
                         and ${WORKS_UNTIL} <= ${at}
                       order by created_by_secret_no desc, ${WORKS_UNTIL} desc
                       limit ${MAX_LISTED})`
}
