// What a user may ask of us: all that is held about them, and to be forgotten.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { everyRow, filesOf, nobodyLooksBack, walPosition } from '../../tests/leftovers.ts'
import { mailServer } from '../../tests/mail-server.ts'
import { NEW_ADDRESS, NEW_KEY, type Person, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { newDataKey } from '../auth/data-key.ts'
import { MINUTE, travel } from '../core/clock.ts'
import { newKeyring } from '../crypto/keyring.ts'
import { Secret } from '../crypto/secret.ts'

const mark = () => `m${randomBytes(9).toString('hex')}`
const RFC_3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

/** Joins the shop as a customer. */
async function customer({ api, store, owner, person }: Shop): Promise<Person> {
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  const somebody = await person()
  expect((await api.post(`/v1/store/${store.id}/join`, {}, { as: somebody.token })).status).toBe(201)
  return somebody
}

/** As if they had followed the link of the mail, signed in. */
function confirm({ sql }: Pick<Shop, 'sql'>, { id }: { id: string }) {
  return sql('update users set email_verified_at = now(), email_proven = true where id = $1', [id])
}

function told({ status, body }: Reply) {
  return [status, body?.code]
}

// ---- export ---------------------------------------------------------------------------------------------------------

test('200: a user gets all that is held about them, as a file, and nothing of anybody else', async () => {
  const world = await shop()
  const { api, store, billing, owner, member } = world
  const ada = await member('STAFF')
  await confirm(world, ada)
  await api.post(billing, { ...NEW_ADDRESS, company: 'Engines' }, { as: ada.token })
  await api.post(billing, NEW_ADDRESS, { as: owner.token })
  await api.post(`/v1/user/store/${store.id}/invitations`, { email: ada.email, role: 'MANAGER' }, { as: owner.token })
  const held = [
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
  const elsewhere = (await api.post('/v1/user/store', { name: 'Elsewhere' }, { as: ada.token })).body

  const reply = await api.get('/v1/user/export', { as: ada.token })
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-disposition')).toBe(`attachment; filename="${ada.id}.json"`)
  expect(reply.headers.get('cache-control')).toBe('no-store')
  const moments = { createdAt: RFC_3339, updatedAt: RFC_3339 }
  const invitation = {
    id: expect.any(String),
    storeId: store.id,
    email: ada.email,
    createdAt: RFC_3339,
    expiresAt: RFC_3339,
  }
  expect(reply.body).toEqual({
    exportedAt: RFC_3339,
    user: {
      id: ada.id,
      email: ada.email,
      emailVerified: true,
      pendingEmail: null,
      name: 'A staff',
      mail: { newSignIns: true, leakedKeys: true, expiringKeys: true },
      secondFactor: { totp: false, passkeys: 0, recoveryCodesLeft: 0 },
      issuer: null,
      subject: null,
      ...moments,
    },
    sessions: [
      {
        id: expect.stringMatching(/^sess_/),
        method: 'password',
        userAgent: 'node',
        ip: '127.0.0.1',
        createdAt: RFC_3339,
        lastUsedAt: RFC_3339,
        expiresAt: RFC_3339,
      },
    ],
    passkeys: [],
    memberships: [
      { storeId: elsewhere.id, storeName: 'Elsewhere', role: 'OWNER', permissions: expect.any(Array), ...moments },
      { storeId: store.id, storeName: store.name, role: 'STAFF', permissions: ['READ', 'WRITE'], ...moments },
    ],
    formerMemberships: [],
    customerRecords: [],
    invitations: [
      { ...invitation, role: 'MANAGER', permissions: held, acceptedAt: null, withdrawnAt: null },
      { ...invitation, role: 'STAFF', permissions: ['READ', 'WRITE'], acceptedAt: RFC_3339, withdrawnAt: null },
    ],
    addresses: [
      {
        id: expect.stringMatching(/^addr_/),
        storeId: store.id,
        ...NEW_ADDRESS,
        company: 'Engines',
        taxId: null,
        addressLine2: null,
        isDefault: true,
        formatted: ['Ada Lovelace', 'Engines', '1 Infinite Loop', 'Cupertino, CA 95014', 'UNITED STATES'],
        warnings: [],
        version: 1,
        ...moments,
      },
    ],
    addressVersions: [],
    addressDefaults: [{ storeId: store.id, addressId: expect.stringMatching(/^addr_/), from: RFC_3339, until: null }],
    addressHolds: [],
    events: ['store.created', 'address.created', 'member.joined', 'session.created', 'user.created'].map((type) => ({
      id: expect.stringMatching(/^evt_/),
      storeId: /^(session|user)\./.test(type) ? null : expect.stringMatching(/^store_/),
      type,
      at: RFC_3339,
      subject: expect.any(String),
      ip: '127.0.0.1',
    })),
    eventsByOthers: [
      { role: 'MANAGER', permissions: held },
      { role: 'STAFF', permissions: ['READ', 'WRITE'] },
    ].map((data) => ({
      id: expect.stringMatching(/^evt_/),
      storeId: store.id,
      type: 'member.invited',
      at: RFC_3339,
      subject: expect.stringMatching(/^inv_/),
      by: 'user',
      data,
    })),
  })
  for (const secret of [ada.token, ada.password, owner.email, 'Olive']) expect(reply.text).not.toContain(secret)
})

test('addresses of a store that one has left are in it too', async () => {
  const world = await shop()
  const { api, store, billing } = world
  const ada = await customer(world)
  await api.post(billing, NEW_ADDRESS, { as: ada.token })
  await api.post(`/v1/store/${store.id}/leave`, {}, { as: ada.token })
  const { body } = await api.get('/v1/user/export', { as: ada.token })
  expect(body.memberships).toEqual([])
  const was = { storeId: store.id, storeName: store.name, role: 'CUSTOMER', permissions: [], endedAt: RFC_3339 }
  expect(body.formerMemberships).toEqual([{ ...was, createdAt: RFC_3339, updatedAt: RFC_3339 }])
  expect(body.addresses).toMatchObject([{ storeId: store.id, addressLine1: NEW_ADDRESS.addressLine1 }])
})

test('the name of a store that one has left is the one that it had then', async () => {
  const world = await shop()
  const { api, store, owner } = world
  const ada = await customer(world)
  const names = async () =>
    (await api.get('/v1/user/export', { as: ada.token })).body.formerMemberships.map(
      ({ storeName }: { storeName: string }) => storeName,
    )
  const rename = (name: string) => api.patch(`/v1/user/store/${store.id}`, { name }, { as: owner.token })
  await api.post(`/v1/store/${store.id}/leave`, {}, { as: ada.token })
  await rename('A secret project')
  expect(await names()).toEqual([store.name])
  await api.post(`/v1/store/${store.id}/join`, {}, { as: ada.token })
  await api.delete(`/v1/user/store/${store.id}/members/${ada.id}`, { as: owner.token })
  await rename('Another')
  expect(await names()).toEqual(['A secret project'])
})

test('what an address was is in it too, also of one that was deleted', async () => {
  const world = await shop()
  const { api, store, billing } = world
  const ada = await customer(world)
  const as = ada.token
  const { id } = (await api.post(billing, NEW_ADDRESS, { as })).body
  await api.patch(`${billing}/${id}`, { addressLine1: '2 Infinite Loop' }, { as })
  await api.delete(`${billing}/${id}`, { as })
  const { body } = await api.get('/v1/user/export', { as })
  expect(body.addresses).toEqual([])
  const moments = { createdAt: RFC_3339, from: RFC_3339, until: RFC_3339 }
  const nothing = { company: null, taxId: null, addressLine2: null, warnings: [] }
  const version = (n: number) => ({
    id,
    storeId: store.id,
    ...NEW_ADDRESS,
    ...nothing,
    addressLine1: `${n} Infinite Loop`,
    formatted: ['Ada Lovelace', `${n} Infinite Loop`, 'Cupertino, CA 95014', 'UNITED STATES'],
    version: n,
    ...moments,
  })
  expect(body.addressVersions).toEqual([version(2), version(1)])
})

test('the warnings that were kept with each version of an address are in it', async () => {
  const world = await shop()
  const { api, billing } = world
  const { token: as } = await customer(world)
  const made = (await api.post(billing, { ...NEW_ADDRESS, phone: '+442079460958' }, { as })).body
  const changed = (await api.patch(`${billing}/${made.id}`, { addressLine1: 'PO Box 12' }, { as })).body
  expect([made.warnings.length, changed.warnings.length]).toEqual([1, 2])
  const { body } = await api.get('/v1/user/export', { as })
  expect(body.addresses.map(kept)).toEqual([kept(changed)])
  expect(body.addressVersions.map(kept)).toEqual([kept(made)])
})

function kept({ id, version, formatted, warnings }: Record<string, unknown>) {
  return { id, version, formatted, warnings }
}

test('which address was the default when is in it, also of those that were deleted', async () => {
  const world = await shop({ alone: true })
  const { api, store, billing } = world
  const { token: as } = await customer(world)
  const at = async (minutes: number, isDefault: boolean) => {
    travel(minutes * MINUTE)
    return (await api.post(billing, { ...NEW_ADDRESS, isDefault }, { as })).body
  }
  const first = await at(1, false)
  const second = await at(2, true)
  travel(3 * MINUTE)
  const back = (await api.patch(`${billing}/${first.id}`, { isDefault: true }, { as })).body
  travel(4 * MINUTE)
  await api.delete(`${billing}/${first.id}`, { as })
  const { addressDefaults } = (await api.get('/v1/user/export', { as })).body
  const time = (addressId: string, from: unknown, until: unknown) => ({ storeId: store.id, addressId, from, until })
  expect(addressDefaults).toEqual([
    time(second.id, RFC_3339, null),
    time(first.id, RFC_3339, RFC_3339),
    time(second.id, second.createdAt, RFC_3339),
    time(first.id, first.createdAt, second.createdAt),
  ])
  // One ends where the next begins.
  const [now, third, before] = addressDefaults
  expect([now.from, third.from]).toEqual([third.until, before.until])
  expect(back.isDefault).toBe(true)
})

test('what others did to a user is in it, but not who they are, also when the user was removed', async () => {
  const world = await shop()
  const { api, store, owner, member, person, keys } = world
  const ada = await member('STAFF')
  await confirm(world, ada)
  const members = `/v1/user/store/${store.id}/members`
  const as = owner.token
  await api.patch(`${members}/${ada.id}`, { role: 'MANAGER' }, { as })
  const key = await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_MEMBERS'] }, { as })
  const mine = (await api.post(keys, NEW_KEY, { as: ada.token })).body
  await api.delete(`${members}/${ada.id}`, { as: key.body.key })
  expect((await api.delete(`${members}/${ada.id}`, { as })).status).toBe(200)
  const open = (await api.post(`/v1/user/store/${store.id}/invitations`, { email: ada.email, role: 'STAFF' }, { as }))
    .body
  await api.delete(`/v1/user/store/${store.id}/invitations/${open.id}`, { as })
  // Nothing of this is hers.
  const other = await member('STAFF')
  await api.patch(`${members}/${other.id}`, { role: 'MANAGER' }, { as })
  const stranger = await person()

  const { body, text } = await api.get('/v1/user/export', { as: ada.token })
  const by = 'user'
  const told = (type: string, subject: unknown, data: unknown) => ({
    id: expect.stringMatching(/^evt_/),
    storeId: store.id,
    type,
    at: RFC_3339,
    subject,
    by,
    data,
  })
  const staff = { role: 'STAFF', permissions: ['READ', 'WRITE'] }
  const invited = expect.stringMatching(/^inv_/)
  expect(body.eventsByOthers).toEqual([
    told('member.removed', ada.id, { role: 'MANAGER', keys: 'keep' }),
    told('member.updated', ada.id, { from: staff, to: { role: 'MANAGER', permissions: expect.any(Array) } }),
    told('member.invitation_withdrawn', open.id, {}),
    told('member.invited', open.id, staff),
    told('member.invited', invited, staff),
  ])
  // What she did there is still hers.
  expect(body.memberships).toEqual([])
  expect(body.events.map(({ type, subject }: Record<string, string>) => [type, subject])).toEqual([
    ['key.created', mine.id],
    ['member.joined', ada.id],
    ['session.created', expect.any(String)],
    ['user.created', ada.id],
  ])
  const theirs = [owner.id, owner.email, other.id, stranger.id, key.body.id, 'credential', 'Olive', mine.key]
  expect(theirs.filter((word) => text.includes(word))).toEqual([])
  // Of the owner's own doings there is nobody else's.
  expect((await api.get('/v1/user/export', { as })).body.eventsByOthers).toEqual([])
})

/** So many events of long ago, whose ids stand in order: the even ones by one actor, the odd ones by another. */
function past(world: Shop, many: number, storeId: string, actors: [string, string], subject = 'key_x') {
  return world.sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_0' || lpad(n::text, 25, '0'), $1::text, 'key.updated', now(),
            json_build_object('kind', 'user', 'id', case n % 2 when 0 then $2::text else $3::text end), $4::text, '{}'
       from generate_series(1, $5::int) n`,
    [storeId, ...actors, subject, many],
  )
}

test('however long its lists are, all of them is in it, once', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, billing, sql } = world
  const ada = await customer(world)
  await confirm(world, ada)
  const address = (await api.post(billing, NEW_ADDRESS, { as: ada.token })).body
  // In a store that she never was a member of, and that is gone.
  await past(world, 24_000, 'store_gone', [ada.id, owner.id])
  await sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_00' || lpad(n::text, 24, '0'), $1::text, 'member.updated', now(),
            json_build_object('kind', 'user', 'id', $2::text), $3::text, json_build_object('n', n)
       from generate_series(100001, 101501) n`,
    [store.id, owner.id, ada.id],
  )
  await sql(
    `with invitation as (
       insert into invitations (id, store_id, email, role, hash, created_by_kind, created_by_id, created_at, expires_at)
       select 'inv_0' || lpad(n::text, 25, '0'), $1, $2, 'STAFF', sha256(n::text::bytea), 'user', $3, now(), now()
         from generate_series(1, 1000) n
       returning id
     )
     insert into events (id, store_id, type, at, actor, subject, data)
     select replace(id, 'inv_', 'evt_z'), $1, 'member.invited', now(), json_build_object('kind', 'user', 'id', $3::text), id, '{}'
       from invitation`,
    [store.id, ada.email, owner.id],
  )
  await sql(
    `insert into address_defaults (store_id, user_id, address_id, since, until)
     select $1, $2, $3, now() - interval '1 hour', now() from generate_series(1, 1001)`,
    [store.id, ada.id, address.id],
  )
  const { body } = await api.get('/v1/user/export', { as: ada.token })
  const ids = (list: { id: string }[]) => list.map(({ id }) => id)
  const written = async (which: string) =>
    ids(await sql(`select id from events where ${which} order by subject ^@ 'inv_', id desc`, [ada.id]))
  expect(ids(body.events)).toEqual(await written(`actor ->> 'id' = $1`))
  expect(ids(body.eventsByOthers)).toEqual(
    await written(`actor ->> 'id' <> $1 and (subject = $1 or type = 'member.invited')`),
  )
  const counts = [body.events, body.eventsByOthers, body.invitations, body.addressDefaults].map(({ length }) => length)
  // Beside those of the past: the account, the session, joining, the address; and its being the default now.
  expect(counts).toEqual([12_004, 2_501, 1_000, 1_002])
  expect(new Set(ids(body.events)).size).toBe(12_004)
})

