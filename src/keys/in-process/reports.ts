// Uses of keys that back ends counted themselves. Each of their processes reports under a name of its own, and numbers its
// reports; a number is written in one transaction with its counts, and only if it is larger than the last. So a report
// whose answer was lost can be sent again, and counts once.
//
// Many processes report the same few keys. Reports therefore wait for each other a moment, and those that wait together
// share a transaction (db/batch.ts), which writes each key once. It holds the keys of many tenants, so it does not wait for
// long for one that somebody else has locked: then the reports without locked keys are written, and the others have another
// turn with those that come next.

import { setTimeout as sleep } from 'node:timers/promises'
import { DAY, HOUR, SECOND } from '../../core/clock.ts'
import { fail } from '../../core/errors.ts'
import type { Batch, Db } from '../../db/db.ts'
import { isLockTimeout } from '../../db/errors.ts'
import { recordset } from '../../db/recordset.ts'
import { sql } from '../../db/sql.ts'
import type { ApiKeysRow } from '../../db/tables.gen.ts'
import type { Instance } from '../../instance.ts'
import { type Counter, newCounter, writeCounters } from '../write-usage.ts'
import type { ReceivedReport, UsageReports } from './schema.ts'

const GATHER_MS = SECOND / 4
const LOCK_TIMEOUT = '200ms'
/** A report with a key that is locked has another turn for so long. */
const PATIENCE_MS = 2 * SECOND
/** A process that has been silent for this long is forgotten: a report is not sent again after so much time. */
export const REPORTERS_KEPT_MS = DAY
/** Of each token, the processes that have reported last are kept. */
const MAX_REPORTERS = 5_000
/**
 * They are looked through when so many have come to a node, not for each: that reads all of the token's, which takes 15 ms
 * of PostgreSQL, while the reports of other tenants wait in the same batch.
 */
const FORGET_EVERY = 100
const MAX_TOKENS = 10_000

export function newUsageReports(db: Db, instance: Instance): UsageReports {
  let gathering: Promise<void> | null = null
  let uses = 0
  // One function for each node, since a queue of batches belongs to its function.
  const isDue = newForgetting()
  const write: Batch<ReceivedReport, number | null> = async (db, reports) => {
    const writeThose = (which: 'all' | 'unlocked') =>
      db.transaction((tx) => writeReports(tx, instance, reports, which, isDue))
    try {
      return await writeThose('all')
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      return writeThose('unlocked')
    }
  }
  write.holderOf = ({ serviceId }) => serviceId
  const gather = () => {
    gathering ??= sleep(GATHER_MS).then(() => {
      gathering = null
    })
    return gathering
  }
  return {
    async add(report) {
      if (report.counts.length === 0) return
      const end = performance.now() + PATIENCE_MS
      let added: number | null
      do {
        await gather()
        added = await db.batched(write, report)
      } while (added === null && performance.now() < end)
      uses += added ?? fail('unavailable', { retryAfterSeconds: 1 })
    },
    uses: () => uses,
  }
}

