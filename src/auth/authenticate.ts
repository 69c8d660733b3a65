// Authenticates a caller and finds their membership in the store of the path: one lookup in the database, batched with
// those of concurrent requests, and cached for a moment (caller-cache.ts).

import type { Caller, UserCaller } from '../core/caller.ts'
import { addMs, ago, DAY, MINUTE, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Moment } from '../core/moment.ts'
import { inCatalogueOrder, permissionsOf } from '../core/permissions.ts'
import { sha256 } from '../crypto/tokens.ts'
import type { Batch, Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import type { MembersRow, ServiceTokensRow, SessionsRow, StoresRow, UsersRow } from '../db/tables.gen.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { boundsOf } from '../keys/columns.ts'
import { type CachedKey, refusalOf } from './cached-key.ts'
import type { CallerCache } from './caller-cache.ts'
import type { Credential } from './credential.ts'
import { evictFederatedUser, findOrCreateFederatedUser, takeOverProfile } from './federated-user.ts'
import { isIpAllowed } from './ip.ts'
import type { Claims, Identity, JwtCheck } from './jwt.ts'
import type { KeyCache } from './key-cache.ts'
import { isUnavailable, withPatience } from './last-known.ts'

/** A session expires after this time without use; its row also has an absolute expiry. */
export const SESSION_IDLE_MS = 30 * DAY
/**
 * The last use of a session is written at most this often: a write for each request would buy nothing. But it also tells
 * which session gives way when an account has too many, and that must not be one in use.
 */
const SESSION_TOUCH_MS = 5 * MINUTE

type CallerLookup = {
  /** SHA-256 of a session or service token. */
  hash: string | null
  /** A user who was identified by a JWT. */
  user_id: string | null
  store_id: string | null
}

export type CallerRow = {
  session_id: SessionsRow['id'] | null
  session_used_at: SessionsRow['last_used_at']
  session_expires_at: SessionsRow['expires_at']
  session_claimed_email: SessionsRow['claimed_email']
  service_id: ServiceTokensRow['id'] | null
  service_name: ServiceTokensRow['name']
  service_store_ids: ServiceTokensRow['store_ids']
  service_created_by: ServiceTokensRow['created_by']
  user_id: UsersRow['id'] | null
  email: UsersRow['email']
  user_name: UsersRow['name']
  user_created_at: UsersRow['created_at']
  user_disabled: boolean
  user_updated_at: UsersRow['updated_at']
  email_verified: boolean
  has_password: boolean
  issuer: UsersRow['issuer']
  subject: UsersRow['subject']
  /** A user who was not erased has both. */
  data_key: NonNullable<UsersRow['data_key']>
  data_key_kid: NonNullable<UsersRow['data_key_kid']>
  member_store_id: StoresRow['id'] | null
  role: MembersRow['role']
  member_permissions: MembersRow['permissions']
  is_handed_over: boolean
  member_version: string
}

const requested = recordset('requested', { n: 'int', hash: 'text', user_id: 'text', store_id: 'text' })

const lookUpCallers: Batch<CallerLookup, CallerRow> = (db, rows) =>
  db.query<CallerRow>(sql`
    select session.id as session_id,
           session.last_used_at as session_used_at,
           session.expires_at as session_expires_at,
           session.claimed_email as session_claimed_email,
           service.id as service_id,
           service.name as service_name,
           service.store_ids as service_store_ids,
           service.created_by as service_created_by,
           person.id as user_id,
           person.email,
           person.name as user_name,
           person.created_at as user_created_at,
           person.disabled_at is not null as user_disabled,
           person.updated_at as user_updated_at,
           person.email_verified_at is not null as email_verified,
           person.password_hash is not null as has_password,
           person.issuer,
           person.subject,
           person.data_key,
           person.data_key_kid,
           store.id as member_store_id,
           member.role,
           member.permissions as member_permissions,
           member.role = 'OWNER' and account_of(store.id) <> store.account_id as is_handed_over,
           member.version as member_version
      from ${requested(rows.map((row, n) => ({ n, ...row })))}
      left join sessions session on session.hash = decode(requested.hash, 'hex')
      left join service_tokens service on service.hash = decode(requested.hash, 'hex') and service.revoked_at is null
      left join users person on person.id = coalesce(requested.user_id, session.user_id) and person.erased_at is null
      -- A lateral join, by the whole primary key: a plain join read all members of the store.
      left join lateral (
             select store_id, role, permissions, xmin::text as version
               from members
              where store_id = requested.store_id
                and user_id = person.id
              limit 1
           ) as member on true
      left join stores store on store.id = member.store_id and store.deleted_at is null
     where require_primary()
     order by requested.n`)
lookUpCallers.highPriority = true

export async function authenticate(
  db: Db,
  instance: Instance,
  jwt: JwtCheck | null,
  caches: { callers: CallerCache<CallerRow>; keys: KeyCache },
  credential: Credential,
  storeId: string | null,
  ip: string,
  mayBeStale = false,
): Promise<Caller> {
  if (credential.kind === 'key') return keyCaller(instance, await caches.keys.find(credential.token), ip)
  const { lookup, identity } = await toLookup(db, instance, jwt, credential, storeId, ip)
  const isService = credential.kind === 'service'
  const { found, knownAt } = await cachedOrLookUp(db, caches.callers, lookup, isService && mayBeStale)
  if (found.user_disabled) return fail('invalid_token')
  switch (credential.kind) {
    case 'service':
      if (!found.service_id) return fail('invalid_token')
      return {
        kind: 'service',
        id: found.service_id,
        name: found.service_name,
        storeIds: found.service_store_ids,
        createdBy: found.service_created_by,
        knownAt,
        ip,
      }
    case 'session':
      if (!found.session_id || !found.user_id || !isSessionAlive(found)) return fail('invalid_token')
      touchSession(db, found)
      return userCaller(instance, found, claimsOf(found), ip)
    case 'jwt':
      if (found.user_id && identity && found.issuer === identity.issuer && found.subject === identity.subject) {
        await takeOverProfile(db, instance, found, identity.profile, ip)
        return userCaller(instance, found, identity.claims, ip)
      }
      // The user was erased or unlinked since this node cached the id: the same subject now gets a new user.
      evictFederatedUser(instance, lookup.user_id)
      return authenticate(db, instance, jwt, caches, credential, storeId, ip)
  }
}

export type CachedService = Pick<CallerRow, 'service_store_ids' | 'service_created_by'> & { service_id: string }

/** The service with this token, if it is cached. An entry about to expire is refreshed beside the request. */
export function cachedService(db: Db, cache: CallerCache<CallerRow>, hash: string): CachedService | null {
  const name = cacheKey(hash, null)
  const found = cache.get(name)
  if (!found?.service_id) return null
  if (cache.needsRefresh(name)) lookUpAndCache(db, cache, { hash, user_id: null, store_id: null }).catch(() => {})
  return found as CachedService
}

function cacheKey(credential: string | null, storeId: string | null): string {
  return `${credential} ${storeId}`
}

/** `knownAt` is set where the database did not answer and `mayBeStale`: the caller as the node knew them last. */
async function cachedOrLookUp(
  db: Db,
  cache: CallerCache<CallerRow>,
  lookup: CallerLookup,
  mayBeStale: boolean,
): Promise<{ found: CallerRow; knownAt: Moment | null }> {
  const name = cacheKey(lookup.hash ?? lookup.user_id, lookup.store_id)
  const cached = cache.get(name)
  if (cached) return { found: cached, knownAt: null }
  const known = mayBeStale ? cache.lastKnown(name) : null
  const found = lookUpAndCache(db, cache, lookup)
  if (!known) return { found: await found, knownAt: null }
  try {
    return { found: await withPatience(found), knownAt: null }
  } catch (error) {
    // It may have been revoked by this node meanwhile.
    const still = isUnavailable(error) ? cache.lastKnown(name) : null
    if (!still) throw error
    return { found: still.found, knownAt: still.trueUpTo }
  }
}

async function lookUpAndCache(db: Db, cache: CallerCache<CallerRow>, lookup: CallerLookup): Promise<CallerRow> {
  const since = cache.generation()
  const found = await db.batched(lookUpCallers, lookup)
  if (found.service_id && found.service_created_by) noteServiceUse(db, cache, found.service_id)
  // Only positive results are cached: a caller who was just given access must not wait for an entry to expire.
  if (found.service_id ?? (lookup.store_id === null ? found.user_id : found.member_store_id))
    cache.set(cacheKey(lookup.hash ?? lookup.user_id, lookup.store_id), found, since)
  else cache.forget(cacheKey(lookup.hash ?? lookup.user_id, lookup.store_id))
  return found
}

const MAX_NOTED = 10_000
const usedServices = new WeakMap<CallerCache<CallerRow>, Set<string>>()

/** A token that is used has arrived: no retry needs to get it again. Not awaited, and once for each token and node. */
function noteServiceUse(db: Db, cache: CallerCache<CallerRow>, serviceId: string): void {
  const used = usedServices.get(cache) ?? new Set<string>()
  usedServices.set(cache, used)
  if (used.has(serviceId)) return
  if (used.size >= MAX_NOTED) used.clear()
  used.add(serviceId)
  destroyReplayableSecrets(db, [serviceId]).catch(() => used.delete(serviceId))
}

/** What the provider said when the session began. An account with a password has an e-mail of its own. */
function claimsOf({ has_password, session_claimed_email }: CallerRow): Claims {
  return { authenticatedAt: null, claimedEmail: has_password ? null : session_claimed_email }
}

async function toLookup(
  db: Db,
  instance: Instance,
  jwt: JwtCheck | null,
  credential: Exclude<Credential, { kind: 'key' }>,
  storeId: string | null,
  ip: string,
): Promise<{ lookup: CallerLookup; identity: Identity | null }> {
  const lookup: CallerLookup = { hash: null, user_id: null, store_id: storeId }
  switch (credential.kind) {
    case 'session':
    case 'service':
      return { lookup: { ...lookup, hash: sha256(credential.token).toString('hex') }, identity: null }
    case 'jwt': {
      if (!jwt) return fail('invalid_token')
      const identity = await jwt(credential.token)
      const userId = await findOrCreateFederatedUser(db, instance, identity, ip)
      return { lookup: { ...lookup, user_id: userId }, identity }
    }
  }
}

function keyCaller(instance: Instance, key: CachedKey | null, ip: string): Caller {
  // A leaked secret in its grace period still verifies, for the store's back ends, but does not authenticate here.
  if (!key || refusalOf(key) || key.leaked) return fail('invalid_token')
  if (key.ip_allowlist && !isIpAllowed(key.ip_allowlist, ip)) return fail('forbidden_ip')
  return {
    kind: 'key',
    id: key.id,
    storeId: key.store_id,
    permissions: inCatalogueOrder(instance.permissions, key.permissions),
    ...boundsOf(key),
    revision: key.revision,
    secretNo: key.secret_no,
    secretReplaced: key.secret_expires_at !== null,
    rehashTo: key.rehash_to,
    ip,
  }
}

function userCaller(instance: Instance, found: CallerRow, claims: Claims, ip: string): UserCaller {
  return {
    kind: 'user',
    id: found.user_id as string,
    sessionId: found.session_id,
    ...claims,
    email: found.email,
    name: found.user_name,
    createdAt: found.user_created_at,
    dataKey: found.data_key,
    dataKeyKid: found.data_key_kid,
    member: found.member_store_id
      ? {
          storeId: found.member_store_id,
          role: found.role,
          permissions: permissionsOf(instance.permissions, found.role, found.member_permissions),
          isHandedOver: found.is_handed_over,
          version: found.member_version,
        }
      : null,
    ip,
  }
}

function isSessionAlive(found: CallerRow): boolean {
  return now() < found.session_expires_at && now() < addMs(found.session_used_at, SESSION_IDLE_MS)
}

/** Not awaited: a lost write costs at most five minutes of the thirty days. */
function touchSession(db: Db, found: CallerRow): void {
  if (now() < addMs(found.session_used_at, SESSION_TOUCH_MS)) return
  found.session_used_at = now()
  db.query(sql`
    update sessions
       set last_used_at = ${now()}
     where id = ${found.session_id}
       and last_used_at < ${ago(SESSION_TOUCH_MS)}`).catch(() => {})
}
