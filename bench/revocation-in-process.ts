// Part of npm run revocation: how long back ends that verify in their own process let a key in after it was revoked. Three
// nodes, BACK_ENDS (default 20) processes behind a relay, REVOCATIONS (default 2,000): half of them without faults, half while
// the relay delays, cuts and swallows, and back ends, nodes and the database are stopped and killed.
//
// A time is counted from the answer to the revoke to the last VALID from memory that began. Zero: none began after it.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'esbuild'
import { newKeys, newMembers, newServiceToken, newWorld, type Running, runOurs } from './world.ts'

const REVOCATIONS = Number(process.env.REVOCATIONS ?? 2_000)
const BACK_ENDS = Number(process.env.BACK_ENDS ?? 20)
const BATCH = 20
const now = () => Number(process.hrtime.bigint()) / 1e6
const pick = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, 1)
const token = await newServiceToken(world, storeId)
const nodes: Running[] = [await runOurs(world), await runOurs(world), await runOurs(world)]
const relay = await newRelay()
const outfile = join(mkdtempSync(join(tmpdir(), 'storekeeper-back-end-')), 'back-end.mjs')
await build({
  entryPoints: ['bench/back-end.ts'],
  bundle: true,
  platform: 'node',
  format: 'esm',
  outfile,
  logLevel: 'error',
})
const backEnds = Array.from({ length: BACK_ENDS }, () =>
  fork(outfile, { env: { ...process.env, URL: relay.url, TOKEN: token }, execArgv: [] }),
)
process.once('exit', () => {
  for (const child of backEnds) child.kill('SIGKILL')
})

type Answer = { warm: boolean; last: [string, number][]; counters: Record<string, number> }
async function ask<Name extends keyof Answer>(child: ChildProcess, name: Name): Promise<Answer[Name]> {
  child.send({ ask: name })
  const [message] = await once(child, 'message')
  return message[name]
}

/** What a fault does, for how long; it ends what it began. */
const faults: Record<string, () => Promise<void>> = {
  'the relay delays': () => relay.during({ delayMs: 300 + 2_700 * Math.random() }, 3_000),
  'the relay cuts': () => relay.cut(),
  'the relay swallows': () => relay.during({ swallows: true }, 4_000),
  'a back end is stopped': () => stopped([pick(backEnds).pid as number]),
  'a node is stopped': () => stopped([pick(nodes.slice(1)).pid]),
  'the database is stopped': async () => stopped(await databasePids()),
  'a node is killed': async () => {
    const n = 1 + Math.floor(Math.random() * 2)
    process.kill((nodes[n] as Running).pid, 'SIGKILL')
    nodes[n] = await runOurs(world)
  },
}

const results: Record<string, object> = {}
await measure('without faults', REVOCATIONS / 2, null, 500)
for (const name of Object.keys(faults)) await measure(name, REVOCATIONS / 2 / Object.keys(faults).length, name, 3_000)
console.table(results)
const totals: Record<string, number> = {}
for (const child of backEnds)
  for (const [name, count] of Object.entries(await ask(child, 'counters'))) totals[name] = (totals[name] ?? 0) + count
console.log(JSON.stringify(totals))
mkdirSync('bench/results', { recursive: true })
writeFileSync('bench/results/revocation-in-process.json', `${JSON.stringify({ results, totals }, null, 2)}\n`)
process.exit(0)

async function measure(what: string, count: number, fault: string | null, waitMs: number): Promise<void> {
  const times: number[] = []
  for (let done = 0; done < count; done += BATCH) {
    const keys = await newKeys(world, storeId, BATCH)
    for (const child of backEnds) child.send({ watch: keys.map(({ key }) => key) })
    await Promise.all(
      backEnds.map(async (child) => {
        while (!(await ask(child, 'warm'))) await sleep(50)
      }),
    )
    const over = fault ? faults[fault]?.() : undefined
    const answered = new Map<string, number>()
    await Promise.all(
      keys.map(async (key) => {
        await sleep(500 * Math.random())
        answered.set(key.key, await revoke(key.id))
      }),
    )
    await Promise.all([over, sleep(waitMs)])
    for (const child of backEnds)
      for (const [key, last] of await ask(child, 'last')) times.push(Math.max(0, last - (answered.get(key) as number)))
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) =>
    Math.round(10 * (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)) / 10
  results[what] = { times: sorted.length, 'p50 ms': at(0.5), 'p99 ms': at(0.99), 'most ms': at(1) }
  process.stderr.write(`${what}: ${JSON.stringify(results[what])}\n`)
}

/** The moment its answer was here. */
async function revoke(id: string): Promise<number> {
  for (;;) {
    const response = await fetch(`${nodes[0]?.url}/v1/user/store/${storeId}/keys/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${tokens[0]}` },
    })
    await response.text()
    if (response.status === 200) return now()
  }
}

async function stopped(pids: number[]): Promise<void> {
  const send = (signal: 'SIGSTOP' | 'SIGCONT') => {
    for (const pid of pids)
      try {
        process.kill(pid, signal)
      } catch {
        // It has ended meanwhile.
      }
  }
  send('SIGSTOP')
  await sleep(100 + 4_000 * Math.random())
  send('SIGCONT')
}

/** The postmaster and all its children. */
async function databasePids(): Promise<number[]> {
  const parentOf = (pid: number) => {
    try {
      return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1])
    } catch {
      return 0
    }
  }
  const [row] = await world.sql('select pg_backend_pid() as pid')
  const postmaster = parentOf(Number(row?.pid))
  const all = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return [postmaster, ...all.filter((pid) => parentOf(pid) === postmaster)]
}

/** Between back ends and nodes: each connection goes to one of the nodes. */
async function newRelay() {
  const none = { delayMs: 0, swallows: false }
  let fault = { ...none }
  const pairs = new Set<net.Socket>()
  const server = net.createServer((near) => {
    const far = net.connect(Number(new URL(pick(nodes).url).port), '127.0.0.1')
    const pass = (from: net.Socket, to: net.Socket) => {
      let after = Promise.resolve()
      from.on('data', (bytes) => {
        if (fault.swallows) return
        const { delayMs } = fault
        after = after.then(() => (delayMs > 0 ? sleep(delayMs) : undefined)).then(() => void to.write(bytes))
      })
      pairs.add(from)
      const end = () => {
        pairs.delete(from)
        // A connection that is swallowed is half-open: the other end hears nothing of this.
        if (!fault.swallows) to.destroy()
      }
      from.on('error', end).on('close', end)
    }
    pass(near, far)
    pass(far, near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    async during(other: Partial<typeof none>, ms: number): Promise<void> {
      fault = { ...none, ...other }
      await sleep(ms)
      fault = { ...none }
    },
    async cut(): Promise<void> {
      await sleep(250)
      for (const socket of pairs) socket.destroy()
    },
  }
}
