// Revoking service tokens: one by an owner or the operator, or those of an owner who is one no more.

import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { ServiceTokensRow } from '../db/tables.gen.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import { trailOf } from './issue.ts'

type Revoked = Pick<ServiceTokensRow, 'id' | 'name' | 'store_ids' | 'created_by' | 'revoked_at'>

/** The one way in which they are revoked. Gives those that worked until now. */
export async function revokeServiceTokens(tx: Db, by: Actor, ids: string[]): Promise<Revoked[]> {
  const revoked = await tx.query<Revoked>(sql`
    update service_tokens
       set revoked_at = ${now()}
     where id = any(${ids})
       and revoked_at is null
 returning id, name, store_ids, created_by, revoked_at`)
  await destroyReplayableSecrets(
    tx,
    revoked.map(({ id }) => id),
  )
  await writeEvents(
    tx,
    revoked.map((token) => newEvent(by, trailOf(token), 'service_token.revoked', token.id, {})),
  )
  return revoked
}

/** Lists the tokens that a user has issued for the store and that work, since a moment if given, and ends them if asked. */
export async function settleServiceTokens(
  tx: Db,
  by: Actor,
  storeId: string,
  { userId, since }: { userId: string; since: Date | null },
  fate: 'keep' | 'revoke',
): Promise<{ id: string; name: string; revoked: boolean }[]> {
  const issued = await tx.query<Pick<ServiceTokensRow, 'id' | 'name'>>(sql`
    select id, name
      from service_tokens
     where store_ids = ${[storeId]}
       and created_by = ${userId}
       and revoked_at is null
       and created_at >= coalesce(${since}::timestamptz, '-infinity')
     order by id desc`)
  const ids = issued.map(({ id }) => id)
  if (fate === 'revoke' && ids.length > 0) await revokeServiceTokens(tx, by, ids)
  return issued.map(({ id, name }) => ({ id, name, revoked: fate === 'revoke' }))
}
