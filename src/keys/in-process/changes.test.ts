// The stream of key changes: a back end that follows it knows of every change before the beat that says so.

import { expect, onTestFinished, test, vi } from 'vitest'
import { type Following, follow } from '../../../tests/changes-client.ts'
import { leastCpuTime } from '../../../tests/cpu-time.ts'
import { NEW_KEY, type Shop, shop } from '../../../tests/shop.ts'
import { newId } from '../../core/ids.ts'
import { CHANGE_SEATS, newEventStreams, type OpenStream, storeOfStream } from '../../http/event-stream.ts'
import { CHANGEABLE_COLUMNS } from '../columns.ts'
import { newKeyChanges } from './changes.ts'
import { streamChanges } from './stream.ts'

const create = async ({ api, keys, owner }: Shop) => (await api.post(keys, NEW_KEY, { as: owner.token })).body
const revoke = ({ api, keys, owner }: Shop, id: string, at = api) => at.delete(`${keys}/${id}`, { as: owner.token })

/** The frames as far as a beat that names a moment after this one. */
async function heardBy(following: Following, after: number) {
  const covered = ({ event, data }: { event: string; data: { heardUpTo: number } }) =>
    event === 'beat' && data.heardUpTo > after
  await vi.waitFor(() => expect(following.frames.some(covered)).toBe(true), { timeout: 60_000, interval: 5 })
  return following.frames.slice(0, following.frames.findIndex(covered) + 1)
}

test('a change made at one node is told at the other, above the beat that covers it', async () => {
  const world = await shop()
  const as = await world.serviceToken()
  const stream = await follow(world.api, as)
  expect([
    stream.headers['content-type'],
    stream.headers['cache-control'],
    stream.headers['x-accel-buffering'],
  ]).toEqual(['text/event-stream', 'no-store', 'no'])
  expect(stream.headers['content-encoding']).toBe(undefined)
  expect(stream.hello).toEqual({
    node: expect.stringMatching(/^[\w-]{16}$/),
    at: expect.any(Number),
    from: stream.hello.at,
    prefix: 'skp',
    catalogue: expect.any(String),
    beatMs: 500,
    trustMs: 1500,
  })
  const other = await world.node()
  const { api, keys, owner, store } = world
  const [revoked, frozen] = [await create(world), await create(world)]
  expect((await revoke(world, revoked.id, other)).status).toBe(200)
  // The node's clock is this process's.
  const above = await heardBy(stream, performance.now())
  expect(above.flatMap(({ event, data }) => (event === 'changed' ? data.ids : []))).toEqual([revoked.id])
  for (const change of [
    () => other.patch(`${keys}/${frozen.id}`, { permissions: ['READ'] }, { as: owner.token }),
    () => other.post(`${keys}/${frozen.id}/rotate`, {}, { as: owner.token }),
    () => other.post(`/v1/user/store/${store.id}/keys/freeze`, undefined, { as: owner.token }),
  ]) {
    const before = stream.ids().length
    expect((await change()).status).toBeLessThan(300)
    await heardBy(stream, performance.now())
    expect(stream.ids().slice(before)).not.toEqual([])
  }
  expect(stream.ids().at(-1)).toBe(store.id)
  expect(stream.frames.map(({ id }) => id)).toEqual(stream.frames.map((_, n) => n + 1))
  // Making a key tells nothing, and nothing that is told is more than an id.
  expect(JSON.stringify(stream.frames)).not.toContain(frozen.name)
  expect((await api.get('/v1/keys/changes?v=2', { as })).body).toMatchObject({
    status: 422,
    errors: [{ pointer: '?v', code: 'unknown_value', detail: 'This must be one of 1.' }],
  })
})

