// PostgreSQL without installing it: one server per data directory, shared by everyone who uses that directory.
//
// The server outlives a killed process, so nobody owns it. Whoever needs it joins: connects to its socket, or starts
// it when nothing listens there. Two advisory locks, held by a connection, say who is inside. PRESENT is shared by
// all; the last one to leave gets it alone and turns the server off. SERVICE is held by the one running service.
// The kernel closes the connection of a killed process, so neither lock can go stale as a lock file would.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Ground, installedGround } from './embedded-binaries.ts'
import { type Place, preparePlace, SOCKET_PORT } from './embedded-place.ts'
import { createCluster, type Launch, launchServer, runningServer, stopServer } from './embedded-server.ts'

export { NoEmbeddedPostgres } from './embedded-binaries.ts'
export { hasEmbedded } from './embedded-place.ts'

export type Embedded = {
  /** How to reach it with pg: a Unix socket directory as host. `ssl` is said so that PGSSLMODE cannot ask for it. */
  connection: { host: string; port: number; user: string; database: string; ssl: false }
  /** Where data and secrets really live: not the directory asked for, when root's folder cannot be entered. */
  dataDir: string
  /** Leaves the server, and stops it unless someone else is using it. */
  stop(): Promise<void>
}

export class AlreadyRunning extends Error {
  constructor(dataDir: string) {
    super(`Another Storekeeper is already running on ${dataDir}: stop it first. (Two services need a DATA_DIR each.)`)
    this.name = 'AlreadyRunning'
  }
}

/** Tells a person of progress, a line at a time. */
type Say = (line: string) => void

/** Starts (the first time: creates) the PostgreSQL in `dataDir`, for the one service that may run on it. */
export async function startEmbedded(dataDir: string, say: Say, ground = installedGround()): Promise<Embedded> {
  const place = await makePlace(dataDir, say, ground)
  let session = await join(place, say, 'service')
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
        session = await join(place, say, 'service')
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
    await leave(place, session)
  }
  return { connection: connectionTo(place), dataDir: place.dataDir, stop: () => (leaving ??= stop()) }
}

/** For an operator's command: uses the server of a running service, or starts one for the moment. */
export async function borrowEmbedded(dataDir: string, say: Say, ground = installedGround()): Promise<Embedded> {
  const place = await makePlace(dataDir, say, ground)
  const session = await join(place, say, 'guest')
  let leaving: Promise<void> | undefined
  return {
    connection: connectionTo(place),
    dataDir: place.dataDir,
    stop: () => (leaving ??= leave(place, session)),
  }
}

const USER = 'storekeeper'
const DATABASE = 'storekeeper'

// Any two numbers that nothing else in this database uses as an advisory lock.
const PRESENT = 7_310_001
const SERVICE = 7_310_002

const POLL_MS = 10
const REJOIN_MS = 500
/** The backend of a process killed a moment ago needs a moment to notice. */
const DYING_BACKEND_MS = 2_000
/** For a server that makes no progress. One that recovers from a crash gets all the time it needs. */
const PATIENCE_MS = 60_000
/** A server that is asked who is inside and says nothing for so long is stopped without an answer. */
const ANSWER_MS = 5_000

async function makePlace(dataDir: string, say: Say, ground: Ground): Promise<Place> {
  const place = await preparePlace(dataDir, say, ground)
  await createCluster(place, USER, say)
  return place
}

function connectionTo(place: Place): Embedded['connection'] {
  return { host: place.socketDir, port: SOCKET_PORT, user: USER, database: DATABASE, ssl: false }
}

/** From here on, and until `leave`, nobody else turns the server off. */
async function join(place: Place, say: Say, role: 'guest' | 'service'): Promise<pg.Client> {
  for (;;) {
    const session = await reach(place, say)
    try {
      // Waits for someone who is just turning the server off: then this connection breaks, and we start a new server.
      await ask(session, 'pg_advisory_lock_shared', PRESENT)
      if (role === 'guest' || (await becomeTheService(session))) return session
    } catch (error) {
      await session.end()
      notYet(error)
      continue
    }
    await leave(place, session)
    throw new AlreadyRunning(place.dataDir)
  }
}

