// A back end that verifies in its own process, beside the service itself: the same verdicts, the same counts, and the end of
// a key in time.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isStorekeeperError, type Storekeeper, storekeeper } from '../../packages/client/src/index.ts'
import { mintToken } from '../../src/crypto/tokens.ts'
import { NEW_KEY, type Shop, shop } from '../shop.ts'

type Fetch = typeof fetch

async function backEnd({ api, serviceToken }: Shop, more: { fetch?: Fetch; stores?: string[] } = {}) {
  const token = await serviceToken(more.stores)
  const client = storekeeper({ url: api.url, token, inProcess: true, ...(more.fetch && { fetch: more.fetch }) })
  onTestFinished(() => client.close())
  const verifier = client.verifier()
  return { client, verifier, token }
}

const create = async ({ api, keys, owner }: Shop, settings: object = {}) =>
  (await api.post(keys, { ...NEW_KEY, ...settings }, { as: owner.token })).body as { id: string; key: string }

const covered = (client: Storekeeper) =>
  vi.waitFor(() => expect(client.verifier().state).toBe('covered'), { timeout: 60_000 })

/** Known, with a stream that tells of its changes. */
async function warm(client: Storekeeper, question: { key: string; permissions?: string[] }): Promise<void> {
  const verifier = client.verifier()
  await verifier.verify(question)
  await covered(client)
  await verifier.verify(question)
  await vi.waitFor(() => expect(verifier.now(question)?.code).toBe('VALID'), { timeout: 60_000 })
}

test('the verdicts are those of the service, from memory or not', async () => {
  const world = await shop()
  const { api, store, keys, owner } = world
  const { client, verifier, token } = await backEnd(world)
  const rateLimit = { limit: 1_000, windowSeconds: 3600 }
  const made = {
    plain: await create(world, { metadata: { plan: 'gold', nested: { list: [1] } } }),
    expiring: await create(world, { expiresAt: new Date(Date.now() + 60_000).toISOString() }),
    fromHome: await create(world, { ipAllowlist: ['203.0.113.0/24'] }),
    limited: await create(world, { rateLimit }),
    named: await create(world, { rateLimits: [{ ...rateLimit, name: 'exports' }] }),
    paid: await create(world, { credits: { remaining: 1_000, refill: null } }),
    off: await create(world),
    revoked: await create(world),
  }
  await api.patch(`${keys}/${made.off.id}`, { enabled: false }, { as: owner.token })
  await api.delete(`${keys}/${made.revoked.id}`, { as: owner.token })
  const unknown = mintToken('skp', 'prod').reveal()
  const malformed = `${unknown.slice(0, -1)}-`
  const values = [
    ...Object.values(made).map(({ key }) => key),
    unknown,
    `${unknown.slice(0, -1)}-`,
    'sk_live_elsewhere',
  ]
  const forms = [
    {},
    { permissions: ['READ'] },
    { permissions: ['READ', 'MANAGE_MEMBERS'] },
    { permissions: ['NO_SUCH'] },
    { anyPermissions: ['MANAGE_MEMBERS', 'READ'] },
    { anyPermissions: ['MANAGE_MEMBERS'] },
    { types: ['PROD' as const] },
    { types: ['DEV' as const] },
    { storeId: store.id },
    { storeId: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd' },
    { anyStore: true },
    { ip: '203.0.113.9' },
    { ip: '192.0.2.1' },
    { cost: 2 },
    { limits: [{ name: 'exports' }] },
  ]
  await warm(client, { key: made.plain.key })
  let fromMemory = 0
  for (const key of values)
    for (const form of forms) {
      const asked = (await api.post('/v1/keys/verify', { key, ...form }, { as: token })).body
      const once = { ...(await verifier.verify({ key, ...form })) }
      const again = verifier.now({ key, ...form })
      for (const verdict of again ? [once, again] : [once]) {
        // What a verification spends is less the next time.
        const { rateLimit: _, credits: __, limits: ___, ...rest } = verdict
        const { rateLimit: _1, credits: _2, limits: _3, ...expected } = asked
        // What is refused by its form alone says nothing of the question.
        if (key === malformed) delete expected.unknownPermissions
        expect(rest).toEqual(expected)
      }
      if (!again) continue
      fromMemory += 1
      expect([made.plain.key, made.expiring.key, made.fromHome.key]).toContain(key)
      expect([Object.isFrozen(again), Object.isFrozen(again.permissions), Object.isFrozen(again.metadata)]).toEqual([
        true,
        true,
        true,
      ])
    }
  expect(fromMemory).toBeGreaterThan(15)
  for (const wrong of [{ storeId: store.id, anyStore: true }, { types: [] }, { anyPermissions: [] }])
    await expect(verifier.verify({ key: made.plain.key, ...wrong })).rejects.toMatchObject({ code: 'invalid_input' })
  // Not `clockAhead`: other files of this worker fake the clock by which the shared service says what it has heard.
  expect(verifier.counters).toMatchObject({ surprised: 0, broken: 0 })
})

test('a key that ends is refused, whatever ends it', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const { client, verifier } = await backEnd(world)
  const ways: [string, (id: string) => Promise<unknown>, string][] = [
    ['revoke', (id) => api.delete(`${keys}/${id}`, { as: owner.token }), 'REVOKED'],
    ['disable', (id) => api.patch(`${keys}/${id}`, { enabled: false }, { as: owner.token }), 'DISABLED'],
    ['rotate', (id) => api.post(`${keys}/${id}/rotate`, {}, { as: owner.token }), 'NOT_FOUND'],
    [
      'cut',
      (id) => api.patch(`${keys}/${id}`, { permissions: ['WRITE'] }, { as: owner.token }),
      'INSUFFICIENT_PERMISSIONS',
    ],
    ['freeze', () => api.post(`${keys}/freeze`, {}, { as: owner.token }), 'FROZEN'],
  ]
  for (const [way, end, code] of ways) {
    const { key, id } = await create(world)
    const question = { key, permissions: ['READ'] }
    await warm(client, question)
    await end(id)
    await vi.waitFor(() => expect(verifier.now(question), way).toBe(null), { timeout: 10_000, interval: 5 })
    expect((await verifier.verify(question)).code).toBe(code)
  }
  expect(Number(verifier.counters.changes)).toBeGreaterThanOrEqual(ways.length)
})

