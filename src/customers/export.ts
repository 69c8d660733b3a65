// All that is held about a customer in a store, for whoever answers their request for it; and what stores say of a user who
// is linked, for the user's own export.

import { exportAddresses, exportDefaults, exportHolds, exportVersions } from '../billing/export.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Answer, Paged } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { EventsRow } from '../db/tables.gen.ts'
import type { AuthorizationProbe } from '../events/schema.ts'
import type { Instance } from '../instance.ts'
import { exportOwnedKeys } from '../keys/owners.ts'
import { type ExportCheck, idOf, PAGE, pagesOf } from '../limits/export-pages.ts'
import { type CustomerRef, findCustomer } from './customers.ts'
import { type CustomerRow, customerColumns, showCustomer, unsealRecord, wrappedKeyOf } from './record.ts'
import type { CustomerExport } from './schema.ts'

export async function exportCustomer(
  db: Db,
  instance: Instance,
  ref: CustomerRef,
  stillAuthorized: AuthorizationProbe,
): Promise<Answer<Paged<CustomerExport>>> {
  const row = await findCustomer(db, ref)
  const user = wrappedKeyOf(row)
  const scope = { user, storeId: ref.storeId }
  // During a long export the caller may lose their rights, or the customer may be erased: then it ends.
  const check: ExportCheck = async () => {
    if ((await stillAuthorized()) === 'no') fail('invalid_token')
    if ((await findCustomer(db, ref)).user_id !== user.id) fail('customer_not_found')
  }
  return {
    body: {
      exportedAt: now().toISOString(),
      customer: showCustomer(row, unsealRecord(instance.keyring, user, row)),
      addresses: exportAddresses(db, instance, scope, check),
      addressVersions: exportVersions(db, instance, scope, check),
      addressDefaults: exportDefaults(db, scope, check),
      keys: exportOwnedKeys(db, { storeId: ref.storeId, owner: row.external_id }, check),
      holds: exportHolds(db, scope, check),
      events: eventsAbout(db, row, check),
    },
    headers: { 'content-disposition': `attachment; filename="${user.id}.json"` },
  }
}

type ExportedEventRow = Pick<EventsRow, 'id' | 'type' | 'at'> & {
  kind: CustomerExport['events'][number]['by']
  data: Record<string, unknown>
}

function eventsAbout(db: Db, { store_id, user_id }: CustomerRow, check: ExportCheck) {
  const read = (below: string) =>
    db.query<ExportedEventRow>(sql`
      select id, type, at, actor ->> 'kind' as kind, data
        from events
       where subject = ${user_id}
         and subject ^@ 'user_'
         and store_id = ${store_id}
         and id < ${below}
       order by id desc
       limit ${PAGE}`)
  return pagesOf(check, read, idOf, ({ id, type, at, kind, data }) => ({
    id,
    type,
    at: at.toISOString(),
    by: kind,
    data,
  }))
}

/** What every store that has linked the user says of them. */
export function exportRecords(db: Db, { keyring }: Instance, user: UserCaller, check: ExportCheck) {
  const read = (below: string) =>
    db.query<CustomerRow>(sql`
      select ${customerColumns}
        from customers customer
        join users person on person.id = customer.user_id and person.data_key is not null
       where customer.user_id = ${user.id}
         and customer.store_id < ${below}
       order by customer.store_id desc
       limit ${PAGE}`)
  const storeOf = (row: CustomerRow) => row.store_id
  return pagesOf(check, read, storeOf, (row) => {
    const { id: _, ...record } = showCustomer(row, unsealRecord(keyring, user, row))
    return { storeId: row.store_id, ...record }
  })
}
