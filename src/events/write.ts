// Writes events in the transaction of the change itself: a committed change always has its event, and one that was
// rolled back has none. No secret and no text of an address is ever in an event.

import { now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import type { EventsRow } from '../db/tables.gen.ts'
import type { EventType } from './schema.ts'

/** The caller, with the credential and address they used. */
export type Actor = { kind: string; id: string; ip: string | null; sessionId?: string | null }

/** The actor of what the service does by itself. */
export const SYSTEM: Actor = { kind: 'system', id: 'storekeeper', ip: null }

export type EventRow = Pick<EventsRow, 'id' | 'store_id' | 'at' | 'subject'> & {
  type: EventType
  actor: { kind: string; id: string; credential: string | null; ip: string | null }
  data: Record<string, unknown>
}

export function newEvent(
  actor: Actor,
  storeId: string | null,
  type: EventType,
  subject: string,
  data: Record<string, unknown>,
): EventRow {
  const { kind, id, ip } = actor
  const credential = actor.sessionId ?? (kind === 'user' ? null : id)
  return { id: newId('evt'), store_id: storeId, type, at: now(), actor: { kind, id, credential, ip }, subject, data }
}

export async function writeEvents(tx: Db, events: EventRow[]): Promise<void> {
  if (events.length > 0) await tx.query(insertion(events))
}

/** As the last statement of a transaction: it is sent together with the commit. */
export function writeEventWithCommit(tx: Db, event: EventRow): void {
  tx.withCommit(insertion([event]))
}

function insertion(events: EventRow[]): Sql {
  return sql`
    insert into events (id, store_id, type, at, actor, subject, data)
    select id, store_id, type, at, actor, subject, data
      from json_to_recordset(${JSON.stringify(events)})
           as event(id text, store_id text, type text, at timestamptz, actor json, subject text, data json)`
}
