// Hands out what happened. The outbox was written with the change itself (by a trigger: see the migration), so what is in
// it was committed, and nothing that was committed is missing from it. Each round
//
//   1. takes up deliveries that are due, a few for each webhook, and
//   2. turns a stretch of the outbox into deliveries, in one transaction; those that can be sent at once are ours already.
//
// Whoever takes a delivery moves `next_attempt_at` ahead: if this node dies, another finds it due again. That makes "at
// least once", and the event's id as `webhook-id` lets the receiver see a repetition. Each webhook has a lane of its own,
// four abreast, or one when it is failing; so a slow one makes nobody wait but itself.

import { setTimeout as sleep } from 'node:timers/promises'
import { DAY, later, now, SECOND } from '../clock.ts'
import type { Batch } from '../db/batch.ts'
import { type Db, sql } from '../db/db.ts'
import type { Here } from '../here.ts'
import { newId } from '../ids.ts'
import { addDeliveries, TEST_TYPE } from './deliveries.ts'
import type { Outlet, Reply, Trouble } from './outlet.ts'
import { newPace } from './pace.ts'
import { FAILING_MS, nextTry } from './schedule.ts'
import type { Cause, DeliveryStatus } from './schema.ts'
import { openSecret, signedHeaders } from './signature.ts'
import { disableWebhook } from './webhooks.ts'

export type Dispatcher = {
  /** Something may be there to send. */
  wake(): void
  /** Takes up nothing more, gives what is under way so long, and lets go of the rest. */
  close(patienceMs: number): Promise<void>
}

const ABREAST = 4
const MOST_ABREAST = 100
/** How many of one webhook are taken up at a time, and how many wait in memory in all. */
const LANE = 200
const MOST_WAITING = 2_000
/** So many answers may be waiting to be written down before nothing new is begun. */
const MOST_UNWRITTEN = 1_000
/** Not more of the outbox than a lane has room for: what is sent at once need not be taken up by another statement. */
const OUTBOX_ROWS = 64
const OUTBOX_EVENTS = LANE / 2
/** Without a word from anyone we look this often; and never more often than that. */
const IDLE_MS = SECOND
const ROUND_MS = 20
/** A delivery that was taken up is begun within 10 s or left, and over 15 s later: after 30 s its node is lost. */
const BEGIN_MS = 10 * SECOND
const LEASE_MS = 30 * SECOND
/** What turning an event into a delivery costs, when sending one is 1. */
const FAN_OUT_COST = 0.25

type Message = {
  webhook_id: string
  id: string
  event_id: string
  type: string
  cause: Cause
  attempts: number
  /** When it was taken up. */
  taken: Date
  body: string
}

type Endpoint = { url: string; secrets: Buffer[]; failingSince: Date | null }
type Lane = { waiting: { message: Message; endpoint: Endpoint }[]; busy: number; failing: boolean }

