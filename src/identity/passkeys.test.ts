import { expect, test } from 'vitest'
import { newAuthenticator } from '../../tests/authenticator.ts'
import { call } from '../../tests/command.ts'
import { type Person, type Shop, shop } from '../../tests/shop.ts'
import { run } from '../cli/run.ts'
import { MINUTE, SECOND, travel } from '../core/clock.ts'

type Phone = ReturnType<typeof newAuthenticator>
type Otherwise = Parameters<Phone['use']>[1]

const optionsFor = async ({ api }: Shop, as: string) =>
  (await api.post('/v1/user/passkeys/options', undefined, { as })).body

const add = ({ api }: Shop, as: string, credential: object, name = 'My phone') =>
  api.post('/v1/user/passkeys', { name, credential }, { as })

async function register(world: Shop, { token: as }: Pick<Person, 'token'>, phone = newAuthenticator()): Promise<Phone> {
  const reply = await add(world, as, phone.register(await optionsFor(world, as)))
  expect([reply.status, reply.text]).toEqual([201, expect.any(String)])
  return phone
}

async function enter({ api }: Shop, phone: Phone, otherwise?: Otherwise) {
  const options = (await api.post('/v1/auth/passkey/options')).body
  return api.post('/v1/auth/passkey', { credential: phone.use(options, otherwise) })
}

const signIn = ({ api }: Shop, { email, password }: Person) => api.post('/v1/auth/sign-in', { email, password })

test('a passkey is registered with a name, listed, and removed', async () => {
  const world = await shop()
  const { api, owner, sql } = world
  const other = (await signIn(world, owner)).body.token
  const options = await optionsFor(world, owner.token)
  expect(options).toMatchObject({
    rp: { id: 'localhost', name: 'Storekeeper' },
    user: { name: owner.email, displayName: 'Olive Owner' },
    excludeCredentials: [],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    attestation: 'none',
  })
  const phone = newAuthenticator()
  const credential = phone.register(options)
  const made = await add(world, owner.token, credential, "  Olive's phone ")
  expect([made.status, made.headers.get('location')]).toEqual([201, `/v1/user/passkeys/${made.body.id}`])
  const record = { id: made.body.id, name: "Olive's phone", backedUp: false, createdAt: expect.any(String) }
  expect(made.body).toEqual({ ...record, lastUsedAt: null, recoveryCodes: expect.any(Array) })
  expect(made.body.recoveryCodes).toHaveLength(10)
  // Sessions that were opened with the password alone are over.
  expect((await api.get('/v1/user', { as: other })).status).toBe(401)
  expect((await add(world, owner.token, credential)).body.errors[0].code).toBe('passkey_not_accepted')
  expect((await optionsFor(world, owner.token)).excludeCredentials).toEqual([
    { type: 'public-key', id: phone.id, transports: ['internal'] },
  ])
  const list = await api.get('/v1/user/passkeys', { as: owner.token })
  expect(list.body).toEqual({ data: [{ ...record, lastUsedAt: null }], nextCursor: null })
  const exported = await api.get('/v1/user/export', { as: owner.token })
  expect(exported.body.passkeys).toEqual(list.body.data)
  const kept = await sql(`select encode(sealed_name, 'escape') as name from passkeys where id = $1`, [made.body.id])
  expect(kept[0].name).not.toContain('Olive')

  await register(world, owner)
  const me = async () => (await api.get('/v1/user', { as: owner.token })).body.user.secondFactor
  expect(await me()).toEqual({ totp: false, passkeys: 2, recoveryCodesLeft: 10 })
  const stranger = await world.person()
  expect((await api.delete(`/v1/user/passkeys/${made.body.id}`, { as: stranger.token })).status).toBe(404)
  expect((await api.delete(`/v1/user/passkeys/${made.body.id}`, { as: owner.token })).status).toBe(204)
  expect((await enter(world, phone)).body.code).toBe('invalid_passkey')
  const [last] = (await api.get('/v1/user/passkeys', { as: owner.token })).body.data
  expect((await api.delete(`/v1/user/passkeys/${last.id}`, { as: owner.token })).status).toBe(204)
  expect(await me()).toEqual({ totp: false, passkeys: 0, recoveryCodesLeft: 0 })
  expect((await signIn(world, owner)).status).toBe(200)
  const events = await sql(
    `select type, data from events where subject = $1 and type like 'user.second%' order by id`,
    [owner.id],
  )
  expect(events.map(({ type }) => type)).toEqual([
    'user.second_factor_enabled',
    'user.second_factor_enabled',
    'user.second_factor_disabled',
    'user.second_factor_disabled',
  ])
  expect(events[0].data).toEqual({ method: 'passkey', passkeyId: made.body.id })
})

