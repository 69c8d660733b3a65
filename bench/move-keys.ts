// npm run bench:move-keys: 10,000 keys of a better-auth database are moved by scripts/import-better-auth.ts, as its guide
// says, and every one is verified by the value its holder has. Then the script is run again.

import { execFile } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import pg from 'pg'
import { newMembers, newServiceToken, newWorld, runOurs } from './world.ts'

const KEYS = Number(process.env.KEYS ?? 10_000)
const AT_ONCE = 32
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** As better-auth generates a key, 64 letters, and hashes it: SHA-256 in base64url without padding. */
const newValue = () => Array.from({ length: 64 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
const hashed = (value: string) => createHash('sha256').update(value).digest('base64url')

const world = await newWorld()
try {
  const values = Array.from({ length: KEYS }, newValue)
  await world.sql('create database better_auth')
  const theirs = new URL(world.url)
  theirs.pathname = '/better_auth'
  const client = new pg.Client({ connectionString: theirs.href })
  await client.connect()
  await client.query(`
    create table apikey (
      id text primary key, "configId" text not null default 'default', name text, start text, "referenceId" text not null,
      prefix text, key text not null, "refillInterval" integer, "refillAmount" integer, "lastRefillAt" timestamptz,
      enabled boolean, "rateLimitEnabled" boolean, "rateLimitTimeWindow" integer, "rateLimitMax" integer,
      "requestCount" integer, remaining integer, "lastRequest" timestamptz, "expiresAt" timestamptz,
      "createdAt" timestamptz not null, "updatedAt" timestamptz not null, permissions text, metadata text
    )`)
  await client.query(
    `insert into apikey (id, name, start, "referenceId", key, enabled, "rateLimitEnabled", "rateLimitTimeWindow",
                         "rateLimitMax", remaining, "refillAmount", "refillInterval", "expiresAt", "createdAt", "updatedAt",
                         permissions, metadata)
     select 'ba-' || n, 'Key ' || n, 'abcdef', 'user-' || n % 1000, hash, true, n % 2 = 0, 86400000, 1000,
            case when n % 3 = 0 then 500 end, case when n % 3 = 0 then 500 end, case when n % 3 = 0 then 86400000 end,
            case when n % 4 = 0 then now() + interval '1 year' end, now(), now(), '{"orders":["read"]}', '{"plan":"pro"}'
       from unnest($1::text[]) with ordinality as made(hash, n)`,
    [values.map(hashed)],
  )
  await client.end()

  const { storeId, tokens } = await newMembers(world, 1)
  const service = await newServiceToken(world, storeId)
  const ours = await runOurs(world, { MAX_KEYS_PER_STORE: String(KEYS + 1) })
  const move = async () => {
    const began = performance.now()
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', 'scripts/import-better-auth.ts', '--store', storeId, '--url', ours.url],
      {
        env: { ...process.env, BETTER_AUTH_DATABASE_URL: theirs.href, STOREKEEPER_TOKEN: tokens[0] },
        maxBuffer: 1e8,
      },
    )
    const counts: Record<string, number> = {}
    for (const line of stdout.trim().split('\n')) {
      const { status } = JSON.parse(line) as { status: string }
      counts[status] = (counts[status] ?? 0) + 1
    }
    console.log(`moved in ${((performance.now() - began) / 1000).toFixed(1)} s:`, counts)
  }
  await move()
  const codes: Record<string, number> = {}
  const began = performance.now()
  const waiting = [...values]
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
        const response = await fetch(`${ours.url}/v1/keys/verify`, {
          method: 'POST',
          headers: { authorization: `Bearer ${service}`, 'content-type': 'application/json' },
          body: JSON.stringify({ key, permissions: ['READ'] }),
        })
        const { code } = (await response.json()) as { code: string }
        codes[code] = (codes[code] ?? 0) + 1
      }
    }),
  )
  console.log(`verified in ${((performance.now() - began) / 1000).toFixed(1)} s:`, codes)
  await move()
  await ours.stop()
  if (codes.VALID !== KEYS) process.exitCode = 1
} finally {
  await world.close()
}
