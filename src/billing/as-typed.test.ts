// Addresses as shoppers type them, each through the check that needs no customer.

import { expect, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, shop } from '../../tests/shop.ts'

type Report = {
  valid: boolean
  normalized: Record<string, string | null>
  formatted: string[]
  errors: { pointer: string; code: string; detail: string; example?: string; suggestion?: string }[]
  warnings: { pointer: string; code: string; detail: string; suggestion?: string }[]
}

const PLACES = {
  US: { country: 'US', state: 'TX', postalCode: '78701', city: 'Austin', addressLine1: '1 Congress Ave' },
  JP: { country: 'JP', state: 'Tokyo', postalCode: '100-0001', city: 'Chiyoda-ku', addressLine1: '1-1 Chiyoda' },
  GB: { country: 'GB', postalCode: 'SW1A 2AA', city: 'London', addressLine1: '10 Downing Street' },
  NG: { country: 'NG', state: 'Lagos', city: 'Ikeja', addressLine1: '1 Allen Avenue' },
  DE: { country: 'DE', postalCode: '80331', city: 'München', addressLine1: 'Marienplatz 1' },
  CH: { country: 'CH', postalCode: '8001', city: 'Zürich', addressLine1: 'Bahnhofstrasse 1' },
  IN: { country: 'IN', state: 'Karnataka', postalCode: '560001', city: 'Bengaluru', addressLine1: '1 MG Road' },
  BR: { country: 'BR', state: 'MG', postalCode: '30110-000', city: 'Belo Horizonte', addressLine1: 'Rua A 1' },
  HK: { country: 'HK', state: 'Kowloon', city: 'Mong Kok', addressLine1: '1 Nathan Road' },
} as const
type Place = keyof typeof PLACES

async function openForm() {
  const { api, owner, ...world } = await shop()
  const check = async (place: Place, changes: Record<string, string | null> = {}): Promise<Report> => {
    const body = { firstName: 'Ada', lastName: 'Lovelace', ...PLACES[place], ...changes }
    const reply = await api.post('/v1/addresses/validate', body, { as: owner.token })
    expect(reply.status).toBe(200)
    return reply.body
  }
  const codes = async (place: Place, changes: Record<string, string | null> = {}) => {
    const { errors, warnings } = await check(place, changes)
    return [...errors.map(({ code }) => `error ${code}`), ...warnings.map(({ pointer, code }) => `${pointer} ${code}`)]
  }
  return { ...world, api, owner, check, codes }
}

test('phone numbers are taken as they are dialled at home, and answered in E.164', async () => {
  const { check } = await openForm()
  const phones: [Place, string, string][] = [
    ['US', '212-555-0100', '+12125550100'],
    ['US', '5125550100', '+15125550100'],
    ['JP', '03-1234-5678', '+81312345678'],
    ['GB', '07700 900123', '+447700900123'],
    ['NG', '08031234567', '+2348031234567'],
    ['DE', '0049 89 123456', '+4989123456'],
  ]
  for (const [place, phone, e164] of phones) {
    const { normalized, errors, warnings } = await check(place, { phone })
    expect([phone, normalized?.phone, errors, warnings]).toEqual([phone, e164, [], []])
  }
  const abroad = await check('DE', { phone: '+44 20 7946 0958' })
  expect([abroad.normalized.phone, abroad.warnings[0]?.code]).toEqual(['+442079460958', 'phone_of_another_country'])
  for (const phone of ['555 0100', '1-800-FLOWERS', '512 555 0100 ext. 5', '++15125550100']) {
    const { errors } = await check('US', { phone })
    expect(errors).toEqual([
      {
        pointer: '#/phone',
        code: 'invalid_phone',
        detail: expect.stringContaining('as it is dialled in the United States'),
        example: '+12015550123',
      },
    ])
  }
})

