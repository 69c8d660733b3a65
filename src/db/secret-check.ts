// Is this the server secret that the database is used with? The database keeps a check value of each secret in use, and a
// node that does not know them all is refused before it writes anything: it would take every key for unknown, could read
// no address, and would write under a secret that nobody else has.
//
// There is one secret in use, or two while it is being changed. A new one is let in by a node that knows the others too;
// the old one is dropped by the first node without it, once "secret rewrap" has moved what can be moved.

import { now } from '../core/clock.ts'
import type { Keyring, ServerKeys } from '../crypto/keyring.ts'
import type { Db } from './db.ts'
import { sql } from './sql.ts'
import type { ServerSecretChecksRow } from './tables.gen.ts'

/** `secretDir`: the folder of the secret file; null when the secret comes from the settings. */
export async function checkServerSecret(db: Db, keyring: Keyring, secretDir: string | null): Promise<void> {
  const { current, previous } = keyring
  const known = previous ? [current, previous] : [current]
  await db.transaction(async (tx) => {
    // Of nodes that start together one decides, and the others compare.
    await tx.query(sql`lock table server_secret_checks in share row exclusive mode`)
    const inUse = await tx.query<ServerSecretChecksRow>(sql`select kid, check_value, since from server_secret_checks`)
    if (inUse.length === 0) return addChecks(tx, await adopt(tx, known, current, secretDir))
    const unknown = inUse.filter(({ check_value }) => !known.some(({ check }) => check.equals(check_value)))
    if (unknown.length === inUse.length) throw wrongSecret(secretDir)
    if (unknown.length > 0) {
      const isInUse = inUse.some(({ check_value }) => current.check.equals(check_value))
      if (!isInUse || !(await isMovedTo(tx, current))) throw secretMissing(secretDir)
      await dropOtherChecks(tx, current)
    }
    await addChecks(tx, [current])
  })
}

/** The other secrets were retired: a node that knows this one alone may start. */
export async function dropOtherChecks(db: Db, { kid }: ServerKeys): Promise<void> {
  await db.query(sql`delete from server_secret_checks where kid <> ${kid}`)
}

async function addChecks(tx: Db, keys: ServerKeys[]): Promise<void> {
  for (const { kid, check } of keys)
    await tx.query(sql`
      insert into server_secret_checks (kid, check_value, since)
      values (${kid}, ${check}, ${now()})
          on conflict (kid) do nothing`)
}

/**
 * A database that has no check value yet takes those of the secrets that something in it is under (each row names its
 * secret by a kid derived from it). An empty one takes the current secret's.
 */
async function adopt(tx: Db, known: ServerKeys[], current: ServerKeys, secretDir: string | null) {
  const [found] = await tx.query<{ empty: boolean; used: string[] }>(sql`
    select not exists (select from users where data_key_kid is not null)
           and not exists (select from webhooks)
           and not exists (select from api_keys) as empty,
           array(
             select kid
               from unnest(${known.map(({ kid }) => kid)}::text[]) as kid
              where exists (select from users where data_key_kid = kid)
                 or exists (select from webhooks where secret_kid = kid)
                 or exists (select from api_keys where hash_kid = kid)
           ) as used`)
  if (!found?.empty && !found?.used.length) throw wrongSecret(secretDir)
  return known.filter((keys) => keys === current || found.used.includes(keys.kid))
}

/** Whether "secret rewrap" was run with this secret as the current one, and has moved what was under the other. */
async function isMovedTo(tx: Db, { kid }: ServerKeys): Promise<boolean> {
  const moved = await tx.one(sql`
    select
      from server_secret
     where kid = ${kid}
       and not exists (select from users where data_key_kid <> ${kid})
       and not exists (select from webhooks where secret_kid <> ${kid})`)
  return moved !== null
}

function wrongSecret(secretDir: string | null): Error {
  return new Error(
    secretDir === null
      ? 'SERVER_SECRET is not the secret that this database is used with. Either SERVER_SECRET is wrong, or the database is (DATABASE_URL, DATA_DIR).'
      : `The file server-secret in ${secretDir} is not the secret that this database is used with: put the right one back from a backup.`,
  )
}

function secretMissing(secretDir: string | null): Error {
  return new Error(
    secretDir === null
      ? 'SERVER_SECRET_PREVIOUS is missing or wrong: the secret of this database is being changed, and until "secret rewrap" was run each node must know both. ("secret retire --force" gives up what is under a lost one.)'
      : `The file server-secret.previous is missing in ${secretDir}: the secret of this database is being changed. Put the file back, or run "secret retire --force" to give up what is under it.`,
  )
}
