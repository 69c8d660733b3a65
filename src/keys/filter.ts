// Which keys of a store are meant: those of an owner, or those that pass a filter. For the list, and for changes of many.

import type { KeyType } from '../core/key-types.ts'
import { fragment, type Sql } from '../db/sql.ts'
import { isErasedOwner } from './columns.ts'
import type { KeyStatus } from './schema.ts'

export type KeyFilter = {
  status?: KeyStatus
  type?: KeyType
  /** A part of the name, or the beginning of `start`. */
  q?: string
  createdBy?: string
  /** Not used since then; a key that was never used counts from when it was created. */
  unusedSince?: Date
}

/** Of a row of api_keys: until when the key works, unless it is disabled or frozen. Word for word as in api_keys_made_idx. */
export const WORKS_UNTIL = fragment(
  `(case when revoked_at is null then coalesce(expires_at, 'infinity'::timestamptz) else '-infinity'::timestamptz end)`,
)

/** The keys of a store that work after that time, or after `-infinity`: all that were not revoked. By api_keys_live_idx. */
export function worksAfter(storeId: string, time: Date | '-infinity'): Sql {
  return fragment(`right(store_id, 12) = right($1, 12) and store_id = $1 and ${WORKS_UNTIL.text} > $2`, storeId, time)
}

const OWNED_BY = `
  api_keys.owner = $1
  and not exists (select from erased_owners erased where ${isErasedOwner('api_keys')})`

/**
 * Apart from the filter, so that the index of owners is used (api_keys_owner_idx). Without the keys of somebody who had the
 * same external id and was erased.
 */
export function ownedBy(owner: string): Sql {
  return fragment(OWNED_BY, owner)
}

/** Of a row of api_keys. What is left out passes; the text is always the same, so that the statement stays prepared. */
export function passes({ status, type, q, createdBy, unusedSince }: KeyFilter, at: Date): Sql {
  return fragment(
    `($1::text is null or type = $1)
     and ($2::text is null or created_by_id = $2)
     and ($3::text is null or strpos(lower(name), lower($3)) > 0 or start ^@ $3)
     and ($4::text is null or $4 =
          case when revoked_at is not null then 'REVOKED'
               when expires_at <= $5::timestamptz then 'EXPIRED'
               when not enabled then 'DISABLED'
               else 'ACTIVE'
          end)
     and ($6::timestamptz is null or coalesce(last_used_at, created_at) < $6)`,
    type ?? null,
    createdBy ?? null,
    q ?? null,
    status ?? null,
    at,
    unusedSince ?? null,
  )
}
