// A request that is sent again with the same Idempotency-Key gets the stored response, and nothing is done twice.
//
// A response is stored for 24 hours, in the same transaction as the change. The row is found by a keyed hash of the
// caller and the Idempotency-Key; neither of them is stored. The answer is sealed under a key made from the server
// secret, the Idempotency-Key and, where the answer holds a once-only secret, the caller's own credential: with the
// database and the server secret alone it cannot be opened. Other responses to a user are sealed under the user's own
// key as well, and so become unreadable when the user is erased. See docs/decisions/sealed-retries.md.

import type { Credential } from '../auth/credential.ts'
import type { Caller } from '../core/caller.ts'
import { addMs, ago, HOUR, now } from '../core/clock.ts'
import { ERRORS, type ErrorCode, Failure, fail } from '../core/errors.ts'
import type { WireResponse } from '../core/route.ts'
import type { StoredResponse } from '../core/stored-response.ts'
import { type Keyring, keysById } from '../crypto/keyring.ts'
import { randomBytes } from '../crypto/random.ts'
import { seal, unseal } from '../crypto/seal.ts'
import type { Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { fragment, sql } from '../db/sql.ts'
import type { IdempotentResponsesRow } from '../db/tables.gen.ts'
import { isErasedOwner } from '../keys/columns.ts'

export const REPLAY_MS = 24 * HOUR
export const SECRET_REPLAY_MS = HOUR
const MAX_SECRET_REPLAYS = 5

/** One request of one caller under one Idempotency-Key. */
export type IdempotentRequest = {
  keyring: Keyring
  callerId: string
  /** What the caller must present again for a once-only secret; null for a caller that has nothing lasting. */
  credential: string | null
  /** The user's own data key, under which responses to them are sealed: when the user is erased, so are these. */
  userKey: (() => Buffer) | null
  key: string
  method: string
  /** Path and query as they were sent. */
  url: string
  body: Buffer
  revealsSecret: boolean
}

/** Thrown by a change whose Idempotency-Key has a stored response already. */
export class AlreadyAnswered extends Error {}

const VISIBLE = /^[\x21-\x7e]{1,255}$/

/** Bare or quoted; null when the caller sent none. */
export function parseIdempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null
  const bare = /^"(.*)"$/.exec(header)?.[1] ?? header
  return VISIBLE.test(bare) ? bare : fail('invalid_idempotency_key')
}

/** A JWT is short-lived, so its subject stands in for it; then the Idempotency-Key alone must be hard to guess. */
export function lastingCredential(credential: Credential, caller: Caller, key: string): string | null {
  if (credential.kind !== 'jwt') return credential.token
  return isStrong(key) ? caller.id : null
}

function isStrong(key: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(key) || /^[\w-]{22,}$/.test(key)
}

export function isReplayable(code: ErrorCode): boolean {
  const { status } = ERRORS[code]
  return status < 500 && ![401, 403, 429].includes(status) && !code.startsWith('idempotency_')
}

/** What an answer given now is found by. */
function lookupFor(request: IdempotentRequest): string {
  return lookupOf(request.keyring.current, request).toString('hex')
}

/** The same, and what one given under the previous server secret is found by. */
export function hexLookups(request: IdempotentRequest): [string, ...string[]] {
  return lookupsOf(request).map((lookup) => lookup.toString('hex')) as [string, ...string[]]
}

/** The row that keeps an answer. */
export function toStoredResponse(
  request: IdempotentRequest,
  sent: WireResponse,
  lookup = lookupFor(request),
): StoredResponse {
  const keys = request.keyring.current
  const at = now()
  const holdsSecret = request.revealsSecret && sent.status < 300
  const salt = holdsSecret && request.credential === null ? null : randomBytes(32)
  const row = {
    lookup,
    fingerprint: fingerprintOf(keys, request).toString('hex'),
    reveals_secret: holdsSecret,
    status: sent.status,
    resource_id: sent.resourceId,
    kid: keys.kid,
    created_at: at,
  }
  if (!salt) return { ...row, salt: null, sealed: null }
  const key = sealingKey(keys, request, holdsSecret, salt)
  const sealed = seal(key, `${JSON.stringify(sent.headers)}\n${sent.body}`, boundTo(request, row))
  return { ...row, salt: Buffer.from(salt).toString('hex'), sealed: sealed.toString('hex') }
}

/** Enough to do nothing twice: a retry is told that the response is no longer available. */
export function withoutResponse(row: StoredResponse): StoredResponse {
  return { ...row, salt: null, sealed: null }
}

/**
 * What a row takes on disk with its indexes: 920 bytes were measured with a sealed response of 351, and 4,506 with one of
 * 3,000, which PostgreSQL keeps in pieces.
 */
