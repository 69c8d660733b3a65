// What the metrics tell of the server behind the connections: whether it is the primary, and how large the database is.

import { MINUTE } from '../core/clock.ts'
import type { Db } from './db.ts'
import { takesNoWrites } from './errors.ts'
import { sql } from './sql.ts'

/** `standby` is any server that takes no writes, `none` one that does not answer or refuses to serve. */
export const DATABASE_ROLES = ['primary', 'standby', 'none'] as const
export type DatabaseRole = (typeof DATABASE_ROLES)[number]

export async function readRole(db: Db): Promise<DatabaseRole> {
  try {
    const server = await db.one<{ read_only: boolean }>(
      sql`select require_primary(), current_setting('transaction_read_only') = 'on' as read_only`,
    )
    return server?.read_only ? 'standby' : 'primary'
  } catch (error) {
    return takesNoWrites(error) ? 'standby' : 'none'
  }
}

/** The server looks at every file of the database, thousands in a large one. */
const SIZE_KEPT_MS = 5 * MINUTE

/** In bytes, at most five minutes old. */
export function newSizeReading(db: Db): () => Promise<number> {
  let bytes = 0
  let readAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - readAt < SIZE_KEPT_MS) return bytes
    const row = await db.one<{ bytes: number }>(sql`select pg_database_size(current_database())::float8 as bytes`)
    bytes = row?.bytes ?? 0
    readAt = performance.now()
    return bytes
  }
}
