// Erasing a customer. One whom the store keeps on their behalf is erased as a user erases themselves: their key is
// destroyed, and with it the text of every address, their e-mail and their name. The external id goes with them, also as
// the owner of keys. One who is
// linked has an account of their own, which is not the store's to erase: they are unlinked, and what the store has said of
// them is deleted.

import { forgetAnswers } from '../billing/forget-answers.ts'
import { listHeld } from '../billing/holds.ts'
import type { HeldVersion } from '../billing/schema.ts'
import type { Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { checkHolds } from '../core/grant.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { CustomersRow } from '../db/tables.gen.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import { eraseOwner } from '../keys/owners.ts'
import type { Cascade } from '../keys/revoke.ts'
import type { Made } from '../stores/schema.ts'
import { type CustomerRef, findCustomer } from './customers.ts'

export async function eraseCustomer(
  tx: Db,
  caller: Manager,
  ref: CustomerRef,
  { keys }: Pick<Cascade, 'keys'>,
): Promise<{ held: HeldVersion[]; keys: Made['keys'] }> {
  if (keys === 'revoke') checkHolds(caller, 'MANAGE_KEYS')
  const { user_id: userId, customer_of, external_id: owner } = await findCustomer(tx, ref)
  const linked = customer_of === null
  const owned = await eraseOwner(tx, caller, { storeId: ref.storeId, owner }, keys)
  await tx.query(sql`
    delete from customers
     where store_id = ${ref.storeId}
       and user_id = ${userId}`)
  await tx.query(sql`
    delete from former_links
     where store_id = ${ref.storeId}
       and external_id = ${owner}`)
  if (!linked) {
    await tx.query(sql`
      update users
         set data_key = null, data_key_kid = null, erased_at = ${now()}, updated_at = ${now()}
       where id = ${userId}`)
    await forgetAnswers(tx, [userId])
  }
  await writeEvents(tx, [newEvent(caller, ref.storeId, 'customer.erased', userId, { linked })])
  return { held: linked ? [] : await listHeld(tx, userId), keys: owned }
}

/**
 * With the role CUSTOMER ends the link to an external id: a store changes the addresses of its customers, not those of its
 * owners and staff, nor those of somebody who has left. It does not come back with the role. Their keys keep their owner until
 * they are erased (identity/erase-owners.ts).
 */
export async function unlinkCustomer(tx: Db, by: Actor, userId: string, storeIds: string[]): Promise<void> {
  const unlinked = await tx.query<Pick<CustomersRow, 'store_id'>>(sql`
    with unlinked as (
      delete from customers
       where user_id = ${userId}
         and store_id = any(${storeIds})
   returning store_id, external_id, user_id
    )
    insert into former_links (store_id, external_id, user_id)
    select store_id, external_id, user_id
      from unlinked
        on conflict (store_id, external_id) do update
       set user_id = excluded.user_id
 returning store_id`)
  await writeEvents(
    tx,
    unlinked.map(({ store_id }) => newEvent(by, store_id, 'customer.erased', userId, { linked: true })),
  )
}
