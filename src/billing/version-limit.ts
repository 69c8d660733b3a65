// How many versions a user's addresses in one store may make in a day. Versions stay for ever, so a customer who changes
// addresses in a loop would fill the database. Deleting, which also leaves a version, is never refused, but counts.

import { addMs, ago, DAY, now } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import { fragment, type Sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'

/**
 * A column: when the first of the versions that use up the limit was made, or null while there are fewer. `owner` is the
 * row with `store_id` and `user_id`.
 */
export function limitedSince({ maxVersionsPerDay: max }: Instance, owner: string): Sql {
  return fragment(
    `(select until
        from address_versions
       where store_id = ${owner}.store_id
         and user_id = ${owner}.user_id
         and until > $1
       order by until desc
      offset $2
       limit 1)`,
    ago(DAY),
    max - 1,
  )
}

export function failVersionLimit({ maxVersionsPerDay: max }: Instance, since: Date): never {
  return fail('rate_limited', {
    retryAfterSeconds: Math.max(1, Math.ceil((addMs(since, DAY).getTime() - now().getTime()) / 1000)),
    detail: `Your addresses in this store were changed or deleted ${max} times within 24 hours, which is the limit. Wait for "Retry-After" seconds. You can still delete addresses.`,
  })
}
