// What becomes of a call when the network or the service is at fault.

import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { beforeEach, expect, test, vi } from 'vitest'
import { faultyServer, halfAnswer, hanging, json, lost, problem } from '../../../tests/faulty-server.ts'
import { OPERATIONS } from './api.gen.ts'
import { isStorekeeperError, type StorekeeperError, storekeeper } from './index.ts'

const TOKEN = 'skp_sess_0000000000000000000000000000000000000000000000'
const NEW_KEY = { name: 'Till', type: 'TEST', permissions: ['READ'] } as const
const KEY = { id: 'key_1', key: 'skp_test_x' }

const clientOf = (url: string, more: object = {}) => storekeeper({ url, token: TOKEN, storeId: 'store_1', ...more })
const errorOf = (promise: Promise<unknown>): Promise<StorekeeperError> =>
  promise.then(
    (value) => Promise.reject(new Error(`It should have failed, and answered ${JSON.stringify(value)}`)),
    (error) => error,
  )
const keysOf = (seen: { headers: Record<string, unknown> }[]) => seen.map(({ headers }) => headers['idempotency-key'])

beforeEach(() => {
  // The shortest waits between two tries.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  return () => random.mockRestore()
})

test('a call whose answer is lost, cut or late in coming is sent again, under one Idempotency-Key', async () => {
  for (const fault of [
    lost,
    halfAnswer,
    problem(500, 'internal_error'),
    problem(503, 'unavailable', { 'retry-after': '0' }),
    problem(408, 'request_timeout'),
    problem(429, 'rate_limited', { 'retry-after': '0' }),
    problem(409, 'idempotency_in_progress', { 'retry-after': '0' }),
    (response: ServerResponse) => response.writeHead(502).end('<h1>Bad Gateway</h1>'),
    (response: ServerResponse) => response.writeHead(200).end('<h1>Welcome</h1>'),
  ]) {
    const { url, seen } = await faultyServer(fault, fault, json(201, KEY))
    expect(await clientOf(url).store().keys.create(NEW_KEY)).toEqual(KEY)
    expect(keysOf(seen)).toEqual([
      expect.stringMatching(/^[0-9a-f]{32}$/),
      ...keysOf(seen).slice(0, 1),
      keysOf(seen)[0],
    ])
    expect(seen[2]).toMatchObject({
      method: 'POST',
      path: '/v1/user/store/store_1/keys',
      body: JSON.stringify(NEW_KEY),
    })
  }
})

test('of an answer that does not end, only so much is read', async () => {
  let sent = 0
  const endless = () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1
        // So that a client without a bound comes to an end too.
        if (sent > 1_000) controller.close()
        else controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20))
      },
    })
    return Promise.resolve(new Response(body, { status: 200 }))
  }
  const sk = clientOf('http://localhost', { fetch: endless, retries: 0 })
  const error = await errorOf(sk.store().keys.read('key_1'))
  expect([error.code, sent <= 70]).toEqual(['invalid_response', true])
  sent = 0
  const verdict = await errorOf(sk.keys.verify({ key: 'skp_test_x' }))
  expect([verdict.code, sent <= 4]).toEqual(['invalid_response', true])
})

test('when no try is answered, the error has the Idempotency-Key with which to ask for the lost answer', async () => {
  const { url, seen } = await faultyServer(lost, lost, lost, json(201, KEY))
  const { keys } = clientOf(url).store()
  const error = await errorOf(keys.create(NEW_KEY))
  expect(error).toMatchObject({ code: 'connection_failed', status: undefined, idempotencyKey: keysOf(seen)[0] })
  expect(seen).toHaveLength(3)
  expect(await keys.create(NEW_KEY, { idempotencyKey: error.idempotencyKey as string })).toEqual(KEY)
  expect(new Set(keysOf(seen)).size).toBe(1)
  // A call of its own has a key of its own.
  await keys.create(NEW_KEY)
  expect(new Set(keysOf(seen)).size).toBe(2)
})

