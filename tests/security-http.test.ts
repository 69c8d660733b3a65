// Cases a hostile or careless caller will try, 26 to 31 and 33: HTTP itself, down to the bytes, and what is logged of it.

import diagnostics from 'node:diagnostics_channel'
import { request, type Server } from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { newId } from '../src/core/ids.ts'
import { routes } from '../src/routes.ts'
import { NEW_ADDRESS, NEW_KEY, type Shop, shop } from './shop.ts'
import { startTicking } from './ticks.ts'

test('26. no origin is reflected, and none is allowed that was not configured', async () => {
  const { api, owner, keys, node } = await shop({ alone: true })
  const open = await node({ CORS_ORIGINS: 'https://shop.example,https://admin.example' })
  const asked = async (url: string, origin: string, method = 'GET', headers: Record<string, string> = {}) => {
    const reply = await ask(url + keys, method, { origin, ...headers })
    const cors = Object.entries(reply.headers).filter(([name]) => name.startsWith('access-control-allow-origin'))
    return [reply.status, Object.fromEntries(cors)]
  }
  const as = { authorization: `Bearer ${owner.token}` }
  const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
  const foreign = [
    'https://evil.example',
    'null',
    'https://shop.example.evil.example',
    'http://shop.example',
    'https://SHOP.example:8443',
  ]
  for (const origin of foreign) {
    for (const { url } of [api, open]) {
      expect(await asked(url, origin, 'GET', as), origin).toEqual([200, {}])
      expect((await asked(url, origin, 'OPTIONS', preflight))[1], origin).toEqual({})
    }
  }
  expect(await asked(api.url, 'https://shop.example', 'OPTIONS', preflight)).toEqual([405, {}])
  const allowed = { 'access-control-allow-origin': 'https://shop.example' }
  expect(await asked(open.url, 'https://shop.example', 'GET', as)).toEqual([200, allowed])
  expect(await asked(open.url, 'https://shop.example')).toEqual([401, allowed])
  expect(await asked(open.url, 'https://shop.example', 'OPTIONS', preflight)).toEqual([204, allowed])
  expect((await ask(open.url + keys, 'GET', { origin: 'https://shop.example' })).headers.vary).toBe('Origin')
})

// ---- bytes ----------------------------------------------------------------------------------------------------------

test('27. bytes that two parsers could read in two ways: 400, and the connection is closed', async () => {
  const { api, owner, keys } = await shop()
  const head = `POST ${keys} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\nContent-Type: application/json\r\n`
  const body = JSON.stringify(NEW_KEY)
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const smuggled = `GET /v1/user HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\n\r\n`
  const broken: Record<string, string> = {
    'Content-Length with Transfer-Encoding': `${head}Content-Length: ${chunk.length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${smuggled}`,
    'Transfer-Encoding with Content-Length': `${head}Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n${chunk}${smuggled}`,
    'two Content-Lengths': `${head}Content-Length: ${body.length}\r\nContent-Length: 0\r\n\r\n${body}${smuggled}`,
    'two Content-Lengths that agree': `${head}Content-Length: ${body.length}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    'a list of Content-Lengths': `${head}Content-Length: ${body.length}, ${body.length}\r\n\r\n${body}`,
    'a negative Content-Length': `${head}Content-Length: -1\r\n\r\n${body}`,
    'a Content-Length with a sign': `${head}Content-Length: +${body.length}\r\n\r\n${body}`,
    'a Content-Length in hex': `${head}Content-Length: 0x10\r\n\r\n${body}`,
    'chunked twice': `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${smuggled}`,
    'a coding that nobody knows': `${head}Transfer-Encoding: xchunked\r\n\r\n${chunk}`,
    'chunked, but not last': `${head}Transfer-Encoding: chunked, gzip\r\n\r\n${chunk}`,
    'a chunk of no size': `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n${body}\r\n0\r\n\r\n`,
    'chunks that end with a bare LF': `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.replaceAll('\r\n', '\n')}`,
    'lines that end with a bare LF': 'GET /livez HTTP/1.1\nHost: x\n\n',
    'one line that ends with a bare LF': 'GET /livez HTTP/1.1\r\nHost: x\nX: y\r\n\r\n',
    'a bare CR in a value': 'GET /livez HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n',
    'a space before the colon': 'GET /livez HTTP/1.1\r\nHost : x\r\n\r\n',
    'a space before the name': 'GET /livez HTTP/1.1\r\n Host: x\r\n\r\n',
    'a folded line': 'GET /livez HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n',
    'NUL in a value': 'GET /livez HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n',
    'NUL in the path': 'GET /livez\0 HTTP/1.1\r\nHost: x\r\n\r\n',
    'an escape code in a value': 'GET /livez HTTP/1.1\r\nHost: x\r\nX: \x1b[31m\r\n\r\n',
    'no such method': 'FETCH /livez HTTP/1.1\r\nHost: x\r\n\r\n',
    'no such version': 'GET /livez HTTP/1.2\r\nHost: x\r\n\r\n',
    'no HTTP at all': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'a header without a name': 'GET /livez HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n',
  }
  for (const [what, bytes] of Object.entries(broken)) {
    const replies = await raw(api.url, bytes)
    expect(replies, what).toEqual([
      {
        status: 400,
        headers: expect.objectContaining({ 'content-type': 'application/problem+json', connection: 'close', ...SAFE }),
        body: {
          type: '/errors/bad_request',
          title: 'Malformed HTTP request',
          status: 400,
          detail: expect.any(String),
          instance: '',
          code: 'bad_request',
          requestId: expect.stringMatching(/^req_/),
        },
      },
    ])
  }
  expect((await api.get(keys, { as: owner.token })).body.data).toEqual([])
})

test('a request for a proxy, with a host before its path, puts no foreign host into a problem', async () => {
  const { api } = await shop()
  for (const [target, instance] of [
    ['http://evil.example/v1/user', '/v1/user'],
    ['HTTPS://evil.example:8443/v1/nothing?x=1', '/v1/nothing'],
    ['http://user@evil.example', '/'],
  ]) {
    const [reply] = await raw(api.url, `POST ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect([target, reply?.body.instance]).toEqual([target, instance])
  }
})

