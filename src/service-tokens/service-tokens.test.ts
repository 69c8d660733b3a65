import { expect, test, vi } from 'vitest'
import { call } from '../../tests/command.ts'
import { NEW_KEY, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { run } from '../cli/run.ts'
import { MINUTE, travel } from '../core/clock.ts'
import { newId } from '../core/ids.ts'

const VERIFY = '/v1/keys/verify'
const INTROSPECT = '/v1/oauth/introspect'
const NOT_FOUND = { valid: false, code: 'NOT_FOUND', keyId: null, storeId: null }

/** The shop's store and a stranger's, each with a key that holds every permission it can. */
async function twoStores(world: Shop) {
  const { api, owner, store, keys, person } = world
  const stranger = await person()
  const theirs = (await api.post('/v1/user/store', { name: 'Theirs' }, { as: stranger.token })).body.id as string
  const own = (await api.post(keys, NEW_KEY, { as: owner.token })).body.key as string
  const foreign = (await api.post(`/v1/user/store/${theirs}/keys`, NEW_KEY, { as: stranger.token })).body.key as string
  return { ours: store.id, theirs, own, foreign }
}

/** The same question twice: the second is answered by the fast path. */
async function askTwice({ api }: Shop, as: string, body: object): Promise<Reply> {
  const first = await api.post(VERIFY, body, { as })
  const { status, text } = await api.post(VERIFY, body, { as })
  const comparable = (answer: string) => answer.replace(/"requestId":"[^"]+"|"instance":"[^"]+"/g, '')
  expect([status, comparable(text)]).toEqual([first.status, comparable(first.text)])
  return first
}

function introspect({ api }: Shop, as: string, form: Record<string, string>): Promise<Reply> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return api.ask('POST', INTROSPECT, undefined, { as, headers, raw: new URLSearchParams(form).toString() })
}

const faultsOf = ({ status, body }: Reply) => [
  status,
  body.errors?.map((fault: { pointer: string; code: string }) => `${fault.pointer} ${fault.code}`),
]

test('a token for one store needs no storeId, and knows no key of another store', async () => {
  const world = await shop()
  const { ours, theirs, own, foreign } = await twoStores(world)
  const as = await world.serviceToken([ours])
  for (const scope of [{}, { storeId: ours }, { anyStore: true }, { anyStore: false }]) {
    expect((await askTwice(world, as, { key: own, ...scope })).body, JSON.stringify(scope)).toMatchObject({
      code: 'VALID',
      storeId: ours,
    })
    expect((await askTwice(world, as, { key: foreign, ...scope })).body).toMatchObject(NOT_FOUND)
  }
  for (const storeId of [theirs, newId('store'), 'x'])
    for (const key of [own, foreign])
      expect((await askTwice(world, as, { key, storeId })).body).toMatchObject(NOT_FOUND)
  expect((await introspect(world, as, { token: own })).body).toMatchObject({ active: true, aud: ours })
  expect((await introspect(world, as, { token: foreign })).body).toEqual({ active: false })
  expect((await introspect(world, as, { token: foreign, store_id: theirs })).body).toEqual({ active: false })
})

test('a token for several stores, or for all, has to be told which one is meant', async () => {
  const world = await shop()
  const { ours, theirs, own, foreign } = await twoStores(world)
  for (const stores of [null, [ours, theirs], [ours, newId('store')]]) {
    const as = await world.serviceToken(stores)
    const question = { key: own, permissions: ['READ'] }
    const unsaid = await askTwice(world, as, question)
    expect(faultsOf(unsaid)).toEqual([422, ['#/storeId required']])
    expect(unsaid.body.errors[0].detail).toContain('"anyStore"')
    expect(faultsOf(await askTwice(world, as, { ...question, anyStore: false }))).toEqual([422, ['#/storeId required']])
    expect(faultsOf(await askTwice(world, as, { ...question, storeId: ours, anyStore: true }))).toEqual([
      422,
      ['#/anyStore contradiction'],
    ])
    // With every other fault of the question, at once.
    expect(faultsOf(await askTwice(world, as, { key: 1, ip: 'x', types: [] }))).toEqual([
      422,
      ['#/key invalid_type', '#/types too_short', '#/ip invalid_ip', '#/storeId required'],
    ])
    expect((await askTwice(world, as, { ...question, storeId: ours })).body.code).toBe('VALID')
    expect((await askTwice(world, as, { ...question, anyStore: true })).body.code).toBe('VALID')
    expect((await askTwice(world, as, { key: foreign, storeId: ours })).body).toMatchObject(NOT_FOUND)
    const theirsToo = stores === null || stores.includes(theirs)
    expect((await askTwice(world, as, { key: foreign, anyStore: true })).body.code).toBe(
      theirsToo ? 'VALID' : 'NOT_FOUND',
    )

    expect(faultsOf(await introspect(world, as, { token: own }))).toEqual([422, ['#/store_id required']])
    expect(faultsOf(await introspect(world, as, { token: own, store_id: ours, any_store: 'true' }))).toEqual([
      422,
      ['#/any_store contradiction'],
    ])
    expect((await introspect(world, as, { token: own, store_id: ours })).body.active).toBe(true)
    expect((await introspect(world, as, { token: own, any_store: 'true' })).body.active).toBe(true)
    expect((await introspect(world, as, { token: foreign, store_id: ours })).body).toEqual({ active: false })
  }
})