test('Retry-After is waited for up to 10 seconds, as far as the time of the call allows; otherwise the error comes at once', async () => {
  const patient = await faultyServer(problem(429, 'rate_limited', { 'retry-after': '1' }), json(200, KEY))
  const before = performance.now()
  await clientOf(patient.url).store().keys.read('key_1')
  expect(performance.now() - before).toBeGreaterThanOrEqual(999)
  const DAY_S = 86_400
  const inADay = new Date(Date.now() + DAY_S * 1000).toUTCString()
  for (const [retryAfter, timeout] of [
    ['11', undefined],
    [inADay, undefined],
    ['9', 8_500],
  ] as const) {
    const { url, seen } = await faultyServer(problem(429, 'rate_limited', { 'retry-after': retryAfter }))
    const error = await errorOf(clientOf(url).store().keys.read('key_1', { timeout }))
    expect([error.code, seen.length]).toEqual(['rate_limited', 1])
    // Until a moment: what is left of it, all but the minutes that a busy machine may take.
    if (retryAfter === inADay) expect(error.retryAfter).toSatisfy((left) => left <= DAY_S && left > DAY_S - 300)
    else expect(error.retryAfter).toBe(Number(retryAfter))
  }
})

test('a change under If-Match is not sent again once it may have been done, and a refusal that may be our own doing is not told as one', async () => {
  const guarded = await faultyServer(lost, json(200, KEY))
  const { code } = await errorOf(clientOf(guarded.url).store().keys.update('key_1', { name: 'B' }, { ifMatch: '"r1"' }))
  expect([code, guarded.seen.length, guarded.seen[0]?.headers['if-match']]).toEqual(['connection_failed', 1, '"r1"'])
  // Nothing was done, says this answer.
  const refused = await faultyServer(problem(503, 'overloaded', { 'retry-after': '0' }), json(200, KEY))
  await clientOf(refused.url).store().keys.update('key_1', { name: 'B' }, { ifMatch: '"r1"' })

  const free = await faultyServer(lost, json(200, KEY))
  expect(await clientOf(free.url).store().keys.update('key_1', { name: 'B' })).toEqual(KEY)
  expect(keysOf(free.seen)).toEqual([undefined, undefined])
  const gone = await faultyServer(lost, problem(404, 'webhook_not_found'))
  const error = await errorOf(clientOf(gone.url).store().webhooks.delete('wh_1'))
  expect(error).toMatchObject({ code: 'connection_failed', cause: { code: 'webhook_not_found' } })
  const never = await faultyServer(problem(404, 'webhook_not_found'))
  expect((await errorOf(clientOf(never.url).store().webhooks.delete('wh_1'))).code).toBe('webhook_not_found')
})

test('what has no Idempotency-Key and makes something is sent again only if it was refused', async () => {
  const account = { email: 'a@example.com', password: 'correct horse', name: 'A' }
  const uncertain = await faultyServer(lost, json(201, {}))
  expect((await errorOf(storekeeper({ url: uncertain.url }).auth.signUp(account))).code).toBe('connection_failed')
  expect(uncertain.seen).toHaveLength(1)
  expect(uncertain.seen[0]?.headers).not.toHaveProperty('authorization')
  const refused = await faultyServer(problem(429, 'rate_limited', { 'retry-after': '0' }), json(201, { token: 't' }))
  expect(await storekeeper({ url: refused.url }).auth.signUp(account)).toEqual({ token: 't' })
  // Nor is what the service says about the request itself.
  for (const [status, code] of [
    [422, 'invalid_input'],
    [404, 'key_not_found'],
    [409, 'key_revoked'],
  ] as const) {
    const { url, seen } = await faultyServer(problem(status, code))
    expect((await errorOf(clientOf(url).store().keys.rotate('key_1'))).code).toBe(code)
    expect(seen).toHaveLength(1)
  }
})

test('a verification is sent again, without an Idempotency-Key; the store of the client is its store', async () => {
  const verdict = { valid: true, code: 'VALID', keyId: 'key_1' }
  const { url, seen } = await faultyServer(lost, json(200, verdict))
  const sk = clientOf(url)
  expect(await sk.keys.verify({ key: 'k' })).toEqual(verdict)
  await sk.keys.verify({ key: 'k', storeId: 'store_2' })
  await sk.request('POST', '/v1/keys/verify', { body: { key: 'k', anyStore: true } })
  await sk.verifier().verify({ key: 'k', anyStore: true })
  expect(seen.map(({ body }) => JSON.parse(body))).toEqual([
    { key: 'k', storeId: 'store_1' },
    { key: 'k', storeId: 'store_1' },
    { key: 'k', storeId: 'store_2' },
    { key: 'k', anyStore: true },
    { key: 'k', anyStore: true },
  ])
  expect(keysOf(seen)).toEqual(Array(5).fill(undefined))
})

