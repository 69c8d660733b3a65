// The settings of keys changed, under the store's lock, which the pipeline or the caller has taken. Every node hears of it
// by a trigger in the database.

import { type Bounds, checkBounds } from '../auth/bounds.ts'
import { heldPermissions, type Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { checkGrant, isOwner } from '../core/grant.ts'
import { missingPermissions, type Permission } from '../core/permissions.ts'
import type { Answer, WireResponse } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { columnList, recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import { EVENT_TYPES } from '../events/schema.ts'
import { type EventRow, newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { countToday, reserveOf } from '../limits/count-today.ts'
import {
  type AskedPatch,
  boundsOf,
  CHANGEABLE_COLUMNS,
  type KeyPatch,
  type KeyRow,
  showKey,
  statusOf,
  writeSettings,
} from './columns.ts'
import { completeCredits, withCredits, writeCredits } from './credits.ts'
import { lastNoticeDue } from './expiry-notices.ts'
import { checkTogether } from './input.ts'
import { type KeyRef, type LockedKey, lockKey, readUnlocked } from './read.ts'
import type { Key } from './schema.ts'

const changeableColumns = Object.keys(CHANGEABLE_COLUMNS) as (keyof typeof CHANGEABLE_COLUMNS)[]
const { metadata: _, ...BARE_COLUMNS } = CHANGEABLE_COLUMNS

/** What a statement says that writes these columns. */
function writing(types: Partial<typeof CHANGEABLE_COLUMNS>) {
  const columns = Object.keys(types) as (keyof typeof CHANGEABLE_COLUMNS)[]
  const rows = recordset('changed', {
    ...types,
    id: 'text',
    expiry_changed: 'boolean',
    last_notice_due: 'int',
    revision: 'int',
    updated_at: 'timestamptz',
  })
  return { columns, list: columnList(columns), values: columnList(columns, 'changed'), rows }
}
const allColumns = writing(CHANGEABLE_COLUMNS)
/** Metadata may be 16 KiB, and seldom changes. */
const withoutMetadata = writing(BARE_COLUMNS)

/** So often a day all keys that a store may have can be changed: what is kept of each change is kept for long. */
const DAILY_CHANGES = 20
const DAY_LIMIT_REACHED =
  'Keys of the store have been changed as often since midnight UTC as they can. Wait for "Retry-After" seconds. Keys can still be disabled and revoked.'

export async function updateKey(
  tx: Db,
  instance: Instance,
  caller: Manager,
  ref: KeyRef,
  { credits, ...rest }: AskedPatch,
  ifMatch: string | null,
): Promise<Answer<Key>> {
  const before = await lockKey(tx, ref)
  checkIfMatch(ifMatch, before.revision)
  const patch: KeyPatch = credits ? { ...rest, credits: await completeCredits(tx, before, credits) } : rest
  if (credits === null) patch.credits = null
  const update = planUpdate(caller, await withCredits(tx, caller), before, patch)
  if (!update) return { body: showKey(before, now()), etag: etagOf(before.revision) }
  await writeUpdates(tx, instance, caller, ref.storeId, [update])
  const { after } = update
  return { body: showKey(after, after.updated_at), etag: etagOf(after.revision) }
}

/** Of one key or many, under the lock of the store. */
export async function countChanges(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  more: number,
): Promise<void> {
  if (more === 0) return
  const max = DAILY_CHANGES * instance.maxKeysPerStore + reserveOf(instance.maxKeysPerStore, caller)
  await countToday(tx, storeId, 'key_changes', { more, max, detail: DAY_LIMIT_REACHED })
}

// ---- the one way in which keys are changed --------------------------------------------------------------------------

type KeyUpdate = { before: LockedKey; after: LockedKey; changed: (keyof KeyRow)[] }

/** What the patch makes of a locked key; null if that is as it was. Fails when the caller may not change the key so. */
export function planUpdate(
  caller: Manager,
  giver: Awaited<ReturnType<typeof withCredits>>,
  before: LockedKey,
  patch: KeyPatch,
): KeyUpdate | null {
  const after = writeSettings({ ...before, enabled: patch.enabled ?? before.enabled }, patch)
  const changed: (keyof KeyRow)[] = changeableColumns.filter((column) => !same(before[column], after[column]))
  if (!same(before.credits ?? null, after.credits ?? null)) changed.push('credits')
  if (changed.length === 0) return null
  refuseEnded(before)
  checkHoldsAll(caller, before.permissions)
  if (isItself(caller, before.id)) fail('own_key')
  checkTogether(after)
  checkGrant(caller, patch.permissions ?? [])
  after.leak_shortened = before.leak_shortened && !changed.includes('expires_at')
  // Else a bound key could put its own bounds on a key that is bound less, and then take that over.
  checkBounds(giver, { key: lastingBounds(before) })
  if (changed.some((column) => column !== 'enabled')) checkBounds(giver, { key: lastingBounds(after) })
  after.revision += 1
  after.updated_at = now()
  return { before, after, changed }
}

function isOnlyDisabled({ after, changed }: KeyUpdate): boolean {
  return !after.enabled && changed.every((column) => column === 'enabled')
}

/** All of one store. Disabling a key does not count: enabling it did. */
export async function writeUpdates(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  updates: KeyUpdate[],
): Promise<void> {
  if (updates.length === 0) return
  const counted = updates.filter((update) => !isOnlyDisabled(update))
  await countChanges(tx, instance, caller, storeId, counted.length)
  const isMetadataChanged = updates.some(({ changed }) => changed.includes('metadata'))
  const { columns, list, values, rows } = isMetadataChanged ? allColumns : withoutMetadata
  const changedRows = updates.map(({ after, changed }) => ({
    ...pickColumns(after, columns),
    id: after.id,
    expiry_changed: changed.includes('expires_at'),
    last_notice_due: lastNoticeDue(after.expires_at),
    revision: after.revision,
    updated_at: after.updated_at,
  }))
  await tx.query(sql`
    update api_keys
       set (${list}) = row (${values}),
           expiry_notice_days = case when changed.expiry_changed then changed.last_notice_due else expiry_notice_days end,
           leak_shortened = leak_shortened and not changed.expiry_changed,
           revision = changed.revision,
           updated_at = changed.updated_at
      from ${rows(changedRows)}
     where api_keys.id = changed.id`)
  for (const { after, changed } of updates)
    if (changed.includes('credits')) await writeCredits(tx, after.id, after.credits ?? null)
  await writeEvents(
    tx,
    updates.flatMap(({ before, after, changed }) => eventsOf(caller, before, after, changed)),
  )
}

function pickColumns<Column extends keyof KeyRow>(row: KeyRow, columns: readonly Column[]): Pick<KeyRow, Column> {
  return Object.fromEntries(columns.map((column) => [column, row[column]])) as Pick<KeyRow, Column>
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

export function isItself(caller: Manager, keyId: string): boolean {
  return caller.kind === 'key' && caller.id === keyId
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

/** The caller gets the key's secret, and with it all that the key has. A key may take its own. */
export async function checkTakesSecret(db: Db, caller: Manager, key: LockedKey): Promise<void> {
  checkHoldsAll(caller, key.permissions)
  if (!isItself(caller, key.id)) checkBounds(await withCredits(db, caller), { key: lastingBounds(key) })
}

/** The same before a retry shows a secret again: the key may have got more since then, or the caller less. */
export async function checkSecretReplay({ db, caller, params, sent }: SecretReplay): Promise<void> {
  const key = await readUnlocked(db, { storeId: params.storeId, keyId: sent.resourceId ?? '' })
  await checkTakesSecret(db, caller, key ?? fail('key_not_found'))
}

type SecretReplay = { db: Db; caller: Manager; params: { storeId: string }; sent: WireResponse }
