// All rows of the database as they are at one moment, table by table, by COPY. One transaction on one connection reads
// them all, so there is one snapshot, and the service goes on writing beside it.

import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Connection } from './db.ts'
import type { AppliedMigration } from './migrate.ts'
import { COPY_SETTINGS, openSession } from './session.ts'

export type Table = { name: string; columns: string[] }

export type Schema = {
  /** The moment that the rows are of. */
  at: string
  serverVersion: string
  migrations: AppliedMigration[]
  /** The server secrets that the database is used with, by their check values in hexadecimal (secret-check.ts). */
  secrets: { kid: string; check: string }[]
  tables: Table[]
}

/** The last number that each sequence gave, by `table.column`. */
export type Sequences = Record<string, string>

export type TableCopy = {
  table: Table
  /** In the text format of COPY. */
  data: AsyncIterable<Buffer>
  /** After the data has been read. */
  rows(): Promise<number>
}

/** A whole database: read from a server here, or from a backup (backup/file.ts). */
export type DatabaseCopy = {
  schema: Schema
  /** Once, in order; the data of a table is read before the next table is asked for. */
  tables(): AsyncIterable<TableCopy>
  /** After all tables. */
  sequences(): Promise<Sequences>
}

export type Snapshot = DatabaseCopy & { close(): Promise<void> }

export async function openSnapshot(connection: Connection): Promise<Snapshot> {
  const session = await openSession(connection, 'backup')
  try {
    const schema = await beginSnapshot(session)
    return {
      schema,
      tables: () => readTables(session, schema.tables),
      sequences: () => readSequences(session),
      close: () => session.end(),
    }
  } catch (error) {
    await session.end()
    throw error
  }
}

/**
 * The tables are locked before the snapshot is taken: a migration that rewrote one of them in between would leave it
 * empty in this snapshot.
 */
async function beginSnapshot(session: pg.Client): Promise<Schema> {
  const found = await listTables(session)
  await session.query(`begin isolation level repeatable read read only; ${COPY_SETTINGS}`)
  await session.query(`lock table ${found.map(({ name }) => quote(name)).join(', ')} in access share mode`)
  const tables = await listTables(session)
  if (JSON.stringify(tables) !== JSON.stringify(found))
    throw new Error('The tables were being migrated at this moment. Run the command again.')
  const { rows } = await session.query<Omit<Schema, 'tables'>>(`
    select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at,
           current_setting('server_version') as "serverVersion",
           (select json_agg(json_build_object('version', version, 'name', name, 'checksum', checksum) order by version)
              from schema_migrations) as migrations,
           ${found.some(({ name }) => name === 'server_secret_checks') ? SECRETS : "'[]'::json"} as secrets`)
  return { ...(rows[0] as Omit<Schema, 'tables'>), tables }
}

const SECRETS = `(
             select coalesce(json_agg(json_build_object('kid', kid, 'check', encode(check_value, 'hex')) order by kid), '[]')
               from server_secret_checks
           )`

/**
 * The tables in the schema that the service uses, without those of an extension. Unlogged ones are left out: the
 * windows of rate limits begin anew, as after a crash of the database.
 */
export async function listTables(session: pg.ClientBase): Promise<Table[]> {
  const { rows } = await session.query<Table>(`
    select class.relname::text as name,
           array_agg(attribute.attname::text order by attribute.attnum) as columns
      from pg_class class
      join pg_attribute attribute on attribute.attrelid = class.oid
     where class.relnamespace = (select oid from pg_namespace where nspname = current_schema())
       and class.relkind in ('r', 'p')
       and not class.relispartition
       and class.relpersistence = 'p'
       and attribute.attnum > 0
       and not attribute.attisdropped
       and attribute.attgenerated = ''
       and not exists (select from pg_depend where objid = class.oid and deptype = 'e')
     group by class.oid, class.relname
     order by class.relname`)
  return rows
}

async function* readTables(session: pg.Client, tables: Table[]): AsyncGenerator<TableCopy> {
  for (const table of tables) {
    // A query and no table: PostgreSQL copies a partitioned table only so.
    const stream = session.query(copyTo(`copy (select ${columnList(table)} from ${quote(table.name)}) to stdout`))
    yield {
      table,
      data: stream,
      rows: async () => {
        await session.query('select') // The count comes after the data.
        return stream.rowCount
      },
    }
  }
}

/** Sequences belong to no snapshot: read after the rows, they are at least as far. */
async function readSequences(session: pg.Client): Promise<Sequences> {
  const { rows } = await session.query<{ column: string; last: string }>(`
    select owner.relname || '.' || attribute.attname as column,
           pg_sequence_last_value(sequence.seqrelid)::text as last
      from pg_sequence sequence
      join pg_depend depend on depend.objid = sequence.seqrelid
                           and depend.classid = 'pg_class'::regclass
                           and depend.refclassid = 'pg_class'::regclass
                           and depend.deptype in ('a', 'i')
      join pg_class owner on owner.oid = depend.refobjid
      join pg_attribute attribute on attribute.attrelid = owner.oid and attribute.attnum = depend.refobjsubid
     where owner.relnamespace = (select oid from pg_namespace where nspname = current_schema())
       and pg_sequence_last_value(sequence.seqrelid) is not null`)
  return Object.fromEntries(rows.map(({ column, last }) => [column, last]))
}

export function columnList({ columns }: Table): string {
  return columns.map(quote).join(', ')
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
