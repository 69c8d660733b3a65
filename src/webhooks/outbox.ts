// The tables behind the dispatcher: the outbox becomes deliveries, deliveries that are due are leased, and their outcomes
// are recorded.

import { addMs, HOUR, now, SECOND } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Batch, Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { addDeliveries, TEST_TYPE } from './deliveries.ts'
import type { Cause, DeliveryStatus } from './schema.ts'

/** A leased delivery is started within 10 s, or released, and has ended 15 s later: after 30 s its node has died. */
export const START_WITHIN_MS = 10 * SECOND
const LEASE_MS = 30 * SECOND
/** How long after a store was deleted its messages, `store.deleted` among them, are still tried. */
export const AFTER_DELETE_MS = HOUR
/** One fan-out takes no more than a webhook may prefetch, so that its deliveries can be leased at once, without a poll. */
const OUTBOX_ROWS = 64
const OUTBOX_EVENTS = 100
/** So many stores are looked at, a few rows of each, or all rows of one. */
const OUTBOX_STORES = 32

export type Message = {
  webhook_id: string
  id: string
  event_id: string
  type: string
  cause: Cause
  attempts: number
  /** When it was leased. */
  taken: Date
  body: string
}

// ---- leasing ------------------------------------------------------------------------------------------------------------

type EventPart = {
  event_id: string
  type: string
  at: Date
  store_id: string
  actor: { kind: string; id: string } | null
  subject: string
  data: Record<string, unknown>
}

/** The message in the form of Standard Webhooks, with the other fields of the event beside. The same bytes at every try. */
function bodyOf(event: EventPart): string {
  const { kind, id } = event.actor ?? { kind: 'system', id: 'storekeeper' }
  return JSON.stringify({
    type: event.type,
    timestamp: event.at.toISOString(),
    id: event.event_id,
    storeId: event.store_id,
    actor: { kind, id },
    subject: event.subject,
    data: event.data,
  })
}

type LeaseLimits = {
  /** How many deliveries may be leased of each of these webhooks, and of any other. */
  roomFor: Record<string, number>
  otherwise: number
  /** Only of webhooks whose id comes after this one. */
  after: string
  most: number
}

/**
 * Leases deliveries that are due, a few of each webhook: the recursion hops from one webhook with something pending to the
 * next, so that the ten thousand messages of one webhook that is down are never read to find the one message of another.
 */
export async function leaseDue(db: Db, { roomFor, otherwise, after, most }: LeaseLimits): Promise<Message[]> {
  const at = now()
  const rows = await db.query<
    EventPart & Omit<Message, 'taken' | 'body'> & { event_there: boolean; created_at: Date }
  >(sql`
    with recursive pending(webhook_id) as (
      (
        select webhook_id
          from webhook_deliveries
         where status = 'PENDING'
           and webhook_id > ${after}
         order by webhook_id, next_attempt_at
         limit 1
      )
       union all
      select (
               select delivery.webhook_id
                 from webhook_deliveries delivery
                where delivery.status = 'PENDING'
                  and delivery.webhook_id > pending.webhook_id
                order by delivery.webhook_id, delivery.next_attempt_at
                limit 1
             )
        from pending
       where pending.webhook_id is not null
    ), due as materialized (
      select delivery.row_id, webhook.store_id
        from pending
        join webhooks webhook on webhook.id = pending.webhook_id
       cross join lateral (
               select ctid as row_id
                 from webhook_deliveries
                where webhook_id = pending.webhook_id
                  and status = 'PENDING'
                  and next_attempt_at <= ${at}
                order by next_attempt_at
                limit coalesce((${JSON.stringify(roomFor)}::jsonb ->> pending.webhook_id)::int, ${otherwise})
                  for update skip locked
             ) as delivery
       where webhook.enabled
         and coalesce((select deleted_at from stores where id = webhook.store_id), 'infinity') >
             ${addMs(at, -AFTER_DELETE_MS)}
       limit ${most}
    ), taken as (
      update webhook_deliveries delivery
         set next_attempt_at = ${addMs(at, LEASE_MS)}
        from due
       where delivery.ctid = due.row_id
   returning delivery.webhook_id, delivery.id, delivery.event_id, delivery.type, delivery.cause, delivery.attempts,
             delivery.created_at, due.store_id
    )
    select taken.*, event.id is not null as event_there, event.at, event.actor,
           coalesce(event.subject, taken.webhook_id) as subject, coalesce(event.data, '{}') as data
      from taken
      left join events event on event.id = taken.event_id
     order by taken.id`)
  return (
    rows
      // Events are never deleted before their deliveries, so only a test message has none.
      .filter((row) => row.event_there || row.type === TEST_TYPE)
      .map(({ webhook_id, id, event_id, type, cause, attempts, ...row }) => {
        const event = { ...row, event_id, type, at: row.at ?? row.created_at }
        return { webhook_id, id, event_id, type, cause, attempts, taken: at, body: bodyOf(event) }
      })
  )
}

