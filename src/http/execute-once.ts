// A POST with an Idempotency-Key is executed once: a retry gets the stored response of the first request.

import { unwrapDataKey } from '../auth/data-key.ts'
import { checkRecentSignIn } from '../auth/recent-sign-in.ts'
import { CallerChanged } from '../auth/recheck.ts'
import type { KeyCaller, UserCaller } from '../core/caller.ts'
import { Failure, fail } from '../core/errors.ts'
import { type Idempotency, isChange, type WireResponse } from '../core/route.ts'
import type { StoredResponse } from '../core/stored-response.ts'
import type { Db } from '../db/db.ts'
import {
  AlreadyAnswered,
  checkUnderPreviousSecret,
  claim,
  hexLookups,
  type IdempotentRequest,
  isReplayable,
  lastingCredential,
  parseIdempotencyKey,
  replay,
  storedBytes,
  storeFailure,
  toStoredResponse,
  withoutResponse,
} from '../idempotency/idempotency.ts'
import { readMetadata } from '../keys/read.ts'
import { type Call, header, type Pipeline } from './context.ts'
import { tenantOf } from './holders.ts'
import type { IdempotentOutcome } from './metric-table.ts'
import { renderProblem } from './problem.ts'
import { toWire, withMetadata } from './response.ts'
import { withholdAgain } from './withhold.ts'

/** A stored response that is found too old to be replayed is deleted, and the request tried again: once is enough. */
const MAX_TRIES = 5

type Run = (idempotent: IdempotentRequest | null) => Promise<WireResponse>

export async function executeOnce(pipeline: Pipeline, call: Call, run: Run): Promise<WireResponse> {
  const idempotent = toIdempotent(pipeline, call)
  if (!idempotent) return executeOrReplay(pipeline, call, null, run)
  const { metrics } = pipeline
  try {
    const wire = await executeOrReplay(pipeline, call, idempotent, run)
    metrics.idempotent('idempotent-replayed' in wire.headers ? 'replayed' : 'executed')
    return wire
  } catch (error) {
    // A caller whose rights have changed is authenticated again, and the request begins anew.
    if (!(error instanceof CallerChanged)) metrics.idempotent(outcomeOf(error))
    throw error
  }
}

function outcomeOf(error: unknown): IdempotentOutcome {
  const code = error instanceof Failure ? error.code : null
  if (code === 'idempotency_in_progress') return 'in_progress'
  if (code === 'idempotency_mismatch') return 'mismatch'
  return code === 'secret_no_longer_available' || code === 'response_no_longer_available' ? 'gone' : 'failed'
}

async function executeOrReplay(
  pipeline: Pipeline,
  call: Call,
  idempotent: IdempotentRequest | null,
  run: Run,
): Promise<WireResponse> {
  if (isChange(call.route) && call.caller?.kind === 'key' && call.caller.secretReplaced) {
    // A key that has rotated itself, and lost the answer, may still ask for it again.
    const isItself = call.incoming.params.keyId === call.caller.id
    return (isItself && idempotent && (await replayed(pipeline, call, idempotent))) || fail('replaced_secret')
  }
  if (!idempotent) return run(null)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      return await runAndStoreFailure(pipeline, call, idempotent, run)
    } catch (error) {
      if (!(error instanceof AlreadyAnswered)) throw error
      const stored = await replayed(pipeline, call, idempotent)
      if (stored) return stored
    }
  }
  return fail('unavailable', { retryAfterSeconds: 1 })
}

/** A retry gets the response again only while its caller may have it: rights may have changed since the first request. */
async function replayed(
  { db }: Pipeline,
  { route, incoming, caller }: Call,
  idempotent: IdempotentRequest,
): Promise<WireResponse | null> {
  if (route.recentSignIn && caller?.kind === 'user') await checkRecentSignIn(db, caller)
  const stored = await replay(db, idempotent, async (tx, sent) => {
    await route.checkReplay?.({ db: tx, caller: caller as never, params: incoming.params, sent })
  })
  if (!stored) return null
  const body = route.storedWithoutMetadata
    ? await bodyWithMetadata(db, stored)
    : withholdAgain(route, caller, incoming.body, stored)
  return { ...stored, body, headers: { ...stored.headers, 'idempotent-replayed': 'true' } }
}

