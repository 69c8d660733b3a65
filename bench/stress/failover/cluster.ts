// Three PostgreSQL under Patroni, with one etcd and an HAProxy, on loopback, with the files of deploy/high-availability. All
// of it lives in one temporary folder and ends with `close`.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const DEPLOY = join(import.meta.dirname, '../../../deploy/high-availability')
const VERSIONS = '/usr/lib/postgresql'
const INSTALL = 'apt-get install -y --no-install-recommends postgresql patroni etcd-server haproxy'
const PASSWORD = randomBytes(12).toString('hex')
const IN_STEP = /^(running|streaming)$/

export type Member = { name: string; port: number; api: number; dataDir: string; patroni: ChildProcess | null }
type MemberState = { name: string; role: string; state: string; timeline?: number }

export type Cluster = {
  /** Through HAProxy, and by a list of hosts. */
  urls: { proxy: string; list: string }
  leader(): Promise<Member>
  syncStandby(): Promise<Member>
  /** One leader, a synchronous standby, and all three in step. */
  whole(): Promise<void>
  switchover(): Promise<void>
  startPatroni(member: Member): void
  createDatabase(): Promise<void>
  /** As the superuser, on the primary. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

type Start = (name: string, args: string[], env: Record<string, string>) => ChildProcess

export async function startCluster(): Promise<Cluster> {
  refuseMissing()
  const folder = mkdtempSync(join(tmpdir(), 'failover-'))
  const owner = postgresUser()
  const children: ChildProcess[] = []
  const start: Start = (name, args, env) => {
    const log = openSync(join(folder, `${name}-${children.length}.log`), 'a')
    const options = { ...owner, cwd: folder, env: { PATH: process.env.PATH, ...env } }
    const child = spawn(name, args, { ...options, stdio: ['ignore', log, log] })
    children.push(child)
    return child
  }
  const [etcd = 0, peer = 0, proxy = 0, ...ports] = await freePorts(9)
  const members = ['db1', 'db2', 'db3'].map((name, n): Member => {
    const dataDir = join(folder, name)
    mkdirSync(dataDir, { mode: 0o700 })
    return { name, port: ports[2 * n] as number, api: ports[2 * n + 1] as number, dataDir, patroni: null }
  })
  copyFileSync(join(DEPLOY, 'patroni.yml'), join(folder, 'patroni.yml'))
  chmodSync(folder, 0o755)
  for (const path of [folder, ...members.map(({ dataDir }) => dataDir)])
    if (owner) chownSync(path, owner.uid, owner.gid)

  startEtcd(start, join(folder, 'etcd'), etcd, peer)
  const startPatroni = (member: Member) => {
    const pgpass = join(folder, `pgpass-${member.name}`)
    member.patroni = start('patroni', [join(folder, 'patroni.yml')], patroniEnvironment(member, etcd, pgpass))
  }
  for (const member of members) startPatroni(member)
  const places = members.flatMap(({ port, api }, n) => [
    [`DB${n + 1}`, at(port)],
    [`DB${n + 1}_API`, String(api)],
  ])
  start('haproxy', ['-db', '-f', join(DEPLOY, 'haproxy.cfg')], { LISTEN: at(proxy), ...Object.fromEntries(places) })
  return {
    urls: { proxy: urlOf(at(proxy)), list: urlOf(members.map(({ port }) => at(port)).join(',')) },
    ...controls(members),
    startPatroni,
    async close() {
      // Patroni first: it would start its server again.
      for (const child of children) child.kill('SIGKILL')
      for (const { dataDir } of members) for (const pid of serverPids(dataDir)) kill(pid, 'SIGKILL')
      await sleep(500)
      if (!process.env.KEEP) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Names what is missing on this machine, with the command that installs it. */
function refuseMissing(): void {
  const missing = ['patroni', 'etcd', 'haproxy'].filter((name) => spawnSync('which', [name]).status !== 0)
  if (!existsSync(VERSIONS)) missing.push('postgresql')
  if (missing.length > 0) throw new Error(`${missing.join(', ')} must be installed first: ${INSTALL}`)
}

/** PostgreSQL does not run as root. */
function postgresUser(): { uid: number; gid: number } | null {
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : null
}

const at = (port: number) => `127.0.0.1:${port}`

const urlOf = (hosts: string, database = 'storekeeper', user = 'storekeeper') =>
  `postgres://${user}:${PASSWORD}@${hosts}/${database}`

function startEtcd(start: Start, dataDir: string, port: number, peer: number): void {
  start('etcd', ['--data-dir', dataDir], {
    ETCD_UNSUPPORTED_ARCH: process.arch,
    ETCD_LISTEN_CLIENT_URLS: `http://${at(port)}`,
    ETCD_ADVERTISE_CLIENT_URLS: `http://${at(port)}`,
    ETCD_LISTEN_PEER_URLS: `http://${at(peer)}`,
    ETCD_INITIAL_ADVERTISE_PEER_URLS: `http://${at(peer)}`,
    ETCD_INITIAL_CLUSTER: `default=http://${at(peer)}`,
  })
}

/** As in deploy/high-availability/patroni.env. */
function patroniEnvironment({ name, api, port, dataDir }: Member, etcd: number, pgpass: string) {
  const version = readdirSync(VERSIONS)
    .sort((a, b) => Number(a) - Number(b))
    .at(-1)
  return {
    PATRONI_NAME: name,
    PATRONI_RESTAPI_LISTEN: at(api),
    PATRONI_RESTAPI_CONNECT_ADDRESS: at(api),
    PATRONI_POSTGRESQL_LISTEN: at(port),
    PATRONI_POSTGRESQL_CONNECT_ADDRESS: at(port),
    PATRONI_POSTGRESQL_DATA_DIR: dataDir,
    PATRONI_POSTGRESQL_BIN_DIR: `${VERSIONS}/${version}/bin`,
    PATRONI_POSTGRESQL_PGPASS: pgpass,
    PATRONI_ETCD3_HOSTS: at(etcd),
    PATRONI_SUPERUSER_USERNAME: 'postgres',
    PATRONI_SUPERUSER_PASSWORD: PASSWORD,
    PATRONI_REPLICATION_USERNAME: 'replicator',
    PATRONI_REPLICATION_PASSWORD: PASSWORD,
  }
}

/** What is asked of Patroni, and of the primary. */
function controls(members: Member[]): Omit<Cluster, 'urls' | 'startPatroni' | 'close'> {
  const states = async (): Promise<MemberState[]> => {
    for (const { api } of members) {
      const answer = await fetch(`http://${at(api)}/cluster`, { signal: AbortSignal.timeout(2_000) }).catch(() => null)
      if (answer?.ok) return ((await answer.json()) as { members: MemberState[] }).members
    }
    return []
  }
  const withRole = async (wanted: string): Promise<Member> => {
    for (const end = Date.now() + 120_000; Date.now() < end; await sleep(100)) {
      const found = (await states()).find(({ role, state }) => role === wanted && IN_STEP.test(state))
      const member = members.find(({ name }) => name === found?.name)
      if (member) return member
    }
    throw new Error(`There is no ${wanted} after two minutes`)
  }
  const query = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = [], database?: string) => {
    const { port } = await withRole('leader')
    const client = new pg.Client({ connectionString: urlOf(at(port), database, 'postgres') })
    client.on('error', () => {})
    await client.connect()
    const result = client.query<Row>(text, values)
    return result.then(({ rows }) => rows).finally(() => client.end())
  }
  return {
    leader: () => withRole('leader'),
    syncStandby: () => withRole('sync_standby'),
    async whole() {
      for (const end = Date.now() + 300_000; Date.now() < end; await sleep(200)) {
        const all = await states()
        const leader = all.find(({ role }) => role === 'leader')
        const inStep = all.filter(({ state, timeline }) => IN_STEP.test(state) && timeline === leader?.timeline)
        if (leader && inStep.length === 3 && all.some(({ role }) => role === 'sync_standby')) return
      }
      throw new Error('The cluster is not whole after five minutes')
    },
    async switchover() {
      const { name, api } = await withRole('leader')
      const body = JSON.stringify({ leader: name })
      const answer = await fetch(`http://${at(api)}/switchover`, { method: 'POST', body })
      if (!answer.ok) throw new Error(`No switchover: ${answer.status} ${await answer.text()}`)
    },
    async createDatabase() {
      await query(`create role storekeeper login password '${PASSWORD}'`, [], 'postgres')
      await query('create database storekeeper owner storekeeper', [], 'postgres')
    },
    query,
  }
}

/** The postmaster of a data directory and its children. */
export function serverPids(dataDir: string): number[] {
  const file = join(dataDir, 'postmaster.pid')
  if (!existsSync(file)) return []
  const postmaster = Number(readFileSync(file, 'utf8').split('\n')[0])
  const children = spawnSync('ps', ['-o', 'pid=', '--ppid', String(postmaster)], { encoding: 'utf8' }).stdout
  return [postmaster, ...children.split('\n').filter(Boolean).map(Number)]
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}

/** Below those that the system gives to outgoing connections: a server that is started again finds its port free. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(20_000, 30_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (isFree) await new Promise((resolve) => server.close(resolve))
    if (isFree) ports.add(port)
  }
  return [...ports]
}
