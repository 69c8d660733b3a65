// How the lists of an export are read: a page at a time, a few pages at once on a node, and the user's session is
// looked at again before each page.

import type { UserCaller } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newSemaphore } from '../limits/semaphore.ts'

export const PAGE = 500

/** Two pages are read at a time on a node. The number of concurrent exports stays far below the waiting limit. */
export const exportSlots = newSemaphore(2, 1_000)

/** Newest first, until there are no more. `read` returns the rows below a position, `placeOf` the position of a row. */
export async function* pagesOf<Row, Item>(
  db: Db,
  caller: UserCaller,
  read: (below: string) => Promise<Row[]>,
  positionOf: (row: Row) => string,
  show: (row: Row) => Item,
): AsyncGenerator<Item[]> {
  for (let below = LAST; ; ) {
    const rows = await exportSlots(async () => {
      await recheckSession(db, caller)
      return read(below)
    })
    yield rows.map(show)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    below = positionOf(last)
  }
}

/** Sorts after every id. */
export const LAST = '~'

/** During a long export the user may have signed out or been erased: then it ends. */
async function recheckSession(db: Db, caller: UserCaller): Promise<void> {
  const there = await db.one(sql`
    select id
      from users
     where id = ${caller.id}
       and erased_at is null
       and (${caller.sessionId}::text is null or exists (select from sessions where id = ${caller.sessionId}))`)
  if (!there) fail('invalid_token')
}

export function idOf(row: { id: string }): string {
  return row.id
}
