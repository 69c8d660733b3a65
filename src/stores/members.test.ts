import { expect, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Person, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { type Received, receiver } from '../../tests/webhook-receiver.ts'
import { MINUTE, travel } from '../core/clock.ts'
import type { Fault } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { BUILT_IN_PERMISSIONS } from '../core/permissions.ts'

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ALL = [...BUILT_IN_PERMISSIONS]
const MANAGER = [
  'READ',
  'WRITE',
  'MANAGE_PRODUCTS',
  'MANAGE_ORDERS',
  'MANAGE_KEYS',
  'MANAGE_MEMBERS',
  'MANAGE_CUSTOMERS',
  'MANAGE_WEBHOOKS',
  'VIEW_EVENTS',
]

/** A problem without the two members that belong to one request. */
function told({ body: { requestId: _, instance: __, ...rest } }: Reply): object {
  return rest
}

function membersOf({ id }: { id: string }, somebody?: Person): string {
  return `/v1/user/store/${id}/members${somebody ? `/${somebody.id}` : ''}`
}

async function keyOf({ api, keys }: Shop, maker: Person, permissions: string[]): Promise<{ id: string; key: string }> {
  const made = await api.post(keys, { ...NEW_KEY, permissions }, { as: maker.token })
  expect(made.status).toBe(201)
  return made.body
}

// ---- list and read --------------------------------------------------------------------------------------------------

test('members are listed with what they hold, and read one by one', async () => {
  const { api, owner, member, sql, store } = await shop()
  const staff = await member('STAFF')
  const customer = await member('CUSTOMER')
  await sql('update users set email_verified_at = now(), email_proven = true where id = $1', [staff.id])
  // Somebody who was not signed in to the account has opened the link: whose account it is nobody knows.
  await sql('update users set email_verified_at = now() where id = $1', [customer.id])
  const shown = (somebody: Person, name: string, role: string, permissions: string[]) => ({
    storeId: store.id,
    userId: somebody.id,
    name,
    email: somebody.email,
    emailVerified: somebody === staff,
    role,
    permissions,
    createdAt: expect.stringMatching(RFC_3339),
    updatedAt: expect.stringMatching(RFC_3339),
  })
  const list = await api.get(membersOf(store), { as: owner.token })
  expect([list.status, list.body]).toEqual([
    200,
    {
      data: [
        shown(customer, 'A customer', 'CUSTOMER', []),
        shown(staff, 'A staff', 'STAFF', ['READ', 'WRITE']),
        shown(owner, 'Olive Owner', 'OWNER', ALL),
      ],
      nextCursor: null,
    },
  ])
  const read = await api.get(membersOf(store, staff), { as: staff.token })
  expect([read.status, read.body]).toEqual([200, list.body.data[1]])
  expect(read.headers.get('etag')).toEqual(expect.any(String))

  const first = (await api.get(`${membersOf(store)}?limit=2`, { as: owner.token })).body
  expect(first).toEqual({ data: list.body.data.slice(0, 2), nextCursor: expect.any(String) })
  const rest = await api.get(`${membersOf(store)}?limit=2&cursor=${first.nextCursor}`, { as: owner.token })
  expect(rest.body).toEqual({ data: list.body.data.slice(2), nextCursor: null })
  const other = (await api.post('/v1/user/store', { name: 'Other' }, { as: owner.token })).body
  const carried = await api.get(`${membersOf(other)}?cursor=${first.nextCursor}`, { as: owner.token })
  expect([carried.status, carried.body.code]).toEqual([400, 'invalid_cursor'])
})

test('somebody is found by name among thousands, a part of whom is looked at for each page', async () => {
  const { api, owner, sql, store } = await shop()
  await sql('update users set name = $2 where id = $1', [owner.id, 'Ada of the first day'])
  await sql(
    `with made as (
       insert into users (id, email, name, password_hash, data_key, data_key_kid, created_at, updated_at)
       select 'user_9' || lpad(n::text, 25, '0'), $2 || n || '@example.com', 'Crowd', '', data_key, data_key_kid, now(), now()
         from users cross join generate_series(1, 5000) as n
        where id = $1
       returning id
     )
     insert into members (store_id, user_id, role, created_at, updated_at)
     select $3, id, 'CUSTOMER', now(), now() from made`,
    [owner.id, store.id, store.id],
  )
  const find = async (cursor: string | null, q = 'first day') => {
    const { body } = await api.get(`${membersOf(store)}?q=${q}${cursor ? `&cursor=${cursor}` : ''}`, {
      as: owner.token,
    })
    return { found: body.data.map(({ userId }: { userId: string }) => userId), nextCursor: body.nextCursor }
  }
  const first = await find(null)
  expect(first).toEqual({ found: [], nextCursor: expect.any(String) })
  expect(await find(first.nextCursor)).toEqual({ found: [owner.id], nextCursor: null })
  expect((await find(null, 'crowd')).found).toHaveLength(20)
})

test('404: somebody who is no member looks like nobody', async () => {
  const { api, owner, person, store } = await shop()
  const stranger = await person()
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const ask = (id: string) =>
      api.ask(method, `${membersOf(store)}/${id}`, method === 'PATCH' ? { role: 'STAFF' } : undefined, {
        as: owner.token,
      })
    const none = await ask(newId('user'))
    expect([none.status, none.body.code]).toEqual([404, 'member_not_found'])
    for (const id of [stranger.id, 'user_1', store.id, '%27%20or%201%3D1--'])
      expect(told(await ask(id))).toEqual(told(none))
  }
})

