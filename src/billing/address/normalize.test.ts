import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { accept, cupertino, faultsOf } from '../../../tests/addresses.ts'
import { normalizeText } from '../../schema/text.ts'
import { rulesOf, stateByCode, stateRows } from '../countries/countries.ts'
import { countrySummaries, showCountry } from '../countries/routes.ts'
import type { NormalAddress } from '../schema.ts'
import { ADDRESS_FAULTS, ADDRESS_WARNINGS } from './findings.ts'
import { formatAddress } from './format.ts'
import { normalizeAddress } from './normalize.ts'

describe('the whole address', () => {
  test('is answered in normal form', () => {
    const result = normalizeAddress({
      firstName: '  Ada ',
      lastName: 'Lovelace',
      company: '',
      taxId: ' ',
      addressLine1: '1  Infinite\u00a0Loop',
      addressLine2: null,
      city: 'Cupertino',
      state: 'California',
      postalCode: '95014',
      country: 'United States',
      phone: '+1 (408) 555-0123',
    })
    expect(result).toEqual({
      address: {
        firstName: 'Ada',
        lastName: 'Lovelace',
        company: null,
        taxId: null,
        addressLine1: '1 Infinite Loop',
        addressLine2: null,
        city: 'Cupertino',
        state: 'CA',
        postalCode: '95014',
        country: 'US',
        phone: '+14085550123',
      },
      faults: [],
      preview: result.address,
      warnings: [],
    })
  })

  test('that is empty has every fault at once', () => {
    expect(faultsOf({})).toEqual(['#/firstName name_required', '#/addressLine1 required', '#/country required'])
  })

  test('with several faults names each of them, with an example where one helps', () => {
    expect(
      normalizeAddress({
        ...cupertino,
        firstName: null,
        lastName: ' ',
        state: 'ZZ',
        postalCode: '1',
        phone: '408',
        city: '',
      }),
    ).toEqual({
      address: null,
      faults: [
        { pointer: '#/firstName', code: 'name_required', detail: 'Enter a first name, a last name, or a company.' },
        {
          pointer: '#/state',
          code: 'unknown_state',
          detail: 'There is no state of that name or code in the United States.',
          example: 'AL',
        },
        {
          pointer: '#/postalCode',
          code: 'invalid_postal_code',
          detail: 'This is not a ZIP code of the United States.',
          example: '95014',
        },
        { pointer: '#/city', code: 'required', detail: 'Addresses in the United States need a city.' },
        {
          pointer: '#/phone',
          code: 'invalid_phone',
          detail:
            'This is not a valid phone number. Enter it as it is dialled in the United States, or with a plus sign and the country code, without letters or extensions.',
          example: '+12015550123',
        },
      ],
      preview: expect.objectContaining({ country: 'US', firstName: null, state: 'ZZ', postalCode: '1', phone: '408' }),
      warnings: [],
    })
  })

  test('needs only one name, or a company', () => {
    expect(accept({ ...cupertino, lastName: null }).lastName).toBeNull()
    expect(accept({ ...cupertino, firstName: undefined }).firstName).toBeNull()
    const company = accept({ ...cupertino, firstName: null, lastName: '', company: 'Engines Ltd' })
    expect([company.firstName, company.lastName, formatAddress(company)[0]]).toEqual([null, null, 'Engines Ltd'])
    expect(faultsOf({ ...cupertino, firstName: null, lastName: '', company: ' ' })).toEqual([
      '#/firstName name_required',
    ])
  })
})

