// In whose line a change waits that locks a store though its caller needs no permission there (db/turns.ts): as a visitor of
// the store, behind those who manage it. Each of these looks first, without the lock: a caller who will be refused anyway takes
// no place in the line. The change looks again.

import { heldPermissions, type UserCaller } from '../core/caller.ts'
import { ago } from '../core/clock.ts'
import type { StoreTurn } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { findInvitation } from './invitations.ts'
import { emailToInvite } from './joining.ts'
import { RETENTION_MS } from './stores.ts'

type Asked = { db: Db; caller: UserCaller; params: { storeId: string } }

/** Somebody with rights in the store leaves it as one of those who manage it. */
export async function turnToLeave({ caller, params }: Asked): Promise<StoreTurn> {
  return { holder: params.storeId, purpose: heldPermissions(caller).length > 0 ? undefined : 'leave' }
}

export async function turnToJoin({ db, caller, params }: Asked): Promise<StoreTurn | null> {
  if (caller.member) return null
  const open = await db.one(sql`
    select id
      from stores
     where id = ${params.storeId}
       and registration = 'OPEN'
       and deleted_at is null`)
  return open ? { holder: params.storeId, purpose: 'join' } : null
}

type AskedByToken = { db: Db; caller: UserCaller; body: { token: string } }

export async function turnToAccept({ db, caller, body }: AskedByToken): Promise<StoreTurn | null> {
  const found = await findInvitation(db, body.token)
  const email = emailToInvite(caller)
  const isTheirs = email === null || email === found?.email
  return found && isTheirs ? { holder: found.store_id, purpose: 'accept' } : null
}

/** Only its owners can restore a store, and nobody else has a place in its line for that. */
export async function turnToRestore({ db, caller, params }: Asked): Promise<StoreTurn | null> {
  const owned = await db.one(sql`
    select store.id
      from stores store
      join members member on member.store_id = store.id
     where store.id = ${params.storeId}
       and store.deleted_at > ${ago(RETENTION_MS)}
       and member.user_id = ${caller.id}
       and member.role = 'OWNER'`)
  return owned ? { holder: params.storeId } : null
}
