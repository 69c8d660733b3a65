import { normalForm } from '../../core/unicode.ts'

/**
 * One key for all the ways to write a name: case, accents, NFC or NFD, punctuation and spaces do not count.
 * "Côte d’Ivoire", "COTE D'IVOIRE" and "cote divoire" are the same key. The generator of rules.json uses it too,
 * so that what it checks for clashes is what the lookup will see.
 */
export function nameKey(text: string): string {
  return /^[a-z0-9]*$/.test(text) ? text : strip(text.replaceAll('&', ' and '))
}

/** The same with German and Nordic letters written out: "Baden-Wuerttemberg", "Oesterreich", "Aarhus". */
export function nameKeySpeltOut(text: string): string {
  return nameKey(text.replace(/[äöüåøæ]/gi, (letter) => SPELT_OUT[letter.toLowerCase()] ?? letter))
}

/** Words for the kind of place, without marks as coreName compares them: край has no breve here. */
const KINDS = new Set(
  (
    'province prov provincia provincie provinz provinsi propinsi pcia state estado etat region regione comunidad prefecture county co contae baile comte ' +
    'governorate muhafazat department dept departamento dpto depto departement departament district distrito canton kanton cantone land oblast oblasti ' +
    'oblasts voblasts oblysy obl kray krai respublika republits republic okrug voivodeship wojewodztwo judetul judet jud zupanija megye varmegye kraj lan fylke apskritis ' +
    'maakond emirate island islands ilha territory parish sheng shi zizhiqu do si gun ken fu to changwat wilayah tinh thanh pho ' +
    'ili il of de del della di da du des la le les the d autonomous metropolitan hoofdstedelijk gewest city special self governing municipality municipiul opstina entity metropolis commonwealth freistaat freie hansestadt ' +
    'and e i y et und og en citta metropolitana woj область обл край республика респ республіка г м город місто автономный округ ао ' +
    'avtonomnyy استان محافظة منطقة'
  )
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .split(' '),
)

/**
 * The key of a name without the kind of place: "Provincia di Milano" is Milano, "St. Ann Parish" Saint Ann, 東京都 is 東京,
 * "XIII Región Metropolitana de Santiago" Santiago.
 */
export function coreName(text: string): string {
  const words = normalForm(text, 'NFKD')
    .replace(/(?<=[ed] )l['’]/giu, '')
    .replace(/[\p{M}'’‘ʻ]|^จังหวัด|^จ\./gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !KINDS.has(word))
    .map((word) => SHORT[word] ?? word)
  const named = words.filter((word, at) => !/^capitale?$/.test(word) && (at > 0 || !/^[ivx]+$/.test(word)))
  return nameKey((named.length > 0 ? named : words).join(' ')).replace(/(?<=..)[省市都府県縣县]$|(?<=北海)道$/u, '')
}

const SHORT: Record<string, string> = { st: 'saint', sta: 'santa', sto: 'santo' }

const SPELT_OUT: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe', æ: 'ae' }

/** Letters that Unicode does not take apart, and 臺, which Taiwan writes both ways. */
const ALONE: Record<string, string> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ı: 'i',
  ə: 'e',
  ħ: 'h',
  臺: '台',
}

function strip(text: string): string {
  return (
    normalForm(normalForm(text, 'NFKD').toLowerCase(), 'NFKD')
      .replace(/[øłđðþßæœıəħ臺]/g, (letter) => ALONE[letter] ?? letter)
      // Unicode counts the apostrophes of Uzbek and Hawaiian as letters; people often leave them out.
      .replace(/[^\p{L}\p{N}]|[\u02b0-\u02ff]/gu, '')
  )
}
