// Brings the database to the shape this version needs: numbered, forward-only SQL files, each applied once, in order,
// in a transaction of its own. Many nodes may start at once: an advisory lock lets one of them work while the others
// wait. A file that was altered after it was applied stops the start, because the state of the database is unknown then.
//
// While serving: a migration waits at most a second for a lock, then lets the traffic through and tries again. The old
// code must run on the new schema, so columns are added first and removed in a later release. An index on a table that
// may be large is built beside the traffic: each `create index concurrently` of a file runs by itself, before the rest.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { selectWithClock } from './clock-check.ts'
import type { Connection } from './db.ts'
import { openSession } from './session.ts'

const MIGRATIONS = new URL('../../migrations/', import.meta.url)
const LOCK = 7_305_001
const MAX_TRIES = 30
const LOCK_POLL_MS = 50

export type AppliedMigration = { version: number; name: string; checksum: string }
type Migration = AppliedMigration & { text: string }

export async function migrate(
  connection: Connection,
  say: (line: string) => void = () => {},
  folder: URL = MIGRATIONS,
): Promise<void> {
  const client = await openSession(connection, 'migrate')
  try {
    await refuseUnsafe(client)
    if ('connectionString' in connection) await refuseSharedSessions(client, connection)
    await acquireLock(client)
    await refuseUnreleased(client)
    await applyMissing(client, say, folder)
  } finally {
    await client.end()
  }
}

/**
 * The state of a database before it is migrated: without our tables, with our tables but no users, or with users. A
 * database of an unreleased version is refused here already, before a secret is created beside it.
 */
export async function inspectDatabase(connection: Connection): Promise<'foreign' | 'empty' | 'in use'> {
  const client = await openSession(connection, 'migrate')
  try {
    await refuseUnreleased(client)
    const ours = await client.query<{ yes: boolean }>(
      `select to_regclass('schema_migrations') is not null and to_regclass('service_tokens') is not null as yes`,
    )
    if (!ours.rows[0]?.yes) return 'foreign'
    const { rows } = await client.query('select from users limit 1')
    return rows.length > 0 ? 'in use' : 'empty'
  } finally {
    await client.end()
  }
}

/**
 * Polls instead of waiting: a concurrent build of an index waits for every statement in progress, and so for one that waits
 * for this lock.
 */
export async function acquireLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ got: boolean }>('select pg_try_advisory_lock($1) as got', [LOCK])
    if (rows[0]?.got) return
    await sleep(LOCK_POLL_MS)
  }
}

type ServerState = { version: number; fsync: string; full_page_writes: string; is_standby: boolean; read_only: string }

/** Refuses a server that is too old, has another time, takes no writes, or could lose committed transactions in a crash. */
export async function refuseUnsafe(client: pg.Client): Promise<void> {
  const server = await selectWithClock<ServerState>(
    client,
    `current_setting('server_version_num')::int as version,
     current_setting('fsync') as fsync,
     current_setting('full_page_writes') as full_page_writes,
     pg_is_in_recovery() as is_standby,
     current_setting('transaction_read_only') as read_only`,
  )
  if (server.version < 140_000)
    throw new Error(`PostgreSQL 14 or later is required; this is version ${Math.floor(server.version / 10_000)}.`)
  if (server.is_standby)
    throw new Error('The database is a standby, which is read-only. DATABASE_URL must point to the primary.')
  if (server.read_only === 'on')
    throw new Error('The database is read-only (default_transaction_read_only is on): turn that off.')
  for (const name of ['fsync', 'full_page_writes'] as const)
    if (server[name] !== 'on')
      throw new Error(
        `The database runs with ${name} off: a crash could lose data that was already confirmed. Turn ${name} on.`,
      )
}

const POOLER_PROBES = 3

/**
 * Refuses a pooler that lends sessions of the server for a transaction at a time: settings, prepared statements,
 * notifications and locks of the session would be lost. Two open connections must be two sessions, and stay so.
 */
