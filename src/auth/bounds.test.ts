// What a credential makes never outreaches the credential: its end, its addresses, its rate limit, its grace, its freeze,
// its leak.

import { expect, test } from 'vitest'
import { NEW_KEY, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { fromNow, HOUR } from '../core/clock.ts'
import { BUILT_IN_PERMISSIONS } from '../core/permissions.ts'
import { type Bounds, exceededBound } from './bounds.ts'

const told = ({ status, body }: Reply) => `${status} ${body?.code ?? ''}`.trim()
const ALL = { ...NEW_KEY, permissions: [...BUILT_IN_PERMISSIONS] }
const create = async ({ api, keys, owner }: Shop, more: object = {}) =>
  (await api.post(keys, { ...ALL, ...more }, { as: owner.token })).body

/** One bound each. */
const BOUNDED = {
  expiresAt: { expiresAt: fromNow(HOUR).toISOString() },
  ipAllowlist: { ipAllowlist: ['127.0.0.0/8', '::1'] },
  rateLimit: { rateLimit: { limit: 10, windowSeconds: 60 } },
  rateLimits: { rateLimits: [{ name: 'exports', limit: 10, windowSeconds: 60 }] },
  credits: { credits: { remaining: 10 } },
}

test('a key with an end, an allow-list or a rate limit gives nothing to a key that is bound less', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  for (const [name, bound] of Object.entries(BOUNDED)) {
    const as = (await create(world, bound)).key
    const { key: _, ...free } = await create(world, { permissions: ['READ'] })
    const path = `${keys}/${free.id}`
    const refused = [
      await api.post(keys, NEW_KEY, { as }),
      await api.patch(path, { permissions: ['READ', 'WRITE'] }, { as }),
      await api.patch(path, { metadata: { plan: 'gold' } }, { as }),
      // Bounds of its own, put on the key first, would let it take the key over.
      await api.patch(path, { permissions: ['READ', 'WRITE'], ...bound }, { as }),
      await api.post(`${path}/rotate`, {}, { as }),
    ]
    for (const reply of refused) {
      expect(told(reply), name).toBe('403 cannot_grant')
      expect(reply.body.detail, name).toContain(`"${name}"`)
    }
    const end = { ids: [free.id], action: 'expire', expiresAt: BOUNDED.expiresAt.expiresAt }
    expect((await api.post(`${keys}/bulk`, end, { as })).body.results, name).toMatchObject([{ status: 'failed' }])
    expect((await api.get(path, { as: owner.token })).body).toEqual(free)
    const own = await api.post(keys, { ...NEW_KEY, ...bound }, { as })
    expect(told(own)).toBe('201')
    expect(told(await api.patch(`${keys}/${own.body.id}`, { metadata: { plan: 'gold' } }, { as }))).toBe('200')
    expect(told(await api.post(`${keys}/${own.body.id}/rotate`, {}, { as }))).toBe('200')
    // It may always be stopped.
    expect(told(await api.delete(`${keys}/${(await create(world)).id}`, { as }))).toBe('200')
  }
})

