// Keys created, those of many requests in one statement (insert.ts). The full key exists in one answer only; the database
// keeps an HMAC of it, under a key that the database does not hold.

import { checkBounds } from '../auth/bounds.ts'
import { CallerChanged } from '../auth/recheck.ts'
import { creatorOf, type Manager } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { etagOf } from '../core/etag.ts'
import { checkGrant } from '../core/grant.ts'
import { newId } from '../core/ids.ts'
import { KEY_TYPES, type KeyType } from '../core/key-types.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import { hashKey } from '../crypto/key-hash.ts'
import { mintToken } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import { EVENT_TYPES } from '../events/schema.ts'
import { type EventRow, newEvent } from '../events/write.ts'
import { AlreadyAnswered } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { secondsToMidnight } from '../limits/count-today.ts'
import { type KeyRow, type KeySpec, showKey, writeSettings } from './columns.ts'
import { withCredits } from './credits.ts'
import { insertKeys, type KeyOutcome, type KeySecret, toInsertRow } from './insert.ts'
import { resourceOf } from './read.ts'
import { recountKeys } from './recount.ts'
import type { Key } from './schema.ts'

/** How many random characters are shown to tell keys apart: 4 of 32 leave 166 bits. */
const START_CHARACTERS = 4

export async function createKey(
  db: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  spec: KeySpec,
  idempotency: Idempotency | null,
): Promise<Answer<Key & { key: string }>> {
  checkGrant(caller, spec.permissions)
  checkBounds(await withCredits(db, caller), { key: { ...spec, hasCredits: spec.credits !== null } })
  const secret = mintSecret(instance, spec.type)
  const row = newKeyRow(caller, storeId, spec, secret)
  const answer = {
    body: { ...showKey(row, row.created_at), key: secret.value },
    etag: etagOf(row.revision),
    resource: resourceOf({ storeId, keyId: row.id }),
  }
  const event = keyCreated(caller, answer.body)
  const inserted = toInsertRow(instance, caller, row, secret, event, idempotency?.toStoredResponse(answer))
  let outcome = await db.batched(insertKeys, inserted)
  // A retry in the same batch is counted as one more key, though it creates none: more than one try may be due.
  while (outcome === 'full' && (await recountKeys(db, instance, caller, storeId)))
    outcome = await db.batched(insertKeys, inserted)
  return answerFor(outcome, answer)
}

export function keyCreated(caller: Manager, key: Key): EventRow {
  const data = Object.fromEntries(EVENT_TYPES['key.created'].data.map((name) => [name, key[name]]))
  return newEvent(caller, key.storeId, 'key.created', key.id, data)
}

export const LIMIT_REACHED = 'The limit on live keys per store is reached. Revoke keys that are no longer used.'

export const DAY_LIMIT_REACHED =
  'The store has created as many keys since midnight UTC as it can. Revoked and expired keys count too.'

function answerFor<Body>(outcome: KeyOutcome, answer: Answer<Body>): Answer<Body> {
  switch (outcome) {
    case 'created':
      return answer
    case 'answered':
      throw new AlreadyAnswered()
    case 'store gone':
      return fail('store_not_found')
    case 'creator changed':
      throw new CallerChanged()
    case 'full':
      return fail('limit_exceeded', { detail: LIMIT_REACHED })
    case 'day full': {
      const detail = `${DAY_LIMIT_REACHED} Wait for "Retry-After" seconds.`
      return fail('rate_limited', { retryAfterSeconds: secondsToMidnight(), detail })
    }
  }
}

export function mintSecret(instance: Instance, type: KeyType): KeySecret & { value: string } {
  const value = mintToken(instance.keyPrefix, KEY_TYPES[type].tokenKind).reveal()
  const { current } = instance.keyring
  return {
    value,
    start: value.slice(0, value.lastIndexOf('_') + 1 + START_CHARACTERS),
    hash: hashKey(current, value).toString('hex'),
    kid: current.kid,
  }
}

export function newKeyRow(caller: Manager, storeId: string, spec: KeySpec, secret: KeySecret): KeyRow {
  const creator = creatorOf(caller)
  const at = now()
  const row = {
    id: newId('key'),
    store_id: storeId,
    start: secret.start,
    created_by_kind: creator.kind,
    created_by_id: creator.id,
    created_at: at,
    updated_at: at,
    enabled: true,
    imported: false,
    // The columns from here on are left to their defaults in the database.
    last_used_at: null,
    revoked_at: null,
    revocation_reason: null,
    previous_expires_at: null,
    previous_used_at: null,
    revision: 1,
  }
  return writeSettings(row, spec)
}
