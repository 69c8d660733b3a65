// How long usage is kept: by the hour, then by the day; and by the secret, until two others have replaced it.

import { ago, DAY, HOUR } from '../core/clock.ts'
import { countedBatch, deleteInBatches, runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { REPORTERS_KEPT_MS } from './in-process/reports.ts'
import { addedUpCount, countedAs, MAX_COUNT } from './write-usage.ts'

/** How long counts are kept by the hour, before they are rolled up into days, and how long by the day. */
const HOURS_KEPT_MS = 90 * DAY
const DAYS_KEPT_MS = 400 * DAY

/** Maintenance: old hours become days; old days, sources, flush ids, silent reporters and rate windows are deleted. */
export async function rollUpUsage(db: Db): Promise<number> {
  let rows = 0
  for (const statement of [rollUpHours, deleteFlushes])
    rows += await runInBatches(db, (tx, size) => countedBatch(tx, size, statement(size)))
  rows += await deleteInBatches(db, 'key_usage', sql`grain = 'day' and at < ${ago(DAYS_KEPT_MS)} order by at`)
  rows += await deleteInBatches(db, 'key_sources', sql`last_used_at < ${ago(HOURS_KEPT_MS)} order by last_used_at`)
  rows += await deleteInBatches(db, 'usage_reporters', sql`at < ${ago(REPORTERS_KEPT_MS)} order by at`)
  // By the database's own clock, like the windows themselves.
  rows += await deleteInBatches(db, 'key_rate_windows', sql`began_at < now() - interval '2 days'`)
  return rows
}

const rollUpHours = (size: number) => sql`
  with old as (
    delete from key_usage
     where ctid = any(array(
             select ctid
               from key_usage
              where grain = 'hour'
                and at < ${ago(HOURS_KEPT_MS)}
              order by at
              limit ${size}
                for update skip locked
           ))
 returning key_id, at, outcome, secret_no, count
  ), day as (
    insert into key_usage (key_id, grain, at, outcome, secret_no, count)
    select old.key_id, 'day', date_trunc('day', old.at), old.outcome, ${countedAs('old.secret_no')},
           least(sum(old.count), ${MAX_COUNT})
      from old
      join api_keys key on key.id = old.key_id
     group by 1, 3, 4, 5
     order by 1, 3, 4, 5
        on conflict (key_id, grain, at, outcome, secret_no) do update
       set count = ${addedUpCount}
  )
  select count(*)::int as count
    from old`

/** Ids begin with their time, so the first ones are the oldest. */
const deleteFlushes = (size: number) => sql`
  with oldest as (
    select id, at
      from usage_flushes
     order by id
     limit ${size}
  ), gone as (
    delete from usage_flushes
     where id in (select id from oldest where at < ${ago(DAY)})
 returning 1
  )
  select count(*)::int as count
    from gone`

/** Reports come up to a day late. */
const FOLDED_MS = DAY + HOUR

/**
 * With a rotation, under the key's lock: the hours of the last day of secrets that are older than the previous one become
 * those of no secret in particular (write-usage.ts). Of an hour that is longer ago no more than the secrets are left that were
 * the newest a day later.
 *
 * The secret that was the previous one until now is left for the next rotation: what other nodes write down at this moment
 * is of that one or of newer ones, so nobody waits for a row that somebody else has and the other way round.
 */
export async function foldOldSecrets(tx: Db, keyId: string, secretNo: number): Promise<void> {
  const newestFolded = secretNo - 3
  if (newestFolded < 1) return
  await tx.query(sql`
    with old as (
      delete from key_usage
       where key_id = ${keyId}
         and grain = 'hour'
         and at >= ${ago(FOLDED_MS)}
         and secret_no between 1 and ${newestFolded}
   returning key_id, at, outcome, count
    )
    insert into key_usage (key_id, grain, at, outcome, secret_no, count)
    select key_id, 'hour', at, outcome, 0, least(sum(count), ${MAX_COUNT})
      from old
     group by key_id, at, outcome
     order by key_id, at, outcome
        on conflict (key_id, grain, at, outcome, secret_no) do update
       set count = ${addedUpCount}`)
}
