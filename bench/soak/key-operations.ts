// Operations on keys, each of which compares its answer with the model and then changes the model.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Reply } from './client.ts'
import {
  BOUND_MS,
  change,
  FORGET_MS,
  type KeyState,
  type ModelKey,
  type ModelStore,
  note,
  spendWindow,
  startedAs,
  verdicts,
} from './model.ts'

export type Soak = {
  client: Client
  service: string
  stores: ModelStore[]
  next(): number
  /** When a primary was last lost, or infinity while that is so: rate limits begin anew then. */
  resetAt: number
  /** Revoked keys and replaced secrets, which are verified for some time. */
  former: { store: ModelStore; key: ModelKey; secret: string }[]
}

const PERMISSIONS = ['READ', 'WRITE', 'MANAGE_ORDERS', 'MANAGE_CUSTOMERS']
/** Live keys of a store, about which their number swings. */
export const KEYS_PER_STORE = 300
const MAX_FORMER = 300
const MAX_STALE_SECONDS = 30

export const pick = <T>(soak: Soak, values: readonly T[]): T => values[Math.floor(soak.next() * values.length)] as T
export const keysPath = (store: ModelStore) => `/v1/user/store/${store.id}/keys`

/** What is not as expected is kept; false when the model no longer knows. */
export function expectStatus({ client }: Soak, what: string, { status, body }: Reply, ...wanted: number[]): boolean {
  if (wanted.includes(status)) return true
  client.complain(`${what} was answered ${status} ${JSON.stringify(body).slice(0, 300)}`)
  return false
}

export function expectSame({ client }: Soak, what: string, found: unknown, wanted: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (a !== b) client.complain(`${what}: ${a} instead of ${b}`)
}

/** One that nobody else works on. False: none was found. */
async function withKey(
  soak: Soak,
  operate: (store: ModelStore, key: ModelKey) => Promise<void>,
  isWanted: (key: ModelKey) => boolean = () => true,
): Promise<boolean> {
  const store = pick(soak, soak.stores)
  const keys = [...store.keys.values()].filter(isWanted)
  for (let n = 0; n < 10; n++) {
    const key = pick(soak, keys)
    if (!key || key.isBusy) continue
    key.isBusy = true
    key.changes += 1
    await operate(store, key)
    key.changes += 1
    key.isBusy = false
    return true
  }
  return false
}

let made = 0

export async function createKey(soak: Soak, store = pick(soak, soak.stores)): Promise<boolean> {
  const kind = soak.next()
  const credits = kind < 0.15 ? { remaining: 20 } : null
  const rateLimit = kind > 0.85 ? { limit: 5, windowSeconds: 10 } : null
  const permissions = PERMISSIONS.filter(() => soak.next() < 0.6)
  const state: KeyState = {
    enabled: true,
    revoked: false,
    permissions: permissions.length > 0 ? permissions : ['READ'],
  }
  const name = `Key ${made++}`
  const body = { name, type: 'PROD', permissions: state.permissions, credits, rateLimit }
  const reply = await soak.client.send('POST', keysPath(store), {
    token: store.token,
    body,
    once: true,
    kind: 'create',
  })
  if (!expectStatus(soak, 'creating a key', reply, 201)) return true
  const { id = '', key: secret = '' } = reply.body
  const at = performance.now()
  store.keys.set(id, {
    id,
    storeId: store.id,
    name,
    secret,
    retired: null,
    state: startedAs(state),
    credits: credits?.remaining ?? null,
    window: rateLimit && { limit: 5, seconds: 10, low: 0, high: 0, from: at - 1e9, to: at - 1e9, at },
    isBusy: false,
    changes: 0,
  })
  note(store, 'key.created', id)
  return true
}

export function verifyKey(soak: Soak): Promise<boolean> {
  return withKey(soak, (store, key) => verify(soak, store, key, key.secret))
}

/** One that was revoked, or a secret that was replaced. */
export async function verifyFormer(soak: Soak): Promise<boolean> {
  const found = soak.former[Math.floor(soak.next() * soak.former.length)]
  if (!found || found.key.isBusy) return false
  found.key.isBusy = true
  await verify(soak, found.store, found.key, found.secret)
  found.key.isBusy = false
  return true
}

