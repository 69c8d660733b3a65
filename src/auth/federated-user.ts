// Users of an identity provider are created at their first request. A user's id changes only when they are erased or the
// operator unlinks them, so it is cached without a TTL and evicted when a lookup finds that. Their e-mail and name follow the
// provider's tokens.

import { now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Db } from '../db/db.ts'
import { violatedConstraint } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { newDataKey } from './data-key.ts'
import type { Identity, Profile } from './jwt.ts'
import { loseEmail } from './lose-email.ts'

const MAX_CACHED = 10_000
const userIds = new WeakMap<Instance, Map<string, string>>()

export async function findOrCreateFederatedUser(
  db: Db,
  instance: Instance,
  identity: Pick<Identity, 'issuer' | 'subject' | 'profile'>,
  ip: string,
): Promise<string> {
  const { issuer, subject } = identity
  const ids = userIds.get(instance) ?? new Map<string, string>()
  userIds.set(instance, ids)
  const name = JSON.stringify([issuer, subject])
  const id =
    ids.get(name) ??
    (await findFederatedUser(db, issuer, subject)) ??
    (await freeOfConflict(db, instance, identity.profile, (profile) =>
      createFederatedUser(db, instance, { ...identity, profile }, ip),
    ))
  if (ids.size >= MAX_CACHED) ids.clear()
  ids.set(name, id)
  return id
}

export function evictFederatedUser(instance: Instance, userId: string | null): void {
  const ids = userIds.get(instance) ?? new Map<string, string>()
  for (const [name, id] of ids) if (id === userId) ids.delete(name)
}

async function findFederatedUser(db: Db, issuer: string, subject: string): Promise<string | null> {
  const user = await db.one<Pick<UsersRow, 'id'>>(sql`
    select id
      from users
     where issuer = ${issuer}
       and subject = ${subject}`)
  return user?.id ?? null
}

/** Of two first requests at once one creates the user, and the other finds it. */
async function createFederatedUser(
  db: Db,
  instance: Instance,
  { issuer, subject, profile }: Pick<Identity, 'issuer' | 'subject' | 'profile'>,
  ip: string,
): Promise<string> {
  const id = newId('user')
  const dataKey = newDataKey(instance.keyring, id)
  const made = await db.transaction(async (tx) => {
    const rows = await tx.query(sql`
      insert into users (id, issuer, subject, email, email_verified_at, name, data_key, data_key_kid, created_at, updated_at)
      values (${id}, ${issuer}, ${subject}, ${profile.email}, ${verifiedAt(profile)}, ${profile.name}, ${dataKey.wrapped},
              ${dataKey.kid}, ${now()}, ${now()})
          on conflict (issuer, subject) do nothing
   returning id`)
    if (rows.length > 0) await writeEvents(tx, [newEvent({ kind: 'user', id, ip }, null, 'user.created', id, {})])
    return rows.length > 0
  })
  return made ? id : ((await findFederatedUser(db, issuer, subject)) as string)
}

function verifiedAt({ email, emailVerified }: Profile): Date | null {
  return email !== null && emailVerified ? now() : null
}

/** The columns of a looked-up caller that a token may change. */
type ProfileColumns = {
  user_id: string | null
  email: string | null
  email_verified: boolean
  user_name: string | null
  user_updated_at: Date
  has_password: boolean
}

/**
 * Writes what the token says otherwise than the user's record. A token issued before the record was last written changes
 * nothing. So each token is written at most once, on whichever node, and no older token undoes a newer one. An account that
 * has a password keeps what it has.
 */
export async function takeOverProfile(
  db: Db,
  instance: Instance,
  found: ProfileColumns,
  profile: Profile,
  ip: string,
): Promise<void> {
  const { email, email_verified, user_name: name, user_updated_at: writtenAt } = found
  // Joined with the provider's user, it keeps its own.
  if (found.has_password) return
  const isSame =
    (profile.email ?? email) === email &&
    (profile.name ?? name) === name &&
    (email_verified || verifiedAt(profile) === null)
  if (isSame || profile.issuedAt <= writtenAt) return
  const written =
    (await freeOfConflict(db, instance, profile, (given) => writeProfile(db, found, given, profile, ip))) ??
    (await readProfile(db, found.user_id))
  if (!written) return
  found.email = written.email
  found.email_verified = written.email_verified_at !== null
  found.user_name = written.name
  found.user_updated_at = written.updated_at
}

