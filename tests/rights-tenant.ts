// A store at a real service, with the people of the model in it, and what each operation of the model is over HTTP.

import { randomBytes } from 'node:crypto'
import { newDataKey } from '../src/auth/data-key.ts'
import { newId } from '../src/core/ids.ts'
import { ServerKeys } from '../src/crypto/keyring.ts'
import { mintToken, sha256 } from '../src/crypto/tokens.ts'
import { type Credential, isSession, newWorld, nth, PEOPLE, PLACES, SESSIONS_EACH } from './rights-model.ts'
import type { KeyChange, Operation } from './rights-rules.ts'

/** Two nodes on one database. */
export type Nodes = {
  urls: [string, string]
  serverSecret: string
  /** The token of a back end, which verifies keys. */
  serviceToken: string
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
}

/** For a connection that takes one statement at a time. */
export function oneAtATime(sql: Nodes['sql']): Nodes['sql'] {
  let last: Promise<unknown> = Promise.resolve()
  return (text, values) => {
    const answer = last.then(() => sql(text, values))
    last = answer.catch(() => {})
    return answer
  }
}

/** What the service gave, in the order of the model. */
export type Tenant = {
  nodes: Nodes
  storeId: string
  people: { id: string; email: string; tokens: string[] }[]
  keys: { id: string; secrets: string[] }[]
  invitations: { id: string; token: string }[]
  webhooks: string[]
  /** The moment at which the world of the model began, as far back as time has passed in it. */
  began: number
}

/** The people and their store are written directly: signing up takes 30 ms of argon2 each. */
export async function newTenant(nodes: Nodes): Promise<Tenant> {
  const keyring = { current: new ServerKeys(Buffer.from(nodes.serverSecret, 'base64')), previous: null }
  const storeId = newId('store')
  const people = PEOPLE.map(({ role, permissions }) => {
    const id = newId('user')
    const { wrapped, kid } = newDataKey(keyring, id)
    const email = `${randomBytes(8).toString('hex')}@example.com`
    const tokens = Array.from({ length: SESSIONS_EACH }, () => mintToken('skp', 'sess').reveal())
    return { id, email, role, permissions, tokens, key: wrapped.toString('hex'), kid }
  })
  const sessions = people.flatMap(({ id, tokens }) =>
    tokens.map((token) => ({ id: newId('sess'), user: id, hash: sha256(token).toString('hex') })),
  )
  const { registration, leakGraceSeconds } = newWorld().store
  await nodes.sql(
    `with person as (
       select * from json_to_recordset($1)
                  as person(id text, email text, role text, permissions text[], key text, kid text)
     ), users_made as (
       insert into users (id, email, password_hash, data_key, data_key_kid, created_at, updated_at)
       select id, email, 'none', decode(key, 'hex'), kid, now(), now() from person
     ), store_made as (
       insert into stores (id, name, registration, leak_grace_seconds, account_id, created_at, updated_at)
       values ($2, 'A model shop', $3, $4, 'nobody', now(), now())
     ), members_made as (
       insert into members (store_id, user_id, role, permissions, created_at, updated_at)
       select $2, id, role, permissions, now(), now() from person where role is not null
     )
     insert into sessions (id, user_id, hash, created_at, last_used_at, expires_at)
     select id, "user", decode(hash, 'hex'), now(), now(), now() + interval '90 days'
       from json_to_recordset($5) as session(id text, "user" text, hash text)`,
    [JSON.stringify(people), storeId, registration, leakGraceSeconds, JSON.stringify(sessions)],
  )
  return { nodes, storeId, people, keys: [], invitations: [], webhooks: [], began: Date.now() }
}

/** Time passes for one store alone: every moment in its rows moves into the past. The nodes hear of it as of any change. */
export async function passTime(tenant: Tenant, seconds: number): Promise<void> {
  tenant.began -= seconds * 1_000
  await tenant.nodes.sql(
    `update api_keys
        set expires_at = expires_at - $2 * interval '1 s', previous_expires_at = previous_expires_at - $2 * interval '1 s',
            expires_before_leak = expires_before_leak - $2 * interval '1 s', revision = revision + 1
      where store_id = $1`,
    [tenant.storeId, seconds],
  )
  await tenant.nodes.sql(`update invitations set expires_at = expires_at - $2 * interval '1 s' where store_id = $1`, [
    tenant.storeId,
    seconds,
  ])
  await tenant.nodes.sql(`update sessions set created_at = created_at - $2 * interval '1 s' where user_id = any($1)`, [
    tenant.people.map(({ id }) => id),
    seconds,
  ])
}

// ---- requests -------------------------------------------------------------------------------------------------------

export type Request = { method: string; path: string; body?: unknown; as: string | null }
/** A test looks into answers freely, and a wrong look fails it. */
export type Reply = { status: number; body: any }

