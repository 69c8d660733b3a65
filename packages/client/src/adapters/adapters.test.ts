import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { fakeStorekeeper } from '@storekeeper/client/testing'
import { build } from 'esbuild'
import type { FastifyRequest } from 'fastify'
import fastify from 'fastify'
import { Hono } from 'hono'
import { expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { type ApiKey, requireKey, verifyUpgrade } from './express.ts'
import { requireKey as fastifyKey } from './fastify.ts'
import { requireKey as honoKey } from './hono.ts'
import { withKey } from './web.ts'

test('a mistake in a policy is found when the route is made', () => {
  const sk = fakeStorekeeper()
  const make = (...args: unknown[]) => Reflect.apply(requireKey, null, [sk, ...args])
  expect(() => make(undefined)).toThrow('the permission is undefined')
  expect(() => make(['READ', undefined])).toThrow('a permission is a word')
  for (const permissions of ['', 'READ WRITE', ['READ"'], [['READ']], { READ: true }, null])
    expect(() => make(permissions)).toThrow('a permission is a word')
  expect(() => make('READ', { type: ['PROD'] })).toThrow('there is no option "type"')
  expect(() => make('READ', { constructor: 1 })).toThrow('there is no option "constructor"')
  expect(() => make('READ', { types: [] })).toThrow('"types" is a list')
  expect(() => make('READ', { anyPermissions: [] })).toThrow('"anyPermissions" is a list')
  expect(() => Reflect.apply(requireKey, null, [{}, 'READ'])).toThrow('the first argument is a client')
  expect(() => make('READ', { header: 'x api key' })).toThrow('"header" is the name of a header')
  expect(() => make(['READ'], { header: 'Authorization', types: undefined })).not.toThrow()
})

test('all routes of a client share one verifier, and each client has its own', () => {
  const sk = fakeStorekeeper()
  const verifier = vi.spyOn(sk, 'verifier')
  for (let n = 0; n < 3; n++) requireKey(sk, 'READ')
  honoKey(sk, 'WRITE')
  expect(verifier).toHaveBeenCalledTimes(1)
})

test('what onRefused returns is sent only if it is a refusal that can be sent', async () => {
  const sk = fakeStorekeeper()
  const errors: unknown[] = []
  const circular: Record<string, unknown> = {}
  circular.itself = circular
  const answerTo = async (change: object) =>
    withKey(sk, 'READ', () => new Response(), { onRefused: () => change, onError: (error) => errors.push(error) })(
      new Request('http://localhost'),
    )
  for (const status of [200, 302, 399, 600, 401.5, Number.NaN, '200'])
    expect((await answerTo({ status })).status).toBe(401)
  expect((await answerTo({ status: 404 })).status).toBe(404)
  expect([(await answerTo({ body: circular })).status, errors.length]).toEqual([401, 1])
})

test('a policy is not changed by who gave it', async () => {
  const sk = fakeStorekeeper()
  const { key } = sk.createKey()
  const permissions = ['WRITE']
  const handler = withKey(sk, permissions, () => new Response())
  permissions.pop()
  const request = new Request('http://localhost', { headers: { authorization: `Bearer ${key}` } })
  expect((await handler(request)).status).toBe(403)
})

test('the same verdict serves checks only of the same key, address, client and stores', async () => {
  const [sk, other] = [fakeStorekeeper({ stores: ['store_a', 'store_b'] }), fakeStorekeeper()]
  const [first, second] = [sk.createKey(), sk.createKey({ permissions: ['WRITE'] })]
  const request = new Request('http://localhost', { headers: { authorization: `Bearer ${first.key}` } })
  const statusOf = async (...[client, options]: [typeof sk, Parameters<typeof withKey>[3]?]) =>
    (await withKey(client, 'READ', () => new Response(), options)(request)).status
  expect(await statusOf(sk)).toBe(200)
  expect(await statusOf(other)).toBe(401)
  expect(await statusOf(sk, { ip: () => '203.0.113.7' })).toBe(200)
  expect(sk.questions).toHaveLength(2)
  expect(await statusOf(sk, { ip: () => '203.0.113.7', storeId: 'store_b' })).toBe(401)
  expect(await statusOf(sk, { ip: () => '203.0.113.7', anyStore: true })).toBe(200)
  expect(sk.questions).toHaveLength(2)
  // The first check asked about one store: it has not said whether the key of another would do.
  const verifier = sk.verifier()
  const guarded = (options: object) => withKey(verifier, 'READ', () => new Response(), options)(request.clone())
  expect((await guarded({ anyStore: true })).status).toBe(200)
  request.headers.set('authorization', `Bearer ${second.key}`)
  expect(await statusOf(sk)).toBe(403)
})

test('one check that finds its store by the request asks about each store it finds', async () => {
  const sk = fakeStorekeeper({ stores: ['store_a', 'store_b'] })
  const { key } = sk.createKey({ storeId: 'store_a' })
  const request = new Request('http://localhost', { headers: { authorization: `Bearer ${key}` } })
  const handler = withKey<[string]>(sk, 'READ', () => new Response(), { storeId: (_, store) => store })
  const statuses = []
  for (const store of ['store_a', 'store_b', 'store_a']) statuses.push((await handler(request, store)).status)
  expect(statuses).toEqual([200, 401, 200])
  expect(sk.questions).toHaveLength(1)
})

test('a refused check does not decide the next one', async () => {
  const sk = fakeStorekeeper()
  const { key } = sk.createKey()
  const request = new Request('http://localhost', { headers: { authorization: `Bearer ${key}` } })
  const statusOf = async (permission: string) => (await withKey(sk, permission, () => new Response())(request)).status
  expect([await statusOf('WRITE'), await statusOf('READ'), await statusOf('WRITE')]).toEqual([403, 200, 403])
  expect(sk.questions).toHaveLength(2)
})

test('a handler of the web standard keeps its other arguments, and its response whatever it is', async () => {
  const sk = fakeStorekeeper()
  const soon = new Date(Date.now() + 86_400_000)
  const { key } = sk.createKey({ expiresAt: soon })
  const request = () => new Request('http://localhost/a', { headers: { authorization: `Bearer ${key}` } })
  const moved = withKey<[{ params: Promise<{ store: string }> }]>(
    sk,
    'READ',
    async (_, { apiKey }, { params }) =>
      Response.redirect(`http://localhost/${apiKey.storeId}/${(await params).store}`, 302),
    { storeId: async (_, { params }) => (await params).store },
  )
  const response = await moved(request(), { params: Promise.resolve({ store: sk.storeId }) })
  expect([response.status, response.headers.get('sunset')]).toEqual([302, soon.toUTCString()])
  expect(response.headers.get('location')).toBe(`http://localhost/${sk.storeId}/${sk.storeId}`)
  const none = withKey(sk, 'READ', () => undefined as unknown as Response)
  expect(await none(request())).toBeUndefined()
})

test('a hook of Fastify holds for routes and for what is not found, before a body is read', async () => {
  const sk = fakeStorekeeper()
  const app = fastify()
  app.addHook('onRequest', fastifyKey(sk, 'READ'))
  app.post('/', async (request) => request.apiKey.keyId)
  const [refused, missing] = [await app.inject({ method: 'POST', url: '/', body: '{' }), await app.inject('/nowhere')]
  expect([refused.statusCode, missing.statusCode]).toEqual([401, 401])
  const { id, key } = sk.createKey()
  const headers = { authorization: `Bearer ${key}` }
  expect((await app.inject({ method: 'POST', url: '/', headers })).body).toBe(id)
  await app.close()
})

test('an upgrade to a WebSocket is refused before it is made', async () => {
  const sk = fakeStorekeeper()
  const check = verifyUpgrade(sk, 'READ')
  const server = createServer()
  server.on('upgrade', async (request, socket) => {
    const apiKey = await check(request, socket)
    if (apiKey) socket.end(`HTTP/1.1 101 Switching Protocols\r\n\r\n${apiKey.keyId}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const upgrade = async (authorization: string) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${authorization}\r\n`)
    return text(socket)
  }
  const refused = await upgrade('')
  expect(refused).toMatch(/^HTTP\/1\.1 401 /)
  expect(refused).toContain('www-authenticate: Bearer\r\n')
  expect(JSON.parse(refused.split('\r\n\r\n')[1] as string)).toMatchObject({ code: 'unauthenticated' })
  const { id, key } = sk.createKey()
  // Who hangs up while the key is verified ends neither the process nor the others.
  const gone = await new Promise((done) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
      socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`, () =>
        socket.resetAndDestroy(),
      )
      socket.once('close', done)
    })
  })
  expect(gone).toBe(false)
  expect(await upgrade(`Authorization: Bearer ${key}\r\n`)).toContain(id)
})

test('an adapter has at most 4 kB, and imports neither its framework nor Node.js', async () => {
  for (const name of ['express', 'fastify', 'hono', 'koa', 'web']) {
    const entryPoints = [`packages/client/src/adapters/${name}.ts`]
    const { outputFiles } = await build({ entryPoints, bundle: true, minify: true, format: 'esm', write: false })
    const code = outputFiles[0]?.contents as Uint8Array
    expect([name, new TextDecoder().decode(code).match(/\bfrom\s*["']|\brequire\(/)]).toEqual([name, null])
    expect(gzipSync(code, { level: 9 }).length, name).toBeLessThanOrEqual(4_000)
  }
})

test('the key of the caller has its type where each framework keeps it', () => {
  const sk = fakeStorekeeper()
  expectTypeOf<Express.Request['apiKey']>().toEqualTypeOf<ApiKey>()
  expectTypeOf<FastifyRequest['apiKey']>().toEqualTypeOf<ApiKey>()
  expectTypeOf<ApiKey['keyId'] | ApiKey['storeId']>().toEqualTypeOf<string>()
  expectTypeOf<ApiKey['permissions']>().toEqualTypeOf<string[]>()
  new Hono().get('/', honoKey(sk, 'READ'), (c) => {
    expectTypeOf(c.var.apiKey).toEqualTypeOf<ApiKey>()
    return c.text(c.var.apiKey.keyId)
  })
  new Hono().use(honoKey(sk)).get('/', (c) => c.text(c.var.apiKey.keyId))
  withKey(sk, 'READ', (_, { apiKey }) => {
    expectTypeOf(apiKey).toEqualTypeOf<ApiKey>()
    return new Response()
  })
  // @ts-expect-error: there is no such option.
  expect(() => requireKey(sk, 'READ', { type: ['PROD'] })).toThrow()
  // @ts-expect-error: there is no such type of key.
  requireKey(sk, 'READ', { types: ['LIVE'] })
  // @ts-expect-error: a handler gets an identity, not a refusal.
  withKey(sk, 'READ', (_, { verdict }) => new Response(verdict))
})
