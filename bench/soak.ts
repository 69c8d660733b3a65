// npm run soak: two nodes on three PostgreSQL under Patroni, for an hour (MINUTES) at half the load that they can sustain,
// while nodes and primaries are killed, stopped and moved at random moments (SEED). A model says what each answer must be. A
// line for every minute goes to OUT/rows.jsonl as it is measured; at the end stand a table and a verdict. What it needs, and
// which files it runs, is as for stress:failover. It leaves nothing behind but OUT.

import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newRandom } from '../tests/random.ts'
import { balance, type Heard } from './soak/books.ts'
import { newClient } from './soak/client.ts'
import { startFaults } from './soak/faults.ts'
import { follow, startReceiver } from './soak/listeners.ts'
import { startPaced, sustainable } from './soak/load.ts'
import { judgeProcess, judgeTables, measure, type Row, readBloat, show } from './soak/measure.ts'
import { type Nodes, startNodes } from './soak/nodes.ts'
import { newWorld } from './soak/world.ts'
import { startCluster } from './stress/failover/cluster.ts'

const MINUTES = Number(process.env.MINUTES ?? 60)
const FAULT_EVERY_MS = Number(process.env.FAULT_EVERY_SECONDS ?? 120) * 1_000
const BOOKS_EVERY = Number(process.env.BOOKS_EVERY_MINUTES ?? 10)
const SUSTAINABLE_SECONDS = Number(process.env.SUSTAINABLE_SECONDS ?? 45)
const OUT = process.env.OUT ?? join(tmpdir(), `storekeeper-soak-${Date.now()}`)
/** What the second half of the run may add to the memory or the descriptors of the node that is never killed. */
const MAX_GROWTH = 1.1
/** What the database may take beside the same rows in new tables. */
const MAX_BLOAT = 1.5

const random = newRandom()
mkdirSync(OUT, { recursive: true })
const log = (line: string) => {
  const text = `${new Date().toISOString().slice(11, 19)} ${line}`
  console.log(text)
  appendFileSync(join(OUT, 'log.txt'), `${text}\n`)
}
log(`${MINUTES} minutes, SEED=${random.seed}, ${OUT}`)

execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
const cluster = await startCluster()
const receiver = await startReceiver(() => random.next())
let nodes: Nodes | null = null
const heard: Heard = { receiver, followers: new Map() }
const close = async () => {
  for (const follower of heard.followers.values()) follower.close()
  receiver.close()
  nodes?.close()
  await cluster.close()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void close().then(() => process.exit(1)))

async function run(nodes: Nodes): Promise<boolean> {
  const urls = [nodes.killed.url, nodes.lasting.url]
  const client = newClient(urls)
  const soak = await newWorld({ client, nodes, cluster, receiver }, () => random.next())
  for (const store of soak.stores) heard.followers.set(store.id, follow(store, urls, client.complain))
  await cluster.query('create extension if not exists pgstattuple')
  const most = await sustainable(soak, SUSTAINABLE_SECONDS)
  log(`${Math.round(most)} operations a second are sustained; ${Math.round(most / 2)} are sent`)
  client.take()

  const paced = startPaced(soak, most / 2)
  const faults = startFaults(soak, { cluster, nodes, random }, FAULT_EVERY_MS, log)
  const rows: Row[] = []
  const began = performance.now()
  let told = 0
  const tell = () => {
    for (; told < client.complaints.length; told++) log(`CONTRADICTION ${client.complaints[told]}`)
  }
  const balanceBooks = async () => {
    const at = performance.now()
    await paced.pause()
    log(
      `books: ${JSON.stringify(await balance(soak, cluster, nodes, heard))}, ${Math.round(performance.now() - at)} ms`,
    )
    tell()
  }
  for (let minute = 1; minute <= MINUTES; minute++) {
    await sleep(Math.max(0, began + minute * 60_000 - performance.now()))
    const row = await measure(minute, { cluster, nodes, paced }, client.take(), client.complaintCount())
    rows.push(row)
    appendFileSync(join(OUT, 'rows.jsonl'), `${JSON.stringify(row)}\n`)
    log(show(row))
    tell()
    if (minute % BOOKS_EVERY !== 0 || minute === MINUTES) continue
    await balanceBooks()
    paced.resume()
  }
  await faults.stop()
  await balanceBooks()
  await paced.stop()
  await client.close()
  nodes.close()
  return judge(rows, client.complaintCount(), faults.done)
}

async function judge(rows: Row[], complaints: number, faults: Record<string, number>): Promise<boolean> {
  const statuses: Record<string, number> = {}
  for (const row of rows)
    for (const [name, count] of Object.entries(row.statuses)) statuses[name] = (statuses[name] ?? 0) + count
  const growth = judgeProcess(rows)
  const bloat = await readBloat(cluster)
  const sum = (of: (row: (typeof bloat)[number]) => number) => bloat.reduce((total, row) => total + of(row), 0)
  const times = sum((row) => row.kb) / sum((row) => row.compactKb)
  const operations = rows.reduce((total, row) => total + row.operations, 0)
  console.table(growth)
  console.table(judgeTables(rows))
  console.table(bloat)
  log(JSON.stringify({ minutes: rows.length, operations, statuses, faults, contradictions: complaints }))
  const grown = growth.filter(({ before, after }) => after > before * MAX_GROWTH && after > before + 10)
  const faultsFound = [
    ...(complaints > 0 ? [`${complaints} answers contradict the model`] : []),
    ...grown.map(({ what, before, after }) => `${what} grew from ${before} to ${after}`),
    ...(times > MAX_BLOAT ? [`the tables take ${times.toFixed(2)} times what their rows need`] : []),
  ]
  log(faultsFound.length === 0 ? 'Nothing grew, and every answer was as the model says.' : faultsFound.join('; '))
  writeFileSync(
    join(OUT, 'result.json'),
    JSON.stringify({ operations, statuses, faults, growth, bloat, faultsFound }, null, 2),
  )
  return faultsFound.length === 0
}

try {
  await cluster.whole()
  await cluster.createDatabase()
  nodes = await startNodes(cluster, OUT)
  process.exitCode = (await run(nodes)) ? 0 : 1
} finally {
  await close()
}
process.exit()
