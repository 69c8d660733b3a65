/**
 * The label of an address as its country writes it. The order comes from rules.json; a line in which nothing is left
 * is dropped, and so is the punctuation around a field that is not there.
 */
import { type CountryData, rulesOf, stateByCode } from './countries.ts'
import { fold } from './fold.ts'
import type { NormalAddress } from './normalize.ts'

export function formatAddress(address: NormalAddress): string[] {
  const rules = rulesOf(address.country)
  const own = writtenInOwnScript(address)
  const fields = labelFields(address, rules, own)
  const template = own ? rules.format : (rules.latin ?? rules.format)
  return [...template.split('%n').flatMap((line) => fillLine(line, fields)), rules.name.toUpperCase()]
}

function labelFields(address: NormalAddress, rules: CountryData, own: boolean): Record<string, string[]> {
  const given = (...values: (string | null)[]) => values.filter((value) => value !== null && value !== '') as string[]
  const city = address.city ?? rules.place ?? null
  const state = stateText(address, rules, own)
  return {
    N: given(nameText(address, rules, own)),
    O: given(address.company),
    A: given(address.addressLine1, address.addressLine2),
    C: given(city),
    // "28013 Madrid Madrid" is written "28013 Madrid"; and the state PR of Puerto Rico stands in the format already.
    S: given(address.state === address.country || (state !== null && fold(state) === fold(city ?? '')) ? null : state),
    Z: given(address.postalCode),
  }
}

function nameText({ firstName, lastName }: NormalAddress, rules: CountryData, own: boolean): string | null {
  if (firstName === null || lastName === null) return firstName ?? lastName
  const familyFirst = rules.familyFirst === 'always' || (rules.familyFirst === 'local' && own)
  return familyFirst ? `${lastName} ${firstName}` : `${firstName} ${lastName}`
}

function stateText({ state, country }: NormalAddress, rules: CountryData, own: boolean): string | null {
  if (state === null || rules.print === 'code') return state
  const known = stateByCode(country, state)
  if (!known) return state
  return own ? (known.localName ?? known.name) : known.name
}

/** Whether the place is written in letters that are not Latin: 東京, Москва, القاهرة. */
function writtenInOwnScript({ addressLine1, addressLine2, city }: NormalAddress): boolean {
  return /(?=\p{L})\P{Script=Latin}/u.test(`${addressLine1} ${addressLine2 ?? ''} ${city ?? ''}`)
}

/** A line may become several, as address lines are two fields under one letter, and none when it is empty. */
function fillLine(line: string, fields: Record<string, string[]>): string[] {
  const parts = line.split(/%([NOACSZcsz])/)
  if (parts.length === 1) return line === '' ? [] : [line]
  const lines: string[] = []
  let text = ''
  for (let i = 1; i < parts.length; i += 2) {
    const [first, ...more] = fields[(parts[i] as string).toUpperCase()] ?? []
    if (first === undefined) continue
    const before = parts[i - 1] as string
    // What stands between two fields needs both; what begins a line ("CH-", "〒") belongs to the field after it.
    text += text !== '' || i === 1 ? before + first : first
    for (const next of more) {
      lines.push(text)
      text = next
    }
  }
  return text === '' ? lines : [...lines, text]
}
