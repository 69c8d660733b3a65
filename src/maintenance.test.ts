// A backlog of maintenance is worked off in one run, in batches, each a short transaction of its own.

import { expect, onTestFinished, test, vi } from 'vitest'
import { NEW_KEY, shop } from '../tests/shop.ts'
import { HOUR, SECOND } from './core/clock.ts'
import { CHORE_BATCH } from './db/chore.ts'
import type { Db } from './db/db.ts'
import { newResponsePurge, newSecretPurge } from './idempotency/purge.ts'
import { rollUpUsage } from './keys/usage-retention.ts'
import { inTurn } from './maintenance.ts'
import { purgeStores } from './stores/purge.ts'
import { sweepDeliveries } from './webhooks/deliveries.ts'

const MANY = 2 * CHORE_BATCH + 1

test('each chore catches up in one run of bounded batches, and two nodes at the same chores never wait for each other', async () => {
  const { api, owner, keys, store, sql, service } = await shop({ alone: true })
  const { id: keyId } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const batches: number[] = []
  const rows: number[] = []
  const run = async (chore: (db: Db) => Promise<number>) => {
    let count = 0
    const transaction: Db['transaction'] = (work) => {
      count += 1
      return service.db.transaction(work)
    }
    rows.push(await chore({ ...service.db, transaction }))
    batches.push(count)
  }
  const one = async (text: string) => Object.values((await sql(text))[0])[0]

  await sql(
    `insert into idempotent_responses (lookup, fingerprint, reveals_secret, status, kid, salt, sealed, created_at)
     select sha256(n::text::bytea), '', n % 2 = 0, 201, 'kid', 'x', 'x', now() - n * interval '5 seconds'
       from generate_series(1, $1::int * 10) as n`,
    [MANY],
  )
  await run(newSecretPurge())
  await newResponsePurge()(service.db)
  expect(
    await one(`select count(*)::int from idempotent_responses where created_at < now() - interval '25 hours'`),
  ).toBe(0)
  const pastTheirHour = `from idempotent_responses where reveals_secret and created_at < now() - interval '1 hour'`
  expect(await one(`select count(*)::int ${pastTheirHour} and (salt is not null or sealed is not null)`)).toBe(0)
  expect(await one('select count(*)::int from idempotent_responses where salt is not null')).toBeGreaterThan(0)

  await sql(
    `insert into key_usage (key_id, grain, at, outcome, count)
     select $1, 'hour', date_trunc('hour', now()) - interval '91 days' - n * interval '1 hour', outcome, 1
       from generate_series(1, 1500) as n, unnest(array['a', 'b', 'c', 'd', 'e', 'f', 'g']) as outcome`,
    [keyId],
  )
  await run(rollUpUsage)
  expect(await sql('select grain, sum(count)::int as count from key_usage group by grain')) //
    .toEqual([{ grain: 'day', count: 10_500 }])

  await sql(
    `insert into webhook_deliveries (webhook_id, id, event_id, type, cause, created_at)
     select 'whk_1', n::text, 'evt_1', 'key.created', 'EVENT', now() - interval '31 days'
       from generate_series(1, $1::int) as n`,
    [MANY],
  )
  await run(sweepDeliveries)
  expect(await one('select count(*)::int from webhook_deliveries')).toBe(0)

  await sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                           created_by_id, created_at, updated_at)
     select 'key_' || n, $1, 'k', 'PROD', '{}', '{}', 'x', sha256(n::text::bytea), 'kid', 'user', $2, now(), now()
       from generate_series(1, 1200) as n`,
    [store.id, owner.id],
  )
  await sql(
    `insert into key_usage (key_id, grain, at, outcome, count)
     select 'key_' || n, 'hour', now() - hour * interval '1 hour', 'VALID', 1
       from generate_series(1, 1200) as n, generate_series(1, 15) as hour`,
  )
  await sql(`update stores set deleted_at = now() - interval '31 days' where id = $1`, [store.id])
  // Two nodes at once: what one of them is at, the other leaves to it.
  await Promise.all([run(purgeStores), run(purgeStores)])
  await run(purgeStores)
  expect(await one('select count(*)::int from stores')).toBe(0)
  expect(await one('select count(*)::int from api_keys')).toBe(0)
  expect(await one('select count(*)::int from key_usage')).toBe(0)

  const secrets = Math.ceil((MANY * 10 - HOUR / 5000) / 2 / CHORE_BATCH)
  expect(batches[0]).toBeGreaterThan(secrets)
  expect(batches.slice(1, 3)).toEqual([11 + 5, 3 + 1])
  // Counted are the rows that were written or deleted, whichever of two nodes did it.
  expect(rows.slice(1, 3)).toEqual([10_500, MANY])
  expect(rows.slice(3).reduce((sum, count) => sum + count)).toBeGreaterThan(1_200 * 16)
  expect(await one(`select deadlocks::int from pg_stat_database where datname = current_database()`)).toBe(0)
})

test('secrets are destroyed every minute, whatever backlog the other tasks have', () => {
  let ms = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms)
  onTestFinished(() => clock.mockRestore())
  const seconds: Record<string, number> = { secrets: 10, responses: 60, stores: 45 }
  const began: string[] = []
  for (const task of inTurn(['secrets', 'holds', 'responses', 'sessions', 'stores', 'usage'])) {
    began.push(`${ms / SECOND} ${task}`)
    ms += (seconds[task] ?? 0) * SECOND
  }
  expect(began).toEqual([
    '0 secrets',
    '10 holds',
    '10 responses',
    '70 secrets',
    '80 sessions',
    '80 stores',
    '125 usage',
  ])
})
