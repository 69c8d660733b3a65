// Gives each committed event its position and its hash. Ids are assigned before the commit, so reading by id would miss
// events that commit late. Instead one node at a time (an advisory lock, taken for each pass, so that a dead node
// blocks no one) takes the events committed since the last pass and appends them to the chains of their stores. Writers
// do not wait for it, and their rows are not touched: a position is a row of its own.
//
// Events are ordered by transaction: one committed before another began comes first, whatever the clocks of their nodes
// say. A transaction that is held open delays its own events and no others.
//
// The watermark (watermark.ts) says which events are sealed. It advances in the transaction that seals, so it is
// correct on every node and after every crash.

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { now, SECOND } from '../core/clock.ts'
import type { ReportFailure } from '../core/failures.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { EventHeadsRow, EventsRow } from '../db/tables.gen.ts'
import { canonical, genesis, nextHashOf, SYSTEM_CHAIN } from './hash-chain.ts'
import { EVENTS_CHANNEL, type SealedEventRow } from './log.ts'
import { advance, type Position, parseSnapshot, type Watermark, watermarkAt } from './watermark.ts'

const LOCK = 7_320_001

/** About 8 ms of CPU: no request waits longer than that for a pass. */
const BATCH_SIZE = 500

const PAUSE_MS = SECOND / 2
export type Sealer = {
  close(): Promise<void>
  sealed(): number
  /** Whether the last pass failed. */
  failed(): boolean
}

export function startSealing(db: Db, failed: ReportFailure, pauseMs = PAUSE_MS): Sealer {
  let sealed = 0
  let hasFailed = false
  let closing = false
  let working = Promise.resolve()

  async function work(): Promise<void> {
    // Events left over by a failed pass are sealed by the next one.
    const pass = async () => {
      try {
        const count = await sealBatch(db)
        hasFailed = false
        return count
      } catch (error) {
        hasFailed = true
        failed('sealing', error)
        return 0
      }
    }
    for (let count = BATCH_SIZE; count === BATCH_SIZE && !closing; sealed += count) count = await pass()
  }

  const timer = setInterval(() => {
    if (idle) begin()
  }, pauseMs).unref()
  let idle = true
  function begin(): void {
    idle = false
    working = work().finally(() => {
      idle = true
    })
  }

  return {
    sealed: () => sealed,
    failed: () => hasFailed,
    close() {
      closing = true
      clearInterval(timer)
      return working
    },
  }
}

const SEAL_TIMEOUT_MS = 10 * SECOND

/** Seals everything committed so far, or waits for the node that is doing it. For the operator's commands. */
export async function sealAll(db: Db): Promise<void> {
  let end = performance.now() + SEAL_TIMEOUT_MS
  while ((await anyWaiting(db)) && performance.now() < end) {
    if ((await sealBatch(db)) === BATCH_SIZE) end = performance.now() + SEAL_TIMEOUT_MS
    else await sleep(WAIT_MS)
  }
}

const WAIT_MS = 20

/** Times and JSON stay text: there are thousands a second, and they are only written again. */
type WaitingRow = Pick<SealedEventRow, 'id' | 'store_id' | 'type' | 'subject'> & {
  at: string
  actor: string
  data: string
}

async function sealBatch(db: Db): Promise<number> {
  if (!(await anyWaiting(db))) return 0
  const { count, restored } = await db.transaction(async (tx) => {
    // Two statements, so that the second one sees what the previous holder of the lock has written.
    const [turn, { restored, ...watermark }] = await Promise.all([tryLock(tx), readWatermark(tx)])
    if (!turn || restored) return { count: 0, restored: turn && restored }
    const rows = await readNext(tx, watermark)
    const last = rows.at(-1)
    if (!last) return { count: 0, restored: false }
    const next = advance(watermark, parseSnapshot(last.snapshot), rows, BATCH_SIZE)
    await append(tx, rows.filter(isUnsealed), next)
    // Where the watermark cannot advance yet, there is no point in another pass at once.
    return { count: isDeepStrictEqual(watermark, next) ? 0 : rows.length, restored: false }
  })
  return restored ? sealRestored(db) : count
}

async function anyWaiting(db: Db): Promise<boolean> {
  const found = await db.one<{ any: boolean }>(sql`
    select server is distinct from (select system_identifier::text from pg_control_system())
           or tx > pg_snapshot_xmax(pg_current_snapshot())
           or exists (select from unsealed_events) as any
      from event_watermark
     where n = 1`)
  return found ? found.any : failWithoutWatermark()
}

