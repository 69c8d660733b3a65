// Use is counted in memory and written in batches, so that using a key never costs a write of its own. A process that is
// killed loses at most one interval of counts. A flush whose answer was lost is sent again under the same id, and the
// database writes it once: nothing is counted twice.
//
// A key's hash cannot be made anew without the key, so after a change of the server secret each moves when it is used.

import { ago, DAY, HOUR, now, nowMs, SECOND } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Permission } from '../core/permissions.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { type Db, sql } from '../db/db.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import type { Outcome } from './schema.ts'

/** `lastUsedAt` is at most 10 s behind. */
const FLUSH_MS = 5 * SECOND
/** While the database is away counts are gathered for so many keys and hours, and for no more. */
const MAX_COUNTED = 100_000
/** A statement has 5 seconds: what was gathered in a bad hour is written in parts. */
const WRITTEN_AT_ONCE = 5_000
/** Hours are kept so long, then they become days; days are kept for so long. */
const HOURS_KEPT_MS = 90 * DAY
const DAYS_KEPT_MS = 400 * DAY

type Use = {
  keyId: string
  secretNo: number
  rehashTo: string | null
  outcome: Outcome
  permissions: readonly Permission[]
}

export type Usage = { count(use: Use): void; flush(): Promise<void>; close(): Promise<void> }

/** The use of one secret of a key within an hour. Touched at each use, so it is one flat thing. */
type Counter = {
  keyId: string
  secretNo: number
  /** Its hash, when that is to move to another server secret. */
  rehashTo: string | null
  hour: number
  valid: number
  refused: Partial<Record<Outcome, number>> | null
  /** When it was last used with success. */
  usedAt: number
  exercised: Map<Permission, number>
  /** The same key's other secret: while a key is rotated it has two. */
  other: Counter | null
}

type Batch = { id: string; counted: Counter[] }

export function newUsage(db: Db, keyring: Keyring): Usage {
  const counting = new Map<string, Counter>()
  /** Waiting to be written. */
  const counted: Counter[] = []
  /** In all of these, and in what was sent. */
  let counters = 0
  /** Sent, and not known to be written. */
  let sent: Batch | null = null
  let flushing = Promise.resolve()

  function counterOf({ keyId, secretNo }: Use, hour: number): Counter | null {
    const found = counting.get(keyId) ?? null
    if (found?.hour === hour)
      for (let counter: Counter | null = found; counter; counter = counter.other)
        if (counter.secretNo === secretNo) return counter
    if (counters >= MAX_COUNTED) return null
    counters += 1
    const fresh: Counter = {
      keyId,
      secretNo,
      rehashTo: null,
      hour,
      valid: 0,
      refused: null,
      usedAt: 0,
      exercised: new Map(),
      other: found,
    }
    counting.set(keyId, fresh)
    return fresh
  }

  function count(use: Use): void {
    const at = nowMs()
    const counter = counterOf(use, at - (at % HOUR))
    if (!counter) return
    const { outcome, rehashTo, permissions } = use
    if (outcome === 'VALID') {
      counter.valid += 1
      counter.usedAt = at
      if (rehashTo !== null) counter.rehashTo = rehashTo
      for (const permission of permissions) counter.exercised.set(permission, at)
    } else {
      counter.refused ??= {}
      counter.refused[outcome] = (counter.refused[outcome] ?? 0) + 1
    }
  }

  async function write(): Promise<void> {
    // What is counted from now on is the next flush's: under load there is always more, and this one would never end.
    for (const first of counting.values())
      for (let counter: Counter | null = first; counter; counter = counter.other) counted.push(counter)
    counting.clear()
    while (sent !== null || counted.length > 0) {
      sent ??= { id: newId('req'), counted: counted.splice(0, WRITTEN_AT_ONCE) }
      try {
        await writeUse(db, keyring, sent)
      } catch {
        return
      }
      counters -= sent.counted.length
      sent = null
    }
  }

  /** One at a time. */
  function flush(): Promise<void> {
    flushing = flushing.then(write)
    return flushing
  }

  const timer = setInterval(flush, FLUSH_MS).unref()
  return {
    count,
    flush,
    close: () => {
      clearInterval(timer)
      return flush()
    },
  }
}

