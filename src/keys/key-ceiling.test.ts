// What a key cannot do with itself and with others, and what a leak leaves of it.

import { expect, test } from 'vitest'
import { serviceClient } from '../../tests/service-client.ts'
import { NEW_KEY, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { addMs, DAY, fromNow, HOUR, SECOND, travel } from '../core/clock.ts'

const told = ({ status, body }: Reply) => `${status} ${body?.code ?? ''}`.trim()
const MANAGES = { ...NEW_KEY, permissions: ['READ', 'MANAGE_KEYS'] }
const create = async ({ api, keys, owner }: Shop, more: object = {}) =>
  (await api.post(keys, { ...MANAGES, ...more }, { as: owner.token })).body

test('a key does not change itself, and a secret that was replaced does not take the key back', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const key = await create(world, { expiresAt: fromNow(HOUR).toISOString(), ipAllowlist: ['127.0.0.0/8'] })
  const path = `${keys}/${key.id}`
  for (const change of [{ expiresAt: null }, { ipAllowlist: null }, { name: 'Mine' }])
    expect(told(await api.patch(path, change, { as: key.key }))).toBe('403 own_key')
  const rotated = await api.post(`${path}/rotate`, { gracePeriodSeconds: 600 }, { as: owner.token })
  expect(told(await api.post(`${path}/rotate`, {}, { as: key.key }))).toBe('403 replaced_secret')
  // With its newest secret it may.
  expect(told(await api.post(`${path}/rotate`, {}, { as: rotated.body.key }))).toBe('200')
})

test('a key gives no other a longer life, or a wider door, than its own', async () => {
  const world = await shop()
  const { api, keys } = world
  const end = fromNow(HOUR)
  const bounded = await create(world, { expiresAt: end.toISOString(), ipAllowlist: ['127.0.0.0/8', '2001:db8::/32'] })
  const other = await create(world)
  const narrow = await create(world, { expiresAt: fromNow(HOUR / 2).toISOString(), ipAllowlist: ['127.0.0.1'] })
  const as = bounded.key
  const within = { expiresAt: end.toISOString(), ipAllowlist: ['127.0.0.1', '2001:db8:1::/48'] }
  const refused = [
    { ...within, expiresAt: null },
    { ...within, expiresAt: addMs(end, SECOND).toISOString() },
    { ...within, ipAllowlist: null },
    { ...within, ipAllowlist: ['127.0.0.1', '10.0.0.1'] },
    { ...within, ipAllowlist: ['0.0.0.0/0'] },
    { ...within, ipAllowlist: ['2001:db8::/31'] },
  ]
  for (const more of refused) {
    expect(told(await api.post(keys, { ...NEW_KEY, permissions: ['READ'], ...more }, { as }))).toBe('403 cannot_grant')
    expect(told(await api.patch(`${keys}/${narrow.id}`, more, { as }))).toBe('403 cannot_grant')
  }
  expect(told(await api.post(`${keys}/${other.id}/rotate`, {}, { as }))).toBe('403 cannot_grant')
  expect(told(await api.post(keys, { ...NEW_KEY, permissions: ['READ'], ...within }, { as }))).toBe('201')
  // Whatever it changes: the key must be bound as it is, before and afterwards.
  expect(told(await api.patch(`${keys}/${other.id}`, { name: 'Renamed' }, { as }))).toBe('403 cannot_grant')
  expect(told(await api.patch(`${keys}/${other.id}`, { name: 'Renamed', ...within }, { as }))).toBe('403 cannot_grant')
})

test('a leaked secret in its grace verifies, and opens nothing here; a new secret has the life the key had before', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, store } = world
  const back = await serviceClient(world)
  const other = await world.node()
  await api.patch(`/v1/user/store/${store.id}`, { leakGraceSeconds: 600 }, { as: owner.token })
  const expiresAt = fromNow(90 * DAY).toISOString()
  const key = await create(world, { expiresAt })
  expect((await other.get('/v1/key', { as: key.key })).status).toBe(200)
  // With a space around it, as it was pasted.
  expect(told(await api.post('/v1/leaks', { key: ` ${key.key}\n` }))).toBe('200')
  expect(await back.codeOf(key.key)).toBe('VALID')
  expect(told(await api.get('/v1/key', { as: key.key }))).toBe('401 invalid_token')
  await world.everywhere()
  expect(told(await other.post(keys, MANAGES, { as: key.key }))).toBe('401 invalid_token')
  const shortened = (await api.get(`${keys}/${key.id}`, { as: owner.token })).body
  expect(Date.parse(shortened.expiresAt)).toBeLessThan(fromNow(601 * SECOND).getTime())

  const { body: rotated } = await api.post(
    `${keys}/${key.id}/rotate`,
    { gracePeriodSeconds: 86_400 },
    { as: owner.token },
  )
  expect(rotated.expiresAt).toBe(expiresAt)
  // The leaked secret has no longer to live than the report left it.
  expect(rotated.rotation.previousExpiresAt).toBe(shortened.expiresAt)
  expect((await api.get('/v1/key', { as: rotated.key })).status).toBe(200)
  travel(601 * SECOND)
  expect([await back.codeOf(key.key), await back.codeOf(rotated.key)]).toEqual(['NOT_FOUND', 'VALID'])
})

test('an end that a manager sets after a report is theirs, and a rotation leaves it', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  await api.patch(`/v1/user/store/${store.id}`, { leakGraceSeconds: 600 }, { as: owner.token })
  const key = await create(world)
  await api.post('/v1/leaks', { key: key.key })
  const expiresAt = fromNow(DAY).toISOString()
  await api.patch(`${keys}/${key.id}`, { expiresAt }, { as: owner.token })
  const { body } = await api.post(`${keys}/${key.id}/rotate`, {}, { as: owner.token })
  expect(body.expiresAt).toBe(expiresAt)
})

test('a rotation honours If-Match, a frozen store says since when, and refused use is counted', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, store, service, sql } = world
  const key = await create(world, { permissions: ['READ'] })
  const headers = { 'if-match': '"r7"' }
  expect(told(await api.post(`${keys}/${key.id}/rotate`, {}, { as: owner.token, headers }))).toBe(
    '412 precondition_failed',
  )
  const path = `/v1/user/store/${store.id}`
  expect((await api.get(path, { as: owner.token })).body.frozenAt).toBe(null)
  await api.post(`${keys}/freeze`, {}, { as: owner.token })
  expect((await api.get(path, { as: owner.token })).body.frozenAt).toMatch(/^\d{4}-/)
  await api.post(`${keys}/unfreeze`, {}, { as: owner.token })
  expect((await api.get(path, { as: owner.token })).body.frozenAt).toBe(null)

  expect(told(await api.get(keys, { as: key.key }))).toBe('403 insufficient_permission')
  await service.close(0)
  expect(await sql('select outcome, count::int from key_usage')).toEqual([
    { outcome: 'INSUFFICIENT_PERMISSIONS', count: 1 },
  ])
})

test('an IPv4 range in IPv6 clothes is that IPv4 range, however it is written', async () => {
  const world = await shop()
  const ipAllowlist = ['::ffff:c0a8:101', '::ffff:192.0.2.0/120', '::ffff:a00:0/104', '0:0:0:0:0:ffff:cb00:7100/120']
  expect((await create(world, { ipAllowlist })).ipAllowlist).toEqual([
    '192.168.1.1/32',
    '192.0.2.0/24',
    '10.0.0.0/8',
    '203.0.113.0/24',
  ])
})
