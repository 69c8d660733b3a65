// Which key is this? Back ends that verify keys ask so thousands of times a second, so keys are cached, and how they leave
// the cache is the whole of this file:
//
// - Every change to a key or its store notifies all nodes (a trigger in the database), and the key is evicted. The node
//   that makes the change evicts it itself, before it answers.
// - A notification can be lost. So a key is relied on only for TRUSTED_MS after the last moment at which this node had
//   certainly received all of them: the moment the key was looked up, or the last heartbeat that came back (db/listen.ts).
// - When the connection that brings the notifications is lost, everything is evicted. It is kept apart for askers who accept
//   old answers while there is no database (last-known.ts).
// - A key that changed while it was being looked up is not cached.
// - A key that does not work is looked up anew each time, like one that does not exist: how long the answer takes does
//   not tell the two apart.
//
// A key that was imported has any form, so a token that cannot be one of ours might be one: it is looked up only while there
// are imported keys, and only in the one store that is asked about, since other stores may have imported the same value.
//
// The cache holds the database's row. Whether a key or a secret has expired is checked at each use. Only keys that work
// are cached: a stranger cannot fill the memory, and a new key works at once.

import { ageOf, laterOf, type Moment, NEVER, thisMoment } from '../core/moment.ts'
import { hashImportedKey } from '../crypto/key-hash.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { type KeyForm, sha256 } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { type CachedKey, keptBytes, lookUpHash, lookUpKey, refusalOf } from './cached-key.ts'
import { type Known, type LastKnown, newLastKnown } from './last-known.ts'

/** With the 250 ms between two heartbeats this stays below the 2 s that the contract allows a node that hears nothing. */
export const TRUSTED_MS = 1_500
/** All cached keys together. Ordinary keys take some 1.5 KB each, the largest that a tenant can make 25 KB. */
const MAX_BYTES = 75_000_000
/** Changes of more keys than this during one lookup count as a change of all keys. */
const MAX_CHANGED = 10_000

/** How long it is relied on that there are imported keys, or none. The contract allows 2 s. */
const IMPORTED_TRUSTED_MS = 1_000

export type KeyCache = {
  /**
   * Null for a token that is no key's secret. With `stores`, those whose keys are asked about, if it is a single one, also
   * a key that was imported into it: such a key is only ever verified.
   */
  find(token: string, stores?: readonly string[] | null): Promise<CachedKey | null> | CachedKey | null
  /** What `find` has in memory, and up to which moment it is certainly true. */
  peek(token: string, stores: readonly string[] | null): { key: CachedKey; trueUpTo: Moment } | null
  /** The key as this node knew it last, however long ago: only for askers who accept that (last-known.ts). */
  lastKnown(token: string, stores: readonly string[] | null): Known<CachedKey> | null
  /** Notifications were lost: evicts all keys. */
  onGap(): void
  /** Evicts a key by its id, or the keys of a store by the store's; without an id, all keys. */
  invalidate(id?: string): void
  size(): number
  /** How often a key was found in memory, and how often it was looked up, by one request or by several together. */
  hits(): number
  misses(): number
}

type Entry = { key: CachedKey; lookedUpAt: Moment; bytes: number }

/** Tokens stand here by their hash, so that no secret stays in memory longer than its request. */
type CacheState = {
  db: Db
  keyring: Keyring
  notifiedUpTo: () => Moment
  maxBytes: number
  entries: Map<string, Entry>
  /** The token hashes under which each key, and each store's keys, are cached. */
  hashesById: Map<string, Set<string>>
  bytes: number
  /** Lookups that requests with the same token share. A change to any key ends the sharing of those under way. */
  shared: Map<string, Promise<CachedKey | null>>
  inFlight: number
  /** Changes are numbered. These happened while a lookup was in flight; none is kept once no lookup is. */
  changes: number
  changedAt: Map<string, number>
  allChangedAt: number
  /** Whether there are imported keys, since when that is known, and the question under way. */
  imported: { exist: boolean; knownAt: Moment; asked: Promise<boolean> | null }
  lastKnown: LastKnown<CachedKey>
  hits: number
  misses: number
}

