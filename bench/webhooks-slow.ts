// npm run bench:webhooks-slow: how long a message takes to a webhook that answers at once while other webhooks of the same
// node are slow or silent. Milliseconds from the request that made the key until its message arrived, for a key every half
// second. CHECKOUTS (default '.'): folders of checkouts to compare, separated by commas; they take turns within a run.
// SECONDS (default 15) for each measurement, ROUNDS (default 1), ONLY: a part of the names of the cases to run.

import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs, median, memoryMb, newMembers, newWorld, type Running, runOurs } from './world.ts'

const CHECKOUTS = (process.env.CHECKOUTS ?? '.').split(',')
const SECONDS = Number(process.env.SECONDS ?? 15)
const ROUNDS = Number(process.env.ROUNDS ?? 1)
const ONLY = process.env.ONLY ?? ''
const PROBE_MS = 500
const MAX_WAIT_MS = 60_000
const PER_STORE = 20

type Delay = number | 'never' | 'every second after 1,950 ms'
type Case = {
  name: string
  /** The others: how many webhooks, when they answer, and how many keys are made in each of their stores. */
  webhooks: number
  answer: Delay
  keys: number
  /** So many keys are imported into each of their stores, by one request. */
  imported?: number
  /** Messages that wait in the table from the beginning, in all. */
  backlog?: number
  nodes?: number
  /** The measured webhook answers after so many milliseconds, not at once. */
  probeAnswer?: number
}
const CASES: Case[] = [
  { name: '40 that answer after 1.9 s, 40 keys in each store', webhooks: 40, answer: 1_900, keys: 40 },
  { name: '400 that answer after 1.9 s, 5 keys in each store', webhooks: 400, answer: 1_900, keys: 5 },
  { name: '1,000 that answer after 1.9 s', webhooks: 1_000, answer: 1_900, keys: 5 },
  { name: '1,000 that never answer', webhooks: 1_000, answer: 'never', keys: 5 },
  { name: '2,000 that never answer', webhooks: 2_000, answer: 'never', keys: 5 },
  { name: '100 every second after 1.95 s', webhooks: 100, answer: 'every second after 1,950 ms', keys: 20 },
  { name: '800 that answer at once, 1,000 keys imported', webhooks: 800, answer: 0, keys: 0, imported: 1_000 },
  { name: '20 that answer after 0.3 s, 20,000 again', webhooks: 20, answer: 300, keys: 0, backlog: 20_000 },
  { name: '20 that never answer, 20,000 again', webhooks: 20, answer: 'never', keys: 0, backlog: 20_000 },
  { name: 'two nodes: 200 after 1.9 s, 20 keys in each store', webhooks: 200, answer: 1_900, keys: 20, nodes: 2 },
  {
    name: 'measured one after 0.5 s, 400 that never answer',
    webhooks: 400,
    answer: 'never',
    keys: 5,
    probeAnswer: 500,
  },
  {
    name: 'measured one after 0.5 s, 1,500 that never answer',
    webhooks: 1_500,
    answer: 'never',
    keys: 5,
    probeAnswer: 500,
  },
]

// ---- the receivers ----------------------------------------------------------------------------------------------------

/** By the id of the key that a message to the measured webhook is about. */
const arrived = new Map<string, number>()
let slowMessages = 0
const calls = new Map<string, number>()
const receiver = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => (text += chunk))
  request.on('error', () => {})
  response.on('error', () => {})
  request.on('end', () => {
    const path = request.url ?? ''
    if (path.startsWith('/probe')) {
      const { subject } = JSON.parse(text) as { subject: string }
      if (!arrived.has(subject)) arrived.set(subject, performance.now())
      return respondAfter(response, Number(path.split('/')[2]))
    }
    slowMessages += 1
    const [, kind = ''] = path.split('/')
    if (kind === 'never') return
    const count = calls.get(path) ?? 0
    calls.set(path, count + 1)
    respondAfter(response, kind === 'alternating' ? (count % 2) * 1_950 : Number(kind))
  })
})
receiver.keepAliveTimeout = 60_000
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', 4_096, resolve))
const hooks = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

function respondAfter(response: ServerResponse, ms: number): void {
  const respond = () => void response.writeHead(204).end()
  if (ms === 0) respond()
  else setTimeout(respond, ms)
}

function pathOf(answer: Delay, n: number): string {
  return `/${typeof answer === 'number' ? answer : answer === 'never' ? 'never' : 'alternating'}/${n}`
}

// ---- one measurement --------------------------------------------------------------------------------------------------

const world = await newWorld()
type Members = Awaited<ReturnType<typeof newMembers>>

type Figures = {
  median: number
  p90: number
  most: number
  lost: number
  others: number
  mb: number
  cpu: number
  db: number
}

