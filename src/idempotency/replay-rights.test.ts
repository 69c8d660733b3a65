// A retry gets the response of the first request again only while its caller may still have it.

import { expect, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Reply, shop } from '../../tests/shop.ts'
import { DAY, fromNow } from '../core/clock.ts'

const told = ({ status, body }: Reply) => `${status} ${body?.code ?? ''}`.trim()

test('the secret of a key that has been given more since is not shown to its maker, who has less', async () => {
  const { api, keys, owner, store, member } = await shop()
  const manager = await member('STAFF')
  const right = { permissions: ['READ', 'MANAGE_KEYS'] }
  await api.patch(`/v1/user/store/${store.id}/members/${manager.id}`, right, { as: owner.token })
  const headers = { 'idempotency-key': 'created-once' }
  const again = () => api.post(keys, { ...NEW_KEY, permissions: ['READ'] }, { as: manager.token, headers })
  const made = await again()
  expect([made.status, (await again()).text]).toEqual([201, made.text])
  const change = (permissions: string[]) =>
    api.patch(`${keys}/${made.body.id}`, { permissions }, { as: owner.token }).then(told)
  expect(await change(['READ', 'WRITE'])).toBe('200')
  const refused = await again()
  expect([told(refused), refused.body.permissions, refused.text.includes(made.body.key)]).toEqual([
    '403 cannot_grant',
    ['WRITE'],
    false,
  ])
  expect(await change(['READ'])).toBe('200')
  expect((await again()).text).toBe(made.text)
})

test('the secret of a rotation is not shown to a key that has been bound since, more tightly than the rotated one', async () => {
  const { api, keys, owner } = await shop()
  const create = async (more: object) => (await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })).body
  const rotator = await create({ permissions: ['READ', 'MANAGE_KEYS'] })
  const target = await create({ permissions: ['READ'] })
  const again = () =>
    api.post(`${keys}/${target.id}/rotate`, {}, { as: rotator.key, headers: { 'idempotency-key': 'rotated-once' } })
  const rotated = await again()
  expect([rotated.status, (await again()).text]).toEqual([200, rotated.text])
  const bind = (rateLimit: object | null) =>
    api.patch(`${keys}/${rotator.id}`, { rateLimit }, { as: owner.token }).then(told)
  expect(await bind({ limit: 1_000, windowSeconds: 60 })).toBe('200')
  const refused = await again()
  expect([told(refused), refused.text.includes(rotated.body.key)]).toEqual(['403 cannot_grant', false])
  expect(await bind(null)).toBe('200')
  expect((await again()).text).toBe(rotated.text)
})

test('the token of an invitation is not shown to a maker who may no longer give what it brings', async () => {
  const { api, owner, store, member, person } = await shop()
  const manager = await member('MANAGER')
  const body = { email: (await person()).email, role: 'STAFF', permissions: ['READ'] }
  const headers = { 'idempotency-key': 'invited-once' }
  const again = () => api.post(`/v1/user/store/${store.id}/invitations`, body, { as: manager.token, headers })
  const made = await again()
  expect([made.status, (await again()).text]).toEqual([201, made.text])
  const change = (permissions: string[]) =>
    api.patch(`/v1/user/store/${store.id}/members/${manager.id}`, { permissions }, { as: owner.token }).then(told)
  expect(await change(['MANAGE_MEMBERS'])).toBe('200')
  const refused = await again()
  expect([told(refused), refused.text.includes(made.body.token)]).toEqual(['403 cannot_grant', false])
  expect(await change(['MANAGE_MEMBERS', 'READ'])).toBe('200')
  expect((await again()).text).toBe(made.text)
})

test('a held version is shown as far as the caller may read it by now', async () => {
  const { api, store, keys, owner, billing, member } = await shop()
  const { body: address } = await api.post(billing, NEW_ADDRESS, { as: (await member('CUSTOMER')).token })
  const permissions = ['READ', 'MANAGE_ORDERS']
  const { body: key } = await api.post(keys, { ...NEW_KEY, permissions }, { as: owner.token })
  const path = `/v1/user/store/${store.id}/billing/${address.id}/versions/1/hold`
  const spec = { reason: 'Invoice 42', until: fromNow(DAY).toISOString() }
  const again = () => api.post(path, spec, { as: key.key, headers: { 'idempotency-key': 'held-once' } })
  const held = await again()
  expect([held.status, held.body.address.city, (await again()).text]).toEqual([200, 'Cupertino', held.text])
  expect(told(await api.patch(`${keys}/${key.id}`, { permissions: ['MANAGE_ORDERS'] }, { as: owner.token }))).toBe(
    '200',
  )
  const { version, hold } = held.body
  const withheld = await again()
  expect([withheld.status, withheld.body]).toEqual([200, { version, hold }])
})

test('409: whoever has come to a store, and is there no more, is not told of it again', async () => {
  const { api, store, owner, person } = await shop()
  const ada = await person()
  const as = { as: owner.token }
  const { body: invitation } = await api.post(
    `/v1/user/store/${store.id}/invitations`,
    { email: ada.email, role: 'STAFF' },
    as,
  )
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, as)
  const ways = [
    { path: '/v1/user/invitations/accept', body: { token: invitation.token } },
    { path: `/v1/store/${store.id}/join`, body: undefined },
  ]
  for (const { path, body } of ways) {
    const again = () =>
      api.post(path, body, { as: ada.token, headers: { 'idempotency-key': `came by ${path}`.replaceAll(' ', '-') } })
    const come = await again()
    expect([come.body.userId, (await again()).text], come.text).toEqual([ada.id, come.text])
    expect(told(await api.delete(`/v1/user/store/${store.id}/members/${ada.id}`, as))).toBe('200')
    const refused = await again()
    expect([told(refused), refused.text.includes(store.name)]).toEqual(['409 response_no_longer_available', false])
  }
})

test('409: whoever has made a store, and is there no more or has deleted it, is not told of it again', async () => {
  const { api, person } = await shop()
  const [ada, bob] = [await person(), await person()]
  const again = (as: string, key: string) =>
    api.post('/v1/user/store', { name: 'Engines' }, { as, headers: { 'idempotency-key': key } })
  const [left, deleted] = [await again(ada.token, 'left'), await again(ada.token, 'deleted')]
  expect((await again(ada.token, 'left')).text).toBe(left.text)
  const at = `/v1/user/store/${left.body.id}`
  const invited = await api.post(`${at}/invitations`, { email: bob.email, role: 'OWNER' }, { as: ada.token })
  await api.post('/v1/user/invitations/accept', { token: invited.body.token }, { as: bob.token })
  expect(told(await api.delete(`${at}/members/${ada.id}`, { as: bob.token }))).toBe('200')
  expect(told(await api.delete(`/v1/user/store/${deleted.body.id}`, { as: ada.token }))).toBe('204')
  for (const key of ['left', 'deleted'])
    expect(told(await again(ada.token, key)), key).toBe('409 response_no_longer_available')
})
