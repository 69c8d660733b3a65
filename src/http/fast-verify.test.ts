import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { NEW_KEY, type Reply, shop } from '../../tests/shop.ts'
import { CALLER_TTL_MS } from '../auth/caller-cache.ts'
import { Failure } from '../core/errors.ts'
import { mintToken } from '../crypto/tokens.ts'

const PATH = '/v1/keys/verify'

test('what the fast lane answers is what the framework would, byte for byte', async () => {
  const { api, owner, keys, serviceToken, logs } = await shop({ LOG_LEVEL: 'debug' })
  const as = await serviceToken()
  const make = async (more: object = {}) => (await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })).body
  const good = await make({ metadata: { description: 'Ümlaut “quoted”', list: [1, null, true] } })
  const limited = await make({ rateLimit: { limit: 1000, windowSeconds: 3600 } })
  const paid = await make({
    name: 'Müller',
    credits: { remaining: 5, refill: { amount: 5, interval: 'MONTH', dayOfMonth: 1 } },
  })
  const inside = await make({ ipAllowlist: ['203.0.113.0/24'] })
  const disabled = await make()
  await api.patch(`${keys}/${disabled.id}`, { enabled: false }, { as: owner.token })
  const revoked = await make()
  await api.delete(`${keys}/${revoked.id}`, { as: owner.token })

  const questions: unknown[] = [
    { key: good.key },
    { key: good.key, permissions: ['READ'] },
    { key: good.key, permissions: ['MANAGE_KEYS'] },
    { key: good.key, permissions: [] },
    { key: good.key, storeId: good.storeId },
    { key: good.key, storeId: 'store_of_another' },
    { key: good.key, explain: true },
    { key: good.key, explain: false },
    { key: good.key, permissions: ['READ', 'REED'] },
    { key: good.key, anyPermissions: ['READ', 'REED'] },
    { key: good.key, limits: [{ name: 'exports' }] },
    { key: paid.key, cost: 0 },
    { key: paid.key, cost: 0, permissions: ['READ', 'REED'] },
    { key: paid.key, cost: 0, limits: [] },
    { key: paid.key, cost: 6 },
    { key: inside.key },
    { key: inside.key, ip: '203.0.113.7' },
    { key: inside.key, ip: '203.0.113' },
    { key: disabled.key },
    { key: revoked.key },
    { key: `${good.key} ` },
    { key: good.key.slice(0, -1) },
    { key: '' },
    { key: 1 },
    { key: good.key, nonsense: 1 },
    { permissions: ['READ'] },
    [],
    null,
  ]
  const texts = [
    ...questions.map((question) => JSON.stringify(question)),
    '',
    '{',
    `{"key":"a","key":"b"}`,
    '{"key":"\\u0000"}',
  ]
  for (const raw of texts) {
    // Said twice: at the first time the key is not known yet.
    for (const _ of [1, 2]) {
      const fast = await api.post(PATH, undefined, { as, raw })
      const usual = await api.post(PATH, undefined, {
        as,
        raw,
        headers: { 'content-type': 'application/json; charset=utf-8' },
      })
      expect(told(fast), raw).toEqual(told(usual))
    }
  }
  // The framework writes a line for each request, the lane has none to write: most of these went by the lane. (Not all:
  // who is calling is asked anew each 200 ms.)
  const replies: Reply[] = []
  for (let i = 0; i < 20; i++) replies.push(await api.post(PATH, { key: good.key }, { as }))
  expect(replies.filter(({ headers }) => !logs().includes(headers.get('x-request-id') as string))).not.toEqual([])
  const spent = await api.post(PATH, { key: limited.key }, { as })
  expect(spent.body.rateLimit).toMatchObject({ limit: 1000, remaining: 999 })
})

test('the fast lane lets nobody in who is not a service', async () => {
  const { api, owner, keys, serviceToken } = await shop()
  const as = await serviceToken()
  const { key } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const ask = (headers: Record<string, string>) => api.post(PATH, { key }, { headers })
  expect((await ask({ authorization: `Bearer ${as}` })).body.code).toBe('VALID')
  const refused: [Record<string, string>, number, string][] = [
    [{}, 401, 'unauthenticated'],
    [{ authorization: 'Bearer ' }, 401, 'unauthenticated'],
    [{ authorization: as }, 401, 'invalid_token'],
    [{ authorization: `Bearer ${as.slice(0, -1)}` }, 401, 'invalid_token'],
    [{ authorization: `Bearer ${as} ${as}` }, 400, 'invalid_request'],
    [{ authorization: `Bearer ${key}` }, 403, 'service_required'],
    [{ authorization: `Bearer ${owner.token}` }, 403, 'service_required'],
    [{ authorization: `Bearer ${as}`, cookie: `__Host-storekeeper=${owner.token}` }, 400, 'invalid_request'],
  ]
  for (const [headers, status, code] of refused) {
    const reply = await ask(headers)
    expect([reply.status, reply.body.code], JSON.stringify(Object.keys(headers))).toEqual([status, code])
  }
})

