import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Person, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { DAY, MINUTE, SECOND, travel } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { BUILT_IN_PERMISSIONS } from '../core/permissions.ts'
import { sql as statement } from '../db/sql.ts'

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ALL = [...BUILT_IN_PERMISSIONS]
const ACCEPT = '/v1/user/invitations/accept'
const PREVIEW = '/v1/auth/invitation'

/** A problem without the two members that belong to one request. */
function told({ body: { requestId: _, instance: __, ...rest } }: Reply): object {
  return rest
}

function invite({ api, store }: Shop, as: string, whom: { email: string }, role: string, permissions?: string[]) {
  const body = { email: whom.email, role, ...(permissions ? { permissions } : {}) }
  return api.post(`/v1/user/store/${store.id}/invitations`, body, { as })
}

async function tokenFor(world: Shop, whom: Person, role = 'STAFF', permissions?: string[]): Promise<string> {
  return (await invite(world, world.owner.token, whom, role, permissions)).body.token
}

function accept({ api }: Shop, token: string, whom: Person): Promise<Reply> {
  return api.post(ACCEPT, { token }, { as: whom.token })
}

async function expectNoInvitation(answer: Reply): Promise<void> {
  expect([answer.status, told(answer)]).toEqual([
    404,
    {
      type: '/errors/invitation_not_found',
      title: 'Invitation not found',
      status: 404,
      detail: 'It does not exist, was already used, was withdrawn, or has expired. Ask for a new one.',
      code: 'invitation_not_found',
    },
  ])
}

// ---- inviting -------------------------------------------------------------------------------------------------------

test('201: somebody is invited, the token is shown once, and accepting it makes a member', async () => {
  const world = await shop()
  const { api, owner, person, store, sql } = world
  const ada = await person('Ada')
  const made = await invite(world, owner.token, { email: ada.email.toUpperCase() }, 'STAFF')
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.stringMatching(/^inv_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    storeId: store.id,
    email: ada.email,
    role: 'STAFF',
    permissions: ['READ', 'WRITE'],
    createdAt: expect.stringMatching(RFC_3339),
    createdBy: { kind: 'user', id: owner.id },
    expiresAt: new Date(Date.parse(made.body.createdAt) + 7 * DAY).toISOString(),
    token: expect.stringMatching(/^skp_inv_[0-9A-Za-z]{49}$/),
    mailed: false,
  })
  expect(made.headers.get('cache-control')).toBe('no-store')
  const path = `/v1/user/store/${store.id}/invitations`
  expect(made.headers.get('location')).toBe(`${path}/${made.body.id}`)
  const { token, mailed: _, ...record } = made.body
  expect((await api.get(path, { as: owner.token })).body).toEqual({ data: [record], nextCursor: null })
  expect((await api.get(`${path}/${record.id}`, { as: owner.token })).body).toEqual(record)
  expect(JSON.stringify(await sql('select invitations::text from invitations'))).not.toContain(token)
  // Whoever holds the token learns where it leads, signed in or not, and neither for whom it is nor from whom.
  for (const as of [null, ada.token]) {
    const { status, body, headers } = await api.post(PREVIEW, { token }, { as })
    expect([status, body]).toEqual([
      200,
      { store: { id: store.id, name: store.name }, role: 'STAFF', expiresAt: record.expiresAt },
    ])
    expect(headers.get('cache-control')).toBe('no-store')
  }

  const accepted = await accept(world, token, ada)
  expect([accepted.status, accepted.body]).toEqual([
    200,
    {
      store,
      userId: ada.id,
      role: 'STAFF',
      permissions: ['READ', 'WRITE'],
      createdAt: expect.stringMatching(RFC_3339),
    },
  ])
  expect((await api.get(`/v1/user/store/${store.id}/members/${ada.id}`, { as: ada.token })).body).toMatchObject({
    role: 'STAFF',
    createdAt: accepted.body.createdAt,
  })
  expect((await api.get(path, { as: owner.token })).body).toEqual({ data: [], nextCursor: null })
  await expectNoInvitation(await api.get(`${path}/${record.id}`, { as: owner.token }))
})

