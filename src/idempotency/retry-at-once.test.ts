import { describe, expect, test } from 'vitest'
import {
  allow,
  client,
  count,
  countAll,
  gone,
  once,
  POSTS,
  refuse,
  together,
  until,
  wire,
} from '../../tests/retries.ts'
import { type Api, NEW_ADDRESS, NEW_KEY, type Reply, shop } from '../../tests/shop.ts'

// ---- many at once ---------------------------------------------------------------------------------------------------

describe.each([1, 2])('on %i node(s)', (nodes) => {
  const start = async (settings: Record<string, string> | { alone: true } = { alone: true }) => {
    const world = await shop(settings)
    const apis = nodes === 1 ? [world.api] : [world.api, await world.node()]
    return { world, at: (i: number) => apis[i % apis.length] as Api }
  }

  test('six identical requests for a key at once: one key, and all six are told it', async () => {
    const { world, at } = await start()
    const replies = await together(6, (i) =>
      at(i).post(world.keys, NEW_KEY, { as: world.owner.token, headers: once('k') }),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(6).fill(201))
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
    expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
    expect(await count(world, 'api_keys')).toBe(1)
    expect(await count(world, 'events', `type = 'key.created'`)).toBe(1)
  })

  test('twenty at once: one key; the five retries that may are told it, the others which key it is', async () => {
    const { world, at } = await start()
    const replies = await together(20, (i) =>
      at(i).post(world.keys, NEW_KEY, { as: world.owner.token, headers: once('k') }),
    )
    const made = replies.filter(({ status }) => status === 201)
    expect(made).toHaveLength(6)
    expect(new Set(made.map(({ text }) => text)).size).toBe(1)
    for (const late of replies.filter(({ status }) => status !== 201))
      expect([late.status, late.body]).toEqual([409, gone(late, world.keys, made[0]?.body.id)])
    expect(await count(world, 'api_keys')).toBe(1)
    expect(await world.sql('select live_keys from stores')).toEqual([{ live_keys: 1 }])
  })

  test('twenty identical requests for an address at once: one address, and all are told it', async () => {
    const { world, at } = await start()
    const body = { ...NEW_ADDRESS, isDefault: true }
    const replies = await together(20, (i) =>
      at(i).post(world.billing, body, { as: world.owner.token, headers: once('k') }),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(201))
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
    expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
    expect(await count(world, 'addresses')).toBe(1)
    expect(await count(world, 'events', `type = 'address.created'`)).toBe(1)
  })

  test('twenty identical requests for a store at once: one store; whoever comes too early is told to wait', async () => {
    const { world, at } = await start()
    const send = (i: number) =>
      at(i).post('/v1/user/store', { name: 'Once' }, { as: world.owner.token, headers: once('k') })
    const replies = await together(20, send)
    const made = replies.filter(({ status }) => status === 201)
    expect(new Set(made.map(({ text }) => text)).size).toBe(1)
    for (const early of replies.filter(({ status }) => status !== 201))
      expect([early.status, early.body.code, early.headers.get('retry-after')]).toEqual([
        409,
        'idempotency_in_progress',
        '1',
      ])
    expect((await send(1)).text).toBe(made[0]?.text)
    expect(await count(world, 'stores', `name = 'Once'`)).toBe(1)
  })

  test('one Idempotency-Key in two stores at once: one of them is served, the other is told', async () => {
    const { world, at } = await start()
    const { owner, billing } = world
    const other = (await world.api.post('/v1/user/store', { name: 'Another' }, { as: owner.token })).body.id
    for (let round = 0; round < 10; round++) {
      const paths = [billing, `/v1/store/${other}/billing`]
      const replies = await together(4, (i) =>
        at(i >> 1).post(paths[i % 2] as string, NEW_ADDRESS, { as: owner.token, headers: once(`k${round}`) }),
      )
      expect(replies.map(({ status, body }) => [status, body.code]).sort()) //
        .toEqual([
          [201, undefined],
          [201, undefined],
          [422, 'idempotency_mismatch'],
          [422, 'idempotency_mismatch'],
        ])
      expect(await count(world, 'addresses')).toBe(round + 1)
    }
  })

  test('retries that crowd in take no room from the keys that still fit', async () => {
    const { world, at } = await start({ MAX_KEYS_PER_STORE: '20' })
    const send = async (i: number): Promise<Reply> => {
      const headers = once(i < 40 ? 'first' : `other-${i}`)
      const reply = await at(i).post(world.keys, NEW_KEY, { as: world.owner.token, headers })
      // On a busy machine some have waited too long, and ask again.
      return reply.status === 503 ? send(i) : reply
    }
    // Held up at the store, they collect, and then travel together.
    const blocker = await client(world.databaseUrl)
    await blocker.query('begin; select from stores for update')
    const sent = together(59, send)
    const apis = [...new Set([at(0), at(1)])]
    await until(async () => {
      const pages = await Promise.all(apis.map((api) => api.get('/metrics')))
      const underWay = pages.map(
        ({ text }) => Number(text.match(/^storekeeper_http_requests_under_way (\d+)$/m)?.[1]) - 1,
      )
      return underWay.reduce((sum, each) => sum + each) === 59
    })
    await new Promise((resolve) => setTimeout(resolve, 100)) // from the door to the queue
    await blocker.query('rollback')
    const replies = await sent
    expect(replies.slice(40).map(({ status }) => status)).toEqual(Array(19).fill(201))
    expect(await count(world, 'api_keys')).toBe(20)
  })
})

test('while the first request runs, its retry is told to wait, and then gets its answer', async () => {
  const world = await shop({ alone: true })
  const { api, owner, databaseUrl } = world
  const send = () => api.post('/v1/user/store', { name: 'Once' }, { as: owner.token, headers: once('k') })
  const blocker = await client(databaseUrl)
  await blocker.query('begin; lock table stores in share mode')
  const first = send()
  // In this database: other tests hold tables in theirs.
  const heldUp = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await until(async () => (await world.sql(heldUp)).length > 0)
  const early = await send()
  expect([early.status, early.body.code, early.headers.get('retry-after')]).toEqual([
    409,
    'idempotency_in_progress',
    '1',
  ])
  await blocker.query('rollback')
  expect((await first).status).toBe(201)
  expect(wire(await send())).toEqual({ ...wire(await first), replayed: 'true' })
})

// ---- one transaction ------------------------------------------------------------------------------------------------

const PARTS = ['events', 'idempotent_responses', 'itself']

describe.each(POSTS)('$what, its event and its remembered answer', (post) => {
  test.each(PARTS)('are all written or none: when %s cannot be, nothing is', async (part) => {
    const world = await shop({ alone: true })
    const { api, owner, sql } = world
    const table = part === 'itself' ? post.table : part
    const tables = [...new Set(['events', 'idempotent_responses', 'members', post.table])]
    const counts = () => countAll(world, tables)
    const send = () => api.post(post.path(world), post.body, { as: owner.token, headers: once('k') })

    const before = await counts()
    for (const when of ['insert', 'commit'] as const) {
      await refuse(sql, table, when)
      const failed = await send()
      expect([when, failed.status, failed.body.code]).toEqual([when, 500, 'internal_error'])
      expect(await counts()).toEqual(before)
      await allow(sql, table)
    }
    const made = await send()
    expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect(wire(await send())).toEqual({ ...wire(made), replayed: 'true' })
    expect(await count(world, 'events', `subject = '${made.body.id}'`)).toBe(1)
    expect(await count(world, 'idempotent_responses')).toBe(1)
  })
})
