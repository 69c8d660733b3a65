import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { proxyTo } from '../../tests/db-proxy.ts'
import { countQueries } from '../../tests/query-count.ts'
import { serviceClient } from '../../tests/service-client.ts'
import { type Api, apiAt, NEW_KEY, type Reply, type Shop, shop, USAGE_AT_ONCE } from '../../tests/shop.ts'
import { DAY, HOUR, now, SECOND, travel } from '../core/clock.ts'
import { mintToken } from '../crypto/tokens.ts'
import { connect } from '../db/pool.ts'
import type { Service } from '../service.ts'
import { spendAll } from './rate-limit.ts'

const NOBODY = {
  valid: false,
  code: 'NOT_FOUND',
  keyId: null,
  storeId: null,
  name: null,
  type: null,
  permissions: null,
  metadata: null,
  expiresAt: null,
  owner: null,
}

// ---- the verdict ----------------------------------------------------------------------------------------------------

test('200: a good key is told with all that a back end needs to know of it', async () => {
  const world = await shop()
  const back = await serviceClient(world)
  const expiresAt = new Date(now().getTime() + 90 * DAY).toISOString()
  const metadata = { z: 1, plan: { constructor: 'ACME', levels: [1.5, null, 'é'] }, a: '' }
  const made = await create(world, { metadata, expiresAt })
  const { status, headers, text, body } = await back.verify(made.key)
  expect([status, headers.get('cache-control'), body]).toEqual([
    200,
    'no-store',
    {
      valid: true,
      code: 'VALID',
      keyId: made.id,
      storeId: world.store.id,
      name: 'Checkout',
      type: 'PROD',
      permissions: ['READ', 'WRITE'],
      metadata,
      expiresAt,
      owner: null,
    },
  ])
  expect(text).toContain(JSON.stringify(metadata))
  expect(text).not.toContain(made.key)
  for (const more of [
    { permissions: ['READ', 'WRITE'] },
    { permissions: [] },
    { storeId: world.store.id },
    { ip: '203.0.113.7' },
  ])
    expect((await back.verify(made.key, more)).text).toBe(text)
})