/** The answer, of which nothing is taken until somebody does. */
async function begin(world: Shop, as: string): Promise<IncomingMessage> {
  const asked = request(`${world.api.url}/v1/user/export`, { headers: { authorization: `Bearer ${as}` }, agent: false })
  onTestFinished(() => void asked.destroy())
  const [response] = await once(asked.end(), 'response')
  return response
}

/** 20 MB, which no socket holds. */
const LONG_EVENTS = { many: 10_000, text: 'x'.repeat(2_000) }

test('429: two at a time for each user, until they were taken or given up; whoever is signed out meanwhile hears no more', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, person } = world
  await past(world, LONG_EVENTS.many, store.id, [owner.id, owner.id], LONG_EVENTS.text)
  const as = { as: owner.token }
  // Without a body there is nothing to wait for.
  for (let n = 0; n < 5; n++) expect((await api.ask('HEAD', '/v1/user/export', undefined, as)).status).toBe(200)
  const [first, second] = [await begin(world, owner.token), await begin(world, owner.token)]
  expect(told(await api.get('/v1/user/export', as))).toEqual([429, 'rate_limited'])
  expect((await api.get('/v1/user/export', { as: (await person()).token })).status).toBe(200)
  first.destroy()
  await vi.waitFor(
    async () => expect((await api.ask('HEAD', '/v1/user/export', undefined, as)).status).toBe(200),
    60_000,
  )
  expect(JSON.parse(await text(second)).events).toHaveLength(LONG_EVENTS.many + 3)

  // It is read as it is taken.
  const third = await begin(world, owner.token)
  expect(third.statusCode).toBe(200)
  await api.post('/v1/auth/sign-out', undefined, as)
  await expect(text(third)).rejects.toThrow('aborted')
  await vi.waitFor(() => expect(world.logs()).toContain('"msg":"cut off"'), 60_000)
})

