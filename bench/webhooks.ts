// npm run bench:webhooks: what three listening webhooks cost whoever creates keys, and how many messages a node delivers
// to receivers on the same machine, beside a bare loop of undici. SECONDS, ROUNDS and EVENTS as in the other benches.

import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Load, load, median, newMembers, newWorld, type Running, run, runOurs } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 8)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const EVENTS = Number(process.env.EVENTS ?? 5_000)
const NEW_KEY = JSON.stringify({ name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] })

const world = await newWorld()
const receiver = await run(['--import', 'tsx', 'bench/receiver.ts'], {})
const ours = await runOurs(world, { WEBHOOK_ALLOW_PRIVATE: 'on' })
const quiet = await newMembers(world, 1)
const heard = await newMembers(world, 1)
await listen(heard, 3, ['key.*'])

// ---- what it costs whoever writes -------------------------------------------------------------------------------------

type Members = Awaited<ReturnType<typeof newMembers>>
const create = ({ storeId, tokens }: Members) =>
  load(ours.url, SECONDS, () => ({
    method: 'POST',
    path: `/v1/user/store/${storeId}/keys`,
    body: NEW_KEY,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[0]}` },
  }))
const results: Record<'quiet' | 'heard', Load[]> = { quiet: [], heard: [] }
await create(quiet)
for (let round = 1; round <= ROUNDS; round++)
  for (const [name, members] of Object.entries({ quiet, heard })) {
    const result = await create(members)
    results[name as 'quiet' | 'heard'].push(result)
    process.stderr.write(`round ${round}: ${name} ${Math.round(result.perSecond)}/s, ${result.errors} errors\n`)
    // What is still waiting would weigh on whoever comes next.
    await world.sql('truncate webhook_outbox, webhook_deliveries')
    await sleep(2_000)
  }

// ---- how many it delivers -----------------------------------------------------------------------------------------------

const deliveries: { webhooks: number; ours: number; bare: number }[] = []
for (const webhooks of [1, 4]) {
  const store = await newMembers(world, 1)
  await listen(store, webhooks, ['key.created'])
  const rates: { ours: number; bare: number }[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    rates.push({ ours: await deliver(store, webhooks, round), bare: bareLoop(EVENTS * webhooks, webhooks * 4) })
    process.stderr.write(`round ${round}: ${webhooks} webhooks ${JSON.stringify(rates.at(-1))}\n`)
  }
  deliveries.push({
    webhooks,
    ours: Math.round(median(rates.map((rate) => rate.ours))),
    bare: Math.round(median(rates.map((rate) => rate.bare))),
  })
}

const [without, with3] = [results.quiet, results.heard].map((all) => median(all.map(({ perSecond }) => perSecond)))
const ratio = (a: number, b: number) => Math.round((a / b) * 100) / 100
console.table({
  'create key, nobody listens': { 'per second': Math.round(without as number), ratio: 1 },
  'create key, three webhooks listen': {
    'per second': Math.round(with3 as number),
    ratio: ratio(with3 as number, without as number),
  },
})
console.table(deliveries.map((row) => ({ ...row, ratio: ratio(row.ours, row.bare) })))
mkdirSync('bench/results', { recursive: true })
writeFileSync('bench/results/webhooks.json', `${JSON.stringify({ results, deliveries }, null, 2)}\n`)
await Promise.all([ours.stop(), receiver.stop()])
await world.close()

async function listen({ storeId, tokens }: Members, count: number, types: string[]): Promise<void> {
  for (let i = 0; i < count; i++) {
    const response = await fetch(`${ours.url}/v1/user/store/${storeId}/webhooks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[0]}` },
      body: JSON.stringify({ url: `${receiver.url}/${i}`, types }),
    })
    if (response.status !== 201) throw new Error(await response.text())
  }
}

/** Events written straight to the database, a batch's worth in each statement, and the time until the last has arrived. */
async function deliver({ storeId }: Members, webhooks: number, round: number): Promise<number> {
  const before = await countOf(receiver)
  const began = performance.now()
  for (let i = 0; i < EVENTS; i += 50)
    await world.sql(
      `insert into events (id, store_id, type, at, actor, subject, data)
       select 'evt_' || $1 || '_' || $2 || '_' || i, $1, 'key.created', now(), '{"kind":"user","id":"user_bench"}', 'key_bench',
              '{"name":"Checkout","type":"PROD","permissions":["READ","WRITE"],"expiresAt":null}'
         from generate_series($3::int, $3::int + 49) as i`,
      [storeId, round, i],
    )
  while ((await countOf(receiver)) < before + EVENTS * webhooks) await sleep(20)
  return (EVENTS * webhooks) / ((performance.now() - began) / 1000)
}

async function countOf({ url }: Running): Promise<number> {
  return Number(await (await fetch(url)).text())
}

function bareLoop(count: number, abreast: number): number {
  const BODY = JSON.stringify({ type: 'key.created', padding: 'x'.repeat(250) })
  const env = { ...process.env, URL: receiver.url, COUNT: String(count), ABREAST: String(abreast), BODY }
  const { stdout } = spawnSync(process.execPath, ['--import', 'tsx', 'bench/undici-loop.ts'], { env, encoding: 'utf8' })
  return JSON.parse(stdout).perSecond
}