test('every code, each outranking those before it; `explain` says the same and tells every check', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const back = await serviceClient(world)
  const made = await create(world, {
    expiresAt: new Date(now().getTime() + HOUR).toISOString(),
    ipAllowlist: ['192.0.2.0/24'],
    rateLimit: { limit: 1, windowSeconds: 3600 },
  })
  const path = `${keys}/${made.id}`
  const as = owner.token
  const asked: { ip: string; permissions: string[]; types?: string[] } = { ip: '192.0.2.1', permissions: ['READ'] }
  const wrong = new Set<string>()
  const steps: [string, () => unknown][] = [
    ['RATE_LIMITED', () => back.codeOf(made.key, asked)],
    ['INSUFFICIENT_PERMISSIONS', () => asked.permissions.push('MANAGE_KEYS')],
    ['FORBIDDEN_IP', () => void (asked.ip = '198.51.100.1')],
    ['WRONG_TYPE', () => void (asked.types = ['TEST', 'DEV'])],
    ['FROZEN', () => api.post(`${keys}/freeze`, undefined, { as })],
    ['DISABLED', () => api.patch(path, { enabled: false }, { as })],
    ['EXPIRED', () => travel(HOUR + SECOND)],
    ['REVOKED', () => api.delete(path, { as })],
  ]
  const order = [...steps.map(([code]) => code).reverse()]
  const look = async (code: string) => {
    const plain = await back.verify(made.key, asked)
    const { checks, ...explained } = (await back.verify(made.key, { ...asked, explain: true })).body
    expect([plain.body.code, plain.body.valid, plain.body.keyId]).toEqual([code, code === 'VALID', made.id])
    expect({ ...explained, rateLimit: null }).toEqual({ ...plain.body, rateLimit: null })
    expect(checks.map((check: { code: string; ok: boolean }) => [check.code, check.ok])).toEqual(
      [
        'NOT_FOUND',
        'REVOKED',
        'EXPIRED',
        'DISABLED',
        'FROZEN',
        'WRONG_TYPE',
        'FORBIDDEN_IP',
        'INSUFFICIENT_PERMISSIONS',
        'USAGE_EXCEEDED',
        'RATE_LIMITED',
      ].map((name) => [name, !wrong.has(name)]),
    )
    for (const { detail } of checks) expect(detail).toMatch(/\.$/)
  }
  expect(order).toEqual([
    'REVOKED',
    'EXPIRED',
    'DISABLED',
    'FROZEN',
    'WRONG_TYPE',
    'FORBIDDEN_IP',
    'INSUFFICIENT_PERMISSIONS',
    'RATE_LIMITED',
  ])
  for (const [code, happen] of steps) {
    await happen()
    wrong.add(code)
    await look(code)
  }
  expect((await back.verify(made.key, { ...asked, storeId: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd' })).body).toEqual(NOBODY)
})

test('NOT_FOUND tells nothing else, whatever the reason: the same bytes', async () => {
  const world = await shop()
  const { api, keys, owner, person } = world
  const back = await serviceClient(world)
  const elsewhere = await serviceClient(world, null)
  const made = await create(world)
  const replaced = await create(world)
  await api.post(`${keys}/${replaced.id}/rotate`, {}, { as: owner.token })
  const neighbour = await person()
  const { body: theirs } = await api.post('/v1/user/store', { name: 'Gone' }, { as: neighbour.token })
  const { body: orphan } = await api.post(`/v1/user/store/${theirs.id}/keys`, NEW_KEY, { as: neighbour.token })
  expect(await elsewhere.codeOf(orphan.key)).toBe('VALID')
  expect((await back.verify(made.key, { storeId: theirs.id })).body).toEqual(NOBODY)
  await api.delete(`/v1/user/store/${theirs.id}`, { as: neighbour.token })
  const answers = [
    await back.verify(mintToken('skp', 'prod').reveal()),
    await back.verify(made.key, { storeId: theirs.id }),
    await back.verify(made.key, { storeId: 'nonsense' }),
    await back.verify(made.key, { storeId: '' }),
    await back.verify(replaced.key),
    await back.verify(orphan.key),
    await elsewhere.verify(orphan.key),
    await back.verify(owner.token),
    await back.verify(back.as),
    await back.verify('x'),
  ]
  const headers = ({ headers }: Reply) => [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
  for (const answer of answers)
    expect([answer.status, answer.text, headers(answer)]).toEqual([
      200,
      JSON.stringify(NOBODY),
      headers(answers[0] as Reply),
    ])
})

test('`explain` adds every check in words, of an unknown key the one', async () => {
  const world = await shop()
  const back = await serviceClient(world)
  const made = await create(world, { ipAllowlist: ['192.0.2.0/24'], rateLimit: { limit: 3, windowSeconds: 60 } })
  const { body } = await back.verify(made.key, { explain: true, permissions: ['READ', 'MANAGE_KEYS'] })
  expect(body).toEqual({
    valid: false,
    code: 'FORBIDDEN_IP',
    keyId: made.id,
    storeId: world.store.id,
    name: 'Checkout',
    type: 'PROD',
    permissions: ['READ', 'WRITE'],
    metadata: {},
    expiresAt: null,
    owner: null,
    rateLimit: { limit: 3, remaining: 3, resetSeconds: 60 },
    checks: [
      { code: 'NOT_FOUND', ok: true, detail: 'The key exists.' },
      { code: 'REVOKED', ok: true, detail: 'It is not revoked.' },
      { code: 'EXPIRED', ok: true, detail: 'It has not expired.' },
      { code: 'DISABLED', ok: true, detail: 'It is enabled.' },
      { code: 'FROZEN', ok: true, detail: 'The store is not frozen.' },
      { code: 'WRONG_TYPE', ok: true, detail: 'It is a PROD key.' },
      { code: 'FORBIDDEN_IP', ok: false, detail: 'The key has an allowlist, and no "ip" was sent.' },
      { code: 'INSUFFICIENT_PERMISSIONS', ok: false, detail: 'It does not have MANAGE_KEYS.' },
      { code: 'USAGE_EXCEEDED', ok: true, detail: 'It needs no credits.' },
      { code: 'RATE_LIMITED', ok: true, detail: '3 of 3 are left, and the window ends in 60 s.' },
    ],
  })
  for (const key of [mintToken('skp', 'test').reveal(), 'skp_prod_mistyped']) {
    const { checks, ...verdict } = (await back.verify(key, { explain: true })).body
    expect(verdict).toEqual(NOBODY)
    expect(checks).toEqual([{ code: 'NOT_FOUND', ok: false, detail: expect.any(String) }])
    expect(JSON.stringify(checks)).not.toContain(key)
  }
})

test('`explain` spends nothing and counts nothing', async () => {
  const world = await shop({ alone: true }, USAGE_AT_ONCE)
  const back = await serviceClient(world)
  const made = await create(world, { rateLimit: { limit: 2, windowSeconds: 3600 } })
  for (let n = 0; n < 5; n++)
    expect((await back.verify(made.key, { explain: true })).body).toMatchObject({
      code: 'VALID',
      rateLimit: { remaining: 2 },
    })
  expect(await world.sql('select * from key_rate_windows')).toEqual([])
  expect((await back.verify(made.key)).body.rateLimit.remaining).toBe(1)
  for (let n = 0; n < 5; n++)
    expect((await back.verify(made.key, { explain: true })).body).toMatchObject({
      code: 'VALID',
      rateLimit: { remaining: 1 },
    })
  await until(async () => (await world.sql('select * from key_usage')).length > 0)
  expect(await world.sql('select outcome, count::int from key_usage')).toEqual([{ outcome: 'VALID', count: 1 }])
})

test('what the operator took out of the catalogue is held by no key any more', async () => {
  const world = await shop()
  const back = await serviceClient(world)
  const generous = await world.node({ EXTRA_PERMISSIONS: 'MANAGE_RETURNS' })
  const body = { ...NEW_KEY, permissions: ['READ', 'MANAGE_RETURNS'] }
  const made = (await generous.post(world.keys, body, { as: world.owner.token })).body
  const asked = { permissions: ['MANAGE_RETURNS'] }
  expect((await back.verify(made.key, asked, generous)).body).toMatchObject({
    code: 'VALID',
    permissions: body.permissions,
  })
  expect((await back.verify(made.key, asked)).body).toMatchObject({
    code: 'INSUFFICIENT_PERMISSIONS',
    permissions: ['READ'],
  })
})

test('allow-lists hold IPv4, IPv6, and IPv4 in IPv6 clothes', async () => {
  const world = await shop()
  const back = await serviceClient(world)
  const made = await create(world, {
    ipAllowlist: ['192.0.2.0/24', '198.51.100.7', '2001:db8:1::/48', '::ffff:203.0.113.0/120'],
  })
  for (const [ip, allowed] of [
    ['192.0.2.0', true],
    ['192.0.2.255', true],
    ['192.0.3.0', false],
    ['198.51.100.7', true],
    ['198.51.100.8', false],
    ['::ffff:192.0.2.1', true],
    ['::ffff:c000:201', true],
    ['::FFFF:192.0.3.1', false],
    ['203.0.113.9', true],
    ['::ffff:203.0.113.9', true],
    ['2001:db8:1::1', true],
    ['2001:DB8:1:ffff:0:0:0:1', true],
    ['2001:db8:2::1', false],
    ['::1', false],
    ['0.0.0.0', false],
  ] as const)
    expect([ip, await back.codeOf(made.key, { ip })]).toEqual([ip, allowed ? 'VALID' : 'FORBIDDEN_IP'])
  expect(await back.codeOf(made.key)).toBe('FORBIDDEN_IP')
  const open = await create(world, { ipAllowlist: ['0.0.0.0/0'] })
  expect(await back.codeOf(open.key, { ip: '203.0.113.9' })).toBe('VALID')
  expect(await back.codeOf(open.key, { ip: '2001:db8::1' })).toBe('FORBIDDEN_IP')
  for (const ip of ['', ' 192.0.2.1', '192.0.2', '192.0.2.01', '0xc0.0.2.1', '3221225985', '192.0.2.1/24', 'home']) {
    const refused = await back.verify(made.key, { ip })
    expect([ip, refused.status, refused.body.errors?.[0]?.code]).toEqual([ip, 422, 'invalid_ip'])
  }
})

test('422 and 400 for a question that is none', async () => {
  const world = await shop()
  const back = await serviceClient(world)
  const { status, body } = await world.api.post(
    '/v1/keys/verify',
    { permissions: 'READ', storeId: 1, ip: 'home', explain: 'yes', surprise: 1 },
    { as: back.as },
  )
  expect([
    status,
    body.errors.map((fault: { pointer: string; code: string }) => `${fault.pointer} ${fault.code}`).sort(),
  ]).toEqual([
    422,
    [
      '#/explain invalid_type',
      '#/ip invalid_ip',
      '#/key required',
      '#/permissions invalid_type',
      '#/storeId invalid_type',
      '#/surprise unknown_member',
    ],
  ])
  expect((await back.verify('')).status).toBe(422)
  expect((await world.api.post('/v1/keys/verify', undefined, { as: back.as })).status).toBe(400)
})

test('403 service_required: users, members and keys do not verify; 401 without anything', async () => {
  const world = await shop()
  const { api, owner, person, member } = world
  const made = await create(world, { permissions: ['READ', 'MANAGE_KEYS'] })
  const form = { raw: `token=${made.key}`, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  for (const as of [owner.token, (await person()).token, (await member('MANAGER')).token, made.key]) {
    const answers = [
      await api.post('/v1/keys/verify', { key: made.key }, { as }),
      await api.post('/v1/oauth/introspect', undefined, { as, ...form }),
    ]
    for (const { status, body } of answers) expect([status, body.code]).toEqual([403, 'service_required'])
  }
  expect((await api.post('/v1/keys/verify', { key: made.key })).body.code).toBe('unauthenticated')
})

test('verifying is never remembered: an Idempotency-Key brings no old verdict back', async () => {
  const world = await shop()
  const back = await serviceClient(world)
  const made = await create(world)
  const ask = () =>
    world.api.post('/v1/keys/verify', { key: made.key }, { as: back.as, headers: { 'idempotency-key': 'same-again' } })
  expect((await ask()).body.code).toBe('VALID')
  await world.api.delete(`${world.keys}/${made.id}`, { as: world.owner.token })
  const again = await ask()
  expect([again.body.code, again.headers.get('idempotent-replayed')]).toEqual(['REVOKED', null])
})

// ---- what is no key -------------------------------------------------------------------------------------------------

test('a key that is mistyped is refused, and costs no question to the database', async () => {
  const world = await shop({ alone: true })
  const back = await serviceClient(world)
  const made = await create(world)
  const { key } = made
  const lookups = lookupsAt(world.service)
  const changed = [...key].flatMap((character, place) => {
    const swapped = character === character.toUpperCase() ? character.toLowerCase() : character.toUpperCase()
    return ['0', 'Z', '_', '.', 'é', swapped]
      .filter((other) => other !== character)
      .map((other) => key.slice(0, place) + other + key.slice(place + 1))
  })
  const odd = [
    key + key,
    `${key} `,
    ` ${key}`,
    `${key}\n`,
    key.slice(0, -1),
    `${key}0`,
    key.toUpperCase(),
    key.toLowerCase(),
    key.replace('prod', 'test'),
    key.replace('skp', 'acme'),
    `Bearer ${key}`,
    'x'.repeat(60_000),
    key.slice(0, 9) + 'é'.repeat(38),
  ]
  for (const wrong of [...changed, ...odd]) {
    const { status, text } = await back.verify(wrong)
    expect([wrong, status, text]).toEqual([wrong, 200, JSON.stringify(NOBODY)])
  }
  expect(lookups()).toBe(0)
  expect((await back.verify('x'.repeat(1_000_000))).status).toBe(413)
  expect(await back.codeOf(mintToken('skp', 'prod').reveal())).toBe('NOT_FOUND')
  expect(lookups()).toBe(1)
  expect(await back.codeOf(key)).toBe('VALID')
})

test('21. unknown, revoked, expired and disabled keys all cost the same: one question each time', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, service } = world
  const [revoked, expired, off, replaced] = await Promise.all(
    [{}, { expiresAt: new Date(now().getTime() + HOUR).toISOString() }, {}, {}].map((more) => create(world, more)),
  )
  const read = (as: string) => api.get('/v1/key', { as })
  for (const { key } of [revoked, expired, off, replaced]) expect((await read(key)).status).toBe(200)
  await api.delete(`${keys}/${revoked.id}`, { as: owner.token })
  await api.patch(`${keys}/${off.id}`, { enabled: false }, { as: owner.token })
  await api.post(`${keys}/${replaced.id}/rotate`, {}, { as: owner.token })
  travel(HOUR + SECOND)
  const lookups = lookupsAt(service)
  const bodies = new Set<string>()
  for (const key of [mintToken('skp', 'prod').reveal(), revoked.key, expired.key, off.key, replaced.key]) {
    const before = lookups()
    for (let n = 0; n < 10; n++) {
      const { status, body } = await read(key)
      bodies.add(JSON.stringify([status, { ...body, requestId: '' }]))
    }
    expect(lookups() - before).toBe(10)
  }
  expect(bodies.size).toBe(1)
})

// ---- rate limits ------------------------------------------------------------------------------------------------------

describe('rate limits', () => {
  test('are exact: of eight at once on two nodes the one that is left is VALID', async () => {
    const world = await shop()
    const other = await world.node()
    const back = await serviceClient(world)
    for (let round = 0; round < 8; round++) {
      const made = await create(world, { rateLimit: { limit: 2, windowSeconds: 3600 } })
      const first = await back.verify(made.key, {}, round % 2 ? world.api : other)
      expect(first.body).toMatchObject({ code: 'VALID', rateLimit: { limit: 2, remaining: 1, resetSeconds: 3600 } })
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) => back.verify(made.key, {}, n % 2 ? world.api : other)),
      )
      const codes = answers.map(({ body }) => body.code).sort()
      expect(codes).toEqual([...Array(7).fill('RATE_LIMITED'), 'VALID'])
      for (const { body } of answers)
        expect(body.rateLimit).toEqual({ limit: 2, remaining: 0, resetSeconds: expect.any(Number) })
    }
  })

  test('of different keys in one batch, in whatever order, each is answered for itself', async () => {
    const { databaseUrl } = await shop()
    const db = connect({ connectionString: databaseUrl })
    onTestFinished(() => db.close())
    const uses = (...keys: string[]) =>
      keys.map((key) => ({ store_id: 'store_a', key_id: `${databaseUrl} ${key}`, seconds: 3600 }))
    await spendAll(db, uses('a', 'a', 'a'))
    const spent = await spendAll(db, uses('c', 'b', 'a', 'c', 'a'))
    expect(spent.map(({ used }) => used)).toEqual([1, 1, 4, 2, 5])
  })

  test('a window begins with the first use and ends by the database’s clock', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world, { rateLimit: { limit: 1, windowSeconds: 1 } })
    const sql = `
      select began_at::text as began, clock_timestamp() >= began_at + interval '1 s' as over
        from key_rate_windows
       where id = $1`
    const look = async () => (await world.sql(sql, [made.id]))[0]
    const over = async () => (await look()).over
    for (let round = 0; round < 3; round++) {
      expect((await back.verify(made.key)).body).toMatchObject({
        code: 'VALID',
        rateLimit: { limit: 1, remaining: 0, resetSeconds: 1 },
      })
      const { began } = await look()
      const code = await back.codeOf(made.key)
      // The window may have ended before we asked: then this use has begun the next one.
      expect(code).toBe((await look()).began === began ? 'RATE_LIMITED' : 'VALID')
      await until(over)
    }
    const long = await create(world, { rateLimit: { limit: 1, windowSeconds: 3600 } })
    expect(await back.codeOf(long.key)).toBe('VALID')
    travel(2 * HOUR)
    expect(await back.codeOf(long.key)).toBe('RATE_LIMITED')
  })

  test('only what would have been VALID is spent', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world, { rateLimit: { limit: 1, windowSeconds: 3600 }, ipAllowlist: ['192.0.2.1'] })
    const ip = '192.0.2.1'
    for (const more of [{}, { ip: '192.0.2.2' }, { ip, permissions: ['MANAGE_KEYS'] }, { ip, storeId: 'store_x' }])
      expect((await back.verify(made.key, more)).body.rateLimit).toBeUndefined()
    expect(await back.codeOf(made.key, { ip })).toBe('VALID')
    expect(await back.codeOf(made.key, { ip })).toBe('RATE_LIMITED')
  })

  test('follow their key: another limit or window counts from the next use on, and `explain` agrees', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world, { rateLimit: { limit: 1, windowSeconds: 86_400 } })
    const limit = (rateLimit: object | null) =>
      world.api.patch(`${world.keys}/${made.id}`, { rateLimit }, { as: world.owner.token })
    const both = async () => [
      (await back.verify(made.key, { explain: true })).body.code,
      (await back.verify(made.key)).body.code,
    ]
    expect(await both()).toEqual(['VALID', 'VALID'])
    expect(await both()).toEqual(['RATE_LIMITED', 'RATE_LIMITED'])
    await limit({ limit: 3, windowSeconds: 86_400 })
    expect(await both()).toEqual(['VALID', 'VALID'])
    expect(await both()).toEqual(['RATE_LIMITED', 'RATE_LIMITED'])
    await limit(null)
    expect(await both()).toEqual(['VALID', 'VALID'])
    await limit({ limit: 1, windowSeconds: 1 })
    const window = `select clock_timestamp() > began_at + interval '1 s' as over from key_rate_windows where id = $1`
    await until(async () => (await world.sql(window, [made.id]))[0].over)
    expect(await both()).toEqual(['VALID', 'VALID'])
  })

  test('a key without one writes nothing, and is answered from memory', async () => {
    const world = await shop({ alone: true })
    const back = await serviceClient(world)
    const made = await create(world)
    const questions = countQueries(world.service)
    const lookups = lookupsAt(world.service)
    // Longer than a key is trusted without a word from the database: the heartbeat carries it on. Where an answer takes so
    // long that the heartbeat may be late as well, it is looked up again.
    let slow = 0
    const began = Date.now()
    for (let n = 0; Date.now() < began + 2500; n++) {
      const asked = performance.now()
      expect(await back.codeOf(made.key)).toBe('VALID')
      if (performance.now() - asked > 200) slow += 1
      if (n % 20 === 0) await sleep(20)
    }
    expect(lookups()).toBeLessThanOrEqual(1 + slow)
    expect(await world.sql('select * from key_rate_windows')).toEqual([])
    // At most the flush of what was counted, every five seconds.
    expect(questions('transaction')).toBeLessThanOrEqual(1 + Math.floor((Date.now() - began) / 5_000))
  })
})

