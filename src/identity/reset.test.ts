import { expect, test } from 'vitest'
import { call } from '../../tests/command.ts'
import { NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { run } from '../cli/run.ts'
import { HOUR, travel } from '../core/clock.ts'

const NEW_PASSWORD = 'seven bicycles under one umbrella'

function operate({ databaseUrl, serverSecret }: Shop, argv: string[], env: Record<string, string> = {}) {
  return call(run, ['user', ...argv], { env: { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret, ...env } })
}

async function resetToken(world: Shop, email: string): Promise<string> {
  const { out } = await operate(world, ['reset', email])
  return out.trim().split('#token=')[1] as string
}

const confirm = ({ api }: Shop, token: string, newPassword = NEW_PASSWORD) =>
  api.post('/v1/auth/reset/confirm', { token, newPassword })

test("the operator's link sets a new password, once, and ends what was opened with the old one", async () => {
  const world = await shop({ alone: true })
  const { api, owner, store } = world
  const invitations = `/v1/user/store/${store.id}/invitations`
  const invited = await api.post(invitations, { email: 'guest@example.com', role: 'STAFF' }, { as: owner.token })
  const older = await resetToken(world, owner.email)
  const printed = await operate(world, ['reset', owner.email.toUpperCase()], { PUBLIC_URL: 'https://keys.example/' })
  expect(printed.out).toMatch(/^https:\/\/keys\.example\/reset#token=skp_reset_[0-9A-Za-z]{49}\n$/)
  const token = printed.out.trim().split('#token=')[1] as string

  const mistyped = `${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`
  for (const wrong of [older, 'nonsense', mistyped, owner.token])
    expect((await confirm(world, wrong)).body).toMatchObject({ status: 404, code: 'reset_not_found' })
  const weak = await confirm(world, token, 'passwordpassword')
  expect([weak.status, weak.body.errors[0].pointer]).toEqual([422, '#/newPassword'])

  const twice = await Promise.all([confirm(world, token), confirm(world, token)])
  expect(twice.map(({ status }) => status).toSorted()).toEqual([204, 404])
  expect((await api.get('/v1/user', { as: owner.token })).status).toBe(401)
  expect((await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })).status).toBe(401)
  const again = await api.post('/v1/auth/sign-in', { email: owner.email, password: NEW_PASSWORD })
  expect(again.status).toBe(200)
  expect((await api.get(`${invitations}/${invited.body.id}`, { as: again.body.token })).status).toBe(404)
  const events = await world.sql(`select actor, data from events where type = 'user.password_reset' and subject = $1`, [
    owner.id,
  ])
  expect(events).toEqual([{ actor: { kind: 'user', id: owner.id, credential: null, ip: '127.0.0.1' }, data: {} }])
  const kept = JSON.stringify(await world.sql('select * from user_tokens where user_id = $1', [owner.id]))
  expect(kept).toBe('[]')
})

test('a link ends after an hour, and with a changed password', async () => {
  const world = await shop({ alone: true })
  const { api, owner, person } = world
  const token = await resetToken(world, owner.email)
  travel(HOUR + 1)
  expect((await confirm(world, token)).status).toBe(404)
  travel(0)
  const ada = await person()
  const second = await resetToken(world, ada.email)
  const change = { currentPassword: ada.password, newPassword: NEW_PASSWORD }
  expect((await api.post('/v1/user/password', change, { as: ada.token })).status).toBe(204)
  expect((await confirm(world, second, 'nine lamps beside the river')).status).toBe(404)
})

test('asking for a link is answered alike for every e-mail, and 429 after ten times', async () => {
  const world = await shop({ alone: true })
  const { api, owner } = world
  const ask = (email: string) => api.post('/v1/auth/reset', { email })
  const answers = [await ask(owner.email), await ask('nobody@example.com'), await ask('no e-mail at all')]
  for (const { status, text } of answers) expect([status, text]).toEqual([202, ''])
  for (let i = 0; i < 7; i++) expect((await ask(owner.email)).status).toBe(202)
  const refused = await ask('nobody@example.com')
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  // Signing in is counted apart.
  expect((await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })).status).toBe(200)
})

test('a disabled account is refused like an unknown one until it is enabled', async () => {
  const world = await shop({ alone: true })
  const { api, owner, keys } = world
  const key = (await api.post(keys, NEW_KEY, { as: owner.token })).body.key
  const token = await resetToken(world, owner.email)
  expect((await operate(world, ['disable', owner.email])).code).toBe(0)
  await world.everywhere()
  expect((await api.get('/v1/user', { as: owner.token })).body.code).toBe('invalid_token')
  const given = { email: owner.email, password: owner.password }
  const [refused, unknown] = [
    await api.post('/v1/auth/sign-in', given),
    await api.post('/v1/auth/sign-in', { ...given, email: 'nobody@example.com' }),
  ]
  expect({ ...refused.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' })
  expect((await confirm(world, token)).status).toBe(404)
  expect((await operate(world, ['reset', owner.email])).err).toContain('is disabled')
  expect((await operate(world, ['disable', owner.id])).err).toContain('already disabled')
  // Keys belong to the store.
  expect((await api.get('/v1/key', { as: key })).status).toBe(200)
  expect((await operate(world, ['list'])).lines.find((line) => line.includes(owner.id))).toMatch(/ {2}disabled {2}/)
  expect((await operate(world, ['enable', owner.id])).code).toBe(0)
  expect((await api.post('/v1/auth/sign-in', given)).status).toBe(200)
  expect((await operate(world, ['enable', owner.email])).code).toBe(1)
})

test('the operator erases an account, but not the last owner of a store', async () => {
  const world = await shop()
  const { api, owner, member, keys } = world
  const refused = await operate(world, ['erase', owner.email])
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(`${world.store.id} (The shop)`)])
  const manager = await member('MANAGER')
  const key = (await api.post(keys, NEW_KEY, { as: manager.token })).body
  const erased = await operate(world, ['erase', manager.email, '--revoke-keys'])
  expect([erased.code, erased.out]).toEqual([0, `${world.store.id}  ${key.id}  REVOKED\n`])
  await world.everywhere()
  expect((await api.get('/v1/user', { as: manager.token })).status).toBe(401)
  const [row] = await world.sql('select email, name, erased_at is not null as erased from users where id = $1', [
    manager.id,
  ])
  expect(row).toEqual({ email: null, name: null, erased: true })
  expect((await operate(world, ['erase', manager.email])).err).toContain('There is no account')
  const [event] = await world.sql(`select actor from events where type = 'user.erased' and subject = $1`, [manager.id])
  expect(event.actor.kind).toBe('system')
  // A customer that a store keeps on their behalf has no account.
  const customer = await api.put(`/v1/user/store/${world.store.id}/customers/42`, {}, { as: owner.token })
  expect((await operate(world, ['list'])).out).not.toContain(customer.body.id)
  expect((await operate(world, ['erase', customer.body.id])).err).toContain('There is no account')
  for (const argv of [[], ['reset'], ['dance', 'x']]) expect((await operate(world, argv)).err).toContain('Usage: user')
})
