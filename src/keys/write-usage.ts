// The uses of keys that were counted in memory (usage.ts, in-process/reports.ts), written down: when a key was used last, how
// often in each hour, from where and with which permissions.

import { now } from '../core/clock.ts'
import type { Permission } from '../core/permissions.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Db } from '../db/db.ts'
import { isRolledBack } from '../db/errors.ts'
import { recordset } from '../db/recordset.ts'
import { fragment, sql } from '../db/sql.ts'
import type { ApiKeysRow } from '../db/tables.gen.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import type { Outcome } from './schema.ts'

/** Where a key was used from: the address of whoever presented it, if told, and the service that verified it, if any did. */
export type Source = { ip: string | null; serviceId: string | null }

/** Of each secret the newest so many sources are kept. */
export const MAX_SOURCES = 20

/** The use of one secret of a key within an hour. Touched at each use, so it is one flat object. */
export type Counter = {
  keyId: string
  secretNo: number
  /** The hash under the current server secret, when the database has the one under the previous. */
  rehashTo: string | null
  hour: number
  valid: number
  refused: Partial<Record<Outcome, number>> | null
  /** When the secret was last used with success. */
  usedAt: number
  exercised: Map<Permission, number>
  /** When it was last used from each source: the one that used it last, and the others by their text. */
  lastSource: (Source & { at: number }) | null
  sources: Map<string, Source & { at: number }>
  /** Of the same key: its other secret (while a key is rotated it has two), or another hour. */
  next: Counter | null
}

export function newCounter(keyId: string, secretNo: number, hour: number, next: Counter | null = null): Counter {
  return {
    keyId,
    secretNo,
    rehashTo: null,
    hour,
    valid: 0,
    refused: null,
    usedAt: 0,
    exercised: new Map(),
    lastSource: null,
    sources: new Map(),
    next,
  }
}

/** `answerLost`: it was sent before, and may still be written. */
export type Flush = { id: string; counters: Counter[]; answerLost: boolean }

const countedUses = recordset('counted', {
  key_id: 'text',
  at: 'timestamptz',
  outcome: 'text',
  secret_no: 'int',
  count: 'bigint',
})
const exercisedPermissions = recordset('exercised', { key_id: 'text', permission: 'text', at: 'timestamptz' })
const usedSources = recordset('source', {
  key_id: 'text',
  secret_no: 'int',
  ip: 'text',
  service_id: 'text',
  at: 'timestamptz',
})
const lastUses = recordset('used', {
  id: 'text',
  at: 'timestamptz',
  by_current: 'timestamptz',
  by_previous: 'timestamptz',
})
const rehashedKeys = recordset('rehashed', { key_id: 'text', secret_no: 'int', hash: 'text' })

/** `refused`: nothing was written, since somebody has locked one of the keys. `unknown`: the answer was lost. */
export async function writeFlush(
  { db, keyring, lockTimeout }: { db: Db; keyring: Keyring; lockTimeout: string },
  flush: Flush,
): Promise<'written' | 'refused' | 'unknown'> {
  const { id, counters } = flush
  const work = async (tx: Db) => {
    await tx.query(sql`select set_config('lock_timeout', ${lockTimeout}, true)`)
    const fresh = await tx.query(sql`
      insert into usage_flushes (id, at)
      values (${id}, ${now()})
          on conflict (id) do nothing
   returning id`)
    // Whatever was sent before has ended: it was written, or rolled back.
    flush.answerLost = false
    if (fresh.length > 0) await writeCounters(tx, keyring, counters)
  }
  try {
    await db.transaction(work)
    return 'written'
  } catch (error) {
    flush.answerLost ||= !isRolledBack(error)
    return flush.answerLost ? 'unknown' : 'refused'
  }
}

/** Of a key in an hour or a day: as far as JSON counts exactly. Back ends report what they like, and a sum must not overflow. */
export const MAX_COUNT = fragment(`${Number.MAX_SAFE_INTEGER}::bigint`)
/** For rows of `key_usage` that are there already. */
export const addedUpCount = fragment(`key_usage.count + least(excluded.count, ${MAX_COUNT.text} - key_usage.count)`)

/**
 * Only the current and the previous secret are told apart. The uses of older ones are written down as those of no secret in
 * particular, which has the number 0: a key has any number of old secrets, and their rows would be read with every report.
 */