/** Stores with rows in the outbox, behind this one. */
async function storesWaiting(db: Db, after: string): Promise<string[]> {
  const rows = await db.query<{ store_id: string }>(sql`
    with recursive waiting(store_id, n) as (
      (
        select store_id, 1
          from webhook_outbox
         where store_id > ${after}
         order by store_id
         limit 1
      )
       union all
      select (select store_id from webhook_outbox where store_id > waiting.store_id order by store_id limit 1), n + 1
        from waiting
       where waiting.store_id is not null
         and n < ${OUTBOX_STORES}
    )
    select store_id
      from waiting
     where store_id is not null`)
  return rows.map(({ store_id }) => store_id)
}

/**
 * Turns a part of the outbox into deliveries to the webhooks that were enabled and subscribed when the event happened,
 * even if they are disabled by now. Stores take turns, by fair queueing: first comes what is done when the fewest
 * deliveries of its store have been made, so that nobody waits for the thousands of another store. A few stores are looked
 * at, those behind `after`, and the oldest row of all. `mayLease` says whether one more delivery of a webhook may be leased
 * at once.
 */
export async function fanOut(
  db: Db,
  after: string,
  mayLease: (webhookId: string, already: number) => boolean,
): Promise<{ made: number; taken: Message[]; after: string }> {
  const stores = await storesWaiting(db, after)
  if (stores.length === 0) return after === '' ? { made: 0, taken: [], after } : fanOut(db, '', mayLease)
  const last = stores.length < OUTBOX_STORES ? '' : (stores.at(-1) ?? '')
  return db.transaction(async (tx) => {
    const at = now()
    const wanted = await tx.query<EventPart & { webhook_id: string; enabled: boolean }>(sql`
      with oldest as (
        select id, store_id, deliveries
          from webhook_outbox
         order by id
         limit 1
      ), candidate as (
        select first.id, first.turn
          from unnest(${stores}::text[]) as waiting(store_id)
         cross join lateral (
                 select id, sum(deliveries) over (order by id) as turn
                   from (
                          -- In the order of the index that leads to them, and to no others.
                          select id, deliveries
                            from webhook_outbox
                           where store_id between waiting.store_id and waiting.store_id
                           order by store_id, id
                           limit ${Math.ceil(OUTBOX_ROWS / stores.length)}
                        ) as theirs
               ) as first
         union all
        select id, deliveries
          from oldest
         where store_id <> all(${stores})
      ), free as (
        select id, candidate.turn, cardinality(event_ids) as events
          from candidate
          join webhook_outbox using (id)
         order by id <> (select id from oldest), candidate.turn, id
         limit ${OUTBOX_ROWS}
           for update of webhook_outbox skip locked
      ), taken as (
        delete from webhook_outbox
         where id = any(array(
                 select id
                   from (
                          select id, sum(events) over (order by turn, id) - events as events_before
                            from free
                        ) as counted
                  where events_before < ${OUTBOX_EVENTS}
                     or id = (select id from oldest)
               ))
     returning webhook_ids, webhook_types, event_ids
      )
      select webhook.id as webhook_id, webhook.enabled, event.id as event_id, event.type, event.at, event.store_id, event.actor,
             event.subject, event.data
        from taken
       cross join lateral unnest(taken.event_ids) as happened(event_id)
        join events event on event.id = happened.event_id
       cross join lateral unnest(taken.webhook_ids) with ordinality as subscribed(webhook_id, nth)
        join webhooks webhook on webhook.id = subscribed.webhook_id
       where taken.webhook_types -> (subscribed.nth::int - 1) ?|
             array[event.type, split_part(event.type, '.', 1) || '.*', '*']
       order by event.id`)
    const leaseEnd = addMs(at, LEASE_MS)
    const already = new Map<string, number>()
    const taken: Message[] = []
    const bodies = new Map<string, string>()
    const rows = wanted.map((event) => {
      const { webhook_id, event_id, type } = event
      const id = newId('dlv')
      const count = already.get(webhook_id) ?? 0
      const leased = event.enabled && mayLease(webhook_id, count)
      if (leased) {
        already.set(webhook_id, count + 1)
        const body = bodies.get(event_id) ?? bodyOf(event)
        bodies.set(event_id, body)
        taken.push({ webhook_id, id, event_id, type, cause: 'EVENT', attempts: 0, taken: at, body })
      }
      return {
        webhook_id,
        id,
        event_id,
        type,
        cause: 'EVENT' as const,
        next_attempt_at: leased ? leaseEnd : at,
        created_at: at,
      }
    })
    await addDeliveries(tx, rows)
    return { made: rows.length, taken, after: last }
  })
}

