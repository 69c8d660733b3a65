// The order of events: positions are given after the commit, by one node at a time, and hold under anything.

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { startTicking } from '../../tests/ticks.ts'
import { newId } from '../core/ids.ts'
import type { Db } from '../db/db.ts'
import { connect } from '../db/pool.ts'
import { sql as statement } from '../db/sql.ts'
import { type Head, newEventNotifier, readHead, readSealed } from './log.ts'
import { sealAll, startSealing } from './seal.ts'
import { exportLine, verifyChain } from './verify-export.ts'
import { advance } from './watermark.ts'

const LOCK = 7_320_001

test('an event has its place within a moment, and the head says so', async () => {
  const { api, store, owner, service } = await shop()
  await vi.waitFor(async () => expect((await readHead(service.db, store.id)).seq).toBe(1), 60_000)
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
  const places = await world.sql('select seq::int from event_seals where chain = $1 order by seq', [store.id])
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
  const world = await shop({ alone: true })
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
  const world = await shop({ alone: true })
  const { api, keys, owner, store, service, sql } = world
  await world.node()
  await world.node()
  await world.node()
  const more = Array.from({ length: 4 }, () => startSealing(service.db, () => {}))
  onTestFinished(async () => void (await Promise.all(more.map((sealer) => sealer.close()))))
  let made = 0
  let kills = 0
  const killer = (async () => {
    const holding = await client(world)
    for (; kills < 5; kills++) {
      // Whoever seals now waits in the middle of it, and that is where it dies.
      await holding.query('begin; lock table event_heads in exclusive mode')
      const stuck = await vi.waitFor(async () => {
        const rows = await sql(
          `select pid from pg_locks
            where locktype = 'relation' and relation = 'event_heads'::regclass and not granted
              and database = (select oid from pg_database where datname = current_database())`,
        )
        expect(rows).not.toEqual([])
        return rows
      }, 60_000)
      await sql('select pg_terminate_backend($1)', [stuck[0].pid])
      await holding.query('commit')
    }
  })()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let n = 0; n < 15 || kills < 5; n++) {
        const { status } = await api.post(keys, NEW_KEY, { as: owner.token })
        if (status === 201) made += 1
      }
    }),
  )
  await killer
  const [{ n }] = await sql(`select count(*)::int as n from events where store_id = $1`, [store.id])
  expect(n).toBeGreaterThan(made)
  await settled(world, n)
  await expectSound(world)
})

