// The external ids by which stores know or knew a user, when the user is erased. Keys that have such an id as their owner get
// a pseudonym, and a store may have thousands of these. So the transaction that erases the user only notes the ids, and then each
// store is worked on by itself, under its own lock: an erasure that fails has changed no owner. What is left when a store is
// busy or the node dies, maintenance does.

import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { OwnersToEraseRow } from '../db/tables.gen.ts'
import { waitForLock } from '../db/wait-for-lock.ts'
import type { Actor } from '../events/write.ts'
import { actorJson } from '../keys/erased-owners.ts'
import { eraseOwner } from '../keys/owners.ts'
import { type Leaving, lockStore } from './erase-locks.ts'

export type NotedOwner = Pick<OwnersToEraseRow, 'store_id' | 'owner'>

/** In the transaction that erases the user, under the locks of the stores that have linked them. Ends these links. */
export function noteOwners(tx: Db, by: Actor, user: Leaving): Promise<NotedOwner[]> {
  return tx.query<NotedOwner>(sql`
    with linked as (
      delete from customers
       where user_id = ${user.id}
   returning store_id, external_id
    ), replaced as (
      -- Of users who were linked before: an id is that of the last one.
      delete from former_links
       using linked
       where former_links.store_id = linked.store_id
         and former_links.external_id = linked.external_id
    ), unlinked as (
      delete from former_links
       where user_id = ${user.id}
   returning store_id, external_id
    ), known as (
      select store_id, external_id from linked
       union
      select store_id, external_id from unlinked
    )
    insert into owners_to_erase (store_id, owner, actor)
    select store_id, external_id, ${actorJson(by)}
      from known
     where exists (select
                     from api_keys
                    where api_keys.store_id = known.store_id
                      and api_keys.owner = known.external_id)
     order by store_id, external_id
        on conflict (store_id, owner) do update
       set actor = excluded.actor
 returning store_id, owner`)
}

/** After that transaction. The user is erased, so whatever fails here is left to maintenance. */
export async function eraseNotedOwners(db: Db, by: Actor, user: Leaving, noted: NotedOwner[]): Promise<void> {
  const purpose = by.id === user.id ? 'erase' : undefined
  const work = async (tx: Db, owner: NotedOwner) => {
    await waitForLock(tx, () => lockStore(tx, owner.store_id))
    await eraseNotedOwner(tx, owner)
  }
  try {
    for (const owner of noted)
      await db.transaction((tx) => work(tx, owner), { holder: owner.store_id, caller: by, purpose })
  } catch {}
}

/** Maintenance. A store that is busy is left for the next time. */
export function eraseOwnersLeft(db: Db): Promise<number> {
  return runInBatches(db, async (tx) => {
    const owner = await tx.one<NotedOwner>(sql`
      select noted.store_id, noted.owner
        from owners_to_erase noted
        join stores store on store.id = noted.store_id
       order by noted.store_id, noted.owner
       limit 1
         for no key update of store skip locked`)
    if (owner) await eraseNotedOwner(tx, owner)
    return { rows: owner ? 1 : 0, hasMore: owner !== null }
  })
}

/** Under the store's lock. If another customer has the external id by now, its keys are theirs and stay as they are. */
async function eraseNotedOwner(tx: Db, { store_id: storeId, owner }: NotedOwner): Promise<void> {
  const noted = await tx.one<{ actor: Actor; is_taken: boolean }>(sql`
    delete from owners_to_erase
     where store_id = ${storeId}
       and owner = ${owner}
 returning actor,
           exists (select from customers where store_id = ${storeId} and external_id = ${owner}) as is_taken`)
  if (noted && !noted.is_taken) await eraseOwner(tx, noted.actor, { storeId, owner }, 'keep')
}
