// The phone number of an address.

import {
  type CountryCode,
  getExampleNumber,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max'
import examples from 'libphonenumber-js/mobile/examples'
import { normalForm } from '../../core/unicode.ts'
import { countryOfPhoneRegion, rulesOf } from '../countries/countries.ts'
import { asciiDigits } from './digits.ts'
import { type Findings, fault, nameInText, type Texts, warn } from './findings.ts'

const SEPARATORS = /[\s()./\u00b7\p{Dash}\u30fc]+/gu

/** In E.164, or null when there is none or it is not valid. */
export function checkPhone(country: string | null, texts: Texts, found: Findings): string | null {
  if (texts.phone === null || found.bad.has('phone')) return null
  const text = asciiDigits(normalForm(texts.phone, 'NFKC')).replace(SEPARATORS, '')
  const phone = /^\+?\d+$/.test(text) ? parsePhone(text, country) : null
  if (phone) {
    warnOfForeignPhone(country, phone, found)
    return phone.number
  }
  // A number in national form cannot be judged before its country is known, and that has a fault already.
  if (country === null && /^\d+$/.test(text)) return null
  const dialled = country === null ? '' : `as it is dialled in ${nameInText(country)}, or `
  fault(
    found,
    'phone',
    'invalid_phone',
    `This is not a valid phone number. Enter it ${dialled}with a plus sign and the country code, without letters or extensions.`,
    phoneExample(country),
  )
  return null
}

/**
 * The first reading that is a valid number: international after "+" or "00", else as it is dialled in the country, or in
 * the one whose numbers people have there. The library also knows each country's own prefix for calls abroad, as 011.
 */
function parsePhone(text: string, country: string | null): PhoneNumber | null {
  const homes = country === null ? [] : [country, rulesOf(country).phoneOf].filter((home) => home !== undefined)
  const readings = [
    ...(/^(?:\+|00)/.test(text) ? [parsePhoneNumberFromString(text.replace(/^00/, '+'), { extract: false })] : []),
    ...(text.startsWith('+') ? [] : homes.filter((home) => isSupportedCountry(home))).map((home) =>
      // isSupportedCountry above is no type guard for a list.
      parsePhoneNumberFromString(text, { defaultCountry: home as CountryCode, extract: false }),
    ),
  ]
  return readings.find((phone) => phone && (phone.isValid() || RESERVED.test(phone.number))) ?? null
}

/** Ofcom keeps these ranges for film and television. Nobody has such a number, and everybody tries a form with one. */
const RESERVED = /^\+44(?:1632960|3069990|7700900|8081570)\d{3}$/

function warnOfForeignPhone(country: string | null, phone: PhoneNumber, found: Findings): void {
  const home = phone.country && countryOfPhoneRegion(phone.country)
  if (!country || !home || home === country || home === rulesOf(country).phoneOf) return
  warn(
    found,
    'phone',
    'phone_of_another_country',
    `This phone number is from ${nameInText(home)}, but the address is not.`,
  )
}

const ANY = '+14155552671'

/** A number that would do, of the country the address is in. */
export function phoneExample(country: string | null): string {
  // The library knows no numbers of a country that has none of its own, such as Antarctica.
  return (country && getExampleNumber(country as CountryCode, examples)?.number) || ANY
}
