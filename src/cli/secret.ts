// Changing the server secret. Two kinds of data depend on it: what this command can move to the new one (rewrap.ts); and the
// hashes of API keys, which cannot be computed without the key and are therefore replaced when a key is used
// (keys/write-usage.ts), once this command has written down the new secret's kid.

import type { Command } from 'commander'
import { addMs, ago, DAY, now } from '../core/clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { deletePreviousSecret, rotateSecretFile } from '../crypto/secret-file.ts'
import type { Db } from '../db/db.ts'
import { checkServerSecret, dropOtherChecks } from '../db/secret-check.ts'
import { sql } from '../db/sql.ts'
import type { Io } from './io.ts'
import { usageErrors } from './program.ts'
import { countCustomers, countRows, rewrap } from './rewrap.ts'
import { type WithDatabase, withDatabase } from './with-database.ts'

const USAGE = 'Usage: secret rotate | rewrap | status | retire [--force]'

export function addSecret(program: Command, io: Io): void {
  const group = program
    .command('secret')
    .exitOverride(usageErrors(() => new Error(USAGE)))
    .argument('[verb...]')
    .action(() => group.error(USAGE))
  addVerb(group, 'rotate', 'give an embedded database a new server secret, with the service stopped', () => rotate(io))
  addVerb(group, 'rewrap', 're-encrypt what is under the previous server secret with the current one', () =>
    withCheckedSecret(io, async (db, _, { keyring, secretDir }) => {
      await rewrap(db, keyring, io)
      await report(db, keyring, secretDir, io)
    }),
  )
  addVerb(group, 'status', 'show what still depends on a previous server secret', () =>
    withDatabase(io, (db, _, { keyring, secretDir }) => report(db, keyring, secretDir, io)),
  )
  addVerb(group, 'retire', 'delete the previous server secret of an embedded database', ({ force = false }) =>
    retire(force, io),
  ).option('--force')
}

/** An unknown extra argument is refused: these commands cannot be undone. */
function addVerb(
  group: Command,
  verb: string,
  description: string,
  action: (options: { force?: boolean }) => Promise<void>,
): Command {
  return group
    .command(verb)
    .description(description)
    .allowUnknownOption()
    .allowExcessArguments()
    .action((options, { args }: Command) => {
      if (args.length > 0) throw new Error(`Unexpected argument for "secret ${verb}": ${args.join(' ')}.\n${USAGE}`)
      return action(options)
    })
}

// ---- a new secret for an embedded database ------------------------------------------------------------------------------

/** Only while the service is stopped: a running one would go on writing under the old secret alone. */
async function rotate(io: Io): Promise<void> {
  await withCheckedSecret(
    io,
    async (db, config, { keyring, secretDir }) => {
      if (secretDir === null)
        throw new Error(
          `The secret comes from ${config.DATABASE_URL ? 'your settings' : 'SERVER_SECRET'}: set a new SERVER_SECRET, the old one as SERVER_SECRET_PREVIOUS, restart, and run "secret rewrap".`,
        )
      if (keyring.previous)
        throw new Error(
          'The previous change of the secret is not finished. Run "secret rewrap" and then "secret retire" first.',
        )
      const changed = rotateSecretFile(secretDir)
      io.say('The new secret is in server-secret, the old one in server-secret.previous.')
      await rewrap(db, changed, io)
      await report(db, changed, secretDir, io)
    },
    { alone: true },
  )
}

/** With `--force` also where the previous secret is lost: the current one is then the only one the database is used with. */
async function retire(force: boolean, io: Io): Promise<void> {
  const open = force ? withDatabase : withCheckedSecret
  await open(io, async (db, _, { keyring, secretDir }) => {
    if (force) await dropOtherChecks(db, keyring.current)
    if (secretDir === null)
      throw new Error('The secret comes from your settings: take SERVER_SECRET_PREVIOUS out of them, and restart.')
    if (!keyring.previous) return io.say('There is no previous secret.')
    const left = await countLeft(db, keyring)
    if (!force && sumOf(left) > 0) {
      printStatus(left, keyring, secretDir, io)
      throw new Error(
        'The previous secret was kept, because it is still needed. "secret retire --force" deletes it anyway.',
      )
    }
    await dropOtherChecks(db, keyring.current)
    deletePreviousSecret(secretDir)
    io.say('The previous secret was deleted. A running service uses it until it is restarted.')
  })
}

/** A command with another secret than the database's would move what it cannot open. */
function withCheckedSecret(io: Io, work: WithDatabase, options?: { alone: boolean }): Promise<void> {
  return withDatabase(
    io,
    async (db, config, storage) => {
      await checkServerSecret(db, storage.keyring, storage.secretDir)
      await work(db, config, storage)
    },
    options,
  )
}