export function newDispatcher(
  db: Db,
  here: Here,
  outlet: Outlet,
  answered: () => number,
  told: (outcome: string) => void,
): Dispatcher {
  const lanes = new Map<string, Lane>()
  const closing = new AbortController()
  const brokenOff: Message[] = []
  let waiting = 0
  let underWay = 0
  let unwritten = 0
  let woken = false
  let resume = () => {}
  const wake = () => {
    woken = true
    resume()
  }
  const pace = newPace(answered, () => {
    for (const id of lanes.keys()) advance(id)
    if (waiting > 0) wake()
  })

  async function keepGoing(): Promise<void> {
    while (!closing.signal.aborted) {
      // When the database is away nothing is lost: it is all still there when it comes back.
      const found = waiting < MOST_WAITING && pace.left() ? await round().catch(() => 0) : 0
      if (found === 0) await sleep(ROUND_MS, undefined, closing).catch(() => {})
      await pause(found > 0 ? ROUND_MS : IDLE_MS)
    }
  }

  async function pause(ms: number): Promise<void> {
    if (!woken && !closing.signal.aborted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        resume = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    woken = false
  }

  async function round(): Promise<number> {
    const due = await takeDue(
      db,
      [...lanes].filter(([, lane]) => lane.waiting.length >= LANE).map(([id]) => id),
    )
    await enqueue(due)
    const fresh = await fanOut(db, (webhookId, already) => (lanes.get(webhookId)?.waiting.length ?? 0) + already < LANE)
    pace.spend(fresh.made * FAN_OUT_COST)
    await enqueue(fresh.taken)
    return due.length + fresh.made
  }

  async function enqueue(messages: Message[]): Promise<void> {
    if (messages.length === 0) return
    const endpoints = await loadEndpoints(db, here, [...new Set(messages.map((message) => message.webhook_id))])
    for (const message of messages) {
      const endpoint = endpoints.get(message.webhook_id)
      if (!endpoint) continue
      const lane = lanes.get(message.webhook_id) ?? { waiting: [], busy: 0, failing: endpoint.failingSince !== null }
      lanes.set(message.webhook_id, lane)
      lane.waiting.push({ message, endpoint })
      waiting += 1
    }
    for (const id of endpoints.keys()) advance(id)
  }

  /** Begins as many of a lane as may run now. */
  function advance(webhookId: string): void {
    const lane = lanes.get(webhookId)
    if (!lane || closing.signal.aborted) return
    while (
      lane.waiting.length > 0 &&
      lane.busy < (lane.failing ? 1 : ABREAST) &&
      underWay < MOST_ABREAST &&
      unwritten < MOST_UNWRITTEN &&
      pace.left()
    ) {
      const { message, endpoint } = lane.waiting.shift() as Lane['waiting'][number]
      waiting -= 1
      if (later(BEGIN_MS, message.taken) < now()) continue
      pace.spend(1)
      lane.busy += 1
      underWay += 1
      // The next message does not wait until the answer to this one is written down.
      send(lane, message, endpoint).then((outcome) => {
        lane.busy -= 1
        underWay -= 1
        if (outcome) note(message, endpoint, outcome)
        advance(webhookId)
        if (lane.waiting.length === 0) {
          if (lane.busy === 0) lanes.delete(webhookId)
          wake()
        }
      })
    }
  }

  async function send(lane: Lane, message: Message, endpoint: Endpoint): Promise<Outcome | null> {
    const at = now()
    const began = performance.now()
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Storekeeper-Webhooks/1',
      ...signedHeaders(endpoint.secrets, message.event_id, at, message.body),
    }
    const result =
      endpoint.secrets.length === 0
        ? { trouble: 'secret_unreadable' as const }
        : await outlet.post(endpoint.url, headers, message.body)
    if (result === null) {
      brokenOff.push(message)
      return null
    }
    const outcome = judge(message, at, Math.round(performance.now() - began), result)
    lane.failing = outcome.status !== 'DELIVERED'
    told(outcome.status === 'DELIVERED' ? 'delivered' : outcome.status === 'FAILED' ? 'given_up' : 'failed')
    return outcome
  }

  async function note(message: Message, endpoint: Endpoint, outcome: Outcome): Promise<void> {
    unwritten += 1
    await settleSurely(outcome)
    const reason = reasonToDisable(endpoint, outcome)
    if (reason) await disableWebhook(db, message.webhook_id, reason).catch(() => {})
    unwritten -= 1
  }

  /** Tried for as long as the delivery is ours. Should it not be written down, it is sent once more, under the same id. */
  async function settleSurely(outcome: Outcome): Promise<void> {
    for (let tries = 1; tries <= 5 && !closing.signal.aborted; tries++) {
      try {
        return await db.batched(settle, outcome)
      } catch {
        await sleep(250 * tries, undefined, closing).catch(() => {})
      }
    }
    await db.batched(settle, outcome).catch(() => {})
  }

  const going = keepGoing()
  return {
    wake,
    async close(patienceMs) {
      closing.abort()
      resume()
      pace.close()
      await going
      const end = performance.now() + patienceMs
      while (underWay > 0 && performance.now() < end) await sleep(20)
      await outlet.close()
      while (underWay + unwritten > 0) await sleep(5)
      const left = [...lanes.values()].flatMap((lane) => lane.waiting.map(({ message }) => message))
      await letGo(db, [...left, ...brokenOff])
    },
  }
}

// ---- taking up ----------------------------------------------------------------------------------------------------------

type EventPart = {
  event_id: string
  type: string
  at: Date
  store_id: string
  actor: { kind: string; id: string } | null
  subject: string
  data: Record<string, unknown>
}

/** The message: as Standard Webhooks has it, with what the event says beside. The same bytes at every try. */
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

/**
 * What is due, a few of each webhook: the recursion hops from one webhook with something pending to the next, so that the
 * ten thousand messages of one that is down are never read to find the one message of another.
 */
