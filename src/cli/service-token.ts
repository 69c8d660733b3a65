// Service tokens are issued by this command and nowhere else: who can run it on the machine may let a back end verify keys.

import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { mintToken, sha256 } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { findInvisible, normalizeText } from '../schema/text.ts'
import type { Io } from './io.ts'
import { usageErrors } from './program.ts'
import { withDatabase } from './with-database.ts'

const USAGE = 'Usage: service-token create <name> | list | revoke <id>'

export function addServiceToken(program: Command, io: Io): void {
  const group = program
    .command('service-token')
    .exitOverride(usageErrors(() => new Error(USAGE)))
    .argument('[verb...]')
    .action(() => group.error(USAGE))
  group
    .command('create')
    .usage('<name>')
    .argument('<name...>')
    .description('issue a token for a back end that verifies keys; prints it, once')
    .allowUnknownOption()
    .action((words: string[]) => {
      const name = words.join(' ')
      // `create --name Checkout`: an option that does not exist, not the name of a token.
      if (name.startsWith('-')) throw new Error(USAGE)
      return withDatabase(io, (db, config) => createToken(db, config.KEY_PREFIX, name, io), { first: true })
    })
  group
    .command('list')
    .description('list the tokens, without their values')
    .action(() => withDatabase(io, (db) => listTokens(db, io)))
  group
    .command('revoke')
    .argument('<id>')
    .description('end a token')
    .action((id: string) => withDatabase(io, (db) => revokeToken(db, id, io)))
}

async function createToken(db: Db, prefix: string, given: string, io: Io): Promise<void> {
  const name = normalizeText(given, 'exact')
  if (name === '' || [...name].length > 100 || findInvisible(name, 'exact'))
    throw new Error('Give the token a name of 1 to 100 characters, such as the back end that will use it.')
  const id = newId('svc')
  const token = mintToken(prefix, 'svc')
  await db.transaction(async (tx) => {
    await tx.query(sql`
      insert into service_tokens (id, name, hash, created_at)
      values (${id}, ${name}, ${sha256(token.reveal())}, ${now()})`)
    await writeEvents(tx, [newEvent(operator(), null, 'service_token.created', id, { name })])
  })
  io.print(token.reveal())
}

async function listTokens(db: Db, io: Io): Promise<void> {
  const rows = await db.query<{ id: string; name: string; created_at: Date; revoked_at: Date | null }>(sql`
    select id, name, created_at, revoked_at
      from service_tokens
     order by id`)
  for (const row of rows)
    io.print([row.id, row.created_at.toISOString(), row.revoked_at ? 'revoked' : 'active', row.name].join('  '))
}

async function revokeToken(db: Db, id: string, io: Io): Promise<void> {
  await db.transaction(async (tx) => {
    const rows = await tx.query(sql`
      update service_tokens
         set revoked_at = ${now()}
       where id = ${id}
         and revoked_at is null
   returning id`)
    if (rows.length === 0) throw new Error(`There is no active service token ${id}.`)
    await writeEvents(tx, [newEvent(operator(), null, 'service_token.revoked', id, {})])
  })
  io.say(`${id} no longer works.`)
}

/** The actor of an event: the user of the operating system who has called the command. */
function operator() {
  return { kind: 'system', id: userInfo().username, ip: null }
}
