// The client against the service.

import { expect, test } from 'vitest'
import { NEW_KEY, type Shop, shop } from '../../../tests/shop.ts'
import { etagOf, isStorekeeperError, type Storekeeper, storekeeper } from './index.ts'

const clientOf = ({ api, owner, store }: Shop, more: object = {}): Storekeeper =>
  storekeeper({ url: api.url, token: owner.token, storeId: store.id, ...more })

test('a key is created, found, changed, rotated, verified, revoked', async () => {
  const opened = await shop()
  const sk = clientOf(opened)
  const { keys } = sk.store()
  const made = await keys.create({
    ...NEW_KEY,
    type: 'PROD',
    owner: 'customer/42',
    expiresAt: new Date('2033-01-31T12:00:00Z'),
  })
  expect(made).toMatchObject({ key: expect.stringMatching(/^skp_prod_/), expiresAt: '2033-01-31T12:00:00.000Z' })
  const read = await keys.read(made.id)
  expect(etagOf(read)).toBe('"r1"')
  expect(await keys.list({ status: 'ACTIVE' }).page()).toEqual({ data: [read], nextCursor: null })
  await keys.update(made.id, { name: 'Till' }, { ifMatch: read })
  const stale = await keys.update(made.id, { name: 'Other' }, { ifMatch: read }).catch((error) => error)
  expect(isStorekeeperError(stale, 'precondition_failed')).toBe(true)
  await expect(keys.update(made.id, {}, { ifMatch: { ...read } })).rejects.toThrow('ifMatch')
  const rotated = await keys.rotate(made.id, { gracePeriodSeconds: 60 })
  expect((await keys.rotate(made.id)).key).not.toBe(rotated.key)

  const backEnd = clientOf(opened, { token: await opened.serviceToken(null) })
  const verdict = await backEnd.keys.verify({ key: made.key, permissions: ['READ'] })
  expect(verdict).toMatchObject({ valid: false, code: 'NOT_FOUND' })
  expect(await backEnd.keys.introspect({ token: rotated.key, store_id: opened.store.id })).toMatchObject({
    active: false,
  })
  const frozen = await keys.freeze()
  expect(frozen).toEqual({ affected: 1 })
  const revoked = await keys.revoke(made.id, { reason: 'lost', made: 'keep' })
  expect(revoked).toMatchObject({ status: 'REVOKED', revocationReason: 'lost' })
  expect((await keys.usage(made.id, { interval: 'day' })).interval).toBe('day')
  await sk.close()
  await expect(sk.store().keys.read(made.id)).rejects.toMatchObject({ code: 'closed' })
})

test('an export is read as it comes, and a refusal is an error like any other', async () => {
  const opened = await shop()
  const sk = clientOf(opened)
  const text = await new Response(await sk.user.download()).text()
  expect(JSON.parse(text)).toMatchObject({ user: { id: opened.owner.id }, memberships: [{ storeId: opened.store.id }] })
  const ending = new AbortController()
  const ended = await sk.user.download({ signal: ending.signal })
  ending.abort()
  await expect(new Response(ended).text()).rejects.toThrow()
  const nobody = clientOf(opened, { token: 'skp_sess_unknown' })
  await expect(nobody.user.download()).rejects.toMatchObject({ code: 'invalid_token', status: 401 })
})
