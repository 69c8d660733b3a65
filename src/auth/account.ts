// Whom a store counts for, where tenants take turns, or share what a node has: whoever has many stores gets no more than
// others.

import { MINUTE } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { fragment, sql } from '../db/sql.ts'

/**
 * Of its owners, the one who has been a member the longest: whoever is made an owner of somebody else's store does not have to
 * answer for it. A deleted store may have lost its owners: such stores count together. The trigger that writes the outbox of
 * webhooks says the same.
 */
export const accountOf = (storeId: 'webhook.store_id' | 'listed.store_id' | 'asked.store_id') =>
  fragment(`
    coalesce((
      select user_id
        from members
       where store_id = ${storeId}
         and role = 'OWNER'
       order by created_at, user_id
       limit 1
    ), '-')`)

export type AccountLookup = (storeId: string) => Promise<string>

const MAX_REMEMBERED = 10_000

/**
 * Remembers what it found, and looks again after a minute, while nobody waits: owners seldom change. A store that cannot be
 * looked up counts for itself.
 */
export function newAccountLookup(db: Pick<Db, 'one'>, clock = () => performance.now()): AccountLookup {
  const remembered = new Map<string, { account: string; until: number }>()
  const look = async (storeId: string) => {
    const found = await db.one<{ account: string }>(sql`
      select ${accountOf('asked.store_id')} as account
        from (select ${storeId}::text as store_id) as asked`)
    const account = found?.account ?? '-'
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(storeId, { account, until: clock() + MINUTE })
    return account
  }
  return async (storeId) => {
    const known = remembered.get(storeId)
    if (!known) return look(storeId).catch(() => storeId)
    if (known.until <= clock()) {
      known.until = clock() + MINUTE
      void look(storeId).catch(() => {})
    }
    return known.account
  }
}
