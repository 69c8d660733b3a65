// Addresses for the tests of their check, which needs neither a service nor a database.

import { expect } from 'vitest'
import { type AddressInput, normalizeAddress } from '../src/billing/address/normalize.ts'
import { EXAMPLE_ADDRESS, type NormalAddress } from '../src/billing/schema.ts'

export const ada = { firstName: 'Ada', lastName: 'Lovelace' }

const { phone: _, ...withoutPhone } = EXAMPLE_ADDRESS
export const cupertino: AddressInput = withoutPhone

export function accept(input: AddressInput): NormalAddress {
  const { address, faults } = normalizeAddress(input)
  expect(faults).toEqual([])
  return address as NormalAddress
}

export const faultsOf = (input: AddressInput) =>
  normalizeAddress(input).faults.map(({ pointer, code }) => `${pointer} ${code}`)

export const warningsOf = (input: AddressInput) => {
  accept(input)
  return normalizeAddress(input).warnings.map(({ pointer, code }) => `${pointer} ${code}`)
}