describe('text', () => {
  test('is NFC, trimmed, and has single blanks', () => {
    expect(accept({ ...cupertino, city: ' Sa\u0303o  Paulo\u3000City\n' }).city).toBe('São Paulo City')
  })

  const FIELDS = [
    'firstName',
    'lastName',
    'company',
    'taxId',
    'addressLine1',
    'addressLine2',
    'city',
    'state',
    'postalCode',
    'country',
    'phone',
  ] as const

  test.each([
    ['a NUL', 'a\u0000b'],
    ['a bell', 'a\u0007b'],
    ['a right-to-left override', 'a\u202eb'],
    ['a bidi isolate', 'a\u2066b'],
    ['a left-to-right mark', 'a\u200eb'],
    ['a Hangul filler', 'a\u3164b'],
    ['a lone surrogate', 'a\ud800b'],
    ['a noncharacter', 'a\uffffb'],
    ['a tag character', 'a\u{e0041}b'],
  ])('with %s is refused, in every field', (_, text) => {
    for (const field of FIELDS)
      expect(faultsOf({ ...cupertino, [field]: text })).toEqual([`#/${field} invalid_characters`])
  })

  test('is freed of what cannot be seen, and a line break in it is a space, in every field', () => {
    const given = { ...cupertino, company: 'AB', taxId: 'X1', addressLine2: 'CD', phone: '+14085550123' }
    const plain = normalizeAddress(given)
    for (const field of FIELDS) {
      const text = given[field] as string
      for (const unseen of ['\u200b', '\u2060', '\ufeff', '\u00ad', '\u200d', '\u200c'])
        for (const pasted of [text.slice(0, 1) + unseen + text.slice(1), unseen + text + unseen, `${unseen}${text}\n`])
          expect(normalizeAddress({ ...given, [field]: pasted }), `${field} ${escape(pasted)}`).toEqual(plain)
    }
    for (const lineBreak of ['\n', '\r\n', '\r', '\u2028', '\u2029', '\u0085', '\t', ' \n\n '])
      expect(accept({ ...cupertino, addressLine1: `1 Infinite${lineBreak}Loop` }).addressLine1).toBe('1 Infinite Loop')
    expect(faultsOf({ ...cupertino, addressLine1: '\u200b\n\u2060' })).toEqual(['#/addressLine1 required'])
  })

  test('in a postal code may hold what a page or a Japanese keyboard brings along', () => {
    const tokyo = { ...cupertino, country: 'JP', state: 'Tokyo', city: 'Chiyoda-ku', phone: null }
    for (const postalCode of [
      '〒100-0014',
      '〒 100 0014',
      '100ー0014',
      '１００ー００１４',
      '100\u200b-0014',
      '\ufeff1000014',
    ])
      expect(accept({ ...tokyo, postalCode }).postalCode, postalCode).toBe('100-0014')
    for (const dash of '-\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u2500\u301c\u3030\ufe58\ufe63\uff0d\uff70\u30fc')
      expect(accept({ ...tokyo, postalCode: `〒100${dash}0014` }).postalCode, escape(dash)).toBe('100-0014')
    expect(accept({ ...cupertino, postalCode: '95014\u20131234' }).postalCode).toBe('95014-1234')
    expect(faultsOf({ ...cupertino, postalCode: '95014\u30fc1234' })).toEqual(['#/postalCode invalid_postal_code'])
  })

  test('keeps the joiners that Persian and the scripts of India are written with', () => {
    expect(accept({ ...cupertino, firstName: 'علی\u200cرضا' }).firstName).toBe('علی\u200cرضا')
    expect(accept({ ...cupertino, addressLine2: 'ශ්\u200dරී' }).addressLine2).toBe('ශ්\u200dරී')
    expect(accept({ ...cupertino, company: '👩\u200d💻 Ltd' }).company).toBe('👩\u200d💻 Ltd')
  })

  test('is counted in code points', () => {
    expect(accept({ ...cupertino, firstName: '𠮷'.repeat(100) }).firstName).toBe('𠮷'.repeat(100))
    expect(faultsOf({ ...cupertino, firstName: '𠮷'.repeat(101) })).toEqual(['#/firstName too_long'])
    expect(faultsOf({ ...cupertino, addressLine1: 'x'.repeat(201), taxId: '1'.repeat(51) })).toEqual([
      '#/taxId too_long',
      '#/addressLine1 too_long',
    ])
  })
})

