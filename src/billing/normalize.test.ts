import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findCountry, findState, rulesOf, stateByCode, stateRows } from './countries.ts'
import { fold } from './fold.ts'
import { formatAddress } from './format.ts'
import { ADDRESS_FAULTS, ADDRESS_WARNINGS, type AddressInput, normalizeAddress } from './normalize.ts'
import type { NormalAddress } from './schema.ts'
import { countrySummaries, showCountry } from './show-country.ts'

const ada = { firstName: 'Ada', lastName: 'Lovelace' }
const cupertino: AddressInput = {
  ...ada,
  addressLine1: '1 Infinite Loop',
  city: 'Cupertino',
  state: 'CA',
  postalCode: '95014',
  country: 'US',
}

function accept(input: AddressInput): NormalAddress {
  const { address, faults } = normalizeAddress(input)
  expect(faults).toEqual([])
  return address as NormalAddress
}

const faultsOf = (input: AddressInput) =>
  normalizeAddress(input).faults.map(({ pointer, code }) => `${pointer} ${code}`)
const warningsOf = (input: AddressInput) => {
  accept(input)
  return normalizeAddress(input).warnings.map(({ pointer, code }) => `${pointer} ${code}`)
}

describe('the whole address', () => {
  test('is answered in normal form', () => {
    const result = normalizeAddress({
      firstName: '  Ada ',
      lastName: 'Lovelace',
      company: '',
      taxId: ' ',
      addressLine1: '1  Infinite\u00a0Loop',
      addressLine2: null,
      city: 'Cupertino',
      state: 'California',
      postalCode: '95014',
      country: 'United States',
      phone: '+1 (408) 555-0123',
    })
    expect(result).toEqual({
      address: {
        firstName: 'Ada',
        lastName: 'Lovelace',
        company: null,
        taxId: null,
        addressLine1: '1 Infinite Loop',
        addressLine2: null,
        city: 'Cupertino',
        state: 'CA',
        postalCode: '95014',
        country: 'US',
        phone: '+14085550123',
      },
      faults: [],
      warnings: [],
    })
  })

  test('that is empty has every fault at once', () => {
    expect(faultsOf({})).toEqual(['#/firstName name_required', '#/addressLine1 required', '#/country required'])
  })

  test('with several faults names each of them, with an example where one helps', () => {
    expect(
      normalizeAddress({
        ...cupertino,
        firstName: null,
        lastName: ' ',
        state: 'ZZ',
        postalCode: '1',
        phone: '408',
        city: '',
      }),
    ).toEqual({
      address: null,
      faults: [
        { pointer: '#/firstName', code: 'name_required', detail: 'Give a first name, a last name, or both.' },
        {
          pointer: '#/state',
          code: 'unknown_state',
          detail: 'There is no state of that name or code in the United States.',
          example: 'AL',
        },
        {
          pointer: '#/postalCode',
          code: 'invalid_postal_code',
          detail: 'This is not a ZIP code of the United States.',
          example: '95014',
        },
        { pointer: '#/city', code: 'required', detail: 'Addresses in the United States need a city.' },
        {
          pointer: '#/phone',
          code: 'invalid_phone',
          detail: 'Give the phone number with a plus sign and the country code first.',
          example: '+12015550123',
        },
      ],
      warnings: [],
    })
  })

  test('needs only one name', () => {
    expect(accept({ ...cupertino, lastName: null }).lastName).toBeNull()
    expect(accept({ ...cupertino, firstName: undefined }).firstName).toBeNull()
  })
})

