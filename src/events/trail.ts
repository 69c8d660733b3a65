// The audit trail of a store, a page at a time, newest first. Pages are cut by position: events sealed while a reader
// turns the pages have higher positions, so nothing is missed and nothing comes twice.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, fail } from '../core/errors.ts'
import { isId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { EventSealsRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { type SealedEventRow, toEvent } from './log.ts'
import { type Event, type EventType, TYPES_IN_STORES } from './schema.ts'

export type Filters = { type?: string; subject?: string }

/** Above every position. */
const START = '9223372036854775807'

export async function listEvents(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams & Filters,
): Promise<Page<Event>> {
  const types = parseTypes(query.type)
  return listPage({
    keyring: instance.keyring,
    list: ['events', storeId, query.type, query.subject],
    query,
    start: START,
    read: ({ after, take }) => find(db, { storeId, types, subject: query.subject, below: after, most: take }),
    positionOf: (row) => row.seq,
    show: showEvent,
  })
}

/** As the API shows it; events of a trail always have a store. */
function showEvent(row: Omit<SealedEventRow, 'hash'>): Event {
  const { seq: _, ...event } = toEvent(row)
  return event as Event
}

type Wanted = { storeId: string; types: EventType[] | null; subject: string | undefined; below: string; most: number }

function find(db: Db, { storeId, types, subject, below, most }: Wanted): Promise<SealedEventRow[]> {
  // One subject has few events: types are filtered among those.
  if (subject !== undefined)
    return db.query<SealedEventRow>(sql`
      select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, seal.seq
        from event_seals seal
        join events event on event.id = seal.event_id
       where seal.chain = ${storeId}
         and seal.subject = ${subject}
         and seal.seq < ${below}
         and (${types}::text[] is null or seal.type = any(${types}))
       order by seal.seq desc
       limit ${most}`)
  // The newest of each type, then the newest of those: no index has several types in one order.
  if (types)
    return db.query<SealedEventRow>(sql`
      select found.*
        from unnest(${types}::text[]) as wanted(type)
       cross join lateral (
               select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, seal.seq
                 from event_seals seal
                 join events event on event.id = seal.event_id
                where seal.chain = ${storeId}
                  and seal.type = wanted.type
                  and seal.seq < ${below}
                order by seal.seq desc
                limit ${most}
             ) as found
       order by found.seq desc
       limit ${most}`)
  return db.query<SealedEventRow>(sql`
    select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, seal.seq
      from event_seals seal
      join events event on event.id = seal.event_id
     where seal.chain = ${storeId}
       and seal.seq < ${below}
     order by seal.seq desc
     limit ${most}`)
}

/** `key.created`, `key.*`, or several of them with commas between. Null for all. */
export function parseTypes(text: string | undefined, faults: Fault[] = []): EventType[] | null {
  if (text === undefined) return null
  const meant = text
    .split(',')
    .map((part) =>
      TYPES_IN_STORES.filter((type) => type === part || (part.endsWith('.*') && type.startsWith(part.slice(0, -1)))),
    )
  if (meant.some((types) => types.length === 0)) faults.push(UNKNOWN_TYPE)
  return [...new Set(meant.flat())]
}

const UNKNOWN_TYPE = {
  pointer: '?type',
  code: 'unknown_value',
  detail: 'No event of a store has such a type. Give types such as "key.created" or "key.*", separated by commas.',
  example: 'key.*',
}

/** A webhook may deliver an event before it has its position: then the position is polled for. */
const WAIT_MS = 200
const MAX_WAITS = 25

/** The position of the last event a reader has. */
export async function positionOf(db: Db, storeId: string, eventId: string): Promise<number> {
  if (!isId('evt', eventId)) failUnknown()
  for (let waits = 0; waits < MAX_WAITS; waits++) {
    const found = await db.one<{ seq: EventSealsRow['seq'] | null }>(sql`
      select seal.seq
        from events event
        left join event_seals seal on seal.event_id = event.id
       where event.id = ${eventId}
         and event.store_id = ${storeId}`)
    if (!found) failUnknown()
    if (found.seq !== null) return Number(found.seq)
    await sleep(WAIT_MS)
  }
  return fail('unavailable', { retryAfterSeconds: 1 })
}

function failUnknown(): never {
  fail('invalid_cursor', {
    detail: 'There is no such event in this store. Give the id of the last event you have, or none to begin now.',
  })
}
