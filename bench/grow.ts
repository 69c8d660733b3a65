// npm run bench:grow: what the two operations cost with 1,000 rows in the tables and with 1,000,000. The bare INSERT of
// bench/bare.ts runs beside them each time, because the machine may have changed its mind meanwhile.

import { mkdirSync, writeFileSync } from 'node:fs'
import { EXAMPLE_ADDRESS } from '../src/billing/schema.ts'
import { type Load, load, median, newMembers, newWorld, runBare, runOurs } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 8)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const ROWS = Number(process.env.ROWS ?? 1_000_000)
const USERS = 4_000
const headers = { 'content-type': 'application/json' }
const NEW_KEY = JSON.stringify({ name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] })
const NEW_ADDRESS = JSON.stringify({ ...EXAMPLE_ADDRESS, lastName: undefined, phone: undefined })

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, USERS)
const insert = await runBare(world)
const ours = await runOurs(world)
const as = (path: string, body: string, sessions: number) => (n: number) => ({
  method: 'POST' as const,
  path,
  body,
  headers: { ...headers, authorization: `Bearer ${tokens[n % sessions]}` },
})
const SUBJECTS: Record<string, () => Promise<Load>> = {
  'bare INSERT': () =>
    load(insert.url, SECONDS, () => ({ method: 'POST', path: `/${storeId}/keys`, body: NEW_KEY, headers })),
  'create key': () => load(ours.url, SECONDS, as(`/v1/user/store/${storeId}/keys`, NEW_KEY, 1)),
  'create address': () => load(ours.url, SECONDS, as(`/v1/store/${storeId}/billing`, NEW_ADDRESS, USERS)),
}

async function measure(): Promise<Record<string, number>> {
  const all: Record<string, number[]> = {}
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, subject] of Object.entries(SUBJECTS)) {
      const { perSecond, errors } = await subject()
      if (errors > 0) throw new Error(`${name}: ${errors} errors`)
      all[name] = [...(all[name] ?? []), perSecond]
    }
  return Object.fromEntries(Object.entries(all).map(([name, values]) => [name, Math.round(median(values))]))
}

/** Keys in 2,000 stores, addresses of 20,000 users, an event and a remembered answer for each. */
async function fill(rows: number): Promise<void> {
  await world.sql(`
    insert into stores (id, name, created_at, updated_at)
    select 'store_fill' || n, 'Filled', now(), now() from generate_series(1, 2000) n on conflict do nothing`)
  await world.sql(`
    insert into users (id, email, password_hash, data_key, data_key_kid, created_at, updated_at)
    select 'user_fill' || n, n || '@fill.example', 'none', ''::bytea, 'none', now(), now()
      from generate_series(1, 20000) n on conflict do nothing`)
  await world.sql(
    `with n as (select generate_series(1, $1::int) as n), key as (
       insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                             created_by_id, created_at, updated_at)
       select 'key_fill' || lpad(n::text, 10, '0'), 'store_fill' || 1 + n % 2000, 'Filled', 'PROD', '{READ,WRITE}',
              '{"description":"filled"}', 'skp_prod_abcd', sha256(('k' || n)::bytea), 'kid', 'user', 'user_fill1', now(), now()
         from n
     ), event as (
       insert into events (id, store_id, type, at, actor, subject, data)
       select 'evt_fill' || lpad(n::text, 10, '0'), 'store_fill' || 1 + n % 2000, 'key.created', now(), '{"kind":"user"}',
              'key_fill' || n, '{"name":"Filled"}'
         from n
     ), remembered as (
       insert into idempotent_responses (lookup, fingerprint, reveals_secret, status, resource_id, kid, salt, sealed, created_at)
       select sha256(('l' || n)::bytea), sha256(('f' || n)::bytea), true, 201, 'key_fill' || n, 'kid', sha256('s'),
              decode(repeat('ab', 400), 'hex'), now()
         from n
     )
     insert into addresses (id, store_id, user_id, is_default, country, state, postal_code, sealed, created_at, updated_at)
     select 'addr_fill' || lpad(n::text, 10, '0'), 'store_fill' || 1 + n % 2000, 'user_fill' || 1 + n % 20000, n <= 20000,
            'US', 'CA', '95014', decode(repeat('cd', 300), 'hex'), now(), now()
       from n`,
    [rows],
  )
  await world.sql('vacuum analyze')
}

await fill(1_000)
for (const subject of Object.values(SUBJECTS)) await subject()
const small = await measure()
process.stderr.write(`1,000 rows: ${JSON.stringify(small)}\nfilling …\n`)
await world.sql(`delete from api_keys where id like 'key_fill%'`)
await world.sql('alter table events disable trigger events_append_only')
await world.sql(`delete from events where id like 'evt_fill%'`)
await world.sql(`delete from addresses where id like 'addr_fill%'`)
await world.sql(`delete from idempotent_responses where resource_id like 'key_fill%'`)
await fill(ROWS)
const large = await measure()

const rows = Object.keys(SUBJECTS).map((name) => ({
  name,
  '1,000 rows': small[name],
  [`${ROWS.toLocaleString('en')} rows`]: large[name],
  ratio: Math.round(((large[name] ?? 0) / (small[name] ?? 1)) * 100) / 100,
}))
console.table(rows)
mkdirSync('bench/results', { recursive: true })
writeFileSync('bench/results/grow.json', `${JSON.stringify({ seconds: SECONDS, rounds: ROUNDS, rows }, null, 2)}\n`)
await Promise.all([insert.stop(), ours.stop()])
await world.close()
