// The trail live: nothing is lost when a connection is, nobody hears what they may not, and nobody holds the node up.

import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Api, closeSharedService, NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { startTicking } from '../../tests/ticks.ts'
import { newId } from '../core/ids.ts'
import type { Route } from '../core/route.ts'
import type { Sql } from '../db/sql.ts'
import { type EventNotifier, readHead } from './log.ts'
import { eventRoutes } from './routes.ts'
import type { EventFeed, SealedEvent } from './schema.ts'
import { FEED_TIMINGS, newEventFeed, streamEvents } from './stream.ts'

/** Who holds this lock seals; the others leave it to them. */
const SEALING = 7_320_001

type Listening = {
  status: number
  headers: http.IncomingHttpHeaders
  /** What came so far: the events, and all of it as text. */
  events: { id: string; type: string; subject: string }[]
  text(): string
  ended: Promise<void>
  leave(): void
}

test('what happens is heard at once, at every node, in the form the list has it', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  await sealedUpTo(world, 1)
  const here = await listen(world)
  const there = await listen(world, { at: await world.node() })
  expect([here.status, here.headers['content-type'], here.headers['cache-control']]).toEqual([
    200,
    'text/event-stream',
    'no-store',
  ])
  const key = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  await vi.waitFor(() => expect([here.events.length, there.events.length]).toEqual([1, 1]), 60_000)
  const list = await api.get(eventsOf(store.id), { as: owner.token })
  expect(here.events).toEqual(list.body.data.slice(0, 1))
  expect(there.events).toEqual(here.events)
  expect(here.events[0]).toMatchObject({ type: 'key.created', subject: key.id })
  expect(here.text()).toMatch(/^retry: \d{4}\n\nid: evt_\w{26}\ndata: \{.*\}\n\n$/)
})

test('it goes on after the last event one has, by the header or in the query, and begins now without', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  for (let n = 0; n < 3; n++) await api.post(keys, NEW_KEY, { as: owner.token })
  await sealedUpTo(world, 4)
  const ids = (await api.get(eventsOf(store.id), { as: owner.token })).body.data.map(
    (event: { id: string }) => event.id,
  )
  const [, third, second, first] = ids
  const byHeader = await listen(world, { headers: { 'last-event-id': first } })
  const byQuery = await listen(world, { query: `?after=${second}` })
  const both = await listen(world, { query: `?after=${first}`, headers: { 'last-event-id': third } })
  const fresh = await listen(world)
  await vi.waitFor(() => expect(byHeader.events).toHaveLength(3), 60_000)
  await vi.waitFor(() => expect(byQuery.events).toHaveLength(2), 60_000)
  await vi.waitFor(() => expect(both.events).toHaveLength(1), 60_000)
  expect(byHeader.events.map(({ id }) => id)).toEqual(ids.slice(0, 3).reverse())
  expect(fresh.events).toEqual([])
  for (const id of [newId('evt'), 'x', '4', `${first}0`]) {
    const reply = await api.get(`${eventsOf(store.id)}/stream`, { as: owner.token, headers: { 'last-event-id': id } })
    expect([reply.status, reply.body.code], id).toEqual([400, 'invalid_cursor'])
  }
})

test('after an event that has no place yet it waits for its place, and goes on from there', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, store, sql } = world
  await sealedUpTo(world, 1)
  await sql('select pg_advisory_lock($1)', [SEALING])
  const made: string[] = []
  for (let n = 0; n < 3; n++) made.push((await api.post(keys, NEW_KEY, { as: owner.token })).body.id)
  // As a webhook tells of it.
  const [told] = await sql('select id from events where subject = $1', [made[1]])
  const path = `${eventsOf(store.id)}/stream?after=${told.id}`
  const tooLate = await api.get(path, { as: owner.token })
  expect([tooLate.status, tooLate.body.code, tooLate.headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
  const opening = listen(world, { query: `?after=${told.id}` })
  expect(await Promise.race([opening, sleep(500, 'waiting')])).toBe('waiting')
  await sql('select pg_advisory_unlock($1)', [SEALING])
  const stream = await opening
  expect(stream.status).toBe(200)
  made.push((await api.post(keys, NEW_KEY, { as: owner.token })).body.id)
  await vi.waitFor(() => expect(stream.events).toHaveLength(2), 60_000)
  expect(stream.events.map(({ subject }) => subject)).toEqual(made.slice(2))
})

