// Cases a hostile caller will try, 1 to 7: whose thing is it? A and B are two stores with nobody in common.

import { expect, test } from 'vitest'
import { newId } from '../src/core/ids.ts'
import { NEW_ADDRESS, NEW_KEY, type Person, type Reply, type Shop, shop } from './shop.ts'

test('1. what belongs to B does not exist for A, under A’s path or B’s, and stays as it is', async () => {
  const world = await shop()
  const { api, sql } = world
  const [a, b] = [await storeOf(world, world.owner), await storeOf(world, await world.person())]
  const before = await rowsOf(sql, b.storeId)
  const things = ['keys', 'members', 'invitations', 'billing'] as const
  for (const as of [a.owner.token, a.key])
    for (const thing of things)
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const ask = (storeId: string, id: string) =>
          api.ask(method, `/v1/user/store/${storeId}/${thing}/${id}`, method === 'PATCH' ? {} : undefined, { as })
        // Under A's path it is missing exactly as a random id is; under B's path there is not even a store.
        const random = await ask(a.storeId, newId(KIND[thing]))
        expect([404, 405]).toContain(random.status)
        expect(bare(await ask(a.storeId, b[thing])), `${method} ${thing}`).toEqual(bare(random))
        if (random.status === 404)
          expect(bare(await ask(b.storeId, b[thing]))).toEqual(bare(await ask(newId('store'), b[thing])))
      }
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const ask = (storeId: string, id: string) =>
      api.ask(method, `/v1/store/${storeId}/billing/${id}`, method === 'PATCH' ? {} : undefined, { as: a.owner.token })
    expect(bare(await ask(a.storeId, b.billing))).toEqual(bare(await ask(a.storeId, newId('addr'))))
    expect(bare(await ask(b.storeId, b.billing))).toEqual(bare(await ask(newId('store'), b.billing)))
  }
  for (const as of [a.owner.token, a.key]) {
    expect((await api.patch(`/v1/user/store/${b.storeId}`, { name: 'Mine' }, { as })).status).toBe(404)
    expect((await api.delete(`/v1/user/store/${b.storeId}`, { as })).status).toBe(404)
    expect((await api.post(`/v1/user/store/${b.storeId}/keys`, NEW_KEY, { as })).status).toBe(404)
  }
  expect(await rowsOf(sql, b.storeId)).toEqual(before)
})

test('1. a session of one user is nobody else’s to end', async () => {
  const { api, owner, person } = await shop()
  const other = await person()
  const { data } = (await api.get('/v1/user/sessions', { as: other.token })).body
  const foreign = await api.delete(`/v1/user/sessions/${data[0].id}`, { as: owner.token })
  expect(foreign.status).toBe(404)
  expect(bare(foreign)).toEqual(bare(await api.delete(`/v1/user/sessions/${newId('sess')}`, { as: owner.token })))
  expect((await api.get('/v1/user', { as: other.token })).status).toBe(200)
})

test('2. an address is its user’s alone, also within one store, and for the owner of the store too', async () => {
  const { api, owner, billing, member } = await shop()
  const [ada, bob] = [await member('CUSTOMER'), await member('CUSTOMER')]
  const { body: address } = await api.post(billing, NEW_ADDRESS, { as: ada.token })
  await api.post(billing, { ...NEW_ADDRESS, isDefault: true }, { as: bob.token })
  for (const { token } of [bob, owner]) {
    const random = bare(await api.get(`${billing}/${newId('addr')}`, { as: token }))
    expect(random.status).toBe(404)
    expect(bare(await api.get(`${billing}/${address.id}`, { as: token }))).toEqual(random)
    expect((await api.get(billing, { as: token })).text).not.toContain(address.id)
    for (const [method, body] of [
      ['PATCH', { city: 'Palo Alto' }],
      ['PATCH', { isDefault: true }],
      ['PATCH', { isDefault: false }],
      ['DELETE', undefined],
    ] as const)
      expect(bare(await api.ask(method, `${billing}/${address.id}`, body, { as: token }))).toEqual(random)
    for (const versions of ['versions', 'versions/1'])
      expect(bare(await api.get(`${billing}/${address.id}/${versions}`, { as: token }))).toEqual(random)
  }
  // Bob's default is Bob's: Ada's stays where it was.
  expect((await api.get(`${billing}/${address.id}`, { as: ada.token })).body).toEqual(address)
  expect(address.isDefault).toBe(true)
})

