// API keys: made, listed, read. The full key exists in one answer only; the database keeps an HMAC of it, under a key
// that the database does not hold.

import { checkExpiryCeiling, checkIpCeiling } from '../auth/key-ceiling.ts'
import { CallerChanged } from '../auth/recheck.ts'
import { creatorOf, heldPermissions, type Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { etagOf } from '../core/etag.ts'
import { checkGrant } from '../core/grant.ts'
import { newId } from '../core/ids.ts'
import { KEY_TYPE_NAMES, KEY_TYPES, type KeyType } from '../core/key-types.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Permission } from '../core/permissions.ts'
import type { Answer, Idempotency, StoredResponse } from '../core/route.ts'
import { mintToken } from '../crypto/tokens.ts'
import type { Batch } from '../db/batch.ts'
import { type Db, sql } from '../db/db.ts'
import { type EventRow, newEvent } from '../events/write.ts'
import { AlreadyAnswered } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import type { KeySpec } from './input.ts'
import { type Key, type KeyRow, type KeyStatus, showKey } from './schema.ts'
import { lastNoticeDue } from './usage-report.ts'

/** How many random characters are shown to tell keys apart: 4 of 32 leave 166 bits. */
const START_CHARACTERS = 4

// ---- create ---------------------------------------------------------------------------------------------------------

export async function createKey(
  db: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  wanted: KeySpec,
  idempotency: Idempotency | null,
): Promise<Answer<Key & { key: string }>> {
  checkGrant(caller, wanted.permissions)
  checkExpiryCeiling(caller, wanted.expiresAt)
  checkIpCeiling(caller, wanted.ipAllowlist)
  const secret = mintSecret(instance, wanted.type)
  const row = newKeyRow(caller, storeId, wanted, secret)
  const answer = {
    body: { ...showKey(row, row.created_at), key: secret.value },
    etag: etagOf(row.revision),
    resource: { id: row.id, location: `/v1/user/store/${storeId}/keys/${row.id}` },
  }
  const { name, type, permissions, expiresAt, ipAllowlist, rateLimit } = answer.body
  const told = { name, type, permissions, expiresAt, ipAllowlist, rateLimit }
  const event = newEvent(caller, storeId, 'key.created', row.id, told)
  const written = toInsertRow(instance, caller, row, event, idempotency?.toStoredResponse(answer))
  let outcome = await db.batched(insertKeys, written)
  // A retry in the same batch takes up room that it does not need, so that more than one try may be due.
  while (outcome === 'full' && (await recountKeys(db, instance, storeId)))
    outcome = await db.batched(insertKeys, written)
  return answerFor(outcome, answer)
}

function answerFor<Body>(outcome: InsertOutcome, answer: Answer<Body>): Answer<Body> {
  switch (outcome) {
    case 'made':
      return answer
    case 'answered':
      throw new AlreadyAnswered()
    case 'gone':
      return fail('store_not_found')
    case 'changed':
      throw new CallerChanged()
    case 'full':
      return fail('limit_exceeded', {
        detail: 'The store holds as many live keys as it may. Revoke keys that are no longer used.',
      })
  }
}

export type KeySecret = { value: string; start: string; hash: string; kid: string }

export function mintSecret(instance: Instance, type: KeyType): KeySecret {
  const value = mintToken(instance.keyPrefix, KEY_TYPES[type].tokenKind).reveal()
  const { current } = instance.keyring
  return {
    value,
    start: value.slice(0, value.lastIndexOf('_') + 1 + START_CHARACTERS),
    hash: current.hmac('key-hash', value).toString('hex'),
    kid: current.kid,
  }
}

type NewKeyRow = KeyRow & { hash: string; hash_kid: string }

function newKeyRow(caller: Manager, storeId: string, wanted: KeySpec, secret: KeySecret): NewKeyRow {
  const by = creatorOf(caller)
  const at = now()
  return {
    id: newId('key'),
    store_id: storeId,
    name: wanted.name,
    type: wanted.type,
    permissions: wanted.permissions,
    metadata: wanted.metadata,
    start: secret.start,
    hash: secret.hash,
    hash_kid: secret.kid,
    enabled: true,
    expires_at: wanted.expiresAt,
    ip_allowlist: wanted.ipAllowlist,
    rate_limit: wanted.rateLimit?.limit ?? null,
    rate_limit_window_seconds: wanted.rateLimit?.windowSeconds ?? null,
    created_by_kind: by.kind,
    created_by_id: by.id,
    last_used_at: null,
    revoked_at: null,
    revocation_reason: null,
    previous_expires_at: null,
    previous_used_at: null,
    revision: 1,
    created_at: at,
    updated_at: at,
  }
}

/** One request's part of the statement below. What is absent is left out, and null on the other side. */
function toInsertRow(
  instance: Instance,
  caller: Manager,
  key: NewKeyRow,
  event: EventRow,
  remembered: StoredResponse | undefined,
) {
  const makerVersion = caller.kind === 'key' ? String(caller.revision) : caller.member?.version
  return {
    most: instance.maxKeysPerStore,
    id: key.id,
    store_id: key.store_id,
    name: key.name,
    type: key.type,
    permissions: key.permissions,
    metadata: key.metadata,
    start: key.start,
    hash: key.hash,
    hash_kid: key.hash_kid,
    expires_at: key.expires_at ?? undefined,
    expiring_told: lastNoticeDue(key.expires_at) ?? undefined,
    ip_allowlist: key.ip_allowlist ?? undefined,
    rate_limit: key.rate_limit ?? undefined,
    rate_limit_window_seconds: key.rate_limit_window_seconds ?? undefined,
    created_by_kind: key.created_by_kind,
    created_by_id: key.created_by_id,
    maker_version: makerVersion,
    created_at: key.created_at,
    event_id: event.id,
    event_actor: event.actor,
    event_data: event.data,
    lookup: remembered?.lookup,
    fingerprint: remembered?.fingerprint,
    status: remembered?.status,
    kid: remembered?.kid,
    salt: remembered?.salt,
    sealed: remembered?.sealed,
    answered_at: remembered?.created_at,
  }
}
type InsertRow = ReturnType<typeof toInsertRow>
/** `gone`: the store was deleted meanwhile. `changed`: so were the maker's rights. `answered`: the Idempotency-Key was used before. `full`: the limit. */
type InsertOutcome = 'made' | 'answered' | 'gone' | 'changed' | 'full'

/**
 * The keys of many requests in one statement: the store's row is locked (in the order of ids, so that two batches never
 * wait for each other) and its count decides who still fits; the Idempotency-Key is claimed; key and event are written.
 */
const insertKeys: Batch<InsertRow, InsertOutcome> = async (db, rows) => {
  const outcomes = await db.query<{ outcome: InsertOutcome }>(sql`
    with asked as (
      select row_number() over () as n, *
        from json_to_recordset(${JSON.stringify(rows)})
             as asked(most int, id text, store_id text, name text, type text, permissions text[], metadata json,
                      start text, hash text, hash_kid text, expires_at timestamptz, expiring_told int,
                      ip_allowlist text[], rate_limit int,
                      rate_limit_window_seconds int, created_by_kind text, created_by_id text,
                      maker_version text, created_at timestamptz, event_id text, event_actor json, event_data json,
                      lookup text, fingerprint text, status int, kid text, salt text, sealed text,
                      answered_at timestamptz)
    ), store as (
      select id, live_keys, frozen_at
        from stores
       where id in (select store_id from asked)
         and deleted_at is null
       order by id
         for no key update
    ), maker as (
      -- Under the store's lock: is the maker still who we met? (The locking clause reads what is there now.)
      select member.store_id, member.user_id as id, member.xmin::text as version
        from members member
       where (member.store_id, member.user_id) in (
               select asked.store_id, asked.created_by_id
                 from asked
                 join store on store.id = asked.store_id
                where asked.created_by_kind = 'user'
             )
       order by member.store_id, member.user_id
         for share
    ), key_maker as (
      select key.store_id, key.id, key.revision::text as version
        from api_keys key
       where key.id in (
               select asked.created_by_id
                 from asked
                 join store on store.id = asked.store_id
                where asked.created_by_kind = 'key'
                  and store.frozen_at is null
             )
       order by key.id
         for share
    ), placed as (
      select asked.*, store.id is not null as there, maker.id is not null as unchanged,
             store.live_keys + row_number() over (partition by asked.store_id order by asked.n) <= asked.most as fits
        from asked
        left join store on store.id = asked.store_id
        left join (select * from maker union all select * from key_maker) as maker
               on maker.store_id = asked.store_id
              and maker.id = asked.created_by_id
              and maker.version = asked.maker_version
    ), claimed as (
      insert into remembered_answers
             (lookup, fingerprint, once_only, status, resource_id, kid, salt, sealed, created_at)
      select decode(lookup, 'hex'), decode(fingerprint, 'hex'), true, status, id, kid,
             decode(salt, 'hex'), decode(sealed, 'hex'), answered_at
        from placed
       where lookup is not null
         and fits
         and unchanged
       order by lookup
          on conflict (lookup) do nothing
      returning resource_id
    ), made as (
      select *
        from placed
       where fits
         and unchanged
         and (lookup is null or id in (select resource_id from claimed))
    ), key as (
      insert into api_keys
             (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, expires_at, expiring_told, ip_allowlist,
              rate_limit, rate_limit_window_seconds, created_by_kind, created_by_id, created_at, updated_at)
      select id, store_id, name, type, permissions, metadata, start, decode(hash, 'hex'), hash_kid, expires_at, expiring_told,
             ip_allowlist, rate_limit, rate_limit_window_seconds, created_by_kind, created_by_id, created_at, created_at
        from made
      returning store_id
    ), event as (
      insert into events (id, store_id, type, at, actor, subject, data)
      select event_id, store_id, 'key.created', created_at, event_actor, id, event_data
        from made
    ), counted as (
      update stores
         set live_keys = stores.live_keys + count.made
        from (select store_id, count(*) as made from key group by store_id) as count
       where stores.id = count.store_id
    )
    select case when not there then 'gone'
                when not unchanged then 'changed'
                when not fits then 'full'
                when id in (select id from made) then 'made'
                else 'answered'
           end as outcome
      from placed
     order by n`)
  return outcomes.map(({ outcome }) => outcome)
}

/** The store's count still holds the expired: taken anew, it may show that there is room. True when it does. */
async function recountKeys(db: Db, instance: Instance, storeId: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.query(sql`select id from stores where id = ${storeId} for no key update`)
    const [store] = await tx.query<{ live_keys: number }>(sql`
      update stores
         set live_keys = (
               select count(*)
                 from api_keys
                where store_id = ${storeId}
                  and revoked_at is null
                  and (expires_at is null or expires_at > ${now()})
             )
       where id = ${storeId}
   returning live_keys`)
    return store !== undefined && store.live_keys < instance.maxKeysPerStore
  })
}