test('a stream that comes back is told what it has missed, and how far back that goes', async () => {
  const world = await shop()
  const as = await world.serviceToken()
  const first = await follow(world.api, as)
  const another = await follow(world.api, as)
  const { id } = await create(world)
  first.leave()
  await revoke(world, id)
  // The node has heard of it by then.
  await expect.poll(() => another.ids()).toEqual([id])
  const again = await follow(world.api, as, '?back=50000')
  expect(again.hello.from).toBeGreaterThanOrEqual(again.hello.at - 50_000)
  expect(again.hello.from).toBeLessThanOrEqual(first.hello.at)
  await again.next('beat')
  expect(again.frames[1]).toMatchObject({ event: 'changed', data: { ids: [id] } })
  expect(again.hello).toMatchObject({ node: first.hello.node, catalogue: first.hello.catalogue })
  // Not further than a minute, and without `back` from now on.
  const longAgo = await follow(world.api, as, '?back=999999999')
  expect(longAgo.hello.from).toBeGreaterThanOrEqual(longAgo.hello.at - 60_000)
  const fresh = await follow(world.api, as)
  await fresh.next('beat')
  expect([fresh.hello.from, fresh.ids()]).toEqual([fresh.hello.at, []])
})

test('a token that is bound to stores hears of theirs only, and one that changes hears no more', async () => {
  const world = await shop()
  const { api, person, store } = world
  const stranger = await person()
  const theirs = (await api.post('/v1/user/store', { name: 'Theirs' }, { as: stranger.token })).body.id as string
  const [bound, all] = [await world.serviceToken(), await world.serviceToken(null)]
  const [ours, both] = [await follow(api, bound), await follow(api, all)]
  const foreign = (await api.post(`/v1/user/store/${theirs}/keys`, NEW_KEY, { as: stranger.token })).body.id as string
  const own = (await create(world)).id
  await api.delete(`/v1/user/store/${theirs}/keys/${foreign}`, { as: stranger.token })
  await revoke(world, own)
  await heardBy(both, performance.now())
  await heardBy(ours, performance.now())
  expect(ours.ids()).toEqual([own])
  expect(both.ids()).toEqual(expect.arrayContaining([own, foreign]))
  // What was missed is filtered alike.
  expect((await follow(api, bound, '?back=60000')).ids()).not.toContain(foreign)
  expect(ours.hello.catalogue).not.toBe(both.hello.catalogue)

  await world.sql('update service_tokens set store_ids = $1 where store_ids = $2', [[store.id, theirs], [store.id]])
  await ours.ended
  expect(ours.frames.at(-1)?.event).not.toBe('bye')
  const wider = await follow(api, bound, '?back=60000')
  expect(wider.hello.catalogue).not.toBe(ours.hello.catalogue)
  expect(wider.ids()).toContain(foreign)
  await world.sql('update service_tokens set revoked_at = now() where store_ids = $1', [[store.id, theirs]])
  await wider.ended
  expect((await follow(api, bound)).status).toBe(401)
  both.leave()
})

