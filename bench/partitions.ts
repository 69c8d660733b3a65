// npm run bench:partitions: what it would cost to partition events by month (docs/decisions/events-in-one-table.md). Services
// on databases that differ in nothing else: events in one table as they are, in two partitions, and in those of a year and of
// five. Creating a key and
// listing events in turn, SECONDS (default 3) each, medians of ROUNDS (default 5); and the processor time of PostgreSQL for
// one pass of sealing that finds nothing.

import { connect } from '../src/db/pool.ts'
import { sealAll } from '../src/events/seal.ts'
import { FIRST_EVENT_ID } from './event-ids.ts'
import { load, median, newMembers, newWorld, runOurs, type World } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 3)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const PASSES = 500

const KINDS: Record<string, (world: World) => Promise<unknown>> = {
  'one table': async () => {},
  'the table and a default partition': (world) => partition(world, 0),
  'a year of months': (world) => partition(world, 12),
  'five years of months': (world) => partition(world, 60),
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

/** By ranges of ids: what came before, the months up to this one and three to come, and the rest. */
async function partition(world: World, months: number): Promise<void> {
  await world.sql(FIRST_EVENT_ID)
  await world.sql(`
    drop view unsealed_events;
    alter table events rename to events_plain;
    create table events (like events_plain including defaults, primary key (id)) partition by range (id);
    create index on events (tx, id);
    create index on events ((actor ->> 'id'), id);
    create index on events (subject, id) where subject ^@ 'user_' or subject ^@ 'inv_';
    create table events_default partition of events default;
    do $$
    declare
      month timestamptz := date_trunc('month', now()) - ${months} * interval '1 month';
    begin
      execute format('create table events_first partition of events for values from (minvalue) to (%L)', first_event_id(month));
      while ${months} > 0 and month < now() + interval '3 months' loop
        execute format('create table %I partition of events for values from (%L) to (%L)', to_char(month, '"events_"YYYY_MM'),
                       first_event_id(month), first_event_id(month + interval '1 month'));
        month := month + interval '1 month';
      end loop;
    end $$;
    drop table events_plain;
    create trigger events_append_only before update or delete or truncate on events
      for each statement execute function reject_change();
    create trigger events_write_webhook_outbox after insert on events
      referencing new table as written for each statement execute function write_webhook_outbox()`)
  // Without "offset 0" the planner, to which a look into each of many partitions seems dear, reads all events instead.
  await world.sql(`
    create view unsealed_events as
      select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, event.tx
        from event_watermark mark
       cross join lateral (
             select newer.*
               from events newer
              where (newer.tx, newer.id) > (mark.tx, mark.id)
                and newer.tx < pg_snapshot_xmax(pg_current_snapshot())
              union all
             select late.*
               from json_to_recordset(mark.open) as open(tx xid8, id text)
              cross join lateral (
                      select * from events where events.tx = open.tx and events.id > open.id offset 0
                    ) as late
             ) as event
       where mark.n = 1
         and not exists (select from event_seals seal where seal.event_id = event.id)`)
}
