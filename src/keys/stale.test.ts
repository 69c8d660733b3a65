// `maxStaleSeconds`: what a node answers while it has no database to ask.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { proxyTo } from '../../tests/db-proxy.ts'
import { serviceClient } from '../../tests/service-client.ts'
import { closeSharedService, NEW_KEY, type Reply, shop } from '../../tests/shop.ts'

const NOWHERE = 'postgres://nobody@127.0.0.1:1/nothing'
const STALE = { maxStaleSeconds: 30 }
const LIMIT = { limit: 100, windowSeconds: 60 }

test('while there is no database, whoever accepts an old answer gets one, and nothing that the node knows to be revoked', async () => {
  const world = await shop({ alone: true })
  const wire = await proxyTo(world.databaseUrl)
  const node = await world.node({ DATABASE_URL: wire.url })
  const as = world.owner.token
  const keysPath = `/v1/user/store/${world.store.id}/keys`
  const create = async (more: object = {}) => (await world.api.post(keysPath, { ...NEW_KEY, ...more }, { as })).body
  const plain = await create()
  const [later, here, there, lost, unknown] = [
    await create(),
    await create(),
    await create(),
    await create(),
    await create(),
  ]
  const spending = [
    await create({ rateLimit: LIMIT }),
    await create({ credits: { remaining: 5 } }),
    await create({ rateLimits: [{ name: 'exports', ...LIMIT }] }),
  ]
  const tokensPath = `/v1/user/store/${world.store.id}/service-tokens`
  const ended = (await world.api.post(tokensPath, { name: 'Ended' }, { as })).body
  const client = await serviceClient(world)
  const askEnded = () => node.post('/v1/keys/verify', { key: plain.key, ...STALE }, { as: ended.token })
  const verify = (key: string, more: object = STALE) => client.verify(key, more, node)
  const lease = (key: string) => node.post('/v1/keys/lease', { key, ...STALE }, { as: client.as })
  const learn = async () => {
    for (const { key } of [plain, later, here, there, lost, ...spending])
      expect(shown(await verify(key))).toEqual(['VALID', false])
  }
  for (const maxStaleSeconds of [-1, 61, 1.5, '1'])
    expect((await verify(plain.key, { maxStaleSeconds })).status, String(maxStaleSeconds)).toBe(422)

  await learn()
  expect(shown(await askEnded())).toEqual(['VALID', false])
  await node.delete(`${keysPath}/${here.id}`, { as })
  // The node hears of it before it hears of the key: then it forgets all callers.
  expect((await world.api.delete(`${tokensPath}/${ended.id}`, { as })).status).toBeLessThan(300)
  await world.api.delete(`${keysPath}/${there.id}`, { as })
  await until(async () => (await verify(there.key)).body.code === 'REVOKED')
  await until(async () => (await askEnded()).status === 401)
  expect(shown(await verify(plain.key))).toEqual(['VALID', false])
  // A change of a key takes nothing from the asker.
  await node.patch(`${keysPath}/${unknown.id}`, { name: 'Another' }, { as })
  const cutAt = Date.now()
  wire.moveTo(NOWHERE)

  expect(shown(await verify(plain.key, {}))).toEqual([503, false])
  expect(shown(await verify(plain.key, { maxStaleSeconds: 0 }))).toEqual([503, false])
  // On the fast path, and past it.
  for (const more of [{}, { ip: '192.0.2.1' }]) {
    const answer = await verify(plain.key, { ...STALE, ...more })
    expect(shown(answer)).toEqual(['VALID', true])
    expect([answer.body.keyId, Date.parse(answer.body.asOf) <= Date.now()]).toEqual([plain.id, true])
    expect(Date.parse(answer.body.asOf)).toBeGreaterThan(cutAt - 30_000)
  }
  expect(shown(await verify(plain.key, { ...STALE, permissions: ['MANAGE_MEMBERS'] }))).toEqual([
    'INSUFFICIENT_PERMISSIONS',
    true,
  ])
  const leased = await lease(plain.key)
  expect([...shown(leased), leased.body.lease]).toEqual(['VALID', true, null])
  for (const { key } of [here, there, unknown, ...spending]) {
    expect(shown(await verify(key))).toEqual([503, false])
    expect(shown(await lease(key))).toEqual([503, false])
  }
  expect(shown(await askEnded())).toEqual([503, false])
  expect((await verify(plain.key, { ...STALE, explain: true })).status).toBe(503)
  // A revocation elsewhere cannot be known here; the answer tells how old it is.
  await world.api.delete(`${keysPath}/${later.id}`, { as })
  const revokedAt = Date.now()
  const old = await verify(later.key)
  expect([...shown(old), Date.parse(old.body.asOf) < revokedAt]).toEqual(['VALID', true, true])
  await sleep(1_100)
  expect(shown(await verify(plain.key, { maxStaleSeconds: 1 }))).toEqual([503, false])
  expect(shown(await verify(plain.key))).toEqual(['VALID', true])
  // The machine has slept for a minute, and `performance.now()` stood still meanwhile.
  await closeSharedService()
  const wall = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 61_000)
  onTestFinished(() => wall.mockRestore())
  expect(shown(await verify(plain.key))).toEqual([503, false])
  wall.mockRestore()
  expect(shown(await verify(plain.key))).toEqual(['VALID', true])

  wire.moveTo(world.databaseUrl)
  await until(async () => (await node.get('/readyz')).status === 200)
  expect(shown(await verify(plain.key))).toEqual(['VALID', false])
  expect(shown(await verify(later.key))).toEqual(['REVOKED', false])
  wire.moveTo(NOWHERE)
  expect(shown(await verify(later.key))).toEqual([503, false])
  wire.moveTo(world.databaseUrl)
  await until(async () => (await node.get('/readyz')).status === 200)

  // A database that does not answer is not waited for to the end, and what was sent to it may have been done.
  expect(shown(await verify(lost.key))).toEqual(['VALID', false])
  expect(shown(await verify(plain.key))).toEqual(['VALID', false])
  // At its reason: the id is also in what the node writes of the use of keys.
  const muted = wire.muteAt('sold on the market')
  const revoking = node.delete(`${keysPath}/${lost.id}?reason=sold+on+the+market`, { as })
  await muted
  const statuses = [(await verify(plain.key)).status]
  await sleep(2_000)
  statuses.push((await verify(plain.key)).status)
  expect(statuses).toEqual([200, 200])
  wire.moveTo(NOWHERE)
  expect([200, 503]).toContain((await revoking).status)
  expect(shown(await verify(lost.key))).toEqual([503, false])
  expect(shown(await verify(plain.key))).toEqual(['VALID', true])
})

/** The code of a verdict, or the status of anything else; and whether it is an old one. */
function shown({ status, body }: Reply): [string | number, boolean] {
  return [status === 200 ? body.code : status, body.asOf !== undefined]
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(20)) if (await condition()) return
  throw new Error('It did not happen.')
}
