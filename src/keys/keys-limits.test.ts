import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Api, NEW_KEY, type Reply, shop, USAGE_AT_ONCE, untilTried } from '../../tests/shop.ts'
import { DAY, HOUR, travel } from '../core/clock.ts'

// ---- how many -------------------------------------------------------------------------------------------------------

test('the limit of a store is exact: of 50 at once on two nodes 20 are made, the rest are told', async () => {
  const { api, owner, keys, node, sql } = await shop({ MAX_KEYS_PER_STORE: '20' })
  const apis = [api, await node()]
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      untilTried(() => (apis[i % 2] as Api).post(keys, NEW_KEY, { as: owner.token })),
    ),
  )
  const made = replies.filter(({ status }) => status === 201)
  const refused = replies.filter(({ status }) => status !== 201)
  expect([made.length, refused.length]).toEqual([20, 30])
  for (const { status, body } of refused) expect([status, body.code]).toEqual([409, 'limit_exceeded'])
  expect(new Set(made.map(({ body }) => body.key)).size).toBe(20)
  const stored = await sql('select id from api_keys order by id')
  expect(stored.map(({ id }) => id)).toEqual(made.map(({ body }) => body.id).sort())
  expect(await sql(`select count(*)::int as n from events where type = 'key.created'`)).toEqual([{ n: 20 }])
})

test('each store has its own limit, and revoked keys make room', async () => {
  const { api, owner, member, store, keys } = await shop({ MAX_KEYS_PER_STORE: '2' })
  const manager = await member('MANAGER')
  const create = (path = keys, as = owner.token) => api.post(path, NEW_KEY, { as })
  await create(keys, manager.token)
  await create()
  expect((await create()).body.code).toBe('limit_exceeded')
  const { body: other } = await api.post('/v1/user/store', { name: 'Another' }, { as: owner.token })
  expect((await create(`/v1/user/store/${other.id}/keys`)).status).toBe(201)

  await api.delete(`/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`, { as: owner.token })
  expect((await create()).status).toBe(201)
  expect((await create()).body.code).toBe('limit_exceeded')
})

test('expired keys make room, exactly as much as they took', async () => {
  const { api, owner, keys, node } = await shop({ MAX_KEYS_PER_STORE: '10' })
  const apis = [api, await node()]
  const expiresAt = new Date(Date.now() + HOUR).toISOString()
  for (let i = 0; i < 10; i++) {
    const body = i < 6 ? { ...NEW_KEY, expiresAt } : NEW_KEY
    expect((await api.post(keys, body, { as: owner.token })).status).toBe(201)
  }
  expect((await api.post(keys, NEW_KEY, { as: owner.token })).body.code).toBe('limit_exceeded')
  travel(HOUR + 1000)
  const replies = await Promise.all(
    Array.from({ length: 15 }, (_, i) => (apis[i % 2] as Api).post(keys, NEW_KEY, { as: owner.token })),
  )
  expect(replies.map(({ status }) => status).sort()).toEqual([...Array(6).fill(201), ...Array(9).fill(409)])
})