describe('text', () => {
  test('is NFC, trimmed, and has single blanks', () => {
    expect(accept({ ...cupertino, city: ' Sa\u0303o  Paulo\u3000City\n' }).city).toBe('São Paulo City')
  })

  test.each([
    ['a NUL', 'a\u0000b'],
    ['a tab', 'a\tb'],
    ['a new line', 'a\nb'],
    ['C1 controls', 'a\u0085b'],
    ['a line separator', 'a\u2028b'],
    ['a paragraph separator', 'a\u2029b'],
    ['a right-to-left override', 'a\u202eb'],
    ['a bidi isolate', 'a\u2066b'],
    ['a left-to-right mark', 'a\u200eb'],
    ['a zero-width space', 'a\u200bb'],
    ['a word joiner', 'a\u2060b'],
    ['a byte order mark', 'a\ufeffb'],
    ['a soft hyphen', 'a\u00adb'],
    ['a Hangul filler', 'a\u3164b'],
    ['a lone surrogate', 'a\ud800b'],
    ['a noncharacter', 'a\uffffb'],
    ['a tag character', 'a\u{e0041}b'],
    ['a joiner between Latin letters', 'a\u200db'],
    ['a byte order mark at the end', 'ab\ufeff'],
    ['a line separator at the end', 'ab\u2028'],
  ])('with %s is refused, in every field', (_, text) => {
    for (const field of [
      'firstName',
      'lastName',
      'company',
      'taxId',
      'addressLine1',
      'addressLine2',
      'city',
      'state',
      'postalCode',
      'country',
      'phone',
    ]) {
      expect(faultsOf({ ...cupertino, [field]: text })).toEqual([`#/${field} invalid_characters`])
    }
  })

  test('keeps the joiners that Persian and the scripts of India are written with', () => {
    expect(accept({ ...cupertino, firstName: 'علی\u200cرضا' }).firstName).toBe('علی\u200cرضا')
    expect(accept({ ...cupertino, addressLine2: 'ශ්\u200dරී' }).addressLine2).toBe('ශ්\u200dරී')
  })

  test('is counted in code points', () => {
    expect(accept({ ...cupertino, firstName: '𠮷'.repeat(100) }).firstName).toBe('𠮷'.repeat(100))
    expect(faultsOf({ ...cupertino, firstName: '𠮷'.repeat(101) })).toEqual(['#/firstName too_long'])
    expect(faultsOf({ ...cupertino, addressLine1: 'x'.repeat(201), taxId: '1'.repeat(51) })).toEqual([
      '#/taxId too_long',
      '#/addressLine1 too_long',
    ])
  })
})

describe('a country', () => {
  test.each([
    ['us', 'US'],
    ['USA', 'US'],
    ['u.s.a.', 'US'],
    ['The United States of America', 'US'],
    ['Estados Unidos', 'US'],
    ['UK', 'GB'],
    ['Great Britain', 'GB'],
    ['COTE D’IVOIRE', 'CI'],
    ['Co\u0302te d\u2019Ivoire', 'CI'],
    ['Ivory Coast', 'CI'],
    ['Deutschland', 'DE'],
    ['Schweiz', 'CH'],
    ['Svizra', 'CH'],
    ['Österreich', 'AT'],
    ['Oesterreich', 'AT'],
    ['Türkiye', 'TR'],
    ['TURKIYE', 'TR'],
    ['Turkey', 'TR'],
    ['日本', 'JP'],
    ['中国', 'CN'],
    ['대한민국', 'KR'],
    ['Россия', 'RU'],
    ['Ελλάδα', 'GR'],
    ['ישראל', 'IL'],
    ['مصر', 'EG'],
    ['भारत', 'IN'],
    ['Trinidad & Tobago', 'TT'],
    ['Kosovo', 'XK'],
    ['Congo', 'CG'],
    ['DR Congo', 'CD'],
    ['South Korea', 'KR'],
    ['North Korea', 'KP'],
    ['Guinea', 'GN'],
    ['Guinea-Bissau', 'GW'],
    ['Niger', 'NE'],
    ['Nigeria', 'NG'],
    ['Dominica', 'DM'],
    ['Dominican Republic', 'DO'],
    ['Saint Martin', 'MF'],
    ['Georgia', 'GE'],
    ['Jersey', 'JE'],
    ['Republic of Moldova', 'MD'],
    ['The Republic of the Marshall Islands', 'MH'],
    ['Kingdom of the Netherlands', 'NL'],
    ['Republic of Korea', 'KR'],
    ['Republic of China', 'TW'],
    ['People’s Republic of China', 'CN'],
    ['Republic of the Congo', 'CG'],
    ['Democratic Republic of the Congo', 'CD'],
    ['Schweizerische Eidgenossenschaft', 'CH'],
    ['Guyane', 'GF'],
    ['deu', 'DE'],
  ])('may be written %s', (text, code) => {
    expect(findCountry(text)).toBe(code)
  })

  test.each([
    '',
    ' ',
    '…',
    'XX',
    'ZZ',
    'ZZZ',
    'Allemagne',
    'Atlantis',
    'California',
    'constructor',
    '__proto__',
    'toString',
    '840',
    'Republic of',
    'Republic of US',
    'Republic of Texas',
    'State of Georgia',
  ])('%j is none', (text) => {
    expect(findCountry(text)).toBeNull()
  })

  test('is never guessed: there are 250, and no two share a name', () => {
    const all = countrySummaries()
    expect(all.length).toBe(250)
    for (const { code, alpha3, name, localNames } of all) {
      for (const text of [code, alpha3, name, ...localNames]) expect([text, findCountry(text)]).toEqual([text, code])
    }
  })
})

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
        state: 'Middlesex',
      }),
    ).toEqual(['#/state unrecognized_state'])
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
          expect([country, text, fold(findState(country, text)?.name ?? '')]).toEqual([country, text, fold(name)])
        }
      }
    }
  })
})

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

  test('of Puerto Rico in the United States is taken, with a warning', () => {
    expect(
      warningsOf({ ...ada, addressLine1: 'x', city: 'San Juan', state: 'PR', country: 'US', postalCode: '00901' }),
    ).toEqual(['#/postalCode postal_code_of_neighbour'])
  })

  test('may be left out in Ireland, with a warning', () => {
    expect(warningsOf({ ...ada, addressLine1: 'Main St', city: 'Dingle', country: 'IE' })).toEqual([
      '#/postalCode postal_code_missing',
    ])
  })
})

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

