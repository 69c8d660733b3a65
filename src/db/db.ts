// The one seam to PostgreSQL. SQL stays SQL at the call site: sql`select … where id = ${id}` carries its values
// beside its text, never in it. Each statement is prepared once on each connection.
//
// A failure here is one of three: the statement was refused (a `DatabaseError` with its SQLSTATE: nothing was
// written), the answer was lost (`unavailable`: the caller's retry finds out what happened), or no connection was to
// be had in time (`unavailable`: nothing was begun).

import pg from 'pg'
import { type Batch, type Queue, queueFor } from './batch.ts'
import { explain } from './faults.ts'

/** What `sql` makes, and nothing else does: a value from outside with a `text` and `values` is still a value. */
export type Sql = { text: string; values: unknown[]; name?: string; fixed?: true; [MADE_HERE]: true }
const MADE_HERE = Symbol('sql')

export type Db = {
  query<Row>(statement: Sql): Promise<Row[]>
  /** The first row, or null. */
  one<Row>(statement: Sql): Promise<Row | null>
  /** All of it or nothing. Inside another transaction it simply joins. */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  /** The last statements of a transaction, when nobody needs their results: they travel with the commit. */
  last(statement: Sql): void
  /** Lets the row travel with the rows of other requests that wait at the same moment: see batch.ts. */
  batched<In, Out>(batch: Batch<In, Out>, row: In): Promise<Out>
}

export type Database = Db & {
  /** How many requests wait for a connection: the overload guard reads it. */
  waiting(): number
  close(): Promise<void>
}

export type Connection = { connectionString: string } | { host: string; port: number; user: string; database: string }

const CONNECT_TIMEOUT_MS = 2_000
/** Two cores serve no more than this well, and many nodes may share one server. */
const MAX_CONNECTIONS = 12

/**
 * Every statement here finds its rows by an index, but the planner takes a batch for a hundred rows and, while tables
 * are small or their statistics young, would rather read them whole. So it is told not to: what a request costs must
 * not depend on when the tables were last analysed (tests/reads.test.ts holds us to it). Compiling plans (jit) never pays
 * for statements this short.
 */
const STEADY_PLANS = [
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_material=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
  'plan_cache_mode=force_generic_plan',
]

export function connect(connection: Connection): Database {
  const pool = new pg.Pool({
    ...connection,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    lock_timeout: 2_000,
    statement_timeout: 5_000,
    idle_in_transaction_session_timeout: 10_000,
    // The driver's own clock: a server that is frozen cannot keep to the others.
    query_timeout: 7_000,
    application_name: 'storekeeper',
    options: ['timezone=UTC', 'datestyle=ISO', ...STEADY_PLANS].map((setting) => `-c ${setting}`).join(' '),
    pipeline: true,
    types: { getTypeParser },
  })
  // A client that loses its server while nobody looks at it would otherwise end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))

  const queues = new Map<Batch<never, unknown>, Queue<never, unknown>>()
  const db: Database = {
    query: (statement) => run(pool, statement),
    one: async <Row>(statement: Sql) => (await run<Row>(pool, statement))[0] ?? null,
    transaction: (work) => transaction(pool, work),
    last: () => {
      throw new Error('There is no transaction that this could be the last statement of')
    },
    batched: (batch, row) => queueFor(queues, batch, db)(row),
    waiting: () => pool.waitingCount,
    close: () => pool.end(),
  }
  return db
}

const TIMESTAMPTZ = 1184

/** The driver's own reader of times takes them apart with a pattern, for every year and zone there ever was. Ours are UTC. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === TIMESTAMPTZ ? readTime : pg.types.getTypeParser(oid, format as 'text')
}

function readTime(text: string): Date {
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
}

/** A prepared statement, and the texts of its fragments, if it has any: null where a plain value stands. */
type Named = { text: string; name: string; fragments: (string | null)[] | null }
const statements = new WeakMap<TemplateStringsArray, Named>()
let named = 0

/**
 * A value in the text is a parameter; a `Sql` in the text is text with its own parameters. A statement is prepared, unless
 * it holds another `sql`, whose text may differ from call to call. A `fragment` does not differ.
 */
