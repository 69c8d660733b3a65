// npm run stress:failover: three PostgreSQL under Patroni and two nodes of Storekeeper, one behind HAProxy and one with a list
// of hosts, while the primary moves and dies. ROUNDS (default 20) of each kind. Needs Debian's postgresql, patroni,
// etcd-server and haproxy, and says so. Prints its table after each round; a run that was interrupted goes on where it was
// when it is started again. Leaves nothing behind (KEEP=1: the folder with the logs).

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, freePorts, kill, serverPids, startCluster } from './failover/cluster.ts'
import { ask, type Counts, startLoad, type World } from './failover/load.ts'

const ROUNDS = Number(process.env.ROUNDS ?? 20)
const STALL_MS = 10_000
const STATE = join(tmpdir(), 'storekeeper-failover.json')
const log = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`)

type Round = {
  kind: string
  acknowledged: number
  lost: number
  twice: number
  fiveHundreds: number
  unavailable: number
  seconds: number
  revoked: number
  validPastBound: number
  answeredStale: number
}

/** Each does its harm, and gives what brings the member back. */
const HARMS: Record<string, (cluster: Cluster) => Promise<() => void>> = {
  switchover: async (cluster) => {
    await cluster.switchover()
    return () => {}
  },
  'SIGKILL of the primary': async (cluster) => {
    const { dataDir } = await cluster.leader()
    for (const pid of serverPids(dataDir)) kill(pid, 'SIGKILL')
    return () => {}
  },
  'SIGKILL of the primary and its Patroni': async (cluster) => {
    const leader = await cluster.leader()
    leader.patroni?.kill('SIGKILL')
    for (const pid of serverPids(leader.dataDir)) kill(pid, 'SIGKILL')
    // As a machine that is lost: it comes back when another is the primary.
    await until(async () => (await cluster.leader()).name !== leader.name)
    return () => cluster.startPatroni(leader)
  },
  'SIGSTOP of the synchronous standby': async (cluster) => {
    const { dataDir } = await cluster.syncStandby()
    const pids = serverPids(dataDir)
    for (const pid of pids) kill(pid, 'SIGSTOP')
    await sleep(STALL_MS)
    return () => pids.forEach((pid) => kill(pid, 'SIGCONT'))
  },
}

async function runRound(cluster: Cluster, world: World, kind: string): Promise<Round> {
  const load = startLoad(world)
  await sleep(2_000)
  const began = performance.now()
  const restore = await HARMS[kind]?.(cluster)
  // Until writes are answered again, and a while longer.
  // What was answered while the harm was done tells nothing.
  const harmedAt = performance.now() + 1_000
  const isFlowing = () =>
    load.counts.writtenAt.filter((at) => at > Math.max(harmedAt, performance.now() - 2_000)).length > 4
  await until(isFlowing).catch(async (error) => {
    const ready = await Promise.all(world.nodes.map((node) => ask(`${node}/readyz`, 'GET', '')))
    log(`stuck: ${JSON.stringify({ ready, statuses: [...load.counts.statuses] })}`)
    throw error
  })
  await sleep(3_000)
  restore?.()
  await sleep(1_000)
  await load.stop()
  await cluster.whole()
  return { kind, ...(await judge(cluster, load.counts, began)) }
}

async function judge(cluster: Cluster, counts: Counts, began: number): Promise<Omit<Round, 'kind'>> {
  const names = [...counts.names]
  const found = await cluster.query<{ id: string; name: string; revoked: boolean; events: number }>(
    `select key.id, key.name, key.revoked_at is not null as revoked,
            (select count(*)::int from events where subject = key.id and type = 'key.created') as events
       from api_keys key
      where key.name = any($1)`,
    [names],
  )
  const ids = new Map(found.map((row) => [row.id, row]))
  const lost = [...counts.acknowledged].filter((id) => !ids.has(id)).length
  const unrevoked = [...counts.revoked].filter((id) => !ids.get(id)?.revoked).length
  const times = [began, ...counts.writtenAt.filter((at) => at > began)]
  const gaps = times.slice(1).map((at, n) => at - (times[n] as number))
  return {
    acknowledged: counts.acknowledged.size + counts.revoked.size,
    lost: lost + unrevoked,
    twice:
      found.length - new Set(found.map(({ name }) => name)).size + found.filter(({ events }) => events !== 1).length,
    fiveHundreds: counts.statuses.get(500) ?? 0,
    unavailable: counts.statuses.get(503) ?? 0,
    seconds: Math.round(Math.max(0, ...gaps) / 100) / 10,
    revoked: counts.revoked.size,
    validPastBound: counts.validPastBound,
    answeredStale: counts.answeredStale,
  }
}

function table(rounds: Round[]): void {
  const sum = (of: Round[], name: Exclude<keyof Round, 'kind'>) => of.reduce((total, round) => total + round[name], 0)
  const rows = Object.keys(HARMS).map((kind) => {
    const of = rounds.filter((round) => round.kind === kind)
    const seconds = of.map((round) => round.seconds).sort((a, b) => a - b)
    return [
      kind,
      {
        rounds: of.length,
        acknowledged: sum(of, 'acknowledged'),
        lost: sum(of, 'lost'),
        twice: sum(of, 'twice'),
        '500': sum(of, 'fiveHundreds'),
        '503': sum(of, 'unavailable'),
        's median': seconds[Math.floor((seconds.length - 1) / 2)] ?? '',
        's most': seconds.at(-1) ?? '',
        revoked: sum(of, 'revoked'),
        'VALID past bound': sum(of, 'validPastBound'),
        'with asOf': sum(of, 'answeredStale'),
      },
    ]
  })
  console.table(Object.fromEntries(rows))
}

type Nodes = { urls: string[]; env: Record<string, string>; close(): void }

async function startNodes(cluster: Cluster): Promise<Nodes> {
  const ports = await freePorts(2)
  const secret = randomBytes(32).toString('base64')
  const children: ChildProcess[] = []
  const settings = { SERVER_SECRET: secret, RATE_LIMIT: 'off', MAX_KEYS_PER_STORE: '1000000', LOG_LEVEL: 'error' }
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  for (const [n, databaseUrl] of [cluster.urls.proxy, cluster.urls.list].entries()) {
    const env = { ...process.env, ...settings, DATABASE_URL: databaseUrl, PORT: String(ports[n]) }
    children.push(
      spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] }),
    )
    await until(async () => (await ask(`${urls[n]}/readyz`, 'GET', '')).status === 200)
  }
  return {
    urls,
    env: { ...(process.env as Record<string, string>), ...settings, DATABASE_URL: cluster.urls.list },
    close: () => children.forEach((child) => child.kill('SIGKILL')),
  }
}

async function newWorld({ urls: nodes, env }: Nodes): Promise<World> {
  const [node] = nodes
  const account = { email: 'ada@example.com', password: randomBytes(12).toString('hex') }
  const session = (await ask(`${node}/v1/auth/sign-up`, 'POST', '', account)).body.token as string
  const storeId = (await ask(`${node}/v1/user/store`, 'POST', session, { name: 'The shop' })).body.id as string
  return {
    nodes,
    session,
    storeId,
    service: command(env, ['service-token', 'create', 'rig', '--store', storeId]).trim(),
  }
}

function command(env: Record<string, string>, args: string[], input = ''): string {
  const options = { env, input, encoding: 'utf8', maxBuffer: 2 ** 30 } as const
  return execFileSync(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], options)
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 180_000; Date.now() < end; await sleep(100)) if (await condition()) return
  throw new Error('It did not happen within three minutes')
}

const rounds: Round[] = existsSync(STATE) ? JSON.parse(readFileSync(STATE, 'utf8')) : []
const due = Object.keys(HARMS).flatMap((kind) => {
  const done = rounds.filter((round) => round.kind === kind).length
  return Array.from({ length: Math.max(0, ROUNDS - done) }, (_, n) => ({ kind, n: done + n + 1 }))
})
due.sort((a, b) => a.n - b.n)
if (rounds.length > 0) log(`goes on after ${rounds.length} rounds (${STATE})`)
const cluster = await startCluster()
let nodes: Nodes | null = null
const close = async () => {
  nodes?.close()
  await cluster.close()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void close().then(() => process.exit(1)))
try {
  await cluster.whole()
  await cluster.createDatabase()
  nodes = await startNodes(cluster)
  const world = await newWorld(nodes)
  log('the cluster and two nodes are up')
  for (const { kind, n } of due) {
    const round = await runRound(cluster, world, kind)
    rounds.push(round)
    writeFileSync(STATE, JSON.stringify(rounds))
    log(`${kind} ${n}/${ROUNDS}: ${round.seconds} s`)
    table(rounds)
  }
  const exported = command(nodes.env, ['events', 'export', world.storeId])
  console.log(command(nodes.env, ['events', 'verify', '-'], exported))
  rmSync(STATE, { force: true })
  const isClean = rounds.every((r) => r.lost + r.twice + r.fiveHundreds + r.validPastBound === 0)
  process.exitCode = isClean ? 0 : 1
} finally {
  await close()
}