/** For each report, how many uses it added; null when it was left for later. */
async function writeReports(
  tx: Db,
  instance: Instance,
  reports: ReceivedReport[],
  which: 'all' | 'unlocked',
  isDue: (serviceId: string) => boolean,
): Promise<(number | null)[]> {
  await tx.query(sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`)
  const last = await lockReporters(tx, reports, isDue)
  const keys = await readKeys(tx, reports)
  const locked = which === 'all' ? new Set() : await findLocked(tx, keys, reports)
  const isLocked = (report: ReceivedReport) => countedOf(keys, report).some(({ keyId }) => locked.has(keyId))
  const { fresh, later } = sortOut(reports, last, isLocked)
  await writeNumbers(tx, fresh)
  const counters = new Map<string, Counter>()
  const added = new Map(fresh.map((report) => [report, addCounts(counters, instance, keys, report)]))
  if (counters.size > 0) await writeCounters(tx, instance.keyring, [...counters.values()])
  return reports.map((report) => (later.has(report) ? null : (added.get(report) ?? 0)))
}

const nameOf = ({ serviceId, reporter }: ReceivedReport) => `${serviceId} ${reporter}`

const lastReports = recordset('report', { service_id: 'text', id: 'text', seq: 'bigint', at: 'timestamptz' })

/** Locks the reporters, in one order for all nodes, and gives the number of the last report of each. */
async function lockReporters(
  tx: Db,
  reports: ReceivedReport[],
  isDue: (serviceId: string) => boolean,
): Promise<Map<string, number>> {
  const reporters = new Map(
    reports.map((report) => [
      nameOf(report),
      { service_id: report.serviceId, id: report.reporter, seq: 0, at: report.at },
    ]),
  )
  const known = await tx.query<{ service_id: string; id: string; seq: string; is_new: boolean }>(sql`
    insert into usage_reporters (service_id, id, seq, at)
    select report.service_id, report.id, report.seq, report.at
      from ${lastReports([...reporters.values()])}
     order by report.service_id, report.id
        on conflict (service_id, id) do update
       set at = greatest(usage_reporters.at, excluded.at)
 -- A row that was not there before has no transaction that has updated it.
 returning service_id, id, seq, xmax = 0 as is_new`)
  await forgetOldest(tx, [
    ...new Set(known.flatMap((row) => (row.is_new && isDue(row.service_id) ? row.service_id : []))),
  ])
  return new Map(known.map(({ service_id, id, seq }) => [`${service_id} ${id}`, Number(seq)]))
}

/**
 * The reports that were not written before: those to be written now, and those for later. Once a report is left for later,
 * so are those of its process with the same number or a larger one: the number that is written says that all before it are
 * done.
 */
function sortOut(
  reports: ReceivedReport[],
  written: ReadonlyMap<string, number>,
  isLocked: (report: ReceivedReport) => boolean,
): { fresh: ReceivedReport[]; later: Set<ReceivedReport> } {
  const last = new Map(written)
  const waiting = new Set<string>()
  const fresh: ReceivedReport[] = []
  const later = new Set<ReceivedReport>()
  for (const report of [...reports].sort((one, other) => one.seq - other.seq)) {
    const name = nameOf(report)
    if (report.seq <= (last.get(name) ?? 0)) continue
    if (waiting.has(name) || isLocked(report)) {
      waiting.add(name)
      later.add(report)
    } else {
      last.set(name, report.seq)
      fresh.push(report)
    }
  }
  return { fresh, later }
}

async function writeNumbers(tx: Db, reports: ReceivedReport[]): Promise<void> {
  const written = reports.map(({ serviceId, reporter, seq, at }) => ({ service_id: serviceId, id: reporter, seq, at }))
  await tx.query(sql`
    update usage_reporters reporter
       set seq = written.seq
      from (
             select report.service_id, report.id, max(report.seq) as seq
               from ${lastReports(written)}
              group by report.service_id, report.id
           ) as written
     where reporter.service_id = written.service_id
       and reporter.id = written.id`)
}

/** Asked for each process that reports for the first time: whether to look through those of its token. */
function newForgetting(): (serviceId: string) => boolean {
  const newcomers = new Map<string, number>()
  return (serviceId) => {
    const count = (newcomers.get(serviceId) ?? 0) + 1
    if (newcomers.size >= MAX_TOKENS) newcomers.clear()
    newcomers.set(serviceId, count % FORGET_EVERY)
    return count === FORGET_EVERY
  }
}

/** Reporters that another transaction has locked are reporting now. */
async function forgetOldest(tx: Db, serviceIds: string[]): Promise<void> {
  if (serviceIds.length === 0) return
  await tx.query(sql`
    delete from usage_reporters
     where ctid = any(array(
             select ctid
               from usage_reporters
              where (service_id, id) in (
                      select service_id, id
                        from (
                               select service_id, id,
                                      row_number() over (partition by service_id order by at desc, id) as place
                                 from usage_reporters
                                where service_id = any(${serviceIds})
                             ) as ranked
                       where place > ${MAX_REPORTERS}
                    )
                for update skip locked
           ))`)
}

type Count = ReceivedReport['counts'][number]
type ReportedKey = Pick<
  ApiKeysRow,
  'id' | 'store_id' | 'secret_no' | 'rotated_at' | 'previous_expires_at' | 'revoked_at' | 'expires_at'
>

async function readKeys(tx: Db, reports: ReceivedReport[]): Promise<Map<string, ReportedKey>> {
  const ids = [...new Set(reports.flatMap(({ counts }) => counts.map(({ keyId }) => keyId)))]
  const keys = await tx.query<ReportedKey>(sql`
    select id, store_id, secret_no, rotated_at, previous_expires_at, revoked_at, expires_at
      from api_keys
     where id = any(${ids})`)
  return new Map(keys.map((key) => [key.id, key]))
}

/** Of the keys whose use is written, those that somebody else has locked. The others are locked, and nobody is waited for. */
async function findLocked(tx: Db, keys: Map<string, ReportedKey>, reports: ReceivedReport[]): Promise<Set<string>> {
  const ids = new Set(reports.flatMap((report) => countedOf(keys, report).map(({ keyId }) => keyId)))
  const unlocked = await tx.query<Pick<ApiKeysRow, 'id'>>(sql`
    select id
      from api_keys
     where id = any(${[...ids]})
       for no key update skip locked`)
  for (const { id } of unlocked) ids.delete(id)
  return ids
}

/**
 * A report tells of the last day, and may itself have waited for a part of it. A secret that had stopped working before
 * that was not used: the previous one works until its grace is over, an older one until the last rotation at most.
 */
function mayHaveUsed(key: ReportedKey, secret: number, at: Date): boolean {
  const { secret_no, rotated_at, previous_expires_at, revoked_at, expires_at } = key
  if (secret > secret_no) return false
  const secretEnd =
    secret === secret_no ? null : secret === secret_no - 1 ? (previous_expires_at ?? rotated_at) : rotated_at
  return [secretEnd, revoked_at, expires_at].every((end) => end === null || at.getTime() - end.getTime() < DAY)
}

/**
 * The counts that are written. A key of another store is passed over like one that does not exist, and so is a secret that a
 * key never had or that cannot have been used.
 */
function countedOf(keys: Map<string, ReportedKey>, { counts, storeIds, at }: ReceivedReport): Count[] {
  return counts.filter(({ keyId, secret }) => {
    const key = keys.get(keyId)
    return key && storeIds?.includes(key.store_id) !== false && mayHaveUsed(key, secret, at)
  })
}

function addCounts(
  counters: Map<string, Counter>,
  { permissions: catalogue }: Instance,
  keys: Map<string, ReportedKey>,
  report: ReceivedReport,
): number {
  const { serviceId, at } = report
  let added = 0
  for (const { keyId, secret, valid, agoMs, permissions = {} } of countedOf(keys, report)) {
    const usedAt = at.getTime() - agoMs
    const hour = usedAt - (usedAt % HOUR)
    const name = `${keyId} ${secret} ${hour}`
    const counter = counters.get(name) ?? newCounter(keyId, secret, hour)
    counters.set(name, counter)
    added += valid
    counter.valid += valid
    counter.usedAt = Math.max(counter.usedAt, usedAt)
    const source = counter.sources.get(serviceId)
    counter.sources.set(serviceId, { ip: null, serviceId, at: Math.max(usedAt, source?.at ?? 0) })
    for (const permission of catalogue) {
      const ago = Object.hasOwn(permissions, permission) ? permissions[permission] : undefined
      if (ago === undefined) continue
      counter.exercised.set(permission, Math.max(at.getTime() - ago, counter.exercised.get(permission) ?? 0))
    }
  }
  return added
}
