// npm run stress:size: what requests feel of maintenance that has a great deal to do. Fills the tables, in steps that go on
// where they were stopped when DATA_DIR names a folder to keep, then starts the service, measures creating and verifying
// while its chores rest, again and again while they work, until they are done or MINUTES (default 20) are over, and afterwards.
//
//   RESPONSES    stored responses, over the last 50 hours, seven of ten with a secret     (default   400,000)
//   DELIVERIES   deliveries of 31 days ago                                               (default   100,000)
//   KEYS         keys of a store that was deleted 31 days ago                            (default    20,000)
//   USED         keys that were used in each of HOURS (default 4) hours, 91 days ago     (default    20,000)
//
// A row of the table is a look, about every ten seconds: how many rows were worked off, and the latencies meanwhile. Fails
// when a chore failed, a request failed, or the median of the looks is more than 1.5 times the quiet one.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load, median, newKeys, newMembers, newServiceToken, newWorld, runOurs } from '../world.ts'

const sizes = {
  responses: Number(process.env.RESPONSES ?? 400_000),
  deliveries: Number(process.env.DELIVERIES ?? 100_000),
  keys: Number(process.env.KEYS ?? 20_000),
  used: Number(process.env.USED ?? 20_000),
  hours: Number(process.env.HOURS ?? 4),
}
const MINUTES = Number(process.env.MINUTES ?? 20)
const SECONDS = Number(process.env.SECONDS ?? 4)
const CONNECTIONS = 8
const STEP = 200_000
const MAX_RATIO = 1.5
const { DATA_DIR } = process.env

const world = await newWorld(DATA_DIR)
const folks = await readFolks()
await fill()
if (process.argv[2] === 'fill') {
  await world.close()
  process.exit(0)
}
await work()
await world.close()

type Folks = { token: string; storeId: string; service: string; keys: string[] }

