// What is measured every minute, and what is made of it at the end: whether memory, descriptors and tables grew beyond what
// the data explains.

import type { Cluster } from '../stress/failover/cluster.ts'
import type { Taken } from './client.ts'
import type { Paced } from './load.ts'
import { heapOf, type Nodes, type ProcessSize, sizesOf } from './nodes.ts'

export type TableSize = { table: string; rows: number; bytes: number; unused: number }

export type Row = {
  minute: number
  operations: number
  skipped: number
  abreast: number
  retried: number
  statuses: Record<string, number>
  verifyMs: [p50: number, p99: number]
  createMs: [p50: number, p99: number]
  processes: ProcessSize[]
  heapMb: number | null
  connections: number
  databaseMb: number
  tables: TableSize[]
  complaints: number
}

const SHOWN_TABLES = 12

const quantile = (times: number[], part: number) =>
  Math.round((times.toSorted((a, b) => a - b)[Math.floor(times.length * part)] ?? 0) * 10) / 10

export async function measure(
  minute: number,
  { cluster, nodes, paced }: { cluster: Cluster; nodes: Nodes; paced: Paced },
  { statuses, times, retried }: Taken,
  complaints: number,
): Promise<Row> {
  const [database, heapMb] = await Promise.all([readDatabase(cluster), heapOf(nodes.lasting)])
  const [verify, create] = [times.verify ?? [], times.create ?? []]
  return {
    minute,
    ...paced.take(),
    retried,
    statuses,
    verifyMs: [quantile(verify, 0.5), quantile(verify, 0.99)],
    createMs: [quantile(create, 0.5), quantile(create, 0.99)],
    processes: [...sizesOf(nodes.lasting), ...sizesOf(nodes.killed)],
    heapMb,
    ...database,
    complaints,
  }
}

/** The tables that take most room. What is dead or free in them is read page by page, since counters are lost with a primary. */
async function readDatabase(cluster: Cluster): Promise<Pick<Row, 'connections' | 'databaseMb' | 'tables'>> {
  try {
    const [whole] = await cluster.query<{ connections: number; mb: number }>(
      `select count(*)::int as connections, (pg_database_size('storekeeper') / 2^20)::int as mb
         from pg_stat_activity where datname = 'storekeeper' and pid <> pg_backend_pid()`,
    )
    const tables = await cluster.query<TableSize>(
      `select coalesce(parent.relname, leaf.relname)::text as table, sum(used.tuple_count)::int as rows,
              sum(pg_total_relation_size(leaf.oid))::float8 as bytes,
              sum(used.dead_tuple_len + used.free_space)::float8 as unused
         from pg_class leaf
         left join pg_inherits on inhrelid = leaf.oid
         left join pg_class parent on parent.oid = inhparent
        cross join lateral pgstattuple(leaf.oid) used
        where leaf.relkind = 'r' and leaf.relnamespace = 'public'::regnamespace
        group by 1 order by 3 desc`,
    )
    return { connections: whole?.connections ?? 0, databaseMb: whole?.mb ?? 0, tables }
  } catch {
    return { connections: 0, databaseMb: 0, tables: [] } // There is no primary at the moment.
  }
}

export function show({ minute, ...row }: Row): string {
  const statuses = Object.entries(row.statuses).map(([name, count]) => `${name}: ${count}`)
  const processes = row.processes.map(({ name, rssMb, descriptors }) => `${name} ${rssMb} MB ${descriptors} fd`)
  return [
    `${minute} min: ${row.operations} operations (${row.skipped} skipped, ${row.retried} retried)`,
    statuses.join(', '),
    `verify ${row.verifyMs.join('/')} ms, create ${row.createMs.join('/')} ms`,
    `${processes.join(', ')}, heap ${row.heapMb} MB`,
    `database ${row.databaseMb} MB, ${row.connections} connections`,
    `${row.complaints} contradictions`,
  ].join(' | ')
}

/** Of the second half of the run: the median of its first part beside that of its last, for the node that is never killed. */
export function judgeProcess(rows: Row[]): { what: string; before: number; after: number; perHour: number }[] {
  const half = rows.slice(Math.floor(rows.length / 2))
  const lasting = half.map(({ minute, heapMb, processes: [first] }) => ({
    minute,
    values: { 'RSS, MB': first?.rssMb ?? 0, 'heap in use, MB': heapMb ?? 0, descriptors: first?.descriptors ?? 0 },
  }))
  const median = (values: number[]) => quantile(values, 0.5)
  return (['RSS, MB', 'heap in use, MB', 'descriptors'] as const).map((what) => {
    const points = lasting.map(({ minute, values }): [number, number] => [minute, values[what]])
    const middle = Math.ceil(points.length / 2)
    const [before, after] = [points.slice(0, middle), points.slice(middle)].map((part) =>
      median(part.map(([, y]) => y)),
    )
    return { what, before: before ?? 0, after: after ?? 0, perHour: Math.round(slope(points) * 60 * 10) / 10 }
  })
}

/** By least squares. */
function slope(points: [number, number][]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
  const [x0, y0] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const sum = (of: (x: number, y: number) => number) => points.reduce((total, [x, y]) => total + of(x, y), 0)
  return sum((x, y) => (x - x0) * (y - y0)) / (sum((x) => (x - x0) ** 2) || 1)
}

type Grown = { table: string; rows: string; 'bytes a row': string; 'dead or free, %': string }

/** The large tables in the middle of the run and at its end: a row takes as much, however many there are. */
export function judgeTables(rows: Row[]): Grown[] {
  const seen = rows.filter(({ tables }) => tables.length > 0)
  const [middle, last] = [seen[Math.floor(seen.length / 2)], seen.at(-1)]
  return (last?.tables ?? []).slice(0, SHOWN_TABLES).map((now) => {
    const then = middle?.tables.find(({ table }) => table === now.table) ?? now
    const both = (of: (size: TableSize) => number) => `${Math.round(of(then))} → ${Math.round(of(now))}`
    return {
      table: now.table,
      rows: both((size) => size.rows),
      'bytes a row': both((size) => size.bytes / Math.max(1, size.rows)),
      'dead or free, %': both((size) => (100 * size.unused) / size.bytes),
    }
  })
}

export type Bloat = { table: string; rows: number; kb: number; compactKb: number; times: number; 'bytes a row': number }

/** Each table beside what the same rows take in a new one, with their indexes. Nothing else may use the database. */
export async function readBloat(cluster: Cluster): Promise<Bloat[]> {
  const { tables: before } = await readDatabase(cluster)
  await cluster.query('vacuum full')
  const { tables: after } = await readDatabase(cluster)
  return before.map(({ table, rows, bytes }) => {
    const compact = after.find((each) => each.table === table)?.bytes ?? bytes
    const round = (value: number) => Math.round(value * 100) / 100
    return {
      table,
      rows,
      kb: Math.round(bytes / 1024),
      compactKb: Math.round(compact / 1024),
      times: round(bytes / compact),
      'bytes a row': Math.round(bytes / Math.max(1, rows)),
    }
  })
}
