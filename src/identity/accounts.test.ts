import { expect, onTestFinished, test, vi } from 'vitest'
import { type Api, type Reply, type Shop, shop, shopsWith, untilTried } from '../../tests/shop.ts'
import { DAY, HOUR, MINUTE, SECOND, travel } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Session } from './schema.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse battery staple' }
const WRONG = 'not the pass phrase at all'
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const COOKIE = /^__Host-storekeeper=(skp_sess_[0-9A-Za-z]{49}); Path=\/; Max-Age=(\d+); Expires=([^;]+); (.*)$/

const shopBehindProxy = shopsWith({ TRUST_PROXY: '1' })

/** Failures are counted by address too, and most tests come from the same: each begins without any. */
async function openShop(): Promise<Shop> {
  const world = await shopBehindProxy()
  await world.sql('delete from sign_in_failures')
  return world
}

let accounts = 0

function newAccount(): typeof ADA {
  accounts += 1
  return { ...ADA, email: `ada${accounts}@example.com` }
}

/** A problem without the two members that belong to one request. */
function told({ body: { requestId: _, instance: __, ...rest } }: Reply): object {
  return rest
}

/** After a first failure, as it stands in the table: so many more of the same account, from elsewhere. */
function failMore(sql: Shop['sql'], times: number): Promise<unknown> {
  return copyLastFailure(sql, times, 'email_hash, sha256(random()::text::bytea), null')
}

/** So many more from the same address, for other accounts. */
function failMoreFromThere(sql: Shop['sql'], times: number): Promise<unknown> {
  return copyLastFailure(sql, times, 'sha256(random()::text::bytea), ip_hash, site_hash')
}

/** Each failure over HTTP takes a password's hash. */
function copyLastFailure(sql: Shop['sql'], times: number, who: string): Promise<unknown> {
  return sql(
    `insert into sign_in_failures (email_hash, ip_hash, site_hash, known_place, at)
     select ${who}, known_place, at
       from (select * from sign_in_failures order by id desc limit 1) last, generate_series(1, $1)`,
    [times],
  )
}

function signUp(api: Api, account: object): Promise<Reply> {
  return api.post('/v1/auth/sign-up', account)
}

function signIn(api: Api, email: string, password: string, from?: string): Promise<Reply> {
  return api.post('/v1/auth/sign-in', { email, password }, from ? { headers: { 'x-forwarded-for': from } } : {})
}

async function worksFor(api: Api, token: string): Promise<number> {
  return (await api.get('/v1/user', { as: token })).status
}

// ---- accounts -------------------------------------------------------------------------------------------------------

test('201: signing up makes an account and signs it in', async () => {
  const { api } = await openShop()
  const ada = newAccount()
  const made = await signUp(api, { ...ada, name: '  Ada Lovelace ' })
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    user: {
      id: expect.stringMatching(/^user_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
      email: ada.email,
      emailVerified: false,
      pendingEmail: null,
      name: 'Ada Lovelace',
      mail: { newSignIns: true, leakedKeys: true, expiringKeys: true },
      secondFactor: { totp: false, passkeys: 0, recoveryCodesLeft: 0 },
      createdAt: expect.stringMatching(RFC_3339),
    },
    token: expect.stringMatching(/^skp_sess_[0-9A-Za-z]{49}$/),
    expiresAt: expect.stringMatching(RFC_3339),
  })
  const lasts = Date.parse(made.body.expiresAt) - Date.parse(made.body.user.createdAt)
  expect(Math.abs(lasts - 90 * DAY)).toBeLessThan(5 * SECOND)
  expect(made.headers.get('cache-control')).toBe('no-store')
  expect(made.headers.get('set-cookie')).toBeNull()

  const me = await api.get('/v1/user', { as: made.body.token })
  expect(me.status).toBe(200)
  expect(me.body).toEqual({ user: made.body.user, stores: [] })

  const nameless = await signUp(api, { ...ada, email: 'nameless@example.com' })
  expect(nameless.body.user.name).toBeNull()
})

test('an e-mail is one account, however it is spelt', async () => {
  const { api } = await openShop()
  const ada = newAccount()
  const made = await signUp(api, { ...ada, email: 'Ada.Lovelace@B\u00dcCHER.Example' })
  expect(made.body.user.email).toBe('ada.lovelace@xn--bcher-kva.example')
  const again = await signUp(api, { ...ada, email: 'ada.lovelace@xn--bcher-kva.example' })
  expect(again.status).toBe(409)
  expect(told(again)).toEqual({
    type: '/errors/email_taken',
    title: 'E-mail already in use',
    status: 409,
    detail: 'Sign in instead, or use another address.',
    code: 'email_taken',
  })
  expect((await signIn(api, 'ada.LOVELACE@b\u00fccher.example', ada.password)).body.user).toEqual(made.body.user)
})

test('of two who sign up with one e-mail at once, one gets the account', async () => {
  const { api, sql } = await openShop()
  const ada = newAccount()
  const answers = await Promise.all([signUp(api, ada), signUp(api, ada), signUp(api, ada)])
  expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409])
  expect(await sql('select count(*)::int from users where email = $1', [ada.email])).toEqual([{ count: 1 }])
})