async function refuseSharedSessions(client: pg.Client, connection: Connection): Promise<void> {
  const other = await openSession(connection, 'migrate')
  try {
    const sessionOf = async (each: pg.Client) =>
      (await each.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
    const [mine, others] = [await sessionOf(client), await sessionOf(other)]
    let isShared = mine === others
    for (let n = 0; n < POOLER_PROBES; n++)
      isShared ||= (await sessionOf(client)) !== mine || (await sessionOf(other)) !== others
    if (isShared)
      throw new Error(
        'DATABASE_URL points to a pooler that shares sessions between connections (transaction or statement mode): connect directly, or through a pooler in session mode.',
      )
  } finally {
    await other.end()
  }
}

/** The first migrations of the versions before each squash. Even a partially migrated database has the row of one. */
const UNRELEASED = ['0001_foundation.sql', '0001_users.sql']

/** Read as JSON: the table of that name in a database of another program has columns of its own. */
async function refuseUnreleased(client: pg.Client): Promise<void> {
  const table = await client.query<{ exists: boolean }>(`select to_regclass('schema_migrations') is not null as exists`)
  if (!table.rows[0]?.exists) return
  const { rows } = await client.query(
    `select from schema_migrations as applied where to_jsonb(applied) ->> 'name' = any($1) limit 1`,
    [UNRELEASED],
  )
  if (rows.length > 0)
    throw new Error(
      'This database was made by an unreleased version of Storekeeper, whose data cannot be used. Set DATA_DIR to a new directory, or DATABASE_URL to a new database.',
    )
}

const SCHEMA_MIGRATIONS = `
  create table if not exists schema_migrations (
    version int primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`

async function applyMissing(client: pg.Client, say: (line: string) => void, folder: URL): Promise<void> {
  await client.query(SCHEMA_MIGRATIONS)
  const { rows } = await client.query<{ version: number; checksum: string }>(
    'select version, checksum from schema_migrations',
  )
  const applied = new Map(rows.map((row) => [row.version, row.checksum]))
  for (const migration of readMigrations(folder)) {
    const before = applied.get(migration.version)
    if (before === migration.checksum) continue
    if (before) throw new Error(`migrations/${migration.name} was changed after it had been applied to this database.`)
    say(`Applying migration ${migration.name}`)
    await apply(client, migration)
  }
}

/**
 * Makes the schema of a database that these migrations were applied to, in the transaction of the caller, in an empty
 * database. The rows of schema_migrations are left to the caller.
 */
export async function createSchema(client: pg.Client, applied: AppliedMigration[]): Promise<void> {
  const known = new Map(readMigrations(MIGRATIONS).map((migration) => [migration.version, migration]))
  await client.query(SCHEMA_MIGRATIONS)
  if (applied.some(({ name }) => UNRELEASED.includes(name)))
    throw new Error('The data is of an unreleased version of Storekeeper and cannot be used.')
  for (const { version, name, checksum } of applied) {
    const migration = known.get(version)
    if (migration?.checksum !== checksum)
      throw new Error(
        `The data is of another version of Storekeeper: this one ${migration ? 'has another' : 'does not have the'} migration ${name}. Use the version it was made with, or a later one.`,
      )
    await client.query(migration.text.replaceAll(/^(create (?:unique )?index) concurrently /gm, '$1 '))
  }
}

function readMigrations(folder: URL): Migration[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}_.*\.sql$/.test(name))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8')
      return {
        version: Number(name.slice(0, 4)),
        name,
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
      }
    })
}

const CONCURRENT = /^create (?:unique )?index concurrently (\w+) [^;]*;/gm

/** A build that was interrupted leaves an invalid index: it is dropped and built again. */
async function buildIndex(client: pg.Client, statement: string, name: string): Promise<void> {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  )
  if (rows[0]?.valid) return
  if (rows[0]) await client.query(`drop index concurrently ${name}`)
  await client.query(statement)
}

/** SQLSTATE of a lock that was not available in time. */
const LOCK_NOT_AVAILABLE = '55P03'

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  for (const [statement, name] of migration.text.matchAll(CONCURRENT))
    await buildIndex(client, statement, name as string)
  const text = migration.text.replace(CONCURRENT, '')
  for (let attempt = 1; ; attempt++) {
    try {
      await client.query("begin; set local lock_timeout = '1s'")
      await client.query(text)
      await client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
        migration.version,
        migration.name,
        migration.checksum,
      ])
      await client.query('commit')
      return
    } catch (error) {
      await client.query('rollback').catch(() => {})
      if ((error as pg.DatabaseError).code !== LOCK_NOT_AVAILABLE || attempt === MAX_TRIES) throw error
      await sleep(200 * attempt)
    }
  }
}