test('only what was asked for is sent', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  await sealedUpTo(world, 1)
  const key = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const byType = await listen(world, { query: '?type=store.*' })
  const bySubject = await listen(world, { query: `?subject=${key.id}` })
  await api.patch(`/v1/user/store/${store.id}`, { name: 'Renamed' }, { as: owner.token })
  await api.delete(`${keys}/${key.id}`, { as: owner.token })
  await vi.waitFor(() => expect(bySubject.events.map(({ type }) => type)).toContain('key.revoked'), 60_000)
  await vi.waitFor(() => expect(byType.events.map(({ type }) => type)).toEqual(['store.updated']), 60_000)
  expect(bySubject.events.map(({ subject }) => subject)).toEqual(bySubject.events.map(() => key.id))
  const reply = await api.get(`${eventsOf(store.id)}/stream?type=nothing`, { as: owner.token })
  expect([reply.status, reply.body.errors[0].code]).toEqual([422, 'unknown_value'])
})

test('a reader whose connection is cut again and again hears each event once and in order', async () => {
  const world = await shop()
  const { api, keys, owner, store, service } = world
  await sealedUpTo(world, 1)
  const heard: string[] = []
  let last = (await api.get(eventsOf(store.id), { as: owner.token })).body.data[0].id
  let connections = 0
  let writing = true
  const writers = Promise.all(
    Array.from({ length: 6 }, async () => {
      for (let n = 0; n < 20; n++) {
        // The second half is not written before the reader has been cut off a few times, however slow it is.
        if (n === 10) await vi.waitFor(() => expect(connections).toBeGreaterThan(5), 60_000)
        await api.post(keys, NEW_KEY, { as: owner.token })
        await sleep(20)
      }
    }),
  ).then(() => {
    writing = false
  })
  while (writing || heard.length < (await readHead(service.db, store.id)).seq - 1) {
    const stream = await listen(world, { headers: { 'last-event-id': last } })
    connections += 1
    // Cut in the middle of whatever it is doing.
    await sleep(30 + ((connections * 37) % 90))
    stream.leave()
    for (const { id } of stream.events) heard.push(id)
    last = stream.events.at(-1)?.id ?? last
  }
  await writers
  await sealedUpTo(world, 121)
  const stream = await listen(world, { headers: { 'last-event-id': last } })
  await vi.waitFor(() => expect(heard.length + stream.events.length).toBe(120), 60_000)
  for (const { id } of stream.events) heard.push(id)
  const rows = await world.sql('select event_id as id from event_seals where chain = $1 and seq > 1 order by seq', [
    store.id,
  ])
  expect(heard).toEqual(rows.map(({ id }) => id))
  expect(connections).toBeGreaterThan(5)
})

test('when the words from the database are lost the event is heard all the same', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, sql } = world
  await sealedUpTo(world, 1)
  const stream = await listen(world)
  let cutting = true
  const cutter = (async () => {
    while (cutting) {
      await sql(`select pg_terminate_backend(pid) from pg_stat_activity
                  where datname = current_database() and application_name = 'storekeeper listener'`)
      await sleep(20)
    }
  })()
  await api.post(keys, NEW_KEY, { as: owner.token })
  await vi.waitFor(() => expect(stream.events).toHaveLength(1), 60_000)
  cutting = false
  await cutter
})

// ---- who may listen -------------------------------------------------------------------------------------------------

