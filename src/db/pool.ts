// The connections that requests are served with, and transactions on them. Each statement is prepared once on each
// connection.

import type { Writable } from 'node:stream'
import type { Tracer } from '@opentelemetry/api'
import pg from 'pg'
import { Failure } from '../core/errors.ts'
import { ageOf, NEVER } from '../core/moment.ts'
import { findTracer } from '../core/tracing.ts'
import { type Queues, queueFor } from './batch.ts'
import type { Connection, Database, Db } from './db.ts'
import {
  connectFailure,
  databaseFailure,
  endsConnection,
  isInAbortedTransaction,
  outageCode,
  UnconfirmedCommit,
} from './errors.ts'
import { driverFor } from './primary.ts'
import {
  CONNECT_TIMEOUT_MS,
  checkShiftedClock,
  type StandbySeen,
  sessionSettings,
  setUpSession,
  warningOf,
} from './set-up.ts'
import { type Sql, sql } from './sql.ts'
import { entered, newTurns } from './turns.ts'
import { retryWhileLocked, shareConnections } from './wait-for-lock.ts'

/** How long a standby is not forgotten. */
const STANDBY_SEEN_MS = 5_000
/** Two cores serve no more than these well, and many nodes may share one server. */
const CONNECTIONS = 12
/** The part for look-ups of callers and keys, and that for what verifications spend: they must not wait behind everything else. */
const HIGH_PRIORITY_SHARE = 1 / 6

export type PoolOptions = {
  /** How many there may be at most, all in all: 3 or more. */
  connections?: number | undefined
  /** Leaves `synchronous_commit` as it is: for tests, whose database need not survive a crash. */
  commitBeforeFlush?: boolean | undefined
  /** Hears of each statement that could not be carried out, with the SQLSTATE. */
  onUnavailable?: (code: string) => void
  /** Records a span for each batch. */
  tracer?: Tracer | null
}

export function connect(connection: Connection, options: PoolOptions = {}): Database {
  const {
    connections = CONNECTIONS,
    commitBeforeFlush = false,
    onUnavailable = () => {},
    tracer = findTracer(),
  } = options
  const highPriority = Math.ceil(connections * HIGH_PRIORITY_SHARE)
  const settings = sessionSettings(commitBeforeFlush)
  const driver = driverFor(connection)
  const standby: StandbySeen = { seenAt: NEVER }
  const serving = connections - 2 * highPriority
  shareConnections(serving)
  const servingPool = newPool(driver, standby, settings, serving)
  const priorityPool = newPool(driver, standby, settings, highPriority)
  // Whatever verifications spend is locked, and none of them waits for a stranger's lock for long (batch.ts).
  const spendingPool = newPool(driver, standby, `${settings}, set_config('lock_timeout', '100ms', false)`, highPriority)
  const queues: Queues = { byBatch: new Map(), tracer }
  const [lookUps, spending] = [priorityPool, spendingPool].map((pool) => dbOn(pool, onUnavailable, queues)) as [Db, Db]
  const servingDb = dbOn(servingPool, onUnavailable, queues, { lookUps, spending })
  const pools = [servingPool, priorityPool, spendingPool]
  const sum = (of: (pool: Pool) => number) => pools.reduce((total, pool) => total + of(pool), 0)
  return {
    ...servingDb,
    lookUps,
    forHealth: () => {
      if (servingPool.totalCount === 0) return servingDb
      return spendingPool.isRefused && spendingPool.totalCount === 0 ? spending : lookUps
    },
    waiting: () => sum((pool) => pool.waitingCount),
    connections: () => ({
      open: sum((pool) => pool.totalCount),
      idle: sum((pool) => pool.idleCount),
      max: connections,
      serving,
      refused: sum((pool) => pool.refused),
    }),
    ledToStandby: () => ageOf(standby.seenAt) < STANDBY_SEEN_MS,
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  }
}

type Driver = ReturnType<typeof driverFor>

/** `refused` counts how often no connection was to be had, and `isRefused` says whether it was so the last time. */
type Pool = pg.Pool & { refused: number; isRefused: boolean; setUp(client: pg.ClientBase): Promise<void> }

