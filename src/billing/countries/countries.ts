/**
 * The countries and their address rules, as generated into rules.json. A country is prepared when it is first asked
 * for and kept: preparing all of them at the start would cost more than most processes ever need.
 */
import { coreName, nameKey, nameKeySpeltOut } from '../address/name-key.ts'
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
  /** A state will do in place of a required city: "Kowloon" is enough. */
  cityOrState?: true
  /**
   * The label: %N names, %O company, %A lines, %C city, %S state, %Z postal code, %n a new line. Every field is in it;
   * a small letter is one the country does not write itself, placed so that it is not lost. One without %A is what follows
   * names, company and lines. Left out, it is the one most countries have: `formatOf`.
   */
  format?: string
  /** The label when the address is written in Latin letters, where that differs. */
  latin?: string
  /** Printed where the city stands when there is none: Singapore, Gibraltar. */
  place?: string
  labels?: { city?: string; state?: string; postalCode?: string }
  /** Family name first: always, or only when written in the country's own script. */
  familyFirst?: 'always' | 'local'
  /** Names in Chinese characters or Hangul have a blank between family and given name; elsewhere they are written in one. */
  spacedNames?: true
  /** One name is a whole name there. */
  mononyms?: true
  /** Its name takes an article within a sentence: in the Netherlands. */
  article?: true
  postal?: PostalData
  /**
   * `code;name;local name;aliases;postal prefixes`, split by `|`; aliases split by `/`, prefixes (regular expressions) by
   * `~`.
   */
  states?: string
  /** Only the states listed are states; elsewhere other text is kept as it was given. */
  closed?: boolean
  /**
   * Where no state is given, it is found by the name of the city: for all states, or only for those listed. Left out: for
   * all where the state is required, for none elsewhere.
   */
  cityStates?: 'all' | string[]
  /** The name of the country, written as the city, stands for no state, though a state has that name too. */
  countryAsCity?: true
  /** What the label prints for a state; the name if left out. `nothing`: letters there never carry it. */
  print?: 'code' | 'nothing'
  /** Whether a postal code of another state is wrong for certain; left out, it is only unusual. */
  prefixes?: 'certain'
  /** For each state those across whose border its villages may be served: there a foreign code is only unusual. */
  borders?: Record<string, string>
  /** Postal codes that belong to a neighbour although this country's pattern has them: [pattern, country]. */
  neighbours?: [string, string][]
  /** Abbreviations, as a regular expression, that mean a post-office box here when a number follows. */
  poBox?: string
  /** The neighbour whose phone numbers people have here: they get no warning. */
  phoneOf?: string
  /** Codes that libphonenumber has for parts of this country. */
  phoneRegions?: string[]
}

export type PostalData = {
  /** How the code is spelt: # digit, @ letter, * either; anything else stands for itself. */
  shapes: string[]
  /** Left out when the shape, digits only, says it all. */
  pattern?: string
  examples: string[]
  /** What people write before it and the code does not need: D-, CEP, 〒. */
  strip?: string[]
  /** An address without one is accepted with a warning. */
  recommended?: true
}

export type State = { code: string; name: string; localName: string | null; prefix: RegExp | null }

type PreparedRules = {
  states: Map<string, State>
  byName: Map<string, State>
  byCoreName: Map<string, State | null>
  pattern: RegExp | null
  neighbours: [RegExp, string][]
  poBox: RegExp | null
}

const rules = data as unknown as Record<string, CountryData>

/** Every country by its alpha-2 code. */
export function countryCodes(): string[] {
  return Object.keys(rules)
}

/** The alpha-2 code for a code or name, or null. */
export function findCountry(text: string): string | null {
  const key = nameKey(text)
  if (key === '') return null
  return names().get(key) ?? names().get(key.replace(OFFICIAL, '')) ?? null
}

/** Every key that names a country: codes, names and aliases. */
export function countryKeys(): { key: string; country: string }[] {
  return [...names()].map(([key, country]) => ({ key, country }))
}

/** "Republic of …" may be left out or added. Names that would be ambiguous without it stand in rules.json in full. */
const OFFICIAL = /^(?:the)?(?:(?:republic|kingdom)of(?:the)?(?=.{4})|جمهورية|مملكة|سلطنة|دولة)?/

/** The rules of a country known by its alpha-2 code. */
export function rulesOf(country: string): CountryData {
  const found = Object.hasOwn(rules, country) ? rules[country] : undefined
  if (!found) throw new Error(`no address rules for ${country}`)
  return found
}

/** What the label of most countries begins with. */
export const LABEL_HEAD = '%N%n%O%n%A%n'

/** The label of the country, or the one that most have: postal code and city on a line. */
export function formatOf({ format, postal }: Pick<CountryData, 'format' | 'postal'>): string {
  return wholeFormat(format ?? (postal ? '%Z %C%n%s' : '%z %C%n%s'))
}

/** The label of an address that is written in Latin letters. */
export function latinFormatOf(rules: CountryData): string {
  return rules.latin ? wholeFormat(rules.latin) : formatOf(rules)
}

function wholeFormat(format: string): string {
  return format.includes('%A') ? format : LABEL_HEAD + format
}