test('a store makes ten times as many keys a day as it may have at once, on two nodes and with imports, people some more, and owners most', async () => {
  const { api, owner, member, keys, node, sql, store } = await shop({ MAX_KEYS_PER_STORE: '3' })
  const staff = await member('MANAGER')
  const apis = [api, await node()]
  travel(DAY - (Date.now() % DAY) + DAY / 2) // noon: the day does not end meanwhile
  const manager = { ...NEW_KEY, permissions: ['READ', 'WRITE', 'MANAGE_KEYS'] }
  const robot = (await api.post(keys, manager, { as: owner.token })).body
  const create = (n: number, as: string) => (apis[n % 2] as Api).post(keys, NEW_KEY, { as })
  const createTwo = async (as: string) =>
    (await Promise.all([create(0, as), create(1, as)])).map(({ status }) => status)
  const makeRoom = async () => {
    await sql(`update api_keys set revoked_at = now() where id <> $1`, [robot.id])
    await sql('update stores set live_keys = 1')
  }
  for (let n = 0; n < 14; n++) {
    expect(await createTwo(robot.key)).toEqual([201, 201])
    await makeRoom()
  }
  const lines = ['first-value', 'second-value'].map((value) => ({ ...NEW_KEY, value: `${value}-${store.id}` }))
  const imported = await api.post(`${keys}/import`, { keys: lines }, { as: robot.key })
  const told = 'The store has created as many keys since midnight UTC as it can. Revoked and expired keys count too.'
  expect(imported.body.results).toEqual([
    { index: 0, id: expect.any(String), status: 'created' },
    { index: 1, status: 'failed', errors: [{ pointer: '#/keys/1', code: 'limit_exceeded', detail: told }] },
  ])
  const refused = async (as: string) => {
    await makeRoom()
    const { status, body, headers } = await create(1, as)
    expect([status, body.code, body.detail]).toEqual([429, 'rate_limited', `${told} Wait for "Retry-After" seconds.`])
    expect(Math.abs(Number(headers.get('retry-after')) - DAY / 2 / 1000)).toBeLessThan(HOUR / 1000)
  }
  await refused(robot.key)
  // Whoever has a key that has leaked does not keep the owner from making another, nor does somebody they have invited with it.
  for (const person of [staff, owner]) {
    expect(await createTwo(person.token)).toEqual([201, 201])
    await makeRoom()
    expect((await create(0, person.token)).status).toBe(201)
    await refused(person.token)
  }
  travel(DAY)
  expect(await createTwo(robot.key)).toEqual([201, 201])
  expect(await sql('select keys_made, live_keys from stores where id = $1', [store.id])).toEqual([
    { keys_made: 2, live_keys: 3 },
  ])
})

test('a store rotates its keys ten times as often a day as it may have keys, people some more, and owners most', async () => {
  const { api, owner, member, keys, node, sql, store } = await shop({ MAX_KEYS_PER_STORE: '2' })
  const staff = await member('MANAGER')
  const apis = [api, await node()]
  travel(DAY - (Date.now() % DAY) + DAY / 2) // noon: the day does not end meanwhile
  const manager = { ...NEW_KEY, permissions: ['READ', 'WRITE', 'MANAGE_KEYS'] }
  const robot = (await api.post(keys, manager, { as: owner.token })).body
  const { id } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const rotate = (n: number, as: string) => (apis[n % 2] as Api).post(`${keys}/${id}/rotate`, {}, { as })
  const refused = async (as: string) => {
    const { status, body, headers } = await rotate(1, as)
    const detail =
      'Keys of the store have been rotated as often since midnight UTC as they can. Wait for "Retry-After" seconds.'
    expect([status, body.code, body.detail]).toEqual([429, 'rate_limited', detail])
    expect(Math.abs(Number(headers.get('retry-after')) - DAY / 2 / 1000)).toBeLessThan(HOUR / 1000)
  }
  for (let n = 0; n < 20; n++) expect((await rotate(n, robot.key)).status).toBe(200)
  await refused(robot.key)
  for (const n of [0, 1]) expect((await rotate(n, staff.token)).status).toBe(200)
  await refused(staff.token)
  // Whoever has a key that has leaked does not keep the owner from rotating it.
  expect((await api.post(`${keys}/${robot.id}/rotate`, { gracePeriodSeconds: 60 }, { as: owner.token })).status).toBe(
    200,
  )
  expect((await rotate(1, owner.token)).status).toBe(200)
  await refused(owner.token)
  expect(await sql('select secret_no from api_keys where id = $1', [id])).toEqual([{ secret_no: 24 }])
  travel(DAY)
  expect((await rotate(0, owner.token)).status).toBe(200)
  expect(await sql('select rotations from stores where id = $1', [store.id])).toEqual([{ rotations: 1 }])
})