const ROW_BYTES = 600
const SEALED_FACTOR = 1.3

/** What the row takes on disk, rather more than less. */
export function storedBytes({ sealed }: StoredResponse): number {
  const sealedBytes = (sealed?.length ?? 0) / 2
  return ROW_BYTES + SEALED_FACTOR * sealedBytes
}

/**
 * First in the transaction of a change: of concurrent requests one goes on, the others fail with
 * `idempotency_in_progress`.
 */
export async function claim(tx: Db, request: IdempotentRequest): Promise<void> {
  const [refusal] = await claimAll(tx, [hexLookups(request)])
  if (refusal) throw refusal
}

const claimed = recordset('claimed', { n: 'int', lock: 'bigint' })
const asked = recordset('asked', { n: 'int', current: 'text', previous: 'text' })

/**
 * The same for several requests, by their lookups: why each is refused, or null. The second statement sees all that was
 * stored under a lock before the first one got it, so no row of a batch finds its lookup taken after others have spent.
 */
export async function claimAll(tx: Db, lookups: [string, ...string[]][]): Promise<(Error | null)[]> {
  const rows = lookups.map(([current, previous], n) => ({ n, lock: lockFor(current), current, previous }))
  const [locks, stored] = await Promise.all([
    tx.query<{ free: boolean }>(sql`
      select pg_try_advisory_xact_lock(lock) as free
        from ${claimed(rows)}
       order by n`),
    tx.query<{ answered: boolean }>(sql`
      select exists (select
                       from idempotent_responses
                      where lookup in (decode(current, 'hex'), decode(previous, 'hex'))) as answered
        from ${asked(rows)}
       order by n`),
  ])
  return rows.map(({ current }, n) => {
    if (stored[n]?.answered) return new AlreadyAnswered()
    // Of two in one transaction both would get the lock.
    const isFirst = rows.findIndex((row) => row.current === current) === n
    return locks[n]?.free && isFirst ? null : new Failure('idempotency_in_progress', { retryAfterSeconds: 1 })
  })
}

const lockFor = (lookup: string) => Buffer.from(lookup, 'hex').readBigInt64BE().toString()

/**
 * While the server secret is being changed, a response may be stored under the previous one, where no unique index
 * finds it.
 */
export async function checkUnderPreviousSecret(db: Db, request: IdempotentRequest): Promise<void> {
  const { previous } = request.keyring
  if (!previous) return
  const found = await db.query(sql`select from idempotent_responses where lookup = ${lookupOf(previous, request)}`)
  if (found.length > 0) throw new AlreadyAnswered()
}

/** A failure is claimed like a change: one that is under way with the same Idempotency-Key must be able to store its response. */
export function storeFailure(db: Db, request: IdempotentRequest, row: StoredResponse): Promise<void> {
  return db.transaction(async (tx) => {
    await claim(tx, request)
    await storeResponse(tx, row)
  })
}

/** Last in the transaction of a change. */
export function storeResponse(tx: Db, row: StoredResponse): Promise<void> {
  return storeResponses(tx, [row])
}

const responses = recordset('response', {
  lookup: 'text',
  fingerprint: 'text',
  reveals_secret: 'boolean',
  status: 'int',
  resource_id: 'text',
  kid: 'text',
  salt: 'text',
  sealed: 'text',
  created_at: 'timestamptz',
})

export async function storeResponses(tx: Db, rows: StoredResponse[]): Promise<void> {
  const written = await tx.query(sql`
    insert into idempotent_responses
           (lookup, fingerprint, reveals_secret, status, resource_id, kid, salt, sealed, created_at)
    select decode(lookup, 'hex'), decode(fingerprint, 'hex'), reveals_secret, status, resource_id, kid,
           decode(salt, 'hex'), decode(sealed, 'hex'), created_at
      from ${responses(rows)}
        on conflict (lookup) do nothing
 returning lookup`)
  if (written.length < rows.length) throw new AlreadyAnswered()
}

/** Whether the response is about a key of somebody who was erased: it is destroyed soon, and is not shown until then. */
const namesErased = fragment(`
  exists (select
            from api_keys key
            join erased_owners erased on ${isErasedOwner('key')}
           where key.id = idempotent_responses.resource_id)`)

/**
 * The stored response, or null when it is too old and the request may run again. `check` fails when the caller may no longer
 * have it.
 */