test('a stream ends within seconds when its listener may no longer see events, and nothing more is heard', async () => {
  const world = await shop()
  const { api, keys, owner, store, member, sql } = world
  const as = { as: owner.token }
  const [removed, demoted, gone] = [await member('MANAGER'), await member('MANAGER'), await member('MANAGER')]
  const expired = await member('MANAGER')
  const key = (await api.post(keys, { ...NEW_KEY, permissions: ['VIEW_EVENTS'] }, as)).body
  // What came before the streams has its position, so that they begin behind it.
  const [{ written }] = await sql('select count(*)::int as written from events where store_id = $1', [store.id])
  await sealedUpTo(world, written)
  const streams = {
    removed: await listen(world, { as: removed.token }),
    demoted: await listen(world, { as: demoted.token }),
    'signed out': await listen(world, { as: gone.token }),
    expired: await listen(world, { as: expired.token }),
    'key revoked': await listen(world, { as: key.key }),
    'still there': await listen(world),
  }
  await api.delete(`/v1/user/store/${store.id}/members/${removed.id}`, as)
  await api.patch(`/v1/user/store/${store.id}/members/${demoted.id}`, { role: 'STAFF' }, as)
  await api.post('/v1/auth/sign-out', undefined, { as: gone.token })
  await sql(`update sessions set expires_at = now() where user_id = $1`, [expired.id])
  await api.delete(`${keys}/${key.id}`, as)
  const { 'still there': stays, ...ending } = streams
  for (const [name, stream] of Object.entries(ending))
    await expect(Promise.race([stream.ended.then(() => 'ended'), sleep(8_000, name)])).resolves.toBe('ended')
  await vi.waitFor(() => expect(stays.events.at(-1)?.type).toBe('key.revoked'), 60_000)
  // Each was told at most of what happened to others before it, never of its own end or of what came after.
  expect(streams.removed.events).toEqual([])
  expect(streams['key revoked'].events.map(({ type }) => type)).not.toContain('key.revoked')
})

test('a store that is deleted ends its streams', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const stream = await listen(world)
  await api.delete(`/v1/user/store/${store.id}`, { as: owner.token })
  expect(await Promise.race([stream.ended.then(() => 'ended'), sleep(8_000)])).toBe('ended')
})

// ---- what it costs --------------------------------------------------------------------------------------------------

test('a quiet stream hears a heartbeat, asks the database nothing about events, and is no request under way', async () => {
  const feed = { pollMs: 500, recheckMs: 750, batchMs: 60, heartbeatMs: 4_000 }
  const world = await shop({ alone: true }, { timings: { feed } })
  const { api, service } = world
  await sealedUpTo(world, 1)
  const streams = await Promise.all(Array.from({ length: 40 }, () => listen(world)))
  const heartbeats = (count: number) =>
    vi.waitFor(
      () => expect(streams.map((stream) => stream.text().split(':\n\n').length > count)).toEqual(Array(40).fill(true)),
      { timeout: 60_000, interval: 50 },
    )
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec((await api.get('/metrics')).text)?.[1])
  // The first look finds what all of them have already.
  await heartbeats(1)
  const asked = vi.spyOn(service.db, 'query')
  expect(await metric('storekeeper_event_streams')).toBe(40)
  expect(await metric('storekeeper_http_requests_under_way')).toBe(1)
  await heartbeats(2)
  const statements = asked.mock.calls.map(([{ text }]) => text.replace(/\s+/g, ' '))
  expect(statements.filter((text) => /from event(s|_seals) /.test(text))).toEqual([])
  // Each of the 40 was asked for about four times from one heartbeat to the next, and so were the ends of chains: together.
  expect(statements.length).toBeLessThan(40)
  for (const stream of streams) stream.leave()
  await vi.waitFor(async () => expect(await metric('storekeeper_event_streams')).toBe(0), 60_000)
})