test('27. a header that may stand once, twice; or no Host: 400, and the same words as everywhere', async () => {
  const { api, owner } = await shop()
  const get = (lines: string) => raw(api.url, `GET /v1/user HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`)
  const as = `Authorization: Bearer ${owner.token}\r\n`
  expect((await get(`Host: x\r\n${as}`))[0]?.status).toBe(200)
  const wrong: Record<string, [string, string]> = {
    'no Host': [as, 'bad_request'],
    'two Hosts': [`Host: x\r\nHost: y\r\n${as}`, 'bad_request'],
    'two Hosts that agree': [`Host: x\r\nhOST: x\r\n${as}`, 'bad_request'],
    'two credentials': [`Host: x\r\n${as}${as}`, 'invalid_request'],
    'two Content-Types': [`Host: x\r\n${as}Content-Type: a/b\r\nContent-Type: a/b\r\n`, 'bad_request'],
    'two Idempotency-Keys': [`Host: x\r\n${as}Idempotency-Key: a\r\nIdempotency-Key: b\r\n`, 'bad_request'],
    'two Expected-Users': [`Host: x\r\n${as}${`Expected-User: ${owner.id}\r\n`.repeat(2)}`, 'bad_request'],
    'two If-Matches': [`Host: x\r\n${as}If-Match: "r1"\r\nIf-Match: "r2"\r\n`, 'bad_request'],
    'two Origins': [`Host: x\r\n${as}Origin: http://x\r\nOrigin: http://y\r\n`, 'bad_request'],
  }
  for (const [what, [lines, code]] of Object.entries(wrong)) {
    const [reply, ...more] = await get(lines)
    expect(more).toEqual([])
    expect(reply, what).toMatchObject({
      status: 400,
      headers: { 'content-type': expect.stringContaining('application/problem+json'), ...SAFE },
      body: { code, instance: '/v1/user', requestId: reply?.headers['x-request-id'] },
    })
  }
})

// ---- patience -------------------------------------------------------------------------------------------------------

