// A service token lets a back end verify keys: those of its stores, or of every store. Only its hash is stored.

import { now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Secret } from '../crypto/secret.ts'
import { mintToken, sha256 } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { ServiceTokensRow } from '../db/tables.gen.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'

export type TokenScope = {
  /** Null: every store. */
  storeIds: string[] | null
  /** The owner who issues it for their store. Null: the operator. */
  createdBy: string | null
}

export type IssuedToken = { id: string; at: Date; token: Secret }

export async function issueServiceToken(
  tx: Db,
  actor: Actor,
  keyPrefix: string,
  name: string,
  { storeIds, createdBy }: TokenScope,
): Promise<IssuedToken> {
  const [id, at, token] = [newId('svc'), now(), mintToken(keyPrefix, 'svc')]
  await tx.query(sql`
    insert into service_tokens (id, name, hash, store_ids, created_by, created_at)
    values (${id}, ${name}, ${sha256(token.reveal())}, ${storeIds}, ${createdBy}, ${at})`)
  const trail = trailOf({ store_ids: storeIds, created_by: createdBy })
  await writeEvents(tx, [newEvent(actor, trail, 'service_token.created', id, { name, storeIds })])
  return { id, at, token }
}

/** The store in whose trail its events stand: that of the owner who issued it. The operator's stand in none. */
export function trailOf(token: Pick<ServiceTokensRow, 'store_ids' | 'created_by'>): string | null {
  return token.created_by === null ? null : (token.store_ids?.[0] ?? null)
}
