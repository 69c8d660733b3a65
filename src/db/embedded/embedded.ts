// PostgreSQL without installing it: one server per data directory, shared by all processes that use that directory.
//
// The server outlives a killed process, so no process owns it. A process that needs it joins: it connects to the socket,
// or starts the server when nothing listens there. Two advisory locks, held by a connection, tell which processes use the
// server. PRESENT is shared by all of them; the last one to leave gets it exclusively and stops the server. SERVICE is
// held by the one running service. The kernel closes the connection of a killed process, so neither lock can go stale as
// a lock file would.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findInstallation, type Installation } from './binaries.ts'
import { type Cluster, locateCluster, SOCKET_PORT } from './cluster.ts'
import { createCluster, type Launch, launchServer, runningServer, stopServer } from './server.ts'

export type Embedded = {
  /** For pg: a Unix socket directory as host. `ssl` is given so that PGSSLMODE cannot turn it on. */
  connection: { host: string; port: number; user: string; database: string; ssl: false }
  /** The directory of data and secrets: not the one asked for, when PostgreSQL's user cannot enter root's folder. */
  dataDir: string
  /** Leaves the server, and stops it unless another process uses it. */
  stop(): Promise<void>
}

export class AlreadyRunning extends Error {
  constructor(dataDir: string) {
    super(`Another Storekeeper is already running on ${dataDir}: stop it first. (Two services need a DATA_DIR each.)`)
    this.name = 'AlreadyRunning'
  }
}

/** Reports progress to a person, a line at a time. */
export type Say = (line: string) => void

/** Starts (the first time: creates) the PostgreSQL in `dataDir`, for the one service that may run on it. */
export async function startEmbedded(
  dataDir: string,
  say: Say,
  installation = findInstallation(),
  connections = 0,
): Promise<Embedded> {
  const cluster = { ...(await openCluster(dataDir, say, installation)), connections }
  let session = await join(cluster, say, 'service')
  let leaving: Promise<void> | undefined
  let rejoining: Promise<void> | undefined

  // When one backend crashes, PostgreSQL drops every connection, and with this one go our locks. Take them again at
  // once, and start the server if it is gone: the service's pool reconnects by itself.
  const watch = () =>
    session.once('end', () => {
      if (!leaving) rejoining = rejoin()
    })
  const rejoin = async () => {
    say('The connection to the database was lost; connecting again …')
    while (!leaving) {
      try {
        session = await join(cluster, say, 'service')
        watch()
        return
      } catch {
        await sleep(REJOIN_MS)
      }
    }
  }
  watch()

  const stop = async () => {
    await rejoining
    await leave(cluster, session)
  }
  return { connection: connectionTo(cluster), dataDir: cluster.dataDir, stop: () => (leaving ??= stop()) }
}

/** For an operator's command: uses the server of a running service, or starts one for the moment. */
export async function joinEmbedded(dataDir: string, say: Say, installation = findInstallation()): Promise<Embedded> {
  const cluster = await openCluster(dataDir, say, installation)
  const session = await join(cluster, say, 'guest')
  let leaving: Promise<void> | undefined
  return {
    connection: connectionTo(cluster),
    dataDir: cluster.dataDir,
    stop: () => (leaving ??= leave(cluster, session)),
  }
}

/**
 * For an upgrade: the server of a cluster, for nobody else. Whoever wants to join waits until `stop`, which stops the server.
 */
export async function holdAlone(cluster: Cluster, say: Say): Promise<Embedded> {
  const session = await join(cluster, say, 'service')
  await callLock(session, 'pg_advisory_unlock_shared', PRESENT)
  if (!(await callLock(session, 'pg_try_advisory_lock', PRESENT))) {
    await session.end()
    throw new Error(`Another command is using the database in ${cluster.dataDir}: wait until it has ended.`)
  }
  const stop = async () => {
    await stopServer(cluster)
    await session.end()
  }
  let stopping: Promise<void> | undefined
  return { connection: connectionTo(cluster), dataDir: cluster.dataDir, stop: () => (stopping ??= stop()) }
}

export const USER = 'storekeeper'
const DATABASE = 'storekeeper'

// Any two numbers that nothing else in this database uses as an advisory lock.
const PRESENT = 7_310_001
const SERVICE = 7_310_002

const POLL_MS = 10
const REJOIN_MS = 500
/** The backend of a process that was just killed needs a moment to notice. */
const DYING_BACKEND_MS = 2_000
/** For a server that makes no progress. A server that recovers from a crash gets all the time it needs. */
const LOCK_TIMEOUT_MS = 60_000
/** A server that does not answer about its locks for this long is stopped without an answer. */
const ANSWER_MS = 5_000

async function openCluster(dataDir: string, say: Say, installation: Installation): Promise<Cluster> {
  const cluster = await locateCluster(dataDir, say, installation)
  await createCluster(cluster, USER, say)
  return cluster
}

function connectionTo(cluster: Cluster): Embedded['connection'] {
  return { host: cluster.socketDir, port: SOCKET_PORT, user: USER, database: DATABASE, ssl: false }
}

