/**
 * The countries and their address rules, as generated into rules.json. A country is prepared when it is first asked
 * for and kept: preparing all of them at the start would cost more than most processes ever need.
 */
import { bareName, fold, foldSpeltOut } from './fold.ts'
import data from './rules.json' with { type: 'json' }

/** One country in rules.json. What is left out is empty, or has the value named here. */
export type CountryData = {
  alpha3: string
  name: string
  /** Its names in its own languages. */
  local?: string[]
  /** Other names it is known by, in English or its own languages. */
  alias?: string[]
  /** Those of A, C, S and Z that are required; AC if left out. */
  require?: string
  /**
   * The label: %N names, %O company, %A lines, %C city, %S state, %Z postal code, %n a new line. Every field is in it;
   * a small letter is one the country does not write itself, placed so that it is not lost.
   */
  format: string
  /** The label when the address is written in Latin letters, where that differs. */
  latin?: string
  /** Printed where the city stands when there is none: Singapore, Gibraltar. */
  place?: string
  labels?: { city?: string; state?: string; postalCode?: string }
  /** Family name first: always, or only when written in the country's own script. */
  familyFirst?: 'always' | 'local'
  /** One name is a whole name there. */
  mononyms?: boolean
  postal?: PostalData
  /** `code;name;local name;aliases;postal prefixes`, split by `|`; aliases split by `/`, prefixes (regular expressions) by `~`. */
  states?: string
  /** Only the states listed are states; elsewhere other text is kept as it was given. */
  closed?: boolean
  /** What the label prints for a state; the name if left out. */
  print?: 'code'
  /** Whether a postal code of another state is wrong for certain; left out, it is only unusual. */
  prefixes?: 'certain'
  /** For each state those across whose border its villages may be served: there a foreign code is only unusual. */
  borders?: Record<string, string>
  /** Postal codes that belong to a neighbour although this country's pattern has them: [pattern, country]. */
  neighbours?: [string, string][]
}

export type PostalData = {
  /** How the code is spelt: # digit, @ letter, * either; anything else stands for itself. */
  shapes: string[]
  /** Left out when the shape, digits only, says it all. */
  pattern?: string
  examples: string[]
  /** What people write before it and the code does not need: D-, CEP, 〒. */
  strip?: string[]
}

export type State = { code: string; name: string; localName: string | null; prefix: RegExp | null }

type Prepared = {
  states: Map<string, State>
  lookup: Map<string, State>
  bare: Map<string, State | null>
  pattern: RegExp | null
  neighbours: [RegExp, string][]
}

const rules = data as unknown as Record<string, CountryData>

/** The alpha-2 code for a code or name, or null. */
export function findCountry(text: string): string | null {
  const key = fold(text)
  if (key === '') return null
  return names().get(key) ?? names().get(key.replace(/^the/, '')) ?? null
}

/** The rules of a country known by its alpha-2 code. */
export function rulesOf(country: string): CountryData {
  const found = Object.hasOwn(rules, country) ? rules[country] : undefined
  if (!found) throw new Error(`no address rules for ${country}`)
  return found
}

/** Whether the country requires its city (C), state (S) or postal code (Z). */
export function needs({ require = 'AC' }: CountryData, field: 'C' | 'S' | 'Z'): boolean {
  return require.includes(field)
}

export function stateByCode(country: string, code: string): State | null {
  return prepare(country).states.get(code) ?? null
}

/** The state a text names within the country, or null. */
export function findState(country: string, text: string): State | null {
  const { lookup, bare } = prepare(country)
  const own = text.length > 3 && text.slice(0, 3).toUpperCase() === `${country}-` ? text.slice(3) : text
  return lookup.get(fold(own)) ?? bare.get(bareName(own)) ?? null
}

export function postalPattern(country: string): RegExp | null {
  return prepare(country).pattern
}

/** The states that have the postal code: one, as a rule. */
export function statesWithPostalCode(country: string, postalCode: string): State[] {
  return [...prepare(country).states.values()].filter(({ prefix }) => prefix?.test(postalCode))
}

/** The country a postal code belongs to although the pattern of this one lets it through, or null. */
export function neighbourOf(country: string, postalCode: string): string | null {
  return prepare(country).neighbours.find(([pattern]) => pattern.test(postalCode))?.[1] ?? null
}

let nameIndex: Map<string, string> | null = null

function names(): Map<string, string> {
  if (nameIndex) return nameIndex
  nameIndex = new Map()
  for (const [code, country] of Object.entries(rules)) {
    for (const name of [code, country.alpha3, country.name, ...(country.local ?? []), ...(country.alias ?? [])]) {
      for (const key of [fold(name), foldSpeltOut(name), fold(name).replace(/^the/, '')]) nameIndex.set(key, code)
    }
  }
  return nameIndex
}

const prepared = new Map<string, Prepared>()