describe('a post-office box is noticed', () => {
  test.each([
    'PO Box 12',
    'P.O. Box 12',
    'p o box 12',
    'Post Office Box 12',
    'GPO Box 12',
    'Private Bag 12',
    'Postfach 12 34',
    'BP 123',
    '01 B.P. 123',
    'Boîte postale 12',
    'Case postale 12',
    'Casella Postale 12',
    'Apartado de Correos 12',
    'Apdo. 12',
    'Caixa Postal 12',
    'Postbus 12',
    'Postboks 12',
    'skr. poczt. 12',
    'а/я 12',
    'Абонентский ящик 12',
    'ת.ד. 12',
    'ص.ب 12',
    '郵政信箱12號',
    '私書箱12号',
    '사서함 12호',
    'ตู้ ปณ. 12',
    'Hòm thư 12',
    'P.O.B. 12',
    'Locked Bag 12',
    'Posbus 12',
    'Postbox 12',
    'Pósthólf 12',
    'Postrúm 12',
    'Postilokero 12',
    'Postkast 12',
    'Abonenta kastīte 12',
    'Pašto dėžutė 12',
    'Poštovní přihrádka 12',
    'Poštový priečinok 12',
    'Postafiók 12',
    'Căsuța poștală 12',
    'Poštanski pretinac 12',
    'Poštni predal 12',
    'Kutia Postare 12',
    'Posta Kutusu 12',
    'Apartat de correus 12',
    'Casilla 12',
    'Casilla de Correo 12',
    'S.L.P. 12',
    'Peti Surat 12',
    'Kotak Pos 12',
    'Bosca Poist 12',
    'Blwch Post 12',
    'Поштански фах 12',
    'Абонентська скринька 12',
    'Пощенска кутия 12',
    'Шуудангийн хайрцаг 12',
    'Τ.Θ. 12',
    'Ταχυδρομική θυρίδα 12',
    'صندوق بريد 12',
    'صندوق پستی 12',
    'ת״ד 12',
    'पोस्ट बॉक्स 12',
    'পোস্ট বক্স 12',
    '邮政信箱12号',
    'საფოსტო ყუთი 12',
    'ፖ.ሳ.ቁ. 12',
    'c/o Lovelace, PO Box 12',
  ])('%s', (addressLine1) => {
    expect(warningsOf({ ...cupertino, addressLine1 })).toEqual(['#/addressLine1 po_box'])
  })

  test.each([
    '1 Post Office Road',
    '12 Boxwood Lane',
    'Postfachstraße 1',
    'BPM Tower',
    '5 Apartadó Street',
    'Box Hill Road 3',
    'Hauptstr. 12',
    'Boxhagener Straße 12',
    'Posta Caddesi 12',
    'Calle Casillas 12',
    'Subpart 12',
    'Piazza della Posta 12',
    'Box 12',
    'PL 12',
    'Pf 12',
    'Kotakposan 12',
  ])('but %s is a street', (addressLine1) => {
    expect(warningsOf({ ...cupertino, addressLine1 })).toEqual([])
  })

  test.each([
    ['SE', 'Box 12', 'IT', '111 20'],
    ['FI', 'PL 12', 'PL', '00101'],
    ['DE', 'Pf. 12', 'SE', '10623'],
    ['HU', 'Pf. 12', 'FI', '1053'],
    ['TR', 'P.K. 12', 'DE', '34470'],
    ['HR', 'p.p. 12', 'DE', '10000'],
    ['CH', 'CP 12', 'DE', '1015'],
  ])('in %s %s is one, in %s it is not', (country, addressLine1, elsewhere, postalCode) => {
    const box = (of: string) =>
      normalizeAddress({ ...ada, addressLine1, city: 'x', country: of, postalCode })
        .warnings.map(({ code }) => code)
        .includes('po_box')
    expect([box(country), box(elsewhere)]).toEqual([true, false])
  })
})

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
      'Bayern',
      'GERMANY',
    ])
  })
})