test('422: every fault of a sign-up is told at once', async () => {
  const { api } = await openShop()
  const ada = newAccount()
  const refused = await signUp(api, {
    email: 'nobody',
    password: 'short',
    name: 'A\u202Eda',
    cookie: 'yes',
    role: 'admin',
  })
  expect(refused.status).toBe(422)
  expect(refused.body.errors).toHaveLength(5)
  expect(refused.body.errors).toEqual(
    expect.arrayContaining([
      { pointer: '#/role', code: 'unknown_member', detail: expect.any(String) },
      { pointer: '#/email', code: 'invalid_email', detail: expect.any(String), example: 'ada@example.com' },
      { pointer: '#/password', code: 'too_short', detail: 'This must have at least 15 characters.' },
      { pointer: '#/name', code: 'invalid_characters', detail: expect.stringContaining('U+202E') },
      { pointer: '#/cookie', code: 'invalid_type', detail: 'This must be true or false.' },
    ]),
  )
  const empty = await signUp(api, {})
  expect(empty.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
    ['#/email', 'required'],
    ['#/password', 'required'],
  ])
  for (const email of [
    '@example.com',
    'ada@',
    'ada@localhost',
    'a da@example.com',
    'ada@example.com\r\nBcc: x',
    'a..b@x.de',
  ])
    expect([email, (await signUp(api, { ...ada, email })).status]).toEqual([email, 422])
})

test('a password has 15 to 256 characters, and every one of them counts', async () => {
  const { api } = await openShop()
  const phrase = (length: number) => 'some words that nobody would join, '.repeat(8).slice(0, length)
  const tries: [string, number][] = [
    [phrase(14), 422],
    [phrase(15), 201],
    [phrase(64), 201],
    [phrase(256), 201],
    [phrase(257), 422],
    // Characters, not bytes or UTF-16 units.
    ['\u{1d51e}\u{1d51f}\u{1d520}\u{1d521}\u{1d522}\u{1d523}\u{1d524}\u{1d525}\u{1d526}\u{1d527}abcd', 422],
    ['\u{1d51e}\u{1d51f}\u{1d520}\u{1d521}\u{1d522}\u{1d523}\u{1d524}\u{1d525}\u{1d526}\u{1d527}abcde', 201],
  ]
  for (const [n, [password, status]] of tries.entries())
    expect([n, (await signUp(api, { email: `phrase${n}@example.com`, password })).status]).toEqual([n, status])
  expect((await signIn(api, 'phrase3@example.com', phrase(256))).status).toBe(200)
  expect((await signIn(api, 'phrase3@example.com', phrase(255))).status).toBe(401)
  expect((await signIn(api, 'phrase3@example.com', `${phrase(255)}?`)).status).toBe(401)
  expect((await signIn(api, 'phrase3@example.com', phrase(72))).status).toBe(401)
  expect((await signIn(api, 'phrase1@example.com', ` ${phrase(15)}`)).status).toBe(401)
})

test('422: a password that anyone would try first is refused', async () => {
  const { api } = await openShop()
  const common = [
    'password12345678',
    'Password12345678!',
    'passwordpassword',
    'qwertyuiop123456',
    '123456789012345',
    '12345678901234567890',
    'aaaaaaaaaaaaaaaa',
    'abcabcabcabcabcabc',
    'iloveyouiloveyou',
    'letmein letmein letmein',
    '1q2w3e4r5t1q2w3e4r5t',
    'adminadministrator',
    'welcome welcome 123',
    'storekeeper-storekeeper',
    'P@ssword!@#$%^&*()',
    'grace.hopper grace.hopper 123',
  ]
  for (const password of common) {
    const refused = await signUp(api, { email: 'grace.hopper@example.com', password })
    expect([password, refused.status, refused.body.errors?.[0]?.code]).toEqual([password, 422, 'too_common'])
  }
})

test('a password needs no digits, no capitals and no signs, and may be nothing else', async () => {
  const { api } = await openShop()
  const fine = [
    'correct horse battery staple',
    'onlysmalllettershere',
    'ONLYCAPITALSINTHISONE',
    '847261935028374',
    '}{|:<>?~+_=-;/.,',
    '\u0441\u0430\u043c\u043e\u0432\u0430\u0440 \u043d\u0430 \u0431\u0435\u0440\u0435\u0433\u0443',
    '\u{1f98a}\u{1f419}\u{1f335}\u{1f3b7}\u{1f6b2}\u{1f9c0}\u26f5\u{1f347}\u{1f994}\u{1fa81}\u{1f9ed}\u{1fab4}\u{1f388}\u{1f40c}\u{1f344}',
  ]
  for (const [n, password] of fine.entries()) {
    const email = `fine${n}@example.com`
    expect([password, (await signUp(api, { email, password })).status]).toEqual([password, 201])
    expect((await signIn(api, email, password)).status).toBe(200)
  }
})

test('a password is the same in whichever form its accents are typed, however many they are', async () => {
  const { api } = await openShop()
  for (const [n, accents] of ['', '\u0301'.repeat(40)].entries()) {
    const password = `cr\u00e8me${accents} br\u00fbl\u00e9e for nobody`
    const email = `accents${n}@example.com`
    expect((await signUp(api, { email, password: password.normalize('NFD') })).status).toBe(201)
    expect((await signIn(api, email, password.normalize('NFC'))).status).toBe(200)
  }
})

// ---- signing in -----------------------------------------------------------------------------------------------------

