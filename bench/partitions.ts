// npm run bench:partitions: what partitions of events cost. Services on databases that differ in nothing else: events in one
// plain table, in the partitions that a new installation has, in those after a year and after five. Creating a key and
// listing events in turn, SECONDS (default 3) each, medians of ROUNDS (default 5); and the processor time of PostgreSQL for
// one pass of sealing that finds nothing.

import { connect } from '../src/db/pool.ts'
import { sealAll } from '../src/events/seal.ts'
import { load, median, newMembers, newWorld, runOurs, type World } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 3)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const PASSES = 500

const KINDS: Record<string, (world: World) => Promise<unknown>> = {
  'one table': withoutPartitions,
  'a new installation': async () => {},
  'after a year': (world) => withMonths(world, 12),
  'after five years': (world) => withMonths(world, 60),
}

type Side = { world: World; url: string; stop(): Promise<void>; storeId: string; token: string }
const sides: Record<string, Side> = {}
for (const [name, prepare] of Object.entries(KINDS)) {
  const world = await newWorld()
  await prepare(world)
  const { storeId, tokens } = await newMembers(world, 1)
  const { url, stop } = await runOurs(world)
  sides[name] = { world, url, stop, storeId, token: tokens[0] as string }
}
const figures: Record<string, { create: number[]; list: number[]; pass: number[] }> = {}
for (const name of Object.keys(sides)) figures[name] = { create: [], list: [], pass: [] }
for (let round = -1; round < ROUNDS; round++)
  for (const [name, { world, url, storeId, token }] of Object.entries(sides)) {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const body = JSON.stringify({ name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] })
    const create = await load(url, SECONDS, () => ({
      method: 'POST',
      path: `/v1/user/store/${storeId}/keys`,
      body,
      headers,
    }))
    const db = connect({ connectionString: world.url })
    await sealAll(db)
    const list = await load(url, SECONDS, () => ({
      method: 'GET',
      path: `/v1/user/store/${storeId}/events?limit=20`,
      headers,
    }))
    if (create.errors + list.errors > 0) throw new Error(`${name}: ${create.errors + list.errors} errors`)
    const before = world.cpuMs()
    for (let n = 0; n < PASSES; n++) await sealAll(db)
    const pass = ((world.cpuMs() - before) * 1_000) / PASSES
    await db.close()
    if (round < 0) continue // once for nothing
    figures[name]?.create.push(create.perSecond)
    figures[name]?.list.push(list.perSecond)
    figures[name]?.pass.push(pass)
  }
const ratio = (values: number[], plain: number[]) =>
  Math.round(median(values.map((value, n) => value / (plain[n] as number))) * 100) / 100
const plain = figures['one table'] as (typeof figures)[string]
console.table(
  Object.entries(figures).map(([name, { create, list, pass }]) => ({
    events: name,
    'create/s': Math.round(median(create)),
    'of one table': ratio(create, plain.create),
    'list/s': Math.round(median(list)),
    ' of one table': ratio(list, plain.list),
    'µs of PostgreSQL for an empty pass': Math.round(median(pass)),
  })),
)
for (const { stop, world } of Object.values(sides)) {
  await stop()
  await world.close()
}

/** As the table was before it had partitions. */
async function withoutPartitions(world: World): Promise<void> {
  const [{ view } = {}] = await world.sql(`select pg_get_viewdef('unsealed_events') as view`)
  await world.sql(`
    drop view unsealed_events;
    alter table events detach partition events_first;
    drop table events;
    alter table events_first rename to events;
    create trigger events_write_webhook_outbox after insert on events
      referencing new table as written for each statement execute function write_webhook_outbox();
    create view unsealed_events as ${view}`)
}

async function withMonths(world: World, count: number): Promise<void> {
  await world.sql('drop table events_first')
  await world.sql(
    `select create_event_partition('events_first', format('for values from (minvalue) to (%L)',
              first_event_id(date_trunc('month', now()) - $1 * interval '1 month')))`,
    [count],
  )
  await world.sql(
    `select add_event_month(month)
       from generate_series(date_trunc('month', now()) - $1 * interval '1 month', now() + interval '3 months', '1 month') as month`,
    [count],
  )
}
