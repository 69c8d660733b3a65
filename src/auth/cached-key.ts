// A key as it is cached: its row, why it may be refused, how it is looked up, and how much memory it takes.

import { nowMs } from '../core/clock.ts'
import { hashKey } from '../crypto/key-hash.ts'
import type { Keyring, ServerKeys } from '../crypto/keyring.ts'
import type { Batch, Db } from '../db/db.ts'
import { columnList, recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import { type KeyRow, SETTING_COLUMNS, type SettingColumn, shownOwner } from '../keys/columns.ts'
import type { KeptVerdict } from '../keys/schema.ts'

/** What a key takes beside its texts: its row and verdict, and its places in the maps. Measured with 50,000 keys. */
const BYTES_WITHOUT_TEXTS = 1_300
/** The numbers of a named rate limit and of its window, and the objects that hold them, as that many characters. */
const BYTES_OF_A_LIMIT = ' '.repeat(300)
/** A string's header and the reference to it. */
const BYTES_PER_STRING = 24

type CachedColumn = SettingColumn | 'id' | 'store_id' | 'enabled' | 'revoked_at' | 'revision'

export type CachedKey = Omit<Pick<KeyRow, CachedColumn>, 'metadata'> & {
  /** As JSON. */
  metadata: string
  frozen: boolean
  /** The number of the secret that was presented, and until when it works: null, as long as the key does. */
  secret_no: number
  secret_expires_at: Date | null
  /** Whether the secret that was presented was reported as leaked. */
  leaked: boolean
  /** The hash under the current server secret, while the database still has the one under the previous (keys/write-usage.ts). */
  rehash_to: string | null
  /** In milliseconds: follows from the columns above. A key that is revoked, disabled or frozen is valid at no time. */
  valid_until: number
  /** The last verdict on this key, which stays the same until the key is looked up anew. */
  verdict: KeptVerdict | null
}

type LoadedKey = Omit<CachedKey, 'valid_until' | 'verdict'>

/** The reasons to refuse a key whatever is asked of it, in the order of the checks. A replaced secret is no key's any more. */
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
  for (const [refusal, applies] of REFUSAL_CHECKS) if (applies(key, at)) return refusal
  return null
}

function validUntil(key: LoadedKey): number {
  if (key.revoked_at !== null || !key.enabled || key.frozen) return Number.NEGATIVE_INFINITY
  return Math.min(...[key.expires_at, key.secret_expires_at].map((end) => end?.getTime() ?? Number.POSITIVE_INFINITY))
}

/** The token's hash under the current server secret, and under the previous one. */
type KeyLookup = { hash: string; previous_hash: string | null }
type KeyLookupRow = { [Name in Exclude<keyof LoadedKey, 'rehash_to'>]: CachedKey[Name] | null } & {
  hash_kid: string | null
  store_deleted: boolean
}

const requested = recordset('requested', { n: 'int', hash: 'text', previous_hash: 'text' })
const plainColumns = Object.keys(SETTING_COLUMNS).filter((column) => column !== 'metadata' && column !== 'owner')
const cachedList = columnList([...plainColumns, 'enabled', 'revoked_at', 'revision'], 'key')
const owner = columnList([shownOwner('key')])

/** By the key's secret, or by the one before, which works on for a while when the key was rotated with a grace. */
const lookUpKeys: Batch<KeyLookup, KeyLookupRow> = (db, rows) =>
  db.query<KeyLookupRow>(sql`
    select key.id, key.store_id, ${cachedList}, ${owner}, key.metadata::text as metadata,
           store.frozen_at is not null as frozen, key.used_no as secret_no, key.used_until as secret_expires_at,
           coalesce(key.leaked_secret_no >= key.used_no, false) as leaked, key.used_kid as hash_kid,
           store.deleted_at is not null as store_deleted
      from ${requested(rows.map((row, n) => ({ n, ...row })))}
      left join lateral (
             select current.*, current.secret_no as used_no, null::timestamptz as used_until,
                    current.hash_kid as used_kid
               from api_keys current
              where current.hash in (decode(requested.hash, 'hex'), decode(requested.previous_hash, 'hex'))
              union all
             select rotated.*, rotated.secret_no - 1, rotated.previous_expires_at, rotated.previous_hash_kid
               from api_keys rotated
              where rotated.previous_hash in (decode(requested.hash, 'hex'), decode(requested.previous_hash, 'hex'))
              limit 1
           ) as key on true
      left join stores store on store.id = key.store_id
     where require_primary()
     order by requested.n`)
lookUpKeys.highPriority = true

/** Past the cache: as the key is in the database now. Null for a token that is no key's secret. */
export function lookUpKey(db: Db, keyring: Keyring, token: string): Promise<CachedKey | null> {
  return lookUpHash(db, keyring, (keys) => hashKey(keys, token))
}

/** Also a key of a deleted store, which comes back with its store. */
export async function lookUpLeakedKey(db: Db, keyring: Keyring, token: string): Promise<CachedKey | null> {
  return (await lookUpRow(db, keyring, (keys) => hashKey(keys, token)))?.key ?? null
}

export async function lookUpHash(db: Db, keyring: Keyring, hashUnder: HashUnder): Promise<CachedKey | null> {
  const found = await lookUpRow(db, keyring, hashUnder)
  return found === null || found.storeDeleted ? null : found.key
}

type HashUnder = (keys: ServerKeys) => Buffer

async function lookUpRow(
  db: Db,
  { current, previous }: Keyring,
  hashUnder: HashUnder,
): Promise<{ key: CachedKey; storeDeleted: boolean } | null> {
  const hash = hashUnder(current).toString('hex')
  const row = await db.batched(lookUpKeys, { hash, previous_hash: previous && hashUnder(previous).toString('hex') })
  if (row.id === null) return null
  const { hash_kid, store_deleted: storeDeleted, ...found } = row
  // When there is a key, only the nullable columns of its row are null.
  const key = { ...found, rehash_to: hash_kid === current.kid ? null : hash } as LoadedKey
  return { key: { ...key, valid_until: validUntil(key), verdict: null }, storeDeleted }
}

/** The verdict repeats the name and the permissions. The metadata is there once, as text (http/fast-verify.ts). */
export function keptBytes({ name, permissions, metadata, ip_allowlist, owner, rate_limits }: CachedKey): number {
  const limits = rate_limits.map((limit) => limit.name + BYTES_OF_A_LIMIT)
  const texts = [name, name, ...permissions, ...permissions, metadata, ...(ip_allowlist ?? []), owner ?? '', ...limits]
  return texts.reduce((sum, text) => sum + BYTES_PER_STRING + textBytes(text), BYTES_WITHOUT_TEXTS)
}

/** V8 keeps a text with any character beyond Latin-1 at two bytes for each. */
function textBytes(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length
}