export function replay(
  db: Db,
  request: IdempotentRequest,
  check: (tx: Db, sent: WireResponse) => Promise<void>,
): Promise<WireResponse | null> {
  return db.transaction(async (tx) => {
    const row = await tx.one<IdempotentResponsesRow & { names_erased: boolean }>(sql`
      select lookup, fingerprint, reveals_secret, status, resource_id, kid, salt, sealed, replays, created_at,
             ${namesErased} as names_erased
        from idempotent_responses
       where lookup = any(${lookupsOf(request)})
         for update`)
    if (!row) return null
    if (row.created_at < ago(REPLAY_MS)) {
      await tx.query(sql`delete from idempotent_responses where lookup = ${row.lookup}`)
      return null
    }
    const keys = keysById(request.keyring, row.kid)
    if (!keys || !fingerprintOf(keys, request).equals(row.fingerprint)) return fail('idempotency_mismatch')
    const sent = row.names_erased ? null : unsealResponse(keys, request, row)
    const gone = row.reveals_secret ? 'secret_no_longer_available' : 'response_no_longer_available'
    if (!sent) return fail(gone, { members: { resource: { id: row.resource_id } } })
    if (sent.status < 300) await check(tx, sent)
    // Counted only when the secret was shown: a replay that another session of the user could not open does not count.
    if (row.reveals_secret)
      await tx.query(sql`update idempotent_responses set replays = replays + 1 where lookup = ${row.lookup}`)
    return sent
  })
}

function unsealResponse(
  keys: Keyring['current'],
  request: IdempotentRequest,
  row: IdempotentResponsesRow,
): WireResponse | null {
  if (row.reveals_secret && (row.replays >= MAX_SECRET_REPLAYS || row.created_at < ago(SECRET_REPLAY_MS))) return null
  if (!row.salt || !row.sealed || (row.reveals_secret && request.credential === null)) return null
  try {
    const key = sealingKey(keys, request, row.reveals_secret, row.salt)
    const text = unseal(key, row.sealed, boundTo(request, row)).toString()
    const end = text.indexOf('\n')
    const headers = JSON.parse(text.slice(0, end))
    return { status: row.status, headers, body: text.slice(end + 1), resourceId: row.resource_id }
  } catch {
    // Sealed under another credential of the same caller.
    return null
  }
}

/**
 * Makes the secrets of these resources unavailable to retries: called when a key or a service token is used for the first
 * time, when a key is rotated or revoked, when an invitation is accepted or withdrawn, and when a webhook is rotated or deleted.
 */
export async function destroyReplayableSecrets(db: Db, resourceIds: string[]): Promise<void> {
  if (resourceIds.length === 0) return
  await db.query(sql`
    update idempotent_responses
       set salt = null, sealed = null
     where resource_id = any(${resourceIds})
       and reveals_secret
       and salt is not null`)
}

/**
 * Makes every response about these keys unavailable to retries, for whoever is named in them was erased. The rows stay:
 * without them a retry would spend again.
 */
export async function destroyResponsesAboutKeys(db: Db, keyIds: string[]): Promise<void> {
  await destroyReplayableSecrets(db, keyIds)
  await db.query(sql`
    update idempotent_responses
       set salt = null, sealed = null
     where resource_id ^@ 'key_'
       and not reveals_secret
       and resource_id = any(${keyIds})`)
}

/** Found under the current server secret, or under the one before while it is being changed. */
function lookupsOf(request: IdempotentRequest): Buffer[] {
  return bothKeys(request).map((keys) => lookupOf(keys, request))
}

function bothKeys({ keyring }: IdempotentRequest): Keyring['current'][] {
  return keyring.previous ? [keyring.current, keyring.previous] : [keyring.current]
}

function lookupOf(keys: Keyring['current'], request: IdempotentRequest): Buffer {
  return keys.hmac('idempotency-lookup', 'lookup', request.callerId, request.key)
}

function fingerprintOf(keys: Keyring['current'], request: IdempotentRequest): Buffer {
  return keys.hmac(
    'idempotency-lookup',
    'fingerprint',
    request.key,
    request.method,
    request.url,
    request.body.toString('latin1'),
  )
}

function sealingKey(
  keys: Keyring['current'],
  request: IdempotentRequest,
  revealsSecret: boolean,
  salt: Uint8Array,
): Buffer {
  if (revealsSecret) return keys.deriveSealing('idempotency-seal', salt, request.key, request.credential as string)
  const userKey = request.userKey ? [request.userKey().toString('latin1')] : []
  return keys.deriveSealing('idempotency-seal', salt, request.key, request.callerId, ...userKey)
}

/** The sealed response is bound to this caller, request, resource, status and hour. */
function boundTo(
  request: IdempotentRequest,
  row: { status: number; resource_id: string | null; created_at: Date },
): string {
  const until = addMs(row.created_at, SECRET_REPLAY_MS).toISOString()
  return JSON.stringify([request.callerId, request.method, request.url, row.resource_id, row.status, until])
}
