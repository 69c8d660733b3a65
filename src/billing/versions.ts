// The versions of an address. Every change of content makes one, and a version once made never changes. The user reads the
// versions of an address that exists; a caller with READ in the store reads them for ever, since an invoice may point at one.

import { fail } from '../core/errors.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import type { AddressOwner } from './owner.ts'
import { type AddressRef, type ContentRow, contentColumns, dataKeyOf, showContent } from './read.ts'
import type { AddressVersion } from './schema.ts'

/** The owner of the address, or null for a caller who reads for invoices. */
type Owner = AddressOwner | null

/** Newest first. */
export async function listVersions(
  db: Db,
  instance: Instance,
  owner: Owner,
  ref: AddressRef,
  query: PageParams,
): Promise<Page<AddressVersion>> {
  let key: Buffer | null = null
  return listPage({
    keyring: instance.keyring,
    list: ['versions', ref.storeId, ref.addressId, owner?.user.id],
    query,
    start: String(MAX_VERSION),
    read: async ({ after, take }) => {
      const rows = await findVersions(db, owner, ref, { below: Number(after), limit: take })
      // Every address has at least one version.
      if (rows.length === 0) return fail('address_not_found')
      key = dataKeyOf(instance, rows)
      return rows
    },
    positionOf: (row) => String(row.version),
    show: (row) => showVersion(row, key),
  })
}

export async function readVersion(
  db: Db,
  instance: Instance,
  owner: Owner,
  ref: AddressRef & { n: string },
): Promise<AddressVersion> {
  const n = /^[1-9]\d{0,8}$/.test(ref.n) ? Number(ref.n) : 0
  const [row] = await findVersions(db, owner, ref, { below: n + 1, limit: 1 })
  if (row?.version === n) return showVersion(row, dataKeyOf(instance, [row]))
  const [anyVersion] = row ? [row] : await findVersions(db, owner, ref, { below: MAX_VERSION, limit: 1 })
  return fail(anyVersion ? 'version_not_found' : 'address_not_found')
}

/** The largest number the column holds. */
const MAX_VERSION = 2_147_483_647

function findVersions(
  db: Db,
  owner: Owner,
  { storeId, addressId }: AddressRef,
  { below, limit }: { below: number; limit: number },
): Promise<ContentRow[]> {
  const isOwn = sql`
    content.user_id = ${owner?.user.id}
    and exists (select from addresses where id = ${addressId})`
  return db.query<ContentRow>(sql`
    select ${contentColumns}
      from address_contents content
      left join users person on person.id = content.user_id
     where content.address_id = ${addressId}
       and content.store_id = ${storeId}
       and content.version < ${below}
       and ${owner ? isOwn : sql`true`}
     order by content.version desc
     limit ${limit}`)
}

function showVersion(row: ContentRow, key: Buffer | null): AddressVersion {
  return {
    version: row.version,
    at: row.at.toISOString(),
    by:
      row.changed_by_id === null
        ? { kind: 'user', id: row.user_id }
        : { kind: row.changed_by_kind, id: row.changed_by_id },
    address: showContent(row, key),
  }
}
