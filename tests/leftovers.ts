// What is left of a secret or of a person where nobody looks: in the rows, in the write-ahead log, in PostgreSQL's own log.

import { expect } from 'vitest'
import type { Shop } from './shop.ts'

/** Every row of every table as text; where it holds bytes, also those bytes read as text. */
export async function everyRow(sql: Shop['sql']): Promise<string> {
  const tables = await sql(`
    select format('%I.%I', n.nspname, c.relname) as name
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm')
       and n.nspname not in ('pg_catalog', 'information_schema')`)
  expect(tables.length).toBeGreaterThan(9)
  const texts: string[] = []
  for (const { name } of tables)
    for (const { row } of await sql(`select t::text as row from ${name} as t`)) {
      texts.push(row)
      for (const [, hex] of row.matchAll(/\\x([0-9a-f]+)/g)) texts.push(Buffer.from(hex, 'hex').toString())
    }
  return texts.join('\n')
}

/**
 * Until every transaction that began before now is over: what one of them could still read, PostgreSQL keeps. Those that
 * write in other databases count too, because whoever begins here while they are open looks back as far as they do.
 */
export async function nobodyLooksBack(sql: Shop['sql']): Promise<void> {
  const [{ xid }] = await sql('select pg_current_xact_id()::text as xid')
  const isSomebody = async () => {
    const [{ count }] = await sql(
      `select count(*)::int as count
         from pg_stat_activity
        where pid <> pg_backend_pid()
          and (backend_xid::text::bigint <= $1::bigint
               or datname = current_database() and backend_xmin::text::bigint <= $1::bigint)`,
      [xid],
    )
    return count > 0
  }
  while (await isSomebody()) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** From here on the write-ahead log is kept, for as long as this connection lives; others would have it written over. */
export async function walPosition(sql: Shop['sql']): Promise<string> {
  if (await isSuperuser(sql))
    await sql(`select pg_create_physical_replication_slot('storekeeper_' || pg_backend_pid(), true, true)`)
  return (await sql('select pg_current_wal_lsn()::text as lsn'))[0].lsn
}

async function isSuperuser(sql: Shop['sql']): Promise<boolean> {
  return (await sql('select rolsuper as yes from pg_roles where rolname = current_user'))[0].yes
}

/** More than any of the files has; PostgreSQL before 16 wants to be told. */
const SEGMENT_BYTES = 256 * 1024 * 1024

/** The write-ahead log since the beginning, and the server's own log; only a superuser may read them. */
export async function filesOf(sql: Shop['sql'], since: string): Promise<Record<string, string>> {
  if (!(await isSuperuser(sql))) return {}
  // A commit that waits for its disk writes out all that is still in memory; one that has written nothing does not wait.
  await sql(`begin; set local synchronous_commit = on; select pg_logical_emit_message(true, 'flush', ''); commit`)
  // Of the first file what was written since, from the beginning of its page; of the last what is written by now.
  const segments = await sql(
    `select name, first.file_name as first, case name when first.file_name then first.file_offset else 0 end as begin,
            case when name = last.file_name and last.file_offset > 0 then last.file_offset else $2 end as end
       from pg_walfile_name_offset($1::pg_lsn) as first
      cross join pg_walfile_name_offset(pg_current_wal_lsn()) as last
      cross join pg_ls_waldir()
      where name >= first.file_name and name <= last.file_name
      order by name`,
    [since, SEGMENT_BYTES],
  )
  expect(segments[0]?.name).toBe(segments[0]?.first)
  const wal: Buffer[] = []
  for (const { name, begin, end } of segments) {
    const from = begin - (begin % WAL_PAGE_BYTES)
    const [{ bytes }] = await sql(`select pg_read_binary_file('pg_wal/' || $1, $2, $3, true) as bytes`, [
      name,
      from,
      end - from,
    ])
    wal.push(...withoutPageHeaders(bytes ?? Buffer.alloc(0), from))
  }
  const [{ log }] = await sql(
    `select pg_read_file(current_setting('data_directory') || '/../postgres.log', 0, $1, true) as log`,
    [SEGMENT_BYTES],
  )
  return {
    'the write-ahead log': Buffer.concat(wal).toString(),
    ...(log === null ? {} : { 'the log of PostgreSQL': log as string }),
  }
}

const WAL_PAGE_BYTES = 8_192
const WAL_HEADER_BYTES = { ofSegment: 40, ofPage: 24 }

/** A record of the write-ahead log goes on behind the header of the next page: without these, what it holds is in one piece. */
function withoutPageHeaders(pages: Buffer, offset: number): Buffer[] {
  return Array.from({ length: Math.ceil(pages.length / WAL_PAGE_BYTES) }, (_, n) => {
    const from = n * WAL_PAGE_BYTES
    const header = offset + from === 0 ? WAL_HEADER_BYTES.ofSegment : WAL_HEADER_BYTES.ofPage
    return pages.subarray(from + header, from + WAL_PAGE_BYTES)
  })
}
