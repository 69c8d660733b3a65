// The last part of erasing an owner: of their ended keys, of which there may be any number, only some are changed in the
// transaction that erases. The others are left to this chore, a few hundred at a time. Until their turn comes, the API shows
// them with the pseudonym and finds them by no owner (columns.ts, filter.ts).
//
// The chore takes no lock of the store: an ended key has no rights, and nothing else about it changes. Its keys are locked
// first, as everywhere, and the row of erased_owners last; one node works at a time (db/chore.ts).

import { now } from '../core/clock.ts'
import { type BatchResult, runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'
import type { ApiKeysRow, ErasedOwnersRow } from '../db/tables.gen.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import { destroyResponsesAboutKeys } from '../idempotency/idempotency.ts'
import { isErasedOwner } from './columns.ts'
import { CHANGES_CHANNEL } from './in-process/changes.ts'

/** How many ended keys of an owner are changed in one transaction. */
export const ENDED_AT_ONCE = 500

/** Told when there is something to do. */
export const ERASED_OWNERS_CHANNEL = 'storekeeper_erased_owners'

/** Gives the locked keys the pseudonym as their owner. */
export async function renameOwner(tx: Db, by: Actor, storeId: string, ids: string[], pseudonym: string): Promise<void> {
  await tx.query(sql`
    update api_keys
       set owner = ${pseudonym}, updated_at = ${now()}, revision = revision + 1
     where id = any(${ids})`)
  // Stored answers to requests that created, rotated, verified or topped up a key name its owner.
  await destroyResponsesAboutKeys(tx, ids)
  await writeEvents(
    tx,
    ids.map((id) => newEvent(by, storeId, 'key.updated', id, { from: {}, to: {}, ownerChanged: true })),
  )
}

/**
 * Under the store's lock: leaves the keys beyond `doneTo` that have ended `at` to the chore. If the chore is still at work for
 * somebody who had the same external id before, the ended keys of both get that pseudonym. Every node and back end drops what
 * it keeps of the store's keys, and so of their owner.
 */
export async function leaveToChore(
  tx: Db,
  by: Actor,
  erased: { storeId: string; owner: string; pseudonym: string; at: Date; doneTo: string },
): Promise<void> {
  const { storeId, owner, pseudonym, at, doneTo } = erased
  await tx.query(sql`
    insert into erased_owners (store_id, owner, pseudonym, actor, erased_at, done_to, worked_at)
    values (${storeId}, ${owner}, ${pseudonym}, ${actorJson(by)}, ${at}, ${doneTo}, ${at})
        on conflict (store_id, owner) do update
       set actor = excluded.actor, erased_at = excluded.erased_at, done_to = ''`)
  await tx.query(sql`
    select pg_notify(${CHANGES_CHANNEL}, ${storeId}), pg_notify(${ERASED_OWNERS_CHANNEL}, '')`)
}

/** For the events that are written later. */
export function actorJson({ kind, id, ip, sessionId = null }: Actor): string {
  return JSON.stringify({ kind, id, ip, sessionId })
}

type ErasedOwner = Omit<ErasedOwnersRow, 'actor' | 'worked_at'> & { actor: Actor }

const isMeant = fragment(isErasedOwner('key'))

/** Maintenance, and as soon as there is something to do. */
export function forgetErasedOwners(db: Db): Promise<number> {
  const batch = async (tx: Db, size: number): Promise<BatchResult> => {
    const erased = await tx.one<ErasedOwner>(sql`
      select store_id, owner, pseudonym, actor, erased_at, done_to
        from erased_owners
       order by worked_at
       limit 1`)
    if (!erased) return { rows: 0, hasMore: false }
    const ids = await lockNext(tx, erased, Math.min(size, ENDED_AT_ONCE))
    if (ids.length > 0) await renameOwner(tx, erased.actor, erased.store_id, ids, erased.pseudonym)
    await saveProgress(tx, erased, ids.at(-1) ?? null)
    return { rows: ids.length, hasMore: true }
  }
  return runInBatches(db, batch, { times: 1 })
}

async function lockNext(tx: Db, { store_id, owner, done_to }: ErasedOwner, count: number): Promise<string[]> {
  const rows = await tx.query<Pick<ApiKeysRow, 'id'>>(sql`
    select key.id
      from erased_owners erased
      join api_keys key on ${isMeant}
     where erased.store_id = ${store_id}
       and erased.owner = ${owner}
       and key.id > ${done_to}
     order by key.id
     limit ${count}
       for no key update of key`)
  return rows.map(({ id }) => id)
}

/** Not if somebody with the same external id was erased meanwhile: then the chore begins anew. */
async function saveProgress(tx: Db, { store_id, owner, erased_at }: ErasedOwner, doneTo: string | null): Promise<void> {
  const row = sql`store_id = ${store_id} and owner = ${owner} and erased_at = ${erased_at}`
  if (doneTo === null) await tx.query(sql`delete from erased_owners where ${row}`)
  else await tx.query(sql`update erased_owners set done_to = ${doneTo}, worked_at = ${now()} where ${row}`)
}
