import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { identityProvider } from '../../tests/identity-provider.ts'
import {
  allow,
  client,
  count,
  countAll,
  gone,
  invitations,
  once,
  POSTS,
  refuse,
  until,
  wire,
} from '../../tests/retries.ts'
import {
  type Api,
  closeSharedService,
  NEW_ADDRESS,
  NEW_KEY,
  type Person,
  type Reply,
  type Shop,
  shop,
  USAGE_AT_ONCE,
} from '../../tests/shop.ts'
import { HOUR, MINUTE, SECOND, travel } from '../core/clock.ts'
import { ServerKeys } from '../crypto/keyring.ts'
import { unseal } from '../crypto/seal.ts'
import { newResponsePurge, newSecretPurge } from './purge.ts'

// ---- the same answer again ------------------------------------------------------------------------------------------

test.each(POSTS)('$what is made once, and a retry gets the same answer byte for byte', async (post) => {
  const world = await shop()
  const { api, owner } = world
  const before = await count(world, post.table)
  const send = () => api.post(post.path(world), post.body, { as: owner.token, headers: once('retry-1') })

  const first = await send()
  expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null])
  const again = await send()
  expect(wire(again)).toEqual({ ...wire(first), replayed: 'true' })
  expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  expect(await count(world, post.table)).toBe(before + 1)

  const other = await api.post(post.path(world), post.body, { as: owner.token, headers: once('retry-2') })
  expect([other.status, other.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(other.body.id).not.toBe(first.body.id)
  expect(await count(world, post.table)).toBe(before + 2)
})

test('without an Idempotency-Key nothing is remembered', async () => {
  const world = await shop({ alone: true })
  const { api, owner, billing } = world
  const [first, second] = [
    await api.post(billing, NEW_ADDRESS, { as: owner.token }),
    await api.post(billing, NEW_ADDRESS, { as: owner.token }),
  ]
  expect(second.body.id).not.toBe(first.body.id)
  expect(await count(world, 'idempotent_responses')).toBe(0)
})

test('quoted and bare, the Idempotency-Key is the same', async () => {
  const { api, owner, billing } = await shop()
  const bare = await api.post(billing, NEW_ADDRESS, { as: owner.token, headers: once('a-key') })
  const quoted = await api.post(billing, NEW_ADDRESS, { as: owner.token, headers: once('"a-key"') })
  expect(wire(quoted)).toEqual({ ...wire(bare), replayed: 'true' })
})

test('1 to 255 visible ASCII characters are an Idempotency-Key; anything else is 400 and does nothing', async () => {
  const world = await shop({ alone: true })
  const { api, owner, billing } = world
  for (const bad of [
    '',
    '""',
    'two words',
    '"two words"',
    'k'.repeat(256),
    `"${'k'.repeat(256)}"`,
    'schlüssel',
    'tab\tbed',
  ]) {
    const refused = await api.post(billing, NEW_ADDRESS, { as: owner.token, headers: once(bad) })
    expect([bad, refused.status, refused.body.code]).toEqual([bad, 400, 'invalid_idempotency_key'])
  }
  expect(await count(world, 'addresses')).toBe(0)
  for (const good of ['k', 'k'.repeat(255), `"${'q'.repeat(255)}"`, '!#$%&()*+,-./:;<=>?@[]^_`{|}~']) {
    const made = await api.post(billing, NEW_ADDRESS, { as: owner.token, headers: once(good) })
    expect([good, made.status]).toEqual([good, 201])
  }
})

test('sign-up and sign-in ignore it, even a malformed one', async () => {
  const { api, person } = await shop()
  const { email, password } = await person()
  const signIn = () => api.post('/v1/auth/sign-in', { email, password }, { headers: once('same') })
  const [first, second] = [await signIn(), await signIn()]
  expect([first.status, second.status, second.headers.get('idempotent-replayed')]).toEqual([200, 200, null])
  expect(second.body.token).not.toBe(first.body.token)

  const account = { email: 'new@example.com', password: 'a long pass phrase of mine' }
  const signUp = () => api.post('/v1/auth/sign-up', account, { headers: once('not well formed') })
  expect([(await signUp()).status, (await signUp()).body.code]).toEqual([201, 'email_taken'])
})

