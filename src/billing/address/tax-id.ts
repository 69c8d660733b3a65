/**
 * The tax number of an address, where its form or its check digit is published. A wrong one is kept with a warning: the
 * shopper may have a kind of number that is not known here. A right one is answered in upper case, without separators and
 * with the prefix that belongs to it.
 */
import { createRequire } from 'node:module'
import type { Validator } from 'stdnum/lib/cjs/types.js'
import { normalForm } from '../../core/unicode.ts'
import { type Findings, nameInText, type Texts, warn } from './findings.ts'

type TaxRules = {
  /** The validators of the library for the number of companies, which is answered with the prefix. */
  numbers: string
  /** Written before the number, and answered with it. */
  prefix?: string
  /** Other prefixes: as another name of the same, or kept (XI, Northern Ireland). */
  otherPrefixes?: Record<string, string>
  /** Written before or after it and not answered. */
  dropped?: RegExp
  /** The validators for the other numbers people have there, answered without a prefix. */
  also?: string
  /** A published form that has no check digit. */
  pattern?: RegExp
}

const RULES: Record<string, TaxRules> = {
  AT: { prefix: 'AT', numbers: 'at/uid', also: 'at/tin' },
  BE: { prefix: 'BE', numbers: 'be/vat', also: 'be/nn' },
  BG: { prefix: 'BG', numbers: 'bg/vat' },
  CY: { prefix: 'CY', numbers: 'cy/vat' },
  CZ: { prefix: 'CZ', numbers: 'cz/dic' },
  DE: { prefix: 'DE', numbers: 'de/vat', also: 'de/stnr de/idnr' },
  DK: { prefix: 'DK', numbers: 'dk/cvr', also: 'dk/cpr' },
  EE: { prefix: 'EE', numbers: 'ee/kmkr', also: 'ee/registrikood ee/ik' },
  ES: { prefix: 'ES', numbers: 'es/nif' },
  FI: { prefix: 'FI', numbers: 'fi/alv', also: 'fi/hetu' },
  FR: { prefix: 'FR', numbers: 'fr/tva', also: 'fr/siren fr/siret fr/nif' },
  GR: { prefix: 'EL', otherPrefixes: { GR: 'EL' }, numbers: 'gr/vat' },
  HR: { prefix: 'HR', numbers: 'hr/oib' },
  HU: { prefix: 'HU', numbers: 'hu/anum', pattern: /^\d{8}[1-5]\d{2}$/ },
  IE: { prefix: 'IE', numbers: 'ie/vat', also: 'ie/pps' },
  IT: { prefix: 'IT', numbers: 'it/iva', also: 'it/codicefiscale' },
  LT: { prefix: 'LT', numbers: 'lt/pvm', also: 'lt/asmens' },
  LU: { prefix: 'LU', numbers: 'lu/tva' },
  LV: { prefix: 'LV', numbers: 'lv/pvn' },
  MT: { prefix: 'MT', numbers: 'mt/vat' },
  NL: { prefix: 'NL', numbers: 'nl/btw', also: 'nl/bsn' },
  PL: { prefix: 'PL', numbers: 'pl/nip', also: 'pl/pesel pl/regon' },
  PT: { prefix: 'PT', numbers: 'pt/nif' },
  RO: { prefix: 'RO', numbers: 'ro/cui', also: 'ro/cnp' },
  SE: { prefix: 'SE', numbers: 'se/vat', also: 'se/orgnr se/personnummer' },
  SI: { prefix: 'SI', numbers: 'si/ddv' },
  SK: { prefix: 'SK', numbers: 'sk/dph' },
  GB: { prefix: 'GB', otherPrefixes: { XI: 'XI' }, numbers: 'gb/vat', also: 'gb/utr gb/nino' },
  CH: { numbers: 'ch/uid', dropped: /(?:MWST|TVA|IVA|TPV|VAT|HR|RC)$/ },
  LI: { numbers: 'ch/uid', dropped: /(?:MWST|TVA|IVA|TPV|VAT|HR|RC)$/ },
  NO: { numbers: 'no/orgnr', dropped: /^NO|MVA$/g, also: 'no/fodselsnummer' },
  AR: { numbers: 'ar/cuit' },
  AU: { numbers: 'au/abn', also: 'au/acn au/tfn' },
  BR: { numbers: 'br/cnpj br/cpf' },
  CA: { numbers: 'ca/bn ca/gst ca/qst', also: 'ca/sin' },
  CL: { numbers: 'cl/rut' },
  CO: { numbers: 'co/nit' },
  IL: { numbers: 'il/hp il/idnr' },
  IN: { numbers: 'in/gstin', also: 'in/pan' },
  JP: { numbers: 'jp/cn', pattern: /^T\d{13}$/ },
  KR: { numbers: 'kr/brn', also: 'kr/rrn' },
  MX: { numbers: 'mx/rfc' },
  NZ: { numbers: 'nz/ird' },
  RU: { numbers: 'ru/inn' },
  SG: { numbers: 'sg/uen', pattern: /^(?:M[A-Z\d]\d{7}[A-Z\d]|[FGMST]\d{7}[A-Z])$/ },
  TR: { numbers: 'tr/vkn tr/tckimlik' },
  UA: { numbers: 'ua/edrpou ua/rntrc', pattern: /^\d{12}$/ },
  ZA: { numbers: 'za/tin za/vat' },
}