/** Until `leave`, no other process stops the server. */
async function join(cluster: Cluster, say: Say, role: 'guest' | 'service'): Promise<pg.Client> {
  for (;;) {
    const session = await connectOrStart(cluster, say)
    try {
      // Waits for a process that is just stopping the server: then this connection breaks, and a new server is started.
      await callLock(session, 'pg_advisory_lock_shared', PRESENT)
      if (role === 'guest' || (await becomeService(session))) return session
    } catch (error) {
      await session.end()
      ignoreNotReady(error)
      continue
    }
    await leave(cluster, session)
    throw new AlreadyRunning(cluster.dataDir)
  }
}

async function becomeService(session: pg.Client): Promise<boolean> {
  for (const until = Date.now() + DYING_BACKEND_MS; Date.now() < until; await sleep(50))
    if (await callLock(session, 'pg_try_advisory_lock', SERVICE)) return true
  return false
}

/** The shared lock is released first: of two that leave together, the later one then still gets it exclusively. */
async function leave(cluster: Cluster, session: pg.Client): Promise<void> {
  const isLast = await callLock(session, 'pg_advisory_unlock_shared', PRESENT, ANSWER_MS)
    .then(() => callLock(session, 'pg_try_advisory_lock', PRESENT, ANSWER_MS))
    .catch(() => true) // a service that still uses the server would notice, and start it again
  if (isLast) await stopServer(cluster)
  await session.end()
}

/** A connection to the server, which is started if there is none. */
async function connectOrStart(cluster: Cluster, say: Say): Promise<pg.Client> {
  let launch: Launch | undefined
  let obstacle = 'it does not answer'
  let giveUpAt = Date.now() + LOCK_TIMEOUT_MS
  while (Date.now() < giveUpAt) {
    const server = await runningServer(cluster)
    if (server?.status === 'starting') giveUpAt = Date.now() + LOCK_TIMEOUT_MS
    else {
      // Tried even where no process is seen: a container that shares the directory has its own process numbers.
      const session = await connect(cluster).catch(ignoreNotReady)
      if (session) return session
    }

    if (server || launch?.isUnderway()) await sleep(POLL_MS)
    else if (!launch) launch = await launchServer(cluster)
    else {
      const failure = await launch.failure()
      launch = undefined
      if (LOST_THE_RACE.test(failure)) {
        await sleep(50)
        continue
      }
      if (!MEMORY_IN_USE.test(failure)) throw new Error(`PostgreSQL in ${cluster.dataDir} did not start: ${failure}`)
      const reason = 'processes of a killed PostgreSQL still use its data'
      if (obstacle !== reason) say(`Waiting in ${cluster.dataDir}: ${reason} …`)
      obstacle = reason
      await sleep(250)
    }
  }
  throw new Error(`PostgreSQL in ${cluster.dataDir} could not be reached: ${obstacle}. Its log is ${cluster.log}.`)
}

/** Another process started the server in the same moment, and was faster. */
const LOST_THE_RACE = /lock file .* (already exists|is empty)/
/** PostgreSQL does not let a new server beside the orphaned backends of a killed one. */
const MEMORY_IN_USE = /shared memory block .* still in use/

async function connect(cluster: Cluster): Promise<pg.Client> {
  try {
    return await open(cluster, DATABASE)
  } catch (error) {
    ignoring('3D000')(error)
  }
  // No such database: this is the very first start, or one before was killed here.
  const admin = await open(cluster, 'postgres')
  await admin.query(`create database ${DATABASE}`).catch(ignoring('42P04', '23505')) // another process was faster
  await admin.end()
  return open(cluster, DATABASE)
}

async function open(cluster: Cluster, database: string): Promise<pg.Client> {
  const session = new pg.Client({ ...connectionTo(cluster), database, connectionTimeoutMillis: 10_000 })
  session.on('error', () => {}) // without a listener it would end the process; 'end' follows, and has one
  try {
    await session.connect()
    return session
  } catch (error) {
    session.end().catch(() => {})
    throw error
  }
}

type LockFunction = 'pg_advisory_lock_shared' | 'pg_advisory_unlock_shared' | 'pg_try_advisory_lock'

async function callLock(session: pg.Client, lock: LockFunction, key: number, patienceMs = 0): Promise<boolean> {
  const query = { text: `select ${lock}($1) as got`, values: [key], query_timeout: patienceMs }
  const { rows } = await session.query<{ got: unknown }>(query)
  return rows[0]?.got === true
}

/** Nothing listens yet, or a server is starting, stopping, or broke the connection off as it stopped. */
const ignoreNotReady = ignoring('ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03')

/** Swallows errors with these codes, and connections that broke; throws all others. */
function ignoring(...codes: string[]): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof Error)) throw error
    const isExpected = 'code' in error && codes.includes(String(error.code))
    const isBroken = /^Connection terminated|^timeout expired|not queryable/.test(error.message) // pg gives these no code
    if (!isExpected && !isBroken) throw error
  }
}