test('while nothing happens a comment comes at least every 15 seconds', async () => {
  await closeSharedService()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const channel = { storeId: 'store', streams: 1, notifications: 0, seen: 0, wake: new Set<() => void>() }
  const feed: EventFeed = { timings: FEED_TIMINGS, join: () => channel, leave() {}, read: async () => [], close() {} }
  const closing = new AbortController()
  const stillAuthorized = async () => 'yes' as const
  const quiet = { storeId: 'store', after: 0, resumes: false, wants: () => true, stillAuthorized }
  const heard: number[] = []
  const reading = (async () => {
    for await (const _ of streamEvents(feed, { ...quiet, closing: closing.signal })) heard.push(performance.now())
  })()
  await vi.advanceTimersByTimeAsync(300_000)
  closing.abort()
  await reading
  const gaps = heard.slice(1).map((at, n) => at - (heard[n] as number))
  expect(gaps.length).toBeGreaterThanOrEqual(20)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(15_000)
  expect(Math.min(...gaps)).toBeGreaterThan(10_000)
})

test('one caller keeps at most a hundred open on a node, one store two hundred, and another store has its own', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, member, keys, person } = world
  const streams = await Promise.all(Array.from({ length: 100 }, () => listen(world)))
  expect(streams.map(({ status }) => status)).toEqual(Array(100).fill(200))
  const reply = await api.get(`${eventsOf(store.id)}/stream`, { as: owner.token })
  expect([reply.status, reply.body.code, reply.headers.get('retry-after')]).toEqual([429, 'rate_limited', '5'])
  streams[0]?.leave()
  await vi.waitFor(async () => expect((await listen(world)).status).toBe(200), 60_000)

  const manager = await member('MANAGER')
  const theirs = await Promise.all(Array.from({ length: 100 }, () => listen(world, { as: manager.token })))
  expect(theirs.every(({ status }) => status === 200)).toBe(true)
  const { key } = (await api.post(keys, { ...NEW_KEY, permissions: ['VIEW_EVENTS'] }, { as: owner.token })).body
  const full = await api.get(`${eventsOf(store.id)}/stream`, { as: key })
  expect([full.status, full.body.code, full.body.detail]).toEqual([
    429,
    'rate_limited',
    expect.stringMatching(/^The store can have 200 streams/),
  ])
  const other = await person()
  const elsewhere = (await api.post('/v1/user/store', { name: 'Elsewhere' }, { as: other.token })).body
  expect((await listen({ ...world, owner: other, store: elsewhere })).status).toBe(200)
})

test('a reader who does not read is cut off, and holds no more than a page', async () => {
  const world = await shop({ alone: true })
  const { api, store, owner } = world
  const first = await fill(world, 6_000)
  const began = performance.now()
  const stuck = await deaf(world, first)
  const asked = vi.spyOn(world.service.db, 'query')
  await vi.waitFor(async () => expect(await stuck.open()).toBe(1), 60_000)
  await vi.waitFor(async () => expect(await stuck.open()).toBe(0), { timeout: 60_000, interval: 50 })
  // It had the two seconds that a slow reader has here.
  expect(performance.now() - began).toBeGreaterThan(1_900)
  // 6,000 events of 4 KB are 24 MB in 60 pages, of which the socket takes a few: the rest was never read.
  const pages = asked.mock.calls.filter(([{ text }]) => /from event_seals\s/.test(text)).length
  expect(pages).toBeGreaterThan(0)
  expect(pages).toBeLessThan(50)
  // Who does read gets all of it.
  const stream = await listen(world, { headers: { 'last-event-id': first } })
  await vi.waitFor(() => expect(stream.events).toHaveLength(6_000), 60_000)
  expect((await api.get(`/v1/user/store/${store.id}`, { as: owner.token })).status).toBe(200)
})