// ---- roles and permissions ------------------------------------------------------------------------------------------

test('each role brings its permissions, and they are what one may do', async () => {
  const { api, owner, member, store, keys } = await shop()
  const expected: [Person, string[], { read: number; keys: number; members: number }][] = [
    [owner, ALL, { read: 200, keys: 200, members: 200 }],
    [await member('MANAGER'), MANAGER, { read: 200, keys: 200, members: 200 }],
    [await member('STAFF'), ['READ', 'WRITE'], { read: 200, keys: 403, members: 403 }],
    [await member('CUSTOMER'), [], { read: 403, keys: 403, members: 403 }],
    [await member('STAFF', ['MANAGE_KEYS']), ['MANAGE_KEYS'], { read: 403, keys: 200, members: 403 }],
    [await member('CUSTOMER', ['READ']), ['READ'], { read: 200, keys: 403, members: 403 }],
    [await member('MANAGER', []), [], { read: 403, keys: 403, members: 403 }],
  ]
  for (const [{ token: as }, permissions, may] of expected) {
    const me = (await api.get('/v1/user', { as })).body
    expect(me.stores[0].permissions).toEqual(permissions)
    expect({
      read: (await api.get(membersOf(store), { as })).status,
      keys: (await api.get(keys, { as })).status,
      members: (await api.get(`/v1/user/store/${store.id}/invitations`, { as })).status,
    }).toEqual(may)
  }
})

test("an operator's own permissions belong to owners, and are given like any other", async () => {
  const { api, owner, member, store } = await shop({ EXTRA_PERMISSIONS: 'MANAGE_RETURNS' })
  const staff = await member('STAFF')
  expect((await api.get(membersOf(store, owner), { as: owner.token })).body.permissions).toEqual([
    ...ALL,
    'MANAGE_RETURNS',
  ])
  const given = await api.patch(
    membersOf(store, staff),
    { permissions: ['MANAGE_RETURNS', 'READ'] },
    { as: owner.token },
  )
  expect([given.status, given.body.member.permissions]).toEqual([200, ['READ', 'MANAGE_RETURNS']])
})

test('permissions are set one by one, put back to those of the role, and count from the next request on', async () => {
  const { api, owner, member, store, keys, node, everywhere } = await shop()
  const staff = await member('STAFF')
  const elsewhere = await node()
  const path = membersOf(store, staff)
  const change = async (changes: object) => {
    const { member } = (await api.patch(path, changes, { as: owner.token })).body
    await everywhere()
    return member
  }
  const mayKeys = async () =>
    Promise.all([api, elsewhere].map(async (at) => (await at.get(keys, { as: staff.token })).status))

  expect(await mayKeys()).toEqual([403, 403])
  expect(await change({ permissions: ['MANAGE_KEYS', 'READ'] })).toMatchObject({
    role: 'STAFF',
    permissions: ['READ', 'MANAGE_KEYS'],
  })
  expect(await mayKeys()).toEqual([200, 200])
  expect(await change({ permissions: null })).toMatchObject({ role: 'STAFF', permissions: ['READ', 'WRITE'] })
  expect(await mayKeys()).toEqual([403, 403])
  expect(await change({ permissions: [] })).toMatchObject({ role: 'STAFF', permissions: [] })
  // A new role brings its own.
  expect(await change({ role: 'MANAGER' })).toMatchObject({ role: 'MANAGER', permissions: MANAGER })
  expect(await mayKeys()).toEqual([200, 200])
  expect(await change({ role: 'STAFF', permissions: ['WRITE'] })).toMatchObject({
    role: 'STAFF',
    permissions: ['WRITE'],
  })
  // An owner holds everything: permissions beside that role are a mistake, and told as one.
  const mistaken = await api.patch(path, { role: 'OWNER', permissions: ['READ'] }, { as: owner.token })
  expect([mistaken.status, mistaken.body.errors[0].code]).toEqual([422, 'owner_holds_all'])
  expect(await change({ role: 'OWNER' })).toMatchObject({ role: 'OWNER', permissions: ALL })
})

test('422: roles and permissions that do not exist are refused, each with its place', async () => {
  const { api, owner, member, store } = await shop()
  const staff = await member('STAFF')
  const refused = await api.patch(
    membersOf(store, staff),
    { role: 'KING', permissions: ['READ', 'FLY', 'read'], userId: owner.id },
    { as: owner.token },
  )
  expect(refused.status).toBe(422)
  const faults = refused.body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
  expect(faults.sort()).toEqual([
    '#/permissions/1 unknown_permission',
    '#/permissions/2 unknown_permission',
    '#/role unknown_value',
    '#/userId unknown_member',
  ])
  for (const changes of [
    { permissions: ['READ', 'READ'] },
    { role: null },
    { permissions: 'READ' },
    { role: ['STAFF'] },
  ])
    expect((await api.patch(membersOf(store, staff), changes, { as: owner.token })).status).toBe(422)
  for (const cascade of ['keys=burn', 'keys=disable', 'webhooks=burn', 'webhooks=revoke'])
    expect((await api.patch(`${membersOf(store, staff)}?${cascade}`, {}, { as: owner.token })).status).toBe(422)
  expect((await api.get(membersOf(store, staff), { as: owner.token })).body).toMatchObject({
    role: 'STAFF',
    permissions: ['READ', 'WRITE'],
  })
})

