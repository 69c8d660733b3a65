import { expect, test } from 'vitest'
import { mailServer } from '../../tests/mail-server.ts'
import { NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { type ConfigError, readConfig } from '../config.ts'
import { DAY, fromNow, HOUR, MINUTE, travel } from '../core/clock.ts'
import { ServerKeys } from '../crypto/keyring.ts'
import { newInstance } from '../instance.ts'
import { newExpiryNotices } from '../keys/expiry-notices.ts'
import { leaseMails } from './outbox.ts'

const NEW_PASSWORD = 'seven bicycles under one umbrella'
const FAST = { timings: { mailer: { idleMs: 50, backoffMs: [50] } } }

test('mail needs its three settings together, and says which is missing', () => {
  const faultsOf = (env: Record<string, string>) => {
    try {
      readConfig(env)
      return []
    } catch (error) {
      return (error as ConfigError).faults
    }
  }
  const [SMTP_URL, MAIL_FROM, PUBLIC_URL] = [
    'smtp://u:p@mail.example:587',
    'Us <us@shop.example>',
    'https://keys.example',
  ]
  expect(faultsOf({ SMTP_URL, MAIL_FROM, PUBLIC_URL })).toEqual([])
  expect(faultsOf({ PUBLIC_URL })).toEqual([])
  expect(faultsOf({ SMTP_URL })).toEqual([
    expect.stringMatching(/^MAIL_FROM is missing/),
    expect.stringMatching(/^PUBLIC_URL is missing/),
  ])
  expect(faultsOf({ MAIL_FROM })).toEqual([expect.stringMatching(/^SMTP_URL is missing/)])
  const wrong = faultsOf({ SMTP_URL: 'https://u:hidden@x', MAIL_FROM: 'Us', PUBLIC_URL: 'https://keys.example/path' })
  expect(wrong.map((fault) => fault.split(' ')[0])).toEqual(
    expect.arrayContaining(['SMTP_URL', 'MAIL_FROM', 'PUBLIC_URL']),
  )
  expect(wrong.join()).not.toContain('hidden')
})

test('a link for a new password is mailed to the one who has the account, and to nobody else', async () => {
  const mail = await mailServer()
  const { api, owner, sql, logs } = await shop(mail.settings, FAST)
  for (const email of ['nobody@example.com', owner.email.toUpperCase()])
    expect((await api.post('/v1/auth/reset', { email })).status).toBe(202)
  const letter = await mail.mailTo(owner.email)
  expect(letter.headers).toMatch(/^From: The shop <no-reply@shop\.example>$/m)
  expect(letter.headers).toMatch(/^Auto-Submitted: auto-generated$/im)
  expect(letter.subject).toBe('Set a new password')
  expect(letter.text).toContain('https://keys.example/reset#token=skp_reset_')
  await expect.poll(() => sql('select * from mails')).toEqual([])

  const reset = { token: letter.token, newPassword: NEW_PASSWORD }
  expect((await api.post('/v1/auth/reset/confirm', reset)).status).toBe(204)
  const told = await mail.mailTo(owner.email, 2)
  expect([told.subject, told.token]).toEqual(['Your password was changed', null])
  expect(told.text).toContain('127.0.0.1')
  expect(mail.mails.map(({ to }) => to)).toEqual([owner.email, owner.email])
  expect((await api.post('/v1/auth/sign-in', { email: owner.email, password: NEW_PASSWORD })).status).toBe(200)
  for (const secret of [letter.token as string, owner.email]) expect(logs()).not.toContain(secret)
})

test('a mail that the server does not take is tried again with the same link; one refused for good is given up', async () => {
  const mail = await mailServer()
  const { api, owner, person, sql, logs } = await shop(mail.settings, FAST)
  mail.refuse('451 later')
  await api.post('/v1/auth/reset', { email: owner.email })
  await expect.poll(() => mail.refused()).toBeGreaterThan(1)
  const [queued] = await sql("select encode(token, 'escape') as token, token_kid, recipient from mails")
  expect(queued).toEqual({
    token: expect.not.stringContaining('reset'),
    token_kid: expect.any(String),
    recipient: owner.email,
  })
  const [kept] = await sql("select encode(hash, 'hex') as hash from user_tokens")
  mail.refuse(null)
  await mail.mailTo(owner.email)
  expect(await sql("select encode(hash, 'hex') as hash from user_tokens")).toEqual([kept])

  mail.refuse('550 no such user')
  const [before, ada] = [mail.refused(), await person()]
  await api.post('/v1/auth/reset', { email: ada.email })
  await expect.poll(() => sql('select * from mails')).toEqual([])
  expect(mail.refused()).toBe(before + 1)
  expect(logs()).toContain('"work":"mail"')
  expect(logs()).not.toContain(ada.email)
})

test('two nodes send a mail once', async () => {
  const mail = await mailServer()
  const { api, node, person, sql } = await shop(mail.settings, FAST)
  const other = await node()
  const people = await Promise.all(Array.from({ length: 4 }, () => person()))
  await Promise.all(people.map(({ email }, i) => (i % 2 ? api : other).post('/v1/auth/reset', { email })))
  await Promise.all(people.map(({ email }) => mail.mailTo(email)))
  await expect.poll(() => sql('select * from mails')).toEqual([])
  expect(mail.mails).toHaveLength(people.length)
})

// ---- e-mails that are confirmed -------------------------------------------------------------------------------------

const signUp = ({ api }: Shop, email: string, password = NEW_PASSWORD) =>
  api.post('/v1/auth/sign-up', { email, password })
const signIn = ({ api }: Shop, email: string, password = NEW_PASSWORD) =>
  api.post('/v1/auth/sign-in', { email, password })
const me = async ({ api }: Shop, as: string) => (await api.get('/v1/user', { as })).body.user

test('an e-mail is confirmed by the link mailed to it, once', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api } = world
  const { token: as } = (await signUp(world, 'ada@example.com')).body
  expect(await me(world, as)).toMatchObject({ email: 'ada@example.com', emailVerified: false, pendingEmail: null })
  const { token, text } = await mail.mailTo('ada@example.com')
  expect(text).toContain('https://keys.example/confirm#token=skp_confirm_')
  for (const wrong of ['nonsense', `${token}x`])
    expect((await api.post('/v1/auth/confirm', { token: wrong })).body.code).toBe('confirmation_not_found')
  const twice = await Promise.all([1, 2].map(() => api.post('/v1/auth/confirm', { token })))
  expect(twice.map(({ status }) => status).toSorted()).toEqual([204, 404])
  expect(await me(world, as)).toMatchObject({ email: 'ada@example.com', emailVerified: true })
  // A confirmed e-mail is taken.
  expect((await signUp(world, 'ada@example.com')).body.code).toBe('email_taken')
})

