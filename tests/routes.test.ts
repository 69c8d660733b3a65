// Who may do what, and what each route promises, made from the routes' own rows: a new row is held against every line
// here without a word being added.

import { expect, test } from 'vitest'
import { issueUserToken } from '../src/auth/user-tokens.ts'
import { type IdKind, newId } from '../src/core/ids.ts'
import { BUILT_IN_PERMISSIONS, type BuiltInPermission } from '../src/core/permissions.ts'
import { isChange, type Route, route } from '../src/core/route.ts'
import { mintToken } from '../src/crypto/tokens.ts'
import { totpCode, totpStep } from '../src/crypto/totp.ts'
import { openapi } from '../src/http/openapi.ts'
import { routes } from '../src/routes.ts'
import { Type } from '../src/schema/type.ts'
import { validate } from '../src/schema/validate.ts'
import { fromBase32, newAuthenticator } from './authenticator.ts'
import { playGithub } from './github.ts'
import { newSession } from './sessions.ts'
import { NEW_ADDRESS, NEW_KEY, type Person, type Reply, type Shop, shop } from './shop.ts'

const REALM = 'Bearer realm="storekeeper"'
/** What a parameter of a path stands for. */
const PARAMS: Record<string, IdKind> = {
  storeId: 'store',
  keyId: 'key',
  addressId: 'addr',
  userId: 'user',
  invitationId: 'inv',
  sessionId: 'sess',
  webhookId: 'wh',
  deliveryId: 'dlv',
  serviceTokenId: 'svc',
  eventId: 'evt',
  passkeyId: 'passkey',
}
/** Parameters that are no ids, each with a value that is there in everything made anew, and with one that never is. */
const OTHER_PARAMS: Record<string, { there: string; nowhere: string }> = {
  n: { there: '1', nowhere: '999999999' },
  code: { there: 'US', nowhere: 'ZZ' },
  externalId: { there: 'customer-42', nowhere: 'nobody' },
  owner: { there: 'customer-42', nowhere: 'nobody' },
}

const document = openapi(routes) as any
const nameOf = (route: Route) => `${route.method} ${route.path}`
const isOneOf = (needs: string, ...words: string[]) => words.includes(needs)
const isPermission = (needs: string): needs is BuiltInPermission => BUILT_IN_PERMISSIONS.includes(needs as never)
const closed = routes.filter((route) => route.needs !== 'public')
const permitted = routes.filter((route) => isPermission(route.needs))
const inStore = routes.filter((route) => route.path.includes(':storeId'))

// ---- the rows themselves --------------------------------------------------------------------------------------------

