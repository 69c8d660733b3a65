// Use is counted in memory and written in batches, so that using a key never costs a write of its own. A process that
// is killed loses at most one interval of it.

import { now, SECOND } from '../clock.ts'
import { type Db, sql } from '../db/db.ts'
import { destroySecrets } from '../idempotency/retry.ts'

/** `lastUsedAt` is at most 10 s behind. */
const FLUSH_MS = 5 * SECOND

export type Usage = { used(keyId: string): void; flush(): Promise<void>; close(): Promise<void> }

export function newUsage(db: Db): Usage {
  let used = new Map<string, Date>()

  async function flush(): Promise<void> {
    const batch = used
    used = new Map()
    if (batch.size === 0) return
    const rows = [...batch].map(([id, at]) => ({ id, at }))
    try {
      await db.transaction(async (tx) => {
        const first = await tx.query<{ id: string }>(sql`
          with used as (
            select id, at
              from json_to_recordset(${JSON.stringify(rows)}) as used(id text, at timestamptz)
          ), before as (
            select key.id
              from api_keys key
              join used on used.id = key.id
             where key.last_used_at is null
          ), written as (
            update api_keys key
               set last_used_at = used.at
              from used
             where key.id = used.id
               and (key.last_used_at is null or key.last_used_at < used.at)
          )
          select id from before`)
        // Whoever uses a key has it: nobody needs to be told it again.
        await destroySecrets(
          tx,
          first.map(({ id }) => id),
        )
      })
    } catch {
      for (const [id, at] of batch) if (!used.has(id)) used.set(id, at)
    }
  }

  const timer = setInterval(flush, FLUSH_MS).unref()
  return {
    used: (keyId) => void used.set(keyId, now()),
    flush,
    close: () => {
      clearInterval(timer)
      return flush()
    },
  }
}
