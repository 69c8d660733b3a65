// What inviting somebody again and removing them have in common: invitations to their address that are still open end.

import type { Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { type Db, sql } from '../db/db.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'

export async function withdrawInvitationsTo(
  tx: Db,
  caller: Manager,
  storeId: string,
  email: string | null,
): Promise<void> {
  const withdrawn = await tx.query<{ id: string }>(sql`
    update invitations
       set withdrawn_at = ${now()}
     where store_id = ${storeId}
       and email = ${email}
       and accepted_at is null
       and withdrawn_at is null
 returning id`)
  await destroyReplayableSecrets(
    tx,
    withdrawn.map(({ id }) => id),
  )
  await writeEvents(
    tx,
    withdrawn.map(({ id }) => newEvent(caller, storeId, 'member.invitation_withdrawn', id, {})),
  )
}
