import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { HOUR, MINUTE, SECOND, travel } from '../core/clock.ts'

const AUDIENCE = 'https://storekeeper.example'
/** Where nobody else listens: a provider that starts again finds its port free. */
const HOST = '127.0.0.9'
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const
type Algorithm = (typeof ALGORITHMS)[number]
type Claims = Record<string, unknown>

type Pairs = Map<Algorithm, { publicKey: CryptoKey; privateKey: CryptoKey }>

async function newPairs(): Promise<Pairs> {
  const pairs: Pairs = new Map()
  for (const alg of ALGORITHMS) pairs.set(alg, await generateKeyPair(alg, { extractable: true }))
  return pairs
}

let ordinary: Promise<Pairs> | undefined

/** Of every provider that has no other beside it: to make a key of RSA takes a good part of a second. */
function ordinaryPairs(): Promise<Pairs> {
  ordinary ??= newPairs()
  return ordinary
}

/** An identity provider on this machine: it publishes a key of each kind and signs with them. */
type Provider = {
  issuer: string
  url: string
  /** How often its keys were asked for. */
  asked(): number
  publicPem: string
  token(claims?: Claims, alg?: Algorithm, header?: Partial<JWTHeaderParameters>): Promise<string>
  /** What it answers from now on instead of its keys. */
  answerWith(status: number, body: string): void
  stop(): Promise<void>
  startAgain(): Promise<void>
}

async function provider(its: Promise<Pairs> = ordinaryPairs()): Promise<Provider> {
  const pairs = await its
  const keys = await Promise.all(
    [...pairs].map(async ([alg, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid: `the ${alg} key`, alg })),
  )
  let [status, body] = [200, JSON.stringify({ keys })]
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(body)
  })
  const port = await listen(server, 0)
  onTestFinished(() => stop(server))
  const issuer = `http://${HOST}:${port}/`
  return {
    issuer,
    url: `${issuer}jwks`,
    asked: () => asked,
    publicPem: await exportSPKI(pairs.get('RS256')?.publicKey as CryptoKey),
    token: (claims = {}, alg = 'RS256', header = {}) =>
      sign({ iss: issuer, ...claims }, pairs.get(alg)?.privateKey as CryptoKey, {
        alg,
        kid: `the ${alg} key`,
        ...header,
      }),
    answerWith: (newStatus, newBody) => {
      status = newStatus
      body = newBody
    },
    stop: () => stop(server),
    startAgain: async () => void (await listen(server, port)),
  }
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, HOST, resolve))
  return (server.address() as AddressInfo).port
}

async function stop(server: Server): Promise<void> {
  if (server.listening) await new Promise((resolve) => server.close(resolve))
}

const seconds = (ms = 0) => Math.floor((Date.now() + ms) / 1000)

/** Ahead of us, in milliseconds, and what no date can be made of. */
const SENSELESS_TIMES = [seconds(HOUR), seconds(-HOUR) * 1_000, 1e300, -1, -1e12, -1e300]

/** A good token but for what the claims say otherwise; a claim that is undefined is left out. */
function sign(claims: Claims, key: Parameters<SignJWT['sign']>[0], header: JWTHeaderParameters): Promise<string> {
  const payload = { aud: AUDIENCE, sub: 'ada', iat: seconds(), exp: seconds(HOUR), ...claims }
  return new SignJWT(payload).setProtectedHeader(header).sign(key)
}

function unsafe(header: object, claims: Claims, signature = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const payload = { aud: AUDIENCE, sub: 'ada', iat: seconds(), exp: seconds(HOUR), ...claims }
  return `${part(header)}.${part(payload)}.${signature}`
}

function world(at: Provider): Promise<Shop> {
  return shop({ JWT_ISSUER: at.issuer, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: at.url })
}

/** A problem without the two members that belong to one request. */
function told({ body: { requestId: _, instance: __, ...rest } }: Reply): object {
  return rest
}

const usersOf = ({ sql }: Shop) => sql('select issuer, subject from users where issuer is not null order by subject')

// ---- users of the provider ------------------------------------------------------------------------------------------