test('a node that stops ends its streams, also those that nobody reads, and takes no new ones', async () => {
  // The one that nobody reads is still there when the node stops, however long the other takes to open.
  const world = await shop({ alone: true }, { timings: { slowReaderMs: 60_000 } })
  const { api, service, store, owner } = world
  const first = await fill(world, 3_000)
  const stuck = await deaf(world, first)
  const stream = await listen(world)
  await vi.waitFor(async () => expect(await stuck.open()).toBe(2), 60_000)
  const elapsed = startTicking()
  const closed = service.close()
  await stream.ended
  await closed
  expect(elapsed()).toBeLessThan(5_000)
  await expect(api.get(`${eventsOf(store.id)}/stream`, { as: owner.token })).rejects.toThrow()
})

test('whoever leaves before the stream has begun leaves nothing behind', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, service } = world
  await sealedUpTo(world, 1)
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (-?\\d+)`, 'm').exec((await api.get('/metrics')).text)?.[1])
  // The head is asked for last before the stream begins: by then they have left.
  const query = service.db.one
  let left = () => {}
  const gone = vi.spyOn(service.db, 'one').mockImplementation(async (statement) => {
    left()
    await sleep(300)
    return query(statement)
  })
  const answered = async () => void (await Promise.allSettled(gone.mock.results.map(({ value }) => value)))
  const leaving = new AbortController()
  left = () => leaving.abort()
  const headers = { authorization: `Bearer ${owner.token}` }
  await expect(fetch(`${api.url}${eventsOf(store.id)}/stream`, { headers, signal: leaving.signal })).rejects.toThrow()
  expect(gone).toHaveBeenCalled()
  await answered()
  await sleep(300)
  gone.mockRestore()
  await vi.waitFor(async () => expect(await metric('storekeeper_http_requests_under_way')).toBe(1), 60_000)
  expect(await metric('storekeeper_event_streams')).toBe(0)
})

test('a node that stops without patience does not wait for connections that fall quiet', async () => {
  const world = await shop({ alone: true })
  const agent = new http.Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const stream = await listen(world, { agent })
  const elapsed = startTicking()
  await world.service.close(0)
  await stream.ended
  expect(elapsed()).toBeLessThan(5_000)
})

// ---- helpers --------------------------------------------------------------------------------------------------------

function eventsOf(storeId: string): string {
  return `/v1/user/store/${storeId}/events`
}

async function sealedUpTo({ service, store }: Shop, seq: number): Promise<void> {
  await vi.waitFor(async () => expect((await readHead(service.db, store.id)).seq).toBe(seq), 60_000)
}

type Options = { at?: Api; as?: string; query?: string; headers?: Record<string, string>; agent?: http.Agent }

function listen({ api, owner, store }: Shop, options: Options = {}): Promise<Listening> {
  const { at = api, as = owner.token, query = '', headers = {}, agent } = options
  const url = `${at.url}${eventsOf(store.id)}/stream${query}`
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent: agent ?? false, headers: { authorization: `Bearer ${as}`, ...headers } })
    onTestFinished(() => void request.destroy())
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      let rest = ''
      const events: Listening['events'] = []
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        const messages = (rest + chunk).split('\n\n')
        rest = messages.pop() as string
        for (const message of messages) {
          const data = /^data: (.*)$/m.exec(message)?.[1]
          if (data) events.push(JSON.parse(data))
        }
      })
      const ended = new Promise<void>((done) => response.once('close', done))
      response.on('error', () => {})
      resolve({
        status: response.statusCode as number,
        headers: response.headers,
        events,
        text: () => text,
        ended,
        leave: () => request.destroy(),
      })
    })
  })
}

/** So many events of 4 KB each, sealed; gives the id of the first of all, which is before them. */
async function fill(world: Shop, count: number): Promise<string> {
  const { store, databaseUrl, sql } = world
  await sealedUpTo(world, 1)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_' || lpad(n::text, 26, '0'), $1, 'store.updated', now(),
            '{"kind":"user","id":"u","credential":null,"ip":null}', $1, json_build_object('to', repeat('x', 4000))
       from generate_series(1, $2::int) n`,
    [store.id, count],
  )
  await client.end()
  await sealedUpTo(world, count + 1)
  return (await sql('select event_id as id from event_seals where chain = $1 and seq = 1', [store.id]))[0].id
}

