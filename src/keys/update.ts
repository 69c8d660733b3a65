// What becomes of a key: changed, rotated, revoked. All of it happens under the store's lock, which the walk has taken,
// and is told to every node by a trigger in the database.

import { checkExpiryCeiling, checkIpCeiling } from '../auth/key-ceiling.ts'
import { lockStoreAndRecheck } from '../auth/recheck.ts'
import { heldPermissions, type Manager } from '../core/caller.ts'
import { addMs, now, SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { checkGrant, isOwner } from '../core/grant.ts'
import { missingPermissions, type Permission } from '../core/permissions.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import { type Db, sql } from '../db/db.ts'
import { type EventRow, newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets, storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { keyColumns, mintSecret } from './create.ts'
import type { KeyPatch } from './input.ts'
import { type Key, type KeyRow, showKey, statusOf } from './schema.ts'
import { lastNoticeDue } from './usage-report.ts'

export type KeyRef = { storeId: string; keyId: string }

/** A node that hears nothing relies on what it has for so long: then the last one has stopped accepting the key. */
const REVOCATION_BOUND_MS = 2 * SECOND

// ---- change ---------------------------------------------------------------------------------------------------------

export async function updateKey(
  tx: Db,
  caller: Manager,
  ref: KeyRef,
  changes: KeyPatch,
  ifMatch: string | null,
): Promise<Answer<Key>> {
  const before = await lockKey(tx, ref)
  checkIfMatch(ifMatch, before.revision)
  const after = { ...before, ...asColumns(changes) }
  const changed = CHANGEABLE.filter((name) => !same(before[name], after[name]))
  if (changed.length === 0) return { body: showKey(before, now()), etag: etagOf(before.revision) }
  refuseEnded(before)
  checkHoldsAll(caller, before.permissions)
  if (isItself(caller, ref)) fail('own_key')
  checkGrant(caller, changes.permissions ?? [])
  if (changed.includes('expires_at')) checkExpiryCeiling(caller, after.expires_at)
  if (changed.includes('ip_allowlist')) checkIpCeiling(caller, after.ip_allowlist)
  after.revision += 1
  after.updated_at = now()
  await tx.query(sql`
    update api_keys
       set name = ${after.name}, permissions = ${after.permissions}, metadata = ${JSON.stringify(after.metadata)},
           enabled = ${after.enabled}, expires_at = ${after.expires_at}, ip_allowlist = ${after.ip_allowlist},
           rate_limit = ${after.rate_limit}, rate_limit_window_seconds = ${after.rate_limit_window_seconds},
           expiring_told = ${same(before.expires_at, after.expires_at) ? sql`expiring_told` : sql`${lastNoticeDue(after.expires_at)}`},
           leak_shortened = leak_shortened and ${same(before.expires_at, after.expires_at)},
           revision = ${after.revision}, updated_at = ${after.updated_at}
     where id = ${ref.keyId}`)
  await writeEvents(tx, eventsOf(caller, before, after, changed))
  return { body: showKey(after, after.updated_at), etag: etagOf(after.revision) }
}

const CHANGEABLE = [
  'name',
  'permissions',
  'metadata',
  'enabled',
  'expires_at',
  'ip_allowlist',
  'rate_limit',
  'rate_limit_window_seconds',
] as const

function asColumns(changes: KeyPatch): Partial<KeyRow> {
  const { name, permissions, metadata, enabled, expiresAt, ipAllowlist, rateLimit } = changes
  return {
    ...(name === undefined ? {} : { name }),
    ...(permissions === undefined ? {} : { permissions }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    ...(ipAllowlist === undefined ? {} : { ip_allowlist: ipAllowlist }),
    ...(rateLimit === undefined
      ? {}
      : { rate_limit: rateLimit?.limit ?? null, rate_limit_window_seconds: rateLimit?.windowSeconds ?? null }),
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Switching a key off and on has a name of its own; everything else is told from what to what. Metadata may hold anything: only that it changed. */
function eventsOf(caller: Manager, before: KeyRow, after: KeyRow, changed: readonly (keyof KeyRow)[]): EventRow[] {
  const at = after.updated_at
  const [from, to] = [showKey(before, at), showKey(after, at)]
  const told = (['name', 'permissions', 'expiresAt', 'ipAllowlist', 'rateLimit'] as const).filter(
    (name) => !same(from[name], to[name]),
  )
  const pick = (key: Key) => Object.fromEntries(told.map((name) => [name, key[name]]))
  const events: EventRow[] = []
  if (told.length > 0 || changed.includes('metadata'))
    events.push(
      newEvent(caller, before.store_id, 'key.updated', before.id, {
        from: pick(from),
        to: pick(to),
        ...(changed.includes('metadata') ? { metadataChanged: true } : {}),
      }),
    )
  if (changed.includes('enabled'))
    events.push(newEvent(caller, before.store_id, after.enabled ? 'key.enabled' : 'key.disabled', before.id, {}))
  return events
}

// ---- rotate ---------------------------------------------------------------------------------------------------------

/**
 * A new secret for the same key. Of rotations that overlap in time one wins: whoever came before the winner was done, and
 * finds the secret changed, is told so, because the winner's caller has the new secret and relies on it.
 */
export async function rotateKey(
  db: Db,
  instance: Instance,
  caller: Manager,
  ref: KeyRef,
  wanted: { gracePeriodSeconds: number; cameIn: Date; ifMatch: string | null },
  idempotency: Idempotency | null,
): Promise<Answer<Key & { key: string }>> {
  const seen = await db.one<Pick<LockedKey, 'secret_no' | 'permissions'>>(sql`
    select secret_no, permissions
      from api_keys
     where id = ${ref.keyId}
       and store_id = ${ref.storeId}`)
  if (!seen) fail('key_not_found')
  // Before an earlier answer is looked for: a retry gets the secret only while its caller might still rotate the key.
  checkHoldsAll(caller, seen.permissions)
  return db.transaction(async (tx) => {
    await idempotency?.claim(tx)
    await lockStoreAndRecheck(tx, caller, ref.storeId)
    const before = await lockKey(tx, ref)
    refuseEnded(before)
    checkHoldsAll(caller, before.permissions)
    checkSecretCeiling(caller, ref, before)
    if (before.secret_no !== seen.secret_no || (before.rotated_at && before.rotated_at > wanted.cameIn))
      fail('rotation_conflict')
    checkIfMatch(wanted.ifMatch, before.revision)
    const at = now()
    const secret = mintSecret(instance, before.type)
    const graceEnd = addMs(at, wanted.gracePeriodSeconds * SECOND)
    const end = before.expires_at && before.expires_at < graceEnd ? before.expires_at : graceEnd
    const leakResolved = before.leak_shortened && before.leaked_secret_no === before.secret_no
    const hasGrace = wanted.gracePeriodSeconds > 0
    const after: KeyRow = {
      ...before,
      start: secret.start,
      // A new secret ends the leak, and with it the end that the leak had brought forward.
      expires_at: leakResolved ? before.expires_before_leak : before.expires_at,
      previous_expires_at: hasGrace ? end : null,
      previous_used_at: before.secret_used_at,
      revision: before.revision + 1,
      updated_at: at,
    }
    await tx.query(sql`
      update api_keys
         set previous_hash = case when ${hasGrace} then hash end,
             previous_hash_kid = case when ${hasGrace} then hash_kid end,
             previous_expires_at = ${after.previous_expires_at},
             previous_used_at = ${after.previous_used_at},
             hash = decode(${secret.hash}, 'hex'),
             hash_kid = ${secret.kid},
             start = ${secret.start},
             expires_at = ${after.expires_at},
             expiring_told = case when ${leakResolved} then ${lastNoticeDue(after.expires_at)} else expiring_told end,
             leak_shortened = leak_shortened and not ${leakResolved},
             secret_no = secret_no + 1,
             secret_used_at = null,
             rotated_at = ${at},
             revision = ${after.revision},
             updated_at = ${at}
       where id = ${ref.keyId}`)
    await destroyReplayableSecrets(tx, [ref.keyId])
    await writeEvents(tx, [
      newEvent(caller, ref.storeId, 'key.rotated', ref.keyId, {
        gracePeriodSeconds: wanted.gracePeriodSeconds,
        previousExpiresAt: after.previous_expires_at,
      }),
    ])
    const answer: Answer<Key & { key: string }> = {
      body: { ...showKey(after, at), key: secret.value },
      etag: etagOf(after.revision),
      resource: { id: ref.keyId, location: `/v1/user/store/${ref.storeId}/keys/${ref.keyId}` },
    }
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse(answer))
    return answer
  })
}

// ---- revoke ---------------------------------------------------------------------------------------------------------

/** Anyone who manages keys may end any key: it is how a leak is stopped. Again it is the same answer. */
export async function revokeKey(
  tx: Db,
  caller: Manager,
  ref: KeyRef,
  reason: string | null,
  ifMatch: string | null,
): Promise<Answer<Key & { effectiveBy: string }>> {
  const before = await lockKey(tx, ref)
  if (before.revoked_at === null) checkIfMatch(ifMatch, before.revision)
  const row = before.revoked_at ? before : await revoke(tx, caller, before, reason)
  return {
    body: { ...showKey(row, now()), effectiveBy: addMs(row.revoked_at as Date, REVOCATION_BOUND_MS).toISOString() },
    etag: etagOf(row.revision),
  }
}

type Revoker = Parameters<typeof newEvent>[0]

/** Under the store's lock. */
export async function revoke(tx: Db, by: Revoker, before: KeyRow, reason: string | null): Promise<KeyRow> {
  const at = now()
  const row = { ...before, revoked_at: at, revocation_reason: reason, updated_at: at, revision: before.revision + 1 }
  await tx.query(sql`
    update api_keys
       set revoked_at = ${at}, revocation_reason = ${reason}, updated_at = ${at}, revision = ${row.revision}
     where id = ${row.id}`)
  // The count is never less than the number of live keys; an expired key may have left it already.
  if (statusOf(before, at) !== 'EXPIRED')
    await tx.query(sql`update stores set live_keys = greatest(0, live_keys - 1) where id = ${row.store_id}`)
  await destroyReplayableSecrets(tx, [row.id])
  await writeEvents(tx, [newEvent(by, row.store_id, 'key.revoked', row.id, { reason })])
  return row
}

// ---- what they have in common ---------------------------------------------------------------------------------------

export type LockedKey = KeyRow & {
  secret_no: number
  secret_used_at: Date | null
  rotated_at: Date | null
  /** The newest of its secrets that was reported as leaked. */
  leaked_secret_no: number | null
  /** Its end was brought forward by that report, from this one. */
  leak_shortened: boolean
  expires_before_leak: Date | null
}

export async function lockKey(tx: Db, ref: KeyRef): Promise<LockedKey> {
  const row = await tx.one<LockedKey>(sql`
    select ${keyColumns}, secret_no, secret_used_at, rotated_at, leaked_secret_no, leak_shortened,
           expires_before_leak
      from api_keys
     where id = ${ref.keyId}
       and store_id = ${ref.storeId}
       for no key update`)
  return row ?? fail('key_not_found')
}

function isItself(caller: Manager, ref: KeyRef): boolean {
  return caller.kind === 'key' && caller.id === ref.keyId
}

/** Whoever takes a key's secret has all that it has. A key may take its own, but not with a secret that was replaced. */
function checkSecretCeiling(caller: Manager, ref: KeyRef, row: KeyRow): void {
  if (!isItself(caller, ref)) {
    checkExpiryCeiling(caller, row.expires_at)
    checkIpCeiling(caller, row.ip_allowlist)
  } else if (caller.kind === 'key' && caller.secretReplaced) fail('own_key')
}

/** Dead stays dead. */
function refuseEnded(row: KeyRow): void {
  const status = statusOf(row, now())
  if (status === 'REVOKED') fail('key_revoked')
  if (status === 'EXPIRED') fail('key_expired')
}

/**
 * Who changes a key, or takes its secret, must hold what it holds: otherwise a weak manager would make themselves a strong
 * key. An owner holds everything, also what the operator took out of the catalogue while the key still names it.
 */
function checkHoldsAll(caller: Manager, permissions: readonly Permission[]): void {
  if (isOwner(caller)) return
  const lacking = missingPermissions(heldPermissions(caller), permissions)
  if (lacking.length > 0)
    fail('cannot_grant', {
      detail: `This key holds ${lacking.join(', ')}, which you do not hold in this store.`,
      members: { permissions: lacking },
    })
}
