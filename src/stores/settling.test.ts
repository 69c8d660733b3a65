// What somebody who goes leaves behind, and how it is ended: keys they made or took the secret of, webhooks, invitations.

import { expect, test } from 'vitest'
import { newSession } from '../../tests/sessions.ts'
import { NEW_KEY, type Person, shop } from '../../tests/shop.ts'
import { receiver } from '../../tests/webhook-receiver.ts'
import { BUILT_IN_PERMISSIONS } from '../core/permissions.ts'

const ALL = [...BUILT_IN_PERMISSIONS]
const CHIEF = ['READ', 'MANAGE_KEYS', 'MANAGE_MEMBERS', 'MANAGE_WEBHOOKS']

type Made = { id: string; key: string }

/** A shop in which each step of a story is one line. */
async function story(settings: Parameters<typeof shop>[0] = {}) {
  const world = await shop(settings)
  const { api, owner, store, keys } = world
  const root = `/v1/user/store/${store.id}`
  const make = async (as: string, name: string, permissions = CHIEF): Promise<Made> => {
    const made = await api.post(keys, { ...NEW_KEY, name, permissions }, { as })
    expect([made.status, made.text]).toEqual([201, made.text])
    return made.body
  }
  const rotate = async (as: string, { id }: Made, gracePeriodSeconds = 0): Promise<Made> => {
    const rotated = await api.post(`${keys}/${id}/rotate`, { gracePeriodSeconds }, { as })
    expect([rotated.status, rotated.text]).toEqual([200, rotated.text])
    return rotated.body
  }
  const remove = (whom: { id: string }, query = '', as = owner.token) =>
    api.delete(`${root}/members/${whom.id}${query}`, { as })
  const invite = async (as: string, email: string, role = 'STAFF') =>
    (await api.post(`${root}/invitations`, { email, role }, { as })).body
  const accept = (as: string, { token }: { token: string }) =>
    api.post('/v1/user/invitations/accept', { token }, { as })
  const works = async (...made: Made[]) =>
    Promise.all(made.map(async ({ key }) => (await api.get('/v1/key', { as: key })).status === 200))
  return { ...world, root, make, rotate, remove, invite, accept, works }
}

const named = (keys: { name: string; status: string }[]) => keys.map(({ name, status }) => `${name} ${status}`).sort()

// ---- whoever rotated a key holds its secret -------------------------------------------------------------------------

test('a key that a member rotated is settled with them, however they go, and the answer lists it also with keep', async () => {
  const { api, owner, member, root, store, make, rotate, remove, works } = await story()
  const goings: Record<string, (m: Person, query: string) => Promise<{ status: number; body: any }>> = {
    removed: (m, query) => remove(m, query),
    demoted: (m, query) => api.patch(`${root}/members/${m.id}${query}`, { role: 'STAFF' }, { as: owner.token }),
    left: (m, query) => api.post(`/v1/store/${store.id}/leave${query}`, undefined, { as: m.token }),
    erased: (m, query) => api.delete(`/v1/user${query}`, { as: m.token }),
  }
  for (const [how, go] of Object.entries(goings)) {
    const x = await make(owner.token, how)
    const [kept, gone] = [await member('MANAGER'), await member('MANAGER')]
    await rotate(kept.token, x)
    const after = await go(kept, '')
    expect([how, after.status, named(after.body.keys)]).toEqual([how, 200, [`${how} ACTIVE`]])
    // The next one takes the secret with a long grace: nobody who uses the key notices.
    const taken = await rotate(gone.token, x, 2_592_000)
    expect(await works(taken)).toEqual([true])
    const ended = await go(gone, '?keys=revoke')
    expect([how, ended.status, named(ended.body.keys)]).toEqual([how, 200, [`${how} REVOKED`]])
    expect(await works(taken)).toEqual([false])
  }
})

