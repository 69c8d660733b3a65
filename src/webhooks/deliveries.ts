// What was sent to a webhook, how it went, and sending it again.

import { addMs, MINUTE, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { type Page, type PageParams, pageWindow, toPage } from '../core/pagination.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import type { Span } from './input.ts'
import { type Cause, type Delivery, type DeliveryRow, type DeliveryStatus, showDelivery } from './schema.ts'
import { findWebhook, type Place } from './webhooks.ts'

export type DeliveryPlace = Place & { deliveryId: string }

const columns = sql`
  webhook_id, id, event_id, type, cause, status, attempts, next_attempt_at, last_attempt_at, duration_ms,
  response_status, response_body, error, created_at`

export async function listDeliveries(
  db: Db,
  instance: Instance,
  place: Place,
  query: PageParams & { status?: DeliveryStatus },
): Promise<Page<Delivery>> {
  await findWebhook(db, place)
  const list = ['deliveries', place.webhookId, query.status]
  const window = pageWindow(instance.keyring, list, query)
  const rows = await db.query<DeliveryRow>(sql`
    select ${columns}
      from webhook_deliveries
     where webhook_id = ${place.webhookId}
       and id < ${window.after}
       and (${query.status ?? null}::text is null or status = ${query.status ?? null})
     order by id desc
     limit ${window.limit + 1}`)
  return toPage(instance.keyring, list, window, rows, (row) => row.id, showDelivery)
}

export async function readDelivery(db: Db, place: DeliveryPlace): Promise<Answer<Delivery>> {
  await findWebhook(db, place)
  return { body: showDelivery(await findDelivery(db, place)) }
}

async function findDelivery(db: Db, place: DeliveryPlace): Promise<DeliveryRow> {
  const row = await db.one<DeliveryRow>(sql`
    select ${columns}
      from webhook_deliveries
     where webhook_id = ${place.webhookId}
       and id = ${place.deliveryId}`)
  return row ?? fail('delivery_not_found')
}

// ---- sending, and sending again -----------------------------------------------------------------------------------------

/** A message that speaks of nothing, tried once. */
export async function sendTest(tx: Db, place: Place): Promise<Answer<Delivery>> {
  await mustTake(tx, place)
  return made(place, await addDelivery(tx, place, { id: newId('evt'), type: TEST_TYPE }, 'TEST'))
}

export const TEST_TYPE = 'webhook.test'

/** The same message under the same `webhook-id`, as a delivery of its own. */
export async function redeliver(tx: Db, place: DeliveryPlace): Promise<Answer<Delivery>> {
  await mustTake(tx, place)
  const { event_id: id, type, cause } = await findDelivery(tx, place)
  return made(place, await addDelivery(tx, place, { id, type }, cause === 'TEST' ? 'TEST' : 'REDELIVERY'))
}

const MAX_AT_ONCE = 1_000
/** With so many waiting nothing is sent again. What happens is added all the same. */
const MAX_PENDING = 10_000

/** Whatever happened in that time, as far as it is sealed, and is of a type the webhook listens to now; sent before or not. */
export async function redeliverSpan(tx: Db, place: Place, { from, to }: Span) {
  const { types } = await mustTake(tx, place)
  const [first, end] = [
    await positionAt(tx, place.storeId, addMs(from, -LATEST_MS)),
    await positionAt(tx, place.storeId, addMs(to, LATEST_MS)),
  ]
  const events = await tx.query<{ id: string; type: string; at: Date }>(sql`
    select event.id, event.type, event.at
      from event_seals seal
      join events event on event.id = seal.event_id
     where seal.chain = ${place.storeId}
       and seal.seq >= ${first}
       and seal.seq < ${end}
       and ${types} && array[seal.type, split_part(seal.type, '.', 1) || '.*', '*']
       and event.at >= ${from}
       and event.at < ${to}
     order by event.at
     fetch first ${MAX_AT_ONCE + 1} rows with ties`)
  const { sent, nextFrom } = cutAtMoment(events)
  await addDeliveries(
    tx,
    sent.map((event) => newDelivery(place, event, 'REDELIVERY')),
  )
  return { deliveries: sent.length, nextFrom: nextFrom?.toISOString() ?? null }
}

/** What happened in one moment is sent together, however much it is: the next call begins at a moment, and repeats none. */
function cutAtMoment<E extends { at: Date }>(events: E[]): { sent: E[]; nextFrom: Date | null } {
  const last = events.at(-1)
  if (!last || events.length <= MAX_AT_ONCE) return { sent: events, nextFrom: null }
  const before = events.filter(({ at }) => at < last.at)
  return before.length > 0 ? { sent: before, nextFrom: last.at } : { sent: events, nextFrom: addMs(last.at, 1) }
}

/** Positions are given in the order of commits. What happened earlier was committed earlier, give or take this much. */
const LATEST_MS = MINUTE

/** The first position of the store at which it was that late, found by halving: there is no index by time, and none is needed. */
async function positionAt(tx: Db, storeId: string, moment: Date): Promise<string> {
  const found = await tx.one<{ seq: string }>(sql`
    with recursive search(low, high) as (
      select 1::bigint, coalesce((select seq from event_heads where chain = ${storeId}), 0) + 1
       union all
      select case when event.at < ${moment} then middle.seq + 1 else search.low end,
             case when event.at < ${moment} then search.high else middle.seq end
        from search
        join event_seals middle on middle.chain = ${storeId} and middle.seq = (search.low + search.high) / 2
        join events event on event.id = middle.event_id
       where search.low < search.high
    )
    select low as seq
      from search
     where low = high`)
  return found?.seq ?? '0'
}

/** On, and with room for more. */
async function mustTake(tx: Db, place: Place) {
  const webhook = await findWebhook(tx, place)
  if (!webhook.enabled) fail('webhook_disabled')
  const full = await tx.one(sql`
    select
      from webhook_deliveries
     where webhook_id = ${place.webhookId}
       and status = 'PENDING'
    offset ${MAX_PENDING - 1}
     limit 1`)
  if (full)
    fail('limit_exceeded', {
      detail: `${MAX_PENDING.toLocaleString('en')} messages are waiting for this webhook. Let it take some of them first.`,
    })
  return webhook
}

async function addDelivery(tx: Db, place: Place, event: { id: string; type: string }, cause: Cause) {
  const row = newDelivery(place, event, cause)
  await addDeliveries(tx, [row])
  return row
}

function newDelivery(place: Place, event: { id: string; type: string }, cause: Cause): DeliveryRow {
  const at = now()
  return {
    webhook_id: place.webhookId,
    id: newId('dlv'),
    event_id: event.id,
    type: event.type,
    cause,
    status: 'PENDING',
    attempts: 0,
    next_attempt_at: at,
    last_attempt_at: null,
    duration_ms: null,
    response_status: null,
    response_body: null,
    error: null,
    created_at: at,
  }
}

export type NewDelivery = Pick<
  DeliveryRow,
  'webhook_id' | 'id' | 'event_id' | 'type' | 'cause' | 'next_attempt_at' | 'created_at'
>

export async function addDeliveries(tx: Db, rows: NewDelivery[]): Promise<void> {
  if (rows.length === 0) return
  const written = rows.map(({ webhook_id, id, event_id, type, cause, next_attempt_at, created_at }) => ({
    webhook_id,
    id,
    event_id,
    type,
    cause,
    next_attempt_at,
    created_at,
  }))
  await tx.query(sql`
    insert into webhook_deliveries (webhook_id, id, event_id, type, cause, next_attempt_at, created_at)
    select webhook_id, id, event_id, type, cause, next_attempt_at, created_at
      from json_to_recordset(${JSON.stringify(written)})
           as delivery(webhook_id text, id text, event_id text, type text, cause text, next_attempt_at timestamptz,
                       created_at timestamptz)`)
}

function made(place: Place, row: DeliveryRow): Answer<Delivery> {
  const location = `/v1/user/store/${place.storeId}/webhooks/${place.webhookId}/deliveries/${row.id}`
  return { body: showDelivery(row), resource: { id: row.id, location } }
}
