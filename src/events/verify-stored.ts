// Checks all chains of a database in place, after it was copied from elsewhere: every event hashed anew, every position,
// and the head of every chain.

import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { genesis, nextHash } from './hash-chain.ts'
import { type SealedEventRow, toEvent } from './log.ts'

const PAGE = 2_000

/** Returns the number of sealed events. Throws at the first fault. */
export async function verifyStoredChains(
  db: Pick<Db, 'query'>,
  progress: (events: number) => void = () => {},
): Promise<number> {
  let at = { chain: '', seq: 0, hash: '' }
  for (let count = 0; ; progress(count)) {
    const page = await readPage(db, at.chain, at.seq)
    for (const { chain, ...row } of page) {
      if (chain !== at.chain) at = { chain, seq: 0, hash: genesis(chain) }
      const hash = row.id === null ? null : nextHash(at.hash, toEvent(row))
      if (Number(row.seq) !== at.seq + 1 || hash !== row.hash)
        throw new Error(`The chain of events of ${chain} is not sound at position ${at.seq + 1}.`)
      at = { chain, seq: at.seq + 1, hash }
    }
    count += page.length
    if (page.length === PAGE) continue
    await verifyHeads(db)
    return count
  }
}

/** An event that is missing has no id. */
function readPage(db: Pick<Db, 'query'>, chain: string, seq: number): Promise<(SealedEventRow & { chain: string })[]> {
  return db.query(sql`
    select seal.chain, seal.seq, encode(seal.hash, 'hex') as hash, event.id, event.store_id, event.type, event.at,
           event.actor, event.subject, event.data
      from (
             select chain, seq, hash, event_id
               from event_seals
              where (chain, seq) > (${chain}, ${seq})
              order by chain, seq
              limit ${PAGE}
           ) as seal
      left join events event on event.id = seal.event_id
     order by seal.chain, seal.seq`)
}

async function verifyHeads(db: Pick<Db, 'query'>): Promise<void> {
  const [wrong] = await db.query<{ chain: string }>(sql`
    select coalesce(head.chain, ending.chain) as chain
      from event_heads head
      full join (
             select distinct on (chain) chain, seq, hash
               from event_seals
              order by chain, seq desc
           ) as ending on ending.chain = head.chain
     where (head.seq, head.hash) is distinct from (ending.seq, ending.hash)
     limit 1`)
  if (wrong) throw new Error(`The head of the chain of events of ${wrong.chain} is not its last position.`)
}
