// A node and its database must agree on the time. What is kept for hours or days, such as deleted stores, holds and stored
// responses, is written with the clock of one node and deleted by that of another, and a key expires by the clock of the node
// that is asked. If a node's clock and the database's differ, one of them is wrong, and nobody can tell which: the node serves
// nothing, and deletes nothing, until they agree.

import type pg from 'pg'
import { MINUTE } from '../core/clock.ts'
import { ClocksDiffer } from './errors.ts'

/**
 * Those promises are about hours and days: less than this breaks none of them, and no clock that is kept is as wrong. Leases of
 * webhook messages and mails are shorter: with a difference of more than a few seconds, some may be sent twice.
 */
const MAX_CLOCK_DIFFERENCE_MS = MINUTE

/** Selects these columns, and fails if the clocks differ. The time that the question and its answer take is no difference. */
export async function selectWithClock<Row extends object>(
  client: pg.ClientBase,
  columns: string,
  timeout: { query_timeout?: number } = {},
): Promise<Row> {
  const text = `select ${columns}, (extract(epoch from clock_timestamp()) * 1000)::float8 as clock_ms`
  // The real time, also in a test that has moved that of the service (core/clock.ts).
  const askedAt = Date.now()
  const { rows } = await client.query<Row & { clock_ms: number }>({ text, ...timeout })
  const [row] = rows
  if (!row) throw new Error('a select without a table has one row')
  const differenceMs = Math.max(askedAt - row.clock_ms, row.clock_ms - Date.now())
  if (differenceMs > MAX_CLOCK_DIFFERENCE_MS) throw new ClocksDiffer(differenceMs)
  return row
}