test('time and signal end a call whatever it is waiting for, and leave no listener behind', async () => {
  const { url } = await faultyServer(hanging)
  const { keys } = clientOf(url).store()
  const late = await errorOf(keys.create(NEW_KEY, { timeout: 50 }))
  expect(late).toMatchObject({ code: 'timeout', idempotencyKey: expect.any(String) })
  const busy = await faultyServer(problem(503, 'unavailable', { 'retry-after': '5' }))
  for (const address of [url, busy.url]) {
    const stopping = new AbortController()
    setTimeout(() => stopping.abort(new Error('enough')), 100)
    const stopped = await errorOf(clientOf(address).store().keys.create(NEW_KEY, { signal: stopping.signal }))
    expect(stopped).toMatchObject({ code: 'aborted', cause: { message: 'enough' }, idempotencyKey: expect.any(String) })
  }
  const aborted = await errorOf(keys.read('key_1', { signal: AbortSignal.abort() }))
  expect(aborted.code).toBe('aborted')
  const working = await faultyServer(json(200, KEY))
  const { signal } = new AbortController()
  await clientOf(working.url).store().keys.read('key_1', { signal, timeout: Number.POSITIVE_INFINITY })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('nothing shows the token, and it is sent nowhere else', async () => {
  const elsewhere = await faultyServer(json(200, {}))
  const { url, seen } = await faultyServer((response) => response.writeHead(302, { location: elsewhere.url }).end())
  const sk = clientOf(url)
  const error = await errorOf(sk.keys.self())
  expect(error).toMatchObject({ code: 'invalid_response', status: 302 })
  expect([seen[0]?.headers.authorization, elsewhere.seen]).toEqual([`Bearer ${TOKEN}`, []])
  expect(seen[0]?.headers['user-agent']).toMatch(/^storekeeper-js\/\d+\.\d+\.\d+ node\/\d+\./)
  const options = { depth: 20, showHidden: true }
  for (const text of [inspect(sk, options), inspect(sk.store(), options), JSON.stringify(sk), inspect(error, options)])
    expect(text).not.toContain(TOKEN.slice(0, 20))
  for (const token of [`${TOKEN}\n`, '', `${TOKEN}é`]) {
    expect(() => clientOf(url, { token })).toThrow(/^The token is empty/)
    await expect(clientOf(url, { token: async () => token }).keys.self()).rejects.toThrow(/^The token is empty/)
  }
  const moving = clientOf(url, { token: () => `t${seen.length}` })
  await errorOf(moving.keys.self())
  expect(seen.at(-1)?.headers.authorization).toBe('Bearer t1')
})

test('what a newer service says comes through as it is', async () => {
  const { url } = await faultyServer(json(200, { id: 'key_1', status: 'SLEEPING', since: 1 }))
  expect(await clientOf(url).store().keys.read('key_1')).toEqual({ id: 'key_1', status: 'SLEEPING', since: 1 })
  const faulty = await faultyServer(problem(418, 'brand_new', {}, { hint: 'x' }))
  const error = await errorOf(clientOf(faulty.url).store().keys.read('key_1'))
  expect(error).toMatchObject({
    code: 'brand_new',
    status: 418,
    requestId: 'r1',
    details: { hint: 'x' },
    message: 'T: D.',
  })
  expect([
    isStorekeeperError(error),
    isStorekeeperError(error, 'key_not_found'),
    isStorekeeperError(new Error('x')),
  ]).toEqual([true, false, false])
})

test('parameters are one segment of a path each; what would lead elsewhere is refused before anything is sent', async () => {
  const { url, seen } = await faultyServer(json(200, {}))
  const sk = clientOf(`${url}/behind/`)
  await sk.store('store/1').customers.read('a/b?c#d%')
  await sk.store().addresses.readVersion('addr_1', 2)
  await sk.store().members.update('user_1', { role: 'STAFF', keys: 'revoke' })
  expect(seen.map(({ method, path, body }) => `${method} ${path} ${body}`)).toEqual([
    'GET /behind/v1/user/store/store%2F1/customers/a%2Fb%3Fc%23d%25 ',
    'GET /behind/v1/store/store_1/billing/addr_1/versions/2 ',
    'PATCH /behind/v1/user/store/store_1/members/user_1?keys=revoke {"role":"STAFF"}',
  ])
  for (const id of ['', '.', '..', undefined, null, {}])
    await expect(sk.store().keys.read(id as string)).rejects.toThrow('keys.read: keyId is missing')
  expect(() => storekeeper({ url }).store()).toThrow('storeId is missing')
  await expect(sk.store().keys.create(undefined as never)).rejects.toThrow('keys.create needs an object')
  await expect(sk.request('GET', '@evil.example/')).rejects.toThrow('slash')
  for (const wrong of ['ftp://x', 'http://user:pass@x', 'http://x?y', 'nowhere'])
    expect(() => storekeeper({ url: wrong })).toThrow(TypeError)
  expect(seen).toHaveLength(3)
})

test('every operation is sent as its row says', async () => {
  const { url, seen } = await faultyServer(json(200, { data: [], nextCursor: null }))
  const sk = clientOf(url)
  for (const [id, row] of Object.entries(OPERATIONS)) {
    const [method, path = '', flags = ''] = row.split(' ')
    const isOfStore = path.includes(':storeId') && !id.startsWith('stores.')
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name).slice(isOfStore ? 1 : 0)
    let call: any = isOfStore ? sk.store() : sk
    for (const name of id.split('.')) call = call[name]
    const answer = call(...names, ...(/[bq]/.test(flags) ? [{ token: 'x' }] : []), { timeout: 60_000 })
    await (flags.includes('p') ? answer.page() : answer)
    const expected = path.replace(isOfStore ? ':storeId' : '', isOfStore ? 'store_1' : '').replaceAll(':', '')
    expect(`${seen.at(-1)?.method} ${seen.at(-1)?.path.split('?')[0]}`, id).toBe(`${method} ${expected}`)
    expect(keysOf(seen.slice(-1))[0] !== undefined, id).toBe(flags.includes('k'))
  }
})

test('lists are read page by page, as far as they are wanted', async () => {
  const page = (data: number[], nextCursor: string | null) => json(200, { data, nextCursor })
  const { url, seen } = await faultyServer(page([1, 2], 'a'), lost, page([3], 'b'), page([], 'c'), page([4], null))
  const list = clientOf(url).store().keys.list({ status: 'ACTIVE', owner: undefined })
  const all: unknown[] = []
  for await (const key of list) all.push(key)
  expect(all).toEqual([1, 2, 3, 4])
  const paths = () => seen.map(({ path }) => path.split('?')[1])
  expect(paths()).toEqual(
    ['', '&cursor=a', '&cursor=a', '&cursor=b', '&cursor=c'].map((end) => `status=ACTIVE&limit=100${end}`),
  )
  const first = await faultyServer(page([1, 2], 'a'))
  const some = clientOf(first.url).store().keys.list({ limit: 2 })
  expect(await some.page({ cursor: 'x' })).toEqual({ data: [1, 2], nextCursor: 'a' })
  expect([await some.toArray({ max: 3 }), await some.toArray({ max: 0 })]).toEqual([[1, 2, 1], []])
  expect(first.seen).toHaveLength(3)
})

test('a client that is closed waits for its calls, and begins no other', async () => {
  const { url } = await faultyServer((response) => void setTimeout(() => response.end('{"id":"key_1"}'), 100))
  const sk = clientOf(url)
  const read = sk.store().keys.read('key_1')
  let isOver = false
  void read.then(() => (isOver = true))
  await sk[Symbol.asyncDispose]()
  expect(isOver).toBe(true)
  await expect(sk.keys.self()).rejects.toMatchObject({ code: 'closed' })
})