test('200: signing in opens a new session beside the others', async () => {
  const { api } = await openShop()
  const ada = newAccount()
  const first = (await signUp(api, ada)).body
  const second = await signIn(api, ada.email, ada.password)
  expect(second.status).toBe(200)
  expect(second.body).toEqual({
    user: first.user,
    token: expect.stringMatching(/^skp_sess_[0-9A-Za-z]{49}$/),
    expiresAt: expect.stringMatching(RFC_3339),
  })
  expect(second.body.token).not.toBe(first.token)
  expect(await worksFor(api, first.token)).toBe(200)
  expect(await worksFor(api, second.body.token)).toBe(200)
})

test('401: a wrong password and an e-mail without an account get the same answer', async () => {
  const { api } = await openShop()
  const ada = newAccount()
  await signUp(api, ada)
  const wrong = await signIn(api, ada.email, WRONG)
  const unknown = await signIn(api, 'nobody@example.com', WRONG)
  const nonsense = await signIn(api, 'not an e-mail', '')
  expect(told(wrong)).toEqual({
    type: '/errors/invalid_credentials',
    title: 'Wrong e-mail or password',
    status: 401,
    detail: 'Check what you sent and try again. After 10 failures within 15 minutes you have to wait.',
    code: 'invalid_credentials',
  })
  expect(told(unknown)).toEqual(told(wrong))
  expect(told(nonsense)).toEqual(told(wrong))
  const names = ({ headers }: Reply) => [...headers.keys()].filter((name) => name !== 'x-request-id')
  expect(names(unknown)).toEqual(names(wrong))
})

// ---- too many failures ----------------------------------------------------------------------------------------------

test('failures are counted by the clock of the database: a node that is 50 s ahead shuts nobody out for longer', async () => {
  const { api, person, sql } = await openShop()
  const { email } = await person()
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + 50_000)
  onTestFinished(() => void clock.mockRestore())
  const attempt = () => api.post('/v1/auth/sign-in', { email, password: 'not the password of anyone' })
  expect((await attempt()).status).toBe(401)
  await failMore(sql, 8)
  expect((await attempt()).status).toBe(401)
  clock.mockRestore()
  const refused = await attempt()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(15 * 60)
})

test('429: the eleventh failure has to wait, with the right password too, and 15 minutes later all is well', async () => {
  const { api, sql } = await openShop()
  const ada = newAccount()
  // Failures are timed by the database's clock.
  const later = (minutes: number) => sql(`update sign_in_failures set at = at - interval '${minutes} minutes'`)
  const { token } = (await signUp(api, ada)).body
  for (let n = 1; n <= 10; n++) expect([n, (await signIn(api, ada.email, WRONG)).status]).toEqual([n, 401])
  const eleventh = await signIn(api, ada.email, WRONG)
  expect(eleventh.status).toBe(429)
  expect(told(eleventh)).toEqual({
    type: '/errors/rate_limited',
    title: 'Too many requests',
    status: 429,
    detail: 'Too many failed attempts. Wait for "Retry-After" seconds.',
    code: 'rate_limited',
  })
  const retryAfter = Number(eleventh.headers.get('retry-after'))
  expect(retryAfter).toBeGreaterThan(880)
  expect(retryAfter).toBeLessThanOrEqual(900)

  const right = await signIn(api, ada.email, ada.password)
  expect(right.status).toBe(429)
  expect(told(right)).toEqual(told(eleventh))
  expect(await worksFor(api, token)).toBe(200)

  await later(14)
  expect((await signIn(api, ada.email, ada.password)).status).toBe(429)
  await later(1)
  expect((await signIn(api, ada.email, ada.password)).status).toBe(200)
})

test('429: an e-mail without an account waits like one with an account', async () => {
  const { api, sql } = await openShop()
  expect((await signIn(api, 'nobody@example.com', WRONG)).status).toBe(401)
  await failMore(sql, 8)
  expect((await signIn(api, 'nobody@example.com', WRONG)).status).toBe(401)
  const eleventh = await signIn(api, 'NOBODY@example.com', WRONG)
  expect(eleventh.status).toBe(429)
  expect(Number(eleventh.headers.get('retry-after'))).toBeGreaterThan(880)
})

test('429: thirty tries at once, from thirty addresses over two nodes, are ten tries', async () => {
  const { api, node } = await openShop()
  const ada = newAccount()
  await signUp(api, ada)
  const nodes = [api, await node()] as const
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      untilTried(() => signIn(nodes[n % 2] as Api, ada.email, WRONG, `203.0.113.${n}`)),
    ),
  )
  const statuses = answers.map((answer) => answer.status).sort()
  expect(statuses).toEqual([...Array(10).fill(401), ...Array(20).fill(429)])
  expect(answers.every(({ status, headers }) => status !== 429 || Number(headers.get('retry-after')) > 0)).toBe(true)
})

test('whoever asks for many passwords to be hashed keeps nobody waiting for all of them', async () => {
  const { api, person } = await openShop()
  const ada = await person()
  let answered = 0
  const flood = Array.from({ length: 40 }, async (_, n) => {
    const account = { ...ADA, email: `mallory${n}@example.com` }
    const { status } = await api.post('/v1/auth/sign-up', account, { headers: { 'x-forwarded-for': '203.0.113.9' } })
    answered += 1
    return status
  })
  await expect.poll(() => answered, { interval: 5 }).toBeGreaterThan(0)
  const before = answered
  expect((await signIn(api, ada.email, ada.password, '203.0.113.7')).status).toBe(200)
  expect(answered - before).toBeLessThan(20)
  expect(await Promise.all(flood)).toEqual(Array(40).fill(201))
})

