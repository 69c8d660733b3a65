// One line opens a shop: `const { api, owner, store } = await shop()`. It is a new owner with a new store, at the one
// service that all tests of a worker share, reached over real HTTP. A store is a tenant, so nothing of one shop shows in
// another. `shop({ alone: true })` has a service and a database of its own, and so has one with settings: for tests that
// count whole tables, stop the service or write past it. They cost ten times as much; where several tests of a file need
// the same settings, `const openShop = shopsWith(settings)` gives each a shop at one service.

import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import pino from 'pino'
import { type Dispatcher, request } from 'undici'
import { afterAll, inject, onTestFinished } from 'vitest'
import { CALLER_TTL_MS } from '../src/auth/caller-cache.ts'
import { newDataKey } from '../src/auth/data-key.ts'
import { EXAMPLE_ADDRESS } from '../src/billing/schema.ts'
import { readConfig } from '../src/config.ts'
import { DAY, fromNow, now, travel } from '../src/core/clock.ts'
import type { Resolve } from '../src/core/dns.ts'
import { newId } from '../src/core/ids.ts'
import { ServerKeys } from '../src/crypto/keyring.ts'
import { mintToken, sha256 } from '../src/crypto/tokens.ts'
import { newEvent } from '../src/events/write.ts'
import { type Service, startService, type Timings } from '../src/service.ts'
import { createDatabase, disconnect } from './databases.ts'
import { PASSWORD } from './password.ts'

/** A test looks into answers freely, and a wrong look fails it. */
type Any = any

export type Reply = { status: number; headers: Headers; body: Any; text: string }
type Ask = { as?: string | null; headers?: Record<string, string>; raw?: string | Uint8Array }

export type Api = {
  url: string
  ask(method: string, path: string, body?: unknown, ask?: Ask): Promise<Reply>
  get(path: string, ask?: Ask): Promise<Reply>
  post(path: string, body?: unknown, ask?: Ask): Promise<Reply>
  put(path: string, body?: unknown, ask?: Ask): Promise<Reply>
  patch(path: string, body?: unknown, ask?: Ask): Promise<Reply>
  delete(path: string, ask?: Ask): Promise<Reply>
}

/** Somebody with an account: `token` speaks for them. */
export type Person = { id: string; email: string; password: string; token: string }

