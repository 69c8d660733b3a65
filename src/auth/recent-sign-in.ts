// Irreversible operations need a recent sign-in: a stolen or forgotten session is not enough. A user of an identity
// provider brings a token that lives for minutes; asking them to sign in again is the provider's part.

import type { UserCaller } from '../core/caller.ts'
import { ago, MINUTE } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'

export const RECENT_SIGN_IN_MS = 10 * MINUTE

export async function checkRecentSignIn(tx: Db, caller: UserCaller): Promise<void> {
  if (caller.sessionId === null) return
  const recent = await tx.one(sql`
    select id
      from sessions
     where id = ${caller.sessionId}
       and created_at > ${ago(RECENT_SIGN_IN_MS)}`)
  if (recent === null) fail('recent_sign_in_required')
}
