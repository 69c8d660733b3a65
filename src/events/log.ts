// Reading sealed events in the order of their positions. Positions of a store have no gaps and no repeats, and are
// given only after the event was committed (seal.ts): a reader at a position has missed nothing below it, and nothing
// below it ever changes.
//
// The stream and webhooks build on:
//
//   readSealed(db, storeId, after, limit)   the events that follow a position, oldest first; 0 is before the first
//   readHead(db, storeId)                   the last position and its hash
//   eventNotifier.subscribe(listener)       listener(storeId) when events of that store were sealed on any node;
//                                           listener(null) when notifications may have been lost: check every store.
//                                           Returns the function that unsubscribes.
//
// A notification is a hint that can be lost or repeated; the position a reader has reached is authoritative.

import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { EventHeadsRow, EventSealsRow, EventsRow } from '../db/tables.gen.ts'
import { genesis, SYSTEM_CHAIN } from './hash-chain.ts'
import type { EventType, SealedEvent } from './schema.ts'

/** The sealing pass notifies this channel with the store's id, in the transaction that seals. */
export const EVENTS_CHANNEL = 'storekeeper_events'

export type SealedEventRow = Pick<EventsRow, 'id' | 'store_id' | 'at' | 'subject'> &
  Pick<EventSealsRow, 'seq'> & {
    type: EventType
    actor: SealedEvent['actor']
    data: Record<string, unknown>
    /** In hexadecimal. */
    hash: string
  }

export function toEvent(row: Omit<SealedEventRow, 'hash'>): SealedEvent {
  const { seq, id, type, actor, subject, data } = row
  return { seq: Number(seq), id, storeId: row.store_id, type, at: row.at.toISOString(), actor, subject, data }
}

/** Oldest first. `storeId` null: events that belong to no store. */
export async function readSealed(
  db: Db,
  storeId: string | null,
  after: number,
  limit: number,
): Promise<(SealedEvent & { hash: string })[]> {
  const rows = await db.query<SealedEventRow>(sql`
    select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, seal.seq,
           encode(seal.hash, 'hex') as hash
      from event_seals seal
      join events event on event.id = seal.event_id
     where seal.chain = ${storeId ?? SYSTEM_CHAIN}
       and seal.seq > ${after}
     order by seal.seq
     limit ${limit}`)
  return rows.map((row) => ({ ...toEvent(row), hash: row.hash }))
}

export type Head = { seq: number; hash: string; at: string | null }

/** Before the first event: position 0, and the hash that the first one is built on. */
export async function readHead(db: Db, storeId: string | null): Promise<Head> {
  const chain = storeId ?? SYSTEM_CHAIN
  const row = await db.one<Pick<EventHeadsRow, 'seq' | 'at'> & { hash: string }>(sql`
    select seq, encode(hash, 'hex') as hash, at
      from event_heads
     where chain = ${chain}`)
  if (!row) return { seq: 0, hash: genesis(chain), at: null }
  return { seq: Number(row.seq), hash: row.hash, at: row.at.toISOString() }
}

/** The heads of one store, of events outside stores (null), or of all chains. */
export async function readHeads(db: Db, storeId?: string | null): Promise<(Head & { storeId: string | null })[]> {
  const chain = storeId === undefined ? null : (storeId ?? SYSTEM_CHAIN)
  const rows = await db.query<Pick<EventHeadsRow, 'chain' | 'seq' | 'at'> & { hash: string }>(sql`
    select chain, seq, encode(hash, 'hex') as hash, at
      from event_heads
     where ${chain}::text is null
        or chain = ${chain}
     order by chain`)
  return rows.map((row) => ({
    storeId: row.chain === SYSTEM_CHAIN ? null : row.chain,
    seq: Number(row.seq),
    hash: row.hash,
    at: row.at.toISOString(),
  }))
}

export type EventNotifier = {
  subscribe(listener: (storeId: string | null) => void): () => void
  /** Called for each notification from the database (service.ts). */
  publish(storeId: string | null): void
}

export function newEventNotifier(): EventNotifier {
  const listeners = new Set<(storeId: string | null) => void>()
  return {
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    publish(storeId) {
      for (const listener of listeners) listener(storeId)
    },
  }
}

/** The age in seconds of the oldest event without a seal: the index leads to it first. */
export async function readSealingLag(db: Db): Promise<number> {
  const oldest = await db.one<{ seconds: number }>(sql`
    select greatest(0, extract(epoch from clock_timestamp() - at))::float8 as seconds
      from unsealed_events
     limit 1`)
  return oldest?.seconds ?? 0
}
