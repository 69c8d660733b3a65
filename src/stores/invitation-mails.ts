// The mails that invitations are sent by.

import { ago, DAY } from '../core/clock.ts'
import type { Secret } from '../crypto/secret.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { InvitationsRow, StoresRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { queueMails } from '../mail/outbox.ts'

type Mailed = Pick<InvitationsRow, 'store_id' | 'role' | 'expires_at'> & { email: string }

/** A day's worth, so that nobody is flooded with mail by way of invitations that are withdrawn and made again. */
const MAX_MAILS_TO_ADDRESS = 5

export async function mayMail(tx: Db, { maxInvitationsPerStore }: Instance, row: Mailed): Promise<boolean> {
  const [flood] = await tx.query<{ yes: boolean }>(sql`
    select greatest(
             (select created_at
                from invitations
               where email = ${row.email}
               order by id desc
              offset ${MAX_MAILS_TO_ADDRESS}
               limit 1),
             (select created_at
                from invitations
               where store_id = ${row.store_id}
               order by id desc
              offset ${maxInvitationsPerStore}
               limit 1)
           ) > ${ago(DAY)} as yes`)
  return flood?.yes !== true
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
