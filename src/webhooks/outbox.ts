// The tables behind the dispatcher: deliveries that are due are leased, and their outcomes are recorded. (fan-out.ts makes
// them out of what waits in the outbox.)

import { setTimeout as sleep } from 'node:timers/promises'
import { addMs, HOUR, now, SECOND } from '../core/clock.ts'
import type { Batch, Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { TEST_TYPE } from './deliveries.ts'
import type { Cause, DeliveryStatus } from './schema.ts'

/** A leased delivery is started within 10 s, or released, and has ended 15 s later: after 30 s its node has died. */
export const START_WITHIN_MS = 10 * SECOND
export const LEASE_MS = 30 * SECOND
/** How long after a store was deleted its messages, `store.deleted` among them, are still tried. */
export const AFTER_DELETE_MS = HOUR

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

export type EventPart = {
  event_id: string
  type: string
  at: Date
  store_id: string
  actor: { kind: string; id: string } | null
  subject: string
  data: Record<string, unknown>
}

/** The message in the form of Standard Webhooks, with the other fields of the event beside. The same bytes at every try. */
export function bodyOf(event: EventPart): string {
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
  /** Nothing is leased of these accounts. */
  withoutAccounts?: string[]
  most: number
  /** Webhooks with something pending are passed by in the order of their ids, from behind this one, and so many at most. */
  after: string
  hops: number
}

/** `next` is where to go on, and empty when the last webhook was passed. */
type Leased = { messages: Message[]; next: string }

/**
 * Leases deliveries that are due, a few of each webhook: the recursion hops from one webhook with something pending to the
 * next, so that the ten thousand messages of one webhook that is down are never read to find the one message of another.
 * However many webhooks have something pending that is not due for days, a statement passes by a limited number of them.
 * Accounts take turns, a webhook of each, in any order: where there is more than may be leased, chance leaves nobody out
 * for long, however the webhooks are called and however much each of them has.
 */
export async function leaseDue(
  db: Db,
  { roomFor, otherwise, withoutAccounts = [], most, after, hops }: LeaseLimits,
): Promise<Leased> {
  const at = now()
  const rows = await db.query<
    EventPart & Omit<Message, 'taken' | 'body'> & { event_there: boolean; created_at: Date; next: string }
  >(sql`
    with recursive pending(webhook_id, next_attempt_at, hop) as (
      (
        select webhook_id, next_attempt_at, 1
          from webhook_deliveries
         where status = 'PENDING'
           and webhook_id > ${after}
         order by webhook_id, next_attempt_at
         limit 1
      )
       union all
      select next.webhook_id, next.next_attempt_at, pending.hop + 1
        from pending
       cross join lateral (
               select webhook_id, next_attempt_at
                 from webhook_deliveries
                where status = 'PENDING'
                  and webhook_id > pending.webhook_id
                order by webhook_id, next_attempt_at
                limit 1
             ) as next
       where pending.hop < ${hops}
    ), ready as materialized (
      select pending.webhook_id, webhook.store_id,
             coalesce((${JSON.stringify(roomFor)}::jsonb ->> pending.webhook_id)::int, ${otherwise}) as room
        from pending
        join webhooks webhook on webhook.id = pending.webhook_id
       where pending.next_attempt_at <= ${at}
         and webhook.enabled
    ), stores_ready as materialized (
      select store_id, account_of(listed.store_id) as account
        from (select distinct store_id from ready where room > 0) as listed
       where coalesce((select deleted_at from stores where id = store_id), 'infinity') > ${addMs(at, -AFTER_DELETE_MS)}
    ), turns as (
      select webhook_id, store_id, room, row_number() over (partition by account order by random()) as turn
        from ready
        join stores_ready using (store_id)
       where room > 0
         and account <> all(${withoutAccounts})
       order by turn, random()
       limit ${most}
    ), due as materialized (
      select delivery.row_id, turns.store_id
        from turns
       cross join lateral (
               select ctid as row_id
                 from webhook_deliveries
                where webhook_id = turns.webhook_id
                  and status = 'PENDING'
                  and next_attempt_at <= ${at}
                order by next_attempt_at
                limit turns.room
                  for update skip locked
             ) as delivery
       limit ${most}
    ), taken as (
      update webhook_deliveries delivery
         set next_attempt_at = ${addMs(at, LEASE_MS)}
        from due
       where delivery.ctid = due.row_id
   returning delivery.webhook_id, delivery.id, delivery.event_id, delivery.type, delivery.cause, delivery.attempts,
             delivery.created_at, due.store_id
    )
    select passed.next, taken.*, event.id is not null as event_there, event.at, event.actor,
           coalesce(event.subject, taken.webhook_id) as subject, coalesce(event.data, '{}') as data
      from (select coalesce(max(webhook_id) filter (where hop = ${hops}), '') as next from pending) as passed
      left join taken on true
      left join events event on event.id = taken.event_id
     order by taken.id`)
  const messages = rows
    // Events are never deleted before their deliveries, so only a test message has none.
    .filter((row) => row.event_there || row.type === TEST_TYPE)
    .map(({ webhook_id, id, event_id, type, cause, attempts, ...row }) => {
      const event = { ...row, event_id, type, at: row.at ?? row.created_at }
      return { webhook_id, id, event_id, type, cause, attempts, taken: at, body: bodyOf(event) }
    })
  return { messages, next: rows[0]?.next ?? '' }
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
const recordOutcomes: Batch<DeliveryOutcome, void> = async (db, outcomes) => {
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

/** For as long as the lease lasts. An outcome that could not be recorded means that the message is sent once more. */
export async function recordWithRetries(db: Db, outcome: DeliveryOutcome, closing: AbortController): Promise<void> {
  for (let tries = 1; tries <= 5 && !closing.signal.aborted; tries++) {
    try {
      return await db.batched(recordOutcomes, outcome)
    } catch {
      await sleep(250 * tries, undefined, closing).catch(() => {})
    }
  }
  await db.batched(recordOutcomes, outcome).catch(() => {})
}

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