test('keys are changed, alone or in bulk, twenty times as often a day as there may be, people some more, and stopped always', async () => {
  const { api, owner, keys, sql, store } = await shop({ MAX_KEYS_PER_STORE: '3' })
  travel(DAY - (Date.now() % DAY) + DAY / 2) // noon: the day does not end meanwhile
  const manager = { ...NEW_KEY, permissions: ['READ', 'WRITE', 'MANAGE_KEYS'] }
  const robot = (await api.post(keys, manager, { as: owner.token })).body
  const { id } = (await api.post(keys, { ...NEW_KEY, credits: { remaining: 5 } }, { as: owner.token })).body
  const second = (await api.post(keys, NEW_KEY, { as: owner.token })).body.id
  const bulk = (action: string, as: string, ids = [id]) => api.post(`${keys}/bulk`, { ids, action }, { as })
  const rename = (name: string, as = robot.key) => api.patch(`${keys}/${id}`, { name }, { as })
  const count = async () => (await sql('select key_changes from stores where id = $1', [store.id]))[0]
  const refused = async ({ status, body, headers }: Awaited<ReturnType<typeof bulk>>) => {
    expect([status, body.code, body.detail.includes('changed')]).toEqual([429, 'rate_limited', true])
    expect(Math.abs(Number(headers.get('retry-after')) - DAY / 2 / 1000)).toBeLessThan(HOUR / 1000)
  }
  // Neither keys that are not there, nor those that stay as they are, nor those that may not be changed so.
  const nobodys = Array.from({ length: 300 }, (_, n) => `key_${String(n).padStart(26, '0')}`)
  expect((await bulk('enable', robot.key, [...nobodys, id, robot.id])).status).toBe(200)
  expect(await count()).toEqual({ key_changes: 0 })
  for (let n = 0; n < 57; n++) expect((await rename(`Name ${n}`)).status).toBe(200)
  expect((await api.post(`${keys}/${id}/credits`, { add: 1 }, { as: robot.key })).status).toBe(200)
  expect(await count()).toEqual({ key_changes: 58 })
  for (const expected of [58, 59]) {
    expect((await bulk(expected === 58 ? 'disable' : 'enable', robot.key)).body.results).toEqual([
      { id, status: 'done' },
    ])
    expect(await count()).toEqual({ key_changes: expected })
  }
  expect((await bulk('disable', robot.key, [id, second])).status).toBe(200)
  await refused(await bulk('enable', robot.key, [id, second]))
  expect((await bulk('enable', robot.key)).status).toBe(200)
  await refused(await bulk('enable', robot.key, [second]))
  await refused(await rename('Too many'))
  await refused(await api.post(`${keys}/${id}/credits`, { set: 1 }, { as: robot.key }))
  for (let n = 0; n < 6; n++) expect((await rename(`Owner's ${n}`, owner.token)).status).toBe(200)
  await refused(await rename('Too many', owner.token))
  expect(await count()).toEqual({ key_changes: 66 })
  expect((await api.get(`${keys}/${id}`, { as: owner.token })).body.credits.remaining).toBe(6)
  expect((await api.patch(`${keys}/${id}`, { enabled: false }, { as: robot.key })).status).toBe(200)
  expect((await bulk('revoke', robot.key)).body.results).toEqual([{ id, status: 'done' }])
  travel(DAY)
  expect((await bulk('enable', robot.key, [second])).status).toBe(200)
})

test('of a bulk change that uses up the changes of a day the first hundreds are done, and told', async () => {
  const { api, owner, keys, sql, store } = await shop({ MAX_KEYS_PER_STORE: '160' })
  travel(DAY - (Date.now() % DAY) + DAY / 2)
  const lines = Array.from({ length: 150 }, (_, n) => ({ ...NEW_KEY, name: `Key ${n}` }))
  const ids: string[] = []
  for (const line of lines) ids.push((await api.post(keys, line, { as: owner.token })).body.id)
  expect((await api.post(`${keys}/bulk`, { ids, action: 'disable' }, { as: owner.token })).status).toBe(200)
  expect((await api.patch(`${keys}/${ids[0]}`, { name: 'First' }, { as: owner.token })).status).toBe(200)
  await sql('update stores set key_changes = $2 where id = $1', [store.id, 22 * 160 - 120])
  const send = () => api.post(`${keys}/bulk`, { ids, action: 'enable' }, { as: owner.token })
  const { status, body } = await send()
  expect([status, body.results.length, body.more]).toEqual([200, 100, true])
  const enabled = await sql('select count(*)::int as n from api_keys where store_id = $1 and enabled', [store.id])
  expect(enabled).toEqual([{ n: 100 }])
  const again = await send()
  expect([again.status, again.body.code]).toEqual([429, 'rate_limited'])
})

