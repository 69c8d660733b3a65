// One connection of its own, for work that is no request: migrations, backups, restores.

import type pg from 'pg'
import type { Connection } from './db.ts'
import { driverFor } from './primary.ts'

export async function openSession(connection: Connection, purpose: string): Promise<pg.Client> {
  const { Client, settings } = driverFor(connection)
  const client = new Client({
    ...settings,
    connectionTimeoutMillis: 5_000,
    application_name: `storekeeper ${purpose}`,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    const where = 'connectionString' in connection ? 'that DATABASE_URL names ' : ''
    throw new Error(`The database ${where}could not be reached: ${(error as Error).message}`, { cause: error })
  }
}

/** Text that means the same on every server, and time for transactions that last. */
export const COPY_SETTINGS = `
  set local datestyle = 'ISO, YMD';
  set local timezone = 'UTC';
  set local intervalstyle = 'postgres';
  set local bytea_output = 'hex';
  set local extra_float_digits = 3;
  set local statement_timeout = 0;
  set local lock_timeout = 0;
  set local idle_in_transaction_session_timeout = 0`
