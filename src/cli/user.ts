// The operator's commands about accounts. A user is named by e-mail or, where there is none, by id.

import type { Command } from 'commander'
import { endEmailChange, endUserTokens, issueUserToken } from '../auth/user-tokens.ts'
import type { Config } from '../config.ts'
import { now } from '../core/clock.ts'
import { newResolve } from '../core/dns.ts'
import { normalizeEmail } from '../core/email.ts'
import { Failure } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { eraseUser } from '../identity/erase.ts'
import { tellFactorChange } from '../identity/factor-changes.ts'
import { hasFactor, readFactors, removeFactors } from '../identity/factors.ts'
import { endAllSessions } from '../identity/reset.ts'
import { newInstance } from '../instance.ts'
import type { Cascade } from '../keys/revoke.ts'
import type { Storage } from '../storage.ts'
import type { Io } from './io.ts'
import { operator } from './operator.ts'
import { usageErrors } from './program.ts'
import { withDatabase } from './with-database.ts'

const USAGE = 'Usage: user list, or user reset | reset-second-factor | disable | enable | unlink | erase <e-mail or id>'

const LISTED_AT_ONCE = 1_000

export function addUser(program: Command, io: Io): void {
  const group = program
    .command('user')
    .exitOverride(usageErrors(() => new Error(USAGE)))
    .argument('[verb...]')
    .action(() => group.error(USAGE))
  const verb = (name: string, description: string) =>
    group.command(name).usage('<e-mail or id>').argument('<user>').description(description)
  group
    .command('list')
    .description('list all accounts')
    .action(() => withDatabase(io, (db) => listUsers(db, io)))
  verb('reset', 'print a link for setting a new password, which works once, within an hour').action((name: string) =>
    withDatabase(io, (db, config) => printResetLink(db, config, name, io)),
  )
  verb(
    'reset-second-factor',
    'remove the authenticator app, passkeys and recovery codes of an account, and end its sessions',
  ).action((name: string) =>
    withDatabase(io, (db, config, storage) => resetSecondFactor(db, config, storage, name, io)),
  )
  verb('disable', 'disable an account: end its sessions and refuse sign-ins').action((name: string) =>
    withDatabase(io, (db) => disable(db, name, io)),
  )
  verb('enable', 'enable a disabled account again').action((name: string) =>
    withDatabase(io, (db) => enable(db, name, io)),
  )
  verb('unlink', 'separate an account from the identity provider, and end its sessions').action((name: string) =>
    withDatabase(io, (db) => unlink(db, name, io)),
  )
  verb('erase', 'erase an account; this cannot be undone')
    .usage('<e-mail or id> [--revoke-keys] [--disable-webhooks]')
    .option('--revoke-keys', 'revoke the keys that the user created or rotated')
    .option('--disable-webhooks', 'disable the webhooks that the user created')
    .action((name: string, { revokeKeys, disableWebhooks }: { revokeKeys?: true; disableWebhooks?: true }) => {
      const cascade = { keys: revokeKeys ? 'revoke' : 'keep', webhooks: disableWebhooks ? 'disable' : 'keep' } as const
      return withDatabase(io, (db, config, storage) => erase(db, config, storage, name, cascade, io))
    })
}

type Account = Pick<UsersRow, 'id' | 'email' | 'name' | 'password_hash' | 'issuer' | 'created_at' | 'disabled_at'>

async function listUsers(db: Db, io: Io): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await db.query<Account>(sql`
      select id, email, name, password_hash, issuer, created_at, disabled_at
        from users
       where id > ${after}
         and erased_at is null
         and customer_of is null
       order by id
       limit ${LISTED_AT_ONCE}`)
    for (const { id, created_at, disabled_at, email, name } of rows)
      io.print(
        [id, created_at.toISOString(), disabled_at ? 'disabled' : 'active', email ?? '-', name ?? '-'].join('  '),
      )
    const last = rows.at(-1)
    if (!last || rows.length < LISTED_AT_ONCE) return
    after = last.id
  }
}

/** Locked until the transaction ends. */
async function lockUser(tx: Db, name: string): Promise<Account> {
  const user = await tx.one<Account>(sql`
    select id, email, name, password_hash, issuer, created_at, disabled_at
      from users
     where (id = ${name} or email = ${normalizeEmail(name) ?? name})
       and erased_at is null
       and customer_of is null
       for no key update`)
  if (!user) throw new Error(`There is no account "${name}". "user list" shows all of them.`)
  return user
}

async function printResetLink(db: Db, config: Config, name: string, io: Io): Promise<void> {
  const token = await db.transaction(async (tx) => {
    const user = await lockUser(tx, name)
    if (user.password_hash === null)
      throw new Error(`${name} has no password here: they sign in with an identity provider.`)
    if (user.disabled_at !== null) throw new Error(`${name} is disabled. Run "user enable" first.`)
    await writeEvents(tx, [newEvent(operator(), null, 'user.reset_issued', user.id, {})])
    const issued = await issueUserToken(tx, config.KEY_PREFIX, 'reset', { user_id: user.id, email: null })
    return issued.token
  })
  io.print(`${addressOf(config)}/reset#token=${token.reveal()}`)
  io.say(
    'Give this link only to the owner of the account. It works once, within an hour, and replaces any earlier link.',
  )
}