async function becomeTheService(session: pg.Client): Promise<boolean> {
  for (const until = Date.now() + DYING_BACKEND_MS; Date.now() < until; await sleep(50))
    if (await ask(session, 'pg_try_advisory_lock', SERVICE)) return true
  return false
}

/** The shared lock is given back first: of two who leave together, the later one then still gets it alone. */
async function leave(place: Place, session: pg.Client): Promise<void> {
  const isLast = await ask(session, 'pg_advisory_unlock_shared', PRESENT, ANSWER_MS)
    .then(() => ask(session, 'pg_try_advisory_lock', PRESENT, ANSWER_MS))
    .catch(() => true) // a service still using it would notice, and start it again
  if (isLast) await stopServer(place)
  await session.end()
}

/** A connection to the server, which is started if there is none. */
async function reach(place: Place, say: Say): Promise<pg.Client> {
  let launch: Launch | undefined
  let obstacle = 'it does not answer'
  let giveUpAt = Date.now() + PATIENCE_MS
  while (Date.now() < giveUpAt) {
    const server = await runningServer(place)
    if (server?.status === 'starting') giveUpAt = Date.now() + PATIENCE_MS
    else {
      // Tried even where no process is seen: a container that shares the directory has its own process numbers.
      const session = await connect(place).catch(notYet)
      if (session) return session
    }

    if (server || launch?.isUnderway()) await sleep(POLL_MS)
    else if (!launch) launch = await launchServer(place)
    else {
      const failure = await launch.failure()
      launch = undefined
      if (LOST_THE_RACE.test(failure)) {
        await sleep(50)
        continue
      }
      if (!MEMORY_IN_USE.test(failure)) throw new Error(`PostgreSQL in ${place.dataDir} did not start: ${failure}`)
      const reason = 'processes of a killed PostgreSQL still use its data'
      if (obstacle !== reason) say(`Waiting in ${place.dataDir}: ${reason} …`)
      obstacle = reason
      await sleep(250)
    }
  }
  throw new Error(`PostgreSQL in ${place.dataDir} could not be reached: ${obstacle}. Its log is ${place.log}.`)
}

/** Another process started the server in the same moment, and was faster. */
const LOST_THE_RACE = /lock file .* (already exists|is empty)/
/** PostgreSQL does not let a new server beside the orphaned backends of a killed one. */
const MEMORY_IN_USE = /shared memory block .* still in use/

async function connect(place: Place): Promise<pg.Client> {
  try {
    return await open(place, DATABASE)
  } catch (error) {
    unless('3D000')(error)
  }
  // No such database: this is the very first start, or one before was killed here.
  const admin = await open(place, 'postgres')
  await admin.query(`create database ${DATABASE}`).catch(unless('42P04', '23505')) // someone else was faster
  await admin.end()
  return open(place, DATABASE)
}

async function open(place: Place, database: string): Promise<pg.Client> {
  const session = new pg.Client({ ...connectionTo(place), database, connectionTimeoutMillis: 10_000 })
  session.on('error', () => {}) // unheard, it would end the process; 'end' follows, and is heard
  try {
    await session.connect()
    return session
  } catch (error) {
    session.end().catch(() => {})
    throw error
  }
}

type LockFunction = 'pg_advisory_lock_shared' | 'pg_advisory_unlock_shared' | 'pg_try_advisory_lock'

async function ask(session: pg.Client, lock: LockFunction, key: number, patienceMs = 0): Promise<boolean> {
  const query = { text: `select ${lock}($1) as got`, values: [key], query_timeout: patienceMs }
  const { rows } = await session.query<{ got: unknown }>(query)
  return rows[0]?.got === true
}

/** Nothing listens yet, or a server is coming up, going down, or broke the connection off as it went. */
const notYet = unless('ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03')

function unless(...expected: string[]): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof Error)) throw error
    const isExpected = 'code' in error && expected.includes(String(error.code))
    const isBroken = /^Connection terminated|^timeout expired|not queryable/.test(error.message) // pg gives these no code
    if (!isExpected && !isBroken) throw error
  }
}
