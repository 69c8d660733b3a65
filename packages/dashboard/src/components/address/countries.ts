// The countries and their rules, from the service; and finding one, or one of its states, by whatever it is called.

import type { Country, CountrySummary, Subdivision } from '@storekeeper/client'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'

export function useCountries() {
  return useRead(['countries'], async (options) => (await sk.countries.list(options)).data)
}

export function useCountry(code: string) {
  return useRead(['countries', code], (options) => sk.countries.read(code, options), { enabled: code !== '' })
}

/** The region that the browser is set to, or the likeliest one of its language. */
export function regionOfBrowser(): string {
  const locales = navigator.languages.map((language) => new Intl.Locale(language))
  const named = locales.find(({ region }) => region)?.region
  return named ?? locales[0]?.maximize().region ?? ''
}

/** Without case, accents and everything that is no letter or digit. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
}

let localized: Intl.DisplayNames | undefined

/** In English, in the languages of the country, and in that of the browser. */
function namesOf({ code, name, localNames }: CountrySummary): string[] {
  localized ??= new Intl.DisplayNames(navigator.language, { type: 'region' })
  return [name, ...localNames, localized.of(code) ?? name]
}

/** Those that a search finds: a code first, then names that begin with it, then names that contain it. */
export function searchCountries<Item extends CountrySummary>(countries: readonly Item[], search: string): Item[] {
  const wanted = fold(search)
  if (wanted === '') return [...countries]
  const rank = (country: Item) => {
    const names = namesOf(country).map(fold)
    if ([country.code, country.alpha3].some((code) => fold(code) === wanted)) return 0
    if (names.some((name) => name.startsWith(wanted))) return 1
    return names.some((name) => name.includes(wanted)) ? 2 : null
  }
  return countries
    .map((country) => ({ country, rank: rank(country) }))
    .filter((found): found is { country: Item; rank: 0 | 1 | 2 } => found.rank !== null)
    .sort((a, b) => a.rank - b.rank)
    .map(({ country }) => country)
}

/** By code, with or without the country's, by name, or by another name that is accepted. */
export function findState({ code: country, subdivisions }: Country, text: string): Subdivision | null {
  const wanted = fold(text)
  if (wanted === '') return null
  const names = ({ code, name, localName = '', aliases }: Subdivision) => [
    [code, `${country}${code}`],
    [name, localName],
    aliases,
  ]
  for (const kind of [0, 1, 2]) {
    const found = subdivisions.find((state) => names(state)[kind]?.some((name) => fold(name) === wanted))
    if (found) return found
  }
  return null
}
