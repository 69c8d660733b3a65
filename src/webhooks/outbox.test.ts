import { expect, onTestFinished, test } from 'vitest'
import { shop } from '../../tests/shop.ts'
import { travel } from '../core/clock.ts'
import { connect } from '../db/pool.ts'
import { sql } from '../db/sql.ts'
import { fanOut, newFanOutState } from './fan-out.ts'
import { leaseDue as lease, releaseLeases } from './outbox.ts'

/** Three webhooks with five messages each, and nobody who sends them. */
async function waiting() {
  const { store, service, sql, databaseUrl, person } = await shop({ alone: true })
  const people = [await person(), await person()]
  await service.close(0)
  await sql(
    `insert into webhooks (id, store_id, url, types, secret, secret_kid, created_by_kind, created_by_id, created_at, updated_at)
     select 'wh_' || name, $1, 'https://shop.example', '{*}', '', '', 'user', 'user', now(), now()
       from unnest('{a,b,c}'::text[]) as name`,
    [store.id],
  )
  await sql(
    `insert into webhook_deliveries (webhook_id, id, event_id, type, cause, next_attempt_at, created_at)
     select id, 'dlv_' || n, 'evt_' || n, 'webhook.test', 'TEST', now() - n * interval '1 second', now()
       from webhooks cross join generate_series(1, 5) as n`,
  )
  const db = connect({ connectionString: databaseUrl })
  onTestFinished(() => db.close())
  return { db, sql, people }
}

type Limits = Pick<Parameters<typeof lease>[1], 'roomFor' | 'otherwise' | 'withoutAccounts' | 'most'>
const leaseDue = async (db: Parameters<typeof lease>[0], limits: Limits) =>
  (await lease(db, { ...limits, after: '', hops: 100 })).messages

const named = (messages: { webhook_id: string; id: string }[]) =>
  messages.map(({ webhook_id, id }) => `${webhook_id} ${id}`).sort()

test('of each webhook as many as there is room for, the longest due first, and none twice', async () => {
  const { db } = await waiting()
  const taking = { roomFor: { wh_a: 0, wh_b: 3 }, otherwise: 1, most: 100 }
  expect(named(await leaseDue(db, taking))).toEqual(['wh_b dlv_3', 'wh_b dlv_4', 'wh_b dlv_5', 'wh_c dlv_5'])
  expect(named(await leaseDue(db, taking))).toEqual(['wh_b dlv_1', 'wh_b dlv_2', 'wh_c dlv_4'])
})

test('where more is due than may be leased accounts take turns, and accounts that have enough are left out', async () => {
  const { db, sql, people } = await waiting()
  const [{ store_id: busy, user_id: owner }] = (await sql(`select store_id, user_id from members`)) as [
    Record<string, string>,
  ]
  // The store of somebody else, whose only webhook comes last in any order of names.
  await sql(
    `insert into stores
     select another.*
       from stores
      cross join jsonb_populate_record(stores, jsonb_build_object('id', 'other', 'account_id', $2::text)) as another
      where stores.id = $1`,
    [busy, people[0]?.id],
  )
  await sql(
    `insert into members
     select another.*
       from members
      cross join jsonb_populate_record(members, jsonb_build_object('store_id', 'other', 'user_id', $2::text)) as another
      where members.store_id = $1`,
    [busy, people[0]?.id],
  )
  await sql(`update webhooks set store_id = 'other' where id = 'wh_c'`)
  const webhooks = (leased: { webhook_id: string }[]) => [...new Set(leased.map(({ webhook_id }) => webhook_id))].sort()
  const limits = { roomFor: {}, otherwise: 1, most: 2 }
  const taken = []
  for (let n = 0; n < 5; n++) {
    const leased = await leaseDue(db, limits)
    expect(webhooks(leased)).toEqual([expect.stringMatching(/wh_[ab]/), 'wh_c'])
    taken.push(...leased)
  }
  for (let leased = await leaseDue(db, limits); leased.length > 0; leased = await leaseDue(db, limits))
    taken.push(...leased)
  expect(new Set(named(taken)).size).toBe(15)

  await releaseLeases(db, taken)
  const others = { ...limits, withoutAccounts: [owner as string], most: 100 }
  expect(webhooks(await leaseDue(db, others))).toEqual(['wh_c'])
})