test('401: an ID token is no access token, whatever its audience, nor is a token of another type', async () => {
  const idp = await provider()
  const { api } = await world(idp)
  const statusOf = async (claims: Claims, typ?: unknown) => {
    const token = await idp.token(claims, 'RS256', (typ === undefined ? {} : { typ }) as { typ: string })
    return (await api.get('/v1/user', { as: token })).status
  }
  for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt']) expect(await statusOf({}, typ)).toBe(200)
  for (const claim of ['nonce', 'at_hash', 'c_hash'])
    for (const typ of [undefined, 'JWT']) expect([claim, await statusOf({ [claim]: 'x' }, typ)]).toEqual([claim, 401])
  for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt', '', ['at+jwt'], { toString: 'x' }, 1, true])
    expect([typ, await statusOf({}, typ)]).toEqual([typ, 401])
})

test('a user of the identity provider is made at first sight, and is the same one ever after', async () => {
  const idp = await provider()
  const w = await world(idp)
  const { api, sql, node } = w
  const first = await api.get('/v1/user', { as: await idp.token() })
  expect([first.status, first.body]).toEqual([
    200,
    {
      user: {
        id: expect.stringMatching(/^user_/),
        email: null,
        emailVerified: false,
        pendingEmail: null,
        name: null,
        mail: { newSignIns: true, leakedKeys: true, expiringKeys: true },
        secondFactor: { totp: false, passkeys: 0, recoveryCodesLeft: 0 },
        createdAt: expect.stringMatching(/Z$/),
      },
      stores: [],
    },
  ])
  for (const alg of ALGORITHMS)
    expect((await api.get('/v1/user', { as: await idp.token({}, alg) })).body).toEqual(first.body)
  const list = await idp.token({ aud: ['https://other.example', AUDIENCE] })
  expect((await api.get('/v1/user', { as: list })).body).toEqual(first.body)
  const elsewhere = await node()
  expect((await elsewhere.get('/v1/user', { as: await idp.token() })).body).toEqual(first.body)

  const other = await api.get('/v1/user', { as: await idp.token({ sub: 'Ada' }) })
  expect(other.body.user.id).not.toBe(first.body.user.id)
  expect(await usersOf(w)).toEqual(
    expect.arrayContaining(['Ada', 'ada'].map((subject) => ({ issuer: idp.issuer, subject }))),
  )
  expect(
    await sql("select store_id, actor, subject, data from events where type = 'user.created' and subject = $1", [
      first.body.user.id,
    ]),
  ).toEqual([
    {
      store_id: null,
      actor: { kind: 'user', id: first.body.user.id, credential: null, ip: '127.0.0.1' },
      subject: first.body.user.id,
      data: {},
    },
  ])
})

test('first requests that come at once, on two nodes, make one user', async () => {
  const idp = await provider()
  const w = await world(idp)
  const elsewhere = await w.node()
  const token = await idp.token({ sub: 'at once' })
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => (n % 2 ? elsewhere : w.api).get('/v1/user', { as: token })),
  )
  expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200))
  expect(new Set(answers.map((answer) => answer.body.user.id)).size).toBe(1)
  expect(await usersOf(w)).toEqual([{ issuer: idp.issuer, subject: 'at once' }])
  expect(
    await w.sql(
      "select id from events where type = 'user.created' and subject in (select id from users where issuer is not null)",
    ),
  ).toHaveLength(1)
})

test('a user of the identity provider makes a store, a key and a billing address', async () => {
  const idp = await provider()
  const { api } = await world(idp)
  const as = await idp.token({}, 'ES256')
  const store = await api.post('/v1/user/store', { name: 'Engines' }, { as })
  expect(store.status).toBe(201)
  const key = await api.post(`/v1/user/store/${store.body.id}/keys`, NEW_KEY, { as })
  expect(key.status).toBe(201)
  expect((await api.get(`/v1/user/store/${store.body.id}`, { as: key.body.key })).body).toEqual(store.body)
  const address = await api.post(`/v1/store/${store.body.id}/billing`, NEW_ADDRESS, { as })
  const { id } = (await api.get('/v1/user', { as })).body.user
  expect([address.status, address.body.userId]).toEqual([201, id])
  expect((await api.get(`/v1/store/${store.body.id}/billing`, { as: await idp.token() })).body.data).toEqual([
    address.body,
  ])
  expect((await api.get(`/v1/user/store/${store.body.id}/members`, { as })).body.data).toMatchObject([
    { userId: id, name: null, email: null, role: 'OWNER' },
  ])

  expect((await api.get('/v1/user/sessions', { as })).body).toEqual({ data: [], nextCursor: null })
  expect((await api.post('/v1/auth/sign-out', undefined, { as })).status).toBe(204)
  const change = { currentPassword: '', newPassword: 'another horse, another battery' }
  expect((await api.post('/v1/user/password', change, { as })).body.code).toBe('invalid_credentials')
})