test('an e-mail that was never confirmed reserves nothing: the account that confirms it has it', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api } = world
  const squatter = (await signUp(world, 'ada@example.com', 'nine lamps beside the river')).body
  const first = await mail.mailTo('ada@example.com')
  const made = await signUp(world, 'ada@example.com')
  expect([made.status, made.body.user]).toMatchObject([201, { email: null, pendingEmail: 'ada@example.com' }])
  expect((await signIn(world, 'ada@example.com')).status).toBe(401)
  const { token } = await mail.mailTo('ada@example.com', 2)
  expect((await api.post('/v1/auth/confirm', { token }, { as: made.body.token })).status).toBe(204)
  expect((await signIn(world, 'ada@example.com')).body.user.id).toBe(made.body.user.id)
  expect((await signIn(world, 'ada@example.com', 'nine lamps beside the river')).status).toBe(401)
  expect((await mail.mailTo('ada@example.com', 3)).subject).toBe(
    'This e-mail address was confirmed for another account',
  )
  // The older account goes on without an e-mail, cannot take it back, and may get another.
  expect(await me(world, squatter.token)).toMatchObject({ email: null, emailVerified: false })
  expect((await api.post('/v1/auth/confirm', { token: first.token })).body.code).toBe('email_taken')
  const change = { email: 'bob@example.com', currentPassword: 'nine lamps beside the river' }
  expect((await api.patch('/v1/user', change, { as: squatter.token })).body).toMatchObject({
    email: null,
    pendingEmail: 'bob@example.com',
  })
  const other = await mail.mailTo('bob@example.com')
  expect((await api.post('/v1/auth/confirm', { token: other.token }, { as: squatter.token })).status).toBe(204)
  expect((await signIn(world, 'bob@example.com', 'nine lamps beside the river')).status).toBe(200)
})

