// Which key is this? Whoever verifies keys asks so thousands of times a second, so keys are kept in memory, and how they
// leave it is the whole of this file:
//
// - Every change to a key or its store says so to all nodes (a trigger in the database), and the key is dropped. The node
//   that makes the change drops it itself, before it answers.
// - A word can be lost. So a key is relied on only for TRUSTED_MS after the last moment at which we certainly had heard
//   everything: the moment it was asked for, or the last heartbeat that came back (db/listen.ts).
// - When the connection that brings the words is lost, everything is dropped.
// - An answer that was under way while its key changed is not kept.
// - A key that does not work is asked for anew each time, like one that does not exist: how long the answer takes does
//   not tell the two apart.
//
// What is kept is what the database said. Whether a key or a secret has ended is asked anew at each use. Only keys that
// work are kept: a stranger cannot fill the memory, and a new key works at once.

import { nowMs } from '../core/clock.ts'
import type { KeyType } from '../core/key-types.ts'
import type { Permission } from '../core/permissions.ts'
import { type Keyring, sha256 } from '../crypto/tokens.ts'
import type { Batch } from '../db/batch.ts'
import { type Db, sql } from '../db/db.ts'
import type { Verdict } from '../keys/schema.ts'

/** With the 250 ms between two beats this stays below the 2 s that the contract allows a node that hears nothing. */
const TRUSTED_MS = 1_500
const MAX_KEYS = 50_000
/** Metadata may have 16 KiB, but hardly ever has: together it is held to 64 MB. */
const MAX_METADATA_CHARACTERS = 64_000_000

export const KEYS_CHANNEL = 'storekeeper_keys'

export type CachedKey = {
  id: string
  store_id: string
  name: string
  type: KeyType
  permissions: Permission[]
  /** As JSON. */
  metadata: string
  enabled: boolean
  expires_at: Date | null
  ip_allowlist: string[] | null
  rate_limit: number | null
  rate_limit_window_seconds: number | null
  revoked_at: Date | null
  revision: number
  frozen: boolean
  /** The number of the secret that was presented, and until when that one works: null, as long as the key does. */
  secret_no: number
  secret_expires_at: Date | null
  /** Somebody has reported this very secret. */
  leaked: boolean
  /** Its hash under the current server secret, while the database still has it under the previous one (keys/usage.ts). */
  rehash_to: string | null
  /** In milliseconds, and never for one that is revoked, disabled or frozen: what follows from the above, at hand. */
  valid_until: number
  /** What was last said about it, which stays the same until it is looked up anew. */
  verdict: Verdict | null
}

type LoadedKey = Omit<CachedKey, 'valid_until' | 'verdict'>

/** What may be wrong with a key, whoever asks and from wherever, in the order it is told. A secret that was replaced is nobody's. */
export const REFUSALS = {
  NOT_FOUND: (key: CachedKey, at: number) => key.secret_expires_at !== null && key.secret_expires_at.getTime() <= at,
  REVOKED: (key: CachedKey) => key.revoked_at !== null,
  EXPIRED: (key: CachedKey, at: number) => key.expires_at !== null && key.expires_at.getTime() <= at,
  DISABLED: (key: CachedKey) => !key.enabled,
  FROZEN: (key: CachedKey) => key.frozen,
}
export type Refusal = keyof typeof REFUSALS
const REFUSAL_CHECKS = Object.entries(REFUSALS) as [Refusal, (key: CachedKey, at: number) => boolean][]

/** Null for a key that works. */
export function refusalOf(key: CachedKey, at = nowMs()): Refusal | null {
  if (at < key.valid_until) return null
  for (const [fault, holds] of REFUSAL_CHECKS) if (holds(key, at)) return fault
  return null
}

function validUntil(key: LoadedKey): number {
  if (key.revoked_at !== null || !key.enabled || key.frozen) return Number.NEGATIVE_INFINITY
  return Math.min(...[key.expires_at, key.secret_expires_at].map((end) => end?.getTime() ?? Number.POSITIVE_INFINITY))
}

export type KeyCache = {
  /** Null for a secret that is no key's. */
  find(token: string): Promise<CachedKey | null> | CachedKey | null
  /** By the id of a key or of a store; without one, all. */
  invalidate(id?: string): void
  size(): number
}

type KeyLookup = { hash: string; before: string | null }
type KeyLookupRow = { [Name in Exclude<keyof LoadedKey, 'rehash_to'>]: CachedKey[Name] | null } & {
  hash_kid: string | null
}

