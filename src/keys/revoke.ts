// Revoking: one key by its manager, a leaked one by the service, or all that somebody created, when they leave. Every node
// hears of it by a trigger in the database.

import type { Manager } from '../core/caller.ts'
import { addMs, now, SECOND } from '../core/clock.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import { type KeyRow, showKey } from './columns.ts'
import { type KeyRef, lockKey } from './read.ts'
import type { Key } from './schema.ts'

type Revocation = Pick<KeyRow, 'id' | 'expires_at' | 'revoked_at' | 'revocation_reason' | 'updated_at' | 'revision'>

/** A node that hears nothing relies on its cache for this long: then the last node has stopped accepting the key. */
const REVOCATION_BOUND_MS = 2 * SECOND

/** Anyone who manages keys may revoke any key, which is how a leak is stopped. Revoking it again gives the same answer. */
export async function revokeKey(
  tx: Db,
  caller: Manager,
  ref: KeyRef,
  reason: string | null,
  ifMatch: string | null,
): Promise<Answer<Key & { effectiveBy: string }>> {
  const before = await lockKey(tx, ref)
  const row = before.revoked_at ? before : await revokeLocked(tx, caller, before, reason, ifMatch)
  return {
    body: { ...showKey(row, now()), effectiveBy: addMs(row.revoked_at as Date, REVOCATION_BOUND_MS).toISOString() },
    etag: etagOf(row.revision),
  }
}

async function revokeLocked(
  tx: Db,
  caller: Manager,
  before: KeyRow,
  reason: string | null,
  ifMatch: string | null,
): Promise<KeyRow> {
  checkIfMatch(ifMatch, before.revision)
  const [revocation] = await revokeKeys(tx, caller, before.store_id, [before.id], reason, 'expired too')
  return { ...before, ...revocation }
}

/**
 * Revokes those of the store's keys that are not revoked yet, under the store's lock. When a member leaves, the keys they
 * created are revoked with `live only`: there may be any number of expired keys, and revoking them would change nothing.
 */
export async function revokeKeys(
  tx: Db,
  by: Actor,
  storeId: string,
  ids: string[],
  reason: string | null,
  scope: 'expired too' | 'live only',
): Promise<Revocation[]> {
  if (ids.length === 0) return []
  const at = now()
  const revoked = await tx.query<Revocation>(sql`
    update api_keys
       set revoked_at = ${at}, revocation_reason = ${reason}, updated_at = ${at}, revision = revision + 1
     where id in (
             -- In the order in which everyone locks keys.
             select id
               from api_keys
              where id = any(${ids})
                and revoked_at is null
                and (${scope === 'expired too'} or coalesce(expires_at, 'infinity') > ${at})
              order by id
                for no key update
           )
 returning id, expires_at, revoked_at, revocation_reason, updated_at, revision`)
  // The count is never less than the number of live keys; an expired key may have left it already.
  const live = revoked.filter(({ expires_at }) => expires_at === null || expires_at > at).length
  if (live > 0)
    await tx.query(sql`update stores set live_keys = greatest(0, live_keys - ${live}) where id = ${storeId}`)
  const revokedIds = revoked.map(({ id }) => id)
  await destroyReplayableSecrets(tx, revokedIds)
  await writeEvents(
    tx,
    revokedIds.map((id) => newEvent(by, storeId, 'key.revoked', id, { reason })),
  )
  return revoked
}
