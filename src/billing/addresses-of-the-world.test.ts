/** Each line of addresses-of-the-world.txt is one test: what a postal operator would deliver is taken, the rest is refused. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findState } from './countries.ts'
import { normalizeAddress } from './normalize.ts'

const lines = readFileSync(new URL('addresses-of-the-world.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

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

test('the list covers the world', () => {
  const good = addresses.filter((line) => !line.includes('=>!'))
  const countries = new Set(good.map((line) => cells(line.split('=>')[1] ?? '')[0]))
  expect(good.length).toBeGreaterThan(540)
  expect(addresses.length - good.length).toBeGreaterThan(190)
  expect(countries.size).toBeGreaterThan(240)
})

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
