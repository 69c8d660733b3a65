// The caller of a request: a user, an API key, a service, or none.

import type { Moment } from './moment.ts'
import type { Permission, Role } from './permissions.ts'

export type UserCaller = {
  kind: 'user'
  id: string
  /** Null for a user of an identity provider, whose sessions are not ours. */
  sessionId: string | null
  /** Of a user of an identity provider: when they signed in there, if their token says. */
  authenticatedAt: Date | null
  /** Of a user of an identity provider: the e-mail that it claims for them, empty if it says that it is not verified. */
  claimedEmail: string | null
  email: string | null
  name: string | null
  createdAt: Date
  dataKey: Buffer
  dataKeyKid: string
  /** What they are in the store of the path, if that is a store and they have a part in it. */
  member: {
    storeId: string
    role: Role
    permissions: Permission[]
    /** For an owner: whether the store counts for somebody who is an owner no more (auth/account.ts). */
    isHandedOver: boolean
    version: string
  } | null
  ip: string
}

export type KeyCaller = {
  kind: 'key'
  id: string
  storeId: string
  permissions: Permission[]
  expiresAt: Date | null
  /**
   * The revision of the key that was authenticated; compared with the current one before a change is written
   * (auth/recheck.ts).
   */
  revision: number
  /** The number of the secret that was presented, and whether a newer one has replaced it. */
  secretNo: number
  secretReplaced: boolean
  ipAllowlist: string[] | null
  rateLimit: { limit: number; windowSeconds: number } | null
  rateLimits: { name: string; limit: number; windowSeconds: number; shared?: 'owner' | null }[]
  owner: string | null
  hasCredits: boolean
  /** Its hash under the current server secret, when the database has it under the previous one. */
  rehashTo: string | null
  ip: string
}

export type ServiceCaller = {
  kind: 'service'
  id: string
  name: string
  /** The stores whose keys it may ask about. Null: every store. */
  storeIds: string[] | null
  /** The owner who issued it for their store. Null: the operator. */
  createdBy: string | null
  /**
   * The database did not answer, and the token is taken for what it was at this moment. Only on routes that answer from
   * memory while there is no database. Null: it works now.
   */
  knownAt: Moment | null
  ip: string
}

export type Caller = UserCaller | KeyCaller | ServiceCaller

/** Those who can hold permissions in a store. */
export type Manager = UserCaller | KeyCaller

/** What the caller holds in the store of the path. */
export function heldPermissions(caller: Manager): Permission[] {
  return caller.kind === 'key' ? caller.permissions : (caller.member?.permissions ?? [])
}

/** What an event and a record say about who did it. */
export function creatorOf(caller: Caller): { kind: Caller['kind']; id: string } {
  return { kind: caller.kind, id: caller.id }
}
