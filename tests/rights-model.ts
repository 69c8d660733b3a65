// Who may do what in a store, as a model without a database: people, sessions, keys with their secrets, invitations,
// webhooks. This file says what there is and what counts as alive; rights-operations.ts says for each operation whether
// it is allowed and what it changes; rights-invariants.ts says, apart from both, what must never come about.
//
// A credential is a session of a person or one secret of a key. Secrets are what counts, not keys: whoever takes a secret,
// by making a key or by rotating it, holds it until it ends, and so does whoever it was taken for, link by link.

import { BUILT_IN_PERMISSIONS, permissionsOf, type Role } from '../src/core/permissions.ts'

export type SessionOf = { person: number; session: number }
export type SecretOf = { key: number; secret: number }
export type Credential = SessionOf | SecretOf

export type Person = {
  /** Null without a part in the store. */
  role: Role | null
  /** In place of what the role brings. */
  permissions: string[] | null
  /** Whether they had a part in the store once and have none now. */
  former: boolean
  /** The operation that made them a member, or by which somebody else demoted them last; from the beginning, 0. */
  since: number
  erased: boolean
  sessions: { ended: boolean; openedAt: number }[]
}

/** Ranges of addresses. Every request of the model comes from HERE. */
export const PLACES = { HERE: ['127.0.0.1/32'], NEARBY: ['127.0.0.0/8'], ELSEWHERE: ['203.0.113.0/24'] }
export type Place = keyof typeof PLACES
/** Requests in a minute. */
export type RateLimit = 1_000 | 5_000

export type Bounds = {
  expiresAt: number | null
  place: Place | null
  rateLimit: RateLimit | null
  /** The limit of that many exports in a minute. */
  exports: RateLimit | null
  /** Nothing is verified, so nothing is spent: they change only when a manager sets them. */
  credits: Credits | null
}
export type Credits = 10 | 50

export type Key = Bounds & {
  type: 'PROD' | 'TEST'
  permissions: string[]
  enabled: boolean
  revoked: boolean
  /** The last one is current; the one before it may be in its grace. */
  secrets: Secret[]
  /** The newest secret that was reported as leaked; it and those before it do not authenticate. */
  leakedSecret: number | null
  /** The end that the key had before a leak brought it forward: the next rotation may give it back. */
  endBeforeLeak: { expiresAt: number | null } | null
}
/** `endsAt`: until when a replaced secret works. Of the current one it is null. One that was imported only verifies. */
export type Secret = { takenBy: Credential; takenAt: number; endsAt: number | null; imported: boolean }

export type Invitation = {
  to: number
  role: Role
  permissions: string[] | null
  madeBy: Credential
  expiresAt: number
  state: 'open' | 'accepted' | 'withdrawn'
}

type Webhook = { madeBy: Credential; madeAt: number; enabled: boolean; secrets: number }

export type Store = {
  frozen: boolean
  deleted: boolean
  registration: 'OPEN' | 'CLOSED'
  leakGraceSeconds: number
}

export type World = {
  /** Seconds since the beginning. */
  at: number
  /** Counts the operations that were allowed: for what came first within a second. */
  n: number
  store: Store
  people: Person[]
  keys: Key[]
  invitations: Invitation[]
  webhooks: Webhook[]
}

// ---- the beginning --------------------------------------------------------------------------------------------------

/** The people of every sequence. The clerk may change members and nothing else. */
export const PEOPLE: { name: string; role: Role | null; permissions: string[] | null }[] = [
  { name: 'owner', role: 'OWNER', permissions: null },
  { name: 'manager', role: 'MANAGER', permissions: null },
  { name: 'clerk', role: 'STAFF', permissions: ['READ', 'MANAGE_MEMBERS'] },
  { name: 'customer', role: 'CUSTOMER', permissions: null },
  { name: 'stranger', role: null, permissions: null },
]
export const SESSIONS_EACH = 2
export const INVITATION_SECONDS = 7 * 24 * 3600
export const RECENT_SIGN_IN_SECONDS = 600

export function newWorld(): World {
  const sessions = () => Array.from({ length: SESSIONS_EACH }, () => ({ ended: false, openedAt: 0 }))
  return {
    at: 0,
    n: 0,
    store: { frozen: false, deleted: false, registration: 'OPEN', leakGraceSeconds: 5_000 },
    people: PEOPLE.map(({ role, permissions }) => ({
      role,
      permissions,
      former: false,
      since: 0,
      erased: false,
      sessions: sessions(),
    })),
    keys: [],
    invitations: [],
    webhooks: [],
  }
}

/** What an operation changes is changed in a copy. Records are never changed, but replaced (`change`). */
export const copyWorld = ({ at, n, store, people, keys, invitations, webhooks }: World): World => ({
  at,
  n,
  store,
  people: [...people],
  keys: [...keys],
  invitations: [...invitations],
  webhooks: [...webhooks],
})

