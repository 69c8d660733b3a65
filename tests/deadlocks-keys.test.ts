// Two nodes, many stores, keys and people as creators, uses of keys being written all the while: no two statements ever
// wait for each other in a circle. Every lock of many rows is taken in the order of their ids, stores before what is in them.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { STRENGTH } from '../bench/stress/strength.ts'
import { newRandom } from './random.ts'
import { NEW_KEY, shop, USAGE_AT_ONCE } from './shop.ts'

const STORES = 12
const CLIENTS = 16

test('nodes never deadlock', { timeout: 600_000 }, async () => {
  const { api, owner, node, service, databaseUrl } = await shop({}, USAGE_AT_ONCE)
  const nodes = [api, await node()]
  const stores = await Promise.all(
    Array.from({ length: STORES }, async () => {
      const { id } = (await api.post('/v1/user/store', { name: 'One of many' }, { as: owner.token })).body
      const permissions = ['READ', 'MANAGE_KEYS']
      const { key } = (await api.post(`/v1/user/store/${id}/keys`, { ...NEW_KEY, permissions }, { as: owner.token }))
        .body
      return { keys: `/v1/user/store/${id}/keys`, robot: key as string }
    }),
  )
  const statuses = new Set<number>()
  const { seed, pick } = newRandom()
  const client = async (n: number) => {
    for (let i = 0; i < STRENGTH.keyDeadlockRounds; i++) {
      const { keys, robot } = pick(stores)
      const as = n % 2 === 0 ? owner.token : robot
      const once = { as, headers: { 'idempotency-key': randomUUID() } }
      const made = await pick(nodes).post(keys, { ...NEW_KEY, permissions: ['READ'] }, once)
      // On a busy machine some have waited too long.
      if (made.status === 503) continue
      const used = await pick(nodes).get(keys, { as: made.body.key ?? as })
      const rotated = await pick(nodes).post(`${keys}/${made.body.id}/rotate`, { gracePeriodSeconds: 60 }, { as })
      const revoked = i % 2 === 0 ? await pick(nodes).delete(`${keys}/${made.body.id}`, { as }) : rotated
      for (const { status } of [made, used, rotated, revoked]) statuses.add(status)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)))
  // 403: a new key does not hold the permission to list keys.
  expect([...statuses].filter((status) => status !== 503).sort(), `SEED=${seed}`).toEqual([200, 201, 403])
  await service.close(0)
  // A session tells its counts when it ends at the latest.
  const admin = new pg.Client({ connectionString: inject('databaseUrl').replace('DATABASE', 'postgres') })
  await admin.connect()
  const name = new URL(databaseUrl).pathname.slice(1)
  const { rows } = await admin.query('select deadlocks::int from pg_stat_database where datname = $1', [name])
  await admin.end()
  expect(rows).toEqual([{ deadlocks: 0 }])
})