test('types are asked for like permissions, before a rate limit is spent', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const as = await world.serviceToken()
  const rateLimit = { limit: 5, windowSeconds: 3600 }
  const { body } = await api.post(keys, { ...NEW_KEY, type: 'TEST', rateLimit }, { as: owner.token })
  const question = { key: body.key, types: ['PROD'] }
  const refused = await askTwice(world, as, question)
  expect(refused.body).toMatchObject({ valid: false, code: 'WRONG_TYPE', type: 'TEST' })
  expect((await introspect(world, as, { token: body.key, types: 'PROD' })).body).toEqual({ active: false })
  const taken = await api.post(VERIFY, { key: body.key, types: ['PROD', 'TEST'] }, { as })
  expect(taken.body).toMatchObject({ code: 'VALID', rateLimit: { remaining: 4 } })
  expect((await introspect(world, as, { token: body.key, types: 'TEST DEV' })).body.active).toBe(true)
  expect(faultsOf(await introspect(world, as, { token: body.key, types: 'TEST SANDBOX' }))).toEqual([
    422,
    ['#/types unknown_value'],
  ])
  const { checks } = (await api.post(VERIFY, { ...question, explain: true }, { as })).body
  expect(checks).toContainEqual({
    code: 'WRONG_TYPE',
    ok: false,
    detail: 'It is a TEST key, and PROD was asked for.',
  })
})

test('a permission that does not exist is told, not a silent no for ever', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const as = await world.serviceToken()
  const { body } = await api.post(keys, NEW_KEY, { as: owner.token })
  const question = { key: body.key, permissions: ['READ', 'MANAGE_PRODUCT', 'read'] }
  // The verdict without them, kept by the node, is not the one that is sent.
  expect((await askTwice(world, as, { key: body.key, permissions: ['MANAGE_KEYS'] })).body).not.toHaveProperty(
    'unknownPermissions',
  )
  for (const explain of [false, true])
    expect((await askTwice(world, as, { ...question, explain })).body).toMatchObject({
      code: 'INSUFFICIENT_PERMISSIONS',
      unknownPermissions: ['MANAGE_PRODUCT', 'read'],
    })
  expect((await askTwice(world, as, { key: body.key, permissions: ['READ'] })).body).not.toHaveProperty(
    'unknownPermissions',
  )
})

test('an owner issues, lists and revokes tokens for their store, without the operator', async () => {
  const world = await shop()
  const { api, owner, store, member, node } = world
  const { own, foreign } = await twoStores(world)
  const path = `/v1/user/store/${store.id}/service-tokens`
  const made = await api.post(path, { name: ' Checkout ' }, { as: owner.token })
  expect([made.status, made.headers.get('cache-control'), made.headers.get('location')]).toEqual([
    201,
    'no-store',
    `${path}/${made.body.id}`,
  ])
  const { token, ...record } = made.body
  expect(record).toMatchObject({ storeId: store.id, name: 'Checkout', createdBy: { id: owner.id }, revokedAt: null })
  expect((await askTwice(world, token, { key: own })).body.code).toBe('VALID')
  expect((await askTwice(world, token, { key: foreign })).body.code).toBe('NOT_FOUND')

  const others = await member('OWNER')
  expect((await api.get(path, { as: others.token })).body.data).toEqual([record])
  expect((await api.get(`${path}/${made.body.id}`, { as: owner.token })).text).not.toContain(token)

  // The operator's tokens are not the store's.
  await world.serviceToken([store.id])
  expect((await api.get(path, { as: owner.token })).body.data).toHaveLength(1)
  const [operators] = await world.sql(`select id from service_tokens where created_by is null limit 1`)
  expect((await api.delete(`${path}/${operators.id}`, { as: owner.token })).body.code).toBe('service_token_not_found')

  const elsewhere = await node()
  expect((await elsewhere.post(VERIFY, { key: own }, { as: token })).body.code).toBe('VALID')
  const revoked = await api.delete(`${path}/${made.body.id}`, { as: others.token })
  expect(revoked.body).toEqual({ ...record, revokedAt: expect.any(String) })
  expect((await api.delete(`${path}/${made.body.id}`, { as: owner.token })).body).toEqual(revoked.body)
  expect((await api.post(VERIFY, { key: own }, { as: token })).body.code).toBe('invalid_token')
  await world.everywhere()
  expect((await elsewhere.post(VERIFY, { key: own }, { as: token })).body.code).toBe('invalid_token')

  const events = await world.sql(
    `select type, subject, data from events where store_id = $1 and type ^@ 'service_token' order by id`,
    [store.id],
  )
  expect(events).toEqual([
    { type: 'service_token.created', subject: record.id, data: { name: 'Checkout', storeIds: [store.id] } },
    { type: 'service_token.revoked', subject: record.id, data: {} },
  ])
})

