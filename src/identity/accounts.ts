// Accounts: signing up, changing the password, and what a user sees of themselves.

import { newDataKey } from '../auth/data-key.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { permissionsOf } from '../core/permissions.ts'
import type { Idempotency } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { violatedConstraint } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import type { MembersRow, UsersRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { findInvitation, isWorthSomething } from '../stores/invitations.ts'
import { type StoreRow, showStore } from '../stores/schema.ts'
import { checkPassword, hashPassword, passwordSlots } from './passwords.ts'
import type { Me } from './schema.ts'
import {
  type ClientOrigin,
  lockSessions,
  type NewSession,
  openSession,
  type UserRow,
  withdrawFromOtherSessions,
} from './sessions.ts'
import { attemptPassword, failAttempt } from './sign-in.ts'

export type NewAccount = { email: string; password: string; name: string | null; invitation: string | null }

export async function signUp(db: Db, instance: Instance, account: NewAccount, from: ClientOrigin): Promise<NewSession> {
  if (instance.signUp === 'closed') await checkInvitation(db, instance, account)
  const passwordHash = await hashPassword(account.password)
  const id = newId('user')
  const dataKey = newDataKey(instance.keyring, id)
  const user: UserRow = { id, email: account.email, name: account.name, created_at: now(), password_hash: passwordHash }
  try {
    return await db.transaction(async (tx) => {
      await tx.query(sql`
        insert into users (id, email, name, password_hash, data_key, data_key_kid, created_at, updated_at)
        values (${id}, ${user.email}, ${user.name}, ${passwordHash}, ${dataKey.wrapped}, ${dataKey.kid},
                ${user.created_at}, ${user.created_at})`)
      await writeEvents(tx, [newEvent({ kind: 'user', id, ip: from.ip }, null, 'user.created', id, {})])
      return openSession(tx, instance, user, from)
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
  if (caller.email === null)
    return fail('invalid_credentials', {
      detail: 'Your account has no password: you sign in with an identity provider.',
    })
  const faults: Fault[] = []
  checkPassword(change.newPassword, caller.email, '#/newPassword', faults)
  if (faults.length > 0) failInput(faults)
  // A failed attempt must stay committed, so it is not counted inside the transaction that it would roll back.
  const { outcome, stored } = await passwordSlots(() =>
    db.transaction(async (tx) => {
      await idempotency?.claim(tx)
      const user = await tx.one<Pick<UsersRow, 'password_hash'>>(sql`
        select password_hash
          from users
         where id = ${caller.id}`)
      const stored = user?.password_hash ?? null
      // Failures are counted by session: neither failed sign-ins nor a stolen session lock out the user in another.
      const by = { account: caller.sessionId ?? caller.id, ip: caller.ip, known: false }
      return { outcome: await attemptPassword(tx, instance, by, stored, change.currentPassword), stored }
    }),
  )
  if (outcome !== 'right') failAttempt(outcome)
  const passwordHash = await hashPassword(change.newPassword)
  await db.transaction(async (tx) => {
    // Of two concurrent changes one wins: for the other the current password is no longer right.
    const changed = await tx.query(sql`
      update users
         set password_hash = ${passwordHash}, updated_at = ${now()}
       where id = ${caller.id}
         and password_hash = ${stored}
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
    await writeEvents(tx, [newEvent(caller, null, 'user.password_changed', caller.id, {})])
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse({ body: null }))
  })
}

export async function readMe(db: Db, instance: Instance, caller: UserCaller): Promise<Me> {
  const rows = await db.query<StoreRow & Pick<MembersRow, 'role' | 'permissions'>>(sql`
    select store.id, store.name, store.registration, store.leak_grace_seconds, store.frozen_at, store.revision, store.created_at,
           store.updated_at, member.role, member.permissions
      from members member
      join stores store on store.id = member.store_id and store.deleted_at is null
     where member.user_id = ${caller.id}
     order by store.id desc
     limit 100`)
  return {
    user: { id: caller.id, email: caller.email, name: caller.name, createdAt: caller.createdAt.toISOString() },
    stores: rows.map((row) => ({
      store: showStore(row),
      role: row.role,
      permissions: permissionsOf(instance.permissions, row.role, row.permissions),
    })),
  }
}
