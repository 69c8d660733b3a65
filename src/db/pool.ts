// The connections that requests are served with, and transactions on them. Each statement is prepared once on each
// connection.

import type { Writable } from 'node:stream'
import pg from 'pg'
import { type Queue, queueFor } from './batch.ts'
import type { Batch, Connection, Database, Db } from './db.ts'
import { databaseFailure } from './errors.ts'
import { type Sql, sql } from './sql.ts'

const CONNECT_TIMEOUT_MS = 2_000
/** Two cores serve no more than these well, and many nodes may share one server. */
const MAX_CONNECTIONS = 10
/** For batches of high priority, such as the look-ups of callers and keys: they must not wait behind everything else. */
const HIGH_PRIORITY_CONNECTIONS = 2

/**
 * Every statement that serves a request finds its rows by an index, but the planner takes a batch for a hundred rows and,
 * while tables are small or their statistics young, would rather read them whole. So it is told not to: the cost of a
 * request must not depend on when the tables were last analysed (tests/query-plans.test.ts checks it). Compiling plans (jit)
 * never pays for statements this short. One statement of maintenance needs another plan, and says so itself
 * (idempotency/): a second pool for it would hold connections that are idle all day.
 */
const SERVING_PLANS = [
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_material=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
  'plan_cache_mode=force_generic_plan',
]

export function connect(connection: Connection): Database {
  const servingPool = newPool(connection, MAX_CONNECTIONS)
  const priorityPool = newPool(connection, HIGH_PRIORITY_CONNECTIONS)
  const queues = new Map<Batch<never, unknown>, Queue<never, unknown>>()
  const priorityDb = dbOn(priorityPool, queues)
  return {
    ...dbOn(servingPool, queues, priorityDb),
    waiting: () => servingPool.waitingCount + priorityPool.waitingCount,
    close: async () => void (await Promise.all([servingPool.end(), priorityPool.end()])),
  }
}

function newPool(connection: Connection, max: number): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    lock_timeout: 2_000,
    statement_timeout: 5_000,
    idle_in_transaction_session_timeout: 10_000,
    // The driver's own clock: a server that hangs cannot keep its timeouts.
    query_timeout: 7_000,
    application_name: 'storekeeper',
    options: ['timezone=UTC', 'datestyle=ISO', ...SERVING_PLANS].map((setting) => `-c ${setting}`).join(' '),
    pipeline: true,
    types: { getTypeParser },
  })
  // Without a listener, an idle client that loses its server would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Batches of high priority are sent over `priorityDb`. */
function dbOn(pool: pg.Pool, queues: Map<Batch<never, unknown>, Queue<never, unknown>>, priorityDb?: Db): Db {
  const db: Db = {
    query: (statement) => run(pool, statement),
    one: async <Row>(statement: Sql) => (await run<Row>(pool, statement))[0] ?? null,
    transaction: (work) => transaction(pool, work),
    withCommit: () => {
      throw new Error('There is no transaction whose commit this statement could be sent with')
    },
    batched: (batch, row) => queueFor(queues, batch, (batch.highPriority && priorityDb) || db)(row),
  }
  return db
}

const TIMESTAMPTZ = 1184

/**
 * The driver's own parser matches a pattern that covers every year and zone there ever was. Our times are UTC: reading
 * them takes a fifth off the processor time of a page of 100 rows (npm run bench:driver).
 */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === TIMESTAMPTZ ? parseUtc : pg.types.getTypeParser(oid, format as 'text')
}

function parseUtc(text: string): Date {
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
}

async function run<Row>(client: pg.Pool | pg.ClientBase, statement: Sql): Promise<Row[]> {
  try {
    // The shape of a row is given by the statement's columns; the caller states it beside the statement.
    return (await client.query(statement)).rows as Row[]
  } catch (error) {
    throw databaseFailure(error)
  }
}

async function transaction<T>(pool: pg.Pool, work: (tx: Db) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error) => {
    throw databaseFailure(error)
  })
  const send = <Row>(statement: Sql) => {
    corkTurn(client)
    return run<Row>(client, statement)
  }
  const tx: Db = {
    query: send,
    one: async <Row>(statement: Sql) => (await send<Row>(statement))[0] ?? null,
    transaction: (inner) => inner(tx),
    withCommit: (statement) => void pending.push(deferRejection(send(statement))),
    batched: async (batch, row) => (await batch(tx, [row]))[0] as never,
  }
  // Statements are sent without waiting for the ones before them, and the server takes them in order: the first is sent
  // with the begin, the last with the commit. When one is refused, so are all that follow, and the commit rolls back.
  const pending = [deferRejection(send(BEGIN))]
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

const corked = new WeakSet<pg.ClientBase>()

/**
 * Sends the statements of one turn of the event loop in one write: the driver would write each by itself, and each would
 * wake the server. It takes an eighth off the processor time of a transaction of two round trips (npm run bench:driver).
 * (The stream is not in the driver's types; it is corked as the driver does it for the parts of one statement.)
 */
function corkTurn(client: pg.ClientBase): void {
  if (corked.has(client)) return
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  corked.add(client)
  stream.cork()
  process.nextTick(() => {
    corked.delete(client)
    stream.uncork()
  })
}

/** A rejection is reported when the promise is awaited, not before. */
function deferRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

const BEGIN = sql`begin`
const COMMIT = sql`commit`