/** The same, for whoever signs in in a browser. */
export async function followProfile(
  db: Db,
  instance: Instance,
  userId: string,
  profile: Profile,
  ip: string,
): Promise<void> {
  const found = await db.one<ProfileColumns>(sql`
    select id as user_id, email, email_verified_at is not null as email_verified, name as user_name,
           updated_at as user_updated_at, password_hash is not null as has_password
      from users
     where id = ${userId}
       and erased_at is null
       and disabled_at is null`)
  if (found) await takeOverProfile(db, instance, found, profile, ip)
}

type WrittenProfile = Pick<UsersRow, 'email' | 'email_verified_at' | 'name' | 'updated_at'>

/** The user's profile as another request has just written it. */
function readProfile(db: Db, userId: string | null): Promise<WrittenProfile | null> {
  return db.one(sql`
    select email, email_verified_at, name, updated_at
      from users
     where id = ${userId}
       and erased_at is null`)
}

/** `given` is the token's profile; its e-mail is null where another account has it: then the record has none either. */
function writeProfile(
  db: Db,
  { user_id, email, email_verified, user_name }: ProfileColumns,
  given: Profile,
  claimed: Profile,
  ip: string,
): Promise<WrittenProfile | null> {
  const id = user_id as string
  const after = { email: claimed.email === null ? email : given.email, name: given.name ?? user_name }
  const changed = [...(after.email === email ? [] : ['email']), ...(after.name === user_name ? [] : ['name'])]
  const staysVerified = after.email === email && email_verified
  return db.transaction(async (tx) => {
    const row = await tx.one<WrittenProfile>(sql`
      update users
         set email = ${after.email},
             email_verified_at = case when ${staysVerified} then email_verified_at else ${verifiedAt(given)}::timestamptz end,
             name = ${after.name}, updated_at = ${now()}
       where id = ${id}
         and erased_at is null
         and updated_at < ${claimed.issuedAt}
   returning email, email_verified_at, name, updated_at`)
    if (row && changed.length > 0)
      await writeEvents(tx, [newEvent({ kind: 'user', id, ip }, null, 'user.updated', id, { changed })])
    return row
  })
}

/**
 * An e-mail that another account has stays with that account: no two sign in with the same. Unless the provider has verified
 * it and the other account, which could have, has never confirmed it: then the other loses it.
 */
async function freeOfConflict<T>(
  db: Db,
  instance: Instance,
  profile: Profile,
  write: (profile: Profile) => Promise<T>,
): Promise<T> {
  for (const tryAgain of [() => takeUnconfirmed(db, instance, profile), () => false])
    try {
      return await write(profile)
    } catch (error) {
      if (violatedConstraint(error) !== 'users_email_key') throw error
      if (!(await tryAgain())) break
    }
  return write({ ...profile, email: null })
}

/**
 * Without mail nobody can confirm an e-mail, so an account keeps the one that it was made with. And so does one that had
 * confirmed it before the operator separated it from the provider, and one that the operator has disabled: by its e-mail it is
 * enabled again.
 */
async function takeUnconfirmed(db: Db, instance: Instance, { email, emailVerified }: Profile): Promise<boolean> {
  if (email === null || !emailVerified || !instance.mail) return false
  return db.transaction(async (tx) => {
    const holder = await tx.one<Pick<UsersRow, 'id'>>(sql`
      select id
        from users
       where email = ${email}
         and email_verified_at is null
         and confirm_again_since is null
         and disabled_at is null
         for update`)
    if (holder) await loseEmail(tx, instance, SYSTEM, holder.id, email)
    return holder !== null
  })
}

/** An e-mail that the provider has not verified reserves nothing: somebody who makes an account with it gets it. */
export async function releaseFederatedEmail(tx: Db, email: string): Promise<void> {
  await tx.query(sql`
    update users
       set email = null, updated_at = ${now()}
     where email = ${email}
       and email_verified_at is null
       and password_hash is null`)
}