// ---- erasure --------------------------------------------------------------------------------------------------------

test('200: of an erased user a row without a word is left, and they are signed out at once', async () => {
  const world = await shop()
  const { api, billing, store, sql } = world
  const ada = await customer(world)
  const address = (await api.post(billing, NEW_ADDRESS, { as: ada.token })).body
  const again = (await api.post('/v1/auth/sign-in', { email: ada.email, password: ada.password })).body.token

  const reply = await api.delete('/v1/user', { as: ada.token })
  expect([reply.status, reply.body]).toEqual([
    200,
    { keys: [], webhooks: [], members: [], serviceTokens: [], held: [] },
  ])
  expect(reply.headers.get('set-cookie')).toContain('__Host-storekeeper=; Path=/; Max-Age=0')
  for (const as of [ada.token, again]) {
    expect(told(await api.get('/v1/user', { as }))).toEqual([401, 'invalid_token'])
    expect(told(await api.delete('/v1/user', { as }))).toEqual([401, 'invalid_token'])
    expect(told(await api.get(billing, { as }))).toEqual([401, 'invalid_token'])
  }
  const { email, password } = ada
  expect(told(await api.post('/v1/auth/sign-in', { email, password }))).toEqual([401, 'invalid_credentials'])

  const [row] = await sql('select * from users where id = $1', [ada.id])
  expect(row).toEqual({
    id: ada.id,
    customer_of: null,
    confirm_again_since: null,
    email: null,
    name: null,
    password_hash: null,
    issuer: null,
    subject: null,
    data_key: null,
    data_key_kid: null,
    created_at: expect.any(Date),
    updated_at: expect.any(Date),
    erased_at: expect.any(Date),
    disabled_at: null,
    email_verified_at: null,
    email_proven: false,
    mail_off: [],
  })
  expect(await sql('select from sessions where user_id = $1', [ada.id])).toEqual([])
  expect(await sql('select from members where user_id = $1', [ada.id])).toEqual([])
  // For tax, and for whatever points at it.
  expect(await sql('select id, store_id, country, state, postal_code from addresses where user_id = $1', [ada.id])) //
    .toEqual([{ id: address.id, store_id: store.id, country: 'US', state: 'CA', postal_code: '95014' }])
  expect(
    await sql(`select type, store_id, subject, data from events where actor ->> 'id' = $1 order by id desc limit 2`, [
      ada.id,
    ]),
  ).toEqual([
    { type: 'user.erased', store_id: null, subject: ada.id, data: { keys: 'keep' } },
    { type: 'user.erased', store_id: store.id, subject: ada.id, data: { keys: 'keep', role: 'CUSTOMER' } },
  ])

  // The e-mail is free, and whoever signs up with it is somebody else.
  const anew = await api.post('/v1/auth/sign-up', { email, password })
  expect(anew.status).toBe(201)
  expect(anew.body.user.id).not.toBe(ada.id)
  expect((await api.get('/v1/user/export', { as: anew.body.token })).body).toMatchObject({
    memberships: [],
    addresses: [],
    addressVersions: [],
    invitations: [],
  })
})

