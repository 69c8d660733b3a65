/**
 * The label of an address as its country writes it. The order comes from rules.json; a line in which nothing is left
 * is dropped, and so is the punctuation around a field that is not there.
 */
import { type CountryData, formatOf, latinFormatOf, rulesOf, stateByCode } from '../countries/countries.ts'
import type { AddressPreview } from './normalize.ts'

export function formatAddress(address: AddressPreview): string[] {
  const rules = rulesOf(address.country)
  const own = writtenInOwnScript(address)
  const fields = labelFields(address, rules, own)
  const template = own ? formatOf(rules) : latinFormatOf(rules)
  return [...template.split('%n').flatMap((line) => fillLine(line, fields)), rules.name.toUpperCase()]
}

function labelFields(address: AddressPreview, rules: CountryData, own: boolean): Record<string, string[]> {
  const given = (...values: (string | null)[]) => values.filter((value) => value !== null && value !== '') as string[]
  const city = address.city ?? rules.place ?? null
  const state = stateText(address, rules, own)
  return {
    N: given(nameText(address, rules)),
    O: given(address.company),
    A: given(address.addressLine1, address.addressLine2),
    C: given(city),
    // "28013 Madrid Madrid" is written "28013 Madrid"; and the state PR of Puerto Rico stands in the format already.
    S: given(
      formatOf(rules).includes(` ${address.state} `) || state?.toLowerCase() === city?.toLowerCase() ? null : state,
    ),
    // Where there are no postal codes, one that was given would only mislead whoever sorts the letters.
    Z: given(rules.postal ? address.postalCode : null),
  }
}

/** Where the family name comes first, names in Chinese characters or Hangul are written without a space. */
function nameText({ firstName, lastName }: AddressPreview, rules: CountryData): string | null {
  if (firstName === null || lastName === null) return firstName ?? lastName
  const own = NOT_LATIN.test(lastName)
  if (rules.familyFirst !== 'always' && !(rules.familyFirst === 'local' && own)) return `${firstName} ${lastName}`
  const together = !rules.spacedNames && /^[\p{Script=Han}\p{Script=Hangul}]+$/u.test(lastName + firstName)
  return together ? lastName + firstName : `${lastName} ${firstName}`
}

function stateText({ state, country }: AddressPreview, rules: CountryData, own: boolean): string | null {
  if (state === null || rules.print === 'code') return state
  const known = stateByCode(country, state)
  if (!known) return state
  if (rules.print === 'nothing') return null
  return own ? (known.localName ?? known.name) : known.name
}

const NOT_LATIN = /(?=\p{L})\P{Script=Latin}/u

/** Whether the place is written in letters that are not Latin: 東京, Москва, القاهرة. Without a place the name decides. */
function writtenInOwnScript({ addressLine1, addressLine2, city, firstName, lastName }: AddressPreview): boolean {
  const [place, name] = [
    [addressLine1, addressLine2, city],
    [firstName, lastName],
  ].map((texts) => texts.join(' ').trim())
  return NOT_LATIN.test(place || name || '')
}

/** One line of the format as lines of the label: %A gives one for each address line, and an empty line gives none. */
function fillLine(line: string, fields: Record<string, string[]>): string[] {
  const parts = line.split(/%([NOACSZcsz])/)
  if (parts.length === 1) return line === '' ? [] : [line]
  const lines: string[] = []
  let text = ''
  for (let i = 1; i < parts.length; i += 2) {
    const [first, ...more] = fields[(parts[i] as string).toUpperCase()] ?? []
    if (first === undefined) continue
    const before = parts[i - 1] as string
    // Punctuation between two fields is written when both are there; at the start of a line ("CH-", "〒") it belongs to
    // the field after it.
    text += text !== '' || i === 1 ? before + first : first
    for (const next of more) {
      lines.push(text)
      text = next
    }
  }
  return text === '' ? lines : [...lines, text]
}
