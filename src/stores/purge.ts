// 30 days after its deletion a store is purged with everything in it except its events: one store at a time, its keys
// first, in batches, and its own row last. One cascading delete of a store with very many keys would never end in time.

import { ago } from '../core/clock.ts'
import { type BatchResult, countedBatch, deleteBatch, runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { RETENTION_MS } from './stores.ts'

const CONTENTS = [
  'addresses',
  'address_versions',
  'address_defaults',
  'invitations',
  'members',
  'former_members',
  'former_links',
  'webhooks',
] as const
/** What belongs to a key, if it may be much. */
const OF_KEYS = ['key_usage', 'key_rotations'] as const

export function purgeStores(db: Db): Promise<number> {
  return runInBatches(db, async (tx, size) => {
    const store = await tx.one<{ id: string }>(sql`
      select id
        from stores
       where deleted_at < ${ago(RETENTION_MS)}
       order by deleted_at
       limit 1
         for no key update`)
    if (!store) return { rows: 0, hasMore: false }
    const steps = [purgeKeys, ...CONTENTS.map(purgeContents), purgeCustomers]
    let rows = 0
    for (const step of steps) {
      const done = await step(tx, size, store.id)
      rows += done.rows
      if (done.hasMore) return { rows, hasMore: true }
    }
    await tx.query(sql`delete from stores where id = ${store.id}`)
    return { rows: rows + 1, hasMore: true }
  })
}

/** Has more until no key is left. A key may have thousands of rows of usage and of rotations, which go before it. */
async function purgeKeys(tx: Db, size: number, storeId: string): Promise<BatchResult> {
  const keys = await tx.query<{ id: string }>(sql`
    select id
      from api_keys
     where store_id = ${storeId}
     order by id
     limit ${size}
       for update`)
  const ids = keys.map(({ id }) => id)
  if (ids.length === 0) return { rows: 0, hasMore: false }
  let rows = 0
  for (const table of OF_KEYS) {
    const done = await deleteBatch(tx, size, table, sql`key_id = any(${ids})`)
    rows += done.rows
    if (done.hasMore) return { rows, hasMore: true }
  }
  // What else belongs to a key, a few rows, goes with it.
  await tx.query(sql`delete from api_keys where id = any(${ids})`)
  return { rows: rows + ids.length, hasMore: true }
}

/** With a customer whom the store kept on their behalf goes their user, since nobody else knows them. */
function purgeCustomers(tx: Db, size: number, storeId: string): Promise<BatchResult> {
  return countedBatch(
    tx,
    size,
    sql`
      with gone as (
        delete from customers
         where ctid = any(array(
                 select ctid
                   from customers
                  where store_id = ${storeId}
                  limit ${size}
               ))
     returning user_id
      ), people as (
        delete from users
         where id in (select user_id from gone)
           and customer_of is not null
      )
      select count(*)::int as count
        from gone`,
  )
}

const purgeContents = (table: (typeof CONTENTS)[number]) => (tx: Db, size: number, storeId: string) =>
  deleteBatch(tx, size, table, sql`store_id = ${storeId}`)
