// A new secret for a key, which stays the same key. The secret before it works on until the grace is over.

import { checkExpiryCeiling, checkIpCeiling } from '../auth/key-ceiling.ts'
import { lockStoreAndRecheck } from '../auth/recheck.ts'
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
import { type KeyRow, showKey } from './columns.ts'
import { type KeySecret, mintSecret } from './create.ts'
import { lastNoticeDue } from './expiry-notices.ts'
import { type KeyRef, type LockedKey, lockKey } from './read.ts'
import type { Key } from './schema.ts'
import { checkHoldsAll, isItself, refuseEnded } from './update.ts'

type RotationRequest = { gracePeriodSeconds: number; cameIn: Date; ifMatch: string | null }

/**
 * Of rotations that overlap in time one wins. A request that came in before the winner was done, and finds the secret
 * changed, is refused: the winner's caller has the new secret and relies on it.
 */
export async function rotateKey(
  db: Db,
  instance: Instance,
  caller: Manager,
  ref: KeyRef,
  rotation: RotationRequest,
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
    if (before.secret_no !== seen.secret_no || (before.rotated_at && before.rotated_at > rotation.cameIn))
      fail('rotation_conflict')
    checkIfMatch(rotation.ifMatch, before.revision)
    const secret = mintSecret(instance, before.type)
    const after = await writeSecret(tx, caller, before, secret, rotation.gracePeriodSeconds)
    await destroyReplayableSecrets(tx, [ref.keyId])
    await writeEvents(tx, [
      newEvent(caller, ref.storeId, 'key.rotated', ref.keyId, {
        gracePeriodSeconds: rotation.gracePeriodSeconds,
        previousExpiresAt: after.previous_expires_at,
      }),
    ])
    const answer: Answer<Key & { key: string }> = {
      body: { ...showKey(after, after.updated_at), key: secret.value },
      etag: etagOf(after.revision),
      resource: { id: ref.keyId, location: `/v1/user/store/${ref.storeId}/keys/${ref.keyId}` },
    }
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse(answer))
    return answer
  })
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
  const leakResolved = before.leak_shortened && before.leaked_secret_no === before.secret_no
  const after: KeyRow = {
    ...before,
    start: secret.start,
    // A new secret resolves the leak, and the key gets back the expiry that the leak had brought forward.
    expires_at: leakResolved ? before.expires_before_leak : before.expires_at,
    previous_expires_at: hasGrace ? previousEnd : null,
    previous_used_at: before.secret_used_at,
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
           start = ${secret.start},
           expires_at = ${after.expires_at},
           expiry_notice_days = case when ${leakResolved} then ${lastNoticeDue(after.expires_at)} else expiry_notice_days end,
           leak_shortened = leak_shortened and not ${leakResolved},
           secret_no = secret_no + 1,
           secret_used_at = null,
           rotated_at = ${at},
           revision = ${after.revision},
           updated_at = ${at}
     where id = ${before.id}`)
  return after
}

/** The new secret has all that the key has. A key may take its own new secret, but not by one that was replaced. */
function checkSecretCeiling(caller: Manager, ref: KeyRef, row: KeyRow): void {
  if (!isItself(caller, ref)) {
    checkExpiryCeiling(caller, row.expires_at)
    checkIpCeiling(caller, row.ip_allowlist)
  } else if (caller.kind === 'key' && caller.secretReplaced) fail('own_key')
}