export const countedAs = (secretNo: 'counted.secret_no' | 'old.secret_no') =>
  fragment(`case when ${secretNo} < key.secret_no - 1 then 0 else ${secretNo} end`)

export async function writeCounters(tx: Db, keyring: Keyring, counters: Counter[]): Promise<void> {
  const firstUsed = await writeLastUse(tx, lastUse(counters))
  await writeHashes(tx, keyring, counters.flatMap(rehashOf))
  await tx.query(sql`
    insert into key_usage (key_id, grain, at, outcome, secret_no, count)
    select counted.key_id, 'hour', counted.at, counted.outcome, ${countedAs('counted.secret_no')},
           least(sum(counted.count), ${MAX_COUNT})
      from ${countedUses(counters.flatMap(countsOf))}
      join api_keys key on key.id = counted.key_id
     group by 1, 3, 4, 5
     order by 1, 3, 4, 5
        on conflict (key_id, grain, at, outcome, secret_no) do update
       set count = ${addedUpCount}`)
  await writeSources(tx, counters.flatMap(sourcesOf))
  await tx.query(sql`
    insert into key_permission_use (key_id, permission, at)
    select exercised.key_id, exercised.permission, max(exercised.at)
      from ${exercisedPermissions(counters.flatMap(permissionsOf))}
      join api_keys key on key.id = exercised.key_id
     group by exercised.key_id, exercised.permission
     order by exercised.key_id, exercised.permission
        on conflict (key_id, permission) do update
       set at = greatest(key_permission_use.at, excluded.at)`)
  // A secret that is used has arrived: no retry needs to get it again.
  await destroyReplayableSecrets(tx, firstUsed)
}

function countsOf({ keyId, secretNo, hour, valid, refused }: Counter) {
  const counts = { ...(valid > 0 ? { VALID: valid } : {}), ...refused }
  return Object.entries(counts).map(([outcome, count]) => ({
    key_id: keyId,
    at: new Date(hour),
    outcome,
    secret_no: secretNo,
    count,
  }))
}

type SourceRow = { key_id: string; secret_no: number; ip: string; service_id: string; at: Date }

function sourcesOf({ keyId, secretNo, sources }: Counter): SourceRow[] {
  return [...sources.values()].map(({ ip, serviceId, at }) => ({
    key_id: keyId,
    secret_no: secretNo,
    ip: ip ?? '',
    service_id: serviceId ?? '',
    at: new Date(at),
  }))
}

/** Of each key the newest sources of its current and its previous secret are kept. */
async function writeSources(tx: Db, rows: SourceRow[]): Promise<void> {
  if (rows.length === 0) return
  const written = await tx.query<{ key_id: string; is_new: boolean }>(sql`
    insert into key_sources (key_id, secret_no, ip, service_id, last_used_at)
    select source.key_id, source.secret_no, source.ip, source.service_id, max(source.at)
      from ${usedSources(rows)}
      join api_keys key on key.id = source.key_id
     group by source.key_id, source.secret_no, source.ip, source.service_id
     order by source.key_id, source.secret_no, source.ip, source.service_id
        on conflict (key_id, secret_no, ip, service_id) do update
       set last_used_at = greatest(key_sources.last_used_at, excluded.last_used_at)
 -- A row that was not there before has no transaction that has updated it.
 returning key_id, xmax = 0 as is_new`)
  // Most keys are used from where they were used before: those have none too many.
  const keyIds = [...new Set(written.flatMap(({ key_id, is_new }) => (is_new ? [key_id] : [])))]
  if (keyIds.length === 0) return
  await tx.query(sql`
    delete from key_sources old
     using (
             select source.key_id, source.secret_no, source.ip, source.service_id, key.secret_no as current_no,
                    row_number() over (partition by source.key_id, source.secret_no
                                       order by source.last_used_at desc, source.ip, source.service_id) as place
               from key_sources source
               join api_keys key on key.id = source.key_id
              where source.key_id = any(${keyIds})
           ) as ranked
     where (old.key_id, old.secret_no, old.ip, old.service_id)
           = (ranked.key_id, ranked.secret_no, ranked.ip, ranked.service_id)
       and (ranked.place > ${MAX_SOURCES} or ranked.secret_no < ranked.current_no - 1)`)
}

