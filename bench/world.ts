// A PostgreSQL of its own with real fsync, and processes to measure on it.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { buildSync } from 'esbuild'
import pg from 'pg'
import { newDataKey } from '../src/auth/data-key.ts'
import { newId } from '../src/core/ids.ts'
import { ServerKeys } from '../src/crypto/keyring.ts'
import { mintToken, sha256 } from '../src/crypto/tokens.ts'
import { startEmbedded } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'

export const CONNECTIONS = 32

export type World = {
  url: string
  secret: string
  /** Where the database really listens, and its name. */
  socket: string
  user: string
  database: string
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** How long the database has worked, in all its processes, those that have ended among them. */
  cpuMs(): number
  /** As a machine that loses its power would. */
  kill(): Promise<void>
  close(): Promise<void>
}

/** In a folder that is removed at the end; or in `kept`, which stays, with its secret, for the next run. */
export async function newWorld(kept?: string): Promise<World> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'storekeeper-bench-'))
  if (kept) mkdirSync(kept, { recursive: true })
  const { connection, dataDir, stop } = await startEmbedded(join(folder, 'data'), () => {})
  await migrate(connection)
  const client = new pg.Client(connection)
  await client.connect()
  const { host, port, user, database } = connection
  const postmaster = () => Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  return {
    url: `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    secret: secretIn(folder),
    socket: join(host, `.s.PGSQL.${port}`),
    user,
    database,
    sql: async (text, values) => (await client.query(text, values)).rows,
    cpuMs: () => cpuMsOfTree(postmaster()),
    kill: async () => {
      client.on('error', () => {})
      const pid = postmaster()
      const stopped = stop().catch(() => {})
      process.kill(pid, 'SIGKILL')
      await stopped
    },
    close: async () => {
      await client.end()
      await stop()
      if (!kept) rmSync(folder, { recursive: true, force: true })
    },
  }
}

function secretIn(folder: string): string {
  const file = join(folder, 'bench-secret')
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64'))
  return readFileSync(file, 'utf8')
}

/**
 * Users with sessions, each an owner of each store, written directly: signing up takes 30 ms of argon2 each. `storeId` is
 * the first of the stores.
 */
export async function newMembers(
  world: World,
  count: number,
  stores = 1,
): Promise<{ storeId: string; storeIds: string[]; tokens: string[] }> {
  const keyring = { current: new ServerKeys(Buffer.from(world.secret, 'base64')), previous: null }
  const storeIds = Array.from({ length: stores }, () => newId('store'))
  const users = Array.from({ length: count }, () => {
    const id = newId('user')
    const token = mintToken('skp', 'sess').reveal()
    const { wrapped, kid } = newDataKey(keyring, id)
    return { id, token, hash: sha256(token).toString('hex'), session: newId('sess'), key: wrapped.toString('hex'), kid }
  })
  await world.sql(
    `with person as (
       select * from json_to_recordset($1) as person(id text, hash text, session text, key text, kid text)
     ), users_made as (
       insert into users (id, email, password_hash, data_key, data_key_kid, created_at, updated_at)
       select id, id || '@example.com', 'none', decode(key, 'hex'), kid, now(), now() from person
     ), stores_made as (
       insert into stores (id, name, account_id, created_at, updated_at)
       select id, 'Bench', $3, now(), now() from unnest($2::text[]) as id
     ), members_made as (
       insert into members (store_id, user_id, role, created_at, updated_at)
       select store_id, id, 'OWNER', now(), now() from person cross join unnest($2::text[]) as store_id
     )
     insert into sessions (id, user_id, hash, created_at, last_used_at, expires_at)
     select session, id, decode(hash, 'hex'), now(), now(), now() + interval '90 days' from person`,
    [JSON.stringify(users), storeIds, users[0]?.id],
  )
  return { storeId: storeIds[0] as string, storeIds, tokens: users.map((user) => user.token) }
}

/** Keys whose secrets we know. */
export async function newKeys(
  { sql, secret }: World,
  storeId: string,
  count: number,
): Promise<{ id: string; key: string }[]> {
  const keys = new ServerKeys(Buffer.from(secret, 'base64'))
  const made = Array.from({ length: count }, () => {
    const key = mintToken('skp', 'prod').reveal()
    return { id: newId('key'), key, hash: keys.hmac('key-hash', key).toString('hex') }
  })
  await sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                           created_by_id, created_at, updated_at)
     select id, $2, 'Checkout', 'PROD', '{READ,WRITE}', '{"description":"Used by the checkout page"}', 'skp_prod_abcd',
            decode(hash, 'hex'), $3, 'user', 'user_bench', now(), now()
       from json_to_recordset($1) as made(id text, hash text)`,
    [JSON.stringify(made.map(({ id, hash }) => ({ id, hash }))), storeId, keys.kid],
  )
  return made
}

/** For the keys of one store, or of all (null). */
export async function newServiceToken({ sql }: World, storeId: string | null): Promise<string> {
  const token = mintToken('skp', 'svc').reveal()
  await sql(`insert into service_tokens (id, name, hash, store_ids, created_at) values ($1, 'Bench', $2, $3, now())`, [
    newId('svc'),
    sha256(token),
    storeId === null ? null : [storeId],
  ])
  return token
}

export type Running = { url: string; pid: number; startedMs: number; stop(): Promise<void> }

