/**
 * Each line of addresses-of-the-world.txt and addresses-from-sources.txt is one test: what a postal operator would deliver
 * is taken, the rest is refused.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findState } from '../countries/countries.ts'
import { normalizeAddress } from './normalize.ts'

const byHand = readLines('addresses-of-the-world.txt')
const looked = readLines('addresses-from-sources.txt')
const lines = [...byHand, ...looked].filter((line) => !line.startsWith('#'))

const addresses = lines.filter((line) => !line.startsWith('@'))

describe('an address that exists is accepted in its normal form', () => {
  test.each(addresses.filter((line) => !line.includes('=>!')))('%s', (line) => {
    const [given = '', wanted = ''] = line.split('=>')
    const [country, state, postalCode, odd] = cells(wanted)
    const { address, faults, warnings } = normalizeAddress(readAddress(given))
    expect(faults).toEqual([])
    expect({ country: address?.country, state: address?.state, postalCode: address?.postalCode }).toEqual({
      country,
      state: state ?? null,
      postalCode: postalCode ?? null,
    })
    if (odd) expect(warnings.map(said)).toEqual(odd.split(', '))
  })
})

describe('an address that cannot be right is refused for what is wrong with it', () => {
  test.each(addresses.filter((line) => line.includes('=>!')))('%s', (line) => {
    const [given = '', wanted = ''] = line.split('=>!')
    const { address, faults } = normalizeAddress(readAddress(given))
    expect(address).toBeNull()
    expect(faults.map(said).sort()).toEqual(wanted.trim().split(', ').sort())
  })
})

describe('a state is known by what people call it', () => {
  const states = lines
    .filter((line) => line.startsWith('@'))
    .flatMap((line) => cells(line.slice(4)).map((cell) => [line.slice(1, 3), ...(cell ?? '').split(' = ')]))
  test.each(states)('in %s %s is %s', (country, name, code) => {
    expect(findState(country ?? '', name ?? '')?.code ?? 'none').toBe(code)
  })
})

test('each list covers the world', () => {
  const [hand, sourced] = [count(byHand), count(looked)]
  expect(hand.good).toBeGreaterThan(540)
  expect(hand.bad).toBeGreaterThan(190)
  expect(hand.countries).toBeGreaterThan(240)
  expect(sourced.good).toBeGreaterThan(270)
  expect(sourced.bad).toBeGreaterThan(70)
  expect(sourced.countries).toBeGreaterThan(150)
})

test('every address that was looked up stands under its source', () => {
  let source = ''
  for (const line of looked) {
    if (line.startsWith('# ---')) source = ''
    else if (line.startsWith('# source: ')) source = line
    else if (!line.startsWith('#')) expect(source, line).not.toBe('')
  }
})

function readLines(file: string): string[] {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

function count(file: string[]): { good: number; bad: number; countries: number } {
  const all = file.filter((line) => !/^[#@]/.test(line))
  const good = all.filter((line) => !line.includes('=>!'))
  const countries = new Set(good.map((line) => cells(line.split('=>')[1] ?? '')[0]))
  return { good: good.length, bad: all.length - good.length, countries: countries.size }
}

function said({ pointer, code }: { pointer: string; code: string }): string {
  return `${pointer.slice(2)} ${code}`
}

function readAddress(text: string) {
  const [country, addressLine1, city, state, postalCode] = cells(text)
  return { firstName: 'Ada', lastName: 'Lovelace', country, addressLine1, city, state, postalCode }
}

function cells(text: string): (string | undefined)[] {
  return text.split('|').map((cell) => cell.trim() || undefined)
}
