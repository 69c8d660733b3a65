// One line makes a world: `const { api, owner, store } = await shop()`. Each world is a service of its own on a database
// of its own, reached over real HTTP; nothing is shared between two of them.

import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import pino from 'pino'
import { inject, onTestFinished } from 'vitest'
import { CALLER_TTL_MS } from '../src/auth/caller-cache.ts'
import { EXAMPLE_ADDRESS } from '../src/billing/schema.ts'
import { readConfig } from '../src/config.ts'
import { travel } from '../src/core/clock.ts'
import type { Resolve } from '../src/core/dns.ts'
import { newId } from '../src/core/ids.ts'
import { mintToken, sha256 } from '../src/crypto/tokens.ts'
import { type Service, startService } from '../src/service.ts'

/** A test looks into answers freely, and a wrong look fails it. */
type Any = any

export type Reply = { status: number; headers: Headers; body: Any; text: string }
type Ask = { as?: string | null; headers?: Record<string, string>; raw?: string | Uint8Array }

export type Api = {
  url: string
  ask(method: string, path: string, body?: unknown, ask?: Ask): Promise<Reply>
  get(path: string, ask?: Ask): Promise<Reply>
  post(path: string, body?: unknown, ask?: Ask): Promise<Reply>
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
  /** The token of a back end, as the operator issues it on the command line. */
  serviceToken(): Promise<string>
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

export async function shop(settings: Record<string, string> = {}, resolve?: Resolve): Promise<Shop> {
  const databaseUrl = await newDatabase()
  const serverSecret = settings.SERVER_SECRET ?? randomBytes(32).toString('base64')
  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret, PORT: '0', RATE_LIMIT: 'off', ...settings }
  const lines: string[] = []
  const level = settings.LOG_LEVEL ?? 'info'
  const log = pino(
    { level, base: null },
    new Writable({ write: (line, _, done) => done(void lines.push(String(line))) }),
  )
  const start = async (more: Record<string, string> = {}) => {
    const service = await startService(readConfig({ ...env, ...more }), log, () => {}, resolve)
    onTestFinished(() => service.close(0))
    return service
  }
  const service = await start()
  onTestFinished(() => travel(0))
  const api = apiAt(service.url)
  const look = new pg.Client({ connectionString: databaseUrl })
  look.on('error', () => {})
  await look.connect()
  onTestFinished(() => look.end())

  const person = async (name = 'Somebody'): Promise<Person> => {
    const account = {
      email: `${randomBytes(6).toString('hex')}@example.com`,
      password: `a long pass phrase ${randomBytes(6).toString('hex')}`,
    }
    const { status, body } = await api.post('/v1/auth/sign-up', { ...account, name })
    if (status !== 201) throw new Error(`sign-up answered ${status} ${JSON.stringify(body)}`)
    return { id: body.user.id, ...account, token: body.token }
  }
  const owner = await person('Olive Owner')
  const store = (await api.post('/v1/user/store', { name: 'The shop' }, { as: owner.token })).body
  const member: Shop['member'] = async (role, permissions) => {
    const somebody = await person(`A ${role.toLowerCase()}`)
    const invitation = await api.post(
      `/v1/user/store/${store.id}/invitations`,
      { email: somebody.email, role, ...(permissions ? { permissions } : {}) },
      { as: owner.token },
    )
    const accepted = await api.post(
      '/v1/user/invitations/accept',
      { token: invitation.body.token },
      { as: somebody.token },
    )
    if (accepted.status !== 200) throw new Error(`accepting answered ${accepted.status} ${accepted.text}`)
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
    serviceToken: async () => {
      const token = mintToken('skp', 'svc').reveal()
      await look.query(`insert into service_tokens (id, name, hash, created_at) values ($1, 'Gateway', $2, now())`, [
        newId('svc'),
        sha256(token),
      ])
      return token
    },
    node: async (more) => apiAt((await start(more)).url),
    sql: async (text, values) => {
      const { rows } = await look.query(text, values)
      // What was changed behind the service's back is known to every node a moment later.
      if (/^\s*(update|delete)/i.test(text)) await sleep(CALLER_TTL_MS)
      return rows
    },
    everywhere: () => sleep(CALLER_TTL_MS),
    databaseUrl,
    serverSecret,
    service,
    logs: () => lines.join(''),
  }
}

let databases = 0

/** A migrated, empty database, gone when the test is over. */
export async function newDatabase(): Promise<string> {
  const url = inject('databaseUrl')
  databases += 1
  const name = `${inject('template')}_${process.pid}_${databases}_${randomBytes(3).toString('hex')}`
  await admin(url, `create database ${name} template ${inject('template')}`)
  onTestFinished(() => admin(url, `drop database if exists ${name} with (force)`))
  return url.replace('DATABASE', name)
}

async function admin(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace('DATABASE', 'postgres') })
  await client.connect()
  await client.query(statement)
  await client.end()
}

export function apiAt(url: string): Api {
  const ask: Api['ask'] = async (method, path, body, { as, headers = {}, raw } = {}) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(as ? { authorization: `Bearer ${as}` } : {}),
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return { status: response.status, headers: response.headers, text, body: isJson && text ? JSON.parse(text) : null }
  }
  return {
    url,
    ask,
    get: (path, options) => ask('GET', path, undefined, options),
    post: (path, body, options) => ask('POST', path, body, options),
    patch: (path, body, options) => ask('PATCH', path, body, options),
    delete: (path, options) => ask('DELETE', path, undefined, options),
  }
}

export const NEW_KEY = { name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] }
export const NEW_ADDRESS = EXAMPLE_ADDRESS