function failWithoutWatermark(): never {
  throw new Error('The mark of sealing is missing.')
}

/** A node that hangs in the middle of a pass loses the lock after 2 s, before readers have waited for five. */
async function tryLock(tx: Db): Promise<boolean> {
  const turn = await tx.one<{ mine: boolean }>(sql`
    select pg_try_advisory_xact_lock(${LOCK}) as mine,
           set_config('idle_in_transaction_session_timeout', '2s', true)`)
  return turn?.mine === true
}

/** `restored`: the watermark is of another server, or above all transaction ids of this one (see sealRestored). */
async function readWatermark(tx: Db): Promise<Watermark & { restored: boolean }> {
  const watermark = await tx.one<Watermark & { restored: boolean }>(sql`
    select tx::text, id, open,
           server is distinct from (select system_identifier::text from pg_control_system())
           or tx > pg_snapshot_xmax(pg_current_snapshot()) as restored
      from event_watermark
     where n = 1`)
  return watermark ?? failWithoutWatermark()
}

type NextRow = WaitingRow & Pick<EventsRow, 'tx'> & { sealed: boolean; snapshot: string }

/**
 * The next events above the watermark, and the snapshot they were read in. One that is sealed already is among them
 * only after a restore, when new transactions reach the ids of old ones.
 */
function readNext(tx: Db, watermark: Watermark): Promise<NextRow[]> {
  return tx.query<NextRow>(sql`
    with next as (
      select *
        from (
               (
                 select *
                   from events
                  where (tx, id) > (${watermark.tx}::xid8, ${watermark.id})
                    and tx < pg_snapshot_xmax(pg_current_snapshot())
                  order by tx, id
                  limit ${BATCH_SIZE}
               )
                union all
               select late.*
                 from json_to_recordset(${JSON.stringify(watermark.open)}) as open(tx xid8, id text)
                cross join lateral (
                        select *
                          from events
                         where events.tx = open.tx
                           and events.id > open.id
                         order by events.tx, events.id
                         limit ${BATCH_SIZE}
                      ) as late
             ) as uncovered
       order by tx, id
       limit ${BATCH_SIZE}
    )
    select next.id, next.store_id, next.type, next.at::text, next.actor::text, next.subject, next.data::text,
           next.tx::text, seal.seq is not null as sealed, (select pg_current_snapshot()::text) as snapshot
      from next
      left join event_seals seal on seal.event_id = next.id
     order by next.tx, next.id`)
}

function isUnsealed(row: NextRow): boolean {
  return !row.sealed
}

/** Appends the events to their chains, and advances the watermark. */
async function append(tx: Db, rows: WaitingRow[], watermark: Watermark): Promise<void> {
  const heads = await readHeads(tx, new Set(rows.map(chainOf)))
  const write = newCanonicalizer()
  const seqs: number[] = []
  const hashes: string[] = []
  for (const row of rows) {
    const chain = chainOf(row)
    const head = heads.get(chain) ?? { seq: 0, hash: genesis(chain) }
    const seq = head.seq + 1
    const hash = nextHashOf(head.hash, write(row, seq))
    heads.set(chain, { seq, hash })
    seqs.push(seq)
    hashes.push(hash)
  }
  const newHeads = [...heads].map(([chain, { seq, hash }]) => ({ chain, seq, hash }))
  await tx.query(sql`
    with ending as (
      select *
        from json_to_recordset(${JSON.stringify(newHeads)}) as ending(chain text, seq bigint, hash text)
    ), sealed as (
      insert into event_seals (chain, seq, event_id, hash, type, subject, actor)
      select coalesce(event.store_id, ${SYSTEM_CHAIN}), seal.seq, event.id, decode(seal.hash, 'hex'), event.type,
             event.subject, coalesce(event.actor ->> 'id', '')
        from unnest(${arrayOf(rows.map(({ id }) => id))}::text[], ${arrayOf(seqs)}::bigint[], ${arrayOf(hashes)}::text[])
             as seal(event_id, seq, hash)
        join events event on event.id = seal.event_id
    ), advanced as (
      insert into event_heads (chain, seq, hash, at)
      select chain, seq, decode(hash, 'hex'), ${now()}
        from ending
       order by chain
          on conflict (chain) do update
         set seq = excluded.seq,
             hash = excluded.hash,
             at = excluded.at
    ), watermark as (
      update event_watermark
         set tx = ${watermark.tx}::xid8,
             id = ${watermark.id},
             open = ${JSON.stringify(watermark.open)},
             server = (select system_identifier::text from pg_control_system())
       where n = 1
    )
    select pg_notify(${EVENTS_CHANNEL}, chain)
      from ending`)
}

