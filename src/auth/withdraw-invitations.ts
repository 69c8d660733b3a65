// Ends open invitations. Below the resources, because a key that is revoked ends the invitations that were made with it,
// and so does a session that is ended for safety.

import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'

/** Ends the open ones among these invitations; their tokens cannot be shown again by a retry. */
export async function withdrawInvitations(tx: Db, actor: Actor, which: Sql): Promise<{ id: string }[]> {
  // In one order: a session that is ended holds no store's lock. First, since a statement that both waits for a row and changes
  // it may deadlock (keys/insert.ts).
  const open = await tx.query<{ id: string }>(sql`
    select id
      from invitations
     where ${which}
       and accepted_at is null
       and withdrawn_at is null
     order by id
       for no key update`)
  if (open.length === 0) return []
  const withdrawn = await tx.query<{ id: string; store_id: string }>(sql`
    update invitations
       set withdrawn_at = ${now()}
     where id = any(${open.map(({ id }) => id)})
 returning id, store_id`)
  await destroyReplayableSecrets(
    tx,
    withdrawn.map(({ id }) => id),
  )
  await writeEvents(
    tx,
    withdrawn.map(({ id, store_id }) => newEvent(actor, store_id, 'member.invitation_withdrawn', id, {})),
  )
  return withdrawn
}