test('422: another request under the same Idempotency-Key, whatever differs, does nothing and spends nothing', async () => {
  const world = await shop({ alone: true })
  const { api, owner, keys, billing } = world
  const otherStore = (await api.post('/v1/user/store', { name: 'Another' }, { as: owner.token })).body.id
  const first = await api.post(keys, NEW_KEY, { as: owner.token, headers: once('k') })
  const others: [path: string, body: unknown, raw?: string][] = [
    [keys, { ...NEW_KEY, name: 'Another' }],
    [keys, undefined, ` ${JSON.stringify(NEW_KEY)}`],
    [keys, undefined, 'not even JSON'],
    [keys, { ...NEW_KEY, permissions: [] }],
    [`/v1/user/store/${otherStore}/keys`, NEW_KEY],
    [billing, NEW_ADDRESS],
    ['/v1/user/store', { name: 'A third' }],
    [`/v1/store/${otherStore}/join`, undefined],
  ]
  const tables = ['api_keys', 'addresses', 'stores', 'events', 'idempotent_responses']
  const before = await countAll(world, tables)
  for (const [path, body, raw] of others) {
    const refused = await api.post(path, body, { as: owner.token, headers: once('k'), ...(raw ? { raw } : {}) })
    expect([path, body, refused.status, refused.body.code]).toEqual([path, body, 422, 'idempotency_mismatch'])
  }
  expect(await countAll(world, tables)).toEqual(before)
  expect(wire(await api.post(keys, NEW_KEY, { as: owner.token, headers: once('k') }))) //
    .toEqual({ ...wire(first), replayed: 'true' })
})

test('each caller has Idempotency-Keys of their own', async () => {
  const world = await shop()
  const { api, owner, member, keys } = world
  const manager = await member('MANAGER')
  const robot = await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_KEYS', 'READ', 'WRITE'] }, { as: owner.token })
  const callers = [owner.token, manager.token, robot.body.key]
  const made: Reply[] = []
  for (const as of callers) made.push(await api.post(keys, NEW_KEY, { as, headers: once('same') }))
  expect(made.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])) //
    .toEqual(callers.map(() => [201, null]))
  expect(new Set(made.map(({ body }) => body.id)).size).toBe(3)
  for (const [i, as] of callers.entries())
    expect((await api.post(keys, NEW_KEY, { as, headers: once('same') })).text).toBe(made[i]?.text)
})

// ---- what is remembered, and what is not ----------------------------------------------------------------------------

test('422, 404 and 409 are remembered like a success', async () => {
  const { api, owner, store, billing } = await shop()
  const failures: [status: number, code: string, path: string, body: unknown][] = [
    [422, 'invalid_input', billing, { ...NEW_ADDRESS, country: 'Atlantis' }],
    [404, 'invitation_not_found', '/v1/user/invitations/accept', { token: 'skp_inv_unknown' }],
    [409, 'already_member', `/v1/store/${store.id}/join`, undefined],
  ]
  for (const [status, code, path, body] of failures) {
    const first = await api.post(path, body, { as: owner.token, headers: once(code) })
    expect([first.status, first.body.code]).toEqual([status, code])
    const again = await api.post(path, body, { as: owner.token, headers: once(code) })
    expect(wire(again)).toEqual({ ...wire(first), replayed: 'true' })
    expect(again.body.requestId).toBe(first.body.requestId)
  }
})

