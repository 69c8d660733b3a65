// npm run bench:streams: what back ends cost a node that follow the changes of keys. STREAMS (default 1,000) are open at
// once, each comes back when it ends, and each reports the use of 20 keys every 5 seconds. Measured for SECONDS (default
// 30): memory, processor, how late beats are, and how soon a revoked key is told to all.

import { readFileSync } from 'node:fs'
import http from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryMb, newKeys, newMembers, newServiceToken, newWorld, runOurs } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 30)
const STREAMS = Number(process.env.STREAMS ?? 1_000)
const REVOKED = 20
const REPORTED = 20

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, 1)
const keys = await newKeys(world, storeId, REVOKED + REPORTED)
const revoked = keys.slice(0, REVOKED)
const counts = keys.slice(REVOKED).map(({ id: keyId }) => ({ keyId, secret: 1, valid: 50, agoMs: 10 }))
const token = await newServiceToken(world, storeId)
const ours = await runOurs(world)
const agent = new http.Agent({ keepAlive: true })

const gaps: number[] = []
/** When each stream heard of each key. */
const heardAt = new Map<string, number[]>(revoked.map(({ id }) => [id, []]))
let [open, byes, broken, refused, repeated] = [0, 0, 0, 0, 0]
let isMeasuring = false
let isOver = false

await sleep(2_000)
const rows = [{ streams: 0, reports: 'no', ...(await measure()) }]
const following: Promise<void>[] = []
for (let n = 0; n < STREAMS; n++) {
  following.push(follow())
  while (open < n - 50) await sleep(5)
}
// Every beat has its slot by then.
await sleep(5_000)
const ownDelay = monitorEventLoopDelay({ resolution: 10 })
ownDelay.enable()
isMeasuring = true
const toldIn = revokeInTurn()
rows.push({ streams: STREAMS, reports: 'no', ...(await measure()) })
isMeasuring = false
ownDelay.disable()
const told = await toldIn
const quietGaps = gaps.splice(0)
const reporting = Array.from({ length: STREAMS }, (_, n) => report(n))
await sleep(6_000)
isMeasuring = true
rows.push({ streams: STREAMS, reports: `${STREAMS / 5}/s`, ...(await measure()) })
isMeasuring = false
isOver = true
console.table(rows)
const percentiles = (values: number[]) => {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
  return { number: sorted.length, 'p50 ms': at(0.5), 'p99 ms': at(0.99), 'most ms': at(1) }
}
console.table([
  { what: 'between two beats of a stream', ...percentiles(quietGaps) },
  { what: 'the same, with reports', ...percentiles(gaps) },
  { what: 'from the answer to a revoke until a stream has heard', ...percentiles(told) },
])
console.log(
  `${byes} streams ended and came back, ${broken} broke, ${refused} were refused, ${repeated} reports repeated`,
)
const delay = (percentile: number) => Math.round(ownDelay.percentile(percentile) / 1e6)
console.log(`a timer of 10 ms in the process that reads took ${delay(50)} ms, at the 99th percentile ${delay(99)} ms`)
await Promise.all(reporting)
await ours.stop()
await Promise.all(following)
await world.close()

/** One stream after the other, until the end. */
async function follow(): Promise<void> {
  let isFirst = true
  while (!isOver) {
    await new Promise<void>((resolve) => {
      const request = http.get(`${ours.url}/v1/keys/changes`, { agent, headers: { authorization: `Bearer ${token}` } })
      request.on('error', () => resolve())
      request.on('response', (response) => {
        let beatAt = 0
        let last = ''
        response.on('error', () => {})
        response.on('close', () => {
          if (response.statusCode !== 200) refused += 1
          else if (last.includes('event: bye')) byes += 1
          else if (!isOver) broken += 1
          resolve()
        })
        response.setEncoding('latin1').on('data', (text: string) => {
          const at = performance.now()
          last = text
          if (isFirst && response.statusCode === 200) {
            open += 1
            isFirst = false
          }
          if (text.includes('event: changed')) note(text, at)
          if (!text.includes('event: beat')) return
          if (isMeasuring && beatAt > 0) gaps.push(at - beatAt)
          beatAt = at
        })
      })
    })
  }
}

function note(text: string, at: number): void {
  for (const [id] of text.matchAll(/key_\w{26}/g)) heardAt.get(id)?.push(at)
}

/** Spread over the time that is measured. How long after each answer each stream has heard of it; 0: before the answer. */
async function revokeInTurn(): Promise<number[]> {
  const answered = new Map<string, number>()
  for (const { id } of revoked) {
    await fetch(`${ours.url}/v1/user/store/${storeId}/keys/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${tokens[0]}` },
    })
    answered.set(id, performance.now())
    await sleep((SECONDS * 900) / REVOKED)
  }
  await sleep(1_000)
  return [...answered].flatMap(([id, at]) => (heardAt.get(id) ?? []).map((heard) => Math.max(0, heard - at)))
}

async function report(n: number): Promise<void> {
  const reporter = `bench-reporter-${String(n).padStart(6, '0')}`
  await sleep((n / STREAMS) * 5_000)
  for (let seq = 1; !isOver; seq++) {
    const began = performance.now()
    const body = JSON.stringify({ reporter, seq, counts })
    while ((await post(body)) !== 200) repeated += 1
    await sleep(Math.max(0, 5_000 - (performance.now() - began)))
  }
}

function post(body: string): Promise<number> {
  return new Promise((resolve) => {
    const request = http.request(`${ours.url}/v1/keys/usage`, {
      agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    request.on('error', () => resolve(0))
    request.on('response', (response) => {
      response.resume()
      response.on('close', () => resolve(response.statusCode ?? 0))
    })
    request.end(body)
  })
}

/** Memory at the end, and the share of a processor that the service and its database used. */
async function measure(): Promise<{ 'memory MB': number; 'CPU %': number; 'database CPU %': number }> {
  const before = { service: cpuTicks(), database: world.cpuMs() }
  await sleep(SECONDS * 1_000)
  const share = (ms: number) => Math.round((ms / SECONDS / 10) * 10) / 10
  return {
    'memory MB': memoryMb(ours.pid),
    'CPU %': share((cpuTicks() - before.service) * 10),
    'database CPU %': share(world.cpuMs() - before.database),
  }
}

function cpuTicks(): number {
  const fields = readFileSync(`/proc/${ours.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}