test('3. a crawl of every list, filter and cursor with A’s credentials shows no id of B', async () => {
  const world = await shop()
  const { api } = world
  const [a, b] = [await storeOf(world, world.owner), await storeOf(world, await world.person())]
  const foreign = [b.storeId, b.keys, b.billing, b.invitations, b.members, b.owner.id, b.owner.email]
  const lists = [
    '/v1/user',
    '/v1/user/store',
    '/v1/user/sessions',
    `/v1/user/store/${a.storeId}`,
    `/v1/user/store/${a.storeId}/members`,
    `/v1/user/store/${a.storeId}/invitations`,
    `/v1/user/store/${a.storeId}/keys`,
    ...['ACTIVE', 'DISABLED', 'EXPIRED', 'REVOKED'].map(
      (status) => `/v1/user/store/${a.storeId}/keys?status=${status}`,
    ),
    ...['PROD', 'TEST', 'DEV'].map((type) => `/v1/user/store/${a.storeId}/keys?type=${type}`),
    `/v1/store/${a.storeId}/billing`,
    `/v1/store/${a.storeId}/billing/${a.billing}/versions`,
    `/v1/user/store/${a.storeId}/billing/${a.billing}/versions`,
    ...[a.owner.id, b.owner.id].map((userId) => `/v1/user/store/${a.storeId}/billing?userId=${userId}`),
  ]
  let pages = 0
  for (const as of [a.owner.token, a.key])
    for (const list of lists)
      for await (const page of crawl(world, list, as)) {
        pages += 1
        for (const id of foreign) expect(page.text, `${list} shows ${id}`).not.toContain(id)
      }
  expect(pages).toBeGreaterThan(20)
  expect((await api.get(`/v1/user/store/${b.storeId}/keys`, { as: b.owner.token })).text).toContain(b.keys)
})

test('3. a cursor of A’s list does not open B’s, nor another list, filter or caller, nor when it was altered', async () => {
  const world = await shop()
  const { api, member } = world
  const [a, b] = [await storeOf(world, world.owner), await storeOf(world, world.owner)]
  const manager = await member('MANAGER')
  const as = world.owner.token
  const path = (storeId: string, list: string) => `/v1/user/store/${storeId}/${list}`
  const cursorOf = async (list: string) => (await api.get(`${list}limit=1`, { as })).body.nextCursor as string
  const [keys, billing] = [
    await cursorOf(`${path(a.storeId, 'keys')}?`),
    await cursorOf(`/v1/store/${a.storeId}/billing?`),
  ]
  expect((await api.get(`${path(a.storeId, 'keys')}?cursor=${keys}`, { as })).status).toBe(200)
  const swapped = keys.slice(0, -1) + (keys.endsWith('A') ? 'E' : 'A')
  const wrong = [
    [path(b.storeId, 'keys'), keys],
    [`${path(a.storeId, 'keys')}?status=ACTIVE`, keys],
    [`${path(a.storeId, 'keys')}?type=PROD`, keys],
    [path(a.storeId, 'members'), keys],
    [path(a.storeId, 'invitations'), keys],
    [`/v1/store/${a.storeId}/billing`, keys],
    [`/v1/store/${b.storeId}/billing`, billing],
    [`${path(a.storeId, 'billing')}?userId=${world.owner.id}`, billing],
    [`${path(a.storeId, 'billing')}/${a.billing}/versions`, billing],
    ['/v1/user/store', keys],
    ['/v1/user/sessions', keys],
    [path(a.storeId, 'keys'), swapped],
    [path(a.storeId, 'keys'), `${keys}=`],
    [path(a.storeId, 'keys'), keys.slice(1)],
    [path(a.storeId, 'keys'), `${keys}%00`],
    [path(a.storeId, 'keys'), b.keys],
    [path(a.storeId, 'keys'), ''],
  ] as const
  for (const [list, cursor] of wrong) {
    const reply = await api.get(`${list}${list.includes('?') ? '&' : '?'}cursor=${cursor}`, { as })
    expect([reply.status, reply.body.code], `${list} ${cursor}`).toEqual([400, 'invalid_cursor'])
  }
  // Another user's own list is another list.
  await api.post(world.billing, NEW_ADDRESS, { as: manager.token })
  await api.post(world.billing, NEW_ADDRESS, { as })
  await api.post(world.billing, NEW_ADDRESS, { as })
  const mine = await cursorOf(`${world.billing}?`)
  expect((await api.get(`${world.billing}?cursor=${mine}`, { as: manager.token })).body.code).toBe('invalid_cursor')
})