// ---- the list -------------------------------------------------------------------------------------------------------

test('25 keys: newest first, page by page, by type and by status', async () => {
  const { api, owner, member, store, keys } = await shop()
  const manager = await member('MANAGER')
  const types = ['PROD', 'TEST', 'DEV']
  const expiresAt = new Date(Date.now() + HOUR).toISOString()
  const made: { id: string; type: string; status: string }[] = []
  for (let i = 0; i < 25; i++) {
    const fate = i % 5 === 1 ? 'EXPIRED' : i % 5 === 2 ? 'REVOKED' : 'ACTIVE'
    const body = { ...NEW_KEY, type: types[i % 3], ...(fate === 'EXPIRED' ? { expiresAt } : {}) }
    const reply = await api.post(keys, body, { as: fate === 'REVOKED' ? manager.token : owner.token })
    made.unshift({ id: reply.body.id, type: reply.body.type, status: fate })
  }
  await api.delete(`/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`, { as: owner.token })
  travel(HOUR + 1000)

  const first = await api.get(keys, { as: owner.token })
  expect(first.body.data).toHaveLength(20)
  for (const limit of [1, 7, 25, 100]) {
    const all = await pages(api, owner.token, `${keys}?limit=${limit}`)
    expect(all.map(({ id, type, status }) => ({ id, type, status }))).toEqual(made)
  }
  for (const status of ['ACTIVE', 'EXPIRED', 'REVOKED', 'DISABLED']) {
    const expected = made.filter((key) => key.status === status).map(({ id }) => id)
    expect((await pages(api, owner.token, `${keys}?status=${status}&limit=4`)).map(({ id }) => id)).toEqual(expected)
    for (const type of types) {
      const some = made.filter((key) => key.status === status && key.type === type).map(({ id }) => id)
      const found = await pages(api, owner.token, `${keys}?status=${status}&type=${type}&limit=2`)
      expect(found.map(({ id }) => id)).toEqual(some)
    }
  }
  const cursor = first.body.nextCursor
  for (const misused of [`${keys}?type=DEV&cursor=${cursor}`, `${keys}?cursor=${cursor}x`, `${keys}?cursor=AAAA`])
    expect([misused, (await api.get(misused, { as: owner.token })).body.code]).toEqual([misused, 'invalid_cursor'])
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'status=GONE', 'type=prod', 'sort=name'])
    expect([query, (await api.get(`${keys}?${query}`, { as: owner.token })).status]).toEqual([query, 422])
})

test('of very many keys a page looks at 10,000 for those that pass the filter, and the next one goes on', async () => {
  const { api, owner, keys, store, sql } = await shop()
  const wanted: string[] = []
  for (const place of [1, 2, 3]) {
    const { id } = (await api.post(keys, { ...NEW_KEY, name: 'wanted' }, { as: owner.token })).body
    wanted.unshift(id)
    if (place === 3) break
    // Between one and the next there are thousands that were revoked. Their ids are later than this one's, and earlier than
    // the next one's.
    await sql(
      `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                             created_by_id, revoked_at, created_at, updated_at)
       select $2 || lpad(n::text, 6, '0'), $1, 'Old', 'PROD', '{READ}', '{}', 'skp_prod_abcd', sha256(($2 || n)::bytea), 'k',
              'user', $3, now(), now(), now()
         from generate_series(1, 12000) as n`,
      [store.id, id, owner.id],
    )
  }
  const ids = async (query: string) => (await pages(api, owner.token, `${keys}?${query}`)).map(({ id }) => id)
  expect(await ids('q=wanted')).toEqual(wanted)
  expect(await ids('q=wanted&limit=1')).toEqual(wanted)
  expect(await ids('q=nothing')).toEqual([])
  expect(await ids('type=PROD&status=EXPIRED')).toEqual([])
  // The newest of them, and a cursor to the rest.
  const [page, live] = [
    await api.get(`${keys}?q=wanted`, { as: owner.token }),
    await api.get(`${keys}?status=ACTIVE`, { as: owner.token }),
  ]
  expect([page.body.data.length, typeof page.body.nextCursor]).toEqual([1, 'string'])
  // Those that work are found among all others, by an index.
  expect([live.body.data.map(({ id }: { id: string }) => id), live.body.nextCursor]).toEqual([wanted, null])
})