async function verify(soak: Soak, store: ModelStore, key: ModelKey, secret: string): Promise<void> {
  const permission = soak.next() < 0.3 ? pick(soak, PERMISSIONS) : null
  const asked = soak.next() < 0.03 ? pick(soak, soak.stores) : store
  const spends = key.credits !== null
  const maxStaleSeconds = !spends && soak.next() < 0.2 ? MAX_STALE_SECONDS : 0
  const body = {
    key: secret,
    storeId: asked.id,
    ...(permission ? { permissions: [permission] } : {}),
    ...(maxStaleSeconds > 0 ? { maxStaleSeconds } : {}),
  }
  const reply = await soak.client.send('POST', '/v1/keys/verify', {
    token: soak.service,
    body,
    once: spends,
    kind: 'verify',
  })
  if (!expectStatus(soak, 'verifying', reply, 200)) return
  const { code = '', asOf } = reply.body
  // A retry of what was spent is answered as the key was at first.
  const sentAt = spends ? reply.firstSentAt : reply.sentAt
  const at = asOf ? Math.min(sentAt, performance.now() - (Date.now() - Date.parse(asOf))) : sentAt
  const codes = asked === store ? verdicts(store, key, secret, permission, at) : new Set(['NOT_FOUND'])
  const isSpent = spend(soak, key, reply)
  if (!codes.has(isSpent ? 'VALID' : code))
    soak.client.complain(
      `verifying ${key.id} was answered ${code} instead of ${[...codes]}${asOf ? ` as of ${asOf}` : ''}`,
    )
  if (code === 'VALID') expectSame(soak, `the key that was verified`, reply.body.storeId, store.id)
}

/** Credits and rate limits. False: nothing of them was looked at. */
function spend(soak: Soak, key: ModelKey, { body, ...times }: Reply): boolean {
  if (!['VALID', 'USAGE_EXCEEDED', 'RATE_LIMITED'].includes(body.code ?? '')) return false
  const wasAccepted = body.code === 'VALID'
  if (key.credits !== null) {
    const left = key.credits > 0 ? key.credits - 1 : 0
    expectSame(soak, `credits of ${key.id}`, [wasAccepted, body.credits?.remaining], [key.credits > 0, left])
    key.credits = left
  } else if (key.window) {
    const remaining = body.rateLimit?.remaining ?? Number.NaN
    const wrong = spendWindow(key.window, { ...times, remaining, limited: !wasAccepted }, soak.resetAt)
    if (wrong) soak.client.complain(`the rate limit of ${key.id}: ${wrong}`)
  } else if (!wasAccepted) soak.client.complain(`${key.id} has no limits and was ${body.code}`)
  return true
}

export function updateKey(soak: Soak): Promise<boolean> {
  return withKey(soak, async (store, key) => {
    const before = key.state.now
    const enabled = soak.next() < 0.4 || !before.enabled ? !before.enabled : before.enabled
    const isToggled = enabled !== before.enabled
    const next = isToggled ? { enabled } : soak.next() < 0.5 ? { name: `Key ${made++}` } : permissionsOtherThan(before)
    const reply = await soak.client.send('PATCH', `${keysPath(store)}/${key.id}`, { token: store.token, body: next })
    if (!expectStatus(soak, 'changing a key', reply, 200)) return
    if ('name' in next) key.name = next.name
    else change(key.state, { ...before, ...next }, performance.now())
    note(store, isToggled ? `key.${enabled ? 'enabled' : 'disabled'}` : 'key.updated', key.id)
    compareKey(soak, key, reply)
  })
}

function permissionsOtherThan({ permissions }: KeyState): { permissions: string[] } {
  const [first = 'READ', ...others] = permissions
  const missing = PERMISSIONS.find((name) => !permissions.includes(name))
  return { permissions: missing ? [...permissions, missing] : others.length > 0 ? others : [first, 'WRITE'] }
}

export function readKey(soak: Soak): Promise<boolean> {
  return withKey(soak, async (store, key) => {
    const reply = await soak.client.send('GET', `${keysPath(store)}/${key.id}`, { token: store.token })
    if (expectStatus(soak, 'reading a key', reply, 200)) compareKey(soak, key, reply)
  })
}

export const showKey = ({ id, name, state: { now }, credits }: ModelKey) =>
  [
    id,
    name,
    now.revoked ? 'REVOKED' : now.enabled ? 'ACTIVE' : 'DISABLED',
    now.permissions.toSorted(),
    credits,
  ] as const