test('a full store stays full for a remembered 409, and lets a new request in once there is room', async () => {
  const { api, owner, keys } = await shop({ MAX_KEYS_PER_STORE: '1' })
  const expiring = { ...NEW_KEY, expiresAt: new Date(Date.now() + HOUR).toISOString() }
  const first = await api.post(keys, expiring, { as: owner.token, headers: once('fits') })
  const refused = await api.post(keys, NEW_KEY, { as: owner.token, headers: once('full') })
  expect([first.status, refused.status, refused.body.code]).toEqual([201, 409, 'limit_exceeded'])
  expect(wire(await api.post(keys, expiring, { as: owner.token, headers: once('fits') }))) //
    .toEqual({ ...wire(first), replayed: 'true' })

  travel(61 * MINUTE)
  expect(wire(await api.post(keys, NEW_KEY, { as: owner.token, headers: once('full') }))) //
    .toEqual({ ...wire(refused), replayed: 'true' })
  expect((await api.post(keys, NEW_KEY, { as: owner.token, headers: once('new') })).status).toBe(201)
})

test('401 is never remembered', async () => {
  const world = await shop({ alone: true })
  const { api, owner } = world
  const wrong = { currentPassword: 'not the pass phrase', newPassword: 'another long pass phrase' }
  for (let i = 0; i < 2; i++) {
    const refused = await api.post('/v1/user/password', wrong, { as: owner.token, headers: once('k') })
    expect([refused.body.code, refused.headers.get('idempotent-replayed')]).toEqual(['invalid_credentials', null])
  }
  expect(await count(world, 'idempotent_responses')).toBe(0)
  const right = { ...wrong, currentPassword: owner.password }
  const changed = await api.post('/v1/user/password', right, { as: owner.token, headers: once('k') })
  expect(changed.status).toBe(204)
  const again = await api.post('/v1/user/password', right, { as: owner.token, headers: once('k') })
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([204, 'true'])
})

test('403 is never remembered: what was forbidden runs once it is allowed', async () => {
  const { api, owner, member, store, keys } = await shop()
  const staff = await member('STAFF')
  const send = () => api.post(keys, NEW_KEY, { as: staff.token, headers: once('k') })
  expect((await send()).body.code).toBe('insufficient_permission')
  await setPermissions(api, owner, store.id, staff, ['READ', 'MANAGE_KEYS'])
  expect((await send()).body.code).toBe('cannot_grant')
  await setPermissions(api, owner, store.id, staff, ['READ', 'WRITE', 'MANAGE_KEYS'])
  const made = await send()
  expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null])
})

test('429 is never remembered, neither of the bucket nor of the password', async () => {
  const { api, owner, billing, sql } = await shop({ RATE_LIMIT: '20' })
  const send = () => api.post(billing, NEW_ADDRESS, { as: owner.token, headers: once('k') })
  for (let i = 0; i < 20; i++) await api.get('/v1/user', { as: owner.token })
  expect((await send()).body.code).toBe('rate_limited')
  travel(MINUTE)
  const made = await send()
  expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null])

  const change = { currentPassword: owner.password, newPassword: 'another long pass phrase' }
  for (let i = 0; i < 10; i++)
    await api.post('/v1/user/password', { ...change, currentPassword: 'not the pass phrase' }, { as: owner.token })
  const late = () => api.post('/v1/user/password', change, { as: owner.token, headers: once('p') })
  expect((await late()).body.code).toBe('rate_limited')
  travel(16 * MINUTE)
  // Failed sign-ins are timed by the database's clock.
  await sql("update sign_in_failures set at = at - interval '16 minutes'")
  expect((await late()).status).toBe(204)
})

test.each(['a key', 'an address'])('503 is never remembered: %s is made when the database lets it', async (what) => {
  const world = await shop({ alone: true })
  const { api, owner, databaseUrl } = world
  const post = POSTS.find((each) => each.what === what) as (typeof POSTS)[number]
  const send = () => api.post(post.path(world), post.body, { as: owner.token, headers: once('k') })
  const blocker = await client(databaseUrl)
  await blocker.query(`begin; lock table ${post.table} in access exclusive mode`)
  const refused = await send()
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
  await blocker.query('rollback')
  expect(await count(world, 'idempotent_responses')).toBe(0)
  const made = await send()
  expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(await count(world, post.table)).toBe(1)
})

