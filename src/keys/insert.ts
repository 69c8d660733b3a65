// The statement that creates keys, those of many requests at once, with their events and stored responses.

import type { Manager } from '../core/caller.ts'
import type { StoredResponse } from '../core/stored-response.ts'
import type { Batch, Db } from '../db/db.ts'
import { columnList, type RecordOf, recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import type { EventRow } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { reserveOf } from '../limits/count-today.ts'
import { type KeyRow, SETTING_COLUMNS } from './columns.ts'
import { CREDIT_COLUMNS, CREDIT_VALUES } from './credits.ts'
import { lastNoticeDue } from './expiry-notices.ts'

export type KeySecret = { start: string; hash: string; kid: string }

/** The columns of a new key, with their types in SQL. The others have defaults. */
const INSERTED_COLUMNS = {
  id: 'text',
  store_id: 'text',
  ...SETTING_COLUMNS,
  start: 'text',
  enabled: 'boolean',
  imported: 'boolean',
  hash: 'bytea',
  hash_kid: 'text',
  imported_hash: 'bytea',
  expiry_notice_days: 'int',
  created_by_kind: 'text',
  created_by_id: 'text',
  created_by_secret_no: 'int',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const

/** One request's part of the statement: the key, its event, and the response that is stored for a retry. */
const REQUEST_COLUMNS = {
  ...INSERTED_COLUMNS,
  max_keys: 'int',
  max_new_keys: 'int',
  creator_version: 'text',
  creator_secret_no: 'int',
  session_id: 'text',
  rechecked: 'boolean',
  event_id: 'text',
  event_actor: 'json',
  event_data: 'json',
  lookup: 'text',
  fingerprint: 'text',
  status: 'int',
  kid: 'text',
  salt: 'text',
  sealed: 'text',
  answered_at: 'timestamptz',
  credits: 'json',
} as const

type InsertRow = RecordOf<typeof REQUEST_COLUMNS>
const insertedNames = Object.keys(INSERTED_COLUMNS) as (keyof typeof INSERTED_COLUMNS)[]
const insertedList = columnList(insertedNames)
const requested = recordset('requested', REQUEST_COLUMNS)

/** The columns of the row that newKeyRow makes, of those that are inserted. */
const rowNames = insertedNames.filter(
  (name): name is Extract<keyof KeyRow, keyof typeof INSERTED_COLUMNS> =>
    !['hash', 'hash_kid', 'imported_hash', 'expiry_notice_days', 'created_by_secret_no'].includes(name),
)

/** Built member by member, and null is left out: spreading the row took a fifth of the time of creating a key. */
export function toInsertRow(
  instance: Instance,
  caller: Manager,
  key: KeyRow,
  secret: KeySecret,
  event: EventRow,
  response: StoredResponse | undefined,
): InsertRow {
  const row: Partial<Record<keyof InsertRow, unknown>> = {
    hash: `\\x${secret.hash}`,
    hash_kid: secret.kid,
    max_keys: instance.maxKeysPerStore,
    max_new_keys: instance.maxNewKeysPerDay + reserveOf(instance.maxKeysPerStore, caller),
    creator_version: caller.kind === 'key' ? String(caller.revision) : caller.member?.version,
    creator_secret_no: caller.kind === 'key' ? caller.secretNo : null,
    session_id: caller.kind === 'key' ? null : caller.sessionId,
    event_id: event.id,
    event_actor: event.actor,
    event_data: event.data,
  }
  if (caller.kind === 'key') row.created_by_secret_no = caller.secretNo
  if (key.imported) row.imported_hash = row.hash
  if (key.credits) row.credits = key.credits
  for (const name of rowNames) if (key[name] !== null) row[name] = key[name]
  if (key.expires_at !== null) row.expiry_notice_days = lastNoticeDue(key.expires_at)
  if (response) {
    row.lookup = response.lookup
    row.fingerprint = response.fingerprint
    row.status = response.status
    row.kid = response.kid
    row.salt = response.salt
    row.sealed = response.sealed
    row.answered_at = response.created_at
  }
  // Members that are absent are null in the statement.
  return row as InsertRow
}

/**
 * `store gone`: the store was deleted meanwhile. `creator changed`: so were the creator's rights, or their session.
 * `answered`: the Idempotency-Key was used before. `full`: the store has as many keys as it may. `day full`: it has made as
 * many today as it may.
 */
export type KeyOutcome = 'created' | 'answered' | 'store gone' | 'creator changed' | 'full' | 'day full'

/**
 * The keys of many requests in one round trip: the stores are locked (in the order of ids, so that two batches never wait for
 * each other), and their counts decide which keys still fit; the Idempotency-Key is claimed; key and event are written.
 */
export const insertKeys: Batch<InsertRow, KeyOutcome> = async (db, rows) => {
  const { outcomes } = await db.transaction(async (tx) => {
    // Before the statement that changes them. If that had to wait for a lock itself, it would come upon the version of the row
    // that it began with, and wait there for whoever is next in line, who waits for us.
    tx.withCommit(sql`
      select id
        from stores
       where id = any(${[...new Set(rows.map(({ store_id }) => store_id))]})
         and deleted_at is null
       order by id
         for no key update`)
    const outcomes = writeKeys(tx, rows)
    // It is awaited once the commit is sent, too.
    outcomes.catch(() => {})
    return { outcomes }
  })
  return outcomes
}
insertKeys.holderOf = ({ store_id }) => store_id as string

/**
 * Under the locks of the stores. Rows to lock are named by `any (array(…))`: for `in (…)` a plan may read a small table whole
 * by its index, and keep doing so while it grows; locking also copies the rows of what a table is joined with.
 */
async function writeKeys(tx: Db, rows: InsertRow[]): Promise<KeyOutcome[]> {
  const outcomes = await tx.query<{ outcome: KeyOutcome }>(sql`
    with request as (
      select row_number() over () as n, *, date_trunc('day', created_at, 'UTC') as today
        from ${requested(rows)}
    ), store as (
      select id, live_keys, keys_made, keys_made_since, frozen_at
        from stores
       where id = any (array(select store_id from request))
         and deleted_at is null
    ), member_creator as (
      -- Under the store's lock: is the creator's record still the one that was authenticated? (The locking clause reads
      -- the newest version of the row.)
      select member.store_id, member.user_id as id, member.xmin::text as version,
             null::int as leaked_secret_no
        from members member
       where (member.store_id, member.user_id) in (
               select request.store_id, request.created_by_id
                 from request
                 join store on store.id = request.store_id
                where request.created_by_kind = 'user'
             )
       order by member.store_id, member.user_id
         for share
    ), session as (
      -- After the members, as everywhere. Ending a session deletes its row, and waits for this lock.
      select id
        from sessions
       where id = any (array(
               select request.session_id
                 from request
                 join member_creator
                   on member_creator.store_id = request.store_id
                  and member_creator.id = request.created_by_id
             ))
       order by id
         for key share
    ), federated as (
      -- Users of an identity provider have no session here: see auth/recheck.ts.
      select id
        from users
       where id = any (array(
               select request.created_by_id
                 from request
                 join member_creator
                   on member_creator.store_id = request.store_id
                  and member_creator.id = request.created_by_id
                where request.session_id is null
                  and request.rechecked is not true
             ))
         and issuer is not null
         and erased_at is null
         and disabled_at is null
       order by id
         for share
    ), key_creator as (
      -- "for share" reads the newest version of the row; "for key share" would read the one this statement began with.
      select key.store_id, key.id, key.revision::text as version, key.leaked_secret_no
        from api_keys key
       where key.id = any (array(
               select request.created_by_id
                 from request
                 join store on store.id = request.store_id
                where request.created_by_kind = 'key'
                  and store.frozen_at is null
             ))
       order by key.id
         for share
    ), checked as (
      select request.*, store.id is not null as store_exists,
             creator.id is not null
               and (creator.leaked_secret_no is null or creator.leaked_secret_no < request.creator_secret_no)
               and (request.created_by_kind = 'key' or request.rechecked or session.id is not null
                    or federated.id is not null) is true as creator_unchanged,
             store.live_keys + row_number() over in_store <= request.max_keys as fits_live,
             case when store.keys_made_since >= request.today then store.keys_made else 0 end
               + row_number() over in_store <= request.max_new_keys as fits_today
        from request
        left join store on store.id = request.store_id
        left join (select * from member_creator union all select * from key_creator) as creator
               on creator.store_id = request.store_id
              and creator.id = request.created_by_id
              and creator.version = request.creator_version
        left join session on session.id = request.session_id
        left join federated
               on federated.id = request.created_by_id
              and request.session_id is null
      window in_store as (partition by request.store_id order by request.n)
    ), claimed as (
      insert into idempotent_responses
             (lookup, fingerprint, reveals_secret, status, resource_id, kid, salt, sealed, created_at)
      select decode(lookup, 'hex'), decode(fingerprint, 'hex'), true, status, id, kid,
             decode(salt, 'hex'), decode(sealed, 'hex'), answered_at
        from checked
       where lookup is not null
         and fits_live
         and fits_today
         and creator_unchanged
       order by lookup
          on conflict (lookup) do nothing
      returning resource_id
    ), accepted as (
      select *
        from checked
       where fits_live
         and fits_today
         and creator_unchanged
         and (lookup is null or id in (select resource_id from claimed))
    ), key as (
      insert into api_keys (${insertedList})
      select ${insertedList}
        from accepted
      returning store_id, date_trunc('day', created_at, 'UTC') as today
    ), credit as (
      insert into key_credits (${CREDIT_COLUMNS})
      select ${CREDIT_VALUES}
        from accepted
       where has_credits
    ), event as (
      insert into events (id, store_id, type, at, actor, subject, data)
      select event_id, store_id, 'key.created', created_at, event_actor, id, event_data
        from accepted
    ), counted as (
      update stores
         set live_keys = stores.live_keys + count.created,
             keys_made = case when stores.keys_made_since >= count.today then stores.keys_made else 0 end + count.created,
             keys_made_since = greatest(stores.keys_made_since, count.today)
        from (select store_id, count(*) as created, max(today) as today from key group by store_id) as count
       where stores.id = count.store_id
    )
    select case when not store_exists then 'store gone'
                when not creator_unchanged then 'creator changed'
                when not fits_live then 'full'
                when not fits_today then 'day full'
                when id in (select id from accepted) then 'created'
                else 'answered'
           end as outcome
      from checked
     order by n`)
  return outcomes.map(({ outcome }) => outcome)
}