function prepare(country: string): Prepared {
  const known = prepared.get(country)
  if (known) return known
  const { states = '', postal, neighbours = [] } = rulesOf(country)
  const made: Prepared = {
    states: new Map(),
    lookup: new Map(),
    bare: new Map(),
    pattern: postal ? new RegExp(`^(?:${patternOf(postal)})$`) : null,
    neighbours: neighbours.map(([pattern, other]) => [new RegExp(`^(?:${pattern})`), other]),
  }
  const rows = states === '' ? [] : states.split('|').map((row) => row.split(';'))
  for (const [code = '', name = '', localName = '', , prefix = ''] of rows) {
    const test = prefix === '' ? null : new RegExp(`^(?:${prefix.replaceAll('~', '|')})`)
    made.states.set(code, { code, name, localName: localName || null, prefix: test })
  }
  indexStates(made, rows)
  prepared.set(country, made)
  return made
}

/**
 * A code always means itself; then come names, then aliases, each in the file's order. Last come names without "province"
 * and the like, as far as they mean one state only. An alias that begins with = is taken as it stands: "City of London" is
 * a state, "London" is not.
 */
function indexStates({ states, lookup, bare }: Prepared, rows: string[][]): void {
  const byName = rows.flatMap(([code = '', name = '', localName = '']) =>
    [name, localName].map((text) => ({ code, text })),
  )
  const byAlias = rows.flatMap(([code = '', , , aliases = '']) => aliases.split('/').map((text) => ({ code, text })))
  for (const { code, text } of [...rows.map(([code = '']) => ({ code, text: code })), ...byName, ...byAlias]) {
    for (const key of [fold(text), foldSpeltOut(text)])
      if (key !== '' && !lookup.has(key)) lookup.set(key, states.get(code) as State)
  }
  for (const entries of [byName, byAlias.filter(({ text }) => !text.startsWith('='))]) {
    const found = new Map<string, State | null>()
    for (const { code, text } of entries) {
      const key = bareName(text)
      found.set(
        key,
        (found.get(key)?.code ?? code) === code && found.get(key) !== null ? (states.get(code) as State) : null,
      )
    }
    for (const [key, state] of found) if (key !== '' && !bare.has(key)) bare.set(key, state)
  }
}

function patternOf({ shapes, pattern }: PostalData): string {
  return pattern ?? `\\d{${shapes[0]?.length}}`
}

/** What `GET /v1/countries` lists. */
export type CountrySummary = { code: string; alpha3: string; name: string; localNames: string[] }

/** What `GET /v1/countries/{code}` answers: the rules the validator itself goes by. */
export type CountryRules = CountrySummary & {
  /** In the order the country writes them. */
  fields: CountryField[]
  /** At least one of each list must be given. */
  requireOneOf: string[][]
  /** Whether the label puts the family name first. */
  familyNameFirst: boolean
  /** Whether one name is commonly a whole name there. */
  mononyms: boolean
  subdivisions: { code: string; name: string; localName?: string }[]
}

type CountryField = { name: string; label: string; required: boolean; pattern?: string; example?: string }

export function listCountries(): CountrySummary[] {
  return Object.keys(rules)
    .map(summary)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The rules of a country by its code, or null when there is no such code. */
export function countryRules(code: string): CountryRules | null {
  const country = code.toUpperCase()
  if (!Object.hasOwn(rules, country)) return null
  const { familyFirst, mononyms = false } = rulesOf(country)
  return {
    ...summary(country),
    fields: fieldsOf(country),
    requireOneOf: [['firstName', 'lastName']],
    familyNameFirst: familyFirst !== undefined,
    mononyms,
    subdivisions: [...prepare(country).states.values()].map(({ code, name, localName }) => ({
      code,
      name,
      ...(localName && { localName }),
    })),
  }
}

function summary(code: string): CountrySummary {
  const { alpha3, name, local = [] } = rulesOf(code)
  return { code, alpha3, name, localNames: local }
}

function fieldsOf(country: string): CountryField[] {
  const data = rulesOf(country)
  const names = [
    { name: 'firstName', label: 'First name', required: false },
    { name: 'lastName', label: 'Last name', required: false },
  ]
  const byLetter: Record<string, CountryField[]> = {
    N: data.familyFirst ? names.toReversed() : names,
    O: [{ name: 'company', label: 'Company', required: false }],
    A: [
      { name: 'addressLine1', label: 'Address', required: true },
      { name: 'addressLine2', label: 'Address, second line', required: false },
    ],
    C: [{ name: 'city', label: data.labels?.city ?? 'City', required: needs(data, 'C') }],
    S: [{ name: 'state', label: data.labels?.state ?? 'State', required: needs(data, 'S') }],
    Z: [postalField(data)],
  }
  const written = [...data.format.matchAll(/%([NOACSZ])/g)].flatMap(([, letter]) => byLetter[letter ?? ''] ?? [])
  return [
    ...written,
    { name: 'country', label: 'Country', required: true },
    { name: 'taxId', label: 'Tax number', required: false },
    { name: 'phone', label: 'Phone', required: false },
  ]
}

function postalField(data: CountryData): CountryField {
  const field = { name: 'postalCode', label: data.labels?.postalCode ?? 'Postal code', required: needs(data, 'Z') }
  if (!data.postal) return field
  return {
    ...field,
    pattern: `^(?:${patternOf(data.postal)})$`,
    ...(data.postal.examples[0] && { example: data.postal.examples[0] }),
  }
}