test('open invitations are read a page at a time, newest first', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const path = `/v1/user/store/${store.id}/invitations`
  const emails = ['a@example.com', 'b@example.com', 'c@example.com']
  for (const email of emails) await invite(world, owner.token, { email }, 'STAFF')
  const first = (await api.get(`${path}?limit=2`, { as: owner.token })).body
  const rest = (await api.get(`${path}?limit=2&cursor=${first.nextCursor}`, { as: owner.token })).body
  expect(rest.nextCursor).toBeNull()
  expect([...first.data, ...rest.data].map(({ email }) => email)).toEqual([...emails].reverse())
  expect((await api.get(`${path}?cursor=${first.nextCursor}x`, { as: owner.token })).body.code).toBe('invalid_cursor')
})

test('422: every fault of an invitation is told at once', async () => {
  const world = await shop()
  const { api, owner, store, sql } = world
  const refused = await api.post(
    `/v1/user/store/${store.id}/invitations`,
    { email: 'nobody', role: 'KING', permissions: ['FLY'], token: 'mine' },
    { as: owner.token },
  )
  expect(refused.status).toBe(422)
  const faults = refused.body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
  expect(faults.sort()).toEqual([
    '#/email invalid_email',
    '#/permissions/0 unknown_permission',
    '#/role unknown_value',
    '#/token unknown_member',
  ])
  expect(await sql('select id from invitations where store_id = $1', [store.id])).toEqual([])
})

test('403: nobody invites to more than they hold, neither a user nor a key', async () => {
  const world = await shop()
  const { api, owner, member, store, keys, sql } = world
  const charles = { email: 'charles@example.com' }
  const manager = await member('MANAGER')
  const key = (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_MEMBERS'] }, { as: owner.token })).body
    .key
  const before = await sql('select id from invitations where store_id = $1', [store.id])
  for (const [as, role, permissions, lacking] of [
    [manager.token, 'OWNER', undefined, ['MANAGE_STORE']],
    [manager.token, 'STAFF', ['MANAGE_STORE', 'READ'], ['MANAGE_STORE']],
    [manager.token, 'CUSTOMER', ['MANAGE_STORE'], ['MANAGE_STORE']],
    [key, 'STAFF', undefined, ['WRITE']],
    [key, 'OWNER', undefined, ALL.filter((permission) => !['READ', 'MANAGE_MEMBERS'].includes(permission))],
  ] as const) {
    const refused = await invite(world, as, charles, role, permissions && [...permissions])
    expect([refused.status, refused.body.code, refused.body.permissions]).toEqual([403, 'cannot_grant', lacking])
  }
  expect(await sql('select id from invitations where store_id = $1', [store.id])).toEqual(before)

  const byKey = await invite(world, key, charles, 'STAFF', ['READ'])
  expect([byKey.status, byKey.body.permissions, byKey.body.createdBy.kind]).toEqual([201, ['READ'], 'key'])
  expect((await invite(world, manager.token, charles, 'MANAGER')).status).toBe(201)
  const staff = await member('STAFF')
  const powerless = await invite(world, staff.token, charles, 'CUSTOMER')
  expect([powerless.status, powerless.body.required]).toEqual([403, ['MANAGE_MEMBERS']])
})

// ---- accepting ------------------------------------------------------------------------------------------------------

test('404: an invitation works once', async () => {
  const world = await shop()
  const ada = await world.person()
  const token = await tokenFor(world, ada)
  expect((await accept(world, token, ada)).status).toBe(200)
  for (const useless of [token, 'skp_inv_nonsense', '']) {
    await expectNoInvitation(await accept(world, useless, ada))
    await expectNoInvitation(await world.api.post(PREVIEW, { token: useless }))
  }
})

test('404: whoever is removed accepts no invitation from before, also one that a node with a faster clock has made', async () => {
  const world = await shop()
  const { api, owner, store, member, sql } = world
  for (const change of ['remove', 'demote'] as const) {
    const manager = await member('MANAGER')
    const second = { ...manager, email: `second-${manager.email}` }
    const { id, token } = (await invite(world, owner.token, second, 'MANAGER')).body
    await sql(`update invitations set created_at = created_at + interval '45 seconds' where id = $1`, [id])
    const path = `/v1/user/store/${store.id}/members/${manager.id}`
    if (change === 'remove') await api.delete(path, { as: owner.token })
    else await api.patch(path, { role: 'CUSTOMER' }, { as: owner.token })
    await sql('update users set email = $2 where id = $1', [manager.id, second.email])
    await world.everywhere()
    await expectNoInvitation(await accept(world, token, second))
  }
})

test('404: whoever has demoted themselves first is settled by saying it again, and accepts no invitation from before', async () => {
  const world = await shop()
  const { api, owner, store, member } = world
  const path = (id: string) => `/v1/user/store/${store.id}/members/${id}`
  for (const [fate, status] of [
    ['?keys=revoke', 404],
    ['?webhooks=disable', 404],
    ['', 200],
  ] as const) {
    const manager = await member('MANAGER')
    expect((await api.patch(path(manager.id), { role: 'CUSTOMER' }, { as: manager.token })).status).toBe(200)
    const token = await tokenFor(world, manager, 'MANAGER')
    expect((await api.patch(`${path(manager.id)}${fate}`, { role: 'CUSTOMER' }, { as: owner.token })).status).toBe(200)
    expect([fate, (await accept(world, token, manager)).status]).toEqual([fate, status])
  }
})

test('404: an invitation is worth nothing while the account of its maker is disabled', async () => {
  const world = await shop()
  const { member, person, sql } = world
  const [manager, ada] = [await member('MANAGER'), await person()]
  const { token } = (await invite(world, manager.token, ada, 'STAFF')).body
  await sql('update users set disabled_at = now() where id = $1', [manager.id])
  await expectNoInvitation(await accept(world, token, ada))
  await sql('update users set disabled_at = null where id = $1', [manager.id])
  expect((await accept(world, token, ada)).status).toBe(200)
})

test('of an invitation accepted many times at once, one works', async () => {
  const world = await shop()
  const { person, node, store, sql } = world
  const elsewhere = await node()
  const ada = await person()
  const token = await tokenFor(world, ada)
  const answers = await Promise.all(
    [world.api, elsewhere, world.api, elsewhere].map((api) => api.post(ACCEPT, { token }, { as: ada.token })),
  )
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, 404, 404, 404])
  expect(await sql("select id from events where type = 'member.joined' and store_id = $1", [store.id])).toHaveLength(1)
})

