import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import type { Db } from '../db/db.ts'
import type { Turn } from '../db/turns.ts'
import { newConnectionSlots } from './connection-slots.ts'
import { changesOf, keysOf } from './holders.ts'

/** Changes that lock one of these stores keep their connection until they are let go. */
function holdChanges({ service }: Shop, stores: string[]) {
  const held: (() => void)[] = []
  let isOpen = false
  const transaction = service.db.transaction.bind(service.db)
  const gate = vi.spyOn(service.db, 'transaction').mockImplementation((work, turn?: Turn) => {
    const slowly = async (tx: Db) => {
      const result = await work(tx)
      if (!isOpen) await new Promise<void>((letGo) => held.push(letGo))
      return result
    }
    return transaction(stores.includes(turn?.holder ?? '') ? slowly : work, turn)
  })
  const letGoOfAll = () => {
    gate.mockRestore()
    isOpen = true
    for (const letGo of held) letGo()
  }
  onTestFinished(letGoOfAll)
  return { held, letGoOfAll }
}

test('whoever changes many stores, however slowly, also with keys, keeps nobody else from reading or changing anything', async () => {
  const world = await shop({ alone: true })
  const { api, owner, person, service } = world
  const other = await person()
  const { id } = (await api.post('/v1/user/store', { name: 'Next door' }, { as: other.token })).body
  const stores: { id: string; key: string }[] = []
  for (let n = 0; n < 12; n++) {
    const store = (await api.post('/v1/user/store', { name: `Shop ${n}` }, { as: owner.token })).body
    const permissions = ['READ', 'MANAGE_STORE']
    const { key } = (
      await api.post(`/v1/user/store/${store.id}/keys`, { ...NEW_KEY, permissions }, { as: owner.token })
    ).body
    stores.push({ id: store.id, key })
  }
  const { held, letGoOfAll } = holdChanges(
    world,
    stores.map((store) => store.id),
  )
  const changes = stores.map((store, n) =>
    api.patch(`/v1/user/store/${store.id}`, { name: 'Renamed' }, { as: n % 2 === 0 ? owner.token : store.key }),
  )
  // One connection is left to the node itself, and a third of the others to accounts that have nothing under way.
  const { serving } = service.db.connections()
  await expect.poll(() => held.length).toBe(serving - 1 - Math.floor((serving - 1) / 3))
  const as = { as: other.token }
  const answers = [
    await api.get('/v1/user', as),
    await api.patch(`/v1/user/store/${id}`, { name: 'Still here' }, as),
    await api.get(`/v1/user/store/${id}/keys`, as),
    await api.post(`/v1/user/store/${id}/keys`, NEW_KEY, as),
    await api.post(`/v1/store/${id}/billing`, NEW_ADDRESS, as),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 201, 201])
  letGoOfAll()
  // Some have waited for too long meanwhile.
  for (const { status } of await Promise.all(changes)) expect([200, 503]).toContain(status)
})

test('of what one account waits for, neither changes nor its stores’ keys wait behind reads', async () => {
  const { enter } = newConnectionSlots(8)
  const begun: string[] = []
  const begin = async (account: string) => {
    const leave = await enter(account)
    begun.push(account)
    return leave
  }
  const reads = await Promise.all(Array.from({ length: 5 }, () => begin('ada')))
  const waiting = ['ada', keysOf('ada'), changesOf(keysOf('ada')), changesOf('ada')].map(begin)
  const leaves = [...reads]
  for (let n = 1; n <= waiting.length; n++) {
    leaves.shift()?.()
    await expect.poll(() => begun.length).toBe(5 + n)
  }
  expect(begun.at(-1)).toBe('ada')
  for (const leave of [...leaves, ...(await Promise.all(waiting))]) leave()
})

