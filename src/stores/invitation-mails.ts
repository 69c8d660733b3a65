// The mails that invitations are sent by.

import type { Manager } from '../core/caller.ts'
import { ago, DAY } from '../core/clock.ts'
import type { Secret } from '../crypto/secret.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { InvitationsRow, StoresRow, UsersRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { mayMailInvitation } from '../limits/mails.ts'
import { queueMails } from '../mail/outbox.ts'

type Mailed = Pick<InvitationsRow, 'store_id' | 'role' | 'expires_at'> & { email: string }

/**
 * A store has a day's worth of mails too, so that nobody is flooded by way of invitations that are withdrawn and made again.
 * Only who has confirmed an e-mail of their own has mail sent to others; of a key, the owner whom its store counts for, and the
 * mail as well. Otherwise an account would have as many mails again for each of its stores.
 */
export async function mayMail(tx: Db, instance: Instance, caller: Manager, row: Mailed): Promise<boolean> {
  const sender = await tx.one<Pick<UsersRow, 'id'>>(sql`
    select id
      from users
     where id = ${caller.kind === 'key' ? sql`account_of(${row.store_id})` : caller.id}
       and email_verified_at is not null
       and coalesce((select created_at
                       from invitations
                      where store_id = ${row.store_id}
                      order by id desc
                     offset ${instance.maxInvitationsPerStore}
                      limit 1) <= ${ago(DAY)}, true)`)
  if (!sender) return false
  const storeId = caller.kind === 'key' ? row.store_id : null
  return mayMailInvitation(tx, instance, { storeId, userId: sender.id }, row.email)
}

export async function mailInvitation(tx: Db, instance: Instance, row: Mailed, token: Secret): Promise<void> {
  const store = await tx.one<Pick<StoresRow, 'name'>>(sql`
    select name
      from stores
     where id = ${row.store_id}`)
  const data = { store: store?.name ?? '', role: row.role.toLowerCase() }
  const link = { token, expiresAt: row.expires_at }
  await queueMails(tx, instance, [{ kind: 'invitation', to: row.email, data, link }])
}
