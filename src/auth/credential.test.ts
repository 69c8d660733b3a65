import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { countQueries } from '../../tests/query-count.ts'
import { NEW_ADDRESS, NEW_KEY, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { fromNow, HOUR, MINUTE, travel } from '../core/clock.ts'
import { BUILT_IN_PERMISSIONS } from '../core/permissions.ts'
import { mintToken } from '../crypto/tokens.ts'

const ALL = [...BUILT_IN_PERMISSIONS]
const REALM = 'Bearer realm="storekeeper"'

/** A problem without the two members that belong to one request. */
function told({ body: { requestId: _, instance: __, ...rest } }: Reply): object {
  return rest
}

/** A request in its bytes, for what no client would send. */
async function raw(url: string, lines: string[]): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.write(`${[...lines, `Host: ${hostname}:${port}`, 'Connection: close'].join('\r\n')}\r\n\r\n`)
  await once(socket, 'close')
  return { status: Number(text.slice(9, 12)), text }
}

async function newKey({ api, owner, keys }: Shop, more: object = {}): Promise<{ id: string; key: string }> {
  const made = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
  expect(made.status).toBe(201)
  return made.body
}

// ---- how it is presented --------------------------------------------------------------------------------------------

test('a request without a credential, or with a broken one, is told what to send', async () => {
  const { api, owner, keys, sql } = await shop({ alone: true })
  const header = (authorization: string) => ({ headers: { authorization } })
  const cases: [string, object, number, string, string][] = [
    ['nothing', {}, 401, 'unauthenticated', REALM],
    ['an empty header', header(''), 401, 'unauthenticated', REALM],
    ['Bearer alone', header('Bearer'), 401, 'unauthenticated', REALM],
    ['Bearer and a space', header('Bearer '), 401, 'unauthenticated', REALM],
    ['Basic', header('Basic YWRhOnNlY3JldA=='), 401, 'invalid_token', `${REALM}, error="invalid_token"`],
    ['no scheme', header(owner.token), 401, 'invalid_token', `${REALM}, error="invalid_token"`],
    ['nonsense', header('Bearer nonsense'), 401, 'invalid_token', `${REALM}, error="invalid_token"`],
    ['two words', header('Bearer a b'), 400, 'invalid_request', `${REALM}, error="invalid_request"`],
    ['two tokens', header(`Bearer ${owner.token} x`), 400, 'invalid_request', `${REALM}, error="invalid_request"`],
  ]
  for (const [what, options, status, code, challenge] of cases) {
    const refused = await api.post(keys, { ...NEW_KEY, createdBy: { kind: 'user', id: owner.id } }, options)
    expect([what, refused.status, refused.body.code]).toEqual([what, status, code])
    expect([what, refused.headers.get('www-authenticate')]).toEqual([what, challenge])
    expect(refused.headers.get('content-type')).toContain('application/problem+json')
  }
  expect(await sql('select id from api_keys')).toEqual([])
  for (const authorization of [`bearer ${owner.token}`, `BEARER   ${owner.token}`])
    expect((await api.get('/v1/user', header(authorization))).status).toBe(200)
})

test('400: two Authorization headers, equal or not, are refused', async () => {
  const { api, owner } = await shop()
  const send = (...tokens: string[]) =>
    raw(api.url, ['GET /v1/user HTTP/1.1', ...tokens.map((token) => `Authorization: Bearer ${token}`)])
  expect((await send(owner.token)).status).toBe(200)
  for (const second of [owner.token, 'nonsense', '']) {
    const refused = await send(owner.token, second)
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('"code":"invalid_request"')
    expect(refused.text.toLowerCase()).toContain(`www-authenticate: ${REALM.toLowerCase()}, error="invalid_request"`)
  }
})

test('400: a credential in the query string is refused, also beside a good one', async () => {
  const { api, owner } = await shop()
  for (const name of ['access_token', 'api_key', 'apikey', 'key', 'token'])
    for (const as of [null, owner.token]) {
      const refused = await api.get(`/v1/user?${name}=${owner.token}`, { as })
      expect([name, refused.status, refused.body.code]).toEqual([name, 400, 'invalid_request'])
      expect(refused.headers.get('www-authenticate')).toBe(`${REALM}, error="invalid_request"`)
      expect(refused.text).not.toContain(owner.token)
    }
})

