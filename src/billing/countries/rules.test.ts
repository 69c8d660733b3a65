import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ada } from '../../../tests/addresses.ts'
import { normalizeAddress } from '../address/normalize.ts'
import { rulesOf } from './countries.ts'
import { countrySummaries, showCountry } from './routes.ts'

describe('rules.json', () => {
  const script = fileURLToPath(new URL('../../../scripts/address-rules.ts', import.meta.url))
  const make = (...more: string[]) => {
    const { status, stdout } = spawnSync(process.execPath, ['--import', 'tsx', script, '--check', ...more], {
      encoding: 'utf8',
    })
    return { status, lines: stdout.trim().split('\n') }
  }

  test('is what its script makes: else run "npm run rules"', () => {
    expect(make()).toEqual({ status: 0, lines: [expect.stringMatching(/^250 countries, \d+ bytes$/)] })
  })

  test('made anew tells what changed, by country and field', () => {
    const old = JSON.parse(readFileSync(new URL('rules.json', import.meta.url), 'utf8'))
    old.XX = { ...old.AD, name: 'Ruritania' }
    delete old.ZW
    old.FR.require = 'AC'
    delete old.HU.postal.strip
    old.AT.states = old.AT.states.replace(/^1;[^|]*\|/, '').replace('9;Wien', '9;Vindobona')
    const folder = mkdtempSync(join(tmpdir(), 'rules-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'old.json')
    writeFileSync(file, JSON.stringify(old))
    expect(make('--against', file)).toEqual({
      status: 1,
      lines: [
        'AT Austria: state 9 Wien, name "Vindobona" → "Wien"',
        'AT Austria: state 1 Burgenland new',
        'FR France: require "AC" → "ACZ"',
        'HU Hungary: postal {"shapes":["####"],"pattern":"[1-9]\\\\d{3}","examples":["1037"]} → {"shapes":["####"],"pattern":"[1-9]\\\\d{3}","examples":["1037"],"strip":["H"]}',
        'XX Ruritania: gone',
        'ZW Zimbabwe: new',
        expect.stringMatching(/^250 countries, \d+ bytes$/),
      ],
    })
  })

  test('is small, and published patterns need nothing that only one language has', () => {
    expect(statSync(new URL('rules.json', import.meta.url)).size).toBeLessThan(160_000)
    for (const { code } of countrySummaries())
      for (const { pattern = '' } of showCountry(code)?.fields ?? [])
        expect(`${code} ${pattern}`).not.toMatch(/\(\?[^:]/)
  })
})

describe('the rules of a country', () => {
  test('are its fields in its own order', () => {
    expect(showCountry('us')).toMatchObject({
      code: 'US',
      alpha3: 'USA',
      name: 'United States',
      requireOneOf: [['firstName', 'lastName', 'company']],
      fields: [
        { name: 'firstName', label: 'First name', required: false },
        { name: 'lastName', label: 'Last name', required: false },
        { name: 'company', label: 'Company', required: false },
        { name: 'addressLine1', label: 'Address', required: true },
        { name: 'addressLine2', label: 'Address, second line', required: false },
        { name: 'city', label: 'City', required: true },
        { name: 'state', label: 'State', required: true, example: 'AL' },
        {
          name: 'postalCode',
          label: 'ZIP code',
          required: true,
          pattern: '^(?:(?:00[5-9]|0[1-9]\\d|[1-9]\\d{2})\\d{2}(?:-\\d{4})?)$',
          example: '95014',
        },
        { name: 'country', label: 'Country', required: true, example: 'US' },
        { name: 'taxId', label: 'Tax number', required: false },
        { name: 'phone', label: 'Phone', required: false, example: '+12015550123' },
      ],
    })
    expect(
      showCountry('JP')
        ?.fields.map(({ name }) => name)
        .slice(0, 3),
    ).toEqual(['postalCode', 'state', 'city'])
    expect(showCountry('JP')?.subdivisions).toContainEqual({
      code: '13',
      name: 'Tokyo',
      localName: '東京都',
      aliases: expect.any(Array),
    })
    expect(showCountry('QA')?.fields.map(({ name }) => name)).not.toContain('postalCode')
    expect(showCountry('XX')).toBeNull()
    expect(showCountry('__proto__')).toBeNull()
  })

  test('hold for their own examples, in every country', () => {
    for (const { code: country } of countrySummaries()) {
      const { fields = [], subdivisions = [] } = showCountry(country) ?? {}
      const required = (name: string) => fields.some((field) => field.name === name && field.required)
      for (const postalCode of rulesOf(country).postal?.examples ?? [undefined]) {
        const pattern = fields.find(({ name }) => name === 'postalCode')?.pattern
        if (postalCode) expect(new RegExp(pattern ?? '', 'u').test(postalCode)).toBe(true)
        const states =
          required('state') && subdivisions.length
            ? subdivisions.map(({ code }) => code)
            : ['x'.repeat(5)].filter(() => required('state'))
        const inputs = (states.length ? states : [undefined]).map((state) => ({
          ...ada,
          addressLine1: 'x',
          city: 'x',
          country,
          state,
          postalCode,
        }))
        const taken = inputs.map((input) => normalizeAddress(input).address).filter((address) => address !== null)
        expect([country, postalCode, taken[0]?.postalCode]).toEqual([country, postalCode, postalCode ?? null])
      }
    }
  })
})
