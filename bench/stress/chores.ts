// npm run stress:chores: maintenance among many rows. 2,000,000 stored responses, 1,347,000 of them with a secret past its
// hour and 199,000 past their day; 1,000,000 deliveries of 31 days ago; a store deleted 31 days ago with 200,000 keys and
// 400,000 rows of their usage; 400,000 old hours to roll up. Prints how long each chore took to be done, and how long the
// longest batch held its locks. Fails when something is left, or the secrets took longer than two minutes.

import type { Db } from '../../src/db/db.ts'
import { connect } from '../../src/db/pool.ts'
import { newResponsePurge, newSecretPurge } from '../../src/idempotency/purge.ts'
import { rollUpUsage } from '../../src/keys/usage-retention.ts'
import { purgeStores } from '../../src/stores/purge.ts'
import { sweepDeliveries } from '../../src/webhooks/deliveries.ts'
import { newWorld } from '../world.ts'

const SCALE = Number(process.env.SCALE ?? 1)
const rowsOf = (count: number) => Math.round(count * SCALE)
const MAX_SECRETS_SECONDS = 120

const world = await newWorld()
await fill()
const db = connect({ connectionString: world.url })

// What is past its hour by now: more follows while the script runs.
const { hour } = (await world.sql(`select now() - interval '1 hour' as hour`))[0] as { hour: Date }
const destroySecrets = newSecretPurge()
const left = {
  secrets: `select count(*)::int as count from idempotent_responses
             where reveals_secret and sealed is not null and created_at < '${hour.toISOString()}'`,
  responses: `select count(*)::int as count from idempotent_responses where created_at < now() - interval '25 hours'`,
  deliveries: 'select count(*)::int as count from webhook_deliveries',
  hours: `select count(*)::int as count from key_usage where grain = 'hour' and at < now() - interval '90 days'`,
  stores: 'select count(*)::int as count from stores where deleted_at is not null',
}
const chores: [(db: Db) => Promise<number>, (keyof typeof left)[]][] = [
  [destroySecrets, ['secrets']],
  [newResponsePurge(), ['responses']],
  [rollUpUsage, ['hours']],
  [purgeStores, ['stores']],
  [sweepDeliveries, ['deliveries']],
]
for (const [chore, tasks] of chores) {
  const batches: number[] = []
  const timed: Db = {
    ...db,
    transaction: async (work) => {
      const began = performance.now()
      const result = await db.transaction(work)
      batches.push(performance.now() - began)
      return result
    },
  }
  let [runs, ms] = [0, 0]
  // Each run takes a minute at most; maintenance begins the next one when it is over.
  while (runs === 0 || (await isLeft(tasks))) {
    const began = performance.now()
    await chore(timed)
    ms += performance.now() - began
    runs += 1
  }
  const seconds = Math.round(ms / 100) / 10
  const longest = Math.round(Math.max(...batches))
  console.log(`${chore.name}: ${seconds} s in ${runs} runs, ${batches.length} batches, the longest ${longest} ms`)
  if (chore === destroySecrets && seconds > MAX_SECRETS_SECONDS) process.exitCode = 1
}
await db.close()
await world.close()

async function isLeft(tasks: (keyof typeof left)[]): Promise<boolean> {
  for (const task of tasks) if (Number((await world.sql(left[task]))[0]?.count) > 0) return true
  return false
}

async function fill(): Promise<void> {
  await world.sql(
    `insert into idempotent_responses (lookup, fingerprint, reveals_secret, status, resource_id, kid, salt, sealed, created_at)
     select sha256(n::text::bytea), sha256(n::text::bytea), n % 10 < 7, 201, 'key_' || n, 'kid',
            sha256(n::text::bytea), decode(repeat('00', 900), 'hex'), now() - n * interval '48 ms' * $2
       from generate_series(1, $1::int) as n`,
    [rowsOf(2_000_000), 1 / SCALE],
  )
  await world.sql(
    `insert into webhook_deliveries (webhook_id, id, event_id, type, cause, created_at)
     select 'whk_' || n % 20, n::text, 'evt_1', 'key.created', 'EVENT', now() - interval '31 days'
       from generate_series(1, $1::int) as n`,
    [rowsOf(1_000_000)],
  )
  await world.sql(
    `insert into stores (id, name, registration, leak_grace_seconds, account_id, created_at, updated_at, deleted_at)
     values ('store_gone', 'Gone', 'CLOSED', 0, 'nobody', now(), now(), now() - interval '31 days'),
            ('store_kept', 'Kept', 'CLOSED', 0, 'nobody', now(), now(), null)`,
  )
  await world.sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                           created_by_id, created_at, updated_at)
     select 'key_' || n, case when n > $1 then 'store_kept' else 'store_gone' end, 'k', 'PROD', '{}', '{}', 'x',
            sha256(n::text::bytea), 'kid', 'user', 'user_1', now(), now()
       from generate_series(1, $1::int + 100) as n`,
    [rowsOf(200_000)],
  )
  await world.sql(
    `insert into key_usage (key_id, grain, at, outcome, count)
     select 'key_' || n, 'hour', date_trunc('hour', now()) - hour * interval '1 hour', 'VALID', 1
       from generate_series(1, $1::int) as n, generate_series(1, 2) as hour`,
    [rowsOf(200_000)],
  )
  await world.sql(
    `insert into key_usage (key_id, grain, at, outcome, count)
     select 'key_' || $1::int + 1 + n % 100, 'hour', date_trunc('hour', now()) - interval '91 days' - (n / 100) * interval '1 hour',
            'VALID', 1
       from generate_series(0, $2::int - 1) as n`,
    [rowsOf(200_000), rowsOf(400_000)],
  )
}