test('200: an empty change, or one that says what is so already, changes nothing; 412: a stale one is refused', async () => {
  const { api, owner, member, store, sql } = await shop()
  const staff = await member('STAFF', ['READ', 'WRITE'])
  const path = membersOf(store, staff)
  const before = await api.get(path, { as: owner.token })
  travel(MINUTE)
  for (const changes of [
    {},
    { role: 'STAFF' },
    { permissions: ['READ', 'WRITE'] },
    { permissions: ['WRITE', 'READ'] },
  ]) {
    const same = await api.patch(path, changes, { as: owner.token })
    expect([same.status, same.body]).toEqual([
      200,
      { member: before.body, keys: [], webhooks: [], members: [], serviceTokens: [] },
    ])
    expect(same.headers.get('etag')).toBe(before.headers.get('etag'))
  }
  expect(await sql("select id from events where type = 'member.updated' and store_id = $1", [store.id])).toEqual([])

  const etag = before.headers.get('etag') as string
  const options = { as: owner.token, headers: { 'if-match': etag } }
  expect((await api.patch(path, { role: 'CUSTOMER' }, options)).status).toBe(200)
  expect((await api.patch(path, { role: 'MANAGER' }, options)).status).toBe(412)
  expect((await api.delete(path, options)).status).toBe(412)
  expect((await api.get(path, { as: owner.token })).body.role).toBe('CUSTOMER')
})

// ---- nobody gives what they do not hold -----------------------------------------------------------------------------

test('403: a manager gives no permission they do not hold, and each of them is named', async () => {
  const { api, member, store, sql } = await shop({ EXTRA_PERMISSIONS: 'MANAGE_RETURNS' })
  const [manager, staff] = [await member('MANAGER'), await member('STAFF')]
  const path = membersOf(store, staff)
  const refused = await api.patch(
    path,
    { permissions: ['READ', 'MANAGE_STORE', 'MANAGE_RETURNS'] },
    { as: manager.token },
  )
  expect(refused.status).toBe(403)
  expect(told(refused)).toEqual({
    type: '/errors/cannot_grant',
    title: "You can't grant a permission you don't have",
    status: 403,
    detail: "You can't grant MANAGE_STORE, MANAGE_RETURNS, because you don't have them in this store.",
    code: 'cannot_grant',
    permissions: ['MANAGE_STORE', 'MANAGE_RETURNS'],
  })
  const crowned = await api.patch(path, { role: 'OWNER' }, { as: manager.token })
  expect([crowned.status, crowned.body.permissions]).toEqual([403, ['MANAGE_STORE', 'MANAGE_RETURNS']])
  const self = await api.patch(membersOf(store, manager), { permissions: ['MANAGE_STORE'] }, { as: manager.token })
  expect([self.status, self.body.permissions]).toEqual([403, ['MANAGE_STORE']])
  expect((await api.get(path, { as: manager.token })).body).toMatchObject({
    role: 'STAFF',
    permissions: ['READ', 'WRITE'],
  })
  expect(await sql("select id from events where type = 'member.updated'")).toEqual([])
  expect((await api.patch(path, { role: 'MANAGER' }, { as: manager.token })).status).toBe(200)
})

test('403: an API key gives no permission it does not hold', async () => {
  const world = await shop()
  const { api, owner, member, store } = world
  const customer = await member('CUSTOMER')
  const { key } = await keyOf(world, owner, ['READ', 'MANAGE_MEMBERS'])
  const path = membersOf(store, customer)
  const refused = await api.patch(path, { role: 'STAFF' }, { as: key })
  expect([refused.status, refused.body.code, refused.body.permissions]).toEqual([403, 'cannot_grant', ['WRITE']])
  const given = await api.patch(path, { permissions: ['READ', 'MANAGE_MEMBERS'] }, { as: key })
  expect([given.status, given.body.member.permissions]).toEqual([200, ['READ', 'MANAGE_MEMBERS']])
})