/** The deliveries are due again at once, unless the lease has ended and another node has them. */
export async function releaseLeases(db: Db, messages: Message[]): Promise<void> {
  if (messages.length === 0) return
  const ids = messages.map(({ webhook_id, id, taken }) => ({ webhook_id, id, until: addMs(taken, LEASE_MS) }))
  await db
    .query(sql`
      update webhook_deliveries delivery
         set next_attempt_at = ${now()}
        from json_to_recordset(${JSON.stringify(ids)}) as left_over(webhook_id text, id text, until timestamptz)
       cross join lateral (
               select ctid as row_id
                 from webhook_deliveries
                where webhook_id = left_over.webhook_id
                  and id = left_over.id
                  and next_attempt_at = left_over.until
                limit 1
             ) as found
       where delivery.ctid = found.row_id`)
    .catch(() => {})
}

// ---- outcomes -----------------------------------------------------------------------------------------------------------

export type DeliveryOutcome = {
  webhook_id: string
  id: string
  status: DeliveryStatus
  attempts: number
  at: Date
  next_attempt_at: Date | null
  duration_ms: number
  response_status: number | null
  response_body: string | null
  error: string | null
}

/**
 * Many in one round trip. A webhook's `failing_since` is written only when it changes: at the first failure, and at the
 * first success after it.
 *
 * Each row is found by its key first, and a delivery is pending when it has a next attempt. A plain join on `status` leaves
 * PostgreSQL the choice to read all that is pending instead, and a plan made while that was little is kept when it has
 * become much.
 */
export const recordOutcomes: Batch<DeliveryOutcome, void> = async (db, outcomes) => {
  const all = outcomes.map(webhookOf)
  const delivered = outcomes.filter(({ status }) => status === 'DELIVERED').map(webhookOf)
  const isMeant = sql`
           id = any(${all})
       and case when id = any(${delivered}) then failing_since is not null else failing_since is null and enabled end`
  await db.transaction(async (tx) => {
    // In the order in which every node locks webhooks. First, since a statement that both waits for a row and changes it may
    // deadlock (keys/insert.ts).
    tx.withCommit(sql`select id from webhooks where ${isMeant} order by id for no key update`)
    tx.withCommit(sql`
      update webhooks
         set failing_since = case when id = any(${delivered}) then null else ${outcomes[0]?.at}::timestamptz end
       where ${isMeant}`)
    tx.withCommit(sql`
      update webhook_deliveries delivery
         set status = outcome.status, attempts = outcome.attempts, last_attempt_at = outcome.at,
             next_attempt_at = outcome.next_attempt_at, duration_ms = outcome.duration_ms,
             response_status = outcome.response_status, response_body = outcome.response_body, error = outcome.error
        from json_to_recordset(${JSON.stringify(outcomes)})
             as outcome(webhook_id text, id text, status text, attempts int, at timestamptz, next_attempt_at timestamptz,
                        duration_ms int, response_status int, response_body text, error text)
       cross join lateral (
               select ctid as row_id
                 from webhook_deliveries
                where webhook_id = outcome.webhook_id
                  and id = outcome.id
                  and next_attempt_at is not null
                limit 1
             ) as found
       where delivery.ctid = found.row_id`)
  })
  return outcomes.map(() => {})
}

const webhookOf = (outcome: DeliveryOutcome) => outcome.webhook_id

const MAX_DEPTH = 10_000

/** For the metrics: counted up to a bound. */
export async function readOutboxDepth(db: Db): Promise<number> {
  const found = await db.one<{ rows: number }>(sql`
    select count(*)::int as rows
      from (select from webhook_outbox limit ${MAX_DEPTH}) as waiting`)
  return found?.rows ?? 0
}

/** For the metrics: the age in seconds of the oldest row, by its first event. */
export async function readOutboxAge(db: Db): Promise<number> {
  const oldest = await db.one<{ seconds: number }>(sql`
    select greatest(0, extract(epoch from clock_timestamp() - event.at))::float8 as seconds
      from (select event_ids[1] as event_id from webhook_outbox order by id limit 1) as oldest
      join events event on event.id = oldest.event_id`)
  return oldest?.seconds ?? 0
}
