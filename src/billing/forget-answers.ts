// Answers that are kept for retries and show an address. They are sealed for the caller: those to a store's keys and members
// would outlive the key of the user whose address they show.

import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'

/**
 * Deletes the answers that show addresses of those among these users whose key is gone: when they are erased, and when a
 * hold ends that kept a version readable beyond that. A retry then runs anew, and finds what is there now.
 */
export async function forgetAnswers(tx: Db, userIds: string[]): Promise<void> {
  if (userIds.length === 0) return
  await tx.query(sql`
    delete from idempotent_responses
     where resource_id ^@ 'addr_'
       and resource_id = any(array(
             select content.address_id
               from address_contents content
              where content.user_id = any(${userIds})
                and not exists (select from users where id = content.user_id and data_key is not null)
           ))`)
}