test('403: nobody changes or removes a member who holds more', async () => {
  const world = await shop()
  const { api, owner, member, store } = world
  const [manager, staff, clerk] = [
    await member('MANAGER'),
    await member('STAFF'),
    await member('STAFF', ['READ', 'MANAGE_MEMBERS']),
  ]
  const { key } = await keyOf(world, owner, ['READ', 'MANAGE_MEMBERS'])
  for (const [as, whom] of [
    [manager.token, owner],
    [clerk.token, manager],
    [clerk.token, staff],
    [key, staff],
    [key, owner],
  ] as const)
    for (const answer of [
      await api.patch(membersOf(store, whom), { role: 'CUSTOMER' }, { as }),
      await api.patch(membersOf(store, whom), {}, { as }),
      await api.delete(membersOf(store, whom), { as }),
    ])
      expect([answer.status, answer.body.code]).toEqual([403, 'outranked'])
  expect((await api.get(membersOf(store), { as: owner.token })).body.data).toHaveLength(4)
  expect((await api.delete(membersOf(store, clerk), { as: key })).status).toBe(200)
  expect((await api.delete(membersOf(store, staff), { as: manager.token })).status).toBe(200)
})

test('403: without MANAGE_MEMBERS nobody is changed or removed', async () => {
  const world = await shop()
  const { api, owner, member, store } = world
  const [staff, customer] = [await member('STAFF'), await member('CUSTOMER')]
  const { key } = await keyOf(world, owner, ['READ', 'WRITE', 'MANAGE_STORE', 'MANAGE_KEYS'])
  for (const as of [staff.token, customer.token, key])
    for (const answer of [
      await api.patch(membersOf(store, customer), { role: 'CUSTOMER' }, { as }),
      await api.delete(membersOf(store, customer), { as }),
    ])
      expect([answer.status, answer.body.required]).toEqual([403, ['MANAGE_MEMBERS']])
})

// ---- the last owner -------------------------------------------------------------------------------------------------

test('409: the last owner can be neither demoted nor removed', async () => {
  const world = await shop()
  const { api, owner, member, store } = world
  const { key } = await keyOf(world, owner, ALL)
  const path = membersOf(store, owner)
  // Whoever holds everything is not an owner yet, and does not touch one.
  for (const answer of [await api.patch(path, { role: 'MANAGER' }, { as: key }), await api.delete(path, { as: key })])
    expect([answer.status, answer.body.code]).toEqual([403, 'outranked'])
  for (const as of [owner.token])
    for (const answer of [await api.patch(path, { role: 'MANAGER' }, { as }), await api.delete(path, { as })])
      expect([answer.status, told(answer)]).toEqual([
        409,
        {
          type: '/errors/last_owner',
          title: 'A store needs at least one owner',
          status: 409,
          detail: 'Make somebody else an owner first.',
          code: 'last_owner',
        },
      ])
  const lessened = await api.patch(path, { permissions: [] }, { as: owner.token })
  expect([lessened.status, lessened.body.errors[0].code]).toEqual([422, 'owner_holds_all'])
  const second = await member('OWNER')
  expect((await api.patch(path, { role: 'STAFF' }, { as: owner.token })).status).toBe(200)
  expect((await api.delete(membersOf(store, second), { as: second.token })).status).toBe(409)
})

test('of two owners who demote or remove each other at once, exactly one succeeds', async () => {
  const { api, owner, person, sql } = await shop()
  const second = await person()
  for (let round = 0; round < 10; round++) {
    const store = (await api.post('/v1/user/store', { name: `Round ${round}` }, { as: owner.token })).body
    const invitation = await api.post(
      `/v1/user/store/${store.id}/invitations`,
      { email: second.email, role: 'OWNER' },
      { as: owner.token },
    )
    await api.post('/v1/user/invitations/accept', { token: invitation.body.token }, { as: second.token })
    const strike = (by: Person, at: Person, remove: boolean) =>
      remove
        ? api.delete(membersOf(store, at), { as: by.token })
        : api.patch(membersOf(store, at), { role: 'STAFF' }, { as: by.token })
    const answers = await Promise.all([strike(owner, second, round % 2 === 0), strike(second, owner, round % 3 === 0)])
    const statuses = answers.map((answer) => answer.status).sort()
    expect(statuses[0]).toBe(200)
    // The loser was the last owner, or had lost the right to ask by then.
    expect([403, 404, 409]).toContain(statuses[1])
    expect(await sql("select count(*)::int from members where store_id = $1 and role = 'OWNER'", [store.id])).toEqual([
      { count: 1 },
    ])
  }
})

test('an owner may step down beside another, both at once may not', async () => {
  const { api, owner, member, store, sql } = await shop()
  const second = await member('OWNER')
  const answers = await Promise.all(
    [owner, second].map((somebody) => api.patch(membersOf(store, somebody), { role: 'STAFF' }, { as: somebody.token })),
  )
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409])
  expect(await sql("select count(*)::int from members where store_id = $1 and role = 'OWNER'", [store.id])).toEqual([
    { count: 1 },
  ])
})

// ---- what becomes of their keys -------------------------------------------------------------------------------------

