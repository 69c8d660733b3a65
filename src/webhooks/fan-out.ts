// The outbox becomes deliveries: one for each event and each webhook that is subscribed to it.

import { addMs, now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { addDeliveries } from './deliveries.ts'
import { bodyOf, type EventPart, LEASE_MS, type Message } from './outbox.ts'

/** One fan-out takes no more than a webhook may prefetch, so that its deliveries can be leased at once, without a poll. */
const OUTBOX_ROWS = 64
const OUTBOX_EVENTS = 100
/** So many stores are looked at, a few rows of each, or all rows of one. */
const OUTBOX_STORES = 32

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
