// "Did you mean": the one state or country whose name or code is a single slip of the fingers away.

import { isOneEdit } from '../../core/suggest.ts'
import { countryKeys, type State, stateKeys } from '../countries/countries.ts'
import { coreName, nameKey } from './name-key.ts'

/** The only state within one edit of the text, or null when there is none or several are equally near. Names come first. */
export function suggestState(country: string, text: string): State | null {
  const written = new Set([nameKey(text), coreName(text)])
  const near = stateKeys(country).filter(({ key }) => [...written].some((word) => isSlipOf(word, key)))
  const names = near.filter(({ key }) => key.length > MAX_CODE)
  const [first, ...others] = names.length > 0 ? names : near
  return first && others.every(({ state }) => state.code === first.state.code) ? first.state : null
}

/** By its names in all languages, not by its codes: almost any other letter makes another country of one. */
export function suggestCountry(text: string): string | null {
  const written = nameKey(text)
  const near = countryKeys().filter(({ key }) => key.length > MAX_CODE && isOneEdit(written, key))
  const [first, ...others] = near
  return first && others.every(({ country }) => country === first.country) ? first.country : null
}

const MAX_CODE = 3

/** In a code of two letters another letter is no slip: TX is not what XX meant. */
function isSlipOf(word: string, key: string): boolean {
  return key.length > 2 || word.length !== key.length ? isOneEdit(word, key) : key === word.split('').reverse().join('')
}
