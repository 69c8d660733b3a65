// Whom a store counts for, where tenants take turns, or share what a node has: whoever has many stores gets no more than
// others.

import { MINUTE } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'

/**
 * Of its owners, the one whose account is the oldest. A deleted store may have lost its owners: such stores count together. The
 * trigger that writes the outbox of webhooks says the same.
 */
export const accountOf = (storeId: 'webhook.store_id' | 'listed.store_id' | 'asked.store_id') =>
  fragment(`
    coalesce((
      select user_id
        from members
       where store_id = ${storeId}
         and role = 'OWNER'
       order by user_id
       limit 1
    ), '-')`)

export type AccountLookup = (storeId: string) => Promise<string>

const MAX_REMEMBERED = 10_000

/** Remembers what it found for a minute: owners seldom change, and what an account holds too much of, it soon gives back. */
export function newAccountLookup(db: Db): AccountLookup {
  const remembered = new Map<string, { account: string; until: number }>()
  return async (storeId) => {
    const known = remembered.get(storeId)
    if (known && known.until > performance.now()) return known.account
    const found = await db.one<{ account: string }>(sql`
      select ${accountOf('asked.store_id')} as account
        from (select ${storeId}::text as store_id) as asked`)
    const account = found?.account ?? '-'
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(storeId, { account, until: performance.now() + MINUTE })
    return account
  }
}