async function readFolks(): Promise<Folks> {
  const file = DATA_DIR && join(DATA_DIR, 'size-state.json')
  if (file && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  await world.sql(`alter system set max_wal_size = '4GB'`)
  await world.sql('select pg_reload_conf()')
  await world.sql('create table size_fill (name text primary key, done int not null)')
  const { storeId, tokens } = await newMembers(world, 1)
  const keys = (await newKeys(world, storeId, 1_000)).map(({ key }) => key)
  const folks = { token: tokens[0] as string, storeId, service: await newServiceToken(world, null), keys }
  await world.sql(
    `insert into stores (id, name, account_id, created_at, updated_at, deleted_at)
     values ('store_gone', 'Gone', 'nobody', now(), now(), now() - interval '31 days'), ('store_kept', 'Kept', 'nobody', now(), now(), null)`,
  )
  if (file) writeFileSync(file, JSON.stringify(folks))
  return folks
}

// ---- filling ------------------------------------------------------------------------------------------------------------

async function fill(): Promise<void> {
  await world.sql('set synchronous_commit = off')
  const { responses, deliveries, keys, used, hours } = sizes
  const key = (store: string, prefix: string) => `
    insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                          created_by_id, created_at, updated_at)
    select '${prefix}' || lpad(n::text, 20, '0'), '${store}', 'Checkout', 'PROD', '{READ,WRITE}', '{}', 'skp_prod_abcd',
           sha256(('${prefix}' || n)::bytea), 'kid', 'user', 'user_1', now(), now()
      from generate_series($1::int, $2::int) as n`
  await inSteps(
    'responses',
    responses,
    `
    insert into idempotent_responses (lookup, fingerprint, reveals_secret, status, resource_id, kid, salt, sealed, created_at)
    select sha256(n::text::bytea), sha256(n::text::bytea), n % 10 < 7, 201, 'key_' || lpad(n::text, 26, '0'), 'kid',
           sha256(n::text::bytea), decode(repeat('ab', 400), 'hex'),
           now() - interval '50 hours' + n * interval '50 hours' / ${responses}
      from generate_series($1::int, $2::int) as n`,
  )
  await inSteps(
    'deliveries',
    deliveries,
    `
    insert into webhook_deliveries (webhook_id, id, event_id, type, cause, status, attempts, response_status, created_at)
    select 'wh_' || lpad((n % 20)::text, 26, '0'), 'dlv_' || lpad(n::text, 26, '0'), 'evt_' || lpad(n::text, 26, '0'), 'key.created',
           'EVENT', 'DELIVERED', 1, 204, now() - interval '31 days'
      from generate_series($1::int, $2::int) as n`,
  )
  await inSteps('keys', keys, key('store_gone', 'key_gone'))
  await inSteps('used', used, key('store_kept', 'key_kept'))
  for (let hour = 0; hour < hours; hour++)
    await inSteps(
      `hour ${hour}`,
      used,
      `
      insert into key_usage (key_id, grain, at, outcome, secret_no, count)
      select 'key_kept' || lpad(n::text, 20, '0'), 'hour', date_trunc('day', now()) - interval '92 days' + ${hour} * interval '1 hour',
             'VALID', 1, 1
        from generate_series($1::int, $2::int) as n`,
    )
  await world.sql('vacuum analyze')
  await world.sql('checkpoint')
}

async function inSteps(name: string, size: number, insert: string): Promise<void> {
  await world.sql('insert into size_fill values ($1, 0) on conflict do nothing', [name])
  for (;;) {
    const [{ done = 0 } = {}] = (await world.sql('select done from size_fill where name = $1', [name])) as {
      done: number
    }[]
    if (done >= size) return
    const to = Math.min(size, done + STEP)
    await world.sql('begin')
    await world.sql(insert, [done + 1, to])
    await world.sql('update size_fill set done = $2 where name = $1', [name, to])
    await world.sql('commit')
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${name}: ${to.toLocaleString('en')}\n`)
  }
}

// ---- chores at work -----------------------------------------------------------------------------------------------------

type Done = Record<'secrets' | 'responses' | 'deliveries' | 'keys' | 'hours', number>

async function work(): Promise<void> {
  const ours = await runOurs(world)
  const began = performance.now()
  const minutes = () => Math.round((performance.now() - began) / 6_000) / 10
  await look() // once for nothing
  // Before the chores and after them: other work on the machine comes and goes.
  const quiet = [await look(), await look()]
  console.log(
    '| minutes | secrets destroyed | responses deleted | deliveries deleted | keys deleted | hours rolled up | create p50 | verify p50 |',
  )
  const looks: Awaited<ReturnType<typeof look>>[] = []
  const before = await counted()
  const done: Done = { secrets: 0, responses: 0, deliveries: 0, keys: 0, hours: 0 }
  // The chores begin a minute after the start.
  while (minutes() < 1) await sleep(1_000)
  for (let last = ''; minutes() < MINUTES && (JSON.stringify(done) !== last || (await anyLeft())); ) {
    last = JSON.stringify(done)
    const seen = await look()
    const counts = await counted()
    for (const name of Object.keys(done) as (keyof Done)[]) done[name] = counts[name] - before[name]
    if (JSON.stringify(done) !== last) looks.push(seen)
    console.log(`| ${[minutes(), ...Object.values(done), seen.create, seen.verify].join(' | ')} |`)
  }
  const minutesTaken = minutes()
  quiet.push(await look(), await look())
  console.log(`quiet, twice before and twice after: ${JSON.stringify(quiet)}`)
  const metrics = await (await fetch(`${ours.url}/metrics`)).text()
  const failures = metrics.split('\n').filter((line) => /^storekeeper_background_failures_total.* [1-9]/.test(line))
  const [create, verify] = [
    median(looks.map((each) => each.create)) / median(quiet.map((each) => each.create)),
    median(looks.map((each) => each.verify)) / median(quiet.map((each) => each.verify)),
  ]
  console.log(`median of ${looks.length} looks: create ${create.toFixed(2)}, verify ${verify.toFixed(2)} of quiet`)
  console.log(
    `failures: ${failures.join(', ') || 'none'}; ${(await anyLeft()) ? 'not done' : 'all done'} after ${minutesTaken} minutes: ${JSON.stringify(done)}`,
  )
  if (failures.length > 0 || create > MAX_RATIO || verify > MAX_RATIO) process.exitCode = 1
  await ours.stop()

  async function look(): Promise<{ create: number; verify: number }> {
    const json = { 'content-type': 'application/json' }
    const created = await load(
      ours.url,
      SECONDS,
      () => ({
        method: 'POST',
        path: `/v1/user/store/${folks.storeId}/keys`,
        body: JSON.stringify({ name: 'Checkout', type: 'PROD', permissions: ['READ'] }),
        headers: { ...json, authorization: `Bearer ${folks.token}` },
      }),
      CONNECTIONS,
    )
    const verified = await load(
      ours.url,
      SECONDS,
      (n) => ({
        method: 'POST',
        path: '/v1/keys/verify',
        body: JSON.stringify({ key: folks.keys[n % folks.keys.length], anyStore: true }),
        headers: { ...json, authorization: `Bearer ${folks.service}` },
      }),
      CONNECTIONS,
    )
    if (created.errors + verified.errors > 0)
      throw new Error(`${created.errors} creates and ${verified.errors} verifies failed`)
    return { create: created.p50, verify: verified.p50 }
  }
}

/** As the database counts them: counting the rows themselves would be a load of its own. */
async function counted(): Promise<Done> {
  const [row] = await world.sql(`
    select sum(n_tup_upd) filter (where relname = 'idempotent_responses')::float8 as secrets,
           sum(n_tup_del) filter (where relname = 'idempotent_responses')::float8 as responses,
           sum(n_tup_del) filter (where relname = 'webhook_deliveries')::float8 as deliveries,
           sum(n_tup_del) filter (where relname = 'api_keys')::float8 as keys,
           sum(n_tup_del) filter (where relname = 'key_usage')::float8 as hours
      from pg_stat_user_tables`)
  return row as Done
}

async function anyLeft(): Promise<boolean> {
  await world.sql('set enable_seqscan = off')
  const [row] = await world.sql(`
    select exists (select from stores where id = 'store_gone')
           or exists (select from webhook_deliveries)
           or exists (select from key_usage where grain = 'hour' and at < now() - interval '90 days')
           or exists (select from idempotent_responses where created_at < now() - interval '25 hours 5 minutes')
           or exists (select from idempotent_responses
                       where reveals_secret and salt is not null and created_at < now() - interval '65 minutes') as any`)
  return row?.any === true
}