test('401: what is not for signing in is no credential', async () => {
  const { api, owner, store } = await shop()
  const { token } = (
    await api.post(
      `/v1/user/store/${store.id}/invitations`,
      { email: 'charles@example.com', role: 'STAFF' },
      { as: owner.token },
    )
  ).body
  for (const as of [token, owner.id, owner.password])
    expect(
      (await api.get('/v1/user', { headers: { authorization: `Bearer ${as.replaceAll(' ', '-')}` } })).status,
    ).toBe(401)
  const key = (await api.post(`/v1/user/store/${store.id}/keys`, NEW_KEY, { as: owner.token })).body.key
  const asCookie = await api.get(`/v1/user/store/${store.id}`, { headers: { cookie: `__Host-storekeeper=${key}` } })
  expect([asCookie.status, asCookie.body.code]).toEqual([401, 'invalid_token'])
})

// ---- API keys -------------------------------------------------------------------------------------------------------

test('an API key acts in its own store, with its own permissions', async () => {
  const world = await shop()
  const { api, owner, store, keys, billing } = world
  const other = (await api.post('/v1/user/store', { name: 'Other' }, { as: owner.token })).body
  const all = await newKey(world, { permissions: ALL })
  expect((await api.get(`/v1/user/store/${store.id}`, { as: all.key })).status).toBe(200)
  for (const path of ['', '/keys', '/members', '/invitations']) {
    const foreign = await api.get(`/v1/user/store/${other.id}${path}`, { as: all.key })
    expect([path, foreign.status, foreign.body.code]).toEqual([path, 404, 'store_not_found'])
  }
  for (const refused of [
    await api.get('/v1/user', { as: all.key }),
    await api.get('/v1/user/sessions', { as: all.key }),
    await api.post(billing, NEW_ADDRESS, { as: all.key }),
    await api.post('/v1/user/password', { currentPassword: 'x', newPassword: 'x' }, { as: all.key }),
  ])
    expect([refused.status, refused.body.code]).toEqual([403, 'user_required'])

  for (const type of ['PROD', 'TEST', 'DEV']) {
    const reader = await newKey(world, { type, permissions: ['READ'] })
    expect((await api.get(`/v1/user/store/${store.id}`, { as: reader.key })).status).toBe(200)
    const refused = await api.post(keys, NEW_KEY, { as: reader.key })
    expect([refused.status, refused.body.required]).toEqual([403, ['MANAGE_KEYS']])
    expect(refused.headers.get('www-authenticate')).toBe(`${REALM}, error="insufficient_scope", scope="MANAGE_KEYS"`)
  }
  const maker = await newKey(world, { permissions: ['READ', 'MANAGE_KEYS'] })
  const beyond = await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'WRITE'] }, { as: maker.key })
  expect([beyond.status, beyond.body.code, beyond.body.permissions]).toEqual([403, 'cannot_grant', ['WRITE']])
  const within = await api.post(keys, { ...NEW_KEY, permissions: ['READ'] }, { as: maker.key })
  expect([within.status, within.body.createdBy]).toEqual([201, { kind: 'key', id: maker.id }])
})

test('403: a key with an allow-list works from its addresses only', async () => {
  const world = await shop({ TRUST_PROXY: '1' })
  const { api, store, node } = world
  const key = await newKey(world, { ipAllowlist: ['192.0.2.0/24', '2001:db8::/32'] })
  const from = (ip: string) =>
    api.get(`/v1/user/store/${store.id}`, { as: key.key, headers: { 'x-forwarded-for': ip } })
  for (const ip of ['192.0.2.1', '192.0.2.255', '::ffff:192.0.2.7', '2001:db8::1'])
    expect([ip, (await from(ip)).status]).toEqual([ip, 200])
  const elsewhere = ['192.0.3.1', '2001:db9::1', '127.0.0.1', '192.0.2.1, 198.51.100.1', 'nonsense']
  // Not the IPv4 address, but one of IPv6 that ends like it.
  for (const ip of [...elsewhere, '::192.0.2.1', '::c000:201']) {
    const refused = await from(ip)
    expect([ip, refused.status, refused.body.code]).toEqual([ip, 403, 'forbidden_ip'])
  }
  // Nobody talks themselves onto the list where no proxy is trusted.
  const direct = await node({ TRUST_PROXY: 'off' })
  const forged = await direct.get(`/v1/user/store/${store.id}`, {
    as: key.key,
    headers: { 'x-forwarded-for': '192.0.2.1' },
  })
  expect([forged.status, told(forged)]).toEqual([
    403,
    {
      type: '/errors/forbidden_ip',
      title: 'IP address not allowed',
      status: 403,
      detail: "The key's allowlist does not contain the address this request came from.",
      code: 'forbidden_ip',
    },
  ])
})