// ---- introspection --------------------------------------------------------------------------------------------------

describe('introspect', () => {
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

  test('RFC 7662: the same in its own words', async () => {
    const world = await shop()
    const { api, keys, owner, store } = world
    const back = await serviceClient(world)
    const expiresAt = new Date(now().getTime() + DAY).toISOString()
    const made = await create(world, { expiresAt, ipAllowlist: ['192.0.2.0/24'] })
    const plain = await create(world, { name: 'Plain' })
    const ask = (form: Record<string, string>) =>
      api.post('/v1/oauth/introspect', undefined, {
        as: back.as,
        headers: FORM,
        raw: new URLSearchParams(form).toString(),
      })
    const active = {
      active: true,
      scope: 'READ WRITE',
      client_id: plain.id,
      sub: plain.id,
      aud: store.id,
      token_type: 'Bearer',
    }
    const answer = await ask({ token: plain.key })
    expect([answer.status, answer.headers.get('content-type'), answer.body]).toEqual([
      200,
      'application/json; charset=utf-8',
      active,
    ])
    for (const more of [
      { token_type_hint: 'access_token' },
      { scope: 'READ' },
      { scope: ' WRITE  READ ' },
      { store_id: store.id },
      { something: 'else', client_secret: 'x' },
    ])
      expect((await ask({ token: plain.key, ...more })).body).toEqual(active)
    expect((await ask({ token: made.key, ip: '192.0.2.9' })).body).toEqual({
      ...active,
      client_id: made.id,
      sub: made.id,
      exp: Math.floor(Date.parse(expiresAt) / 1000),
    })
    await api.patch(`${keys}/${plain.id}`, { enabled: false }, { as: owner.token })
    for (const form of [
      { token: plain.key },
      { token: made.key },
      { token: made.key, ip: '198.51.100.1' },
      { token: made.key, ip: '192.0.2.9', scope: 'READ MANAGE_KEYS' },
      { token: made.key, ip: '192.0.2.9', store_id: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd' },
      { token: mintToken('skp', 'prod').reveal() },
      { token: owner.token },
      { token: '\0' },
      { token: `${made.key} `, ip: '192.0.2.9' },
    ]) {
      const { status, text } = await ask(form)
      expect([form, status, text]).toEqual([form, 200, '{"active":false}'])
    }
  })

  test('spends the limit like verify', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world, { rateLimit: { limit: 2, windowSeconds: 3600 } })
    const ask = async () =>
      (
        await world.api.post('/v1/oauth/introspect', undefined, {
          as: back.as,
          headers: FORM,
          raw: `token=${made.key}`,
        })
      ).body.active
    expect([await ask(), await back.codeOf(made.key), await ask(), await back.codeOf(made.key)]).toEqual([
      true,
      'VALID',
      false,
      'RATE_LIMITED',
    ])
  })

  test('400 for a name twice, 415 for JSON, 422 without a token', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world)
    const ask = (raw: string, headers: Record<string, string> = FORM) =>
      world.api.post('/v1/oauth/introspect', undefined, { as: back.as, headers, raw })
    for (const [raw, headers, status, code] of [
      [`token=${made.key}&token=${made.key}`, FORM, 400, 'invalid_form'],
      [`token=${made.key}&x=1&x=2`, FORM, 400, 'invalid_form'],
      [JSON.stringify({ token: made.key }), { 'content-type': 'application/json' }, 415, 'unsupported_media_type'],
      [`token=${made.key}`, { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
      ['', FORM, 422, 'invalid_input'],
      ['token=', FORM, 422, 'invalid_input'],
      [`token=${made.key}&ip=home`, FORM, 422, 'invalid_input'],
      [`token=${made.key}${'&x=1'.repeat(16_000)}`, FORM, 422, 'invalid_input'],
    ] as const) {
      const refused = await ask(raw, headers)
      expect([raw, refused.status, refused.body.code]).toEqual([raw, status, code])
      expect(refused.text).not.toContain(made.key)
    }
    const charset = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
    expect((await ask(`token=${made.key}`, charset)).body.active).toBe(true)
    expect(
      (await world.api.post('/v1/keys/verify', undefined, { as: back.as, headers: FORM, raw: `key=${made.key}` }))
        .status,
    ).toBe(415)
  })
})