test('no node shows an address of an erased user, not even one that has just met them', async () => {
  const { api, member, billing, node } = await shop()
  const other = await node()
  for (let round = 0; round < 3; round++) {
    const ada = await member('CUSTOMER')
    const as = { as: ada.token }
    const { id } = (await api.post(billing, NEW_ADDRESS, as)).body
    const paths = [billing, `${billing}/${id}`, `${billing}/${id}/versions`]
    for (const path of paths) expect((await other.get(path, as)).text).toContain(NEW_ADDRESS.addressLine1)
    expect((await api.delete('/v1/user', as)).status).toBe(200)
    const after = await Promise.all(paths.map((path) => other.get(path, as)))
    for (const { text } of after) expect(text).not.toContain(NEW_ADDRESS.addressLine1)
  }
})

test('every other node refuses an erased user within 250 ms', async () => {
  const world = await shop()
  const { api, node, billing } = world
  const other = await node()
  for (let round = 0; round < 3; round++) {
    const ada = await customer(world)
    expect((await other.get('/v1/user', { as: ada.token })).status).toBe(200)
    expect((await api.delete('/v1/user', { as: ada.token })).status).toBe(200)
    const erasedAt = performance.now()
    let lastServed = 0
    for (;;) {
      const asked = performance.now() - erasedAt
      const { status } = await other.get(billing, { as: ada.token })
      if (status === 401) break
      lastServed = asked
    }
    expect(lastServed).toBeLessThan(250)
  }
})

