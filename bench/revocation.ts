// npm run revocation: how long a node still says VALID after a key was revoked. Three nodes on one PostgreSQL, under load,
// REVOCATIONS (default 2,000) keys one after another, a few at a time; then a node that sat idle, a node whose connection
// for words is cut without a sound, a node that is cut off from the database altogether, and a database that is killed.
//
// A time is counted from the answer to the revoke to the sending of the last question that was still answered VALID. Zero
// means that no question sent after the answer was.

import { mkdirSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONNECTIONS, load, newKeys, newMembers, newServiceToken, newWorld, type Running, runOurs } from './world.ts'

const REVOCATIONS = Number(process.env.REVOCATIONS ?? 2_000)
const AT_ONCE = 16
/** Asked so often, at each node. */
const PAUSE_MS = 2

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, 1)
const session = tokens[0] as string
const service = await newServiceToken(world, storeId)
const proxy = await newProxy(world.socket)
const nodes = [await runOurs(world), await runOurs(world), await runOurs({ ...world, url: proxy.url })] as [
  Running,
  Running,
  Running,
]
const [first, , third] = nodes
const results: Record<string, Summary> = {}

// ---- connected, under load -------------------------------------------------------------------------------------------

const busy = await newKeys(world, storeId, 1_000)
let loading = true
const background = Promise.all(
  nodes.map(async (node) => {
    while (loading) await load(node.url, 2, (n) => ask(busy[n % busy.length]?.key ?? ''), Math.ceil(CONNECTIONS / 8))
  }),
)
const connected: number[][] = nodes.map(() => [])
await revokeMany('connected, under load', REVOCATIONS, async (key) => {
  const times = await timesAfterRevoke(key, nodes, 300)
  times.forEach((ms, i) => {
    connected[i]?.push(ms)
  })
})
results['the node that answered'] = summary(connected[0] as number[])
results['the other nodes, under load'] = summary([...(connected[1] as number[]), ...(connected[2] as number[])])

// ---- idle: the key is cached, then nobody asks for a while -----------------------------------------------------------

const idle: number[] = []
await revokeMany('a node that sat idle', 40, async (key) => {
  await warm(key.key, [third])
  await sleep(1_000)
  const answered = await revoke(key)
  idle.push(await lastValid(third, key.key, answered, 400))
})
results['a node that sat idle'] = summary(idle)
loading = false
await background

// ---- the connection for words is cut without a sound -------------------------------------------------------------------

const cut: number[] = []
proxy.mute('storekeeper listener')
await revokeMany('the words are cut off', 40, async (key) => {
  cut.push((await timesAfterRevoke(key, [third], 2_500))[0] as number)
})
results['a node that hears nothing'] = summary(cut)
proxy.unmute()
await sleep(3_000)

// ---- the database is out of reach --------------------------------------------------------------------------------------

const lost: number[] = []
await revokeMany('a node without a database', 5, async (key) => {
  await warm(key.key, [third])
  proxy.mute()
  const since = performance.now()
  lost.push(await lastValid(third, key.key, since, 4_000))
  proxy.unmute()
  await sleep(3_000)
})
results['a node cut off from the database'] = summary(lost)

const [last] = await newKeys(world, storeId, 1)
await warm(last?.key ?? '', nodes)
const killed = world.kill()
const since = performance.now()
results['the database is killed'] = summary(
  await Promise.all(nodes.map((node) => lastValid(node, last?.key ?? '', since, 4_000))),
)

console.table(results)
mkdirSync('bench/results', { recursive: true })
writeFileSync('bench/results/revocation.json', `${JSON.stringify(results, null, 2)}\n`)
await Promise.all(nodes.map((node) => node.stop()))
proxy.close()
await killed
process.exit(0)

// ---- helpers ---------------------------------------------------------------------------------------------------------

type MadeKey = { id: string; key: string }
type Summary = { times: number; 'p50 ms': number; 'p99 ms': number; 'most ms': number; 'zero %': number }