test('28. whoever sends a byte now and then, or nothing at all, is closed in time, and others do not notice', async () => {
  const seen = new Promise<Server>((resolve) => {
    const hear = (message: unknown) => resolve((message as { server: Server }).server)
    diagnostics.subscribe('http.server.request.start', hear)
    onTestFinished(() => void diagnostics.unsubscribe('http.server.request.start', hear))
  })
  const { api, owner, keys } = await shop()
  const server = await seen
  expect(server).toMatchObject({
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 2_000,
    maxConnections: 10_000,
  })
  // The same, on a shorter watch.
  server.headersTimeout = 1_000
  server.requestTimeout = 3_000

  const elapsed = startTicking()
  const idle = Array.from({ length: 1_000 }, () => drip(api.url, '', ''))
  const slowHeader = drip(api.url, 'GET /livez HTTP/1.1\r\nHost: x\r\n', 'X')
  const head = `POST ${keys} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\n`
  const slowBody = drip(api.url, `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n`, ' ')
  const slowChunks = drip(
    api.url,
    `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    '1\r\n \r\n',
  )
  await sleep(100)
  // Answered while they wait, not after they were closed.
  const served = api.get('/v1/user', { as: owner.token }).then(({ status }) => status)
  const allOver = Promise.all([...idle, slowHeader, slowBody, slowChunks]).then(() => 'all are over')
  expect(await Promise.race([served, allOver])).toBe(200)

  const timedOut = { status: 408, body: expect.objectContaining({ code: 'request_timeout' }) }
  for (const slow of [slowHeader, slowBody, slowChunks]) expect(await slow).toEqual([expect.objectContaining(timedOut)])
  await Promise.all(idle)
  // One second or three, and at most two until somebody looks.
  expect(elapsed()).toBeLessThan(12_000)
  expect((await api.get('/v1/user', { as: owner.token })).status).toBe(200)
  await expectUnderWay(api, 1)
})

test('28. a caller who goes away in the middle is not counted for ever, and is no fault of ours', async () => {
  const { api, owner, keys, logs } = await shop({ alone: true })
  const head = `POST ${keys} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\n`
  for (let i = 0; i < 20; i++) {
    const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`)
    await sleep(10)
    socket.destroy()
  }
  await Promise.all(
    Array.from({ length: 20 }, () =>
      raw(api.url, `GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n`),
    ),
  )
  await Promise.all(
    Array.from({ length: 20 }, () =>
      raw(api.url, `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`),
    ),
  )
  await expectUnderWay(api, 1)
  expect(linesOf(logs()).filter(({ level }) => level > 30)).toEqual([])
})

// ---- methods and paths ----------------------------------------------------------------------------------------------

test('29. a method that a path does not have: 405 with Allow, whoever asks', async () => {
  const { api, owner, store } = await shop()
  const paths = [...new Set(routes.map(({ path }) => path))]
  for (const path of paths) {
    // It is the path of a customer too, whose id at the shop is "import".
    if (path.endsWith('/customers/import')) continue
    const has = routes.filter((row) => row.path === path).map(({ method }) => method as string)
    if (has.includes('GET')) has.splice(has.indexOf('GET'), 1, 'GET', 'HEAD')
    const lacking = ['TRACE', 'PROPFIND', 'PUT', 'OPTIONS', 'GET', 'POST', 'PATCH', 'DELETE'].filter(
      (method) => !has.includes(method),
    )
    const url =
      api.url +
      path.replace(':storeId', store.id).replace(/:(\w+)Id/, (_, kind) => newId(kind === 'address' ? 'addr' : kind))
    for (const method of lacking) {
      const reply = await ask(url, method, { authorization: `Bearer ${owner.token}` })
      const what = `${method} ${path}`
      expect([reply.status, reply.headers.allow?.split(', ').sort()], what).toEqual([405, [...has].sort()])
      expect(reply.body, what).toMatchObject({ code: 'method_not_allowed', status: 405 })
    }
  }
  for (const page of ['/livez', '/readyz', '/metrics', '/docs', '/openapi.json', '/', '/errors', '/errors/not_found']) {
    const reply = await ask(api.url + page, 'POST')
    expect([reply.status, reply.headers.allow], page).toEqual([405, 'GET, HEAD'])
  }
  expect((await ask(`${api.url}/v1/nothing`, 'TRACE')).body).toMatchObject({ code: 'not_found', status: 404 })
})

test('29. X-HTTP-Method-Override and its kin are ignored', async () => {
  const { api, owner, store } = await shop()
  const path = `/v1/user/store/${store.id}`
  for (const header of ['x-http-method-override', 'x-http-method', 'x-method-override'])
    for (const method of ['GET', 'PATCH']) {
      const options = { as: owner.token, headers: { [header]: 'DELETE' } }
      expect((await api.ask(method, path, method === 'PATCH' ? {} : undefined, options)).body).toEqual(store)
    }
  expect((await api.get(`${path}?_method=DELETE`, { as: owner.token })).status).toBe(422)
  const form = {
    as: owner.token,
    raw: '_method=DELETE',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }
  expect((await api.ask('PATCH', path, undefined, form)).status).toBe(415)
  expect((await api.get(path, { as: owner.token })).body).toEqual(store)
})

