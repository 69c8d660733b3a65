// A user of an identity provider is made at first sight. Afterwards the answer changes only when they are erased, so it is
// kept in memory until somebody finds that they were.

import { now } from '../clock.ts'
import { type Db, sql } from '../db/db.ts'
import { newEvent, writeEvents } from '../events/event.ts'
import type { Here } from '../here.ts'
import { newId } from '../ids.ts'
import { newDataKey } from './data-key.ts'

const MOST_KNOWN = 10_000
const known = new WeakMap<Here, Map<string, string>>()

export async function findOrCreateSubject(
  db: Db,
  here: Here,
  issuer: string,
  subject: string,
  ip: string,
): Promise<string> {
  const ids = known.get(here) ?? new Map<string, string>()
  known.set(here, ids)
  const name = JSON.stringify([issuer, subject])
  const id =
    ids.get(name) ?? (await findSubject(db, issuer, subject)) ?? (await createSubject(db, here, issuer, subject, ip))
  if (ids.size >= MOST_KNOWN) ids.clear()
  ids.set(name, id)
  return id
}

export function forgetSubject(here: Here, userId: string | null): void {
  const ids = known.get(here) ?? new Map<string, string>()
  for (const [name, id] of ids) if (id === userId) ids.delete(name)
}

async function findSubject(db: Db, issuer: string, subject: string): Promise<string | null> {
  const user = await db.one<{ id: string }>(sql`
    select id
      from users
     where issuer = ${issuer}
       and subject = ${subject}`)
  return user?.id ?? null
}

/** Two first requests at once make one user: the second finds what the first has made. */
async function createSubject(db: Db, here: Here, issuer: string, subject: string, ip: string): Promise<string> {
  const id = newId('user')
  const dataKey = newDataKey(here.keyring, id)
  const made = await db.transaction(async (tx) => {
    const rows = await tx.query(sql`
      insert into users (id, issuer, subject, data_key, data_key_kid, created_at, updated_at)
      values (${id}, ${issuer}, ${subject}, ${dataKey.wrapped}, ${dataKey.kid}, ${now()}, ${now()})
          on conflict (issuer, subject) do nothing
   returning id`)
    if (rows.length > 0) await writeEvents(tx, [newEvent({ kind: 'user', id, ip }, null, 'user.created', id, {})])
    return rows.length > 0
  })
  return made ? id : ((await findSubject(db, issuer, subject)) as string)
}