test('a company without a person is an address, and stays one when the person is cleared', async () => {
  const { api, owner, billing, check } = await openForm()
  const { valid, normalized, formatted } = await check('DE', {
    firstName: null,
    lastName: null,
    company: 'Engines GmbH',
  })
  expect([valid, normalized.firstName, normalized.company]).toEqual([true, null, 'Engines GmbH'])
  expect(formatted).toEqual(['Engines GmbH', 'Marienplatz 1', '80331 München', 'GERMANY'])
  const made = await api.post(billing, { ...NEW_ADDRESS, company: 'Engines' }, { as: owner.token })
  const path = `${billing}/${made.body.id}`
  const cleared = await api.patch(path, { firstName: null, lastName: null }, { as: owner.token })
  expect([cleared.status, cleared.body.lastName, cleared.body.formatted[0]]).toEqual([200, null, 'Engines'])
  const nobody = await api.patch(path, { company: null }, { as: owner.token })
  expect([nobody.status, nobody.body.errors]).toEqual([
    422,
    [{ pointer: '#/firstName', code: 'name_required', detail: 'Enter a first name, a last name, or a company.' }],
  ])
})

test('what a paste brings along is removed, but for names of keys, where it is refused', async () => {
  const { api, owner, keys, check } = await openForm()
  const pasted = { firstName: 'A\u200bda\ufeff', city: 'Aus\u00adtin\u2060', addressLine1: '1 Congress\r\nAve\n' }
  const { valid, normalized } = await check('US', pasted)
  expect([valid, normalized.firstName, normalized.city, normalized.addressLine1]).toEqual([
    true,
    'Ada',
    'Austin',
    '1 Congress Ave',
  ])
  expect((await check('US', { firstName: 'علی\u200cرضا' })).normalized.firstName).toBe('علی\u200cرضا')
  const store = await api.post('/v1/user/store', { name: 'Eng\u200bines\nand more' }, { as: owner.token })
  expect([store.status, store.body.name]).toEqual([201, 'Engines and more'])
  for (const name of ['Check\u200bout', 'Check\nout', 'Check\u200dout']) {
    const refused = await api.post(keys, { ...NEW_KEY, name }, { as: owner.token })
    expect([refused.status, refused.body.errors[0].code]).toEqual([422, 'invalid_characters'])
  }
})

test('postal codes may be written with every dash and the postal mark', async () => {
  const { check } = await openForm()
  for (const postalCode of ['〒100-0001', '〒100\u20130001', '１００ー０００１', '100\u22120001', '100\u2015 0001'])
    expect((await check('JP', { postalCode })).normalized?.postalCode, postalCode).toBe('100-0001')
  expect((await check('US', { postalCode: '78701\u20141234' })).normalized.postalCode).toBe('78701-1234')
})

test('states: what people call them, and "did you mean" for what they mistype', async () => {
  const { check, codes } = await openForm()
  expect((await check('NG', { state: 'FCT Abuja', city: 'Abuja' })).normalized.state).toBe('FC')
  expect((await check('BR', { state: 'Minas' })).normalized.state).toBe('MG')
  for (const [place, state, suggestion, name] of [
    ['IN', 'Karnatka', 'KA', 'Karnataka'],
    ['IN', 'Kranataka', 'KA', 'Karnataka'],
    ['US', 'Txeas', 'TX', 'Texas'],
    ['US', 'XT', 'TX', 'Texas'],
  ] as const) {
    const { errors } = await check(place, { state })
    expect(errors).toEqual([
      {
        pointer: '#/state',
        code: 'unknown_state',
        detail: expect.stringContaining(`Did you mean ${name}?`),
        example: suggestion,
        suggestion,
      },
    ])
  }
  expect((await check('US', { state: 'XX' })).errors[0]).not.toHaveProperty('suggestion')
  for (const state of [
    'West Yorkshire',
    'Greater Manchester',
    'Merseyside',
    'West Midlands',
    'Tyne and Wear',
    'Tyne & Wear',
    'Berkshire',
    'Berks',
    'Middlesex',
    'Co. Antrim',
    'Perthshire',
  ])
    expect([state, await codes('GB', { state })]).toEqual([state, []])
  expect((await check('GB', { state: 'Merseyide' })).warnings).toMatchObject([
    { code: 'unrecognized_state', suggestion: 'Merseyside' },
  ])
  expect((await check('GB', { state: 'Co. Durham', city: 'Durham', postalCode: 'DH1 3EH' })).formatted).toContain(
    'County Durham',
  )
})