test('a member who is removed is out at once, and their keys stay unless asked otherwise', async () => {
  const world = await shop()
  const { api, owner, member, store, keys, billing, sql } = world
  const manager = await member('MANAGER')
  const { id, key } = await keyOf(world, manager, ['READ'])
  await api.post(billing, NEW_ADDRESS, { as: manager.token })
  const shown = (await api.get(membersOf(store, manager), { as: owner.token })).body

  const removed = await api.delete(membersOf(store, manager), { as: owner.token })
  expect(removed.status).toBe(200)
  expect(removed.body).toEqual({
    member: shown,
    keys: [{ id, name: 'Checkout', status: 'ACTIVE' }],
    webhooks: [],
    members: [],
    serviceTokens: [],
  })
  expect((await api.get(membersOf(store), { as: key })).status).toBe(200)
  for (const path of [keys, membersOf(store), billing])
    expect((await api.get(path, { as: manager.token })).body.code).toBe('store_not_found')
  expect((await api.get('/v1/user', { as: manager.token })).body.stores).toEqual([])
  await sql('update users set email_verified_at = now(), email_proven = true where id = $1', [manager.id])
  const again = await api.delete(membersOf(store, manager), { as: owner.token })
  // Somebody who is gone is settled again; their name and e-mail are no longer the store's to see.
  const former = { ...shown, name: null, email: null }
  expect([again.status, again.body]).toEqual([200, { ...removed.body, member: former }])
})

test('with keys=revoke the keys of a removed member stop working at once, and no others', async () => {
  const world = await shop()
  const { api, owner, member, store, keys, sql, node, everywhere } = world
  const manager = await member('MANAGER')
  const elsewhere = await node()
  const [first, second] = [await keyOf(world, manager, ['READ']), await keyOf(world, manager, ['READ', 'WRITE'])]
  const mine = await keyOf(world, owner, ['READ'])
  expect((await elsewhere.get(membersOf(store), { as: first.key })).status).toBe(200)

  const removed = await api.delete(`${membersOf(store, manager)}?keys=revoke`, { as: owner.token })
  expect([removed.status, removed.body.keys]).toEqual([
    200,
    [
      { id: second.id, name: 'Checkout', status: 'REVOKED' },
      { id: first.id, name: 'Checkout', status: 'REVOKED' },
    ],
  ])
  for (const at of [api, elsewhere])
    for (const { key } of [first, second]) {
      if (at === elsewhere) await everywhere()
      const refused = await at.get(membersOf(store), { as: key })
      expect([refused.status, refused.body.code]).toEqual([401, 'invalid_token'])
    }
  expect((await api.get(membersOf(store), { as: mine.key })).status).toBe(200)
  expect((await api.get(`${keys}/${first.id}`, { as: owner.token })).body).toMatchObject({
    status: 'REVOKED',
    revokedAt: expect.stringMatching(RFC_3339),
    revocationReason: 'member removed or demoted',
  })
  expect(await sql('select live_keys from stores where id = $1', [store.id])).toEqual([{ live_keys: 1 }])
})

