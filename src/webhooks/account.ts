// Webhooks take turns by account, so that whoever has many stores and webhooks has no more turns than others.

import { fragment } from '../db/sql.ts'

/**
 * Whom the messages of a store count for: of its owners, the one whose account is the oldest. A deleted store may have lost
 * its owners: such stores count together. The trigger that writes the outbox says the same.
 */
export const accountOf = (storeId: 'webhook.store_id' | 'listed.store_id') =>
  fragment(`
    coalesce((
      select user_id
        from members
       where store_id = ${storeId}
         and role = 'OWNER'
       order by user_id
       limit 1
    ), '-')`)