/** Opens a stream and never reads a byte of it. */
async function deaf({ api, owner, store }: Shop, after: string) {
  const { hostname, port } = new URL(api.url)
  const socket = net.connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.pause()
  socket.write(
    `GET ${eventsOf(store.id)}/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.token}\r\nlast-event-id: ${after}\r\n\r\n`,
  )
  const open = async () => Number(/^storekeeper_event_streams (\d+)/m.exec((await api.get('/metrics')).text)?.[1])
  return { open }
}

test('streams that are far behind take turns by account, and one that is not does not wait for them', async () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const query = (statement: Sql) => {
    begun.push(['a1', 'a2', 'b', 'c'].find((storeId) => statement.values.includes(storeId)) as string)
    return new Promise<never[]>((resolve) => ends.push(() => resolve([])))
  }
  const notifier = { subscribe: () => () => {} } as Partial<EventNotifier> as EventNotifier
  const feed = newEventFeed({ query } as never, notifier, async (storeId) => storeId.slice(0, 1))
  onTestFinished(() => feed.close())
  const { signal } = new AbortController()
  const read = (storeId: string, after: number, isBehind: boolean) =>
    feed.read(feed.join(storeId), after, isBehind, signal)
  const reads = [1, 2, 3, 4].map((after) => read(after % 2 ? 'a1' : 'a2', after, true))
  await vi.waitFor(() => expect(begun).toEqual(['a1', 'a2']))
  reads.push(read('b', 1, true), read('c', 1, false))
  await vi.waitFor(() => expect(begun).toEqual(['a1', 'a2', 'c']))
  // The first that ends makes room for the one whose account has none under way.
  ends[0]?.()
  await vi.waitFor(() => expect(begun).toEqual(['a1', 'a2', 'c', 'b']))
  while (begun.length < 6 || ends.length > 0) {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  expect(await Promise.all(reads)).toEqual(Array(6).fill([]))
})

test('streams that resume take turns from their first page on, and those that are gone by their turn read nothing', async () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const query = ({ values }: Sql) => {
    begun.push(values[0] as string)
    return new Promise<never[]>((resolve) => ends.push(() => resolve([])))
  }
  const notifier = { subscribe: () => () => {} } as Partial<EventNotifier> as EventNotifier
  const feed = newEventFeed({ query } as never, notifier, async (storeId) => storeId)
  const closing = new AbortController()
  onTestFinished(() => {
    closing.abort()
    feed.close()
  })
  const { handle } = eventRoutes.find(({ id }) => id === 'events.stream') as Route
  let position = 0
  const follow = async (storeId: string, last: string | undefined, gone: AbortController) => {
    const reply = await handle({
      db: { one: async () => ({ seq: String(++position), hash: '', at: new Date() }) },
      params: { storeId },
      query: {},
      request: { header: () => last },
      stream: { feed, stillAuthorized: async () => 'yes' },
    } as never)
    for await (const _ of reply.stream?.(gone.signal) ?? []);
  }
  const settled = async () => {
    for (let n = 0; n < 20; n++) await new Promise(setImmediate)
  }
  const leaving = new AbortController()
  const many = Array.from({ length: 50 }, () => follow('a', newId('evt'), leaving))
  await settled()
  const others = [follow('b', undefined, closing), follow('c', newId('evt'), closing)]
  await settled()
  expect(begun).toEqual(['a', 'a', 'b'])
  ends[0]?.()
  await settled()
  expect(begun).toEqual(['a', 'a', 'b', 'c'])
  // A live one does not wait for the turn of one that resumes at the same position.
  position = 9
  others.push(follow('a', undefined, closing))
  await settled()
  expect(begun).toEqual(['a', 'a', 'b', 'c', 'a'])
  leaving.abort()
  await Promise.all(many)
  for (const end of ends) end()
  await settled()
  // At a position that somebody had who has gone.
  position = 10
  others.push(follow('a', newId('evt'), closing))
  await settled()
  expect(begun).toEqual(['a', 'a', 'b', 'c', 'a', 'a'])
  closing.abort()
  for (const end of ends) end()
  await Promise.all(others)
})

