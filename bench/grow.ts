// npm run bench:grow: what requests cost with 1,000 events and 250 keys in the tables, and with 20,000,000 and 5,000,000.
//
//   npm run bench:grow                 all sizes of SIZES (default 1000,1000000), in a database that is removed afterwards
//   DATA_DIR=… npm run bench:grow -- fill 20000000      fills up to so many events, goes on where it was stopped
//   DATA_DIR=… npm run bench:grow -- measure            measures what is there, and prints all that was measured so far
//
// A key for every fourth event, and a seal for each; addresses and stored responses up to a million. Filled rows are copies
// of a real key and a real event, so that they have the size of real ones. The bare INSERT of bench/bare.ts runs beside them
// each time, since the machine may have changed.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mintToken } from '../src/crypto/tokens.ts'
import { connect } from '../src/db/pool.ts'
import { sealAll } from '../src/events/seal.ts'
import { FIRST_EVENT_ID } from './event-ids.ts'
import { sizesOf } from './table-sizes.ts'
import { load, median, newKeys, newMembers, newServiceToken, newWorld, runBare, runOurs } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 4)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const STEP = 100_000
const STORES = 2_000
const SMALL = 1_000_000
/** Up to so many events are written with all indexes in place; of more, the random indexes are built at the end. */
const BY_INDEX = 5_000_000
const { DATA_DIR } = process.env
const [command, argument] = process.argv.slice(2)

const world = await newWorld(DATA_DIR)
const folder = DATA_DIR ?? 'bench/results'
mkdirSync(folder, { recursive: true })
const state = await readState()
if (command === 'fill') await fill(Number(argument))
else if (command === 'measure') await measure()
else
  for (const size of (process.env.SIZES ?? '1000,1000000').split(',').map(Number)) {
    await fill(size)
    await measure()
  }
await world.close()

type Figures = { size: number; perSecond: Record<string, number>; tables: Awaited<ReturnType<typeof sizesOf>> }
type State = {
  token: string
  service: string
  /** New keys go to the first, lists are read from the second. */
  storeIds: [string, string]
  keys: string[]
  figures: Figures[]
}