test('credits and named limits: no more than the giver has left, and in the same window where it is shared', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const credits = (remaining: number, refill: object | null = null) => ({ credits: { remaining, refill } })
  const daily = { amount: 10, interval: 'DAY' }
  const giver = await create(world, credits(10, daily))
  const make = async (more: object, as = giver.key) => told(await api.post(keys, { ...NEW_KEY, ...more }, { as }))
  expect(await make(credits(10, daily))).toBe('201')
  expect(await make(credits(1, { amount: 10, interval: 'MONTH' }))).toBe('201')
  for (const more of [
    {},
    credits(11),
    credits(1, { amount: 11, interval: 'DAY' }),
    credits(1, { amount: 1, interval: 'HOUR' }),
  ])
    expect(await make(more)).toBe('403 cannot_grant')
  const rich = await create(world, { ...credits(1000), permissions: ['READ'] })
  const poor = await create(world, { ...credits(5), permissions: ['READ'] })
  const change = async (id: string, body: object) =>
    told(await api.post(`${keys}/${id}/credits`, body, { as: giver.key }))
  expect(await change(poor.id, { add: 5 })).toBe('200')
  expect(await change(poor.id, { add: 1 })).toBe('403 cannot_grant')
  expect(await change(rich.id, { add: 1 })).toBe('403 cannot_grant')
  expect(await change(giver.id, { set: 1 })).toBe('403 own_key')
  // What it has left, not what it began with.
  await api.post(`${keys}/${giver.id}/credits`, { set: 3 }, { as: owner.token })
  expect(await make(credits(4))).toBe('403 cannot_grant')
  expect(await make(credits(3))).toBe('201')

  const shared = { name: 'exports', limit: 10, windowSeconds: 60, shared: 'owner' }
  const member = await create(world, { owner: 'ada', rateLimits: [shared] })
  expect(await make({ owner: 'ada', rateLimits: [shared] }, member.key)).toBe('201')
  expect(await make({ owner: 'bob', rateLimits: [shared] }, member.key)).toBe('403 cannot_grant')
  expect(await make({ owner: 'ada', rateLimits: [{ ...shared, shared: null }] }, member.key)).toBe('403 cannot_grant')
  expect(await make({ owner: 'ada', rateLimits: [{ ...shared, windowSeconds: 120 }] }, member.key)) //
    .toBe('403 cannot_grant')
})

test('a rate limit is held by at most as many uses in at least as long a time', () => {
  const limited = (limit: number, windowSeconds: number): Bounds => ({
    expiresAt: null,
    ipAllowlist: null,
    rateLimit: { limit, windowSeconds },
    rateLimits: [],
    owner: null,
    hasCredits: false,
  })
  const giver = limited(10, 60)
  const fits = (limit: number, windowSeconds: number) =>
    exceededBound(giver, { key: limited(limit, windowSeconds) }) === null
  expect([fits(10, 60), fits(9, 61), fits(11, 60), fits(1, 59), fits(600, 3600)]).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})

test('a bound key makes nobody more than a customer, and no webhook', async () => {
  const world = await shop()
  const { api, owner, store, member, person } = world
  const at = `/v1/user/store/${store.id}`
  const webhook = { url: 'https://93.184.215.14/hooks', types: ['*'] }
  const made = (await api.post(`${at}/webhooks`, webhook, { as: owner.token })).body
  for (const [name, bound] of Object.entries(BOUNDED)) {
    const as = (await create(world, bound)).key
    const [customer, manager, staff] = [await member('CUSTOMER'), await member('MANAGER'), await member('STAFF', [])]
    const guest = await person()
    const invite = (rights: object) => api.post(`${at}/invitations`, { email: guest.email, ...rights }, { as })
    const patch = (id: string, rights: object) => api.patch(`${at}/members/${id}`, rights, { as })
    const hook = `${at}/webhooks/${made.id}`
    const refused = [
      await invite({ role: 'CUSTOMER', permissions: ['READ'] }),
      await invite({ role: 'STAFF', permissions: [] }),
      await patch(customer.id, { permissions: ['READ'] }),
      await patch(customer.id, { role: 'STAFF', permissions: [] }),
      await patch(staff.id, { permissions: ['READ'] }),
      await api.post(`${at}/webhooks`, webhook, { as }),
      await api.patch(hook, { enabled: false }, { as }),
      await api.post(`${hook}/rotate`, {}, { as }),
    ]
    expect(refused.map(told), name).toEqual(Array(refused.length).fill('403 cannot_grant'))
    const invited = await invite({ role: 'CUSTOMER' })
    const accept = { token: invited.body.token }
    expect(told(await api.post('/v1/user/invitations/accept', accept, { as: guest.token }))).toBe('200')
    expect(told(await patch(manager.id, { role: 'STAFF' }))).toBe('200')
  }
})

test('a leaked key that is rotated by a bound one gets back no life beyond the bound', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  await api.patch(`/v1/user/store/${store.id}`, { leakGraceSeconds: 600 }, { as: owner.token })
  const bound = await create(world, BOUNDED.expiresAt)
  const leaked = await create(world)
  await api.post('/v1/leaks', { key: leaked.key })
  const path = `${keys}/${leaked.id}`
  expect(told(await api.post(`${path}/rotate`, {}, { as: bound.key }))).toBe('403 cannot_grant')
  expect(told(await api.patch(path, { metadata: { a: 1 } }, { as: bound.key }))).toBe('403 cannot_grant')
})