test('a postal code of another state is a warning in Germany and Switzerland too; Puerto Rico may be a state', async () => {
  const { check, codes } = await openForm()
  const mismatch = ['#/postalCode postal_code_state_mismatch']
  expect(await codes('DE', { city: 'Hamburg', postalCode: '20095', state: 'Bayern' })).toEqual(mismatch)
  expect(await codes('DE', { city: 'Berlin', postalCode: '80331', state: 'Berlin' })).toEqual(mismatch)
  expect(await codes('CH', { state: 'Genf' })).toEqual(mismatch)
  const { warnings } = await check('CH', { state: 'Genf' })
  expect(warnings[0]?.detail).toBe('8001 is in Zürich, not in Genève. Please check both.')
  for (const state of ['Bayern', 'BY', null]) expect(await codes('DE', { state })).toEqual([])
  expect(await codes('CH', { state: 'ZH' })).toEqual([])
  expect(await codes('US', { city: 'San Juan', state: 'PR', postalCode: '00901' })).toEqual([])
  expect(await codes('US', { city: 'Charlotte Amalie', state: 'VI', postalCode: '00802' })).toEqual([])
})

test('labels: no state in Germany and Switzerland, no postal code in Hong Kong', async () => {
  const { check } = await openForm()
  expect((await check('DE', { state: 'Bayern' })).formatted.slice(1)).toEqual([
    'Marienplatz 1',
    '80331 München',
    'GERMANY',
  ])
  const geneva = { postalCode: '1201', city: 'Genève', state: 'GE' }
  expect((await check('CH', geneva)).formatted.slice(-2)).toEqual(['CH-1201 Genève', 'SWITZERLAND'])
  const hongKong = await check('HK', { postalCode: '999077' })
  expect(hongKong.warnings.map(({ code }) => code)).toEqual(['postal_code_not_used'])
  expect(hongKong.formatted.slice(-3)).toEqual(['Mong Kok', 'Kowloon', 'HONG KONG'])
})

test('text that no name, city or tax number has is a warning, never an error', async () => {
  const { check, codes } = await openForm()
  expect(await codes('US', { taxId: 'hello' })).toEqual(['#/taxId invalid_tax_id'])
  expect(await codes('BR', { taxId: '111.111.111-11' })).toEqual(['#/taxId invalid_tax_id'])
  expect(await codes('US', { firstName: '1234', lastName: '5678' })).toEqual([
    '#/firstName no_letters',
    '#/lastName no_letters',
  ])
  expect(await codes('US', { lastName: '<script>alert(1)</script>' })).toEqual(['#/lastName markup'])
  expect(await codes('US', { company: 'Smith &amp; Sons' })).toEqual(['#/company markup'])
  expect(await codes('US', { company: 'AT&T', lastName: 'a<3', city: '12345' })).toEqual(['#/city no_letters'])
  expect(await codes('US', { addressLine1: '12' })).toEqual(['#/addressLine1 no_letters'])
  const { normalized, warnings } = await check('DE', { company: 'BMW', taxId: 'de 129 273 398' })
  expect([normalized.taxId, warnings]).toEqual(['DE129273398', []])
  expect(await codes('DE', { taxId: 'DE129273397' })).toEqual(['#/taxId invalid_tax_id'])
})

test('the check without a customer takes users, keys without a permission for it, and services', async () => {
  const { api, owner, keys, serviceToken, person } = await openForm()
  const key = await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_WEBHOOKS'] }, { as: owner.token })
  const stranger = await person()
  for (const as of [owner.token, stranger.token, key.body.key, await serviceToken()]) {
    const { status, body } = await api.post('/v1/addresses/validate', NEW_ADDRESS, { as })
    expect([status, body.valid, body.normalized.state]).toEqual([200, true, 'CA'])
  }
  expect((await api.post('/v1/addresses/validate', NEW_ADDRESS)).status).toBe(401)
})
