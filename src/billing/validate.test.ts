import { expect, test } from 'vitest'
import { NEW_ADDRESS, shop } from '../../tests/shop.ts'

const NORMAL = { ...NEW_ADDRESS, company: null, taxId: null, addressLine2: null }

test('an address can be tried: it is answered as it would be stored, and is not', async () => {
  const { api, owner, store, billing, sql } = await shop()
  const wanted = { ...NEW_ADDRESS, state: 'California', country: 'United States', isDefault: true }
  const { status, headers, body } = await api.post(`${billing}/validate`, wanted, { as: owner.token })
  expect([status, headers.get('cache-control'), headers.get('location')]).toEqual([200, 'no-store', null])
  expect(body).toEqual({
    valid: true,
    normalized: NORMAL,
    formatted: ['Ada Lovelace', '1 Infinite Loop', 'Cupertino, CA 95014', 'UNITED STATES'],
    preview: { address: NORMAL, formatted: body.formatted },
    errors: [],
    warnings: [],
  })
  expect((await api.get(billing, { as: owner.token })).body.data).toEqual([])
  const [{ count }] = await sql(`select count(*)::int from events where type like 'address.%' and store_id = $1`, [
    store.id,
  ])
  expect(count).toBe(0)
  const made = await api.post(billing, wanted, { as: owner.token })
  expect(made.body).toMatchObject({ ...body.normalized, formatted: body.formatted, warnings: body.warnings })
})

test('what is odd about it comes as warnings, beside the normal form', async () => {
  const { api, owner, billing } = await shop()
  const odd = {
    firstName: 'Seán',
    addressLine1: 'Bosca Poist 12',
    city: 'An Daingean',
    country: 'Éire',
    phone: '+44 20 7946 0958',
  }
  const { body } = await api.post(`${billing}/validate`, odd, { as: owner.token })
  expect(body).toMatchObject({ valid: true, errors: [] })
  expect(body.warnings).toEqual([
    {
      pointer: '#/postalCode',
      code: 'postal_code_missing',
      detail: 'An Eircode finds the address faster; you may leave it out.',
    },
    {
      pointer: '#/phone',
      code: 'phone_of_another_country',
      detail: 'This phone number is from the United Kingdom, but the address is not.',
    },
    {
      pointer: '#/addressLine1',
      code: 'po_box',
      detail: 'This looks like a PO box. Parcel services cannot deliver there.',
    },
  ])
  const made = await api.post(billing, odd, { as: owner.token })
  const read = await api.get(`${billing}/${made.body.id}`, { as: owner.token })
  expect([made.body.warnings, read.body.warnings]).toEqual([body.warnings, body.warnings])
})

test('what is not complete yet has a preview: normal form where it is right, as typed where not, and the label', async () => {
  const { api, owner, billing } = await shop()
  const preview = async (body: object) =>
    (await api.post(`${billing}/validate`, body, { as: owner.token })).body.preview
  const begun = { country: 'Brasil', state: 'são paulo', postalCode: '01310200', phone: '12', city: ' São Paulo ' }
  expect(await preview(begun)).toEqual({
    address: {
      ...Object.fromEntries(Object.keys(NORMAL).map((name) => [name, null])),
      country: 'BR',
      state: 'SP',
      postalCode: '01310-200',
      city: 'São Paulo',
      phone: '12',
    },
    formatted: ['São Paulo-SP', '01310-200', 'BRAZIL'],
  })
  expect(await preview({ country: 'JP', lastName: '山田', postalCode: '1' })).toMatchObject({
    address: { postalCode: '1' },
    formatted: ['〒1', '山田', 'JAPAN'],
  })
  expect([await preview({}), await preview({ country: 'Atlantis' })]).toEqual([null, null])
})

test('whatever creation answers with 422 is told as errors, word for word', async () => {
  const { api, owner, billing } = await shop()
  const bodies = [
    {},
    { ...NEW_ADDRESS, postalCode: '1', state: 'ZZ', phone: '12' },
    { ...NEW_ADDRESS, country: 'Atlantis' },
    { ...NEW_ADDRESS, postalCode: 95014 },
    { ...NEW_ADDRESS, isDefault: 'yes', nickname: 'home' },
    { ...NEW_ADDRESS, city: 'a\u202eb', firstName: 'x'.repeat(101) },
    [],
    'Cupertino',
    null,
    Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`member${n}`, n])),
  ]
  for (const body of bodies) {
    const refused = await api.post(billing, body, { as: owner.token })
    const tried = await api.post(`${billing}/validate`, body, { as: owner.token })
    expect([refused.status, tried.status]).toEqual([422, 200])
    expect(tried.body).toEqual({
      valid: false,
      normalized: null,
      formatted: null,
      preview: tried.body.preview,
      errors: refused.body.errors,
      warnings: expect.any(Array),
    })
    expect(tried.body.errors.length).toBeGreaterThan(0)
  }
})

test('400: what is not JSON; 415: what does not say it is; 422: a parameter', async () => {
  const { api, owner, billing } = await shop()
  const ask = (path: string, raw: string, type = 'application/json') =>
    api.ask('POST', path, undefined, { as: owner.token, raw, headers: { 'content-type': type } })
  const codes = [
    await ask(`${billing}/validate`, '{'),
    await ask(`${billing}/validate`, '{"city":"a","city":"b"}'),
    await ask(`${billing}/validate`, ''),
    await ask(`${billing}/validate`, '{}', 'text/plain'),
    await ask(`${billing}/validate?dry=1`, '{}'),
  ].map(({ status, body }) => `${status} ${body.code}`)
  expect(codes).toEqual([
    '400 invalid_json',
    '400 invalid_json',
    '400 invalid_json',
    '415 unsupported_media_type',
    '422 invalid_input',
  ])
})

test('a customer may try one, a key may not, and an Idempotency-Key is as good as none', async () => {
  const { api, owner, member, keys, billing } = await shop()
  const customer = await member('CUSTOMER')
  const headers = { 'idempotency-key': 'again-and-again' }
  const answers = []
  for (const city of ['Cupertino', ''])
    answers.push(await api.post(`${billing}/validate`, { ...NEW_ADDRESS, city }, { as: customer.token, headers }))
  expect(answers.map(({ status, body }) => [status, body.valid])).toEqual([
    [200, true],
    [200, false],
  ])
  const key = { name: 'All', type: 'TEST', permissions: ['READ', 'WRITE'] }
  const { body } = await api.post(keys, key, { as: owner.token })
  const refused = await api.post(`${billing}/validate`, NEW_ADDRESS, { as: body.key })
  expect([refused.status, refused.body.code]).toEqual([403, 'user_required'])
})
