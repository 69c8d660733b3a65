// The versions of an address. Every change of content makes one, and a version once made never changes. The user reads the
// versions of an address that exists; a caller with READ in the store reads them for ever, since an invoice may point at one.

import { unwrapDataKey } from '../auth/data-key.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { AddressHoldsRow } from '../db/tables.gen.ts'
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
    show: (row) => showVersion(instance, row, key),
  })
}

export async function readVersion(
  db: Db,
  instance: Instance,
  owner: Owner,
  ref: AddressRef & { n: string },
): Promise<AddressVersion> {
  const row = await findVersion(db, owner, ref)
  return showVersion(instance, row, dataKeyOf(instance, [row]))
}

export async function findVersion(db: Db, owner: Owner, ref: AddressRef & { n: string }): Promise<VersionRow> {
  const n = /^[1-9]\d{0,8}$/.test(ref.n) ? Number(ref.n) : 0
  const [row] = await findVersions(db, owner, ref, { below: n + 1, limit: 1 })
  if (row?.version === n) return row
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
): Promise<VersionRow[]> {
  const isOwn = sql`
    content.user_id = ${owner?.user.id}
    and exists (select from addresses where id = ${addressId})`
  return db.query<VersionRow>(sql`
    select ${contentColumns}, hold.id as hold_id, hold.sealed as hold_sealed, hold.data_key as hold_key,
           hold.data_key_kid as hold_key_kid, hold.reason, hold.until, hold.held_by_kind, hold.held_by_id, hold.held_at
      from address_contents content
      left join users person on person.id = content.user_id
      left join address_holds hold
        on hold.address_id = content.address_id
       and hold.version = content.version
       and hold.until > ${now()}
     where content.address_id = ${addressId}
       and content.store_id = ${storeId}
       and content.version < ${below}
       and ${owner ? isOwn : sql`true`}
     order by content.version desc
     limit ${limit}`)
}

/** A version, with its hold if it has one. */
export type VersionRow = ContentRow &
  ({ hold_id: null } | ({ hold_id: string; hold_sealed: Buffer; hold_key: Buffer; hold_key_kid: string } & HoldColumns))
type HoldColumns = Pick<AddressHoldsRow, 'reason' | 'until' | 'held_by_kind' | 'held_by_id' | 'held_at'>

/** When the user's key is gone, a version on hold is opened with the key of its hold. */
export function showVersion(
  { keyring }: Pick<Instance, 'keyring'>,
  row: VersionRow,
  key: Buffer | null,
): AddressVersion {
  if (row.hold_id === null) return toVersion(row, key, null)
  if (key !== null) return toVersion(row, key, showHold(row))
  const held = { id: row.hold_id, dataKey: row.hold_key, dataKeyKid: row.hold_key_kid }
  return toVersion({ ...row, sealed: row.hold_sealed }, unwrapDataKey(keyring, held), showHold(row))
}

/** From the hold alone: the version itself may be gone with its store. */
export function showHeldVersion(keyring: Keyring, row: AddressHoldsRow): AddressVersion {
  const key = unwrapDataKey(keyring, { id: row.id, dataKey: row.data_key, dataKeyKid: row.data_key_kid })
  // Only users and keys change addresses.
  return toVersion(row as AddressHoldsRow & { changed_by_kind: 'user' | 'key' }, key, showHold(row))
}

function showHold(row: HoldColumns): AddressVersion['hold'] {
  return {
    reason: row.reason,
    until: row.until.toISOString(),
    by: { kind: row.held_by_kind, id: row.held_by_id },
    at: row.held_at.toISOString(),
  }
}

function toVersion(row: ContentRow, key: Buffer | null, hold: AddressVersion['hold']): AddressVersion {
  return {
    version: row.version,
    at: row.at.toISOString(),
    by:
      row.changed_by_id === null
        ? { kind: 'user', id: row.user_id }
        : { kind: row.changed_by_kind, id: row.changed_by_id },
    address: showContent(row, key),
    hold,
  }
}
