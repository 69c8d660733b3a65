// What users see of themselves.

import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import type { MailSwitch } from '../mail/schema.ts'
import { type Factors, factorColumns } from './factors.ts'
import type { User } from './schema.ts'

type UserRow = Pick<UsersRow, 'id' | 'email' | 'name' | 'created_at' | 'email_verified_at' | 'mail_off'> &
  Factors & { pending_email: string | null }

export async function readUser(db: Db, userId: string): Promise<User> {
  const row = await db.one<UserRow>(sql`
    select users.id, users.email, users.name, users.created_at, users.email_verified_at, users.mail_off,
           pending.email as pending_email, ${factorColumns}
      from users
      left join user_tokens pending
             on pending.user_id = users.id
            and pending.purpose = 'confirm'
            and pending.expires_at > ${now()}
            and pending.email is distinct from users.email
     where users.id = ${userId}
       and users.erased_at is null`)
  return row ? showUser(row) : fail('invalid_token')
}

function showUser(row: UserRow): User {
  const isOn = (name: MailSwitch) => !row.mail_off.includes(name)
  return {
    id: row.id,
    email: row.email,
    emailVerified: row.email_verified_at !== null,
    pendingEmail: row.pending_email,
    name: row.name,
    mail: {
      newSignIns: isOn('newSignIns'),
      leakedKeys: isOn('leakedKeys'),
      expiringKeys: isOn('expiringKeys'),
    },
    secondFactor: { totp: row.has_totp, passkeys: row.passkeys, recoveryCodesLeft: row.recovery_codes },
    createdAt: row.created_at.toISOString(),
  }
}