test('429: an account is guarded against tries from everywhere', async () => {
  const { api, sql } = await openShop()
  const ada = newAccount()
  await signUp(api, ada)
  expect((await signIn(api, ada.email, WRONG, '203.0.113.1')).status).toBe(401)
  await failMore(sql, 8)
  expect((await signIn(api, ada.email, WRONG, '203.0.113.10')).status).toBe(401)
  expect((await signIn(api, ada.email, ada.password, '203.0.113.11')).status).toBe(429)
  expect((await signIn(api, 'another@example.com', WRONG, '203.0.113.11')).status).toBe(401)
})

test('429: an address that tries many e-mails has to wait, and others do not', async () => {
  const { api, sql } = await openShop()
  const ada = newAccount()
  await signUp(api, ada)
  expect((await signIn(api, 'n1@example.com', WRONG, '203.0.113.7')).status).toBe(401)
  await failMoreFromThere(sql, 8)
  // Their own account does not wash the others away.
  expect((await signIn(api, ada.email, ada.password, '203.0.113.7')).status).toBe(200)
  expect((await signIn(api, 'n10@example.com', WRONG, '203.0.113.7')).status).toBe(401)
  expect((await signIn(api, 'n11@example.com', WRONG, '203.0.113.7')).status).toBe(429)
  expect((await signIn(api, ada.email, ada.password, '203.0.113.7')).status).toBe(429)
  expect((await signIn(api, ada.email, ada.password, '203.0.113.8')).status).toBe(200)
})

test('429: thirty e-mails tried at once from one address are ten tries', async () => {
  const { api } = await openShop()
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => untilTried(() => signIn(api, `n${n}@example.com`, WRONG))),
  )
  const statuses = answers.map((answer) => answer.status).sort()
  expect(statuses).toEqual([...Array(10).fill(401), ...Array(20).fill(429)])
})

test('429: a forged X-Forwarded-For makes nobody another', async () => {
  const { api, node } = await shop({ alone: true })
  for (let n = 1; n <= 10; n++)
    expect((await signIn(api, `n${n}@example.com`, WRONG, `203.0.113.${n}`)).status).toBe(401)
  expect((await signIn(api, 'n11@example.com', WRONG, '203.0.113.11')).status).toBe(429)

  // Behind a proxy, what stands before the proxy's own entry was written by the caller.
  const proxied = await node({ TRUST_PROXY: '1' })
  for (let n = 1; n <= 10; n++)
    expect((await signIn(proxied, `p${n}@example.com`, WRONG, `198.51.100.${n}, 203.0.113.99`)).status).toBe(401)
  expect((await signIn(proxied, 'p11@example.com', WRONG, '198.51.100.11, 203.0.113.99')).status).toBe(429)
})

test('an account is not locked out from afar: the places it has signed in from have a count of their own', async () => {
  const { api, sql } = await openShop()
  const ada = newAccount()
  const from = (ip: string) => ({ headers: { 'x-forwarded-for': ip } })
  const [home, work, cafe] = ['2001:db8:1:1::1', '198.51.100.1', '198.51.100.2'] as const
  const { token: thief, user } = (await api.post('/v1/auth/sign-up', ada, from(home))).body
  const placesOf = () => sql('select count(*)::int as places from sign_in_places where user_id = $1', [user.id])
  const { token } = (await signIn(api, ada.email, ada.password, work)).body
  expect((await signIn(api, ada.email, WRONG, '203.0.113.1')).status).toBe(401)
  await failMore(sql, 8)
  expect((await signIn(api, ada.email, WRONG, '203.0.113.10')).status).toBe(401)
  const statusAt = async (ip: string, password = ada.password) => (await signIn(api, ada.email, password, ip)).status
  expect([await statusAt(work), await statusAt(cafe)]).toEqual([200, 429])
  // Another address of the same /64 is the same place.
  expect(await statusAt('2001:db8:1:1:2::2')).toBe(200)
  for (let n = 1; n <= 10; n++) expect(await statusAt(work, WRONG)).toBe(401)
  expect([await statusAt(work), await statusAt(home)]).toEqual([429, 200])

  // Whoever holds a stolen session does not keep its owner from changing the password.
  const change = (as: string, ip: string, currentPassword: string) =>
    api.post(
      '/v1/user/password',
      { currentPassword, newPassword: 'another horse, another battery' },
      { as, ...from(ip) },
    )
  for (let n = 1; n <= 10; n++) expect((await change(thief, '192.0.2.1', WRONG)).status).toBe(401)
  expect((await change(thief, '192.0.2.2', ada.password)).status).toBe(429)
  expect((await change(token, '192.0.2.3', ada.password)).status).toBe(204)

  expect(await placesOf()).toEqual([{ places: 2 }])
  await sql("update sign_in_places set last_at = last_at - interval '91 days'")
  expect((await signIn(api, ada.email, 'another horse, another battery', home)).status).toBe(429)
  expect((await api.delete('/v1/user', { as: token })).status).toBe(200)
  expect(await placesOf()).toEqual([{ places: 0 }])
})