function chainOf({ store_id }: { store_id: string | null }): string {
  return store_id ?? SYSTEM_CHAIN
}

async function readHeads(tx: Db, chains: Set<string>): Promise<Map<string, { seq: number; hash: string }>> {
  const rows = await tx.query<Pick<EventHeadsRow, 'chain' | 'seq'> & { hash: string }>(sql`
    select chain, seq, encode(hash, 'hex') as hash
      from event_heads
     where chain = any(${[...chains]})`)
  return new Map(rows.map(({ chain, seq, hash }) => [chain, { seq: Number(seq), hash }]))
}

/**
 * An event as log.ts returns it, in canonical form: members in the order of their names. Actors repeat, so they are
 * cached.
 */
function newCanonicalizer(): (row: WaitingRow, seq: number) => string {
  const actors = new Map<string, string>()
  return (row, seq) => {
    const actor = actors.get(row.actor) ?? canonical(JSON.parse(row.actor))
    actors.set(row.actor, actor)
    const [id, store, subject, type] = [row.id, row.store_id, row.subject, row.type].map(canonical)
    const data = canonical(JSON.parse(row.data))
    return `{"actor":${actor},"at":"${showTime(row.at)}","data":${data},"id":${id},"seq":${seq},"storeId":${store},"subject":${subject},"type":${type}}`
  }
}

/** `2026-02-03 04:05:06.7+00` is 2026-02-03T04:05:06.700Z. */
function showTime(text: string): string {
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).slice(0, 3).padEnd(3, '0')}Z`
}

/** As an array literal: the driver would escape each element several times. */
function arrayOf(values: (string | number)[]): string {
  return `{${JSON.stringify(values).slice(1, -1)}}`
}

const SCAN_PAGE = 1_000
const MAX_TRIES = 10

/**
 * Must finish before the first write: events from before a restore are sealed before new ones. When several nodes
 * start, one does it and the others wait.
 */
export async function sealAfterRestore(db: Db, say: (line: string) => void): Promise<void> {
  const isRestored = async () => (await readWatermark(db)).restored
  if (!(await isRestored())) return
  const any = await db.one(sql`select from event_seals limit 1`)
  if (any) say('This database comes from another server: its events are looked through, once …')
  for (let tries = 1; await isRestored(); ) {
    try {
      await sealRestored(db)
    } catch (error) {
      // A passing fault of the database should not fail the start.
      if (tries === MAX_TRIES) throw error
      tries += 1
    }
    if (await isRestored()) await sleep(PAUSE_MS)
  }
}

/**
 * A dump restored on another server contains transaction ids of the old server, while the new one counts from its own,
 * often far below the watermark. So all events are scanned once for unsealed ones, in one transaction with one
 * snapshot, and the watermark is set to that snapshot. When transactions here later reach the old ids, the pass reads
 * those events again, finds them sealed, and goes on.
 */
async function sealRestored(db: Db): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.query(sql`set transaction isolation level repeatable read`)
    // Another node may have done it meanwhile.
    if (!(await tryLock(tx)) || !(await readWatermark(tx)).restored) return 0
    const moment = await tx.one<{ snapshot: string }>(sql`select pg_current_snapshot()::text as snapshot`)
    const watermark = watermarkAt(parseSnapshot(moment?.snapshot ?? ''))
    let count = 0
    let after: Position | undefined = { tx: '0', id: '' }
    while (after) {
      const page: (Position & { sealed: boolean })[] = await scanPage(tx, after)
      const lost = page.filter(({ sealed }) => !sealed).map(({ id }) => id)
      after = page.at(SCAN_PAGE - 1)
      if (lost.length > 0 || !after) await append(tx, await readEvents(tx, lost), watermark)
      count += lost.length
    }
    return count
  })
}

function scanPage(tx: Db, after: Position): Promise<(Position & { sealed: boolean })[]> {
  return tx.query(sql`
    select page.tx::text, page.id, seal.seq is not null as sealed
      from (
             select tx, id
               from events
              where (tx, id) > (${after.tx}::xid8, ${after.id})
              order by tx, id
              limit ${SCAN_PAGE}
           ) as page
      left join event_seals seal on seal.event_id = page.id
     order by page.tx, page.id`)
}

function readEvents(tx: Db, ids: string[]): Promise<WaitingRow[]> {
  return tx.query<WaitingRow>(sql`
    select id, store_id, type, at::text, actor::text, subject, data::text
      from events
     where id = any(${ids})
     order by tx, id`)
}