test('5. nobody gives what they do not hold, as a member or as a key, and nothing is changed', async () => {
  const { api, owner, store, keys, member, sql } = await shop({ EXTRA_PERMISSIONS: 'MANAGE_RETURNS' })
  const manager = await member('MANAGER')
  const staff = await member('STAFF')
  const { body: weak } = await api.post(
    keys,
    { ...NEW_KEY, permissions: ['MANAGE_KEYS', 'MANAGE_MEMBERS', 'READ'] },
    { as: owner.token },
  )
  const before = await rowsOf(sql, store.id)
  const members = `/v1/user/store/${store.id}/members`
  const invitations = `/v1/user/store/${store.id}/invitations`
  const tries: [string, () => Promise<Reply>, string[]][] = [
    [
      'a manager makes a key',
      () =>
        api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_STORE', 'MANAGE_RETURNS'] }, { as: manager.token }),
      ['MANAGE_STORE', 'MANAGE_RETURNS'],
    ],
    ['a key makes a key', () => api.post(keys, NEW_KEY, { as: weak.key }), ['WRITE']],
    [
      'a manager invites an owner',
      () => api.post(invitations, { email: 'x@example.com', role: 'OWNER' }, { as: manager.token }),
      ['MANAGE_STORE', 'MANAGE_RETURNS'],
    ],
    [
      'a manager invites with more',
      () =>
        api.post(
          invitations,
          { email: 'x@example.com', role: 'CUSTOMER', permissions: ['MANAGE_STORE'] },
          { as: manager.token },
        ),
      ['MANAGE_STORE'],
    ],
    [
      'a key invites staff',
      () => api.post(invitations, { email: 'x@example.com', role: 'STAFF' }, { as: weak.key }),
      ['WRITE'],
    ],
    [
      'a manager promotes themselves',
      () => api.patch(`${members}/${manager.id}`, { role: 'OWNER' }, { as: manager.token }),
      ['MANAGE_STORE', 'MANAGE_RETURNS'],
    ],
    [
      'a manager promotes a friend',
      () => api.patch(`${members}/${staff.id}`, { permissions: ['MANAGE_RETURNS'] }, { as: manager.token }),
      ['MANAGE_RETURNS'],
    ],
  ]
  for (const [what, ask, lacking] of tries) {
    const reply = await ask()
    expect([reply.status, reply.body.code, reply.body.permissions], what).toEqual([403, 'cannot_grant', lacking])
  }
  // Nor is somebody who holds more theirs to change.
  for (const as of [manager.token, weak.key]) {
    expect((await api.patch(`${members}/${owner.id}`, { role: 'CUSTOMER' }, { as })).body.code).toBe('outranked')
    expect((await api.delete(`${members}/${owner.id}?keys=revoke`, { as })).body.code).toBe('outranked')
  }
  expect(await rowsOf(sql, store.id)).toEqual(before)
  expect((await api.get(`${keys}/grantable`, { as: weak.key })).body.permissions).toEqual([
    'READ',
    'MANAGE_KEYS',
    'MANAGE_MEMBERS',
  ])
})

test('6. a permission taken away between a request and its replay: the replay is 403', async () => {
  const { api, owner, store, keys, member } = await shop()
  const manager = await member('MANAGER')
  const ask = { as: manager.token, headers: { 'idempotency-key': 'the-very-same' } }
  const first = await api.post(keys, NEW_KEY, ask)
  expect(first.status).toBe(201)
  expect((await api.post(keys, NEW_KEY, ask)).text).toBe(first.text)
  await api.patch(`/v1/user/store/${store.id}/members/${manager.id}`, { permissions: ['READ'] }, { as: owner.token })
  const replay = await api.post(keys, NEW_KEY, ask)
  expect([replay.status, replay.body.code]).toEqual([403, 'insufficient_permission'])
  expect(replay.text).not.toContain(first.body.key)
  await api.delete(`/v1/user/store/${store.id}/members/${manager.id}`, { as: owner.token })
  expect((await api.post(keys, NEW_KEY, ask)).body.code).toBe('store_not_found')
})

