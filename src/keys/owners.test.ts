import { expect, test, vi } from 'vitest'
import { serviceClient } from '../../tests/service-client.ts'
import { NEW_KEY, type Shop, shop, USAGE_AT_ONCE } from '../../tests/shop.ts'

async function create({ api, keys, owner }: Shop, more: object = {}) {
  const { status, body } = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
  expect([status, body.errors]).toEqual([201, undefined])
  return body
}

test('keys are listed by owner, a page at a time, and a cursor belongs to its owner', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const as = { as: owner.token }
  // The same name, composed and decomposed.
  const [composed, decomposed] = ['Zoë/42', 'Zoe\u0308/42']
  const ids: string[] = []
  for (const name of [composed, decomposed, composed]) ids.unshift((await create(world, { owner: name })).id)
  await create(world, { owner: 'zoë/42' })
  await create(world)
  const list = async (query: string) => (await api.get(`${keys}?${query}`, as)).body
  const asked = `owner=${encodeURIComponent(decomposed)}`
  expect((await list(asked)).data.map(({ id }: { id: string }) => id)).toEqual(ids)
  const first = await list(`${asked}&limit=2`)
  expect(first.data.map(({ owner }: { owner: string }) => owner)).toEqual([composed, composed])
  expect((await list(`${asked}&limit=2&cursor=${first.nextCursor}`)).data).toMatchObject([{ id: ids[2] }])
  for (const other of ['', 'owner=zo%C3%AB%2F42&'])
    expect((await list(`${other}limit=2&cursor=${first.nextCursor}`)).code).toBe('invalid_cursor')
  await api.delete(`${keys}/${ids[0]}`, as)
  expect((await list(`${asked}&status=REVOKED`)).data).toMatchObject([{ id: ids[0] }])
  expect(await list('owner=nobody')).toEqual({ data: [], nextCursor: null })
  for (const refused of ['.', '..', '', 'a%00', 'x'.repeat(256)])
    expect((await list(`owner=${refused}`)).errors, refused).toMatchObject([{ pointer: '?owner' }])
})

test('a verdict and an introspection name the owner, and no event ever does', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const as = { as: owner.token }
  const back = await serviceClient(world)
  const secretive = 'customer-never-told'
  const made = await create(world, { owner: secretive })
  const plain = await create(world)
  const introspect = async (token: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return (await api.post('/v1/oauth/introspect', undefined, { as: back.as, headers, raw: `token=${token}` })).body
  }
  expect((await back.verify(made.key)).body.owner).toBe(secretive)
  expect(await introspect(made.key)).toMatchObject({ active: true, owner: secretive })
  expect(await introspect(plain.key)).not.toHaveProperty('owner')
  await api.patch(`${keys}/${made.id}`, { owner: `${secretive}-2` }, as)
  expect((await back.verify(made.key)).body.owner).toBe(`${secretive}-2`)
  await api.post(`${keys}/${made.id}/rotate`, {}, as)
  await api.post(`${keys}/bulk`, { owner: `${secretive}-2`, action: 'disable' }, as)
  await api.put(`/v1/user/store/${store.id}/customers/${secretive}-2`, {}, as)
  await api.delete(`/v1/user/store/${store.id}/customers/${secretive}-2?keys=revoke`, as)
  const events = await world.sql('select type, to_jsonb(events)::text as text from events where store_id = $1', [
    store.id,
  ])
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['key.updated', 'key.disabled', 'key.revoked']))
  expect(events.filter(({ text }) => text.includes(secretive))).toEqual([])
})

