// Opens the database for a command and closes it afterwards, by the settings of the service, which may be running.

import { resolve } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import type { Db } from '../db/db.ts'
import { inspectDatabase, migrate } from '../db/migrate.ts'
import { connect } from '../db/pool.ts'
import { joinStorage, openStorage, type Storage, storageExists } from '../storage.ts'
import type { Io } from './io.ts'

export type WithDatabase = (db: Db, config: Config, storage: Storage) => Promise<void>

type Access = { alone?: boolean; first?: boolean }

/**
 * `alone`: an embedded database is held as the service holds it, so that no service runs at the same time. `first`: the
 * command may come before the first start of the service. For all other commands a place without a database is an error:
 * its name was mistyped.
 */
export function withDatabase(io: Io, work: WithDatabase, access: Access = {}): Promise<void> {
  return withStorage(
    io,
    async (config, storage) => {
      await migrate(storage.connection, io.say)
      const db = connect(storage.connection)
      try {
        await work(db, config, storage)
      } finally {
        await db.close()
      }
    },
    access,
  )
}

/** The database is not migrated. */
export async function withStorage(
  io: Io,
  work: (config: Config, storage: Storage) => Promise<void>,
  { alone = false, first = false }: Access = {},
): Promise<void> {
  const config = readConfig(io.env)
  if (!first && !(await storageExists(config))) throw notThere(`There is no database in ${resolve(config.DATA_DIR)}.`)
  const storage = await (alone ? openStorage : joinStorage)(config, io.say)
  try {
    if (!first && (await inspectDatabase(storage.connection)) === 'foreign')
      throw notThere('This database has no Storekeeper data.')
    await work(config, storage)
  } finally {
    await storage.close()
  }
}

export function notThere(what: string): Error {
  return new Error(`${what} Are DATABASE_URL and DATA_DIR those of the service?`)
}