test('a changed e-mail needs the password, counts once confirmed, and ends links mailed to the old one', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api } = world
  const { token: as } = (await signUp(world, 'ada@example.com')).body
  await api.post('/v1/auth/confirm', { token: (await mail.mailTo('ada@example.com')).token })
  const change = (body: object) => api.patch('/v1/user', body, { as })
  const missing = await change({ email: 'new@example.com' })
  expect([missing.status, missing.body.errors[0].pointer]).toEqual([422, '#/currentPassword'])
  const wrong = await change({ email: 'new@example.com', currentPassword: 'not this one, I fear' })
  expect(wrong.body.code).toBe('invalid_credentials')
  const given = { email: 'NEW@example.com', currentPassword: NEW_PASSWORD, name: 'Ada' }
  const asked = await change(given)
  expect([asked.status, asked.body]).toMatchObject([
    200,
    { name: 'Ada', email: 'ada@example.com', emailVerified: true, pendingEmail: 'new@example.com' },
  ])
  await api.post('/v1/auth/reset', { email: 'ada@example.com' })
  const reset = await mail.mailTo('ada@example.com', 2)
  const { token } = await mail.mailTo('new@example.com')
  expect((await api.post('/v1/auth/confirm', { token }, { as })).status).toBe(204)
  expect((await mail.mailTo('ada@example.com', 3)).subject).toBe('The e-mail address of your account was changed')
  expect(await me(world, as)).toMatchObject({ email: 'new@example.com', emailVerified: true, pendingEmail: null })
  const stale = { token: reset.token, newPassword: 'nine lamps beside the river' }
  expect((await api.post('/v1/auth/reset/confirm', stale)).status).toBe(404)
  expect((await signIn(world, 'ada@example.com')).status).toBe(401)
  expect((await signIn(world, 'new@example.com')).status).toBe(200)
  // A thief who has asked for a new e-mail loses it with the password.
  await change({ email: 'thief@example.com', currentPassword: NEW_PASSWORD })
  const theft = await mail.mailTo('thief@example.com')
  await api.post(
    '/v1/user/password',
    { currentPassword: NEW_PASSWORD, newPassword: 'nine lamps beside the river' },
    { as },
  )
  expect((await api.post('/v1/auth/confirm', { token: theft.token })).status).toBe(404)
})

test('without mail a changed e-mail counts at once, if nobody has it', async () => {
  const { api, owner, person } = await shop()
  const other = await person()
  const change = (email: string) =>
    api.patch('/v1/user', { email, currentPassword: owner.password }, { as: owner.token })
  expect((await change(other.email)).body.code).toBe('email_taken')
  const email = `new.${owner.email}`
  expect((await change(email)).body).toMatchObject({ email, emailVerified: false, pendingEmail: null })
  expect((await api.post('/v1/auth/sign-in', { email, password: owner.password })).status).toBe(200)
  expect((await api.patch('/v1/user', {}, { as: owner.token })).status).toBe(422)
  const cleared = await api.patch('/v1/user', { name: null }, { as: owner.token })
  expect([cleared.status, cleared.body.name]).toEqual([200, null])
})

// ---- what people are told -------------------------------------------------------------------------------------------

const confirmed = ({ sql }: Shop) => sql('update users set email_verified_at = now()')

test('invitations are mailed, without anything in a name that looks like a link, and not too often', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api, owner, store, person, sql } = world
  const ada = await person()
  await confirmed(world)
  await api.patch(
    `/v1/user/store/${store.id}`,
    { name: 'Win at evil.example/x or evil。example∕y now' },
    { as: owner.token },
  )
  const invite = () =>
    api.post(`/v1/user/store/${store.id}/invitations`, { email: ada.email, role: 'STAFF' }, { as: owner.token })
  const first = await invite()
  expect(first.body.mailed).toBe(true)
  const letter = await mail.mailTo(ada.email)
  expect(letter.subject).toBe('You\'re invited to "Win at evil example x or evil example y now"')
  expect(letter.text).toContain(`https://keys.example/invitation#token=${first.body.token}`)
  expect(letter.text).toContain('as staff')
  const accepted = await api.post('/v1/user/invitations/accept', { token: letter.token }, { as: ada.token })
  expect(accepted.status).toBe(200)
  for (let i = 0; i < 4; i++) expect((await invite()).body.mailed).toBe(true)
  expect((await invite()).body.mailed).toBe(false)
  await expect.poll(() => sql('select * from mails')).toEqual([])
  expect(mail.mails).toHaveLength(5)
})