test('401: a session that was not opened just now is not enough', async () => {
  const { api, person } = await shop({ alone: true })
  const ada = await person()
  travel(9 * MINUTE)
  const { email, password } = ada
  travel(2 * MINUTE)
  const refused = await api.delete('/v1/user', { as: ada.token })
  expect(refused.status).toBe(403)
  expect(refused.headers.get('www-authenticate')).toBe(
    'Bearer realm="storekeeper", error="insufficient_user_authentication", max_age=600',
  )
  expect(refused.body).toMatchObject({ code: 'recent_sign_in_required', status: 403 })
  expect((await api.get('/v1/user', { as: ada.token })).status).toBe(200)
  // Using the session, or changing the password with it, makes it no younger.
  const fresh = (await api.post('/v1/auth/sign-in', { email, password })).body.token
  expect((await api.delete('/v1/user', { as: fresh })).status).toBe(200)
  expect((await api.get('/v1/user', { as: ada.token })).status).toBe(401)
})

test('409: the last owner of a store hands it over or deletes it first; the answer names each', async () => {
  const { api, owner, store, member, sql } = await shop()
  const as = owner.token
  const second = (await api.post('/v1/user/store', { name: 'Second' }, { as })).body
  const gone = (await api.post('/v1/user/store', { name: 'Gone' }, { as })).body
  await api.delete(`/v1/user/store/${gone.id}`, { as })
  const refused = await api.delete('/v1/user', { as })
  expect(told(refused)).toEqual([409, 'last_owner'])
  expect(refused.body.stores).toEqual([
    { id: store.id, name: store.name },
    { id: second.id, name: 'Second' },
  ])
  expect((await api.get('/v1/user', { as })).body.stores).toHaveLength(2)
  await member('OWNER')
  expect((await api.delete('/v1/user', { as })).body.stores).toEqual([{ id: second.id, name: 'Second' }])
  await api.delete(`/v1/user/store/${second.id}`, { as })
  expect((await api.delete('/v1/user', { as })).status).toBe(200)
  expect(await sql('select role from members where store_id = $1', [store.id])).toEqual([{ role: 'OWNER' }])
})

test('two owners who erase themselves at once: one of them stays', async () => {
  const world = await shop()
  const { api, owner, store, member, sql } = world
  for (let round = 0; round < 3; round++) {
    const [a, b] = [await member('OWNER'), await member('OWNER')]
    expect((await api.delete('/v1/user', { as: owner.token })).status).toBe(200)
    const replies = await Promise.all([a, b].map(({ token }) => api.delete('/v1/user', { as: token })))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(await sql(`select from members where store_id = $1 and role = 'OWNER'`, [store.id])).toHaveLength(1)
    // Whoever is left invites the next two.
    const left = replies[0]?.status === 409 ? a : b
    Object.assign(owner, left)
  }
})

test('keys that the user made go on working, or are revoked with them', async () => {
  const { api, owner, member, keys, store, sql } = await shop()
  const make = async (as: string, permissions = ['READ']) =>
    (await api.post(keys, { ...NEW_KEY, permissions }, { as })).body
  const works = async (key: string) => (await api.get(`/v1/user/store/${store.id}`, { as: key })).status === 200

  const kept = await member('MANAGER')
  const stays = await make(kept.token)
  expect((await api.delete('/v1/user', { as: kept.token })).status).toBe(200)
  expect(await works(stays.key)).toBe(true)
  expect((await api.get(`${keys}/${stays.id}`, { as: owner.token })).body.createdBy) //
    .toEqual({ kind: 'user', id: kept.id })

  const leaving = await member('MANAGER')
  const first = await make(leaving.token, ['READ', 'MANAGE_KEYS'])
  const child = await make(first.key)
  const before = (await sql('select live_keys from stores where id = $1', [store.id]))[0].live_keys
  expect((await api.delete('/v1/user?keys=revoke', { as: leaving.token })).status).toBe(200)
  expect([await works(first.key), await works(child.key), await works(stays.key)]).toEqual([false, false, true])
  expect((await api.get(`${keys}/${child.id}`, { as: owner.token })).body).toMatchObject({
    status: 'REVOKED',
    revocationReason: 'its maker was erased',
  })
  expect((await sql('select live_keys from stores where id = $1', [store.id]))[0].live_keys).toBe(before - 2)

  // What the owner kept when they demoted somebody is no longer that person's to end.
  const demoted = await member('MANAGER')
  const theirs = await make(demoted.token)
  await api.patch(`/v1/user/store/${store.id}/members/${demoted.id}`, { role: 'STAFF' }, { as: owner.token })
  expect((await api.delete('/v1/user?keys=revoke', { as: demoted.token })).status).toBe(200)
  expect(await works(theirs.key)).toBe(true)
  expect(told(await api.delete('/v1/user?keys=all', { as: owner.token }))).toEqual([422, 'invalid_input'])
})

