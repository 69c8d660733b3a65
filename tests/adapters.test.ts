// Every adapter, on a real server, by one table: who is let in, and what the others are told.

import type { Verifier } from '@storekeeper/client'
import { fakeStorekeeper } from '@storekeeper/client/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ADAPTERS, type Answered, type ApiRoute, ask, type Handle } from './adapter-servers.ts'

const DAY_MS = 86_400_000

const ROUTES: ApiRoute[] = [
  { path: '/any', checks: [{}] },
  { path: '/read', checks: [{ permissions: 'READ' }] },
  { path: '/both', checks: [{ permissions: ['READ', 'MANAGE_ORDERS'] }] },
  { path: '/either', checks: [{ options: { anyPermissions: ['WRITE', 'MANAGE_ORDERS'] } }] },
  { path: '/typo', checks: [{ permissions: 'RAED' }] },
  { path: '/prod', checks: [{ options: { types: ['PROD'] } }] },
  { path: '/header', checks: [{ permissions: 'READ', options: { header: 'X-API-Key' } }] },
  { path: '/tell', checks: [{ permissions: 'READ', options: { tell: true } }] },
  { path: '/twice', checks: [{ permissions: 'READ' }, { permissions: 'WRITE' }] },
  { path: '/twice-typed', checks: [{ permissions: 'READ' }, { options: { types: ['TEST'] } }] },
  { path: '/cost', checks: [{ permissions: 'READ', options: { cost: 5 } }] },
  { path: '/export', checks: [{ permissions: 'READ' }, { options: { limits: [{ name: 'exports' }] } }] },
  { path: '/stores', checks: [{ permissions: 'READ', storeInPath: true }] },
  { path: '/no-store', checks: [{ permissions: 'READ', options: { storeId: () => undefined } }] },
  {
    path: '/changed',
    checks: [
      {
        permissions: 'READ',
        options: { onRefused: () => ({ status: 404, headers: { 'x-why': 'hidden' }, body: { no: true } }) },
      },
    ],
  },
  { path: '/opening', checks: [{ permissions: 'READ', options: { onRefused: () => ({ status: 200 }) } }] },
  {
    path: '/faulty',
    checks: [
      {
        permissions: 'READ',
        options: {
          onRefused: () => {
            throw new Error('of the application')
          },
          onError: () => {
            throw new Error('of its log')
          },
        },
      },
    ],
  },
  {
    path: '/no-address',
    checks: [
      {
        options: {
          ip: () => {
            throw new Error('no address')
          },
          onError: () => {},
        },
      },
    ],
  },
  { path: '/throws', checks: [{ permissions: 'READ' }] },
]

const briefly = ({ status, body }: Answered) => [status, body?.code]
const shown = ({ status, headers, body }: Answered) => [status, body?.code, headers['www-authenticate']]
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