export type Shop = {
  api: Api
  owner: Person
  /** The owner's store. */
  store: { id: string; name: string }
  /** Paths below the store: `keys` manages, `billing` is a store user's own. */
  keys: string
  billing: string
  /** A new person, without a part in any store. */
  person(name?: string): Promise<Person>
  /** A new person who has accepted an invitation to the store. */
  member(role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER', permissions?: string[]): Promise<Person>
  /** The token of a back end, for the store unless said otherwise, as the operator issues it. Null: for all stores. */
  serviceToken(storeIds?: string[] | null): Promise<string>
  /** A second node on the same database. */
  node(settings?: Record<string, string>): Promise<Api>
  /** Straight to the database, to look at what no answer shows. */
  sql(text: string, values?: unknown[]): Promise<Any[]>
  /** Waits until a change made at one node counts at every other. */
  everywhere(): Promise<void>
  databaseUrl: string
  serverSecret: string
  service: Service
  /** Every line that was logged so far. */
  logs(): string
}

type Settings = Record<string, string>
/** How names are looked up, and how long the service waits between two looks. */
type Parts = { resolve?: Resolve; timings?: Partial<Timings> }

/** What a test waits for happens soon, but is not looked for all the time: services stand idle for most of a run. */
const TIMINGS: Partial<Timings> = {
  sealPauseMs: 120,
  slowReaderMs: 2_000,
  feed: { pollMs: 500, recheckMs: 250, batchMs: 25 },
  commitBeforeFlush: true,
}

/** Where messages can arrive: at a receiver on this machine, or at a name that the test looks up itself. */
const WEBHOOK_TIMINGS: Partial<Timings> = { sealPauseMs: 40, dispatcher: { idleMs: 40, maxRestMs: 40 } }

/** For tests that wait until it is written down how a key was used. */
export const USAGE_AT_ONCE: Parts = { timings: { usageFlushMs: 250 } }

export async function shop(settings: Settings | { alone: true } = {}, parts?: Parts): Promise<Shop> {
  const isShared = parts === undefined && Object.keys(settings).length === 0
  const { alone: _, ...given } = settings
  onTestFinished(() => travel(0))
  if (isShared) return openShop(await sharedWorld())
  const world = await newWorld(given as Settings, parts)
  onTestFinished(world.close)
  return openShop(world)
}

/** For the tests of one file: a service with these settings, made when the first test asks for it, and a new shop for each. */
export function shopsWith(settings: Settings, parts?: Parts): () => Promise<Shop> {
  let world: Promise<World> | undefined
  afterAll(async () => (await world)?.close())
  return async () => {
    onTestFinished(() => travel(0))
    world ??= newWorld(settings, parts)
    return openShop(await world)
  }
}

/** A database, and the nodes that run on it. */
type World = {
  databaseUrl: string
  serverSecret: string
  keyPrefix: string
  service: Service
  look: (text: string, values?: unknown[]) => Promise<pg.QueryResult>
  lines: string[]
  /** Another node, gone when the test is over. */
  start(more?: Settings): Promise<Service>
  dropCaches(): void
  close(): Promise<void>
}

async function newWorld(settings: Settings = {}, { resolve, timings }: Parts = {}): Promise<World> {
  const databaseUrl = await createDatabase()
  const serverSecret = settings.SERVER_SECRET ?? randomBytes(32).toString('base64')
  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret, PORT: '0', RATE_LIMIT: 'off', ...settings }
  const lines: string[] = []
  const level = settings.LOG_LEVEL ?? 'info'
  const log = pino(
    { level, base: null },
    new Writable({ write: (line, _, done) => done(void lines.push(String(line))) }),
  )
  const nodes: Service[] = []
  const delivers = resolve !== undefined || settings.WEBHOOK_ALLOW_PRIVATE === 'on'
  const pace = { ...TIMINGS, ...(delivers ? WEBHOOK_TIMINGS : {}), ...timings }
  const start = async (more: Settings = {}) => {
    const node = await startService(readConfig({ ...env, ...more }), log, () => {}, resolve, pace)
    nodes.push(node)
    return node
  }
  const service = await start()
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  let looked: Promise<unknown> = Promise.resolve()
  return {
    databaseUrl,
    serverSecret,
    keyPrefix: settings.KEY_PREFIX ?? 'skp',
    service,
    // One after the other: a client has room for one query.
    look: (text, values) => {
      const looking = looked.catch(() => {}).then(() => client.query(text, values))
      looked = looking
      return looking
    },
    lines,
    start: async (more) => {
      const node = await start(more)
      onTestFinished(() => node.close(0))
      return node
    },
    dropCaches: () => {
      for (const node of nodes) node.dropCaches()
    },
    close: async () => {
      await Promise.all([...nodes.map((node) => node.close(0)), client.end()])
      await disconnect(databaseUrl)
    },
  }
}

let shared: Promise<World> | undefined

/** The one of this worker, made when the first test asks for it; it lasts as long as the worker. */
function sharedWorld(): Promise<World> {
  shared ??= newWorld()
  return shared
}

/**
 * Before a test moves the clocks of its process, or its timers: the service that the worker shares runs in the same process,
 * and would be left with timers that never fire and with moments that have not come yet. The next test gets a new one.
 */
export async function closeSharedService(): Promise<void> {
  const world = await shared
  shared = undefined
  await world?.close()
}

async function openShop(world: World): Promise<Shop> {
  const { databaseUrl, serverSecret, service, look, lines } = world
  const api = apiAt(service.url)
  const person = (name = 'Somebody') => newPerson(world, name)
  const owner = await person('Olive Owner')
  const store = await postSurely(api, '/v1/user/store', { name: 'The shop' }, owner)
  const member: Shop['member'] = async (role, permissions) => {
    const somebody = await person(`A ${role.toLowerCase()}`)
    const wanted = { email: somebody.email, role, ...(permissions ? { permissions } : {}) }
    const invited = await postSurely(api, `/v1/user/store/${store.id}/invitations`, wanted, owner)
    await postSurely(api, '/v1/user/invitations/accept', { token: invited.token }, somebody)
    return somebody
  }
  return {
    api,
    owner,
    store,
    keys: `/v1/user/store/${store.id}/keys`,
    billing: `/v1/store/${store.id}/billing`,
    person,
    member,
    serviceToken: async (storeIds = [store.id]) => {
      const token = mintToken('skp', 'svc').reveal()
      await look(
        `insert into service_tokens (id, name, hash, store_ids, created_at) values ($1, 'Gateway', $2, $3, now())`,
        [newId('svc'), sha256(token), storeIds],
      )
      return token
    },
    node: async (more) => apiAt((await world.start(more)).url),
    sql: async (text, values) => {
      // A test that fails inside its transaction leaves none to those that share the connection.
      if (/^\s*begin/i.test(text)) onTestFinished(() => void look('rollback').catch(() => {}))
      const { rows } = await look(text, values)
      if (/^\s*(update|delete)/i.test(text)) world.dropCaches()
      return rows
    },
    everywhere: () => sleep(CALLER_TTL_MS),
    databaseUrl,
    serverSecret,
    service,
    logs: () => lines.join(''),
  }
}

