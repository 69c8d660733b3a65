// The audit trail of a store, a page at a time, newest first: events that have no position yet, which they get within
// seconds of their commit, then the sealed ones by position. Whatever is sealed or written while a reader turns the pages,
// nothing that was there at the first page is missed, and nothing comes twice.
//
// One filter, or several types, are found by an index. Of what one filter finds, others may let nothing through: for a page
// no more than LOOKED_AT events are looked at. It may hold fewer than there is room for then, or none, and the next page goes on
// from there.

import { setTimeout as sleep } from 'node:timers/promises'
import { addMs, MINUTE } from '../core/clock.ts'
import { type Fault, fail } from '../core/errors.ts'
import { isId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import type { EventSealsRow, EventsRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { parseDateTime } from '../schema/fields.ts'
import { type SealedEventRow, toEvent } from './log.ts'
import { type Event, type EventType, TYPES_IN_STORES } from './schema.ts'

const LOOKED_AT = 5_000

export type Filters = { type?: string; subject?: string; actor?: string; from?: string; to?: string }

/** `from` is included, `to` is not. */
type Wanted = {
  storeId: string
  types: EventType[] | null
  subject: string | null
  actor: string | null
  from: Date | null
  to: Date | null
}

type TrailRow = Omit<SealedEventRow, 'hash' | 'seq'> & {
  /** Null while it is not sealed. */
  seq: EventSealsRow['seq'] | null
  /** Null for an event that was sealed when the first page was read, or that is found by its position. */
  tx: EventsRow['tx'] | null
  /** The end of the chain, and the oldest transaction of an event without a position, when the first page was read. */
  head: string | null
  oldest: string | null
}

export function listEvents(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams & Filters,
): Promise<Page<Event>> {
  const { type, subject = null, actor = null, from, to } = query
  const wanted: Wanted = {
    storeId,
    types: parseTypes(type),
    subject,
    actor,
    from: from === undefined ? null : parseDateTime(from),
    to: to === undefined ? null : parseDateTime(to),
  }
  let lookedTo: string | null = null
  return listPage({
    keyring: instance.keyring,
    list: ['events', storeId, type, query.subject, query.actor, from, to],
    query,
    start: NEWEST,
    read: async ({ after, take }) => {
      const place = toPlace(after)
      const within = await positionsWithin(db, wanted)
      lookedTo = await lastLookedAt(db, wanted, endOf(place, within), within)
      const bounds = lookedTo === null ? within : { ...within, first: lookedTo }
      return db.query<TrailRow>(sql`
        select *
          from ((${pendingEvents(wanted, place, take)}) union all (${sealedEvents(wanted, place, bounds, take)})) as page
         order by tx desc nulls last, seq desc nulls first, id desc
         limit ${take}`)
    },
    positionOf: ({ tx, seq, id, head, oldest }) => (tx === null ? String(seq) : [head, oldest, tx, id].join(' ')),
    show: showEvent,
    lookedTo: async () => lookedTo,
  })
}

/** As the API shows it; events of a trail always have a store. */
function showEvent(row: Omit<SealedEventRow, 'hash' | 'seq'> & Pick<TrailRow, 'seq'>): Event {
  const { seq: _, ...event } = toEvent({ ...row, seq: row.seq ?? '0' })
  return { ...event, position: row.seq === null ? null : Number(row.seq) } as Event
}

export async function readEvent(db: Db, storeId: string, eventId: string): Promise<Event> {
  const row = await db.one<TrailRow>(sql`
    select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, seal.seq
      from events event
      left join event_seals seal on seal.event_id = event.id
     where event.id = ${eventId}
       and event.store_id = ${storeId}`)
  return showEvent(row ?? fail('event_not_found'))
}

// ---- where a page begins --------------------------------------------------------------------------------------------

/** A cursor is a position, or it lies among the events that had none when the first page was read. */
type Place =
  | { kind: 'newest' }
  | { kind: 'pending'; head: string; oldest: string; tx: string; id: string }
  | { kind: 'sealed'; below: string }
const NEWEST = 'newest'

function toPlace(after: string): Place {
  if (after === NEWEST) return { kind: 'newest' }
  const [head, oldest, tx, id] = after.split(' ') as [string, string, string, string]
  return oldest === undefined ? { kind: 'sealed', below: head } : { kind: 'pending', head, oldest, tx, id }
}

/** Those without a position when the first page was read, by transaction and id, newest first. */
function pendingEvents(wanted: Wanted, place: Place, take: number): Sql {
  if (place.kind === 'sealed') return NO_EVENTS
  const { storeId } = wanted
  if (place.kind === 'newest')
    return sql`
      select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data,
             null::bigint as seq, event.tx,
             coalesce((select seq from event_heads where chain = ${storeId}), 0) as head,
             min(event.tx::text::numeric) over ()::text as oldest
        from unsealed_events event
       where event.store_id = ${storeId}
         and ${isWanted(wanted)}
       order by event.tx desc, event.id desc
       limit ${take}`
  // Meanwhile they may have been sealed: above the head there was then.
  return sql`
    select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, seal.seq, event.tx,
           ${place.head}::bigint as head, ${place.oldest}::text as oldest
      from events event
      left join event_seals seal on seal.event_id = event.id
     where event.tx >= ${place.oldest}::xid8
       and (event.tx, event.id) < (${place.tx}::xid8, ${place.id})
       and event.store_id = ${storeId}
       and (seal.seq is null or seal.seq > ${place.head})
       and ${isWanted(wanted)}
     order by event.tx desc, event.id desc
     limit ${take}`
}

const NO_EVENTS = sql`
  select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, null::bigint as seq,
         event.tx, null::bigint as head, null::text as oldest
    from events event
   where false`

function isWanted({ types, subject, actor, from, to }: Wanted): Sql {
  return sql`
    (${types}::text[] is null or event.type = any(${types}))
    and (${subject}::text is null or event.subject = ${subject})
    and (${actor}::text is null or event.actor ->> 'id' = ${actor})
    and (${from}::timestamptz is null or event.at >= ${from})
    and (${to}::timestamptz is null or event.at < ${to})`
}

// ---- sealed events, by position -------------------------------------------------------------------------------------

type Positions = { first: string; below: string }

function sealedEvents(wanted: Wanted, place: Place, bounds: Positions, take: number): Sql {
  const { storeId, types, subject, actor } = wanted
  const end = endOf(place, bounds)
  // The filter that an index has in the order of positions comes first; few events are left for the others.
  if (subject !== null || actor !== null || types === null)
    return sql`
      ${sealedColumns(wanted)}
         and ${inIndexOrder(wanted)}
         and seal.seq < ${end}
         ${notBefore(bounds)}
         and (${types}::text[] is null or seal.type = any(${types}))
       order by seal.seq desc
       limit ${take}`
  // The newest of each type, then the newest of those: no index has several types in one order.
  return sql`
    select found.*
      from unnest(${types}::text[]) as wanted(type)
     cross join lateral (
             ${sealedColumns(wanted)}
                and seal.chain = ${storeId}
                and seal.type = wanted.type
                and seal.seq < ${end}
                ${notBefore(bounds)}
              order by seal.seq desc
              limit ${take}
           ) as found
     order by found.seq desc
     limit ${take}`
}

function sealedColumns({ from, to }: Wanted): Sql {
  return sql`
    select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, seal.seq,
           null::xid8 as tx, null::bigint as head, null::text as oldest
      from event_seals seal
      join events event on event.id = seal.event_id
     where (${from}::timestamptz is null or event.at >= ${from})
       and (${to}::timestamptz is null or event.at < ${to})`
}

/** Left out where it says nothing: without statistics a range of positions looks like few rows, whatever its ends. */
function notBefore({ first }: Positions): Sql {
  return first === FIRST ? sql`` : sql`and seal.seq >= ${first}`
}

function inIndexOrder({ storeId, subject, actor }: Wanted): Sql {
  if (subject === null && actor === null) return sql`seal.chain = ${storeId}`
  if (subject === null) return sql`seal.chain = ${storeId} and seal.actor = ${actor}`
  if (actor === null) return sql`seal.chain = ${storeId} and seal.subject = ${subject}`
  // The index of subjects leads, by which lastLookedAt counts.
  return sql`seal.chain = ${storeId} and seal.subject = ${subject} and seal.actor || '' = ${actor}`
}

/** The position of the last of those that are looked at; null when all are, or when what is looked at is what is wanted. */
async function lastLookedAt(db: Db, wanted: Wanted, end: string, bounds: Positions): Promise<string | null> {
  const { storeId, types, subject, actor, from, to } = wanted
  const isTimed = from !== null || to !== null
  const filters = [subject, actor, types].filter((filter) => filter !== null).length
  if (!isTimed && filters < 2) return null
  if (subject !== null || actor !== null || types === null) {
    const last = await db.one<Pick<EventSealsRow, 'seq'>>(sql`
      select seal.seq
        from event_seals seal
       where ${subject !== null && actor !== null ? inIndexOrder({ ...wanted, actor: null }) : inIndexOrder(wanted)}
         and seal.seq < ${end}
         ${notBefore(bounds)}
       order by seal.seq desc
      offset ${LOOKED_AT - 1}
       limit 1`)
    return last?.seq ?? null
  }
  // As many of each type.
  const last = await db.one<{ seq: string | null }>(sql`
    select max(found.seq)::text as seq
      from unnest(${types}::text[]) as wanted(type)
     cross join lateral (
             select seal.seq
               from event_seals seal
              where seal.chain = ${storeId}
                and seal.type = wanted.type
                and seal.seq < ${end}
                ${notBefore(bounds)}
              order by seal.seq desc
             offset ${Math.ceil(LOOKED_AT / types.length) - 1}
              limit 1
           ) as found`)
  return last?.seq ?? null
}

function endOf(place: Place, { below }: Positions): string {
  const end = place.kind === 'sealed' ? place.below : place.kind === 'pending' ? String(BigInt(place.head) + 1n) : LAST
  return BigInt(end) < BigInt(below) ? end : below
}

/** Below every position, and above. */
const FIRST = '0'
const LAST = '9223372036854775807'
/** The times of two events of a store may be in another order than their positions, by less than this. */
const DISORDER_MS = 15 * MINUTE

/** Where events of the wanted time can stand, so that a day of the past is found without reading all that came since. */
async function positionsWithin(db: Db, { storeId, from, to }: Wanted): Promise<Positions> {
  const [first, below] = await Promise.all([
    from === null ? null : firstPositionAt(db, storeId, addMs(from, -DISORDER_MS)),
    to === null ? null : firstPositionAt(db, storeId, addMs(to, DISORDER_MS)),
  ])
  // Behind the end more may be sealed before the page is read: that is within, unless its time is not.
  return { first: first?.seq ?? FIRST, below: below === null || below.atEnd ? LAST : below.seq }
}

/** By bisection: some twenty rows are looked at among a million. */
async function firstPositionAt(db: Db, storeId: string, at: Date): Promise<{ seq: string; atEnd: boolean } | null> {
  return db.one(sql`
    with recursive search(low, high) as (
      select coalesce((select min(seq) from event_seals where chain = ${storeId}), 1) - 1,
             coalesce((select seq from event_heads where chain = ${storeId}), 0) + 1
       union all
      select case when probe.at < ${at} then probe.seq else search.low end,
             case when probe.at < ${at} then search.high else probe.seq end
        from search
       cross join lateral (
               select seal.seq, event.at
                 from event_seals seal
                 join events event on event.id = seal.event_id
                where seal.chain = ${storeId}
                  and seal.seq = (search.low + search.high) / 2
             ) as probe
       where search.high - search.low > 1
    )
    select min(high)::text as seq, min(high) > coalesce((select seq from event_heads where chain = ${storeId}), 0) as "atEnd"
      from search`)
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
  detail: 'Unknown event type. Use types such as "key.created" or "key.*", separated by commas.',
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
    detail: 'This store has no such event. Send the id of the last event you received, or leave it out to start now.',
  })
}
