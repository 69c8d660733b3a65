// npm run bench: how fast the two operations are, and what they cost in processor time, beside bare Fastify with one
// prepared INSERT into plain tables, on the same machine in the same run; and then what bench/webhooks.ts measures. SECONDS
// (default 8) for each measurement, medians of ROUNDS (default 3). The rounds go in turn, so that a noisy minute hits
// everyone alike.

import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import type autocannon from 'autocannon'
import { EXAMPLE_ADDRESS } from '../src/billing/schema.ts'
import {
  CONNECTIONS,
  cpuMs,
  type Load,
  load,
  median,
  memoryMb,
  newMembers,
  newWorld,
  type Running,
  runBare,
  runOurs,
} from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 8)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const USERS = 4_000
const STORES = 100

const NEW_KEY = JSON.stringify({
  name: 'Checkout',
  type: 'PROD',
  permissions: ['READ', 'WRITE'],
  metadata: { description: 'Used by the checkout page' },
})
const NEW_ADDRESS = JSON.stringify({ ...EXAMPLE_ADDRESS, state: 'California' })

const world = await newWorld()
const { storeIds, tokens } = await newMembers(world, USERS, STORES)
const bare = await runBare()
const insert = await runBare(world)
const ours = await runOurs(world)

const headers = { 'content-type': 'application/json' }
const plain = (n: number) => ({
  method: 'POST' as const,
  path: `/${storeIds[n % STORES]}/keys`,
  body: NEW_KEY,
  headers,
})

type Turn = { stores: number; sessions: number; once?: boolean }

/** In one of so many stores as one of so many sessions, in turn; `once` sends an Idempotency-Key with each request. */
const own = (path: (storeId: string) => string, body: string, turn: Turn) => (n: number) => ({
  method: 'POST' as const,
  path: path(storeIds[n % turn.stores] as string),
  body,
  headers: {
    ...headers,
    authorization: `Bearer ${tokens[n % turn.sessions]}`,
    ...(turn.once ? { 'idempotency-key': randomUUID() } : {}),
  },
})
const keys = (id: string) => `/v1/user/store/${id}/keys`
const billing = (id: string) => `/v1/store/${id}/billing`

type Measured = Load & {
  /** Of the service (or the bare server) and of PostgreSQL, in milliseconds for each request. */
  cpu: number
  databaseCpu: number
}

async function measure(server: Running, make: (n: number) => autocannon.Request): Promise<Measured> {
  const [cpuBefore, databaseBefore] = [cpuMs(server.pid), world.cpuMs()]
  const result = await load(server.url, SECONDS, make)
  const requests = result.perSecond * SECONDS
  return {
    ...result,
    cpu: (cpuMs(server.pid) - cpuBefore) / requests,
    databaseCpu: (world.cpuMs() - databaseBefore) / requests,
  }
}

const SUBJECTS: Record<string, () => Promise<Measured>> = {
  'a  bare Fastify, no database': () => measure(bare, plain),
  'b  bare Fastify, one prepared INSERT, 100 stores': () => measure(insert, plain),
  'c  create key, 100 stores': () => measure(ours, own(keys, NEW_KEY, { stores: STORES, sessions: 1 })),
  'c1 … 1 store': () => measure(ours, own(keys, NEW_KEY, { stores: 1, sessions: 1 })),
  'c2 … 1 store, with an Idempotency-Key': () =>
    measure(ours, own(keys, NEW_KEY, { stores: 1, sessions: 1, once: true })),
  'c3 … 100 stores, 4,000 sessions, Idempotency-Key': () =>
    measure(ours, own(keys, NEW_KEY, { stores: STORES, sessions: USERS, once: true })),
  'd  create address, 100 stores': () => measure(ours, own(billing, NEW_ADDRESS, { stores: STORES, sessions: USERS })),
  'd1 … 1 store': () => measure(ours, own(billing, NEW_ADDRESS, { stores: 1, sessions: USERS })),
  'd2 … 1 store, with an Idempotency-Key': () =>
    measure(ours, own(billing, NEW_ADDRESS, { stores: 1, sessions: USERS, once: true })),
}

const results: Record<string, Measured[]> = {}
for (const subject of Object.values(SUBJECTS)) await subject().then(() => {}, fatal)
for (let round = 1; round <= ROUNDS; round++)
  for (const [name, run] of Object.entries(SUBJECTS)) {
    const result = await run()
    results[name] = [...(results[name] ?? []), result]
    process.stderr.write(
      `round ${round}: ${name.padEnd(50)} ${Math.round(result.perSecond)}/s${result.errors ? `, ${result.errors} ERRORS` : ''}\n`,
    )
  }
const memory = memoryMb(ours.pid)

const perSecond = (name: string) => median((results[name] as Measured[]).map((result) => result.perSecond))
const [a, b] = Object.keys(SUBJECTS) as [string, string]
const rows = Object.entries(results).map(([name, all]) => ({
  name,
  'requests/s': Math.round(perSecond(name)),
  'of (a)': round(perSecond(name) / perSecond(a)),
  'of (b)': round(perSecond(name) / perSecond(b)),
  'cpu ms': round(median(all.map((result) => result.cpu))),
  'database cpu ms': round(median(all.map((result) => result.databaseCpu))),
  'p50 ms': median(all.map((result) => result.p50)),
  'p99 ms': median(all.map((result) => result.p99)),
  errors: all.reduce((sum, result) => sum + result.errors, 0),
}))
console.table(rows)
console.log(
  `${CONNECTIONS} connections, ${SECONDS} s, medians of ${ROUNDS}; memory of the service under this load: ${memory} MB`,
)
mkdirSync('bench/results', { recursive: true })
writeFileSync(
  'bench/results/run.json',
  `${JSON.stringify({ connections: CONNECTIONS, seconds: SECONDS, rounds: ROUNDS, memoryMb: memory, rows }, null, 2)}\n`,
)

await Promise.all([bare.stop(), insert.stop(), ours.stop()])
await world.close()

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function fatal(error: unknown): never {
  console.error(error)
  process.exit(1)
}
