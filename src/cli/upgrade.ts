// The embedded database of an earlier major version of PostgreSQL, copied into one of ours, which then takes its place.

import { resolve } from 'node:path'
import type { Command } from 'commander'
import { restoreDatabase } from '../backup/restore.ts'
import { readConfig } from '../config.ts'
import { hasEmbedded } from '../db/embedded/cluster.ts'
import { openUpgrade, type Upgrade } from '../db/embedded/upgrade.ts'
import { inspectDatabase } from '../db/migrate.ts'
import { openSnapshot } from '../db/snapshot.ts'
import type { Io } from './io.ts'
import { notThere } from './with-database.ts'
import { withProgress } from './with-progress.ts'

export function addUpgrade(program: Command, io: Io): void {
  program
    .command('upgrade-database')
    .description('bring an embedded database to the major version of PostgreSQL that this version comes with')
    .action(() => upgradeDatabase(io))
}

async function upgradeDatabase(io: Io): Promise<void> {
  const config = readConfig(io.env)
  if (config.DATABASE_URL !== null)
    throw new Error('DATABASE_URL names a PostgreSQL of your own: this command is for the embedded database.')
  if (!(await hasEmbedded(config.DATA_DIR))) throw notThere(`There is no database in ${resolve(config.DATA_DIR)}.`)
  const upgrade = await openUpgrade(config.DATA_DIR, io.say)
  if (!upgrade) return io.say('The database is of the version that this Storekeeper comes with: nothing to do.')
  try {
    io.say(`Copying from PostgreSQL ${upgrade.from} to ${upgrade.to} …`)
    await copy(upgrade, io)
    const kept = await upgrade.switch()
    io.say(
      `The database is of PostgreSQL ${upgrade.to} now. The old one is kept in ${kept}: delete it when the service runs well. Settings that you changed in its postgresql.conf were not taken over.`,
    )
  } finally {
    await upgrade.close()
  }
}

async function copy(upgrade: Upgrade, io: Io): Promise<void> {
  if ((await inspectDatabase(upgrade.old)) === 'foreign') return // The service was never started on it.
  const snapshot = await openSnapshot(upgrade.old)
  try {
    const { rows, events } = await withProgress(io, (progress) => restoreDatabase(upgrade.new, snapshot, {}, progress))
    io.say(`${rows.toLocaleString('en')} rows; ${events.toLocaleString('en')} events verified.`)
  } finally {
    await snapshot.close()
  }
}