test('e-mail and name follow the tokens of the provider, written once for each change and by no older token', async () => {
  const idp = await provider()
  const { api, node, sql } = await world(idp)
  const elsewhere = await node()
  const meWith = async (claims: Claims, at = api) => {
    const { status, body } = await at.get('/v1/user', { as: await idp.token(claims) })
    return [status, body.user.email, body.user.name]
  }
  const ada = { email: 'Ada@Example.com', email_verified: true, name: ' Ada  Lovelace ' }
  expect(await meWith(ada)).toEqual([200, 'ada@example.com', 'Ada  Lovelace'])
  const [row] = await sql(`select id, xmin::text as version from users where subject = 'ada'`)
  const versionOf = async () => (await sql(`select xmin::text as version from users where subject = 'ada'`))[0].version
  // The same, less, and what may not be taken over: nothing is written.
  const later = { iat: seconds(MINUTE) }
  travel(2 * MINUTE)
  for (const claims of [
    ada,
    { ...ada, ...later },
    later,
    { ...later, email: 'countess@example.com', email_verified: false },
    { ...later, email: 'countess@example.com', email_verified: 'false' },
    { ...later, email: 'no address', name: '' },
    { ...later, email: ['countess@example.com'], name: 7 },
    { ...later, name: 'x'.repeat(101) },
    { ...later, name: 'Ada\u202eecalevoL' },
    { email: 'countess@example.com', iat: undefined },
    { email: 'countess@example.com', iat: seconds(-MINUTE) },
  ])
    for (const at of [api, elsewhere])
      expect([claims, await meWith(claims, at)]).toEqual([claims, [200, 'ada@example.com', 'Ada  Lovelace']])
  expect(await versionOf()).toBe(row.version)

  // A newer token, at two nodes at once; then the older one again.
  const countess = { ...later, email: 'countess@example.com', name: 'Ada King' }
  const changed = [200, 'countess@example.com', 'Ada King']
  expect(await Promise.all([meWith(countess), meWith(countess, elsewhere), meWith(countess)])).toEqual(
    Array(3).fill(changed),
  )
  expect([await meWith(ada), await meWith(ada, elsewhere)]).toEqual([changed, changed])
  expect(await sql(`select data from events where type = 'user.updated' and subject = $1`, [row.id])).toEqual([
    { data: { changed: ['email', 'name'] } },
  ])
  const members = await api.post('/v1/user/store', { name: 'Engines' }, { as: await idp.token() })
  expect((await api.get(`/v1/user/store/${members.body.id}/members?q=countess`, { as: await idp.token() })).body.data) //
    .toMatchObject([{ userId: row.id, name: 'Ada King', email: 'countess@example.com' }])
})

test('a token that says it was issued at no time, or ahead of us, changes neither e-mail nor name', async () => {
  const idp = await provider()
  const { api } = await world(idp)
  const meWith = async (claims: Claims) => {
    const { status, body } = await api.get('/v1/user', { as: await idp.token(claims) })
    return [status, body.user?.email, body.user?.name]
  }
  const ada = { email: 'ada@example.com', name: 'Ada Lovelace' }
  const countess = { email: 'countess@example.com', name: 'Ada King' }
  expect(await meWith(ada)).toEqual([200, ada.email, ada.name])
  travel(2 * MINUTE)
  for (const iat of SENSELESS_TIMES)
    expect([iat, await meWith({ ...countess, iat })]).toEqual([iat, [200, ada.email, ada.name]])
  // A provider's clock may be ahead by a few seconds.
  expect(await meWith({ ...countess, iat: seconds(2 * MINUTE + 3 * SECOND) })) //
    .toEqual([200, countess.email, countess.name])
  // At first sight there is nothing that could be newer.
  for (const [n, iat] of SENSELESS_TIMES.entries()) {
    const email = `new${n}@example.com`
    expect([iat, await meWith({ sub: `new ${n}`, email, iat })]).toEqual([iat, [200, email, null]])
  }
})