// ---- a key about itself -----------------------------------------------------------------------------------------------

test('GET /v1/key tells a key about itself, and nobody else', async () => {
  const world = await shop()
  const { api, owner } = world
  const back = await serviceClient(world)
  const { key, ...record } = await create(world, { metadata: { a: 1 } })
  const told = await api.get('/v1/key', { as: key })
  expect([told.status, told.headers.get('etag'), told.body]).toEqual([200, '"r1"', { ...record, presented: 'current' }])
  for (const as of [owner.token, back.as]) {
    const { status, body } = await api.get('/v1/key', { as })
    expect([status, body.code]).toEqual([403, 'key_required'])
  }
  expect((await api.get('/v1/key')).status).toBe(401)
})

test('a key that ends within 30 days is told so on every answer, errors too', async () => {
  const world = await shop()
  const { api, keys, store } = world
  const expiresAt = new Date(Math.floor(now().getTime() / 1000) * 1000 + 31 * DAY)
  const made = await create(world, { expiresAt: expiresAt.toISOString(), permissions: ['READ'] })
  const lasting = await create(world, { permissions: ['READ'] })
  const answers = async (as: string) => [
    await api.get('/v1/key', { as }),
    await api.get(`/v1/user/store/${store.id}`, { as }),
    await api.get(keys, { as }),
    await api.get(`/v1/user/store/${store.id}?surprise=1`, { as }),
    await api.get('/v1/user/store/store_01k9wz3v5e8tvs8v4m8m3v5yqd', { as }),
  ]
  const sunsets = async (as: string) => (await answers(as)).map(({ headers }) => headers.get('sunset'))
  expect((await answers(made.key)).map(({ status }) => status)).toEqual([200, 200, 403, 422, 404])
  expect(await sunsets(made.key)).toEqual(Array(5).fill(null))
  travel(DAY + SECOND)
  expect(await sunsets(made.key)).toEqual(Array(5).fill(expiresAt.toUTCString()))
  expect(await sunsets(lasting.key)).toEqual(Array(5).fill(null))
})

