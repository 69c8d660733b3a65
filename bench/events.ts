// npm run bench:events: what sealing costs whoever creates keys, and what listeners cost who wait for something to happen.
// Sealing is held off by its own advisory lock. SECONDS (default 8) for each measurement, medians of ROUNDS (default 3).
// Before that, how fast one pass after the other seals BACKLOG (default 50,000) events of 1,000 stores; ONLY=rate ends there.

import { readFileSync } from 'node:fs'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../src/db/pool.ts'
import { sealAll } from '../src/events/seal.ts'
import { cpuMs, type Load, load, median, memoryMb, newMembers, newWorld, runOurs } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 8)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const LISTENERS = Number(process.env.LISTENERS ?? 2_000)
const LOCK = 7_320_001

const BACKLOG = Number(process.env.BACKLOG ?? 50_000)

const world = await newWorld()
await sealBacklog()
if (process.env.ONLY === 'rate') {
  await world.close()
  process.exit(0)
}
const { storeId, tokens } = await newMembers(world, 40)
const ours = await runOurs(world)
// As the service does: our own questions must not read tables whole.
for (const way of ['seqscan', 'hashjoin', 'mergejoin', 'bitmapscan']) await world.sql(`set enable_${way} = off`)

const body = JSON.stringify({ name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] })
const create = () =>
  load(ours.url, SECONDS, () => ({
    method: 'POST',
    path: `/v1/user/store/${storeId}/keys`,
    body,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[0]}` },
  }))

// ---- creating keys, with sealing and without ------------------------------------------------------------------------

type Measured = Load & { service: number; database: number }
const results: Record<'on' | 'off', Measured[]> = { on: [], off: [] }
let slowestMs = 0
await create()
for (let round = 0; round < ROUNDS; round++)
  for (const sealing of round % 2 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
    await settled()
    if (sealing === 'off') await world.sql('select pg_advisory_lock($1)', [LOCK])
    const watching = sealing === 'on' ? watch() : null
    results[sealing].push(await measured(sealing))
    if (watching) slowestMs = Math.max(slowestMs, await watching())
    if (sealing === 'off') await world.sql('select pg_advisory_unlock($1)', [LOCK])
  }
const backlogBegan = performance.now()
const backlog = await unsealed()
await settled()
const backlogMs = performance.now() - backlogBegan
const cpu = (sealing: 'on' | 'off') => median(results[sealing].map(({ service, database }) => service + database))
const perSecond = (sealing: 'on' | 'off') => median(results[sealing].map((result) => result.perSecond))
console.table(
  (['off', 'on'] as const).map((sealing) => ({
    sealing,
    'keys/s': Math.round(perSecond(sealing)),
    'of off': Math.round((perSecond(sealing) / perSecond('off')) * 100) / 100,
    'service CPU µs/key': Math.round(median(results[sealing].map(({ service }) => service))),
    'database CPU µs/key': Math.round(median(results[sealing].map(({ database }) => database))),
    'CPU of off': Math.round((cpu(sealing) / cpu('off')) * 1000) / 1000,
    'p50 ms': median(results[sealing].map(({ p50 }) => p50)),
    'p99 ms': median(results[sealing].map(({ p99 }) => p99)),
    errors: results[sealing].reduce((sum, { errors }) => sum + errors, 0),
  })),
)
console.log(`the oldest event that waited under load: ${Math.round(slowestMs)} ms`)
if (backlog > 0) console.log(`${backlog} events that waited were sealed in ${Math.round(backlogMs)} ms`)

// ---- listeners who wait ---------------------------------------------------------------------------------------------

await sleep(5_000)
const quiet = await idle()
let heard = 0
const requests = await Promise.all(
  Array.from({ length: LISTENERS }, (_, n) => listen(tokens[n % tokens.length] as string)),
)
await sleep(5_000)
const waiting = await idle()
console.table([
  { listeners: 0, ...quiet },
  { listeners: LISTENERS, ...waiting },
])
const before = performance.now()
await fetch(`${ours.url}/v1/user/store/${storeId}/keys`, {
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[0]}` },
})
while (heard < LISTENERS && performance.now() - before < 20_000) await sleep(5)
console.log(
  `one event was heard by ${heard} of them within ${Math.round(performance.now() - before)} ms of its request`,
)

