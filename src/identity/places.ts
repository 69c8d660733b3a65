// The places an account has signed in from, as keyed hashes. Failed sign-ins from there are counted apart, so that nobody
// locks an account out from elsewhere.

import { networkOf } from '../auth/ip.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'

const KEPT = sql`interval '90 days'`
/** An account keeps the latest places that it has signed in from. */
const MAX_PLACES = 50

function placeHash(instance: Instance, ip: string): Buffer {
  return instance.keyring.current.hmac('sign-in', 'address', networkOf(ip).place)
}

/** A condition on a row of `users`: somebody has signed in to the account before, from wherever. */
export const HAS_PLACES = sql`exists (select from sign_in_places where user_id = users.id)`

/** A condition on a row of `users`. */
export function isKnownPlace(instance: Instance, ip: string): ReturnType<typeof sql> {
  return sql`exists (
    select
      from sign_in_places
     where user_id = users.id
       and place_hash = ${placeHash(instance, ip)}
       and last_at > clock_timestamp() - ${KEPT})`
}

export async function rememberPlace(tx: Db, instance: Instance, userId: string, ip: string): Promise<void> {
  await tx.query(sql`
    with dropped as (
      delete from sign_in_places
       where user_id = ${userId}
         and place_hash in (select place_hash
                              from sign_in_places
                             where user_id = ${userId}
                               and place_hash <> ${placeHash(instance, ip)}
                             order by last_at desc
                            offset ${MAX_PLACES - 1})
    )
    insert into sign_in_places (user_id, place_hash, last_at)
    values (${userId}, ${placeHash(instance, ip)}, clock_timestamp())
        on conflict (user_id, place_hash) do update set last_at = excluded.last_at`)
}

/** All of a user's, or of all users those that are too old. */
export async function forgetPlaces(db: Db, userId?: string): Promise<void> {
  const which = userId === undefined ? sql`last_at < clock_timestamp() - ${KEPT}` : sql`user_id = ${userId}`
  await db.query(sql`delete from sign_in_places where ${which}`)
}
