import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { fromBase32 } from '../../tests/authenticator.ts'
import { call } from '../../tests/command.ts'
import { mailServer } from '../../tests/mail-server.ts'
import { type Person, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { run } from '../cli/run.ts'
import { HOUR, MINUTE, nowMs, SECOND, travel } from '../core/clock.ts'
import { totpCode, totpStep } from '../crypto/totp.ts'
import { purgeChallenges } from './challenge.ts'

const NEW_PASSWORD = 'seven bicycles under one umbrella'

/** The app of a person: each code is of a later step than the one before, as if somebody waited for it. */
function appFor(secret: string) {
  let last = 0
  return {
    next: () => {
      last = Math.max(last + 1, totpStep(nowMs()))
      if (last > totpStep(nowMs())) travel(30 * SECOND)
      return totpCode(fromBase32(secret), last)
    },
    wrong: () => {
      // The steps before and after count too, and the next may begin meanwhile.
      const near = [-1, 0, 1, 2].map((steps) => totpCode(fromBase32(secret), totpStep(nowMs()) + steps))
      return ['000000', '111111', '222222', '333333', '444444'].find((code) => !near.includes(code)) as string
    },
  }
}

const signIn = ({ api }: Shop, { email, password }: { email: string; password: string }, from?: string) =>
  api.post('/v1/auth/sign-in', { email, password }, from ? { headers: { 'x-forwarded-for': from } } : {})

const second = ({ api }: Shop, challenge: string, code: string, from?: string) =>
  api.post('/v1/auth/second-factor', { challenge, code }, from ? { headers: { 'x-forwarded-for': from } } : {})

async function challengeFor(world: Shop, person: { email: string; password: string }): Promise<string> {
  const { body } = await signIn(world, person)
  expect(body.code).toBe('second_factor_required')
  return body.challenge
}

async function setUp({ api }: Shop, as: string) {
  const { status, body } = await api.post('/v1/user/totp', undefined, { as })
  expect(status).toBe(200)
  const app = appFor(body.secret)
  expect((await api.post('/v1/user/totp/confirm', { code: app.next() }, { as })).status).toBe(204)
  return { app, ...(body as { secret: string; uri: string; recoveryCodes: string[] }) }
}

function operate({ databaseUrl, serverSecret }: Shop, argv: string[], env: Record<string, string> = {}) {
  return call(run, ['user', ...argv], { env: { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret, ...env } })
}

const factorOf = async ({ api }: Shop, as: string) => (await api.get('/v1/user', { as })).body.user.secondFactor

test('an authenticator app counts once it is confirmed, by the session that set it up', async () => {
  const world = await shop({ alone: true })
  const { api, owner, sql } = world
  const other = (await signIn(world, owner)).body.token
  const { body, headers } = await api.post('/v1/user/totp', undefined, { as: owner.token })
  expect(body).toEqual({
    secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
    uri: `otpauth://totp/Storekeeper:${encodeURIComponent(owner.email)}?secret=${body.secret}&issuer=Storekeeper&algorithm=SHA1&digits=6&period=30`,
    recoveryCodes: Array.from({ length: 10 }, () =>
      expect.stringMatching(/^[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}$/),
    ),
  })
  expect(headers.get('cache-control')).toBe('no-store')
  expect(await factorOf(world, owner.token)).toEqual({ totp: false, passkeys: 0, recoveryCodesLeft: 0 })
  expect((await signIn(world, owner)).status).toBe(200)

  const app = appFor(body.secret)
  const confirm = (code: string, as = owner.token) => api.post('/v1/user/totp/confirm', { code }, { as })
  const wrong = await confirm(app.wrong())
  expect([wrong.status, wrong.body.errors[0]]).toMatchObject([422, { pointer: '#/code', code: 'wrong_code' }])
  expect((await confirm(app.next(), other)).body.code).toBe('second_factor_not_found')
  const code = app.next()
  expect((await confirm(`${code.slice(0, 3)} ${code.slice(3)}`)).status).toBe(204)
  expect((await confirm(app.next())).body.code).toBe('second_factor_not_found')
  // Sessions that were opened with the password alone are over.
  expect((await api.get('/v1/user', { as: other })).status).toBe(401)
  expect(await factorOf(world, owner.token)).toEqual({ totp: true, passkeys: 0, recoveryCodesLeft: 10 })
  const kept = JSON.stringify([
    await sql(`select encode(sealed, 'escape') as sealed from totp_secrets`),
    await sql(`select encode(hash, 'escape') as hash from recovery_codes`),
    await sql('select data from events'),
  ])
  for (const secret of [body.secret, ...body.recoveryCodes]) expect(kept).not.toContain(secret)
  expect(world.logs()).not.toContain(body.secret)
  // Setting it up anew leaves the one before until the new one is confirmed.
  const again = await api.post('/v1/user/totp', undefined, { as: owner.token })
  const challenge = await challengeFor(world, owner)
  expect((await second(world, challenge, appFor(again.body.secret).next())).body.code).toBe('invalid_code')
  expect((await second(world, challenge, again.body.recoveryCodes[0])).body.code).toBe('invalid_code')
  expect((await second(world, challenge, app.next())).status).toBe(200)
  travel(16 * MINUTE)
  expect((await confirm(appFor(again.body.secret).next())).body.code).toBe('second_factor_not_found')
  const events = await sql(`select type, data from events where subject = $1 and type like 'user.second%'`, [owner.id])
  expect(events).toEqual([{ type: 'user.second_factor_enabled', data: { method: 'totp' } }])
})

test('the password is answered with a challenge, and a code of the app, once, with the session', async () => {
  const world = await shop({ alone: true })
  const { api, owner, service, sql } = world
  const { app, recoveryCodes } = await setUp(world, owner.token)
  const { status, body } = await signIn(world, owner)
  expect([status, body]).toMatchObject([401, { code: 'second_factor_required', methods: ['totp', 'recovery_code'] }])
  expect(Date.parse(body.expiresAt) - nowMs()).toBeLessThanOrEqual(5 * MINUTE)
  expect(body.passkey).toBeUndefined()
  const wrong = await signIn(world, { ...owner, password: 'not the pass phrase at all' })
  expect(wrong.body).toMatchObject({ code: 'invalid_credentials' })
  expect(Object.keys(wrong.body)).not.toContain('challenge')

  const code = app.next()
  const twice = await Promise.all([second(world, body.challenge, code), second(world, body.challenge, code)])
  expect(twice.map((reply) => reply.status).toSorted()).toEqual([200, 401])
  const opened = twice.find((reply) => reply.status === 200)
  expect(opened?.body).toEqual({
    user: expect.objectContaining({ id: owner.id }),
    token: expect.stringMatching(/^skp_sess_/),
    expiresAt: expect.any(String),
  })
  // The code is used, whatever the challenge, and the challenge whatever the code, or how it is written.
  expect((await second(world, await challengeFor(world, owner), code)).body.code).toBe('invalid_code')
  expect((await second(world, body.challenge, app.next())).body.code).toBe('invalid_challenge')
  expect((await second(world, `${body.challenge}==`, app.next())).body.code).toBe('invalid_challenge')

  // Two challenges, one code, at once.
  const pair = [await challengeFor(world, owner), await challengeFor(world, owner)]
  const next = app.next()
  const race = await Promise.all(pair.map((challenge) => second(world, challenge, next)))
  expect(race.map((reply) => reply.body.code ?? 'session').toSorted()).toEqual(['invalid_code', 'session'])

  const recovery = recoveryCodes[3] as string
  const raced = await Promise.all(
    [await challengeFor(world, owner), await challengeFor(world, owner)].map((challenge) =>
      second(world, challenge, recovery.toUpperCase().replace('-', ' ')),
    ),
  )
  expect(raced.map((reply) => reply.status).toSorted()).toEqual([200, 401])
  expect(await factorOf(world, opened?.body.token)).toEqual({ totp: true, passkeys: 0, recoveryCodesLeft: 9 })
  expect(await sql(`select data from events where type = 'user.recovery_code_used'`)).toEqual([{ data: { left: 9 } }])

  const asCookie = { challenge: await challengeFor(world, owner), code: app.next(), cookie: true }
  const cookie = await api.post('/v1/auth/second-factor', asCookie)
  expect([cookie.status, cookie.body.token, cookie.headers.get('set-cookie')]).toEqual([
    200,
    undefined,
    expect.stringMatching(/^__Host-storekeeper=skp_sess_/),
  ])
  for (const bad of [{ challenge: 'x' }, { challenge: 'x', code: '1', credential: {} }, { code: '123456' }])
    expect((await api.post('/v1/auth/second-factor', bad)).status).toBe(422)
  await purgeChallenges(service.db)
  expect((await sql('select * from spent_challenges')).length).toBeGreaterThan(0)
  travel(6 * MINUTE)
  await purgeChallenges(service.db)
  expect(await sql('select * from spent_challenges')).toEqual([])
})

test('a challenge ends after five minutes, with the password, with the account, and is of one account and one server', async () => {
  const world = await shop({ alone: true })
  const { api, owner, person } = world
  const [ada, bob] = [await person(), await person()]
  const { app } = await setUp(world, owner.token)
  const hers = await setUp(world, ada.token)
  const refused = async (challenge: string, code: string) => (await second(world, challenge, code)).body.code
  // A code of one account is worth nothing for another.
  expect(await refused(await challengeFor(world, owner), hers.app.next())).toBe('invalid_code')
  expect(await refused(await challengeFor(world, owner), hers.recoveryCodes[0] as string)).toBe('invalid_code')
  for (const garbage of ['', 'x', owner.token, 'A'.repeat(200), 'A'.repeat(900)])
    expect(await refused(garbage, app.next())).toBe('invalid_challenge')
  const options = (await api.post('/v1/auth/passkey/options')).body
  expect(await refused(options.challenge, app.next())).toBe('invalid_challenge')

  const late = await challengeFor(world, owner)
  travel(5 * MINUTE + SECOND)
  expect(await refused(late, app.next())).toBe('invalid_challenge')

  const before = await challengeFor(world, owner)
  const session = (await second(world, await challengeFor(world, owner), app.next())).body.token
  const change = { currentPassword: owner.password, newPassword: NEW_PASSWORD }
  expect((await api.post('/v1/user/password', change, { as: session })).status).toBe(204)
  expect(await refused(before, app.next())).toBe('invalid_challenge')
  const renewed = await challengeFor(world, { ...owner, password: NEW_PASSWORD })
  expect((await second(world, renewed, app.next())).status).toBe(200)

  // While the server secret is changed, a node that has the new one too completes what another has begun.
  const fresh = randomBytes(32).toString('base64')
  const moved = await world.node({ SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: world.serverSecret })
  const begun = await challengeFor(world, ada)
  expect((await second({ ...world, api: moved }, begun, hers.recoveryCodes[1] as string)).status).toBe(200)

  const disabled = await challengeFor(world, ada)
  expect((await operate(world, ['disable', ada.email])).code).toBe(0)
  expect(await refused(disabled, hers.app.next())).toBe('invalid_challenge')
  const [known, unknown] = [await signIn(world, ada), await signIn(world, { ...bob, email: 'nobody@example.com' })]
  expect({ ...known.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' })
})

test('429: wrong codes are limited by account and address, and never for a place the account is known at', async () => {
  const world = await shop({ TRUST_PROXY: '1' })
  const { owner, person } = world
  const { app, recoveryCodes } = await setUp(world, owner.token)
  const home = '192.0.2.1'
  const atHome = await second(world, (await signIn(world, owner, home)).body.challenge, app.next(), home)
  expect(atHome.status).toBe(200)
  // Somebody who has the password tries from everywhere.
  for (let i = 0; i < 10; i++) {
    const from = `198.51.100.${i}`
    const { challenge } = (await signIn(world, owner, from)).body
    expect((await second(world, challenge, app.wrong(), from)).body.code).toBe('invalid_code')
  }
  const thief = (await signIn(world, owner, '203.0.113.1')).body.challenge
  for (const code of [app.next(), recoveryCodes[0] as string]) {
    const refused = await second(world, thief, code, '203.0.113.1')
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  const { challenge } = (await signIn(world, owner, home)).body
  expect((await second(world, challenge, app.next(), home)).status).toBe(200)
  // The owner hears of it, once a day.
  travel(HOUR)
  const again = (await signIn(world, owner, '203.0.113.2')).body.challenge
  for (let i = 0; i < 10; i++) await second(world, again, 'wrong', '203.0.113.2')
  const warned = await world.sql(`select data from events where type = 'user.second_factor_guessed'`)
  expect(warned).toEqual([{ data: {} }])

  // One address, several accounts.
  const from = '203.0.113.7'
  for (let i = 0; i < 2; i++) {
    const victim = await person()
    const hers = await setUp(world, victim.token)
    const step = (await signIn(world, victim, from)).body.challenge
    for (let n = 0; n < 5; n++) expect((await second(world, step, hers.app.wrong(), from)).status).toBe(401)
  }
  const last = await person()
  const { app: right } = await setUp(world, last.token)
  const step = (await signIn(world, last, from)).body.challenge
  expect((await second(world, step, right.next(), from)).status).toBe(429)
  expect((await second(world, step, right.next(), '203.0.113.8')).status).toBe(200)
})

test('what changes a second factor needs a fresh sign-in, with the second factor', async () => {
  const world = await shop({ alone: true })
  const { api, owner, sql, person } = world
  const { app, recoveryCodes } = await setUp(world, owner.token)
  travel(11 * MINUTE)
  const changes = async (as: string) => [
    await api.post('/v1/user/totp', undefined, { as }),
    await api.post('/v1/user/recovery-codes', undefined, { as }),
    await api.post('/v1/user/passkeys/options', undefined, { as }),
    await api.post('/v1/user/passkeys', NO_PASSKEY, { as }),
    await api.delete('/v1/user/passkeys/passkey_01k9wz3v5e8tvs8v4m8m3v5yqd', { as }),
    await api.delete('/v1/user/totp', { as }),
  ]
  for (const reply of await changes(owner.token)) expect(reply.body.code).toBe('recent_sign_in_required')
  const fresh = (await second(world, await challengeFor(world, owner), app.next())).body.token
  const replaced = await api.post('/v1/user/recovery-codes', undefined, { as: fresh })
  expect(replaced.body.recoveryCodes).toHaveLength(10)
  const challenge = await challengeFor(world, owner)
  expect((await second(world, challenge, recoveryCodes[0] as string)).body.code).toBe('invalid_code')
  expect((await second(world, challenge, replaced.body.recoveryCodes[0])).status).toBe(200)
  expect((await api.delete('/v1/user/totp', { as: fresh })).status).toBe(204)
  expect((await api.delete('/v1/user/totp', { as: fresh })).body.code).toBe('second_factor_not_found')
  expect((await api.post('/v1/user/recovery-codes', undefined, { as: fresh })).status).toBe(404)
  expect(await factorOf(world, fresh)).toEqual({ totp: false, passkeys: 0, recoveryCodesLeft: 0 })
  expect(await sql('select * from recovery_codes')).toEqual([])
  expect((await signIn(world, owner)).status).toBe(200)

  // Whoever signs in with an identity provider has their second factor there.
  const federated = await person()
  await sql(
    `update users set password_hash = null, email = null, issuer = 'https://id.example', subject = 'x' where id = $1`,
    [federated.id],
  )
  await sql('update sessions set created_at = $2 where user_id = $1', [federated.id, new Date(nowMs())])
  const told = (await changes(federated.token)).map(({ body }) => body.code)
  expect(told).toEqual([
    'no_password',
    'second_factor_not_found',
    'no_password',
    'no_password',
    'passkey_not_found',
    'second_factor_not_found',
  ])
})

const NO_PASSKEY = {
  name: 'x',
  credential: { id: 'x', rawId: 'x', type: 'public-key', response: { clientDataJSON: 'x', attestationObject: 'x' } },
}

test('a new password leaves the second factor; the operator removes it, and the person is told', async () => {
  const mail = await mailServer()
  const settings = { ...mail.settings, SERVICE_NAME: 'The shop' }
  const world = await shop(settings, { timings: { mailer: { idleMs: 50, backoffMs: [50] } } })
  const { api, owner, sql } = world
  await sql('update users set email_verified_at = now()')
  const { app, uri } = await setUp(world, owner.token)
  expect(uri).toContain('otpauth://totp/The%20shop:')
  const subject = 'Your second factor'
  const set = await mail.mailTo(owner.email)
  expect([set.subject, set.text]).toEqual([subject, expect.stringContaining('An authenticator app was set up')])
  expect(set.text).toContain('127.0.0.1')

  const printed = await operate(world, ['reset', owner.email])
  const token = printed.out.trim().split('#token=')[1]
  const reset = await api.post('/v1/auth/reset/confirm', { token, newPassword: NEW_PASSWORD })
  expect([reset.status, reset.text, reset.headers.get('set-cookie')]).toEqual([204, '', null])
  await mail.mailTo(owner.email, 2)
  const renewed: Pick<Person, 'email' | 'password'> = { email: owner.email, password: NEW_PASSWORD }
  const session = (await second(world, await challengeFor(world, renewed), app.next())).body.token

  const done = await operate(world, ['reset-second-factor', owner.email.toUpperCase()], mail.settings)
  expect([done.code, done.err]).toEqual([0, expect.stringContaining('can now sign in with only the password')])
  const told = await mail.mailTo(owner.email, 3)
  expect([told.subject, told.text]).toEqual([subject, expect.stringContaining('done by the operator of this service')])
  await world.everywhere()
  expect((await api.get('/v1/user', { as: session })).status).toBe(401)
  expect((await signIn(world, renewed)).status).toBe(200)
  const [event] = await sql(`select actor, data from events where type = 'user.second_factor_reset'`)
  expect([event.actor.kind, event.data]).toEqual(['system', {}])
  expect((await operate(world, ['reset-second-factor', owner.email])).err).toContain('has no second factor')
  expect((await operate(world, ['reset-second-factor'])).err).toContain('Usage: user')
})

test('a sign-in with the password alone that meets the first second factor is refused, or over with it', async () => {
  const world = await shop()
  const { api, person, everywhere } = world
  const people: Person[] = []
  while (people.length < 6) people.push(await person())
  const opened: Reply[] = []
  for (const ada of people) {
    const { secret } = (await api.post('/v1/user/totp', undefined, { as: ada.token })).body
    const code = appFor(secret).next()
    const [signedIn, confirmed] = await Promise.all([
      signIn(world, ada),
      api.post('/v1/user/totp/confirm', { code }, { as: ada.token }),
    ])
    expect(confirmed.status).toBe(204)
    opened.push(signedIn)
  }
  await everywhere()
  for (const { status, body } of opened)
    if (status === 200) expect((await api.get('/v1/user', { as: body.token })).status).toBe(401)
    else expect(body.code).toBe('second_factor_required')
  for (const { token } of people) expect((await api.get('/v1/user', { as: token })).status).toBe(200)
})

test('an export tells of the second factor without its secrets, and erasing removes every trace of it', async () => {
  const world = await shop()
  const { api, member, sql } = world
  const ada = await member('STAFF')
  const { secret, recoveryCodes } = await setUp(world, ada.token)
  const exported = await api.get('/v1/user/export', { as: ada.token })
  expect(exported.body.user.secondFactor).toEqual({ totp: true, passkeys: 0, recoveryCodesLeft: 10 })
  expect(exported.body.passkeys).toEqual([])
  for (const hidden of [secret, ...recoveryCodes]) expect(exported.text).not.toContain(hidden)
  expect((await api.delete('/v1/user', { as: ada.token })).status).toBe(200)
  for (const table of ['totp_secrets', 'recovery_codes', 'passkeys'])
    expect(await sql(`select * from ${table} where user_id = $1`, [ada.id])).toEqual([])
})
