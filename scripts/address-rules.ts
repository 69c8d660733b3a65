/**
 * Makes src/billing/countries/rules.json: the address rules of every country in one file.
 *
 *   npm run rules                               writes the file and docs/countries.md, and prints what changed
 *   npx tsx scripts/address-rules.ts --check    writes nothing, and fails when the file is not what it would write
 *                                --against FILE  prints what changed against another file
 *
 * Three sources, each overruling the one before: Google's address metadata (google-metadata.json) for formats,
 * required fields and postal codes; ISO 3166 for the countries and their subdivisions; address-overlay/ for what they have
 * wrong or leave out. Anything unexpected stops the run: a line that quietly does nothing is worse.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { iso31661, iso31662 } from 'iso-3166'
import { coreName, nameKey } from '../src/billing/address/name-key.ts'
import { type CountryData, formatOf, LABEL_HEAD, type PostalData } from '../src/billing/countries/countries.ts'
import { type Correction, VERBATIM } from './address-overlay/correction.ts'
import { formats } from './address-overlay/formats.ts'
import { countryNames, LANGUAGES, WITH_ARTICLE } from './address-overlay/names.ts'
import { postal } from './address-overlay/postal.ts'
import { postalRanges } from './address-overlay/postal-ranges.ts'
import { stateNames } from './address-overlay/state-names.ts'
import { states } from './address-overlay/states.ts'

const TARGET = fileURLToPath(new URL('../src/billing/countries/rules.json', import.meta.url))
const MAX_BYTES = 160_000
const OVERLAY: Correction[] = [...postal, ...postalRanges, ...formats, ...states]
const STATE_PARTS = ['code', 'name', 'local name', 'aliases', 'postal codes']

type GoogleRegion = {
  key: string
  name: { default: string; latin?: string; [language: string]: string | undefined }
  zip?: string
}
type GoogleCountry = {
  fmt?: string
  lfmt?: string
  require?: string
  zip?: string
  zipex?: string
  postprefix?: string
  state_name_type?: string
  locality_name_type?: string
  zip_name_type?: string
  sub_regions?: GoogleRegion[]
}
type State = { code: string; name: string; local: string; aliases: string[]; prefix: string }

const require = createRequire(import.meta.url)
const parseStrictJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const googleMetadata: Record<string, GoogleCountry> = parseStrictJson(
  fileURLToPath(new URL('google-metadata.json', import.meta.url)),
)
const stop = (why: string): never => {
  throw new Error(`address rules: ${why}`)
}

const against = process.argv.includes('--against') ? process.argv[process.argv.indexOf('--against') + 1] : undefined
const next = writeRules(Object.fromEntries(allCountries().map((code) => [code, makeCountry(code)])))
const before = existsSync(against ?? TARGET) ? readFileSync(against ?? TARGET, 'utf8') : '{}'
report(before, next)
if (process.argv.includes('--check')) process.exitCode = before === next ? 0 : 1
else writeFileSync(TARGET, next)

/** The countries of ISO 3166-1, and Kosovo under the code everyone uses for it. */
function allCountries(): string[] {
  return [...iso31661.map((country) => country.alpha2), 'XK'].sort()
}

function makeCountry(code: string): CountryData {
  const google = googleMetadata[code] ?? stop(`${code} is not in google-metadata.json`)
  const line = linesOf(code)
  const ownFormat = line.format ?? normalizeText(google.fmt ?? '%N%n%O%n%A%n%C')
  const ownLatin = line.latin ?? (google.lfmt ? normalizeText(google.lfmt) : undefined)
  const postal = makePostal(code, google, line)
  const states = makeStates(code, google, line)
  const format = complete(code, ownFormat)
  const latin = ownLatin && complete(code, ownLatin)
  const required = [...(line.require ?? google.require ?? 'AC')].filter((field) => 'ACSZ'.includes(field)).join('')
  for (const field of required)
    if (!format.includes(`%${field}`)) stop(`${code} requires ${field} and does not write it`)
  const labels = makeLabels(google, line)
  return {
    alpha3: iso31661.find(({ alpha2 }) => alpha2 === code)?.alpha3 ?? 'XKX',
    ...makeNames(code),
    ...(WITH_ARTICLE.has(code) ? { article: true } : {}),
    ...(required === 'AC' ? {} : { require: required }),
    ...(format === formatOf(postal ? { postal } : {}) ? {} : { format: withoutHead(format) }),
    ...(latin && latin !== format ? { latin: withoutHead(latin) } : {}),
    ...(Object.keys(labels).length ? { labels } : {}),
    ...(postal ? { postal } : {}),
    ...(states.length ? { states: states.map(stateRow).join('|') } : {}),
    ...((line.closed ?? google.sub_regions) ? { closed: true } : {}),
    ...Object.fromEntries(VERBATIM.flatMap((rule) => (line[rule] === undefined ? [] : [[rule, line[rule]]]))),
  }
}