test('whoever goes away while a key is looked up leaves nothing behind', async () => {
  const { api, serviceToken } = await shop({ alone: true })
  const as = await serviceToken()
  const unknown = () => mintToken('skp', 'prod').reveal()
  await api.post(PATH, { key: unknown() }, { as })
  const gone = Array.from({ length: 100 }, async (_, n) => {
    const body = JSON.stringify({ key: unknown() })
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer ${as}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    await sleep(n % 10)
    socket.destroy()
  })
  await Promise.all(gone)
  expect((await api.post(PATH, { key: unknown() }, { as })).body.code).toBe('NOT_FOUND')
  // All that are under way is the one who asks.
  await vi.waitFor(async () => {
    expect((await api.get('/metrics')).text).toMatch(/^storekeeper_http_requests_under_way 1$/m)
  }, 60_000)
})

test('without a database a key that is not known is answered as everything is then', async () => {
  const { api, serviceToken, service } = await shop({ alone: true })
  const as = await serviceToken()
  const ask = () => api.post(PATH, { key: mintToken('skp', 'prod').reveal() }, { as })
  expect((await ask()).body.code).toBe('NOT_FOUND')
  const away = vi.spyOn(service.db, 'batched').mockRejectedValue(new Failure('unavailable', { retryAfterSeconds: 1 }))
  const reply = await ask()
  expect([reply.status, reply.body.code, reply.headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
  away.mockRestore()
})

test('an answer of the database that is lost is not asked for again: one request never spends twice', async () => {
  const world = await shop({ alone: true })
  const { api, owner, keys, serviceToken, service, sql } = world
  const as = await serviceToken()
  const make = async (more: object) => (await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })).body
  const spenders = [
    await make({ credits: { remaining: 10 } }),
    await make({ credits: { remaining: 10 }, rateLimits: [{ name: 'exports', limit: 10, windowSeconds: 3600 }] }),
    await make({ rateLimit: { limit: 10, windowSeconds: 3600 } }),
  ]
  for (const { key } of spenders) expect((await api.post(PATH, { key }, { as })).body.code).toBe('VALID')
  const batched = service.db.batched.bind(service.db)
  const lost = vi.spyOn(service.db, 'batched').mockImplementation(async (batch, row) => {
    const answer = await batched(batch, row)
    // Credits and limits, not the lookups before.
    const charges = typeof row === 'object' && row !== null && ('cost' in row || 'seconds' in row)
    return charges ? Promise.reject(new Failure('unavailable', { retryAfterSeconds: 1 })) : answer
  })
  for (const { key } of spenders) {
    const reply = await api.post(PATH, { key }, { as })
    expect([reply.status, reply.body.code, reply.headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
  }
  lost.mockRestore()
  expect(await sql('select remaining from key_credits')).toEqual([{ remaining: '8' }, { remaining: '8' }])
  expect(await sql('select used from key_rate_windows')).toEqual([{ used: 2 }, { used: 2 }])
})

/** All of an answer but what is different each time. */
function told({ status, headers, text }: Reply) {
  const { date, 'x-request-id': id, ...rest } = Object.fromEntries(headers)
  expect(id).toMatch(/^req_/)
  expect(date).toBeDefined()
  return { status, headers: rest, text: text.replaceAll(id as string, 'ID') }
}

test('requests in one packet are all answered, in order, whichever way each of them takes', async () => {
  const { api, owner, keys, serviceToken } = await shop()
  const as = await serviceToken()
  const { key } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const ask = (body: object, token = as) => {
    const text = JSON.stringify(body)
    return `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
  }
  const plain = ask({ key })
  const health = 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n'
  const { hostname, port } = new URL(api.url)
  for (const packet of [
    [ask({ key, ip: '203.0.113.7' }), ask({ key, ip: '203.0.113.7' }), plain],
    [ask({ key }, 'unknown'), health, plain, ask({ key, explain: true })],
    [plain, plain, health],
  ]) {
    // Nothing is known of the caller any more.
    await sleep(CALLER_TTL_MS + 50)
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.write(packet.join(''))
    const statuses = packet.map((request) => (request.includes('unknown') ? '401' : '200'))
    await expect.poll(() => received.match(/(?<=HTTP\/1\.1 )\d{3}/g)).toEqual(statuses)
    socket.destroy()
  }
})
