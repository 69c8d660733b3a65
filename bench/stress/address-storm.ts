// npm run stress:defaults: 20,000 creates, changes and deletes of addresses over 50 users and two nodes, as fast as they
// are answered, while a watcher takes snapshots. REQUESTS and AT_ONCE change how many there are. It fails when anything
// is wrong: see tests/address-storm.ts for what that is.

import { mkdirSync, writeFileSync } from 'node:fs'
import { storm } from '../../tests/address-storm.ts'
import { newMembers, newWorld, runOurs } from '../world.ts'

const REQUESTS = Number(process.env.REQUESTS ?? 20_000)
const AT_ONCE = Number(process.env.AT_ONCE ?? 64)
const USERS = 50

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, USERS)
const nodes = await Promise.all([runOurs(world), runOurs(world)])
const began = performance.now()
const { seed, answers, snapshots, wrong } = await storm({
  requests: REQUESTS,
  atOnce: AT_ONCE,
  urls: nodes.map(({ url }) => url),
  databaseUrl: world.url,
  billing: `/v1/store/${storeId}/billing`,
  tokens,
})
const seconds = Math.round((performance.now() - began) / 1000)
console.table(answers)
console.log(
  `${REQUESTS} requests, ${AT_ONCE} at once, ${USERS} users, two nodes, ${seconds} s; ${snapshots} snapshots, ${wrong.length} wrong, SEED=${seed}`,
)
for (const fault of wrong.slice(0, 20)) console.error(fault)
mkdirSync('bench/results', { recursive: true })
writeFileSync(
  'bench/results/defaults.json',
  `${JSON.stringify({ requests: REQUESTS, atOnce: AT_ONCE, users: USERS, seconds, answers, snapshots, wrong }, null, 2)}\n`,
)
await Promise.all(nodes.map((node) => node.stop()))
await world.close()
process.exitCode = wrong.length > 0 ? 1 : 0
