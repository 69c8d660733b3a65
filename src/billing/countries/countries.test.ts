import { expect, test } from 'vitest'
import { NEW_ADDRESS, shop } from '../../../tests/shop.ts'
import { normalizeAddress } from '../address/normalize.ts'
import { countrySummaries, showCountry } from './routes.ts'

test('anyone may list the countries: all of them, in the order of their names', async () => {
  const { api } = await shop()
  const { status, headers, body } = await api.get('/v1/countries')
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(body).toEqual({ data: countrySummaries(), nextCursor: null })
  expect(body.data).toHaveLength(250)
  expect(body.data.slice(0, 3).map(({ name }: { name: string }) => name)).toEqual([
    'Afghanistan',
    'Åland Islands',
    'Albania',
  ])
  expect(body.data).toContainEqual({
    code: 'JP',
    alpha3: 'JPN',
    name: 'Japan',
    localNames: ['日本'],
    hasStates: true,
    hasPostalCode: true,
  })
  expect(body.data).toContainEqual({
    code: 'MO',
    alpha3: 'MAC',
    name: 'Macao',
    localNames: ['澳門', '澳门', 'Macau'],
    hasStates: false,
    hasPostalCode: false,
  })
})

test('the rules of a country are found by its code of two or three letters, in any case', async () => {
  const { api } = await shop()
  const { status, body } = await api.get('/v1/countries/IE')
  expect([status, body]).toEqual([200, JSON.parse(JSON.stringify(showCountry('IE')))])
  for (const code of ['ie', 'IRL', 'irl', 'Irl'])
    expect((await api.get(`/v1/countries/${code}`)).text).toBe(JSON.stringify(body))
  expect({ ...body, subdivisions: body.subdivisions.slice(0, 1) }).toEqual({
    code: 'IE',
    alpha3: 'IRL',
    name: 'Ireland',
    localNames: ['Éire'],
    hasStates: true,
    hasPostalCode: true,
    fields: [
      { name: 'firstName', label: 'First name', required: false },
      { name: 'lastName', label: 'Last name', required: false },
      { name: 'company', label: 'Company', required: false },
      { name: 'addressLine1', label: 'Address', required: true },
      { name: 'addressLine2', label: 'Address, second line', required: false },
      { name: 'city', label: 'City', required: true },
      { name: 'state', label: 'County', required: false, example: expect.any(String) },
      {
        name: 'postalCode',
        label: 'Eircode',
        required: false,
        pattern: '^(?:(?:D6W|[AC-FHKNPRTV-Y]\\d{2}) [0-9AC-FHKNPRTV-Y]{4})$',
        example: 'A65 F4E2',
      },
      { name: 'country', label: 'Country', required: true, example: 'IE' },
      { name: 'taxId', label: 'Tax number', required: false },
      { name: 'phone', label: 'Phone', required: false, example: '+353850123456' },
    ],
    requireOneOf: [['firstName', 'lastName', 'company']],
    familyNameFirst: false,
    mononyms: false,
    onlyListedStates: true,
    subdivisions: [{ code: expect.any(String), name: expect.any(String), aliases: expect.any(Array) }],
  })
})

test('404: a country nobody knows, with the way to those that are known', async () => {
  const { api } = await shop()
  for (const code of ['ZZ', 'Ireland', 'I', 'IRLX', '%20IE', 'constructor', '__proto__', '372'])
    expect((await api.get(`/v1/countries/${code}`)).body, code).toMatchObject({
      status: 404,
      code: 'country_not_found',
      title: 'Country not found',
      detail: expect.stringContaining('GET /v1/countries'),
    })
})

test('the rules may be kept by anyone for an hour, and whoever has them is told so in a few bytes', async () => {
  const { api, node } = await shop({ alone: true })
  const other = await node()
  for (const path of ['/v1/countries', '/v1/countries/US']) {
    const first = await api.get(path)
    const etag = first.headers.get('etag') as string
    expect(etag).toMatch(/^"[\w-]{22}"$/)
    expect(first.headers.get('cache-control')).toBe('public, max-age=3600')
    expect((await other.get(path)).headers.get('etag')).toBe(etag)
    for (const kept of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await api.get(path, { headers: { 'if-none-match': kept } })
      expect([again.status, again.text, again.headers.get('etag'), again.headers.get('cache-control')]).toEqual([
        304,
        '',
        etag,
        'public, max-age=3600',
      ])
      expect(again.headers.get('content-type')).toBeNull()
      expect((await api.ask('HEAD', path, undefined, { headers: { 'if-none-match': kept } })).status).toBe(304)
    }
    for (const kept of ['"other"', etag.slice(1, -1), ''])
      expect((await api.get(path, { headers: { 'if-none-match': kept } })).text).toBe(first.text)
  }
  expect((await api.get('/v1/countries/US')).headers.get('etag')).not.toBe(
    (await api.get('/v1/countries/CA')).headers.get('etag'),
  )
})

test('what is not for everyone is never kept: an ETag alone makes no 304', async () => {
  const { api, owner, billing } = await shop()
  const made = await api.post(billing, NEW_ADDRESS, { as: owner.token })
  const headers = { 'if-none-match': made.headers.get('etag') as string }
  const read = await api.get(`${billing}/${made.body.id}`, { as: owner.token, headers })
  expect([read.status, read.headers.get('cache-control'), read.body]).toEqual([200, 'no-store', made.body])
  const missing = await api.get('/v1/countries/ZZ', { headers: { 'if-none-match': '*' } })
  expect([missing.status, missing.headers.get('cache-control')]).toEqual([404, 'no-store'])
})

test('what the rules say is what the check does, in every country and for every field', () => {
  for (const { code } of countrySummaries()) {
    const { fields, subdivisions, onlyListedStates } = showCountry(code) ?? { fields: [], subdivisions: [] }
    const bare = normalizeAddress({ firstName: 'Ada', addressLine1: 'x', country: code })
    const missing = bare.faults.map(({ pointer, code }) => `${pointer} ${code}`)
    const required = fields
      .filter(({ name, required }) => required && !['country', 'addressLine1'].includes(name))
      .map(({ name }) => `#/${name} required`)
    expect([code, missing.sort()]).toEqual([code, required.sort()])
    const unknown = normalizeAddress({ firstName: 'Ada', addressLine1: 'x', country: code, state: 'Nowhereshire' })
    const refused = unknown.faults.some(({ code }) => code === 'unknown_state')
    expect([code, refused]).toEqual([code, onlyListedStates === true && subdivisions.length > 0])
    const { example } = fields.find(({ name }) => name === 'phone') ?? {}
    const called = normalizeAddress({ firstName: 'Ada', addressLine1: 'x', country: code, phone: example })
    expect([code, called.faults.filter(({ pointer }) => pointer === '#/phone')]).toEqual([code, []])
  }
})