test('a poll passes by a limited number of webhooks, and the next one goes on behind them', async () => {
  const { db } = await waiting()
  const limits = { roomFor: {}, otherwise: 1, most: 100, hops: 2 }
  const first = await lease(db, { ...limits, after: '' })
  expect([named(first.messages), first.next]).toEqual([['wh_a dlv_5', 'wh_b dlv_5'], 'wh_b'])
  const second = await lease(db, { ...limits, after: first.next })
  expect([named(second.messages), second.next]).toEqual([['wh_c dlv_5'], ''])
  // Also where nothing is due.
  expect(await lease(db, { ...limits, otherwise: 0, after: '' })).toEqual({ messages: [], next: 'wh_b' })
  expect(await lease(db, { ...limits, after: 'wh_c' })).toEqual({ messages: [], next: '' })
})

test('what is let go is due at once, unless it is over', async () => {
  const { db, sql } = await waiting()
  const taking = { roomFor: { wh_a: 5 }, otherwise: 0, most: 100 }
  const taken = await leaseDue(db, taking)
  expect(taken).toHaveLength(5)
  await sql(`update webhook_deliveries set status = 'DELIVERED', next_attempt_at = null where id = 'dlv_1'`)
  await releaseLeases(db, taken)
  const again = await leaseDue(db, taking)
  expect(named(again)).toEqual(['wh_a dlv_2', 'wh_a dlv_3', 'wh_a dlv_4', 'wh_a dlv_5'])

  // Another has them now: who had them before has nothing to let go of any more.
  travel(1)
  await releaseLeases(db, taken)
  expect(await leaseDue(db, taking)).toEqual([])
})

test('accounts take turns, however much one of them has written, and nothing is left out', async () => {
  const { db, sql, people } = await waiting()
  const write = (store: string, first: number, last: number) =>
    sql(
      `insert into events (id, store_id, type, at, actor, subject, data)
       select 'evt_' || $1::text || lpad(n::text, 4, '0'), $1, 'key.created', now(), '{"kind":"user","id":"u"}', 'key_' || n, '{}'
         from generate_series($2::int, $3) as n`,
      [store, first, last],
    )
  const [{ store_id: busy }] = (await sql('select store_id from webhooks limit 1')) as [{ store_id: string }]
  await sql(
    `insert into stores
     select another.*
       from stores cross join unnest('{quiet,other}'::text[], $2::text[]) as of(id, owner)
      cross join jsonb_populate_record(stores, jsonb_build_object('id', of.id, 'account_id', owner)) as another
      where stores.id = $1`,
    [busy, people.slice(0, 2).map(({ id }) => id)],
  )
  await sql(
    `insert into webhooks (id, store_id, url, types, secret, secret_kid, created_by_kind, created_by_id, created_at, updated_at)
     select 'wh_of_' || name || n, name, 'https://shop.example', '{*}', '', '', 'user', 'user', now(), now()
       from unnest('{quiet,quiet,quiet,quiet,other}'::text[]) with ordinality as of_store(name, n)`,
  )
  for (const [n, id] of ['quiet', 'other'].entries())
    await sql(
      `insert into members
       select another.*
         from members
        cross join jsonb_populate_record(members, jsonb_build_object('store_id', $2::text, 'user_id', $3::text)) as another
        where members.store_id = $1`,
      [busy, id, people[n]?.id],
    )
  await write(busy, 1, 1000)
  await write('quiet', 1, 1)
  await write('quiet', 2, 2)
  for (let n = 1; n <= 70; n++) await write('other', n, n)
  const state = newFanOutState()
  const takeEvents = async () => {
    const { leased } = await fanOut(db, state, () => true)
    return [...new Set(leased.map(({ event_id }) => event_id))]
  }
  const first = await takeEvents()
  for (const event of ['quiet0001', 'quiet0002', 'other0001', `${busy}0001`]) expect(first).toContain(`evt_${event}`)
  // One row of 33 events for three webhooks, after those of the others, and the last one, of 10, which is small.
  expect(first.filter((id) => id.startsWith(`evt_${busy}`))).toHaveLength(43)

  // One that writes as much at a time as the busy one, to more webhooks, has its turn, too, and does not wait until that one is done.
  await write('quiet', 1001, 1100)
  for (let n = 0; n < 5; n++) first.push(...(await takeEvents()))
  expect(first).toContain('evt_quiet1100')
  expect(first).not.toContain(`evt_${busy}0990`)

  const all = first
  for (let next = await takeEvents(); next.length > 0; next = await takeEvents()) all.push(...next)
  expect(all).toHaveLength(1172)
  expect(new Set(all).size).toBe(1172)
})