test('what belongs to no store has a chain of its own', async () => {
  const world = await shop({ alone: true })
  const { service } = world
  await vi.waitFor(async () => expect((await readHead(service.db, null)).seq).toBe(2), 60_000)
  const events = await readSealed(service.db, null, 0, 10)
  expect(events.map(({ type, storeId, seq }) => [seq, type, storeId])).toEqual([
    [1, 'user.created', null],
    [2, 'session.created', null],
  ])
  expect(await verifyChain(linesOf(events))).toMatchObject({ sound: true, events: 2, chain: 'system' })
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

test('a writer touches three indexes of the table, and a pass finds what waits by one of them', async () => {
  const { sql, service } = await shop({ alone: true })
  const indexes = await sql(`select indexrelid::regclass::text as name, pg_get_expr(indpred, indrelid) as part
                               from pg_index where indrelid = 'events'::regclass order by 1`)
  expect(indexes.filter(({ part }) => part === null).map(({ name }) => name)).toEqual([
    'events_actor_idx',
    'events_pkey',
    'events_tx_idx',
  ])
  const lines = await service.db.query<Record<string, string>>(statement`explain select from unsealed_events`)
  const plan = lines.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toMatch(/Index .*Scan using events_tx_idx on events newer/)
  expect(plan).toMatch(/Index .*Scan using events_tx_idx on events late/)
  expect(plan).not.toContain('Seq Scan')
})

test('neither an event nor its seal can be changed, taken out or emptied away', async () => {
  const world = await shop({ alone: true })
  await settled(world)
  for (const table of ['events', 'event_seals'])
    for (const change of [`update ${table} set subject = 'other'`, `delete from ${table}`, `truncate ${table} cascade`])
      await expect(world.sql(change)).rejects.toThrow(`A row of ${table} never changes`)
  await expectSound(world)
})

// ---- the mark -------------------------------------------------------------------------------------------------------

test('a transaction held open for long: what others write is sealed once and not looked at again, and its own follows', async () => {
  const world = await shop()
  const { store, sql } = world
  await settled(world)
  const held = await client(world)
  await held.query('begin')
  await writeMany(held, store.id, 1_300, 'held')
  const others = await client(world)
  for (let n = 0; n < 3; n++) await writeMany(others, store.id, 600, `other ${n}`)
  await settled(world, 1 + 1_800)
  const uncovered = `select from events join event_watermark mark on (events.tx, events.id) > (mark.tx, mark.id)`
  await vi.waitFor(async () => expect(await sql(uncovered)).toEqual([]), 60_000)
  const [{ xid }] = (await held.query('select pg_current_xact_id()::text as xid')).rows
  expect((await sql('select open from event_watermark'))[0].open).toContainEqual({ tx: xid, id: '' })
  await held.query('commit')
  await settled(world, 1 + 1_800 + 1_300)
  const order = await sql(
    `select subject from event_seals where chain = $1 and seq > 1 group by subject order by min(seq)`,
    [store.id],
  )
  expect(order.map(({ subject }) => subject)).toEqual(['other 0', 'other 1', 'other 2', 'held'])
  await expectSound(world)
})

test('what was rolled back leaves no gap', async () => {
  const world = await shop()
  const { store, service } = world
  await settled(world)
  const writer = await client(world)
  await writer.query('begin')
  await write(writer, store.id, 'never')
  const kept = await write(await client(world), store.id, 'kept')
  await settled(world, 2)
  await writer.query('rollback')
  const after = await write(writer, store.id, 'after')
  await settled(world, 3)
  expect((await readSealed(service.db, store.id, 1, 10)).map(({ id }) => id)).toEqual([kept, after])
})

test('what was there before there were seals gets them in the order of ids, and what has one keeps it', async () => {
  const world = await shop({ alone: true })
  const { store, service, sql } = world
  await settled(world)
  const before = await readSealed(service.db, store.id, 0, 10)
  const sealing = await client(world)
  await sealing.query('select pg_advisory_lock($1)', [LOCK])
  await writeMany(sealing, store.id, 1_200, 'old', '0')
  await sql(`update event_watermark set tx = '0', id = '', open = '[]'`)
  await sealing.query('select pg_advisory_unlock($1)', [LOCK])
  await settled(world, 1 + 1_200)
  const events = await readSealed(service.db, store.id, 0, 2_000)
  expect(events.slice(0, 1)).toEqual(before)
  expect(events.slice(1).map(({ id }) => id)).toEqual(
    events
      .slice(1)
      .map(({ id }) => id)
      .toSorted(),
  )
  await expectSound(world)
})

test('restored on a server whose transactions have smaller numbers: what had no seal gets one, and it goes on', async () => {
  const world = await shop({ alone: true })
  const { store, service, sql } = world
  await settled(world)
  const sealing = await client(world)
  await sealing.query('select pg_advisory_lock($1)', [LOCK])
  // As a dump brings it along: a mark, and events above and below it, with the numbers of another server.
  await writeMany(sealing, store.id, 6_000, 'restored', '900000000000')
  await sql(`update event_watermark set tx = '900000000001', id = '', open = '[{"tx":"900000000000","id":""}]'`)
  const first = await write(await client(world), store.id, 'first')
  await sealing.query('select pg_advisory_unlock($1)', [LOCK])
  await settled(world, 1 + 1 + 6_000)
  const [mark] = await sql('select tx <= pg_snapshot_xmax(pg_current_snapshot()) as here from event_watermark')
  expect(mark).toEqual({ here: true })
  const second = await write(await client(world), store.id, 'second')
  await settled(world, 1 + 1 + 6_000 + 1)
  const events = await readSealed(service.db, store.id, 0, 10_000)
  expect([events[1]?.id, events.at(-1)?.id]).toEqual([first, second])
  await expectSound(world)
})

test('moved to another server, and written to from the first moment: what came along stands first, and nothing is lost', async () => {
  const world = await shop({ alone: true })
  const { store, owner, sql } = world
  await settled(world)
  await world.service.close(0)
  // The numbers of the server it comes from are but a few ahead: they are reached before anybody has looked.
  const [{ xid }] = await sql('select pg_current_xact_id()::text as xid')
  const ahead = (count: number) => String(BigInt(xid) + BigInt(count))
  await writeMany(await client(world), store.id, 700, 'came along', ahead(30))
  await sql(`update event_watermark set server = 'another', tx = $1::text::xid8, id = '', open = '[]'`, [ahead(12)])
  const [one, other] = await Promise.all([world.node(), world.node()])
  const names = Array.from({ length: 24 }, (_, n) => `Shop ${n}`)
  const path = `/v1/user/store/${store.id}`
  // On a busy machine some wait too long for the others, and ask again.
  const rename = async (name: string, n: number): Promise<number> => {
    const as = { as: owner.token, headers: { 'idempotency-key': name } }
    const { status } = await (n % 2 ? one : other).patch(path, { name }, as)
    return status === 503 ? rename(name, n) : status
  }
  expect(await Promise.all(names.map(rename))).toEqual(names.map(() => 200))
  const db = connect({ connectionString: world.databaseUrl })
  onTestFinished(() => db.close())
  await vi.waitFor(async () => expect((await readHead(db, store.id)).seq).toBe(1 + 700 + 24), 60_000)
  const subjects = (await readSealed(db, store.id, 1, 1_000)).map(({ subject }) => subject)
  expect(subjects).toEqual([...Array(700).fill('came along'), ...Array(24).fill(store.id)])
})

test('without its mark sealing fails, and says so', async () => {
  const { service, sql } = await shop({ alone: true })
  await expect(sql('delete from event_watermark')).rejects.toThrow('A row of event_watermark never changes')
  await expect(sql('truncate event_heads')).rejects.toThrow('A row of event_heads never changes')
  await sql('alter table event_watermark disable trigger all')
  await sql('delete from event_watermark')
  await expect(sealAll(service.db)).rejects.toThrow('The mark of sealing is missing.')
})

test('when transactions reach the numbers of restored ones, those keep their places and the new ones get theirs', async () => {
  const world = await shop({ alone: true })
  const { store, service, sql } = world
  await settled(world)
  const before = await readSealed(service.db, store.id, 0, 10)
  const writer = await client(world)
  // No pass comes between the number and the event that gets it: other databases of this server use numbers up too, and
  // a mark beyond it would pass the event over.
  const sealing = await client(world)
  await sealing.query('select pg_advisory_lock($1)', [LOCK])
  // The first event, and another of a number that is still to come here, are both sealed.
  await sql(`update event_watermark set tx = '1', id = '', open = '[]'`)
  const [{ xid }] = (await writer.query('select pg_current_xact_id()::text as xid')).rows
  const ahead = String(BigInt(xid) + 3n)
  const old = newId('evt')
  await writeMany(writer, store.id, 1, 'old', ahead, old)
  await sealing.query('select pg_advisory_unlock($1)', [LOCK])
  await vi.waitFor(async () => {
    await write(writer, store.id, 'new')
    expect(await sql('select from event_seals where event_id = $1', [old])).toHaveLength(1)
  }, 60_000)
  const [{ n }] = await sql('select count(*)::int as n from events where store_id = $1', [store.id])
  await settled(world, n)
  expect(await readSealed(service.db, store.id, 0, 1)).toEqual(before)
  await expectSound(world)
})

test('a node that falls silent in the middle of sealing, and does not die, holds up nobody for five seconds', async () => {
  const world = await shop({ alone: true })
  const { databaseUrl, store, service } = world
  await settled(world)
  const writer = await client(world)
  const db = connect({ connectionString: databaseUrl })
  let hasTurn = false
  let wake = () => {}
  const silence = new Promise<never>((_, reject) => {
    wake = () => reject(new Error('The test is over.'))
  })
  // It takes its turn, and says no more.
  const fallSilent = () => {
    hasTurn = true
    return silence
  }
  const silent: Db = { ...db, transaction: (work) => db.transaction((tx) => work({ ...tx, query: fallSilent })) }
  const going = (async () => {
    for (;;) await sealAll(silent)
  })().catch(() => {})
  for (; !hasTurn; await sleep(50)) await write(writer, store.id, 'traffic')
  const elapsed = startTicking()
  const last = await write(writer, store.id, 'last')
  await vi.waitFor(
    async () =>
      expect(await service.db.one(statement`select from event_seals where event_id = ${last}`)).not.toBeNull(),
    60_000,
  )
  expect(elapsed()).toBeLessThan(5_000)
  wake()
  await going
  await db.close()
})

test('however transactions overlap and however small the batches: each event is read once, in order, and none is left', () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = randomFrom(seed)
    const most = 1 + Math.floor(random() * 4)
    const open = new Map<string, string[]>()
    const committed: { tx: string; id: string }[] = []
    // Of another server, sealed there, with numbers that transactions here are yet to have.
    const brought = seed % 2 === 0 ? [] : placesFrom(100, () => Math.floor(random() * 3))
    const sealed: { tx: string; id: string; after: string[] }[] = []
    const begun = new Map<string, string[]>()
    let next = 100
    let mark: Parameters<typeof advance>[0] = { tx: '0', id: '', open: [] }
    const covers = (place: { tx: string; id: string }) => {
      const late = mark.open.find(({ tx }) => tx === place.tx)
      if (late) return place.id <= late.id
      return BigInt(place.tx) < BigInt(mark.tx) || (place.tx === mark.tx && place.id <= mark.id)
    }
    const pass = () => {
      // As PostgreSQL has it: one above the last that is over.
      const over = [...begun.keys()].filter((tx) => !open.has(tx)).map(Number)
      const end = String(Math.max(99, ...over) + 1)
      const rows = [...committed, ...brought]
        .filter((place) => BigInt(place.tx) < BigInt(end) && !covers(place))
        .sort(inCatalogueOrder)
        .slice(0, most)
      for (const row of rows) if (!brought.includes(row)) sealed.push({ ...row, after: begun.get(row.tx) as string[] })
      const seen = { end, open: [...open.keys()].filter((tx) => BigInt(tx) < BigInt(end)) }
      const before = mark
      if (rows.length > 0) mark = advance(mark, seen, rows, most)
      return !isDeepStrictEqual(before, mark)
    }
    const finish = ([tx, ids]: [string, string[]]) => {
      open.delete(tx)
      if (random() < 0.8) for (const id of ids) committed.push({ tx, id })
    }
    for (let step = 0; step < 60; step++) {
      const what = random()
      if (what < 0.4) {
        const tx = String(next++)
        begun.set(
          tx,
          committed.map(({ id }) => id),
        )
        open.set(
          tx,
          Array.from({ length: Math.floor(random() * 6) }, (_, n) => `${tx} ${n}`),
        )
      } else if (what < 0.75 && open.size > 0) finish([...open][Math.floor(random() * open.size)] as [string, string[]])
      else pass()
    }
    // Nobody waits for a transaction that is open, unless its number has been brought along.
    if (brought.length > 0) for (const each of open) finish(each)
    while (pass());
    const ids = sealed.map(({ id }) => id)
    expect(ids.toSorted(), `seed ${seed}`).toEqual(committed.map(({ id }) => id).toSorted())
    // What was committed before another began stands before it.
    const placeOf = new Map(ids.map((id, place) => [id, place]))
    const misplaced = sealed.flatMap(({ after }, place) => after.filter((id) => (placeOf.get(id) as number) >= place))
    expect(misplaced, `seed ${seed}`).toEqual([])
  }
})

