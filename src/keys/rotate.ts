// A new secret for a key, which stays the same key. The secret before it works on until the grace is over.

import { inStore, lockStoreAndRecheck } from '../auth/recheck.ts'
import type { Manager } from '../core/caller.ts'
import { addMs, now, SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets, storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { countToday, reserveOf } from '../limits/count-today.ts'
import { type KeyRow, showKey } from './columns.ts'
import { mintSecret } from './create.ts'
import { lastNoticeDue } from './expiry-notices.ts'
import type { KeySecret } from './insert.ts'
import { type KeyRef, type LockedKey, lockKey, resourceOf } from './read.ts'
import type { Key } from './schema.ts'
import { checkHoldsAll, checkTakesSecret, refuseEnded } from './update.ts'
import { foldOldSecrets } from './usage-retention.ts'

type RotationRequest = { gracePeriodSeconds: number; cameIn: Date; ifMatch: string | null }

/** A rotation of which nothing more is heard, because its node died, stands in the way of others for this long. */
const LOST_AFTER_SECONDS = 10

/**
 * Of rotations that overlap in time one wins: its caller has the new secret and relies on it. A request is refused when
 * the secret has changed since it first looked, or when it came in before the last rotation was over. The database's clock
 * decides, for all nodes: a rotation is marked as over after its commit and before its answer, and how long ago a request
 * came in is counted back from the database's time.
 */
export async function rotateKey(
  db: Db,
  instance: Instance,
  caller: Manager,
  ref: KeyRef,
  rotation: RotationRequest,
  idempotency: Idempotency | null,
): Promise<Answer<Key & { key: string }>> {
  // Rounded down: a request that came in right after the answer to the last rotation does not overlap with it.
  const waitedMs = Math.max(0, now().getTime() - rotation.cameIn.getTime() - 1)
  const seen = await db.one<Pick<LockedKey, 'secret_no'> & { overlaps: boolean }>(sql`
    select secret_no,
           coalesce(rotation_done_at > clock_timestamp() - ${waitedMs} * interval '1 ms', false) as overlaps
      from api_keys
     where id = ${ref.keyId}
       and store_id = ${ref.storeId}`)
  if (!seen) fail('key_not_found')
  const answer = await inStore(db, caller, ref.storeId, async (tx) => {
    await idempotency?.claim(tx)
    await lockStoreAndRecheck(tx, caller, ref.storeId)
    const before = await lockKey(tx, ref)
    checkHoldsAll(caller, before.permissions)
    refuseEnded(before)
    await checkTakesSecret(tx, caller, before)
    if (before.secret_no !== seen.secret_no || seen.overlaps) fail('rotation_conflict')
    checkIfMatch(rotation.ifMatch, before.revision)
    const max = instance.maxRotationsPerDay + reserveOf(instance.maxKeysPerStore, caller)
    await countToday(tx, ref.storeId, 'rotations', { more: 1, max, detail: DAY_LIMIT_REACHED })
    const secret = mintSecret(instance, before.type)
    const after = await writeSecret(tx, caller, before, secret, rotation.gracePeriodSeconds)
    await destroyReplayableSecrets(tx, [ref.keyId])
    await foldOldSecrets(tx, ref.keyId, before.secret_no + 1)
    await writeEvents(tx, [
      newEvent(caller, ref.storeId, 'key.rotated', ref.keyId, {
        gracePeriodSeconds: rotation.gracePeriodSeconds,
        previousExpiresAt: after.previous_expires_at,
      }),
    ])
    const answer: Answer<Key & { key: string }> = {
      body: { ...showKey(after, after.updated_at), key: secret.value },
      etag: etagOf(after.revision),
      resource: resourceOf(ref),
    }
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse(answer))
    return answer
  })
  await markDone(db, ref.keyId, seen.secret_no + 1)
  return answer
}

const DAY_LIMIT_REACHED =
  'Keys of the store have been rotated as often since midnight UTC as they can. Wait for "Retry-After" seconds.'

/** The rotation is committed: should this fail, its caller still gets the secret, and LOST_AFTER_SECONDS is waited for. */
async function markDone(db: Db, keyId: string, secretNo: number): Promise<void> {
  const marked = db.query(sql`
    update api_keys
       set rotation_done_at = clock_timestamp()
     where id = ${keyId}
       and secret_no = ${secretNo}`)
  await marked.catch(() => undefined)
}

/**
 * The new secret in place of the current one, which becomes the previous one if it has a grace. Who took it is written
 * down: the key is settled with them when they go (made.ts).
 */
async function writeSecret(
  tx: Db,
  caller: Manager,
  before: LockedKey,
  secret: KeySecret,
  graceSeconds: number,
): Promise<KeyRow> {
  const at = now()
  const graceEnd = addMs(at, graceSeconds * SECOND)
  const previousEnd = before.expires_at && before.expires_at < graceEnd ? before.expires_at : graceEnd
  const hasGrace = graceSeconds > 0
  // Also when it was the previous secret that leaked: with this rotation it stops working.
  const leakResolved = before.leak_shortened
  const after: KeyRow = {
    ...before,
    start: secret.start,
    // A new secret resolves the leak, and the key gets back the expiry that the leak had brought forward.
    expires_at: leakResolved ? before.expires_before_leak : before.expires_at,
    previous_expires_at: hasGrace ? previousEnd : null,
    previous_used_at: before.secret_used_at,
    // The new secret is one of ours. What is kept of an imported value (imported_hash) stays.
    imported: false,
    revision: before.revision + 1,
    updated_at: at,
  }
  await tx.query(sql`
    with taken as (
      insert into key_rotations
             (key_id, secret_no, rotated_by_kind, rotated_by_id, rotated_by_secret_no, rotated_at)
      values (${before.id}, ${before.secret_no + 1}, ${caller.kind}, ${caller.id},
              ${caller.kind === 'key' ? caller.secretNo : null}, ${at})
    )
    update api_keys
       set previous_hash = case when ${hasGrace} then hash end,
           previous_hash_kid = case when ${hasGrace} then hash_kid end,
           previous_expires_at = ${after.previous_expires_at},
           previous_used_at = ${after.previous_used_at},
           hash = decode(${secret.hash}, 'hex'),
           hash_kid = ${secret.kid},
           previous_start = case when ${hasGrace} then start end,
           start = ${secret.start},
           imported = false,
           expires_at = ${after.expires_at},
           expiry_notice_days = case when ${leakResolved} then ${lastNoticeDue(after.expires_at)} else expiry_notice_days end,
           leak_shortened = leak_shortened and not ${leakResolved},
           secret_no = secret_no + 1,
           secret_used_at = null,
           -- For reports of use (in-process/reports.ts).
           rotated_at = ${at},
           rotation_done_at = clock_timestamp() + ${LOST_AFTER_SECONDS} * interval '1 second',
           revision = ${after.revision},
           updated_at = ${at}
     where id = ${before.id}`)
  return after
}