test('6. a deleted user’s sessions are worth nothing at once', async () => {
  const { api, member, sql, billing } = await shop()
  const gone = await member('CUSTOMER')
  expect((await api.get(billing, { as: gone.token })).status).toBe(200)
  await sql('delete from users where id = $1', [gone.id])
  expect((await api.get(billing, { as: gone.token })).body.code).toBe('invalid_token')
})

test('7. who you are is what you present, not what you write', async () => {
  const { api, owner, store, keys, billing, sql } = await shop({ alone: true })
  const before = await rowsOf(sql, store.id)
  const claims = { userId: owner.id, createdBy: { kind: 'user', id: owner.id }, storeId: store.id }
  for (const [path, body] of [
    [keys, NEW_KEY],
    [billing, NEW_ADDRESS],
    ['/v1/user/store', { name: 'Mine' }],
  ] as const) {
    const reply = await api.post(path, { ...body, ...claims })
    expect([reply.status, reply.body.code], path).toEqual([401, 'unauthenticated'])
    const headers = { 'x-user-id': owner.id, 'x-forwarded-user': owner.email, cookie: `userId=${owner.id}` }
    expect((await api.post(path, body, { headers })).status).toBe(401)
  }
  expect(await rowsOf(sql, store.id)).toEqual(before)
  expect(await sql('select id from stores')).toHaveLength(1)
})

// ---- helpers --------------------------------------------------------------------------------------------------------

const KIND = { keys: 'key', members: 'user', invitations: 'inv', billing: 'addr' } as const

/** A store with a few of everything, and a key that holds everything; the ids are those of one of each. */
async function storeOf({ api, person }: Shop, owner: Person) {
  const as = owner.token
  const storeId = (await api.post('/v1/user/store', { name: 'A store' }, { as })).body.id
  const path = `/v1/user/store/${storeId}`
  const guest = await person()
  const { token } = (await api.post(`${path}/invitations`, { email: guest.email, role: 'STAFF' }, { as })).body
  await api.post('/v1/user/invitations/accept', { token }, { as: guest.token })
  const { permissions } = (await api.get(`${path}/keys/grantable`, { as })).body
  const { body: key } = await api.post(`${path}/keys`, { ...NEW_KEY, permissions }, { as })
  const { body: other } = await api.post(`${path}/keys`, { ...NEW_KEY, type: 'TEST' }, { as })
  const invitation = (n: number) =>
    api.post(`${path}/invitations`, { email: `${n}@example.com`, role: 'STAFF' }, { as })
  await invitation(1)
  await api.post(`/v1/store/${storeId}/billing`, NEW_ADDRESS, { as })
  return {
    owner,
    storeId: storeId as string,
    key: key.key as string,
    keys: other.id as string,
    members: guest.id,
    invitations: (await invitation(2)).body.id as string,
    billing: (await api.post(`/v1/store/${storeId}/billing`, NEW_ADDRESS, { as })).body.id as string,
  }
}

async function* crawl({ api }: Shop, list: string, as: string): AsyncGenerator<Reply> {
  let cursor: string | null = null
  do {
    const query = `${list.includes('?') ? '&' : '?'}limit=1${cursor === null ? '' : `&cursor=${cursor}`}`
    const page: Reply = await api.get(
      /\/(keys|members|invitations|billing|store|sessions|versions)(\?|$)/.test(list) ? list + query : list,
      { as },
    )
    yield page
    cursor = page.body.nextCursor ?? null
  } while (cursor !== null)
}

/** All that a store holds, as the database has it; when something was last used is no part of it, nor an event's seal. */
async function rowsOf(sql: Shop['sql'], storeId: string): Promise<unknown> {
  const held: Record<string, unknown[]> = { stores: await sql('select * from stores where id = $1', [storeId]) }
  for (const table of ['members', 'invitations', 'api_keys', 'addresses', 'address_versions', 'webhooks']) {
    const rows = await sql(`select * from ${table} where store_id = $1 order by 1, 2`, [storeId])
    held[table] = rows.map(({ last_used_at: _, secret_used_at: __, ...row }) => row)
  }
  const events = await sql('select * from events where store_id = $1 order by id', [storeId])
  held.events = events.map(({ seq: _, hash: __, ...row }) => row)
  return held
}

/** An answer without what is different each time, and without the path it was asked under. */
function bare({ status, headers, body }: Reply) {
  const { requestId: _, instance: __, ...rest } = body
  return { status, type: headers.get('content-type'), allow: headers.get('allow'), body: rest }
}