// ---- every fault ----------------------------------------------------------------------------------------------------

test('422: what is one slip away from something known is answered with what was probably meant', async () => {
  const { api, owner, keys } = await shop()
  const suggestions = ({ status, body }: Reply) => [
    status,
    ...body.errors.map(({ pointer, suggestion }: { pointer: string; suggestion?: string }) => [pointer, suggestion]),
  ]
  const refused = await api.post(
    keys,
    {
      name: 'Checkout',
      type: 'prod',
      permissions: ['RAED', 'WRITE', 'EVERYTHING'],
      metdata: {},
      expires_at: null,
      colour: 'blue',
      rateLimit: { limit: 1, windowSecond: 60 },
    },
    { as: owner.token },
  )
  expect(suggestions(refused)).toEqual([
    422,
    ['#/metdata', 'metadata'],
    ['#/expires_at', 'expiresAt'],
    ['#/colour', undefined],
    ['#/type', 'PROD'],
    ['#/rateLimit/windowSeconds', undefined],
    ['#/rateLimit/windowSecond', 'windowSeconds'],
    ['#/permissions/0', 'READ'],
    ['#/permissions/2', undefined],
  ])
  expect(refused.body.errors[0].detail).toBe('Unknown field. Did you mean "metadata"?')
  expect(suggestions(await api.get(`${keys}?statuss=ACTIVE`, { as: owner.token }))).toEqual([
    422,
    ['?statuss', 'status'],
  ])
})

test('422: every fault of a new key at once', async () => {
  const { api, owner, store, keys, sql } = await shop()
  const faults = async (body: unknown) => faultsOf(await api.post(keys, body, { as: owner.token }))
  expect(await faults({})).toEqual(['#/name required', '#/permissions required', '#/type required'])
  expect(
    await faults({
      name: ' ',
      type: 'LIVE',
      permissions: ['READ', 'READ'],
      metadata: [],
      expiresAt: '2024-02-30T00:00:00Z',
      ipAllowlist: ['nonsense', '10.0.0.0/8'],
      rateLimit: { limit: 0 },
      id: 'key_mine',
      status: 'ACTIVE',
    }),
  ).toEqual([
    '#/expiresAt invalid_time',
    '#/id unknown_member',
    '#/ipAllowlist/0 invalid_cidr',
    '#/metadata invalid_type',
    '#/name too_short',
    '#/permissions/1 repeated',
    '#/rateLimit/limit too_small',
    '#/rateLimit/windowSeconds required',
    '#/status unknown_member',
    '#/type unknown_value',
  ])
  const many = Object.fromEntries(Array.from({ length: 48 }, (_, i) => [`m${i}`, i]))
  expect(
    await faults({
      ...NEW_KEY,
      name: 'x'.repeat(101),
      permissions: ['READ', 'FLY'],
      metadata: { ...many, description: 7, text: 'x'.repeat(16 * 1024), deep: nested(8) },
      expiresAt: '2020-01-01T00:00:00Z',
      ipAllowlist: ['300.1.1.1', '10.0.0.0/8', '10.0.0.0/33', '::1/129', '10.1'],
    }),
  ).toEqual([
    '#/expiresAt not_in_future',
    '#/ipAllowlist/0 invalid_cidr',
    '#/ipAllowlist/2 invalid_cidr',
    '#/ipAllowlist/3 invalid_cidr',
    '#/ipAllowlist/4 invalid_cidr',
    '#/metadata too_long',
    '#/metadata too_many_members',
    '#/metadata/description invalid_type',
    '#/name too_long',
    '#/permissions/1 unknown_permission',
  ])
  expect(await sql('select id from api_keys where store_id = $1', [store.id])).toEqual([])
})