test('the recovery codes that come with a first passkey are shown again after a recent sign-in only, and while it is there', async () => {
  // Alone, because its clock is moved.
  const world = await shop({ alone: true })
  const { api, owner } = world
  const as = owner.token
  const credential = newAuthenticator().register(await optionsFor(world, as))
  const addOnce = () =>
    api.post('/v1/user/passkeys', { name: 'My phone', credential }, { as, headers: { 'idempotency-key': 'my-phone' } })
  const made = await addOnce()
  expect([made.status, made.body.recoveryCodes.length]).toEqual([201, 10])
  const again = await addOnce()
  expect([again.status, again.headers.get('idempotent-replayed'), again.body]).toEqual([201, 'true', made.body])
  const other = await shop({ alone: true })
  const phone = newAuthenticator().register(await optionsFor(other, other.owner.token))
  const addOther = () =>
    other.api.post(
      '/v1/user/passkeys',
      { name: 'My phone', credential: phone },
      { as: other.owner.token, headers: { 'idempotency-key': 'my-phone' } },
    )
  const { id } = (await addOther()).body
  expect((await other.api.delete(`/v1/user/passkeys/${id}`, { as: other.owner.token })).status).toBe(204)
  const gone = await addOther()
  expect([gone.status, gone.body.code]).toEqual([409, 'secret_no_longer_available'])
  travel(11 * MINUTE)
  const late = await addOnce()
  expect([late.status, late.body.code]).toEqual([403, 'recent_sign_in_required'])
  expect(late.text).not.toContain(made.body.recoveryCodes[0])
})

test('a passkey is not registered with the options of another, for another host, or without its user', async () => {
  const world = await shop()
  const { owner, person } = world
  const stranger = await person()
  const refused = async (credential: object) => {
    const reply = await add(world, owner.token, credential)
    expect([reply.status, reply.body.errors?.[0]?.pointer]).toEqual([422, '#/credential'])
  }
  const phone = newAuthenticator()
  const options = await optionsFor(world, owner.token)
  await refused(phone.register(await optionsFor(world, stranger.token)))
  await refused(phone.register({ ...options, challenge: 'x' }))
  await refused(phone.register(options, { verified: false }))
  await refused(phone.register(options, { rpId: 'evil.example' }))
  for (const origin of ['http://localhost.evil.example', 'https://localhost', 'http://evil.example', 'null'])
    await refused(phone.register(options, { origin }))
  await refused({ ...phone.register(options), response: { clientDataJSON: 'x', attestationObject: 'x' } })
  const another = (await signIn(world, owner)).body.token
  await refused(phone.register(await optionsFor(world, another)))
  // Nothing of this has used up the options.
  expect((await add(world, owner.token, phone.register(options))).status).toBe(201)
  await refused(newAuthenticator().register(options))
  const late = await optionsFor(world, owner.token)
  travel(5 * MINUTE + SECOND)
  await refused(newAuthenticator().register(late))
})

