// A new billing address: brought into its normal form, written (insert.ts), and answered.

import { CallerChanged } from '../auth/recheck.ts'
import type { Manager } from '../core/caller.ts'
import { type Fault, fail } from '../core/errors.ts'
import { etagOf } from '../core/etag.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { violatedConstraint } from '../db/errors.ts'
import { AlreadyAnswered } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { formatAddress } from './address/format.ts'
import { type AddressInput, normalizeAddress } from './address/normalize.ts'
import { type AddressSpec, insertAddresses, newInsert } from './insert.ts'
import type { AddressOwner } from './owner.ts'
import { showAddress } from './read.ts'
import type { Address, NewAddress, NormalAddress } from './schema.ts'
import type { AddressText } from './sealed-text.ts'
import { failVersionLimit } from './version-limit.ts'

export function parseNewAddress(body: Partial<NewAddress>, _instance: Instance, faults: Fault[]): AddressSpec {
  const { isDefault = false, ...given } = body
  return { ...parseAddress(given, faults), isDefault }
}

/** In its normal form and with its label; or more faults are pushed, and the value must not be used. */
export function parseAddress(given: AddressInput, faults: Fault[]): AddressText {
  const { address, faults: found, warnings } = normalizeAddress(given)
  faults.push(...found)
  return { address: address as NormalAddress, warnings, formatted: address ? formatAddress(address) : [] }
}

export async function createAddress(
  db: Db,
  instance: Instance,
  caller: Manager,
  owner: AddressOwner,
  storeId: string,
  spec: AddressSpec,
  idempotency: Idempotency | null,
): Promise<Answer<Address>> {
  const insert = newInsert(instance, caller, owner, storeId, spec)
  const { id } = insert.row
  // Whether it is the default, and since when, is decided under the lock, so the answer is made there.
  let answer: Answer<Address> | undefined
  const answerOf = (isDefault: boolean, at: Date): Answer<Address> => ({
    body: showAddress(
      { ...insert.row, is_default: isDefault, version: 1, revision: 1, created_at: at, updated_at: at },
      spec,
    ),
    etag: etagOf(1),
    resource: { id, location: `${owner.path}/${id}` },
  })
  const outcome = await db
    .batched(insertAddresses, {
      ...insert,
      lookup: idempotency?.lookups[0] ?? null,
      onInserted: (isDefault, at) => {
        answer = answerOf(isDefault, at)
        return idempotency?.toStoredResponse(answer) ?? null
      },
    })
    .catch((error) => {
      // Another request with the same Idempotency-Key, in another batch or on another node, committed first.
      throw violatedConstraint(error) === 'idempotent_responses_pkey' ? new AlreadyAnswered() : error
    })
  if (outcome instanceof Date) return failVersionLimit(instance, outcome)
  switch (outcome) {
    case 'created':
      return answer as Answer<Address> // set by onInserted, under the lock
    case 'answered':
      throw new AlreadyAnswered()
    case 'gone':
      return fail('store_not_found')
    case 'session ended':
      throw new CallerChanged()
    case 'full':
      return fail('limit_exceeded', {
        detail: 'The limit on addresses per user and store is reached. Delete an address that is no longer used.',
      })
  }
}
