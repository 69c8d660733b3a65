import { describe, expect, test } from 'vitest'
import { findCountry } from '../countries/countries.ts'
import { countrySummaries } from '../countries/routes.ts'

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
