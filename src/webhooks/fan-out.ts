// The outbox becomes deliveries: one for each event and each webhook that is subscribed to it.

import { addMs, now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import type { WebhookOutboxRow } from '../db/tables.gen.ts'
import { addDeliveries } from './deliveries.ts'
import { bodyOf, type EventPart, LEASE_MS, type Message } from './outbox.ts'

/** Rows that one fan-out takes; among them at least a half are by turns of the accounts. */
const OUTBOX_ROWS = 64
const SMALL_ROWS = OUTBOX_ROWS / 2
/** One fan-out stops after so many deliveries of small rows, and after as many by turns. */
const OUTBOX_DELIVERIES = 100
/** So many accounts are looked at, a row of each, or all rows of one. */
const OUTBOX_ACCOUNTS = 128
const MAX_REMEMBERED = 10_000

/** Accounts with rows in the outbox, behind this one. */
async function accountsWaiting(db: Db, after: string): Promise<string[]> {
  const rows = await db.query<{ account: string }>(sql`
    with recursive waiting(account, n) as (
      (
        select account, 1
          from webhook_outbox
         where account > ${after}
         order by account
         limit 1
      )
       union all
      select (select account from webhook_outbox where account > waiting.account order by account limit 1), n + 1
        from waiting
       where waiting.account is not null
         and n < ${OUTBOX_ACCOUNTS}
    )
    select account
      from waiting
     where account is not null`)
  return rows.map(({ account }) => account)
}

/** What a node remembers from one fan-out to the next. */
export type FanOutState = {
  /** The account that was looked at last. */
  after: string
  /** By account: how many deliveries it may have got, as long as it has more waiting. */
  served: Map<string, number>
}

export const newFanOutState = (): FanOutState => ({ after: '', served: new Map() })

/** Whoever is new begins where the one begins that has got least: what others got before is no credit. */
function countsOf({ after, served }: FanOutState, accounts: string[]): number[] {
  const isAll = after === '' && accounts.length < OUTBOX_ACCOUNTS
  if (isAll) for (const id of [...served.keys()]) if (!accounts.includes(id)) served.delete(id)
  if (served.size > MAX_REMEMBERED) served.clear()
  const known = accounts.flatMap((id) => served.get(id) ?? [])
  const least = known.length > 0 ? Math.min(...known) : 0
  for (const id of accounts) if (!served.has(id)) served.set(id, least)
  return accounts.map((id) => served.get(id) ?? least)
}

type OutboxRow = Pick<WebhookOutboxRow, 'account' | 'deliveries' | 'webhook_ids' | 'webhook_types' | 'event_ids'>

/**
 * The oldest of the small rows, and rows by turns of the accounts: of these, first comes what is done when the fewest
 * deliveries of its account have been made; `counts` are those made before.
 */
function takeRows(tx: Db, accounts: string[], counts: number[]): Promise<OutboxRow[]> {
  return tx.query<OutboxRow>(sql`
    with candidate as (
      select first.id, first.turn, false as is_small
        from unnest(${accounts}::text[], ${counts}::float8[]) as waiting(account, count)
       cross join lateral (
               select id, waiting.count + sum(deliveries) over (order by id) as turn
                 from (
                        -- In the order of the index that leads to them, and to no others.
                        select id, deliveries
                          from webhook_outbox
                         where account between waiting.account and waiting.account
                         order by account, id
                         limit ${Math.ceil(OUTBOX_ROWS / accounts.length)}
                      ) as theirs
             ) as first
       union all
      select id, 0, true
        from (
               select id
                 from webhook_outbox
                where deliveries <= 50 -- as the index says
                order by id
                limit ${SMALL_ROWS}
             ) as small
    ), ranked as (
      select id, max(turn) as turn, bool_and(is_small) as is_small
        from candidate
       group by id
    ), free as (
      select id, turn, is_small, deliveries
        from ranked
        join webhook_outbox using (id)
       order by not is_small, turn, id
       limit ${OUTBOX_ROWS}
         for update of webhook_outbox skip locked
    )
    delete from webhook_outbox
     where id = any(array(
             select id
               from (
                      select id, sum(deliveries) over (partition by is_small order by turn, id) - deliveries as made_before
                        from free
                    ) as counted
              where made_before < ${OUTBOX_DELIVERIES}
           ))
 returning account, deliveries, webhook_ids, webhook_types, event_ids`)
}

const taken = recordset('taken', {
  account: 'text',
  webhook_ids: 'text[]',
  webhook_types: 'json',
  event_ids: 'text[]',
})

/**
 * Turns a part of the outbox into deliveries to the webhooks that were enabled and subscribed when the event happened,
 * even if they are disabled by now. Accounts take turns, by fair queueing, so that nobody waits for the thousands of
 * another, however many stores that one has. Rows of a few deliveries have a share of their own, so that no store waits
 * for the thousands of another store of its account. `mayLease` says whether one more delivery of a webhook may be leased
 * at once. `rows`: how many of the outbox are done, be it that nobody was subscribed.
 */
export async function fanOut(
  db: Db,
  state: FanOutState,
  mayLease: (webhook: { id: string; account: string }, already: number) => boolean,
): Promise<{ rows: number; made: number; leased: Message[] }> {
  const accounts = await accountsWaiting(db, state.after)
  if (accounts.length === 0 && state.after === '') return { rows: 0, made: 0, leased: [] }
  if (accounts.length === 0) {
    state.after = ''
    return fanOut(db, state, mayLease)
  }
  const counts = countsOf(state, accounts)
  state.after = accounts.length < OUTBOX_ACCOUNTS ? '' : (accounts.at(-1) ?? '')
  return db.transaction(async (tx) => {
    const at = now()
    const rows = await takeRows(tx, accounts, counts)
    for (const { account, deliveries } of rows) state.served.set(account, (state.served.get(account) ?? 0) + deliveries)
    const wanted = await tx.query<EventPart & { webhook_id: string; enabled: boolean; account: string }>(sql`
      select webhook.id as webhook_id, webhook.enabled, taken.account, event.id as event_id, event.type, event.at, event.store_id, event.actor,
             event.subject, event.data
        from ${taken(rows)}
       cross join lateral unnest(taken.event_ids) as happened(event_id)
        join events event on event.id = happened.event_id
       cross join lateral unnest(taken.webhook_ids) with ordinality as subscribed(webhook_id, nth)
        join webhooks webhook on webhook.id = subscribed.webhook_id
       where taken.webhook_types::jsonb -> (subscribed.nth::int - 1) ?|
             array[event.type, split_part(event.type, '.', 1) || '.*', '*']
       order by event.id`)
    const leaseEnd = addMs(at, LEASE_MS)
    const already = new Map<string, number>()
    const messages: Message[] = []
    const bodies = new Map<string, string>()
    const made = wanted.map((event) => {
      const { webhook_id, event_id, type } = event
      const id = newId('dlv')
      const count = already.get(webhook_id) ?? 0
      const leased = event.enabled && mayLease({ id: webhook_id, account: event.account }, count)
      if (leased) {
        already.set(webhook_id, count + 1)
        const body = bodies.get(event_id) ?? bodyOf(event)
        bodies.set(event_id, body)
        messages.push({ webhook_id, id, event_id, type, cause: 'EVENT', attempts: 0, taken: at, body })
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
    await addDeliveries(tx, made)
    return { rows: rows.length, made: made.length, leased: messages }
  })
}
