// Accounts: signing up, changing the password, and what a user sees of themselves.

import { newDataKey } from '../auth/data-key.ts'
import { releaseFederatedEmail } from '../auth/federated-user.ts'
import { endUserTokens } from '../auth/user-tokens.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { permissionsOf } from '../core/permissions.ts'
import type { Idempotency } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { violatedConstraint } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import type { MembersRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { mayMailSignUp } from '../limits/mails.ts'
import { findInvitation, isWorthSomething } from '../stores/invitations.ts'
import { type StoreRow, showStore } from '../stores/schema.ts'
import { checkCurrentPassword } from './current-password.ts'
import { checkEmailFree, requestConfirmation } from './emails.ts'
import { checkPassword, hashPassword } from './passwords.ts'
import { tellPasswordChanged } from './reset.ts'
import type { Me } from './schema.ts'
import { type ClientOrigin, lockSessions, type NewSession, openSession, withdrawFromOtherSessions } from './sessions.ts'
import { readUser } from './user.ts'

export type NewAccount = { email: string; password: string; name: string | null; invitation: string | null }

export async function signUp(db: Db, instance: Instance, account: NewAccount, from: ClientOrigin): Promise<NewSession> {
  if (instance.signUp === 'closed') await checkInvitation(db, instance, account)
  const passwordHash = await hashPassword(from, account.password)
  const id = newId('user')
  const dataKey = newDataKey(instance.keyring, id)
  const at = now()
  try {
    return await db.transaction(async (tx) => {
      // The e-mail of an account that has not confirmed it is this one's as soon as this one has confirmed it.
      const isMailed = instance.mail && (await mayMailSignUp(tx, instance, account.email, from.ip))
      const isClaimed = instance.mail && (await checkEmailFree(tx, account.email)).isClaimed
      if (!instance.mail) await releaseFederatedEmail(tx, account.email)
      await tx.query(sql`
        insert into users (id, email, name, password_hash, data_key, data_key_kid, created_at, updated_at)
        values (${id}, ${isClaimed ? null : account.email}, ${account.name}, ${passwordHash}, ${dataKey.wrapped},
                ${dataKey.kid}, ${at}, ${at})`)
      await writeEvents(tx, [newEvent({ kind: 'user', id, ip: from.ip }, null, 'user.created', id, {})])
      const owner = { id, createdAt: at.toISOString() }
      if (instance.mail) await requestConfirmation(tx, instance, owner, account.email, from.ip, isMailed)
      return openSession(tx, instance, id, from)
    })
  } catch (error) {
    return violatedConstraint(error) === 'users_email_key' ? fail('email_taken') : Promise.reject(error)
  }
}

async function checkInvitation(db: Db, instance: Instance, account: NewAccount): Promise<void> {
  if (account.invitation === null) fail('sign_up_closed')
  const found = await findInvitation(db, account.invitation)
  if (!found || !(await isWorthSomething(db, instance, found))) fail('sign_up_closed')
  if (found.email !== account.email) fail('invitation_mismatch')
}

export async function changePassword(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  change: { currentPassword: string; newPassword: string },
  idempotency: Idempotency | null,
): Promise<void> {
  const faults: Fault[] = []
  checkPassword(change.newPassword, caller.email ?? '', '#/newPassword', faults)
  if (faults.length > 0) failInput(faults)
  const stored = await checkCurrentPassword(db, instance, caller, change.currentPassword, idempotency)
  const passwordHash = await hashPassword({ userId: caller.id }, change.newPassword)
  await db.transaction(async (tx) => {
    // Of two concurrent changes one wins: for the other the current password is no longer right.
    const changed = await tx.query(sql`
      update users
         set password_hash = ${passwordHash}, updated_at = ${now()}
       where id = ${caller.id}
         and password_hash = ${stored}
         and disabled_at is null
   returning id`)
    if (changed.length === 0) {
      // The change that came first may have been this same request, sent twice.
      await idempotency?.claim(tx)
      fail('invalid_credentials')
    }
    await lockSessions(tx, caller)
    await tx.query(sql`
      delete from sessions
       where user_id = ${caller.id}
         and id is distinct from ${caller.sessionId}`)
    await withdrawFromOtherSessions(tx, caller)
    await endUserTokens(tx, caller.id)
    await writeEvents(tx, [newEvent(caller, null, 'user.password_changed', caller.id, {})])
    await tellPasswordChanged(tx, instance, caller.id, caller.ip)
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse({ body: null }))
  })
}

export async function readMe(db: Db, instance: Instance, caller: UserCaller): Promise<Me> {
  const user = await readUser(db, caller.id)
  const rows = await db.query<StoreRow & Pick<MembersRow, 'role' | 'permissions'>>(sql`
    select store.id, store.name, store.registration, store.leak_grace_seconds, store.frozen_at, store.revision, store.created_at,
           store.updated_at, member.role, member.permissions
      from members member
      join stores store on store.id = member.store_id and store.deleted_at is null
     where member.user_id = ${caller.id}
     order by store.id desc
     limit 100`)
  return {
    user,
    stores: rows.map((row) => ({
      store: showStore(row),
      role: row.role,
      permissions: permissionsOf(instance.permissions, row.role, row.permissions),
    })),
  }
}