test('a key that a member rotated is listed, however many secrets they took that work no more', async () => {
  const { owner, member, make, rotate, remove, sql } = await story()
  const m = await member('MANAGER')
  const [y, x] = [await make(owner.token, 'y'), await make(owner.token, 'x')]
  const times = 20_000
  await sql(
    `insert into key_rotations (key_id, secret_no, rotated_by_kind, rotated_by_id, rotated_at)
     select $1, n + 1, 'user', $2, now() from generate_series(1, $3::int) n`,
    [y.id, m.id, times],
  )
  await sql('update api_keys set secret_no = $2 + 1 where id = $1', [y.id, times])
  await rotate(owner.token, y)
  await rotate(m.token, x)
  await rotate(owner.token, x, 60)
  const { status, body } = await remove(m)
  expect([status, named(body.keys)]).toEqual([200, ['x ACTIVE']])
})

test('secrets are followed from one to the next: taken with a key, made with a secret that was taken, and their webhooks', async () => {
  const { api, owner, member, root, make, rotate, remove, works } = await story({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const listen = async (as: string) => {
    const { url } = await receiver()
    const made = await api.post(`${root}/webhooks`, { url, types: ['key.*'] }, { as })
    expect(made.status).toBe(201)
    return made.body.id as string
  }
  const [m, other] = [await member('MANAGER'), await member('MANAGER')]
  const [x, y, bystander] = [
    await make(owner.token, 'x'),
    await make(owner.token, 'y'),
    await make(other.token, 'bystander'),
  ]
  // M makes k, and takes x with it; with x they make more, and take y with that.
  const k = await make(m.token, 'k')
  const takenX = await rotate(k.key, x)
  const child = await make(takenX.key, 'child')
  const takenY = await rotate(child.key, y)
  const grandchild = await make(takenY.key, 'grandchild')
  const theirs = [await listen(m.token), await listen(takenX.key), await listen(grandchild.key)]
  const owners = await listen(owner.token)
  // The owner takes x back, and makes a key and a webhook with the new secret: these are not M's, but what M made is.
  const newX = await rotate(owner.token, x)
  const byOwner = await make(newX.key, 'made by the owner')
  const [byOwnersX] = [await listen(newX.key)]

  const kept = await remove(m)
  const expected = ['child', 'grandchild', 'k', 'y']
  expect([kept.status, named(kept.body.keys)]).toEqual([200, expected.map((name) => `${name} ACTIVE`)])
  const ids = (webhooks: { id: string; enabled: boolean }[]) =>
    webhooks.map(({ id, enabled }) => `${id} ${enabled}`).sort()
  expect(ids(kept.body.webhooks)).toEqual(theirs.map((id) => `${id} true`).sort())

  // A removal with keep can be corrected later.
  const ended = await remove(m, '?keys=revoke&webhooks=disable')
  expect([ended.status, ended.body.member]).toEqual([200, { ...kept.body.member, name: null, email: null }])
  expect(named(ended.body.keys)).toEqual(expected.map((name) => `${name} REVOKED`))
  expect(ids(ended.body.webhooks)).toEqual(theirs.map((id) => `${id} false`).sort())
  expect(await works(k, child, takenY, grandchild)).toEqual([false, false, false, false])
  expect(await works(newX, byOwner, bystander)).toEqual([true, true, true])
  for (const id of [owners, byOwnersX])
    expect((await api.get(`${root}/webhooks/${id}`, { as: owner.token })).body.enabled).toBe(true)
})

test('what was made or taken with a key that was revoked since is found all the same', async () => {
  const { api, owner, member, person, root, keys, sql, make, rotate, remove, invite, accept, works } = await story({
    WEBHOOK_ALLOW_PRIVATE: 'on',
  })
  const [m, guest] = [await member('MANAGER'), await person()]
  const x = await make(owner.token, 'x')
  await make(m.token, 'unused')
  const maker = await make(m.token, 'maker')
  const chain = await make(maker.key, 'child of a maker')
  const [taker, listener, host] = [
    await make(chain.key, 'taker'),
    await make(chain.key, 'listener'),
    await make(chain.key, 'host'),
  ]
  const taken = await rotate(taker.key, x)
  const { url } = await receiver()
  const webhook = (await api.post(`${root}/webhooks`, { url, types: ['key.*'] }, { as: listener.key })).body
  expect((await accept(guest.token, await invite(host.key, guest.email, 'CUSTOMER'))).status).toBe(200)
  const { data } = (await api.get(`${keys}?limit=100`, { as: owner.token })).body as { data: Made[] }
  for (const { id } of data.filter(({ id }) => id !== x.id)) await api.delete(`${keys}/${id}`, { as: owner.token })

  const remembered = await sql('select key_id from key_makers')
  const makers = [maker, chain, taker, listener, host].map(({ id }) => id)
  expect(remembered.map(({ key_id }) => key_id).sort()).toEqual(makers.sort())

  const { body } = await remove(m, '?keys=revoke&webhooks=disable')
  const ended = ['maker', 'child of a maker', 'taker', 'listener', 'host', 'unused', 'x']
  expect(named(body.keys)).toEqual(ended.map((name) => `${name} REVOKED`).sort())
  expect(await works(taken)).toEqual([false])
  expect(body.webhooks).toMatchObject([{ id: webhook.id, enabled: false }])
  expect(body.members).toEqual([{ userId: guest.id, role: 'CUSTOMER' }])
})

test('a secret that was replaced is nobody’s once its grace is over; within it, it is still the one’s who took it', async () => {
  const { owner, member, make, rotate, remove, works } = await story()
  const m = await member('MANAGER')
  const [over, within, itself] = [
    await make(owner.token, 'over'),
    await make(owner.token, 'within'),
    await make(owner.token, 'itself'),
  ]
  for (const key of [over, within]) await rotate(m.token, key)
  await rotate(owner.token, over)
  const current = await rotate(owner.token, within, 3600)
  // A key that rotates itself gives its new secret to whoever holds the old one.
  const passedOn = await rotate((await rotate(m.token, itself)).key, itself)
  expect(named((await remove(m)).body.keys)).toEqual(['itself ACTIVE', 'within ACTIVE'])
  await remove(m, '?keys=revoke')
  expect(await works(current, passedOn)).toEqual([false, false])
})

test('an owner who is one no more is demoted, also with every permission', async () => {
  const { api, owner, member, root, make, invite, accept, works } = await story()
  const second = await member('OWNER')
  const key = await make(second.token, 'k')
  const open = await invite(owner.token, second.email, 'OWNER')
  const demoted = await api.patch(
    `${root}/members/${second.id}?keys=revoke`,
    { role: 'MANAGER', permissions: ALL },
    { as: owner.token },
  )
  expect([demoted.status, named(demoted.body.keys)]).toEqual([200, ['k REVOKED']])
  expect(await works(key)).toEqual([false])
  await api.post(`/v1/store/${root.split('/').at(-1)}/leave`, undefined, { as: second.token })
  expect((await accept(second.token, open)).body.code).toBe('invitation_not_found')
})

// ---- who may end what -----------------------------------------------------------------------------------------------

test('403: keys=revoke needs MANAGE_KEYS and webhooks=disable MANAGE_WEBHOOKS, but for what one leaves behind oneself', async () => {
  const { api, member, root, store, make, remove, works } = await story()
  const clerk = await member('STAFF', ['READ', 'MANAGE_MEMBERS', 'MANAGE_KEYS', 'MANAGE_WEBHOOKS'])
  const theirs = await make(clerk.token, 'of the clerk', ['READ'])
  // Whoever steps down by themselves has decided over nothing: it stays theirs.
  await api.patch(`${root}/members/${clerk.id}`, { permissions: ['READ', 'MANAGE_MEMBERS'] }, { as: clerk.token })
  const customer = await member('CUSTOMER')
  for (const [query, needed] of [
    ['?keys=revoke', 'MANAGE_KEYS'],
    ['?webhooks=disable', 'MANAGE_WEBHOOKS'],
  ])
    for (const answer of [
      await remove(customer, query, clerk.token),
      await api.patch(`${root}/members/${customer.id}${query}`, {}, { as: clerk.token }),
    ])
      expect([answer.status, answer.body.code, answer.body.required]).toEqual([
        403,
        'insufficient_permission',
        [needed],
      ])
  expect((await remove(customer, '', clerk.token)).status).toBe(200)
  const left = await api.post(`/v1/store/${store.id}/leave?keys=revoke&webhooks=disable`, undefined, {
    as: clerk.token,
  })
  expect([left.status, left.body]).toEqual([
    200,
    {
      keys: [{ id: theirs.id, name: 'of the clerk', status: 'REVOKED' }],
      webhooks: [],
      members: [],
      serviceTokens: [],
    },
  ])
  expect(await works(theirs)).toEqual([false])
})

test('whoever joins again ends nothing by leaving that others kept, nor a key that others have rotated since', async () => {
  const world = await story({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const { api, owner, member, root, store, make, rotate, remove, works } = world
  await api.patch(root, { registration: 'OPEN' }, { as: owner.token })
  const { url } = await receiver()
  const listen = async (as: string) =>
    (await api.post(`${root}/webhooks`, { url, types: ['key.*'] }, { as })).body.id as string
  const isOn = async (id: string) => (await api.get(`${root}/webhooks/${id}`, { as: owner.token })).body.enabled
  const all = '?keys=revoke&webhooks=disable'
  const leave = (as: string) => api.post(`/v1/store/${store.id}/leave${all}`, undefined, { as })
  const left = (m: Person) => api.post(`/v1/store/${store.id}/leave`, undefined, { as: m.token })

  // Removed, or gone by themselves: what they made in an earlier membership the store has kept.
  for (const go of [remove, left]) {
    const m = await member('MANAGER')
    const [kept, rotated] = [await make(m.token, 'kept'), await make(m.token, 'rotated')]
    const hook = await listen(kept.key)
    await go(m)
    const current = await rotate(owner.token, rotated)
    expect((await api.post(`/v1/store/${store.id}/join`, undefined, { as: m.token })).status).toBe(201)
    const gone = await leave(m.token)
    expect([gone.status, gone.body.keys, gone.body.webhooks]).toEqual([200, [], []])
    expect([await works(kept, current), await isOn(hook)]).toEqual([[true, true], true])
    // Those who manage keys settle all of it.
    const settled = await remove(m, all)
    expect(named(settled.body.keys)).toEqual(['kept REVOKED', 'rotated REVOKED'])
    expect(await isOn(hook)).toBe(false)
  }

  // Demoted: what they made since is theirs to end. What the store kept when it demoted them is not, nor is a key that was
  // taken back, also in its grace.
  for (const go of ['left', 'erased', 'stepped down'] as const) {
    const m = await member('STAFF', CHIEF)
    const hook = await listen(m.token)
    const kept = await make(m.token, 'kept', ['READ'])
    const rights = { permissions: ['READ', 'MANAGE_KEYS', 'MANAGE_MEMBERS'] }
    const demoted = await api.patch(`${root}/members/${m.id}?keys=keep`, rights, { as: owner.token })
    expect(named(demoted.body.keys)).toEqual(['kept ACTIVE'])
    const [theirs, back, inGrace] = [
      await make(m.token, 'a', ['READ']),
      await make(m.token, 'b', ['READ']),
      await make(m.token, 'c', ['READ']),
    ]
    await rotate(owner.token, back)
    await rotate(owner.token, inGrace, 600)
    // Given back what was taken: the decision stands.
    if (go !== 'left') await api.patch(`${root}/members/${m.id}`, { permissions: CHIEF }, { as: owner.token })
    const gone =
      go === 'left'
        ? await leave(m.token)
        : go === 'erased'
          ? await api.delete(`/v1/user${all}`, { as: m.token })
          : await api.patch(`${root}/members/${m.id}${all}`, { permissions: ['READ'] }, { as: m.token })
    expect([go, gone.status, named(gone.body.keys), gone.body.webhooks]).toEqual([go, 200, ['a REVOKED'], []])
    expect([...(await works(theirs, inGrace, kept)), await isOn(hook)]).toEqual([false, true, true, true])
  }
})

// ---- former members -------------------------------------------------------------------------------------------------

test('somebody who has left is settled by the same DELETE, and shown as they were; a stranger is 404', async () => {
  const { api, owner, member, person, root, store, make, remove, works } = await story()
  const [m, rival] = [await member('MANAGER'), await member('OWNER')]
  const [key, ofRival] = [await make(m.token, 'k'), await make(rival.token, 'r')]
  const before = (await api.get(`${root}/members/${m.id}`, { as: owner.token })).body
  const left = await api.post(`/v1/store/${store.id}/leave`, undefined, { as: m.token })
  expect([left.status, left.body]).toEqual([
    200,
    { keys: [{ id: key.id, name: 'k', status: 'ACTIVE' }], webhooks: [], members: [], serviceTokens: [] },
  ])
  expect((await api.get(`${root}/members/${m.id}`, { as: owner.token })).status).toBe(404)
  const stale = await api.delete(`${root}/members/${m.id}`, { as: owner.token, headers: { 'if-match': '"r9"' } })
  expect(stale.status).toBe(412)
  const listed = await remove(m)
  // Their name and e-mail are no longer the store's to see.
  expect([listed.status, listed.body]).toEqual([200, { member: { ...before, name: null, email: null }, ...left.body }])
  // Whoever was an owner outranks nobody any more.
  await api.post(`/v1/store/${store.id}/leave`, undefined, { as: rival.token })
  const manager = await member('MANAGER')
  for (const [whom, made] of [
    [m, key],
    [rival, ofRival],
  ] as const) {
    expect((await remove(whom, '?keys=revoke', manager.token)).body.keys[0].status).toBe('REVOKED')
    expect(await works(made)).toEqual([false])
  }
  expect((await remove(await person())).body.code).toBe('member_not_found')
  const trail = await api.get(`${root}/events?type=member.removed`, { as: owner.token })
  expect(trail.body.data).toEqual([])
})

test('an erased user lists what they leave behind in every store, ends it if they say so, and can be settled later', async () => {
  const { api, owner, member, make, remove, works, store } = await story()
  const [m, n] = [await member('STAFF', CHIEF), await member('STAFF', CHIEF)]
  const [key, kept] = [await make(m.token, 'k'), await make(n.token, 'kept')]
  const own = (await api.post('/v1/user/store', { name: 'Another' }, { as: m.token })).body
  const elsewhere = await api.post(`/v1/user/store/${own.id}/keys`, NEW_KEY, { as: m.token })
  const heir = await api.post(
    `/v1/user/store/${own.id}/invitations`,
    { email: owner.email, role: 'OWNER' },
    { as: m.token },
  )
  await api.post('/v1/user/invitations/accept', { token: heir.body.token }, { as: owner.token })
  const erased = await api.delete('/v1/user?keys=revoke&webhooks=disable', { as: m.token })
  const inBoth = [
    { storeId: store.id, id: key.id, name: 'k', status: 'REVOKED' },
    { storeId: own.id, id: elsewhere.body.id, name: NEW_KEY.name, status: 'REVOKED' },
  ]
  expect([erased.status, erased.body]).toEqual([
    200,
    {
      keys: inBoth,
      webhooks: [],
      members: [{ storeId: own.id, userId: owner.id, role: 'OWNER' }],
      serviceTokens: [],
      held: [],
    },
  ])
  expect(erased.headers.get('set-cookie')).toMatch(/Max-Age=0/)
  expect(await works(key)).toEqual([false])
  const quiet = await api.delete('/v1/user', { as: n.token })
  expect([quiet.status, named(quiet.body.keys)]).toEqual([200, ['kept ACTIVE']])
  const settled = await remove(n, '?keys=revoke')
  expect([settled.status, named(settled.body.keys), settled.body.member]).toMatchObject([
    200,
    ['kept REVOKED'],
    { userId: n.id, email: null, name: null, role: 'STAFF', permissions: CHIEF },
  ])
  expect(await works(kept)).toEqual([false])
})

test('whoever is erased while a store is deleted leaves nothing behind in it that they ended, when it is restored', async () => {
  const { api, owner, member, make, invite, accept, person, works, root, keys, store, serviceToken } = await story({
    WEBHOOK_ALLOW_PRIVATE: 'on',
  })
  const [m, c] = [await member('STAFF', CHIEF), await member('CUSTOMER')]
  const [key, kept] = [await make(m.token, 'k'), await make(owner.token, 'kept')]
  const hook = await api.post(`${root}/webhooks`, { url: (await receiver()).url, types: ['*'] }, { as: key.key })
  const guest = await person()
  const invitation = await invite(m.token, guest.email, 'CUSTOMER')
  await api.put(`${root}/customers/carol`, { userId: c.id }, { as: owner.token })
  await api.patch(`${keys}/${kept.id}`, { owner: 'carol' }, { as: owner.token })
  const as = await serviceToken()
  await api.delete(root, { as: owner.token })

  const erased = await api.delete('/v1/user?keys=revoke&webhooks=disable', { as: m.token })
  expect([erased.status, erased.body]).toMatchObject([
    200,
    {
      keys: [{ storeId: store.id, id: key.id, status: 'REVOKED' }],
      webhooks: [{ storeId: store.id, id: hook.body.id, enabled: false }],
    },
  ])
  expect((await api.delete('/v1/user', { as: c.token })).status).toBe(200)

  expect((await api.post(`${root}/restore`, undefined, { as: owner.token })).status).toBe(200)
  expect((await api.post('/v1/keys/verify', { key: key.key }, { as })).body.code).toBe('REVOKED')
  expect(await works(key, kept)).toEqual([false, true])
  expect((await api.get(`${root}/webhooks/${hook.body.id}`, { as: owner.token })).body.enabled).toBe(false)
  expect((await accept(guest.token, invitation)).status).toBe(404)
  expect((await api.get(`${keys}/${kept.id}`, { as: owner.token })).body.owner).toMatch(/^erased-/)
  const told = await api.get(`${root}/events?type=user.erased`, { as: owner.token })
  expect(told.body.data.map(({ subject }: { subject: string }) => subject).sort()).toEqual([m.id, c.id].sort())
  // The last owner of a deleted store may go, and it stays deleted.
  await api.delete(root, { as: owner.token })
  expect((await api.delete('/v1/user', { as: owner.token })).status).toBe(200)
})

// ---- a key that is revoked ------------------------------------------------------------------------------------------

test('revoking a key lists what was made with it, ends it with made=revoke, and always ends its invitations', async () => {
  const { api, owner, member, person, root, keys, make, rotate, invite, accept, works } = await story({
    WEBHOOK_ALLOW_PRIVATE: 'on',
  })
  const revoke = (id: string, query = '', as = owner.token) => api.delete(`${keys}/${id}${query}`, { as })
  const [k, x] = [await make(owner.token, 'k'), await make(owner.token, 'x')]
  const child = await make(k.key, 'child')
  const taken = await rotate(child.key, x)
  const { url } = await receiver()
  const webhook = (await api.post(`${root}/webhooks`, { url, types: ['key.*'] }, { as: taken.key })).body.id
  const friend = await person()
  const open = await invite(k.key, friend.email, 'CUSTOMER')
  const byChild = await invite(child.key, (await person()).email, 'CUSTOMER')

  const revoked = await revoke(k.id, '?reason=leaked')
  const active = [child, taken].map(({ id }) => id).sort()
  expect(revoked.body.made.keys.map(({ id }: Made) => id).sort()).toEqual(active)
  expect(revoked.body.made.webhooks).toEqual([{ id: webhook, url, enabled: true }])
  expect([revoked.body.status, await works(child, taken)]).toEqual(['REVOKED', [true, true]])
  expect((await accept(friend.token, open)).body.code).toBe('invitation_not_found')
  const stillOpen = (await api.get(`${root}/invitations`, { as: owner.token })).body.data
  expect(stillOpen.map(({ id }: Made) => id)).toEqual([byChild.id])
  // Meanwhile its use may have been written down.
  expect((await revoke(k.id)).body).toEqual({
    ...revoked.body,
    lastUsedAt: expect.toBeOneOf([null, expect.any(String)]),
  })

  // The webhook among them needs a permission of its own. Whoever lacks it ends nothing.
  const keeper = await member('STAFF', ['MANAGE_KEYS'])
  const refused = await revoke(k.id, '?made=revoke', keeper.token)
  expect([refused.status, refused.body.required]).toEqual([403, ['MANAGE_WEBHOOKS']])
  expect(await works(child, taken)).toEqual([true, true])
  expect((await revoke(k.id, '', keeper.token)).body.made.webhooks).toEqual([{ id: webhook, url: null, enabled: true }])
  const ended = await revoke(k.id, '?made=revoke')
  expect([named(ended.body.made.keys), ended.body.made.webhooks]).toEqual([
    ['child REVOKED', 'x REVOKED'],
    [{ id: webhook, url, enabled: false }],
  ])
  expect(await works(child, taken)).toEqual([false, false])
  expect((await api.get(`${root}/invitations`, { as: owner.token })).body.data).toEqual([])
  expect((await revoke(k.id, '?made=revoke', keeper.token)).status).toBe(200)
})

test('who was let in by somebody who goes, or with a key that is revoked, is listed while they are a member', async () => {
  const { api, owner, member, person, root, keys, store, make, remove, invite, accept } = await story()
  await api.patch(root, { registration: 'OPEN' }, { as: owner.token })
  const m = await member('STAFF', [...CHIEF, 'WRITE'])
  const key = await make(m.token, 'k', [...CHIEF, 'WRITE'])
  const [byM, byKey, left, back, raised] = [
    await person(),
    await person(),
    await person(),
    await person(),
    await person(),
  ]
  await api.post(`/v1/store/${store.id}/join`, undefined, { as: raised.token })
  for (const [friend, as] of [
    [byM, m.token],
    [byKey, key.key],
    [left, m.token],
    [back, key.key],
    [raised, key.key],
  ] as const)
    expect((await accept(friend.token, await invite(as, friend.email))).status).toBe(200)
  for (const { token } of [left, back]) await api.post(`/v1/store/${store.id}/leave`, undefined, { as: token })
  await api.post(`/v1/store/${store.id}/join`, undefined, { as: back.token })
  await member('STAFF')
  const listed = (...people: Person[]) =>
    people.map(({ id }) => ({ userId: id, role: 'STAFF' })).sort((a, b) => (a.userId < b.userId ? 1 : -1))
  expect((await remove(m)).body.members).toEqual(listed(byM, byKey, raised))
  const revoked = await api.delete(`${keys}/${key.id}`, { as: owner.token })
  expect(revoked.body.made.members).toEqual(listed(byKey, raised))
  await remove(byKey)
  expect((await remove(m)).body.members).toEqual(listed(byM, raised))
})

// ---- invitations ----------------------------------------------------------------------------------------------------

test('an invitation ends when its maker goes, and does not come to life when they return', async () => {
  const { api, owner, member, person, store, invite, accept, remove } = await story()
  for (const leaves of [true, false]) {
    const [m, friend] = [await member('MANAGER'), await person()]
    const open = await invite(m.token, friend.email)
    if (leaves) await api.post(`/v1/store/${store.id}/leave`, undefined, { as: m.token })
    else await remove(m)
    const back = await accept(m.token, await invite(owner.token, m.email, 'MANAGER'))
    expect(back.status).toBe(200)
    expect((await accept(friend.token, open)).body.code).toBe('invitation_not_found')
  }
})

test('an invitation made with a session ends when that session is ended for safety, not when it signs out', async () => {
  const world = await story({ alone: true })
  const { api, owner, person, root, accept } = world
  const as = owner.token
  const inviting = async () => {
    const [session, friend] = [await newSession(world, owner.id), await person()]
    const body = { email: friend.email, role: 'OWNER' }
    const open = (await api.post(`${root}/invitations`, body, { as: session.token })).body
    return { session, friend, open }
  }
  const accepted = async ({ friend, open }: Awaited<ReturnType<typeof inviting>>) =>
    (await accept(friend.token, open)).status
  const signOut = (token: string) => api.post('/v1/auth/sign-out', undefined, { as: token })

  const [one, other, left, expired] = [await inviting(), await inviting(), await inviting(), await inviting()]
  expect((await api.delete(`/v1/user/sessions/${one.session.id}`, { as })).status).toBe(204)
  expect([await accepted(one), await accepted(other)]).toEqual([404, 200])
  expect(await world.sql(`select subject from events where type = 'member.invitation_withdrawn'`)).toEqual([
    { subject: one.open.id },
  ])
  await signOut(left.session.token)
  await world.sql(`update sessions set last_used_at = last_used_at - interval '31 days' where id = $1`, [
    expired.session.id,
  ])
  expect([await accepted(left), await accepted(expired)]).toEqual([200, 200])

  // Ending all others means all that was made elsewhere, also where the thief has signed out meanwhile.
  const endOthers = () => api.delete('/v1/user/sessions', { as })
  const newPassword = 'another horse, another battery'
  const changePassword = () => api.post('/v1/user/password', { currentPassword: owner.password, newPassword }, { as })
  for (const act of [endOthers, changePassword]) {
    const [stolen, gone] = [await inviting(), await inviting()]
    await signOut(gone.session.token)
    const [friend, own] = [await person(), await person()]
    const kept = await world.invite(as, own.email, 'OWNER')
    const byKey = await world.invite((await world.make(as, 'k')).key, friend.email, 'CUSTOMER')
    expect((await act()).status).toBe(204)
    expect([await accepted(stolen), await accepted(gone)]).toEqual([404, 404])
    expect([(await accept(own.token, kept)).status, (await accept(friend.token, byKey)).status]).toEqual([200, 200])
  }
})

test('of ending a session and accepting its invitation at once, one comes first: nobody joins after the answer', async () => {
  const world = await story()
  const { api, owner, person, accept, invite } = world
  for (let round = 0; round < 5; round++) {
    const [{ id, token }, friend] = [await newSession(world, owner.id), await person()]
    const open = await invite(token, friend.email, 'OWNER')
    const [ended, accepted] = await Promise.all([
      api.delete(`/v1/user/sessions/${id}`, { as: owner.token }),
      accept(friend.token, open),
    ])
    expect(ended.status).toBe(204)
    const [row] = await world.sql('select accepted_by, withdrawn_at from invitations where id = $1', [open.id])
    expect([accepted.status, row.accepted_by, row.withdrawn_at]).toEqual(
      accepted.status === 200 ? [200, friend.id, null] : [404, null, expect.any(Date)],
    )
  }
})