describe.each(Object.entries(ADAPTERS))('%s', (_, serve) => {
  async function open({ trustsProxy = false, stores = ['store_a', 'store_b'] } = {}) {
    const fake = fakeStorekeeper({ stores })
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const handled: string[] = []
    const handle: Handle = (path, { keyId, storeId, permissions }) => {
      handled.push(path)
      if (path === '/throws') throw new Error('of the handler')
      return { keyId, storeId, permissions }
    }
    const url = await serve(fake, ROUTES, handle, trustsProxy)
    return { fake, handled, get: (path: string, headers = {}) => ask(url + path, headers), url }
  }

  test('lets in who has a valid key with the permissions, and says who it is', async () => {
    const { fake, get } = await open()
    const { id: keyId, key } = fake.createKey({ permissions: ['READ', 'WRITE'] })
    const identity = { keyId, storeId: 'store_a', permissions: ['READ', 'WRITE'] }
    for (const path of ['/any', '/read', '/either', '/prod', '/tell'])
      expect(await get(path, bearer(key))).toMatchObject({ status: 200, body: identity })
    expect(fake.questions).toHaveLength(5)
    expect(fake.questions[1]).toEqual({
      key,
      permissions: ['READ'],
      storeId: 'store_a',
      ip: expect.stringMatching(/127\.0\.0\.1$/),
    })
    for (const scheme of ['bearer', 'BEARER', 'Bearer  '])
      expect(await get('/read', { authorization: `${scheme} ${key}` })).toMatchObject({ status: 200 })
    expect(await get('/header', { 'x-api-key': key })).toMatchObject({ status: 200, body: identity })
  })

  test('answers who has no key, two keys, or a key elsewhere, without asking anybody', async () => {
    const { fake, handled, get } = await open()
    const { key } = fake.createKey()
    for (const headers of [
      {},
      { authorization: 'Bearer' },
      { authorization: '' },
      { authorization: `Basic ${key}` },
      { authorization: key },
    ])
      expect(shown(await get('/read', headers))).toEqual([401, 'unauthenticated', 'Bearer'])
    expect(shown(await get(`/read?access_token=${key}&key=${key}&api_key=${key}`))).toEqual([
      401,
      'unauthenticated',
      'Bearer',
    ])
    const two = [400, 'invalid_request', 'Bearer error="invalid_request"']
    for (const authorization of [
      [`Bearer ${key}`, `Bearer ${key}`],
      `Bearer ${key} ${key}`,
      `Bearer ${key}, Bearer ${key}`,
    ])
      expect(shown(await get('/read', { authorization }))).toEqual(two)
    expect(shown(await get('/read', { 'x-api-key': key }))).toEqual([401, 'unauthenticated', 'Bearer'])
    expect(shown(await get('/header', bearer(key)))).toEqual([401, 'unauthenticated', 'ApiKey header="x-api-key"'])
    for (const headers of [{ ...bearer(key), 'x-api-key': key }, { 'x-api-key': [key, key] }])
      expect(shown(await get('/header', headers))).toEqual([
        400,
        'invalid_request',
        'ApiKey header="x-api-key", error="invalid_request"',
      ])
    const refused = await get('/read', bearer('x'.repeat(513)))
    expect(shown(refused)).toEqual([401, 'invalid_token', 'Bearer error="invalid_token"'])
    expect(refused.headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/problem\+json/),
      'cache-control': 'no-store',
    })
    expect([fake.questions, handled]).toEqual([[], []])
  })

  test('gives one answer for every key that is not valid, unless it is to tell', async () => {
    const { fake, handled, get } = await open()
    const make = () => fake.createKey()
    const [revoked, expired, disabled, foreign, live] = [
      make(),
      make(),
      make(),
      fake.createKey({ storeId: 'store_b' }),
      make(),
    ]
    fake.revokeKey(revoked.id)
    fake.expireKey(expired.id)
    fake.updateKey(disabled.id, { enabled: false })
    const cases: [string, string][] = [
      ['skp_prod_nobody', 'NOT_FOUND'],
      [foreign.key, 'NOT_FOUND'],
      [revoked.key, 'REVOKED'],
      [expired.key, 'EXPIRED'],
      [disabled.key, 'DISABLED'],
      [live.key, 'FROZEN'],
    ]
    fake.freeze()
    const texts = new Set<string>()
    for (const [key, reason] of cases) {
      const answer = await get('/read', bearer(key))
      expect(shown(answer)).toEqual([401, 'invalid_token', 'Bearer error="invalid_token"'])
      texts.add(answer.text)
      expect((await get('/tell', bearer(key))).body).toEqual({ ...answer.body, reason })
    }
    expect([texts.size, handled]).toEqual([1, []])
    expect(JSON.parse([...texts][0] as string)).toEqual({
      title: 'Unauthorized',
      status: 401,
      detail: 'The API key is not valid: it is unknown, expired, disabled or revoked.',
      code: 'invalid_token',
    })
    fake.unfreeze()
    expect(await get('/read', bearer(live.key))).toMatchObject({ status: 200 })
  })

  test('refuses what a valid key may not do', async () => {
    const { fake, handled, get } = await open()
    const { key } = fake.createKey({ type: 'TEST' })
    const scope = (words: string) => `Bearer error="insufficient_scope", scope="${words}"`
    const short = await get('/both', bearer(key))
    expect(shown(short)).toEqual([403, 'insufficient_permission', scope('READ MANAGE_ORDERS')])
    expect(short.body.required).toEqual(['READ', 'MANAGE_ORDERS'])
    expect(shown(await get('/either', bearer(key)))).toEqual([
      403,
      'insufficient_permission',
      scope('WRITE MANAGE_ORDERS'),
    ])
    expect(shown(await get('/typo', bearer(key)))).toEqual([403, 'insufficient_permission', scope('RAED')])
    expect(shown(await get('/prod', bearer(key)))).toEqual([403, 'wrong_type', undefined])
    const elsewhere = fake.createKey({ ipAllowlist: ['203.0.113.0/24'] })
    expect(shown(await get('/read', bearer(elsewhere.key)))).toEqual([403, 'forbidden_ip', undefined])
    const forwarded = {
      ...bearer(elsewhere.key),
      'x-forwarded-for': '203.0.113.7',
      forwarded: 'for=203.0.113.7',
      'x-real-ip': '203.0.113.7',
    }
    expect(shown(await get('/read', forwarded))).toEqual([403, 'forbidden_ip', undefined])
    expect(handled).toEqual([])
    const here = fake.createKey({ ipAllowlist: ['127.0.0.0/8'] })
    expect(await get('/read', bearer(here.key))).toMatchObject({ status: 200 })
  })

  test('believes forwarded addresses when the application says so, and sends no nonsense', async () => {
    const { fake, get } = await open({ trustsProxy: true })
    const { key } = fake.createKey({ ipAllowlist: ['203.0.113.0/24', '2001:db8::/32'] })
    for (const [address, status] of [
      ['203.0.113.7', 200],
      ['2001:db8::7', 200],
      ['198.51.100.1', 403],
      ['nonsense', 403],
      ['203.0.113.999', 403],
    ] as const)
      expect([address, (await get('/read', { ...bearer(key), 'x-forwarded-for': address })).status]).toEqual([
        address,
        status,
      ])
  })

  test('tells of limits and credits', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { fake, handled, get } = await open()
    const limited = fake.createKey({ rateLimit: { limit: 2, windowSeconds: 60 } })
    const first = await get('/read', bearer(limited.key))
    expect([first.status, first.headers.ratelimit, first.headers['ratelimit-policy']]).toEqual([
      200,
      '"default";r=1;t=60',
      '"default";q=2',
    ])
    await get('/read', bearer(limited.key))
    fake.advance(20_000)
    const late = await get('/read', bearer(limited.key))
    expect(shown(late)).toEqual([429, 'rate_limited', undefined])
    expect(late.headers).toMatchObject({ 'retry-after': '40', ratelimit: '"default";r=0;t=40' })
    const spent = fake.createKey({ credits: { remaining: 9 } })
    expect((await get('/cost', bearer(spent.key))).status).toBe(200)
    const broke = await get('/cost', bearer(spent.key))
    expect([...shown(broke), broke.headers['retry-after']]).toEqual([429, 'usage_exceeded', undefined, undefined])
    const refilled = fake.createKey({ credits: { remaining: 0, refill: { amount: 9, interval: 'DAY' } } })
    const later = await get('/cost', bearer(refilled.key))
    expect(shown(later)).toEqual([429, 'usage_exceeded', undefined])
    expect(Number(later.headers['retry-after'])).toBeGreaterThan(0)
    expect(handled).toEqual(['/read', '/read', '/cost'])
  })

  test('verifies a request once, and spends beyond that only what a further check names', async () => {
    const { fake, handled, get } = await open()
    const reader = fake.createKey({ rateLimit: { limit: 100, windowSeconds: 60 } })
    expect(briefly(await get('/twice', bearer(reader.key)))).toEqual([403, 'insufficient_permission'])
    expect(briefly(await get('/twice-typed', bearer(reader.key)))).toEqual([403, 'wrong_type'])
    expect(fake.questions).toHaveLength(2)
    const writer = fake.createKey({ permissions: ['READ', 'WRITE'], credits: { remaining: 3 } })
    for (const status of [200, 200, 200, 429]) expect((await get('/twice', bearer(writer.key))).status).toBe(status)
    expect(fake.questions).toHaveLength(6)
    const exporter = fake.createKey({
      credits: { remaining: 100 },
      rateLimits: [
        { name: 'exports', limit: 5, windowSeconds: 60 },
        { name: 'other', limit: 9, windowSeconds: 60 },
      ],
    })
    expect((await get('/export', bearer(exporter.key))).status).toBe(200)
    expect(fake.questions.at(-1)).toMatchObject({ cost: 0, limits: [{ name: 'exports' }] })
    expect(await fake.store().keys.read(exporter.id)).toMatchObject({ credits: { remaining: 99 } })
    for (const status of [200, 429, 429]) expect((await get('/export', bearer(exporter.key))).status).toBe(status)
    expect(handled.filter((path) => path === '/export')).toHaveLength(2)
  })

  test('takes the store from the path, and lets nobody in without one', async () => {
    const { fake, handled, get } = await open()
    const [inA, inB] = [fake.createKey(), fake.createKey({ storeId: 'store_b' })]
    expect(await get('/stores/store_a', bearer(inA.key))).toMatchObject({ status: 200, body: { storeId: 'store_a' } })
    expect(await get('/stores/store_b', bearer(inB.key))).toMatchObject({ status: 200, body: { storeId: 'store_b' } })
    for (const [path, { key }] of [
      ['/stores/store_b', inA],
      ['/stores/store_a', inB],
      ['/stores/store_c', inA],
    ] as const)
      expect(briefly(await get(path, bearer(key)))).toEqual([401, 'invalid_token'])
    expect(shown(await get('/no-store', bearer(inA.key)))).toEqual([503, 'unavailable', undefined])
    expect(handled).toEqual(['/stores', '/stores'])
  })

  test('warns the holder of a key that ends within 30 days', async () => {
    const { fake, get } = await open()
    const [soon, late] = [29, 31].map((days) => new Date(Date.now() + days * DAY_MS))
    const sunsetOf = async (expiresAt: Date | null | undefined) =>
      (await get('/read', bearer(fake.createKey({ expiresAt }).key))).headers.sunset
    expect([await sunsetOf(soon), await sunsetOf(late), await sunsetOf(null)]).toEqual([
      soon?.toUTCString(),
      undefined,
      undefined,
    ])
  })

  test('lets nobody in without a verdict, whatever fails', async () => {
    const { fake, handled, get } = await open()
    const { key } = fake.createKey()
    expect(shown(await get('/no-address', bearer(key)))).toEqual([503, 'unavailable', undefined])
    fake.isDown = true
    const down = await get('/read', bearer(key))
    expect([...shown(down), down.headers['retry-after']]).toEqual([503, 'unavailable', undefined, '1'])
    expect(shown(await get('/faulty', bearer(key)))).toEqual([503, 'unavailable', undefined])
    expect(shown(await get('/opening', bearer(key)))).toEqual([503, 'unavailable', undefined])
    const changed = await get('/changed', bearer(key))
    expect([changed.status, changed.headers['x-why'], changed.text]).toEqual([404, 'hidden', '{"no":true}'])
    expect(handled).toEqual([])
    fake.isDown = false
    expect((await get('/throws', bearer(key))).status).toBe(500)
    expect(handled).toEqual(['/throws'])
  })

  test('lets nobody in for an answer that is no verdict', async () => {
    const answers: [() => unknown, number][] = [
      [() => null, 503],
      [() => undefined, 503],
      [() => ({}), 403],
      [() => ({ valid: 'true', code: 'VALID' }), 403],
      [() => ({ valid: 1, code: 'VALID' }), 403],
      [() => ({ valid: true, code: 'ALMOST' }), 403],
      [() => ({ valid: false, code: 'VALID' }), 403],
      [() => ({ valid: false, code: 'A_NEW_CODE' }), 403],
      [() => ({ valid: false, code: 'constructor' }), 403],
      [() => Promise.reject(new Error('a fault')), 503],
      [
        () => {
          throw new Error('a fault')
        },
        503,
      ],
    ]
    let answer: () => unknown = () => null
    const verifier = { verify: () => answer() } as unknown as Verifier
    const handled: string[] = []
    const checks = [{ permissions: 'READ', options: { onError: () => {} } }]
    const url = await serve(verifier, [{ path: '/read', checks }], (path) => ({ in: handled.push(path) }), false)
    for (const [given, status] of answers) {
      answer = given
      expect([String(given), (await ask(`${url}/read`, bearer('skp_prod_any'))).status]).toEqual([
        String(given),
        status,
      ])
    }
    expect(handled).toEqual([])
  })
})