test('403: an invitation is for the one who was invited, and stays theirs', async () => {
  const world = await shop()
  const [ada, eve] = [await world.person(), await world.person()]
  const token = await tokenFor(world, ada)
  const stolen = await accept(world, token, eve)
  expect([stolen.status, told(stolen)]).toEqual([
    403,
    {
      type: '/errors/invitation_mismatch',
      title: 'This invitation is for somebody else',
      status: 403,
      detail:
        'It was sent to a different e-mail address. Sign in as that user, or ask for an invitation to your own address.',
      code: 'invitation_mismatch',
    },
  ])
  expect((await world.api.get('/v1/user', { as: eve.token })).body.stores).toEqual([])
  expect((await accept(world, token, ada)).status).toBe(200)
})

test('403: whoever has lost the e-mail does not accept its invitation, though a node has known them by it a moment ago', async () => {
  const world = await shop()
  const { api, person, sql, databaseUrl } = world
  const mallory = await person()
  const token = await tokenFor(world, mallory)
  const elsewhere = new pg.Client({ connectionString: databaseUrl })
  await elsewhere.connect()
  onTestFinished(() => elsewhere.end())
  expect((await api.get('/v1/user', { as: mallory.token })).status).toBe(200)
  await elsewhere.query('update users set email = $2 where id = $1', [mallory.id, `lost-${mallory.email}`])
  const { status, body } = await accept(world, token, mallory)
  expect([status, body.code]).toEqual([403, 'invitation_mismatch'])
  expect(await sql('select role from members where user_id = $1', [mallory.id])).toEqual([])
})

test('404: an invitation ends after 7 days', async () => {
  const world = await shop()
  const [ada, bob] = [await world.person(), await world.person()]
  const tokens = [await tokenFor(world, ada), await tokenFor(world, bob)] as const
  travel(7 * DAY - MINUTE)
  expect((await accept(world, tokens[0], ada)).status).toBe(200)
  travel(MINUTE + SECOND)
  await expectNoInvitation(await accept(world, tokens[1], bob))
  await expectNoInvitation(await world.api.post(PREVIEW, { token: tokens[1] }))
  const { data } = (await world.api.get(`/v1/user/store/${world.store.id}/invitations`, { as: world.owner.token })).body
  expect(data).toEqual([])
})

