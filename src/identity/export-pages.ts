// How the lists of an export are read: a page at a time, a few pages at once on a node, and the user's session is looked
// at again before each page.

import type { UserCaller } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import { type Db, sql } from '../db/db.ts'
import { newSemaphore } from '../limits/semaphore.ts'

export const PAGE = 500

/** Pages are read two at a time, whoever asks. More exports than can wait here are never under way. */
export const exportSlots = newSemaphore(2, 1_000)

/** Newest first, until there is no more. `read` gives the rows below a place, and `placeOf` says where a row stands. */
export async function* pagesOf<Row, Item>(
  db: Db,
  caller: UserCaller,
  read: (below: string) => Promise<Row[]>,
  placeOf: (row: Row) => string,
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
    below = placeOf(last)
  }
}

/** After every id. */
export const LAST = '~'

/** Whoever takes long to read may have been signed out or erased meanwhile, and hears no more. */
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