/** The number in its normal form; one that is not valid, or of a country without published rules, as it was given. */
export function checkTaxId(country: string | null, texts: Texts, found: Findings): string | null {
  const { taxId } = texts
  if (taxId === null || country === null || found.bad.has('taxId')) return taxId
  const compact = normalForm(taxId, 'NFKC').toUpperCase().replace(SEPARATORS, '')
  const isReal = /\d/.test(compact) && !ONE_DIGIT.test(compact)
  const rules = RULES[country]
  const normal = isReal ? ((rules && readTaxId(rules, compact)) ?? readForeign(compact)) : null
  if (normal === null && (rules || !isReal)) {
    warn(
      found,
      'taxId',
      'invalid_tax_id',
      `This does not look like a valid tax number of ${nameInText(country)}. It is kept as you entered it.`,
    )
  }
  return normal ?? taxId
}

const SEPARATORS = /[\s.,/:\p{Dash}]+/gu

/** One digit again and again, as in 111.111.111-11, passes many sums and is nobody's number. */
const ONE_DIGIT = /^\D*(\d)\1{5,}\D*$/

function readTaxId(rules: TaxRules, compact: string): string | null {
  const { prefix = '', numbers, also = '', pattern } = rules
  const prefixed = readPrefixed(rules, compact)
  if (prefixed !== null) return prefixed
  const text = rules.dropped ? compact.replace(rules.dropped, '') : compact
  const own = validNumber(numbers, text)
  if (own !== null) return prefix + own
  return validNumber(also, text) ?? (pattern?.test(text) ? text : null)
}

function readPrefixed({ prefix, otherPrefixes, numbers }: TaxRules, compact: string): string | null {
  const written = compact.slice(0, 2)
  const answered = written === prefix ? prefix : otherPrefixes?.[written]
  const number = answered === undefined ? null : validNumber(numbers, compact.slice(2))
  return number === null ? null : `${answered}${number}`
}

/** A number that names its own country: of the European Union, the United Kingdom or Switzerland. */
function readForeign(compact: string): string | null {
  if (compact.startsWith('CHE')) return readTaxId(RULES.CH as TaxRules, compact)
  for (const rules of Object.values(RULES)) {
    const number = readPrefixed(rules, compact)
    if (number !== null) return number
  }
  return null
}

const require = createRequire(import.meta.url)

/** The number as the first of the validators that takes it spells it. Each is loaded when it is first needed. */
function validNumber(validators: string, text: string): string | null {
  for (const name of validators.split(' ').filter(Boolean)) {
    // The library has no entry that loads one validator alone but its files.
    const result = (require(`stdnum/lib/cjs/${name}.js`) as Validator).validate(text)
    if (result.isValid) return result.compact
  }
  return null
}
