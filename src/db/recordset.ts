// Many rows as one parameter: `json_to_recordset($1) as alias(column type, …)`. The columns of a batched statement are
// listed once, with their types, and rows that lack one do not compile. Lists are made when the module is loaded: a
// statement that holds them stays prepared.

import { fragment, type Sql } from './sql.ts'

type Values = {
  text: string
  'text[]': readonly string[]
  int: number
  bigint: number | string
  boolean: boolean
  timestamptz: Date
  json: unknown
  /** As `\x` and hexadecimal digits. */
  bytea: string
}
export type ColumnType = keyof Values
export type Columns = Readonly<Record<string, ColumnType>>

/** A member that is undefined is left out of the JSON, and null in the row. */
export type RecordOf<C extends Columns> = { readonly [Name in keyof C]: Values[C[Name]] | null | undefined }

/** The columns are named in the code, never by a request. */
export function recordset<const C extends Columns>(alias: string, columns: C): (rows: readonly RecordOf<C>[]) => Sql {
  const list = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  const text = `json_to_recordset($1) as ${alias}(${list.join(', ')})`
  return (rows) => fragment(text, JSON.stringify(rows))
}

/** The names of columns as a list, each of `table` if that is given. */
export function columnList(names: readonly string[], table?: string): Sql {
  return fragment(names.map((name) => (table ? `${table}.${name}` : name)).join(', '))
}