test('whoever wants to know hears of each store whose events were sealed, until they stop', () => {
  const news = newEventNotifier()
  const heard: (string | null)[] = []
  const stop = news.subscribe((storeId) => heard.push(storeId))
  news.publish('store_1')
  news.publish(null)
  stop()
  news.publish('store_2')
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

/** In one statement, with the number of the transaction that writes them, or another. */
async function writeMany(
  writer: pg.Client,
  storeId: string,
  count: number,
  subject: string,
  tx: string | null = null,
  id: string = newId('evt'),
): Promise<void> {
  await writer.query(
    `insert into events (id, store_id, type, at, actor, subject, data, tx)
     select case when n = 1 then $1 else left($1, -6) || lpad(n::text, 6, '0') end, $2, 'store.updated', now(),
            '{"kind":"user","id":"u","credential":null,"ip":null}', $4, '{}', coalesce($5::xid8, pg_current_xact_id())
       from generate_series(1, $3::int) as n`,
    [id, storeId, count, subject, tx],
  )
}

type Place = { tx: string; id: string }

function inCatalogueOrder(one: Place, other: Place): number {
  return Number(BigInt(one.tx) - BigInt(other.tx)) || (one.id < other.id ? -1 : 1)
}

/** Of each of 30 transactions as many as are wanted. */
function placesFrom(first: number, count: () => number): Place[] {
  return Array.from({ length: 30 }, (_, n) => String(first + n)).flatMap((tx) =>
    Array.from({ length: count() }, (_, n) => ({ tx, id: `${tx} ${n}b` })),
  )
}

/** Numbers between 0 and 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

async function settled({ service, store }: Shop, seq = 1): Promise<void> {
  await vi.waitFor(async () => expect((await readHead(service.db, store.id)).seq).toBe(seq), 60_000)
}

async function expectSound({ service, store }: Shop): Promise<void> {
  const head = await readHead(service.db, store.id)
  const events = await readSealed(service.db, store.id, 0, 10_000)
  const verdict = await verifyChain(linesOf(events), [{ chain: null, seq: head.seq, hash: head.hash }])
  expect(verdict).toMatchObject({ sound: true, events: head.seq, hash: head.hash, chain: store.id })
}

async function* linesOf(events: Parameters<typeof exportLine>[0][]): AsyncGenerator<string> {
  for (const event of events) yield exportLine(event)
}
