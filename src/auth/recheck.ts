// Between authentication and the change itself the caller's rights may be taken away, or their session ended. So a change
// looks at both again under lock, before it is written: nothing is written after the answer that took them away, on any node.
// If they are not as they were, the request is authenticated and authorized again.
//
// A member is recognized by `xmin`, the transaction that wrote the row, and a key by its revision and whether its secret has
// leaked; all that decides about rights changes only under the lock of the store, so it suffices to hold that. Ending a session deletes its
// row, which waits for those who hold the row `for key share`; writing its last use does not. A user of an identity provider
// has no session here: their account is locked instead. The order of locks is in docs/internals.md.

import type { Caller, Manager, UserCaller } from '../core/caller.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import type { Turn } from '../db/turns.ts'
import { waitForLock, waitInPerson } from '../db/wait-for-lock.ts'

/** Thrown when the caller's rights have changed since authentication. */
export class CallerChanged extends Error {}

/** For changes under the store's lock: they wait for their turn before they take a connection (db/turns.ts). */
export function inStore<T>(db: Db, caller: Turn['caller'], storeId: string, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.transaction(work, { holder: storeId, caller })
}

/** Keeps the caller's rights as they are until the transaction ends. */
export function lockStoreAndRecheck(tx: Db, caller: Manager, storeId: string): Promise<void> {
  return recheck(tx, caller, storeId, () => lockSession(tx, caller))
}

/**
 * The same for work that takes long, such as an import. Whoever ends the session must not wait for it, or find another one begun
 * before it has ended: so the session is locked when the work is done.
 */
export async function workInStore<T>(tx: Db, caller: Manager, storeId: string, work: () => Promise<T>): Promise<T> {
  await recheck(tx, caller, storeId, async () => true)
  const result = await work()
  if (!(await lockSession(tx, caller))) throw new CallerChanged()
  return result
}

async function recheck(tx: Db, caller: Manager, storeId: string, checkSession: () => Promise<boolean>): Promise<void> {
  // One round trip: each statement begins when the one before it has ended, and so sees what it waited for.
  const lock = () =>
    Promise.all([
      tx.one<{ frozen: boolean }>(sql`
      select frozen_at is not null as frozen
        from stores
       where id = ${storeId}
         and deleted_at is null
         for no key update`),
      caller.kind === 'key'
        ? tx.one(sql`
          select id
            from api_keys
           where id = ${caller.id}
             and revision = ${caller.revision}
             and coalesce(leaked_secret_no, 0) < ${caller.secretNo}`)
        : tx.one(sql`
          select user_id
            from members
           where store_id = ${storeId}
             and user_id = ${caller.id}
             and xmin::text = ${caller.member?.version ?? null}`),
      checkSession(),
    ])
  const [store, record, session] = await (caller.kind === 'user' ? waitInPerson : waitForLock)(tx, lock)
  if (!store || (caller.kind === 'key' && store.frozen) || !record || !session) throw new CallerChanged()
}

/**
 * For changes that need no permission: checks that the user was not erased or disabled and their session not ended. Last in the
 * transaction, after the locks of stores and members.
 */
export async function recheckUser(tx: Db, caller: UserCaller): Promise<void> {
  const [user, session] = await Promise.all([
    tx.one(sql`
      select id
        from users
       where id = ${caller.id}
         and erased_at is null
         and disabled_at is null
         for key share`),
    lockSession(tx, caller),
  ])
  if (!user || !session) throw new CallerChanged()
}

/** Whether the session that the request is made with still exists; it does until the transaction ends. */
export async function lockSession(tx: Db, caller: Caller): Promise<boolean> {
  if (caller.kind !== 'user') return true
  if (caller.sessionId === null) return (await lockFederated(tx, [caller.id])).length > 0
  const session = await tx.one(sql`
    select id
      from sessions
     where id = ${caller.sessionId}
       for key share`)
  return session !== null
}

/**
 * Of these users of an identity provider, those who are neither erased, disabled nor separated from it, until the transaction
 * ends: `for share`, because none of these changes the key of the row.
 */
export function lockFederated(tx: Db, userIds: string[]): Promise<Pick<UsersRow, 'id'>[]> {
  return tx.query<Pick<UsersRow, 'id'>>(sql`
    select id
      from users
     where id = any(${userIds})
       and issuer is not null
       and erased_at is null
       and disabled_at is null
     order by id
       for share`)
}