test('201 on each limit, 422 just beyond it', async () => {
  const { api, owner, keys } = await shop()
  const members = (many: number) => Object.fromEntries(Array.from({ length: many }, (_, i) => [`m${i}`, i]))
  const bytes = (many: number) => ({ text: `é${'x'.repeat(many - 2 - '{"text":""}'.length)}` })
  const thisYear = new Date().getFullYear()
  const leap = thisYear + 4 - (thisYear % 4)
  const inYears = (years: number, extraMs = 0) => new Date(Date.now() + years * 365 * DAY + extraMs).toISOString()
  const limits: [good: object, bad: object, fault: string][] = [
    [{ name: 'x'.repeat(100) }, { name: 'x'.repeat(101) }, '#/name too_long'],
    [{ name: '😀'.repeat(100) }, { name: 'a\u200Bb' }, '#/name invalid_characters'],
    [{ name: '❤\uFE0F 1\uFE0F\u20E3' }, { name: 'Checkout\uFE0F' }, '#/name invalid_characters'],
    [{ name: '葛' }, { name: '葛\u{E0100}' }, '#/name invalid_characters'],
    [{ name: '\u2801' }, { name: '\u2800' }, '#/name invalid_characters'],
    [{ metadata: members(50) }, { metadata: members(51) }, '#/metadata too_many_members'],
    [{ metadata: bytes(16 * 1024) }, { metadata: bytes(16 * 1024 + 1) }, '#/metadata too_long'],
    [{ metadata: nested(8) }, { metadata: nested(9) }, '#/metadata too_deep'],
    [{ metadata: { a: [[[[[[[]]]]]]] } }, { metadata: { a: [[[[[[[[]]]]]]]] } }, '#/metadata too_deep'],
    [
      { metadata: { description: '😀'.repeat(500) } },
      { metadata: { description: 'x'.repeat(501) } },
      '#/metadata/description too_long',
    ],
    [{ metadata: { description: '' } }, { metadata: { description: null } }, '#/metadata/description invalid_type'],
    [{ metadata: { n: 9007199254740991 } }, { metadata: { n: 9007199254740993 } }, '#/metadata/n unsafe_number'],
    [{ expiresAt: inYears(10) }, { expiresAt: inYears(10, 4 * DAY) }, '#/expiresAt too_far'],
    [
      { expiresAt: `${leap}-02-29T00:00:00Z` },
      { expiresAt: `${leap + 1}-02-29T00:00:00Z` },
      '#/expiresAt invalid_time',
    ],
    [
      { expiresAt: `${leap}-01-02T00:00:00+02:00` },
      { expiresAt: `${leap}-01-02T00:00:00` },
      '#/expiresAt invalid_time',
    ],
    [{ expiresAt: null }, { expiresAt: `${leap}-01-02` }, '#/expiresAt invalid_time'],
    [
      { ipAllowlist: Array(50).fill('10.0.0.1') },
      { ipAllowlist: Array(51).fill('10.0.0.1') },
      '#/ipAllowlist too_long',
    ],
    [{ ipAllowlist: null }, { ipAllowlist: [] }, '#/ipAllowlist too_short'],
    [{ permissions: ['READ'] }, { permissions: [] }, '#/permissions too_short'],
    [
      { rateLimit: { limit: 1, windowSeconds: 1 } },
      { rateLimit: { limit: 1.5, windowSeconds: 1 } },
      '#/rateLimit/limit invalid_type',
    ],
  ]
  for (const [good, bad, fault] of limits) {
    const made = await api.post(keys, { ...NEW_KEY, ...good }, { as: owner.token })
    expect([good, made.status]).toEqual([good, 201])
    expect([bad, faultsOf(await api.post(keys, { ...NEW_KEY, ...bad }, { as: owner.token }))]).toEqual([bad, [fault]])
  }
})

test('metadata that is too long is refused for its length, whatever it is made of', async () => {
  const { api, owner, keys } = await shop()
  const plain = { ...NEW_KEY, metadata: { a: 'x'.repeat(63_000) } }
  const nested = { ...NEW_KEY, metadata: { a: Array.from({ length: 21_000 }, () => ({})) } }
  // The least of many: whatever else the process does meanwhile only adds to it.
  const cost = { plain: Number.POSITIVE_INFINITY, nested: Number.POSITIVE_INFINITY }
  for (let round = 0; round < 20; round++)
    for (const [name, body] of Object.entries({ plain, nested })) {
      const raw = JSON.stringify(body)
      const before = process.cpuUsage()
      const reply = await api.post(keys, undefined, { as: owner.token, raw })
      const { user, system } = process.cpuUsage(before)
      expect([reply.status, reply.body.errors]).toEqual([
        422,
        [{ pointer: '#/metadata', code: 'too_long', detail: 'This may have at most 16 KiB as JSON.' }],
      ])
      cost[name as keyof typeof cost] = Math.min(cost[name as keyof typeof cost], user + system)
    }
  // Some 2.5 times; 8.5 times if what is in it were looked at.
  expect(cost.nested / cost.plain).toBeLessThan(5)
})

