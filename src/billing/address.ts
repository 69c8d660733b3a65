// An address in the database: what of it is sealed, how it opens, and what is shown of it. The personal text is sealed
// under the user's own key; country, state and postal code stay readable for tax. When the user's key has been destroyed
// these three are all that is left, and the address says that it was erased.

import { openAddress, sealAddress, unwrapDataKey } from '../auth/data-key.ts'
import type { UserCaller } from '../core/caller.ts'
import { sql } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import { formatAddress } from './format.ts'
import type { AddressWarning } from './normalize.ts'
import type { Address, AddressContent, NormalAddress } from './schema.ts'

/** One address of one user in one store. */
export type Place = { storeId: string; addressId: string }

/**
 * What a person said about an address, in its normal form, with its label. The label is kept with it: what an invoice
 * points at stays as it is, though our rules may change.
 */
export type AddressText = { address: NormalAddress; warnings: AddressWarning[]; formatted: string[] }

// ---- an address that is there ---------------------------------------------------------------------------------------

export type AddressRow = {
  id: string
  store_id: string
  user_id: string
  is_default: boolean
  country: string
  state: string | null
  postal_code: string | null
  version: number
  revision: number
  created_at: Date
  /** When its content last changed, which is when its version was made. */
  updated_at: Date
}
export type SealedRow = AddressRow & { sealed: Buffer }

export const columns = sql`
  id, store_id, user_id, is_default, country, state, postal_code, sealed, version, revision, created_at, updated_at`

export function showAddress(row: AddressRow, { address, warnings, formatted }: AddressText): Address {
  return {
    id: row.id,
    storeId: row.store_id,
    userId: row.user_id,
    ...address,
    isDefault: row.is_default,
    formatted,
    warnings,
    version: row.version,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

// ---- what it was at some time ---------------------------------------------------------------------------------------

/** A row of `address_contents`, with the wrapped key of its user, if there still is one. */
export type ContentRow = {
  address_id: string
  version: number
  store_id: string
  user_id: string
  country: string
  state: string | null
  postal_code: string | null
  sealed: Buffer
  created_at: Date
  at: Date
  data_key: Buffer | null
  data_key_kid: string | null
}

export const contentColumns = sql`
  content.address_id, content.version, content.store_id, content.user_id, content.country, content.state,
  content.postal_code, content.sealed, content.created_at, content.at, person.data_key, person.data_key_kid`

export function showContent(row: ContentRow, key: Buffer | null): AddressContent {
  const text = key && openText(key, { ...row, id: row.address_id })
  return {
    id: row.address_id,
    storeId: row.store_id,
    userId: row.user_id,
    ...(text ? text.address : whatIsLeft(row)),
    formatted: text?.formatted ?? [],
    warnings: text?.warnings ?? [],
    version: row.version,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.at.toISOString(),
    erased: text === null,
  }
}

function whatIsLeft({ state, postal_code, country }: ContentRow) {
  return {
    firstName: null,
    lastName: null,
    company: null,
    taxId: null,
    addressLine1: null,
    addressLine2: null,
    city: null,
    state,
    postalCode: postal_code,
    country,
    phone: null,
  }
}

/** Of rows that belong to one user. Null when there is no key any more: the user was erased. */
export function ownersKey(instance: Instance, [row]: ContentRow[]): Buffer | null {
  if (!row?.data_key || row.data_key_kid === null) return null
  return unwrapDataKey(instance.keyring, { id: row.user_id, dataKey: row.data_key, dataKeyKid: row.data_key_kid })
}

// ---- sealing --------------------------------------------------------------------------------------------------------

export function sealText(
  instance: Instance,
  caller: UserCaller,
  id: string,
  version: number,
  text: AddressText,
): Buffer {
  const { address, warnings, formatted } = text
  const place = { id, user_id: caller.id, version }
  return sealAddress(unwrapDataKey(instance.keyring, caller), place, { address, warnings, formatted })
}

type Sealed = { id: string; user_id: string; version: number; sealed: Buffer }

export function openText(key: Buffer, row: Sealed): AddressText {
  const text = openAddress<Omit<AddressText, 'formatted'> & { formatted?: string[] }>(key, row)
  // The first addresses were sealed without their label.
  return { ...text, formatted: text.formatted ?? formatAddress(text.address) }
}
