// An address as it was. Every change of content makes a version, and a version once made never changes. Its user reads
// them while the address is there; whoever holds READ in the store reads them for ever, since an invoice may point at one.

import type { UserCaller } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import { type Page, type PageParams, pageWindow, toPage } from '../core/pagination.ts'
import { type Db, sql } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import { type ContentRow, contentColumns, ownersKey, type Place, showContent } from './address.ts'
import type { AddressVersion } from './schema.ts'

/** The user whose own the address must be, or null for one who reads for invoices. */
type Owner = UserCaller | null

/** Newest first. */
export async function listVersions(
  db: Db,
  instance: Instance,
  owner: Owner,
  place: Place,
  query: PageParams,
): Promise<Page<AddressVersion>> {
  const list = ['versions', place.storeId, place.addressId, owner?.id]
  const window = pageWindow(instance.keyring, list, query, String(LAST))
  const rows = await findVersions(db, owner, place, { below: Number(window.after), limit: window.limit + 1 })
  // While there is an address there is a version of it.
  if (rows.length === 0) return fail('address_not_found')
  const key = ownersKey(instance, rows)
  const placeOf = (row: ContentRow) => String(row.version)
  return toPage(instance.keyring, list, window, rows, placeOf, (row) => showVersion(row, key))
}

export async function readVersion(
  db: Db,
  instance: Instance,
  owner: Owner,
  place: Place & { n: string },
): Promise<AddressVersion> {
  const n = /^[1-9]\d{0,8}$/.test(place.n) ? Number(place.n) : 0
  const [row] = await findVersions(db, owner, place, { below: n + 1, limit: 1 })
  if (row?.version === n) return showVersion(row, ownersKey(instance, [row]))
  const [any] = row ? [row] : await findVersions(db, owner, place, { below: LAST, limit: 1 })
  return fail(any ? 'version_not_found' : 'address_not_found')
}

/** More than any address has. */
const LAST = 2_147_483_647

function findVersions(
  db: Db,
  owner: Owner,
  { storeId, addressId }: Place,
  { below, limit }: { below: number; limit: number },
): Promise<ContentRow[]> {
  const isOwn = sql`
    content.user_id = ${owner?.id}
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

/** Nobody but its user ever changes an address. */
function showVersion(row: ContentRow, key: Buffer | null): AddressVersion {
  return {
    version: row.version,
    at: row.at.toISOString(),
    by: { kind: 'user', id: row.user_id },
    address: showContent(row, key),
  }
}
