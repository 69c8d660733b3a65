// Many keys changed by one request, in the ways in which one key is changed or revoked. A hundred at a time, each hundred in
// a transaction of its own: whatever interrupts the request, every key was changed with its event, or not at all. Before
// each hundred the caller is looked at again, so nothing is changed after the answer that took their rights away.

import { CallerChanged, inStore, workInStore } from '../auth/recheck.ts'
import type { Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { ERRORS, type ErrorCode, Failure } from '../core/errors.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import { sha256 } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import { fragment, type Sql, sql } from '../db/sql.ts'
import { storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { newPause } from '../schema/lines.ts'
import { type Bulk, checkNamesKeys } from './bulk-input.ts'
import { type BulkProgress, deleteProgress, readProgress, saveProgress } from './bulk-progress.ts'
import type { KeyPatch } from './columns.ts'
import { withCredits } from './credits.ts'
import { ownedBy, passes } from './filter.ts'
import { hasFewLive, type LockedKey, lockKeys, workingAfter } from './read.ts'
import { revokeKeys } from './revoke.ts'
import { type BulkResult, type BulkResults, MAX_BULK } from './schema.ts'
import { isItself, planUpdate, writeUpdates } from './update.ts'

const KEYS_AT_ONCE = 100

/**
 * With an Idempotency-Key the progress is stored with each hundred, and a retry goes on from there. When the caller's
 * rights change after the first hundred, or the day's changes are used up, the answer tells what was done until then.
 */
export async function changeKeys(
  db: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  bulk: Bulk,
  idempotency: Idempotency | null,
): Promise<Answer<BulkResults>> {
  checkNamesKeys(bulk)
  let progress: BulkProgress | null = null
  try {
    for (;;) {
      const known: BulkProgress | null = progress
      const step: Step = await inStore(db, caller, storeId, async (tx) => {
        await idempotency?.claim(tx, bulk.action !== 'revoke')
        return workInStore(tx, caller, storeId, () =>
          changeNext(tx, instance, caller, storeId, bulk, idempotency, known),
        )
      })
      if (step.answer) return step.answer
      progress = step.progress
    }
  } catch (error) {
    const isEnd = error instanceof CallerChanged || (error instanceof Failure && error.code === 'rate_limited')
    if (!isEnd || !progress?.results.some(({ status }) => status === 'done')) throw error
    return answerOf({ ...progress, more: true })
  }
}

function answerOf({ results, more }: BulkProgress): Answer<BulkResults> {
  return {
    body: { results, more },
    changedKeys: results.filter(({ status }) => status === 'done').map(({ id }) => id),
  }
}

type Step = { progress: BulkProgress; answer: Answer<BulkResults> | null }

/** The next hundred. With the last of them the answer is there, and stored. */
async function changeNext(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  bulk: Bulk,
  idempotency: Idempotency | null,
  known: BulkProgress | null,
): Promise<Step> {
  const run = idempotency && {
    lookup: idempotency.lookups[0],
    storeId,
    request: sha256(JSON.stringify([storeId, bulk])),
  }
  const before = (run && (await readProgress(tx, run))) ?? known ?? (await findKeys(tx, caller, storeId, bulk))
  const ids = before.keyIds.slice(before.results.length, before.results.length + KEYS_AT_ONCE)
  const results = await changeHundred(tx, instance, caller, storeId, bulk, ids)
  const progress = { ...before, results: [...before.results, ...results] }
  if (progress.results.length < progress.keyIds.length) {
    if (run) await saveProgress(tx, run, progress)
    return { progress, answer: null }
  }
  const answer = answerOf(progress)
  if (run) await deleteProgress(tx, run)
  if (idempotency) await storeResponse(tx, idempotency.toStoredResponse(answer))
  return { progress, answer }
}

/** Newest first. A key that revokes itself comes last: afterwards it can do nothing more. */
async function findKeys(tx: Db, caller: Manager, storeId: string, bulk: Bulk): Promise<BulkProgress> {
  const found = bulk.ids ?? (await findMatching(tx, storeId, bulk))
  const keyIds = found.slice(0, MAX_BULK)
  const [itself, others] = [true, false].map((own) => keyIds.filter((id) => isItself(caller, id) === own))
  return { keyIds: [...(others ?? []), ...(itself ?? [])], results: [], more: found.length > MAX_BULK }
}

/** With a filter, where few keys work: among those that the action could change, not among all that were ever revoked. */
async function findMatching(tx: Db, storeId: string, bulk: Bulk): Promise<string[]> {
  const onlyLive = bulk.owner === null && (await hasFewLive(tx, storeId))
  const changeable = workingAfter(storeId, bulk.action === 'revoke' ? '-infinity' : now())
  const rows = await tx.query<{ id: string }>(sql`
    select id
      from ${onlyLive ? sql`(${changeable}) as api_keys` : fragment('api_keys')}
     where store_id = ${storeId}
       and ${matches(bulk)}
     order by id desc
     limit ${MAX_BULK + 1}`)
  return rows.map(({ id }) => id)
}

/**
 * Keys that are named are taken as they are. Others must match, and still do so when their turn comes: their owner may be
 * another by then. Those that the action would not change do not match, so that the next request goes on with the rest.
 */
function matches(bulk: Bulk): Sql {
  if (bulk.ids) return fragment('true')
  const at = now()
  const which = bulk.owner === null ? passes(bulk.filter ?? {}, at) : ownedBy(bulk.owner)
  return sql`${which} and ${wouldChange(bulk, at)}`
}

function wouldChange({ action, expiresAt }: Bulk, at: Date): Sql {
  if (action === 'revoke') return fragment('revoked_at is null')
  const live = sql`revoked_at is null and coalesce(expires_at, 'infinity') > ${at}`
  if (action === 'expire') return sql`${live} and coalesce(expires_at, 'infinity') > ${expiresAt}`
  return sql`${live} and enabled = ${action === 'disable'}`
}

// ---- a hundred --------------------------------------------------------------------------------------------------------

async function changeHundred(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  bulk: Bulk,
  ids: readonly string[],
): Promise<BulkResult[]> {
  if (ids.length === 0) return []
  const rows = await lockKeys(tx, storeId, ids, matches(bulk))
  const results =
    bulk.action === 'revoke'
      ? await revokeAll(tx, caller, storeId, rows, bulk.reason)
      : await updateAll(tx, instance, caller, storeId, rows, bulk)
  const missing = (id: string): BulkResult => (bulk.ids ? failed(id, 'key_not_found') : { id, status: 'unchanged' })
  return ids.map((id) => results.get(id) ?? missing(id))
}

type Results = Map<string, BulkResult>

async function revokeAll(
  tx: Db,
  caller: Manager,
  storeId: string,
  rows: LockedKey[],
  reason: string | null,
): Promise<Results> {
  const ids = rows.map(({ id }) => id)
  const revoked = new Set((await revokeKeys(tx, caller, storeId, ids, reason, 'expired too')).map(({ id }) => id))
  return new Map(ids.map((id) => [id, { id, status: revoked.has(id) ? 'done' : 'unchanged' }]))
}

/** A key that the caller may not change so fails by itself. */
async function updateAll(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  rows: LockedKey[],
  bulk: Bulk,
): Promise<Results> {
  const giver = await withCredits(tx, caller)
  const updates: Parameters<typeof writeUpdates>[4] = []
  const results: Results = new Map()
  const pause = newPause()
  for (const row of rows) {
    await pause()
    try {
      const update = planUpdate(caller, giver, row, patchFor(bulk, row))
      if (update) updates.push(update)
      results.set(row.id, { id: row.id, status: update ? 'done' : 'unchanged' })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      results.set(row.id, failed(row.id, error.code, error.details.detail))
    }
  }
  await writeUpdates(tx, instance, caller, storeId, updates)
  return results
}

/** An expiry is only ever brought forward: neither an earlier one nor that of a leak is undone for many keys at once. */
function patchFor({ action, expiresAt }: Bulk, row: LockedKey): KeyPatch {
  if (action !== 'expire') return { enabled: action === 'enable' }
  return row.expires_at && expiresAt && row.expires_at <= expiresAt ? {} : { expiresAt }
}

function failed(id: string, code: ErrorCode, detail: string = ERRORS[code].help): BulkResult {
  return { id, status: 'failed', error: { code, detail } }
}