test('whatever one account’s requests wait for, there is room for those of others', async () => {
  const asked = new Set<() => void>()
  // A name server that does not answer: the service gives up after two seconds.
  const resolve = () =>
    new Promise<string[]>((found) => {
      const answer = () => {
        asked.delete(answer)
        found(['192.0.2.1'])
      }
      asked.add(answer)
      setTimeout(answer, 30_000)
    })
  const { api, owner, person, store } = await shop({}, { resolve })
  const other = await person()
  const webhook = { url: 'https://hooks.example.com/', types: ['*'] }
  const flood = Array.from({ length: 400 }, () =>
    api.post(`/v1/user/store/${store.id}/webhooks`, webhook, { as: owner.token }),
  )
  await expect.poll(() => asked.size).toBeGreaterThan(100)
  const answers = await Promise.all(Array.from({ length: 20 }, () => api.get('/v1/user', { as: other.token })))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  for (const answer of asked) answer()
  for (const { status, headers } of await Promise.all(flood)) {
    expect([201, 409, 422, 429, 503]).toContain(status)
    if (status >= 429) expect(headers.get('retry-after')).toBe('1')
  }
})

test('however much somebody’s back ends have under way, there is room for others, and the operator’s are not bounded', async () => {
  const world = await shop({ alone: true })
  const { api, owner, person, store, keys, service } = world
  const other = await person()
  const issued = await api.post(`/v1/user/store/${store.id}/service-tokens`, { name: 'Mine' }, { as: owner.token })
  const { key } = (await api.post(keys, { ...NEW_KEY, credits: { remaining: 1_000 } }, { as: owner.token })).body
  const verify = (as: string, explain: boolean) => api.post('/v1/keys/verify', { key, explain }, { as })
  for (const explain of [true, false]) expect((await verify(issued.body.token, explain)).status).toBe(200)
  // Whatever is asked of credits waits until it is let go.
  const held: (() => void)[] = []
  const batched = service.db.batched.bind(service.db)
  const gate = vi.spyOn(service.db, 'batched').mockImplementation(async (batch, row) => {
    if (/peekAt|spendCredits/.test(batch.name)) await new Promise<void>((letGo) => held.push(letGo))
    return batched(batch, row)
  })
  onTestFinished(() => gate.mockRestore())
  for (const explain of [true, false]) {
    held.length = 0
    let answered = 0
    const flood = Array.from({ length: 400 }, () => verify(issued.body.token, explain).finally(() => answered++))
    // Each of them waits, or was refused: none comes when the others are let go.
    await expect.poll(() => held.length + answered, { timeout: 60_000 }).toBe(400)
    expect(held.length).toBeGreaterThan(100)
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.get('/v1/user', { as: other.token })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    // Nor is the owner refused for what the back ends do.
    expect((await api.get(keys, { as: owner.token })).status).toBe(200)
    const operators = verify(await world.serviceToken(), explain)
    const before = held.length
    await expect.poll(() => held.length).toBeGreaterThan(before)
    for (const letGo of held) letGo()
    expect((await operators).status).toBe(200)
    const statuses = (await Promise.all(flood)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
  }
})

test('while an identity provider does not answer, whoever floods with its tokens keeps no other address waiting', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const issuer = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const settings = { JWT_ISSUER: issuer, JWT_AUDIENCE: 'shop', JWT_JWKS_URL: `${issuer}/jwks`, TRUST_PROXY: '1' }
  const { api, owner } = await shop(settings)
  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')
  const token = `${part({ alg: 'RS256', kid: 'any' })}.${part({ iss: issuer, aud: 'shop', sub: 'any' })}.AAAA`
  const from = (ip: string, as: string) => api.get('/v1/user', { as, headers: { 'x-forwarded-for': ip } })
  const flood = Array.from({ length: 400 }, () => from('203.0.113.7', token))
  // What is more than an address may have is refused at once; the others wait for the provider.
  const refused = flood.map(async (reply) => (await reply).status)
  expect(await Promise.race(refused)).toBe(429)
  const answers = await Promise.all(Array.from({ length: 20 }, () => from('198.51.100.7', owner.token)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(await Promise.all(refused))).toEqual(new Set([429, 503]))
  // Nobody waits as long once more.
  const began = performance.now()
  expect((await from('192.0.2.7', token)).status).toBe(503)
  expect(performance.now() - began).toBeLessThan(1_500)
})