describe('whatever is given', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
    fc.string({ maxLength: 10 }),
    fc.constantFrom('Ada', ' São  Paulo', '東京', 'القاهرة', 'x'),
  )
  const maybe = fc.option(text, { nil: undefined })
  const address = fc.constantFrom(...countrySummaries().map(({ code }) => code)).chain(perCountry(addressIn))

  function addressIn(country: string) {
    const { subdivisions = [] } = showCountry(country) ?? {}
    const names = subdivisions.flatMap(({ code, name, localName }) => [
      code,
      name,
      name.toUpperCase(),
      `${country}-${code}`,
      localName ?? name,
    ])
    const examples = rulesOf(country).postal?.examples ?? []
    const shaped = rulesOf(country).postal?.shapes ?? ['#####']
    const digits = fc
      .tuple(fc.constantFrom(...shaped), fc.array(fc.nat(35), { minLength: 12, maxLength: 12 }))
      .map(([shape, numbers]) => {
        let at = 0
        return shape.replace(/[#@*]/g, (mark) => {
          const n = numbers[at++] ?? 0
          return mark === '#' ? String(n % 10) : mark === '@' ? String.fromCharCode(65 + (n % 26)) : n.toString(36)
        })
      })
    return fc.record({
      country: fc.constantFrom(country, country.toLowerCase(), rulesOf(country).name),
      firstName: maybe,
      lastName: maybe,
      company: maybe,
      taxId: maybe,
      addressLine1: text,
      addressLine2: maybe,
      city: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom('Springfield', 'Ōsaka', '広島市') },
        { weight: 1, arbitrary: maybe },
      ),
      state: fc.oneof(
        { weight: 5, arbitrary: names.length ? fc.constantFrom(...names) : maybe },
        { weight: 1, arbitrary: maybe },
      ),
      postalCode: fc.oneof(
        examples.length
          ? fc.constantFrom(...examples, ...examples.map((code) => code.toLowerCase().replace(/[ -]/g, '')))
          : maybe,
        digits,
      ),
      phone: fc.constantFrom(undefined, '+14085550123', '+44 20 7946 0958', '+81 3-3581-5111'),
    })
  }

  test('normalising twice is normalising once, nothing given is lost, and whatever is found has a code of the tables, a pointer to a field and a sentence', () => {
    let taken = 0
    fc.assert(
      fc.property(address, (input) => {
        const once = normalizeAddress(input)
        for (const { code } of once.faults) expect(ADDRESS_FAULTS).toHaveProperty(code)
        for (const { code } of once.warnings) expect(ADDRESS_WARNINGS).toHaveProperty(code)
        for (const { pointer, detail } of [...once.faults, ...once.warnings]) {
          expect(pointer).toMatch(/^#\/[a-zA-Z0-9]+$/)
          expect(detail).toMatch(/^\S.*[.?]$/)
        }
        if (!once.address) return
        taken++
        expect(normalizeAddress(once.address)).toEqual(once)
        expect(missing(once.address, formatAddress(once.address))).toEqual([])
        for (const field of [
          'firstName',
          'lastName',
          'company',
          'taxId',
          'addressLine1',
          'addressLine2',
          'city',
          'state',
          'postalCode',
        ] as const) {
          expect(once.address[field] === null).toBe(normalizeText(input[field] ?? '', 'line') === '')
        }
      }),
      { numRuns: 2000, seed: 20 },
    )
    expect(taken).toBeGreaterThan(500)
  })

  test('a label has every field that was given, in every country, state and script', () => {
    const scripts = [
      { firstName: 'Ada', lastName: 'Lovelace', addressLine1: '1 Main Road', addressLine2: 'Flat 2', city: 'Newtown' },
      { firstName: '小明', lastName: '王', addressLine1: '中山路1号', addressLine2: '2楼', city: '新城' },
      { firstName: 'Мария', lastName: 'Иванова', addressLine1: 'ул. Мира, 1', addressLine2: 'кв. 2', city: 'Новый' },
    ]
    let labels = 0
    const lost: unknown[] = []
    for (const { code: country } of countrySummaries())
      for (const text of scripts)
        for (const state of [null, 'Somewhere', ...stateRows(country).map(({ code }) => code)]) {
          const postalCode = rulesOf(country).postal?.examples[0] ?? 'P 123'
          const full = { ...text, company: 'Engines', taxId: 'T1', state, postalCode, country, phone: null }
          const fewer = ['firstName', 'lastName', 'company', 'addressLine2', 'city', 'postalCode'].map((field) => ({
            ...full,
            [field]: null,
          }))
          for (const given of [full, ...fewer]) {
            const lines = formatAddress(given)
            if (missing(given, lines).length > 0) lost.push([given, lines])
            labels++
          }
        }
    expect(lost.slice(0, 5)).toEqual([])
    expect(labels).toBeGreaterThan(50_000)
  })

  /** What was given and cannot be found in the label. */
  function missing(given: NormalAddress, lines: string[]): string[] {
    const label = lines.join('\n')
    const fields = ['firstName', 'lastName', 'company', 'addressLine1', 'addressLine2', 'city'] as const
    const lost: string[] = fields.filter((field) => given[field] !== null && !label.includes(given[field]))
    const { postal, print } = rulesOf(given.country)
    if (given.postalCode !== null && postal && !label.includes(given.postalCode)) lost.push('postalCode')
    if (lines.at(-1) !== rulesOf(given.country).name.toUpperCase()) lost.push('country')
    if (given.state === null) return lost
    const state = stateByCode(given.country, given.state)
    const names = [given.state, state?.name, state?.localName]
    if (state && print === 'nothing') return lost
    const shown = names.some((name) => name && label.toLowerCase().includes(name.toLowerCase()))
    return shown ? lost : [...lost, 'state']
  }
})

/** Made once for each country: to read what is known of one takes longer than what is tested. */
function perCountry<Made>(make: (country: string) => Made): (country: string) => Made {
  const made = new Map<string, Made>()
  return (country) => {
    const known = made.get(country) ?? make(country)
    made.set(country, known)
    return known
  }
}