/** `formOf` tells by the form of a token whether it is worth a lookup. The tokens of cached keys were checked before. */
export function newKeyCache(
  db: Db,
  keyring: Keyring,
  formOf: (token: string) => KeyForm | null,
  notifiedUpTo: () => Moment,
  maxBytes = MAX_BYTES,
): KeyCache {
  const state: CacheState = {
    db,
    keyring,
    notifiedUpTo,
    maxBytes,
    entries: new Map(),
    hashesById: new Map(),
    bytes: 0,
    shared: new Map(),
    inFlight: 0,
    changes: 0,
    changedAt: new Map(),
    allChangedAt: 0,
    imported: { exist: false, knownAt: NEVER, asked: null },
    lastKnown: newLastKnown(),
    hits: 0,
    misses: 0,
  }
  /** The last token and its hash: one that spends something is looked for twice. */
  let last = { token: '', hash: '' }
  const hashOf = (token: string) => {
    if (last.token !== token) last = { token, hash: sha256(token, 'base64') }
    return last.hash
  }
  return {
    find(token, stores) {
      const hash = hashOf(token)
      const known = findKnown(state, hash)
      if (known !== undefined) return known
      const form = formOf(token)
      if (form === 'issued') return loadShared(state, hash, () => lookUpKey(db, keyring, token))
      const [storeId, ...more] = stores ?? []
      return form === 'imported' && storeId !== undefined && more.length === 0
        ? findImported(state, hash, storeId)
        : null
    },
    peek: (token, stores) => peek(state, sha256(token, 'base64'), stores),
    lastKnown(token, stores) {
      const hash = sha256(token, 'base64')
      const known = peek(state, hash, stores)
      if (known) return { found: known.key, trueUpTo: known.trueUpTo }
      return state.lastKnown.get(hash) ?? state.lastKnown.get(`${stores?.[0]} ${hash}`)
    },
    onGap() {
      for (const [hash, { key, lookedUpAt }] of state.entries)
        state.lastKnown.keep(hash, { found: key, trueUpTo: laterOf(lookedUpAt, state.notifiedUpTo()) })
      evictAll(state)
    },
    invalidate: (id) => invalidate(state, id),
    size: () => state.entries.size,
    hits: () => state.hits,
    misses: () => state.misses,
  }
}

/** From memory, or from a lookup under way. */
function findKnown(state: CacheState, hash: string): CachedKey | Promise<CachedKey | null> | undefined {
  const cached = get(state, hash)
  if (cached) {
    state.hits += 1
    return cached
  }
  const shared = state.shared.get(hash)
  if (shared !== undefined) state.misses += 1
  return shared
}

function get(state: CacheState, hash: string): CachedKey | undefined {
  const entry = state.entries.get(hash)
  const isTrusted = entry && ageOf(laterOf(entry.lookedUpAt, state.notifiedUpTo())) < TRUSTED_MS
  return isTrusted && !refusalOf(entry.key) ? entry.key : undefined
}

function peek(state: CacheState, hash: string, stores: readonly string[] | null) {
  const [storeId] = stores ?? []
  const entry = state.entries.get(hash) ?? state.entries.get(`${storeId} ${hash}`)
  return entry ? { key: entry.key, trueUpTo: laterOf(entry.lookedUpAt, state.notifiedUpTo()) } : null
}

function loadShared(
  state: CacheState,
  hash: string,
  lookUp: () => Promise<CachedKey | null>,
): Promise<CachedKey | null> {
  state.inFlight += 1
  state.misses += 1
  const found = load(state, hash, lookUp).finally(() => {
    state.inFlight -= 1
    if (state.inFlight === 0) state.changedAt.clear()
    if (state.shared.get(hash) === found) state.shared.delete(hash)
  })
  state.shared.set(hash, found)
  return found
}

