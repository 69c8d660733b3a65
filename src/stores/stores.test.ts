import { expect, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Person, type Reply, shop } from '../../tests/shop.ts'
import { DAY, MINUTE, travel } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { BUILT_IN_PERMISSIONS } from '../core/permissions.ts'
import { routes } from '../routes.ts'
import { purgeStores } from './purge.ts'

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** A problem without the two members that belong to one request. */
function told({ body: { requestId: _, instance: __, ...rest } }: Reply): object {
  return rest
}

// ---- create ---------------------------------------------------------------------------------------------------------

test('201: whoever makes a store is its owner', async () => {
  const { api, person } = await shop()
  const ada = await person()
  const made = await api.post('/v1/user/store', { name: '  Analytical Engines ' }, { as: ada.token })
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.stringMatching(/^store_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    name: 'Analytical Engines',
    registration: 'CLOSED',
    leakGraceSeconds: 0,
    frozenAt: null,
    deletedAt: null,
    createdAt: expect.stringMatching(RFC_3339),
    updatedAt: made.body.createdAt,
  })
  const path = `/v1/user/store/${made.body.id}`
  expect(made.headers.get('location')).toBe(path)
  const read = await api.get(path, { as: ada.token })
  expect([read.status, read.body]).toEqual([200, made.body])
  expect(read.headers.get('etag')).toBe(made.headers.get('etag'))
  expect((await api.get('/v1/user/store', { as: ada.token })).body).toEqual({ data: [made.body], nextCursor: null })
  expect((await api.get('/v1/user', { as: ada.token })).body.stores).toEqual([
    { store: made.body, role: 'OWNER', permissions: [...BUILT_IN_PERMISSIONS] },
  ])

  const settings = { name: 'Open house', registration: 'OPEN', leakGraceSeconds: 604_800 }
  const open = await api.post('/v1/user/store', settings, { as: ada.token })
  expect(open.body).toMatchObject(settings)
  expect((await api.get(`/v1/user/store/${open.body.id}`, { as: ada.token })).body).toEqual(open.body)
})

test('422: every fault of a new store is told at once', async () => {
  const { api, owner, sql } = await shop({ alone: true })
  const refused = await api.post(
    '/v1/user/store',
    { name: ' ', registration: 'MAYBE', leakGraceSeconds: 604_801, id: newId('store'), ownerId: newId('user') },
    { as: owner.token },
  )
  expect(refused.status).toBe(422)
  const faults = refused.body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
  expect(faults.sort()).toEqual([
    '#/id unknown_member',
    '#/leakGraceSeconds too_large',
    '#/name too_short',
    '#/ownerId unknown_member',
    '#/registration unknown_value',
  ])
  for (const name of [1, null, ['x'], 'x'.repeat(101), 'a\u202Eb', '\u200B'])
    expect((await api.post('/v1/user/store', { name }, { as: owner.token })).status).toBe(422)
  expect((await api.post('/v1/user/store', { name: '\u{1f6d2}'.repeat(100) }, { as: owner.token })).status).toBe(201)
  expect(await sql('select count(*)::int from stores')).toEqual([{ count: 2 }])
})

test('403: an API key makes no stores and has no list of them', async () => {
  const { api, owner, keys } = await shop()
  const key = (await api.post(keys, { ...NEW_KEY, permissions: [...BUILT_IN_PERMISSIONS] }, { as: owner.token })).body
  for (const refused of [
    await api.post('/v1/user/store', { name: 'A store of its own' }, { as: key.key }),
    await api.get('/v1/user/store', { as: key.key }),
  ])
    expect([refused.status, refused.body.code]).toEqual([403, 'user_required'])
})

// ---- list -----------------------------------------------------------------------------------------------------------

