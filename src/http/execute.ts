// Runs the handler of a route, a change in a transaction together with its stored response, and invalidates the caches
// before the answer is sent.

import { takeOnStore } from '../auth/account.ts'
import { lockStoreAndRecheck, recheckUser } from '../auth/recheck.ts'
import type { Manager } from '../core/caller.ts'
import { isChange, type WireResponse } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import type { Turn } from '../db/turns.ts'
import { type IdempotentRequest, storeResponse } from '../idempotency/idempotency.ts'
import { authorizationProbe, visitorOf } from './authenticate.ts'
import { needsRights } from './authorize.ts'
import { inChangeSlots } from './connection-slots.ts'
import { type AuthCaches, type Call, header, type Pipeline } from './context.ts'
import { idempotencyFor, type WireIdempotency } from './execute-once.ts'
import type { Input } from './input.ts'
import { inReadSlot } from './read-slots.ts'
import { startPages, toWire } from './response.ts'
import { withhold, withholdFaults } from './withhold.ts'

export async function execute(
  pipeline: Pipeline,
  call: Call,
  input: Input,
  idempotent: IdempotentRequest | null,
): Promise<WireResponse> {
  const { route, incoming, caller } = call
  const args = handlerArgs(pipeline, call, input, idempotent)
  let changed = [incoming.params.keyId ?? incoming.params.storeId]
  const run = async (db: Db) => {
    const answer = await route.handle({ ...args, db }).catch((error: unknown) => {
      throw withholdFaults(route, caller, input.faults, error)
    })
    changed = answer.changedKeys ?? changed
    if (route.answer === 'paged') return startPages(pipeline, call, answer)
    return answer.wire ?? toWire(route, answer, withhold(route, caller, input.body, answer))
  }
  if (!isChange(route)) {
    const wire = await inReadSlot(pipeline, call, () => run(pipeline.db))
    // A browser that comes back from its provider signs in by a GET.
    if (route.effect === 'own') pipeline.onChange()
    return wire
  }
  const db = inChangeSlots(pipeline, call)
  const wire = await (route.effect === 'own'
    ? run(db)
    : inTransaction(db, call, await turnOf(db, call, args), args.idempotency, run)
  ).catch((error) => {
    // Its answer may be lost: the key may be revoked, and what was known of it must not be answered any more.
    if (incoming.params.keyId) pipeline.auth.caches.keys.invalidate(incoming.params.keyId)
    throw error
  })
  if (needsRights(route.needs)) {
    const change = { isCreation: wire.status === 201, memberId: incoming.params.userId ?? null }
    await takeOnStore(db, pipeline.instance.maxStoresPerUser, caller, change)
  }
  if (changed.length > 0) pipeline.onChange()
  if (route.access !== 'unchanged') for (const id of changed) invalidateChanged(pipeline.auth.caches, id)
  return wire
}

function handlerArgs(pipeline: Pipeline, call: Call, input: Input, idempotent: IdempotentRequest | null) {
  const { incoming, caller } = call
  return {
    instance: pipeline.instance,
    // `authorize` has checked the row's `needs`, so the caller is of the kind that the handler's type says.
    caller: caller as never,
    params: incoming.params,
    ...input,
    ifMatch: header(incoming, 'if-match') ?? null,
    idempotency: idempotent && idempotencyFor(pipeline, call, idempotent),
    verifier: pipeline.verifier,
    oidc: pipeline.auth.oidc,
    visitor: () => visitorOf(pipeline, incoming),
    stream: { feed: pipeline.feed, stillAuthorized: authorizationProbe(pipeline, call) },
    changes: pipeline.changes,
    usageReports: pipeline.usageReports,
    request: {
      at: incoming.at,
      receivedAt: incoming.receivedAt,
      ip: incoming.ip,
      userAgent: header(incoming, 'user-agent')?.slice(0, 300) ?? null,
      path: incoming.path,
      raw: incoming.body,
      header: (name: string) => header(incoming, name),
    },
  }
}

function inTransaction(
  db: Db,
  { route, caller, incoming }: Call,
  turn: Turn | undefined,
  idempotency: WireIdempotency | null,
  run: (tx: Db) => Promise<WireResponse>,
): Promise<WireResponse> {
  // `authorize` lets only users and keys hold rights.
  const storeId = needsRights(route.needs) ? incoming.params.storeId : undefined
  const work = async (tx: Db) => {
    await idempotency?.claim(tx)
    if (storeId) await lockStoreAndRecheck(tx, caller as Manager, storeId)
    const wire = await run(tx)
    if (!needsRights(route.needs) && caller?.kind === 'user' && route.recheck !== 'own') await recheckUser(tx, caller)
    if (idempotency) await storeResponse(tx, idempotency.rowOf(wire))
    return wire
  }
  return db.transaction(work, turn)
}

/** In the line of the store that the change locks, or else in one of the caller's own. */
async function turnOf(
  db: Db,
  { route, caller, incoming }: Call,
  args: { caller: never; params: Record<string, string>; body: unknown },
): Promise<Turn | undefined> {
  if (!caller) return undefined
  const { storeId } = incoming.params
  if (needsRights(route.needs) && storeId) return { holder: storeId, caller }
  return { holder: caller.id, ...(await route.storeTurn?.({ ...args, db })), caller }
}

/** A change of an account concerns no key: whoever makes many would cost everybody a look-up for each of theirs. */
export function invalidateChanged(caches: AuthCaches, id: string | undefined): void {
  if (id === undefined) caches.callers.invalidate()
  else invalidate(caches, id)
}

/** Before a change is answered: evicts every caller, and the key of this id, or the keys of the store of this id, or all. */
export function invalidate(caches: AuthCaches, id: string | undefined): void {
  caches.callers.invalidate(id)
  caches.keys.invalidate(id)
}
