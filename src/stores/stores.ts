// Stores: created by a user, who becomes the owner; changed with MANAGE_STORE, deleted by an owner alone.

import { hasRoomForStore } from '../auth/account.ts'
import { checkRecentSignIn } from '../auth/recent-sign-in.ts'
import type { Manager, UserCaller } from '../core/caller.ts'
import { ago, DAY, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { newId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { waitForLock } from '../db/wait-for-lock.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { type NewStore, type StoreChanges, type StoreRow, showStore } from './schema.ts'

export type StoreView = ReturnType<typeof showStore>

/** What a deleted store holds is kept for this long, and it can be restored; then it is purged (purge.ts). */
export const RETENTION_MS = 30 * DAY

export async function createStore(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  wanted: NewStore,
): Promise<Answer<StoreView>> {
  await checkRoom(tx, instance, caller)
  const at = now()
  const row: StoreRow = {
    id: newId('store'),
    name: wanted.name,
    registration: wanted.registration ?? 'CLOSED',
    leak_grace_seconds: wanted.leakGraceSeconds ?? 0,
    frozen_at: null,
    revision: 1,
    created_at: at,
    updated_at: at,
    deleted_at: null,
  }
  await tx.query(sql`
    with store as (
      insert into stores (id, name, registration, leak_grace_seconds, account_id, created_at, updated_at)
      values (${row.id}, ${row.name}, ${row.registration}, ${row.leak_grace_seconds}, ${caller.id}, ${at}, ${at})
      returning id
    )
    insert into members (store_id, user_id, role, created_at, updated_at)
    select id, ${caller.id}, 'OWNER', ${at}::timestamptz, ${at}::timestamptz
      from store`)
  await writeEvents(tx, [newEvent(caller, row.id, 'store.created', row.id, settingsOf(row))])
  return { body: showStore(row), etag: etagOf(1), resource: { id: row.id, location: `/v1/user/store/${row.id}` } }
}

async function checkRoom(
  tx: Db,
  { maxStoresPerUser: max }: Instance,
  caller: UserCaller,
  restored: string | null = null,
): Promise<void> {
  if (await hasRoomForStore(tx, max, caller.id, restored)) return
  fail('limit_exceeded', {
    detail: `You own ${max} stores, which is the limit. Hand one over, or delete one that is no longer used; a deleted store counts for another day. One that you handed over counts until its new owner creates something there.`,
  })
}

export async function listStores(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  query: PageParams & { deleted?: 'true' | 'false' },
): Promise<Page<StoreView>> {
  const which =
    query.deleted === 'true'
      ? sql`store.deleted_at > ${ago(RETENTION_MS)} and member.role = 'OWNER'`
      : sql`store.deleted_at is null`
  return listPage({
    keyring: instance.keyring,
    list: ['stores', caller.id, query.deleted],
    query,
    read: ({ after, take }) =>
      db.query<StoreRow>(sql`
        select store.id, store.name, store.registration, store.leak_grace_seconds, store.frozen_at, store.revision, store.created_at,
               store.updated_at, store.deleted_at
          from members member
          join stores store on store.id = member.store_id
         where member.user_id = ${caller.id}
           and ${which}
           and member.store_id < ${after}
         order by member.store_id desc
         limit ${take}`),
    positionOf: (row) => row.id,
    show: showStore,
  })
}

export async function readStore(db: Db, storeId: string): Promise<Answer<StoreView>> {
  const row = await db.one<StoreRow>(sql`
    select id, name, registration, leak_grace_seconds, frozen_at, revision, created_at, updated_at, deleted_at
      from stores
     where id = ${storeId}
       and deleted_at is null`)
  return row ? { body: showStore(row), etag: etagOf(row.revision) } : fail('store_not_found')
}

export async function updateStore(
  tx: Db,
  caller: Manager,
  storeId: string,
  changes: StoreChanges,
  ifMatch: string | null,
): Promise<Answer<StoreView>> {
  const before = await lockStore(tx, storeId)
  checkIfMatch(ifMatch, before.revision)
  const { leakGraceSeconds = before.leak_grace_seconds, ...rest } = changes
  if (caller.kind === 'key' && leakGraceSeconds > before.leak_grace_seconds) refuseLongerGrace()
  const after = { ...before, ...rest, leak_grace_seconds: leakGraceSeconds }
  const [from, to] = [settingsOf(before), settingsOf(after)]
  if (JSON.stringify(from) === JSON.stringify(to)) return { body: showStore(before), etag: etagOf(before.revision) }
  after.revision += 1
  after.updated_at = now()
  await tx.query(sql`
    update stores
       set name = ${after.name}, registration = ${after.registration}, leak_grace_seconds = ${leakGraceSeconds},
           revision = ${after.revision}, updated_at = ${after.updated_at}
     where id = ${storeId}`)
  await writeEvents(tx, [newEvent(caller, storeId, 'store.updated', storeId, { from, to })])
  return { body: showStore(after), etag: etagOf(after.revision) }
}

/** Whoever has stolen a key would have the more of it when that is found out. */
function refuseLongerGrace(): never {
  const detail = 'A key can only shorten leakGraceSeconds: somebody who had stolen it could lengthen it. Use a session.'
  fail('cannot_grant', { detail, members: { permissions: [] } })
}

/** The settings that managers can change. */
function settingsOf({ name, registration, leak_grace_seconds }: StoreRow) {
  return { name, registration, leakGraceSeconds: leak_grace_seconds }
}

export async function deleteStore(tx: Db, caller: UserCaller, storeId: string, ifMatch: string | null): Promise<void> {
  await checkRecentSignIn(tx, caller)
  checkIfMatch(ifMatch, (await lockStore(tx, storeId)).revision)
  await tx.query(sql`
    update stores
       set deleted_at = ${now()}, updated_at = ${now()}
     where id = ${storeId}`)
  await writeEvents(tx, [newEvent(caller, storeId, 'store.deleted', storeId, {})])
}

/** As it was: its members, keys, webhooks and addresses are all still there. It counts for whoever restores it. */
export async function restoreStore(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  storeId: string,
): Promise<Answer<StoreView>> {
  await checkRecentSignIn(tx, caller)
  await checkRoom(tx, instance, caller, storeId)
  const store = await tx.one<StoreRow>(sql`
    select id, name, registration, leak_grace_seconds, frozen_at, revision, created_at, updated_at, deleted_at
      from stores
     where id = ${storeId}
       and deleted_at > ${ago(RETENTION_MS)}
       and exists (select from members where store_id = ${storeId} and user_id = ${caller.id} and role = 'OWNER')
       for no key update`)
  if (!store) return fail('store_not_found')
  const after = { ...store, revision: store.revision + 1, updated_at: now(), deleted_at: null }
  await tx.query(sql`
    update stores
       set deleted_at = null, account_id = ${caller.id}, revision = ${after.revision}, updated_at = ${after.updated_at}
     where id = ${storeId}`)
  await writeEvents(tx, [newEvent(caller, storeId, 'store.restored', storeId, {})])
  return { body: showStore(after), etag: etagOf(after.revision) }
}

/** The store's lock: taken by every change to a store, its members and their rights. */
export async function lockStore(tx: Db, storeId: string): Promise<StoreRow> {
  const row = await waitForLock(tx, () =>
    tx.one<StoreRow>(sql`
      select id, name, registration, leak_grace_seconds, frozen_at, revision, created_at, updated_at, deleted_at
        from stores
       where id = ${storeId}
         and deleted_at is null
         for no key update`),
  )
  return row ?? fail('store_not_found')
}