test('25 stores are read a page at a time, newest first, each of them once', async () => {
  const { api, person, owner } = await shop()
  const ada = await person()
  const names = Array.from({ length: 25 }, (_, n) => `Store ${n + 1}`)
  for (const name of names) await api.post('/v1/user/store', { name }, { as: ada.token })

  for (const [query, lengths] of [
    ['', [20, 5]],
    ['limit=10', [10, 10, 5]],
    ['limit=5', [5, 5, 5, 5, 5]],
    ['limit=25', [25]],
    ['limit=100', [25]],
  ] as const) {
    const pages: { name: string }[][] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body }: Reply = await api.get(`/v1/user/store?${query}${cursor && `&cursor=${cursor}`}`, {
        as: ada.token,
      })
      pages.push(body.data)
      cursor = body.nextCursor
    }
    expect(pages.map((page) => page.length)).toEqual(lengths)
    expect(pages.flat().map((store) => store.name)).toEqual([...names].reverse())
  }

  const { nextCursor } = (await api.get('/v1/user/store', { as: ada.token })).body
  const altered = `${nextCursor.slice(0, -1)}${nextCursor.endsWith('A') ? 'B' : 'A'}`
  for (const [cursor, as] of [
    [nextCursor, owner.token],
    [altered, ada.token],
    ['x', ada.token],
    ['', ada.token],
  ]) {
    const refused = await api.get(`/v1/user/store?cursor=${cursor}`, { as })
    expect([cursor, refused.status, refused.body.code]).toEqual([cursor, 400, 'invalid_cursor'])
  }
  const elsewhere = await api.get(`/v1/user/sessions?cursor=${nextCursor}`, { as: ada.token })
  expect([elsewhere.status, elsewhere.body.code]).toEqual([400, 'invalid_cursor'])
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'limit=1.5', 'limit=1&limit=2', 'limit[]=1', 'sort=name'])
    expect([query, (await api.get(`/v1/user/store?${query}`, { as: ada.token })).status]).toEqual([query, 422])
})

test('a list shows the stores one has a part in, and no others', async () => {
  const { api, person, member, store } = await shop()
  const staff = await member('STAFF')
  const mine = (await api.post('/v1/user/store', { name: 'Mine' }, { as: staff.token })).body
  expect((await api.get('/v1/user/store', { as: staff.token })).body.data).toEqual([mine, store])
  const stranger = await person()
  expect((await api.get('/v1/user/store', { as: stranger.token })).body).toEqual({ data: [], nextCursor: null })
})

// ---- change ---------------------------------------------------------------------------------------------------------