// ---- what is left -------------------------------------------------------------------------------------------------------

type Remaining = {
  /** Users whose key is not under the current secret. */
  users: number
  /** Keys that still work, and are not. */
  keys: number
  /** Answers remembered for retries that are not, and when the last of them goes. */
  answers: number
  until: Date | null
  /** Webhooks with a secret, in use or in its grace, that is not. */
  webhooks: number
  /** Customers whose e-mail is found by a hash that is not. */
  customers: number
  /** Holds whose key is not. */
  holds: number
  /** Mails to be sent whose link is sealed under another secret. */
  mails: number
}

const sumOf = ({ users, keys, answers, webhooks, customers, holds, mails }: Remaining) =>
  users + keys + answers + webhooks + customers + holds + mails

async function report(db: Db, keyring: Keyring, secretDir: string | null, io: Io): Promise<void> {
  printStatus(await countLeft(db, keyring), keyring, secretDir, io)
}

function printStatus(left: Remaining, { previous }: Keyring, secretDir: string | null, io: Io): void {
  io.print(`users ${left.users}`)
  io.print(`keys ${left.keys}`)
  io.print(`remembered answers ${left.answers}`)
  io.print(`webhooks ${left.webhooks}`)
  io.print(`customers ${left.customers}`)
  io.print(`holds ${left.holds}`)
  io.print(`mails ${left.mails}`)
  const drop = secretDir === null ? 'take SERVER_SECRET_PREVIOUS out of the settings' : 'run "secret retire"'
  const nothing = sumOf(left) === 0
  if (nothing && !previous) return io.say('Everything uses the current secret, and there is no previous one.')
  if (nothing)
    return io.say(
      `Nothing depends on the previous secret any more: you can ${drop}. Pagination cursors from before the change then stop working.`,
    )
  io.say('The previous secret is still needed. Without it:')
  if (left.users > 0)
    io.say(
      `- the addresses of ${left.users} users could not be read. Run "secret rewrap" with their secret as the previous one.`,
    )
  if (left.keys > 0)
    io.say(
      `- ${left.keys} API keys would stop working. A key moves to the current secret when it is next used; rotate or revoke keys that nobody uses.`,
    )
  if (left.answers > 0)
    io.say(
      `- retries of ${left.answers} requests would be carried out a second time. The last of these responses expires at ${left.until?.toISOString()}.`,
    )
  if (left.webhooks > 0)
    io.say(
      `- messages to ${left.webhooks} webhooks could not be signed. Run "secret rewrap" with their secret as the previous one.`,
    )
  if (left.holds > 0)
    io.say(
      `- up to ${left.holds} address versions on hold could not be read. Run "secret rewrap" with their secret as the previous one.`,
    )
  if (left.mails > 0) io.say('- the links of these mails cannot be sent. Each mail is sent or given up within a day.')
  if (left.customers > 0)
    io.say(
      `- ${left.customers} customers could not be found by e-mail. Run "secret rewrap" with their secret as the previous one.`,
    )
}

async function countLeft(db: Db, { current }: Keyring): Promise<Remaining> {
  const answers = await db.one<{ count: number; last: Date | null }>(sql`
    select count(*)::int as count, max(created_at) as last
      from idempotent_responses
     where kid <> ${current.kid}
       and created_at > ${ago(DAY)}`)
  return {
    users: await countRows(db, sql`users`, sql`data_key_kid <> ${current.kid}`),
    keys: await countKeys(db, current.kid),
    answers: answers?.count ?? 0,
    until: answers?.last ? addMs(answers.last, DAY) : null,
    webhooks: await countRows(
      db,
      sql`webhooks`,
      sql`(secret_kid <> ${current.kid} or (previous_secret_kid <> ${current.kid} and previous_expires_at > ${now()}))`,
    ),
    holds: await countRows(db, sql`address_holds`, sql`data_key_kid <> ${current.kid}`),
    customers: await countCustomers(db, sql`email_hash_kid <> ${current.kid}`),
    mails: await countRows(db, sql`mails`, sql`token_kid <> ${current.kid}`),
  }
}

/** Keys that are revoked or expired work under no secret. */
function countKeys(db: Db, kid: string): Promise<number> {
  return countRows(
    db,
    sql`api_keys`,
    sql`revoked_at is null
        and (expires_at is null or expires_at > ${now()})
        and (hash_kid <> ${kid} or (previous_hash_kid <> ${kid} and previous_expires_at > ${now()}))`,
  )
}
