// For load balancers and the like: whether the process is alive, and whether it can serve.

import type { Database } from '../../db/db.ts'
import { sql } from '../../db/sql.ts'
import type { Rendered } from './layout.ts'

const READY_TIMEOUT_MS = 1_000

export function liveness(): Rendered {
  return health(200, 'alive')
}

export async function readiness(db: Database, draining: boolean): Promise<Rendered> {
  if (draining) return health(503, 'stopping')
  return (await isAnswering(db)) ? health(200, 'ready') : health(503, 'the database does not answer')
}

function health(status: number, word: string): Rendered {
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
  if (status === 503) headers['retry-after'] = '1'
  return { status, headers, body: JSON.stringify({ status: word }) }
}

async function isAnswering(db: Database): Promise<boolean> {
  const timeout = new Promise<false>((resolve) => setTimeout(resolve, READY_TIMEOUT_MS, false).unref())
  return Promise.race([
    db.query(sql`select 1`).then(
      () => true,
      () => false,
    ),
    timeout,
  ])
}