test('403: a key can shorten the grace of leaked keys, but not lengthen it', async () => {
  const { api, owner, store, keys } = await shop()
  const as = { as: owner.token }
  const path = `/v1/user/store/${store.id}`
  const clerk = { as: (await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_STORE'] }, as)).body.key }
  await api.patch(path, { leakGraceSeconds: 3600 }, as)
  for (const leakGraceSeconds of [3601, 604_800]) {
    const { status, body } = await api.patch(path, { leakGraceSeconds, name: 'Renamed' }, clerk)
    expect([status, body.code]).toEqual([403, 'cannot_grant'])
  }
  for (const leakGraceSeconds of [3600, 0])
    expect((await api.patch(path, { leakGraceSeconds }, clerk)).status, String(leakGraceSeconds)).toBe(200)
  expect((await api.get(path, as)).body).toMatchObject({ name: store.name, leakGraceSeconds: 0 })
})

test('200: a store is changed, and only what was sent', async () => {
  const { api, owner, store } = await shop()
  const path = `/v1/user/store/${store.id}`
  travel(MINUTE)
  const renamed = await api.patch(path, { name: 'The better shop' }, { as: owner.token })
  expect([renamed.status, renamed.body]).toEqual([
    200,
    { ...store, name: 'The better shop', updatedAt: expect.stringMatching(RFC_3339) },
  ])
  expect(Date.parse(renamed.body.updatedAt)).toBeGreaterThan(Date.parse(renamed.body.createdAt))
  const opened = await api.patch(path, { registration: 'OPEN' }, { as: owner.token })
  expect(opened.body).toEqual({ ...renamed.body, registration: 'OPEN', updatedAt: opened.body.updatedAt })
  const patient = await api.patch(path, { leakGraceSeconds: 3600 }, { as: owner.token })
  expect(patient.body).toEqual({ ...opened.body, leakGraceSeconds: 3600, updatedAt: patient.body.updatedAt })
  const read = await api.get(path, { as: owner.token })
  expect([read.body, read.headers.get('etag')]).toEqual([patient.body, patient.headers.get('etag')])
})

test('200: an empty change, or one that says what is so already, changes nothing', async () => {
  const { api, owner, store, sql } = await shop()
  const path = `/v1/user/store/${store.id}`
  const before = await api.get(path, { as: owner.token })
  const events = () => sql('select id from events where store_id = $1', [store.id])
  const count = (await events()).length
  travel(MINUTE)
  for (const changes of [{}, { name: 'The shop' }, { name: 'The shop', registration: 'CLOSED', leakGraceSeconds: 0 }]) {
    const same = await api.patch(path, changes, { as: owner.token })
    expect([same.status, same.body]).toEqual([200, before.body])
    expect(same.headers.get('etag')).toBe(before.headers.get('etag'))
  }
  expect(await events()).toHaveLength(count)
})

test('412: a change made on what is no longer there is refused', async () => {
  const { api, owner, store } = await shop()
  const path = `/v1/user/store/${store.id}`
  const seen = (await api.get(path, { as: owner.token })).headers.get('etag') as string
  const change = (name: string, etag: string) =>
    api.patch(path, { name }, { as: owner.token, headers: { 'if-match': etag } })
  const first = await change('First', seen)
  expect(first.status).toBe(200)
  const stale = await change('Second', seen)
  expect(stale.status).toBe(412)
  expect(told(stale)).toEqual({
    type: '/errors/precondition_failed',
    title: 'Precondition failed',
    status: 412,
    detail:
      'It was changed in the meantime: your "If-Match" is not the current ETag. Read it again and repeat your change.',
    code: 'precondition_failed',
  })
  const removal = await api.delete(path, { as: owner.token, headers: { 'if-match': seen } })
  expect(removal.status).toBe(412)
  expect((await change('Second', `W/${first.headers.get('etag')}`)).status).toBe(412)
  expect((await api.get(path, { as: owner.token })).body.name).toBe('First')
  expect((await change('Second', `"other", ${first.headers.get('etag')}`)).status).toBe(200)
  expect((await change('Third', '*')).status).toBe(200)
})

test('412: of two changes made on the same state at once one wins', async () => {
  const { api, owner, store } = await shop()
  const path = `/v1/user/store/${store.id}`
  const etag = (await api.get(path, { as: owner.token })).headers.get('etag') as string
  const answers = await Promise.all(
    ['One', 'Two', 'Three'].map((name) =>
      api.patch(path, { name }, { as: owner.token, headers: { 'if-match': etag } }),
    ),
  )
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, 412, 412])
  const winner = answers.find((answer) => answer.status === 200)
  expect((await api.get(path, { as: owner.token })).body).toEqual(winner?.body)
})

test('422: a change with a fault changes nothing', async () => {
  const { api, owner, store } = await shop()
  const path = `/v1/user/store/${store.id}`
  for (const changes of [
    { name: null },
    { name: '' },
    { registration: null },
    { leakGraceSeconds: null },
    { leakGraceSeconds: -1 },
    { leakGraceSeconds: 1.5 },
    { leakGraceSeconds: '60' },
    { id: store.id },
    { createdAt: null },
    [],
  ])
    expect((await api.patch(path, changes, { as: owner.token })).status).toBe(422)
  expect((await api.get(path, { as: owner.token })).body).toEqual(store)
})

// ---- who may --------------------------------------------------------------------------------------------------------

test('403: reading a store takes READ, changing it MANAGE_STORE', async () => {
  const { api, owner, member, keys, store } = await shop()
  const path = `/v1/user/store/${store.id}`
  const [manager, staff, customer, steward] = [
    await member('MANAGER'),
    await member('STAFF'),
    await member('CUSTOMER'),
    await member('STAFF', ['MANAGE_STORE']),
  ]
  const key = async (permissions: string[]) =>
    (await api.post(keys, { ...NEW_KEY, permissions }, { as: owner.token })).body.key
  const callers: [string, number, number][] = [
    [owner.token, 200, 200],
    [manager.token, 200, 403],
    [staff.token, 200, 403],
    [customer.token, 403, 403],
    [steward.token, 403, 200],
    [await key(['READ']), 200, 403],
    [await key(['MANAGE_STORE']), 403, 200],
    [await key(['WRITE', 'MANAGE_KEYS']), 403, 403],
  ]
  for (const [n, [as, read, change]] of callers.entries()) {
    expect([n, (await api.get(path, { as })).status]).toEqual([n, read])
    expect([n, (await api.patch(path, { name: `Store ${n}` }, { as })).status]).toEqual([n, change])
  }
  const refused = await api.patch(path, { name: 'Mine' }, { as: staff.token })
  expect(refused.status).toBe(403)
  expect(told(refused)).toEqual({
    type: '/errors/insufficient_permission',
    title: 'Missing permission',
    status: 403,
    detail: "This requires the permission MANAGE_STORE, which you don't have in this store.",
    code: 'insufficient_permission',
    required: ['MANAGE_STORE'],
  })
  expect(refused.headers.get('www-authenticate')).toBe(
    'Bearer realm="storekeeper", error="insufficient_scope", scope="MANAGE_STORE"',
  )
})

