// Reading addresses: a user reads their own; whoever holds READ in the store reads those of one user, to write invoices,
// also as they were at some moment.

import { unwrapDataKey } from '../auth/data-key.ts'
import type { UserCaller } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import { etagOf } from '../core/etag.ts'
import { type Page, type PageParams, pageWindow, toPage } from '../core/pagination.ts'
import type { Answer } from '../core/route.ts'
import { type Db, sql } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import { parseDateTime } from '../schema/fields.ts'
import {
  type ContentRow,
  columns,
  contentColumns,
  openText,
  ownersKey,
  type Place,
  type SealedRow,
  showAddress,
  showContent,
} from './address.ts'
import type { Address, InvoiceAddress } from './schema.ts'

// ---- one's own ------------------------------------------------------------------------------------------------------

/** The default first, then the newest. */
export async function listAddresses(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  storeId: string,
  query: PageParams,
): Promise<Page<Address>> {
  const list = ['addresses', storeId, caller.id]
  const window = pageWindow(instance.keyring, list, query, FIRST)
  const after = placeFrom(window.after)
  const rows = await db.query<SealedRow>(sql`
    select ${columns}
      from addresses
     where store_id = ${storeId}
       and user_id = ${caller.id}
       and (is_default, id) < (${after.isDefault}, ${after.id})
     order by is_default desc, id desc
     limit ${window.limit + 1}`)
  const key = unwrapDataKey(instance.keyring, caller)
  const placeOf = (row: SealedRow) => placeIn(row.is_default, row.id)
  return toPage(instance.keyring, list, window, rows, placeOf, (row) => showAddress(row, openText(key, row)))
}

/** Comes before every address in the order of these lists. */
const FIRST = '1~'

function placeIn(isDefault: boolean, id: string): string {
  return `${isDefault ? 1 : 0}${id}`
}

function placeFrom(text: string): { isDefault: boolean; id: string } {
  return { isDefault: text.startsWith('1'), id: text.slice(1) }
}

export async function readAddress(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  { storeId, addressId }: Place,
): Promise<Answer<Address>> {
  const row = await db.one<SealedRow>(sql`
    select ${columns}
      from addresses
     where id = ${addressId}
       and store_id = ${storeId}
       and user_id = ${caller.id}`)
  if (!row) return fail('address_not_found')
  return { body: showAddress(row, openText(unwrapDataKey(instance.keyring, caller), row)), etag: etagOf(row.revision) }
}

// ---- for invoices ---------------------------------------------------------------------------------------------------

type DatedRow = ContentRow & { is_default: boolean }

/** Later than anything that has an end: what is there then is what is there now. */
const NOW_AND_ON = new Date('9999-12-31T23:59:59.999Z')

function momentOf(at: string | undefined): Date {
  return (at === undefined ? null : parseDateTime(at)) ?? NOW_AND_ON
}

export async function listForInvoices(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams & { userId: string; at?: string },
): Promise<Page<InvoiceAddress>> {
  const list = ['addresses for invoices', storeId, query.userId, query.at]
  const window = pageWindow(instance.keyring, list, query, FIRST)
  const after = placeFrom(window.after)
  const at = momentOf(query.at)
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
     limit ${window.limit + 1}`)
  const key = ownersKey(instance, rows)
  const placeOf = (row: DatedRow) => placeIn(row.is_default, row.address_id)
  return toPage(instance.keyring, list, window, rows, placeOf, (row) => showForInvoice(row, key))
}

export async function readForInvoice(
  db: Db,
  instance: Instance,
  { storeId, addressId }: Place,
  asked: { at?: string },
): Promise<InvoiceAddress> {
  const at = momentOf(asked.at)
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
  return showForInvoice(row, ownersKey(instance, [row]))
}

function showForInvoice(row: DatedRow, key: Buffer | null): InvoiceAddress {
  return { ...showContent(row, key), isDefault: row.is_default }
}