/** A response about no key has no metadata. */
async function bodyWithMetadata(db: Db, { body, resourceId }: WireResponse): Promise<string> {
  if (resourceId === null) return body
  const metadata = await readMetadata(db, resourceId)
  if (metadata === null) return fail('response_no_longer_available', { members: { resource: { id: resourceId } } })
  return withMetadata(body, [metadata])
}

function toIdempotent({ instance }: Pipeline, { route, incoming, caller, credential }: Call): IdempotentRequest | null {
  if (route.method !== 'POST' || !isChange(route) || !caller || !credential) return null
  const key = parseIdempotencyKey(header(incoming, 'idempotency-key'))
  if (key === null) return null
  return {
    keyring: instance.keyring,
    callerId: caller.id,
    credential: lastingCredential(credential, caller, key),
    userKey: caller.kind === 'user' ? () => unwrapDataKey(instance.keyring, caller) : null,
    key,
    method: incoming.method,
    url: incoming.url,
    body: incoming.body,
    revealsSecret: route.revealsSecret === true,
  }
}

/**
 * A failure that would come again is stored like a success, though nothing else is written with it; beyond what may be stored
 * for the caller, it is only told.
 */
async function runAndStoreFailure(
  pipeline: Pipeline,
  call: Call,
  idempotent: IdempotentRequest,
  run: Run,
): Promise<WireResponse> {
  const { db } = pipeline
  const { incoming } = call
  await checkUnderPreviousSecret(db, idempotent)
  try {
    return await run(idempotent)
  } catch (error) {
    if (!(error instanceof Failure) || !isReplayable(error.code)) throw error
    const problem = renderProblem(error, incoming.requestId, incoming.path)
    const storage = storageFor(pipeline, call)
    if (storage.refusal()) return problem
    await storeFailure(db, idempotent, storage.charged(toStoredResponse(idempotent, problem)))
    return problem
  }
}

/** What `execute` stores itself, it has as it is sent. */
export type WireIdempotency = Idempotency & { rowOf(sent: WireResponse): StoredResponse }

/** For whoever claims and stores in a transaction, or in a batch. */
export function idempotencyFor(pipeline: Pipeline, call: Call, idempotent: IdempotentRequest): WireIdempotency {
  const { route } = call
  const lookups = hexLookups(idempotent)
  const storage = storageFor(pipeline, call)
  let refusal: Failure | null | undefined
  const rowOf = (sent: WireResponse) => {
    const row = toStoredResponse(idempotent, sent, lookups[0])
    return storage.charged(refusal ? withoutResponse(row) : row)
  }
  return {
    lookups,
    claim: async (tx, canBeRefused = false) => {
      await claim(tx, idempotent)
      // After the claim: a retry that finds its response stores nothing. Once: what was begun in other transactions is ended.
      if (refusal === undefined) refusal = storage.refusal()
      if (refusal && canBeRefused) throw refusal
    },
    storageRefusal: storage.refusal,
    toStoredResponse: (answer) => {
      // Kept with the answer, so that it is serialized once, though it is both stored and sent.
      answer.wire = toWire(route, answer)
      return rowOf(answer.wire)
    },
    rowOf,
  }
}

/** What may be stored for the caller. A response of many lines takes megabytes, and leaves nothing else that a quota counts. */
function storageFor({ limits: { rate, services } }: Pipeline, { caller, account }: Call) {
  const limit =
    caller?.kind === 'service'
      ? services.storageOf(caller, tenantOf(account))
      : caller && rate?.storageOf(payerOf(caller))
  return {
    refusal(): Failure | null {
      const state = limit?.check()
      if (!state || state.allowed) return null
      return new Failure('rate_limited', { retryAfterSeconds: state.resetSeconds })
    },
    charged(row: StoredResponse): StoredResponse {
      limit?.charge(storedBytes(row))
      return row
    },
  }
}

const payerOf = (caller: UserCaller | KeyCaller) => (caller.kind === 'key' ? caller.storeId : caller.id)
