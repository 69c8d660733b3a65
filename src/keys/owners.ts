// The keys that a store has for one of its customers: those whose `owner` is the customer's external id. When the customer
// is erased, that id is forgotten, here too.

import { now } from '../core/clock.ts'
import { randomBytes } from '../crypto/random.ts'
import type { Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import type { ApiKeysRow } from '../db/tables.gen.ts'
import type { Actor } from '../events/write.ts'
import { type ExportCheck, idOf, PAGE, pagesOf } from '../limits/export-pages.ts'
import type { Made } from '../stores/schema.ts'
import { type KeyRow, statusOf } from './columns.ts'
import { ENDED_AT_ONCE, leaveToChore, renameOwner } from './erased-owners.ts'
import { ownedBy, worksAfter } from './filter.ts'
import { MAX_LISTED } from './made.ts'
import { sharedWindowId } from './purchase.ts'
import { type Cascade, readStates, revokeKeys } from './revoke.ts'

const copiedWindows = recordset('copied', { id: 'text', new_id: 'text' })

/**
 * Under the store's lock. Keeps or revokes the keys, and gives all of them, ended ones too, a pseudonym as their owner.
 * Not null: to a back end that tells its tenants apart by it, a key of nobody might be a key of the shop's own. All keys get
 * the same one, and windows with the same count for the limits that they share. The former windows stay: for a moment other
 * nodes still count in them, and so do keys that are created for the same external id, so nobody gains a fresh one.
 *
 * A store has only so many live keys, but any number of ended ones: of these, most are left to a chore (erased-owners.ts).
 */
export async function eraseOwner(
  tx: Db,
  by: Actor,
  ref: { storeId: string; owner: string },
  keys: Cascade['keys'],
): Promise<Made['keys']> {
  const { storeId, owner } = ref
  const pseudonym = newPseudonym()
  const at = now()
  const { newest, live, ended, hasMore } = await findOwned(tx, ref, at)
  if (newest.length === 0) return []
  const ids = [...live, ...ended]
  const rows = await tx.query<Pick<KeyRow, 'rate_limits'>>(sql`
    select rate_limits
      from api_keys
     where id = any(${ids})
     order by id
       for no key update`)
  if (keys === 'revoke') await revokeKeys(tx, by, storeId, live, 'customer erased', 'live only')
  await renameOwner(tx, by, storeId, ids, pseudonym)
  if (hasMore) await leaveToChore(tx, by, { storeId, owner, pseudonym, at, doneTo: ended.at(-1) ?? '' })
  const shared = rows.flatMap(({ rate_limits }) => rate_limits.filter(({ shared }) => shared === 'owner'))
  await copyWindows(
    tx,
    (whom) => new Set(shared.map((limit) => sharedWindowId(storeId, limit, whom))),
    owner,
    pseudonym,
  )
  return readStates(tx, newest)
}

function newPseudonym(): string {
  return `erased-${Buffer.from(randomBytes(16)).toString('hex')}`
}

export const isPseudonym = (owner: string): boolean => /^erased-[0-9a-f]{32}$/.test(owner)

type Owned = { newest: string[]; live: string[]; ended: string[]; hasMore: boolean }

/** The newest keys, whatever became of them, all live ones, and the first of the ended ones. */
async function findOwned(tx: Db, { storeId, owner }: { storeId: string; owner: string }, at: Date): Promise<Owned> {
  const [newest, live, ended] = await Promise.all([
    tx.query<Pick<KeyRow, 'id'>>(sql`
      select id
        from api_keys
       where store_id = ${storeId}
         and ${ownedBy(owner)}
       order by id desc
       limit ${MAX_LISTED}`),
    tx.query<Pick<KeyRow, 'id'>>(sql`
      select id
        from api_keys
       where ${worksAfter(storeId, at)}
         and owner = ${owner}
       order by id`),
    tx.query<Pick<KeyRow, 'id'>>(sql`
      select id
        from api_keys
       where store_id = ${storeId}
         and ${ownedBy(owner)}
         and (revoked_at is not null or expires_at <= ${at})
       order by id
       limit ${ENDED_AT_ONCE + 1}`),
  ])
  return {
    newest: newest.map(({ id }) => id),
    live: live.map(({ id }) => id),
    ended: ended.slice(0, ENDED_AT_ONCE).map(({ id }) => id),
    hasMore: ended.length > ENDED_AT_ONCE,
  }
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
