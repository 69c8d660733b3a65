// How a country writes an address: the label, what is required, names, the words for the fields, boxes and phone numbers.

import type { Correction } from './correction.ts'

export const formats: Correction[] = [
  // What the label looks like. A small letter is a field the country does not write itself, in the place where it is looked for.
  {
    country: 'US CA AU BR IT',
    source: 'USPS, Canada Post, Australia Post, Correios, Poste Italiane: the label has the state’s abbreviation',
    print: 'code',
  },
  {
    country: 'DE CH AT LI',
    source: 'Deutsche Post, Die Post, Österreichische Post: the code and the town are the last line before the country',
    print: 'nothing',
  },
  {
    country: 'JP',
    source: 'Japan Post: postal code, prefecture, city, street, name; turned round in Latin letters',
    format: '〒%Z%n%S%C%n%A%n%O%n%N',
    latin: '%N%n%O%n%A%n%C, %S %Z',
  },
  { country: 'MO', source: 'CTT Macau: no city and no postal code', format: '%c%n%A%n%O%n%N', latin: '%N%n%O%n%A%n%c' },
  {
    country: 'SG',
    source: 'SingPost: "Singapore" and the postal code on the last line',
    format: '%N%n%O%n%A%n%c %Z',
    place: 'Singapore',
  },
  { country: 'GI', source: 'Royal Gibraltar Post Office', format: '%N%n%O%n%A%n%c%n%Z', place: 'Gibraltar' },
  { country: 'MC', source: 'La Poste Monaco: there is one town', require: 'A', place: 'Monaco' },
  { country: 'VA', source: 'Poste Vaticane: there is one town', require: 'A', place: 'Città del Vaticano' },
  { country: 'GN', source: 'UPU: the postal code stands before the locality', format: '%N%n%O%n%A%n%Z %C' },
  { country: 'CI', source: 'UPU: the locality on the last line', format: '%N%n%O%n%A%n%C' },
  { country: 'MZ', source: 'UPU', format: '%N%n%O%n%A%n%Z %C%n%S' },
  { country: 'KE', source: 'UPU: the postal code before the town', format: '%N%n%O%n%A%n%Z %C' },
  { country: 'TT', source: 'TTPost: the postal code on the last line', format: '%N%n%O%n%A%n%C%n%Z' },
  { country: 'MS LC', source: 'UPU', format: '%N%n%O%n%A%n%C %Z' },
  { country: 'PA', source: 'UPU: the postal code before the town', format: '%N%n%O%n%A%n%Z %C%n%S' },
  { country: 'IR', source: 'Iran Post: the postal code on the last line', format: '%O%n%N%n%S%n%C%n%A%n%Z' },
  {
    country: 'AS',
    source: 'USPS Publication 28: the territory’s abbreviation is the state',
    format: '%N%n%O%n%A%n%s%n%C AS %Z',
    require: 'ACZ',
  },
  {
    country: 'FM',
    source: 'USPS Publication 28: the state’s abbreviation is FM',
    format: '%N%n%O%n%A%n%s%n%C FM %Z',
    require: 'ACZ',
  },
  { country: 'GU', source: 'USPS Publication 28', format: '%N%n%O%n%A%n%s%n%C GU %Z' },
  {
    country: 'MH',
    source: 'USPS Publication 28: the state’s abbreviation is MH',
    format: '%N%n%O%n%A%n%s%n%C MH %Z',
    require: 'ACZ',
  },
  { country: 'MP', source: 'USPS Publication 28', format: '%N%n%O%n%A%n%s%n%C MP %Z', require: 'ACZ' },
  { country: 'PR', source: 'USPS Publication 28', format: '%N%n%O%n%A%n%s%n%C PR %Z' },
  {
    country: 'PW',
    source: 'USPS Publication 28: the state’s abbreviation is PW',
    format: '%N%n%O%n%A%n%s%n%C PW %Z',
    require: 'ACZ',
  },
  { country: 'VI', source: 'USPS Publication 28', format: '%N%n%O%n%A%n%s%n%C VI %Z', require: 'ACZ' },
  { country: 'UM', source: 'USPS Publication 28: no state is written beside UM', require: 'AC' },

  // What is required.
  { country: 'KY', source: 'Cayman Islands Postal Service: KY1, KY2 and KY3 already name the island', require: 'A' },
  { country: 'KN', source: 'UPU: the town already names the island', require: 'AC' },
  {
    country: 'HK',
    source: 'Post Office Guide: district and area; but on letters the one stands for both: "Kowloon" is enough',
    require: 'AC',
    cityOrState: true,
  },
  { country: 'RU', source: 'On letters the town and its code do without the region', require: 'ACZ' },
  { country: 'PF', source: 'OPT Polynésie française: the postal code already names the island', require: 'ACZ' },

  // Names.
  {
    country: 'HU VN KH',
    source: 'The family name comes first in Hungarian, Vietnamese and Khmer',
    familyFirst: 'always',
  },
  {
    country: 'CN HK JP KP KR MO TW',
    source: 'The family name comes first in the country’s own script; in Latin letters both orders are met',
    familyFirst: 'local',
  },
  {
    country: 'AF BT ID MM',
    source: 'Many people have one name (ICAO Doc 9303 part 3, 4.2 lets a document have only a primary identifier)',
    mononyms: true,
  },
  { country: 'IN LK TL', source: 'Passports with one name are common', mononyms: true },

  {
    country: 'JP',
    source: 'Japanese names have a blank between; Chinese and Korean ones are written in one',
    spacedNames: true,
  },

  // Words for the fields.
  {
    country: 'GB JE GG IM AU NZ NL',
    source: 'Royal Mail, Australia Post, NZ Post, PostNL: "postcode"',
    labels: { postalCode: 'Postcode' },
  },
  { country: 'PH', source: 'PHLPost: "ZIP code"', labels: { postalCode: 'ZIP code' } },
  {
    country: 'GB',
    source: 'Royal Mail: "post town"; the county is not needed',
    labels: { postalCode: 'Postcode', city: 'Post town', state: 'County' },
  },
  {
    country: 'NZ',
    source: 'NZ Post: "town or city"',
    labels: { postalCode: 'Postcode', city: 'Town or city', state: 'Region' },
  },
  { country: 'CA', source: 'Canada Post', labels: { city: 'Municipality', state: 'Province or territory' } },
  {
    country: 'AU',
    source: 'Australia Post',
    labels: { postalCode: 'Postcode', city: 'Suburb or town', state: 'State or territory' },
  },
  { country: 'CH', source: 'Die Post', labels: { state: 'Canton' } },
  { country: 'DE AT', source: 'The Länder', labels: { state: 'State' } },
  { country: 'PL', source: 'Województwa', labels: { state: 'Voivodeship' } },
  {
    country: 'SE NO DK FI HU HR RO EE LT',
    source: 'Län, fylke, region, maakunta, megye, županija, județ, maakond, apskritis',
    labels: { state: 'County or region' },
  },

  // Abbreviations of a post-office box, beside the words that are known everywhere. Only a warning comes of them.
  { country: 'AT DE HU', source: 'Postfach, Postafiók', poBox: 'pf' },
  { country: 'CH', source: 'Postfach, Case postale, Casella postale', poBox: 'pf|c\\.? ?p' },
  { country: 'BR IT RO', source: 'Caixa postal, Casella postale, Căsuța poștală', poBox: 'c\\.? ?p' },
  {
    country: 'BA CZ HR ME MK RS SI SK',
    source: 'Poštanski pretinac, poštovní přihrádka, poštni predal, poštový priečinok',
    poBox: 'p\\.? ?p',
  },
  { country: 'CO', source: 'Apartado aéreo', poBox: 'a\\.? ?a' },
  { country: 'FI', source: 'Postilokero, postbox: PL, PB, and Box in Swedish', poBox: 'pl|pb|box' },
  { country: 'LT', source: 'Abonentinė dėžutė', poBox: 'a\\/d' },
  { country: 'LV', source: 'Abonenta kastīte', poBox: 'a\\/k' },
  { country: 'NO', source: 'Postboks', poBox: 'pb' },
  { country: 'SE', source: 'Box', poBox: 'box' },
  { country: 'TR', source: 'Posta kutusu', poBox: 'p\\.? ?k' },

  // Phone numbers.
  { country: 'AX', source: 'E.164: under the country code of Finland', phoneOf: 'FI' },
  { country: 'BL MF', source: 'E.164: under the country code of Guadeloupe', phoneOf: 'GP' },
  { country: 'CC CX', source: 'E.164: under the country code of Australia', phoneOf: 'AU' },
  { country: 'NF', source: 'A territory of Australia with a country code of its own; not looked up', phoneOf: 'AU' },
  { country: 'EH', source: 'E.164: under the country code of Morocco', phoneOf: 'MA' },
  { country: 'GG IM JE', source: 'E.164: under the country code of the United Kingdom', phoneOf: 'GB' },
  { country: 'GS', source: 'E.164: under the country code of the Falkland Islands', phoneOf: 'FK' },
  { country: 'PN', source: 'E.164: under the country code of New Zealand', phoneOf: 'NZ' },
  { country: 'SJ', source: 'E.164: under the country code of Norway', phoneOf: 'NO' },
  { country: 'UM', source: 'E.164: under the country code of the United States', phoneOf: 'US' },
  { country: 'VA', source: 'E.164: numbers in use are under the country code of Italy', phoneOf: 'IT' },
  {
    country: 'SH',
    source: 'libphonenumber has Ascension (AC) and Tristan da Cunha (TA) apart; ISO 3166 has all three as SH',
    phoneRegions: ['AC', 'TA'],
  },
]
