// The operator's service tokens, for the back ends that verify keys. (Owners issue their own: src/service-tokens/.)

import type { Command } from 'commander'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { ServiceTokensRow } from '../db/tables.gen.ts'
import { normalizeText, wrongCharacters } from '../schema/text.ts'
import { issueServiceToken } from '../service-tokens/issue.ts'
import { revokeServiceTokens } from '../service-tokens/revoke.ts'
import type { Io } from './io.ts'
import { operator } from './operator.ts'
import { usageErrors } from './program.ts'
import { withDatabase } from './with-database.ts'

const USAGE = 'Usage: service-token create <name> --store <id>… | --all-stores, list, or revoke <id>'

const WHICH_STORES =
  'Say whose keys the token can verify: --store <id>, once for each store, or --all-stores. With --all-stores, the back end must name the store in every request.'

export function addServiceToken(program: Command, io: Io): void {
  const group = program
    .command('service-token')
    .exitOverride(usageErrors(() => new Error(USAGE)))
    .argument('[verb...]')
    .action(() => group.error(USAGE))
  group
    .command('create')
    .usage('<name> --store <id>… | --all-stores')
    .argument('<name...>')
    .option(
      '--store <id>',
      'a store whose keys it can verify; can be repeated',
      (id, ids: string[]) => [...ids, id],
      [],
    )
    .option('--all-stores', 'it can verify the keys of every store')
    .description('issue a token for a back end that verifies keys, and print it (only this once)')
    .action((words: string[], { store, allStores }: { store: string[]; allStores?: true }) => {
      if (store.length > 0 === (allStores === true)) throw new Error(WHICH_STORES)
      const create = { name: words.join(' '), storeIds: allStores ? null : [...new Set(store)] }
      return withDatabase(io, (db, config) => createToken(db, config.KEY_PREFIX, create, io), { first: true })
    })
  group
    .command('list')
    .description('list the service tokens, without the tokens themselves')
    .action(() => withDatabase(io, (db) => listTokens(db, io)))
  group
    .command('revoke')
    .argument('<id>')
    .description('revoke a service token')
    .action((id: string) => withDatabase(io, (db) => revokeToken(db, id, io)))
}

async function createToken(
  db: Db,
  prefix: string,
  { name: given, storeIds }: { name: string; storeIds: string[] | null },
  io: Io,
): Promise<void> {
  const name = normalizeText(given, 'exact')
  if (name === '' || [...name].length > 100 || wrongCharacters(name, 'exact'))
    throw new Error('Give the token a name of 1 to 100 characters, such as the back end that will use it.')
  const { token } = await db.transaction(async (tx) => {
    if (storeIds) await checkStores(tx, storeIds)
    return issueServiceToken(tx, operator(), prefix, name, { storeIds, createdBy: null })
  })
  io.print(token.reveal())
}

async function checkStores(tx: Db, storeIds: string[]): Promise<void> {
  const found = await tx.query<{ id: string }>(sql`
    select id
      from stores
     where id = any(${storeIds})
       and deleted_at is null`)
  const missing = storeIds.filter((id) => !found.some((store) => store.id === id))
  if (missing.length > 0) throw new Error(`There is no store ${missing.join(', ')}.`)
}

async function listTokens(db: Db, io: Io): Promise<void> {
  type Row = Pick<ServiceTokensRow, 'id' | 'name' | 'store_ids' | 'created_at' | 'revoked_at'>
  const rows = await db.query<Row>(sql`
    select id, name, store_ids, created_at, revoked_at
      from service_tokens
     order by id`)
  for (const row of rows)
    io.print(
      [
        row.id,
        row.created_at.toISOString(),
        row.revoked_at ? 'revoked' : 'active',
        row.store_ids?.join(',') ?? 'all stores',
        row.name,
      ].join('  '),
    )
}

async function revokeToken(db: Db, id: string, io: Io): Promise<void> {
  const revoked = await db.transaction((tx) => revokeServiceTokens(tx, operator(), [id]))
  if (revoked.length === 0) throw new Error(`No active service token has the id ${id}.`)
  io.say(`Revoked ${id}.`)
}
