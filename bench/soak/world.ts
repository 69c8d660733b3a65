// The stores of the soak: each with an owner, some customers who have an account, a webhook, and keys.

import { randomBytes } from 'node:crypto'
import type { Cluster } from '../stress/failover/cluster.ts'
import type { Client } from './client.ts'
import { createKey, KEYS_PER_STORE, type Soak } from './key-operations.ts'
import type { Receiver } from './listeners.ts'
import { type Book, type ModelStore, startedAs } from './model.ts'
import type { Nodes } from './nodes.ts'

const STORES = 3
const PEOPLE = 8
const ABREAST = 16

export async function newWorld(
  { client, nodes, cluster, receiver }: { client: Client; nodes: Nodes; cluster: Cluster; receiver: Receiver },
  next: () => number,
): Promise<Soak> {
  const stores: ModelStore[] = []
  for (let n = 0; n < STORES; n++) stores.push(await newStore(client, n, receiver.url))
  for (const store of stores) await readEvents(cluster, store)
  const service = nodes.command(['service-token', 'create', 'soak', '--all-stores']).trim()
  const soak: Soak = { client, service, stores, next, resetAt: 0, former: [] }
  const fill = async () => {
    for (let n = 0; n < (STORES * KEYS_PER_STORE) / ABREAST; n++) await createKey(soak)
  }
  await Promise.all(Array.from({ length: ABREAST }, fill))
  return soak
}

async function newStore(client: Client, n: number, url: string): Promise<ModelStore> {
  const post = async (path: string, body: object, token = '') => {
    const { status, body: made } = await client.send('POST', path, { token, body })
    if (status >= 300) throw new Error(`${path} was answered ${status} ${JSON.stringify(made)}`)
    return made
  }
  const signUp = async (name: string) => {
    const account = { email: `${name}-${n}@example.com`, password: randomBytes(16).toString('hex') }
    return (await post('/v1/auth/sign-up', account)).token ?? ''
  }
  const token = await signUp('owner')
  const { id = '' } = await post('/v1/user/store', { name: `Store ${n}`, registration: 'OPEN' }, token)
  const books: Book[] = []
  for (let each = 0; each < PEOPLE; each++) {
    const person = await signUp(`person-${each}`)
    await post(`/v1/store/${id}/join`, {}, person)
    books.push({ path: `/v1/store/${id}/billing`, token: person, addresses: [], isBusy: false })
  }
  const webhook = await post(`/v1/user/store/${id}/webhooks`, { url, types: ['*'] }, token)
  return {
    id,
    token,
    frozen: startedAs(false),
    isFreezing: false,
    keys: new Map(),
    revoked: new Set(),
    books,
    customers: new Map(),
    webhook: { id: webhook.id ?? '', isBusy: false },
    events: new Map(),
  }
}

/** What has happened so far. */
async function readEvents(cluster: Cluster, store: ModelStore): Promise<void> {
  const rows = await cluster.query<{ name: string; count: number }>(
    `select type || ' ' || subject as name, count(*)::int as count from events where store_id = $1 group by 1`,
    [store.id],
  )
  for (const { name, count } of rows) store.events.set(name, count)
}
