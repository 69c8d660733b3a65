import { expect, test } from 'vitest'
import { NEW_KEY, shop } from '../../tests/shop.ts'

test('201: a manager creates a key and sees its full value once', async () => {
  const { api, owner, keys, store } = await shop()
  const made = await api.post(
    keys,
    { ...NEW_KEY, metadata: { description: 'Used by the checkout page' } },
    { as: owner.token },
  )
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.stringMatching(/^key_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    storeId: store.id,
    name: 'Checkout',
    type: 'PROD',
    permissions: ['READ', 'WRITE'],
    metadata: { description: 'Used by the checkout page' },
    key: expect.stringMatching(/^skp_prod_[0-9A-Za-z]{38}$/),
    start: made.body.key.slice(0, 13),
    status: 'ACTIVE',
    enabled: true,
    expiresAt: null,
    ipAllowlist: null,
    rateLimit: null,
    rateLimits: [],
    owner: null,
    credits: null,
    imported: false,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    createdBy: { kind: 'user', id: owner.id },
    updatedAt: made.body.createdAt,
    lastUsedAt: null,
    revokedAt: null,
    revocationReason: null,
    rotation: null,
  })
  expect(made.headers.get('location')).toBe(`${keys}/${made.body.id}`)
  expect(made.headers.get('cache-control')).toBe('no-store')

  const { key: _, ...record } = made.body
  const read = await api.get(`${keys}/${made.body.id}`, { as: owner.token })
  expect(read.status).toBe(200)
  expect(read.body).toEqual(record)
  expect(read.headers.get('etag')).toBe(made.headers.get('etag'))
  expect((await api.get(keys, { as: owner.token })).body).toEqual({ data: [record], nextCursor: null })
})
