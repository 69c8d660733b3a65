// The form of an address: as people fill it in, and as the API takes it.

import type { Address, AddressContent, NewAddress } from '@storekeeper/client'

export const FIELDS = [
  'country',
  'firstName',
  'lastName',
  'company',
  'addressLine1',
  'addressLine2',
  'city',
  'state',
  'postalCode',
  'taxId',
  'phone',
] as const

export type Field = (typeof FIELDS)[number]
export type AddressValues = Record<Field, string> & { isDefault: boolean }

export const EMPTY: AddressValues = {
  ...(Object.fromEntries(FIELDS.map((field) => [field, ''])) as Record<Field, string>),
  isDefault: false,
}

export function isField(name: string): name is Field {
  return (FIELDS as readonly string[]).includes(name)
}

export function toValues(address: Address | AddressContent): AddressValues {
  const texts = Object.fromEntries(FIELDS.map((field) => [field, address[field] ?? '']))
  return { ...(texts as Record<Field, string>), isDefault: 'isDefault' in address && address.isDefault }
}

/** What was left empty is left out. */
export function toNewAddress({ isDefault, ...texts }: AddressValues): NewAddress {
  const { country, addressLine1, ...others } = texts
  const given = Object.entries(others).filter(([, text]) => text.trim() !== '')
  return { ...Object.fromEntries(given), country, addressLine1, isDefault }
}

/** Every field: what is empty is cleared. */
export function toChanges({ isDefault, ...texts }: AddressValues, base: Address) {
  const { country, addressLine1, ...others } = texts
  const all = Object.fromEntries(
    Object.entries(others).map(([field, text]) => [field, text.trim() === '' ? null : text]),
  )
  return { ...all, country, addressLine1, ...(isDefault === base.isDefault ? {} : { isDefault }) }
}
