// Reading addresses: a user reads their own, and a store those that it keeps for a customer; a caller with READ in the store
// reads those of one user, to write invoices, also as they were at an earlier time. An address whose user was erased shows
// its country, state and postal code, and says that it was erased.

import { unwrapDataKey } from '../auth/data-key.ts'
import { fail } from '../core/errors.ts'
import { etagOf } from '../core/etag.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import { parseDateTime } from '../schema/fields.ts'
import type { AddressOwner } from './owner.ts'
import type { Address, AddressContent, InvoiceAddress } from './schema.ts'
import { type AddressText, unsealText } from './sealed-text.ts'

export type AddressRef = { storeId: string; addressId: string }

// ---- of one owner ----------------------------------------------------------------------------------------------------

/** The default first, then the newest. */
export async function listAddresses(
  db: Db,
  instance: Instance,
  owner: AddressOwner,
  storeId: string,
  query: PageParams,
): Promise<Page<Address>> {
  const key = unwrapDataKey(instance.keyring, owner.user)
  return listPage({
    keyring: instance.keyring,
    list: ['addresses', storeId, owner.user.id],
    query,
    start: BEFORE_ALL,
    read: (window) => {
      const after = parsePosition(window.after)
      return db.query<SealedAddressRow>(sql`
        select ${addressColumns}
          from addresses
         where store_id = ${storeId}
           and user_id = ${owner.user.id}
           and ${notErased(owner)}
           and (is_default, id) < (${after.isDefault}, ${after.id})
         order by is_default desc, id desc
         limit ${window.take}`)
    },
    positionOf: (row) => cursorPosition(row.is_default, row.id),
    show: (row) => showAddress(row, unsealText(key, row)),
  })
}

/** Their key may still be in this node's caller cache when they were erased at another. */
function notErased(owner: AddressOwner): Sql {
  return sql`exists (select from users where id = ${owner.user.id} and erased_at is null)`
}

/** Comes before every address in the order of these lists: the default first, then by id, falling. */
const BEFORE_ALL = '1~'

function cursorPosition(isDefault: boolean, id: string): string {
  return `${isDefault ? 1 : 0}${id}`
}

function parsePosition(text: string): { isDefault: boolean; id: string } {
  return { isDefault: text.startsWith('1'), id: text.slice(1) }
}

export async function readAddress(
  db: Db,
  instance: Instance,
  owner: AddressOwner,
  { storeId, addressId }: AddressRef,
): Promise<Answer<Address>> {
  const row = await db.one<SealedAddressRow>(sql`
    select ${addressColumns}
      from addresses
     where id = ${addressId}
       and store_id = ${storeId}
       and user_id = ${owner.user.id}
       and ${notErased(owner)}`)
  if (!row) return fail('address_not_found')
  return {
    body: showAddress(row, unsealText(unwrapDataKey(instance.keyring, owner.user), row)),
    etag: etagOf(row.revision),
  }
}

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
export type SealedAddressRow = AddressRow & { sealed: Buffer }

export const addressColumns = sql`
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

// ---- for invoices ---------------------------------------------------------------------------------------------------

type DatedRow = ContentRow & { is_default: boolean }

/** Later than the `until` of any version that has ended, so the version that counts now is the one found. */
const END_OF_TIME = new Date('9999-12-31T23:59:59.999Z')

function asOf(at: string | undefined): Date {
  return (at === undefined ? null : parseDateTime(at)) ?? END_OF_TIME
}

export async function listForInvoices(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams & { userId: string; at?: string },
): Promise<Page<InvoiceAddress>> {
  const at = asOf(query.at)
  let key: Buffer | null = null
  return listPage({
    keyring: instance.keyring,
    list: ['addresses for invoices', storeId, query.userId, query.at],
    query,
    start: BEFORE_ALL,
    read: async (window) => {
      const after = parsePosition(window.after)
      const rows = await db.query<DatedRow>(sql`
        select ${contentColumns}, content.is_default
          from (select content.*,
                       coalesce(content.address_id = (
                         select address_id
                           from address_default_times
                          where store_id = ${storeId}
                            and user_id = ${query.userId}
                            and since <= ${at}
                            and until > ${at}
                          order by since desc
                          limit 1), false) as is_default
                  from address_contents content
                 where content.store_id = ${storeId}
                   and content.user_id = ${query.userId}
                   and content.at <= ${at}
                   and content.until > ${at}) content
          left join users person on person.id = content.user_id
         where (content.is_default, content.address_id) < (${after.isDefault}, ${after.id})
         order by content.is_default desc, content.address_id desc
         limit ${window.take}`)
      key = dataKeyOf(instance, rows)
      return rows
    },
    positionOf: (row) => cursorPosition(row.is_default, row.address_id),
    show: (row) => showForInvoice(row, key),
  })
}

export async function readForInvoice(
  db: Db,
  instance: Instance,
  { storeId, addressId }: AddressRef,
  asked: { at?: string },
): Promise<InvoiceAddress> {
  const at = asOf(asked.at)
  const row = await db.one<DatedRow>(sql`
    select ${contentColumns},
           coalesce(content.address_id = (
             select address_id
               from address_default_times
              where store_id = content.store_id
                and user_id = content.user_id
                and since <= ${at}
                and until > ${at}
              order by since desc
              limit 1), false) as is_default
      from address_contents content
      left join users person on person.id = content.user_id
     where content.address_id = ${addressId}
       and content.store_id = ${storeId}
       and content.at <= ${at}
       and content.until > ${at}
     order by content.version desc
     limit 1`)
  if (!row) return fail('address_not_found')
  return showForInvoice(row, dataKeyOf(instance, [row]))
}

function showForInvoice(row: DatedRow, key: Buffer | null): InvoiceAddress {
  return { ...showContent(row, key), isDefault: row.is_default }
}

// ---- the content of an address at one time ---------------------------------------------------------------------------

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
  /** Who made this version. Null: the user whose address it is. */
  changed_by_kind: 'user' | 'key'
  changed_by_id: string | null
  data_key: Buffer | null
  data_key_kid: string | null
}

export const contentColumns = sql`
  content.address_id, content.version, content.store_id, content.user_id, content.country, content.state,
  content.postal_code, content.sealed, content.created_at, content.at, content.changed_by_kind, content.changed_by_id,
  person.data_key, person.data_key_kid`

export function showContent(row: ContentRow, key: Buffer | null): AddressContent {
  const text = key && unsealText(key, { ...row, id: row.address_id })
  return {
    id: row.address_id,
    storeId: row.store_id,
    userId: row.user_id,
    ...(text ? text.address : erasedFields(row)),
    formatted: text?.formatted ?? [],
    warnings: text?.warnings ?? [],
    version: row.version,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.at.toISOString(),
    erased: text === null,
  }
}

function erasedFields({ state, postal_code, country }: ContentRow) {
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

/** The key of the one user whose rows these are. Null when it has been destroyed: the user was erased. */
export function dataKeyOf({ keyring }: Pick<Instance, 'keyring'>, [row]: ContentRow[]): Buffer | null {
  if (!row?.data_key || row.data_key_kid === null) return null
  return unwrapDataKey(keyring, { id: row.user_id, dataKey: row.data_key, dataKeyKid: row.data_key_kid })
}
