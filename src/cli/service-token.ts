// Service tokens are issued here and nowhere else: whoever can run a command on the machine may verify keys.

import { userInfo } from 'node:os'
import { now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { mintToken, sha256 } from '../crypto/tokens.ts'
import { type Db, sql } from '../db/db.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import { findInvisible, normalizeText } from '../schema/text.ts'
import { type Io, withDatabase } from './with-database.ts'

const USAGE = 'Usage: service-token create <name> | list | revoke <id>'

export async function serviceToken([verb, ...rest]: string[], io: Io): Promise<void> {
  const value = rest.join(' ')
  // A name that begins with a dash is an option somebody hoped for.
  if (value.startsWith('-') || (verb === 'list') !== (value.trim() === '')) throw new Error(USAGE)
  switch (verb) {
    case 'create':
      return withDatabase(io, (db, config) => createToken(db, config.KEY_PREFIX, value, io), { first: true })
    case 'list':
      return withDatabase(io, (db) => listTokens(db, io))
    case 'revoke':
      return withDatabase(io, (db) => revokeToken(db, value, io))
    default:
      throw new Error(USAGE)
  }
}

async function createToken(db: Db, prefix: string, given: string, io: Io): Promise<void> {
  const name = normalizeText(given)
  if (name === '' || [...name].length > 100 || findInvisible(name, 'line'))
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

/** Whoever is at the command line. */
function operator() {
  return { kind: 'system', id: userInfo().username, ip: null }
}