/** On a busy machine a request may have waited too long for those before it: 503, and nothing was done. */
export async function untilTried(ask: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await ask()
    if (reply.status !== 503) return reply
    await sleep(100)
  }
}

/** For what a test begins with. */
async function postSurely(api: Api, path: string, body: unknown, { token: as }: Person): Promise<Any> {
  const reply = await untilTried(() => api.post(path, body, { as }))
  if (reply.status >= 400) throw new Error(`POST ${path} answered ${reply.status} ${reply.text}`)
  return reply.body
}

/** An account with a session, and the events of both, as signing up leaves them. */
async function newPerson({ look, serverSecret, keyPrefix }: World, name: string): Promise<Person> {
  const keyring = { current: new ServerKeys(Buffer.from(serverSecret, 'base64')), previous: null }
  const [id, session] = [newId('user'), newId('sess')]
  const email = `${randomBytes(6).toString('hex')}@example.com`
  const token = mintToken(keyPrefix, 'sess').reveal()
  const { wrapped, kid } = newDataKey(keyring, id)
  const actor = { kind: 'user', id, ip: '127.0.0.1' }
  const events = [
    newEvent(actor, null, 'user.created', id, {}),
    newEvent({ ...actor, sessionId: session }, null, 'session.created', session, {}),
  ]
  await look(
    `with person as (
       insert into users (id, email, name, password_hash, data_key, data_key_kid, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $7)
     ), opened as (
       insert into sessions (id, user_id, hash, user_agent, ip, created_at, last_used_at, expires_at)
       values ($8, $1, $9, 'node', '127.0.0.1', $7, $7, $10)
     )
     insert into events (id, store_id, type, at, actor, subject, data)
     select id, store_id, type, at, actor, subject, data
       from json_to_recordset($11)
            as event(id text, store_id text, type text, at timestamptz, actor json, subject text, data json)`,
    [
      id,
      email,
      name,
      inject('passwordHash'),
      wrapped,
      kid,
      now(),
      session,
      sha256(token),
      fromNow(90 * DAY),
      JSON.stringify(events),
    ],
  )
  return { id, email, password: PASSWORD, token }
}

/** A migrated, empty database. All of them are dropped when the run ends: each drop is a checkpoint of the whole server. */
export async function newDatabase(): Promise<string> {
  const url = await createDatabase()
  onTestFinished(() => disconnect(url))
  return url
}

/** Without a table. */
export async function newEmptyDatabase(): Promise<string> {
  const url = await createDatabase('template0')
  onTestFinished(() => disconnect(url))
  return url
}

/** As fetch sends them. Requests go without it, since it takes more than what is tested does. */
const CLIENT_HEADERS = { accept: '*/*', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node' }

export function apiAt(url: string): Api {
  const ask: Api['ask'] = async (method, path, body, { as, headers = {}, raw } = {}) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await request(url + path, {
      method: method as Dispatcher.HttpMethod,
      headers: {
        ...CLIENT_HEADERS,
        ...(as ? { authorization: `Bearer ${as}` } : {}),
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: sent ?? null,
    })
    const text = await response.body.text()
    const received = new Headers()
    for (const [name, value] of Object.entries(response.headers))
      for (const each of [value ?? []].flat()) received.append(name, each)
    const isJson = received.get('content-type')?.includes('json')
    return { status: response.statusCode, headers: received, text, body: isJson && text ? JSON.parse(text) : null }
  }
  return {
    url,
    ask,
    get: (path, options) => ask('GET', path, undefined, options),
    post: (path, body, options) => ask('POST', path, body, options),
    put: (path, body, options) => ask('PUT', path, body, options),
    patch: (path, body, options) => ask('PATCH', path, body, options),
    delete: (path, options) => ask('DELETE', path, undefined, options),
  }
}

export const NEW_KEY = { name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] }
export const NEW_ADDRESS = EXAMPLE_ADDRESS
