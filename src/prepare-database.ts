// What must be done before the first write: the secret must be the database's, and restored events are sealed before new ones.

import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from './auth/last-known.ts'
import { SECOND } from './core/clock.ts'
import type { Say } from './db/embedded/embedded.ts'
import { describeOutage } from './db/errors.ts'
import { connect, type PoolOptions } from './db/pool.ts'
import { checkServerSecret } from './db/secret-check.ts'
import { sealAfterRestore } from './events/seal.ts'
import type { Storage } from './storage.ts'

export async function prepareDatabase(
  { connection, keyring, secretDir }: Storage,
  say: Say,
  options: PoolOptions,
): Promise<void> {
  const db = connect(connection, options)
  try {
    await untilAvailable(() => checkServerSecret(db, keyring, secretDir))
    await untilAvailable(() => sealAfterRestore(db, say))
  } finally {
    await db.close()
  }
}

const START_PATIENCE_MS = 30 * SECOND

/** A busy server, as it is when many nodes start together, keeps a node waiting and does not stop it. */
async function untilAvailable(work: () => Promise<void>): Promise<void> {
  const giveUpAt = performance.now() + START_PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error)) throw error
      if (performance.now() > giveUpAt)
        throw new Error(`The start was given up: ${describeOutage(error)}.`, { cause: error })
      await sleep(SECOND)
    }
  }
}