describe('rules.json', () => {
  const script = fileURLToPath(new URL('../../scripts/address-rules.ts', import.meta.url))
  const make = (...more: string[]) => {
    const { status, stdout } = spawnSync(process.execPath, ['--import', 'tsx', script, '--check', ...more], {
      encoding: 'utf8',
    })
    return { status, lines: stdout.trim().split('\n') }
  }

  test('is what its script makes: else run "npm run rules"', () => {
    expect(make()).toEqual({ status: 0, lines: [expect.stringMatching(/^250 countries, \d+ bytes$/)] })
  })

  test('made anew tells what changed, by country and field', () => {
    const old = JSON.parse(readFileSync(new URL('rules.json', import.meta.url), 'utf8'))
    old.XX = { ...old.AD, name: 'Ruritania' }
    delete old.ZW
    old.FR.require = 'AC'
    delete old.HU.postal.strip
    old.AT.states = old.AT.states.replace(/^1;[^|]*\|/, '').replace('9;Wien', '9;Vindobona')
    const file = join(mkdtempSync(join(tmpdir(), 'rules-')), 'old.json')
    writeFileSync(file, JSON.stringify(old))
    expect(make('--against', file)).toEqual({
      status: 1,
      lines: [
        'AT Austria: state 9 Wien, name "Vindobona" → "Wien"',
        'AT Austria: state 1 Burgenland new',
        'FR France: require "AC" → "ACZ"',
        'HU Hungary: postal {"shapes":["####"],"pattern":"[1-9]\\\\d{3}","examples":["1037"]} → {"shapes":["####"],"pattern":"[1-9]\\\\d{3}","examples":["1037"],"strip":["H"]}',
        'XX Ruritania: gone',
        'ZW Zimbabwe: new',
        expect.stringMatching(/^250 countries, \d+ bytes$/),
      ],
    })
  })

  test('is small, and published patterns need nothing that only one language has', () => {
    expect(statSync(new URL('rules.json', import.meta.url)).size).toBeLessThan(150_000)
    for (const { code } of countrySummaries())
      for (const { pattern = '' } of showCountry(code)?.fields ?? [])
        expect(`${code} ${pattern}`).not.toMatch(/\(\?[^:]/)
  })
})

describe('the rules of a country', () => {
  test('are its fields in its own order', () => {
    expect(showCountry('us')).toMatchObject({
      code: 'US',
      alpha3: 'USA',
      name: 'United States',
      requireOneOf: [['firstName', 'lastName']],
      fields: [
        { name: 'firstName', label: 'First name', required: false },
        { name: 'lastName', label: 'Last name', required: false },
        { name: 'company', label: 'Company', required: false },
        { name: 'addressLine1', label: 'Address', required: true },
        { name: 'addressLine2', label: 'Address, second line', required: false },
        { name: 'city', label: 'City', required: true },
        { name: 'state', label: 'State', required: true, example: 'AL' },
        {
          name: 'postalCode',
          label: 'ZIP code',
          required: true,
          pattern: '^(?:(?:00[5-9]|0[1-9]\\d|[1-9]\\d{2})\\d{2}(?:-\\d{4})?)$',
          example: '95014',
        },
        { name: 'country', label: 'Country', required: true, example: 'US' },
        { name: 'taxId', label: 'Tax number', required: false },
        { name: 'phone', label: 'Phone', required: false, example: '+12015550123' },
      ],
    })
    expect(
      showCountry('JP')
        ?.fields.map(({ name }) => name)
        .slice(0, 3),
    ).toEqual(['postalCode', 'state', 'city'])
    expect(showCountry('JP')?.subdivisions).toContainEqual({
      code: '13',
      name: 'Tokyo',
      localName: '東京都',
      aliases: expect.any(Array),
    })
    expect(showCountry('QA')?.fields.map(({ name }) => name)).not.toContain('postalCode')
    expect(showCountry('XX')).toBeNull()
    expect(showCountry('__proto__')).toBeNull()
  })

  test('hold for their own examples, in every country', () => {
    for (const { code: country } of countrySummaries()) {
      const { fields = [], subdivisions = [] } = showCountry(country) ?? {}
      const required = (name: string) => fields.some((field) => field.name === name && field.required)
      for (const postalCode of rulesOf(country).postal?.examples ?? [undefined]) {
        const pattern = fields.find(({ name }) => name === 'postalCode')?.pattern
        if (postalCode) expect(new RegExp(pattern ?? '', 'u').test(postalCode)).toBe(true)
        const states =
          required('state') && subdivisions.length
            ? subdivisions.map(({ code }) => code)
            : ['x'.repeat(5)].filter(() => required('state'))
        const inputs = (states.length ? states : [undefined]).map((state) => ({
          ...ada,
          addressLine1: 'x',
          city: 'x',
          country,
          state,
          postalCode,
        }))
        const taken = inputs.map((input) => normalizeAddress(input).address).filter((address) => address !== null)
        expect([country, postalCode, taken[0]?.postalCode]).toEqual([country, postalCode, postalCode ?? null])
      }
    }
  })
})

describe('whatever is given', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
    fc.string({ maxLength: 10 }),
    fc.constantFrom('Ada', ' São  Paulo', '東京', 'القاهرة', 'x'),
  )
  const maybe = fc.option(text, { nil: undefined })
  const address = fc.constantFrom(...countrySummaries().map(({ code }) => code)).chain((country) => {
    const { subdivisions = [] } = showCountry(country) ?? {}
    const names = subdivisions.flatMap(({ code, name, localName }) => [
      code,
      name,
      name.toUpperCase(),
      `${country}-${code}`,
      localName ?? name,
    ])
    const examples = rulesOf(country).postal?.examples ?? []
    const shaped = rulesOf(country).postal?.shapes ?? ['#####']
    const digits = fc
      .tuple(fc.constantFrom(...shaped), fc.array(fc.nat(35), { minLength: 12, maxLength: 12 }))
      .map(([shape, numbers]) => {
        let at = 0
        return shape.replace(/[#@*]/g, (mark) => {
          const n = numbers[at++] ?? 0
          return mark === '#' ? String(n % 10) : mark === '@' ? String.fromCharCode(65 + (n % 26)) : n.toString(36)
        })
      })
    return fc.record({
      country: fc.constantFrom(country, country.toLowerCase(), rulesOf(country).name),
      firstName: maybe,
      lastName: maybe,
      company: maybe,
      taxId: maybe,
      addressLine1: text,
      addressLine2: maybe,
      city: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom('Springfield', 'Ōsaka', '広島市') },
        { weight: 1, arbitrary: maybe },
      ),
      state: fc.oneof(
        { weight: 5, arbitrary: names.length ? fc.constantFrom(...names) : maybe },
        { weight: 1, arbitrary: maybe },
      ),
      postalCode: fc.oneof(
        examples.length
          ? fc.constantFrom(...examples, ...examples.map((code) => code.toLowerCase().replace(/[ -]/g, '')))
          : maybe,
        digits,
      ),
      phone: fc.constantFrom(undefined, '+14085550123', '+44 20 7946 0958', '+81 3-3581-5111'),
    })
  })

  test('normalising twice is normalising once, and nothing given is lost', () => {
    let taken = 0
    fc.assert(
      fc.property(address, (input) => {
        const once = normalizeAddress(input)
        if (!once.address) return
        taken++
        expect(normalizeAddress(once.address)).toEqual(once)
        expect(missing(once.address, formatAddress(once.address))).toEqual([])
        for (const field of [
          'firstName',
          'lastName',
          'company',
          'taxId',
          'addressLine1',
          'addressLine2',
          'city',
          'state',
          'postalCode',
        ] as const) {
          expect(once.address[field] === null).toBe((input[field] ?? '').trim() === '')
        }
      }),
      { numRuns: 2000, seed: 20 },
    )
    expect(taken).toBeGreaterThan(500)
  })

  test('a label has every field that was given, in every country, state and script', () => {
    const scripts = [
      { firstName: 'Ada', lastName: 'Lovelace', addressLine1: '1 Main Road', addressLine2: 'Flat 2', city: 'Newtown' },
      { firstName: '小明', lastName: '王', addressLine1: '中山路1号', addressLine2: '2楼', city: '新城' },
      { firstName: 'Мария', lastName: 'Иванова', addressLine1: 'ул. Мира, 1', addressLine2: 'кв. 2', city: 'Новый' },
    ]
    let labels = 0
    const lost: unknown[] = []
    for (const { code: country } of countrySummaries())
      for (const text of scripts)
        for (const state of [null, 'Somewhere', ...stateRows(country).map(({ code }) => code)]) {
          const postalCode = rulesOf(country).postal?.examples[0] ?? 'P 123'
          const full = { ...text, company: 'Engines', taxId: 'T1', state, postalCode, country, phone: null }
          const fewer = ['firstName', 'lastName', 'company', 'addressLine2', 'city', 'postalCode'].map((field) => ({
            ...full,
            [field]: null,
          }))
          for (const given of [full, ...fewer]) {
            const lines = formatAddress(given)
            if (missing(given, lines).length > 0) lost.push([given, lines])
            labels++
          }
        }
    expect(lost.slice(0, 5)).toEqual([])
    expect(labels).toBeGreaterThan(50_000)
  })

  test('every fault and warning has a code of the tables, a pointer to a field, and a sentence', () => {
    fc.assert(
      fc.property(address, (input) => {
        const { faults, warnings } = normalizeAddress(input)
        for (const { code } of faults) expect(ADDRESS_FAULTS).toHaveProperty(code)
        for (const { code } of warnings) expect(ADDRESS_WARNINGS).toHaveProperty(code)
        for (const { pointer, detail } of [...faults, ...warnings]) {
          expect(pointer).toMatch(/^#\/[a-zA-Z0-9]+$/)
          expect(detail).toMatch(/^\S.*\.$/)
        }
      }),
      { numRuns: 2000, seed: 20 },
    )
  })

  /** What was given and cannot be found in the label. */
  function missing(given: NormalAddress, lines: string[]): string[] {
    const label = lines.join('\n')
    const fields = ['firstName', 'lastName', 'company', 'addressLine1', 'addressLine2', 'city', 'postalCode'] as const
    const lost: string[] = fields.filter((field) => given[field] !== null && !label.includes(given[field]))
    if (lines.at(-1) !== rulesOf(given.country).name.toUpperCase()) lost.push('country')
    if (given.state === null) return lost
    const state = stateByCode(given.country, given.state)
    const names = [given.state, state?.name, state?.localName]
    const shown = names.some((name) => name && label.toLowerCase().includes(name.toLowerCase()))
    return shown ? lost : [...lost, 'state']
  }
})
