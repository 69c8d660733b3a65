// Signing in with skp, and which service a command asks as whom.

import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nowMs } from '../../../src/core/clock.ts'
import { totpCode, totpStep } from '../../../src/crypto/totp.ts'
import { fromBase32 } from '../../../tests/authenticator.ts'
import { shop } from '../../../tests/shop.ts'
import { relay, user } from '../../../tests/skp.ts'

test('signing in asks for a hidden password, keeps a private file, and signing out ends the session', async () => {
  const { api, owner, store } = await shop()
  const { skp, done, file } = user()
  expect(await skp(['whoami'])).toMatchObject({ code: 2, err: expect.stringContaining('skp login --url') })
  expect(await skp(['whoami', '--url', api.url])).toMatchObject({ code: 4, out: '' })
  const wrong = await skp(['login', '--url', api.url], { answers: [owner.email, 'not the password'] })
  expect(wrong).toMatchObject({ code: 4, out: '' })
  expect(existsSync(file)).toBe(false)

  const login = await done(['login', '--url', `${api.url}/`], { answers: [owner.email, owner.password] })
  expect(login.asked).toEqual([
    { question: 'E-mail: ', hidden: false },
    { question: 'Password: ', hidden: true },
  ])
  expect(login.out).toBe('')
  expect(login.err).toContain(`Signed in at ${api.url} as ${owner.email}`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { current, hosts } = JSON.parse(readFileSync(file, 'utf8'))
  expect(current).toBe(api.url)
  expect(hosts[api.url]).toMatchObject({ account: owner.email, store: store.id, isSession: true })
  expect(login.err).not.toContain(hosts[api.url].token)
  expect((await done(['whoami'])).lines).toContain(`account\t${owner.email}`)
  expect((await done(['stores'])).lines).toEqual([expect.stringMatching(`^${store.id}\tThe shop\tOWNER\t`)])

  chmodSync(file, 0o640)
  expect(await skp(['stores'])).toMatchObject({ code: 4, out: '', err: expect.stringContaining(`chmod 600 ${file}`) })
  // Who needs nothing of the file is not stopped by it.
  const env = { STOREKEEPER_URL: api.url, STOREKEEPER_TOKEN: owner.token, STOREKEEPER_STORE: store.id }
  expect((await skp(['stores'], { env })).code).toBe(0)
  // No session is opened that could not be kept.
  const sessions = async () => (await api.get('/v1/user/sessions', { as: owner.token })).body.data.length
  const before = await sessions()
  const login2 = await skp(['login', '--url', api.url], { answers: [owner.email, owner.password] })
  expect([login2.code, login2.asked, await sessions()]).toEqual([4, [], before])
  chmodSync(file, 0o600)

  await done(['logout'])
  expect((await api.get('/v1/user', { as: hosts[api.url].token })).status).toBe(401)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ current: null, hosts: {} })
  expect((await skp(['logout', '--url', api.url])).code).toBe(4)
})

test('a second factor is asked for, and a wrong code can be mended', async () => {
  const { api, owner } = await shop()
  const { body } = await api.post('/v1/user/totp', undefined, { as: owner.token })
  const code = totpCode(fromBase32(body.secret), totpStep(nowMs()))
  expect((await api.post('/v1/user/totp/confirm', { code }, { as: owner.token })).status).toBe(204)
  const { skp, done } = user()
  const answers = [owner.password, 'wrong-wrong', body.recoveryCodes[0]]
  const { asked, err } = await done(['login', '--url', api.url, '--email', owner.email], { answers })
  expect(asked.map(({ hidden }) => hidden)).toEqual([true, false, false])
  expect(err).toContain('That code is wrong')
  const refused = [owner.password, 'a', 'b', 'c', 'd']
  expect((await skp(['login', '--url', api.url, '--email', owner.email], { answers: refused })).code).toBe(4)
})

test('a token is taken from stdin, of whichever kind, and kept only if the service accepts it', async () => {
  const { api, owner, store, serviceToken, keys } = await shop()
  const { skp, done, file } = user()
  const login = ['login', '--with-token', '--url', api.url]
  const mistyped = `${owner.token.slice(0, -1)}${owner.token.endsWith('0') ? '1' : '0'}`
  const wrong = await skp(login, { input: `${mistyped}\n` })
  expect(wrong).toMatchObject({ code: 4, out: '', err: expect.stringContaining('Nothing was kept') })
  expect((await skp(login, { input: '' })).code).toBe(2)
  expect((await skp(['login', '--url', api.url])).code).toBe(2)
  expect(existsSync(file)).toBe(false)

  await done(login, { input: `${await serviceToken()}\n` })
  expect((await done(['whoami'])).lines).toContain('kind\tservice')
  const created = await api.post(
    keys,
    { name: 'Robot', type: 'PROD', permissions: ['READ', 'MANAGE_KEYS'] },
    { as: owner.token },
  )
  await done(login, { input: created.body.key })
  expect((await done(['whoami'])).lines).toContain(`store\t${store.id}`)
  expect((await done(['keys', 'list', '--json'])).out).toContain(created.body.id)
  expect((await done(['logout'])).err).toContain('still works')
  expect((await api.get('/v1/key', { as: created.body.key })).status).toBe(200)
})

test('a flag comes before the environment, the environment before the file, and a token stays with its service', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const { skp, done } = user()
  await done(['login', '--with-token', '--url', api.url], { input: owner.token })
  const seen: (string | undefined)[] = []
  const other = await relay('http://127.0.0.1:9', (request) => void seen.push(request.headers.authorization))
  expect((await skp(['whoami', '--url', other.url])).code).toBe(4)
  expect((await skp(['whoami'], { env: { STOREKEEPER_URL: other.url } })).code).toBe(4)
  expect(seen).toEqual([])
  const elsewhere = { env: { STOREKEEPER_URL: other.url, STOREKEEPER_STORE: 'store_00000000000000000000000000' } }
  expect((await skp(['keys', '--url', api.url], elsewhere)).code).toBe(5)
  expect((await skp(['keys', '--url', api.url, '--store', store.id], elsewhere)).code).toBe(0)
  const env = { STOREKEEPER_TOKEN: (await world.person()).token }
  expect((await done(['whoami', '--json'], { env })).out).not.toContain(owner.email)
  // The store, too, is that of the service which is asked; and no file is needed where nothing of it is.
  const someone = user()
  expect((await someone.done(['whoami', '--url', api.url], { env: { STOREKEEPER_TOKEN: owner.token } })).lines).toEqual(
    [`service\t${api.url}`, 'kind\tuser', `account\t${owner.email}`, expect.stringMatching(/^id\tuser_/), 'store\t'],
  )
})

test('an id that is empty, or would lead elsewhere, is wrong use', async () => {
  const { api, owner, store } = await shop()
  const { skp } = user()
  const env = { STOREKEEPER_URL: api.url, STOREKEEPER_TOKEN: owner.token, STOREKEEPER_STORE: store.id }
  for (const id of ['', '.', '..'])
    for (const command of [['show'], ['revoke', '--yes'], ['rotate', '--yes']])
      expect(await skp(['keys', ...command, id], { env })).toMatchObject({
        code: 2,
        err: expect.stringContaining('keyId is missing'),
      })
})
