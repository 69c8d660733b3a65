// All that is held of a user's addresses, for an export: of their own, or of a customer by their store.

import { unwrapDataKey, type WrappedKey } from '../auth/data-key.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import type { AddressDefaultsRow, AddressesRow, AddressHoldsRow, AddressVersionsRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { type ExportCheck, idOf, LAST, PAGE, pagesOf } from '../limits/export-pages.ts'
import { type SealContext, unsealText } from './sealed-text.ts'

/** Whose addresses; those of one store or, without it, of every store, also where the user is no longer a member. */
type ExportScope = { user: WrappedKey; storeId?: string }

function inScope({ user, storeId }: ExportScope): Sql {
  return storeId === undefined ? sql`user_id = ${user.id}` : sql`user_id = ${user.id} and store_id = ${storeId}`
}

/** As it is kept, with its warnings and its label. */
function unsealAddress(instance: Instance, { user }: ExportScope, row: SealContext & { sealed: Buffer }) {
  const { address, warnings, formatted } = unsealText(unwrapDataKey(instance.keyring, user), row)
  return { ...address, warnings, formatted }
}

type ExportedAddressRow = Pick<
  AddressesRow,
  'id' | 'store_id' | 'user_id' | 'is_default' | 'sealed' | 'version' | 'created_at' | 'updated_at'
>

export function exportAddresses(db: Db, instance: Instance, scope: ExportScope, check: ExportCheck) {
  const read = (below: string) =>
    db.query<ExportedAddressRow>(sql`
      select id, store_id, user_id, is_default, sealed, version, created_at, updated_at
        from addresses
       where ${inScope(scope)}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  return pagesOf(check, read, idOf, (row) => ({
    id: row.id,
    storeId: row.store_id,
    ...unsealAddress(instance, scope, row),
    isDefault: row.is_default,
    version: row.version,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }))
}

type VersionRow = Pick<
  AddressVersionsRow,
  'store_id' | 'user_id' | 'sealed' | 'version' | 'created_at' | 'at' | 'until'
> & { id: AddressVersionsRow['address_id'] }

/** Former versions, also of deleted addresses. */
export function exportVersions(db: Db, instance: Instance, scope: ExportScope, check: ExportCheck) {
  const read = (below: string) => {
    const [id, version = '0'] = below.split(' ')
    return db.query<VersionRow>(sql`
      select address_id as id, store_id, user_id, sealed, version, created_at, at, until
        from address_versions
       where ${inScope(scope)}
         and (address_id, version) < (${id}, ${version}::int)
       order by address_id desc, version desc
       limit ${PAGE}`)
  }
  const placeOf = (row: VersionRow) => `${row.id} ${row.version}`
  return pagesOf(check, read, placeOf, (row) => ({
    id: row.id,
    storeId: row.store_id,
    ...unsealAddress(instance, scope, row),
    version: row.version,
    createdAt: row.created_at.toISOString(),
    from: row.at.toISOString(),
    until: row.until.toISOString(),
  }))
}

/** One that still is the default has no end. */
type DefaultRow = Pick<AddressDefaultsRow, 'id' | 'store_id' | 'address_id' | 'since'> & { until: Date | null }

/** Current defaults first, then former ones. */
export async function* exportDefaults(db: Db, scope: ExportScope, check: ExportCheck) {
  const areDefault = (below: string) =>
    db.query<DefaultRow>(sql`
      select id, store_id, id as address_id, coalesce(default_since, created_at) as since, null as until
        from addresses
       where ${inScope(scope)}
         and is_default
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  const wereDefault = (below: string) =>
    db.query<DefaultRow>(sql`
      select id, store_id, address_id, since, until
        from address_defaults
       where ${inScope(scope)}
         and id < ${below === LAST ? LAST_NUMBER : below}
       order by id desc
       limit ${PAGE}`)
  const show = (row: DefaultRow) => ({
    storeId: row.store_id,
    addressId: row.address_id,
    from: row.since.toISOString(),
    until: row.until?.toISOString() ?? null,
  })
  yield* pagesOf(check, areDefault, idOf, show)
  yield* pagesOf(check, wereDefault, idOf, show)
}
/** The largest bigint. */
const LAST_NUMBER = '9223372036854775807'

/** The versions that stores have put on hold. */
export function exportHolds(db: Db, scope: ExportScope, check: ExportCheck) {
  const read = (below: string) =>
    db.query<Pick<AddressHoldsRow, 'id' | 'store_id' | 'address_id' | 'version' | 'reason' | 'until'>>(sql`
      select id, store_id, address_id, version, reason, until
        from address_holds
       where ${inScope(scope)}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  return pagesOf(check, read, idOf, (row) => ({
    storeId: row.store_id,
    addressId: row.address_id,
    version: row.version,
    reason: row.reason,
    until: row.until.toISOString(),
  }))
}
