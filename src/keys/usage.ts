// The use of keys is counted in memory and written in batches, so that using a key never costs a write of its own. A
// process that is killed loses at most one interval of counts. A flush whose answer was lost is sent again under the same
// id, and the database writes it once: nothing is counted twice.
//
// A key's hash can be made anew only with the key at hand: after a change of the server secret each is rehashed when the
// key is used.

import { HOUR, now, nowMs, SECOND } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Permission } from '../core/permissions.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { fragment, sql } from '../db/sql.ts'
import type { ApiKeysRow } from '../db/tables.gen.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import type { Outcome } from './schema.ts'

/** `lastUsedAt` is at most 10 s behind. */
const FLUSH_MS = 5 * SECOND
/** How many keys and hours are counted at most while the database is away. */
const MAX_COUNTERS = 100_000
/** A statement may take 5 seconds: the counts of a long outage are written in parts. */
const MAX_FLUSHED = 5_000

type Use = {
  keyId: string
  secretNo: number
  rehashTo: string | null
  outcome: Outcome
  permissions: readonly Permission[]
  source: Source
}

/** Where a key was used from: the address of whoever presented it, if told, and the service that verified it, if any did. */
type Source = { ip: string | null; serviceId: string | null }

/** Of each secret the newest so many sources are kept. */
export const MAX_SOURCES = 20

export type Usage = { count(use: Use): void; flush(): Promise<void>; close(): Promise<void> }

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

type Flush = { id: string; counters: Counter[] }

type UsageState = {
  db: Db
  keyring: Keyring
  /** Counters in use, by the id of their key. */
  active: Map<string, Counter>
  /** Counters that wait to be written. */
  waiting: Counter[]
  /** How many counters there are: active, waiting and in the flush that was sent. */
  counters: number
  /** How many sources the active counters hold: at most as many as there may be counters. */
  sources: number
  /** Sent, and not known to be written. */
  sent: Flush | null
}

export function newUsage(db: Db, keyring: Keyring, flushMs = FLUSH_MS): Usage {
  const state: UsageState = { db, keyring, active: new Map(), waiting: [], counters: 0, sources: 0, sent: null }
  let flushing = Promise.resolve()

  /** One flush at a time. */
  function flush(): Promise<void> {
    flushing = flushing.then(() => flushAll(state))
    return flushing
  }

  const timer = setInterval(flush, flushMs).unref()
  return {
    count: (use) => count(state, use),
    flush,
    close: () => {
      clearInterval(timer)
      return flush()
    },
  }
}

function count(state: UsageState, use: Use): void {
  const at = nowMs()
  const counter = counterOf(state, use, at - (at % HOUR))
  if (!counter) return
  const { outcome, rehashTo, permissions } = use
  if (outcome === 'VALID') {
    counter.valid += 1
    counter.usedAt = at
    noteSource(state, counter, use.source, at)
    if (rehashTo !== null) counter.rehashTo = rehashTo
    for (const permission of permissions) counter.exercised.set(permission, at)
  } else {
    counter.refused ??= {}
    counter.refused[outcome] = (counter.refused[outcome] ?? 0) + 1
  }
}

/** The next use mostly comes from the same source, and then costs a comparison. */
function noteSource(state: UsageState, counter: Counter, { ip, serviceId }: Source, at: number): void {
  const { lastSource, sources } = counter
  if (lastSource && lastSource.ip === ip && lastSource.serviceId === serviceId) {
    lastSource.at = at
    return
  }
  const name = `${serviceId} ${ip}`
  if (sources.size === 0 && state.sources >= MAX_COUNTERS) return
  counter.lastSource = { ip, serviceId, at }
  state.sources -= sources.size
  // Last in the order of the map, which is that of their last turn.
  sources.delete(name)
  sources.set(name, counter.lastSource)
  if (sources.size > MAX_SOURCES || state.sources + sources.size > MAX_COUNTERS)
    sources.delete(sources.keys().next().value as string)
  state.sources += sources.size
}

/** Null when there are as many counters as there may be. */
function counterOf(state: UsageState, { keyId, secretNo }: Use, hour: number): Counter | null {
  const newest = state.active.get(keyId) ?? null
  if (newest?.hour === hour)
    for (let counter: Counter | null = newest; counter; counter = counter.next)
      if (counter.secretNo === secretNo) return counter
  if (state.counters >= MAX_COUNTERS) return null
  state.counters += 1
  const counter = newCounter(keyId, secretNo, hour, newest)
  state.active.set(keyId, counter)
  return counter
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

async function flushAll(state: UsageState): Promise<void> {
  const { db, keyring, active, waiting } = state
  // Uses from now on belong to the next flush: under load there are always more, and this one would never end.
  for (const newest of active.values())
    for (let counter: Counter | null = newest; counter; counter = counter.next) waiting.push(counter)
  active.clear()
  state.sources = 0
  while (state.sent !== null || waiting.length > 0) {
    state.sent ??= { id: newId('req'), counters: waiting.splice(0, MAX_FLUSHED) }
    try {
      await writeFlush(db, keyring, state.sent)
    } catch {
      return
    }
    state.counters -= state.sent.counters.length
    state.sent = null
  }
}

// ---- writing --------------------------------------------------------------------------------------------------------

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

async function writeFlush(db: Db, keyring: Keyring, { id, counters }: Flush): Promise<void> {
  await db.transaction(async (tx) => {
    const fresh = await tx.query(sql`
      insert into usage_flushes (id, at)
      values (${id}, ${now()})
          on conflict (id) do nothing
   returning id`)
    if (fresh.length > 0) await writeCounters(tx, keyring, counters)
  })
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