// ---- list and read --------------------------------------------------------------------------------------------------

export const keyColumns = sql`
  id, store_id, name, type, permissions, metadata, start, enabled, expires_at, ip_allowlist, rate_limit,
  rate_limit_window_seconds, created_by_kind, created_by_id, last_used_at, revoked_at, revocation_reason,
  previous_expires_at, previous_used_at, revision, created_at, updated_at`

export async function listKeys(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams & { status?: KeyStatus; type?: KeyType },
): Promise<Page<Key>> {
  const at = now()
  return listPage({
    keyring: instance.keyring,
    list: ['keys', storeId, query.status, query.type],
    query,
    read: ({ after, take }) =>
      db.query<KeyRow>(sql`
        select ${keyColumns}
          from api_keys
         where store_id = ${storeId}
           and id < ${after}
           and (${query.type ?? null}::text is null or type = ${query.type ?? null})
           and (${query.status ?? null}::text is null or ${query.status ?? null} =
                case when revoked_at is not null then 'REVOKED'
                     when expires_at <= ${at} then 'EXPIRED'
                     when not enabled then 'DISABLED'
                     else 'ACTIVE'
                end)
         order by id desc
         limit ${take}`),
    positionOf: (row) => row.id,
    show: (row) => showKey(row, at),
  })
}

export async function readKey(db: Db, storeId: string, keyId: string): Promise<Answer<Key>> {
  const row = await db.one<KeyRow>(sql`
    select ${keyColumns}
      from api_keys
     where id = ${keyId}
       and store_id = ${storeId}`)
  return row ? { body: showKey(row, now()), etag: etagOf(row.revision) } : fail('key_not_found')
}

export function readGrantable(caller: Manager): { permissions: Permission[]; types: KeyType[] } {
  return { permissions: heldPermissions(caller), types: KEY_TYPE_NAMES }
}