test('a replaced secret reads; a key that rotated itself may ask for the lost answer, and nothing more', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const key = await create(world)
  const headers = { 'idempotency-key': 'rotated-by-itself' }
  const rotate = () => api.post(`${keys}/${key.id}/rotate`, { gracePeriodSeconds: 600 }, { as: key.key, headers })
  const first = await rotate()
  expect(told(first)).toBe('200')
  expect((await rotate()).body).toEqual(first.body)
  const as = key.key
  expect((await api.get(keys, { as })).status).toBe(200)
  for (const reply of [
    await api.post(keys, NEW_KEY, { as }),
    await api.patch(`/v1/user/store/${store.id}`, { name: 'Mine' }, { as }),
    await api.delete(`${keys}/${key.id}`, { as }),
  ])
    expect(told(reply)).toBe('403 replaced_secret')
  expect((await api.get(`/v1/user/store/${store.id}`, { as: owner.token })).body).toMatchObject({ name: store.name })
  expect(told(await api.post(keys, NEW_KEY, { as: first.body.key }))).toBe('201')
})

test('an invitation lives as long as the very credential that made it', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, person, store } = world
  const at = `/v1/user/store/${store.id}`
  await api.patch(at, { leakGraceSeconds: 3600 }, { as: owner.token })
  const as = owner.token
  /** Invites somebody with a new key, does something to the key, and says how the invitation is answered. */
  const after = async (
    act: (key: { id: string; key: string }) => Promise<unknown>,
    rights: object = { role: 'STAFF' },
  ) => {
    const [key, guest] = [await create(world), await person()]
    const { token } = (await api.post(`${at}/invitations`, { email: guest.email, ...rights }, { as: key.key })).body
    await act(key)
    return told(await api.post('/v1/user/invitations/accept', { token }, { as: guest.token }))
  }
  const patch = (change: object) => (key: { id: string }) => api.patch(`${keys}/${key.id}`, change, { as })
  const rotate = (gracePeriodSeconds: number) => (key: { id: string }) =>
    api.post(`${keys}/${key.id}/rotate`, { gracePeriodSeconds }, { as })
  const leak = ({ key }: { key: string }) => api.post('/v1/leaks', { key })
  const lost = '404 invitation_not_found'
  expect(await after(async () => {})).toBe('200')
  // In its grace a replaced secret may invite nobody.
  expect(await after(rotate(600))).toBe(lost)
  expect(await after(rotate(0))).toBe(lost)
  expect(await after(leak)).toBe(lost)
  expect(await after(patch({ enabled: false }))).toBe(lost)
  expect(await after(patch({ enabled: false }), { role: 'CUSTOMER' })).toBe(lost)
  expect(await after(patch({ permissions: ['READ', 'MANAGE_MEMBERS'] }))).toBe(lost)
  // Bound since, it could not give this any more; what it could still give it gives.
  expect(await after(patch(BOUNDED.rateLimit))).toBe(lost)
  expect(await after(patch(BOUNDED.rateLimit), { role: 'CUSTOMER' })).toBe('200')
  expect(await after((key) => api.delete(`${keys}/${key.id}`, { as }))).toBe(lost)
  expect(await after(() => api.post(`${keys}/freeze`, {}, { as }))).toBe(lost)
})

test('an invitation that is worth nothing does not open a closed sign-up', async () => {
  const world = await shop({ SIGN_UP: 'closed' })
  const { api, keys, owner, store } = world
  const key = await create(world)
  const email = 'grace@example.com'
  const invited = await api.post(`/v1/user/store/${store.id}/invitations`, { email, role: 'STAFF' }, { as: key.key })
  const signUp = () =>
    api.post('/v1/auth/sign-up', { email, password: 'correct horse battery staple', invitation: invited.body.token })
  await api.post(`${keys}/freeze`, {}, { as: owner.token })
  expect(told(await signUp())).toBe('403 sign_up_closed')
  await api.post(`${keys}/unfreeze`, {}, { as: owner.token })
  expect(told(await signUp())).toBe('201')
})
