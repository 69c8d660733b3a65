// The country of an address, by any of its names or codes.

import { findCountry } from '../countries/countries.ts'
import { type Findings, fault, nameInText, type Texts } from './findings.ts'
import { suggestCountry } from './suggestion.ts'

/** Its alpha-2 code, or null when there is none or it is not known. */
export function checkCountry(texts: Texts, found: Findings): string | null {
  if (found.bad.has('country')) return null
  if (texts.country === null) {
    fault(found, 'country', 'required', 'Enter the country, by its name or its two-letter code.', 'US')
    return null
  }
  const country = findCountry(texts.country)
  if (country) return country
  const meant = suggestCountry(texts.country)
  fault(
    found,
    'country',
    'unknown_country',
    `Unknown country. ${meant ? `Did you mean ${nameInText(meant)}?` : 'Enter its name in English or its two-letter code.'}`,
    meant ?? 'US',
    meant ?? undefined,
  )
  return null
}