test('404: an invitation that was withdrawn works no more', async () => {
  const world = await shop()
  const { api, owner, person, store } = world
  const ada = await person()
  const { id, token } = (await invite(world, owner.token, ada, 'STAFF')).body
  const path = `/v1/user/store/${store.id}/invitations/${id}`
  expect((await api.delete(path, { as: owner.token })).status).toBe(204)
  await expectNoInvitation(await accept(world, token, ada))
  await expectNoInvitation(await api.post(PREVIEW, { token }))
  await expectNoInvitation(await api.delete(path, { as: owner.token }))
  await expectNoInvitation(
    await api.delete(`/v1/user/store/${store.id}/invitations/${newId('inv')}`, { as: owner.token }),
  )
  await expectNoInvitation(await api.delete(`/v1/user/store/${store.id}/invitations/x`, { as: owner.token }))
})

test('404: an invitation of another store cannot be read or withdrawn', async () => {
  const world = await shop()
  const { api, owner, person } = world
  const [ada, eve] = [await person(), await person()]
  const elsewhere = (await api.post('/v1/user/store', { name: 'Elsewhere' }, { as: eve.token })).body
  const { id, token } = (await invite(world, owner.token, ada, 'STAFF')).body
  const path = `/v1/user/store/${elsewhere.id}/invitations/${id}`
  await expectNoInvitation(await api.get(path, { as: eve.token }))
  await expectNoInvitation(await api.delete(path, { as: eve.token }))
  expect((await accept(world, token, ada)).status).toBe(200)
})