test('429: an address of IPv6 is its /64, and a /48 as a whole has a bound too', async () => {
  const { api, sql } = await openShop()
  const tryFrom = async (ip: string, n: number) => (await signIn(api, `v${n}@example.com`, WRONG, ip)).status
  for (let n = 1; n <= 2; n++) expect(await tryFrom(`2001:db8:7:1::${n}`, n)).toBe(401)
  await failMoreFromThere(sql, 7)
  expect(await tryFrom('2001:db8:7:1::10', 10)).toBe(401)
  expect(await tryFrom('2001:db8:7:1:ffff::1', 11)).toBe(429)
  expect(await tryFrom('2001:db8:7:2::1', 12)).toBe(401)
  await sql(`insert into sign_in_failures (email_hash, ip_hash, site_hash, known_place, at)
             select sha256(n::text::bytea), sha256(n::text::bytea), site_hash, false, at
               from generate_series(1, 89) n, (select site_hash, at from sign_in_failures order by id desc limit 1) last`)
  expect([await tryFrom('2001:db8:7:3::1', 13), await tryFrom('2001:db8:8:1::1', 14)]).toEqual([429, 401])
  for (let n = 1; n <= 2; n++) expect(await tryFrom(n % 2 ? '203.0.113.5' : '::ffff:203.0.113.5', 20 + n)).toBe(401)
  await failMoreFromThere(sql, 7)
  expect(await tryFrom('203.0.113.5', 30)).toBe(401)
  expect(await tryFrom('::ffff:cb00:7105', 31)).toBe(429)
})

// ---- sessions -------------------------------------------------------------------------------------------------------

test('204: signing out ends this session and no other', async () => {
  const { api, person } = await openShop()
  const ada = await person()
  const other = (await signIn(api, ada.email, ada.password)).body.token
  const out = await api.post('/v1/auth/sign-out', undefined, { as: other })
  expect([out.status, out.text]).toEqual([204, ''])
  const after = await api.get('/v1/user', { as: other })
  expect([after.status, after.body.code]).toEqual([401, 'invalid_token'])
  expect((await api.post('/v1/auth/sign-out', {}, { as: other })).status).toBe(401)
  expect(await worksFor(api, ada.token)).toBe(200)
})

