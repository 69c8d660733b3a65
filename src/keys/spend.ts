// What a verification spends: credits, and a place in the window of each rate limit that it names. All of it or nothing:
// everything is looked at before anything is spent. The requests of one moment share a statement, or a transaction which locks
// what they spend, so that nodes never spend the same credit twice. (A key that has `rateLimit` only: see rate-limit.ts.)
//
// A refill is made by whoever first finds that it is due. Refills and windows go by the database's clock, so that all
// nodes agree.

import type { CachedKey } from '../auth/cached-key.ts'
import type { Idempotency } from '../core/route.ts'
import type { Batch, Db } from '../db/db.ts'
import { recordset } from '../db/recordset.ts'
import { sql } from '../db/sql.ts'
import type { ApiKeysRow } from '../db/tables.gen.ts'
import { claimAll, storeResponses } from '../idempotency/idempotency.ts'
import { REFILLS_AT, REMAINING } from './credits.ts'
import {
  byId,
  type CreditRow,
  isRateLimitOnly,
  type Purchase,
  type Receipt,
  settle,
  type WindowRow,
} from './purchase.ts'
import { spendRateLimit } from './rate-limit.ts'
import { resourceOf } from './read.ts'
import type { Outcome, SpendOnce, Verdict, Verified } from './schema.ts'
import { spendCredits, spendWindows } from './spend-sums.ts'

/** The key as it was when the verdict was made from it. */
export type Concluded = { key: CachedKey; code: Outcome; verdict: Verified }
/** A promise only if the key had to be looked up again. */
export type Conclude = (receipt: Receipt) => Concluded | Promise<Concluded>

export function spend(db: Db, key: CachedKey, purchase: Purchase): Promise<Receipt> {
  if (isRateLimitOnly(purchase)) return spendRateLimit(db, key)
  if (purchase.windows.length === 0) return spendQuickly(db, spendCredits, purchase)
  return purchase.cost === null ? spendQuickly(db, spendWindows, purchase) : db.batched(spendAll, purchase)
}

/** Credits alone, or limits alone, take one statement, as long as there is enough for all who ask at the same moment. */
async function spendQuickly(db: Db, batch: Batch<Purchase, Receipt | null>, purchase: Purchase): Promise<Receipt> {
  return (await db.batched(batch, purchase)) ?? (await db.batched(spendAll, purchase))
}

/**
 * With an Idempotency-Key: the verdict is stored with what was spent, and a retry gets it again and spends nothing. Null when
 * the key has changed since it was looked up; then nothing was spent.
 */
export async function spendStoring(
  db: Db,
  purchase: Purchase,
  once: SpendOnce,
  conclude: Conclude,
): Promise<Concluded | null> {
  const outcome = await db.batched(spendAllOnce, { purchase, once, conclude })
  if (outcome instanceof Error) throw outcome
  return outcome
}

type OncePurchase = { purchase: Purchase; once: SpendOnce; conclude: Conclude }

/** Each outcome is what was concluded, null for a key that has changed, or why the Idempotency-Key was not to be had. */
const spendAllOnce: Batch<OncePurchase, Concluded | Error | null> = (db, rows) =>
  db.transaction(async (tx) => {
    const claims = await claimAll(
      tx,
      rows.map(({ once }) => once.lookups),
    )
    // A retry that finds its verdict stores nothing.
    const refusals = rows.map(({ once }, n) => claims[n] ?? once.storageRefusal())
    const revisions = await lockKeys(tx, rows)
    const isCurrent = ({ purchase }: OncePurchase) => revisions.get(purchase.keyId) === purchase.keyRevision
    const buyers = rows.filter((row, n) => refusals[n] === null && isCurrent(row))
    const receipts = await spendIn(
      tx,
      buyers.map(({ purchase }) => purchase),
    )
    const concluded = await Promise.all(buyers.map((buyer, n) => buyer.conclude(receipts[n] as Receipt)))
    const responses = buyers.map(({ once }, n) => once.toStoredResponse((concluded[n] as Concluded).verdict))
    await storeResponses(tx, responses)
    return rows.map((row, n) => refusals[n] ?? concluded[buyers.indexOf(row)] ?? null)
  })
spendAllOnce.highPriority = true
spendAllOnce.holderOf = ({ purchase }) => purchase.storeId

/**
 * Whoever changes a key, or erases its owner, waits until the verdict is stored, or has done so before: then the verdict
 * would say what the key was. Nobody shares this lock: behind those who do, a revocation might wait for ever.
 */
async function lockKeys(tx: Db, rows: OncePurchase[]): Promise<Map<string, number>> {
  const ids = [...new Set(rows.map(({ purchase }) => purchase.keyId))]
  const keys = await tx.query<Pick<ApiKeysRow, 'id' | 'revision'>>(sql`
    select id, revision
      from api_keys
     where id = any(${ids})
     order by id
       for no key update`)
  return new Map(keys.map(({ id, revision }) => [id, revision]))
}

