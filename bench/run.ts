// npm run bench: how fast the two operations are, beside bare Fastify on the same machine in the same run; and then what
// bench/webhooks.ts measures. SECONDS (default 8) for each measurement, medians of ROUNDS (default 3). The rounds go in
// turn, so that a noisy minute hits everyone alike.

import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { EXAMPLE_ADDRESS } from '../src/billing/schema.ts'
import { CONNECTIONS, type Load, load, median, memoryMb, newMembers, newWorld, runBare, runOurs } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 8)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const USERS = 4_000

const NEW_KEY = JSON.stringify({
  name: 'Checkout',
  type: 'PROD',
  permissions: ['READ', 'WRITE'],
  metadata: { description: 'Used by the checkout page' },
})
const NEW_ADDRESS = JSON.stringify({ ...EXAMPLE_ADDRESS, state: 'California' })

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, USERS)
const bare = await runBare()
const insert = await runBare(world, storeId)
const ours = await runOurs(world)

const headers = { 'content-type': 'application/json' }
const plain = () => ({ method: 'POST' as const, path: '/keys', body: NEW_KEY, headers })

/** As one of so many sessions in turn; `once` sends an Idempotency-Key of its own with each request. */
const own = (path: string, body: string, sessions: number, once: boolean) => (n: number) => ({
  method: 'POST' as const,
  path,
  body,
  headers: {
    ...headers,
    authorization: `Bearer ${tokens[n % sessions]}`,
    ...(once ? { 'idempotency-key': randomUUID() } : {}),
  },
})
const keys = `/v1/user/store/${storeId}/keys`
const billing = `/v1/store/${storeId}/billing`

const SUBJECTS: Record<string, () => Promise<Load>> = {
  'a  bare Fastify, no database': () => load(bare.url, SECONDS, plain),
  'b  bare Fastify, one INSERT': () => load(insert.url, SECONDS, plain),
  'c  create key': () => load(ours.url, SECONDS, own(keys, NEW_KEY, 1, false)),
  'c1 … with an Idempotency-Key': () => load(ours.url, SECONDS, own(keys, NEW_KEY, 1, true)),
  'c2 … and 4,000 sessions in turn': () => load(ours.url, SECONDS, own(keys, NEW_KEY, USERS, true)),
  'd  create address': () => load(ours.url, SECONDS, own(billing, NEW_ADDRESS, USERS, false)),
  'd1 … with an Idempotency-Key': () => load(ours.url, SECONDS, own(billing, NEW_ADDRESS, USERS, true)),
}

const results: Record<string, Load[]> = {}
for (const subject of Object.values(SUBJECTS)) await subject().then(() => {}, fatal)
for (let round = 1; round <= ROUNDS; round++)
  for (const [name, measure] of Object.entries(SUBJECTS)) {
    const result = await measure()
    results[name] = [...(results[name] ?? []), result]
    process.stderr.write(
      `round ${round}: ${name.padEnd(32)} ${Math.round(result.perSecond)}/s${result.errors ? `, ${result.errors} ERRORS` : ''}\n`,
    )
  }
const memory = memoryMb(ours.pid)

const perSecond = (name: string) => median((results[name] as Load[]).map((result) => result.perSecond))
const [a, b] = Object.keys(SUBJECTS) as [string, string]
const rows = Object.entries(results).map(([name, all]) => ({
  name,
  'requests/s': Math.round(perSecond(name)),
  'of (a)': round(perSecond(name) / perSecond(a)),
  'of (b)': round(perSecond(name) / perSecond(b)),
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