test('sessions are listed newest first, a page at a time', async () => {
  const { api, person } = await openShop()
  const ada = await person()
  const browser = { headers: { 'user-agent': 'Firefox on a train' } }
  await api.post('/v1/auth/sign-in', { email: ada.email, password: ada.password }, browser)
  const here = (await signIn(api, ada.email, ada.password)).body
  const whole = await api.get('/v1/user/sessions', { as: here.token })
  expect(whole.status).toBe(200)
  const session = {
    id: expect.stringMatching(/^sess_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    current: false,
    method: 'password',
    userAgent: expect.any(String),
    ip: '127.0.0.1',
    createdAt: expect.stringMatching(RFC_3339),
    lastUsedAt: expect.stringMatching(RFC_3339),
    expiresAt: expect.stringMatching(RFC_3339),
  }
  expect(whole.body).toEqual({
    data: [
      { ...session, current: true, expiresAt: here.expiresAt },
      { ...session, userAgent: 'Firefox on a train' },
      session,
    ],
    nextCursor: null,
  })

  const first = (await api.get('/v1/user/sessions?limit=2', { as: here.token })).body
  expect(first).toEqual({ data: whole.body.data.slice(0, 2), nextCursor: expect.any(String) })
  const rest = await api.get(`/v1/user/sessions?limit=2&cursor=${first.nextCursor}`, { as: here.token })
  expect(rest.body).toEqual({ data: whole.body.data.slice(2), nextCursor: null })

  const stranger = await person()
  const stolen = await api.get(`/v1/user/sessions?cursor=${first.nextCursor}`, { as: stranger.token })
  expect([stolen.status, stolen.body.code]).toEqual([400, 'invalid_cursor'])
  for (const limit of ['0', '101', '1.5', 'x', '1&limit=2'])
    expect((await api.get(`/v1/user/sessions?limit=${limit}`, { as: here.token })).status).toBe(422)
})

test('a session can be ended from another, one by one or all others at once', async () => {
  const { api, person } = await openShop()
  const ada = await person()
  const [second, third, fourth] = await Promise.all(
    [1, 2, 3].map(async () => (await signIn(api, ada.email, ada.password)).body.token as string),
  )
  const list = (await api.get('/v1/user/sessions', { as: second as string })).body.data
  const { id } = list.find((session: { current: boolean }) => session.current)
  expect((await api.delete(`/v1/user/sessions/${id}`, { as: ada.token })).status).toBe(204)
  expect(await worksFor(api, second as string)).toBe(401)
  const again = await api.delete(`/v1/user/sessions/${id}`, { as: ada.token })
  expect([again.status, again.body.code]).toEqual([404, 'session_not_found'])

  expect((await api.delete('/v1/user/sessions', { as: ada.token })).status).toBe(204)
  expect(
    await Promise.all([ada.token, third as string, fourth as string].map((token) => worksFor(api, token))),
  ).toEqual([200, 401, 401])
  expect((await api.get('/v1/user/sessions', { as: ada.token })).body.data).toHaveLength(1)
})

test("404: another user's session looks like one that does not exist, and lives on", async () => {
  const { api, person } = await shop()
  const [ada, eve] = [await person(), await person()]
  const { id } = (await api.get('/v1/user/sessions', { as: ada.token })).body.data[0]
  const theirs = await api.delete(`/v1/user/sessions/${id}`, { as: eve.token })
  expect([theirs.status, theirs.body.code]).toEqual([404, 'session_not_found'])
  for (const none of [newId('sess'), 'sess_1', ada.id, '%00', "' or 1=1--"])
    expect(told(await api.delete(`/v1/user/sessions/${encodeURIComponent(none)}`, { as: eve.token }))).toEqual(
      told(theirs),
    )
  expect(await worksFor(api, ada.token)).toBe(200)
})

test('a session ends after 30 days without use', async () => {
  const { api, person, sql } = await openShop()
  const ada = await person()
  travel(30 * DAY - MINUTE)
  expect(await worksFor(api, ada.token)).toBe(200)
  // The use is written down beside the request.
  await expect
    .poll(() => sql("select id from sessions where user_id = $1 and last_used_at > created_at + '29 days'", [ada.id]))
    .toHaveLength(1)
  travel(30 * DAY - MINUTE)
  expect(await worksFor(api, ada.token)).toBe(200)
  travel(30 * DAY + HOUR)
  const over = await api.get('/v1/user', { as: ada.token })
  expect([over.status, over.body.code]).toEqual([401, 'invalid_token'])
})

test('the last use of a session is known to five minutes, by which the one that was idle longest gives way', async () => {
  const { api, person } = await shop({ MAX_SESSIONS_PER_USER: '2' })
  const ada = await person()
  travel(MINUTE)
  const unused = (await signIn(api, ada.email, ada.password)).body.token
  travel(5 * MINUTE)
  const usedLaterBy = async () => {
    const sessions: Session[] = (await api.get('/v1/user/sessions', { as: ada.token })).body.data
    const lastUse = (isCurrent: boolean) =>
      Date.parse(sessions.find(({ current }) => current === isCurrent)?.lastUsedAt ?? '')
    return lastUse(true) - lastUse(false)
  }
  await expect.poll(usedLaterBy).toBeGreaterThanOrEqual(5 * MINUTE)
  await signIn(api, ada.email, ada.password)
  expect(await Promise.all([ada.token, unused].map((token) => worksFor(api, token)))).toEqual([200, 401])
})

test('a session ends after 90 days, however much it is used', async () => {
  const { api, person, sql } = await openShop()
  const ada = await person()
  for (const days of [29, 58, 87]) {
    travel(29 * DAY)
    expect(await worksFor(api, ada.token)).toBe(200)
    await expect
      .poll(() =>
        sql('select id from sessions where user_id = $1 and last_used_at > created_at + make_interval(days => $2)', [
          ada.id,
          days - 1,
        ]),
      )
      .toHaveLength(1)
  }
  travel(3 * DAY - MINUTE)
  expect(await worksFor(api, ada.token)).toBe(200)
  travel(2 * MINUTE)
  expect(await worksFor(api, ada.token)).toBe(401)
})

// ---- changing the password ------------------------------------------------------------------------------------------

test('204: a new password ends every other session, and the old one stops working', async () => {
  const { api, person } = await openShop()
  const ada = await person()
  const other = (await signIn(api, ada.email, ada.password)).body.token
  const next = 'another horse, another battery'
  const changed = await api.post(
    '/v1/user/password',
    { currentPassword: ada.password, newPassword: next },
    { as: ada.token },
  )
  expect([changed.status, changed.text]).toEqual([204, ''])
  expect(await worksFor(api, ada.token)).toBe(200)
  expect(await worksFor(api, other)).toBe(401)
  expect((await signIn(api, ada.email, ada.password)).status).toBe(401)
  expect((await signIn(api, ada.email, next)).status).toBe(200)
})

test('401: without the current password nothing is changed and no session ends', async () => {
  const { api, person } = await openShop()
  const ada = await person()
  const other = (await signIn(api, ada.email, ada.password)).body.token
  const change = (currentPassword: string, newPassword: string) =>
    api.post('/v1/user/password', { currentPassword, newPassword }, { as: ada.token })
  const refused = await change(WRONG, 'another horse, another battery')
  expect([refused.status, refused.body.code]).toEqual([401, 'invalid_credentials'])
  const common = await change(ada.password, 'password12345678')
  expect([common.status, common.body.errors]).toEqual([
    422,
    [{ pointer: '#/newPassword', code: 'too_common', detail: expect.any(String), example: expect.any(String) }],
  ])
  expect((await change(ada.password, 'fourteen chars')).status).toBe(422)
  expect(await worksFor(api, other)).toBe(200)
  expect((await signIn(api, ada.email, ada.password)).status).toBe(200)

  for (let n = 2; n <= 10; n++) expect((await change(WRONG, 'another horse, another battery')).status).toBe(401)
  expect((await change(ada.password, 'another horse, another battery')).status).toBe(429)
})

test('a password change whose answer was lost can be sent again', async () => {
  const { api, person } = await openShop()
  const ada = await person()
  const next = 'another horse, another battery'
  const change = () =>
    api.post(
      '/v1/user/password',
      { currentPassword: ada.password, newPassword: next },
      { as: ada.token, headers: { 'idempotency-key': 'change-my-password' } },
    )
  const first = await change()
  expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([204, null])
  const since = (await signIn(api, ada.email, next)).body.token
  const again = await change()
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([204, 'true'])
  // It was not done twice: a session opened since then lives.
  expect(await worksFor(api, since)).toBe(200)
  expect((await signIn(api, ada.email, next)).status).toBe(200)
})

test('of two password changes at once one wins, and its password is the one that works', async () => {
  const { api, person } = await openShop()
  const ada = await person()
  const wanted = ['another horse, another battery', 'a third horse, a third battery']
  const answers = await Promise.all(
    wanted.map((newPassword) =>
      api.post('/v1/user/password', { currentPassword: ada.password, newPassword }, { as: ada.token }),
    ),
  )
  expect(answers.map((answer) => answer.status).sort()).toEqual([204, 401])
  for (const [n, password] of wanted.entries())
    expect((await signIn(api, ada.email, password)).status).toBe(answers[n]?.status === 204 ? 200 : 401)
})

test('a sign-in with the old password does not slip past a change that is being made', async () => {
  const { api, person, sql } = await openShop()
  const ada = await person()
  const other = await api.post('/v1/auth/sign-up', { email: 'other@example.com', password: 'another long pass phrase' })
  await sql('begin')
  await sql('update users set password_hash = (select password_hash from users where id = $1) where id = $2', [
    other.body.user.id,
    ada.id,
  ])
  const slipping = signIn(api, ada.email, ada.password)
  await expect
    .poll(() => sql('select pid from pg_locks where not granted and transactionid = pg_current_xact_id()::xid'))
    .toHaveLength(1)
  await sql('commit')
  expect((await slipping).status).toBe(401)
  expect(await sql('select id from sessions where user_id = $1', [ada.id])).toHaveLength(1)
})

// ---- the session in a cookie ----------------------------------------------------------------------------------------

test('a browser gets its session as a cookie that no script can read', async () => {
  const { api } = await openShop()
  const ada = newAccount()
  const made = await signUp(api, { ...ada, cookie: true })
  expect(made.status).toBe(201)
  expect(made.body).toEqual({ user: expect.objectContaining({ email: ada.email }), expiresAt: expect.any(String) })
  const [, token, seconds, expires, attributes] = COOKIE.exec(made.headers.get('set-cookie') ?? '') ?? []
  expect(made.text).not.toContain(token)
  expect(attributes).toBe('Secure; HttpOnly; SameSite=Strict')
  expect(Math.abs(Number(seconds) - 90 * 24 * 3600)).toBeLessThan(5)
  expect(Math.abs(Date.parse(expires as string) - Date.parse(made.body.expiresAt))).toBeLessThan(5 * SECOND)

  const cookie = `theme=dark; __Host-storekeeper=${token}; lang=en`
  const me = await api.get('/v1/user', { headers: { cookie } })
  expect([me.status, me.body.user]).toEqual([200, made.body.user])
  const store = await api.post('/v1/user/store', { name: 'From a page' }, { headers: { cookie, origin: api.url } })
  expect(store.status).toBe(201)

  const signedIn = await api.post('/v1/auth/sign-in', { ...ada, cookie: true }, { headers: { cookie } })
  const next = COOKIE.exec(signedIn.headers.get('set-cookie') ?? '')?.[1]
  expect([signedIn.status, Object.keys(signedIn.body)]).toEqual([200, ['user', 'expiresAt']])
  expect(next).toEqual(expect.any(String))
  expect(next).not.toBe(token)

  const out = await api.post('/v1/auth/sign-out', undefined, { headers: { cookie } })
  expect(out.status).toBe(204)
  expect(out.headers.get('set-cookie')).toBe(
    '__Host-storekeeper=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; HttpOnly; SameSite=Strict',
  )
  expect((await api.get('/v1/user', { headers: { cookie } })).status).toBe(401)
})

test('403: a page of another origin cannot use the session in a cookie', async () => {
  const { api, node, sql } = await shop({ alone: true })
  const made = await signUp(api, { ...ADA, cookie: true })
  const token = COOKIE.exec(made.headers.get('set-cookie') ?? '')?.[1] as string
  const cookie = `__Host-storekeeper=${token}`
  const host = new URL(api.url).host
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { origin: `${api.url}.evil.example` },
    { origin: `ws://${host}` },
    { origin: `wss://${host}` },
    { origin: `http://${host}1` },
    { origin: `https://evil.example/${host}` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: api.url, 'sec-fetch-site': 'cross-site' },
  ]
  for (const headers of foreign)
    for (const method of ['GET', 'POST']) {
      const path = method === 'GET' ? '/v1/user' : '/v1/user/store'
      const body = method === 'GET' ? undefined : { name: 'Forged' }
      const refused = await api.ask(method, path, body, { headers: { cookie, ...headers } })
      expect([headers, method, refused.status, refused.body?.code]).toEqual([headers, method, 403, 'forbidden_origin'])
      expect((await api.ask(method, path, body, { as: token, headers })).status).toBe(method === 'GET' ? 200 : 201)
    }
  expect(await sql("select count(*)::int from stores where name = 'Forged'")).toEqual([{ count: foreign.length }])

  const own: Record<string, string>[] = [
    {},
    { origin: api.url },
    { origin: api.url, 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
  ]
  for (const headers of own)
    expect([headers, (await api.get('/v1/user', { headers: { cookie, ...headers } })).status]).toEqual([headers, 200])

  // Behind a proxy that ends TLS, a page that came without it is not ours.
  const proxied = await node({ TRUST_PROXY: '1' })
  const from = async (protocol: string) => {
    const origin = proxied.url.replace('http:', `${protocol}:`)
    return (await proxied.get('/v1/user', { headers: { cookie, origin, 'x-forwarded-proto': 'https' } })).status
  }
  expect([await from('https'), await from('http'), await from('ws')]).toEqual([200, 403, 403])

  const withPage = await node({ CORS_ORIGINS: 'https://shop.example' })
  const page = { cookie, origin: 'https://shop.example', 'sec-fetch-site': 'same-site' }
  expect((await withPage.get('/v1/user', { headers: page })).status).toBe(200)
  const other = { ...page, origin: 'https://other.example' }
  expect((await withPage.get('/v1/user', { headers: other })).status).toBe(403)
})

test('400: a cookie and a bearer token together are two credentials', async () => {
  const { api, owner } = await openShop()
  const ada = newAccount()
  const made = await signUp(api, { ...ada, cookie: true })
  const token = COOKIE.exec(made.headers.get('set-cookie') ?? '')?.[1]
  const cookie = `__Host-storekeeper=${token}`
  const both = await api.get('/v1/user', { as: owner.token, headers: { cookie } })
  expect([both.status, both.body.code]).toEqual([400, 'invalid_request'])
  expect(both.headers.get('www-authenticate')).toBe('Bearer realm="storekeeper", error="invalid_request"')
  const twice = await api.get('/v1/user', { headers: { cookie: `${cookie}; ${cookie}` } })
  expect([twice.status, twice.body.code]).toEqual([400, 'invalid_request'])
  expect((await api.get('/v1/user', { headers: { cookie: `${cookie}x` } })).status).toBe(401)
})

// ---- accounts by invitation -----------------------------------------------------------------------------------------

test('403: where sign-up is closed an account takes a fitting invitation', async () => {
  const { owner, store, node, api: open } = await shop({ alone: true })
  const api = await node({ SIGN_UP: 'closed' })
  const invite = async (email: string) =>
    (await api.post(`/v1/user/store/${store.id}/invitations`, { email, role: 'STAFF' }, { as: owner.token })).body
  const uninvited = await signUp(api, ADA)
  expect(uninvited.status).toBe(403)
  expect(told(uninvited)).toEqual({
    type: '/errors/sign_up_closed',
    title: 'Sign-up is by invitation only',
    status: 403,
    detail: 'Ask a store for an invitation, and send its token as "invitation" when you sign up.',
    code: 'sign_up_closed',
  })
  expect(told(await signUp(api, { ...ADA, invitation: 'skp_inv_nonsense' }))).toEqual(told(uninvited))

  const forAda = await invite(ADA.email)
  const mallory = await signUp(api, { ...ADA, email: 'mallory@example.com', invitation: forAda.token })
  expect([mallory.status, mallory.body.code]).toEqual([403, 'invitation_mismatch'])
  const ada = await signUp(api, { ...ADA, email: 'ADA@example.com', invitation: forAda.token })
  expect(ada.status).toBe(201)
  const accepted = await api.post('/v1/user/invitations/accept', { token: forAda.token }, { as: ada.body.token })
  expect(accepted.status).toBe(200)

  const withdrawn = await invite('withdrawn@example.com')
  await api.delete(`/v1/user/store/${store.id}/invitations/${withdrawn.id}`, { as: owner.token })
  const ended = await invite('late@example.com')
  const late = { ...ADA, email: 'late@example.com', invitation: ended.token }
  expect(told(await signUp(api, { ...ADA, email: 'withdrawn@example.com', invitation: withdrawn.token }))).toEqual(
    told(uninvited),
  )
  travel(7 * DAY + SECOND)
  expect(told(await signUp(api, late))).toEqual(told(uninvited))
  expect((await signUp(open, { ...late, invitation: undefined })).status).toBe(201)
})

// ---- what is written down -------------------------------------------------------------------------------------------

test('accounts and sessions leave one event for each change, and no secret anywhere', async () => {
  const { api, sql, logs } = await openShop()
  const ada = newAccount()
  const first = (await signUp(api, ada)).body
  const second = (await signIn(api, ada.email, ada.password)).body
  await signIn(api, ada.email, WRONG)
  const next = 'another horse, another battery'
  await api.post('/v1/user/password', { currentPassword: ada.password, newPassword: next }, { as: first.token })
  await api.post('/v1/auth/sign-out', undefined, { as: first.token })

  const { id } = first.user
  const events = await sql(
    "select store_id, type, actor, subject, data from events where actor ->> 'id' = $1 order by id",
    [id],
  )
  const session = expect.stringMatching(/^sess_/)
  const actor = { kind: 'user', id, credential: session, ip: '127.0.0.1' }
  const mine = events[1].subject
  expect(events).toEqual([
    { store_id: null, type: 'user.created', actor: { ...actor, credential: null }, subject: id, data: {} },
    { store_id: null, type: 'session.created', actor: { ...actor, credential: mine }, subject: mine, data: {} },
    { store_id: null, type: 'session.created', actor, subject: session, data: {} },
    { store_id: null, type: 'user.password_changed', actor: { ...actor, credential: mine }, subject: id, data: {} },
    { store_id: null, type: 'session.ended', actor: { ...actor, credential: mine }, subject: mine, data: {} },
  ])
  const everything = JSON.stringify([
    events,
    await sql("select encode(convert_to(users::text, 'utf8'), 'escape') from users"),
    await sql('select sessions::text from sessions'),
    await sql('select sign_in_failures::text from sign_in_failures'),
    await sql('select sign_in_places::text from sign_in_places'),
    logs(),
  ])
  expect(everything).toContain(first.user.id)
  for (const secret of [ada.password, next, WRONG, first.token, second.token]) expect(everything).not.toContain(secret)
})