/** All lines of a country as one; each member from the last line that has it. */
function linesOf(code: string): Partial<Correction> {
  const lines = OVERLAY.filter(({ country }) => country.split(' ').includes(code))
  for (const { country, source } of lines) if (!source) stop(`a line of ${country} has no source`)
  return Object.assign({}, ...lines)
}

/**
 * Neighbourhoods (%D) belong to our second address line, sorting codes (%X) to the city; literal lines are the country's
 * name.
 */
function normalizeText(format: string): string {
  return format
    .replaceAll(/,? ?%[DX],? ?(?=%n|$)|%[DX],? ?/g, '')
    .split('%n')
    .filter((line) => /%[NOACSZ]/.test(line))
    .map((line) => line.trim())
    .join('%n')
}

/**
 * A field that was given is never lost: what the country does not write comes, as a small letter, where a reader looks for
 * it.
 */
function complete(code: string, format: string): string {
  let all = format
  if (!/%c/i.test(all)) all = all.includes('%S') ? all.replace('%S', '%c, %S') : `${all}%n%c`
  if (!/%z/i.test(all)) all = all.replace(/(?=%c)/i, '%z ')
  if (!/%s/i.test(all)) all = all.includes('%C%n%Z') ? all.replace('%C%n%Z', '%C%n%s%n%Z') : `${all}%n%s`
  const fields = [...all.matchAll(/%([NOACSZcsz])/g)].map(([, field]) => field?.toUpperCase()).sort()
  if (fields.join('') !== 'ACNOSZ') stop(`${code}: ${all} does not have each field once`)
  return all
}

function withoutHead(format: string): string {
  return format.startsWith(LABEL_HEAD) ? format.slice(LABEL_HEAD.length) : format
}

function makeLabels(google: GoogleCountry, line: Partial<Correction>): NonNullable<CountryData['labels']> {
  const words = (type: string | undefined, known: Record<string, string>) =>
    type === undefined ? undefined : (known[type] ?? type.charAt(0).toUpperCase() + type.slice(1).replaceAll('_', ' '))
  const city = words(google.locality_name_type, {})
  const state = words(google.state_name_type ?? (google.fmt?.includes('%S') ? 'province' : undefined), {
    do_si: 'Do/si',
  })
  const postalCode = words(google.zip_name_type, { zip: 'ZIP code', pin: 'PIN code' })
  return { ...(city && { city }), ...(state && { state }), ...(postalCode && { postalCode }), ...line.labels }
}

function makePostal(code: string, google: GoogleCountry, line: Partial<Correction>): PostalData | null {
  if (line.postal === null || (!line.postal && !google.zip)) return null
  const given = line.postal ?? {}
  const pattern =
    given.pattern ??
    google.zip?.replaceAll('(?:^|\\b)', '').replaceAll('(?:$|\\b)', '') ??
    stop(`${code} has no postal pattern`)
  const shapes = given.shapes ?? plainShapes(pattern) ?? stop(`${code} needs shapes for ${pattern}`)
  const examples = given.examples ?? google.zipex?.split(',').slice(0, 1) ?? []
  if (examples.length === 0) stop(`${code} has no example of a postal code`)
  const strip = [...new Set([google.postprefix?.replaceAll(/[^A-Z]/g, '') ?? '', ...(given.strip ?? [])])].filter(
    (text) => text && text !== code,
  )
  return {
    shapes,
    ...(plainShapes(pattern)?.join() === shapes.join() ? {} : { pattern }),
    examples,
    ...(strip.length ? { strip } : {}),
    ...(given.recommended ? { recommended: true } : {}),
  }
}

/** Digits only, of one length: most of the world. */
function plainShapes(pattern: string): string[] | null {
  const only = /^(?:\\d\{(\d)\})$/.exec(pattern)
  return only ? ['#'.repeat(Number(only[1]))] : null
}

