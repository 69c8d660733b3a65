// A key's settings changed, under the store's lock, which the pipeline has taken. Every node hears of it by a trigger in
// the database.

import { type Bounds, checkBounds } from '../auth/bounds.ts'
import { heldPermissions, type Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { checkGrant, isOwner } from '../core/grant.ts'
import { missingPermissions, type Permission } from '../core/permissions.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { columnList, recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import { EVENT_TYPES } from '../events/schema.ts'
import { type EventRow, newEvent, writeEvents } from '../events/write.ts'
import {
  boundsOf,
  CHANGEABLE_COLUMNS,
  type KeyPatch,
  type KeyRow,
  showKey,
  statusOf,
  writeSettings,
} from './columns.ts'
import { withCredits, writeCredits } from './credits.ts'
import { lastNoticeDue } from './expiry-notices.ts'
import { checkTogether } from './input.ts'
import { type KeyRef, type LockedKey, lockKey } from './read.ts'
import type { Key } from './schema.ts'

const changeableColumns = Object.keys(CHANGEABLE_COLUMNS) as (keyof typeof CHANGEABLE_COLUMNS)[]
const changeableList = columnList(changeableColumns)
const changedRow = recordset('changed', CHANGEABLE_COLUMNS)

export async function updateKey(
  tx: Db,
  caller: Manager,
  ref: KeyRef,
  patch: KeyPatch,
  ifMatch: string | null,
): Promise<Answer<Key>> {
  const before = await lockKey(tx, ref)
  checkIfMatch(ifMatch, before.revision)
  const after = writeSettings({ ...before, enabled: patch.enabled ?? before.enabled }, patch)
  const changed: (keyof KeyRow)[] = changeableColumns.filter((column) => !same(before[column], after[column]))
  const creditsChanged = !same(before.credits ?? null, after.credits ?? null)
  if (creditsChanged) changed.push('credits')
  if (changed.length === 0) return { body: showKey(before, now()), etag: etagOf(before.revision) }
  refuseEnded(before)
  checkHoldsAll(caller, before.permissions)
  if (isItself(caller, ref)) fail('own_key')
  checkTogether(after)
  checkGrant(caller, patch.permissions ?? [])
  const expiryChanged = changed.includes('expires_at')
  checkBounds(await withCredits(tx, caller), {
    key: lastingBounds({ ...after, leak_shortened: before.leak_shortened && !expiryChanged }),
  })
  after.revision += 1
  after.updated_at = now()
  await tx.query(sql`
    update api_keys
       set (${changeableList}) = (select ${changeableList} from ${changedRow([after])}),
           expiry_notice_days = case when ${expiryChanged} then ${lastNoticeDue(after.expires_at)} else expiry_notice_days end,
           leak_shortened = leak_shortened and not ${expiryChanged},
           revision = ${after.revision},
           updated_at = ${after.updated_at}
     where id = ${ref.keyId}`)
  if (creditsChanged) await writeCredits(tx, ref.keyId, after.credits ?? null)
  await writeEvents(tx, eventsOf(caller, before, after, changed))
  return { body: showKey(after, after.updated_at), etag: etagOf(after.revision) }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/**
 * Enabling and disabling are events of their own. Of every other setting that key.created names, key.updated holds the
 * value before and after; of metadata, which may hold anything, and of the owner, only that it changed.
 */
function eventsOf(caller: Manager, before: KeyRow, after: KeyRow, changed: readonly (keyof KeyRow)[]): EventRow[] {
  const at = after.updated_at
  const [from, to] = [showKey(before, at), showKey(after, at)]
  const differing = EVENT_TYPES['key.created'].data.filter((name) => !same(from[name], to[name]))
  const pick = (key: Key) => Object.fromEntries(differing.map((name) => [name, key[name]]))
  const events: EventRow[] = []
  const ownerChanged = changed.includes('owner')
  if (differing.length > 0 || changed.includes('metadata') || ownerChanged)
    events.push(
      newEvent(caller, before.store_id, 'key.updated', before.id, {
        from: pick(from),
        to: pick(to),
        ...(changed.includes('metadata') ? { metadataChanged: true } : {}),
        ...(ownerChanged ? { ownerChanged: true } : {}),
      }),
    )
  if (changed.includes('enabled'))
    events.push(newEvent(caller, before.store_id, after.enabled ? 'key.enabled' : 'key.disabled', before.id, {}))
  return events
}

// ---- checks that a rotation makes too -------------------------------------------------------------------------------

/** The bounds of a key. An expiry that a leak has brought forward does not count: the next rotation takes it back. */
export function lastingBounds(row: LockedKey): Bounds {
  const bounds = boundsOf(row.leak_shortened ? { ...row, expires_at: row.expires_before_leak } : row)
  return { ...bounds, credits: row.credits ?? null }
}

export function isItself(caller: Manager, ref: KeyRef): boolean {
  return caller.kind === 'key' && caller.id === ref.keyId
}

/** A revoked or expired key stays so: nothing about it changes any more. */
export function refuseEnded(row: KeyRow): void {
  const status = statusOf(row, now())
  if (status === 'REVOKED') fail('key_revoked')
  if (status === 'EXPIRED') fail('key_expired')
}

/**
 * The caller must hold every permission of a key that they change or take the secret of: otherwise a weak manager would
 * make themselves a strong key. An owner holds everything, also permissions that the operator took out of the catalogue.
 */
export function checkHoldsAll(caller: Manager, permissions: readonly Permission[]): void {
  if (isOwner(caller)) return
  const lacking = missingPermissions(heldPermissions(caller), permissions)
  if (lacking.length > 0)
    fail('cannot_grant', {
      detail: `This key has ${lacking.join(', ')}, which you don't have in this store.`,
      members: { permissions: lacking },
    })
}
