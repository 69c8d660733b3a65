import { describe, expect, test } from 'vitest'
import { accept, ada, cupertino, faultsOf, warningsOf } from '../../../tests/addresses.ts'
import { normalizeAddress } from './normalize.ts'

describe('a postal code', () => {
  test.each([
    ['GB', 'ｓｗ１ａ１ａａ', 'SW1A 1AA'],
    ['NL', '1234 ab', '1234 AB'],
    ['SE', 'SE-11455', '114 55'],
    ['PL', '00950', '00-950'],
    ['PT', '2725 079', '2725-079'],
    ['CZ', '11000', '110 00'],
    ['LV', '1073', 'LV-1073'],
    ['IE', 'a65f4e2', 'A65 F4E2'],
    ['EG', '11599', '11599'],
    ['IL', '96143-03', '9614303'],
    ['MT', 'vlt1117', 'VLT 1117'],
    ['AI', '2640', 'AI-2640'],
    ['DE', '０１０６７', '01067'],
    ['FI', 'FIN-00100', '00100'],
    ['HU', 'H-1055', '1055'],
    ['SG', 'S408600', '408600'],
    ['SI', 'SLO-1000', '1000'],
  ])('of %s given as %s is spelt %s', (country, postalCode, spelt) => {
    expect(accept({ ...ada, addressLine1: 'x', city: 'x', country, postalCode }).postalCode).toBe(spelt)
  })

  test.each([
    ['DE', '00123'],
    ['AT', '0101'],
    ['BE', '300'],
    ['CZ', '814 99'],
    ['SK', '116 36'],
    ['ES', '53040'],
    ['TR', '82100'],
    ['SG', '999077'],
    ['IN', '010016'],
    ['AU', '0300'],
    ['US', '00000'],
  ])('of %s that nobody has: %s', (country, postalCode) => {
    const faults = faultsOf({ ...ada, addressLine1: 'x', city: 'x', country, postalCode })
    expect(faults).toContain('#/postalCode invalid_postal_code')
  })

  test('is kept where the country has none', () => {
    const doha = { ...ada, addressLine1: 'Al Corniche Street', city: 'Doha', country: 'QA', postalCode: '12345' }
    expect(accept(doha).postalCode).toBe('12345')
    expect(warningsOf(doha)).toEqual(['#/postalCode postal_code_not_used'])
  })

  test.each(['00000', '000', '000-000', 'n/a', 'N.A.', 'NA', 'none', 'xxx', '-', '—', 'qat'])(
    'is none when it says %s, and refused where one is needed',
    (postalCode) => {
      const doha = { ...ada, addressLine1: 'Al Corniche Street', city: 'Doha', country: 'QA', postalCode }
      expect(accept(doha).postalCode).toBeNull()
      expect(warningsOf(doha)).toEqual([])
      expect(faultsOf({ ...doha, city: 'Berlin', country: 'DE' })).toEqual(['#/postalCode invalid_postal_code'])
    },
  )

  test('of a state across the country is a fault, of the state next door a warning', () => {
    expect(faultsOf({ ...cupertino, postalCode: '10001' })).toEqual(['#/postalCode postal_code_state_mismatch'])
    expect(warningsOf({ ...cupertino, postalCode: '89101' })).toEqual(['#/postalCode postal_code_state_mismatch'])
    expect(
      warningsOf({ ...ada, addressLine1: 'x', city: 'Madrid', state: 'M', country: 'ES', postalCode: '08001' }),
    ).toEqual(['#/postalCode postal_code_state_mismatch'])
  })

  test.each([
    ['GB', 'JE2 3AB', 'Jersey'],
    ['GB', 'GY1 1AA', 'Guernsey'],
    ['GB', 'IM1 1AA', 'the Isle of Man'],
    ['FR', '98000', 'Monaco'],
    ['FR', '97400', 'Réunion'],
    ['CH', '9490', 'Liechtenstein'],
    ['FI', '22100', 'the Åland Islands'],
    ['DK', '3900', 'Greenland'],
    ['NO', '9171', 'Svalbard and Jan Mayen'],
  ])('of %s that is %s looks like %s', (country, postalCode, name) => {
    const { warnings } = normalizeAddress({ ...ada, addressLine1: 'x', city: 'x', country, postalCode })
    expect(warnings).toEqual([
      {
        pointer: '#/postalCode',
        code: 'postal_code_of_neighbour',
        detail: `This postal code looks like ${name}. Please check the country.`,
      },
    ])
  })

  test('of Puerto Rico in the United States is nothing odd where the state says so too', () => {
    const sanJuan = { ...ada, addressLine1: 'Calle 1', city: 'San Juan', postalCode: '00901', country: 'US' }
    expect(warningsOf({ ...sanJuan, state: 'PR' })).toEqual([])
    expect(faultsOf({ ...sanJuan, state: 'NY' })).toEqual(['#/postalCode postal_code_state_mismatch'])
    expect(warningsOf({ ...sanJuan, city: 'Melekeok', postalCode: '96940', state: 'PW' })).toEqual([])
  })

  test('may be left out in Ireland, with a warning', () => {
    expect(warningsOf({ ...ada, addressLine1: 'Main St', city: 'Dingle', country: 'IE' })).toEqual([
      '#/postalCode postal_code_missing',
    ])
  })
})
