// npm run bench:hot: how many updates stay within their page and so touch no index (HOT), by the fill factor of the tables;
// the last is that of the migrations. Of KEYS (default 10,000) keys each flush of usage finds SHARE
// (default 0.2) in use, others each time, and each of 1,000 stores gets a new key; FLUSHES (default 10) of them. Reports
// the database's own counts, the bytes of its log for each key and flush, and the bytes of a row at the end.

import { ServerKeys } from '../src/crypto/keyring.ts'
import type { Db } from '../src/db/db.ts'
import type { Sql } from '../src/db/sql.ts'
import { newCounter, writeCounters } from '../src/keys/write-usage.ts'
import { newKeys, newMembers, newWorld } from './world.ts'

const KEYS = Number(process.env.KEYS ?? 10_000)
const SHARE = Number(process.env.SHARE ?? 0.2)
const FLUSHES = Number(process.env.FLUSHES ?? 10)
const STORES = 1_000
const TABLES = ['api_keys', 'key_usage', 'key_permission_use', 'stores', 'event_heads']

for (const fill of ['100', '90', '75', '50', 'as migrated']) {
  const world = await newWorld()
  if (fill !== 'as migrated')
    for (const table of TABLES) await world.sql(`alter table ${table} set (fillfactor = ${fill})`)
  const { storeId, storeIds } = await newMembers(world, 1, STORES)
  await world.sql(
    `insert into event_heads (chain, seq, hash, at) select chain, 1, sha256(chain::bytea), now() from unnest($1::text[]) as chain`,
    [storeIds],
  )
  const ids = (await newKeys(world, storeId, KEYS)).map(({ id }) => id)
  // On the one connection that has no timeouts: how long it takes is not what is measured.
  const tx = {
    query: ({ text, values }: Sql) => world.sql(text, values),
    one: async ({ text, values }: Sql) => (await world.sql(text, values))[0] ?? null,
  } as unknown as Db
  const keyring = { current: new ServerKeys(Buffer.from(world.secret, 'base64')), previous: null }
  const hour = Date.now() - (Date.now() % 3_600_000)
  const write = async (used: string[], at: number) => {
    const counters = used.map((id) => {
      const counter = { ...newCounter(id, 1, hour), valid: 1, usedAt: at }
      counter.exercised.set('READ', at)
      return counter
    })
    await world.sql('begin')
    await writeCounters(tx, keyring, counters)
    await world.sql('commit')
  }
  for (let n = 0; n < KEYS; n += 1_000) await write(ids.slice(n, n + 1_000), hour)
  await world.sql('vacuum analyze')
  await world.sql('select pg_stat_reset()')
  const began = await logBytes()
  const stride = Math.round(1 / SHARE)
  for (let flush = 1; flush <= FLUSHES; flush++) {
    // Scattered over the pages, and others each time.
    const used = ids.filter((_, n) => (n * 7919 + flush) % stride === 0)
    for (let n = 0; n < used.length; n += 1_000) await write(used.slice(n, n + 1_000), hour + flush)
    await world.sql('update stores set live_keys = live_keys + 1 where id = any($1)', [storeIds])
    await world.sql('update event_heads set seq = seq + 1 where chain = any($1)', [storeIds])
  }
  const bytes = Math.round(((await logBytes()) - began) / (FLUSHES * KEYS * SHARE))
  await world.sql('select pg_stat_force_next_flush()')
  const rows = await world.sql(
    `select stat.relname,
            round(100.0 * n_tup_hot_upd / nullif(n_tup_upd, 0)) || ' %, '
              || round(pg_table_size(relid) / nullif(reltuples, 0)::numeric) || ' B' as hot
       from pg_stat_user_tables stat
       join pg_class on pg_class.oid = relid
      where stat.relname = any($1)`,
    [TABLES],
  )
  const hot = Object.fromEntries(rows.map(({ relname, hot }) => [relname, hot]))
  console.log(`| ${[fill, ...TABLES.map((table) => hot[table]), `${bytes} B`].join(' | ')} |`)
  await world.close()

  async function logBytes(): Promise<number> {
    const [row] = await world.sql(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as at`)
    return Number(row?.at)
  }
}