test('invitations to an erased user are withdrawn, and their e-mail leaves those that were accepted', async () => {
  const { api, owner, store, member, sql } = await shop({ alone: true })
  const invitations = `/v1/user/store/${store.id}/invitations`
  const ada = await member('STAFF')
  const open = (await api.post(invitations, { email: ada.email, role: 'MANAGER' }, { as: owner.token })).body
  const other = (await api.post(invitations, { email: 'other@example.com', role: 'STAFF' }, { as: owner.token })).body
  expect((await api.delete('/v1/user', { as: ada.token })).status).toBe(200)
  const { data } = (await api.get(invitations, { as: owner.token })).body
  expect(data.map(({ id }: { id: string }) => id)).toEqual([other.id])
  expect(await sql('select id from invitations where email = $1', [ada.email])).toEqual([])
  // Nor does the token work for whoever has the address next.
  const { body } = await api.post('/v1/auth/sign-up', { email: ada.email, password: ada.password })
  expect(told(await api.post('/v1/user/invitations/accept', { token: open.token }, { as: body.token }))) //
    .toEqual([404, 'invitation_not_found'])
  expect(await sql(`select subject from events where type = 'member.invitation_withdrawn'`)) //
    .toEqual([{ subject: open.id }])
})

test('an e-mail that was not confirmed ends and shows no invitation; a confirmed one leaves what others accepted', async () => {
  const world = await shop()
  const { api, owner, store, person, sql } = world
  const invitations = `/v1/user/store/${store.id}/invitations`
  const { email, password, id: before } = await person()
  // The address is free again.
  await sql('update users set email = null where id = $1', [before])
  const invite = async () => (await api.post(invitations, { email, role: 'STAFF' }, { as: owner.token })).body
  const signUp = async () => (await api.post('/v1/auth/sign-up', { email, password })).body
  const accept = (token: string, as: string) => api.post('/v1/user/invitations/accept', { token }, { as })
  const emailOf = async (id: string) => (await sql('select email from invitations where id = $1', [id]))[0].email
  const open = await invite()
  const squatter = await signUp()
  const seen = (await api.get('/v1/user/export', { as: squatter.token })).body
  expect([seen.invitations, seen.eventsByOthers]).toEqual([[], []])
  expect((await api.delete('/v1/user', { as: squatter.token })).status).toBe(200)
  expect((await api.get(`${invitations}/${open.id}`, { as: owner.token })).body).toMatchObject({ id: open.id, email })

  const invited = await signUp()
  expect((await accept(open.token, invited.token)).status).toBe(200)
  await sql('update users set email = null where id = $1', [invited.user.id])
  const next = await signUp()
  await confirm(world, next.user)
  const later = await invite()
  const { body: shown } = await api.get('/v1/user/export', { as: next.token })
  expect(shown.invitations.map(({ id }: { id: string }) => id)).toEqual([later.id])
  expect((await api.delete('/v1/user', { as: next.token })).status).toBe(200)
  expect([await emailOf(open.id), await emailOf(later.id)]).toEqual([email, null])
  // By that address the member who accepted is still known: an invitation to it ends with their removal.
  const last = await invite()
  const removed = await api.delete(`/v1/user/store/${store.id}/members/${invited.user.id}`, { as: owner.token })
  expect(removed.status).toBe(200)
  expect(told(await accept(last.token, invited.token))).toEqual([404, 'invitation_not_found'])
})

test('an account whose e-mail was confirmed by somebody who was not signed in to it shows and ends no invitation to it', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, { timings: { mailer: { idleMs: 50, backoffMs: [50] } } })
  const { api, owner, store } = world
  const email = `${mark()}@example.com`
  const password = `a long pass phrase ${mark()}`
  const squatter = (await api.post('/v1/auth/sign-up', { email, password })).body
  const { token } = await mail.mailTo(email)
  expect((await api.post('/v1/auth/confirm', { token })).status).toBe(204)
  const invitations = `/v1/user/store/${store.id}/invitations`
  const withdrawn = (await api.post(invitations, { email, role: 'MANAGER' }, { as: owner.token })).body
  const open = (await api.post(invitations, { email, role: 'STAFF' }, { as: owner.token })).body
  const seen = (await api.get('/v1/user/export', { as: squatter.token })).body
  expect([seen.user.emailVerified, seen.invitations, seen.eventsByOthers]).toEqual([true, [], []])
  // An account that the identity provider vouches for is its owner's.
  const link = (issuer: string | null) =>
    world.sql('update users set issuer = $2, subject = $2 where id = $1', [squatter.user.id, issuer])
  await link('https://id.example')
  const linked = (await api.get('/v1/user/export', { as: squatter.token })).body
  expect(linked.invitations.map(({ id }: { id: string }) => id)).toEqual([open.id, withdrawn.id])
  await link(null)
  expect((await api.delete('/v1/user', { as: squatter.token })).status).toBe(200)
  expect((await api.get(`${invitations}/${open.id}`, { as: owner.token })).body).toMatchObject({ id: open.id, email })
  expect(await world.sql('select email from invitations where id = $1', [withdrawn.id])).toEqual([{ email }])
})

