// A request says for whom it is made: `Expected-User`. In the session of somebody else nothing is done.

import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { newId } from '../core/ids.ts'

const forUser = (as: string | null, id: string) => ({ as, headers: { 'expected-user': id } })
const outcome = ({ status, body }: Reply) => [status, body?.code]
const REFUSED = [409, 'signed_in_as_another']

test('a request for its own caller is answered as without the header', async () => {
  const { api, owner, store } = await shop()
  const paths = ['/v1/user', `/v1/user/store/${store.id}`, `/v1/user/store/${store.id}/keys`, '/v1/countries/DE']
  for (const path of paths) {
    const plain = await api.get(path, { as: owner.token })
    const named = await api.get(path, forUser(owner.token, owner.id))
    expect([named.status, named.body], path).toEqual([200, plain.body])
  }
})

test('a request for somebody else is refused on every kind of route, and does nothing', async () => {
  const { api, owner, store, keys, billing, member, person } = await shop()
  const alice = await person('Alice')
  const bob = await member('OWNER')
  const asBob = forUser(bob.token, alice.id)
  const before = (await api.get('/v1/user', { as: bob.token })).body
  const answers = {
    'reads who is signed in': await api.get('/v1/user', asBob),
    'lists keys': await api.get(keys, asBob),
    'exports an account': await api.get('/v1/user/export', asBob),
    'streams events': await api.get(`/v1/user/store/${store.id}/events/stream`, asBob),
    'a public route': await api.get('/v1/countries/DE', asBob),
    'creates a key': await api.post(keys, NEW_KEY, asBob),
    'adds an address': await api.post(billing, NEW_ADDRESS, asBob),
    'changes a name': await api.patch('/v1/user', { name: 'Alice' }, asBob),
    'signs out': await api.post('/v1/auth/sign-out', {}, asBob),
    'erases an account': await api.delete('/v1/user', asBob),
    'imports keys': await api.post(`${keys}/import`, { keys: [], pad: 'x'.repeat(200_000) }, asBob),
  }
  for (const [what, answer] of Object.entries(answers)) expect(outcome(answer), what).toEqual(REFUSED)
  expect((await api.get('/v1/user', { as: bob.token })).body).toEqual(before)
  expect((await api.get(keys, { as: owner.token })).body.data).toEqual([])
  expect((await api.get(billing, { as: bob.token })).body.data).toEqual([])
})

test('a large body is refused before it is sent', async () => {
  const { api, owner, keys } = await shop()
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname)
  const head = ['Host: x', `Authorization: Bearer ${owner.token}`, `Expected-User: ${newId('user')}`]
  const body = ['Content-Type: application/json', 'Content-Length: 1000000']
  socket.write(`POST ${keys}/import HTTP/1.1\r\n${[...head, ...body].join('\r\n')}\r\n\r\n{`)
  const answer = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
  socket.destroy()
  expect(String(answer)).toMatch(/^HTTP\/1\.1 409 /)
})

test('keys and services are no user; whoever has no valid credential is told that first', async () => {
  const world = await shop()
  const { api, owner, keys, serviceToken } = world
  const { key } = (await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_KEYS'] }, { as: owner.token })).body
  const service = await serviceToken()
  const question = { key }
  expect(outcome(await api.get(keys, forUser(key, owner.id)))).toEqual(REFUSED)
  // Once the token is known, plain questions take the fast path.
  for (let i = 0; i < 2; i++) expect((await verify(world, question, { as: service })).body.valid).toBe(true)
  expect(outcome(await verify(world, question, forUser(service, owner.id)))).toEqual(REFUSED)
  expect(outcome(await api.get('/v1/user', forUser(null, owner.id)))).toEqual([401, 'unauthenticated'])
  expect(outcome(await api.get('/v1/user', forUser('skp_sess_x', owner.id)))).toEqual([401, 'invalid_token'])
})

const verify = ({ api }: Shop, question: object, how: Parameters<Shop['api']['post']>[2]) =>
  api.post('/v1/keys/verify', question, how)

test('a public route minds the header only for somebody who is signed in', async () => {
  const { api, owner, person } = await shop()
  const { id, email, password } = await person('Alice')
  const signIn = (as: string | null) => api.post('/v1/auth/sign-in', { email, password }, forUser(as, id))
  expect((await signIn(null)).status).toBe(200)
  expect((await signIn('skp_sess_x')).status).toBe(200)
  expect(outcome(await signIn(owner.token))).toEqual(REFUSED)
})

test('a header that names nobody is refused', async () => {
  const { api, owner } = await shop()
  for (const value of [
    '',
    'x',
    'user_',
    owner.email,
    owner.id.toUpperCase(),
    `${owner.id}, ${owner.id}`,
    newId('user'),
  ])
    expect(outcome(await api.get('/v1/user', forUser(owner.token, value))), value).toEqual(REFUSED)
})

test('a stored response is replayed to nobody else, and stays for its own user', async () => {
  const { api, owner, member, keys } = await shop()
  const bob = await member('OWNER')
  const create = (as: string, id: string) =>
    api.post(keys, NEW_KEY, { as, headers: { 'expected-user': id, 'idempotency-key': 'once' } })
  const first = await create(owner.token, owner.id)
  expect(first.status).toBe(201)
  expect(outcome(await create(owner.token, bob.id))).toEqual(REFUSED)
  expect(outcome(await create(bob.token, owner.id))).toEqual(REFUSED)
  const again = await create(owner.token, owner.id)
  expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([first.body, 'true'])
  // A refusal is not stored as the answer to Bob's key.
  expect((await create(bob.token, bob.id)).status).toBe(201)
})
