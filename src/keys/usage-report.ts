// Reports of a key's use: how often, with what outcome, and which of its permissions it needed.

import { addMs, ago, DAY, HOUR, now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { ApiKeysRow, KeyPermissionUseRow, KeyUsageRow } from '../db/tables.gen.ts'
import { parseDateTime } from '../schema/fields.ts'

// ---- use ------------------------------------------------------------------------------------------------------------

type Interval = 'hour' | 'day'
type UsageQuery = { from?: string; to?: string; interval?: Interval }

const STEP_MS: Record<Interval, number> = { hour: HOUR, day: DAY }
/** How far before `to` a `from` lies that was left out, and how far it may lie at most. */
const DEFAULT_SPAN_MS: Record<Interval, number> = { hour: DAY, day: 30 * DAY }
const MAX_SPAN_MS: Record<Interval, number> = { hour: 31 * DAY, day: 400 * DAY }

export async function readUsage(db: Db, ref: { storeId: string; keyId: string }, query: UsageQuery) {
  const interval = query.interval ?? 'hour'
  const to = (query.to && parseDateTime(query.to)) || now()
  const start = (query.from && parseDateTime(query.from)) || addMs(to, -DEFAULT_SPAN_MS[interval])
  checkSpan(start, to, interval)
  const from = new Date(start.getTime() - (start.getTime() % STEP_MS[interval]))
  await findKey(db, ref)
  const rows = await db.query<Pick<KeyUsageRow, 'at' | 'outcome' | 'count'>>(sql`
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

// ---- permissions that are not needed --------------------------------------------------------------------------------

const ADVICE_MS = 30 * DAY

export async function readAdvice(db: Db, ref: { storeId: string; keyId: string }) {
  const since = ago(ADVICE_MS)
  const { permissions } = await findKey(db, ref)
  const rows = await db.query<Pick<KeyPermissionUseRow, 'permission' | 'at'>>(sql`
    select permission, at
      from key_permission_use
     where key_id = ${ref.keyId}
       and at >= ${since}
     order by permission`)
  const exercised = Object.fromEntries(rows.map(({ permission, at }) => [permission, at.toISOString()]))
  const unused = permissions.filter((permission) => !Object.hasOwn(exercised, permission))
  return { since: since.toISOString(), unused, exercised }
}

async function findKey(db: Db, ref: { storeId: string; keyId: string }): Promise<Pick<ApiKeysRow, 'permissions'>> {
  const key = await db.one<Pick<ApiKeysRow, 'permissions'>>(sql`
    select permissions
      from api_keys
     where id = ${ref.keyId}
       and store_id = ${ref.storeId}`)
  return key ?? fail('key_not_found')
}