test('nothing that an erased user had under way comes after them', async () => {
  const world = await shop()
  const { api, node, store, billing, keys, sql } = world
  const other = await node()
  for (let round = 0; round < 4; round++) {
    const ada = await customer(world)
    const as = ada.token
    const invited = await api.post(
      `/v1/user/store/${store.id}/invitations`,
      { email: ada.email, role: 'MANAGER' },
      { as: world.owner.token },
    )
    // The other node has met them, and would rely on it for a moment.
    await other.get('/v1/user', { as })
    await other.get(billing, { as })
    const erased = api.delete('/v1/user', { as })
    const late = Array.from({ length: 6 }, (_, n) => [
      other.post('/v1/user/store', { name: 'Too late' }, { as }),
      other.post(billing, NEW_ADDRESS, { as }),
      // Each costs what its password does.
      ...(n < 2 ? [other.post('/v1/auth/sign-in', { email: ada.email, password: ada.password })] : []),
      other.post('/v1/user/invitations/accept', { token: invited.body.token }, { as }),
      other.post(keys, NEW_KEY, { as }),
    ]).flat()
    const outcome = (await erased).status
    for (const { status } of await Promise.all(late)) expect([200, 201, 401, 403, 404, 409, 503]).toContain(status)
    // A store made just before keeps its owner, who is then not erased.
    const tried = outcome === 200 ? 200 : (await api.delete('/v1/user', { as })).status
    const [{ erased_at }] = await sql('select erased_at from users where id = $1', [ada.id])
    const left = [
      ...(await sql('select user_id from members where user_id = $1', [ada.id])),
      ...(await sql('select user_id from sessions where user_id = $1', [ada.id])),
    ]
    if (erased_at) expect([tried, left]).toEqual([200, []])
    else expect([tried, left.length > 0]).toEqual([409, true])
    // However they came, what was written afterwards was refused.
    if (erased_at) {
      const after = await sql(`select type from events where actor ->> 'id' = $1 and at > $2`, [ada.id, erased_at])
      expect(after.filter(({ type }) => type !== 'user.erased')).toEqual([])
    }
  }
})

test('a node that met them a moment ago makes nothing for an erased user', async () => {
  const { api, node, person, sql } = await shop()
  const other = await node()
  for (let round = 0; round < 5; round++) {
    const { token: as, id } = await person()
    expect((await other.get('/v1/user', { as })).status).toBe(200)
    expect((await api.delete('/v1/user', { as })).status).toBe(200)
    expect(told(await other.post('/v1/user/store', { name: 'Too late' }, { as }))).toEqual([401, 'invalid_token'])
    expect(await sql('select from members where user_id = $1', [id])).toEqual([])
  }
})

test('a store made at the very moment is not left without its owner', async () => {
  const { api, person, sql } = await shop({ alone: true })
  for (let round = 0; round < 5; round++) {
    const ada = await person()
    const [made, erased] = await Promise.all([
      api.post('/v1/user/store', { name: 'Mine' }, { as: ada.token }),
      api.delete('/v1/user', { as: ada.token }),
    ])
    expect([
      [201, 409],
      [401, 200],
    ]).toContainEqual([made.status, erased.status])
    const orphans = await sql(`
      select store.id from stores store where not exists (select from members where store_id = store.id)`)
    expect(orphans).toEqual([])
  }
})

// ---- what remains ---------------------------------------------------------------------------------------------------