function makeNames(code: string): { name: string; local?: string[]; alias?: string[] } {
  const names = countryNames[code]
  const inLanguage = (language: string): string[] =>
    [parseStrictJson(require.resolve(`i18n-iso-countries/langs/${language}.json`)).countries[code] ?? []]
      .flat()
      .filter((name) => !names?.not?.includes(name))
  const english = inLanguage('en')
  const name = names?.name ?? english[0] ?? stop(`${code} has no name`)
  const spoken = (LANGUAGES[code] ?? stop(`${code} has no languages`))
    .split(' ')
    .filter((language) => language !== 'en')
  const known = spoken.map((language) => inLanguage(language)).filter((found) => found.length > 0)
  const local = distinct([...(names?.local ?? []), ...known.map((found) => found[0] as string)], [])
  const iso = iso31661.find(({ alpha2 }) => alpha2 === code)?.name
  const alias = distinct(
    [...english, ...(iso ? [iso] : []), ...known.flatMap((found) => found.slice(1)), ...(names?.alias ?? [])],
    [name, code, ...local],
  )
  return { name, ...(local.length ? { local } : {}), ...(alias.length ? { alias } : {}) }
}

function distinct(texts: string[], taken: string[]): string[] {
  const keys = new Set(taken.map(nameKey))
  return texts.filter((text) => !keys.has(nameKey(text)) && keys.add(nameKey(text)))
}

function makeStates(code: string, google: GoogleCountry, line: Partial<Correction>): State[] {
  const states = new Map<string, State>()
  const listed = google.sub_regions ?? []
  const isoCode = (region: GoogleRegion) => line.stateKeys?.[region.key] ?? region.key
  // What Google lists is what the post writes: it comes first, and so wins where two subdivisions share a name.
  for (const region of line.withoutGoogleStates ? [] : listed) {
    const { default: own, latin, ...others } = region.name
    const name = (latin ?? (/\p{Script=Latin}/u.test(own) ? own : region.key)).replace(
      / (?:Province|Governorate|District)$/,
      '',
    )
    states.set(isoCode(region), {
      code: isoCode(region),
      name,
      local: own === name ? '' : own.replace(/^(?:จังหวัด|استان) ?/, ''),
      aliases: [...Object.values(others).map(String), ...(isoCode(region) === region.key ? [] : [region.key])],
      prefix: region.zip?.replace(/^CP /, '') ?? '', // El Salvador, whose codes the overlay has without it
    })
  }
  for (const { code: full, name, parent } of iso31662.filter(({ code: full }) => full.startsWith(`${code}-`))) {
    const short = full.slice(3)
    if (line.withoutStates?.split(' ').includes(short)) continue
    if (line.onlyStates === 'first level' ? parent !== code : line.onlyStates?.test(short) === false) continue
    const known = states.get(short)
    const plain = name.replace(/ \((?:[a-z, ]+|EH.*)\)$/, '')
    if (known) known.aliases.push(plain)
    else states.set(short, { code: short, name: plain, local: '', aliases: [], prefix: '' })
  }
  for (const [short, [name = '', ...aliases]] of Object.entries(stateNames[code] ?? {})) {
    if (short.startsWith('+') === states.has(short.replace('+', '')))
      stop(`${code}-${short} is ${short.startsWith('+') ? 'known' : 'unknown'}`)
    const known = states.get(short) ?? { code: short.slice(1), name, local: '', aliases: [], prefix: '' }
    if (name !== '') known.aliases.push(known.name)
    known.name = name || known.name
    known.aliases.push(...aliases)
    states.set(known.code, known)
  }
  for (const [short, prefix] of Object.entries(line.statePrefixes ?? {}))
    (states.get(short) ?? stop(`${code}-${short} is unknown`)).prefix = prefix
  const keys = [...states.values()].map(({ name }) => coreName(name))
  for (const state of states.values()) {
    // An alias that differs from the name only by the kind of place is found without being listed.
    const found = [state.name, state.local]
      .map(coreName)
      .filter((key) => key !== '' && keys.filter((other) => other === key).length < 2)
    state.aliases = distinct(
      state.aliases.sort((a, b) => Number(b.startsWith('=')) - Number(a.startsWith('='))),
      [state.name, state.local, state.code],
    ).filter((alias) => alias.startsWith('=') || !found.includes(coreName(alias)))
  }
  for (const state of states.values()) state.aliases = withoutEqual(state, [...states.values()])
  return [...states.values()]
}

