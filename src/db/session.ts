// One connection of its own, for work that is no request: migrations, backups, restores.

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { SECOND } from '../core/clock.ts'
import type { Connection } from './db.ts'
import { isSoonBetter } from './errors.ts'
import { driverFor } from './primary.ts'

const PATIENCE_MS = 30 * SECOND
/** A server that will soon have a connection for us is asked again, for as long as `patienceMs`. */
export async function openSession(
  connection: Connection,
  purpose: string,
  patienceMs = PATIENCE_MS,
): Promise<pg.Client> {
  const giveUpAt = performance.now() + patienceMs
  for (;;) {
    try {
      return await connectOnce(connection, purpose)
    } catch (error) {
      if (!isSoonBetter(error) || performance.now() > giveUpAt) {
        const where = 'connectionString' in connection ? 'that DATABASE_URL names ' : ''
        throw new Error(`The database ${where}could not be reached: ${(error as Error).message}`, { cause: error })
      }
      await sleep(SECOND)
    }
  }
}

async function connectOnce(connection: Connection, purpose: string): Promise<pg.Client> {
  const { Client, settings } = driverFor(connection)
  const client = new Client({
    ...settings,
    connectionTimeoutMillis: 5_000,
    application_name: `storekeeper ${purpose}`,
  })
  client.on('error', () => {})
  await client.connect()
  return client
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