test('keys=revoke reaches the keys that work, however many there were that were made, or taken, and have expired', async () => {
  const world = await shop({ alone: true })
  const { api, owner, member, store, sql } = world
  const manager = await member('MANAGER')
  const live = await keyOf(world, manager, ['READ'])
  for (const table of ['api_keys', 'key_rotations']) await sql(`alter table ${table} set (autovacuum_enabled = off)`)
  // Half of them made by the member, in chains of ten, each with the one before. The others were taken with these.
  const idOf = (n: string) => `'key_0' || lpad((${n})::text, 25, '0')`
  await sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                           created_by_id, created_by_secret_no, secret_no, expires_at, created_at, updated_at)
     select ${idOf('n')}, $1, 'Old', 'PROD', '{READ}', '{}', 'skp_prod_abcd', sha256(n::text::bytea), 'k',
            case when n > 3000 or n % 10 = 0 then 'user' else 'key' end,
            case when n > 3000 then $3 when n % 10 = 0 then $2 else ${idOf('n - 1')} end,
            case when n > 3000 or n % 10 = 0 then null else 1 end,
            case when n > 3000 then 2 else 1 end,
            now() - interval '1 hour', now() - interval '1 day', now() - interval '1 day'
       from generate_series(1, 6000) as n`,
    [store.id, manager.id, owner.id],
  )
  await sql(
    `insert into key_rotations
            (key_id, secret_no, rotated_by_kind, rotated_by_id, rotated_by_secret_no, rotated_at)
     select ${idOf('n + 3000')}, 2, 'key', ${idOf('n')}, 1, now() - interval '1 day'
       from generate_series(10, 2999) as n`,
  )
  const removed = await api.delete(`${membersOf(store, manager)}?keys=revoke`, { as: owner.token })
  expect([removed.status, removed.body.keys.length]).toEqual([200, 1000])
  expect(removed.body.keys[0]).toEqual({ id: live.id, name: 'Checkout', status: 'REVOKED' })
  expect(await sql(`select subject from events where type = 'key.revoked'`)).toEqual([{ subject: live.id }])
  expect(await sql('select live_keys from stores where id = $1', [store.id])).toEqual([{ live_keys: 0 }])
})

test('keys=revoke strikes at a demotion, and when that is said again, not at a change that gives', async () => {
  const world = await shop()
  const { api, owner, member, store } = world
  const manager = await member('MANAGER')
  const { id, key } = await keyOf(world, manager, ['READ'])
  const change = async (changes: object, keys: string) =>
    (await api.patch(`${membersOf(store, manager)}?keys=${keys}`, changes, { as: owner.token })).body.keys
  const active = [{ id, name: 'Checkout', status: 'ACTIVE' }]
  expect(await change({ permissions: [...MANAGER, 'MANAGE_STORE'] }, 'revoke')).toEqual(active)
  expect(await change({ role: 'STAFF' }, 'keep')).toEqual(active)
  expect((await api.get(membersOf(store), { as: key })).status).toBe(200)
  expect(await change({ role: 'STAFF' }, 'revoke')).toEqual([{ id, name: 'Checkout', status: 'REVOKED' }])
  expect((await api.get(membersOf(store), { as: key })).status).toBe(401)
  const again = await member('MANAGER')
  const { id: next } = await keyOf(world, again, ['READ'])
  const demoted = await api.patch(`${membersOf(store, again)}?keys=revoke`, { role: 'CUSTOMER' }, { as: owner.token })
  expect(demoted.body.keys).toEqual([{ id: next, name: 'Checkout', status: 'REVOKED' }])
})

// ---- what becomes of their webhooks ---------------------------------------------------------------------------------

/**
 * A member with two webhooks, one of them off already, and one more that was made by a key that a key of theirs made.
 * The owner listens too, to the same.
 */
async function listeningMember() {
  const world = await shop({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const { api, owner, member, store, keys } = world
  const staff = await member('STAFF', ['READ', 'MANAGE_KEYS', 'MANAGE_WEBHOOKS'])
  const first = await keyOf(world, staff, ['MANAGE_KEYS', 'MANAGE_WEBHOOKS'])
  const wanted = { ...NEW_KEY, permissions: ['MANAGE_WEBHOOKS'] }
  const second = (await api.post(keys, wanted, { as: first.key })).body
  const listen = async (as: string) => {
    const far = await receiver()
    const webhooks = `/v1/user/store/${store.id}/webhooks`
    const { body } = await api.post(
      webhooks,
      { url: far.url, types: ['key.*', 'member.*', 'webhook.disabled'] },
      { as },
    )
    return { id: body.id as string, url: far.url, far, path: `${webhooks}/${body.id}` }
  }
  const off = await listen(staff.token)
  await api.patch(off.path, { enabled: false }, { as: staff.token })
  const [theirs, byKey, owners] = [await listen(staff.token), await listen(second.key), await listen(owner.token)]
  const revoked = [second, first].map(({ id }) => ({ id, name: 'Checkout', status: 'REVOKED' }))
  return { ...world, staff, revoked, off, theirs, byKey, owners }
}

function typesOf(messages: Received[]): string[] {
  return messages.map(({ body }) => body.type).sort()
}

test('the webhooks of a removed member and of their keys go on unless asked otherwise, and the answer names them', async () => {
  const { api, owner, store, keys, staff, revoked, off, theirs, byKey } = await listeningMember()
  const shown = (await api.get(membersOf(store, staff), { as: owner.token })).body
  const removed = await api.delete(`${membersOf(store, staff)}?keys=revoke`, { as: owner.token })
  expect([removed.status, removed.body]).toEqual([
    200,
    {
      member: shown,
      keys: revoked,
      webhooks: [
        { id: byKey.id, url: byKey.url, enabled: true },
        { id: theirs.id, url: theirs.url, enabled: true },
        { id: off.id, url: off.url, enabled: false },
      ],
      members: [],
      serviceTokens: [],
    },
  ])
  await api.post(keys, NEW_KEY, { as: owner.token })
  for (const { far } of [theirs, byKey])
    expect(typesOf(await far.messages(4))).toEqual(['key.created', 'key.revoked', 'key.revoked', 'member.removed'])
})

test('with webhooks=disable nothing more is sent to the webhooks of a removed member and of their keys', async () => {
  const { api, owner, store, keys, staff, revoked, off, theirs, byKey, owners, sql } = await listeningMember()
  const as = owner.token
  const read = async (path: string) => {
    const { body, headers } = await api.get(path, { as })
    return { body, etag: headers.get('etag') }
  }
  const shown = (await api.get(membersOf(store, staff), { as })).body
  const [wasOff, ...wereOn] = [await read(off.path), await read(byKey.path), await read(theirs.path)]
  const other = (await api.post('/v1/user/store', { name: 'Other' }, { as: staff.token })).body
  const elsewhere = `/v1/user/store/${other.id}/webhooks`
  const apart = await api.post(elsewhere, { url: theirs.url, types: ['key.*'] }, { as: staff.token })
  expect(apart.status).toBe(201)

  const removed = await api.delete(`${membersOf(store, staff)}?keys=revoke&webhooks=disable`, { as })
  expect([removed.status, removed.body]).toEqual([
    200,
    {
      member: shown,
      keys: revoked,
      webhooks: [byKey, theirs, off].map(({ id, url }) => ({ id, url, enabled: false })),
      members: [],
      serviceTokens: [],
    },
  ])
  // The owner hears all of it, from the same hand that would have told the others.
  await api.post(keys, NEW_KEY, { as })
  expect(typesOf(await owners.far.messages(6))).toEqual([
    'key.created',
    'key.revoked',
    'key.revoked',
    'member.removed',
    'webhook.disabled',
    'webhook.disabled',
  ])
  for (const { far, path } of [theirs, byKey, off]) {
    expect((await api.get(`${path}/deliveries`, { as })).body).toEqual({ data: [], nextCursor: null })
    expect(far.received).toEqual([])
  }

  const nowOff = { enabled: false, disabledAt: expect.stringMatching(RFC_3339), disabledReason: 'REQUESTED' }
  for (const [nth, { path }] of [byKey, theirs].entries())
    expect(await read(path)).toEqual({
      body: { ...wereOn[nth]?.body, ...nowOff, updatedAt: expect.stringMatching(RFC_3339) },
      etag: '"r2"',
    })
  expect(await read(off.path)).toEqual(wasOff)
  expect((await api.get(elsewhere, { as: staff.token })).body.data[0].enabled).toBe(true)

  const events = await sql(
    `select event.store_id, event.actor, event.subject, event.data, event.xmin = removal.xmin as with_the_removal
       from events event
       join events removal on removal.type = 'member.removed'
      where event.type = 'webhook.disabled'
      order by event.subject desc`,
  )
  const told = ({ id }: { id: string }, by: Person) => ({
    store_id: store.id,
    actor: { kind: 'user', id: by.id, credential: expect.stringMatching(/^sess_/), ip: '127.0.0.1' },
    subject: id,
    data: { reason: 'REQUESTED' },
    with_the_removal: by === owner,
  })
  expect(events).toEqual([told(byKey, owner), told(theirs, owner), told(off, staff)])
})

test('webhooks=disable strikes at a demotion, not at a change that gives', async () => {
  const { api, owner, store, staff, off, theirs, byKey } = await listeningMember()
  const change = async (permissions: string[], webhooks: string) =>
    (await api.patch(`${membersOf(store, staff)}?webhooks=${webhooks}`, { permissions }, { as: owner.token })).body
  const state = (enabled: boolean) => [
    { id: byKey.id, url: byKey.url, enabled },
    { id: theirs.id, url: theirs.url, enabled },
    { id: off.id, url: off.url, enabled: false },
  ]
  const permissions = ['READ', 'MANAGE_KEYS', 'MANAGE_WEBHOOKS']
  expect((await change([...permissions, 'WRITE'], 'disable')).webhooks).toEqual(state(true))
  expect((await change(permissions, 'keep')).webhooks).toEqual(state(true))
  const demoted = await change(['READ'], 'disable')
  expect(demoted.webhooks).toEqual(state(false))
  expect(demoted.keys.map(({ status }: { status: string }) => status)).toEqual(['ACTIVE', 'ACTIVE'])
})

test('whoever may not read webhooks sees which there are, and is not told their URLs', async () => {
  const { api, owner, member, store, staff, off, theirs, byKey } = await listeningMember()
  const clerk = await member('STAFF', ['READ', 'MANAGE_MEMBERS'])
  await api.patch(membersOf(store, staff), { permissions: ['READ'] }, { as: owner.token })
  const webhooks = [
    { id: byKey.id, url: null, enabled: true },
    { id: theirs.id, url: null, enabled: true },
    { id: off.id, url: null, enabled: false },
  ]
  const change = await api.patch(membersOf(store, staff), {}, { as: clerk.token })
  expect([change.status, change.body.webhooks]).toEqual([200, webhooks])
  const removed = await api.delete(membersOf(store, staff), { as: clerk.token })
  expect([removed.status, removed.body.webhooks]).toEqual([200, webhooks])
})

// ---- what is written down -------------------------------------------------------------------------------------------

test('each change of a member leaves one event, written in the same transaction', async () => {
  const world = await shop({ alone: true })
  const { api, owner, member, store, sql } = world
  const manager = await member('MANAGER')
  const key = await keyOf(world, manager, ['READ'])
  const path = membersOf(store, manager)
  const since = (await sql('select max(id) from events'))[0].max

  await api.patch(path, { permissions: ['READ', 'MANAGE_KEYS'] }, { as: owner.token })
  const [{ together }] = await sql(
    `select event.xmin = member.xmin as together
       from events event
       join members member on member.user_id = event.subject
      where event.type = 'member.updated'`,
  )
  expect(together).toBe(true)
  await api.patch(path, { role: 'KING' }, { as: owner.token })
  await api.delete(`${path}?keys=revoke`, { as: owner.token })

  const events = await sql(
    `select event.type, event.store_id, event.actor, event.subject, event.data, event.xmin = key.xmin as with_the_key
       from events event
      cross join api_keys key
      where event.id > $1
      order by event.type desc`,
    [since],
  )
  const common = {
    store_id: store.id,
    actor: { kind: 'user', id: owner.id, credential: expect.stringMatching(/^sess_/), ip: '127.0.0.1' },
  }
  expect(events).toEqual([
    {
      ...common,
      type: 'member.updated',
      subject: manager.id,
      data: {
        from: { role: 'MANAGER', permissions: MANAGER },
        to: { role: 'MANAGER', permissions: ['READ', 'MANAGE_KEYS'] },
      },
      with_the_key: false,
    },
    {
      ...common,
      type: 'member.removed',
      subject: manager.id,
      data: { role: 'MANAGER', keys: 'revoke' },
      with_the_key: true,
    },
    {
      ...common,
      type: 'key.revoked',
      subject: key.id,
      data: { reason: 'member removed or demoted' },
      with_the_key: true,
    },
  ])
  for (const secret of [key.key, owner.token, manager.token]) expect(JSON.stringify(events)).not.toContain(secret)
})

test('a member leaves by themselves, and the last owner cannot', async () => {
  const { api, owner, store, member, billing, sql } = await shop()
  const customer = await member('CUSTOMER')
  expect((await api.post(`/v1/store/${store.id}/leave`, undefined, { as: customer.token })).status).toBe(200)
  expect((await api.get(billing, { as: customer.token })).body.code).toBe('store_not_found')
  const stays = await api.post(`/v1/store/${store.id}/leave`, undefined, { as: owner.token })
  expect([stays.status, stays.body.code]).toEqual([409, 'last_owner'])
  expect(await sql(`select subject from events where type = 'member.left' and store_id = $1`, [store.id])).toEqual([
    { subject: customer.id },
  ])
})

// ---- permissions by words -------------------------------------------------------------------------------------------

test('`permissions` is the whole set; `addPermissions` and `removePermissions` change it and leave the rest', async () => {
  const { api, owner, store, member, person } = await shop()
  const as = owner.token
  const staff = await member('STAFF')
  const path = `/v1/user/store/${store.id}/members/${staff.id}`
  const held = async (changes: object) => {
    const { status, body } = await api.patch(path, changes, { as })
    return status === 200 ? body.member.permissions : body.errors.map((f: Fault) => `${f.pointer} ${f.code}`)
  }
  expect(await held({ addPermissions: ['VIEW_EVENTS'] })).toEqual(['READ', 'WRITE', 'VIEW_EVENTS'])
  expect(await held({ removePermissions: ['WRITE', 'MANAGE_KEYS'] })).toEqual(['READ', 'VIEW_EVENTS'])
  expect(await held({ addPermissions: ['MANAGE_KEYS'], removePermissions: ['READ'] })).toEqual([
    'MANAGE_KEYS',
    'VIEW_EVENTS',
  ])
  expect(await held({ permissions: ['READ'] })).toEqual(['READ'])
  expect(await held({ permissions: null })).toEqual(['READ', 'WRITE'])
  // With a new role they change what that role brings.
  expect(await held({ role: 'CUSTOMER', addPermissions: ['READ'] })).toEqual(['READ'])
  expect(await held({ role: 'STAFF', removePermissions: ['WRITE'] })).toEqual(['READ'])

  expect(await held({ permissions: ['READ'], addPermissions: ['WRITE'] })).toEqual(['#/permissions contradiction'])
  expect(await held({ permissions: null, removePermissions: ['WRITE'] })).toEqual(['#/permissions contradiction'])
  expect(await held({ addPermissions: ['READ', 'WRITE'], removePermissions: ['NOPE', 'WRITE'] })).toEqual([
    '#/removePermissions/1 contradiction',
    '#/removePermissions/0 unknown_permission',
  ])
  expect(await held({ role: 'OWNER', addPermissions: ['READ'] })).toContain('#/addPermissions owner_holds_all')
  expect((await api.get(path, { as })).body.permissions).toEqual(['READ'])

  // What the role brings anyway is no change, and no event.
  await held({ permissions: null })
  const { etag } = Object.fromEntries((await api.get(path, { as })).headers)
  await held({ addPermissions: ['READ'] })
  expect((await api.get(path, { as })).headers.get('etag')).toBe(etag)

  const invited = async (changes: object) => {
    const { email } = await person()
    const reply = await api.post(`/v1/user/store/${store.id}/invitations`, { email, role: 'STAFF', ...changes }, { as })
    return reply.status === 201 ? reply.body.permissions : reply.body.errors.map((f: Fault) => `${f.pointer} ${f.code}`)
  }
  expect(await invited({ addPermissions: ['VIEW_EVENTS'] })).toEqual(['READ', 'WRITE', 'VIEW_EVENTS'])
  expect(await invited({ removePermissions: ['WRITE'] })).toEqual(['READ'])
  expect(await invited({ permissions: ['VIEW_EVENTS'] })).toEqual(['VIEW_EVENTS'])
  expect(await invited({ permissions: ['READ'], addPermissions: ['WRITE'] })).toEqual(['#/permissions contradiction'])
  expect(await invited({ role: 'OWNER', removePermissions: ['READ'] })).toContain('#/removePermissions owner_holds_all')
})

test('403: a permission is added only by somebody who holds it', async () => {
  const { api, store, member } = await shop()
  const manager = await member('MANAGER')
  const staff = await member('STAFF')
  const path = `/v1/user/store/${store.id}/members/${staff.id}`
  const reply = await api.patch(path, { addPermissions: ['MANAGE_STORE'] }, { as: manager.token })
  expect([reply.status, reply.body.code, reply.body.permissions]).toEqual([403, 'cannot_grant', ['MANAGE_STORE']])
})
