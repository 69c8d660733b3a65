// What can be known about a key's use: how often, with what outcome, which of its rights it needed; and that its end is
// near.

import { addMs, ago, DAY, fromNow, HOUR, now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import type { Permission } from '../core/permissions.ts'
import { type Db, sql } from '../db/db.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import { parseDateTime } from '../schema/fields.ts'

// ---- use ------------------------------------------------------------------------------------------------------------

type Interval = 'hour' | 'day'
type UsageQuery = { from?: string; to?: string; interval?: Interval }

const STEP_MS: Record<Interval, number> = { hour: HOUR, day: DAY }
/** Left out, `from` is so long before `to`; and so long a time can be asked for at once. */
const USUAL_MS: Record<Interval, number> = { hour: DAY, day: 30 * DAY }
const MAX_SPAN_MS: Record<Interval, number> = { hour: 31 * DAY, day: 400 * DAY }

export async function readUsage(db: Db, ref: { storeId: string; keyId: string }, asked: UsageQuery) {
  const interval = asked.interval ?? 'hour'
  const to = (asked.to && parseDateTime(asked.to)) || now()
  const wanted = (asked.from && parseDateTime(asked.from)) || addMs(to, -USUAL_MS[interval])
  checkSpan(wanted, to, interval)
  const from = new Date(wanted.getTime() - (wanted.getTime() % STEP_MS[interval]))
  await findKey(db, ref)
  const rows = await db.query<{ at: Date; outcome: string; count: string }>(sql`
    select date_trunc(${interval}, at) as at, outcome, sum(count) as count
      from key_usage
     where key_id = ${ref.keyId}
       and (grain = 'hour' or ${interval} = 'day')
       and at >= ${from}
       and at < ${to}
     group by 1, 2
     order by 1, 2`)
  const data = new Map<number, { at: string; counts: Record<string, number> }>()
  for (const { at, outcome, count } of rows) {
    const bucket = data.get(at.getTime()) ?? { at: at.toISOString(), counts: {} }
    bucket.counts[outcome] = Number(count)
    data.set(at.getTime(), bucket)
  }
  return { from: from.toISOString(), to: to.toISOString(), interval, data: [...data.values()] }
}

function checkSpan(from: Date, to: Date, interval: Interval): void {
  const faults: Fault[] = []
  if (from >= to) faults.push({ pointer: '?from', code: 'not_before', detail: 'This must lie before "to".' })
  else if (to.getTime() - from.getTime() > MAX_SPAN_MS[interval])
    faults.push({
      pointer: '?from',
      code: 'too_far',
      detail: `At most ${MAX_SPAN_MS[interval] / DAY} days can be asked for at once by the ${interval}.`,
    })
  if (faults.length > 0) failInput(faults)
}

// ---- rights that are not needed ---------------------------------------------------------------------------------------

const ADVICE_MS = 30 * DAY

export async function readAdvice(db: Db, ref: { storeId: string; keyId: string }) {
  const since = ago(ADVICE_MS)
  const { permissions } = await findKey(db, ref)
  const rows = await db.query<{ permission: string; at: Date }>(sql`
    select permission, at
      from key_exercise
     where key_id = ${ref.keyId}
       and at >= ${since}
     order by permission`)
  const exercised = Object.fromEntries(rows.map(({ permission, at }) => [permission, at.toISOString()]))
  const unused = permissions.filter((permission) => !Object.hasOwn(exercised, permission))
  return { since: since.toISOString(), unused, exercised }
}

async function findKey(db: Db, ref: { storeId: string; keyId: string }): Promise<{ permissions: Permission[] }> {
  const key = await db.one<{ permissions: Permission[] }>(sql`
    select permissions
      from api_keys
     where id = ${ref.keyId}
       and store_id = ${ref.storeId}`)
  return key ?? fail('key_not_found')
}

// ---- the end is near --------------------------------------------------------------------------------------------------

/** How many days ahead, nearest first. */
const NOTICE_DAYS = [1, 7, 30] as const
const NOTICE_BATCH = 500

/** A key that is born, or given an end, within one of these is not told of that one. */
export function lastNoticeDue(expiresAt: Date | null): number | null {
  return NOTICE_DAYS.find((days) => expiresAt !== null && expiresAt <= fromNow(days * DAY)) ?? null
}

/** House-keeping: each step ahead of the end is an event, once, whichever node comes first. */
export async function sendExpiryNotices(db: Db): Promise<void> {
  for (const days of NOTICE_DAYS)
    await db.transaction(async (tx) => {
      const keys = await tx.query<{ id: string; store_id: string; expires_at: Date }>(sql`
        update api_keys
           set expiring_told = ${days}
         where id in (
                 select key.id
                   from api_keys key
                   join stores store on store.id = key.store_id and store.deleted_at is null
                  where key.expires_at > ${now()}
                    and key.expires_at <= ${fromNow(days * DAY)}
                    and key.revoked_at is null
                    and (key.expiring_told is null or key.expiring_told > ${days})
                  order by key.expires_at
                  limit ${NOTICE_BATCH}
                    for no key update of key skip locked
               )
     returning id, store_id, expires_at`)
      await writeEvents(
        tx,
        keys.map((key) => newEvent(SYSTEM, key.store_id, 'key.expiring', key.id, { expiresAt: key.expires_at, days })),
      )
    })
}
