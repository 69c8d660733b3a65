// Revoking: one key by its manager, a leaked one by the service, or all that somebody made or took, when they go or when
// the key that they used is revoked. Every node hears of it by a trigger in the database.

import { withdrawInvitations } from '../auth/withdraw-invitations.ts'
import { heldPermissions, type Manager } from '../core/caller.ts'
import { addMs, now, SECOND } from '../core/clock.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { checkHolds } from '../core/grant.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import { settleServiceTokens } from '../service-tokens/revoke.ts'
import type { Made } from '../stores/schema.ts'
import { settleWebhooks } from '../webhooks/webhooks.ts'
import { type KeyRow, showKey, statusOf } from './columns.ts'
import { findMade, MAX_LISTED, type Maker } from './made.ts'
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
  options: { reason: string | null; made: 'keep' | 'revoke'; ifMatch: string | null },
): Promise<Answer<Key & { effectiveBy: string; made: Made }>> {
  const before = await lockKey(tx, ref)
  const row = before.revoked_at ? before : await revokeLocked(tx, caller, before, options.reason, options.ifMatch)
  const managesWebhooks = heldPermissions(caller).includes('MANAGE_WEBHOOKS')
  const made = await settle(tx, caller, ref.storeId, { keyId: ref.keyId }, managesWebhooks, {
    keys: options.made,
    webhooks: options.made === 'revoke' && managesWebhooks ? 'disable' : 'keep',
    serviceTokens: 'keep',
    reason: 'the key it was made with was revoked',
  })
  // Whoever may not switch webhooks off is told so, if there is one to be switched off, and nothing has happened.
  if (options.made === 'revoke' && made.webhooks.some(({ enabled }) => enabled)) checkHolds(caller, 'MANAGE_WEBHOOKS')
  return {
    body: {
      ...showKey(row, now()),
      effectiveBy: addMs(row.revoked_at as Date, REVOCATION_BOUND_MS).toISOString(),
      made,
    },
    etag: etagOf(row.revision),
    ...(options.made === 'revoke' ? { changedKeys: [ref.storeId] } : {}),
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

// ---- what somebody made or took -------------------------------------------------------------------------------------

export type Cascade = { keys: 'keep' | 'revoke'; webhooks: 'keep' | 'disable' }
/** Only owners end service tokens. */
type FullCascade = Cascade & { serviceTokens: 'keep' | 'revoke'; reason: string }

/**
 * Keeps or ends the keys and webhooks that the maker made, and the keys whose secret they took (made.ts), and tells which
 * they are, and which members they let in. Under the store's lock. The URL of a webhook is shown only to callers with
 * MANAGE_WEBHOOKS: people put secrets into paths and queries.
 */
export async function settle(
  tx: Db,
  by: Actor,
  storeId: string,
  maker: Maker,
  showUrls: boolean,
  cascade: FullCascade,
): Promise<Made> {
  const endsAny = cascade.keys === 'revoke' || cascade.webhooks === 'disable'
  const { keyIds, listedKeyIds, webhookIds, members } = await findMade(
    tx,
    storeId,
    maker,
    endsAny ? 'to end it' : 'to list it',
  )
  const serviceTokens =
    'userId' in maker
      ? await settleServiceTokens(
          tx,
          by,
          storeId,
          { userId: maker.userId, since: maker.ownSince },
          cascade.serviceTokens,
        )
      : []
  // Webhooks first: one that is switched off gets no events about the keys.
  const webhooks = await settleWebhooks(tx, by, webhookIds, cascade.webhooks)
  if (cascade.keys === 'revoke') await revokeKeys(tx, by, storeId, keyIds, cascade.reason, 'live only')
  return {
    keys: await readStates(tx, listedKeyIds),
    webhooks: webhooks.map(({ id, url, enabled }) => ({ id, url: showUrls ? url : null, enabled })),
    members,
    serviceTokens,
  }
}

/** The answer to a request that listed or ended these keys. */
export async function readStates(tx: Db, ids: string[]): Promise<Made['keys']> {
  if (ids.length === 0) return []
  const at = now()
  const rows = await tx.query<Pick<KeyRow, 'id' | 'name' | 'revoked_at' | 'expires_at' | 'enabled'>>(sql`
    select id, name, revoked_at, expires_at, enabled
      from api_keys
     where id = any(${ids})
     order by id desc
     limit ${MAX_LISTED}`)
  return rows.map((row) => ({ id: row.id, name: row.name, status: statusOf(row, at) }))
}

// ---- the one way in which keys are revoked --------------------------------------------------------------------------

/**
 * Revokes those of the store's keys that are not revoked yet, under the store's lock, and withdraws the invitations that
 * were made with them. When a member leaves, the keys they made are revoked with `live only`: there may be any number of
 * expired keys, and revoking them would change nothing.
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
  const isMeant = sql`
           id = any(${ids})
       and revoked_at is null
       and (${scope === 'expired too'} or coalesce(expires_at, 'infinity') > ${at})`
  // In the order in which everyone locks keys. A statement that both waits for a row and changes it may deadlock (insert.ts).
  const locked = tx.query(sql`select id from api_keys where ${isMeant} order by id for no key update`)
  const revoking = tx.query<Revocation>(sql`
    update api_keys
       set revoked_at = ${at}, revocation_reason = ${reason}, updated_at = ${at}, revision = revision + 1
     where ${isMeant}
 returning id, expires_at, revoked_at, revocation_reason, updated_at, revision`)
  const [, revoked] = await Promise.all([locked, revoking])
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
  if (revokedIds.length > 0) await withdrawInvitations(tx, by, sql`created_by_id = any(${revokedIds})`)
  return revoked
}