test('issuing takes an owner who has signed in a moment ago; a retry gets the same token', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, member, keys } = world
  const path = `/v1/user/store/${store.id}/service-tokens`
  const manager = await member('MANAGER')
  const key = (await api.post(keys, NEW_KEY, { as: owner.token })).body.key
  const ask = (as: string, headers = {}) => api.post(path, { name: 'Gateway' }, { as, headers })
  expect([(await ask(manager.token)).body.code, (await ask(key)).body.code]).toEqual([
    'insufficient_permission',
    'user_required',
  ])
  const retry = { 'idempotency-key': 'one' }
  const first = await ask(owner.token, retry)
  const again = await ask(owner.token, retry)
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  for (let n = 1; n < 20; n++) expect((await ask(owner.token)).status).toBe(201)
  expect((await ask(owner.token)).body.code).toBe('limit_exceeded')
  await api.delete(`${path}/${first.body.id}`, { as: owner.token })
  expect((await ask(owner.token)).status).toBe(201)
  // Once it is used, a retry does not get it again.
  const used = { 'idempotency-key': 'two' }
  await api.delete(`${path}/${(await api.get(path, { as: owner.token })).body.data[0].id}`, { as: owner.token })
  const { id, token } = (await ask(owner.token, used)).body
  expect((await ask(owner.token, used)).body.token).toBe(token)
  expect((await api.post(VERIFY, { key }, { as: token })).body.code).toBe('VALID')
  const sealed = () => world.sql('select from idempotent_responses where resource_id = $1 and salt is not null', [id])
  await vi.waitFor(async () => expect(await sealed()).toHaveLength(0), 60_000)
  expect((await ask(owner.token, used)).body).toMatchObject({ code: 'secret_no_longer_available', resource: { id } })
  // The retry, too, takes a sign-in of a moment ago.
  const late = { 'idempotency-key': 'three' }
  await api.delete(`${path}/${id}`, { as: owner.token })
  expect((await ask(owner.token, late)).status).toBe(201)
  travel(30 * MINUTE)
  expect((await ask(owner.token)).body.code).toBe('recent_sign_in_required')
  expect((await ask(owner.token, late)).body.code).toBe('recent_sign_in_required')
})