test('one event does not wait for the thousands of however many accounts, and those do not wait for many single events', async () => {
  const { db, sql } = await waiting()
  const addRows = (accounts: string, count: number, deliveries: number) =>
    sql(
      `insert into webhook_outbox (account, deliveries, webhook_ids, webhook_types, event_ids)
       select account, $3, '{wh_a}', '[["*"]]', '{}'
         from unnest($1::text[]) as account cross join generate_series(1, $2) as n`,
      [accounts, count, deliveries],
    )
  const left = async (deliveries: number) => {
    const rows = await sql('select count(*)::int as count from webhook_outbox where deliveries = $1', [deliveries])
    return rows[0]?.count
  }
  const crowd = Array.from({ length: 200 }, (_, n) => `user_${n}`)
  await addRows(`{${crowd}}`, 10, 100)
  await addRows('{bystander}', 1, 3)
  const state = newFanOutState()
  await fanOut(db, state, () => true)
  expect(await left(3)).toBe(0)
  expect(await left(100)).toBe(2_000 - 1)

  // Nor for the many small rows of a hundred.
  await addRows(`{${crowd.slice(0, 100)}}`, 10, 20)
  await addRows('{bystander}', 1, 3)
  await fanOut(db, newFanOutState(), () => true)
  expect(await left(3)).toBe(0)
  await sql('delete from webhook_outbox where deliveries = 20')

  await addRows('{chatty}', 500, 1)
  for (let n = 0; n < 5; n++) await fanOut(db, state, () => true)
  expect(await left(1)).toBe(500 - 5 * 32)
  expect(await left(100)).toBe(2_000 - 7)
})

test('a statement that writes many events writes rows of a hundred deliveries', async () => {
  const { sql } = await waiting()
  const [{ store_id: store }] = (await sql('select store_id from webhooks limit 1')) as [{ store_id: string }]
  await sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_' || n, $1, 'key.created', now(), '{"kind":"user","id":"u"}', 'key_' || n, '{}'
       from generate_series(1, 100) as n`,
    [store],
  )
  const rows = await sql('select deliveries, cardinality(event_ids) as events from webhook_outbox order by id')
  expect(rows).toEqual([33, 33, 33, 1].map((events) => ({ deliveries: events * 3, events })))
})

test.each(['never looked at', 'knows'])(
  'a fan-out reads few rows, however many accounts wait, of a table that the planner %s',
  async (known) => {
    const { db, sql: run } = await waiting()
    await run(
      `insert into webhook_outbox (account, deliveries, webhook_ids, webhook_types, event_ids)
     select 'user_' || person, 1, '{wh_a}', '[["*"]]', array['evt_' || person || '_' || n]
       from generate_series(1, 200) as person cross join generate_series(1, 30) as n`,
    )
    if (known === 'knows') await run('analyze webhook_outbox')
    const [before, between, after] = await db.transaction(async (tx) => {
      const rowsRead = async () => {
        const [counts] = await tx.query<{ rows: number }>(sql`
        select (seq_tup_read + idx_tup_fetch)::int as rows
          from pg_stat_xact_user_tables
         where relname = 'webhook_outbox'`)
        return counts?.rows ?? 0
      }
      const counted = [await rowsRead()]
      const state = newFanOutState()
      for (let n = 0; n < 2; n++) {
        expect(await fanOut(tx, state, () => true)).toMatchObject({ rows: 64, made: 0 })
        counted.push(await rowsRead())
      }
      return counted as [number, number, number]
    })
    expect(between - before).toBeGreaterThan(64)
    expect(after - before).toBeLessThan(1_000)
    expect(await run('select count(*)::int as rows from webhook_outbox')).toEqual([{ rows: 6_000 - 128 }])
  },
)
