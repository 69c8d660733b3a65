// While nothing is being done: all that there is equals the model, every event was heard of, and the chains hold.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../stress/failover/cluster.ts'
import type { Body } from './client.ts'
import { expectSame, keysPath, type Soak, showFound, showKey } from './key-operations.ts'
import type { Follower, Receiver } from './listeners.ts'
import { type ModelStore, showBook } from './model.ts'
import type { Nodes } from './nodes.ts'
import { showAddresses } from './other-operations.ts'

const PATIENCE_MS = 120_000

export type Heard = { receiver: Receiver; followers: Map<string, Follower> }
export type Balance = {
  keys: number
  addresses: number
  customers: number
  events: number
  deliveries: number
  chains: number
}

export async function balance(soak: Soak, cluster: Cluster, nodes: Nodes, heard: Heard): Promise<Balance> {
  await cluster.whole()
  const sum: Balance = {
    keys: 0,
    addresses: 0,
    customers: 0,
    events: 0,
    deliveries: heard.receiver.received(),
    chains: 0,
  }
  for (const store of soak.stores) {
    sum.keys += await compareKeys(soak, store)
    sum.addresses += await compareAddresses(soak, store)
    sum.customers += await compareCustomers(soak, store)
    sum.events += await compareEvents(soak, cluster, store, heard)
    const exported = nodes.command(['events', 'export', store.id])
    try {
      nodes.command(['events', 'verify', '-'], exported)
      sum.chains += 1
    } catch (error) {
      soak.client.complain(`the chain of ${store.id}: ${(error as Error).message}`)
    }
  }
  return sum
}

async function readAll(soak: Soak, path: string, token: string): Promise<Body[]> {
  const found: Body[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await soak.client.send('GET', `${path}?limit=100${cursor}`, { token })
    if (status !== 200) soak.client.complain(`${path} was answered ${status}`)
    found.push(...(body.data ?? []))
    if (!body.nextCursor) return found
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
}

async function compareKeys(soak: Soak, store: ModelStore): Promise<number> {
  const found = await readAll(soak, keysPath(store), store.token)
  const [ended, live] = [
    found.filter(({ status }) => status === 'REVOKED'),
    found.filter((key) => key.status !== 'REVOKED'),
  ]
  const byId = (a: readonly unknown[], b: readonly unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1)
  expectDiffers(
    soak,
    `keys of ${store.id}`,
    live.map(showFound).sort(byId),
    [...store.keys.values()].map(showKey).sort(byId),
  )
  expectDiffers(soak, `revoked keys of ${store.id}`, ended.map(({ id }) => id).sort(), [...store.revoked].sort())
  return found.length
}

async function compareAddresses(soak: Soak, store: ModelStore): Promise<number> {
  let count = 0
  for (const book of [...store.books, ...[...store.customers.values()].map((customer) => customer.book)]) {
    const found = await readAll(soak, book.path, book.token)
    expectSame(soak, `addresses of ${book.path}`, showAddresses(found), showBook(book))
    count += found.length
  }
  return count
}

async function compareCustomers(soak: Soak, store: ModelStore): Promise<number> {
  const found = await readAll(soak, `/v1/user/store/${store.id}/customers`, store.token)
  const wanted = [...store.customers.values()].map(({ externalId, id, name }) => [externalId, id, name].join())
  expectDiffers(
    soak,
    `customers of ${store.id}`,
    found.map((each) => [each.externalId, each.id, each.name].join()).sort(),
    wanted.sort(),
  )
  return found.length
}

/** Each happened once, is sealed, and was heard of by the receiver and the stream. */
async function compareEvents(soak: Soak, cluster: Cluster, store: ModelStore, heard: Heard): Promise<number> {
  const rows = await cluster.query<{ id: string; name: string }>(
    `select id, type || ' ' || subject as name from events where store_id = $1`,
    [store.id],
  )
  const counts = new Map<string, number>()
  for (const { name } of rows) counts.set(name, (counts.get(name) ?? 0) + 1)
  const show = (events: Map<string, number>) => [...events].map(([name, count]) => `${count} ${name}`).sort()
  expectDiffers(soak, `events of ${store.id}`, show(counts), show(store.events))

  const head = `/v1/user/store/${store.id}/events/head`
  const unheard = () => rows.filter(({ id, name }) => !heard.receiver.ids.has(id) && !isBeforeWebhook(name))
  const follower = heard.followers.get(store.id)
  let seq = 0
  for (const end = Date.now() + PATIENCE_MS; ; await sleep(200)) {
    seq = (await soak.client.send('GET', head, { token: store.token })).body.seq ?? 0
    if (seq === rows.length && unheard().length === 0 && follower?.position() === seq) return rows.length
    if (Date.now() > end) break
  }
  const missing = unheard()
  soak.client.complain(
    `of ${rows.length} events of ${store.id} ${seq} are sealed, ${follower?.position()} were streamed, ${missing.length} not delivered: ${missing.slice(0, 3).map(({ id, name }) => `${id} ${name}`)}`,
  )
  return rows.length
}

/** What happened before there was a webhook. */
const isBeforeWebhook = (name: string) =>
  /^(store\.created|member\.joined|member\.invited|webhook\.created) /.test(name)

/** Long lists: only what is in one of them. */
function expectDiffers(soak: Soak, what: string, found: unknown[], wanted: unknown[]): void {
  const [a, b] = [
    new Set(found.map((each) => JSON.stringify(each))),
    new Set(wanted.map((each) => JSON.stringify(each))),
  ]
  const [extra, missing] = [[...a].filter((each) => !b.has(each)), [...b].filter((each) => !a.has(each))]
  if (extra.length + missing.length > 0 || found.length !== wanted.length)
    soak.client.complain(
      `${what}: ${extra.length} too many (${extra.slice(0, 5)}), ${missing.length} missing (${missing.slice(0, 5)})`,
    )
}