test('401: disabled, expired, revoked and unknown keys get one and the same answer', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, member, sql } = world
  const manager = await member('MANAGER')
  const disabled = await newKey(world)
  const expired = await newKey(world, { expiresAt: fromNow(HOUR).toISOString() })
  const walled = await newKey(world, { expiresAt: fromNow(HOUR).toISOString(), ipAllowlist: ['192.0.2.1'] })
  const revoked = (await api.post(world.keys, NEW_KEY, { as: manager.token })).body
  const read = (as: string) => api.get(`/v1/user/store/${store.id}`, { as })
  for (const { key } of [disabled, expired, revoked]) expect((await read(key)).status).toBe(200)

  await sql('update api_keys set enabled = false where id = $1', [disabled.id])
  await api.delete(`/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`, { as: owner.token })
  travel(HOUR - MINUTE)
  expect((await read(expired.key)).status).toBe(200)
  travel(2 * MINUTE)

  const unknown = await read(mintToken('skp', 'prod').reveal())
  expect([unknown.status, told(unknown)]).toEqual([
    401,
    {
      type: '/errors/invalid_token',
      title: 'Invalid credentials',
      status: 401,
      detail: 'The token is unknown, malformed, expired or revoked. Sign in again, or ask for a new API key.',
      code: 'invalid_token',
    },
  ])
  const headers = (answer: Reply) => [...answer.headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
  const others = [
    disabled.key,
    expired.key,
    walled.key,
    revoked.key,
    `${unknown.body.requestId}`,
    'skp_prod_short',
    mintToken('skp', 'sess').reveal(),
    mintToken('skp', 'svc').reveal(),
    mintToken('other', 'prod').reveal(),
  ]
  for (const as of others) {
    const answer = await read(as)
    expect([answer.status, told(answer), headers(answer)]).toEqual([401, told(unknown), headers(unknown)])
  }
})

test('401: a key with a wrong checksum is refused without a question to the database', async () => {
  const world = await shop({ alone: true })
  const { api, store, service } = world
  const { key } = await newKey(world)
  const questions = countQueries(service)
  const read = (as: string) => api.get(`/v1/user/store/${store.id}`, { as })
  const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  for (const as of [wrong, `${key}0`, key.slice(0, -1), key.replace('prod', 'test'), wrong.replace('prod', 'sess')])
    expect((await read(as)).status).toBe(401)
  expect(questions()).toBe(0)
  expect((await read(mintToken('skp', 'prod').reveal())).status).toBe(401)
  expect(questions()).toBeGreaterThan(0)
  expect((await read(key)).status).toBe(200)
})

test('401: a key or a session with one character changed, wherever it is, is refused', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const { key } = await newKey(world)
  const path = `/v1/user/store/${store.id}`
  for (const token of [key, owner.token]) {
    expect((await api.get(path, { as: token })).status).toBe(200)
    const changed = [...token].flatMap((character, place) => {
      const swapped = character === character.toUpperCase() ? character.toLowerCase() : character.toUpperCase()
      const others = ['0', 'Z', '_', '.', swapped].filter((other) => other !== character)
      return others.map((other) => token.slice(0, place) + other + token.slice(place + 1))
    })
    const statuses = await Promise.all(
      changed.map(async (as) => `${as === token} ${(await api.get(path, { as })).status}`),
    )
    expect(new Set(statuses)).toEqual(new Set(['false 401']))
  }
})

test('a key that is doubled, cut, in another case or endlessly long is refused, and never a fault of ours', async () => {
  const world = await shop()
  const { api, store } = world
  const { key } = await newKey(world)
  const path = `/v1/user/store/${store.id}`
  for (const as of [key + key, key.slice(0, 20), key.toUpperCase(), key.toLowerCase(), `x${key}`, 'x'.repeat(12_000)])
    expect((await api.get(path, { as })).status).toBe(401)
  const endless = await raw(api.url, [`GET ${path} HTTP/1.1`, `Authorization: Bearer ${key}${'x'.repeat(1_000_000)}`])
  expect(endless.status).toBe(431)
  expect(endless.text).toContain('"code":"headers_too_large"')
  expect((await api.get(path, { as: key })).status).toBe(200)
})