test('a provider’s user never gets the e-mail of another account, and keeps from nobody what was not verified', async () => {
  const idp = await provider()
  const { api, owner, sql } = await world(idp)
  const me = async (claims: Claims) => {
    const { body } = await api.get('/v1/user', { as: await idp.token(claims) })
    return [body.user.id === owner.id, body.user.email, body.user.name]
  }
  // An account with a password has the address: it stays theirs, also when the provider vouches for it.
  const claims = { email: owner.email, email_verified: true, name: 'Mallory' }
  expect(await me(claims)).toEqual([false, null, 'Mallory'])
  const version = async () => (await sql(`select xmin::text from users where subject = 'ada'`))[0].xmin
  travel(2 * MINUTE)
  const fresh = { ...claims, iat: seconds(MINUTE) }
  expect(await me(fresh)).toEqual([false, null, 'Mallory'])
  const before = await version()
  for (let n = 0; n < 3; n++) expect(await me(fresh)).toEqual([false, null, 'Mallory'])
  expect(await version()).toBe(before)
  const signIn = await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })
  expect([signIn.status, signIn.body.user.id]).toEqual([200, owner.id])

  // An address that the provider has verified: there is no password to sign in with or to change, and nobody else gets it.
  const grace = { sub: 'grace', email: 'grace@example.com', email_verified: 'true' }
  expect(await me(grace)).toEqual([false, 'grace@example.com', null])
  const password = 'correct horse battery staple'
  expect((await api.post('/v1/auth/sign-in', { email: 'grace@example.com', password })).status).toBe(401)
  const change = { currentPassword: '', newPassword: 'another horse, another battery' }
  const refused = await api.post('/v1/user/password', change, { as: await idp.token(grace) })
  expect([refused.status, refused.body.code]).toEqual([401, 'invalid_credentials'])
  const taken = await api.post('/v1/auth/sign-up', { email: 'grace@example.com', password })
  expect([taken.status, taken.body.code]).toEqual([409, 'email_taken'])

  // One that it says nothing about: who signs up with it gets it, and the provider's user does not get it back.
  const mary = { sub: 'mary', email: 'mary@example.com' }
  const isVerified = async () =>
    (await api.get('/v1/user', { as: await idp.token({ ...mary, iat: undefined }) })).body.user.emailVerified
  expect([await me(mary), await isVerified()]).toEqual([[false, 'mary@example.com', null], false])
  const made = await api.post('/v1/auth/sign-up', { email: 'mary@example.com', password })
  expect([made.status, made.body.user.email]).toEqual([201, 'mary@example.com'])
  travel(5 * MINUTE)
  expect(await me({ ...mary, email_verified: true, iat: seconds(4 * MINUTE) })).toEqual([false, null, null])
  expect(await sql(`select id from users where email = 'mary@example.com'`)).toEqual([{ id: made.body.user.id }])
  // Two users of the provider with one address: the first has it.
  expect(await me({ sub: 'one', email: 'both@example.com' })).toEqual([false, 'both@example.com', null])
  expect(await me({ sub: 'two', email: 'both@example.com' })).toEqual([false, null, null])
  // What was unverified becomes verified by a newer token that says so.
  travel(8 * MINUTE)
  await me({ sub: 'one', email: 'both@example.com', email_verified: true, iat: seconds(14 * MINUTE) })
  const [{ email_verified_at }] = await sql(`select email_verified_at from users where email = 'both@example.com'`)
  expect(email_verified_at).toBeInstanceOf(Date)
})

// ---- tokens that are no good ----------------------------------------------------------------------------------------

