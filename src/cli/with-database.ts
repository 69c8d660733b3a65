// What every command that needs the database does first and last: the same settings as the service, also beside it.

import { resolve } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import { connect, type Db } from '../db/db.ts'
import { lookInto, migrate } from '../db/migrate.ts'
import { joinStorage, openStorage, type Storage, storageExists } from '../storage.ts'

/** What a person should read goes to `say`; `print` is for the result. */
export type Io = { say(line: string): void; print(line: string): void }

/**
 * `alone`: an embedded database is held as the service holds it, so that none runs beside. `first`: it may come before the
 * first start of the service. All others are about what is there, and whoever mistypes its place should hear so.
 */
export async function withDatabase(
  io: Io,
  work: (db: Db, config: Config, storage: Storage) => Promise<void>,
  { alone = false, first = false } = {},
): Promise<void> {
  const config = readConfig(process.env)
  if (!first && !(await storageExists(config))) throw notThere(`There is no database in ${resolve(config.DATA_DIR)}.`)
  const storage = await (alone ? openStorage : joinStorage)(config, io.say)
  try {
    if (!first && (await lookInto(storage.connection)) === 'not ours')
      throw notThere('There is nothing of Storekeeper in this database.')
    await migrate(storage.connection, io.say)
    const db = connect(storage.connection)
    try {
      await work(db, config, storage)
    } finally {
      await db.close()
    }
  } finally {
    await storage.close()
  }
}

function notThere(what: string): Error {
  return new Error(`${what} Are DATABASE_URL and DATA_DIR those of the service?`)
}