async function readState(): Promise<State> {
  const file = join(folder, 'grow-state.json')
  if (DATA_DIR && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  // As an installation of this size would have them.
  for (const [name, value] of Object.entries({
    shared_buffers: '1GB',
    max_wal_size: '4GB',
    maintenance_work_mem: '256MB',
  }))
    await world.sql(`alter system set ${name} = '${value}'`)
  await world.sql('select pg_reload_conf()')
  await world.sql(FIRST_EVENT_ID)
  const { storeIds, tokens } = await newMembers(world, 1, 2)
  const keys = (await newKeys(world, storeIds[0] as string, 1_000)).map(({ key }) => key)
  const service = await newServiceToken(world, null)
  const state: State = {
    token: tokens[0] as string,
    service,
    storeIds: storeIds as [string, string],
    keys,
    figures: [],
  }
  await makeTemplate(state)
  await world.sql('create table grow_fill (events int not null)')
  await world.sql('insert into grow_fill values (0)')
  save(state)
  return state
}

function save(state: State): void {
  writeFileSync(join(folder, 'grow-state.json'), JSON.stringify(state))
}

/** One key and its event as the service writes them. */
async function makeTemplate({ token, storeIds }: State): Promise<void> {
  const ours = await runOurs(world)
  const made = await fetch(`${ours.url}/v1/user/store/${storeIds[0]}/keys`, {
    method: 'POST',
    body: JSON.stringify({
      name: 'Checkout',
      type: 'PROD',
      permissions: ['READ', 'WRITE'],
      metadata: { team: 'payments' },
    }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  })
  if (made.status !== 201) throw new Error(await made.text())
  await ours.stop()
  const columns = `select string_agg(attname, ', ' order by attnum) as list from pg_attribute
    where attrelid = 'api_keys'::regclass and attnum > 0 and attname not in ('id', 'store_id', 'hash', 'created_by_id')`
  const [{ list } = {}] = await world.sql(columns)
  await world.sql(`
    create table grow_key as select ${list} from api_keys order by id desc limit 1;
    create table grow_event as select type, actor, data from events order by id desc limit 1;
    insert into stores (id, name, account_id, created_at, updated_at)
    select 'store_' || lpad(n::text, 26, '0'), 'Filled', 'nobody', now(), now() from generate_series(1, ${STORES}) n;
    insert into users (id, email, password_hash, data_key, data_key_kid, created_at, updated_at)
    select 'user_' || lpad(n::text, 26, '0'), n || '@fill.example', 'none', ''::bytea, 'none', now(), now()
      from generate_series(1, 20000) n`)
}

// ---- filling ------------------------------------------------------------------------------------------------------------

async function fill(size: number): Promise<void> {
  const [{ list } = {}] = await world.sql(`
    select string_agg(attname, ', ' order by attnum) as list from pg_attribute
     where attrelid = 'grow_key'::regclass and attnum > 0`)
  await world.sql('set synchronous_commit = off')
  await world.sql('create table if not exists grow_indexes (name text primary key, definition text not null)')
  const [{ there = 0 } = {}] = (await world.sql('select events as there from grow_fill')) as { there: number }[]
  if (size - there > BY_INDEX) await dropIndexes()
  for (;;) {
    const [{ events = 0 } = {}] = (await world.sql('select events from grow_fill')) as { events: number }[]
    if (events >= size) break
    const upTo = Math.min(size, events + STEP)
    const began = performance.now()
    await fillStep(String(list), events + 1, upTo)
    const rate = Math.round((upTo - events) / ((performance.now() - began) / 1000))
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${upTo.toLocaleString('en')} events, ${rate}/s\n`)
  }
  for (const { name, definition } of await world.sql('select * from grow_indexes order by name')) {
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} building ${name}\n`)
    await world.sql('begin')
    await world.sql(String(definition))
    await world.sql('delete from grow_indexes where name = $1', [name])
    await world.sql('commit')
  }
  await world.sql('vacuum analyze')
  await world.sql('checkpoint')
}

/** The indexes whose entries fall at random are built afterwards. Noted down in the database, should this be stopped. */
async function dropIndexes(): Promise<void> {
  await world.sql(`
    insert into grow_indexes
    select indexname, replace(indexdef, ' ON ONLY ', ' ON ')
      from pg_indexes
     where indexname in ('events_actor_idx', 'events_tx_idx', 'events_person_subject_idx', 'event_seals_type_idx', 'event_seals_subject_idx',
                         'event_seals_actor_idx', 'api_keys_made_idx', 'api_keys_live_idx', 'api_keys_store_id_idx')
        on conflict do nothing`)
  for (const { name } of await world.sql('select name from grow_indexes'))
    await world.sql(`drop index if exists ${name}`)
}

/** In one transaction with the note of how far it came, and with the watermark: the service has nothing of it to seal. */
async function fillStep(keyColumns: string, from: number, to: number): Promise<void> {
  const [, listed] = state.storeIds
  // Ten rows of a hundred belong to the store that lists are read from.
  const row = `
    select n, case when n % 10 = 0 then '${listed}' else 'store_' || lpad((1 + n % ${STORES})::text, 26, '0') end as store_id,
           case when n % 10 = 0 then n / 10 else n / ${STORES} + 1 end as seq,
           'user_' || lpad((1 + n % 20000)::text, 26, '0') as user_id,
           prefix || lpad(n::text, 16, '0') as event_id,
           'key_' || substr(prefix, 5) || lpad((n - n % 4)::text, 16, '0') as key_id
      from (
             select thousand, first_event_id(now() - interval '360 days' + thousand * interval '1555 seconds') as prefix
               from generate_series(${Math.floor(from / 1000)}, ${Math.floor(to / 1000)}) as thousand
             offset 0 -- else each row would make its prefix anew
           ) as moment
     cross join lateral generate_series(greatest(${from}, thousand * 1000), least(${to}, thousand * 1000 + 999)) as n`
  await world.sql(`
    begin;
    create temporary table step on commit drop as ${row};
    insert into api_keys (id, store_id, hash, created_by_id, ${keyColumns})
    select key_id, store_id, sha256(('k' || n)::bytea), user_id, ${keyColumns
      .split(', ')
      .map((name) => `key.${name}`)
      .join(', ')}
      from step cross join grow_key key where n % 4 = 0 order by n;
    alter table events disable trigger events_write_webhook_outbox;
    insert into events (id, store_id, type, at, actor, subject, data)
    select event_id, store_id, event.type, now(),
           json_build_object('kind', 'user', 'id', user_id, 'credential', event.actor ->> 'credential', 'ip', '203.0.113.7'),
           key_id, event.data
      from step cross join grow_event event order by n;
    alter table events enable trigger events_write_webhook_outbox;
    insert into event_seals (chain, seq, event_id, hash, type, subject, actor)
    select store_id, seq, event_id, sha256(n::text::bytea), 'key.created', key_id, user_id from step order by n;
    insert into event_heads (chain, seq, hash, at)
    select store_id, max(seq), sha256('head'), now() from step group by store_id order by store_id
        on conflict (chain) do update set seq = excluded.seq, at = excluded.at;
    insert into idempotent_responses (lookup, fingerprint, reveals_secret, status, resource_id, kid, salt, sealed, created_at)
    select sha256(('l' || n)::bytea), sha256(('f' || n)::bytea), true, 201, key_id, 'kid', sha256('s'),
           decode(repeat('ab', 400), 'hex'), now()
      from step where n <= ${SMALL} order by n;
    insert into addresses (id, store_id, user_id, is_default, country, state, postal_code, sealed, created_at, updated_at)
    select 'addr_' || substr(event_id, 5), store_id, user_id, false, 'US', 'CA', '95014', decode(repeat('cd', 230), 'hex'), now(), now()
      from step where n <= ${SMALL} order by n;
    update event_watermark
       set tx = pg_current_xact_id(), id = 'evt_zz', open = '[]',
           server = (select system_identifier::text from pg_control_system());
    update grow_fill set events = ${to};
    commit`)
}

// ---- measuring ----------------------------------------------------------------------------------------------------------

async function measure(): Promise<void> {
  const [{ events: size = 0 } = {}] = (await world.sql('select events from grow_fill')) as { events: number }[]
  const bare = await runBare(world)
  const ours = await runOurs(world)
  const { token, service, storeIds, keys } = state
  const [creating, listed] = storeIds
  const json = { 'content-type': 'application/json' }
  const as = { authorization: `Bearer ${token}` }
  const body = JSON.stringify({ name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] })
  const verify = (key: string) => ({
    method: 'POST' as const,
    path: '/v1/keys/verify',
    headers: { ...json, authorization: `Bearer ${service}` },
    body: JSON.stringify({ key, anyStore: true }),
  })
  const get = (path: string) => () => ({ method: 'GET' as const, path, headers: as })
  const subjects: Record<string, () => ReturnType<typeof load>> = {
    'bare INSERT': () =>
      load(bare.url, SECONDS, () => ({ method: 'POST', path: `/${creating}/keys`, body, headers: json })),
    'create key': () =>
      load(ours.url, SECONDS, () => ({
        method: 'POST',
        path: `/v1/user/store/${creating}/keys`,
        body,
        headers: { ...json, ...as },
      })),
    'verify key': () => load(ours.url, SECONDS, (n) => verify(keys[n % keys.length] as string)),
    'verify an unknown key': () => load(ours.url, SECONDS, () => verify(mintToken('skp', 'prod').reveal())),
    'list keys': () => load(ours.url, SECONDS, get(`/v1/user/store/${listed}/keys?limit=20`)),
    'list events': () => load(ours.url, SECONDS, get(`/v1/user/store/${listed}/events?limit=20`)),
  }
  const db = connect({ connectionString: world.url })
  const all: Record<string, number[]> = {}
  for (const subject of Object.values(subjects)) await subject() // once for nothing
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, subject] of Object.entries(subjects)) {
      // A list of events also reads those that wait for their seal: the new keys' are none of its business.
      await sealAll(db)
      const { perSecond, errors } = await subject()
      if (errors > 0) throw new Error(`${name}: ${errors} errors`)
      all[name] = [...(all[name] ?? []), perSecond]
    }
  await db.close()
  await Promise.all([bare.stop(), ours.stop()])
  const perSecond = Object.fromEntries(Object.entries(all).map(([name, values]) => [name, Math.round(median(values))]))
  state.figures = [
    ...state.figures.filter((each) => each.size !== size),
    { size, perSecond, tables: await sizesOf(world) },
  ]
  save(state)
  report()
}

function report(): void {
  const [first] = state.figures
  if (!first) return
  console.table(
    Object.keys(first.perSecond).map((name) => ({
      name,
      ...Object.fromEntries(
        state.figures.map(({ size, perSecond }) => [size.toLocaleString('en'), perSecond[name] ?? 0]),
      ),
      ratio: Math.round(((state.figures.at(-1)?.perSecond[name] ?? 0) / (first.perSecond[name] ?? 1)) * 100) / 100,
    })),
  )
  for (const { size, tables } of state.figures) {
    console.log(`${size.toLocaleString('en')} events: bytes a row`)
    console.table(tables)
  }
}