async function writeUse(db: Db, keyring: Keyring, { id, counted }: Batch): Promise<void> {
  const counts = counted.flatMap(({ keyId, hour, valid, refused }) =>
    Object.entries({ ...(valid > 0 ? { VALID: valid } : {}), ...refused }).map(([outcome, count]) => ({
      key_id: keyId,
      at: new Date(hour),
      outcome,
      count,
    })),
  )
  const moves = counted.flatMap(({ keyId, secretNo, rehashTo }) =>
    rehashTo === null ? [] : [{ key_id: keyId, secret_no: secretNo, hash: rehashTo }],
  )
  const exercised = counted.flatMap(({ keyId, exercised }) =>
    [...exercised].map(([permission, at]) => ({ key_id: keyId, permission, at: new Date(at) })),
  )
  await db.transaction(async (tx) => {
    const fresh = await tx.query(sql`
      insert into usage_flushes (id, at)
      values (${id}, ${now()})
          on conflict (id) do nothing
   returning id`)
    if (fresh.length === 0) return
    const firstUsed = await writeLastUse(tx, lastUse(counted))
    await moveHashes(tx, keyring, moves)
    await tx.query(sql`
      insert into key_usage (key_id, grain, at, outcome, count)
      select used.key_id, 'hour', used.at, used.outcome, sum(used.count)
        from json_to_recordset(${JSON.stringify(counts)})
             as used(key_id text, at timestamptz, outcome text, count bigint)
        join api_keys key on key.id = used.key_id
       group by used.key_id, used.at, used.outcome
       order by used.key_id, used.at, used.outcome
          on conflict (key_id, grain, at, outcome) do update
         set count = key_usage.count + excluded.count`)
    await tx.query(sql`
      insert into key_exercise (key_id, permission, at)
      select used.key_id, used.permission, max(used.at)
        from json_to_recordset(${JSON.stringify(exercised)})
             as used(key_id text, permission text, at timestamptz)
        join api_keys key on key.id = used.key_id
       group by used.key_id, used.permission
       order by used.key_id, used.permission
          on conflict (key_id, permission) do update
         set at = greatest(key_exercise.at, excluded.at)`)
    // Whoever uses a secret has it: nobody needs to be told it again.
    await destroyReplayableSecrets(tx, firstUsed)
  })
}

/** When each secret of each key was last used, by its number. */
type LastUse = Map<string, Map<number, number>>

function lastUse(counted: Counter[]): LastUse {
  const used: LastUse = new Map()
  for (const { keyId, secretNo, usedAt } of counted) {
    if (usedAt === 0) continue
    const key = used.get(keyId) ?? new Map<number, number>()
    key.set(secretNo, Math.max(usedAt, key.get(secretNo) ?? 0))
    used.set(keyId, key)
  }
  return used
}

/** The keys whose secret was used for the first time. */
async function writeLastUse(tx: Db, used: LastUse): Promise<string[]> {
  // Which secret is the current one is asked under the lock: a rotation may have been under way until then. (And put
  // together here, because a join of two lists in the database would compare each with each.)
  const keys = await tx.query<{ id: string; secret_no: number; secret_used_at: Date | null }>(sql`
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
      from json_to_recordset(${JSON.stringify(rows)})
           as used(id text, at timestamptz, by_current timestamptz, by_previous timestamptz)
     where key.id = used.id`)
  return keys.filter((key) => key.secret_used_at === null && secretsOf(key).has(key.secret_no)).map(({ id }) => id)
}

type Move = { key_id: string; secret_no: number; hash: string }

/**
 * From the previous server secret to the current one, once the operator has said that this is where everything goes
 * (`secret rewrap`). The number of the secret says which hash it is, and nothing but the hash changes: a secret that has
 * been replaced meanwhile stays replaced. The rows are locked already.
 */
async function moveHashes(tx: Db, { current, previous }: Keyring, moves: Move[]): Promise<void> {
  if (!previous || moves.length === 0) return
  const moved = JSON.stringify(moves)
  const allowed = sql`exists (select from server_secret where kid = ${current.kid})`
  await tx.query(sql`
    update api_keys key
       set hash = decode(moved.hash, 'hex'), hash_kid = ${current.kid}
      from json_to_recordset(${moved}) as moved(key_id text, secret_no int, hash text)
     where key.id = moved.key_id
       and key.secret_no = moved.secret_no
       and key.hash_kid = ${previous.kid}
       and ${allowed}`)
  await tx.query(sql`
    update api_keys key
       set previous_hash = decode(moved.hash, 'hex'), previous_hash_kid = ${current.kid}
      from json_to_recordset(${moved}) as moved(key_id text, secret_no int, hash text)
     where key.id = moved.key_id
       and key.secret_no - 1 = moved.secret_no
       and key.previous_hash_kid = ${previous.kid}
       and ${allowed}`)
}

const ROLLED_UP_AT_ONCE = 5_000

/** House-keeping: hours become days, days go, and so do the windows of limits and the ids of flushes. */
export async function rollUpUsage(db: Db): Promise<void> {
  await db.query(sql`
    with old as (
      delete from key_usage
       where (key_id, grain, at, outcome) in (
               select key_id, grain, at, outcome
                 from key_usage
                where grain = 'hour'
                  and at < ${ago(HOURS_KEPT_MS)}
                limit ${ROLLED_UP_AT_ONCE}
                  for update skip locked
             )
   returning key_id, at, outcome, count
    )
    insert into key_usage (key_id, grain, at, outcome, count)
    select key_id, 'day', date_trunc('day', at), outcome, sum(count)
      from old
     group by key_id, date_trunc('day', at), outcome
        on conflict (key_id, grain, at, outcome) do update
       set count = key_usage.count + excluded.count`)
  await db.query(sql`
    delete from key_usage
     where (key_id, grain, at, outcome) in (
             select key_id, grain, at, outcome
               from key_usage
              where grain = 'day'
                and at < ${ago(DAYS_KEPT_MS)}
              limit ${ROLLED_UP_AT_ONCE}
           )`)
  await db.query(sql`delete from usage_flushes where at < ${ago(DAY)}`)
  // By the database's own clock, like the windows themselves.
  await db.query(sql`delete from key_windows where began_at < now() - interval '2 days'`)
}