test('404: to a stranger a store looks as if it did not exist, whatever they ask', async () => {
  const { api, owner, person, store, keys } = await shop()
  const stranger = await person()
  const theirs = (await api.post('/v1/user/store', { name: 'Elsewhere' }, { as: stranger.token })).body
  const foreignKey = (
    await api.post(
      `/v1/user/store/${theirs.id}/keys`,
      { ...NEW_KEY, permissions: [...BUILT_IN_PERMISSIONS] },
      { as: stranger.token },
    )
  ).body.key
  const within = routes.filter((route) => route.path.includes('/:storeId'))
  expect(within.length).toBeGreaterThan(10)
  for (const route of within) {
    const ask = (storeId: string, as: string) =>
      api.ask(
        route.method,
        route.path.replace(':storeId', storeId).replace(':userId', owner.id).replace(/:\w+/g, newId('key')),
        route.method === 'GET' || route.method === 'DELETE' ? undefined : {},
        { as },
      )
    const none = await ask(newId('store'), stranger.token)
    expect([route.path, none.status, none.body.code]).toEqual([route.path, 404, 'store_not_found'])
    expect(told(await ask(store.id, stranger.token))).toEqual(told(none))
    expect(told(await ask('store_1', stranger.token))).toEqual(told(none))
    if (!['user', 'store user', 'owner'].includes(route.needs))
      expect(told(await ask(store.id, foreignKey))).toEqual(told(none))
  }
  expect((await api.get(keys, { as: owner.token })).body.data).toEqual([])
  expect((await api.get(`/v1/user/store/${store.id}`, { as: owner.token })).body).toEqual(store)
})

// ---- delete ---------------------------------------------------------------------------------------------------------

test('403: only an owner deletes a store, in person; 401: and with a session that was opened just now', async () => {
  const { api, owner, member, keys, store } = await shop()
  const path = `/v1/user/store/${store.id}`
  const all = [...BUILT_IN_PERMISSIONS]
  const steward = await member('MANAGER', all)
  const key = async (bounds: object) =>
    (await api.post(keys, { ...NEW_KEY, permissions: all, ...bounds }, { as: owner.token })).body.key
  for (const as of [await key({}), await key({ ipAllowlist: ['127.0.0.1/32'] })]) {
    const refused = await api.delete(path, { as })
    expect([refused.status, refused.body.code]).toEqual([403, 'user_required'])
  }
  const refused = await api.delete(path, { as: steward.token })
  expect([refused.status, refused.body.code, refused.body.required]).toEqual([
    403,
    'insufficient_permission',
    ['OWNER'],
  ])
  travel(11 * MINUTE)
  const old = await api.delete(path, { as: owner.token })
  expect([old.status, old.body.code]).toEqual([403, 'recent_sign_in_required'])
  const fresh = (await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })).body.token
  expect((await api.get(path, { as: fresh })).status).toBe(200)
  expect((await api.delete(path, { as: fresh })).status).toBe(204)
})