test('the usage of an owner is that of all their keys together, whatever became of them', async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  const { api, keys, owner, store } = world
  const other = await world.node()
  const back = await serviceClient(world)
  const name = 'Ada & Söhne/1'
  const [one, two, foreign] = [
    await create(world, { owner: name }),
    await create(world, { owner: name }),
    await create(world, { owner: 'another' }),
  ]
  for (let n = 0; n < 3; n++) await back.codeOf(one.key, {}, n % 2 ? other : api)
  for (let n = 0; n < 2; n++) await back.codeOf(two.key)
  await back.codeOf(two.key, { permissions: ['MANAGE_KEYS'] })
  await back.codeOf(foreign.key)
  await api.delete(`${keys}/${two.id}`, { as: owner.token })
  await back.codeOf(two.key)
  const path = (whom: string) => `/v1/user/store/${store.id}/owners/${encodeURIComponent(whom)}/usage`
  const usage = async (whom: string, query = '') => (await api.get(path(whom) + query, { as: owner.token })).body
  const total = async (whom: string) => {
    const counts: Record<string, number> = {}
    for (const hour of (await usage(whom)).data)
      for (const [code, count] of Object.entries<number>(hour.counts)) counts[code] = (counts[code] ?? 0) + count
    return counts
  }
  const all = { VALID: 5, INSUFFICIENT_PERMISSIONS: 1, REVOKED: 1 }
  await vi.waitFor(async () => expect(await total(name)).toEqual(all), 20_000)
  await vi.waitFor(async () => expect(await total('another')).toEqual({ VALID: 1 }), 20_000)
  const days = await usage(name, '?interval=day')
  expect(Object.keys(days)).toEqual(['from', 'to', 'interval', 'data'])
  expect(await usage('nobody')).toMatchObject({ interval: 'hour', data: [] })
  expect(await usage('nobody', '?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z')).toMatchObject({ status: 422 })
  for (const refused of ['%2e', '%2e%2e', '%00']) {
    const answer = await api.get(`/v1/user/store/${store.id}/owners/${refused}/usage`, { as: owner.token })
    expect([404, 422], refused).toContain(answer.status)
  }
})

// ---- an owner who is a customer, and is erased ----------------------------------------------------------------------

test('keys=revoke revokes the keys of an erased customer, and needs MANAGE_KEYS', async () => {
  const world = await shop()
  const { api, owner, store, sql } = world
  const as = { as: owner.token }
  const back = await serviceClient(world)
  const path = `/v1/user/store/${store.id}/customers/ada%2F42`
  await api.put(path, { name: 'Ada' }, as)
  const [live, other] = [await create(world, { owner: 'ada/42' }), await create(world, { owner: 'Ada/42' })]
  expect(await back.codeOf(live.key)).toBe('VALID')
  const clerk = await create(world, { permissions: ['READ', 'MANAGE_CUSTOMERS'] })
  const refused = await api.delete(`${path}?keys=revoke`, { as: clerk.key })
  expect([refused.status, refused.body.code, refused.body.required]).toEqual([
    403,
    'insufficient_permission',
    ['MANAGE_KEYS'],
  ])
  expect((await api.get(path, as)).status).toBe(200)
  const erased = await api.delete(`${path}?keys=revoke`, as)
  expect(erased.body).toEqual({ held: [], keys: [{ id: live.id, name: 'Checkout', status: 'REVOKED' }] })
  expect([await back.codeOf(live.key), await back.codeOf(other.key)]).toEqual(['REVOKED', 'VALID'])
  expect((await api.delete(`${path}?keys=revoke`, as)).body.code).toBe('customer_not_found')
  expect(await sql(`select revocation_reason from api_keys where id = $1`, [live.id])).toEqual([
    { revocation_reason: 'customer erased' },
  ])
})

