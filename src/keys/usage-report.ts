// Reports of the use of keys: how often, with what outcome, and which of its permissions a key needed.

import { addMs, ago, DAY, HOUR, now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { groupBy } from '../core/group-by.ts'
import { DEFAULT_LIMIT, listPage, type PageParams, placeLookedTo } from '../core/pagination.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import type { ApiKeysRow, KeyPermissionUseRow, KeySourcesRow, KeyUsageRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { parseDateTime } from '../schema/fields.ts'
import { ownedBy } from './filter.ts'
import { parseOwnerOf } from './input.ts'
import { MAX_SOURCES } from './write-usage.ts'

// ---- use ------------------------------------------------------------------------------------------------------------

type Interval = 'hour' | 'day'
type UsageQuery = { from?: string; to?: string; interval?: Interval }

const STEP_MS: Record<Interval, number> = { hour: HOUR, day: DAY }
/** How far before `to` a `from` lies that was left out, and how far it may lie at most. */
const DEFAULT_SPAN_MS: Record<Interval, number> = { hour: DAY, day: 30 * DAY }
const MAX_SPAN_MS: Record<Interval, number> = { hour: 31 * DAY, day: 400 * DAY }

type Span = { from: Date; to: Date; interval: Interval }

function parseSpan(query: UsageQuery): Span {
  const interval = query.interval ?? 'hour'
  const to = (query.to && parseDateTime(query.to)) || now()
  const start = (query.from && parseDateTime(query.from)) || addMs(to, -DEFAULT_SPAN_MS[interval])
  checkSpan(start, to, interval)
  return { from: new Date(start.getTime() - (start.getTime() % STEP_MS[interval])), to, interval }
}

function showSpan({ from, to, interval }: Span) {
  return { from: from.toISOString(), to: to.toISOString(), interval }
}

type CountRow = Pick<KeyUsageRow, 'key_id' | 'at' | 'outcome' | 'count'>
type SecretCountRow = Pick<KeyUsageRow, 'secret_no' | 'outcome' | 'count'>

/** Hours become days when they are old. One after the other: so each is a part of the index, from its first row to its last. */
function usageOf(keyId: Sql, { from, to, interval }: Span): Sql {
  const inSpan = sql`key_usage.key_id = ${keyId} and at >= ${from} and at < ${to}`
  return sql`
    select at, outcome, secret_no, count from key_usage where ${inSpan} and grain = 'hour'
     union all
    select at, outcome, secret_no, count from key_usage where ${inSpan} and grain = 'day' and ${interval} = 'day'`
}

function readCounts(db: Db, keyIds: string[], span: Span): Promise<CountRow[]> {
  return db.query<CountRow>(sql`
    select asked.key_id, date_trunc(${span.interval}, used.at) as at, used.outcome, sum(used.count) as count
      from unnest(${keyIds}::text[]) as asked(key_id)
      -- A lateral join, key by key: a plain one may read all uses of that time, those of other keys too.
     cross join lateral (${usageOf(sql`asked.key_id`, span)}) as used
     group by 1, 2, 3
     order by 1, 2, 3`)
}

/** Of the secrets that are shown: the current and the previous one. */
function readSecretCounts(db: Db, keyId: string, secretNo: number, span: Span): Promise<SecretCountRow[]> {
  return db.query<SecretCountRow>(sql`
    select secret_no, outcome, sum(count) as count
      from (${usageOf(sql`${keyId}`, span)}) as used
     where secret_no in (${secretNo}, ${secretNo - 1})
     group by 1, 2
     order by 1, 2`)
}

type Counts = Record<string, number>
type Count = Pick<CountRow, 'outcome' | 'count'>

function addUp(rows: Count[]): Counts {
  const counts: Counts = {}
  for (const { outcome, count } of rows) counts[outcome] = (counts[outcome] ?? 0) + Number(count)
  return counts
}

/** Oldest first, as the rows of one key come. */
function byTime(rows: (Count & Pick<CountRow, 'at'>)[]): { at: string; counts: Counts }[] {
  const byMoment = groupBy(rows, ({ at }) => at.getTime())
  return [...byMoment].map(([moment, some]) => ({ at: new Date(moment).toISOString(), counts: addUp(some) }))
}

/** Of one moment: what is used and rotated meanwhile is in all parts of the report or in none. */
export function readUsage(db: Db, ref: { storeId: string; keyId: string }, query: UsageQuery) {
  const span = parseSpan(query)
  return db.transaction(async (tx) => {
    tx.withCommit(sql`set transaction isolation level repeatable read, read only`)
    return readUsageIn(tx, ref, span)
  })
}

async function readUsageIn(tx: Db, ref: { storeId: string; keyId: string }, span: Span) {
  const key = await findKey(tx, ref)
  const [rows, secretRows, sources] = await Promise.all([
    readCounts(tx, [ref.keyId], span),
    readSecretCounts(tx, ref.keyId, key.secret_no, span),
    tx.query<Pick<KeySourcesRow, 'secret_no' | 'ip' | 'service_id' | 'last_used_at'>>(sql`
      select secret_no, ip, service_id, last_used_at
        from key_sources
       where key_id = ${ref.keyId}
       order by last_used_at desc, ip, service_id`),
  ])
  const ofSecret = (no: number, usedAt: Date | null) => ({
    counts: addUp(secretRows.filter(({ secret_no }) => secret_no === no)),
    lastUsedAt: usedAt?.toISOString() ?? null,
    sources: sources
      .filter(({ secret_no }) => secret_no === no)
      .slice(0, MAX_SOURCES)
      .map(({ ip, service_id, last_used_at }) => ({
        ip: ip || null,
        service: service_id || null,
        lastUsedAt: last_used_at.toISOString(),
      })),
  })
  return {
    ...showSpan(span),
    data: byTime(rows),
    bySecret: {
      current: ofSecret(key.secret_no, key.secret_used_at),
      previous: key.secret_no === 1 ? null : ofSecret(key.secret_no - 1, key.previous_used_at),
    },
  }
}

/** So many keys are looked at for a page, however few of them were used. */
const LOOKED_AT = 2_000

function newest(storeId: string, after: string): Sql {
  return sql`
    select id
      from api_keys
     where store_id = ${storeId}
       and id < ${after}
     order by id desc
     limit ${LOOKED_AT}`
}

/** A page has fewer keys than were asked for if the period has very many hours or days. */
const MAX_STEPS = 5_000

function keysAtOnce({ from, to, interval }: Span, { limit = DEFAULT_LIMIT }: PageParams): number {
  const steps = Math.ceil((to.getTime() - from.getTime()) / STEP_MS[interval])
  return Math.max(1, Math.min(limit, Math.floor(MAX_STEPS / steps)))
}

/** The use of every key of the store that was used in that time, newest key first. */
export async function readStoreUsage(db: Db, instance: Instance, storeId: string, query: UsageQuery & PageParams) {
  const span = parseSpan(query)
  const page = await listPage({
    keyring: instance.keyring,
    list: ['usage', storeId, query.from, query.to, query.interval],
    query: { ...query, limit: keysAtOnce(span, query) },
    read: ({ after, take }) =>
      db.query<Pick<ApiKeysRow, 'id'>>(sql`
        select key.id
          from (${newest(storeId, after)}) as key
          -- A lateral join, key by key: "exists" would be answered by all uses of that time, those of other stores too.
         cross join lateral (select from (${usageOf(sql`key.id`, span)}) as any_use limit 1) as used
         order by key.id desc
         limit ${take}`),
    positionOf: (row) => row.id,
    show: (row) => row.id,
    lookedTo: async ({ after }, shown) => {
      const last = await db.one<Pick<ApiKeysRow, 'id'>>(
        sql`select id from (${newest(storeId, after)}) as key offset ${LOOKED_AT - 1}`,
      )
      return placeLookedTo(last?.id, shown.at(-1)?.id)
    },
  })
  const rows = await readCounts(db, page.data, span)
  const byKey = groupBy(rows, ({ key_id }) => key_id)
  const data = page.data.map((keyId) => ({ keyId, data: byTime(byKey.get(keyId) ?? []) }))
  return { ...showSpan(span), data, nextCursor: page.nextCursor }
}

/** The use of all keys of an owner, added up. An owner without keys has none. */
export async function readOwnerUsage(db: Db, ref: { storeId: string; owner: string }, query: UsageQuery) {
  const owner = parseOwnerOf(ref.owner, '{owner}')
  const span = parseSpan(query)
  const rows = await db.query<Pick<CountRow, 'at' | 'outcome' | 'count'>>(sql`
    select date_trunc(${span.interval}, used.at) as at, used.outcome, sum(used.count) as count
      from api_keys
     cross join lateral (${usageOf(sql`api_keys.id`, span)}) as used
     where api_keys.store_id = ${ref.storeId}
       and ${ownedBy(owner)}
     group by 1, 2
     order by 1, 2`)
  return { ...showSpan(span), data: byTime(rows) }
}

function checkSpan(from: Date, to: Date, interval: Interval): void {
  const faults: Fault[] = []
  if (from >= to) faults.push({ pointer: '?from', code: 'not_before', detail: 'This must be before "to".' })
  else if (to.getTime() - from.getTime() > MAX_SPAN_MS[interval])
    faults.push({
      pointer: '?from',
      code: 'too_far',
      detail: `With interval ${interval}, one request can cover at most ${MAX_SPAN_MS[interval] / DAY} days.`,
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

type ReportedKey = Pick<ApiKeysRow, 'permissions' | 'secret_no' | 'secret_used_at' | 'previous_used_at'>

async function findKey(db: Db, ref: { storeId: string; keyId: string }): Promise<ReportedKey> {
  const key = await db.one<ReportedKey>(sql`
    select permissions, secret_no, secret_used_at, previous_used_at
      from api_keys
     where id = ${ref.keyId}
       and store_id = ${ref.storeId}`)
  return key ?? fail('key_not_found')
}
