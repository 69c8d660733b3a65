// Between authentication and the change itself the caller's rights may be taken away. So a change that needs a
// permission takes the store's lock, under which all rights are changed, and checks again that the caller's record is
// the one that was authenticated: a key by its revision, a member by `xmin`, the transaction that wrote the row. If it
// is not, the request is authenticated and authorized again.
//
// A key's row is locked against deletion only (`for key share`): changing its rights needs the store's lock anyway, and
// writing its last use (keys/usage.ts) must not wait for us.

import type { Manager, UserCaller } from '../core/caller.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'

/** Thrown when the caller's rights have changed since authentication. */
export class CallerChanged extends Error {}

/** Keeps the caller's rights as they are until the transaction ends. Lock order: the store first, then its records. */
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
 * For changes that need no permission: checks that the user was not erased. Last in the transaction, after the locks of
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
