// The password is asked for again before what could take an account over: a new password, a new e-mail.

import type { UserCaller } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import type { Idempotency } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { inPasswordTurn } from './passwords.ts'
import { attemptPassword, failAttempt } from './sign-in.ts'

/** Fails unless the password is right. The hash that it was compared with. */
export async function checkCurrentPassword(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  password: string,
  idempotency: Idempotency | null,
): Promise<string> {
  // A failed attempt must stay committed, so it is not counted inside the transaction that it would roll back.
  const { outcome, stored } = await inPasswordTurn({ userId: caller.id }, () =>
    db.transaction(async (tx) => {
      await idempotency?.claim(tx)
      const user = await tx.one<Pick<UsersRow, 'password_hash'>>(sql`
        select password_hash
          from users
         where id = ${caller.id}`)
      const stored = user?.password_hash ?? null
      if (stored === null)
        return fail('invalid_credentials', {
          detail: 'You have no password here: you sign in with an identity provider.',
        })
      // Failures are counted by session: neither failed sign-ins nor a stolen session lock out the user in another.
      const by = { account: caller.sessionId ?? caller.id, ip: caller.ip, known: false }
      return { outcome: await attemptPassword(tx, instance, by, stored, password), stored }
    }),
  )
  return outcome === 'right' ? stored : failAttempt(outcome, 'The current password is wrong.')
}
