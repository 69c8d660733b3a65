// The bytes that a row takes, with its share of each index, in the tables that grow.

import type { World } from './world.ts'

const TABLES = [
  'api_keys',
  'events',
  'event_seals',
  'key_usage',
  'addresses',
  'idempotent_responses',
  'webhook_deliveries',
]

export type TableSize = { table: string; rows: number; row: number; indexes: number; together: number }

/** Of a table that was analysed. Partitions count together. */
export async function sizesOf(world: Pick<World, 'sql'>, tables = TABLES): Promise<TableSize[]> {
  const sizes = await world.sql(
    `select root.relname::text as table,
            sum(part.reltuples)::float8 as rows,
            sum(pg_table_size(part.oid))::float8 as heap,
            sum(pg_indexes_size(part.oid))::float8 as indexes
       from pg_class root
      cross join lateral pg_partition_tree(root.oid) tree
       join pg_class part on part.oid = tree.relid and tree.isleaf
      where root.oid = any($1::regclass[])
        and part.reltuples > 0
      group by root.relname
      union all
     select relname::text, reltuples::float8, pg_table_size(oid)::float8, pg_indexes_size(oid)::float8
       from pg_class
      where oid = any($1::regclass[])
        and relkind = 'r'
        and reltuples > 0
      order by 1`,
    [tables],
  )
  return sizes.map(({ table, rows, heap, indexes }) => {
    const each = (bytes: unknown) => Math.round(Number(bytes) / Number(rows))
    return {
      table: String(table),
      rows: Number(rows),
      row: each(heap),
      indexes: each(indexes),
      together: each(Number(heap) + Number(indexes)),
    }
  })
}
