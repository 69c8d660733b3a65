// Gives each event its position and its hash, after it was committed. An id is given before the commit, so that ids alone
// are no order one could read by: what commits late would be missed. Here one node at a time (an advisory lock, taken
// anew for each pass, so that a node that dies holds up nobody) takes what has been committed since and appends it to
// its store's chain. Writers know nothing of it and wait for nothing.
//
// The order is that of the transactions: what was committed before another began stands before it, whatever the clocks of
// their nodes say. A transaction that is held open delays its own events and nobody else's.

import { now, SECOND } from '../clock.ts'
import { type Db, sql } from '../db/db.ts'
import { genesis, nextHash, SYSTEM_CHAIN } from './chain.ts'
import { EVENTS_CHANNEL, type SealedRow, showSealed } from './log.ts'

const LOCK = 7_320_001
/** About 8 ms of this process: no request waits longer for it than that. */
const AT_ONCE = 500
const PAUSE_MS = SECOND / 2

/** Every event of a transaction below this one is sealed: nobody has to walk over the dead entries of the index again. */
type Mark = { through: string }

export type Sealer = { close(): Promise<void>; sealed(): number }

export function startSealing(db: Db): Sealer {
  const mark: Mark = { through: '0' }
  let sealed = 0
  let closing = false
  let working = Promise.resolve()

  async function work(): Promise<void> {
    // What is not sealed now is in the next pass.
    for (let count = AT_ONCE; count === AT_ONCE && !closing; sealed += count)
      count = await sealSome(db, mark).catch(() => 0)
  }

  const timer = setInterval(() => {
    if (idle) begin()
  }, PAUSE_MS).unref()
  let idle = true
  function begin(): void {
    idle = false
    working = work().finally(() => {
      idle = true
    })
  }

  return {
    sealed: () => sealed,
    close() {
      closing = true
      clearInterval(timer)
      return working
    },
  }
}

/** All that is committed now, unless another is at it. For the operator's commands. */
export async function sealAll(db: Db): Promise<void> {
  const mark: Mark = { through: '0' }
  while ((await sealSome(db, mark)) === AT_ONCE);
}

type WaitingRow = Omit<SealedRow, 'seq' | 'hash'> & { head_seq: string | null; head_hash: string | null }

async function sealSome(db: Db, mark: Mark): Promise<number> {
  if (!(await anyWaiting(db, mark))) return 0
  let through = mark.through
  const count = await db.transaction(async (tx) => {
    const turn = await tx.one<{ mine: boolean; oldest: string }>(sql`
      select pg_try_advisory_xact_lock(${LOCK}) as mine,
             pg_snapshot_xmin(pg_current_snapshot())::text as oldest`)
    if (!turn?.mine) return 0
    const rows = await readWaiting(tx, mark)
    if (rows.length > 0) await append(tx, rows)
    if (rows.length < AT_ONCE) through = turn.oldest
    return rows.length
  })
  mark.through = through
  return count
}

async function anyWaiting(db: Db, mark: Mark): Promise<boolean> {
  const found = await db.query(sql`
    select id
      from events
     where seq is null
       and tx >= ${mark.through}::xid8
     order by tx, id
     limit 1`)
  return found.length > 0
}

function readWaiting(tx: Db, mark: Mark): Promise<WaitingRow[]> {
  return tx.query<WaitingRow>(sql`
    select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data,
           head.seq as head_seq, encode(head.hash, 'hex') as head_hash
      from events event
      left join event_heads head on head.chain = coalesce(event.store_id, ${SYSTEM_CHAIN})
     where event.seq is null
       and event.tx >= ${mark.through}::xid8
     order by event.tx, event.id
     limit ${AT_ONCE}`)
}

/** Every chain goes on from its head. */
async function append(tx: Db, rows: WaitingRow[]): Promise<void> {
  const heads = new Map<string, { seq: number; hash: string }>()
  const places = rows.map((row) => {
    const chain = row.store_id ?? SYSTEM_CHAIN
    const head = heads.get(chain) ?? { seq: Number(row.head_seq ?? 0), hash: row.head_hash ?? genesis(chain) }
    const seq = head.seq + 1
    const hash = nextHash(head.hash, showSealed({ ...row, seq: String(seq) }))
    heads.set(chain, { seq, hash })
    return { id: row.id, seq, hash }
  })
  const ends = [...heads].map(([chain, { seq, hash }]) => ({ chain, seq, hash }))
  await tx.query(sql`
    with place as (
      select *
        from json_to_recordset(${JSON.stringify(places)}) as place(id text, seq bigint, hash text)
    ), ending as (
      select *
        from json_to_recordset(${JSON.stringify(ends)}) as ending(chain text, seq bigint, hash text)
    ), sealed as (
      update events event
         set seq = place.seq,
             hash = decode(place.hash, 'hex')
        from place
       where event.id = place.id
    ), moved as (
      insert into event_heads (chain, seq, hash, at)
      select chain, seq, decode(hash, 'hex'), ${now()}
        from ending
       order by chain
          on conflict (chain) do update
         set seq = excluded.seq,
             hash = excluded.hash,
             at = excluded.at
    )
    select pg_notify(${EVENTS_CHANNEL}, chain)
      from ending`)
}