export function sql(strings: TemplateStringsArray, ...parts: unknown[]): Sql {
  const known = statements.get(strings)
  if (known && sameFragments(known, parts)) return statementOf(known, parts)
  const composed = compose(strings, parts)
  if (known || parts.some((part) => isSql(part) && !part.fixed)) return composed
  named += 1
  const fragments = parts.some(isSql) ? parts.map((part) => (isSql(part) ? part.text : null)) : null
  const statement: Named = { text: composed.text, name: `s${named}`, fragments }
  statements.set(strings, statement)
  return statementOf(statement, parts)
}

/** Text out of the code, never out of a request, with its parameters as $1, $2 …: a part of statements that stay prepared. */
export function fragment(text: string, ...values: unknown[]): Sql {
  return { text, values, fixed: true, [MADE_HERE]: true }
}

function sameFragments({ fragments }: Named, parts: unknown[]): boolean {
  if (fragments === null) return !parts.some(isSql)
  return parts.every((part, i) => (isSql(part) ? part.text : null) === fragments[i])
}

function statementOf({ text, name, fragments }: Named, parts: unknown[]): Sql {
  const values = fragments === null ? parts : parts.flatMap((part) => (isSql(part) ? part.values : [part]))
  return { text, name, values, [MADE_HERE]: true }
}

function compose(strings: TemplateStringsArray, parts: unknown[]): Sql {
  const values: unknown[] = []
  let text = strings[0] as string
  parts.forEach((part, i) => {
    if (isSql(part)) {
      text += part.text.replace(/\$(\d+)/g, (_, n) => `$${Number(n) + values.length}`)
      values.push(...part.values)
    } else {
      values.push(part)
      text += `$${values.length}`
    }
    text += strings[i + 1]
  })
  return { text, values, [MADE_HERE]: true }
}

function isSql(part: unknown): part is Sql {
  return typeof part === 'object' && part !== null && MADE_HERE in part
}

async function run<Row>(client: pg.Pool | pg.ClientBase, statement: Sql): Promise<Row[]> {
  try {
    // The row's shape is what the statement names; the caller says which, beside the statement.
    return (await client.query(statement)).rows as Row[]
  } catch (error) {
    throw explain(error)
  }
}

async function transaction<T>(pool: pg.Pool, work: (tx: Db) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error) => {
    throw explain(error)
  })
  const send = <Row>(statement: Sql) => {
    leaveTogether(client)
    return run<Row>(client, statement)
  }
  const tx: Db = {
    query: send,
    one: async <Row>(statement: Sql) => (await send<Row>(statement))[0] ?? null,
    transaction: (inner) => inner(tx),
    last: (statement) => void pending.push(quietly(send(statement))),
    batched: async (batch, row) => (await batch(tx, [row]))[0] as never,
  }
  // Statements leave without waiting for the ones before them, and the server takes them in order: the first travels with
  // the begin, the last with the commit. When one is refused, so is all that follows, and the commit rolls back.
  const pending = [quietly(send(BEGIN))]
  let broken: Error | undefined
  try {
    const result = await work(tx)
    await Promise.all([...pending, send(COMMIT)])
    return result
  } catch (error) {
    await client.query('rollback').catch((lost) => {
      broken = lost
    })
    throw error
  } finally {
    client.release(broken)
  }
}

const leaving = new WeakSet<pg.ClientBase>()

/**
 * Statements of one turn leave in one piece: the driver would write each by itself, and each would wake the server. (The
 * stream is not in the driver's types; it is corked as the driver does it for the parts of one statement.)
 */
function leaveTogether(client: pg.ClientBase): void {
  if (leaving.has(client)) return
  const { stream } = (client as unknown as { connection: { stream: import('node:stream').Writable } }).connection
  leaving.add(client)
  stream.cork()
  process.nextTick(() => {
    leaving.delete(client)
    stream.uncork()
  })
}

/** Its failure is heard when it is waited for, not before. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

const BEGIN = sql`begin`
const COMMIT = sql`commit`