test('uses are counted once, also when the answers to reports are lost', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const reports: string[] = []
  const losing: Fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (!String(input).endsWith('/v1/keys/usage')) return response
    reports.push(String(init?.body))
    if (reports.length % 3 !== 0) throw new TypeError('fetch failed')
    return response
  }
  const { client, verifier } = await backEnd(world, { fetch: losing })
  const { key, id } = await create(world)
  await warm(client, { key })
  const before = Number(verifier.counters.answered)
  for (let n = 0; n < 1_000; n++) verifier.now({ key, permissions: ['READ'] })
  const { answered, asked } = verifier.counters as { answered: number; asked: number }
  expect(answered - before).toBe(1_000)
  for (let n = 0; n < 3; n++) await verifier.close()
  expect(reports.map((text) => JSON.parse(text).seq)).toEqual([1, 1, 1])
  expect(verifier.counters).toMatchObject({ reported: answered, unreported: 0 })
  const counted = async () => {
    const { body } = await api.get(`${keys}/${id}/usage`, { as: owner.token })
    return body.data.reduce((sum: number, { counts }: { counts: { VALID?: number } }) => sum + (counts.VALID ?? 0), 0)
  }
  await vi.waitFor(async () => expect(await counted()).toBe(answered + asked), { timeout: 60_000, interval: 250 })
})

test('without the service nobody is let in, and an older service is asked each time', async () => {
  const world = await shop()
  let fault: 'none' | 'down' | 'old' = 'none'
  const faulty: Fetch = async (input, init) => {
    if (fault === 'down') throw new TypeError('fetch failed')
    if (fault === 'old' && /keys\/(lease|changes)/.test(String(input)))
      return Response.json({ code: 'not_found', title: 'Not found', status: 404 }, { status: 404 })
    return fetch(input, init)
  }
  const { key } = await create(world)
  const { verifier, client } = await backEnd(world, { fetch: faulty })
  await warm(client, { key })
  fault = 'down'
  await vi.waitFor(async () => {
    const error = await verifier
      .verify({ key: mintToken('skp', 'prod').reveal() }, { timeout: 200 })
      .catch((error) => error)
    expect(isStorekeeperError(error, 'unavailable')).toBe(true)
  }, 60_000)
  fault = 'old'
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const older = await backEnd(world, { fetch: faulty })
  for (let n = 0; n < 3; n++) expect((await older.verifier.verify({ key })).code).toBe('VALID')
  expect([older.verifier.now({ key }), older.verifier.state, warned.mock.calls.length]).toEqual([null, 'off', 1])
  await older.client.close()
  await expect(older.verifier.verify({ key })).rejects.toMatchObject({ code: 'closed' })
})

test('a process that has nothing else to do ends, with the stream open', async () => {
  const world = await shop()
  const { key } = await create(world)
  const script = `
    const { storekeeper } = await import('./packages/client/src/index.ts')
    const verifier = storekeeper({ url: '${world.api.url}', token: '${await world.serviceToken()}' }).verifier({ inProcess: true })
    while (verifier.state !== 'covered') {
      await verifier.verify({ key: '${key}' })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    console.log('covered')`
  const child = spawn(process.execPath, ['--conditions=source', '--import', 'tsx', '--input-type=module', '-e', script])
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  child.stderr.on('data', (text) => {
    said += text
  })
  const [code] = await once(child, 'exit')
  expect([code, said.trim()]).toEqual([0, 'covered'])
})
