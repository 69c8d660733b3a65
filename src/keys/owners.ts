// The keys that a store has for one of its customers: those whose `owner` is the customer's external id. When the customer
// is erased, that id is forgotten, here too.

import { now } from '../core/clock.ts'
import { randomBytes } from '../crypto/random.ts'
import type { Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import type { ApiKeysRow } from '../db/tables.gen.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import { destroyResponsesAboutKeys } from '../idempotency/idempotency.ts'
import { type ExportCheck, idOf, PAGE, pagesOf } from '../limits/export-pages.ts'
import type { Made } from '../stores/schema.ts'
import { type KeyRow, statusOf } from './columns.ts'
import { ownedBy } from './filter.ts'
import { type Cascade, readStates, revokeKeys } from './revoke.ts'
import { sharedWindowId } from './spend.ts'

const copiedWindows = recordset('copied', { id: 'text', new_id: 'text' })

/**
 * Under the store's lock. Keeps or revokes the keys, and gives all of them, ended ones too, a pseudonym as their owner.
 * Not null: to a back end that tells its tenants apart by it, a key of nobody might be a key of the shop's own. All keys get
 * the same one, and windows with the same count for the limits that they share. The former windows stay: for a moment other
 * nodes still count in them, and so do keys that are created for the same external id, so nobody gains a fresh one.
 */
export async function eraseOwner(
  tx: Db,
  by: Actor,
  ref: { storeId: string; owner: string },
  keys: Cascade['keys'],
): Promise<Made['keys']> {
  const { storeId, owner } = ref
  const rows = await tx.query<Pick<KeyRow, 'id' | 'rate_limits'>>(sql`
    select id, rate_limits
      from api_keys
     where store_id = ${storeId}
       and ${ownedBy(owner)}
     order by id
       for no key update`)
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  if (keys === 'revoke') await revokeKeys(tx, by, storeId, ids, 'customer erased', 'live only')
  const pseudonym = `erased-${Buffer.from(randomBytes(16)).toString('hex')}`
  await tx.query(sql`
    update api_keys
       set owner = ${pseudonym}, updated_at = ${now()}, revision = revision + 1
     where id = any(${ids})`)
  const shared = rows.flatMap(({ rate_limits }) => rate_limits.filter(({ shared }) => shared === 'owner'))
  await copyWindows(
    tx,
    (whom) => new Set(shared.map((limit) => sharedWindowId(storeId, limit, whom))),
    owner,
    pseudonym,
  )
  // Stored answers to requests that created, rotated, verified or topped up a key name its owner.
  await destroyResponsesAboutKeys(tx, ids)
  await writeEvents(
    tx,
    ids.map((id) => newEvent(by, storeId, 'key.updated', id, { from: {}, to: {}, ownerChanged: true })),
  )
  return readStates(tx, ids)
}

async function copyWindows(tx: Db, idsOf: (owner: string) => Set<string>, from: string, to: string): Promise<void> {
  const newIds = [...idsOf(to)]
  const copied = [...idsOf(from)].map((id, n) => ({ id, new_id: newIds[n] }))
  if (copied.length === 0) return
  await tx.query(sql`
    with locked as (
      -- In the order in which verifications lock them.
      select id, began_at, seconds, used
        from key_rate_windows
       where id = any(${copied.map(({ id }) => id)})
       order by id
         for update
    )
    insert into key_rate_windows (id, began_at, seconds, used)
    select copied.new_id, locked.began_at, locked.seconds, locked.used
      from locked
      join ${copiedWindows(copied)} on copied.id = locked.id`)
}

type ExportedRow = Pick<
  ApiKeysRow,
  'id' | 'name' | 'type' | 'enabled' | 'created_at' | 'expires_at' | 'revoked_at' | 'last_used_at'
>

/** Without what takes MANAGE_KEYS to see. */
export function exportOwnedKeys(db: Db, ref: { storeId: string; owner: string }, check: ExportCheck) {
  const read = (below: string) =>
    db.query<ExportedRow>(sql`
      select id, name, type, enabled, created_at, expires_at, revoked_at, last_used_at
        from api_keys
       where store_id = ${ref.storeId}
         and ${ownedBy(ref.owner)}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  return pagesOf(check, read, idOf, (row) => ({
    id: row.id,
    name: row.name,
    type: row.type,
    status: statusOf(row, now()),
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
  }))
}
