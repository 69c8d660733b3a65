import { describe, expect, test } from 'vitest'
import { accept, ada, faultsOf, warningsOf } from '../../../tests/addresses.ts'
import { findState } from '../countries/countries.ts'
import { countrySummaries, showCountry } from '../countries/routes.ts'
import { nameKey } from './name-key.ts'
import { suggestState } from './suggestion.ts'

describe('a state', () => {
  test.each([
    ['US', 'California', 'CA'],
    ['US', 'us-ca', 'CA'],
    ['US', 'ca', 'CA'],
    ['US', 'Calif.', 'CA'],
    ['CA', 'quebec', 'QC'],
    ['CA', 'Que\u0301bec', 'QC'],
    ['AU', 'n.s.w.', 'NSW'],
    ['MX', 'Distrito Federal', 'CMX'],
    ['BR', 'Sao Paulo', 'SP'],
    ['IN', 'TG', 'TS'],
    ['IN', 'OR', 'OD'],
    ['IN', 'Uttaranchal', 'UK'],
    ['IT', 'Provincia di Torino', 'TO'],
    ['ES', 'A Coruña', 'C'],
    ['ES', 'La Rioja', 'LO'],
    ['JP', '大阪府', '27'],
    ['JP', 'Kyoto Prefecture', '26'],
    ['CN', '广东', 'GD'],
    ['CN', 'Guangdong Province', 'GD'],
    ['TW', '臺北市', 'TPE'],
    ['KR', 'Gyeonggi', '41'],
    ['AE', 'دبي', 'DU'],
    ['EG', 'القاهرة', 'C'],
    ['RU', 'Московская область', 'MOS'],
    ['RU', 'Москва', 'MOW'],
    ['UA', 'Київська область', '32'],
    ['TR', 'IĞDIR', '76'],
    ['DE', 'Thueringen', 'TH'],
    ['NO', 'Akershus', '32'],
    ['PH', 'NCR', '00'],
    ['HK', '新界', 'New Territories'],
    ['AR', 'Buenos Aires', 'B'],
    ['IE', 'Co Galway', 'G'],
    ['PL', 'Śląskie', '24'],
    ['SE', 'Skåne', 'M'],
    ['GB', 'Kent', 'KEN'],
    ['FR', '75', '75C'],
    ['US', 'Penn.', 'PA'],
    ['MY', 'Selangor Darul Ehsan', '10'],
    ['ID', 'Prov. Jawa Barat', 'JB'],
    ['EE', 'Tartu', '79'],
    ['BD', 'Dhaka Division', 'C'],
    ['CL', 'V Región', 'VS'],
    ['TH', 'จ.ภูเก็ต', '83'],
    ['RO', 'Jud. Brașov', 'BV'],
  ])('of %s may be written %s', (country, state, code) => {
    expect(findState(country, state)?.code).toBe(code)
  })

  test.each([
    ['US', 'Ontario'],
    ['US', 'CA-ON'],
    ['CA', 'US-NY'],
    ['CA', 'CA'],
    ['DE', 'US-CA'],
    ['DE', 'XX'],
    ['DE', 'DE-XX'],
    ['GB', 'ZZZ'],
    ['JP', '48'],
    ['AU', 'Auckland'],
    ['IN', 'Punjab Pakistan'],
  ])('of %s is not %s', (country, state) => {
    expect(faultsOf({ ...ada, addressLine1: 'x', city: 'x', country, state })).toContain('#/state unknown_state')
  })

  test('is kept as it was written where the country has none, or where counties are no codes', () => {
    expect(accept({ ...ada, addressLine1: 'Main Road', city: 'Yaren', country: 'TK', state: 'Nukunonu' }).state).toBe(
      'Nukunonu',
    )
    expect(
      warningsOf({
        ...ada,
        addressLine1: '1 High St',
        city: 'Harrow',
        postalCode: 'HA1 2XX',
        country: 'GB',
        state: 'Barsetshire',
      }),
    ).toEqual(['#/state unrecognized_state'])
  })

  test.each([
    ['IN', 'Karnatka', 'KA'],
    ['IN', 'Maharastra', 'MH'],
    ['US', 'Calfornia', 'CA'],
    ['US', 'Massachussetts', 'MA'],
    ['US', 'Txeas', 'TX'],
    ['US', 'AW', 'WA'],
    ['AU', 'NSE', 'NSW'],
    ['IT', 'Provincia di Milno', 'MI'],
    ['MX', 'Jalisoc', 'JAL'],
    ['US', 'XX', undefined],
    ['US', 'CX', undefined],
    ['US', 'Carolina', undefined],
    ['US', 'Bavaria', undefined],
  ])('in %s, %s suggests %s', (country, text, code) => {
    expect(suggestState(country, text)?.code).toBe(code)
  })

  test('that repeats the country is kept where the country writes no state', () => {
    const singapore = { ...ada, addressLine1: '10 Eunos Road 8', postalCode: '408600', country: 'SG', state: 'SG' }
    expect(accept(singapore).state).toBe('SG')
    expect(warningsOf(singapore)).toEqual(['#/state unrecognized_state'])
  })

  test('has one code for each of its names, in every country; of two with one name the first is meant', () => {
    for (const { code: country } of countrySummaries()) {
      for (const { code, name, localName } of showCountry(country)?.subdivisions ?? []) {
        for (const text of [code, `${country}-${code}`, code.toLowerCase()])
          expect([country, text, findState(country, text)?.code]).toEqual([country, text, code])
        for (const text of localName ? [name, localName] : [name]) {
          expect([country, text, nameKey(findState(country, text)?.name ?? '')]).toEqual([country, text, nameKey(name)])
        }
      }
    }
  })
})
