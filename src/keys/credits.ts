// Credits of keys: what a key has left, in a row of its own (see the table key_credits). Verifications spend them
// (spend.ts); here managers set them.

import type { Manager } from '../core/caller.ts'
import { failInput } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { columnList } from '../db/recordset.ts'
import { fragment, sql } from '../db/sql.ts'
import { creditsColumn, type KeyRow } from './columns.ts'
import type { Credits } from './schema.ts'

/** The columns of key_credits, and their values for a row with the `id` of a key and its `credits` as JSON. */
export const CREDIT_COLUMNS = columnList([
  'key_id',
  'remaining',
  'refill_amount',
  'refill_interval',
  'refill_day',
  'refills_at',
])

export const CREDIT_VALUES = fragment(`
  id, (credits ->> 'remaining')::bigint, (credits #>> '{refill,amount}')::bigint, credits #>> '{refill,interval}',
  (credits #>> '{refill,dayOfMonth}')::int,
  next_refill(clock_timestamp(), credits #>> '{refill,interval}', (credits #>> '{refill,dayOfMonth}')::int)`)

/** What is left, and when the next refill is: one that is due counts, though nobody has written it down yet. */
export const REMAINING = fragment(
  `case when refills_at <= now() then greatest(remaining, refill_amount) else remaining end`,
)
export const REFILLS_AT = fragment(
  `case when refills_at <= now() then next_refill(now(), refill_interval, refill_day) else refills_at end`,
)

/** A key with credits gives no other more than it has left, so that is read before it gives anything. */
export async function withCredits(db: Db, caller: Manager): Promise<Manager & { credits?: Credits | null }> {
  if (caller.kind !== 'key' || !caller.hasCredits) return caller
  const row = await db.one<Pick<KeyRow, 'credits'>>(sql`
    select ${creditsColumn}
      from api_keys
     where id = ${caller.id}`)
  return { ...caller, credits: row?.credits ?? null }
}

type CreditRow = { remaining: number; refills_at: Date | null }

/** With the refill that is due, if one is. Null: the key has no credits. */
export function lockCredits(tx: Db, keyId: string): Promise<CreditRow | null> {
  return tx.one<CreditRow>(sql`
    select (${REMAINING})::float8 as remaining, ${REFILLS_AT} as refills_at
      from key_credits
     where key_id = ${keyId}
       for update`)
}

/** What a change of a locked key leaves out of its credits stays as it is, whatever was spent until now. */
export async function completeCredits(tx: Db, key: KeyRow, asked: Partial<Credits>): Promise<Credits> {
  const { remaining, refill } = asked
  if (remaining !== undefined)
    return { remaining, refill: refill === undefined ? (key.credits?.refill ?? null) : refill }
  const left = await lockCredits(tx, key.id)
  if (!left || !key.credits)
    return failInput([{ pointer: '#/credits/remaining', code: 'required', detail: 'The key has no credits yet.' }])
  key.credits = { ...key.credits, remaining: left.remaining }
  return { ...key.credits, ...asked }
}

/** In the transaction that sets `has_credits` of the key. */
export async function writeCredits(tx: Db, keyId: string, credits: Credits | null): Promise<void> {
  await tx.query(
    credits === null
      ? sql`delete from key_credits where key_id = ${keyId}`
      : sql`
        insert into key_credits (${CREDIT_COLUMNS})
        select ${CREDIT_VALUES}
          from (select ${keyId}::text as id, ${JSON.stringify(credits)}::json as credits) as given
            on conflict (key_id) do update
           set remaining = excluded.remaining,
               refill_amount = excluded.refill_amount,
               refill_interval = excluded.refill_interval,
               refill_day = excluded.refill_day,
               refills_at = excluded.refills_at`,
  )
}