test('30. odd paths, long URLs and too many headers: 400, 404, 414 or 431, never another route and never 500', async () => {
  const { api, owner, store, logs } = await shop({ alone: true })
  const as = `Authorization: Bearer ${owner.token}\r\n`
  const paths = [
    '/v1/%zz',
    '/%c0%ae',
    '/%',
    '/%ff',
    '//',
    '///v1/user',
    '//v1/user',
    '/../',
    '/../v1/user',
    '/./v1/user',
    '/v1/../v1/user',
    '/v1/./user',
    '/v1/%2e%2e/v1/user',
    '/v1/%2e/user',
    '/v1//user',
    '/v1/user/',
    '/v1/user//store',
    '/v1%2fuser',
    '/v1\\user',
    '/V1/USER',
    '/v1/user;x=1',
    '/v1/user%20',
    '/v1/user%00',
    '/v1/user%0d%0aX:%20y',
    '/v1/usеr',
    '/v2/user',
    '/v1/user/store/..%2f..%2fuser',
    `/v1/user/store/${store.id}/keys/..`,
    `/v1/user/store/${store.id}/keys/%2e%2e`,
    '/docs/../v1/user',
    '/errors/../v1/user',
    '/errors/..%2fv1%2fuser',
    '/errors/__proto__',
    '/errors/constructor',
    '/.git/config',
    '/.env',
    '/etc/passwd',
    '*',
    '?x',
    'http:x',
    'ftp://x/v1/user',
    'v1/user',
    `/v1/user/store/${'a'.repeat(10_000)}`,
    `/v1/user/store/${'%41'.repeat(3_000)}/keys`,
    `/${'a/'.repeat(5_000)}`,
    `/${'a'.repeat(10_000)}`,
    `/${'a'.repeat(20_000)}`,
    `/v1/user?${'a'.repeat(20_000)}`,
  ]
  for (const path of paths) {
    const [reply, ...more] = await raw(
      api.url,
      Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n${as}Connection: close\r\n\r\n`),
    )
    expect(more, path).toEqual([])
    expect([400, 404, 414, 431], `${path.slice(0, 80)} ${reply?.status}`).toContain(reply?.status)
    expect(reply, path).toMatchObject({
      headers: { 'content-type': expect.stringContaining('application/problem+json'), ...SAFE },
      body: { status: reply?.status, requestId: expect.stringMatching(/^req_/) },
    })
  }
  const many = (n: number, after = '') => {
    const lines = Array.from({ length: n }, (_, i) => `X-${i}: ${i}\r\n`).join('')
    return raw(api.url, `GET /v1/user HTTP/1.1\r\nHost: x\r\n${as}Connection: close\r\n${lines}${after}\r\n`)
  }
  expect((await many(90))[0]?.status).toBe(200)
  for (const reply of [await many(98), await many(200), await many(1_000), await many(3_000), await many(200, as)])
    expect(reply, 'too many headers').toMatchObject([
      { status: 431, body: { code: 'headers_too_large' }, headers: SAFE },
    ])
  expect(
    (await raw(api.url, `GET /v1/user HTTP/1.1\r\nHost: x\r\n${as}X: ${'x'.repeat(20_000)}\r\n\r\n`))[0]?.status,
  ).toBe(431)
  // What nobody expected of us changes nothing.
  const expecting = await raw(
    api.url,
    `GET /v1/user HTTP/1.1\r\nHost: x\r\n${as}Expect: miracles\r\nConnection: close\r\n\r\n`,
  )
  expect(expecting[0]?.status).toBe(200)
  expect(linesOf(logs()).filter(({ level }) => level > 30)).toEqual([])
})

// ---- what every answer says -----------------------------------------------------------------------------------------

test('31. every answer carries the headers that keep a browser out of trouble, and says nothing of the server', async () => {
  const { api, owner, store, keys, billing } = await shop()
  const as = { authorization: `Bearer ${owner.token}` }
  const json = { ...as, 'content-type': 'application/json' }
  const answers = {
    200: await ask(`${api.url}/v1/user`, 'GET', as),
    201: await ask(api.url + billing, 'POST', json, JSON.stringify(NEW_ADDRESS)),
    400: await ask(api.url + keys, 'POST', json, '{'),
    401: await ask(api.url + keys, 'GET'),
    404: await ask(`${api.url}/nothing`, 'GET'),
    405: await ask(api.url + keys, 'PUT', as),
    413: await ask(api.url + keys, 'POST', json, ' '.repeat(70_000)),
    415: await ask(api.url + keys, 'POST', { ...as, 'content-type': 'text/xml' }, '<a/>'),
    422: await ask(api.url + keys, 'POST', json, '{}'),
    204: await ask(`${api.url}/v1/user/store/${store.id}`, 'DELETE', as),
  }
  for (const [status, reply] of Object.entries(answers)) {
    expect(reply.status).toBe(Number(status))
    expect(reply.headers, status).toMatchObject({ ...SAFE, 'x-request-id': expect.stringMatching(/^req_/) })
    for (const name of ['server', 'x-powered-by', 'via']) expect(reply.headers, status).not.toHaveProperty(name)
  }
  const script = /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w+/=]+'; .*; frame-ancestors 'none'/
  const text = /^default-src 'none'; style-src 'sha256-[\w+/=]+'; frame-ancestors 'none'/
  for (const [page, policy] of Object.entries({ '/': script, '/docs': text, '/errors': text })) {
    const { headers } = await ask(api.url + page, 'GET')
    expect(headers['content-security-policy'], page).toMatch(policy)
    expect(headers['content-security-policy'], page).not.toContain('unsafe')
    expect(headers['x-content-type-options'], page).toBe('nosniff')
  }
})

test('31. a forced 500 shows a requestId and nothing else, is logged without what was sent, and is not remembered', async () => {
  const { api, owner, keys, billing, sql, logs } = await shop({ alone: true })
  await sql('alter table events rename to elsewhere')
  const sent = { ...NEW_KEY, name: 'Very particular name', metadata: { secret: 'Very particular secret' } }
  const options = { as: owner.token, headers: { 'idempotency-key': 'very-particular-key' } }
  for (const [path, body] of [
    [keys, sent],
    [billing, NEW_ADDRESS],
    ['/v1/user/store', { name: 'Very particular store' }],
  ] as const) {
    const reply = await api.post(path, body, options)
    expect(reply.status, path).toBe(500)
    expect(reply.headers.get('content-type')).toContain('application/problem+json')
    expect(reply.body).toEqual({
      type: '/errors/internal_error',
      title: 'Internal error',
      status: 500,
      detail: 'Nothing was changed. Try again; if it keeps happening, give the operator the "requestId".',
      instance: path,
      code: 'internal_error',
      requestId: reply.headers.get('x-request-id'),
    })
    const [line] = linesOf(logs()).filter(({ level, requestId }) => level === 50 && requestId === reply.body.requestId)
    expect(line).toMatchObject({ msg: 'failed', err: { code: '42P01', stack: expect.stringContaining('at ') } })
  }
  expect(logs()).not.toMatch(/particular|elsewhere|relation/)
  await sql('alter table elsewhere rename to events')
  const retried = await api.post(keys, sent, options)
  expect([retried.status, retried.headers.get('idempotent-replayed')]).toEqual([201, null])
})

test('33. whatever stands in a name, a user agent or an e-mail, a request is one line of the log, and not its own words', async () => {
  const { api, owner, keys, logs } = await shop({ alone: true })
  const before = linesOf(logs()).length
  const forged = '{"level":60,"time":0,"msg":"forged"}'
  const account = { email: owner.email, password: owner.password }
  const agents = [
    forged,
    `x", "level": 60, "y": "`,
    '%0d%0aforged',
    '\\r\\nforged',
    '\u00ff\u00fe forged',
    `${'forged '.repeat(200)}`,
  ]
  for (const agent of agents) {
    const reply = await ask(
      `${api.url}/v1/auth/sign-in`,
      'POST',
      { 'user-agent': agent, 'content-type': 'application/json' },
      JSON.stringify(account),
    )
    expect(reply.status).toBe(200)
  }
  const { data } = (await api.get('/v1/user/sessions', { as: owner.token })).body
  expect(data.map(({ userAgent }: { userAgent: string }) => userAgent).slice(0, agents.length)).toEqual(
    agents.map((agent) => agent.slice(0, 300).trimEnd()).reverse(),
  )
  const names = [forged, 'forged\r\n{"level":60}', '\x1b[2Jforged', 'forged\u2028']
  for (const name of names) {
    await api.post(keys, { ...NEW_KEY, name }, { as: owner.token })
    await api.post('/v1/auth/sign-up', { email: `${name}@example.com`, password: 'four words nobody joins' })
    await api.post('/v1/auth/sign-in', { email: `${name}\r\n@example.com`, password: 'four words nobody joins' })
    await api.get(`/v1/${encodeURIComponent(name)}`, { as: owner.token })
    await api.get(`${keys}?${encodeURIComponent(name)}=${encodeURIComponent(name)}`, { as: owner.token })
    await api.get(keys, { as: name.replace(/[^ -~]/g, '') })
    await api.post(keys, NEW_KEY, { as: owner.token, headers: { 'idempotency-key': name.replace(/[^ -~]/g, '') } })
    await api.get(keys, { as: owner.token, headers: { 'x-request-id': forged, 'x-forwarded-for': forged } })
  }
  const lines = linesOf(logs())
  expect(lines.length - before).toBe(agents.length + 1 + 8 * names.length)
  const known = ['level', 'time', 'requestId', 'method', 'route', 'status', 'ms', 'caller', 'msg']
  for (const line of lines) {
    expect(line.level).toBe(30)
    expect(Object.keys(line).filter((name) => !known.includes(name))).toEqual([])
  }
  expect(logs()).not.toContain('forged')
})

// ---- helpers --------------------------------------------------------------------------------------------------------

const SAFE = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'cache-control': 'no-store',
}

/** A test looks into answers freely, and a wrong look fails it. */
type Seen = { status: number; headers: Record<string, string>; body: any }

/** With any method and header that HTTP has; fetch refuses some. */
function ask(url: string, method: string, headers: Record<string, string> = {}, body = ''): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers: { ...headers, ...(body ? { 'content-length': Buffer.byteLength(body) } : {}) } },
      (reply) => {
        let text = ''
        reply.on('data', (bytes) => {
          text += bytes
        })
        reply.on('end', () => {
          const isJson = reply.headers['content-type']?.includes('json') && text !== ''
          resolve({
            status: reply.statusCode ?? 0,
            headers: reply.headers as Record<string, string>,
            body: isJson ? JSON.parse(text) : text,
          })
        })
      },
    )
    sent.on('error', reject)
    // As bytes: with a string Node writes the headers in UTF-8 too.
    sent.end(Buffer.from(body))
  })
}

/** Sends these very bytes and reads every answer until the connection is closed. */
function raw(url: string, bytes: string | Buffer): Promise<Seen[]> {
  return drip(url, bytes, null)
}

/** Sends bytes, then another few each tenth of a second, until the other side has had enough. */
function drip(url: string, first: string | Buffer, then: string | null): Promise<Seen[]> {
  return new Promise((resolve) => {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
    const got: Buffer[] = []
    const again = then ? setInterval(() => socket.writable && socket.write(then), 100) : undefined
    socket.on('data', (data) => got.push(data))
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(again)
      resolve(answersIn(Buffer.concat(got).toString('latin1')))
    })
    if (first.length > 0) socket.write(typeof first === 'string' ? Buffer.from(first, 'latin1') : first)
  })
}

function answersIn(text: string): Seen[] {
  const answers: Seen[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [line = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((header) => [
        header.slice(0, header.indexOf(':')).toLowerCase(),
        header.slice(header.indexOf(':') + 2),
      ]),
    )
    const length = Number(headers['content-length'] ?? 0)
    const body = rest.slice(end + 4, end + 4 + length)
    answers.push({
      status: Number(line.split(' ')[1]),
      headers,
      body: headers['content-type']?.includes('json') ? JSON.parse(body) : body,
    })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}

async function expectUnderWay(api: Shop['api'], count: number): Promise<void> {
  const read = async () => /^storekeeper_http_requests_under_way (-?\d+)$/m.exec((await api.get('/metrics')).text)?.[1]
  await expect.poll(read).toBe(String(count))
}

type Line = { level: number; requestId?: string; [name: string]: unknown }
function linesOf(logs: string): Line[] {
  return logs
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
