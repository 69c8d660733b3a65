// The one seam to PostgreSQL, as types. pool.ts implements it with the driver.
//
// A query fails in one of three ways: the statement was refused (a `DatabaseError` with its SQLSTATE: nothing was
// written), the answer was lost (`unavailable`: the caller's retry finds out what happened), or no connection was
// available in time (`unavailable`: nothing was begun).

import type { Sql } from './sql.ts'
import type { Turn } from './turns.ts'

export type Db = {
  query<Row>(statement: Sql): Promise<Row[]>
  /** The first row, or null. */
  one<Row>(statement: Sql): Promise<Row | null>
  /**
   * All of it or nothing. Inside another transaction it simply joins. With a turn it waits until it is among the few that its
   * holder, such as a store, has connections for (turns.ts).
   */
  transaction<T>(work: (tx: Db) => Promise<T>, turn?: Turn): Promise<T>
  /** Sends one of the last statements of a transaction, whose result is not needed, together with the commit. */
  withCommit(statement: Sql): void
  /** Sends the row together with the rows of other requests that wait at the same moment: see batch.ts. */
  batched<In, Out>(batch: Batch<In, Out>, row: In): Promise<Out>
}

export type Database = Db & {
  /** Over the connections for look-ups, which do not wait behind everything else. */
  lookUps: Db
  /** For whoever asks how the server is: behind no request, and over a connection that would serve one, or spend, where none is to be had. */
  forHealth(): Db
  /** The number of requests that wait for a connection: load shedding reads it. */
  waiting(): number
  connections(): ConnectionCounts
  /** Whether new connections lead to a standby, though those that are open may still work. */
  ledToStandby(): boolean
  close(): Promise<void>
}

/**
 * `serving`: of `max`, those that are not for look-ups and verification. `refused`: how often none was to be had, because the
 * server refused or all were busy for too long.
 */
type ConnectionCounts = { open: number; idle: number; max: number; serving: number; refused: number }

/** Takes many rows, returns as many results in the same order. */
export type Batch<In, Out> = ((db: Db, rows: In[]) => Promise<Out[]>) & {
  /** Every verification depends on it, or every request: it is sent over connections of its own (pool.ts). */
  highPriority?: true
  /** Whose lock the row needs, such as its store's. If it is held, only rows of the same holder wait for it (batch.ts). */
  holderOf?: (row: In) => string
}

export type Connection = { connectionString: string } | { host: string; port: number; user: string; database: string }
