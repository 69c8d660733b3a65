// How far a change of many keys has come, for a retry with the same Idempotency-Key (see the table bulk_changes).

import { ago, MINUTE, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { deleteInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { REPLAY_MS } from '../idempotency/idempotency.ts'
import type { BulkResult } from './schema.ts'

/** `results` are those of the first of `keyIds`. */
export type BulkProgress = { keyIds: string[]; results: BulkResult[]; more: boolean }

/** `lookup` is that of the Idempotency-Key, `request` a hash of what was asked for. */
type Run = { lookup: string; storeId: string; request: Buffer }

/** Under the claim of the Idempotency-Key: nobody else goes on with it until the transaction ends. */
export async function readProgress(tx: Db, { lookup, request }: Run): Promise<BulkProgress | null> {
  const row = await tx.one<{ request: Buffer; key_ids: string[]; results: BulkResult[]; more: boolean }>(sql`
    select request, key_ids, results, more
      from bulk_changes
     where lookup = decode(${lookup}, 'hex')
       and created_at > ${ago(REPLAY_MS)}`)
  if (!row) return null
  if (!row.request.equals(request)) fail('idempotency_mismatch')
  return { keyIds: row.key_ids, results: row.results, more: row.more }
}

export async function saveProgress(tx: Db, run: Run, { keyIds, results, more }: BulkProgress): Promise<void> {
  await tx.query(sql`
    insert into bulk_changes (lookup, store_id, request, key_ids, results, more, created_at)
    values (decode(${run.lookup}, 'hex'), ${run.storeId}, ${run.request}, ${keyIds}, ${JSON.stringify(results)}, ${more},
            ${now()})
        on conflict (lookup) do update
       set store_id = excluded.store_id, request = excluded.request, key_ids = excluded.key_ids,
           results = excluded.results, more = excluded.more, created_at = excluded.created_at`)
}

export async function deleteProgress(tx: Db, { lookup }: Run): Promise<void> {
  await tx.query(sql`delete from bulk_changes where lookup = decode(${lookup}, 'hex')`)
}

/** Maintenance: what nobody went on with for as long as a retry counts. */
export function purgeBulkChanges(db: Db): Promise<number> {
  return deleteInBatches(db, 'bulk_changes', sql`created_at < ${ago(REPLAY_MS + MINUTE)} order by created_at`)
}