function newPool(driver: Driver, standby: StandbySeen, settings: string, max: number): Pool {
  const pool = new pg.Pool({
    ...driver.settings,
    Client: driver.Client,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    // The driver's own clock: a server that hangs cannot keep its timeouts.
    query_timeout: 7_000,
    application_name: 'storekeeper',
    pipeline: true,
    types: { getTypeParser },
  })
  // Without a listener, an idle client that loses its server would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const isSetUp = new WeakSet<pg.ClientBase>()
  return Object.assign(pool, {
    refused: 0,
    isRefused: false,
    // By whoever gets the connection first, and not by the pool's own `verify`: if they have waited for too long meanwhile, the
    // pool gives the connection to nobody, and never takes it back.
    setUp: async (client: pg.ClientBase) => {
      if (isSetUp.has(client)) return
      await setUpSession(client, settings, standby)
      isSetUp.add(client)
    },
  })
}

/** Batches of high priority are sent over connections of their own: those that lock something over `spending`. */
function dbOn(
  pool: Pool,
  onUnavailable: (code: string) => void,
  queues: Queues,
  priority?: { lookUps: Db; spending: Db },
): Db {
  const counted = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof Failure && error.code === 'unavailable' && error.cause) onUnavailable(outageCode(error))
      throw error
    }
  }
  const inTurn = newTurns()
  const db: Db = {
    query: (statement) => counted(runPooled(pool, statement)),
    one: async <Row>(statement: Sql) => (await db.query<Row>(statement))[0] ?? null,
    transaction: (work, turn) => {
      const run = () => counted(transaction(pool, work))
      return turn === undefined ? run() : inTurn(turn, () => retryWhileLocked(() => entered(turn, run)))
    },
    withCommit: () => {
      throw new Error('There is no transaction whose commit this statement could be sent with')
    },
    batched: (batch, row) => {
      const prior = batch.holderOf ? priority?.spending : priority?.lookUps
      return queueFor(queues, batch, (batch.highPriority && prior) || db, db)(row)
    },
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

async function runPooled<Row>(pool: Pool, statement: Sql): Promise<Row[]> {
  const client = await checkOut(pool)
  let isBroken = false
  try {
    return await run<Row>(client, statement)
  } catch (error) {
    isBroken = endsConnection(error)
    throw error
  } finally {
    client.release(isBroken)
  }
}

async function checkOut(pool: Pool): Promise<pg.PoolClient> {
  let client: pg.PoolClient | undefined
  try {
    client = await pool.connect()
    await pool.setUp(client)
    await checkShiftedClock(client)
    pool.isRefused = false
    return client
  } catch (error) {
    client?.release(true)
    pool.refused += 1
    pool.isRefused = true
    throw connectFailure(error)
  }
}

async function run<Row>(client: pg.ClientBase, statement: Sql): Promise<Row[]> {
  try {
    // The shape of a row is given by the statement's columns; the caller states it beside the statement.
    const { rows } = await client.query(statement)
    const warning = warningOf(client)
    if (warning !== undefined) throw new UnconfirmedCommit(warning)
    return rows as Row[]
  } catch (error) {
    throw databaseFailure(error)
  }
}

async function transaction<T>(pool: Pool, work: (tx: Db) => Promise<T>): Promise<T> {
  const client = await checkOut(pool)
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
  let isBroken = false
  try {
    const result = await work(tx)
    await Promise.all([...pending, send(COMMIT)])
    return result
  } catch (error) {
    const reason = isInAbortedTransaction(error) ? ((await firstRejection(pending)) ?? error) : error
    isBroken = endsConnection(reason)
    await client.query('rollback').catch(() => {
      isBroken = true
    })
    throw reason
  } finally {
    client.release(isBroken)
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

/** Null when none of them was rejected. */
async function firstRejection(promises: Promise<unknown>[]): Promise<unknown> {
  const settled = await Promise.allSettled(promises)
  return settled.find((it) => it.status === 'rejected')?.reason ?? null
}

const BEGIN = sql`begin`
const COMMIT = sql`commit`