/** Where people reach the service. */
function addressOf({ PUBLIC_URL, HOST, PORT }: Config): string {
  if (PUBLIC_URL !== null) return PUBLIC_URL
  const host = /^(0\.0\.0\.0|::)$/.test(HOST) ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST
  return `http://${host}:${PORT}`
}

async function resetSecondFactor(db: Db, config: Config, { keyring }: Storage, name: string, io: Io): Promise<void> {
  const instance = newInstance(config, keyring, newResolve())
  await db.transaction(async (tx) => {
    const user = await lockUser(tx, name)
    if (!hasFactor(await readFactors(tx, user.id))) throw new Error(`${name} has no second factor.`)
    await endAllSessions(tx, operator(), user.id)
    await endEmailChange(tx, user.id)
    await removeFactors(tx, user.id)
    await writeEvents(tx, [newEvent(operator(), null, 'user.second_factor_reset', user.id, {})])
    await tellFactorChange(tx, instance, user.id, null, 'reset')
  })
  io.say(`${name} can now sign in with only the password. Make sure that it was the owner of the account who asked.`)
}

async function disable(db: Db, name: string, io: Io): Promise<void> {
  const { id, issuer } = await db.transaction(async (tx) => {
    const user = await lockUser(tx, name)
    if (user.disabled_at !== null) throw new Error(`${name} is already disabled.`)
    await tx.query(sql`update users set disabled_at = ${now()}, updated_at = ${now()} where id = ${user.id}`)
    await endAllSessions(tx, operator(), user.id)
    await endUserTokens(tx, user.id)
    await writeEvents(tx, [newEvent(operator(), null, 'user.disabled', user.id, {})])
    return user
  })
  const account = `${id}, ${issuer === null ? 'with a password' : 'of the identity provider'}`
  io.say(
    `${name} (${account}) can no longer sign in. Keys they created keep working: revoke them in their stores if needed.`,
  )
}

async function enable(db: Db, name: string, io: Io): Promise<void> {
  await db.transaction(async (tx) => {
    const user = await lockUser(tx, name)
    if (user.disabled_at === null) throw new Error(`${name} is not disabled.`)
    await tx.query(sql`update users set disabled_at = null, updated_at = ${now()} where id = ${user.id}`)
    await writeEvents(tx, [newEvent(operator(), null, 'user.enabled', user.id, {})])
  })
  io.say(`${name} can sign in again.`)
}

/**
 * The e-mail has to be confirmed again: otherwise the next single sign-on would link the account as before. Only a confirmed
 * one is ever linked, so that will not be the first time (see `resetPassword`).
 */
async function unlink(db: Db, name: string, io: Io): Promise<void> {
  await db.transaction(async (tx) => {
    const user = await lockUser(tx, name)
    if (user.issuer === null) throw new Error(`${name} is not linked to an identity provider.`)
    if (user.password_hash === null)
      throw new Error(`${name} has no password here, so they could no longer sign in. Use "user disable" instead.`)
    await tx.query(sql`
      update users
         set issuer = null, subject = null, email_verified_at = null, updated_at = ${now()},
             confirm_again_since = case when email_verified_at is null then confirm_again_since else ${now()} end
       where id = ${user.id}`)
    await endAllSessions(tx, operator(), user.id)
    await endEmailChange(tx, user.id)
    await writeEvents(tx, [newEvent(operator(), null, 'user.provider_unlinked', user.id, { issuer: user.issuer })])
  })
  io.say(`${name} now signs in only with the password. The e-mail address has to be confirmed again.`)
}

async function erase(
  db: Db,
  config: Config,
  { keyring }: Storage,
  name: string,
  cascade: Cascade,
  io: Io,
): Promise<void> {
  const instance = newInstance(config, keyring, newResolve())
  try {
    // Not locked: the locks of stores come first.
    const user = await db.one<Pick<UsersRow, 'id'>>(sql`
      select id
        from users
       where (id = ${name} or email = ${normalizeEmail(name) ?? name})
         and erased_at is null
         and customer_of is null`)
    if (!user) throw new Error(`There is no account "${name}". "user list" shows all of them.`)
    const made = await eraseUser(db, instance, operator(), { ...user, sessionId: null }, cascade)
    io.say(`${name} was erased. Remaining: ${made.keys.length} keys and ${made.webhooks.length} webhooks.`)
    for (const { storeId, id, status } of made.keys) io.print([storeId, id, status].join('  '))
    for (const { storeId, id, enabled } of made.webhooks)
      io.print([storeId, id, enabled ? 'enabled' : 'disabled'].join('  '))
  } catch (error) {
    if (error instanceof Failure && error.details.detail && error.code === 'unavailable')
      throw new Error(error.details.detail)
    if (!(error instanceof Failure) || error.code !== 'last_owner') throw error
    const stores = (error.details.members?.stores ?? []) as { id: string; name: string }[]
    const names = stores.map(({ id, name: store }) => `${id} (${store})`).join(', ')
    throw new Error(`${name} is the last owner of ${names}. Make somebody else an owner or delete the store first.`)
  }
}