test('what a device says of its make is not read: its certificates could name addresses to fetch', async () => {
  const world = await shop()
  const { owner } = world
  const phone = newAuthenticator()
  // The format "android-key", and a certificate that is one byte long.
  const statement: [string, string] = ['6b616e64726f69642d6b6579', 'a163783563814100']
  const made = await add(world, owner.token, phone.register(await optionsFor(world, owner.token), { statement }))
  expect(made.status).toBe(201)
  expect((await enter(world, phone)).status).toBe(200)
})

test('only as much is read as an authenticator says: each value of more would take long', async () => {
  const world = await shop()
  const { owner } = world
  const options = await optionsFor(world, owner.token)
  // A list of 200 empty texts. Each of these was accepted when nothing counted them.
  const many = `98c8${'60'.repeat(200)}`
  const kinds: Otherwise[] = [
    { statement: ['646e6f6e65', `a16178${many}`] },
    { keyMember: `1863${many}` },
    { extensions: `a16178${many}` },
    { keyMember: `1863591000${'00'.repeat(4_096)}` },
  ]
  for (const kind of kinds) {
    const refused = await add(world, owner.token, newAuthenticator().register(options, kind))
    expect([refused.status, refused.body.errors?.[0]?.code]).toEqual([422, 'passkey_not_accepted'])
  }
  const phone = newAuthenticator()
  const few = { extensions: 'a16b6372656450726f7465637402' }
  expect((await add(world, owner.token, phone.register(options, few))).status).toBe(201)
  expect((await enter(world, phone, few)).status).toBe(200)
  expect((await enter(world, phone, { extensions: `a16178${many}` })).body.code).toBe('invalid_passkey')
  expect((await enter(world, phone)).status).toBe(200)
})