/** Of aliases with the same core name only the shortest is kept, unless another state has that core name too. */
function withoutEqual(state: State, states: State[]): string[] {
  const others = states.filter((other) => other !== state)
  const elsewhere = new Set(others.flatMap(({ name, local, aliases }) => [name, local, ...aliases].map(coreName)))
  const stands = (alias: string) => /^=|[äöüåøæ]/i.test(alias) || elsewhere.has(coreName(alias))
  return state.aliases.filter((alias) => {
    const equal = state.aliases.filter((other) => !stands(other) && coreName(other) === coreName(alias))
    return stands(alias) || alias === equal.sort((a, b) => a.length - b.length)[0]
  })
}

function stateRow({ code, name, local, aliases, prefix }: State): string {
  const parts = [
    code,
    name,
    local,
    aliases.map((alias) => alias.replaceAll('/', ' ')).join('/'),
    prefix.replaceAll('|', '~'),
  ]
  if (parts.some((part) => /[;|]/.test(part))) stop(`${code} ${name} holds a semicolon or a bar`)
  return parts.join(';').replace(/;+$/, '')
}

/** One country a line, so that a change can be read. */
function writeRules(rules: Record<string, CountryData>): string {
  checkNames(rules)
  const lines = Object.entries(rules).map(([code, country]) => `${JSON.stringify(code)}: ${JSON.stringify(country)}`)
  const text = `{\n${lines.join(',\n')}\n}\n`
  if (Buffer.byteLength(text) > MAX_BYTES) stop(`the file has grown to ${Buffer.byteLength(text)} bytes`)
  return text
}

function checkNames(rules: Record<string, CountryData>): void {
  const owner = new Map<string, string>()
  const clashes: string[] = []
  for (const [code, { alpha3, name, local = [], alias = [] }] of Object.entries(rules)) {
    for (const key of new Set([code, alpha3, name, ...local, ...alias].map(nameKey))) {
      if (owner.has(key)) clashes.push(`${key} names both ${owner.get(key)} and ${code}`)
      owner.set(key, code)
    }
  }
  if (clashes.length > 0) stop(clashes.join('; '))
}

type Rules = Record<string, Record<string, unknown>>

/** What changed, in words: a line for each country and field, and one for each state. */
function report(before: string, next: string): void {
  const [old, now]: [Rules, Rules] = [JSON.parse(before), JSON.parse(next)]
  for (const code of Object.keys({ ...old, ...now }).sort()) {
    const [was, is] = [old[code], now[code]]
    const name = `${code} ${(is ?? was)?.name}`
    if (!was || !is) console.log(`${name}: ${is ? 'new' : 'gone'}`)
    else for (const change of changesOf(was, is)) console.log(`${name}: ${change}`)
  }
  console.log(`${Object.keys(now).length} countries, ${Buffer.byteLength(next)} bytes`)
}

function changesOf(was: Rules[string], is: Rules[string]): string[] {
  return Object.keys({ ...was, ...is }).flatMap((field) => {
    if (JSON.stringify(was[field]) === JSON.stringify(is[field])) return []
    if (field === 'states') return stateChanges(String(was[field] ?? ''), String(is[field] ?? ''))
    return [`${field} ${said(was[field])} → ${said(is[field])}`]
  })
}

function stateChanges(was: string, is: string): string[] {
  const [old, now] = [was, is].map(
    (text) => new Map(text.split('|').map((row) => [row.split(';', 1)[0] as string, row.split(';')])),
  ) as [Map<string, string[]>, Map<string, string[]>]
  const changes = [...new Set([...old.keys(), ...now.keys()])].filter(Boolean).flatMap((code) => {
    const [before, after] = [old.get(code), now.get(code)]
    if (!before || !after) return [`state ${code} ${(after ?? before)?.[1]} ${after ? 'new' : 'gone'}`]
    return STATE_PARTS.flatMap((part, i) =>
      (before[i] ?? '') === (after[i] ?? '')
        ? []
        : [`state ${code} ${after[1]}, ${part} ${said(before[i] || undefined)} → ${said(after[i] || undefined)}`],
    )
  })
  return changes.length > 0 ? changes : ['states in another order']
}

function said(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value)
}
