import { describe, expect, test } from 'vitest'
import { accept, ada } from '../../../tests/addresses.ts'
import { formatAddress } from './format.ts'
import type { AddressInput } from './normalize.ts'

describe('the label', () => {
  const label = (input: AddressInput) => formatAddress(accept({ ...ada, ...input }))

  test.each<[string, AddressInput, string[]]>([
    [
      'US',
      { addressLine1: '1 Infinite Loop', city: 'Cupertino', state: 'CA', postalCode: '95014' },
      ['1 Infinite Loop', 'Cupertino, CA 95014', 'UNITED STATES'],
    ],
    [
      'CA',
      { addressLine1: '111 Wellington St', city: 'Ottawa', state: 'ON', postalCode: 'K1A 0A9' },
      ['111 Wellington St', 'Ottawa ON K1A 0A9', 'CANADA'],
    ],
    [
      'GB',
      { addressLine1: '10 Downing Street', city: 'London', postalCode: 'SW1A 2AA' },
      ['10 Downing Street', 'London', 'SW1A 2AA', 'UNITED KINGDOM'],
    ],
    [
      'DE',
      { addressLine1: 'Marienplatz 8', city: 'München', postalCode: '80331' },
      ['Marienplatz 8', '80331 München', 'GERMANY'],
    ],
    [
      'SE',
      { addressLine1: 'Riksgatan 1', city: 'Stockholm', postalCode: '10012' },
      ['Riksgatan 1', 'SE-100 12 Stockholm', 'SWEDEN'],
    ],
    [
      'NL',
      { addressLine1: 'Binnenhof 1A', city: 'Den Haag', postalCode: '2513AA' },
      ['Binnenhof 1A', '2513 AA Den Haag', 'NETHERLANDS'],
    ],
    [
      'IT',
      { addressLine1: 'Piazza del Duomo 1', city: 'Milano', state: 'MI', postalCode: '20122' },
      ['Piazza del Duomo 1', '20122 Milano MI', 'ITALY'],
    ],
    [
      'ES',
      { addressLine1: 'Calle de Alcalá 45', city: 'Madrid', state: 'M', postalCode: '28014' },
      ['Calle de Alcalá 45', '28014 Madrid', 'SPAIN'],
    ],
    [
      'ES',
      { addressLine1: 'Calle Real 1', city: 'Getafe', state: 'M', postalCode: '28901' },
      ['Calle Real 1', '28901 Getafe Madrid', 'SPAIN'],
    ],
    [
      'BR',
      { addressLine1: 'Av. Paulista 1578', city: 'São Paulo', state: 'SP', postalCode: '01310-200' },
      ['Av. Paulista 1578', 'São Paulo-SP', '01310-200', 'BRAZIL'],
    ],
    [
      'AU',
      { addressLine1: '1 Macquarie St', city: 'Sydney', state: 'NSW', postalCode: '2000' },
      ['1 Macquarie St', 'Sydney NSW 2000', 'AUSTRALIA'],
    ],
    [
      'IN',
      { addressLine1: '1 MG Road', city: 'Mumbai', state: 'MH', postalCode: '400001' },
      ['1 MG Road', 'Mumbai 400001', 'Maharashtra', 'INDIA'],
    ],
    [
      'SG',
      { addressLine1: '10 Eunos Road 8', postalCode: '408600' },
      ['10 Eunos Road 8', 'Singapore 408600', 'SINGAPORE'],
    ],
    [
      'HK',
      { addressLine1: '1 Nathan Road', city: 'Tsim Sha Tsui', state: 'Kowloon' },
      ['1 Nathan Road', 'Tsim Sha Tsui', 'Kowloon', 'HONG KONG'],
    ],
    [
      'AE',
      { addressLine1: 'PO Box 1234', city: 'Al Ain', state: 'AZ' },
      ['PO Box 1234', 'Al Ain, Abu Dhabi', 'UNITED ARAB EMIRATES'],
    ],
    [
      'IE',
      { addressLine1: 'Main Street', city: 'Dingle', state: 'KY', postalCode: 'V92 X70A' },
      ['Main Street', 'Dingle', 'Co. Kerry', 'V92 X70A', 'IRELAND'],
    ],
    [
      'PR',
      { addressLine1: '1 Calle Fortaleza', city: 'San Juan', state: 'PR', postalCode: '00901' },
      ['1 Calle Fortaleza', 'San Juan PR 00901', 'PUERTO RICO'],
    ],
    [
      'JP',
      { addressLine1: '1-7-1 Nagatacho', city: 'Chiyoda-ku', state: '13', postalCode: '1000014' },
      ['1-7-1 Nagatacho', 'Chiyoda-ku, Tokyo 100-0014', 'JAPAN'],
    ],
    [
      'KY',
      { addressLine1: 'PO Box 1', city: 'George Town', state: 'Grand Cayman', postalCode: 'KY1-1100' },
      ['PO Box 1', 'George Town, Grand Cayman KY1-1100', 'CAYMAN ISLANDS'],
    ],
  ])('of %s', (country, input, lines) => {
    expect(label({ country, ...input })).toEqual(['Ada Lovelace', ...lines])
  })

  test('in Japanese is written from the large to the small, family name first', () => {
    const yamada = {
      firstName: '太郎',
      lastName: '山田',
      addressLine1: '永田町1-7-1',
      city: '千代田区',
      state: 'Tokyo',
      postalCode: '1000014',
      country: 'JP',
    }
    expect(label(yamada)).toEqual(['〒100-0014', '東京都千代田区', '永田町1-7-1', '山田 太郎', 'JAPAN'])
  })

  test('in China has the name in one, and in Latin letters as it was given', () => {
    const street = { city: '东城区', state: 'BJ', postalCode: '100006', country: 'CN', addressLine1: '东长安街1号' }
    expect(label({ ...street, firstName: '小明', lastName: '王' })).toEqual([
      '100006',
      '北京市东城区',
      '东长安街1号',
      '王小明',
      'CHINA',
    ])
    expect(label({ ...street })).toEqual(['100006', '北京市东城区', '东长安街1号', 'Ada Lovelace', 'CHINA'])
  })

  test('in Hungary puts the family name first', () => {
    const kovacs = {
      firstName: 'János',
      lastName: 'Kovács',
      addressLine1: 'Kossuth tér 1.',
      city: 'Budapest',
      postalCode: '1055',
      country: 'HU',
    }
    expect(label(kovacs)).toEqual(['Kovács János', 'Budapest', 'Kossuth tér 1.', '1055', 'HUNGARY'])
  })

  test('has the company, both lines, and a state the country would not write', () => {
    const full = {
      company: 'Analytical Engines',
      addressLine1: 'Marienplatz 8',
      addressLine2: '2. Stock',
      city: 'München',
      state: 'BY',
      postalCode: '80331',
      country: 'DE',
    }
    expect(label(full)).toEqual([
      'Ada Lovelace',
      'Analytical Engines',
      'Marienplatz 8',
      '2. Stock',
      '80331 München',
      'GERMANY',
    ])
  })
})
