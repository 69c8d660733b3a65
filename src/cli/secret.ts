// Changing the server secret. Two kinds of data depend on it: the users' data keys and the secrets of webhooks, which are
// small and are wrapped anew here, a batch at a time; and the hashes of API keys, which cannot be computed without the key
// and are therefore replaced when a key is used (keys/usage.ts), once this command has written down the new secret's kid.

import type { Command } from 'commander'
import { rewrapDataKey } from '../auth/data-key.ts'
import { addMs, ago, DAY, now } from '../core/clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { deletePreviousSecret, rotateSecretFile } from '../crypto/secret-file.ts'
import type { Db } from '../db/db.ts'
import { checkServerSecret, dropOtherChecks } from '../db/secret-check.ts'
import { type Sql, sql } from '../db/sql.ts'
import { resealSecret } from '../webhooks/signature.ts'
import type { InterruptFlag } from './interrupt.ts'
import type { Io } from './io.ts'
import { usageErrors } from './program.ts'
import { type WithDatabase, withDatabase } from './with-database.ts'

const USAGE = 'Usage: secret rotate | rewrap | status | retire [--force]'
const BATCH = 500
/** A statement may take 5 seconds, so a whole table is counted in steps. */
const COUNTED_AT_ONCE = 50_000

export function addSecret(program: Command, io: Io): void {
  const group = program
    .command('secret')
    .exitOverride(usageErrors(() => new Error(USAGE)))
    .argument('[verb...]')
    .action(() => group.error(USAGE))
  addVerb(group, 'rotate', 'give an embedded database a new server secret, with the service stopped', () => rotate(io))
  addVerb(group, 'rewrap', 'move what is kept under the previous server secret to the current one', () =>
    withCheckedSecret(io, async (db, _, { keyring, secretDir }) => {
      await rewrap(db, keyring, io)
      await report(db, keyring, secretDir, io)
    }),
  )
  addVerb(group, 'status', 'tell what is still under another secret than the current one', () =>
    withDatabase(io, (db, _, { keyring, secretDir }) => report(db, keyring, secretDir, io)),
  )
  addVerb(group, 'retire', 'forget the previous server secret of an embedded database', ({ force = false }) =>
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
      if (args.length > 0) throw new Error(`"${args.join(' ')}" says nothing to "secret ${verb}".\n${USAGE}`)
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
        throw new Error('The last change is not finished: run "secret rewrap" and then "secret retire" first.')
      const changed = rotateSecretFile(secretDir)
      io.say('There is a new secret in server-secret; the old one is in server-secret.previous.')
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
    if (!keyring.previous) return io.say('There is no previous secret here.')
    const left = await countLeft(db, keyring)
    if (!force && sumOf(left) > 0) {
      printStatus(left, keyring, secretDir, io)
      throw new Error('The previous secret was kept. "secret retire --force" gives up what is left.')
    }
    await dropOtherChecks(db, keyring.current)
    deletePreviousSecret(secretDir)
    io.say('The previous secret is gone. A running service knows it until it is restarted.')
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

// ---- wrapped anew -------------------------------------------------------------------------------------------------------

/** Rows of one kind that are under a secret: how many, a batch of those after an id, and how it is moved. */
type Rewrapper<Row extends { id: string }> = {
  what: string
  count(): Promise<number>
  next(after: string): Promise<Row[]>
  write(rows: Row[]): Promise<unknown>
}

/** Each batch is a statement of its own: stopped at any moment, the next run goes on with what is left. */
async function rewrap(db: Db, keyring: Keyring, io: Io): Promise<void> {
  const { current, previous } = keyring
  await db.query(sql`
    insert into server_secret (kid, since)
    values (${current.kid}, ${now()})
        on conflict (n) do update
       set kid = excluded.kid, since = excluded.since
     where server_secret.kid <> excluded.kid`)
  if (!previous) return io.say('There is no previous secret here, so there is nothing to move.')
  const interrupt = io.interruptFlag()
  try {
    await move(usersUnder(db, keyring, previous.kid), interrupt, io)
    await move(webhooksUnder(db, keyring, previous.kid), interrupt, io)
  } finally {
    interrupt.close()
  }
}

/** In rounds, until one finds no row: a row that was changed between its reading and its writing is left for the next. */
async function move<Row extends { id: string }>(
  mover: Rewrapper<Row>,
  interrupt: InterruptFlag,
  io: Io,
): Promise<void> {
  const all = await mover.count()
  const began = performance.now()
  for (let done = 0, after = ''; ; ) {
    const rows = await mover.next(after)
    if (rows.length === 0 && after === '') break
    if (rows.length > 0 && interrupt.raised)
      throw new Error(`Stopped. ${Math.max(0, all - done)} ${mover.what} are left: run "secret rewrap" again to go on.`)
    after = rows.at(-1)?.id ?? ''
    if (rows.length === 0) continue
    await mover.write(rows)
    done += rows.length
    const perSecond = Math.round((done * 1000) / (performance.now() - began))
    io.say(`${done} of ${all} ${mover.what}, ${perSecond}/s, ${Math.max(0, all - done)} left`)
  }
}

type WrappedUserRow = { id: string; data_key: Buffer; data_key_kid: string }

function usersUnder(db: Db, keyring: Keyring, kid: string): Rewrapper<WrappedUserRow> {
  return {
    what: 'users',
    count: () => countRows(db, sql`users`, sql`data_key_kid = ${kid}`),
    next: (after) =>
      db.query(sql`
        select id, data_key, data_key_kid
          from users
         where id > ${after}
           and data_key_kid = ${kid}
         order by id
         limit ${BATCH}`),
    write: (rows) => writeKeys(db, keyring, rows),
  }
}

/** A user who was erased since the batch was read has no data key any more, and gets none. */
async function writeKeys(db: Db, keyring: Keyring, rows: WrappedUserRow[]): Promise<void> {
  const moved = rows.map(({ id, data_key, data_key_kid }) => {
    const { wrapped, kid } = rewrapDataKey(keyring, { id, dataKey: data_key, dataKeyKid: data_key_kid })
    return { id, before: data_key.toString('hex'), data_key: wrapped.toString('hex'), data_key_kid: kid }
  })
  await db.query(sql`
    update users
       set data_key = decode(moved.data_key, 'hex'), data_key_kid = moved.data_key_kid
      from json_to_recordset(${JSON.stringify(moved)})
           as moved(id text, before text, data_key text, data_key_kid text)
     where users.id = moved.id
       and users.data_key = decode(moved.before, 'hex')`)
}

type SealedWebhookRow = {
  id: string
  secret: Buffer
  secret_kid: string
  previous_secret: Buffer | null
  previous_secret_kid: string | null
}

function webhooksUnder(db: Db, keyring: Keyring, kid: string): Rewrapper<SealedWebhookRow> {
  const under = sql`(secret_kid = ${kid} or previous_secret_kid = ${kid})`
  return {
    what: 'webhooks',
    count: () => countRows(db, sql`webhooks`, under),
    next: (after) =>
      db.query(sql`
        select id, secret, secret_kid, previous_secret, previous_secret_kid
          from webhooks
         where id > ${after}
           and ${under}
         order by id
         limit ${BATCH}`),
    write: (rows) => writeSecrets(db, keyring, kid, rows),
  }
}

/** Writes both secrets of a webhook and neither its revision nor its state. One that was rotated since is read anew. */
async function writeSecrets(db: Db, keyring: Keyring, under: string, rows: SealedWebhookRow[]): Promise<void> {
  const hex = (bytes: Buffer | null) => bytes?.toString('hex') ?? null
  const moved = rows.map((row) => {
    const reseal = (sealed: Buffer | null, kid: string | null) =>
      sealed && kid === under ? resealSecret(keyring, row.id, { sealed, kid }) : { sealed, kid }
    const secret = reseal(row.secret, row.secret_kid)
    const previous = reseal(row.previous_secret, row.previous_secret_kid)
    return {
      id: row.id,
      before: hex(row.secret),
      secret: hex(secret.sealed),
      secret_kid: secret.kid,
      previous_before: hex(row.previous_secret),
      previous_secret: hex(previous.sealed),
      previous_secret_kid: previous.kid,
    }
  })
  await db.query(sql`
    update webhooks
       set secret = decode(moved.secret, 'hex'),
           secret_kid = moved.secret_kid,
           previous_secret = decode(moved.previous_secret, 'hex'),
           previous_secret_kid = moved.previous_secret_kid
      from json_to_recordset(${JSON.stringify(moved)})
           as moved(id text, before text, secret text, secret_kid text, previous_before text, previous_secret text,
                    previous_secret_kid text)
     where webhooks.id = moved.id
       and webhooks.secret = decode(moved.before, 'hex')
       and webhooks.previous_secret is not distinct from decode(moved.previous_before, 'hex')`)
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
}

const sumOf = (left: Remaining) => left.users + left.keys + left.answers + left.webhooks

async function report(db: Db, keyring: Keyring, secretDir: string | null, io: Io): Promise<void> {
  printStatus(await countLeft(db, keyring), keyring, secretDir, io)
}

function printStatus(left: Remaining, { previous }: Keyring, secretDir: string | null, io: Io): void {
  io.print(`users ${left.users}`)
  io.print(`keys ${left.keys}`)
  io.print(`remembered answers ${left.answers}`)
  io.print(`webhooks ${left.webhooks}`)
  const drop = secretDir === null ? 'take SERVER_SECRET_PREVIOUS out of the settings' : 'run "secret retire"'
  const nothing = sumOf(left) === 0
  if (nothing && !previous) return io.say('Everything is under the current secret, and no other is known here.')
  if (nothing)
    return io.say(`Nothing is left under another secret: you may ${drop}. Cursors handed out before then end with it.`)
  io.say('Not everything is under the current secret. Without the previous one:')
  if (left.users > 0)
    io.say(
      '- the addresses of these users cannot be read. Run "secret rewrap" with the secret they are under as the previous one.',
    )
  if (left.keys > 0)
    io.say(
      '- these keys no longer work. Each moves within seconds of its next use; rotate or revoke those that are unused.',
    )
  if (left.answers > 0)
    io.say(
      `- retries of these requests would be carried out again. The last is forgotten at ${left.until?.toISOString()}.`,
    )
  if (left.webhooks > 0)
    io.say(
      '- messages of these webhooks cannot be signed. Run "secret rewrap" with the secret they are under as the previous one.',
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
  }
}

function countRows(db: Db, table: Sql, which: Sql): Promise<number> {
  return countInSteps(
    db,
    (after) =>
      sql`
      select max(id) as last, count(*) filter (where ${which})::int as count
        from (select * from ${table} where id > ${after} order by id limit ${COUNTED_AT_ONCE}) as step`,
  )
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

async function countInSteps(db: Db, step: (after: string) => Sql): Promise<number> {
  let count = 0
  for (let after: string | null = ''; after !== null; ) {
    const found: { last: string | null; count: number } | null = await db.one(step(after))
    count += found?.count ?? 0
    after = found?.last ?? null
  }
  return count
}
