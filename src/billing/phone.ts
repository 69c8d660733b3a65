// A number that would do, of the country the address is in.

import { type CountryCode, getExampleNumber } from 'libphonenumber-js/max'
import examples from 'libphonenumber-js/mobile/examples'

const ANY = '+14155552671'

export function phoneExample(country: string | null): string {
  // A country without numbers of its own, such as Antarctica, is none the library knows: it answers with nothing.
  return (country && getExampleNumber(country as CountryCode, examples)?.number) || ANY
}