// ---- without the database -------------------------------------------------------------------------------------------

test('503 with Retry-After when the database is away: nobody is let in who is not known, and nobody for longer than 2 s', async () => {
  const world = await shop({ alone: true })
  const wire = await proxyTo(world.databaseUrl)
  const cutOff = await world.node({ DATABASE_URL: wire.url })
  const back = await serviceClient(world)
  const made = await create(world, { permissions: ['MANAGE_KEYS'] })
  const stranger = await create(world)
  const limited = await create(world, { permissions: ['MANAGE_KEYS'], rateLimit: { limit: 9, windowSeconds: 60 } })
  for (const key of [made.key, limited.key]) expect(await back.codeOf(key, {}, cutOff)).toBe('VALID')
  const grantable = (at: Api) => at.get(`${world.keys}/grantable`, { as: made.key })
  expect((await grantable(cutOff)).status).toBe(200)

  wire.mute()
  const muted = performance.now()
  const asked: Promise<{ after: number; status: number; code: string; retryAfter: string | null }>[] = []
  const ask = async (answer: Promise<Reply>) => {
    const after = performance.now() - muted
    const { status, body, headers } = await answer
    return { after, status, code: body.code, retryAfter: headers.get('retry-after') }
  }
  while (performance.now() - muted < 3000) {
    asked.push(ask(grantable(cutOff)), ask(back.verify(made.key, {}, cutOff)))
    asked.push(ask(back.verify(stranger.key, {}, cutOff)), ask(back.verify(limited.key, {}, cutOff)))
    await sleep(100)
  }
  const answers = await Promise.all(asked)
  wire.cut()
  const letIn = answers.filter(({ status }) => status === 200)
  for (const { after, status, code, retryAfter } of answers.filter(({ status }) => status !== 200))
    expect([after, status, code, retryAfter]).toEqual([after, 503, 'unavailable', '1'])
  expect(Math.max(...letIn.map(({ after }) => after))).toBeLessThan(2000)
  // Known a moment ago, it was let in a little longer: that is what memory is for.
  expect(letIn.length).toBeGreaterThan(0)
  expect(answers.filter(({ status }, n) => n % 4 >= 2 && status === 200)).toEqual([])
  await until(async () => (await back.codeOf(stranger.key, {}, cutOff)) === 'VALID')
  // Its connections are others, which heal by themselves as well.
  await until(async () => (await grantable(cutOff)).status === 200)
  expect((await apiAt(cutOff.url).get('/livez')).status).toBe(200)
})

// ---- helpers --------------------------------------------------------------------------------------------------------

async function create({ api, keys, owner }: Shop, more: object = {}) {
  const { status, body } = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
  expect(status).toBe(201)
  return body
}

/** How often the node asked the database for a key, from now on. */
function lookupsAt({ db }: Service): () => number {
  const spy = vi.spyOn(db, 'batched')
  const before = spy.mock.calls.length
  return () => spy.mock.calls.slice(before).filter(([, row]) => 'previous_hash' in (row as object)).length
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('It did not come true within a minute')
    await sleep(50)
  }
}
