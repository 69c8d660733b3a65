// The phone number of an address.

import { type CountryCode, getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import examples from 'libphonenumber-js/mobile/examples'
import { countryOfPhoneRegion, rulesOf } from '../countries/countries.ts'
import { asciiDigits } from './digits.ts'
import { type Findings, fault, nameInText, type Texts, warn } from './findings.ts'

/** In E.164, or null when there is none or it is not valid. */
export function checkPhone(country: string | null, texts: Texts, found: Findings): string | null {
  if (texts.phone === null || found.bad.has('phone')) return null
  const text = asciiDigits(texts.phone.normalize('NFKC'))
  if (!text.startsWith('+')) {
    fault(
      found,
      'phone',
      'invalid_phone',
      'Give the phone number with a plus sign and the country code first.',
      phoneExample(country),
    )
    return null
  }
  const phone = /^\+[\d\s()./\p{Pd}\u2212]+$/u.test(text)
    ? parsePhoneNumberFromString(text, { extract: false })
    : undefined
  if (!phone?.isValid()) {
    fault(
      found,
      'phone',
      'invalid_phone',
      'This is not a valid phone number. Leave out letters and extensions.',
      phoneExample(country),
    )
    return null
  }
  const home = phone.country && countryOfPhoneRegion(phone.country)
  if (country && home && home !== country && home !== rulesOf(country).phoneOf) {
    warn(
      found,
      'phone',
      'phone_of_another_country',
      `The phone number belongs to ${nameInText(home)}, the address does not.`,
    )
  }
  return phone.number
}

const ANY = '+14155552671'

/** A number that would do, of the country the address is in. */
export function phoneExample(country: string | null): string {
  // The library knows no numbers of a country that has none of its own, such as Antarctica.
  return (country && getExampleNumber(country as CountryCode, examples)?.number) || ANY
}
