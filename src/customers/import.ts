// Many customers in one request, each line answered for itself. What is right is written in one transaction, in a few
// statements; a line is written whole or not at all. Nothing is ever removed, and an address that the customer has already,
// in its normal form, is not added again: the same import sent twice changes nothing.

import { unwrapDataKey } from '../auth/data-key.ts'
import { inStore, workInStore } from '../auth/recheck.ts'
import { type AddressSpec, type Insert, insertAddresses, newInsert } from '../billing/insert.ts'
import type { AddressOwner } from '../billing/owner.ts'
import { ADDRESS_LENGTHS, type NormalAddress } from '../billing/schema.ts'
import { unsealText } from '../billing/sealed-text.ts'
import { heldPermissions, type Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { type Fault, newFaultLimit } from '../core/errors.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { AddressesRow } from '../db/tables.gen.ts'
import { type EventRow, newEvent, writeEvents } from '../events/write.ts'
import { storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { countToday, reserveOf } from '../limits/count-today.ts'
import { newPause } from '../schema/lines.ts'
import {
  changesOf,
  customerCreated,
  insertCustomers,
  type NewCustomer,
  newCustomer,
  toUpdate,
  updateRecords,
} from './customers.ts'
import { type ParsedLine, parseLines } from './import-lines.ts'
import { type CustomerRow, customerColumns, pathOf, unsealRecord, wrappedKeyOf } from './record.ts'
import { customersFull, takeRoom } from './room.ts'
import type { ImportResult } from './schema.ts'

/** So often a day all customers that a store may have can be changed by imports. What is as it was counts for nothing. */
const DAILY_CHANGES = 2
const DAY_LIMIT_REACHED =
  'Imports have changed as many customers of the store today (UTC) as they may. Change single customers, or wait for "Retry-After" seconds.'

type Outcome = Answer<{ results: ImportResult[] }>

/** The session is looked at when all is written (`workInStore`). */
const RECHECKED = { sessionId: null, federatedId: null }

export async function importCustomers(
  db: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  lines: unknown[],
  idempotency: Idempotency | null,
): Promise<Outcome> {
  const parsed = await parseLines(instance, lines)
  return inStore(db, caller, storeId, async (tx) => {
    await idempotency?.claim(tx, true)
    const created = await workInStore(tx, caller, storeId, () => writeLines(tx, instance, caller, storeId, parsed))
    const limitFaults = newFaultLimit()
    const answer: Outcome = { body: { results: parsed.map((line) => resultOf(line, created, limitFaults)) } }
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse(answer))
    return answer
  })
}

function resultOf(
  line: ParsedLine,
  created: Set<ParsedLine>,
  limitFaults: ReturnType<typeof newFaultLimit>,
): ImportResult {
  const { externalId, faults } = line
  if (faults.length > 0) return { externalId, status: 'failed', errors: limitFaults(faults) }
  return { externalId, status: created.has(line) ? 'created' : 'updated' }
}

/** Those whose customers are new. A line with too many addresses, or a customer too many, gets its fault here. */
async function writeLines(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  lines: ParsedLine[],
): Promise<Set<ParsedLine>> {
  const customers = await findCustomers(tx, storeId, sound(lines))
  const kept = await readAddresses(tx, instance, storeId, sound(lines), customers)
  const mayRead = heldPermissions(caller).includes('READ')
  const added = new Map(sound(lines).map((line) => [line, newAddresses(instance, line, kept, mayRead)]))
  const strangers = sound(lines).filter(({ externalId }) => !customers.has(externalId as string))
  const room = await takeRoom(tx, instance, storeId, strangers.length)
  for (const line of strangers.slice(room)) line.faults.push(noRoom(instance, line))
  const created = new Set<ParsedLine>()
  const [inserts, events] = [[] as NewCustomer[], [] as EventRow[]]
  const updates: Parameters<typeof updateRecords>[1] = []
  let guesses = 0
  const pause = newPause()
  for (const line of sound(lines)) {
    await pause()
    const before = customers.get(line.externalId as string)
    if (before) {
      const { changed, after } = changesOf(unsealRecord(instance.keyring, wrappedKeyOf(before), before), line.changes)
      // Whoever may not read it would learn from the limit whether what they say is so.
      if (changed.length === 0 && !mayRead && saysSomething(line)) guesses += 1
      if (changed.length === 0) continue
      updates.push(toUpdate(instance.keyring, { ...before, updated_at: now() }, after))
      events.push(newEvent(caller, storeId, 'customer.updated', before.user_id, { changed }))
    } else {
      const { email = null, name = null } = line.changes
      const customer = newCustomer(instance, storeId, line.externalId as string, { email, name })
      inserts.push(customer)
      events.push(customerCreated(caller, customer.row))
      customers.set(customer.row.external_id, customer.row)
      created.add(line)
    }
  }
  const more = updates.length + guesses
  if (more > 0) {
    const most = instance.maxCustomersPerStore
    const max = DAILY_CHANGES * most + reserveOf(most, caller)
    await countToday(tx, storeId, 'customer_changes', { more, max, detail: DAY_LIMIT_REACHED })
  }
  await insertCustomers(tx, inserts)
  await updateRecords(tx, updates)
  await writeEvents(tx, events)
  await writeAddresses(tx, instance, caller, storeId, added, customers)
  return created
}

function saysSomething({ changes }: ParsedLine): boolean {
  return changes.email !== undefined || changes.name !== undefined
}

function sound(lines: ParsedLine[]): ParsedLine[] {
  return lines.filter(({ faults }) => faults.length === 0)
}

async function findCustomers(tx: Db, storeId: string, lines: ParsedLine[]): Promise<Map<string, CustomerRow>> {
  const rows = await tx.query<CustomerRow>(sql`
    select ${customerColumns}
      from customers customer
      join users person on person.id = customer.user_id and person.data_key is not null
     where customer.store_id = ${storeId}
       and customer.external_id = any(${lines.map(({ externalId }) => externalId as string)})`)
  return new Map(rows.map((row) => [row.external_id, row]))
}

// ---- addresses --------------------------------------------------------------------------------------------------------

const FIELDS = Object.keys(ADDRESS_LENGTHS) as (keyof typeof ADDRESS_LENGTHS)[]

/** Two addresses are the same when this is. */
function contentOf(address: NormalAddress): string {
  return JSON.stringify(FIELDS.map((field) => address[field] ?? null))
}

/** By external id: the contents of the addresses they have, so that none is added twice. */
type KeptAddresses = Map<string, string[]>

const CUSTOMERS_AT_ONCE = 100

/** Of the lines that bring addresses, and under the lock of those members who could add one themselves meanwhile. */
async function readAddresses(
  tx: Db,
  instance: Instance,
  storeId: string,
  lines: ParsedLine[],
  customers: Map<string, CustomerRow>,
): Promise<KeptAddresses> {
  const asked = lines
    .filter(({ addresses }) => addresses.length > 0)
    .flatMap(({ externalId }) => customers.get(externalId as string) ?? [])
  const userIds = asked.map(({ user_id }) => user_id)
  await tx.query(sql`
    select user_id
      from members
     where store_id = ${storeId}
       and user_id = any(${userIds})
     order by user_id
       for no key update`)
  const kept: KeptAddresses = new Map()
  const pause = newPause()
  for (let i = 0; i < asked.length; i += CUSTOMERS_AT_ONCE) {
    const some = new Map(asked.slice(i, i + CUSTOMERS_AT_ONCE).map((row) => [row.user_id, row]))
    const rows = await tx.query<Pick<AddressesRow, 'id' | 'user_id' | 'version' | 'sealed'>>(sql`
      select id, user_id, version, sealed
        from addresses
       where store_id = ${storeId}
         and user_id = any(${[...some.keys()]})`)
    const keys = new Map(
      [...some.values()].map((row) => [row.user_id, unwrapDataKey(instance.keyring, wrappedKeyOf(row))]),
    )
    for (const row of rows) {
      await pause()
      const { external_id } = some.get(row.user_id) as CustomerRow
      const content = contentOf(unsealText(keys.get(row.user_id) as Buffer, row).address)
      kept.set(external_id, [...(kept.get(external_id) ?? []), content])
    }
  }
  return kept
}

/**
 * The addresses of a line that its customer does not have yet; with too many of them the line gets a fault. For whoever may not
 * read them, those that the customer has already count again: they would learn from the limit which these are.
 */
function newAddresses(instance: Instance, line: ParsedLine, all: KeptAddresses, mayRead: boolean): AddressSpec[] {
  const kept = all.get(line.externalId as string) ?? []
  const sent = new Map<string, AddressSpec>()
  for (const spec of line.addresses) {
    const content = contentOf(spec.address)
    if (!sent.has(content)) sent.set(content, spec)
  }
  const added = new Map(sent)
  for (const content of kept) added.delete(content)
  const max = instance.maxAddressesPerUser
  if (kept.length + (mayRead ? added : sent).size > max) line.faults.push(tooMany(line, max))
  return [...added.values()]
}

function noRoom(instance: Instance, { n }: ParsedLine): Fault {
  return { pointer: `#/customers/${n}`, code: 'limit_exceeded', detail: customersFull(instance) }
}

function tooMany({ n }: ParsedLine, max: number): Fault {
  const detail = `A customer has at most ${max} addresses in a store, and would have more. Nothing of this line was imported.`
  return { pointer: `#/customers/${n}/addresses`, code: 'limit_exceeded', detail }
}

const ADDRESSES_AT_ONCE = 500

/** In batches that leave the addresses of one customer together, since one of these is the default. */
async function writeAddresses(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  added: Map<ParsedLine, AddressSpec[]>,
  customers: Map<string, CustomerRow>,
): Promise<void> {
  const pause = newPause()
  let batch: Insert[] = []
  const write = async () => {
    if (batch.length === 0) return
    const outcomes = await insertAddresses(tx, batch)
    // The locks that decide are held already, and everything else was checked under them.
    const failed = outcomes.find((outcome) => outcome !== 'created')
    if (failed) throw new Error(`An imported address was not created: ${failed}`)
    batch = []
  }
  for (const [{ externalId, faults }, specs] of added) {
    if (faults.length > 0 || specs.length === 0) continue
    const row = customers.get(externalId as string) as CustomerRow
    const owner: AddressOwner = { user: wrappedKeyOf(row), path: pathOf(row), onBehalf: true }
    for (const spec of specs) {
      await pause()
      batch.push({ ...newInsert(instance, caller, owner, storeId, spec), ...RECHECKED, ignoresVersionLimit: true })
    }
    if (batch.length >= ADDRESSES_AT_ONCE) await write()
  }
  await write()
}