test('every route has a rule, a place of its own, words about it, and parameters that are known', () => {
  const rules = [...BUILT_IN_PERMISSIONS, 'user', 'store user', 'owner', 'key', 'service', 'caller', 'public']
  expect(routes.length).toBeGreaterThan(20)
  expect(new Set(routes.map(nameOf)).size).toBe(routes.length)
  for (const row of routes) {
    expect(rules, nameOf(row)).toContain(row.needs)
    expect(row.summary, nameOf(row)).toMatch(/^[A-Z].*[^.]$/)
    expect(row.description, nameOf(row)).toMatch(/^[A-Z].*\.$/s)
    expect(row.path).toMatch(/^\/v1\//)
    // A rule that looks into a store needs a store to look into.
    if (isPermission(row.needs) || row.needs === 'store user' || row.needs === 'owner')
      expect(row.path).toContain('/:storeId')
    for (const param of paramsOf(row)) expect(Object.keys({ ...PARAMS, ...OTHER_PARAMS }), nameOf(row)).toContain(param)
  }
})

test('only signing up, signing in, single sign-on, a forgotten password, reading an invitation, reporting a leak, the rules of countries and the settings are open to anyone', () => {
  expect(routes.filter((row) => row.needs === 'public').map(nameOf)).toEqual([
    'POST /v1/leaks',
    'POST /v1/leaks/github',
    'GET /v1/countries',
    'GET /v1/countries/:code',
    'POST /v1/auth/invitation',
    'POST /v1/auth/sign-up',
    'POST /v1/auth/sign-in',
    'POST /v1/auth/reset',
    'POST /v1/auth/reset/confirm',
    'POST /v1/auth/confirm',
    'GET /v1/auth/oidc/start',
    'GET /v1/auth/oidc/callback',
    'POST /v1/auth/second-factor',
    'POST /v1/auth/passkey/options',
    'POST /v1/auth/passkey',
    'GET /v1/settings',
  ])
})

test('a secret that takes a recent sign-in is not shown again without one', () => {
  const guarded = routes.filter(
    ({ revealsSecret, errors }) => revealsSecret && errors?.includes('recent_sign_in_required'),
  )
  expect(guarded.map(({ id }) => id)).toContain('passkeys.create')
  expect(guarded.filter(({ recentSignIn }) => !recentSignIn).map(nameOf)).toEqual([])
  // And the other way round: what a retry may be refused with stands on its row.
  const unsaid = routes.filter(
    ({ recentSignIn, errors }) => recentSignIn && !errors?.includes('recent_sign_in_required'),
  )
  expect(unsaid.map(nameOf)).toEqual([])
})

test('every route has a name of its own, which is no prefix of another, so that clients can have methods of these names', () => {
  const ids = routes.map((row) => row.id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) {
    expect(id).toMatch(/^[a-z][A-Za-z]*(\.[a-z][A-Za-z]*)+$/)
    expect(ids.filter((other) => other.startsWith(`${id}.`))).toEqual([])
  }
})

test('a route without a rule or a name does not compile', () => {
  const facts = {
    id: 'x.read',
    method: 'GET',
    path: '/v1/x',
    summary: 'X',
    description: 'X.',
    returns: [204, null],
  } as const
  // @ts-expect-error `needs` is missing
  const made = route({ ...facts, query: Type.Object({}) }, async () => ({ body: null }))
  expect(made.needs).toBe(undefined)
  const { id: _, ...nameless } = { ...facts, needs: 'public' as const }
  // @ts-expect-error `id` is missing
  const unnamed = route({ ...nameless, query: Type.Object({}) }, async () => ({ body: null }))
  expect(unnamed.id).toBe(undefined)
})

// ---- who is calling -------------------------------------------------------------------------------------------------

test('401: nobody, on every route', async () => {
  const { api } = await shop()
  const refused = { status: 401, challenge: REALM, body: problem(401, 'unauthenticated', 'Missing credentials') }
  const nobodys = [{}, { authorization: 'Bearer' }, { cookie: 'theme=dark' }]
  for (const row of closed) {
    const ask = (headers: Record<string, string>) => api.ask(row.method, somewhere(row), bodyFor(row), { headers })
    for (const reply of await Promise.all(nobodys.map(ask))) expect(told(reply), nameOf(row)).toEqual(refused)
    expect(responsesOf(row)[401].headers, nameOf(row)).toHaveProperty('WWW-Authenticate')
  }
})

test('401: whatever is not a credential of ours, on every route, and always in the same words', async () => {
  const { api, store, owner } = await shop()
  const garbage = [
    'nonsense',
    `${owner.token.slice(0, -1)}${owner.token.endsWith('0') ? '1' : '0'}`,
    owner.token.toUpperCase(),
    mintToken('skp', 'prod').reveal(),
    mintToken('skp', 'sess').reveal(),
    mintToken('skp', 'svc').reveal(),
    mintToken('skp', 'inv').reveal(),
    mintToken('other', 'sess').reveal(),
    'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c2VyIn0.x',
  ]
  const refused = {
    status: 401,
    challenge: `${REALM}, error="invalid_token"`,
    body: problem(401, 'invalid_token', 'Invalid credentials'),
  }
  for (const row of closed) {
    const path = somewhere(row, { storeId: store.id })
    const replies = await Promise.all(garbage.map((as) => api.ask(row.method, path, bodyFor(row), { as })))
    for (const reply of replies) expect(told(reply), nameOf(row)).toEqual(refused)
  }
})

test('400: a credential in the query string, on every route', async () => {
  const { api, owner } = await shop()
  for (const row of routes) {
    const ask = (name: string) => api.ask(row.method, `${somewhere(row)}?${name}=${owner.token}`, bodyFor(row))
    const replies = await Promise.all(['access_token', 'api_key', 'apikey', 'key', 'token'].map(ask))
    const seen = replies.map(({ status, body, headers }) => [status, body.code, headers.get('www-authenticate')])
    const refused = [400, 'invalid_request', `${REALM}, error="invalid_request"`]
    expect(seen, nameOf(row)).toEqual(Array(5).fill(refused))
  }
})

test('a service has a part in no store and is no user', async () => {
  const { api, store, serviceToken } = await shop()
  const token = await serviceToken()
  for (const row of closed) {
    const reply = await probe(api, row, somewhere(row, { storeId: store.id }), token)
    expect(sayBriefly(reply), nameOf(row)).toBe(
      isPermission(row.needs) || row.needs === 'owner'
        ? '404 store_not_found'
        : isOneOf(row.needs, 'service', 'caller')
          ? PASSES
          : onlyFor(row),
    )
  }
})

// ---- may they -------------------------------------------------------------------------------------------------------

/**
 * Every request here carries a parameter that no route knows. Whoever may do the thing hears 422 about the parameter,
 * whoever may not hears why, and nothing is ever done.
 */
const PASSES = '422 invalid_input'

test('403: of all permissions only the one on the row opens it, for members and for keys', async () => {
  const world = await shop()
  const { api, store } = world
  const held = Object.fromEntries(
    await Promise.all(BUILT_IN_PERMISSIONS.map(async (permission) => [permission, await holdersOf(world, permission)])),
  ) as Record<BuiltInPermission, string[]>

  const seen: Record<string, Record<string, string[]>> = {}
  const wanted: typeof seen = {}
  for (const row of permitted) {
    const name = nameOf(row)
    const path = somewhere(row, { storeId: store.id })
    const asked = BUILT_IN_PERMISSIONS.map(async (permission) => {
      const replies = await Promise.all(held[permission].map((token) => probe(api, row, path, token)))
      return [permission, replies.map(sayBriefly)] as const
    })
    seen[name] = Object.fromEntries(await Promise.all(asked))
    wanted[name] = Object.fromEntries(
      BUILT_IN_PERMISSIONS.map((permission) => [
        permission,
        Array(2).fill(permission === row.needs ? PASSES : lacks(row.needs)),
      ]),
    )
  }
  expect(seen).toEqual(wanted)
})

test('403: a customer of the store holds nothing, and still has a part in it; who holds every permission is no owner', async () => {
  const { api, store, member } = await shop()
  const customer = await member('CUSTOMER')
  const steward = await member('STAFF', [...BUILT_IN_PERMISSIONS])
  for (const row of inStore) {
    const ask = async ({ token }: Person) =>
      sayBriefly(await probe(api, row, somewhere(row, { storeId: store.id }), token))
    const isOwners = row.needs === 'owner'
    expect(await ask(customer), nameOf(row)).toBe(
      isPermission(row.needs) ? lacks(row.needs) : isOwners ? lacks('OWNER') : PASSES,
    )
    expect(await ask(steward), nameOf(row)).toBe(isOwners ? lacks('OWNER') : PASSES)
  }
})

test('an owner passes everywhere, and a key with every permission wherever no user is asked for', async () => {
  const { api, store, owner, keys } = await shop()
  const all = [...BUILT_IN_PERMISSIONS]
  const { body } = await api.post(keys, { ...NEW_KEY, permissions: all }, { as: owner.token })
  for (const row of closed) {
    const path = somewhere(row, { storeId: store.id })
    expect(sayBriefly(await probe(api, row, path, owner.token)), nameOf(row)).toBe(
      row.needs === 'key' || row.needs === 'service' ? onlyFor(row) : PASSES,
    )
    expect(sayBriefly(await probe(api, row, path, body.key)), nameOf(row)).toBe(
      isPermission(row.needs) || isOneOf(row.needs, 'key', 'caller') ? PASSES : onlyFor(row),
    )
  }
})

test('403: a secret that was replaced reads in its grace, and changes nothing', async () => {
  const { api, store, owner, keys } = await shop()
  const { body } = await api.post(keys, { ...NEW_KEY, permissions: [...BUILT_IN_PERMISSIONS] }, { as: owner.token })
  await api.post(`${keys}/${body.id}/rotate`, { gracePeriodSeconds: 600 }, { as: owner.token })
  for (const row of permitted)
    expect(sayBriefly(await probe(api, row, somewhere(row, { storeId: store.id }), body.key)), nameOf(row)).toBe(
      isChange(row) ? '403 replaced_secret' : PASSES,
    )
})

/** Their answers hold what the caller sent, or tell what has become of it. */
const SHOW_NO_RECORD = ['customers.import', 'customers.erase', 'customers.addresses.create']

test('no change shows its caller a record that they may not read, only what they sent and which record it is', async () => {
  const read = (row: Route) => {
    const reads = routes.filter((one) => one.method === 'GET' && `${row.path}/`.startsWith(`${one.path}/`))
    return reads.toSorted((a, b) => b.path.length - a.path.length)[0]
  }
  const unlike = permitted.filter((row) => isChange(row) && row.returns[1] && read(row)?.needs !== row.needs)
  const withheld = unlike.filter(({ id }) => !SHOW_NO_RECORD.includes(id))
  expect(withheld.map((row) => row.readableWith?.permission)).toEqual(withheld.map((row) => read(row)?.needs))
  expect(withheld.length).toBeGreaterThan(5)

  const world = await shop()
  const { api, owner } = world
  const { ids, storeId, guest } = await things(world)
  const root = `/v1/user/store/${storeId}`
  const as = owner.token
  await api.put(`${root}/customers/customer-42`, { name: 'Carol', email: 'carol@example.com' }, { as })
  await api.patch(`${root}/members/${guest.id}`, { role: 'CUSTOMER' }, { as })
  const keyWith = async (...permissions: string[]) =>
    (await api.post(`${root}/keys`, { ...NEW_KEY, permissions }, { as })).body.key as string
  const ask = (row: Route, as: string, body?: unknown) => api.ask(row.method, somewhere(row, ids), body, { as })
  const recordIn = ({ readableWith }: Route, { body }: Reply) => (readableWith?.in ? body[readableWith.in] : body)
  for (const row of withheld) {
    const blind = await keyWith(row.needs)
    expect((await ask(read(row) as Route, blind)).status, row.id).toBe(403)
    // A change that changes nothing, where there is one.
    const body = row.id === 'invoicing.hold' ? row.example?.body : bodyFor(row)
    const reply = await ask(row, blind, body)
    expect([row.id, reply.status, Object.keys(recordIn(row, reply)).sort()]).toEqual([
      row.id,
      200,
      [...(row.readableWith?.identifiedBy ?? [])].sort(),
    ])
    expect(reply.headers.has('etag'), row.id).toBe(row.etag === true)
    const whole = await ask(row, await keyWith(row.needs, 'READ'), body)
    expect([row.id, validate(row.returns[1] as never, whole.body)]).toEqual([row.id, []])
  }
  const clerk = await keyWith('MANAGE_CUSTOMERS')
  const moved = await api.patch(
    `${root}/customers/customer-42/billing/${ids.addressId}`,
    { city: ' Palo  Alto' },
    { as: clerk },
  )
  const which = { id: ids.addressId, storeId, userId: owner.id, version: 2 }
  expect(moved.body).toEqual({ ...which, city: 'Palo Alto' })
  const elsewhere = await api.patch(
    `${root}/customers/customer-42/billing/${ids.addressId}`,
    { state: 'NY' },
    { as: clerk },
  )
  expect(elsewhere.body.errors).toEqual([
    {
      pointer: '#/postalCode',
      code: 'postal_code_state_mismatch',
      detail: 'The postal code belongs to another state.',
    },
  ])
  const renamed = await api.put(`${root}/customers/customer-42`, { name: 'Caroline' }, { as: clerk })
  expect(renamed.body).toEqual({ id: owner.id, externalId: 'customer-42', name: 'Caroline' })
  const made = await api.put(`${root}/customers/customer-43`, { name: 'Dave' }, { as: clerk })
  expect([made.status, made.body]).toMatchObject([201, { externalId: 'customer-43', name: 'Dave', email: null }])
})

// ---- what is not there ----------------------------------------------------------------------------------------------

test('404: to a stranger a store looks like one that does not exist, and like one that was deleted', async () => {
  const { api, store, owner, keys, person } = await shop()
  const stranger = await person()
  const gone = (await api.post('/v1/user/store', { name: 'Gone' }, { as: owner.token })).body
  const { body: lost } = await api.post(`/v1/user/store/${gone.id}/keys`, NEW_KEY, { as: owner.token })
  await api.delete(`/v1/user/store/${gone.id}`, { as: owner.token })
  const other = (await api.post('/v1/user/store', { name: 'Other' }, { as: stranger.token })).body
  const all = { ...NEW_KEY, permissions: [...BUILT_IN_PERMISSIONS] }
  const { body: foreign } = await api.post(`/v1/user/store/${other.id}/keys`, all, { as: stranger.token })
  await api.post(keys, NEW_KEY, { as: owner.token })

  const missing = { status: 404, challenge: null, body: problem(404, 'store_not_found', 'Store not found') }
  for (const row of inStore) {
    const ask = async (storeId: string, as: string) =>
      told(await api.ask(row.method, somewhere(row, { storeId }), exampleFor(row), { as }))
    const answers = await Promise.all([
      ask(store.id, stranger.token),
      ask(newId('store'), stranger.token),
      ask(gone.id, stranger.token),
      // Its owner can restore it.
      ...(row.path.endsWith('/restore') ? [] : [ask(gone.id, owner.token)]),
      ask(newId('store'), owner.token),
      ...(isPermission(row.needs) ? [ask(store.id, foreign.key), ask(newId('store'), foreign.key)] : []),
    ])
    for (const answer of answers) expect(answer, nameOf(row)).toEqual(missing)
    // The key of a deleted store is not a credential any more.
    expect((await ask(gone.id, lost.key)).body.code).toBe('invalid_token')
  }
})

test('404: an id that is not well formed is answered exactly as one that does not exist', async () => {
  const world = await shop()
  const { api, owner } = world
  const { ids } = await things(world)
  const malformed = ['x', '0', '%00', '..%2f..', '%20', 'null', '__proto__', 'a'.repeat(400), "'--", '*', 'grantablex']
  let turn = 0
  for (const row of routes)
    for (const param of paramsOf(row)) {
      // It makes what is not there.
      if (row.mayCreate && param === 'externalId') continue
      // Nobody says beforehand which owners there are: one without keys has an empty list.
      if (param === 'owner') continue
      const kind = PARAMS[param]
      const good = kind ? newId(kind) : (OTHER_PARAMS[param]?.nowhere as string)
      const bad = [
        ...malformed,
        ...(kind ? [good.toUpperCase(), good.slice(0, -1)] : ['-1', '1.0', '01', '1e0']),
        `${good}0`,
        good.replace(/_./, '_8'),
        newId(kind === 'key' ? 'user' : 'key'),
      ]
      // What else is wrong with a request comes after its path, whatever the id: of these, in turn, every fourth is tried.
      turn += 1
      for (const [query, tried] of [
        ['', bad],
        ['?nonsense=1', bad.filter((_, n) => n % 4 === turn % 4)],
      ] as const) {
        const ask = async (id: string) => {
          const path = somewhere(row, { ...ids, [param]: id }) + query
          return told(await api.ask(row.method, path, exampleFor(row), { as: owner.token }))
        }
        const [missing, ...answers] = await Promise.all([good, ...tried].map(ask))
        expect(missing?.status, nameOf(row)).toBeGreaterThanOrEqual(404)
        for (const [n, answer] of answers.entries())
          expect(answer, `${nameOf(row)} ${param}=${tried[n]}`).toEqual(missing)
      }
    }
})

// ---- what each route promises ---------------------------------------------------------------------------------------

/** Where the owner with the row's own example will not do: who calls instead, and with what. */
const OTHERWISE: Record<string, (world: Shop, live: Things) => Promise<{ as: string | null; body?: unknown }>> = {
  'POST /v1/auth/sign-out': (world) => signIn(world, world.owner),
  // An owner of a store may not.
  'DELETE /v1/user': async ({ person }) => ({ as: (await person()).token }),
  'POST /v1/user/password': (world) =>
    signIn(world, { email: 'ada@example.com', password: 'correct horse battery staple' }),
  'POST /v1/store/:storeId/leave': async (_, live) => ({ as: live.guest.token }),
  'POST /v1/user/store/:storeId/keys/:keyId/credits': async ({ api, owner }, { storeId, ids }) => {
    const path = `/v1/user/store/${storeId}/keys/${ids.keyId}`
    await api.patch(path, { credits: { remaining: 0 } }, { as: owner.token })
    return { as: owner.token }
  },
  'POST /v1/user/store/:storeId/restore': async ({ api, owner }, { storeId }) => {
    await api.delete(`/v1/user/store/${storeId}`, { as: owner.token })
    return { as: owner.token }
  },
  'POST /v1/store/:storeId/join': async ({ api, owner, person }, { storeId }) => {
    await api.patch(`/v1/user/store/${storeId}`, { registration: 'OPEN' }, { as: owner.token })
    return { as: (await person()).token }
  },
  // The tokens of the following cannot be known beforehand.
  'POST /v1/auth/reset/confirm': async ({ person, service }) => {
    const { id, token: as } = await person()
    const { token } = await issueUserToken(service.db, 'skp', 'reset', { user_id: id, email: null })
    return { as, body: { token: token.reveal(), newPassword: 'another horse, another battery' } }
  },
  'POST /v1/auth/confirm': async ({ person, service }) => {
    const { id, email, token: as } = await person()
    const { token } = await issueUserToken(service.db, 'skp', 'confirm', { user_id: id, email })
    return { as, body: { token: token.reveal() } }
  },
  'POST /v1/user/totp/confirm': async (world) => {
    const { as, code } = await newApp(world)
    return { as, body: { code } }
  },
  'DELETE /v1/user/totp': withApp,
  'POST /v1/user/recovery-codes': withApp,
  'POST /v1/auth/second-factor': async (world) => {
    const { as, email, password, recoveryCode } = await withApp(world)
    const { challenge } = (await world.api.post('/v1/auth/sign-in', { email, password })).body
    return { as, body: { challenge, code: recoveryCode } }
  },
  'POST /v1/user/passkeys': async (world) => {
    const { as, body } = await newPasskey(world)
    return { as, body }
  },
  'DELETE /v1/user/passkeys/:passkeyId': async (world, { ids }) => {
    const { as, body } = await newPasskey(world)
    ids.passkeyId = (await world.api.post('/v1/user/passkeys', body, { as })).body.id
    return { as }
  },
  'POST /v1/auth/passkey': async (world) => {
    const { as, body, phone } = await newPasskey(world)
    await world.api.post('/v1/user/passkeys', body, { as })
    return { as, body: { credential: phone.use((await world.api.post('/v1/auth/passkey/options')).body) } }
  },
  'POST /v1/user/invitations/accept': async (world, { storeId }) => {
    const { token, email } = await world.person()
    return { as: token, body: { token: (await invite(world, storeId, email)).token } }
  },
  'POST /v1/auth/invitation': async (world, { storeId }) => {
    const { token } = await invite(world, storeId, 'somebody@example.com')
    return { as: null, body: { token } }
  },
}

test('every example really works and is answered as the row says', async () => {
  const github = await playGithub()
  const world = await shop({ GITHUB_KEYS_URL: github.url })
  const { api } = world
  const untouched = await things(world)
  // Browsers are sent to a provider and back: src/identity/oidc.test.ts.
  for (const row of routes.filter(({ browser }) => !browser)) {
    // What only reads, or makes something, leaves everything to the next; the others have what their path names to themselves.
    const live = row.method === 'GET' || row.returns[0] === 201 ? untouched : await things(world, paramsOf(row))
    const name = nameOf(row)
    const { as, body = row.example?.body } = (await OTHERWISE[name]?.(world, live)) ?? { as: whoFor(row, live) }
    if (row.body) expect(body, `${name} has no example`).toBeDefined()
    const query = row.example?.query ? `?${row.example.query}` : ''
    if (row.answer === 'events' || row.answer === 'changes') {
      const begins = row.answer === 'events' ? /^retry: \d+\n\n/ : /^event: hello\nid: 1\ndata: \{/
      await firstWords(world, somewhere(row, live.ids) + query, as, begins)
      continue
    }
    const form = row.signedBy ? github.sign(body) : formOf(row, body)
    const reply = await api.ask(row.method, somewhere(row, live.ids) + query, body, { as, ...form })
    const [status, schema] = row.returns
    expect([reply.status, reply.text], name).toEqual([status, schema ? reply.text : ''])
    if (schema) expect(validate(schema, reply.body), name).toEqual([])
    const { headers = {} } = responsesOf(row)[status]
    for (const header of ['ETag', 'Location'])
      expect([name, header, reply.headers.has(header)]).toEqual([name, header, header in headers])
    if (status === 201 && row.needs !== 'public') expect(reply.headers.get('location'), name).toMatch(/^\/v1\//)
  }
})

test('every GET answers HEAD with the same headers and no body', async () => {
  const world = await shop()
  const { api } = world
  const live = await things(world)
  for (const row of routes.filter(({ method, browser }) => method === 'GET' && !browser)) {
    const as = whoFor(row, live)
    const path = somewhere(row, live.ids) + (row.example?.query ? `?${row.example.query}` : '')
    if (row.answer === 'events' || row.answer === 'changes') {
      const head = await api.ask('HEAD', path, undefined, { as })
      expect([head.status, head.headers.get('content-type'), head.text]).toEqual([200, 'text/event-stream', ''])
      continue
    }
    const get = await api.get(path, { as })
    const head = await api.ask('HEAD', path, undefined, { as })
    const headers = (reply: Reply) => [reply.status, reply.headers.get('etag'), reply.headers.get('content-length')]
    expect([...headers(head), head.text], nameOf(row)).toEqual([...headers(get), ''])
    expect(get.status).toBe(200)
  }
})

// ---- helpers --------------------------------------------------------------------------------------------------------

function paramsOf(row: Route): string[] {
  return [...row.path.matchAll(/:(\w+)/g)].map((match) => match[1] as string)
}

/** What the OpenAPI document says of its answers. */
function responsesOf(row: Route) {
  return document.paths[row.path.replace(/:(\w+)/g, '{$1}')][row.method.toLowerCase()].responses
}

/** The row's path: with what is given, and for the rest with ids of things that do not exist. */
function somewhere(row: Route, given: Record<string, string> = {}): string {
  return row.path.replace(
    /:(\w+)/g,
    (_, param: string) => given[param] ?? OTHER_PARAMS[param]?.there ?? newId(PARAMS[param] as IdKind),
  )
}

/** A body for a method that has one, and nothing in it. */
function bodyFor(row: Route): object | undefined {
  return row.method === 'GET' || row.method === 'DELETE' ? undefined : {}
}

function exampleFor(row: Route): unknown {
  return row.example?.body ?? (row.path.endsWith('/accept') ? { token: 'x' } : bodyFor(row))
}

function probe(api: Shop['api'], row: Route, path: string, as: string): Promise<Reply> {
  return api.ask(row.method, `${path}?nonsense=1`, bodyFor(row), { as, ...formOf(row, {}) })
}

/** An answer, without what is different each time. */
function told({ status, headers, body }: Reply) {
  const { requestId, instance, ...rest } = body
  expect(requestId).toBe(headers.get('x-request-id'))
  expect(instance).toMatch(/^\/v1\//)
  return { status, challenge: headers.get('www-authenticate'), body: rest }
}

function problem(status: number, code: string, title: string) {
  return { type: `/errors/${code}`, title, status, detail: expect.any(String), code }
}

function sayBriefly({ status, headers, body }: Reply): string {
  const facts = [status, body.code, body.required, headers.get('www-authenticate')]
  return facts.filter((fact) => fact !== undefined && fact !== null).join(' ')
}

function onlyFor({ needs }: Route): string {
  return needs === 'key' || needs === 'service' ? `403 ${needs}_required` : '403 user_required'
}

/** Somebody who sets up an authenticator app, and the code that it shows. */
async function newApp({ api, person }: Shop) {
  const { token: as, email, password } = await person()
  const { secret, recoveryCodes } = (await api.post('/v1/user/totp', undefined, { as })).body
  const code = totpCode(fromBase32(secret), totpStep(Date.now()))
  return { as, email, password, code, recoveryCode: recoveryCodes[0] as string }
}

async function withApp(world: Shop) {
  const app = await newApp(world)
  await world.api.post('/v1/user/totp/confirm', { code: app.code }, { as: app.as })
  return app
}

/** Somebody with a phone that has made a passkey, which is not registered yet. */
async function newPasskey({ api, person }: Shop) {
  const { token: as } = await person()
  const phone = newAuthenticator()
  const options = (await api.post('/v1/user/passkeys/options', undefined, { as })).body
  return { as, phone, body: { name: 'My phone', credential: phone.register(options) } }
}

/** A stream goes on: its beginning is looked at, then it is left. */
async function firstWords({ api }: Shop, path: string, as: string | null, begins: RegExp): Promise<void> {
  const leaving = new AbortController()
  const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${as}` }, signal: leaving.signal })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const { value } = (await response.body?.getReader().read()) ?? {}
  expect(Buffer.from(value ?? []).toString()).toMatch(begins)
  leaving.abort()
}

function lacks(permission: string): string {
  return `403 insufficient_permission ${permission} ${REALM}, error="insufficient_scope", scope="${permission}"`
}

/** A member and a key that hold this permission and no other. */
async function holdersOf({ api, owner, member, keys }: Shop, permission: string): Promise<string[]> {
  const { body } = await api.post(keys, { ...NEW_KEY, permissions: [permission] }, { as: owner.token })
  return [(await member('STAFF', [permission])).token, body.key]
}

type Things = {
  storeId: string
  guest: Person
  ids: Record<string, string>
  tokens: { owner: string; key: string; service: string }
}

/** Somebody of the kind the row asks for. */
function whoFor({ needs }: Route, { tokens }: Things): string | null {
  if (needs === 'public') return null
  return needs === 'key' || needs === 'service' ? tokens[needs] : tokens.owner
}

function formOf(row: Route, body: unknown): { raw?: string; headers?: Record<string, string> } {
  if (!row.form) return {}
  const raw = new URLSearchParams(body as Record<string, string>).toString()
  return { raw, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
}

/** One of everything, in a new store of the owner's: for each parameter of a path, or only for these, an id that is there. */
async function things(world: Shop, params = Object.keys({ ...PARAMS, ...OTHER_PARAMS })): Promise<Things> {
  const { api, owner } = world
  const as = owner.token
  const isNamed = (...any: string[]) => any.some((param) => params.includes(param))
  const storeId = (await api.post('/v1/user/store', { name: 'A store' }, { as })).body.id
  const guest = guests.get(world) ?? (await world.person())
  guests.set(world, guest)
  const { token } = await invite(world, storeId, guest.email)
  await api.post('/v1/user/invitations/accept', { token }, { as: guest.token })
  const key = (await api.post(`/v1/user/store/${storeId}/keys`, NEW_KEY, { as })).body
  const webhooks = `/v1/user/store/${storeId}/webhooks`
  const hook = { url: 'https://shop.example/hooks', types: ['*'] }
  const webhook = isNamed('webhookId', 'deliveryId') && (await api.post(webhooks, hook, { as })).body
  // The owner is a customer as well, so that their address is one of a customer's.
  await world.sql(
    'insert into customers (store_id, external_id, user_id, created_at, updated_at) values ($1, $2, $3, now(), now())',
    [storeId, OTHER_PARAMS.externalId?.there, owner.id],
  )
  const making: Record<string, () => Promise<{ id: string }>> = {
    addressId: async () => (await api.post(`/v1/store/${storeId}/billing`, NEW_ADDRESS, { as })).body,
    invitationId: () => invite(world, storeId, 'somebody@example.com'),
    sessionId: () => newSession(world, owner.id),
    deliveryId: async () => (await api.post(`${webhooks}/${webhook.id}/test`, undefined, { as })).body,
    eventId: async () => (await api.get(`/v1/user/store/${storeId}/events`, { as })).body.data[0],
    serviceTokenId: async () =>
      (await api.post(`/v1/user/store/${storeId}/service-tokens`, { name: 'Gateway' }, { as })).body,
  }
  const ids: Record<string, string> = { storeId, userId: guest.id, keyId: key.id }
  if (webhook) ids.webhookId = webhook.id
  for (const [param, make] of Object.entries(making)) if (isNamed(param)) ids[param] = (await make()).id
  const held = `/v1/user/store/${storeId}/billing/${ids.addressId}/versions/1/hold`
  if (isNamed('n')) await api.post(held, { reason: 'Invoice 42', until: '2036-12-31T00:00:00Z' }, { as })
  return { storeId, guest, ids, tokens: { owner: as, key: key.key, service: await world.serviceToken() } }
}
const guests = new WeakMap<Shop, Person>()

async function invite({ api, owner }: Shop, storeId: string, email: string): Promise<{ id: string; token: string }> {
  const path = `/v1/user/store/${storeId}/invitations`
  return (await api.post(path, { email, role: 'STAFF' }, { as: owner.token })).body
}

async function signIn({ api }: Shop, { email, password }: { email: string; password: string }) {
  const { token } = (await api.post('/v1/auth/sign-in', { email, password })).body
  const { data } = (await api.get('/v1/user/sessions', { as: token })).body
  return { as: token as string, sessionId: data.find((session: { current: boolean }) => session.current).id as string }
}
