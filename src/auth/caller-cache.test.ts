import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hearChanges } from '../../tests/changes-heard.ts'
import { NEW_KEY, shop } from '../../tests/shop.ts'
import { CALLER_TTL_MS, newCallerCache } from './caller-cache.ts'

test('what is known is known for a moment', async () => {
  const known = newCallerCache<string>()
  known.set('ada', 'an owner', known.generation())
  expect(known.get('ada')).toBe('an owner')
  await sleep(CALLER_TTL_MS + 5)
  expect(known.get('ada')).toBeUndefined()
})

test('a caller is not known any more after the machine has slept, although `performance.now()` stood still meanwhile', () => {
  const known = newCallerCache<string>()
  const mono = vi.spyOn(performance, 'now').mockReturnValue(1_000)
  const wall = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
  onTestFinished(() => void vi.restoreAllMocks())
  known.set('ada', 'an owner', known.generation())
  wall.mockReturnValue(1_000_000 + CALLER_TTL_MS - 1)
  expect(known.get('ada')).toBe('an owner')
  wall.mockReturnValue(1_000_000 + CALLER_TTL_MS)
  expect(known.get('ada')).toBeUndefined()
  wall.mockReturnValue(0)
  mono.mockReturnValue(1_000 + CALLER_TTL_MS)
  expect(known.get('ada')).toBeUndefined()
})

test('an answer that is older than a change is not kept', () => {
  const known = newCallerCache<string>()
  const asked = known.generation()
  known.invalidate()
  known.set('ada', 'an owner', asked)
  expect(known.get('ada')).toBeUndefined()
})

test('it does not grow without end', () => {
  const known = newCallerCache<number>()
  for (let n = 0; n <= 10_000; n++) known.set(String(n), n, known.generation())
  expect([known.get('0'), known.get('10000')]).toEqual([undefined, 10_000])
})

test('the node that takes something away refuses at once, and every other within 250 ms', async () => {
  const { api, node, member, owner, store, keys, databaseUrl } = await shop({ alone: true })
  const other = await node()
  const heard = await hearChanges(databaseUrl)
  for (let round = 0; round < 10; round++) {
    const manager = await member('MANAGER')
    const key = (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_KEYS'] }, { as: manager.token })).body
      .key
    const ask = async (at: typeof api) =>
      Promise.all([manager.token, key].map(async (as) => (await at.get(keys, { as })).status))
    // Both nodes know them both.
    expect([await ask(api), await ask(other)]).toEqual([
      [200, 200],
      [200, 200],
    ])
    const path = `/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`
    heard.forget()
    expect((await api.delete(path, { as: owner.token })).status).toBe(200)
    const answered = performance.now()
    expect(await ask(api)).toEqual([404, 401])
    let refusedAfter = 0
    // By the moment it was asked: how long the answer takes is another matter.
    for (let known = heard.knownFor(answered); (await ask(other)).includes(200); known = heard.knownFor(answered))
      refusedAfter = known
    expect(refusedAfter).toBeLessThan(250)
  }
})

test('a session that has ended and a key that has expired are refused although they were known a moment ago', async () => {
  const { api, owner, keys } = await shop()
  const expiresAt = new Date(Date.now() + 700).toISOString()
  const made = await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_KEYS'], expiresAt }, { as: owner.token })
  for (let status = 200; Date.now() < Date.parse(expiresAt) + 50; ) {
    const before = Date.now()
    status = (await api.get(keys, { as: made.body.key })).status
    if (before >= Date.parse(expiresAt)) expect(status).toBe(401)
    if (Date.now() < Date.parse(expiresAt)) expect(status).toBe(200)
  }
  expect((await api.get(keys, { as: made.body.key })).status).toBe(401)
})