test('an erased external id is forgotten as the owner of keys, which stay keys of one owner', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, store, sql, member } = world
  const as = { as: owner.token }
  const other = await world.node()
  const back = await serviceClient(world)
  const name = 'customer-to-forget'
  const path = `/v1/user/store/${store.id}/customers/${name}`
  await api.put(path, {}, as)
  const rateLimits = [{ name: 'exports', limit: 2, windowSeconds: 3600, shared: 'owner' }]
  const [one, two, ended] = [
    await create(world, { owner: name, rateLimits }),
    await create(world, { owner: name, rateLimits }),
    await create(world, { owner: name }),
  ]
  await api.delete(`${keys}/${ended.id}`, as)
  // A window of a limit that no key has any more.
  const former = await create(world, { owner: 'somebody else', rateLimits: [{ ...rateLimits[0], name: 'former' }] })
  await api.patch(`${keys}/${former.id}`, { owner: name }, as)
  expect(await back.codeOf(former.key)).toBe('VALID')
  await api.patch(`${keys}/${former.id}`, { owner: 'somebody else', rateLimits: [] }, as)
  expect(await back.codeOf(one.key)).toBe('VALID')
  expect(await back.codeOf(two.key, {}, other)).toBe('VALID')
  // Answers that are stored for retries name the owner, too.
  const paid = await create(world, { owner: name, credits: { remaining: 5 } })
  const once = (key: string, more = {}) => ({ headers: { 'idempotency-key': key, ...more } })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const retries = [
    () => api.post('/v1/keys/verify', { key: paid.key }, { as: back.as, ...once('verify') }),
    () => api.post('/v1/keys/lease', { key: paid.key }, { as: back.as, ...once('lease') }),
    () =>
      api.post('/v1/oauth/introspect', undefined, {
        as: back.as,
        ...once('introspect', form),
        raw: `token=${paid.key}`,
      }),
    () => api.post(`${keys}/${paid.id}/credits`, { add: 1 }, { ...as, ...once('add') }),
  ]
  for (const send of retries) expect((await send()).body.owner).toBe(name)
  const clerk = await create(world, { permissions: ['READ', 'MANAGE_CUSTOMERS'] })
  // Nobody gains a fresh window, neither at a node that still has the keys as they were, nor with the same external id.
  const [erased, ...meanwhile] = await Promise.all([
    api.delete(path, { as: clerk.key }),
    ...Array.from({ length: 20 }, () => back.codeOf(two.key, {}, other)),
  ])
  expect(new Set(meanwhile)).toEqual(new Set(['RATE_LIMITED']))
  const namesake = await create(world, { owner: name, rateLimits })
  expect(await back.codeOf(namesake.key)).toBe('RATE_LIMITED')
  await sql('delete from api_keys where id = $1', [namesake.id])
  for (const send of retries) {
    const { status, body, text } = await send()
    expect([status, body.code, text.includes(name)]).toEqual([409, 'response_no_longer_available', false])
  }
  expect((await api.get(`${keys}/${paid.id}`, as)).body.credits.remaining).toBe(3)
  expect(erased.body.keys.map(({ id, status }: Record<string, string>) => [id, status])).toEqual([
    [paid.id, 'ACTIVE'],
    [ended.id, 'REVOKED'],
    [two.id, 'ACTIVE'],
    [one.id, 'ACTIVE'],
  ])
  const owners = await sql('select distinct owner from api_keys where id = any($1)', [[one.id, two.id, ended.id]])
  expect(owners).toEqual([{ owner: expect.stringMatching(/^erased-[0-9a-f]{32}$/) }])
  // Nobody gets the keys by being called so.
  const namedSo = await api.put(path.replace(/[^/]*$/, owners[0].owner), {}, as)
  expect([namedSo.status, namedSo.body.errors[0].code]).toEqual([422, 'invalid_format'])
  // What was spent of a shared limit stays spent.
  const verdict = (await back.verify(one.key)).body
  expect([verdict.code, verdict.owner]).toEqual(['RATE_LIMITED', owners[0].owner])
  await vi.waitFor(async () => expect((await back.verify(two.key, {}, other)).body.owner).toBe(owners[0].owner), 5_000)
  const tables = await sql(`select relname from pg_stat_user_tables`)
  for (const { relname } of tables)
    expect(await sql(`select * from ${relname} as row where row::text like $1`, [`%${name}%`]), relname).toEqual([])

  // A user whom the store has linked, and who erases themselves.
  const user = await member('CUSTOMER')
  await api.put(`${path}-2`, { userId: user.id }, as)
  const kept = await create(world, { owner: `${name}-2` })
  expect((await api.delete('/v1/user', { as: user.token })).status).toBe(200)
  expect((await back.verify(kept.key)).body).toMatchObject({ code: 'VALID', owner: expect.stringMatching(/^erased-/) })
})

test('the export of a customer lists the keys they own', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const as = { as: owner.token }
  const path = `/v1/user/store/${store.id}/customers/ada`
  await api.put(path, {}, as)
  const made = await create(world, { owner: 'ada', metadata: { plan: 'gold' } })
  await create(world, { owner: 'bob' })
  const { keys } = (await api.get(`${path}/export`, as)).body
  expect(keys).toEqual([
    {
      id: made.id,
      name: 'Checkout',
      type: 'PROD',
      status: 'ACTIVE',
      createdAt: made.createdAt,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
    },
  ])
})