test('401: a token that anyone could have made, or that is not for us, is refused', async () => {
  const idp = await provider()
  const mallory = await provider(newPairs())
  const w = await world(idp)
  const { privateKey: forger, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const forged = (header: object, claims: Claims = {}) =>
    sign({ iss: idp.issuer, ...claims }, forger, { alg: 'RS256', kid: 'the RS256 key', ...header })
  const hs256 = (header: object, secret: string) => {
    const unsigned = unsafe({ alg: 'HS256', ...header }, { iss: idp.issuer }).slice(0, -1)
    return `${unsigned}.${createHmac('sha256', secret).update(unsigned).digest('base64url')}`
  }
  const good = await idp.token()
  const [head, payload, signature] = good.split('.') as [string, string, string]
  const { x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })

  const refused: Record<string, string> = {
    'alg none': unsafe({ alg: 'none' }, { iss: idp.issuer }),
    'alg none with a signature': unsafe({ alg: 'none' }, { iss: idp.issuer }, signature),
    'alg None': unsafe({ alg: 'None', kid: 'the RS256 key' }, { iss: idp.issuer }, signature),
    'no alg': unsafe({ kid: 'the RS256 key' }, { iss: idp.issuer }, signature),
    'HS256 over the public key': hs256({ kid: 'the RS256 key' }, idp.publicPem),
    'HS256 over the public key, without kid': hs256({}, idp.publicPem.trim()),
    'HS256 over nothing, with a path as kid': hs256({ kid: '../../../../dev/null' }, ''),
    'a signature by another key': await forged({}),
    'a key of its own in jwk': await forged({ jwk: await exportJWK(publicKey) }),
    'a key of its own in jwk, without kid': await forged({ kid: undefined, jwk: await exportJWK(publicKey) }),
    'keys of its own in jku': await forged({ jku: mallory.url }),
    'keys of its own in x5u': await forged({ x5u: mallory.url }),
    'a certificate of its own in x5c': await forged({ x5c: [Buffer.from('certificate').toString('base64')] }),
    'a kid with a path': await forged({ kid: '../../../../etc/passwd' }),
    'a kid with SQL': await forged({ kid: "' union select 'the RS256 key" }),
    'a kid that is a URL': await forged({ kid: mallory.url }),
    'a kid that does not exist': await forged({ kid: 'the key of tomorrow' }),
    'a signature of zeros': unsafe(
      { alg: 'ES256', kid: 'the ES256 key' },
      { iss: idp.issuer },
      Buffer.alloc(64).toString('base64url'),
    ),
    'the alg of one key with the kid of another': await idp.token({}, 'ES256', { kid: 'the RS256 key' }),
    'a critical extension we do not know': unsafe(
      { alg: 'RS256', kid: 'the RS256 key', crit: ['exp2'], exp2: 1 },
      { iss: idp.issuer },
      signature,
    ),
    'an altered payload': `${head}.${Buffer.from(JSON.stringify({ iss: idp.issuer, aud: AUDIENCE, sub: 'root', exp: seconds(HOUR) })).toString('base64url')}.${signature}`,
    'an altered signature': `${head}.${payload}.${signature.slice(0, -6)}AAAAAA`,
    'no signature': `${head}.${payload}.`,
    'five parts': `${good}.${x}.${y}`,
    'not JSON': 'YQ.YQ.YQ',
    'too long': await idp.token({ padding: 'x'.repeat(7_000) }),
    'another issuer': await idp.token({ iss: 'https://other.example/' }),
    'another issuer, signed by it': await mallory.token(),
    'an issuer but for the slash': await idp.token({ iss: idp.issuer.slice(0, -1) }),
    'an issuer in a list': await idp.token({ iss: [idp.issuer] }),
    'no issuer': await idp.token({ iss: undefined }),
    'another audience': await idp.token({ aud: 'https://other.example' }),
    'an audience that begins like ours': await idp.token({ aud: `${AUDIENCE}.evil.example` }),
    'no audience': await idp.token({ aud: undefined }),
    'an exp that is past': await idp.token({ exp: seconds(-MINUTE) }),
    'an nbf that is to come': await idp.token({ nbf: seconds(MINUTE) }),
    'no exp': await idp.token({ exp: undefined }),
    'an exp that is text': await idp.token({ exp: String(seconds(HOUR)) }),
    'no sub': await idp.token({ sub: undefined }),
    'an empty sub': await idp.token({ sub: '' }),
    'a sub that is a number': await idp.token({ sub: 7 }),
    'a sub of 256 characters': await idp.token({ sub: 'x'.repeat(256) }),
    'a sub with NUL': await idp.token({ sub: 'a\0b' }),
    'a sub with half a character': await idp.token({ sub: 'a\ud800b' }),
  }
  const expected = told(await w.api.get('/v1/user', { as: 'nonsense' }))
  expect(expected).toMatchObject({ status: 401, code: 'invalid_token' })
  for (const [what, as] of Object.entries(refused)) {
    const answer = await w.api.get('/v1/user', { as })
    expect([what, answer.status]).toEqual([what, 401])
    expect([what, told(answer)]).toEqual([what, expected])
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="storekeeper", error="invalid_token"')
  }
  expect(mallory.asked()).toBe(0)
  expect(await usersOf(w)).toEqual([])
  // The same service takes a good one, also at the edges.
  for (const claims of [{}, { nbf: seconds(-MINUTE) }, { sub: 'x'.repeat(255) }, { sub: "' or 1=1--" }])
    expect((await w.api.get('/v1/user', { as: await idp.token(claims) })).status).toBe(200)
})

