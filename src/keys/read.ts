// Keys listed and read, and the rows of keys locked for a change.

import { heldPermissions, type KeyCaller, type Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { etagOf } from '../core/etag.ts'
import { KEY_TYPE_NAMES, type KeyType } from '../core/key-types.ts'
import { listPage, type Page, type PageParams, placeLookedTo } from '../core/pagination.ts'
import type { Permission } from '../core/permissions.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { columnList } from '../db/recordset.ts'
import { fragment, type Sql, sql } from '../db/sql.ts'
import type { ApiKeysRow, StoresRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { bareKeyColumns, type KeyRow, keyColumns, type ReadKeyRow, readKeyColumns, showReadKey } from './columns.ts'
import { type KeyFilter, ownedBy, passes, worksAfter } from './filter.ts'
import { parseOwnerOf } from './input.ts'
import type { Key } from './schema.ts'

/**
 * For a page of those that pass a filter no more keys than this are looked at. It may hold fewer than there is room for then,
 * or none, and the next page goes on from there.
 */
const LOOKED_AT = 10_000

export async function listKeys(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams & KeyFilter & { owner?: string },
): Promise<Answer<Page<Key>>> {
  const at = now()
  const owner = query.owner === undefined ? undefined : parseOwnerOf(query.owner, '?owner')
  const ofOwner = owner === undefined ? fragment('true') : ownedBy(owner)
  const { status, type, q, createdBy } = query
  const isFiltered = [status, type, q, createdBy].some((each) => each !== undefined)
  const onlyLive = (status === 'ACTIVE' || status === 'DISABLED') && (await hasFewLive(db, storeId))
  const metadata: string[] = []
  const body = await listPage<ReadKeyRow, Key>({
    keyring: instance.keyring,
    list: ['keys', storeId, status, type, q, createdBy, owner],
    query,
    read: ({ after, take }) =>
      isFiltered
        ? db.query<ReadKeyRow>(sql`
            select ${readKeyColumns}
              from (${onlyLive ? workingAfter(storeId, at) : newest(storeId, after, ofOwner)}) as api_keys
             where id < ${after}
               and ${ofOwner}
               and ${passes(query, at)}
             order by id desc
             limit ${take}`)
        : db.query<ReadKeyRow>(sql`
            select ${readKeyColumns}
              from api_keys
             where store_id = ${storeId}
               and id < ${after}
               and ${ofOwner}
             order by id desc
             limit ${take}`),
    positionOf: (row) => row.id,
    show: (row) => {
      metadata.push(row.metadata)
      return showReadKey(row, at)
    },
    ...(isFiltered && !onlyLive ? { lookedTo: ({ after }, rows) => lookedTo(db, storeId, after, ofOwner, rows) } : {}),
  })
  return { body, metadata }
}

/** Then all of them can be looked at, and none of the others, of which there may be any number. */
export async function hasFewLive(db: Db, storeId: string): Promise<boolean> {
  const store = await db.one<Pick<StoresRow, 'live_keys'>>(sql`select live_keys from stores where id = ${storeId}`)
  return store !== null && store.live_keys <= LOOKED_AT
}

/** All of them are read, by their index: what comes after "offset 0" has no part in how they are found. */
export function workingAfter(storeId: string, time: Date | '-infinity'): Sql {
  return sql`select * from api_keys where ${worksAfter(storeId, time)} offset 0`
}

function newest(storeId: string, after: string, ofOwner: Sql): Sql {
  return sql`
    select *
      from api_keys
     where store_id = ${storeId}
       and id < ${after}
       and ${ofOwner}
     order by id desc
     limit ${LOOKED_AT}`
}

async function lookedTo(
  db: Db,
  storeId: string,
  after: string,
  ofOwner: Sql,
  shown: ReadKeyRow[],
): Promise<string | null> {
  const last = await db.one<{ id: string }>(sql`
    select id
      from (${newest(storeId, after, ofOwner)}) as key
    offset ${LOOKED_AT - 1}`)
  return placeLookedTo(last?.id, shown.at(-1)?.id)
}

export async function readKey(db: Db, storeId: string, keyId: string): Promise<Answer<Key>> {
  const row = await db.one<ReadKeyRow>(sql`
    select ${readKeyColumns}
      from api_keys
     where id = ${keyId}
       and store_id = ${storeId}`)
  if (!row) return fail('key_not_found')
  return { body: showReadKey(row, now()), metadata: [row.metadata], etag: etagOf(row.revision) }
}

/** As JSON. Null when there is no such key. */
export async function readMetadata(db: Db, keyId: string): Promise<string | null> {
  const row = await db.one<{ metadata: string }>(
    sql`select metadata::text as metadata from api_keys where id = ${keyId}`,
  )
  return row && row.metadata
}

/** `start` is that of the secret that was presented. */
export async function readOwnKey(
  db: Db,
  caller: KeyCaller,
): Promise<Answer<Key & { presented: 'current' | 'previous' }>> {
  const row = await db.one<ReadKeyRow & Pick<ApiKeysRow, 'previous_start' | 'secret_no'>>(sql`
    select ${readKeyColumns}, previous_start, secret_no
      from api_keys
     where id = ${caller.id}`)
  if (!row) return fail('key_not_found')
  const isCurrent = caller.secretNo === row.secret_no
  const start = isCurrent ? row.start : (row.previous_start ?? row.start)
  return {
    body: { ...showReadKey({ ...row, start }, now()), presented: isCurrent ? 'current' : 'previous' },
    metadata: [row.metadata],
    etag: etagOf(row.revision),
  }
}

export function readGrantable(caller: Manager): { permissions: Permission[]; types: KeyType[] } {
  return { permissions: heldPermissions(caller), types: KEY_TYPE_NAMES }
}

export type KeyRef = { storeId: string; keyId: string }

/** What an answer is about: a response that is stored for retries is found by it. */
export function resourceOf({ storeId, keyId }: KeyRef): { id: string; location: string } {
  return { id: keyId, location: `/v1/user/store/${storeId}/keys/${keyId}` }
}

export type LockedKey = KeyRow & {
  secret_no: number
  secret_used_at: Date | null
  /** The newest of the key's secrets that was reported as leaked. */
  leaked_secret_no: number | null
  /** Whether that report brought the key's expiry forward, and the expiry that the key had before. */
  leak_shortened: boolean
  expires_before_leak: Date | null
}

const LOCKED_COLUMNS = ['secret_no', 'secret_used_at', 'leaked_secret_no', 'leak_shortened', 'expires_before_leak']
const lockedColumns = columnList([keyColumns.text, ...LOCKED_COLUMNS])
const bareLockedColumns = columnList([bareKeyColumns.text, ...LOCKED_COLUMNS])

/** The same columns, where nothing is changed. */
export function readUnlocked(db: Db, ref: KeyRef): Promise<LockedKey | null> {
  return db.one<LockedKey>(sql`
    select ${lockedColumns}
      from api_keys
     where id = ${ref.keyId}
       and store_id = ${ref.storeId}`)
}

export async function lockKey(tx: Db, ref: KeyRef): Promise<LockedKey> {
  const row = await tx.one<LockedKey>(sql`
    select ${lockedColumns}
      from api_keys
     where id = ${ref.keyId}
       and store_id = ${ref.storeId}
       for no key update`)
  return row ?? fail('key_not_found')
}

/**
 * Those of the keys that are in the store and for which `condition` holds, in the order in which everyone locks keys. Their
 * metadata is left out: no change of many keys concerns it.
 */
export function lockKeys(tx: Db, storeId: string, ids: readonly string[], condition: Sql): Promise<LockedKey[]> {
  return tx.query<LockedKey>(sql`
    select ${bareLockedColumns}
      from api_keys
     where id = any(${ids})
       and store_id = ${storeId}
       and ${condition}
     order by id
       for no key update`)
}
