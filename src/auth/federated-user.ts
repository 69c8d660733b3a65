// Users of an identity provider are created at their first request. A user's id changes only when they are erased, so
// it is cached without a TTL and evicted when a lookup finds them erased.

import { now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { newDataKey } from './data-key.ts'

const MAX_CACHED = 10_000
const userIds = new WeakMap<Instance, Map<string, string>>()

export async function findOrCreateFederatedUser(
  db: Db,
  instance: Instance,
  issuer: string,
  subject: string,
  ip: string,
): Promise<string> {
  const ids = userIds.get(instance) ?? new Map<string, string>()
  userIds.set(instance, ids)
  const name = JSON.stringify([issuer, subject])
  const id =
    ids.get(name) ??
    (await findFederatedUser(db, issuer, subject)) ??
    (await createFederatedUser(db, instance, issuer, subject, ip))
  if (ids.size >= MAX_CACHED) ids.clear()
  ids.set(name, id)
  return id
}

export function evictFederatedUser(instance: Instance, userId: string | null): void {
  const ids = userIds.get(instance) ?? new Map<string, string>()
  for (const [name, id] of ids) if (id === userId) ids.delete(name)
}

async function findFederatedUser(db: Db, issuer: string, subject: string): Promise<string | null> {
  const user = await db.one<Pick<UsersRow, 'id'>>(sql`
    select id
      from users
     where issuer = ${issuer}
       and subject = ${subject}`)
  return user?.id ?? null
}

/** Of two first requests at once one creates the user, and the other finds it. */
async function createFederatedUser(
  db: Db,
  instance: Instance,
  issuer: string,
  subject: string,
  ip: string,
): Promise<string> {
  const id = newId('user')
  const dataKey = newDataKey(instance.keyring, id)
  const made = await db.transaction(async (tx) => {
    const rows = await tx.query(sql`
      insert into users (id, issuer, subject, data_key, data_key_kid, created_at, updated_at)
      values (${id}, ${issuer}, ${subject}, ${dataKey.wrapped}, ${dataKey.kid}, ${now()}, ${now()})
          on conflict (issuer, subject) do nothing
   returning id`)
    if (rows.length > 0) await writeEvents(tx, [newEvent({ kind: 'user', id, ip }, null, 'user.created', id, {})])
    return rows.length > 0
  })
  return made ? id : ((await findFederatedUser(db, issuer, subject)) as string)
}
