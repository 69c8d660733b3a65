// What a store says of a customer, their e-mail and their name: sealed under the customer's own key, so that it goes with
// it. A keyed hash of the e-mail stands beside it, to search by.

import { unwrapDataKey, type WrappedKey } from '../auth/data-key.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { seal, unseal } from '../crypto/seal.ts'
import { sql } from '../db/sql.ts'
import type { CustomersRow, UsersRow } from '../db/tables.gen.ts'
import { customerPath } from './external-id.ts'
import type { Customer } from './schema.ts'

export type CustomerRecord = Pick<Customer, 'email' | 'name'>

/** A customer with the wrapped key of their user. `customer_of` is null for a user with an account of their own. */
export type CustomerRow = Pick<
  CustomersRow,
  'store_id' | 'external_id' | 'user_id' | 'sealed' | 'created_at' | 'updated_at'
> & { data_key: Buffer; data_key_kid: string } & Pick<UsersRow, 'customer_of'>

export const customerColumns = sql`
  customer.store_id, customer.external_id, customer.user_id, customer.sealed, customer.created_at, customer.updated_at,
  person.data_key, person.data_key_kid, person.customer_of`

export function wrappedKeyOf(row: CustomerRow): WrappedKey {
  return { id: row.user_id, dataKey: row.data_key, dataKeyKid: row.data_key_kid }
}

export function unsealRecord(
  keyring: Keyring,
  user: WrappedKey,
  { store_id, sealed }: Pick<CustomersRow, 'store_id' | 'sealed'>,
): CustomerRecord {
  if (!sealed) return { email: null, name: null }
  return JSON.parse(unseal(unwrapDataKey(keyring, user), sealed, aadOf(store_id, user)).toString())
}

/** The columns that a record is kept in. */
export function recordColumns(keyring: Keyring, user: WrappedKey, storeId: string, record: CustomerRecord) {
  const { email, name } = record
  const isEmpty = email === null && name === null
  return {
    sealed: isEmpty
      ? null
      : hex(seal(unwrapDataKey(keyring, user), JSON.stringify({ email, name }), aadOf(storeId, user))),
    ...emailColumns(keyring, storeId, email),
  }
}

/** What an e-mail is found by, under the current server secret. */
export function emailColumns({ current }: Keyring, storeId: string, email: string | null) {
  if (email === null) return { email_hash: null, email_hash_kid: null }
  return { email_hash: hex(emailHash(current, storeId, email)), email_hash_kid: current.kid }
}

function aadOf(storeId: string, user: WrappedKey): string {
  return `customer/${storeId}/${user.id}`
}

/** As `bytea` is written in JSON. */
export function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`
}

/** Of one store: the same e-mail has another hash in another store. */
function emailHash(keys: Keyring['current'], storeId: string, email: string): Buffer {
  return keys.hmac('customer-email', storeId, email)
}

/** While the server secret is being changed, an e-mail may be found under either. */
export function emailHashes({ current, previous }: Keyring, storeId: string, email: string): Buffer[] {
  return [current, ...(previous ? [previous] : [])].map((keys) => emailHash(keys, storeId, email))
}

export function showCustomer(row: CustomerRow, { email, name }: CustomerRecord): Customer {
  return {
    id: row.user_id,
    externalId: row.external_id,
    email,
    name,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

export function pathOf(row: Pick<CustomersRow, 'store_id' | 'external_id'>): string {
  return customerPath(row.store_id, row.external_id)
}
