// Operations on addresses, customers, webhooks and the trail of events, compared with the model as those on keys are.

import { EXAMPLE_ADDRESS } from '../../src/billing/schema.ts'
import { expectSame, expectStatus, pick, type Soak } from './key-operations.ts'
import { addAddress, type Book, type ModelStore, makeDefault, note, removeAddress, showBook } from './model.ts'

const MAX_ADDRESSES = 12
const CUSTOMERS_PER_STORE = 40

let made = 0

export const showAddresses = (data: Parameters<typeof expectStatus>[2]['body'][]) =>
  showBook({
    addresses: data.map(({ id = '', addressLine1: line = '', version = 0, isDefault = false }) => ({
      id,
      line,
      version,
      isDefault,
    })),
  })

/** The addresses of a member or of a customer, which nobody else works on. */
async function withBook(soak: Soak, operate: (store: ModelStore, book: Book) => Promise<void>): Promise<boolean> {
  const store = pick(soak, soak.stores)
  const book = pick(soak, [...store.books, ...[...store.customers.values()].map((customer) => customer.book)])
  if (book.isBusy) return false
  book.isBusy = true
  await operate(store, book)
  book.isBusy = false
  return true
}

export function changeAddresses(soak: Soak): Promise<boolean> {
  return withBook(soak, async (store, book) => {
    const chance = soak.next()
    if (book.addresses.length === 0 || (chance < 0.4 && book.addresses.length < MAX_ADDRESSES))
      return createAddress(soak, store, book)
    if (chance < 0.6 || book.addresses.length === MAX_ADDRESSES) return deleteAddress(soak, store, book)
    return updateAddress(soak, store, book)
  })
}

async function createAddress(soak: Soak, store: ModelStore, book: Book): Promise<void> {
  const line = `${made++} Infinite Loop`
  const asked = soak.next() < 0.3
  const body = { ...EXAMPLE_ADDRESS, addressLine1: line, ...(asked ? { isDefault: true } : {}) }
  const reply = await soak.client.send('POST', book.path, { token: book.token, body, once: true, kind: 'address' })
  if (!expectStatus(soak, 'creating an address', reply, 201)) return
  const { id = '' } = reply.body
  const isDefault = asked || book.addresses.length === 0
  addAddress(book, { id, line, version: 1, isDefault })
  note(store, 'address.created', id)
  expectSame(soak, 'a new address', showAddresses([reply.body]), [`${id} ${line} 1 ${isDefault}`])
}

async function updateAddress(soak: Soak, store: ModelStore, book: Book): Promise<void> {
  const address = pick(soak, book.addresses)
  const makesDefault = !address.isDefault && soak.next() < 0.4
  const line = `${made++} Infinite Loop`
  const body = makesDefault ? { isDefault: true } : { addressLine1: line }
  const reply = await soak.client.send('PATCH', `${book.path}/${address.id}`, { token: book.token, body })
  if (!expectStatus(soak, 'changing an address', reply, 200)) return
  if (makesDefault) makeDefault(book, address.id)
  else Object.assign(address, { line, version: address.version + 1 })
  note(store, 'address.updated', address.id)
  expectSame(soak, 'a changed address', showAddresses([reply.body]), showBook({ addresses: [address] }))
}

async function deleteAddress(soak: Soak, store: ModelStore, book: Book): Promise<void> {
  const address = pick(soak, book.addresses)
  const reply = await soak.client.send('DELETE', `${book.path}/${address.id}`, { token: book.token })
  // Where an answer was lost, the address may be gone already.
  if (!expectStatus(soak, 'deleting an address', reply, 204, ...(reply.lost > 0 ? [404] : []))) return
  removeAddress(book, address)
  note(store, 'address.deleted', address.id)
}

export function listAddresses(soak: Soak): Promise<boolean> {
  return withBook(soak, async (_store, book) => {
    const reply = await soak.client.send('GET', `${book.path}?limit=100`, { token: book.token })
    if (!expectStatus(soak, 'listing addresses', reply, 200)) return
    expectSame(soak, 'a list of addresses', showAddresses(reply.body.data ?? []), showBook(book))
  })
}

export async function changeCustomers(soak: Soak): Promise<boolean> {
  const store = pick(soak, soak.stores)
  const free = [...store.customers.values()].filter(({ book }) => !book.isBusy)
  const chance = soak.next()
  if (free.length === 0 || (chance < 0.4 && store.customers.size < CUSTOMERS_PER_STORE)) return newCustomer(soak, store)
  const customer = pick(soak, free)
  const path = `/v1/user/store/${store.id}/customers/${customer.externalId}`
  customer.book.isBusy = true
  if (chance < 0.6) {
    const reply = await soak.client.send('DELETE', path, { token: store.token })
    if (expectStatus(soak, 'erasing a customer', reply, 200, ...(reply.lost > 0 ? [404] : []))) {
      store.customers.delete(customer.externalId)
      note(store, 'customer.erased', customer.id)
    }
    return true
  }
  const name = `Customer ${made++}`
  const reply = await soak.client.send('PUT', path, { token: store.token, body: { name } })
  if (expectStatus(soak, 'changing a customer', reply, 200)) {
    customer.name = name
    note(store, 'customer.updated', customer.id)
    expectSame(soak, 'a customer', [reply.body.id, reply.body.name], [customer.id, name])
  }
  customer.book.isBusy = false
  return true
}

async function newCustomer(soak: Soak, store: ModelStore): Promise<boolean> {
  const externalId = `customer-${made++}`
  const name = `Customer ${externalId}`
  const path = `/v1/user/store/${store.id}/customers/${externalId}`
  const body = { name, email: `${externalId}@example.com` }
  const reply = await soak.client.send('PUT', path, { token: store.token, body })
  if (!expectStatus(soak, 'a new customer', reply, 201, ...(reply.lost > 0 ? [200] : []))) return true
  const { id = '' } = reply.body
  const book = { path: `${path}/billing`, token: store.token, addresses: [], isBusy: false }
  store.customers.set(externalId, { externalId, id, name, book })
  note(store, 'customer.created', id)
  return true
}

export async function changeWebhook(soak: Soak): Promise<boolean> {
  const store = pick(soak, soak.stores)
  const { webhook } = store
  if (webhook.isBusy) return false
  webhook.isBusy = true
  const path = `/v1/user/store/${store.id}/webhooks/${webhook.id}`
  const body = { description: `Receiver ${made++}` }
  const reply = await soak.client.send('PATCH', path, { token: store.token, body })
  if (expectStatus(soak, 'changing a webhook', reply, 200)) note(store, 'webhook.updated', webhook.id)
  webhook.isBusy = false
  return true
}

/** What was answered before is listed. */
export async function readTrail(soak: Soak): Promise<boolean> {
  const store = pick(soak, soak.stores)
  const reply = await soak.client.send('GET', `/v1/user/store/${store.id}/events?limit=50`, { token: store.token })
  if (!expectStatus(soak, 'reading the trail', reply, 200)) return true
  const ids = (reply.body.data ?? []).map(({ id }) => id)
  expectSame(soak, 'events that are listed twice', ids.length - new Set(ids).size, 0)
  expectSame(soak, 'stores in a trail', [...new Set(reply.body.data?.map(({ storeId }) => storeId))], [store.id])
  return true
}