/** Starts a process and waits for the line that names its address. */
export async function run(command: string[], env: Record<string, string>): Promise<Running> {
  const began = performance.now()
  const child: ChildProcess = spawn(process.execPath, command, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Nobody is left behind, however this ends.
  process.once('exit', () => child.kill('SIGKILL'))
  const url = await new Promise<string>((resolve, reject) => {
    let seen = ''
    child.once('exit', () => reject(new Error(`${command.join(' ')} ended before it listened`)))
    child.stdout?.on('data', (chunk) => {
      if (seen === 'found') return
      seen += chunk
      const url = /"url":"([^"]+)"/.exec(seen)?.[1]
      if (!url) return
      seen = 'found'
      resolve(url)
    })
  })
  return {
    url,
    pid: child.pid as number,
    startedMs: performance.now() - began,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

/** Bare Fastify: with one INSERT for each request, or with no database at all. */
export async function runBare(world?: World): Promise<Running> {
  const env = world ? { MODE: 'insert', DATABASE_URL: world.url } : { MODE: 'none' }
  if (world)
    await world.sql(
      `create table if not exists bare_keys (id text primary key, store_id text not null, name text not null, type text not null,
         permissions text[] not null, metadata jsonb not null, start text not null, hash bytea not null unique,
         created_at timestamptz not null);
       create table if not exists bare_events (id text primary key, store_id text not null, type text not null, at timestamptz not null,
         actor jsonb not null, subject text not null, data jsonb not null)`,
    )
  return run([...OUR_FLAGS, compiled('bare')], env)
}

/** Bare Fastify that verifies: with one SELECT for each request, or from a Map. */
export function runBareVerify(world?: World, mode: 'select' | 'update' = 'select'): Promise<Running> {
  const env = world ? { MODE: mode, DATABASE_URL: world.url } : { MODE: 'none' }
  return run([...OUR_FLAGS, compiled('bare-verify')], env)
}

/** The service's own server, which spends by a bare UPDATE and verifies nothing. */
export function runBareSpend({ url, secret }: World): Promise<Running> {
  return run([...OUR_FLAGS, compiled('bare-spend')], { DATABASE_URL: url, SERVER_SECRET: secret })
}

/** As `npm start` gives them to Node.js. */
const OUR_FLAGS = ['--max-semi-space-size=16', '--heap-growing-percent=30']

/** As JavaScript, as the service is: run as TypeScript, what it is held against takes a third longer. */
function compiled(name: string): string {
  const outfile = join('bench', 'compiled', `${name}.mjs`)
  buildSync({
    entryPoints: [join('bench', `${name}.ts`)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  })
  return outfile
}

/**
 * The service as `npm start` runs it, without the limits that a load of one store and few users would meet. `folder` is
 * the checkout it is run from.
 */
export function runOurs(world: World, more: Record<string, string> = {}, folder = '.'): Promise<Running> {
  return run([...OUR_FLAGS, join(folder, 'bin/start.js')], {
    DATABASE_URL: world.url,
    SERVER_SECRET: world.secret,
    PORT: '0',
    RATE_LIMIT: 'off',
    MAX_KEYS_PER_STORE: '10000000',
    MAX_ADDRESSES_PER_USER: '1000000',
    ...more,
  })
}

export type Load = { perSecond: number; p50: number; p99: number; errors: number }

/** How many different requests each connection has ready; then it begins again. */
export const READY = 2_000

/**
 * One measurement. Anything but 2xx is an error, and an error makes the measurement worthless. Requests that differ are
 * made before the clock starts, `make(n)` the n-th of them: the cost of making them is not the service's.
 */
export async function load(
  url: string,
  seconds: number,
  make: (n: number) => autocannon.Request,
  connections = CONNECTIONS,
): Promise<Load> {
  let made = 0
  // To the microsecond: what is kept by the tool itself is in whole milliseconds.
  const times: number[] = []
  const setup = {
    url,
    connections,
    duration: seconds,
    setupClient: (client: autocannon.Client) => client.setRequests(Array.from({ length: READY }, () => make(made++))),
  }
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const running = autocannon(setup, (error, result) => (error ? reject(error) : resolve(result)))
    running.on('response', (_client, _status, _bytes, ms) => times.push(ms))
  })
  const errors = result.errors + result.non2xx + result.timeouts
  const sorted = Float64Array.from(times).sort()
  const below = (part: number) => Math.round((sorted[Math.floor(sorted.length * part)] ?? 0) * 100) / 100
  return { perSecond: result.requests.average, p50: below(0.5), p99: below(0.99), errors }
}

export function memoryMb(pid: number): number {
  const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kb) / 1024)
}

/** How long the process has worked, in all its threads. */
export function cpuMs(pid: number): number {
  const { own } = statOf(pid)
  return own
}

/** The process, its children that are there, and those that are no more. */
function cpuMsOfTree(pid: number): number {
  const { own, ended } = statOf(pid)
  const others = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return others.reduce((sum, name) => sum + ofChild(Number(name), pid), own + ended)
}

function ofChild(pid: number, parent: number): number {
  try {
    const stat = statOf(pid)
    return stat.parent === parent ? stat.own : 0
  } catch {
    // It ended while we looked.
    return 0
  }
}

function statOf(pid: number): { parent: number; own: number; ended: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text
    .slice(text.lastIndexOf(') ') + 2)
    .split(' ')
    .map(Number) as number[]
  const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map((n) => fields[n])
  return { parent, own: (user + system) * 10, ended: (endedUser + endedSystem) * 10 }
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}