test('a token works until it runs out', async () => {
  const idp = await provider()
  const { api } = await world(idp)
  const as = await idp.token({ exp: seconds(HOUR) })
  travel(HOUR - MINUTE)
  expect((await api.get('/v1/user', { as })).status).toBe(200)
  travel(2 * MINUTE)
  expect((await api.get('/v1/user', { as })).status).toBe(401)
})

test('401: where no identity provider is configured no token of one is good', async () => {
  const idp = await provider()
  const { api } = await shop()
  const refused = await api.get('/v1/user', { as: await idp.token() })
  expect([refused.status, refused.body.code]).toEqual([401, 'invalid_token'])
  expect(idp.asked()).toBe(0)
})

// ---- a provider that is away ----------------------------------------------------------------------------------------

test('503: while the provider is down nobody can tell whether its tokens are good, and others are served', async () => {
  const idp = await provider()
  await idp.stop()
  const { api, owner } = await world(idp)
  const as = await idp.token()
  const away = await api.get('/v1/user', { as })
  expect(away.status).toBe(503)
  expect(told(away)).toEqual({
    type: '/errors/unavailable',
    title: 'Service unavailable',
    status: 503,
    detail: 'Try again after "Retry-After" seconds. With the same Idempotency-Key nothing is done twice.',
    code: 'unavailable',
  })
  expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(away.headers.get('www-authenticate')).toBeNull()
  expect((await api.get('/v1/user', { as: owner.token })).status).toBe(200)

  await idp.startAgain()
  expect((await api.get('/v1/user', { as })).status).toBe(200)
  // Its keys are known now, so a short absence goes unnoticed.
  await idp.stop()
  expect((await api.get('/v1/user', { as: await idp.token({ sub: 'meanwhile' }) })).status).toBe(200)
})

test('503: a provider that answers nonsense is as good as away', async () => {
  const idp = await provider()
  const { api } = await world(idp)
  const as = await idp.token()
  for (const [status, body] of [
    [500, '{}'],
    [404, '{}'],
    [200, '<html>Sign in</html>'],
    [200, '[]'],
    [200, '{"keys":"none"}'],
  ] as const) {
    idp.answerWith(status, body)
    const away = await api.get('/v1/user', { as })
    expect([status, body, away.status, away.body.code]).toEqual([status, body, 503, 'unavailable'])
    expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0)
  }
})

// ---- retries --------------------------------------------------------------------------------------------------------

