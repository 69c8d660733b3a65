// The state, province or region of an address: the one given, or the one that its city stands for.

import { findCountry, findState, requiresField, rulesOf, type State } from '../countries/countries.ts'
import { type Findings, fault, lower, nameInText, type Texts, warn, withArticle } from './findings.ts'
import { suggestState } from './suggestion.ts'

/** The state that is given or that the city stands for; null when there is none, or the text names none that is known. */
export function checkState(country: string, texts: Texts, found: Findings): State | null {
  if (found.bad.has('state')) return null
  const rules = rulesOf(country)
  const label = lower(rules.labels?.state ?? 'State')
  const example = rules.states?.split(/[;|]/, 1)[0]
  if (texts.state === null) {
    const named = stateOfCity(country, texts.city)
    if (named) return named
    if (requiresField(rules, 'S'))
      fault(found, 'state', 'required', `Addresses in ${nameInText(country)} need ${withArticle(label)}.`, example)
    return null
  }
  const state = findState(country, texts.state)
  if (state || !rules.states) return state
  const meant = suggestState(country, texts.state)
  const didYouMean = meant ? ` Did you mean ${meant.name}?` : ''
  if (rules.closed || isForeignCode(country, texts.state)) {
    fault(
      found,
      'state',
      'unknown_state',
      `There is no ${label} of that name or code in ${nameInText(country)}.${didYouMean}`,
      meant?.code ?? example,
      meant?.code,
    )
  } else {
    warn(
      found,
      'state',
      'unrecognized_state',
      `We know no ${label} of that name in ${nameInText(country)}. It is kept as you entered it.${didYouMean}`,
      meant?.code,
    )
  }
  return null
}

/** A city that is a state of its own, or its capital and namesake: Moscow, Bogotá, Dubai, 서울특별시 중구. */
function stateOfCity(country: string, city: string | null): State | null {
  const rules = rulesOf(country)
  const { cityStates = requiresField(rules, 'S') ? 'all' : [], countryAsCity } = rules
  if (city === null || cityStates.length === 0) return null
  if (countryAsCity && findCountry(city) === country) return null
  // A city and its district; elsewhere the first word says nothing: Santander de Quilichao is not in Santander.
  const names = /^\p{Script=Hangul}/u.test(city) ? [city, city.split(' ')[0] as string] : [city]
  for (const name of names) {
    const state = /^[a-z0-9]{1,3}$/i.test(name) ? null : findState(country, name)
    if (state && (cityStates === 'all' || cityStates.includes(state.code))) return state
  }
  return null
}

/**
 * Short enough to be meant as a code, but not the country's own ("SG" is harmless), or the code of a state elsewhere:
 * "US-CA".
 */
function isForeignCode(country: string, text: string): boolean {
  if (/^[a-z0-9]{1,3}$/i.test(text)) return findCountry(text) !== country
  const [, prefix = '', code = ''] = /^([a-z]{2})-([a-z0-9]{1,3})$/i.exec(text) ?? []
  const other = prefix === '' ? null : findCountry(prefix)
  return other !== null && (other === country || findState(other, code) !== null)
}
