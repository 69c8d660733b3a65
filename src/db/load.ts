// Fills an empty database with a copy of another one: the schema as it was there, then the rows, in one transaction. Until
// its commit nobody sees any of it, and whatever ends it before leaves the database empty.
//
// The schema is made by the migrations that the other database had; those that this version has beyond them are applied
// at the next start, to the rows as to any others. While rows are loaded there are no triggers, foreign keys and plain
// indexes: an event would otherwise be sent to webhooks again, tables would have to come in an order, and each row would
// pay for every index.

import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Connection, Db } from './db.ts'
import { acquireLock, createSchema, refuseUnsafe } from './migrate.ts'
import { COPY_SETTINGS, openSession } from './session.ts'
import { columnList, type DatabaseCopy, listTables, quote, type Sequences, type TableCopy } from './snapshot.ts'

export type LoadSteps = {
  /** Hears of each step. */
  say(line: string): void
  /** Hears of each table that was loaded. */
  loaded(table: string, rows: number): void
  /** The last step before the commit: throws when what was loaded must not be kept. */
  finish(db: Pick<Db, 'query'>): Promise<void>
}

/** Returns the number of rows. */
export async function loadDatabase(connection: Connection, copy: DatabaseCopy, steps: LoadSteps): Promise<number> {
  const session = await openSession(connection, 'restore')
  try {
    await refuseUnsafe(session)
    await acquireLock(session) // a service that is started meanwhile waits before it migrates
    await session.query(`begin; ${COPY_SETTINGS}`)
    await refuseNotEmpty(session)
    await createSchema(session, copy.schema.migrations)
    const removed = await removeForLoading(session)
    const rows = await loadTables(session, copy, steps)
    await setSequences(session, await copy.sequences())
    steps.say('Building indexes …')
    for (const { create } of removed.reverse()) await session.query(create)
    await session.query('analyze')
    await steps.finish({
      query: async <Row>({ text, values }: Parameters<Db['query']>[0]) =>
        (await session.query(text, values)).rows as Row[],
    })
    await session.query('commit')
    return rows
  } catch (error) {
    throw asSentence(error)
  } finally {
    await session.end()
  }
}

/** What an operator's database may have of its own: extensions. */
async function refuseNotEmpty(session: pg.Client): Promise<void> {
  const { rows } = await session.query<{ name: string }>(`
    select class.relname::text as name
      from pg_class class
     where class.relnamespace = (select oid from pg_namespace where nspname = current_schema())
       and class.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
       and not exists (select from pg_depend where objid = class.oid and deptype = 'e')
     order by class.relname
     limit 1`)
  if (rows[0])
    throw new Error(
      `The database to restore into is not empty (it has "${rows[0].name}"), and nothing was changed: create a new database and name it in DATABASE_URL, or set DATA_DIR to a new directory.`,
    )
}

type Removed = { drop: string; create: string }

/** In the order in which they are dropped; they are created in the opposite one. */
async function removeForLoading(session: pg.Client): Promise<Removed[]> {
  const { rows } = await session.query<Removed>(`
    with ours as (
      select oid
        from pg_class
       where relnamespace = (select oid from pg_namespace where nspname = current_schema())
    )
    select format('drop trigger %I on %s', tgname, tgrelid::regclass) as drop,
           pg_get_triggerdef(oid) as create,
           1 as place
      from pg_trigger
     where tgrelid in (select oid from ours)
       and not tgisinternal
     union all
    select format('alter table %s drop constraint %I', conrelid::regclass, conname),
           format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)),
           2
      from pg_constraint
     where conrelid in (select oid from ours)
       and contype = 'f'
     union all
    select format('drop index %s', indexrelid::regclass),
           pg_get_indexdef(indexrelid),
           3
      from pg_index
     where indrelid in (select oid from ours)
       and not exists (select from pg_constraint where conindid = indexrelid)
     order by place, drop`)
  for (const { drop } of rows) await session.query(drop)
  return rows
}

async function loadTables(session: pg.Client, copy: DatabaseCopy, steps: LoadSteps): Promise<number> {
  const ours = await listTables(session)
  // A migration has written the first row of one of them.
  await session.query(`truncate ${ours.map(({ name }) => quote(name)).join(', ')}`)
  const missing = new Set(ours.map(({ name }) => name))
  let all = 0
  for await (const each of copy.tables()) {
    const { name } = each.table
    if (!missing.delete(name)) {
      for await (const _ of each.data);
      steps.say(`The table "${name}" does not belong to Storekeeper and was left out.`)
      continue
    }
    const rows = await loadTable(session, each)
    steps.loaded(name, rows)
    all += rows
  }
  if (missing.size > 0) throw new Error(`The copy lacks the table ${[...missing].join(', ')}.`)
  return all
}

async function loadTable(session: pg.Client, { table, data, rows }: TableCopy): Promise<number> {
  const stream = session.query(copyFrom(`copy ${quote(table.name)} (${columnList(table)}) from stdin`))
  await pipeline(data, stream)
  const expected = await rows()
  const found = await session.query<{ count: string }>(`select count(*) from ${quote(table.name)}`)
  const count = Number(found.rows[0]?.count)
  if (count !== expected) throw new Error(`The table ${table.name} has ${count} rows instead of ${expected}.`)
  return count
}

async function setSequences(session: pg.Client, sequences: Sequences): Promise<void> {
  for (const [column, last] of Object.entries(sequences)) {
    const [table = '', name = ''] = column.split('.')
    await session.query('select setval(pg_get_serial_sequence($1, $2)::regclass, $3)', [quote(table), name, last])
  }
}

/** An error of the server's, which alone says little. */
function asSentence(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const where = error.table ? ` (table ${error.table})` : ''
  return new Error(`The database refused the copy${where}, and nothing was changed: ${error.message}.`, {
    cause: error,
  })
}