test('authorisation is checked again on replay', async () => {
  const { api, owner, member, store, keys, billing } = await shop()
  const manager = await member('MANAGER')
  const key = await api.post(keys, NEW_KEY, { as: manager.token, headers: once('k') })
  const address = await api.post(billing, NEW_ADDRESS, { as: manager.token, headers: once('a') })
  const again = async () => [
    await api.post(keys, NEW_KEY, { as: manager.token, headers: once('k') }),
    await api.post(billing, NEW_ADDRESS, { as: manager.token, headers: once('a') }),
  ]
  const told = (replies: Reply[]) => replies.map(({ status, body }) => [status, body.code ?? body.id])

  await setPermissions(api, owner, store.id, manager, ['READ', 'WRITE'])
  expect(told(await again())).toEqual([
    [403, 'insufficient_permission'],
    [201, address.body.id],
  ])
  await setPermissions(api, owner, store.id, manager, ['READ', 'MANAGE_KEYS'])
  expect(told(await again())).toEqual([
    [403, 'cannot_grant'],
    [201, address.body.id],
  ])
  await setPermissions(api, owner, store.id, manager, ['READ', 'WRITE', 'MANAGE_KEYS'])
  expect(told(await again())).toEqual([
    [201, key.body.id],
    [201, address.body.id],
  ])

  await api.delete(`/v1/user/store/${store.id}/members/${manager.id}`, { as: owner.token })
  expect(told(await again())).toEqual([
    [404, 'store_not_found'],
    [404, 'store_not_found'],
  ])
  await api.post('/v1/auth/sign-out', undefined, { as: manager.token })
  expect(told(await again())).toEqual([
    [401, 'invalid_token'],
    [401, 'invalid_token'],
  ])
})