async function measure(checkout: string, one: Case): Promise<Figures> {
  const settings = { WEBHOOK_ALLOW_PRIVATE: 'on' }
  const nodes = await Promise.all(Array.from({ length: one.nodes ?? 1 }, () => runOurs(world, settings, checkout)))
  const [node] = nodes as [Running]
  const stores: Members[] = []
  for (let n = 0; n < one.webhooks; n += PER_STORE) {
    const members = await newMembers(world, 1)
    stores.push(members)
    const count = Math.min(PER_STORE, one.webhooks - n)
    await Promise.all(Array.from({ length: count }, (_, i) => listen(node, members, pathOf(one.answer, n + i))))
  }
  const probe = await newMembers(world, 1)
  await listen(node, probe, `/probe/${one.probeAnswer ?? 0}`)
  await makeKey(node, probe)
  await sleep(1_000)
  slowMessages = 0
  if (one.backlog) await addBacklog(one.backlog / one.webhooks)
  const others = one.imported ? importAll(node, stores, one.imported) : makeKeys(node, stores, one.keys)
  const before = { cpu: cpuMs(node.pid), db: world.cpuMs() }
  const times = await probeFor(nodes, probe)
  await others
  const figures = {
    median: Math.round(median(times)),
    p90: Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.9)] as number),
    most: Math.round(Math.max(...times)),
    lost: times.filter((ms) => ms === MAX_WAIT_MS).length,
    others: slowMessages,
    mb: memoryMb(node.pid),
    cpu: Math.round(cpuMs(node.pid) - before.cpu),
    db: Math.round(world.cpuMs() - before.db),
  }
  await Promise.all(nodes.map((running) => running.stop()))
  receiver.closeAllConnections()
  await world.sql('truncate webhooks, webhook_outbox, webhook_deliveries')
  return figures
}

/** A key every half second, and for each the milliseconds until its message arrived. */
async function probeFor(nodes: Running[], probe: Members): Promise<number[]> {
  const times: Promise<number>[] = []
  const end = performance.now() + SECONDS * 1_000
  for (let n = 0; performance.now() < end; n++) {
    times.push(timeOne(nodes[n % nodes.length] as Running, probe))
    await sleep(PROBE_MS)
  }
  return Promise.all(times)
}

async function timeOne(node: Running, probe: Members): Promise<number> {
  const began = performance.now()
  const id = await makeKey(node, probe)
  while (!arrived.has(id) && performance.now() < began + MAX_WAIT_MS) await sleep(2)
  return (arrived.get(id) ?? began + MAX_WAIT_MS) - began
}

async function makeKeys(node: Running, stores: Members[], count: number): Promise<void> {
  for (let n = 0; n < count; n++) await Promise.all(stores.map((members) => makeKey(node, members)))
}

async function makeKey(node: Running, members: Members): Promise<string> {
  const wanted = { name: 'Checkout', type: 'DEV', permissions: ['READ'] }
  return (await post(node, members, 'keys', wanted)).id
}

/** Ten at a time: an address may have no more under way. */
async function importAll(node: Running, stores: Members[], count: number): Promise<void> {
  const left = [...stores]
  const importNext = async (): Promise<void> => {
    const members = left.pop()
    if (!members) return
    await importKeys(node, members, count)
    await importNext()
  }
  await Promise.all(Array.from({ length: 10 }, importNext))
}

async function importKeys({ url }: Running, { storeId, tokens }: Members, count: number): Promise<void> {
  const settings = { name: 'Imported', type: 'DEV', permissions: ['READ'] }
  const keys = Array.from({ length: count }, () => ({ value: `old_${crypto.randomUUID()}`, ...settings }))
  const response = await fetch(`${url}/v1/user/store/${storeId}/keys/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[0]}` },
    body: JSON.stringify({ keys }),
  })
  if (response.status !== 200) throw new Error(await response.text())
  await response.body?.cancel()
}

async function listen(node: Running, members: Members, path: string): Promise<void> {
  await post(node, members, 'webhooks', { url: hooks + path, types: ['key.*'] })
}

async function post(
  { url }: Running,
  { storeId, tokens }: Members,
  what: string,
  body: object,
): Promise<{ id: string }> {
  const response = await fetch(`${url}/v1/user/store/${storeId}/${what}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[0]}` },
    body: JSON.stringify(body),
  })
  if (response.status !== 201) throw new Error(await response.text())
  return (await response.json()) as { id: string }
}

/** Of each slow webhook so many messages that are due now. */
async function addBacklog(each: number): Promise<void> {
  await world.sql(
    `insert into webhook_deliveries (webhook_id, id, event_id, type, cause, next_attempt_at, created_at)
     select id, 'dlv_' || n, 'evt_' || n, 'webhook.test', 'REDELIVERY', now(), now()
       from webhooks cross join generate_series(1, $1::int) as n
      where url not like '%/probe/%'`,
    [each],
  )
}

// ---- all of them ------------------------------------------------------------------------------------------------------

const results: ({ case: string; checkout: string; round: number } & Figures)[] = []
for (let round = 1; round <= ROUNDS; round++)
  for (const one of CASES.filter(({ name }) => name.includes(ONLY)))
    for (const checkout of round % 2 === 1 ? CHECKOUTS : CHECKOUTS.toReversed()) {
      const figures = await measure(checkout, one)
      results.push({ case: one.name, checkout, round, ...figures })
      process.stderr.write(`round ${round}: ${one.name}, ${checkout}: ${JSON.stringify(figures)}\n`)
    }
console.table(results)
mkdirSync('bench/results', { recursive: true })
writeFileSync('bench/results/webhooks-slow.json', `${JSON.stringify(results, null, 2)}\n`)
receiver.close()
receiver.closeAllConnections()
await world.close()