export async function send(url: string, { method, path, body, as }: Request): Promise<Reply> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(as === null ? {} : { authorization: `Bearer ${as}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

const tokenOf = ({ people, keys }: Tenant, by: Credential): string =>
  isSession(by) ? nth(nth(people, by.person).tokens, by.session) : nth(nth(keys, by.key).secrets, by.secret)

/** A public address that is never sent anything: nothing of this type happens in the model. */
const WEBHOOK = { url: 'https://93.184.215.14/hook', types: ['address.created'] }

/** Null for what is no request. */
export function requestFor(tenant: Tenant, operation: Operation): Request | null {
  const root = `/v1/user/store/${tenant.storeId}`
  const as = 'by' in operation ? tokenOf(tenant, operation.by) : null
  const key = 'key' in operation ? `${root}/keys/${nth(tenant.keys, operation.key).id}` : ''
  const webhook = 'webhook' in operation ? `${root}/webhooks/${nth(tenant.webhooks, operation.webhook)}` : ''
  const member = 'person' in operation ? `${root}/members/${nth(tenant.people, operation.person).id}` : ''
  const query = 'cascade' in operation ? `?${new URLSearchParams(operation.cascade)}` : ''
  switch (operation.op) {
    case 'create key': {
      const { type, ...settings } = operation.settings
      return { method: 'POST', path: `${root}/keys`, body: { name: 'K', type, ...inApi(tenant, settings) }, as }
    }
    case 'import key': {
      const { type, ...settings } = operation.settings
      const value = `elsewhere_${randomBytes(16).toString('hex')}`
      const line = { value, name: 'K', type, ...inApi(tenant, settings) }
      return { method: 'POST', path: `${root}/keys/import`, body: { keys: [line] }, as }
    }
    case 'set credits':
      return { method: 'POST', path: `${key}/credits`, body: { set: operation.credits }, as }
    case 'change keys': {
      const { action, ...more } = operation.change
      const ids = operation.keys.map((n) => nth(tenant.keys, n).id)
      return { method: 'POST', path: `${root}/keys/bulk`, body: { ids, action, ...inApi(tenant, more) }, as }
    }
    case 'change key':
      return { method: 'PATCH', path: key, body: inApi(tenant, operation.change), as }
    case 'rotate key':
      return { method: 'POST', path: `${key}/rotate`, body: { gracePeriodSeconds: operation.graceSeconds }, as }
    case 'revoke key':
      return { method: 'DELETE', path: operation.made === 'keep' ? key : `${key}?made=revoke`, as }
    case 'freeze':
    case 'unfreeze':
      return { method: 'POST', path: `${root}/keys/${operation.op}`, as }
    case 'report leak':
      return { method: 'POST', path: '/v1/leaks', body: { key: tokenOf(tenant, operation.secret) }, as }
    case 'invite': {
      const { email } = nth(tenant.people, operation.to)
      return { method: 'POST', path: `${root}/invitations`, body: { email, ...rightsInApi(operation.rights) }, as }
    }
    case 'accept': {
      const { token } = nth(tenant.invitations, operation.invitation)
      return { method: 'POST', path: '/v1/user/invitations/accept', body: { token }, as }
    }
    case 'withdraw':
      return { method: 'DELETE', path: `${root}/invitations/${nth(tenant.invitations, operation.invitation).id}`, as }
    case 'join':
      return { method: 'POST', path: `/v1/store/${tenant.storeId}/join`, as }
    case 'change member': {
      const { role, permissions } = operation.rights
      const body = role === 'OWNER' ? { role } : { role, permissions }
      return { method: 'PATCH', path: member + query, body, as }
    }
    case 'remove member':
      return { method: 'DELETE', path: member + query, as }
    case 'leave':
      return { method: 'POST', path: `/v1/store/${tenant.storeId}/leave${query}`, as }
    case 'erase':
      return { method: 'DELETE', path: `/v1/user${query}`, as }
    case 'sign out':
      return { method: 'POST', path: '/v1/auth/sign-out', as }
    case 'end other sessions':
      return { method: 'DELETE', path: '/v1/user/sessions', as }
    case 'make webhook':
      return { method: 'POST', path: `${root}/webhooks`, body: WEBHOOK, as }
    case 'change webhook':
      return { method: 'PATCH', path: webhook, body: { enabled: operation.enabled }, as }
    case 'rotate webhook':
      return { method: 'POST', path: `${webhook}/rotate`, as }
    case 'change store':
      return { method: 'PATCH', path: root, body: operation.change, as }
    case 'delete store':
      return { method: 'DELETE', path: root, as }
    case 'restore store':
      return { method: 'POST', path: `${root}/restore`, as }
    case 'pass time':
      return null
  }
}

function inApi({ began }: Tenant, { expiresAt, place, rateLimit, exports, credits, ...rest }: KeyChange) {
  const end = expiresAt === null || expiresAt === undefined ? expiresAt : new Date(began + expiresAt * 1_000)
  return {
    ...rest,
    ...(end === undefined ? {} : { expiresAt: end?.toISOString() ?? null }),
    ...(place === undefined ? {} : { ipAllowlist: place && PLACES[place] }),
    ...(rateLimit === undefined ? {} : { rateLimit: rateLimit && { limit: rateLimit, windowSeconds: 60 } }),
    ...(exports === undefined
      ? {}
      : { rateLimits: exports === null ? [] : [{ name: 'exports', limit: exports, windowSeconds: 60 }] }),
    ...(credits === undefined ? {} : { credits: credits && { remaining: credits } }),
  }
}

const rightsInApi = ({ role, permissions }: { role: string; permissions: string[] | null }) =>
  permissions === null ? { role } : { role, permissions }

/** Keeps what the answer gave. */
export function keep(tenant: Tenant, operation: Operation, request: Request, { body }: Reply): void {
  if (operation.op === 'import key')
    tenant.keys.push({
      id: body.results[0].id,
      secrets: [(request.body as { keys: [{ value: string }] }).keys[0].value],
    })
  if (operation.op === 'create key') tenant.keys.push({ id: body.id, secrets: [body.key] })
  if (operation.op === 'rotate key') nth(tenant.keys, operation.key).secrets.push(body.key)
  if (operation.op === 'invite') tenant.invitations.push({ id: body.id, token: body.token })
  if (operation.op === 'make webhook') tenant.webhooks.push(body.id)
}
