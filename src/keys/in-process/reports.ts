// Uses of keys that back ends counted themselves. Each of their processes reports under a name of its own, and numbers its
// reports; a number is written in one transaction with its counts, and only if it is larger than the last. So a report
// whose answer was lost can be sent again, and counts once.
//
// Many processes report the same few keys. Reports therefore wait for each other a moment, and those that wait together
// share a transaction (db/batch.ts), which writes each key once.

import { setTimeout as sleep } from 'node:timers/promises'
import { DAY, HOUR, SECOND } from '../../core/clock.ts'
import type { Batch, Db } from '../../db/db.ts'
import { recordset } from '../../db/recordset.ts'
import { sql } from '../../db/sql.ts'
import type { ApiKeysRow } from '../../db/tables.gen.ts'
import type { Instance } from '../../instance.ts'
import { type Counter, newCounter, writeCounters } from '../usage.ts'
import type { ReceivedReport, UsageReports } from './schema.ts'

const GATHER_MS = SECOND / 4
/** A process that has been silent for this long is forgotten: a report is not sent again after so much time. */
export const REPORTERS_KEPT_MS = DAY
/** Of each token, the processes that have reported last are kept. */
const MAX_REPORTERS = 5_000

export function newUsageReports(db: Db, instance: Instance): UsageReports {
  let gathering: Promise<void> | null = null
  let uses = 0
  // One function for each node, since a queue of batches belongs to its function.
  const write: Batch<ReceivedReport, number> = (db, reports) =>
    db.transaction((tx) => writeReports(tx, instance, reports))
  const gather = () => {
    gathering ??= sleep(GATHER_MS).then(() => {
      gathering = null
    })
    return gathering
  }
  return {
    async add(report) {
      if (report.counts.length === 0) return
      await gather()
      uses += await db.batched(write, report)
    },
    uses: () => uses,
  }
}

const lastReports = recordset('report', { service_id: 'text', id: 'text', seq: 'bigint', at: 'timestamptz' })

/** For each report, how many uses it added. */
async function writeReports(tx: Db, instance: Instance, reports: ReceivedReport[]): Promise<number[]> {
  const fresh = await takeFresh(tx, reports)
  const keys = await readKeys(tx, fresh)
  const counters = new Map<string, Counter>()
  const added = new Map(fresh.map((report) => [report, addCounts(counters, instance, keys, report)]))
  if (counters.size > 0) await writeCounters(tx, instance.keyring, [...counters.values()])
  return reports.map((report) => added.get(report) ?? 0)
}

/** Locks the reporters, in one order for all nodes, and gives the reports that were not written before. */
async function takeFresh(tx: Db, reports: ReceivedReport[]): Promise<ReceivedReport[]> {
  const nameOf = (serviceId: string, reporter: string) => `${serviceId} ${reporter}`
  const reporters = new Map(
    reports.map(({ serviceId, reporter, at }) => [
      nameOf(serviceId, reporter),
      { service_id: serviceId, id: reporter, seq: 0, at },
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
  await forgetOldest(tx, [...new Set(known.flatMap(({ service_id, is_new }) => (is_new ? [service_id] : [])))])
  const last = new Map(known.map(({ service_id, id, seq }) => [nameOf(service_id, id), Number(seq)]))
  const fresh = [...reports]
    .sort((one, other) => one.seq - other.seq)
    .filter(({ serviceId, reporter, seq }) => {
      const name = nameOf(serviceId, reporter)
      if (seq <= (last.get(name) ?? 0)) return false
      last.set(name, seq)
      return true
    })
  const written = fresh.map(({ serviceId, reporter, seq, at }) => ({ service_id: serviceId, id: reporter, seq, at }))
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
  return fresh
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

type ReportedKey = Pick<ApiKeysRow, 'id' | 'store_id' | 'secret_no' | 'rotated_at' | 'previous_expires_at'>

async function readKeys(tx: Db, reports: ReceivedReport[]): Promise<Map<string, ReportedKey>> {
  const ids = [...new Set(reports.flatMap(({ counts }) => counts.map(({ keyId }) => keyId)))]
  const keys = await tx.query<ReportedKey>(sql`
    select id, store_id, secret_no, rotated_at, previous_expires_at
      from api_keys
     where id = any(${ids})`)
  return new Map(keys.map((key) => [key.id, key]))
}

/**
 * A report tells of the last day, and may itself have waited for a part of it. A secret that had stopped working before
 * that was not used: the previous one works until its grace is over, an older one until the last rotation at most.
 */
function mayHaveUsed({ secret_no, rotated_at, previous_expires_at }: ReportedKey, secret: number, at: Date): boolean {
  if (secret >= secret_no) return secret === secret_no
  const ended = secret === secret_no - 1 ? (previous_expires_at ?? rotated_at) : rotated_at
  return ended === null || at.getTime() - ended.getTime() < DAY
}

/**
 * A key of another store is passed over like one that does not exist, and so is a secret that a key never had or that
 * cannot have been used.
 */
function addCounts(
  counters: Map<string, Counter>,
  { permissions: catalogue }: Instance,
  keys: Map<string, ReportedKey>,
  { counts, serviceId, storeIds, at }: ReceivedReport,
): number {
  let added = 0
  for (const { keyId, secret, valid, agoMs, permissions = {} } of counts) {
    const key = keys.get(keyId)
    if (!key || storeIds?.includes(key.store_id) === false || !mayHaveUsed(key, secret, at)) continue
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