test('204: a deleted store is gone for everyone, and its keys stop working', async () => {
  const { api, owner, member, store, keys, billing, node } = await shop()
  const customer = await member('CUSTOMER')
  const key = (await api.post(keys, { ...NEW_KEY, permissions: [...BUILT_IN_PERMISSIONS] }, { as: owner.token })).body
  const address = (await api.post(billing, NEW_ADDRESS, { as: customer.token })).body
  const invitation = (
    await api.post(
      `/v1/user/store/${store.id}/invitations`,
      { email: customer.email, role: 'STAFF' },
      { as: owner.token },
    )
  ).body
  const other = await node()
  expect((await api.get(`/v1/user/store/${store.id}`, { as: key.key })).status).toBe(200)

  const gone = await api.delete(`/v1/user/store/${store.id}`, { as: owner.token })
  expect([gone.status, gone.text]).toEqual([204, ''])

  // Its owner alone can still restore it.
  const within = routes.filter(({ path }) => path.includes('/:storeId') && !path.endsWith('/restore'))
  for (const route of within) {
    const path = route.path
      .replace(':storeId', store.id)
      .replace(':keyId', key.id)
      .replace(':addressId', address.id)
      .replace(':invitationId', invitation.id)
      .replace(':userId', owner.id)
      .replace(/:\w+/g, newId('wh'))
    const body = route.method === 'GET' || route.method === 'DELETE' ? undefined : {}
    for (const as of [owner.token, customer.token]) {
      const answer = await api.ask(route.method, path, body, { as })
      expect([route.method, path, answer.status, answer.body.code]).toEqual([
        route.method,
        path,
        404,
        'store_not_found',
      ])
    }
    for (const at of [api, other]) {
      const answer = await at.ask(route.method, path, body, { as: key.key })
      expect([path, answer.status, answer.body.code]).toEqual([path, 401, 'invalid_token'])
    }
  }
  const late = await api.post('/v1/user/invitations/accept', { token: invitation.token }, { as: customer.token })
  expect([late.status, late.body.code]).toEqual([404, 'invitation_not_found'])
  expect((await api.get('/v1/user/store', { as: owner.token })).body).toEqual({ data: [], nextCursor: null })
  expect((await api.get('/v1/user', { as: owner.token })).body.stores).toEqual([])
})

test('what a deleted store held is kept for 30 days and then goes, but for its events', async () => {
  const { api, owner, store, keys, sql, service } = await shop({ alone: true })
  await api.post(keys, NEW_KEY, { as: owner.token })
  await api.delete(`/v1/user/store/${store.id}`, { as: owner.token })
  const held = async () =>
    (
      await sql(
        `select (select count(*)::int from stores where id = $1) as stores,
                (select count(*)::int from members where store_id = $1) as members,
                (select count(*)::int from api_keys where store_id = $1) as keys,
                (select count(*)::int from events where store_id = $1) as events`,
        [store.id],
      )
    )[0]
  travel(30 * DAY - MINUTE)
  await purgeStores(service.db)
  expect(await held()).toEqual({ stores: 1, members: 1, keys: 1, events: 3 })
  travel(2 * MINUTE)
  await purgeStores(service.db)
  expect(await held()).toEqual({ stores: 0, members: 0, keys: 0, events: 3 })
})

// ---- what is written down -------------------------------------------------------------------------------------------

test('each change of a store leaves one event, written in the same transaction', async () => {
  const { api, owner, person, sql } = await shop()
  const ada = await person()
  const made = (await api.post('/v1/user/store', { name: 'Engines' }, { as: ada.token })).body
  const path = `/v1/user/store/${made.id}`
  const key = (await api.post(`${path}/keys`, { ...NEW_KEY, permissions: ['MANAGE_STORE'] }, { as: ada.token })).body
  const last = async () =>
    (
      await sql(
        `select event.type, event.xmin = store.xmin as together
           from events event
           join stores store on store.id = event.store_id
          where event.store_id = $1
          order by event.id desc
          limit 1`,
        [made.id],
      )
    )[0]
  await api.patch(path, { name: 'Difference Engines', registration: 'OPEN' }, { as: key.key })
  expect(await last()).toEqual({ type: 'store.updated', together: true })
  await api.patch(path, { name: 'Lost' }, { as: ada.token, headers: { 'if-match': '"r9"' } })
  await api.delete(path, { as: owner.token })
  await api.delete(path, { as: ada.token })
  expect(await last()).toEqual({ type: 'store.deleted', together: true })

  const session = expect.stringMatching(/^sess_/)
  const byUser = { kind: 'user', id: ada.id, credential: session, ip: '127.0.0.1' }
  const byKey = { kind: 'key', id: key.id, credential: key.id, ip: '127.0.0.1' }
  const events = await sql(
    "select type, actor, subject, data from events where store_id = $1 and type like 'store.%' order by id",
    [made.id],
  )
  expect(events).toEqual([
    {
      type: 'store.created',
      actor: byUser,
      subject: made.id,
      data: { name: 'Engines', registration: 'CLOSED', leakGraceSeconds: 0 },
    },
    {
      type: 'store.updated',
      actor: byKey,
      subject: made.id,
      data: {
        from: { name: 'Engines', registration: 'CLOSED', leakGraceSeconds: 0 },
        to: { name: 'Difference Engines', registration: 'OPEN', leakGraceSeconds: 0 },
      },
    },
    { type: 'store.deleted', actor: byUser, subject: made.id, data: {} },
  ])
  for (const secret of [ada.token, key.key]) expect(JSON.stringify(events)).not.toContain(secret)
})