/** Whether the country requires its city (C), state (S) or postal code (Z). */
export function requiresField({ require = 'AC' }: CountryData, field: 'C' | 'S' | 'Z'): boolean {
  return require.includes(field)
}

export function stateByCode(country: string, code: string): State | null {
  return prepare(country).states.get(code) ?? null
}

/** The state a text names within the country, or null. "Dublin 4" and "Кемеровская область - Кузбасс" name theirs first. */
export function findState(country: string, text: string): State | null {
  const { byName, byCoreName } = prepare(country)
  const own = text.length > 3 && text.slice(0, 3).toUpperCase() === `${country}-` ? text.slice(3) : text
  const first = own.replace(/ (?:[-–—] .*|\d+[A-Z]?)$/i, '')
  return byName.get(nameKey(own)) ?? byCoreName.get(coreName(own)) ?? byCoreName.get(coreName(first)) ?? null
}

/** Every key that names a state of the country: codes, names and aliases, and names without the kind of place. */
export function stateKeys(country: string): { key: string; state: State }[] {
  const { byName, byCoreName } = prepare(country)
  return [...byName, ...byCoreName].flatMap(([key, state]) => (state ? [{ key, state }] : []))
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

/** Matches the country's own abbreviations of a post-office box. */
export function poBoxPattern(country: string): RegExp | null {
  return prepare(country).poBox
}

let phoneRegionIndex: Map<string, string> | null = null

/** The country that a region of libphonenumber belongs to: itself, as a rule. */
export function countryOfPhoneRegion(region: string): string {
  phoneRegionIndex ??= new Map(
    Object.entries(rules).flatMap(([code, { phoneRegions = [] }]) => phoneRegions.map((part) => [part, code])),
  )
  return phoneRegionIndex.get(region) ?? region
}

let nameIndex: Map<string, string> | null = null

function names(): Map<string, string> {
  if (nameIndex) return nameIndex
  nameIndex = new Map()
  for (const [code, country] of Object.entries(rules)) {
    for (const name of [code, country.alpha3, country.name, ...(country.local ?? []), ...(country.alias ?? [])]) {
      for (const key of [nameKey(name), nameKeySpeltOut(name), nameKey(name).replace(/^the/, '')])
        nameIndex.set(key, code)
    }
  }
  return nameIndex
}

const prepared = new Map<string, PreparedRules>()

function prepare(country: string): PreparedRules {
  const known = prepared.get(country)
  if (known) return known
  const { postal, neighbours = [], poBox } = rulesOf(country)
  const made: PreparedRules = {
    states: new Map(),
    byName: new Map(),
    byCoreName: new Map(),
    pattern: postal ? new RegExp(`^(?:${patternOf(postal)})$`) : null,
    neighbours: neighbours.map(([pattern, other]) => [new RegExp(`^(?:${pattern})`), other]),
    poBox: poBox ? new RegExp(`(?<![\\p{L}\\p{N}])(?:${poBox})\\.?(?= ?\\d)`, 'iu') : null,
  }
  const rows = stateRows(country)
  for (const { code, name, localName, prefix } of rows) {
    const test = prefix === '' ? null : new RegExp(`^(?:${prefix.replaceAll('~', '|')})`)
    made.states.set(code, { code, name, localName: localName || null, prefix: test })
  }
  indexStates(made, rows)
  prepared.set(country, made)
  return made
}

type StateRow = { code: string; name: string; localName: string; aliases: string[]; prefix: string }

/** The states as they stand in the file. */
export function stateRows(country: string): StateRow[] {
  const { states = '' } = rulesOf(country)
  if (states === '') return []
  return states.split('|').map((row) => {
    const [code = '', name = '', localName = '', aliases = '', prefix = ''] = row.split(';')
    return { code, name, localName, aliases: aliases === '' ? [] : aliases.split('/'), prefix }
  })
}

/**
 * A code always means itself; then come names, then aliases, each in the file's order. Last come names without "province"
 * and the like, as far as they mean one state only. An alias that begins with = is taken as it stands: "City of London" is
 * a state, "London" is not.
 */
function indexStates({ states, byName, byCoreName }: PreparedRules, rows: StateRow[]): void {
  const names = rows.flatMap(({ code, name, localName }) => [name, localName].map((text) => ({ code, text })))
  const aliases = rows.flatMap(({ code, aliases }) => aliases.map((text) => ({ code, text })))
  for (const { code, text } of [...rows.map(({ code }) => ({ code, text: code })), ...names, ...aliases]) {
    for (const key of [nameKey(text), nameKeySpeltOut(text)])
      if (key !== '' && !byName.has(key)) byName.set(key, states.get(code) as State)
  }
  for (const entries of [names, aliases.filter(({ text }) => !text.startsWith('='))]) {
    const found = new Map<string, State | null>()
    for (const { code, text } of entries) {
      const key = coreName(text)
      found.set(
        key,
        (found.get(key)?.code ?? code) === code && found.get(key) !== null ? (states.get(code) as State) : null,
      )
    }
    for (const [key, state] of found) if (key !== '' && !byCoreName.has(key)) byCoreName.set(key, state)
  }
}

function patternOf({ shapes, pattern }: PostalData): string {
  return pattern ?? `\\d{${shapes[0]?.length}}`
}