async function takeDue(db: Db, full: string[]): Promise<Message[]> {
  const at = now()
  const rows = await db.query<
    EventPart & Omit<Message, 'taken' | 'body'> & { event_there: boolean; created_at: Date }
  >(sql`
    with recursive lane(webhook_id) as (
      (
        select webhook_id
          from webhook_deliveries
         where status = 'PENDING'
         order by webhook_id, next_attempt_at
         limit 1
      )
       union all
      select (
               select delivery.webhook_id
                 from webhook_deliveries delivery
                where delivery.status = 'PENDING'
                  and delivery.webhook_id > lane.webhook_id
                order by delivery.webhook_id, delivery.next_attempt_at
                limit 1
             )
        from lane
       where lane.webhook_id is not null
    ), due as materialized (
      select delivery.webhook_id, delivery.id, webhook.store_id
        from lane
        join webhooks webhook on webhook.id = lane.webhook_id
       cross join lateral (
               select webhook_id, id
                 from webhook_deliveries
                where webhook_id = lane.webhook_id
                  and status = 'PENDING'
                  and next_attempt_at <= ${at}
                order by next_attempt_at
                limit ${LANE}
                  for update skip locked
             ) as delivery
       where webhook.enabled
         and webhook.id <> all(${full})
       limit ${MOST_WAITING}
    ), taken as (
      update webhook_deliveries delivery
         set next_attempt_at = ${later(LEASE_MS, at)}
        from due
       where delivery.webhook_id = due.webhook_id
         and delivery.id = due.id
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
      // Events outlive all that speaks of them, and a test speaks of none.
      .filter((row) => row.event_there || row.type === TEST_TYPE)
      .map(({ webhook_id, id, event_id, type, cause, attempts, ...row }) => {
        const event = { ...row, event_id, type, at: row.at ?? row.created_at }
        return { webhook_id, id, event_id, type, cause, attempts, taken: at, body: bodyOf(event) }
      })
  )
}

/** A stretch of the outbox becomes deliveries. `mayTake` says whether there is room for one more of a webhook. */
async function fanOut(
  db: Db,
  mayTake: (webhookId: string, already: number) => boolean,
): Promise<{ made: number; taken: Message[] }> {
  const waits = await db.one(sql`select id from webhook_outbox order by id limit 1`)
  if (!waits) return { made: 0, taken: [] }
  return db.transaction(async (tx) => {
    const at = now()
    const wanted = await tx.query<EventPart & { webhook_id: string }>(sql`
      with taken as (
        delete from webhook_outbox
         where id = any(array(
                 select id
                   from (
                          select id, sum(cardinality(event_ids)) over (order by id) - cardinality(event_ids) as before
                            from (
                                   select id, event_ids
                                     from webhook_outbox
                                    order by id
                                    limit ${OUTBOX_ROWS}
                                      for update skip locked
                                 ) as free
                        ) as counted
                  where before < ${OUTBOX_EVENTS}
               ))
     returning webhook_ids, event_ids
      )
      select webhook.id as webhook_id, event.id as event_id, event.type, event.at, event.store_id, event.actor,
             event.subject, event.data
        from taken
       cross join lateral unnest(taken.event_ids) as happened(event_id)
        join events event on event.id = happened.event_id
       cross join lateral unnest(taken.webhook_ids) as subscribed(webhook_id)
        join webhooks webhook on webhook.id = subscribed.webhook_id
       where webhook.enabled
         and webhook.types && array[event.type, split_part(event.type, '.', 1) || '.*', '*']
       order by event.id`)
    const lease = later(LEASE_MS, at)
    const already = new Map<string, number>()
    const taken: Message[] = []
    const bodies = new Map<string, string>()
    const rows = wanted.map((event) => {
      const { webhook_id, event_id, type } = event
      const id = newId('dlv')
      const count = already.get(webhook_id) ?? 0
      const ours = mayTake(webhook_id, count)
      if (ours) {
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
        next_attempt_at: ours ? lease : at,
        created_at: at,
      }
    })
    await addDeliveries(tx, rows)
    return { made: rows.length, taken }
  })
}

async function loadEndpoints(db: Db, here: Here, ids: string[]): Promise<Map<string, Endpoint>> {
  const rows = await db.query<{
    id: string
    url: string
    secret: Buffer
    secret_kid: string
    previous_secret: Buffer | null
    previous_secret_kid: string | null
    previous_expires_at: Date | null
    failing_since: Date | null
  }>(sql`
    select id, url, secret, secret_kid, previous_secret, previous_secret_kid, previous_expires_at, failing_since
      from webhooks
     where id = any(${ids})
       and enabled`)
  return new Map(
    rows.map((row) => {
      const kept = [{ sealed: row.secret, kid: row.secret_kid }]
      const { previous_secret: sealed, previous_secret_kid: kid, previous_expires_at: end } = row
      if (sealed && kid && end && end > now()) kept.push({ sealed, kid })
      const secrets = kept.map((secret) => openSecret(here.keyring, row.id, secret)).filter((bytes) => bytes !== null)
      return [row.id, { url: row.url, secrets, failingSince: row.failing_since }]
    }),
  )
}

/** Whoever comes next may have them at once. */
async function letGo(db: Db, messages: Message[]): Promise<void> {
  if (messages.length === 0) return
  const ids = messages.map(({ webhook_id, id }) => ({ webhook_id, id }))
  await db
    .query(sql`
      update webhook_deliveries delivery
         set next_attempt_at = ${now()}
        from json_to_recordset(${JSON.stringify(ids)}) as left_over(webhook_id text, id text)
       where delivery.webhook_id = left_over.webhook_id
         and delivery.id = left_over.id
         and delivery.status = 'PENDING'`)
    .catch(() => {})
}

// ---- how it went --------------------------------------------------------------------------------------------------------

type Outcome = {
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

function judge(message: Message, at: Date, durationMs: number, result: Reply | { trouble: Trouble }): Outcome {
  const { webhook_id, id, cause } = message
  const attempts = message.attempts + 1
  const reply = 'trouble' in result ? null : result
  const delivered = reply !== null && reply.status >= 200 && reply.status < 300
  const over = delivered || cause === 'TEST' || reply?.status === 410
  const next = over ? null : nextTry(attempts, now(), reply?.retryAfter ?? null, Math.random())
  return {
    webhook_id,
    id,
    status: delivered ? 'DELIVERED' : next ? 'PENDING' : 'FAILED',
    attempts,
    at,
    next_attempt_at: next,
    duration_ms: durationMs,
    response_status: reply?.status ?? null,
    response_body: reply?.body ?? null,
    error: 'trouble' in result ? result.trouble : null,
  }
}

function reasonToDisable({ failingSince }: Endpoint, outcome: Outcome): 'GONE' | 'FAILING' | null {
  if (outcome.response_status === 410) return 'GONE'
  const failing = outcome.status !== 'DELIVERED' && failingSince !== null && failingSince <= later(-FAILING_MS)
  return failing ? 'FAILING' : null
}

/** Many at once. A webhook's `failing_since` is written only when it changes: at the first failure, and when it is over. */
const settle: Batch<Outcome, void> = async (db, outcomes) => {
  await db.query(sql`
    with outcome as (
      select *
        from json_to_recordset(${JSON.stringify(outcomes)})
             as outcome(webhook_id text, id text, status text, attempts int, at timestamptz, next_attempt_at timestamptz,
                        duration_ms int, response_status int, response_body text, error text)
    ), mended as (
      update webhooks
         set failing_since = null
       where id in (select webhook_id from outcome where status = 'DELIVERED')
         and failing_since is not null
    ), broken as (
      update webhooks
         set failing_since = (select min(at) from outcome where webhook_id = webhooks.id)
       where id in (
               select webhook_id
                 from outcome
                group by webhook_id
               having bool_and(status <> 'DELIVERED')
             )
         and failing_since is null
         and enabled
    )
    update webhook_deliveries delivery
       set status = outcome.status, attempts = outcome.attempts, last_attempt_at = outcome.at,
           next_attempt_at = outcome.next_attempt_at, duration_ms = outcome.duration_ms,
           response_status = outcome.response_status, response_body = outcome.response_body, error = outcome.error
      from outcome
     where delivery.webhook_id = outcome.webhook_id
       and delivery.id = outcome.id
       and delivery.status = 'PENDING'`)
  return outcomes.map(() => {})
}

// ---- house-keeping --------------------------------------------------------------------------------------------------------

const KEPT_MS = 30 * DAY
const SWEPT_AT_ONCE = 5_000

/** What is long past goes, and what belonged to a webhook that is no more. */
export async function sweepDeliveries(db: Db): Promise<void> {
  await db.query(sql`
    delete from webhook_deliveries delivery
     using (
             select webhook_id, id
               from webhook_deliveries
              where created_at < ${later(-KEPT_MS)}
              limit ${SWEPT_AT_ONCE}
           ) as old
     where delivery.webhook_id = old.webhook_id
       and delivery.id = old.id`)
  await db.query(sql`
    with recursive lane(webhook_id) as (
      (select webhook_id from webhook_deliveries order by webhook_id limit 1)
       union all
      select (
               select delivery.webhook_id
                 from webhook_deliveries delivery
                where delivery.webhook_id > lane.webhook_id
                order by delivery.webhook_id
                limit 1
             )
        from lane
       where lane.webhook_id is not null
    ), orphan as (
      select delivery.webhook_id, delivery.id
        from lane
        join webhook_deliveries delivery on delivery.webhook_id = lane.webhook_id
       where not exists (select 1 from webhooks where webhooks.id = lane.webhook_id)
       limit ${SWEPT_AT_ONCE}
    )
    delete from webhook_deliveries delivery
     using orphan
     where delivery.webhook_id = orphan.webhook_id
       and delivery.id = orphan.id`)
}
