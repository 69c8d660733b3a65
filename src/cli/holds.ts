// Versions of addresses that are on hold, also those of stores that are gone: nobody else can read these any more.

import type { Command } from 'commander'
import { exportHeldVersions } from '../billing/holds.ts'
import { isId } from '../core/ids.ts'
import type { Io } from './io.ts'
import { usageErrors } from './program.ts'
import { withDatabase } from './with-database.ts'

const USAGE = 'Usage: holds export <storeId> | --all'

export function addHolds(program: Command, io: Io): void {
  const group = program
    .command('holds')
    .exitOverride(usageErrors(() => new Error(USAGE)))
    .argument('[verb...]')
    .action(() => group.error(USAGE))
  group
    .command('export')
    .usage('<storeId>')
    .argument('[storeId]')
    .option('--all')
    .description(
      'print the address versions on hold, a line of JSON each, also of a store that is gone; --all: of every store',
    )
    .action((storeId: string | undefined, { all = false }: { all?: boolean }) => {
      if ((storeId === undefined) !== all) throw new Error(USAGE)
      if (storeId !== undefined && !isId('store', storeId))
        throw new Error(`"${storeId}" is not the id of a store.\n${USAGE}`)
      return withDatabase(io, async (db, _, { keyring }) => {
        let count = 0
        for await (const version of exportHeldVersions(db, keyring, storeId ?? null)) {
          io.print(JSON.stringify(version))
          count += 1
        }
        io.say(`${count.toLocaleString('en')} versions on hold.`)
      })
    })
}