/** By its secret, or by the one before, which works on for a while when it was rotated with a grace. */
const lookUpKeys: Batch<KeyLookup, KeyLookupRow> = (db, rows) =>
  db.query<KeyLookupRow>(sql`
    select key.id, store.id as store_id, key.name, key.type, key.permissions, key.metadata::text as metadata,
           key.enabled, key.expires_at, key.ip_allowlist, key.rate_limit, key.rate_limit_window_seconds,
           key.revoked_at, key.revision, store.frozen_at is not null as frozen, key.used_no as secret_no,
           key.used_until as secret_expires_at, coalesce(key.leaked_secret_no >= key.used_no, false) as leaked,
           key.used_kid as hash_kid
      from json_to_recordset(${JSON.stringify(rows.map((row, n) => ({ n, ...row })))})
           as asked(n int, hash text, before text)
      left join lateral (
             select current.*, current.secret_no as used_no, null::timestamptz as used_until,
                    current.hash_kid as used_kid
               from api_keys current
              where current.hash in (decode(asked.hash, 'hex'), decode(asked.before, 'hex'))
              union all
             select rotated.*, rotated.secret_no - 1, rotated.previous_expires_at, rotated.previous_hash_kid
               from api_keys rotated
              where rotated.previous_hash in (decode(asked.hash, 'hex'), decode(asked.before, 'hex'))
              limit 1
           ) as key on true
      left join stores store on store.id = key.store_id and store.deleted_at is null
     order by asked.n`)

/** As it is in the database now, whatever is known. Null for a secret that is no key's. */
export async function lookUpKey(db: Db, keyring: Keyring, token: string): Promise<CachedKey | null> {
  const { current, previous } = keyring
  const hash = current.hmac('key-hash', token).toString('hex')
  const row = await db.batched(lookUpKeys, {
    hash,
    before: previous && previous.hmac('key-hash', token).toString('hex'),
  })
  if (row.id === null || row.store_id === null) return null
  const { hash_kid, ...found } = row
  // Every column but these is there when the key is.
  const key = { ...found, rehash_to: hash_kid === current.kid ? null : hash } as LoadedKey
  return { ...key, valid_until: validUntil(key), verdict: null }
}

type Entry = { key: CachedKey; askedAt: number }

/** What cannot be a key, by its form, is not looked for. What is known has the form: it is not looked at again. */
export function newKeyCache(
  db: Db,
  keyring: Keyring,
  canBeKey: (token: string) => boolean,
  notifiedUpTo: () => number,
): KeyCache {
  const entries = new Map<string, Entry>()
  /** Under which names each key, and each store's keys, are kept. */
  const names = new Map<string, Set<string>>()
  /** Questions that whoever asks the same may share: none from before the last change. */
  const shared = new Map<string, Promise<CachedKey | null>>()
  let inFlight = 0
  /** What changed while a question was under way, and when: all of it goes when none is. */
  const changed = new Map<string, number>()
  let allChanged = 0
  let changes = 0
  let characters = 0

  function loadShared(name: string, token: string): Promise<CachedKey | null> {
    inFlight += 1
    const found = load(name, token).finally(() => {
      inFlight -= 1
      if (inFlight === 0) changed.clear()
      if (shared.get(name) === found) shared.delete(name)
    })
    shared.set(name, found)
    return found
  }

  async function load(name: string, token: string): Promise<CachedKey | null> {
    const since = changes
    const askedAt = performance.now()
    const key = await lookUpKey(db, keyring, token)
    if (!key) return null
    const last = Math.max(allChanged, changed.get(key.id) ?? 0, changed.get(key.store_id) ?? 0)
    if (last <= since && !refusalOf(key)) put(name, { key, askedAt })
    return key
  }

  function put(name: string, entry: Entry): void {
    evict(name)
    entries.set(name, entry)
    characters += entry.key.metadata.length
    for (const id of [entry.key.id, entry.key.store_id]) {
      const under = names.get(id)
      if (under) under.add(name)
      else names.set(id, new Set([name]))
    }
    // The oldest go first: whoever is in use comes back with the next question.
    while (entries.size > MAX_KEYS || characters > MAX_METADATA_CHARACTERS) evict(entries.keys().next().value as string)
  }

  function evict(name: string): void {
    const entry = entries.get(name)
    if (!entry) return
    entries.delete(name)
    characters -= entry.key.metadata.length
    for (const id of [entry.key.id, entry.key.store_id]) {
      const under = names.get(id)
      under?.delete(name)
      if (under?.size === 0) names.delete(id)
    }
  }

  function get(name: string): CachedKey | undefined {
    const entry = entries.get(name)
    const isTrue = entry && performance.now() - Math.max(entry.askedAt, notifiedUpTo()) < TRUSTED_MS
    return isTrue && !refusalOf(entry.key) ? entry.key : undefined
  }

  return {
    find(token) {
      // By a hash, so that no secret stays in memory longer than its request.
      const name = sha256(token, 'base64')
      return get(name) ?? shared.get(name) ?? (canBeKey(token) ? loadShared(name, token) : null)
    },
    invalidate(id) {
      changes += 1
      shared.clear()
      if (id === undefined) {
        allChanged = changes
        entries.clear()
        names.clear()
        characters = 0
        return
      }
      if (inFlight > 0) changed.set(id, changes)
      for (const name of [...(names.get(id) ?? [])]) evict(name)
    },
    size: () => entries.size,
  }
}
