// The postal code of an address: spelt as its country spells it, and held against its state and its neighbours.

import { normalForm } from '../../core/unicode.ts'
import {
  type CountryData,
  neighbourOf,
  postalPattern,
  requiresField,
  rulesOf,
  type State,
  statesWithPostalCode,
} from '../countries/countries.ts'
import { asciiDigits } from './digits.ts'
import { articleOf, type Findings, fault, lower, nameInText, type Texts, warn, withArticle } from './findings.ts'

/** What people type into a form that insists on a code. Hongkong Post itself advises zeros or HKG. */
const NO_POSTAL_CODE = /^(?:n\/?a|n\.a\.?|none|null|nil|x{3,9}|\p{Pd}+|0{3,}(?:[ -]0+)?)$/iu

/** The code in the country's own spelling, or null when there is none or it is not valid. */
export function checkPostalCode(country: string, texts: Texts, state: State | null, found: Findings): string | null {
  if (found.bad.has('postalCode')) return null
  const rules = rulesOf(country)
  const label = lower(rules.labels?.postalCode ?? 'Postal code')
  const example = rules.postal?.examples[0]
  if (texts.postalCode === null) {
    if (requiresField(rules, 'Z'))
      fault(found, 'postalCode', 'required', `Addresses in ${nameInText(country)} need ${withArticle(label)}.`, example)
    else if (rules.postal?.recommended) warnOfMissing(rules, found)
    return null
  }
  const isPlaceholder = NO_POSTAL_CODE.test(texts.postalCode) || texts.postalCode.toUpperCase() === rules.alpha3
  if (isPlaceholder && !requiresField(rules, 'Z')) return null
  if (!rules.postal) {
    warn(
      found,
      'postalCode',
      'postal_code_not_used',
      `Addresses in ${nameInText(country)} have no postal code. It is kept as you entered it.`,
    )
    return texts.postalCode
  }
  const spelt = isPlaceholder ? null : spellPostalCode(country, texts.postalCode)
  if (spelt === null) {
    fault(
      found,
      'postalCode',
      'invalid_postal_code',
      `This is not ${withArticle(label)} of ${nameInText(country)}.`,
      example,
    )
    return null
  }
  warnOfNeighbour(country, spelt, state, found)
  if (state) holdAgainstState(country, spelt, state, found)
  return spelt
}

function warnOfMissing({ labels }: CountryData, found: Findings): void {
  const label = labels?.postalCode ?? 'postal code'
  const article = articleOf(label) === 'an' ? 'An' : 'A'
  warn(
    found,
    'postalCode',
    'postal_code_missing',
    `${article} ${label} finds the address faster; you may leave it out.`,
  )
}

/** A territory that is given as the state, as PR, is no mistake: both ways to write it are in use. */
function warnOfNeighbour(country: string, postalCode: string, state: State | null, found: Findings): void {
  const neighbour = neighbourOf(country, postalCode)
  if (!neighbour || neighbour === state?.code) return
  warn(
    found,
    'postalCode',
    'postal_code_of_neighbour',
    `This postal code looks like ${nameInText(neighbour)}. Please check the country.`,
  )
}

/** A fault where the post gives each code to one state; a warning where villages are served from across the border. */
function holdAgainstState(country: string, postalCode: string, state: State, found: Findings): void {
  if (!state.prefix || state.prefix.test(postalCode)) return
  const { prefixes, borders } = rulesOf(country)
  const owners = statesWithPostalCode(country, postalCode)
  const detail = `${postalCode} ${owners[0] ? `is in ${owners[0].name}` : 'is elsewhere'}, not in ${state.name}. Please check both.`
  const across = owners.some(({ code }) => borders?.[state.code]?.split(' ').includes(code))
  if (prefixes === 'certain' && owners.length > 0 && !across)
    fault(found, 'postalCode', 'postal_code_state_mismatch', detail)
  else warn(found, 'postalCode', 'postal_code_state_mismatch', detail)
}

/** The code in the country's own spelling, or null when it has none of its shapes. */
function spellPostalCode(country: string, text: string): string | null {
  const { alpha3, postal } = rulesOf(country)
  const { shapes = [], strip = [] } = postal ?? {}
  const pattern = postalPattern(country)
  const compact = asciiDigits(normalForm(text, 'NFKC'))
    .toUpperCase()
    .replace(country === 'JP' ? IN_JAPANESE_CODES : IN_CODES, '')
  for (const candidate of [compact, ...withoutPrefix(compact, [alpha3, country, 'CP', ...strip])]) {
    for (const shape of shapes) {
      const spelt = fitShape(shape, candidate)
      if (spelt !== null && pattern?.test(spelt)) return spelt
    }
  }
  return null
}

/** Every dash and what looks like one (hyphen bullet, modifier minus, box drawing), and the postal marks of Japan. */
const IN_CODES = /[\s.\p{Dash}\u2043\u02d7\u2500\u2501\u3012\u3020]+/gu

/** U+30FC, the long vowel mark, is what a Japanese keyboard has in the place of the hyphen. */
const IN_JAPANESE_CODES = new RegExp(IN_CODES.source.replace('[', '[\\u30fc'), 'gu')

function withoutPrefix(compact: string, prefixes: string[]): string[] {
  return prefixes.filter((prefix) => compact.startsWith(prefix)).map((prefix) => compact.slice(prefix.length))
}

/** "1234AB" into "#### @@". Up to three letters that begin a shape may be left out: "1010" is LV-1010. */
function fitShape(shape: string, compact: string): string | null {
  const lead = /^[A-Z]{1,3}(?=[^A-Z]*#)/.exec(shape)?.[0] ?? ''
  const text = lead !== '' && !compact.startsWith(lead) ? lead + compact : compact
  let at = 0
  let spelt = ''
  for (const mark of shape) {
    if (mark === ' ' || mark === '-') {
      spelt += mark
      continue
    }
    const char = text[at++] ?? ''
    const fits =
      mark === '#'
        ? isDigit(char)
        : mark === '@'
          ? isLetter(char)
          : mark === '*'
            ? isDigit(char) || isLetter(char)
            : mark === char
    if (!fits) return null
    spelt += char
  }
  return at === text.length ? spelt : null
}

const isDigit = (char: string) => char >= '0' && char <= '9'
const isLetter = (char: string) => char >= 'A' && char <= 'Z'