async function revokeMany(what: string, count: number, work: (key: MadeKey) => Promise<void>): Promise<void> {
  const keys = await newKeys(world, storeId, count)
  const began = performance.now()
  const atOnce = count > 100 ? AT_ONCE : 1
  let done = 0
  const worker = async () => {
    for (let key = keys.pop(); key; key = keys.pop()) {
      await work(key)
      done += 1
      if (done % 250 === 0) process.stderr.write(`${what}: ${done} of ${count}\n`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  process.stderr.write(`${what}: ${count} in ${Math.round((performance.now() - began) / 1000)} s\n`)
}

/** Every node knows the key, it is revoked at the first, and each node is asked until it has long refused. */
async function timesAfterRevoke(key: MadeKey, asked: Running[], longMs: number): Promise<number[]> {
  await warm(key.key, asked)
  let answered = Number.POSITIVE_INFINITY
  const asking = asked.map(async (node) => {
    let last = 0
    for (;;) {
      const sent = performance.now()
      if ((await verify(node, key.key)) === 'VALID' && sent > answered) last = sent - answered
      if (sent > answered + longMs || (sent > answered + 50 && last < sent - answered - longMs / 2)) break
      await sleep(PAUSE_MS)
    }
    return last
  })
  answered = await revoke(key)
  const times = await Promise.all(asking)
  return times
}

async function lastValid(node: Running, key: string, since: number, longMs: number): Promise<number> {
  let last = 0
  while (performance.now() - since < longMs) {
    const sent = performance.now()
    if ((await verify(node, key)) === 'VALID') last = sent - since
    await sleep(PAUSE_MS)
  }
  return last
}

/** Asked until it is known and said from memory. */
async function warm(key: string, asked: Running[]): Promise<void> {
  for (const node of asked)
    for (let good = 0, tries = 0; good < 3; tries++) {
      if (tries > 500) throw new Error('A fresh key is not VALID')
      good += (await verify(node, key)) === 'VALID' ? 1 : 0
    }
}

function ask(key: string) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${service}` }
  return { method: 'POST' as const, path: '/v1/keys/verify', headers, body: JSON.stringify({ key }) }
}

/** Its code, or the status when there is none. A question that is not answered in a second is no VALID. */
async function verify(node: Running, key: string): Promise<string> {
  const { path, ...request } = ask(key)
  try {
    const response = await fetch(node.url + path, { ...request, signal: AbortSignal.timeout(1_000) })
    const body = (await response.json()) as { code?: string }
    return response.ok ? String(body.code) : String(response.status)
  } catch {
    return 'none'
  }
}

/** The moment its answer was here. A node that is too busy says so, and is asked again. */
async function revoke(key: MadeKey): Promise<number> {
  const response = await fetch(`${first.url}/v1/user/store/${storeId}/keys/${key.id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${session}` },
  })
  const text = await response.text()
  const answered = performance.now()
  if (response.status === 503) return revoke(key)
  if (response.status !== 200) throw new Error(`Revoking was answered ${response.status} ${text}`)
  return answered
}

function summary(times: number[]): Summary {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number) * 10) / 10
  const zero = sorted.filter((ms) => ms === 0).length
  return {
    times: sorted.length,
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
    'most ms': at(1),
    'zero %': Math.round((100 * zero) / sorted.length),
  }
}

/** Between a node and the database: can swallow what is said on some connections, without closing them. */
async function newProxy(socketPath: string) {
  let muted: string | null = null
  const server = net.createServer((near) => {
    const far = net.connect(socketPath)
    let hello = ''
    const swallowed = () => muted !== null && hello.includes(muted)
    near.on('data', (bytes) => {
      if (hello.length < 1_000) hello += bytes.toString('latin1')
      if (!swallowed()) far.write(bytes)
    })
    far.on('data', (bytes) => {
      if (!swallowed()) near.write(bytes)
    })
    const end = () => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) socket.on('error', end).on('close', end)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  return {
    url: `postgres://${world.user}@127.0.0.1:${port}/${world.database}`,
    /** Connections whose first words hold this; without it, all. */
    mute: (words = '') => {
      muted = words
    },
    unmute: () => {
      muted = null
    },
    close: () => server.close(),
  }
}