test('404: an invitation is worth no more than its maker still holds', async () => {
  const world = await shop()
  const { api, owner, member, person, store, keys, sql } = world
  const [demoted, removed, narrowed, kept] = [
    await member('MANAGER'),
    await member('MANAGER'),
    await member('MANAGER'),
    await member('MANAGER'),
  ]
  const key = (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_MEMBERS'] }, { as: removed.token }))
    .body
  const weakened = (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_MEMBERS'] }, { as: owner.token }))
    .body
  const inviters = [demoted.token, removed.token, narrowed.token, kept.token, key.key, weakened.key]
  const invited = await Promise.all(
    inviters.map(async (as) => {
      const somebody = await person()
      return { somebody, token: (await invite(world, as, somebody, 'STAFF', ['READ'])).body.token }
    }),
  )
  const members = `/v1/user/store/${store.id}/members`
  await api.patch(`${members}/${demoted.id}`, { role: 'STAFF' }, { as: owner.token })
  await api.patch(`${members}/${narrowed.id}`, { permissions: ['MANAGE_MEMBERS'] }, { as: owner.token })
  await api.delete(`${members}/${removed.id}?keys=revoke`, { as: owner.token })
  await sql("update api_keys set permissions = '{READ}' where id = $1", [weakened.id])

  const statuses = []
  for (const { somebody, token } of invited)
    statuses.push([(await api.post(PREVIEW, { token })).status, (await accept(world, token, somebody)).status])
  expect(statuses).toEqual([404, 404, 404, 200, 404, 404].map((status) => [status, status]))
  // What was only refused comes back with the right to give it.
  await api.patch(`${members}/${demoted.id}`, { role: 'MANAGER' }, { as: owner.token })
  const [first] = invited
  expect((await accept(world, first?.token, first?.somebody as Person)).status).toBe(200)
})

test('a customer who is invited to more moves up, and keeps their addresses', async () => {
  const world = await shop()
  const { api, member, billing, store, owner } = world
  const customer = await member('CUSTOMER')
  const address = (await api.post(billing, NEW_ADDRESS, { as: customer.token })).body
  const since = (await api.get(`/v1/user/store/${store.id}/members/${customer.id}`, { as: owner.token })).body.createdAt
  travel(MINUTE)
  const moved = await accept(world, await tokenFor(world, customer, 'STAFF', ['READ', 'MANAGE_KEYS']), customer)
  expect([moved.status, moved.body]).toEqual([
    200,
    { store, userId: customer.id, role: 'STAFF', permissions: ['READ', 'MANAGE_KEYS'], createdAt: since },
  ])
  expect((await api.get(billing, { as: customer.token })).body.data).toEqual([address])
})

test('409: whoever has a role keeps it, and once removed does not come back by that invitation', async () => {
  const world = await shop()
  const { api, member, owner, store } = world
  const staff = await member('STAFF')
  const token = await tokenFor(world, staff, 'MANAGER')
  const refused = await accept(world, token, staff)
  expect([refused.status, refused.body.code]).toEqual([409, 'already_member'])
  const path = `/v1/user/store/${store.id}/members/${staff.id}`
  expect((await api.get(path, { as: owner.token })).body.role).toBe('STAFF')
  await api.delete(path, { as: owner.token })
  expect((await accept(world, token, staff)).body.code).toBe('invitation_not_found')
})

test('who is invited again has one open invitation, the newest', async () => {
  const world = await shop()
  const { api, owner, person, store } = world
  const ada = await person()
  const older = await tokenFor(world, ada, 'STAFF')
  const newer = await tokenFor(world, ada, 'MANAGER')
  const open = await api.get(`/v1/user/store/${store.id}/invitations`, { as: owner.token })
  expect(open.body.data.map((invitation: { role: string }) => invitation.role)).toEqual(['MANAGER'])
  expect((await accept(world, older, ada)).body.code).toBe('invitation_not_found')
  expect((await accept(world, newer, ada)).body.role).toBe('MANAGER')
})

test('503: an invitation to a store that is busy can be accepted later', async () => {
  const world = await shop()
  const { person, store, sql } = world
  const ada = await person()
  const token = await tokenFor(world, ada)
  await sql('begin')
  await sql('select id from stores where id = $1 for update', [store.id])
  const busy = await accept(world, token, ada)
  expect([busy.status, busy.body.code, busy.headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
  await sql('commit')
  expect((await accept(world, token, ada)).status).toBe(200)
})

test('403: only a user accepts an invitation or joins a store', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const key = (await api.post(keys, { ...NEW_KEY, permissions: ALL }, { as: owner.token })).body.key
  const token = (await invite(world, owner.token, { email: 'charles@example.com' }, 'STAFF')).body.token
  for (const refused of [
    await api.post(ACCEPT, { token }, { as: key }),
    await api.post(`/v1/store/${store.id}/join`, undefined, { as: key }),
  ])
    expect([refused.status, refused.body.code]).toEqual([403, 'user_required'])
  expect((await api.post(ACCEPT, { token })).status).toBe(401)
})

// ---- joining --------------------------------------------------------------------------------------------------------

test('201: anyone signed in joins an open store as a customer', async () => {
  const { api, owner, person, store, billing, keys } = await shop()
  const ada = await person()
  const open = (await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })).body
  expect((await api.post(billing, NEW_ADDRESS, { as: ada.token })).status).toBe(404)
  const joined = await api.post(`/v1/store/${store.id}/join`, undefined, { as: ada.token })
  expect([joined.status, joined.body]).toEqual([
    201,
    { store: open, userId: ada.id, role: 'CUSTOMER', permissions: [], createdAt: expect.stringMatching(RFC_3339) },
  ])
  expect(joined.headers.get('location')).toBe(`/v1/user/store/${store.id}/members/${ada.id}`)
  expect((await api.post(billing, NEW_ADDRESS, { as: ada.token })).status).toBe(201)
  expect((await api.get(keys, { as: ada.token })).status).toBe(403)

  const again = await api.post(`/v1/store/${store.id}/join`, {}, { as: ada.token })
  expect([again.status, again.body.code]).toEqual([409, 'already_member'])
  const above = await api.post(`/v1/store/${store.id}/join`, {}, { as: owner.token })
  expect([above.status, above.body.code]).toEqual([409, 'already_member'])
  expect((await api.post(`/v1/store/${store.id}/join`, { role: 'OWNER' }, { as: ada.token })).status).toBe(422)
  expect((await api.post(`/v1/store/${store.id}/join`)).status).toBe(401)
})

test('of one who joins many times at once, one joins', async () => {
  const { api, owner, person, store, sql } = await shop()
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  const ada = await person()
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() => api.post(`/v1/store/${store.id}/join`, undefined, { as: ada.token })),
  )
  expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409])
  expect(await sql("select id from events where type = 'member.joined' and store_id = $1", [store.id])).toHaveLength(1)
})