function permissionsOf({ keyId, exercised }: Counter) {
  return [...exercised].map(([permission, at]) => ({ key_id: keyId, permission, at: new Date(at) }))
}

type Rehash = { key_id: string; secret_no: number; hash: string }

function rehashOf({ keyId, secretNo, rehashTo }: Counter): Rehash[] {
  return rehashTo === null ? [] : [{ key_id: keyId, secret_no: secretNo, hash: rehashTo }]
}

/** When each secret of each key was last used, by its number. */
type LastUse = Map<string, Map<number, number>>

function lastUse(counters: Counter[]): LastUse {
  const used: LastUse = new Map()
  for (const { keyId, secretNo, usedAt } of counters) {
    if (usedAt === 0) continue
    const key = used.get(keyId) ?? new Map<number, number>()
    key.set(secretNo, Math.max(usedAt, key.get(secretNo) ?? 0))
    used.set(keyId, key)
  }
  return used
}

/** The keys whose secret was used for the first time. */
async function writeLastUse(tx: Db, used: LastUse): Promise<string[]> {
  // The current secret's number is read under the lock: a rotation may have been under way until then. (The rows are put
  // together here, because the database would compare each row of one list with each of the other.)
  const keys = await tx.query<Pick<ApiKeysRow, 'id' | 'secret_no' | 'secret_used_at'>>(sql`
    select id, secret_no, secret_used_at
      from api_keys
     where id = any(${[...used.keys()]})
     order by id
       for no key update`)
  const secretsOf = (key: { id: string }) => used.get(key.id) as Map<number, number>
  const moment = (at: number | undefined) => (at === undefined ? null : new Date(at))
  const rows = keys.map((key) => ({
    id: key.id,
    at: moment(Math.max(...secretsOf(key).values())),
    by_current: moment(secretsOf(key).get(key.secret_no)),
    by_previous: moment(secretsOf(key).get(key.secret_no - 1)),
  }))
  await tx.query(sql`
    update api_keys key
       set last_used_at = greatest(key.last_used_at, used.at),
           secret_used_at = greatest(key.secret_used_at, used.by_current),
           previous_used_at = greatest(key.previous_used_at, used.by_previous)
      from ${lastUses(rows)}
     where key.id = used.id`)
  return keys.filter((key) => key.secret_used_at === null && secretsOf(key).has(key.secret_no)).map(({ id }) => id)
}

/**
 * Hashes under the previous server secret are replaced by those under the current one, once the operator has said so
 * (`secret rewrap`). The number of the secret tells which hash it is, and nothing but the hash changes: a secret that has
 * been replaced meanwhile stays replaced. The rows are locked already.
 */
async function writeHashes(tx: Db, { current, previous }: Keyring, rehashes: Rehash[]): Promise<void> {
  if (!previous || rehashes.length === 0) return
  const rehashed = rehashedKeys(rehashes)
  await tx.query(sql`
    update api_keys key
       set hash = decode(rehashed.hash, 'hex'), hash_kid = ${current.kid},
           imported_hash = case when key.imported_hash = key.hash then decode(rehashed.hash, 'hex') else key.imported_hash end
      from ${rehashed}
     where key.id = rehashed.key_id
       and key.secret_no = rehashed.secret_no
       and key.hash_kid = ${previous.kid}
       and exists (select from server_secret where kid = ${current.kid})`)
  await tx.query(sql`
    update api_keys key
       set previous_hash = decode(rehashed.hash, 'hex'), previous_hash_kid = ${current.kid},
           imported_hash = case when key.imported_hash = key.previous_hash then decode(rehashed.hash, 'hex') else key.imported_hash end
      from ${rehashed}
     where key.id = rehashed.key_id
       and key.secret_no - 1 = rehashed.secret_no
       and key.previous_hash_kid = ${previous.kid}
       and exists (select from server_secret where kid = ${current.kid})`)
}

/** Of the keys that are to be written, those that nobody has locked. */
export async function findUnlocked(db: Db, counters: Counter[]): Promise<Set<unknown>> {
  const ids = [...new Set(counters.map(({ keyId }) => keyId))]
  const rows = await db
    .query<Pick<ApiKeysRow, 'id'>>(sql`select id from api_keys where id = any(${ids}) for no key update skip locked`)
    .catch(() => [])
  return new Set(rows.map(({ id }) => id))
}
