// The customers of a store, by ids of its own. A customer on behalf is a user without an account: they hold no role, are no
// member and cannot sign in, and everything of theirs (addresses, versions, limits, erasure) works as for every user. A
// member with the role CUSTOMER can be linked to an external id instead. All of it changes under the store's lock.

import { newDataKey } from '../auth/data-key.ts'
import type { AddressOwner } from '../billing/owner.ts'
import type { Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { normalizeEmail, parseEmail } from '../core/email.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Answer } from '../core/route.ts'
import { normalForm } from '../core/unicode.ts'
import type { Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { type Sql, sql } from '../db/sql.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { parseExternalId } from '../schema/external-id.ts'
import { parseCustomerId } from './external-id.ts'
import {
  type CustomerRecord,
  type CustomerRow,
  customerColumns,
  emailHashes,
  hex,
  pathOf,
  recordColumns,
  showCustomer,
  unsealRecord,
  wrappedKeyOf,
} from './record.ts'
import { customersFull, takeRoom } from './room.ts'
import type { Customer, CustomerChanges } from './schema.ts'

export type CustomerRef = { storeId: string; externalId: string }

// ---- reading ----------------------------------------------------------------------------------------------------------

/** An external id that no customer can have is answered like one that none has: after the faults of the input. */
export async function findCustomer(
  db: Db,
  { storeId, externalId }: CustomerRef,
  faults: Fault[] = [],
): Promise<CustomerRow> {
  const id = parseExternalId(externalId, '', [])
  const row =
    id === null ? null : await customerBy(db, sql`customer.store_id = ${storeId} and customer.external_id = ${id}`)
  if (row) return row
  return faults.length > 0 ? failInput(faults) : fail('customer_not_found')
}

async function customerBy(db: Db, which: Sql): Promise<CustomerRow | null> {
  return db.one<CustomerRow>(sql`
    select ${customerColumns}
      from customers customer
      join users person on person.id = customer.user_id and person.data_key is not null
     where ${which}`)
}

export async function readCustomer(db: Db, { keyring }: Instance, ref: CustomerRef): Promise<Answer<Customer>> {
  const row = await findCustomer(db, ref)
  return { body: showCustomer(row, unsealRecord(keyring, wrappedKeyOf(row), row)) }
}

/** Whose addresses are kept below the customer's path. */
export async function addressesOf(db: Db, ref: CustomerRef, faults?: Fault[]): Promise<AddressOwner> {
  const row = await findCustomer(db, ref, faults)
  return { user: wrappedKeyOf(row), path: `${pathOf(row)}/billing`, onBehalf: true }
}

type CustomerQuery = PageParams & { q?: string; id?: string }

/** The newest first; those found by `q` in the order of their external ids, by which they are found. */
export async function listCustomers(
  db: Db,
  { keyring }: Instance,
  storeId: string,
  query: CustomerQuery,
): Promise<Page<Customer>> {
  const { id } = query
  const q = query.q === undefined ? undefined : normalForm(query.q, 'NFC')
  const isAsked = id === undefined ? sql`true` : sql`customer.user_id = ${id}`
  return listPage<CustomerRow, Customer>({
    keyring,
    list: ['customers', storeId, q, id],
    query,
    ...(q === undefined ? {} : { start: '' }),
    read: ({ after, take }) =>
      q === undefined
        ? db.query<CustomerRow>(sql`
            select ${customerColumns}
              from customers customer
              join users person on person.id = customer.user_id and person.data_key is not null
             where customer.store_id = ${storeId}
               and customer.user_id < ${after}
               and ${isAsked}
             order by customer.user_id desc
             limit ${take}`)
        : search(db, storeId, { q, hashes: hashesOf(q), isAsked, after, take }),
    positionOf: (row) => (q === undefined ? row.user_id : row.external_id),
    show: (row) => showCustomer(row, unsealRecord(keyring, wrappedKeyOf(row), row)),
  })

  function hashesOf(text: string): Buffer[] {
    const email = normalizeEmail(text)
    return email === null ? [] : emailHashes(keyring, storeId, email)
  }
}

type Search = { q: string; hashes: Buffer[]; isAsked: Sql; after: string; take: number }

/** Each way of finding has an index of its own: with an "or" all customers would be read. */
function search(db: Db, storeId: string, { q, hashes, isAsked, after, take }: Search): Promise<CustomerRow[]> {
  const found = (which: Sql) => sql`
    (select customer.*
       from customers customer
      where customer.store_id = ${storeId}
        and customer.external_id > ${after}
        and ${isAsked}
        and ${which}
      order by customer.external_id
      limit ${take})`
  return db.query<CustomerRow>(sql`
    select ${customerColumns}
      from (${found(sql`customer.external_id >= ${q} and customer.external_id < ${q + LAST_CHARACTER}`)}
             union
            ${found(sql`customer.email_hash = any(${hashes})`)}) customer
      join users person on person.id = customer.user_id and person.data_key is not null
     order by customer.external_id
     limit ${take}`)
}

/** Sorts after every character of an external id. */
const LAST_CHARACTER = '\u{10FFFF}'

// ---- making and changing ----------------------------------------------------------------------------------------------

/** E-mail and name in their normal form; what was left out stays left out. */
export function parseCustomerChanges(body: Partial<CustomerChanges>, faults: Fault[]): CustomerChanges {
  const { email, ...rest } = body
  if (email === undefined) return rest
  return { ...rest, email: email === null ? null : parseEmail(email, faults) }
}

export async function putCustomer(
  tx: Db,
  instance: Instance,
  caller: Manager,
  { storeId, externalId: given }: CustomerRef,
  changes: CustomerChanges,
): Promise<Answer<Customer>> {
  const faults: Fault[] = []
  const externalId = parseCustomerId(given, '{externalId}', faults)
  if (externalId === null) return failInput(faults)
  const before = await customerBy(tx, sql`customer.store_id = ${storeId} and customer.external_id = ${externalId}`)
  if (before) return updateCustomer(tx, instance, caller, before, changes)
  const record = applyChanges({ email: null, name: null }, changes)
  const customer =
    changes.userId === undefined
      ? newCustomer(instance, storeId, externalId, record)
      : toCustomer(instance, { storeId, externalId }, await findLinkable(tx, storeId, changes.userId), record)
  if ((await takeRoom(tx, instance, storeId, 1)) < 1) fail('limit_exceeded', { detail: customersFull(instance) })
  await insertCustomers(tx, [customer])
  await writeEvents(tx, [customerCreated(caller, customer.row)])
  const { row } = customer
  return { body: showCustomer(row, record), resource: { id: row.user_id, location: pathOf(row) } }
}

async function updateCustomer(
  tx: Db,
  { keyring }: Instance,
  caller: Manager,
  before: CustomerRow,
  changes: CustomerChanges,
): Promise<Answer<Customer>> {
  if (changes.userId !== undefined && changes.userId !== before.user_id) fail('already_linked')
  const record = unsealRecord(keyring, wrappedKeyOf(before), before)
  const { changed, after } = changesOf(record, changes)
  if (changed.length === 0) return { body: showCustomer(before, record) }
  const row = { ...before, updated_at: now() }
  await updateRecords(tx, [toUpdate(keyring, row, after)])
  await writeEvents(tx, [newEvent(caller, row.store_id, 'customer.updated', row.user_id, { changed })])
  return { body: showCustomer(row, after) }
}

function applyChanges(before: CustomerRecord, { email, name }: CustomerChanges): CustomerRecord {
  return { email: email === undefined ? before.email : email, name: name === undefined ? before.name : name }
}

export function changesOf(before: CustomerRecord, changes: CustomerChanges) {
  const after = applyChanges(before, changes)
  return { after, changed: (['email', 'name'] as const).filter((field) => after[field] !== before[field]) }
}

/**
 * A member with the role CUSTOMER who has no external id in this store yet. The store's lock keeps them so, and that of their
 * membership keeps them from being erased (identity/erase.ts).
 */
async function findLinkable(tx: Db, storeId: string, userId: string): Promise<LinkableRow> {
  const member = await tx.one<LinkableRow & { linked: boolean }>(sql`
    select person.id, person.data_key, person.data_key_kid,
           exists (select from customers where store_id = ${storeId} and user_id = person.id) as linked
      from members member
      join users person on person.id = member.user_id and person.data_key is not null
     where member.store_id = ${storeId}
       and member.user_id = ${userId}
       and member.role = 'CUSTOMER'
       for key share of member`)
  if (member) return member.linked ? fail('already_linked') : member
  const detail = 'This is not the id of a member of the store with the role CUSTOMER.'
  return failInput([{ pointer: '#/userId', code: 'not_a_customer', detail }])
}

type LinkableRow = { id: string; data_key: Buffer; data_key_kid: string }

/** A customer to be written: what is kept of them in `customers` and, on their behalf, in `users`. */
export type NewCustomer = { row: CustomerRow; columns: ReturnType<typeof recordColumns> }

/** On behalf: with a user and a key that are made for them. */
export function newCustomer(
  instance: Instance,
  storeId: string,
  externalId: string,
  record: CustomerRecord,
): NewCustomer {
  const id = newId('user')
  const { wrapped, kid } = newDataKey(instance.keyring, id)
  return toCustomer(instance, { storeId, externalId }, { id, data_key: wrapped, data_key_kid: kid }, record, storeId)
}

function toCustomer(
  { keyring }: Instance,
  { storeId, externalId }: CustomerRef,
  { id, data_key, data_key_kid }: LinkableRow,
  record: CustomerRecord,
  customerOf: string | null = null,
): NewCustomer {
  const at = now()
  const row = {
    store_id: storeId,
    external_id: externalId,
    user_id: id,
    sealed: null,
    created_at: at,
    updated_at: at,
    data_key,
    data_key_kid,
    customer_of: customerOf,
  }
  return { row, columns: recordColumns(keyring, wrappedKeyOf(row), storeId, record) }
}

export function customerCreated(caller: Manager, row: CustomerRow) {
  return newEvent(caller, row.store_id, 'customer.created', row.user_id, { linked: row.customer_of === null })
}

const createdCustomers = recordset('created', {
  store_id: 'text',
  external_id: 'text',
  user_id: 'text',
  customer_of: 'text',
  data_key: 'bytea',
  data_key_kid: 'text',
  sealed: 'bytea',
  email_hash: 'bytea',
  email_hash_kid: 'text',
  created_at: 'timestamptz',
})

export async function insertCustomers(tx: Db, customers: NewCustomer[]): Promise<void> {
  if (customers.length === 0) return
  const rows = customers.map(({ row, columns }) => ({ ...row, data_key: hex(row.data_key), ...columns }))
  await tx.query(sql`
    with created as (
      select *
        from ${createdCustomers(rows)}
    ), person as (
      insert into users (id, customer_of, data_key, data_key_kid, created_at, updated_at)
      select user_id, customer_of, data_key, data_key_kid, created_at, created_at
        from created
       where customer_of is not null
    )
    insert into customers
           (store_id, external_id, user_id, sealed, email_hash, email_hash_kid, created_at, updated_at)
    select store_id, external_id, user_id, sealed, email_hash, email_hash_kid, created_at, created_at
      from created`)
}

const changedRecords = recordset('changed', {
  store_id: 'text',
  user_id: 'text',
  sealed: 'bytea',
  email_hash: 'bytea',
  email_hash_kid: 'text',
  updated_at: 'timestamptz',
})
type ChangedRecord = Parameters<typeof changedRecords>[0][number]

export function toUpdate(keyring: Instance['keyring'], row: CustomerRow, record: CustomerRecord): ChangedRecord {
  const { store_id, user_id, updated_at } = row
  return { store_id, user_id, updated_at, ...recordColumns(keyring, wrappedKeyOf(row), store_id, record) }
}

export async function updateRecords(tx: Db, changed: ChangedRecord[]): Promise<void> {
  if (changed.length === 0) return
  await tx.query(sql`
    update customers
       set sealed = changed.sealed, email_hash = changed.email_hash, email_hash_kid = changed.email_hash_kid,
           updated_at = changed.updated_at
      from ${changedRecords(changed)}
     where customers.store_id = changed.store_id
       and customers.user_id = changed.user_id`)
}