test('a sign-in from a new place is told, once, unless the user has switched that off', async () => {
  const mail = await mailServer()
  const world = await shop({ ...mail.settings, TRUST_PROXY: '1' }, FAST)
  const { api, owner, sql } = world
  await confirmed(world)
  const from = async (ip: string) => {
    const headers = { 'x-forwarded-for': ip, 'user-agent': 'Firefox' }
    const { email, password } = owner
    expect((await api.post('/v1/auth/sign-in', { email, password }, { headers })).status).toBe(200)
  }
  // The first place of all is not new to anybody.
  await from('192.0.2.9')
  await from('192.0.2.1')
  const letter = await mail.mailTo(owner.email)
  expect(letter.subject).toBe('New sign-in to your account')
  expect(letter.text).toMatch(/from a new IP address, 192\.0\.2\.1, on .* \d{4} at \d\d:\d\d UTC, with "Firefox"/)
  await from('192.0.2.1')
  const off = await api.patch('/v1/user', { mail: { newSignIns: false } }, { as: owner.token })
  expect(off.body.mail).toEqual({ newSignIns: false, leakedKeys: true, expiringKeys: true })
  await from('192.0.2.2')
  await expect.poll(() => sql('select * from mails')).toEqual([])
  expect(mail.mails).toHaveLength(1)
})

test('a leaked key is told to its maker and the owners, a key that ends soon to its maker', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api, owner, member, keys, service } = world
  await confirmed(world)
  const [maker, stranger] = [await member('MANAGER'), await member('MANAGER')]
  await confirmed(world)
  const create = async (more: object) => (await api.post(keys, { ...NEW_KEY, ...more }, { as: maker.token })).body
  const ending = await create({ name: 'Till', expiresAt: fromNow(31 * DAY).toISOString() })
  const leaked = await create({ type: 'TEST' })
  await api.post('/v1/leaks', { key: leaked.key })
  for (const { email } of [owner, maker]) {
    // The first mail was the invitation, which the owner did not get.
    const { subject, text } = await mail.mailTo(email, email === owner.email ? 1 : 2)
    expect(subject).toBe('An API key of "The shop" has leaked')
    expect(text).toContain(`"Checkout" (${leaked.start}…)`)
    expect(text).toContain('The key was revoked immediately.')
    expect(text).not.toContain(leaked.key)
  }
  travel(2 * DAY)
  const keyring = { current: new ServerKeys(Buffer.from(world.serverSecret, 'base64')), previous: null }
  const instance = newInstance(readConfig({ ...mail.settings }), keyring, async () => [])
  await newExpiryNotices(instance)(service.db)
  const told = await mail.mailTo(maker.email, 3)
  expect(told.subject).toBe('An API key of "The shop" expires in 30 days')
  expect(told.text).toContain(`"Till" (${ending.start}…)`)
  expect(mail.mails.filter(({ to }) => to === stranger.email)).toHaveLength(1)
  expect(mail.mails.filter(({ to }) => to === owner.email)).toHaveLength(1)
})

test('however many keys of a store are reported as leaked, each reader gets five mails a day, and the last one says so', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api, owner, member, keys, sql } = world
  const maker = await member('MANAGER')
  await confirmed(world)
  const leak = async (as: string, path = keys) => {
    const { body } = await api.post(path, { ...NEW_KEY, type: 'DEV' }, { as })
    expect((await api.post('/v1/leaks', { key: body.key })).status).toBe(200)
    return body.id
  }
  const about = async (email: string) => {
    await expect.poll(() => sql('select * from mails')).toEqual([])
    return mail.mails.filter(({ to, subject }) => to === email && subject.endsWith('has leaked'))
  }
  // Two keys of a member, then those of a key, at once: the owner is told of all, and the member of their own.
  for (let n = 0; n < 2; n++) await leak(maker.token)
  const permissions = ['READ', 'WRITE', 'MANAGE_KEYS']
  const robot = (await api.post(keys, { ...NEW_KEY, permissions }, { as: owner.token })).body
  const leaked = await Promise.all(Array.from({ length: 6 }, () => leak(robot.key)))
  const toOwner = await about(owner.email)
  expect(toOwner).toHaveLength(5)
  const last = /You get at most 5 mails a day about leaked keys of a store, and this is the last one for now\./
  expect(toOwner.filter(({ text }) => last.test(text))).toHaveLength(1)
  expect(await about(maker.email)).toHaveLength(2)
  expect((await about(maker.email)).filter(({ text }) => last.test(text))).toEqual([])
  // What is no longer mailed has happened all the same.
  const events = await sql(`select subject from events where type = 'key.leaked' and subject = any($1)`, [leaked])
  expect(events).toHaveLength(6)

  // Neither another store nor another reader has less for it, and the next day there are mails again.
  const other = (await api.post('/v1/user/store', { name: 'The other' }, { as: owner.token })).body
  await leak(owner.token, `/v1/user/store/${other.id}/keys`)
  for (let n = 0; n < 4; n++) await leak(maker.token)
  expect(await about(owner.email)).toHaveLength(6)
  const toMaker = await about(maker.email)
  expect(toMaker).toHaveLength(5)
  expect(toMaker.filter(({ text }) => last.test(text))).toHaveLength(1)
  await sql(`update sign_in_failures set at = at - interval '1 day'`)
  await leak(robot.key)
  expect(await about(owner.email)).toHaveLength(7)
})

