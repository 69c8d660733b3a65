// For load balancers and the like: whether the process is alive, and whether it can serve.

import type { Database } from '../../db/db.ts'
import { describeOutage, StandbyServer } from '../../db/errors.ts'
import { sql } from '../../db/sql.ts'
import type { Rendered } from './layout.ts'

const READY_TIMEOUT_MS = 1_000

export function liveness(): Rendered {
  return health(200, 'alive')
}

export async function readiness(db: Database, draining: boolean): Promise<Rendered> {
  if (draining) return health(503, 'stopping')
  const outage = await findOutage(db)
  return outage === null ? health(200, 'ready') : health(503, outage)
}

function health(status: number, word: string): Rendered {
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
  if (status === 503) headers['retry-after'] = '1'
  return { status, headers, body: JSON.stringify({ status: word }) }
}

const asking = new WeakMap<Database, Promise<string | null>>()

/** Null for a database that can be read and written. Those who ask at the same time ask together: nobody's look-ups wait for them. */
function findOutage(db: Database): Promise<string | null> {
  const asked = asking.get(db) ?? askServer(db).finally(() => asking.delete(db))
  asking.set(db, asked)
  return asked
}

async function askServer(db: Database): Promise<string | null> {
  const timeout = new Promise<string>((resolve) =>
    setTimeout(resolve, READY_TIMEOUT_MS, 'the database does not answer').unref(),
  )
  const answer = db
    .forHealth()
    .one<{ read_only: boolean }>(
      sql`select require_primary(), current_setting('transaction_read_only') = 'on' as read_only`,
    )
    .then((server) => {
      if (db.ledToStandby()) return describeOutage(new StandbyServer())
      return server?.read_only ? 'the database is read-only' : null
    }, describeOutage)
  return Promise.race([answer, timeout])
}
