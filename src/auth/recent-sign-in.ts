// Irreversible operations need a recent sign-in: a stolen or forgotten session is not enough. Of a user of an identity
// provider the token says when they signed in there, by its `auth_time`, and so it is with a session opened by single
// sign-on; without it nobody can tell.

import type { UserCaller } from '../core/caller.ts'
import { ago, MINUTE } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'

export const RECENT_SIGN_IN_MS = 10 * MINUTE

export async function checkRecentSignIn(tx: Db, caller: UserCaller): Promise<void> {
  if (caller.sessionId === null) {
    const { authenticatedAt } = caller
    // An invalid date is neither before nor after another, so it is not asked whether the sign-in is too old.
    const isRecent = authenticatedAt !== null && authenticatedAt > ago(RECENT_SIGN_IN_MS)
    if (!isRecent) fail('recent_sign_in_required')
    return
  }
  const recent = await tx.one(sql`
    select id
      from sessions
     where id = ${caller.sessionId}
       and case method when 'oidc' then authenticated_at else created_at end > ${ago(RECENT_SIGN_IN_MS)}`)
  if (recent === null) fail('recent_sign_in_required')
}
