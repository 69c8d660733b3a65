// "Did you mean": the one state whose name or code is a single slip of the fingers away.

import { type State, stateKeys } from '../countries/countries.ts'
import { coreName, nameKey } from './name-key.ts'

/** The only state within one edit of the text, or null when there is none or several are equally near. Names come first. */
export function suggestState(country: string, text: string): State | null {
  const written = new Set([nameKey(text), coreName(text)])
  const near = stateKeys(country).filter(({ key }) => [...written].some((word) => isSlipOf(word, key)))
  const names = near.filter(({ key }) => key.length > MAX_CODE)
  const [first, ...others] = names.length > 0 ? names : near
  return first && others.every(({ state }) => state.code === first.state.code) ? first.state : null
}

const MAX_CODE = 3

/** In a code of two letters another letter is no slip: TX is not what XX meant. */
function isSlipOf(word: string, key: string): boolean {
  return key.length > 2 || word.length !== key.length ? isOneEdit(word, key) : key === word.split('').reverse().join('')
}

/** Whether one letter left out, added, replaced or exchanged with its neighbour makes the one of the other. */
function isOneEdit(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false
  let at = 0
  while (a[at] === b[at]) at++
  if (a.length > b.length) return a.slice(at + 1) === b.slice(at)
  if (a.length < b.length) return a.slice(at) === b.slice(at + 1)
  const isExchanged = a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
  return isExchanged || a.slice(at + 1) === b.slice(at + 1)
}
