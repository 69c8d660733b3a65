// Moves the API keys of a better-auth database (PostgreSQL, the table `apikey` of its api-key plugin) into a store, through
// POST …/keys/import. What it needs stands in docs/guides/moving-keys.md. It may be run again at any time: keys that were
// moved before are told as such, and not changed.

import { parseArgs } from 'node:util'
import pg from 'pg'
import { type BetterAuthKey, toLine } from './better-auth-key.ts'

const AT_ONCE = 1_000

const { values: options } = parseArgs({
  options: {
    store: { type: 'string' },
    url: { type: 'string', default: 'http://127.0.0.1:3000' },
    table: { type: 'string', default: 'apikey' },
    type: { type: 'string', default: 'PROD' },
    permissions: { type: 'string', default: 'READ' },
    plain: { type: 'boolean', default: false },
  },
})
const { BETTER_AUTH_DATABASE_URL: connectionString, STOREKEEPER_TOKEN: token } = process.env
const { store, table } = options
if (!connectionString || !token || !store)
  throw new Error('Set BETTER_AUTH_DATABASE_URL and STOREKEEPER_TOKEN, and name the store with --store.')

const counts = { created: 0, exists: 0, failed: 0, skipped: 0 }
const client = new pg.Client({ connectionString })
await client.connect()
try {
  for (let after = ''; ; ) {
    const { rows } = await client.query<BetterAuthKey>(
      `select * from ${pg.escapeIdentifier(table)} where id::text > $1 order by id::text limit $2`,
      [after, AT_ONCE],
    )
    if (rows.length === 0) break
    await move(rows)
    after = String(rows.at(-1)?.id)
    console.error(JSON.stringify(counts))
  }
} finally {
  await client.end()
}
if (counts.failed > 0) process.exitCode = 1

type Result = { index: number; id?: string; status: 'created' | 'exists' | 'failed'; errors?: unknown[] }

/** Prints a line for each key: its id there, what became of it, and its id here or why it has none. */
async function move(rows: BetterAuthKey[]): Promise<void> {
  const now = new Date()
  const defaults = { type: options.type, permissions: options.permissions.split(',') }
  const lines = rows.map((row) => ({ row, ...toLine(row, { ...defaults, plain: options.plain }, now) }))
  for (const { row, skipped } of lines) if (skipped) tell(row, 'skipped', skipped)
  const sent = lines.filter(({ skipped }) => skipped === null)
  for (const { index, id, status, errors } of await send(sent.map(({ line }) => line)))
    tell(sent[index]?.row as BetterAuthKey, status, id ?? errors)
}

function tell(row: BetterAuthKey, status: keyof typeof counts, more: unknown): void {
  counts[status] += 1
  console.log(
    JSON.stringify({
      betterAuthId: String(row.id),
      status,
      ...(status === 'skipped' || status === 'failed' ? { why: more } : { id: more }),
    }),
  )
}

/** A request that is too large, because of its metadata, is sent in halves. */
async function send(keys: unknown[]): Promise<Result[]> {
  if (keys.length === 0) return []
  const response = await fetch(`${options.url}/v1/user/store/${store}/keys/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ keys }),
  })
  if (response.status === 413 && keys.length > 1) {
    const half = Math.ceil(keys.length / 2)
    const rest = (await send(keys.slice(0, half))).concat(
      (await send(keys.slice(half))).map((result) => ({ ...result, index: result.index + half })),
    )
    return rest
  }
  if (response.status !== 200)
    throw new Error(`The import was answered with ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { results: Result[] }).results
}
