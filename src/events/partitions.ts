// Events are partitioned by month (migrations/0031_events_by_month.sql). Partitions are added ahead of time, by whichever
// node looks first; events of a month without one are kept in the default partition.

import { now } from '../core/clock.ts'
import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'

const MONTHS_AHEAD = 3

/** Maintenance: one transaction of one node at a time (db/chore.ts), so each partition is added once. */
export function addEventPartitions(db: Db): Promise<void> {
  return runInBatches(db, async (tx) => {
    await tx.query(sql`
      select add_event_month(month)
        from generate_series(
               date_trunc('month', ${now()}::timestamptz),
               ${now()}::timestamptz + ${MONTHS_AHEAD} * interval '1 month',
               interval '1 month'
             ) as month`)
    return false
  })
}