test('500: a change whose event cannot be written is not made', async () => {
  const { api, owner, member, store, keys, sql } = await shop({ alone: true })
  const manager = await member('MANAGER')
  const path = `/v1/user/store/${store.id}`
  await api.post(keys, NEW_KEY, { as: manager.token })
  const invite = { email: 'charles@example.com', role: 'STAFF' }
  const open = (await api.post(`${path}/invitations`, invite, { as: owner.token })).body
  const everything = () =>
    sql(`select (select json_agg(row) from (select * from stores order by id) row) as stores,
                (select json_agg(row) from (select * from members order by store_id, user_id) row) as members,
                (select json_agg(row) from (select * from invitations order by id) row) as invitations,
                (select json_agg(row) from (select id, revoked_at from api_keys order by id) row) as keys`)
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no events'; end $$`)
  await sql('create trigger refuse before insert on events for each row execute function refuse()')
  const before = await everything()
  expect(before[0].keys).toEqual([{ id: expect.any(String), revoked_at: null }])
  for (const [method, below, body] of [
    ['PATCH', '', { name: 'Another' }],
    ['DELETE', '', undefined],
    ['PATCH', `/members/${manager.id}`, { role: 'STAFF' }],
    ['DELETE', `/members/${manager.id}?keys=revoke`, undefined],
    ['POST', '/invitations', invite],
    ['DELETE', `/invitations/${open.id}`, undefined],
  ] as const) {
    const failed = await api.ask(method, path + below, body, { as: owner.token })
    expect([method, below, failed.status, failed.body.code]).toEqual([method, below, 500, 'internal_error'])
  }
  expect((await api.post('/v1/user/store', { name: 'New' }, { as: owner.token })).status).toBe(500)
  expect(await everything()).toEqual(before)
})

// ---- deleted, and back again ----------------------------------------------------------------------------------------

test('a deleted store is restored within 30 days, with all it had, by an owner who has just signed in', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, keys, member, person, serviceToken, service } = world
  const signIn = async ({ email, password }: Person) =>
    (await api.post('/v1/auth/sign-in', { email, password })).body.token as string
  const manager = await member('MANAGER', [...BUILT_IN_PERMISSIONS])
  const stranger = await person()
  const key = (await api.post(keys, NEW_KEY, { as: owner.token })).body.key
  const as = await serviceToken()
  const verify = async () => (await api.post('/v1/keys/verify', { key }, { as })).body.code
  const path = `/v1/user/store/${store.id}`
  const restore = async (as: string) => api.post(`${path}/restore`, undefined, { as })
  expect((await restore(owner.token)).body.code).toBe('store_not_found')
  await api.delete(path, { as: owner.token })
  expect(await verify()).toBe('NOT_FOUND')

  const deleted = async (as: string) => (await api.get('/v1/user/store?deleted=true', { as })).body.data
  expect(await deleted(owner.token)).toMatchObject([{ id: store.id, deletedAt: expect.any(String) }])
  expect(await deleted(manager.token)).toEqual([])
  expect((await api.get('/v1/user/store', { as: owner.token })).body.data).toEqual([])
  for (const { token } of [manager, stranger]) expect((await restore(token)).body.code).toBe('store_not_found')

  travel(29 * DAY)
  expect((await restore(owner.token)).body.code).toBe('recent_sign_in_required')
  const fresh = await signIn(owner)
  const restored = await restore(fresh)
  expect([restored.status, restored.body]).toMatchObject([200, { id: store.id, deletedAt: null }])
  expect(restored.headers.get('etag')).toBe((await api.get(path, { as: fresh })).headers.get('etag'))
  expect(await verify()).toBe('VALID')
  expect((await api.get(`${path}/members`, { as: fresh })).body.data).toHaveLength(2)
  expect(await deleted(fresh)).toEqual([])
  const [event] = (await api.get(`${path}/events?type=store.restored`, { as: fresh })).body.data
  expect(event).toMatchObject({ subject: store.id, actor: { id: owner.id } })

  await api.delete(path, { as: fresh })
  travel(30 * DAY)
  const late = await signIn(owner)
  expect(await deleted(late)).toEqual([])
  expect((await restore(late)).body.code).toBe('store_not_found')
  await purgeStores(service.db)
  expect((await restore(late)).body.code).toBe('store_not_found')
})

