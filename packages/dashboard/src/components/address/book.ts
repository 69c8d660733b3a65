// Whose addresses a page is about: one's own in a store, or those of a customer. The pages are the same for both.

import type {
  Address,
  AddressChanges,
  AddressVersion,
  CallOptions,
  CheckedAddress,
  NewAddress,
} from '@storekeeper/client'
import { useLocation, useParams } from 'wouter'
import type { ReadKey } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'

/** More than a store lets anybody have, unless its operator allows more than 50. */
const MAX_SHOWN = 200

export type AddressBook = {
  storeId: string
  /** Null: one's own. */
  externalId: string | null
  /** What its reads are kept under. */
  key: ReadKey
  list(options: CallOptions): Promise<Address[]>
  read(addressId: string, options?: CallOptions): Promise<Address>
  create(input: NewAddress, options: CallOptions): Promise<Address>
  update(addressId: string, changes: AddressChanges, options: CallOptions): Promise<Address>
  delete(addressId: string, options: CallOptions): Promise<void>
  versions(addressId: string, options: CallOptions): Promise<AddressVersion[]>
  validate(input: NewAddress, options: CallOptions): Promise<CheckedAddress>
  paths: { list: string; new: string; address(addressId: string): string; versions(addressId: string): string }
}

function ownAddresses(storeId: string): AddressBook {
  const { addresses } = sk.store(storeId)
  return {
    ...addresses,
    storeId,
    externalId: null,
    key: ['addresses', storeId, 'own'],
    list: (options) => addresses.list({}, options).toArray({ max: MAX_SHOWN }),
    versions: (id, options) => addresses.versions(id, {}, options).toArray({ max: MAX_SHOWN }),
    paths: {
      list: paths.addresses(storeId),
      new: paths.newAddress(storeId),
      address: (id) => paths.address(storeId, id),
      versions: (id) => paths.addressVersions(storeId, id),
    },
  }
}

export function addressesOf(storeId: string, externalId: string): AddressBook {
  const { addresses } = sk.store(storeId).customers
  return {
    storeId,
    externalId,
    key: ['addresses', storeId, 'customer', externalId],
    list: (options) => addresses.list(externalId, {}, options).toArray({ max: MAX_SHOWN }),
    read: (id, options) => addresses.read(externalId, id, options),
    create: (input, options) => addresses.create(externalId, input, options),
    update: (id, changes, options) => addresses.update(externalId, id, changes, options),
    delete: (id, options) => addresses.delete(externalId, id, options),
    versions: (id, options) => addresses.versions(externalId, id, {}, options).toArray({ max: MAX_SHOWN }),
    validate: (input, options) => addresses.validate(externalId, input, options),
    paths: {
      list: paths.customer(storeId, externalId),
      new: paths.newCustomerAddress(storeId, externalId),
      address: (id) => paths.customerAddress(storeId, externalId, id),
      versions: (id) => paths.customerAddressVersions(storeId, externalId, id),
    },
  }
}

/** Of the page that is open. */
export function useAddressBook(): AddressBook {
  const { storeId = '' } = useParams()
  const externalId = useExternalId()
  return externalId === null ? ownAddresses(storeId) : addressesOf(storeId, externalId)
}

/** The external id in the address of the page: as it stands there, since the router has decoded some of it already. */
export function useExternalId(): string | null {
  useLocation()
  const part = /^\/stores\/[^/]+\/customers\/([^/]+)/.exec(location.pathname)?.[1]
  return part === undefined ? null : decodeURIComponent(part)
}