test('an answer is remembered for 24 hours, then the request runs anew', async () => {
  const world = await shop()
  const { api, owner, billing } = world
  const send = () => api.post(billing, NEW_ADDRESS, { as: owner.token, headers: once('k') })
  const first = await send()
  travel(24 * HOUR - MINUTE)
  expect(wire(await send())).toEqual({ ...wire(first), replayed: 'true' })
  travel(2 * MINUTE)
  const anew = await send()
  expect([anew.status, anew.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(anew.body.id).not.toBe(first.body.id)
  expect(wire(await send())).toEqual({ ...wire(anew), replayed: 'true' })
  expect(await count(world, 'addresses', `user_id = '${owner.id}'`)).toBe(2)
})

// ---- the once-only secret -------------------------------------------------------------------------------------------

test('503: an old answer that cannot be deleted is not tried again without end', async () => {
  const { api, owner, keys, sql } = await shop({ alone: true })
  const ask = () => api.post(keys, NEW_KEY, { as: owner.token, headers: once('old') })
  expect((await ask()).status).toBe(201)
  await sql(`create function stays() returns trigger language plpgsql as 'begin return null; end'`)
  await sql('create trigger stays before delete on idempotent_responses for each row execute function stays()')
  await sql(`update idempotent_responses set created_at = now() - interval '25 hours'`)
  const { status, body, headers } = await ask()
  expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
})

describe.each(POSTS.slice(0, 2))('the secret of $what', (post) => {
  test('is shown again for an hour', async () => {
    const world = await shop()
    const { api, owner, store } = world
    const send = () => api.post(post.path(world), post.body, { as: owner.token, headers: once('k') })
    const first = await send()
    travel(HOUR - 30 * SECOND)
    expect(wire(await send())).toEqual({ ...wire(first), replayed: 'true' })
    travel(MINUTE)
    const late = await send()
    expect([late.status, late.headers.get('idempotent-replayed')]).toEqual([409, null])
    expect(late.body).toEqual(gone(late, post.path(world), first.body.id))
    travel(22 * HOUR)
    expect((await send()).body.resource).toEqual({ id: first.body.id })
    expect(await count(world, post.table, `store_id = '${store.id}'`)).toBe(1)
    travel(HOUR)
    const anew = await send()
    expect([anew.status, anew.body.id === first.body.id]).toEqual([201, false])
  })

  test('is shown again five times', async () => {
    const world = await shop()
    const { api, owner, store } = world
    const send = () => api.post(post.path(world), post.body, { as: owner.token, headers: once('k') })
    const first = await send()
    for (let i = 0; i < 5; i++) expect(wire(await send())).toEqual({ ...wire(first), replayed: 'true' })
    for (let i = 0; i < 2; i++) {
      const late = await send()
      expect([late.status, late.body]).toEqual([409, gone(late, post.path(world), first.body.id)])
    }
    expect(await count(world, post.table, `store_id = '${store.id}'`)).toBe(1)
  })

  test('is not for another session of the same user, which does get what is no secret', async () => {
    const world = await shop()
    const { api, owner, billing } = world
    const { email, password } = owner
    const second = (await api.post('/v1/auth/sign-in', { email, password })).body.token
    const first = await api.post(post.path(world), post.body, { as: owner.token, headers: once('k') })
    const elsewhere = await api.post(post.path(world), post.body, { as: second, headers: once('k') })
    expect([elsewhere.status, elsewhere.body]).toEqual([409, gone(elsewhere, post.path(world), first.body.id)])
    expect((await api.post(post.path(world), post.body, { as: owner.token, headers: once('k') })).text).toBe(first.text)

    const address = await api.post(billing, NEW_ADDRESS, { as: owner.token, headers: once('a') })
    const sameAddress = await api.post(billing, NEW_ADDRESS, { as: second, headers: once('a') })
    expect(wire(sameAddress)).toEqual({ ...wire(address), replayed: 'true' })
  })

  test('is destroyed when its hour is over, and the row after a day', async () => {
    const world = await shop({ alone: true })
    const { api, owner, billing, service } = world
    const { id } = (await api.post(post.path(world), post.body, { as: owner.token, headers: once('k') })).body
    await api.post(billing, NEW_ADDRESS, { as: owner.token, headers: once('a') })
    const kept = () =>
      world.sql(
        'select reveals_secret, salt is not null as salt, sealed is not null as sealed from idempotent_responses order by reveals_secret',
      )

    travel(HOUR - MINUTE)
    const purge = newSecretPurge()
    await purge(service.db)
    expect(await kept()).toEqual([
      { reveals_secret: false, salt: true, sealed: true },
      { reveals_secret: true, salt: true, sealed: true },
    ])
    travel(2 * MINUTE)
    await purge(service.db)
    expect(await kept()).toEqual([
      { reveals_secret: false, salt: true, sealed: true },
      { reveals_secret: true, salt: false, sealed: false },
    ])
    const late = await api.post(post.path(world), post.body, { as: owner.token, headers: once('k') })
    expect(late.body.resource).toEqual({ id })
    travel(23 * HOUR + MINUTE)
    await newResponsePurge()(service.db)
    expect(await kept()).toEqual([])
  })
})

test('a secret that was missed is destroyed within the next hour', async () => {
  const { api, owner, keys, sql, service } = await shop({ alone: true })
  const [destroySecrets, purgeResponses] = [newSecretPurge(), newResponsePurge()]
  await destroySecrets(service.db)
  // As a request does that waits for hours before it commits.
  await api.post(keys, NEW_KEY, { as: owner.token, headers: once('k') })
  await sql(`update idempotent_responses set created_at = now() - interval '3 hours'`)
  const holdsSecret = async () => (await sql('select salt is not null as holds from idempotent_responses'))[0]?.holds
  await destroySecrets(service.db)
  await purgeResponses(service.db)
  expect(await holdsSecret()).toBe(true)
  await closeSharedService()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + HOUR)
  onTestFinished(() => clock.mockRestore())
  await purgeResponses(service.db)
  expect(await holdsSecret()).toBe(false)
})

test('once the key is revoked its secret is gone, and stays gone', async () => {
  const { api, owner, member, store, keys, sql } = await shop()
  const manager = await member('MANAGER')
  const path = `/v1/user/store/${store.id}/members/${manager.id}`
  const send = () => api.post(keys, NEW_KEY, { as: manager.token, headers: once('k') })
  const made = await send()
  expect((await send()).text).toBe(made.text)

  const fewer = { permissions: ['READ', 'WRITE', 'MANAGE_KEYS'] }
  const demoted = await api.patch(`${path}?keys=revoke`, fewer, { as: owner.token })
  expect(demoted.body.keys).toEqual([{ id: made.body.id, name: 'Checkout', status: 'REVOKED' }])
  const late = await send()
  expect([late.status, late.body]).toEqual([409, gone(late, keys, made.body.id)])
  expect(await sql('select salt, sealed from idempotent_responses where resource_id = $1', [made.body.id])) //
    .toEqual([{ salt: null, sealed: null }])
})

test('once its maker is removed with their keys, the secret is gone, also when they come back', async () => {
  const { api, owner, member, store, keys } = await shop()
  const manager = await member('MANAGER')
  const send = () => api.post(keys, NEW_KEY, { as: manager.token, headers: once('k') })
  const made = await send()
  await api.delete(`/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`, { as: owner.token })
  expect((await send()).body.code).toBe('store_not_found')
  const invitation = { email: manager.email, role: 'MANAGER' }
  const { token } = (await api.post(`/v1/user/store/${store.id}/invitations`, invitation, { as: owner.token })).body
  await api.post('/v1/user/invitations/accept', { token }, { as: manager.token })
  const late = await send()
  expect([late.status, late.body]).toEqual([409, gone(late, keys, made.body.id)])
  expect((await api.get(`/v1/user/store/${store.id}`, { as: made.body.key })).status).toBe(401)
})

test('an invitation that was accepted or withdrawn tells its token no more', async () => {
  const world = await shop()
  const { api, owner, person } = world
  const path = invitations(world)
  const guest = await person()
  const invite = (email: string) => api.post(path, { email, role: 'STAFF' }, { as: owner.token, headers: once(email) })
  const accepted = await invite(guest.email)
  const withdrawn = await invite('nobody@example.com')
  await api.post('/v1/user/invitations/accept', { token: accepted.body.token }, { as: guest.token })
  await api.delete(`${path}/${withdrawn.body.id}`, { as: owner.token })
  for (const [email, made] of [
    [guest.email, accepted],
    ['nobody@example.com', withdrawn],
  ] as const) {
    const late = await invite(email)
    expect([late.status, late.body]).toEqual([409, gone(late, path, made.body.id)])
  }
})

test('whoever uses the key has it: the first use destroys the way to be told it again', async () => {
  const { api, owner, store, keys, node, service, sql } = await shop({ alone: true })
  const other = await node()
  const send = () => other.post(keys, NEW_KEY, { as: owner.token, headers: once('k') })
  const made = await api.post(keys, NEW_KEY, { as: owner.token, headers: once('k') })
  expect((await send()).text).toBe(made.text)

  expect((await api.get(`/v1/user/store/${store.id}`, { as: made.body.key })).status).toBe(200)
  await service.close(0) // writes down what was used
  expect(await sql('select salt, sealed from idempotent_responses')).toEqual([{ salt: null, sealed: null }])
  const late = await send()
  expect([late.status, late.body]).toEqual([409, gone(late, keys, made.body.id)])
})

test('the first use is not forgotten when the database refuses to write it down at first', async () => {
  const { api, owner, store, keys, service, sql } = await shop({ alone: true }, USAGE_AT_ONCE)
  const made = await api.post(keys, NEW_KEY, { as: owner.token, headers: once('k') })
  await refuse(sql, 'idempotent_responses', 'update')
  await api.get(`/v1/user/store/${store.id}`, { as: made.body.key })
  await until(async () => (await sql('select is_called from refusals'))[0].is_called)
  await allow(sql, 'idempotent_responses')
  await service.close(0)
  expect(await sql('select salt, sealed from idempotent_responses')).toEqual([{ salt: null, sealed: null }])
  expect((await sql('select last_used_at is not null as used from api_keys'))[0]).toEqual({ used: true })
})

test('a caller with an access token has no lasting credential: a strong Idempotency-Key stands in for it', async () => {
  const issuer = await identityProvider()
  const { api, owner, store, keys, sql } = await shop(issuer.settings)
  const token = () => issuer.token('subject-1')
  const me = (await api.get('/v1/user', { as: await token() })).body.user.id
  await sql(
    `insert into members (store_id, user_id, role, created_at, updated_at) values ($1, $2, 'MANAGER', now(), now())`,
    [store.id, me],
  )
  const send = async (key: string) => api.post(keys, NEW_KEY, { as: await token(), headers: once(key) })

  for (const strong of [randomUUID(), randomBytes(17).toString('base64url')]) {
    const first = await send(strong)
    expect(first.status).toBe(201)
    expect(wire(await send(strong))).toEqual({ ...wire(first), replayed: 'true' })
  }
  const weak = await send('order-17')
  const late = await send('order-17')
  expect([weak.status, late.status, late.body]).toEqual([201, 409, gone(late, keys, weak.body.id)])
  expect((await api.get(`${keys}?limit=100`, { as: owner.token })).body.data).toHaveLength(3)
})

// ---- what the database does not know --------------------------------------------------------------------------------

test('the database and the server secret together do not open a secret; the Idempotency-Key and the credential do', async () => {
  const world = await shop({ alone: true })
  const { api, owner, keys, serverSecret } = world
  const idempotencyKey = `order-${randomUUID()}`
  const made = await api.post(keys, NEW_KEY, { as: owner.token, headers: once(idempotencyKey) })
  await api.post(`${keys}`, { ...NEW_KEY, name: 'Another' }, { as: owner.token, headers: once('another') })

  // All there is: every row of every table, as text and as bytes.
  const rows = await everything(world)
  const dump = JSON.stringify(rows)
  const bytes = Buffer.concat(rows.flatMap((row) => Object.values(row).filter((value) => Buffer.isBuffer(value))))
  for (const secret of [idempotencyKey, owner.token, made.body.key, owner.password]) {
    expect(dump).not.toContain(secret)
    expect(dump).not.toContain(Buffer.from(secret).toString('hex'))
    expect(bytes.includes(secret)).toBe(false)
  }
  expect(dump).toContain(made.body.id) // it is the dump

  const [row] = await world.sql('select * from idempotent_responses where resource_id = $1', [made.body.id])
  const keyring = new ServerKeys(Buffer.from(serverSecret, 'base64'))
  expect(row.kid).toBe(keyring.kid)
  const until = new Date(row.created_at.getTime() + HOUR).toISOString()
  const bound = JSON.stringify([owner.id, 'POST', keys, made.body.id, 201, until])
  const attempt = (key: string, credential: string) => {
    try {
      return unseal(keyring.deriveSealing('idempotency-seal', row.salt, key, credential), row.sealed, bound).toString()
    } catch {
      return null
    }
  }
  const known = [...new Set(rows.flatMap((each) => Object.values(each)).flatMap(spellings))]
  expect(known.length).toBeGreaterThan(50)
  for (const value of known) {
    expect(attempt(value, value)).toBeNull()
    for (const anchor of ['', owner.id, made.body.id, keys]) {
      expect(attempt(value, anchor)).toBeNull()
      expect(attempt(anchor, value)).toBeNull()
    }
    // One of the two is not enough either.
    expect(attempt(idempotencyKey, value)).toBeNull()
    expect(attempt(value, owner.token)).toBeNull()
  }
  expect(attempt(idempotencyKey, owner.token)?.split('\n')[1]).toBe(made.text)
})

test('while the server secret is being changed nothing is done twice, and all that was written stays readable', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, keys, billing, node, serverSecret } = world
  const robot = (await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_KEYS', 'READ'] }, { as: owner.token })).body
    .key
  const first = await Promise.all(
    POSTS.map((post) => api.post(post.path(world), post.body, { as: owner.token, headers: once(post.table) })),
  )
  const fault = await api.post(billing, {}, { as: owner.token, headers: once('fault') })
  const page = await api.get(`${keys}?limit=1`, { as: owner.token })
  const counts = () =>
    countAll(
      world,
      POSTS.map(({ table }) => table),
    )
  const before = await counts()

  const next = await node({ SERVER_SECRET: randomBytes(32).toString('base64'), SERVER_SECRET_PREVIOUS: serverSecret })
  for (const [i, post] of POSTS.entries()) {
    const again = await next.post(post.path(world), post.body, { as: owner.token, headers: once(post.table) })
    expect(wire(again)).toEqual({ ...wire(first[i] as Reply), replayed: 'true' })
  }
  expect(wire(await next.post(billing, {}, { as: owner.token, headers: once('fault') }))) //
    .toEqual({ ...wire(fault), replayed: 'true' })
  expect((await next.post(billing, NEW_ADDRESS, { as: owner.token, headers: once('api_keys') })).body.code) //
    .toBe('idempotency_mismatch')
  expect(await counts()).toEqual(before)

  expect((await next.get(`/v1/user/store/${store.id}`, { as: robot })).status).toBe(200)
  const address = first[2] as Reply
  expect((await next.get(`${billing}/${address.body.id}`, { as: owner.token })).body).toEqual(address.body)
  expect((await next.get(`${keys}?limit=1&cursor=${page.body.nextCursor}`, { as: owner.token })).status).toBe(200)

  // What the new secret writes is found under the new secret, and used by both kinds of caller.
  const made = await next.post(keys, NEW_KEY, { as: owner.token, headers: once('new') })
  expect(wire(await next.post(keys, NEW_KEY, { as: owner.token, headers: once('new') }))) //
    .toEqual({ ...wire(made), replayed: 'true' })
  expect((await next.get(`/v1/user/store/${store.id}`, { as: made.body.key })).status).toBe(200)
  const added = await next.post(billing, NEW_ADDRESS, { as: owner.token })
  expect((await next.get(`${billing}/${added.body.id}`, { as: owner.token })).body).toEqual(added.body)

  // Without the old one there is no way in: it was needed above.
  await expect(node({ SERVER_SECRET: randomBytes(32).toString('base64') })) //
    .rejects.toThrow('SERVER_SECRET is not the secret that this database is used with')
})

// ---- helpers --------------------------------------------------------------------------------------------------------

async function setPermissions(api: Api, owner: Person, storeId: string, member: Person, permissions: string[]) {
  const path = `/v1/user/store/${storeId}/members/${member.id}`
  expect((await api.patch(path, { permissions }, { as: owner.token })).status).toBe(200)
}

async function everything({ sql }: Shop): Promise<Record<string, unknown>[]> {
  const tables = await sql(`select table_name from information_schema.tables where table_schema = 'public'`)
  const rows: Record<string, unknown>[] = []
  for (const { table_name } of tables) rows.push(...(await sql(`select * from ${table_name}`)))
  return rows
}

/** A value of a row in every way it might have been used as a key. */
function spellings(value: unknown): string[] {
  if (Buffer.isBuffer(value)) return [value.toString('hex'), value.toString('base64'), value.toString('latin1')]
  if (value instanceof Date) return [value.toISOString()]
  return value === null ? [] : [typeof value === 'string' ? value : JSON.stringify(value)]
}