export const showFound = ({ id, name, status, permissions, credits }: Reply['body']) =>
  [id, name, status, permissions?.toSorted(), credits?.remaining ?? null] as const

function compareKey(soak: Soak, key: ModelKey, { body }: Reply): void {
  expectSame(soak, 'a key', showFound(body), showKey(key))
}

/** Those on the page that nobody worked on meanwhile are as the model has them. */
export async function listKeys(soak: Soak): Promise<boolean> {
  const store = pick(soak, soak.stores)
  const before = new Map([...store.keys.values()].filter(({ isBusy }) => !isBusy).map((key) => [key.id, key.changes]))
  const reply = await soak.client.send('GET', `${keysPath(store)}?limit=50`, { token: store.token })
  if (!expectStatus(soak, 'listing keys', reply, 200)) return true
  for (const found of reply.body.data ?? []) {
    const key = store.keys.get(found.id ?? '')
    if (key && key.changes === before.get(key.id)) expectSame(soak, 'a listed key', showFound(found), showKey(key))
  }
  return true
}

export function rotateKey(soak: Soak): Promise<boolean> {
  return withKey(soak, async (store, key) => {
    const path = `${keysPath(store)}/${key.id}/rotate`
    let reply = await soak.client.send('POST', path, { token: store.token, body: {}, once: true })
    // A rotation whose node died stands in the way of others for some seconds.
    for (; reply.body.code === 'rotation_conflict'; await sleep(1_000))
      reply = await soak.client.send('POST', path, { token: store.token, body: {}, once: true })
    if (!expectStatus(soak, 'rotating a key', reply, 200)) return
    remember(soak, store, key)
    key.retired = { secret: key.secret, until: performance.now() + BOUND_MS }
    key.secret = reply.body.key ?? ''
    note(store, 'key.rotated', key.id)
  })
}

export function revokeKey(soak: Soak): Promise<boolean> {
  return withKey(soak, async (store, key) => {
    const reply = await soak.client.send('DELETE', `${keysPath(store)}/${key.id}`, { token: store.token })
    if (!expectStatus(soak, 'revoking a key', reply, 200)) return
    change(key.state, { ...key.state.now, revoked: true }, performance.now())
    store.keys.delete(key.id)
    store.revoked.add(key.id)
    note(store, 'key.revoked', key.id)
    remember(soak, store, key)
  })
}

function remember(soak: Soak, store: ModelStore, key: ModelKey): void {
  if (soak.former.length >= MAX_FORMER) soak.former.splice(0, MAX_FORMER / 3)
  soak.former.push({ store, key, secret: key.secret })
}

export function addCredits(soak: Soak): Promise<boolean> {
  const add = async (store: ModelStore, key: ModelKey) => {
    const path = `${keysPath(store)}/${key.id}/credits`
    const reply = await soak.client.send('POST', path, { token: store.token, body: { add: 10 }, once: true })
    if (!expectStatus(soak, 'adding credits', reply, 200)) return
    key.credits = (key.credits ?? 0) + 10
    note(store, 'key.credits_changed', key.id)
    compareKey(soak, key, reply)
  }
  return withKey(soak, add, ({ credits }) => credits !== null)
}

/** All keys of a store stop for a moment. While the answer is awaited both may be true. */
export async function freezeKeys(soak: Soak): Promise<boolean> {
  const store = pick(soak, soak.stores)
  if (store.isFreezing) return false
  store.isFreezing = true
  for (const frozen of [true, false]) {
    const former = { state: !frozen, until: Number.POSITIVE_INFINITY }
    store.frozen = { now: frozen, former: [...store.frozen.former, former] }
    const path = `${keysPath(store)}/${frozen ? 'freeze' : 'unfreeze'}`
    const reply = await soak.client.send('POST', path, { token: store.token, once: true })
    former.until = performance.now() + BOUND_MS
    if (expectStatus(soak, 'freezing', reply, 200)) note(store, `store.${frozen ? 'frozen' : 'unfrozen'}`, store.id)
    await sleep(frozen ? 1_000 + 2_000 * soak.next() : 0)
  }
  store.frozen.former = store.frozen.former.filter(({ until }) => until > performance.now() - FORGET_MS)
  store.isFreezing = false
  return true
}
