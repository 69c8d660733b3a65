// The deliveries of a webhook: listed, read, added by hand (a test, a redelivery), and deleted when they are old.

import { addMs, ago, DAY, MINUTE, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { listPage, type Page, type PageParams, type PageWindow } from '../core/pagination.ts'
import type { Answer } from '../core/route.ts'
import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import type { Span } from './input.ts'
import { type Cause, type Delivery, type DeliveryRow, type DeliveryStatus, showDelivery } from './schema.ts'
import { findWebhook, type WebhookRef } from './webhooks.ts'

/** For a page of those with one status no more deliveries than this are looked at: the next page goes on from there. */
const LOOKED_AT = 5_000

export type DeliveryRef = WebhookRef & { deliveryId: string }

const columns = sql`
  webhook_id, id, event_id, type, cause, status, attempts, next_attempt_at, last_attempt_at, duration_ms,
  response_status, response_body, error, created_at`

export async function listDeliveries(
  db: Db,
  instance: Instance,
  ref: WebhookRef,
  query: PageParams & { status?: DeliveryStatus },
): Promise<Page<Delivery>> {
  await findWebhook(db, ref)
  const newest = (after: string) => sql`
    select ${columns}
      from webhook_deliveries
     where webhook_id = ${ref.webhookId}
       and id < ${after}
     order by id desc
     limit ${LOOKED_AT}`
  const lookedTo = async ({ after }: PageWindow, rows: DeliveryRow[]) => {
    const last = await db.one<{ id: string }>(
      sql`select id from (${newest(after)}) as delivery offset ${LOOKED_AT - 1}`,
    )
    // New ones may have moved the place, but not to before one that is shown.
    const lastShown = rows.at(-1)?.id
    return last && lastShown && lastShown < last.id ? lastShown : (last?.id ?? null)
  }
  return listPage({
    keyring: instance.keyring,
    list: ['deliveries', ref.webhookId, query.status],
    query,
    read: ({ after, take }) =>
      db.query<DeliveryRow>(sql`
        select ${columns}
          from (${newest(after)}) as delivery
         where ${query.status ?? null}::text is null or status = ${query.status ?? null}
         order by id desc
         limit ${take}`),
    positionOf: (row) => row.id,
    show: showDelivery,
    ...(query.status === undefined ? {} : { lookedTo }),
  })
}

export async function readDelivery(db: Db, ref: DeliveryRef): Promise<Answer<Delivery>> {
  await findWebhook(db, ref)
  return { body: showDelivery(await findDelivery(db, ref)) }
}

async function findDelivery(db: Db, ref: DeliveryRef): Promise<DeliveryRow> {
  const row = await db.one<DeliveryRow>(sql`
    select ${columns}
      from webhook_deliveries
     where webhook_id = ${ref.webhookId}
       and id = ${ref.deliveryId}`)
  return row ?? fail('delivery_not_found')
}

// ---- sending, and sending again -----------------------------------------------------------------------------------------

/** A message without an event, tried once. */
export async function sendTest(tx: Db, ref: WebhookRef): Promise<Answer<Delivery>> {
  await requireDeliverable(tx, ref)
  return created(ref, await addDelivery(tx, ref, { id: newId('evt'), type: TEST_TYPE }, 'TEST'))
}

export const TEST_TYPE = 'webhook.test'

/** The same message under the same `webhook-id`, as a delivery of its own. */
export async function redeliver(tx: Db, ref: DeliveryRef): Promise<Answer<Delivery>> {
  await requireDeliverable(tx, ref)
  const { event_id: id, type, cause } = await findDelivery(tx, ref)
  return created(ref, await addDelivery(tx, ref, { id, type }, cause === 'TEST' ? 'TEST' : 'REDELIVERY'))
}

const MAX_AT_ONCE = 1_000
/** With this many pending deliveries nothing is sent again by hand. New events are added all the same. */
const MAX_PENDING = 10_000

/** Sends the sealed events of that time that are of a type the webhook listens to now, whether they were sent before or not. */
export async function redeliverSpan(tx: Db, ref: WebhookRef, { from, to }: Span) {
  const { types } = await requireDeliverable(tx, ref)
  const [first, end] = [
    await positionAt(tx, ref.storeId, addMs(from, -COMMIT_LAG_MS)),
    await positionAt(tx, ref.storeId, addMs(to, COMMIT_LAG_MS)),
  ]
  const events = await tx.query<{ id: string; type: string; at: Date }>(sql`
    select event.id, event.type, event.at
      from event_seals seal
      join events event on event.id = seal.event_id
     where seal.chain = ${ref.storeId}
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
    sent.map((event) => newDelivery(ref, event, 'REDELIVERY')),
  )
  return { deliveries: sent.length, nextFrom: nextFrom?.toISOString() ?? null }
}

/** Events of the same moment are sent together, however many: the next call begins at a moment, and repeats none. */
function cutAtMoment<E extends { at: Date }>(events: E[]): { sent: E[]; nextFrom: Date | null } {
  const last = events.at(-1)
  if (!last || events.length <= MAX_AT_ONCE) return { sent: events, nextFrom: null }
  const before = events.filter(({ at }) => at < last.at)
  return before.length > 0 ? { sent: before, nextFrom: last.at } : { sent: events, nextFrom: addMs(last.at, 1) }
}

/** Positions are in the order of commits, which is the order of `at` give or take this much. */
const COMMIT_LAG_MS = MINUTE

/** The first position of the store's chain at or after that time, by binary search: there is no index by time. */
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

/** The webhook, which must be enabled and have room for more deliveries. */
async function requireDeliverable(tx: Db, ref: WebhookRef) {
  const webhook = await findWebhook(tx, ref)
  if (!webhook.enabled) fail('webhook_disabled')
  const full = await tx.one(sql`
    select
      from webhook_deliveries
     where webhook_id = ${ref.webhookId}
       and status = 'PENDING'
    offset ${MAX_PENDING - 1}
     limit 1`)
  if (full)
    fail('limit_exceeded', {
      detail: `${MAX_PENDING.toLocaleString('en')} messages are already waiting for this webhook. Try again when some of them have been delivered.`,
    })
  return webhook
}

async function addDelivery(tx: Db, ref: WebhookRef, event: { id: string; type: string }, cause: Cause) {
  const row = newDelivery(ref, event, cause)
  await addDeliveries(tx, [row])
  return row
}

function newDelivery(ref: WebhookRef, event: { id: string; type: string }, cause: Cause): DeliveryRow {
  const at = now()
  return {
    webhook_id: ref.webhookId,
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

function created(ref: WebhookRef, row: DeliveryRow): Answer<Delivery> {
  const location = `/v1/user/store/${ref.storeId}/webhooks/${ref.webhookId}/deliveries/${row.id}`
  return { body: showDelivery(row), resource: { id: row.id, location } }
}

// ---- retention --------------------------------------------------------------------------------------------------------

const RETENTION_MS = 30 * DAY

/** Maintenance: deletes deliveries that are older than 30 days or whose webhook was deleted. */
export async function sweepDeliveries(db: Db): Promise<number> {
  let rows = 0
  for (const sweep of [sweepPast, sweepOrphans])
    rows += await runInBatches(db, async (tx, size) => {
      const { length } = await sweep(tx, size)
      return { rows: length, hasMore: length === size }
    })
  return rows
}

function sweepPast(tx: Db, size: number): Promise<object[]> {
  return tx.query(sql`
    delete from webhook_deliveries
     where ctid = any(array(
             select ctid
               from webhook_deliveries
              where created_at < ${ago(RETENTION_MS)}
              order by created_at
              limit ${size}
                for update skip locked
           ))
 returning 1`)
}

function sweepOrphans(tx: Db, size: number): Promise<object[]> {
  return tx.query(sql`
    with recursive pending(webhook_id) as (
      (select webhook_id from webhook_deliveries order by webhook_id limit 1)
       union all
      select (
               select delivery.webhook_id
                 from webhook_deliveries delivery
                where delivery.webhook_id > pending.webhook_id
                order by delivery.webhook_id
                limit 1
             )
        from pending
       where pending.webhook_id is not null
    )
    delete from webhook_deliveries
     where ctid = any(array(
             select delivery.row_id
               from pending
              cross join lateral (
                      select ctid as row_id
                        from webhook_deliveries
                       where webhook_id = pending.webhook_id
                         and not exists (select 1 from webhooks where webhooks.id = pending.webhook_id)
                       limit ${size}
                    ) as delivery
              limit ${size}
           ))
 returning 1`)
}