test('metadata comes back as it went in', async () => {
  const { api, owner, keys } = await shop()
  const metadata = {
    z: 1,
    a: { constructor: 'ACME', toString: null, then: [1.5, -0.25, true, 'é😀'] },
    length: '',
    'a/b~c': {},
  }
  const made = await api.post(keys, { ...NEW_KEY, metadata }, { as: owner.token })
  expect(JSON.stringify(made.body.metadata)).toBe(JSON.stringify(metadata))
  const read = await api.get(`${keys}/${made.body.id}`, { as: owner.token })
  expect(JSON.stringify(read.body.metadata)).toBe(JSON.stringify(metadata))
})

test('an allow-list is kept in normal form, and holds', async () => {
  const { api, owner, store, keys } = await shop()
  const create = (ipAllowlist: string[]) => api.post(keys, { ...NEW_KEY, ipAllowlist }, { as: owner.token })
  const elsewhere = await create(['10.1.2.3/8', '10.0.0.0/8', ' 2001:DB8::1 ', '192.0.2.1'])
  expect(elsewhere.body.ipAllowlist).toEqual(['10.0.0.0/8', '2001:db8::1/128', '192.0.2.1/32'])
  const here = await create(['127.0.0.0/8'])
  const use = (made: Reply) => api.get(`/v1/user/store/${store.id}`, { as: made.body.key })
  expect((await use(here)).status).toBe(200)
  expect((await use(elsewhere)).body).toMatchObject({ status: 403, code: 'forbidden_ip' })
})

// ---- who gives what -------------------------------------------------------------------------------------------------

test('403: nobody gives what they do not hold, and each such permission is named', async () => {
  const { api, owner, member, store, keys, sql } = await shop()
  const clerk = await member('STAFF', ['READ', 'MANAGE_KEYS'])
  const robot = await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_KEYS', 'WRITE'] }, { as: owner.token })
  const wanted = ['READ', 'WRITE', 'MANAGE_ORDERS']
  for (const [as, lacking] of [
    [clerk.token, ['WRITE', 'MANAGE_ORDERS']],
    [robot.body.key, ['READ', 'MANAGE_ORDERS']],
  ] as const) {
    const refused = await api.post(keys, { ...NEW_KEY, permissions: wanted }, { as })
    expect(refused.body).toMatchObject({ status: 403, code: 'cannot_grant', permissions: lacking })
  }
  expect(await sql('select count(*)::int as n from api_keys where store_id = $1', [store.id])).toEqual([{ n: 1 }])
  const made = await api.post(keys, { ...NEW_KEY, permissions: ['WRITE'] }, { as: robot.body.key })
  expect([made.status, made.body.createdBy]).toEqual([201, { kind: 'key', id: robot.body.id }])
})

test('grantable is what the caller holds, and all of it can be given', async () => {
  const { api, owner, member, keys } = await shop({ EXTRA_PERMISSIONS: 'MANAGE_RETURNS, VIEW_REPORTS' })
  const clerk = await member('STAFF', ['VIEW_REPORTS', 'MANAGE_KEYS', 'READ'])
  const robot = await api.post(
    keys,
    { ...NEW_KEY, permissions: ['MANAGE_RETURNS', 'MANAGE_KEYS'] },
    { as: owner.token },
  )
  const types = ['PROD', 'TEST', 'DEV']
  for (const [as, permissions] of [
    [clerk.token, ['READ', 'MANAGE_KEYS', 'VIEW_REPORTS']],
    [robot.body.key, ['MANAGE_KEYS', 'MANAGE_RETURNS']],
  ] as const) {
    expect((await api.get(`${keys}/grantable`, { as })).body).toEqual({ permissions, types })
    expect((await api.post(keys, { ...NEW_KEY, permissions }, { as })).status).toBe(201)
  }
  const { permissions } = (await api.get(`${keys}/grantable`, { as: owner.token })).body
  expect(permissions.slice(-2)).toEqual(['MANAGE_RETURNS', 'VIEW_REPORTS'])
  expect((await api.post(keys, { ...NEW_KEY, permissions }, { as: owner.token })).body.permissions).toEqual(permissions)
})