/**
 * For a verification with an Idempotency-Key. The response that is stored names the key (see eraseOwner in owners.ts), and
 * has no metadata of it: that may be 16 KiB for each verification, and a retry gets it from the key (http/execute-once.ts).
 */
export function spendOnce(idempotency: Idempotency | null, bodyOf: (verdict: Verdict) => object): SpendOnce | null {
  return (
    idempotency && {
      lookups: idempotency.lookups,
      storageRefusal: idempotency.storageRefusal,
      toStoredResponse: ({ kept, more }) => {
        const { storeId, keyId } = kept
        const about = storeId !== null && keyId !== null ? { resource: resourceOf({ storeId, keyId }) } : {}
        const body = bodyOf({ ...kept, ...more, metadata: kept.metadata === null ? null : {} })
        return idempotency.toStoredResponse({ body, ...about })
      },
    }
  )
}

const spendAll: Batch<Purchase, Receipt> = (db, purchases) => db.transaction((tx) => spendIn(tx, purchases))
spendAll.highPriority = true
spendAll.holderOf = ({ storeId }) => storeId

async function spendIn(tx: Db, purchases: Purchase[]): Promise<Receipt[]> {
  const [credits, windows] = await Promise.all([lockCredits(tx, purchases), openWindows(tx, purchases)])
  const rest = { credits: byId(credits, 'key_id'), windows: byId(windows, 'id') }
  const spent = new Set<object>()
  const receipts = purchases.map((purchase) => settle(purchase, rest, spent))
  const spentCredits = credits.filter((row) => spent.has(row))
  const spentWindows = windows.filter((row) => spent.has(row))
  if (spentCredits.length > 0)
    tx.withCommit(sql`
      update key_credits
         set remaining = spent.remaining, refills_at = spent.refills_at
        from ${spentCredit(spentCredits)}
       where key_credits.key_id = spent.key_id`)
  if (spentWindows.length > 0)
    tx.withCommit(sql`
      update key_rate_windows
         set used = spent.used
        from ${spentWindow(spentWindows)}
       where key_rate_windows.id = spent.id`)
  return receipts
}

const spentCredit = recordset('spent', { key_id: 'text', remaining: 'bigint', refills_at: 'timestamptz' })
const spentWindow = recordset('spent', { id: 'text', used: 'int' })

/** In the order of ids, as everybody locks them, and before the windows. */
async function lockCredits(tx: Db, purchases: Purchase[]): Promise<CreditRow[]> {
  const keyIds = [...new Set(purchases.filter(({ cost }) => cost !== null).map(({ keyId }) => keyId))]
  if (keyIds.length === 0) return []
  return tx.query<CreditRow>(sql`
    select key_id, (${REMAINING})::float8 as remaining, ${REFILLS_AT} as refills_at
      from key_credits
     where key_id = any(${keyIds})
     order by key_id
       for update`)
}

const asked = recordset('asked', { id: 'text', seconds: 'int' })

/** Begins those that are over or were never begun, and locks them all. */
async function openWindows(tx: Db, purchases: Purchase[]): Promise<WindowRow[]> {
  const windows = windowsOf(purchases)
  if (windows.length === 0) return []
  return tx.query<WindowRow>(sql`
    insert into key_rate_windows as running (id, began_at, seconds, used)
    select id, clock_timestamp(), seconds, 0
      from ${asked(windows)}
     order by id
        on conflict (id) do update
       set began_at = case when running.began_at + excluded.seconds * interval '1 s' <= excluded.began_at
                           then excluded.began_at else running.began_at end,
           used = case when running.began_at + excluded.seconds * interval '1 s' <= excluded.began_at
                       then 0 else running.used end,
           seconds = excluded.seconds
 returning id, used,
           greatest(1, ceil(extract(epoch from began_at + seconds * interval '1 s' - clock_timestamp())))::int as reset_seconds`)
}

/** The same, without spending anything. */
export const peekAt: Batch<Purchase, Receipt> = async (db, purchases) => {
  const keyIds = [...new Set(purchases.map(({ keyId }) => keyId))]
  const [credits, windows] = await Promise.all([
    db.query<CreditRow>(sql`
      select key_id, (${REMAINING})::float8 as remaining, ${REFILLS_AT} as refills_at
        from key_credits
       where key_id = any(${keyIds})`),
    db.query<WindowRow>(sql`
      select id, used,
             greatest(1, ceil(extract(epoch from began_at + asked.seconds * interval '1 s' - now())))::int as reset_seconds
        from ${asked(windowsOf(purchases))}
        join key_rate_windows using (id)
       where began_at + asked.seconds * interval '1 s' > now()`),
  ])
  const rest = { credits: byId(credits, 'key_id'), windows: byId(windows, 'id') }
  return purchases.map((purchase) => settle(purchase, rest, null))
}
peekAt.highPriority = true

/** Each once. */
function windowsOf(purchases: Purchase[]): { id: string; seconds: number }[] {
  return [
    ...new Map(
      purchases.flatMap((purchase) => purchase.windows).map(({ id, seconds }) => [id, { id, seconds }]),
    ).values(),
  ]
}
