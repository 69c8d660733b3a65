// An account loses an e-mail that it has never confirmed, because somebody else has proved that it is theirs.

import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { queueMails } from '../mail/outbox.ts'
import { endResetLinks } from './user-tokens.ts'

/** Under the account's lock. Whoever reads the mailbox is told. */
export async function loseEmail(tx: Db, instance: Instance, by: Actor, userId: string, email: string): Promise<void> {
  await tx.query(sql`
    update users
       set email = null, updated_at = ${now()}
     where id = ${userId}`)
  await endResetLinks(tx, userId)
  await writeEvents(tx, [newEvent(by, null, 'user.email_lost', userId, {})])
  await queueMails(tx, instance, [{ kind: 'email_lost', to: email, data: { at: now().toISOString() } }])
}