export function change<T extends object>(list: T[], n: number, by: Partial<T>): void {
  list[n] = { ...nth(list, n), ...by }
}

// ---- what is alive --------------------------------------------------------------------------------------------------

export const isSession = (credential: Credential): credential is SessionOf => 'person' in credential

/** The `n`-th of a list that is known to have one. */
export function nth<T>(list: readonly T[], n: number): T {
  const found = list[n]
  if (found === undefined) throw new Error(`there is no ${n} of ${list.length}`)
  return found
}

export const isEnded = (world: World, key: Key) => key.revoked || (key.expiresAt !== null && key.expiresAt <= world.at)

/** Whether a back end that verifies the secret is told that it is valid. */
export function verifies(world: World, { key, secret }: SecretOf): boolean {
  const record = nth(world.keys, key)
  const { endsAt } = nth(record.secrets, secret)
  if (world.store.deleted || world.store.frozen || isEnded(world, record) || !record.enabled) return false
  return endsAt === null || endsAt > world.at
}

const isLeaked = (world: World, { key, secret }: SecretOf) => secret <= (nth(world.keys, key).leakedSecret ?? -1)

export const isImported = (world: World, { key, secret }: SecretOf) =>
  nth(nth(world.keys, key).secrets, secret).imported

export const isReplaced = (world: World, credential: Credential) =>
  !isSession(credential) && credential.secret < nth(world.keys, credential.key).secrets.length - 1

/** Whether the service knows who calls. A leaked secret verifies, during the store's leak grace, but is nobody here. */
export function isAlive(world: World, credential: Credential): boolean {
  if (!isSession(credential))
    return verifies(world, credential) && !isLeaked(world, credential) && !isImported(world, credential)
  const person = nth(world.people, credential.person)
  return !person.erased && !nth(person.sessions, credential.session).ended
}

// ---- what is held ---------------------------------------------------------------------------------------------------

const ALL: readonly string[] = BUILT_IN_PERMISSIONS
const broughtBy = new Map<Role, string[]>()

/** What a role brings, or what was set in its place. */
export function rightsOf(role: Role | null, permissions: string[] | null): string[] {
  if (role === null) return []
  if (permissions !== null && role !== 'OWNER') return permissions
  const brought = broughtBy.get(role) ?? permissionsOf(ALL, role, null)
  broughtBy.set(role, brought)
  return brought
}

export const heldByPerson = ({ role, permissions }: Person) => rightsOf(role, permissions)

export const heldBy = (world: World, credential: Credential): string[] =>
  isSession(credential)
    ? heldByPerson(nth(world.people, credential.person))
    : nth(world.keys, credential.key).permissions

export const isOwner = (world: World, credential: Credential) =>
  isSession(credential) && nth(world.people, credential.person).role === 'OWNER'

export const areSame = (one: Pick<Person, 'role' | 'permissions'>, other: Pick<Person, 'role' | 'permissions'>) =>
  one.role === other.role && String(one.permissions) === String(other.permissions)

export const covers = (held: readonly string[], wanted: readonly string[]) =>
  wanted.every((permission) => held.includes(permission))

// ---- how it is bound ------------------------------------------------------------------------------------------------

export const UNBOUND: Bounds = { expiresAt: null, place: null, rateLimit: null, exports: null, credits: null }

export const boundsOf = (world: World, credential: Credential): Bounds =>
  isSession(credential) ? UNBOUND : nth(world.keys, credential.key)

export const isBound = ({ expiresAt, place, rateLimit, exports, credits }: Bounds) =>
  expiresAt !== null || place !== null || rateLimit !== null || exports !== null || credits !== null

/** For each bound, whether `inner` is bound at least as tightly as `outer`. */
export const AS_TIGHT = {
  end: (outer: Bounds, inner: Bounds) =>
    outer.expiresAt === null || (inner.expiresAt !== null && inner.expiresAt <= outer.expiresAt),
  places: ({ place: outer }: Bounds, { place: inner }: Bounds) =>
    outer === null || inner === outer || (outer === 'NEARBY' && inner === 'HERE'),
  'rate limit': (outer: Bounds, inner: Bounds) =>
    outer.rateLimit === null || (inner.rateLimit !== null && inner.rateLimit <= outer.rateLimit),
  'named limit': (outer: Bounds, inner: Bounds) =>
    outer.exports === null || (inner.exports !== null && inner.exports <= outer.exports),
  credits: (outer: Bounds, inner: Bounds) =>
    outer.credits === null || (inner.credits !== null && inner.credits <= outer.credits),
}

/** The bounds that last: an end that a leak brought forward is given back by the next rotation. */
export const lastingBounds = (key: Key): Bounds => ({ ...key, ...key.endBeforeLeak })
