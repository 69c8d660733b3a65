// Between the moment a caller was met and the moment their change is written somebody may take their rights away. So a
// change that needs a permission takes the store's lock, under which rights are changed, and then looks once more: is the
// caller's record still the one we met? (A key has its revision. Of a member PostgreSQL numbers every version of the row
// with the transaction that wrote it.)
// If not they are met anew, and what they may do is asked again.
// A key's row is held against its deletion only: whoever changes its rights needs the store's lock first, and whoever
// writes down its use (keys/usage.ts) must neither wait for us nor we for them.

import type { Manager, UserCaller } from '../core/caller.ts'
import { type Db, sql } from '../db/db.ts'

/** Thrown when the caller's rights are not what they were a moment ago. */
export class CallerChanged extends Error {}

/** Holds the caller's rights as they are until the transaction ends. The store first: everyone takes them in that order. */
export async function lockStoreAndRecheck(tx: Db, caller: Manager, storeId: string): Promise<void> {
  const store = await tx.one<{ frozen: boolean }>(sql`
    select frozen_at is not null as frozen
      from stores
     where id = ${storeId}
       and deleted_at is null
       for no key update`)
  if (!store || (caller.kind === 'key' && store.frozen)) throw new CallerChanged()
  const record =
    caller.kind === 'key'
      ? sql`
          select id
            from api_keys
           where id = ${caller.id}
             and revision = ${caller.revision}
             for key share`
      : sql`
          select user_id
            from members
           where store_id = ${storeId}
             and user_id = ${caller.id}
             and xmin::text = ${caller.member?.version ?? null}
             for share`
  if ((await tx.one(record)) === null) throw new CallerChanged()
}

/**
 * For what a user does without a permission: are they still there? Asked last in the transaction, after the locks of
 * stores and members, which is the order in which erasing a user takes them too.
 */
export async function recheckUser(tx: Db, caller: UserCaller): Promise<void> {
  const user = await tx.one(sql`
    select id
      from users
     where id = ${caller.id}
       and erased_at is null
       for key share`)
  if (user === null) throw new CallerChanged()
}
