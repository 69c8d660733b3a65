import { describe, expect, test } from 'vitest'
import { accept, ada, cupertino, faultsOf, warningsOf } from '../../../tests/addresses.ts'
import { ADDRESS_LENGTHS } from '../schema.ts'
import type { Findings, Texts } from './findings.ts'
import { normalizeAddress } from './normalize.ts'
import { checkPhone } from './phone.ts'

const NO_TEXTS = Object.fromEntries(Object.keys(ADDRESS_LENGTHS).map((field) => [field, null])) as Texts

describe('a phone number', () => {
  test.each([
    ['+14085550123', '+14085550123'],
    ['+1 (408) 555-0123', '+14085550123'],
    ['+1.408.555.0123', '+14085550123'],
    ['＋１４０８５５５０１２３', '+14085550123'],
    ['+1\u2011408\u2011555\u20110123', '+14085550123'],
    ['+44 (0)20 7946 0958', '+442079460958'],
    ['+49 30/901820', '+4930901820'],
    ['+39 06 6982', '+39066982'],
    ['+٤٤٢٠٧٩٤٦٠٩٥٨', '+442079460958'],
    ['(+44) 20 7946 0958', '+442079460958'],
    ['001 408 555 0123', '+14085550123'],
  ])('%s is %s', (phone, e164) => {
    expect(accept({ ...cupertino, phone }).phone).toBe(e164)
  })

  test.each([
    '555 0123',
    '0',
    '00',
    '0049',
    '+',
    '408-FLOWERS',
    '4085550123 ext 5',
    '+1',
    '+1 408 555',
    '+1-800-FLOWERS',
    '+14085550123x5',
    '+14085550123 ext. 5',
    '+14085550123;ext=5',
    '+999 123456',
    'tel:+14085550123',
    '+1 408 555 0123 4567',
    '++14085550123',
    '+1 108 555 0123',
  ])('%s is refused', (phone) => {
    expect(faultsOf({ ...cupertino, phone })).toEqual(['#/phone invalid_phone'])
  })

  test.each([
    ['US', '212-555-0100', '+12125550100'],
    ['US', '5125550100', '+15125550100'],
    ['US', '1 (408) 555-0123', '+14085550123'],
    ['US', '011 44 20 7946 0958', '+442079460958'],
    ['CA', '613.555.0123', '+16135550123'],
    ['JP', '03-1234-5678', '+81312345678'],
    ['JP', '０３ー１２３４ー５６７８', '+81312345678'],
    ['GB', '07700 900123', '+447700900123'],
    ['GB', '(020) 7946 0958', '+442079460958'],
    ['GG', '01481 256789', '+441481256789'],
    ['NG', '08031234567', '+2348031234567'],
    ['DE', '0049 89 123456', '+4989123456'],
    ['DE', '089/123456', '+4989123456'],
    ['DE', '49 89 123456', '+4989123456'],
    ['DE', '00 44 (0)20 7946 0958', '+442079460958'],
    ['IT', '06 6982', '+39066982'],
    ['VA', '06 6982', '+39066982'],
    ['RU', '8 (495) 123-45-67', '+74951234567'],
    ['HU', '06 1 234 5678', '+3612345678'],
    ['BR', '(11) 91234-5678', '+5511912345678'],
    ['EG', '٠١٠٠١٢٣٤٥٦٧', '+201001234567'],
    ['UM', '808 555 0123', '+18085550123'],
    ['AQ', '0061 2 6209 6100', '+61262096100'],
  ])('in an address of %s, %s is %s', (country, phone, e164) => {
    const found: Findings = { faults: [], warnings: [], bad: new Set() }
    expect([checkPhone(country, { ...NO_TEXTS, phone }, found), found.faults]).toEqual([e164, []])
    expect(checkPhone(country, { ...NO_TEXTS, phone: e164 }, found)).toBe(e164)
  })

  test('in national form is not judged while its country is unknown', () => {
    expect(faultsOf({ ...cupertino, country: 'Atlantis', phone: '408 555 0123' })).toEqual([
      '#/country unknown_country',
    ])
    expect(faultsOf({ ...cupertino, country: 'Atlantis', phone: '+1 408' })).toEqual([
      '#/country unknown_country',
      '#/phone invalid_phone',
    ])
  })

  test('of another country is taken, with a warning', () => {
    expect(warningsOf({ ...cupertino, phone: '+442079460958' })).toEqual(['#/phone phone_of_another_country'])
    expect(warningsOf({ ...cupertino, phone: '+16135550123' })).toEqual(['#/phone phone_of_another_country'])
    expect(warningsOf({ ...cupertino, phone: '+80012345678' })).toEqual([])
  })

  test('of the neighbour is nothing odd where people have no numbers of their own', () => {
    const vatican = { ...ada, addressLine1: 'Piazza San Pietro', country: 'VA', postalCode: '00120' }
    expect(warningsOf({ ...vatican, phone: '+39 06 6982' })).toEqual([])
    expect(warningsOf({ ...vatican, phone: '+39 312 345 6789' })).toEqual([])
    expect(warningsOf({ ...vatican, phone: '+41 44 668 18 00' })).toEqual(['#/phone phone_of_another_country'])
  })

  test('that is wrong is answered with one of the country', () => {
    const example = (country: string) => normalizeAddress({ ...cupertino, country, phone: '1' }).faults.at(-1)?.example
    expect([example('DE'), example('JP'), example('AQ')]).toEqual(['+4915123456789', '+819012345678', '+14155552671'])
  })
})