test('a passkey signs in alone, once for each challenge, and never backwards', async () => {
  const world = await shop()
  const { api, owner, person, sql } = world
  const phone = await register(world, owner)
  const options = (await api.post('/v1/auth/passkey/options')).body
  expect(options).toEqual({
    rpId: 'localhost',
    challenge: expect.any(String),
    timeout: 300_000,
    allowCredentials: [],
    userVerification: 'required',
  })
  const credential = phone.use(options)
  const twice = await Promise.all([1, 2].map(() => api.post('/v1/auth/passkey', { credential, cookie: true })))
  expect(twice.map(({ status }) => status).toSorted()).toEqual([200, 401])
  expect(twice.find(({ status }) => status === 200)?.headers.get('set-cookie')).toMatch(/^__Host-storekeeper=/)
  const opened = await enter(world, phone)
  expect([opened.status, opened.body.user.id]).toEqual([200, owner.id])
  // It is both factors, so the sign-in is a fresh one.
  expect((await api.post('/v1/user/recovery-codes', undefined, { as: opened.body.token })).status).toBe(200)
  const [listed] = (await api.get('/v1/user/passkeys', { as: owner.token })).body.data
  expect(listed.lastUsedAt).not.toBeNull()

  const unknown = await enter(world, newAuthenticator())
  const wrong: Otherwise[] = [
    { verified: false },
    { origin: 'http://evil.example' },
    { rpId: 'evil.example' },
    { userHandle: Buffer.from((await person()).id).toString('base64url') },
    { userHandle: '' },
    // It says it was used as often as before, or less.
    { count: 2 },
    { count: 1 },
  ]
  for (const otherwise of wrong) {
    const refused = await enter(world, phone, { count: 50, ...otherwise })
    expect({ ...refused.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' })
  }
  // Two requests with the same count are two copies of the passkey.
  const pair = [await api.post('/v1/auth/passkey/options'), await api.post('/v1/auth/passkey/options')]
  const race = await Promise.all(
    pair.map(({ body }) => api.post('/v1/auth/passkey', { credential: phone.use(body, { count: 60 }) })),
  )
  expect(race.map(({ status }) => status).toSorted()).toEqual([200, 401])
  const signed = phone.use((await api.post('/v1/auth/passkey/options')).body)
  const forged = {
    ...signed,
    response: { ...signed.response, signature: `${signed.response.signature.slice(0, -4)}AAAA` },
  }
  expect((await api.post('/v1/auth/passkey', { credential: forged })).body.code).toBe('invalid_passkey')
  const late = (await api.post('/v1/auth/passkey/options')).body
  travel(5 * MINUTE + SECOND)
  expect((await api.post('/v1/auth/passkey', { credential: phone.use(late) })).body.code).toBe('invalid_passkey')
  travel(0)

  const disabled = await person()
  const hers = await register(world, disabled)
  expect((await enter(world, hers)).status).toBe(200)
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: world.serverSecret }
  expect((await call(run, ['user', 'disable', disabled.email], { env })).code).toBe(0)
  expect({ ...(await enter(world, hers)).body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' })
  expect((await call(run, ['user', 'erase', disabled.email], { env })).code).toBe(0)
  expect((await enter(world, hers)).body.code).toBe('invalid_passkey')
  expect(await sql('select * from passkeys where user_id = $1', [disabled.id])).toEqual([])
})

test('with a passkey the password needs it, or a recovery code', async () => {
  const world = await shop()
  const { api, owner, person } = world
  const phone = newAuthenticator()
  const made = await add(world, owner.token, phone.register(await optionsFor(world, owner.token)))
  const { status, body } = await signIn(world, owner)
  expect([status, body.code, body.methods]).toEqual([401, 'second_factor_required', ['passkey', 'recovery_code']])
  expect(body.passkey).toMatchObject({
    challenge: body.challenge,
    allowCredentials: [{ type: 'public-key', id: phone.id, transports: ['internal'] }],
  })
  const second = (challenge: string, given: object) => api.post('/v1/auth/second-factor', { challenge, ...given })
  const stranger = await register(world, await person())
  expect((await second(body.challenge, { credential: stranger.use(body.passkey) })).body.code).toBe('invalid_passkey')
  // What was signed for one challenge is worth nothing for another.
  const later = (await signIn(world, owner)).body
  const elsewhere = (await api.post('/v1/auth/passkey/options')).body
  for (const options of [later.passkey, { ...elsewhere }])
    expect((await second(body.challenge, { credential: phone.use(options) })).body.code).toBe('invalid_passkey')
  const credential = phone.use(body.passkey)
  const twice = await Promise.all([1, 2].map(() => second(body.challenge, { credential })))
  expect(twice.map((reply) => reply.status).toSorted()).toEqual([200, 401])
  expect((await second(later.challenge, { code: made.body.recoveryCodes[0] })).status).toBe(200)
  // Nor is the second step of a password a sign-in with the passkey alone.
  const third = (await signIn(world, owner)).body
  const alone = await api.post('/v1/auth/passkey', { credential: phone.use(third.passkey) })
  expect(alone.body.code).toBe('invalid_passkey')
})

test('a user has at most 20 passkeys, and they belong to the host of PUBLIC_URL', async () => {
  const world = await shop({ PUBLIC_URL: 'https://keys.example' })
  const { api, owner } = world
  const origin = 'https://keys.example'
  const phone = newAuthenticator(origin)
  expect((await optionsFor(world, owner.token)).rp.id).toBe('keys.example')
  const foreign = newAuthenticator('http://localhost:3000').register(await optionsFor(world, owner.token))
  expect((await add(world, owner.token, foreign)).status).toBe(422)
  await register(world, owner, phone)
  expect((await enter(world, phone)).status).toBe(200)
  for (let i = 1; i < 20; i++) await register(world, owner, newAuthenticator(origin))
  const full = await add(world, owner.token, newAuthenticator(origin).register(await optionsFor(world, owner.token)))
  expect([full.status, full.body.code]).toEqual([409, 'limit_exceeded'])
  expect((await api.get('/v1/user/passkeys?limit=7', { as: owner.token })).body.data).toHaveLength(7)
})