test('409: behind an Idempotency-Key that can be guessed a secret is not shown again', async () => {
  const idp = await provider()
  const { api, sql } = await world(idp)
  const store = (await api.post('/v1/user/store', { name: 'Engines' }, { as: await idp.token() })).body
  const create = async (key: string, sub = 'ada') =>
    api.post(`/v1/user/store/${store.id}/keys`, NEW_KEY, {
      as: await idp.token({ sub, jti: randomUUID() }),
      headers: { 'idempotency-key': key },
    })
  const made = await create('order-1')
  expect(made.status).toBe(201)
  const again = await create('order-1')
  expect(again.status).toBe(409)
  expect(told(again)).toMatchObject({ code: 'secret_no_longer_available', resource: { id: made.body.id } })
  expect(again.text).not.toContain(made.body.key)
  expect(await sql('select id from api_keys')).toEqual([{ id: made.body.id }])
  expect(await sql('select salt, sealed from idempotent_responses where reveals_secret')).toEqual([
    { salt: null, sealed: null },
  ])
})

test('behind a random Idempotency-Key a retry with a newer token gets the same key', async () => {
  const idp = await provider()
  const { api, sql } = await world(idp)
  const store = (await api.post('/v1/user/store', { name: 'Engines' }, { as: await idp.token() })).body
  const idempotencyKey = randomUUID()
  const create = async () =>
    api.post(`/v1/user/store/${store.id}/keys`, NEW_KEY, {
      as: await idp.token({ jti: randomUUID() }),
      headers: { 'idempotency-key': idempotencyKey },
    })
  const made = await create()
  expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null])
  const again = await create()
  expect([again.status, again.headers.get('idempotent-replayed'), again.text]).toEqual([201, 'true', made.text])
  expect(await sql('select id from api_keys')).toHaveLength(1)
})

test('what holds no secret is answered again behind any Idempotency-Key, to its own user only', async () => {
  const idp = await provider()
  const { api } = await world(idp)
  const make = async (sub: string) =>
    api.post(
      '/v1/user/store',
      { name: 'Engines' },
      { as: await idp.token({ sub }), headers: { 'idempotency-key': '1' } },
    )
  const made = await make('ada')
  const again = await make('ada')
  expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, made.text, 'true'])
  const other = await make('bob')
  expect([other.status, other.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(other.body.id).not.toBe(made.body.id)
})

// ---- removed --------------------------------------------------------------------------------------------------------

test('a removed user of a provider, who has no e-mail here, does not come back by an invitation that was still open', async () => {
  const idp = await provider()
  const { api, owner, store } = await world(idp)
  const members = `/v1/user/store/${store.id}/members`
  const as = await idp.token({ sub: 'ada' })
  const invite = async (email: string) =>
    (await api.post(`/v1/user/store/${store.id}/invitations`, { email, role: 'MANAGER' }, { as: owner.token })).body
  const accept = ({ token }: { token: string }) => api.post('/v1/user/invitations/accept', { token }, { as })
  const joined = await accept(await invite('ada@example.com'))
  expect(joined.status).toBe(200)
  const [again, other] = [await invite('ada@example.com'), await invite('bob@example.com')]
  expect((await api.delete(`${members}/${joined.body.userId}`, { as: owner.token })).status).toBe(200)
  expect((await accept(again)).body.code).toBe('invitation_not_found')
  const open = (await api.get(`/v1/user/store/${store.id}/invitations`, { as: owner.token })).body.data
  expect(open.map(({ id }: { id: string }) => id)).toEqual([other.id])
})

test('a user of a provider accepts an invitation to the e-mail that their token says, and to no other', async () => {
  const idp = await provider()
  const { api, owner, store } = await world(idp)
  const invitation = { email: 'ada@example.com', role: 'STAFF' }
  const { token } = (await api.post(`/v1/user/store/${store.id}/invitations`, invitation, { as: owner.token })).body
  const accept = async (claims: Record<string, unknown>) =>
    api.post('/v1/user/invitations/accept', { token }, { as: await idp.token({ sub: 'ada', ...claims }) })
  for (const claims of [
    { email: 'bob@example.com' },
    { email: 'bob@example.com', email_verified: true },
    { email: 'ada@example.com', email_verified: false },
    { email: 7 },
    { email: '' },
  ])
    expect([claims, (await accept(claims)).body.code]).toEqual([claims, 'invitation_mismatch'])
  expect((await accept({ email: 'Ada@Example.com', email_verified: true })).status).toBe(200)
})

// ---- erased ---------------------------------------------------------------------------------------------------------

