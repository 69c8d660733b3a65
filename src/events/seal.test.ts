// The order of events: positions are given after the commit, by one node at a time, and hold under anything.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newId } from '../../src/ids.ts'
import { NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { type Head, newNews, readHead, readSealed } from './log.ts'
import { sealAll, startSealing } from './seal.ts'
import { exportLine, verifyChain } from './verify.ts'

const LOCK = 7_320_001

test('an event has its place within a moment, and the head says so', async () => {
  const { api, store, owner, service } = await shop()
  await vi.waitFor(async () => expect((await readHead(service.db, store.id)).seq).toBe(1), 5_000)
  const [made] = await readSealed(service.db, store.id, 0, 10)
  expect(made).toEqual({
    seq: 1,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    id: expect.stringMatching(/^evt_/),
    storeId: store.id,
    type: 'store.created',
    at: expect.any(String),
    actor: { kind: 'user', id: owner.id, credential: expect.stringMatching(/^sess_/), ip: '127.0.0.1' },
    subject: store.id,
    data: { name: 'The shop', registration: 'CLOSED', leakGraceSeconds: 0 },
  })
  const head = await api.get(`/v1/user/store/${store.id}/events/head`, { as: owner.token })
  expect([head.status, head.body]).toEqual([200, { seq: 1, hash: made?.hash, at: expect.any(String) }])
})

test('sixteen writers with slow transactions, and one held open: each event has one place, and nobody is passed over', async () => {
  const world = await shop()
  const { store, service } = world
  await settled(world)
  const held = await client(world)
  await held.query('begin')
  const late = await write(held, store.id, 'held')
  const writers = Array.from({ length: 16 }, async (_, w) => {
    const writer = await client(world)
    const ids: string[] = []
    for (let n = 0; n < 12; n++) {
      await writer.query('begin')
      ids.push(await write(writer, store.id, `${w}`))
      // The later ones of a round commit first: ids and commits are in another order.
      await writer.query('select pg_sleep($1)', [((w * 7 + n * 3) % 11) / 100])
      await writer.query('commit')
    }
    return ids
  })
  // Meanwhile somebody reads on from where they were, and must not miss what commits late.
  const seen: string[] = []
  let writing = true
  const reader = (async () => {
    let after = 1
    while (writing || (await readHead(service.db, store.id)).seq > after) {
      const events = await readSealed(service.db, store.id, after, 7)
      for (const event of events) seen.push(event.id)
      after = events.at(-1)?.seq ?? after
      if (events.length === 0) await sleep(5)
    }
  })()
  const written = await Promise.all(writers)
  await settled(world, 1 + 16 * 12)
  await held.query('commit')
  await settled(world, 2 + 16 * 12)
  writing = false
  await reader

  expect(seen.toSorted()).toEqual([...written.flat(), late].toSorted())
  // It was begun before all others and committed after all: that is where it stands.
  expect(seen.at(-1)).toBe(late)
  for (const ids of written) expect(seen.filter((id) => ids.includes(id))).toEqual(ids)
  const places = await world.sql('select seq::int from events where store_id = $1 order by seq', [store.id])
  expect(places.map(({ seq }) => seq)).toEqual(places.map((_, i) => i + 1))
  await expectSound(world)
})

test('what was committed before another began stands before it, whatever the clocks say', async () => {
  const world = await shop()
  const { store, service } = world
  await settled(world)
  const sealing = await client(world)
  await sealing.query('select pg_advisory_lock($1)', [LOCK])
  const writer = await client(world)
  // The first was made on a node whose clock runs ahead, so that its id is the larger.
  const ahead = `evt_7${newId('evt').slice(5)}`
  await write(writer, store.id, 'first', ahead)
  const behind = await write(writer, store.id, 'second')
  await sealing.query('select pg_advisory_unlock($1)', [LOCK])
  await settled(world, 3)
  expect((await readSealed(service.db, store.id, 1, 10)).map(({ id }) => id)).toEqual([ahead, behind])
})

test('while one seals the others leave it to them; when it dies another goes on', async () => {
  const world = await shop()
  const { store, service, sql } = world
  await settled(world)
  const sealing = await client(world)
  await sealing.query('begin')
  const { rows } = await sealing.query('select pg_try_advisory_xact_lock($1) as mine, pg_backend_pid() as pid', [LOCK])
  expect(rows[0].mine).toBe(true)
  await write(await client(world), store.id, 'waiting')
  await Promise.all([sealAll(service.db), sealAll(service.db)])
  expect((await readHead(service.db, store.id)).seq).toBe(1)
  await sql('select pg_terminate_backend($1)', [rows[0].pid])
  await settled(world, 2)
})

test('four nodes that all seal, and lose their connections while they do, make one sound chain', async () => {
  const world = await shop()
  const { api, keys, owner, store, service, sql } = world
  await world.node()
  await world.node()
  await world.node()
  const more = Array.from({ length: 4 }, () => startSealing(service.db))
  onTestFinished(async () => void (await Promise.all(more.map((sealer) => sealer.close()))))
  let made = 0
  let kills = 0
  let writing = true
  const killer = (async () => {
    while (writing) {
      const ended = await sql(`select pg_terminate_backend(pid) from pg_stat_activity
                  where datname = current_database() and application_name = 'storekeeper'
                    and query like '%event_heads%'`)
      kills += ended.length
      await sleep(30)
    }
  })()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let n = 0; n < 15 || kills < 3; n++) {
        const { status } = await api.post(keys, NEW_KEY, { as: owner.token })
        if (status === 201) made += 1
      }
    }),
  )
  writing = false
  await killer
  expect(kills).toBeGreaterThanOrEqual(3)
  const [{ n }] = await sql(`select count(*)::int as n from events where store_id = $1`, [store.id])
  expect(n).toBeGreaterThan(made)
  await settled(world, n)
  await expectSound(world)
})