test('a node that lost its connection for notifications says so before its next beat', async () => {
  const world = await shop({ alone: true })
  const as = await world.serviceToken()
  const [stream, moved] = [
    await follow(world.api, as),
    await follow(world.api, await world.serviceToken([newId('store')])),
  ]
  await stream.next('beat')
  const { id } = await create(world)
  // The trigger is off while the binding changes: as if its notification were lost with the connection.
  await world.sql(`
    begin;
    alter table service_tokens disable trigger user;
    update service_tokens set store_ids = '{}' where store_ids[1] <> '${world.store.id}';
    alter table service_tokens enable trigger user;
    commit`)
  await world.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'storekeeper listener' and datname = current_database()`,
  )
  const reset = await stream.next('reset')
  const between = stream.frames.slice(0, reset.id - 1)
  expect(reset.data.from).toBeGreaterThan(Math.max(...between.map(({ data }) => data.heardUpTo ?? 0)))
  const beat = await stream.next('beat', reset.id)
  // One is rounded up, the other down.
  expect(beat.data.heardUpTo).toBeGreaterThanOrEqual(reset.data.from - 1)
  await revoke(world, id)
  expect((await stream.next('changed', reset.id)).data.ids).toEqual([id])
  // Nothing from before the gap is vouched for.
  const again = await follow(world.api, as, '?back=60000')
  expect(again.hello.from).toBe(reset.data.from)
  await moved.ended
  expect(moved.frames.map(({ event }) => event)).not.toContain('reset')
  expect((await world.api.get('/metrics')).text).toContain('storekeeper_key_change_resets_total 1')
  expect((await world.api.get('/metrics')).text).toContain('storekeeper_key_change_streams 2')
})

test('many changed keys of one store are told as the store', async () => {
  const world = await shop()
  const stream = await follow(world.api, await world.serviceToken())
  for (let n = 0; n < 51; n++) await create(world)
  const bulk = (filter: object, action: string) =>
    world.api.post(`${world.keys}/bulk`, { filter, action }, { as: world.owner.token })
  expect((await bulk({ type: 'PROD' }, 'disable')).body.results.length).toBe(51)
  await heardBy(stream, performance.now())
  expect(stream.ids()).toContain(world.store.id)
  expect(stream.ids().length).toBeLessThan(51)
})

test('a node that stops says goodbye', async () => {
  const world = await shop({ alone: true })
  const stream = await follow(world.api, await world.serviceToken())
  await world.service.close(0)
  await stream.ended
  expect(stream.frames.at(-1)).toMatchObject({ event: 'bye', data: {}, id: stream.frames.length })
})

test('these streams have seats of their own', async () => {
  const world = await shop()
  const as = await world.serviceToken()
  const streams = await Promise.all(Array.from({ length: 110 }, () => follow(world.api, as)))
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
  for (const stream of streams) stream.leave()
  const seats = newEventStreams(undefined, CHANGE_SEATS)
  for (let n = 0; n < 2_000; n++) seats.admit({ callerId: 'svc_1', store: null })
  expect(() => seats.admit({ callerId: 'svc_1', store: null })).toThrow(
    expect.objectContaining({ code: 'rate_limited' }),
  )
  expect(seats.admit({ callerId: 'svc_2', store: null }).closing.signal.aborted).toBe(false)
})

test('the service tokens of one store share its seats, and the operator’s tokens have their own', () => {
  const service = { kind: 'service', id: 'svc_1', name: '', createdBy: null, ip: '', knownAt: null } as const
  const cases: [object, string[] | null, string | null][] = [
    [{}, ['store_1'], 'store_1'],
    [{}, ['store_1', 'store_2'], null],
    [{}, null, null],
    [{ storeId: 'store_3' }, null, 'store_3'],
  ]
  for (const [params, storeIds, store] of cases) expect(storeOfStream(params, { ...service, storeIds })).toBe(store)
  const seats = newEventStreams(undefined, CHANGE_SEATS)
  const admit = (callerId: string, id: string) => seats.admit({ callerId, store: { id, account: 'ada' } })
  for (let n = 0; n < 2_000; n++) admit(`svc_${n % 3}`, 'store_1')
  expect(() => admit('svc_3', 'store_1')).toThrow(expect.objectContaining({ code: 'rate_limited' }))
  expect(admit('svc_4', 'store_2').closing.signal.aborted).toBe(false)
})

test('an account that fills a node, from many stores and with many tokens in each, loses seats to others', () => {
  const seats = newEventStreams(undefined, CHANGE_SEATS)
  const admit = (account: string, storeId: string, n: number) => {
    try {
      const stream = seats.admit({ callerId: `svc_${storeId}_${n % 20}`, store: { id: storeId, account } })
      return [{ storeId, stream }]
    } catch {
      return []
    }
  }
  const isOpen = ({ stream }: { stream: OpenStream }) => !stream.closing.signal.aborted
  // Another account has more streams than any of its stores.
  const others = Array.from({ length: 150 }, (_, n) => admit('bob', 'store_bob', n)).flat()
  // Of 100 stores some have 2,000 streams, or all have 39.
  const fill = (ofStore: number) =>
    Array.from({ length: 100 }, (_, store) =>
      Array.from({ length: ofStore }, (_, n) => admit('ada', `store_${store}`, n)).flat(),
    )
  for (const ofStore of [39, 2_000]) {
    const taken = fill(ofStore).flat()
    expect([others.filter(isOpen).length, seats.open()]).toEqual([150, ofStore === 39 ? 3_900 + 150 - 50 : 4_000])
    // What the operator's back ends follow, about all stores.
    const all = Array.from({ length: 1_000 }, () => ({ stream: seats.admit({ callerId: 'svc_all', store: null }) }))
    const new_ = Array.from({ length: 20 }, (_, n) => admit('carl', 'store_carl', n)).flat()
    expect([new_.filter(isOpen).length, seats.open()]).toEqual([20, 4_000])
    // Those who lost one come back at once, and take it from each other.
    for (const { storeId } of taken) admit('ada', storeId, 0)
    expect([all, others, new_].map((streams) => streams.filter(isOpen).length)).toEqual([1_000, 150, 20])
    for (const { stream } of [...taken, ...all, ...new_]) stream.done()
  }
  expect(seats.open()).toBe(150)
})

// ---- the hub alone --------------------------------------------------------------------------------------------------

const INSTANCE = { permissions: ['READ'], keyPrefix: 'skp' } as unknown as Parameters<typeof newKeyChanges>[1]
const STORE = 'store_1'

/** A node that has listened for long, and one stream that is read when the test says so. */
function quietNode(storeIds: string[] | null = [STORE]) {
  const clock = { now: 1_000_000, heardUpTo: 1_000_000 }
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => clock.now)
  onTestFinished(() => spy.mockRestore())
  const hub = newKeyChanges({} as never, INSTANCE, () => clock.heardUpTo)
  onTestFinished(hub.close)
  hub.onGap(true)
  clock.now += 1_000
  const closing = new AbortController()
  const request = (backMs = 0) => ({ serviceId: 'svc_1', storeIds, receivedAt: clock.now, backMs })
  const open = (backMs?: number) => streamChanges(hub, request(backMs), closing.signal)
  return { clock, hub, open, request }
}

test('a stream does not begin whose token has changed since it was asked for, however long that was ago', () => {
  const { clock, hub, request } = quietNode()
  const asked = request()
  expect(hub.canJoin(asked)).toBe(true)
  clock.now += 20
  hub.received('svc_1', 'svc_1')
  expect(hub.canJoin(asked)).toBe(false)
  for (let n = 0; n < 20; n++) {
    clock.now += 1_000
    hub.received('svc_2', 'svc_2')
  }
  expect(hub.join(asked, () => {})).toBe(null)
  clock.now += 60_000
  hub.received('svc_2', 'svc_2')
  expect(hub.join(request(), () => {})).not.toBe(null)
})

test('a beat never overtakes a change, however slowly the stream is read', async () => {
  const { clock, hub, open } = quietNode()
  const stream = open()
  await stream.next()
  const subscriber = hub.join({ serviceId: 'svc_2', storeIds: null, receivedAt: clock.now, backMs: 0 }, () => {})
  if (!subscriber) throw new Error('It could not join')
  hub.take(subscriber)
  hub.received('key_1', STORE)
  clock.heardUpTo = clock.now + 5
  subscriber.isBeatDue = true
  expect(hub.take(subscriber)).toBe(
    `event: changed\nid: 3\ndata: {"ids":["key_1"]}\n\nevent: beat\nid: 4\ndata: {"heardUpTo":${clock.now + 5}}\n\n`,
  )
  expect((await stream.next()).value).toContain('key_1')
})

test('a stream that falls too far behind is cut, and is told nothing more', async () => {
  const { hub, open } = quietNode(null)
  const stream = open()
  await stream.next()
  for (let n = 0; n < 3_000; n++) {
    hub.received(`key_${'0'.repeat(26)}`, `store_${n}`)
    // Another stream is opened, which is why the changes are handed out.
    if (n % 100 === 0)
      hub.take(
        hub.join({ serviceId: 'svc_2', storeIds: [], receivedAt: performance.now(), backMs: 0 }, () => {}) as never,
      )
  }
  expect(await stream.next()).toEqual({ value: undefined, done: true })
})

test('the ring remembers a minute, or 18,000 changes at least, and says from when on', () => {
  const { clock, hub, request } = quietNode()
  const fromOf = (backMs: number) => {
    const subscriber = hub.join(request(backMs), () => {}) as never
    const text = hub.take(subscriber) as string
    hub.leave(subscriber)
    return { from: Number(/"from":(\d+)/.exec(text)?.[1]), text }
  }
  hub.received('key_first', STORE)
  clock.now += 30_000
  expect(fromOf(60_000)).toMatchObject({ from: clock.now - 31_000, text: expect.stringContaining('key_first') })
  clock.now += 100_000
  hub.received('key_second', STORE)
  const later = fromOf(86_400_000)
  expect(later.from).toBe(clock.now - 60_000)
  expect(later.text).not.toContain('key_first')
  expect(later.text).toContain('key_second')
  clock.now += 10
  for (let n = 0; n < 20_001; n++) {
    if (n === 1_000) clock.now += 10
    hub.received(`key_${n}`, `store_${n}`)
  }
  // Some of the second moment are gone, so nothing of it is vouched for.
  expect(fromOf(1_000).from).toBe(clock.now + 1)
})

test('a stream that comes back costs no more for the changes of other stores, nor for very many of its own', () => {
  const costOf = (storeOf: (n: number) => string, storeIds: string[] | null, tries = 5) => {
    const { hub, request } = quietNode()
    for (let n = 0; n < 19_000; n++) hub.received(`key_${'0'.repeat(26)}${n}`, storeOf(n))
    return leastCpuTime(tries, () => {
      for (let n = 0; n < 3; n++) hub.leave(hub.join({ ...request(60_000), storeIds }, () => {}) as never)
    })
  }
  const everything = costOf((n) => `store_${n}`, null)
  // A thirtieth and a twentieth. They are short: work of other threads, such as collecting garbage, may last for several tries.
  expect(costOf((n) => `store_${n}`, [STORE], 30)).toBeLessThan(everything / 4)
  expect(costOf(() => STORE, [STORE], 30)).toBeLessThan(everything / 4)
})

test('a token that changed while its caller was cached opens no stream', () => {
  const { clock, hub, request } = quietNode()
  hub.received('svc_1', 'svc_1')
  expect(hub.canJoin(request())).toBe(false)
  clock.now += 201
  expect(hub.canJoin(request())).toBe(true)
  hub.onGap(false)
  expect(hub.canJoin(request())).toBe(false)
  clock.now += 5_000
  hub.onGap(true)
  expect([hub.canJoin(request()), hub.join(request(), () => {})]).toEqual([false, null])
  clock.now += 201
  expect(hub.canJoin(request())).toBe(true)
})

test('a stream lives for half a minute', async () => {
  const { clock, open } = quietNode()
  for (let n = 0; n < 20; n++) {
    const stream = open()
    await stream.next()
    clock.now += 36_001
    expect((await stream.next()).value).toMatch(/event: bye\nid: \d+\ndata: \{\}\n\n$/)
    expect((await stream.next()).done).toBe(true)
  }
})

// ---- the triggers ---------------------------------------------------------------------------------------------------

test('every column that a cached key depends on is one whose change is notified', async () => {
  const { sql } = await shop()
  const columnsOf = async (trigger: string) =>
    (
      await sql(
        `select attname as name
           from pg_trigger join pg_attribute on attrelid = tgrelid and attnum = any(tgattr)
          where tgname = $1`,
        [trigger],
      )
    ).map(({ name }) => name)
  // What the lookup of the key cache reads beside the settings. Numbers and ids of secrets change with their hashes, the
  // revision with everything; a key's type, id and store never do.
  const read = ['hash', 'previous_hash', 'previous_expires_at', 'enabled', 'revoked_at', 'leaked_secret_no']
  expect(await columnsOf('api_keys_notify_changed')).toEqual(
    expect.arrayContaining([...Object.keys(CHANGEABLE_COLUMNS), ...read]),
  )
  expect(await columnsOf('stores_notify_changed')).toEqual(expect.arrayContaining(['frozen_at', 'deleted_at']))
  expect(await columnsOf('service_tokens_notify_changed')).toEqual(
    expect.arrayContaining(['revoked_at', 'store_ids', 'hash']),
  )
})
