import { expect, onTestFinished, test } from 'vitest'
import { call } from '../../tests/command.ts'
import { mailServer } from '../../tests/mail-server.ts'
import { type OpenidProvider, openidProvider } from '../../tests/openid-provider.ts'
import { type Api, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { run } from '../cli/run.ts'
import { readConfig } from '../config.ts'
import { MINUTE, nowMs, travel } from '../core/clock.ts'

const PUBLIC_URL = 'https://keys.example'
const START = '/v1/auth/oidc/start'
const CALLBACK = '/v1/auth/oidc/callback'
const SESSION = '__Host-storekeeper'
const ATTEMPT = '__Host-storekeeper-oidc'
const PROBLEM = { accept: 'application/problem+json' }

type World = Shop & { provider: OpenidProvider }

async function world(settings: Record<string, string> = {}): Promise<World> {
  const provider = await openidProvider(PUBLIC_URL)
  onTestFinished(provider.close)
  return { ...(await shop({ ...provider.settings, ...settings })), provider }
}

/** A browser: it keeps cookies and goes where it is sent. */
function browser(api: Api, provider: OpenidProvider) {
  const cookies = new Map<string, string>()
  const get = async (path: string, headers: Record<string, string> = {}): Promise<Reply> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await api.get(path, { headers: { ...(cookie ? { cookie } : {}), ...headers } })
    for (const text of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return reply
  }
  /** To the provider and back, as far as to the URL of the callback. */
  const setOut = async (query = ''): Promise<URL> => {
    const { status, headers, text } = await get(START + query)
    if (status !== 303) throw new Error(`start answered ${status} ${text}`)
    return provider.visit(headers.get('location') as string)
  }
  const comeBack = ({ pathname, search }: URL, headers?: Record<string, string>) => get(pathname + search, headers)
  return {
    cookies,
    get,
    setOut,
    comeBack,
    signIn: async (query = '', headers?: Record<string, string>) => comeBack(await setOut(query), headers),
    me: async () => (await get('/v1/user')).body?.user ?? null,
  }
}

const counts = async ({ sql }: World) =>
  (
    await sql(`select (select count(*)::int from users where issuer is not null) as users,
                     (select count(*)::int from sessions where method = 'oidc') as sessions`)
  )[0]
const NOTHING = { users: 0, sessions: 0 }

/** A page for people: what it says, and the way back. */
function expectPage(reply: Reply, status: number, words: RegExp): void {
  expect([reply.status, reply.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8'])
  expect(reply.text).toMatch(words)
  expect(reply.text).toContain('<a href="/sign-in">')
  expect(reply.headers.get('content-security-policy')).toContain("default-src 'none'")
}

// ---- signing in -----------------------------------------------------------------------------------------------------

test('a browser is sent to the provider and comes back with a session of the user that the access tokens mean', async () => {
  const provider = await openidProvider(PUBLIC_URL)
  onTestFinished(provider.close)
  const { api, logs, sql } = await shop({
    ...provider.settings,
    JWT_ISSUER: provider.issuer,
    JWT_AUDIENCE: 'https://api.example',
    JWT_JWKS_URL: `${provider.issuer}/jwks`,
  })
  expect((await api.get('/v1/settings')).body.oidc).toBe(true)
  expect(provider.requests).toEqual([])

  const started = await api.get(START)
  expect(started.status).toBe(303)
  const [attempt, ...more] = started.headers.getSetCookie()
  expect(attempt).toMatch(/^__Host-storekeeper-oidc=[\w.-]+; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/)
  expect(more).toEqual([])
  const asked = Object.fromEntries(new URL(started.headers.get('location') as string).searchParams)
  expect(asked).toEqual({
    client_id: 'storekeeper',
    response_type: 'code',
    redirect_uri: `${PUBLIC_URL}${CALLBACK}`,
    scope: 'openid email profile',
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  })
  for (const value of [asked.state, asked.nonce, asked.code_challenge]) expect(attempt).not.toContain(value)

  const ada = browser(api, provider)
  const back = await ada.setOut()
  const finished = await ada.comeBack(back)
  expect([finished.status, finished.headers.get('location'), finished.text]).toEqual([303, '/', ''])
  expect(finished.headers.getSetCookie()).toEqual([
    expect.stringMatching(
      /^__Host-storekeeper=skp_sess_\w+; Path=\/; Max-Age=777\d{4}; Expires=[^;]+ GMT; Secure; HttpOnly; SameSite=Strict$/,
    ),
    '__Host-storekeeper-oidc=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax',
  ])
  expect(finished.headers.get('cache-control')).toBe('no-store')
  const me = await ada.me()
  expect(me).toMatchObject({ email: 'ada@example.com', emailVerified: true, name: 'Ada Lovelace' })
  expect((await ada.get('/v1/user/sessions')).body.data).toMatchObject([{ current: true, method: 'oidc' }])
  expect((await ada.get('/v1/user/export')).body).toMatchObject({
    user: { issuer: provider.issuer, subject: 'ada' },
    sessions: [{ method: 'oidc' }],
  })

  // The same user by an access token, in another browser, and when the provider tells another e-mail and name.
  const byToken = await api.get('/v1/user', { as: await provider.accessToken('https://api.example') })
  expect(byToken.body.user.id).toBe(me.id)
  provider.person = { sub: 'ada', email: 'countess@example.com', email_verified: true, name: 'Ada King' }
  const elsewhere = browser(api, provider)
  await elsewhere.signIn()
  expect(await elsewhere.me()).toMatchObject({ id: me.id, email: 'countess@example.com', name: 'Ada King' })
  provider.person = { sub: 'ada', email: 'third@example.com', email_verified: false }
  await elsewhere.signIn()
  expect(await elsewhere.me()).toMatchObject({ email: 'countess@example.com', name: 'Ada King' })
  // Another subject, whose e-mail the provider has not verified, or only seems to have.
  for (const email_verified of [false, 'true', 1, undefined]) {
    provider.person = { sub: `a ${email_verified}`, email: 'grace@example.com', email_verified }
    const grace = browser(api, provider)
    await grace.signIn()
    expect(await grace.me()).toMatchObject({ email: null, emailVerified: false })
  }

  const cookie = `${SESSION}=${ada.cookies.get(SESSION)}`
  expect((await api.post('/v1/auth/sign-out', undefined, { headers: { cookie } })).status).toBe(204)
  expect((await api.get('/v1/user', { headers: { cookie } })).status).toBe(401)
  const types = (await sql('select type from events where subject = $1 order by id', [me.id])).map(({ type }) => type)
  expect(types).toEqual(['user.created', 'user.updated'])
  for (const secret of [back.searchParams.get('code'), back.searchParams.get('state'), ada.cookies.get(SESSION)])
    expect(logs()).not.toContain(secret)
})

test('a provider that tells e-mail and name at its userinfo endpoint alone, or takes the secret in the form, will do', async () => {
  const w = await world()
  w.provider.twists = {
    thinToken: true,
    metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
  }
  const ada = browser(w.api, w.provider)
  expect((await ada.signIn()).status).toBe(303)
  expect(await ada.me()).toMatchObject({ email: 'ada@example.com', name: 'Ada Lovelace' })
  expect(w.provider.requests).toContain('GET /userinfo')
})

test('afterwards a browser goes to a path of this service and nowhere else', async () => {
  const { api, provider } = await world()
  const ada = browser(api, provider)
  for (const path of ['/sign-in', '/invitation', '/a/b?c=d&e=%2F', '/a%2Fb?c=//d/../e', '/..a/b...']) {
    const reply = await ada.signIn(`?returnTo=${encodeURIComponent(path)}`)
    expect([reply.status, reply.headers.get('location')]).toEqual([303, path])
  }
  const foreign = [
    '//evil.example',
    '/\\evil.example',
    '/a\\b',
    '/.//evil.example',
    '/..//evil.example/x',
    '/%2e%2E//evil.example',
    '/a/.%2e',
    '/a//evil.example',
    'https://evil.example',
    '/\t/evil.example',
    '/a\r\nx: y',
    'x',
    '',
  ]
  for (const path of foreign) {
    const reply = await ada.get(`${START}?returnTo=${encodeURIComponent(path)}`, PROBLEM)
    expect([reply.status, reply.body.errors[0].pointer], path).toEqual([422, '?returnTo'])
  }
})

test('over plain HTTP on one machine the cookie has no prefix', async () => {
  const provider = await openidProvider('http://localhost:3000')
  onTestFinished(provider.close)
  const { api } = await shop(provider.settings)
  const ada = browser(api, provider)
  expect((await ada.signIn()).headers.getSetCookie()[1]).toBe(
    'storekeeper-oidc=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
  )
  expect(await ada.me()).toMatchObject({ email: 'ada@example.com' })
})

test('where no provider is configured there is nothing to sign in with', async () => {
  const { api } = await shop()
  expect((await api.get('/v1/settings')).body.oidc).toBe(false)
  for (const path of [START, `${CALLBACK}?code=x&state=y`]) {
    expectPage(await api.get(path), 404, /No single sign-on/)
    const problem = await api.get(path, { headers: PROBLEM })
    expect([problem.status, problem.body.code]).toEqual([404, 'not_found'])
  }
})

// ---- what is refused ------------------------------------------------------------------------------------------------

test('another browser, another attempt, a replay, a forged or old cookie: no session', async () => {
  const w = await world()
  const { api, provider } = w
  const attacker = browser(api, provider)
  const victim = browser(api, provider)
  const words = /You are not signed in yet/

  // Login CSRF: the victim's browser is sent to the attacker's callback, without a cookie or with one of its own.
  const link = await attacker.setOut()
  expectPage(await victim.comeBack(link), 400, words)
  const own = await victim.setOut()
  const stayed = victim.cookies.get(ATTEMPT)
  expectPage(await victim.comeBack(link), 400, words)
  expect(victim.cookies.get(ATTEMPT)).toBe(stayed)
  // The attacker's code with the victim's state: the provider finds that the verifier does not fit.
  own.searchParams.set('code', link.searchParams.get('code') as string)
  expectPage(await victim.comeBack(own), 400, words)
  expect(victim.cookies.size).toBe(0)

  // Once more with all it had: the attempt was spent, though this provider takes a code twice.
  provider.twists = { keepsCodes: true }
  const back = await victim.setOut()
  const kept = new Map(victim.cookies)
  expect(await counts(w)).toEqual(NOTHING)
  expect((await victim.comeBack(back)).status).toBe(303)
  expectPage(await victim.comeBack(back), 400, words)
  const headers = { cookie: `${ATTEMPT}=${kept.get(ATTEMPT)}` }
  expectPage(await api.get(back.pathname + back.search, { headers }), 400, words)

  // A cookie that was altered, made elsewhere, sent twice, or is too old.
  const sealed = kept.get(ATTEMPT) as string
  const altered = `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`
  const broken = [altered, '', 'x.y', '.', `${sealed.split('.')[0]}.`, `${sealed}; ${ATTEMPT}=${sealed}`]
  for (const value of broken) {
    const reply = await api.get(back.pathname + back.search, { headers: { cookie: `${ATTEMPT}=${value}` } })
    expectPage(reply, 400, words)
  }
  const late = await victim.setOut()
  travel(10 * MINUTE)
  const problem = await victim.comeBack(late, PROBLEM)
  expect([problem.status, problem.headers.get('content-type'), problem.body.code]).toEqual([
    400,
    'application/problem+json; charset=utf-8',
    'sign_in_incomplete',
  ])
  // Parameters sent twice, and none at all.
  for (const query of ['', '?state=a&state=b'])
    expect((await api.get(CALLBACK + query, { headers: PROBLEM })).status).toBe(query ? 422 : 400)
  expect(await counts(w)).toEqual({ users: 1, sessions: 1 })
})

test('an answer of the provider that is not valid signs nobody in', async () => {
  const w = await world()
  const { api, provider, logs } = w
  const past = Math.floor(nowMs() / 1000) - 120
  const twists: Record<string, OpenidProvider['twists']> = {
    'another nonce': { claims: { nonce: 'another' } },
    'no nonce': { claims: { nonce: undefined } },
    'another issuer': { claims: { iss: 'https://evil.example' } },
    'another audience': { claims: { aud: 'another-client' } },
    'several audiences, and another party': { claims: { aud: ['storekeeper', 'another'], azp: 'another' } },
    expired: { claims: { exp: past } },
    'no expiry': { claims: { exp: undefined } },
    'not yet valid': { claims: { nbf: past + 3_600 } },
    'no subject': { claims: { sub: undefined } },
    'a subject that is none': { claims: { sub: 'x'.repeat(256) } },
    'no signature': { signature: 'none' },
    'signed with the secret': { signature: 'HS256' },
    'signed by a stranger': { signature: 'stranger' },
    'another iss beside the code': { callback: { iss: 'https://evil.example' } },
    'no iss beside the code': { callback: { iss: undefined } },
    'another code': { callback: { code: 'made-up' } },
    'no code': { callback: { code: undefined } },
  }
  for (const [name, twist] of Object.entries(twists)) {
    provider.twists = twist
    const ada = browser(api, provider)
    const reply = await ada.signIn('', PROBLEM)
    expect([name, reply.status, reply.body.code]).toEqual([name, 400, 'sign_in_incomplete'])
    expect([name, ada.cookies.size]).toEqual([name, 0])
  }
  expect(await counts(w)).toEqual(NOTHING)
  expect(logs()).toContain('"work":"oidc","reason":"OAUTH_JWT_CLAIM_COMPARISON_FAILED"')
  expect(logs()).not.toContain('evil.example')
})

test('a refusal of the provider is told in our own words', async () => {
  const w = await world()
  const { api, provider } = w
  const ada = browser(api, provider)
  const error_description = '<script>alert(1)</script> call +1 900 555 0100'
  provider.twists = { callback: { code: undefined, error: 'access_denied', error_description } }
  const page = await ada.signIn()
  expectPage(page, 403, /You were not signed in.*The identity provider did not sign you in/s)
  expect(page.text).not.toMatch(/alert|555/)
  const problem = await ada.signIn('', { accept: 'application/problem+json, application/json;q=0.9' })
  expect([problem.status, problem.body]).toMatchObject([
    403,
    {
      code: 'sign_in_refused',
      detail: expect.stringMatching(/^The identity provider did not sign you in/),
      instance: CALLBACK,
    },
  ])
  provider.twists = { callback: { code: undefined, error: 'temporarily_unavailable' } }
  expectPage(await ada.signIn(), 503, /Sign-in is unavailable/)
  provider.twists = { callback: { code: undefined, error: 'access_denied', state: 'another' } }
  expectPage(await ada.signIn(), 400, /not signed in yet/)
  expect(await counts(w)).toEqual(NOTHING)
})

test('a provider that is away or answers strangely: sign-in is unavailable, and everything else goes on', async () => {
  const w = await world()
  const { api, provider, logs } = w
  const ada = browser(api, provider)
  await provider.close()
  const page = await ada.get(START)
  expectPage(page, 503, /Sign-in is unavailable/)
  expect(page.headers.get('retry-after')).toBe('10')
  const problem = await ada.get(START, PROBLEM)
  expect([problem.status, problem.body.code, problem.headers.get('retry-after')]).toEqual([503, 'unavailable', '10'])
  expect((await api.get('/readyz')).status).toBe(200)
  await provider.listen()

  const strange: Record<string, OpenidProvider['twists']> = {
    'another issuer': { metadata: { issuer: 'https://evil.example' } },
    'no issuer': { metadata: { issuer: undefined } },
    'an endpoint without TLS': { metadata: { authorization_endpoint: 'http://evil.example/authorize' } },
    'an endpoint that is no page': { metadata: { authorization_endpoint: 'javascript:alert(1)' } },
    '500': { answer: (_, response) => !!response.writeHead(500).end('{}') },
    'no JSON': { answer: (_, response) => !!response.writeHead(200, { 'content-type': 'text/html' }).end('hello') },
    'a redirect': { answer: (_, response) => !!response.writeHead(302, { location: `${provider.issuer}/jwks` }).end() },
    'an endless answer': {
      answer: (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const more = () => {
          while (response.write(' '.repeat(65_536)));
        }
        response.on('drain', more)
        more()
        return true
      },
    },
  }
  for (const [name, twist] of Object.entries(strange)) {
    provider.twists = twist
    provider.requests.length = 0
    const reply = await browser(await w.node(), provider).get(START, PROBLEM)
    expect([name, reply.status, reply.body.code]).toEqual([name, 503, 'unavailable'])
    expect([name, provider.requests]).toEqual([name, ['GET /.well-known/openid-configuration']])
  }

  // It answers again: nothing was remembered of the failure. Then it is away when the code is to be redeemed.
  provider.twists = {}
  expect((await ada.signIn()).status).toBe(303)
  for (const path of ['/token', '/userinfo']) {
    const back = await ada.setOut()
    provider.twists = {
      thinToken: true,
      answer: (asked, response) => asked === path && !!response.writeHead(502).end(),
    }
    expectPage(await ada.comeBack(back), 503, /Sign-in is unavailable/)
    provider.twists = {}
  }
  // A secret that is wrong is for the operator to mend.
  const mistaken = browser(await w.node({ OIDC_CLIENT_SECRET: 'wrong' }), provider)
  expectPage(await mistaken.signIn(), 503, /Sign-in is unavailable/)
  expect(logs()).toContain('"work":"oidc","reason":"invalid_client"')
  expect(await counts(w)).toEqual({ users: 1, sessions: 1 })
})

// ---- a recent sign-in -----------------------------------------------------------------------------------------------

test('a recent sign-in is one at the provider: what counts is when it saw the person, not when the session began', async () => {
  const { api, provider } = await world()
  const ada = browser(api, provider)
  const erase = () => api.delete('/v1/user', { headers: { cookie: `${SESSION}=${ada.cookies.get(SESSION)}` } })
  // The provider has a session of this morning's, and lets its user through.
  provider.signedInAt = Math.floor(nowMs() / 1000) - 3_600
  expect((await ada.signIn()).status).toBe(303)
  expect((await erase()).body.code).toBe('recent_sign_in_required')
  // It does not say when.
  provider.twists = { claims: { auth_time: undefined } }
  await ada.signIn()
  expect((await erase()).body.code).toBe('recent_sign_in_required')
  // Asked for a fresh one, it must say that there was one.
  const before = ada.cookies.get(SESSION)
  for (const auth_time of [undefined, provider.signedInAt]) {
    provider.twists = { claims: { auth_time } }
    const reply = await ada.signIn('?fresh=true', PROBLEM)
    expect([reply.status, reply.body.code]).toEqual([403, 'recent_sign_in_required'])
    expect(ada.cookies.get(SESSION)).toBe(before)
  }
  provider.twists = {}
  expect((await ada.signIn('?fresh=true')).status).toBe(303)
  travel(9 * MINUTE)
  expect((await ada.get('/v1/user')).status).toBe(200)
  travel(2 * MINUTE)
  expect((await erase()).body.code).toBe('recent_sign_in_required')
  // A time that is ahead, such as one in milliseconds, says nothing about when it was.
  const seconds = Math.floor(nowMs() / 1000)
  for (const auth_time of [seconds + 3_600, (seconds - 5 * 86_400) * 1000]) {
    provider.twists = { claims: { auth_time } }
    expect((await ada.signIn()).status).toBe(303)
    expect((await erase()).body.code).toBe('recent_sign_in_required')
    expect((await ada.signIn('?fresh=true', PROBLEM)).body.code).toBe('recent_sign_in_required')
  }
  // A clock may be a little ahead, and makes it last no longer.
  provider.twists = { claims: { auth_time: seconds + 20 } }
  expect((await ada.signIn('?fresh=true')).status).toBe(303)
  travel(11 * MINUTE)
  expect((await erase()).body.code).toBe('recent_sign_in_required')
  provider.twists = {}
  await ada.signIn('?fresh=true')
  const { id } = await ada.me()
  expect((await erase()).status).toBe(200)
  // Who was erased comes back as somebody new.
  await ada.signIn()
  expect((await ada.me()).id).not.toBe(id)
})

// ---- whose user -----------------------------------------------------------------------------------------------------

test('an account is joined when both sides have confirmed its e-mail, and is told by mail', async () => {
  const mail = await mailServer()
  const provider = await openidProvider(PUBLIC_URL)
  onTestFinished(provider.close)
  const w = await shop({ ...mail.settings, ...provider.settings, TRUST_PROXY: '1' })
  const { api, person, sql } = w
  const ada = await person('Ada')
  await sql('update users set email_verified_at = now(), email_proven = true where id = $1', [ada.id])
  provider.person = { sub: 'ada', email: ada.email.toUpperCase(), email_verified: true, name: 'Another Name' }
  const tab = browser(api, provider)
  await tab.signIn()
  expect(await tab.me()).toMatchObject({ id: ada.id, email: ada.email, name: 'Ada' })
  const told = await mail.mailTo(ada.email)
  expect([told.subject, told.text.includes('127 0 0 1')]).toEqual([
    'You can now sign in with your identity provider',
    true,
  ])
  const events = await sql(`select data, actor->>'id' as actor from events where type = 'user.provider_linked'`)
  expect(events).toEqual([{ data: { issuer: provider.issuer }, actor: ada.id }])
  // The password and the session of before go on working, and the provider's e-mail changes nothing here.
  expect((await api.get('/v1/user', { as: ada.token })).status).toBe(200)
  expect((await api.post('/v1/auth/sign-in', { email: ada.email, password: ada.password })).status).toBe(200)
  provider.person = { sub: 'ada', email: 'other@example.com', email_verified: true }
  await tab.signIn()
  expect(await tab.me()).toMatchObject({ id: ada.id, email: ada.email })
  await tab.signIn('', { 'x-forwarded-for': '203.0.113.9' })
  const { subject, text } = await mail.mailTo(ada.email, 2)
  expect([subject, text.includes('secure your account at your identity provider')]).toEqual([
    'New sign-in to your account',
    true,
  ])
  // Another subject with the same e-mail is another user.
  provider.person = { sub: 'not ada', email: ada.email, email_verified: true }
  const other = browser(api, provider)
  await other.signIn()
  expect(await other.me()).toMatchObject({ email: null })
  expect((await other.me()).id).not.toBe(ada.id)

  // The operator separates them. The e-mail counts as not confirmed, so they are not linked again.
  const env = { DATABASE_URL: w.databaseUrl, SERVER_SECRET: w.serverSecret }
  const unlink = (name: string) => call(run, ['user', 'unlink', name], { env })
  expect((await unlink((await other.me()).id)).err).toContain('has no password here')
  expect((await unlink(ada.email)).code).toBe(0)
  expect((await unlink(ada.email)).err).toContain('is not linked')
  expect((await api.get('/v1/user', { as: ada.token })).status).toBe(401)
  provider.person = { sub: 'ada', email: ada.email, email_verified: true }
  await tab.signIn()
  expect((await tab.me()).id).not.toBe(ada.id)
  const opened = await api.post('/v1/auth/sign-in', { email: ada.email, password: ada.password })
  expect([opened.status, opened.body.user]).toMatchObject([200, { id: ada.id, emailVerified: false }])
  expect(await sql(`select subject from events where type = 'user.provider_unlinked'`)).toEqual([{ subject: ada.id }])
})

test('who made an account with the e-mail of another, who confirmed it by mistake, is shut out when it is joined', async () => {
  const mail = await mailServer()
  const provider = await openidProvider(PUBLIC_URL)
  onTestFinished(provider.close)
  const { api } = await shop({ ...mail.settings, ...provider.settings })
  const password = 'seven bicycles under one umbrella'
  const join = async (email: string, isSignedIn: boolean) => {
    const { body: made } = await api.post('/v1/auth/sign-up', { email, password })
    const { token } = await mail.mailTo(email)
    const confirmed = await api.post('/v1/auth/confirm', { token }, isSignedIn ? { as: made.token } : {})
    expect(confirmed.status).toBe(204)
    provider.person = { sub: email, email, email_verified: true }
    const tab = browser(api, provider)
    await tab.signIn()
    expect((await tab.me()).id).toBe(made.user.id)
    const { text } = await mail.mailTo(email, 2)
    const session = await api.get('/v1/user', { as: made.token })
    const again = await api.post('/v1/auth/sign-in', { email, password })
    return [session.status, again.status, text.includes('no longer works')]
  }
  expect(await join('victim@example.com', false)).toEqual([401, 401, true])
  expect(await join('owner@example.com', true)).toEqual([200, 200, false])
})

test('an account is not joined when one side has not confirmed the e-mail, or the person is a user already', async () => {
  const { api, person, sql, provider } = await world()
  const signIn = async (claims: Record<string, unknown>) => {
    provider.person = claims
    const tab = browser(api, provider)
    await tab.signIn()
    return tab.me()
  }
  const squatter = await person()
  const confirmed = await person()
  await sql('update users set email_verified_at = now() where id = $1', [confirmed.id])
  // Somebody has written the e-mail of another into their account.
  const owner = await signIn({ sub: 'owner', email: squatter.email, email_verified: true })
  expect([owner.id === squatter.id, owner.email]).toEqual([false, null])
  expect((await api.get('/v1/user', { as: squatter.token })).body.user.email).toBe(squatter.email)
  // Somebody has written the e-mail of another into their account at the provider.
  for (const email_verified of [false, 'true', undefined]) {
    const thief = await signIn({ sub: `thief ${email_verified}`, email: confirmed.email, email_verified })
    expect([thief.id === confirmed.id, thief.email]).toEqual([false, null])
  }
  // A user of the provider stays who they are when their e-mail becomes that of an account.
  const before = await signIn({ sub: 'grace', email: 'grace@example.com', email_verified: true })
  const after = await signIn({ sub: 'grace', email: confirmed.email, email_verified: true })
  expect([after.id === before.id, after.email, after.emailVerified]).toEqual([true, null, false])
  const linked = await sql('select issuer from users where id = any($1)', [[squatter.id, confirmed.id]])
  expect(linked).toEqual([{ issuer: null }, { issuer: null }])
})

test('an e-mail that the provider has verified is taken from an account that never confirmed it, where it could have', async () => {
  const mail = await mailServer()
  const { api, person, sql, provider, databaseUrl, serverSecret, everywhere } = await world(mail.settings)
  const squatter = await person()
  provider.person = { sub: 'owner', email: squatter.email, email_verified: true }
  const owner = browser(api, provider)
  await owner.signIn()
  const me = await owner.me()
  expect([me.id === squatter.id, me.email, me.emailVerified]).toEqual([false, squatter.email, true])
  expect((await api.get('/v1/user', { as: squatter.token })).body.user.email).toBe(null)
  expect(await sql(`select subject from events where type = 'user.email_lost'`)).toEqual([{ subject: squatter.id }])
  expect((await mail.mailTo(squatter.email)).subject).toBe('This e-mail address was confirmed for another account')
  // So whoever names the e-mail means the person whom the provider knows.
  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret }
  expect((await call(run, ['user', 'disable', squatter.email], { env })).code).toBe(0)
  await everywhere()
  expect([(await owner.get('/v1/user')).status, (await owner.signIn()).status]).toEqual([401, 403])
  expect((await api.get('/v1/user', { as: squatter.token })).status).toBe(200)
  // One that the provider has not verified is taken from nobody.
  const other = await person()
  provider.person = { sub: 'other', email: other.email }
  await browser(api, provider).signIn()
  expect((await api.get('/v1/user', { as: other.token })).body.user.email).toBe(other.email)
})

test('by a session of single sign-on, too, a person accepts invitations to the e-mail that the provider claims, and no other', async () => {
  const { api, owner, store, provider } = await world()
  const invite = async (email: string) =>
    (await api.post(`/v1/user/store/${store.id}/invitations`, { email, role: 'STAFF' }, { as: owner.token })).body.token
  const accept = async (claims: Record<string, unknown>, token: string) => {
    provider.person = claims
    const tab = browser(api, provider)
    await tab.signIn()
    const as = tab.cookies.get(SESSION) as string
    const { status, body } = await api.post('/v1/user/invitations/accept', { token }, { as })
    return body.code ?? status
  }
  const toBoss = await invite('boss@example.com')
  for (const [n, claims] of [
    { email: 'bob@example.com', email_verified: true },
    { email: 'bob@example.com' },
    { email: 'boss@example.com', email_verified: false },
    { email: '' },
  ].entries())
    expect([claims, await accept({ sub: `other ${n}`, ...claims }, toBoss)]).toEqual([claims, 'invitation_mismatch'])
  expect(await accept({ sub: 'boss', email: 'Boss@Example.com' }, toBoss)).toBe(200)
  // Who is removed does not come back by an invitation to somebody else.
  const claims = { sub: 'ada', email: 'ada@example.com' }
  expect(await accept(claims, await invite('ada@example.com'))).toBe(200)
  const { data } = (await api.get(`/v1/user/store/${store.id}/members`, { as: owner.token })).body
  const spare = await invite('spare@example.com')
  for (const { userId, role } of data)
    if (role === 'STAFF') await api.delete(`/v1/user/store/${store.id}/members/${userId}`, { as: owner.token })
  expect(await accept(claims, spare)).toBe('invitation_mismatch')
})

test('who is removed or demoted does not come back by an older invitation, whichever e-mail the provider claims by then', async () => {
  const { api, owner, store, provider } = await world()
  const inStore = `/v1/user/store/${store.id}`
  const invite = async (email: string) =>
    (await api.post(`${inStore}/invitations`, { email, role: 'STAFF' }, { as: owner.token })).body.token
  const signIn = async (email: string) => {
    provider.person = { sub: 'ada', email, email_verified: true }
    const tab = browser(api, provider)
    await tab.signIn()
    return tab.cookies.get(SESSION) as string
  }
  const accept = (as: string, token: string) => api.post('/v1/user/invitations/accept', { token }, { as })
  const ada = await signIn('maiden@example.com')
  const { id } = (await api.get('/v1/user', { as: ada })).body.user
  const member = `${inStore}/members/${id}`
  const open = await invite('married@example.com')
  expect((await accept(ada, await invite('maiden@example.com'))).status).toBe(200)
  expect((await api.delete(member, { as: owner.token })).status).toBe(200)
  // The address may be somebody else's, so the invitation stays; it is not for whoever was removed.
  const married = await signIn('married@example.com')
  expect((await accept(married, open)).body.code).toBe('invitation_not_found')
  travel(1)
  expect((await accept(married, await invite('married@example.com'))).status).toBe(200)

  const third = await invite('third@example.com')
  travel(1)
  expect((await api.patch(member, { role: 'CUSTOMER' }, { as: owner.token })).status).toBe(200)
  expect((await accept(await signIn('third@example.com'), third)).body.code).toBe('invitation_not_found')
  expect((await api.post(`/v1/store/${store.id}/leave`, {}, { as: married })).status).toBe(200)
  expect((await accept(await signIn('third@example.com'), third)).body.code).toBe('invitation_not_found')
  // Another person is let in by it.
  provider.person = { sub: 'grace', email: 'third@example.com', email_verified: true }
  const tab = browser(api, provider)
  await tab.signIn()
  expect((await accept(tab.cookies.get(SESSION) as string, third)).status).toBe(200)
})

test('a disabled user is refused, and so is an account that would be joined', async () => {
  const w = await world()
  const { api, person, sql, provider } = w
  const ada = browser(api, provider)
  await ada.signIn()
  await sql(`update users set disabled_at = now() where subject = 'ada'`)
  const page = await ada.signIn()
  expectPage(page, 403, /You can't sign in here/)
  expect(ada.cookies.has(ATTEMPT)).toBe(false)
  const local = await person()
  await sql('update users set email_verified_at = now(), disabled_at = now() where id = $1', [local.id])
  provider.person = { sub: 'local', email: local.email, email_verified: true }
  const problem = await ada.signIn('', PROBLEM)
  expect([problem.status, problem.body.code]).toEqual([403, 'sign_in_refused'])
  expect(await counts(w)).toEqual({ users: 1, sessions: 1 })
  await sql('update users set disabled_at = null where id = $1', [local.id])
  await ada.signIn()
  expect((await ada.me()).id).toBe(local.id)
})

test('where sign-up is closed, whom the provider vouches for still comes in', async () => {
  const { api, provider } = await world({ SIGN_UP: 'closed' })
  const account = { email: 'x@example.com', password: 'correct horse battery staple' }
  expect((await api.post('/v1/auth/sign-up', account)).body.code).toBe('sign_up_closed')
  const ada = browser(api, provider)
  expect((await ada.signIn()).status).toBe(303)
  expect(await ada.me()).toMatchObject({ email: 'ada@example.com' })
})

test('first sign-ins at the same moment make one user, or join one account', async () => {
  const w = await world()
  const { api, person, sql, provider } = w
  const second = await w.node()
  const local = await person()
  await sql('update users set email_verified_at = now() where id = $1', [local.id])
  for (const claims of [
    { sub: 'ada', email: 'ada@example.com' },
    { sub: 'local', email: local.email },
    { sub: 'nameless' },
  ]) {
    provider.person = { ...claims, email_verified: true }
    const tabs = Array.from({ length: 6 }, (_, n) => browser(n % 2 ? api : second, provider))
    const backs = await Promise.all(tabs.map((tab) => tab.setOut()))
    const replies = await Promise.all(tabs.map((tab, n) => tab.comeBack(backs[n] as URL)))
    expect(replies.map(({ status }) => status)).toEqual(Array(6).fill(303))
    const ids = new Set(await Promise.all(tabs.map(async (tab) => (await tab.me()).id)))
    expect(ids.size).toBe(1)
    if (claims.sub === 'local') expect([...ids]).toEqual([local.id])
  }
  expect(await counts(w)).toEqual({ users: 3, sessions: 18 })
  expect(await sql(`select type from events where type = 'user.provider_linked'`)).toHaveLength(1)
})

// ---- settings -------------------------------------------------------------------------------------------------------

test('settings that do not go together stop the start', () => {
  const whole = {
    OIDC_ISSUER: 'https://login.example',
    OIDC_CLIENT_ID: 'a',
    OIDC_CLIENT_SECRET: 'a secret',
    PUBLIC_URL,
  }
  expect(readConfig(whole).OIDC_ISSUER).toBe('https://login.example')
  const faultsOf = (env: Record<string, string | undefined>) => {
    try {
      readConfig(env)
      return []
    } catch (error) {
      return (error as { faults: string[] }).faults
    }
  }
  expect(faultsOf({ ...whole, PUBLIC_URL: undefined })).toEqual([
    'PUBLIC_URL is missing: the provider of OIDC_ISSUER sends people back to it',
  ])
  expect(faultsOf({ ...whole, OIDC_CLIENT_SECRET: undefined })).toEqual([
    'OIDC_CLIENT_SECRET is missing: the three OIDC settings go together',
  ])
  expect(faultsOf({ OIDC_CLIENT_ID: 'a', PUBLIC_URL })).toEqual([
    'OIDC_ISSUER and OIDC_CLIENT_SECRET are missing: the three OIDC settings go together',
  ])
  for (const bad of [
    'http://login.example',
    'login.example',
    'https://login.example/?a=b',
    'https://a:b@login.example',
  ])
    expect(faultsOf({ ...whole, OIDC_ISSUER: bad })[0]).toMatch(/^OIDC_ISSUER must be/)
  expect(readConfig({ ...whole, OIDC_ISSUER: 'http://127.0.0.1:8080/realms/x' }).OIDC_ISSUER).toMatch(/realms/)
  expect(JSON.stringify(readConfig(whole))).not.toContain('a secret')
})
