// Keys that were issued elsewhere. Of each the SHA-256 of its value is known, and an HMAC of that is kept. Each line is
// answered for itself and written whole or not at all; all that are right are written in one statement (create.ts).
//
// A value is a key of a store once and for all: sent again it `exists`, also when its key was revoked, or rotated since.
// The lock of the store keeps two imports of the same value apart.

import { inStore, workInStore } from '../auth/recheck.ts'
import type { Manager } from '../core/caller.ts'
import { newFaultLimit } from '../core/errors.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import { hashImportedKey } from '../crypto/key-hash.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { showKey } from './columns.ts'
import { DAY_LIMIT_REACHED, keyCreated, LIMIT_REACHED, newKeyRow } from './create.ts'
import { withCredits } from './credits.ts'
import { type ParsedLine, parseLines } from './import-lines.ts'
import { insertKeys, toInsertRow } from './insert.ts'
import { recountKeys } from './recount.ts'
import type { KeyImportResult } from './schema.ts'

type Outcome = Answer<{ results: KeyImportResult[] }>

/** A value that lines bring: the hashes it may have in the database, the newest first. */
type Value = { line: ParsedLine; hashes: string[] }

export async function importKeys(
  db: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  lines: unknown[],
  idempotency: Idempotency | null,
): Promise<Outcome> {
  const parsed = await parseLines(instance, await withCredits(db, caller), lines)
  const values = valuesOf(instance, storeId, parsed)
  return inStore(db, caller, storeId, async (tx) => {
    await idempotency?.claim(tx, true)
    const { existing, created, limit } = await workInStore(tx, caller, storeId, async () => {
      const existing = await findKeys(tx, storeId, values)
      const missing = [...values.values()].filter(({ line }) => !existing.has(nameOf(line)))
      return { existing, ...(await createKeys(tx, instance, caller, storeId, missing)) }
    })
    const limitFaults = newFaultLimit()
    const results = parsed.map((line): KeyImportResult => {
      const { n: index, faults } = line
      if (faults.length > 0) return { index, status: 'failed', errors: limitFaults(faults) }
      const name = nameOf(line)
      const id = created.get(name)
      if (id !== undefined && values.get(name)?.line === line) return { index, id, status: 'created' }
      const known = id ?? existing.get(name)
      return known === undefined
        ? { index, status: 'failed', errors: [tooMany(line, limit)] }
        : { index, id: known, status: 'exists' }
    })
    // The keys themselves are cached nowhere yet. That there are imported ones may be news to this node.
    const answer: Outcome = { body: { results }, changedKeys: [...created.values()].slice(0, 1) }
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse(answer))
    return answer
  })
}

const nameOf = ({ digest }: ParsedLine) => digest.toString('base64')

/** By their digests. A value that several lines bring is the first one's. */
function valuesOf({ keyring }: Instance, storeId: string, lines: ParsedLine[]): Map<string, Value> {
  const values = new Map<string, Value>()
  for (const line of lines) {
    if (line.faults.length > 0 || values.has(nameOf(line))) continue
    const keys = keyring.previous ? [keyring.current, keyring.previous] : [keyring.current]
    const hashes = keys.map((one) => hashImportedKey(one, storeId, line.digest).toString('hex'))
    values.set(nameOf(line), { line, hashes })
  }
  return values
}

/** The ids of the keys that have, or had, these values. */
async function findKeys(tx: Db, storeId: string, values: Map<string, Value>): Promise<Map<string, string>> {
  const names = new Map([...values].flatMap(([name, { hashes }]) => hashes.map((hash) => [hash, name] as const)))
  const rows = await tx.query<{ id: string; hash: string }>(sql`
    select id, encode(imported_hash, 'hex') as hash
      from api_keys
     where imported_hash = any (array(select decode(hash, 'hex') from unnest(${[...names.keys()]}::text[]) as hash))
       and store_id = ${storeId}`)
  return new Map(rows.map(({ id, hash }) => [names.get(hash) as string, id]))
}

/** The ids of the new keys, by their values. Those that exceed a limit on keys are not among them; it says which. */
async function createKeys(
  tx: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  values: Value[],
): Promise<{ created: Map<string, string>; limit: string }> {
  const { kid } = instance.keyring.current
  let rest = values.map(({ line, hashes }) => {
    const secret = { start: line.start, hash: hashes[0] as string, kid }
    const row = { ...newKeyRow(caller, storeId, line.spec, secret), enabled: line.enabled, imported: true }
    const event = keyCreated(caller, showKey(row, row.created_at))
    const insert = toInsertRow(instance, caller, row, secret, event, undefined)
    // The session is looked at when all is written (`workInStore`).
    return { name: nameOf(line), id: row.id, insert: { ...insert, session_id: null, rechecked: true } }
  })
  const created = new Map<string, string>()
  let limit = LIMIT_REACHED
  const insert = async () => {
    if (rest.length === 0) return
    const outcomes = await insertKeys(
      tx,
      rest.map((row) => row.insert),
    )
    // Everything but the room in the store was checked already, under the locks that are held.
    const failed = outcomes.find((outcome) => !['created', 'full', 'day full'].includes(outcome))
    if (failed) throw new Error(`An imported key was not created: ${failed}`)
    for (const [i, { name, id }] of rest.entries()) if (outcomes[i] === 'created') created.set(name, id)
    if (outcomes.includes('day full')) limit = DAY_LIMIT_REACHED
    rest = rest.filter((_, i) => outcomes[i] === 'full')
  }
  await insert()
  if (rest.length > 0 && (await recountKeys(tx, instance, caller, storeId))) await insert()
  return { created, limit }
}

function tooMany({ n }: ParsedLine, detail: string) {
  return { pointer: `#/keys/${n}`, code: 'limit_exceeded', detail }
}