test('many streams of a store read a new event once together, and nothing after it; a read begun before it is not shared', async () => {
  const eventAt = (seq: number) => ({ id: `evt_${seq}`, seq, at: new Date() })
  let head = 1
  const reads: { after: number; give(): void }[] = []
  const query = ({ values }: Sql) =>
    new Promise((resolve) => {
      const after = Number(values[1])
      const found = Array.from({ length: head - after }, (_, n) => eventAt(after + n + 1))
      reads.push({ after, give: () => resolve(found) })
    })
  let notify: (storeId: string) => void = () => {}
  const subscribe = (heard: typeof notify) => {
    notify = heard
    return () => {}
  }
  const feed = newEventFeed({ query } as never, { subscribe } as never, async () => 'account', { pollMs: 60_000 })
  const closing = new AbortController()
  onTestFinished(() => {
    closing.abort()
    feed.close()
  })
  const heard: string[] = []
  const listen = async () => {
    const stillAuthorized = async () => 'yes' as const
    const given = { storeId: 's', after: 0, resumes: false, wants: () => true, stillAuthorized }
    for await (const text of streamEvents(feed, { ...given, closing: closing.signal })) {
      // Each reader takes its own time.
      await new Promise(setImmediate)
      if (text.startsWith('id:')) heard.push(text.slice(4, 9))
    }
  }
  const readers = Array.from({ length: 20 }, listen)
  await vi.waitFor(() => expect(reads).toHaveLength(1))
  // It has happened after what the read under way will give.
  head = 2
  notify('s')
  const late = listen()
  await vi.waitFor(() => expect(reads).toHaveLength(2))
  for (const { give } of reads) give()
  await vi.waitFor(() => expect(reads).toHaveLength(3))
  reads[2]?.give()
  await vi.waitFor(() => expect(heard).toHaveLength(41))
  for (let n = 0; n < 50; n++) await new Promise(setImmediate)
  expect(reads.map(({ after }) => after)).toEqual([0, 0, 1])
  closing.abort()
  await Promise.all([...readers, late])
})

test('a reader who catches up with nothing that is wanted hears how far it has come, and a beat while it waits', async () => {
  const page = (after: number) =>
    Array.from({ length: 100 }, (_, n) => ({ id: `evt_${after + n + 1}`, seq: after + n + 1 }))
  let letGo = () => {}
  const read = (_channel: unknown, after: number): Promise<SealedEvent[]> => {
    if (after < 200) return Promise.resolve(page(after) as never)
    return new Promise((resolve) => {
      letGo = () => resolve([])
    })
  }
  const channel = { storeId: 's', streams: 1, notifications: 0, seen: 0, wake: new Set<() => void>() }
  const timings = { ...FEED_TIMINGS, heartbeatMs: 0, recheckMs: 0, batchMs: 0 }
  const feed: EventFeed = { timings, join: () => channel, leave: () => {}, close: () => {}, read }
  // Nothing else may run by this clock.
  await closeSharedService()
  let elapsed = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (elapsed += 1_000))
  onTestFinished(() => void clock.mockRestore())
  const closing = new AbortController()
  const stream = streamEvents(feed, {
    storeId: 's',
    after: 0,
    resumes: false,
    wants: () => false,
    stillAuthorized: async () => 'yes',
    closing: closing.signal,
  })
  const next = async () => (await stream.next()).value as string
  expect(await next()).toMatch(/^retry: /)
  const heard: string[] = []
  while (!heard.includes(':\n\n')) heard.push(await next())
  expect(heard.filter((text) => text !== ':\n\n')).toContain('id: evt_200\n\n')
  closing.abort()
  letGo()
  expect((await stream.next()).done).toBe(true)
})