async function load(
  state: CacheState,
  hash: string,
  lookUp: () => Promise<CachedKey | null>,
): Promise<CachedKey | null> {
  const since = state.changes
  const lookedUpAt = thisMoment()
  const key = await lookUp()
  state.lastKnown.forget(hash)
  if (!key || refusalOf(key)) evict(state, hash)
  if (!key) return null
  const { changedAt, allChangedAt } = state
  const lastChange = Math.max(allChangedAt, changedAt.get(key.id) ?? 0, changedAt.get(key.store_id) ?? 0)
  if (lastChange <= since && !refusalOf(key)) put(state, hash, { key, lookedUpAt, bytes: keptBytes(key) })
  return key
}

/** By the SHA-256 of its value, all that an import has to tell of it. The same value may be cached for several stores. */
function findImported(state: CacheState, sha256: string, storeId: string) {
  const hash = `${storeId} ${sha256}`
  const known = findKnown(state, hash)
  if (known !== undefined) return known
  const load = () =>
    loadShared(state, hash, () =>
      lookUpHash(state.db, state.keyring, (keys) => hashImportedKey(keys, storeId, Buffer.from(sha256, 'base64'))),
    )
  const { exist, knownAt } = state.imported
  if (ageOf(knownAt) < IMPORTED_TRUSTED_MS) return exist ? load() : null
  return importedExist(state).then((exist) => (exist ? load() : null))
}

/** Asked at most once in IMPORTED_TRUSTED_MS and after a change at this node, and then by one request for all. */
function importedExist(state: CacheState): Promise<boolean> {
  const { imported } = state
  if (imported.asked !== null) return imported.asked
  const [since, knownAt] = [state.changes, thisMoment()]
  const asked = state.db
    .one<{ exist: boolean }>(sql`
      select exists (select from api_keys where imported_hash = hash or imported_hash = previous_hash) as exist
       where require_primary()`)
    .then((row) => {
      if (state.changes === since) Object.assign(imported, { exist: row?.exist === true, knownAt })
      return row?.exist === true
    })
    .finally(() => {
      if (imported.asked === asked) imported.asked = null
    })
  imported.asked = asked
  return asked
}

function put(state: CacheState, hash: string, entry: Entry): void {
  evict(state, hash)
  const { entries, hashesById } = state
  entries.set(hash, entry)
  state.bytes += entry.bytes
  for (const id of [entry.key.id, entry.key.store_id]) {
    const hashes = hashesById.get(id)
    if (hashes) hashes.add(hash)
    else hashesById.set(id, new Set([hash]))
  }
  // The oldest go first: a key that is in use comes back with the next request.
  while (state.bytes > state.maxBytes) evict(state, entries.keys().next().value as string)
}

function evict(state: CacheState, hash: string): void {
  const entry = state.entries.get(hash)
  if (!entry) return
  state.entries.delete(hash)
  state.bytes -= entry.bytes
  for (const id of [entry.key.id, entry.key.store_id]) {
    const hashes = state.hashesById.get(id)
    hashes?.delete(hash)
    if (hashes?.size === 0) state.hashesById.delete(id)
  }
}

function evictAll(state: CacheState): void {
  countChange(state)
  state.allChangedAt = state.changes
  state.entries.clear()
  state.hashesById.clear()
  state.bytes = 0
}

function countChange(state: CacheState): void {
  state.changes += 1
  state.shared.clear()
  Object.assign(state.imported, { knownAt: NEVER, asked: null })
}

function invalidate(state: CacheState, id?: string): void {
  state.lastKnown.changed(id)
  if (id === undefined) return evictAll(state)
  countChange(state)
  if (state.changedAt.size >= MAX_CHANGED) {
    state.allChangedAt = state.changes
    state.changedAt.clear()
  }
  if (state.inFlight > 0) state.changedAt.set(id, state.changes)
  for (const hash of [...(state.hashesById.get(id) ?? [])]) evict(state, hash)
}