test('what a store may have much of is purged in batches, not with what it belongs to', async () => {
  const { api, owner, store, keys, member, sql, service } = await shop({ alone: true })
  const as = { as: owner.token }
  const { id } = (await api.post(keys, NEW_KEY, as)).body
  await api.post(`${keys}/${id}/rotate`, {}, as)
  const customer = await member('CUSTOMER')
  await api.put(`/v1/user/store/${store.id}/customers/42`, { userId: customer.id }, as)
  for (const gone of [customer, await member('STAFF')])
    expect((await api.delete(`/v1/user/store/${store.id}/members/${gone.id}`, as)).status).toBeLessThan(300)
  await api.delete(`/v1/user/store/${store.id}`, as)
  const tables = { key_rotations: 'key_id', former_members: 'store_id', former_links: 'store_id' }
  for (const [table, column] of Object.entries(tables)) {
    expect(await sql(`select count(*)::int > 0 as found from ${table}`), table).toEqual([{ found: true }])
    const [{ name, definition }] = await sql(
      `select conname as name, pg_get_constraintdef(oid) as definition
         from pg_constraint
        where conrelid = $1::regclass and contype = 'f' and pg_get_constraintdef(oid) like $2`,
      [table, `FOREIGN KEY (${column}) %`],
    )
    const kept = definition.replace('CASCADE', 'RESTRICT')
    expect(kept).not.toBe(definition)
    await sql(`alter table ${table} drop constraint ${name}, add constraint ${name} ${kept}`)
  }
  travel(31 * DAY)
  await purgeStores(service.db)
  expect(await sql('select from stores where id = $1', [store.id])).toEqual([])
})

test('members are found by their role, and by a part of their name or e-mail', async () => {
  const { api, owner, store, member } = await shop()
  const staff = await member('STAFF')
  for (let n = 0; n < 3; n++) await member('CUSTOMER')
  const list = async (query: string) => {
    const { body } = await api.get(`/v1/user/store/${store.id}/members?${query}`, { as: owner.token })
    return body.data.map(({ userId }: { userId: string }) => userId)
  }
  expect(await list('role=STAFF')).toEqual([staff.id])
  expect(await list('role=CUSTOMER&limit=2')).toHaveLength(2)
  expect(await list(`q=${encodeURIComponent(staff.email.toUpperCase())}`)).toEqual([staff.id])
  expect(await list(`role=CUSTOMER&q=${encodeURIComponent(staff.email)}`)).toEqual([])
  expect((await api.get(`/v1/user/store/${store.id}/members?role=BOSS`, { as: owner.token })).status).toBe(422)
})

test('webhooks are found by who made them', async () => {
  const { api, owner, store, member } = await shop()
  const manager = await member('MANAGER')
  const path = `/v1/user/store/${store.id}/webhooks`
  const webhook = { url: 'https://93.184.215.14/', types: ['*'] }
  await api.post(path, webhook, { as: owner.token })
  const { id } = (await api.post(path, webhook, { as: manager.token })).body
  const { data } = (await api.get(`${path}?createdBy=${manager.id}`, { as: owner.token })).body
  expect(data.map((one: { id: string }) => one.id)).toEqual([id])
})