test('a disabled user of a provider is refused like an unknown token', async () => {
  const idp = await provider()
  const { api, sql } = await world(idp)
  const as = await idp.token({ sub: 'ada' })
  const { id } = (await api.get('/v1/user', { as })).body.user
  await sql('update users set disabled_at = now() where id = $1', [id])
  expect((await api.get('/v1/user', { as })).body.code).toBe('invalid_token')
  await sql('update users set disabled_at = null where id = $1', [id])
  expect((await api.get('/v1/user', { as })).body.user.id).toBe(id)
})

test('an erased user of a provider does not come back by a second invitation made for them, which keeps no e-mail either', async () => {
  const idp = await provider()
  const { api, owner, store, sql } = await world(idp)
  const invite = async (email: string) =>
    (await api.post(`/v1/user/store/${store.id}/invitations`, { email, role: 'MANAGER' }, { as: owner.token })).body
  const accept = async ({ token }: { token: string }) =>
    api.post('/v1/user/invitations/accept', { token }, { as: await idp.token({ sub: 'ada' }) })
  expect((await accept(await invite('ada@example.com'))).status).toBe(200)
  const [again, other] = [await invite('ada@example.com'), await invite('bob@example.com')]
  expect((await api.delete('/v1/user', { as: await idp.token({ sub: 'ada', auth_time: seconds() }) })).status).toBe(200)
  expect((await accept(again)).body.code).toBe('invitation_not_found')
  expect(await sql('select id from invitations where email = $1', ['ada@example.com'])).toEqual([])
  const open = (await api.get(`/v1/user/store/${store.id}/invitations`, { as: owner.token })).body.data
  expect(open.map(({ id }: { id: string }) => id)).toEqual([other.id])
})

test('who was erased and comes again is a new user, on every node', async () => {
  const idp = await provider()
  const { api, node, sql } = await world(idp)
  const other = await node()
  const as = await idp.token({ sub: 'ada', auth_time: seconds() })
  const store = (await api.post('/v1/user/store', { name: 'Engines' }, { as })).body
  const before = (await other.get('/v1/user', { as })).body.user.id
  expect((await api.delete('/v1/user', { as })).status).toBe(409)
  await api.delete(`/v1/user/store/${store.id}`, { as })
  expect((await api.delete('/v1/user', { as })).status).toBe(200)
  const after = (await api.get('/v1/user', { as })).body
  expect(after.user.id).not.toBe(before)
  expect(after.stores).toEqual([])
  expect(await sql('select issuer, subject, data_key from users where id = $1', [before])) //
    .toEqual([{ issuer: null, subject: null, data_key: null }])
  for (let asked = 0; ; asked++) {
    // Until the other node has let go of the caller, there is nobody there whom it could show.
    const { status, body } = await other.get('/v1/user', { as })
    if (body.user?.id === after.user.id) break
    expect([status, asked < 1000]).toEqual([401, true])
  }
  expect(await sql(`select id from users where subject = 'ada'`)).toEqual([{ id: after.user.id }])
})

test('a fresh sign-in of a provider’s user is what their token says of it', async () => {
  const idp = await provider()
  const { api } = await world(idp)
  const token = (auth_time?: unknown) => idp.token({ sub: 'ada', ...(auth_time === undefined ? {} : { auth_time }) })
  const store = (await api.post('/v1/user/store', { name: 'Engines' }, { as: await token() })).body
  const path = `/v1/user/store/${store.id}`
  for (const stale of [undefined, seconds(-11 * MINUTE), ...SENSELESS_TIMES, String(seconds()), null])
    for (const [method, where] of [
      ['POST', `${path}/service-tokens`],
      ['DELETE', path],
      ['DELETE', '/v1/user'],
    ] as const) {
      const body = method === 'POST' ? { name: 'Gateway' } : undefined
      const reply = await api.ask(method, where, body, { as: await token(stale) })
      expect([where, reply.status, reply.body.code]).toEqual([where, 403, 'recent_sign_in_required'])
    }
  const as = await token(seconds(-9 * MINUTE))
  expect((await api.post(`${path}/service-tokens`, { name: 'Gateway' }, { as })).status).toBe(201)
  expect((await api.delete(path, { as })).status).toBe(204)
})