for (const request of requests) request.destroy()
await ours.stop()
await world.close()

/** By itself, as the pass of a node works it off. */
async function sealBacklog(): Promise<void> {
  await world.sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_' || lpad(n::text, 26, '0'), 'store_' || lpad((n % 1000)::text, 26, '0'), 'key.created', now(),
            json_build_object('kind', 'user', 'id', 'user_' || lpad((n % 100)::text, 26, '0'), 'credential', null, 'ip', '203.0.113.7'),
            'key_' || lpad(n::text, 26, '0'), '{"name":"Checkout","type":"PROD","permissions":["READ","WRITE"],"expiresAt":null}'
       from generate_series(1, $1::int) as n`,
    [BACKLOG],
  )
  const db = connect({ connectionString: world.url })
  const [began, cpu, database] = [performance.now(), process.cpuUsage(), world.cpuMs()]
  await sealAll(db)
  const seconds = (performance.now() - began) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  const [node, postgres] = [(user + system) / BACKLOG, ((world.cpuMs() - database) * 1_000) / BACKLOG]
  console.log(
    `${BACKLOG} events sealed in ${seconds.toFixed(1)} s: ${Math.round(BACKLOG / seconds)}/s; of the processor ${node.toFixed(0)} µs in Node.js and ${postgres.toFixed(0)} µs in PostgreSQL for each`,
  )
  await db.close()
}

/** With what it takes to seal all of them, when they are sealed at all. */
async function measured(sealing: 'on' | 'off'): Promise<Measured> {
  const before = { service: cpuMs(ours.pid), database: world.cpuMs() }
  const result = await create()
  if (sealing === 'on') await settled()
  const each = (ms: number) => (ms * 1000) / (result.perSecond * SECONDS)
  return {
    ...result,
    service: each(cpuMs(ours.pid) - before.service),
    database: each(world.cpuMs() - before.database),
  }
}

async function unsealed(): Promise<number> {
  const [row] = await world.sql('select count(*)::int as n from unsealed_events')
  return Number(row?.n)
}

async function settled(): Promise<void> {
  while ((await unsealed()) > 0) await sleep(100)
}

/** How long the oldest event waits, asked twice a second until told to stop. */
function watch(): () => Promise<number> {
  let most = 0
  let watching = true
  const done = (async () => {
    while (watching) {
      const [row] = await world.sql('select extract(epoch from now() - min(at)) * 1000 as ms from unsealed_events')
      most = Math.max(most, Number(row?.ms ?? 0))
      await sleep(500)
    }
  })()
  return async () => {
    watching = false
    await done
    return most
  }
}

/** Memory now, and the share of a processor used in the next 20 seconds. */
async function idle(): Promise<{ 'memory MB': number; 'CPU %': number }> {
  const ticks = () => {
    const fields = readFileSync(`/proc/${ours.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  }
  const began = ticks()
  await sleep(20_000)
  return { 'memory MB': memoryMb(ours.pid), 'CPU %': Math.round(((ticks() - began) / 100 / 20) * 1000) / 10 }
}

function listen(token: string): Promise<http.ClientRequest> {
  return new Promise((resolve, reject) => {
    const request = http.get(`${ours.url}/v1/user/store/${storeId}/events/stream`, {
      agent: false,
      headers: { authorization: `Bearer ${token}` },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      response.on('error', () => {})
      response.on('data', (chunk) => {
        if (String(chunk).includes('data: ')) heard += 1
      })
      if (response.statusCode === 200) resolve(request)
      else reject(new Error(`a stream answered ${response.statusCode}`))
    })
  })
}