test('a permission of the operator exists only where it was added', async () => {
  const { api, owner, keys, node } = await shop()
  const body = { ...NEW_KEY, permissions: ['MANAGE_RETURNS'] }
  expect(faultsOf(await api.post(keys, body, { as: owner.token }))).toEqual(['#/permissions/0 unknown_permission'])
  const other = await node({ EXTRA_PERMISSIONS: 'MANAGE_RETURNS' })
  expect((await other.post(keys, body, { as: owner.token })).status).toBe(201)
})

test('KEY_PREFIX begins every key and token, and another prefix is nobody here', async () => {
  const { api, owner, store, keys } = await shop({ KEY_PREFIX: 'acme' })
  expect(owner.token).toMatch(/^acme_sess_[0-9A-Za-z]{49}$/)
  for (const type of ['PROD', 'TEST', 'DEV']) {
    const made = await api.post(keys, { ...NEW_KEY, type }, { as: owner.token })
    expect(made.body.key).toMatch(new RegExp(`^acme_${type.toLowerCase()}_[0-9A-Za-z]{38}$`))
    expect(made.body.start).toBe(made.body.key.slice(0, `acme_${type}_`.length + 4))
    expect((await api.get(`/v1/user/store/${store.id}`, { as: made.body.key })).status).toBe(200)
    const foreign = made.body.key.replace('acme', 'skp')
    expect((await api.get(`/v1/user/store/${store.id}`, { as: foreign })).body.code).toBe('invalid_token')
  }
})

// ---- use ------------------------------------------------------------------------------------------------------------

test('lastUsedAt is at most 10 seconds behind, tells the last use, and changes nothing else', async () => {
  const { api, owner, store, keys } = await shop({ alone: true }, USAGE_AT_ONCE)
  const made = await api.post(keys, NEW_KEY, { as: owner.token })
  const idle = await api.post(keys, NEW_KEY, { as: owner.token })
  const read = (reply: Reply) => api.get(`${keys}/${reply.body.id}`, { as: owner.token })
  const before = await read(made)
  await api.get(`/v1/user/store/${store.id}`, { as: made.body.key })
  await sleep(20)
  const used = Date.now()
  await api.get(`/v1/user/store/${store.id}`, { as: made.body.key })
  const answered = Date.now()

  let after = before
  while (!(Date.parse(after.body.lastUsedAt) >= used) && Date.now() < used + 10_000) {
    await sleep(100)
    after = await read(made)
  }
  const lastUsed = Date.parse(after.body.lastUsedAt)
  expect(lastUsed).toBeGreaterThanOrEqual(used)
  expect(lastUsed).toBeLessThanOrEqual(answered)
  expect(after.body).toEqual({ ...before.body, lastUsedAt: after.body.lastUsedAt })
  expect(after.headers.get('etag')).toBe(before.headers.get('etag'))
  expect((await read(idle)).body.lastUsedAt).toBeNull()
})

// ---- helpers --------------------------------------------------------------------------------------------------------

function faultsOf({ status, body }: Reply): string[] {
  expect([status, body.code]).toEqual([422, 'invalid_input'])
  return body.errors.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`).sort()
}

/** An object so many levels deep, counting itself. */
function nested(levels: number): object {
  return levels === 1 ? {} : { a: nested(levels - 1) }
}

async function pages(api: Api, as: string, path: string): Promise<{ id: string; type: string; status: string }[]> {
  const all: { id: string; type: string; status: string }[] = []
  let cursor: string | null = null
  do {
    const page: Reply = await api.get(cursor ? `${path}&cursor=${cursor}` : path, { as })
    all.push(...page.body.data)
    cursor = page.body.nextCursor
  } while (cursor)
  return all
}
