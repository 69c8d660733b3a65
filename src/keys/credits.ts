// Credits of keys: what a key has left, in a row of its own (see the table key_credits). Verifications spend them
// (spend.ts); here managers set them.

import type { Manager } from '../core/caller.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import { creditsColumn, type KeyRow } from './columns.ts'
import type { Credits } from './schema.ts'

/** The columns of key_credits for what `credits`, a JSON value in SQL, says. */
export const CREDIT_COLUMNS: Sql = sql`key_id, remaining, refill_amount, refill_interval, refill_day, refills_at`

/** A refill that is due when they are written has not happened: the first one is the next. */
export const creditValues = (keyId: Sql, credits: Sql): Sql => sql`
  ${keyId}, (${credits} ->> 'remaining')::bigint, (${credits} #>> '{refill,amount}')::bigint,
  ${credits} #>> '{refill,interval}', (${credits} #>> '{refill,dayOfMonth}')::int,
  next_refill(clock_timestamp(), ${credits} #>> '{refill,interval}', (${credits} #>> '{refill,dayOfMonth}')::int)`

/** A key with credits gives no other more than it has left, so that is read before it gives anything. */
export async function withCredits(db: Db, caller: Manager): Promise<Manager & { credits?: Credits | null }> {
  if (caller.kind !== 'key' || !caller.hasCredits) return caller
  const row = await db.one<Pick<KeyRow, 'credits'>>(sql`
    select ${creditsColumn}
      from api_keys
     where id = ${caller.id}`)
  return { ...caller, credits: row?.credits ?? null }
}

/** In the transaction that sets `has_credits` of the key. */
export async function writeCredits(tx: Db, keyId: string, credits: Credits | null): Promise<void> {
  await tx.query(
    credits === null
      ? sql`delete from key_credits where key_id = ${keyId}`
      : sql`
        insert into key_credits (${CREDIT_COLUMNS})
        select ${creditValues(sql`${keyId}`, sql`given.credits`)}
          from (select ${JSON.stringify(credits)}::json as credits) as given
            on conflict (key_id) do update
           set remaining = excluded.remaining,
               refill_amount = excluded.refill_amount,
               refill_interval = excluded.refill_interval,
               refill_day = excluded.refill_day,
               refills_at = excluded.refills_at`,
  )
}