test('before erasure only the account is readable in the database; afterwards nothing of the user is', async () => {
  const world = await shop({ alone: true })
  const { api, billing, keys, sql, logs, owner, store } = world
  const since = await walPosition(sql)
  const name = mark()
  const email = `${mark()}@example.com`
  const userAgent = mark()
  const password = `a long pass phrase ${mark()}`
  const headers = { 'user-agent': userAgent }
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  const { token: as, user } = (await api.post('/v1/auth/sign-up', { email, password, name }, { headers })).body
  await confirm(world, user)
  await api.post(`/v1/store/${store.id}/join`, {}, { as })
  await api.post(`/v1/user/store/${store.id}/invitations`, { email, role: 'STAFF' }, { as: owner.token })
  const [formerId, externalId] = [mark(), mark()]
  for (const id of [formerId, externalId]) {
    await api.put(`/v1/user/store/${store.id}/customers/${id}`, { userId: user.id }, { as: owner.token })
    await api.post(keys, { ...NEW_KEY, owner: id }, { as: owner.token })
    if (id === externalId) break
    await api.post(`/v1/store/${store.id}/leave`, {}, { as })
    await api.post(`/v1/store/${store.id}/join`, {}, { as })
  }
  const text = Object.fromEntries(
    ['firstName', 'lastName', 'company', 'taxId', 'addressLine1', 'addressLine2', 'city'].map((field) => [
      field,
      mark(),
    ]),
  )
  const phone = '+14085550177'
  const address = { ...NEW_ADDRESS, ...text, phone }
  const once = { 'idempotency-key': '1', ...headers }
  const first = await api.post(billing, address, { as, headers: once })
  expect(first.status).toBe(201)
  expect((await api.post(billing, address, { as, headers: once })).text).toBe(first.text)

  const sealed = [...Object.values(text), phone, phone.slice(1)]
  const account = { email, name, userAgent, formerId, externalId }
  const holding = (place: string) =>
    Object.entries(account).flatMap(([what, value]) => (place.includes(value) ? [what] : []))
  const readable = async () => {
    const rows = await everyRow(sql)
    const files = await filesOf(sql, since)
    for (const place of [rows, logs(), ...Object.values(files)])
      expect(sealed.filter((value) => place.includes(value))).toEqual([])
    return { rows: holding(rows), log: holding(logs()), wal: holding(files['the write-ahead log'] ?? '') }
  }
  const superuser = (await sql('select rolsuper as yes from pg_roles where rolname = current_user'))[0].yes
  // The log written ahead keeps what was readable until PostgreSQL throws it away: docs/decisions/erasure.md says so.
  const before = Object.keys(account)
  const wal = superuser ? before : []
  expect(await readable()).toEqual({ rows: before, log: [], wal })
  expect((await api.get('/v1/user/export', { as, headers })).text).toContain(text.addressLine1)

  expect((await api.delete('/v1/user', { as, headers })).status).toBe(200)
  await nobodyLooksBack(sql)
  await sql('vacuum full')
  const { wal: still, ...left } = await readable()
  expect(left).toEqual({ rows: [], log: [] })
  // What was readable there fades as the server writes over it; nothing comes to it.
  expect(wal).toEqual(expect.arrayContaining(still))
  // The very pages of the tables, not only what a query shows.
  if (superuser) {
    await sql('checkpoint')
    for (const table of [
      'users',
      'sessions',
      'invitations',
      'addresses',
      'events',
      'idempotent_responses',
      'customers',
      'former_links',
      'owners_to_erase',
      'api_keys',
    ]) {
      const [{ bytes }] = await sql(`select pg_read_binary_file(pg_relation_filepath($1)) as bytes`, [table])
      const pages = bytes.toString('latin1')
      expect(holding(pages), table).toEqual([])
      expect(sealed.filter((value) => pages.includes(value))).toEqual([])
    }
  }
  expect(await sql('select data_key from users where id = $1', [user.id])).toEqual([{ data_key: null }])
})

test('an answer remembered for a retry opens for nobody once its user is erased', async () => {
  const world = await shop({ alone: true })
  const { api, billing, sql } = world
  const ada = await customer(world)
  const once = { 'idempotency-key': 'one' }
  await api.post(billing, NEW_ADDRESS, { as: ada.token, headers: once })
  const [kept] = await sql('select data_key, data_key_kid, email, password_hash from users where id = $1', [ada.id])
  const [answer] = await sql(
    `select to_jsonb(answer) as row from idempotent_responses answer where resource_id ^@ 'addr_'`,
  )
  expect((await api.delete('/v1/user', { as: ada.token })).status).toBe(200)
  expect(await sql(`select from idempotent_responses where resource_id ^@ 'addr_'`)).toEqual([])
  // From a backup.
  await sql('insert into idempotent_responses select * from jsonb_populate_record(null::idempotent_responses, $1)', [
    JSON.stringify(answer.row),
  ])
  // As if everything but the key came back: the same user, in the same store, with a session and another key.
  const revive = (key: Buffer) =>
    sql(
      `update users set erased_at = null, email = $2, password_hash = $3, data_key = $4, data_key_kid = $5 where id = $1`,
      [ada.id, kept.email, kept.password_hash, key, kept.data_key_kid],
    )
  await revive(newDataKey(newKeyring(new Secret(world.serverSecret), null), ada.id).wrapped)
  const { email, password } = ada
  const { token: as } = (await api.post('/v1/auth/sign-in', { email, password })).body
  await api.post(`/v1/store/${world.store.id}/join`, {}, { as })
  expect((await api.post(billing, NEW_ADDRESS, { as, headers: once })).body.code).toBe('response_no_longer_available')
  // With it, it would have opened: that is all that was missing.
  await revive(kept.data_key)
  expect((await api.post(billing, NEW_ADDRESS, { as, headers: once })).headers.get('idempotent-replayed')).toBe('true')
})

test('the database itself holds a user to be whole or without a word', async () => {
  const { sql, owner, person } = await shop()
  const other = await person()
  for (const change of [
    'data_key = null',
    'data_key_kid = null',
    'erased_at = now()',
    `erased_at = now(), email = null, name = null, password_hash = null, data_key_kid = null`,
  ])
    await expect(sql(`update users set ${change} where id = $1`, [owner.id])) //
      .rejects.toThrow('users_identified_or_erased')
  expect(await sql('select id from users where email = $1', [other.email])).toEqual([{ id: other.id }])
})
