// What the commands that look into the database have in common.

import { readConfig } from '../config.ts'
import { connect, type Db } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { visitHome } from '../home.ts'

export type Io = { say(line: string): void; print(line: string): void }

/** Also beside a running service. */
export async function withDatabase(io: Io, work: (db: Db, prefix: string) => Promise<void>): Promise<void> {
  const config = readConfig(process.env)
  const home = await visitHome(config, io.say)
  try {
    await migrate(home.connection, io.say)
    const db = connect(home.connection)
    try {
      await work(db, config.KEY_PREFIX)
    } finally {
      await db.close()
    }
  } finally {
    await home.close()
  }
}
