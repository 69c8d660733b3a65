import { describe, expect, test } from 'vitest'
import { accept, ada, cupertino, faultsOf, warningsOf } from '../../../tests/addresses.ts'
import { normalizeAddress } from './normalize.ts'

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
  ])('%s is %s', (phone, e164) => {
    expect(accept({ ...cupertino, phone }).phone).toBe(e164)
  })

  test.each([
    '4085550123',
    '001 408 555 0123',
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