test('a token that an owner issued has a rate limit, and one of the operator has none', async () => {
  const world = await shop({ SERVICE_TOKEN_RATE_LIMIT: '2' })
  const { api, owner, store, keys } = world
  const issue = async (name: string) =>
    (await api.post(`/v1/user/store/${store.id}/service-tokens`, { name }, { as: owner.token })).body.token as string
  const { key } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const [one, other, operators] = [await issue('One'), await issue('Other'), await world.serviceToken([store.id])]
  // The first is answered by the framework, the second by the fast path.
  await askTwice(world, one, { key })
  for (const refused of [await api.post(VERIFY, { key }, { as: one }), await introspect(world, one, { token: key })]) {
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect((await introspect(world, other, { token: key })).body.active).toBe(true)
  for (let n = 0; n < 5; n++) expect((await api.post(VERIFY, { key }, { as: operators })).body.code).toBe('VALID')
  travel(MINUTE)
  expect((await api.post(VERIFY, { key }, { as: one })).body.code).toBe('VALID')
})

test('the tokens of an owner who is one no more are listed, and end with their keys if asked', async () => {
  const world = await shop()
  const { api, owner, store, member } = world
  const issue = async (as: string, name: string) =>
    (await api.post(`/v1/user/store/${store.id}/service-tokens`, { name }, { as })).body
  const second = await member('OWNER')
  const third = await member('OWNER')
  const retry = { 'idempotency-key': 'once' }
  const path = `/v1/user/store/${store.id}`
  const kept = (await api.post(`${path}/service-tokens`, { name: 'Kept' }, { as: second.token, headers: retry })).body
  const listed = [{ id: kept.id, name: 'Kept', revoked: false }]
  const demoted = await api.patch(`${path}/members/${second.id}`, { role: 'STAFF' }, { as: owner.token })
  expect(demoted.body.serviceTokens).toEqual(listed)
  expect((await api.get('/v1/user', { as: kept.token })).body.code).toBe('user_required')
  const removed = await api.delete(`${path}/members/${second.id}?keys=revoke`, { as: owner.token })
  expect(removed.body.serviceTokens).toEqual([{ ...listed[0], revoked: true }])
  expect((await api.get('/v1/user', { as: kept.token })).body.code).toBe('invalid_token')

  const own = await issue(third.token, 'Own')
  const left = await api.post(`/v1/store/${store.id}/leave?keys=revoke`, undefined, { as: third.token })
  expect(left.body.serviceTokens).toEqual([{ id: own.id, name: 'Own', revoked: true }])
  expect((await api.get('/v1/user', { as: own.token })).body.code).toBe('invalid_token')
})

test('only an owner ends service tokens, also by removing whoever issued them', async () => {
  const { api, owner, store, member, keys } = await shop()
  const path = `/v1/user/store/${store.id}`
  const [second, manager] = [await member('OWNER'), await member('MANAGER')]
  const { id, token } = (await api.post(`${path}/service-tokens`, { name: 'Gateway' }, { as: second.token })).body
  await api.patch(`${path}/members/${second.id}`, { role: 'CUSTOMER' }, { as: owner.token })
  const bot = { ...NEW_KEY, permissions: ['READ', 'MANAGE_KEYS', 'MANAGE_MEMBERS'] }
  const { key } = (await api.post(keys, bot, { as: owner.token })).body
  const kept = [{ id, name: 'Gateway', revoked: false }]
  const left = await api.post(`/v1/store/${store.id}/leave?keys=revoke`, undefined, { as: second.token })
  expect(left.status).toBe(200)
  for (const as of [manager.token, key]) {
    const removed = await api.delete(`${path}/members/${second.id}?keys=revoke`, { as })
    expect([removed.status, removed.body.serviceTokens]).toEqual([200, kept])
  }
  expect((await api.get('/v1/user', { as: token })).body.code).toBe('user_required')
})

test('a token that was revoked is not shown again to a retry', async () => {
  const { api, owner, store } = await shop()
  const path = `/v1/user/store/${store.id}/service-tokens`
  const ask = () => api.post(path, { name: 'Gateway' }, { as: owner.token, headers: { 'idempotency-key': 'once' } })
  const { body } = await ask()
  await api.delete(`${path}/${body.id}`, { as: owner.token })
  expect((await ask()).body).toMatchObject({
    status: 409,
    code: 'secret_no_longer_available',
    resource: { id: body.id },
  })
})

test('the command has no default: it is told which stores, and they exist', async () => {
  const world = await shop({ alone: true })
  const { databaseUrl, serverSecret, store, api, owner } = world
  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret }
  const create = (...args: string[]) => call(run, ['service-token', 'create', 'Gateway', ...args], { env })
  for (const args of [[], ['--store', store.id, '--all-stores']]) {
    const refused = await create(...args)
    expect([refused.code, refused.out]).toEqual([1, ''])
    expect(refused.err).toContain('--all-stores')
  }
  const missing = newId('store')
  expect(await create('--store', store.id, '--store', missing)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining(`There is no store ${missing}.`),
  })
  const { own, foreign, theirs } = await twoStores(world)
  const bound = (await create('--store', store.id, '--store', store.id)).out.trim()
  expect((await api.post(VERIFY, { key: own }, { as: bound })).body.code).toBe('VALID')
  const several = (await create('--store', store.id, '--store', theirs)).out.trim()
  expect((await api.post(VERIFY, { key: foreign, storeId: theirs }, { as: several })).body.code).toBe('VALID')
  const all = (await create('--all-stores')).out.trim()
  expect((await api.post(VERIFY, { key: own }, { as: all })).status).toBe(422)
  const list = (await call(run, ['service-token', 'list'], { env })).out
  expect(list).toContain(`${store.id}  Gateway`)
  expect(list).toContain(`${store.id},${theirs}  Gateway`)
  expect(list).toContain('all stores  Gateway')

  // The operator may revoke an owner's token; the store's trail tells.
  const made = await api.post(`/v1/user/store/${store.id}/service-tokens`, { name: 'Shop' }, { as: owner.token })
  await call(run, ['service-token', 'revoke', made.body.id], { env })
  const [event] = await world.sql(`select store_id, actor from events where type = 'service_token.revoked'`)
  expect(event).toMatchObject({ store_id: store.id, actor: { kind: 'system' } })
})
