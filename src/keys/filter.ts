// Which keys of a store are meant: those of an owner, or those that pass a filter. For the list, and for changes of many.

import type { KeyType } from '../core/key-types.ts'
import { fragment, type Sql } from '../db/sql.ts'
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

/** Apart from the filter, so that the index of owners is used (api_keys_owner_idx). */
export function ownedBy(owner: string): Sql {
  return fragment('owner = $1', owner)
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