test('404: a closed store answers a stranger as one that does not exist', async () => {
  const { api, owner, person, store } = await shop()
  const ada = await person()
  const join = (id: string) => api.post(`/v1/store/${id}/join`, undefined, { as: ada.token })
  const missing = newId('store')
  const [closed, none] = [await join(store.id), await join(missing)]
  const bytes = (answer: Reply, id: string) =>
    answer.text.replace(answer.body.requestId, 'THE_REQUEST').replace(id, 'THE_STORE')
  expect(closed.status).toBe(404)
  expect(bytes(closed, store.id)).toBe(bytes(none, missing))
  const headers = (answer: Reply) => [...answer.headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
  expect(headers(closed)).toEqual(headers(none))
  expect(told(await join('store_1'))).toEqual(told(closed))

  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  expect((await join(store.id)).status).toBe(201)
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'CLOSED' }, { as: owner.token })
  expect((await join(store.id)).body.code).toBe('already_member')
})

test('whoever cannot join a store is told so while it is being changed; one that is closed meanwhile is not joined', async () => {
  const { api, owner, person, service, store, sql } = await shop()
  const ada = await person()
  const join = async (as: string) => (await api.post(`/v1/store/${store.id}/join`, undefined, { as })).body.code
  await service.db.transaction(async (tx) => {
    await tx.query(statement`select id from stores where id = ${store.id} for no key update`)
    expect([await join(ada.token), await join(owner.token)]).toEqual(['store_not_found', 'already_member'])
  })
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  const joining = await service.db.transaction(async (tx) => {
    await tx.query(statement`update stores set registration = 'CLOSED' where id = ${store.id}`)
    const reply = join(ada.token)
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(() => sql(waits)).toHaveLength(1)
    return { reply }
  })
  expect(await joining.reply).toBe('store_not_found')
})

// ---- what is written down -------------------------------------------------------------------------------------------

test('inviting, withdrawing, accepting and joining leave one event each, in the same transaction and without the token', async () => {
  const world = await shop()
  const { api, owner, person, store, sql } = world
  const [ada, bob] = [await person(), await person()]
  const second = (await invite(world, owner.token, ada, 'MANAGER')).body
  await api.delete(`/v1/user/store/${store.id}/invitations/${second.id}`, { as: owner.token })
  await accept(world, second.token, ada)
  const first = (await invite(world, owner.token, ada, 'STAFF')).body
  await accept(world, first.token, bob)
  await accept(world, first.token, ada)
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  await api.post(`/v1/store/${store.id}/join`, undefined, { as: bob.token })
  await api.post(`/v1/store/${store.id}/join`, undefined, { as: bob.token })

  const events = await sql(
    `select event.type, event.actor ->> 'id' as by, event.subject, event.data,
            event.xmin in (select xmin from invitations union all select xmin from members) as together
       from events event
      where event.store_id = $1
        and event.type like 'member.%'
      order by event.id`,
    [store.id],
  )
  const staff = { role: 'STAFF', permissions: ['READ', 'WRITE'] }
  expect(events).toEqual([
    // Their rows were written again by what came after.
    {
      type: 'member.invited',
      by: owner.id,
      subject: second.id,
      data: { role: 'MANAGER', permissions: second.permissions },
      together: false,
    },
    { type: 'member.invitation_withdrawn', by: owner.id, subject: second.id, data: {}, together: true },
    { type: 'member.invited', by: owner.id, subject: first.id, data: staff, together: false },
    { type: 'member.joined', by: ada.id, subject: ada.id, data: { ...staff, invitation: first.id }, together: true },
    { type: 'member.joined', by: bob.id, subject: bob.id, data: { role: 'CUSTOMER', permissions: [] }, together: true },
  ])
  for (const secret of [first.token, second.token, ada.email, bob.email])
    expect(JSON.stringify(events)).not.toContain(secret)
})
