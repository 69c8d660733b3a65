// Credits set or added by a manager, beside verifications that spend them.

import { checkBounds } from '../auth/bounds.ts'
import type { Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail, failInput } from '../core/errors.ts'
import { etagOf } from '../core/etag.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { showKey } from './columns.ts'
import { lockCredits, withCredits } from './credits.ts'
import { type KeyRef, lockKey, resourceOf } from './read.ts'
import { type CreditChange, type Key, MAX_CREDITS } from './schema.ts'
import { checkHoldsAll, countChanges, isItself, lastingBounds, refuseEnded } from './update.ts'

export async function changeCredits(
  tx: Db,
  instance: Instance,
  caller: Manager,
  ref: KeyRef,
  { add, set }: CreditChange,
): Promise<Answer<Key>> {
  const key = await lockKey(tx, ref)
  refuseEnded(key)
  checkHoldsAll(caller, key.permissions)
  if (isItself(caller, ref.keyId)) fail('own_key')
  const before = (await lockCredits(tx, ref.keyId)) ?? fail('no_credits')
  const remaining = set ?? before.remaining + (add ?? 0)
  if (remaining > MAX_CREDITS)
    failInput([{ pointer: '#/add', code: 'too_large', detail: `The key would have more than ${MAX_CREDITS} credits.` }])
  const withRemaining = (remaining: number) => ({ ...key, credits: { refill: null, ...key.credits, remaining } })
  const after = withRemaining(remaining)
  const giver = await withCredits(tx, caller)
  for (const each of [withRemaining(before.remaining), after]) checkBounds(giver, { key: lastingBounds(each) })
  const answer = { body: showKey(after, now()), etag: etagOf(key.revision), resource: resourceOf(ref) }
  if (remaining === before.remaining) return answer
  await countChanges(tx, instance, caller, ref.storeId, 1)
  await tx.query(sql`
    update key_credits
       set remaining = ${remaining}, refills_at = ${before.refills_at}
     where key_id = ${ref.keyId}`)
  const change = { from: before.remaining, to: remaining }
  await writeEvents(tx, [newEvent(caller, ref.storeId, 'key.credits_changed', ref.keyId, change)])
  return answer
}