test('keys that expire together are one mail, of which there are five a day', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api, owner, keys, service, sql } = world
  await confirmed(world)
  const keyring = { current: new ServerKeys(Buffer.from(world.serverSecret, 'base64')), previous: null }
  const instance = newInstance(readConfig({ ...mail.settings }), keyring, async () => [])
  const importKeys = async (names: string, count: number, apartMs: number, as = owner.token) => {
    const line = (n: number) => ({
      ...NEW_KEY,
      name: `${names} ${n}`,
      value: `${names}-number-${n}-of-the-shop`,
      expiresAt: fromNow(DAY + HOUR + n * apartMs).toISOString(),
    })
    const { body } = await api.post(
      `${keys}/import`,
      { keys: Array.from({ length: count }, (_, n) => line(n)) },
      { as },
    )
    expect(new Set(body.results.map(({ status }: { status: string }) => status))).toEqual(new Set(['created']))
  }
  await importKeys('Till', 300, 1)
  mail.refuse('451 later')
  travel(2 * HOUR)
  expect(await newExpiryNotices(instance)(service.db)).toBe(300)
  expect(await sql('select kind from mails')).toEqual([{ kind: 'keys_expiring' }])
  mail.refuse(null)
  const { subject, text } = await mail.mailTo(owner.email)
  expect(subject).toBe('300 API keys of "The shop" expire in a day')
  expect(text.match(/^- "Till \d+" \(.*…\): .* UTC$/gm)).toHaveLength(20)
  expect(text).toContain('"Till 0"')
  expect(text).toContain('- and 280 more')

  // One after the other, and made with a key, so that the owners are told.
  const permissions = ['READ', 'WRITE', 'MANAGE_KEYS']
  const robot = (await api.post(keys, { ...NEW_KEY, permissions }, { as: owner.token })).body
  await importKeys('Door', 8, MINUTE, robot.key)
  travel(HOUR - MINUTE / 2)
  for (let n = 0; n < 8; n++) {
    travel(MINUTE)
    expect(await newExpiryNotices(instance)(service.db)).toBe(1)
  }
  await expect.poll(() => sql('select * from mails')).toEqual([])
  const about = mail.mails.filter(({ to }) => to === owner.email).slice(1)
  expect(new Set(about.map((letter) => letter.subject))).toEqual(new Set(['An API key of "The shop" expires in a day']))
  expect(about).toHaveLength(5)
})

test('mails about leaked keys wait for every mail that somebody waits for, and notices for those', async () => {
  // Without a mail server, so that nobody else takes what is due.
  const { service, sql } = await shop({ alone: true })
  await sql(
    `insert into mails (id, kind, recipient, data, created_at, next_attempt_at, expires_at)
     select 'mail_' || n, case n when 30 then 'reset' when 29 then 'key_leaked' else 'key_expiring' end, 'ada@example.com', '{}',
            now(), now() - interval '1 hour' + n * interval '1 minute', now() + interval '1 day'
       from generate_series(1, 30) as n`,
  )
  expect(await leaseMails(service.db, 1, MINUTE)).toMatchObject([{ id: 'mail_30', kind: 'reset' }])
  expect(await leaseMails(service.db, 1, MINUTE)).toMatchObject([{ id: 'mail_29', kind: 'key_leaked' }])
  expect(await leaseMails(service.db, 1, MINUTE)).toMatchObject([{ id: 'mail_1', kind: 'key_expiring' }])
})