test('what belongs to no store has a chain of its own', async () => {
  const world = await shop()
  const { service } = world
  await vi.waitFor(async () => expect((await readHead(service.db, null)).seq).toBe(2), 5_000)
  const events = await readSealed(service.db, null, 0, 10)
  expect(events.map(({ type, storeId, seq }) => [seq, type, storeId])).toEqual([
    [1, 'user.created', null],
    [2, 'session.created', null],
  ])
  expect(await verifyChain(linesOf(events), null)).toMatchObject({ sound: true, events: 2, chain: 'system' })
})

test('a store nobody has written to has the head that its first event will be built on', async () => {
  const { service } = await shop()
  const nowhere = newId('store')
  expect(await readHead(service.db, nowhere)).toEqual({
    seq: 0,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    at: null,
  } satisfies Head)
})

test('a writer in a store touches two indexes of the table, and a pass finds what waits by one of them', async () => {
  const { sql } = await shop()
  const indexes = await sql(`select indexrelid::regclass::text as name, pg_get_expr(indpred, indrelid) as part
                               from pg_index where indrelid = 'events'::regclass order by 1`)
  const ofWriters = indexes.filter(({ part }) => part === null || part === '(seq IS NULL)')
  expect(ofWriters.map(({ name }) => name)).toEqual(['events_pkey', 'events_unsealed'])
})

test('whoever wants to know hears of each store whose events were sealed, until they stop', () => {
  const news = newNews()
  const heard: (string | null)[] = []
  const stop = news.on((storeId) => heard.push(storeId))
  news.tell('store_1')
  news.tell(null)
  stop()
  news.tell('store_2')
  expect(heard).toEqual(['store_1', null])
})

// ---- helpers --------------------------------------------------------------------------------------------------------

async function client({ databaseUrl }: Shop): Promise<pg.Client> {
  const made = new pg.Client({ connectionString: databaseUrl })
  made.on('error', () => {})
  await made.connect()
  onTestFinished(() => made.end().catch(() => {}))
  return made
}

async function write(writer: pg.Client, storeId: string, subject: string, id: string = newId('evt')): Promise<string> {
  await writer.query(
    `insert into events (id, store_id, type, at, actor, subject, data)
     values ($1, $2, 'store.updated', now(), '{"kind":"user","id":"u","credential":null,"ip":null}', $3, '{}')`,
    [id, storeId, subject],
  )
  return id
}

async function settled({ service, store }: Shop, seq = 1): Promise<void> {
  await vi.waitFor(async () => expect((await readHead(service.db, store.id)).seq).toBe(seq), 10_000)
}

async function expectSound({ service, store }: Shop): Promise<void> {
  const head = await readHead(service.db, store.id)
  const events = await readSealed(service.db, store.id, 0, 10_000)
  const verdict = await verifyChain(linesOf(events), { seq: head.seq, hash: head.hash })
  expect(verdict).toEqual({ sound: true, events: head.seq, hash: head.hash, chain: store.id })
}

async function* linesOf(events: Parameters<typeof exportLine>[0][]): AsyncGenerator<string> {
  for (const event of events) yield exportLine(event)
}
