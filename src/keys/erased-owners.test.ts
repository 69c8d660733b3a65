// Owners with more ended keys than one transaction changes, who are erased.

import { expect, test, vi } from 'vitest'
import { serviceClient } from '../../tests/service-client.ts'
import { NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { now } from '../core/clock.ts'
import type { Db } from '../db/db.ts'
import { sql as statement } from '../db/sql.ts'
import { ENDED_AT_ONCE, forgetErasedOwners } from './erased-owners.ts'

const NAME = 'customer-to-forget'
const CHORE_LOCK = 7_305_002

async function create({ api, keys, owner }: Shop, more: object = {}) {
  const { status, body } = await api.post(keys, { ...NEW_KEY, owner: NAME, ...more }, { as: owner.token })
  expect([status, body.errors]).toEqual([201, undefined])
  return body
}

/** As many keys like this one, which come before every other key of the store; every second one is expired and not revoked. */
async function multiply({ sql }: Shop, keyId: string, count: number, letter = 'a'): Promise<void> {
  const columns = await sql(
    `select column_name as name from information_schema.columns where table_name = 'api_keys' and is_generated = 'NEVER'`,
  )
  const values: Record<string, string> = {
    id: `'key_00${letter}' || lpad(n::text, 23, '0')`,
    hash: `sha256(('${letter}' || n)::bytea)`,
    revoked_at: 'case when n % 2 = 0 then original.revoked_at end',
    expires_at: `case when n % 2 = 1 then original.created_at + interval '1 millisecond' end`,
  }
  await sql(
    `insert into api_keys (${columns.map(({ name }) => name)})
     select ${columns.map(({ name }) => values[name] ?? `original.${name}`)}
       from api_keys original, generate_series(1, $2::int) as n
      where original.id = $1`,
    [keyId, count],
  )
}

/** A store with a customer who owns two live keys, a revoked one, and `count` keys that ended before it. */
async function crowded(count: number) {
  const world = await shop({ alone: true })
  const { api, keys, owner, store } = world
  const as = { as: owner.token }
  const path = `/v1/user/store/${store.id}/customers/${NAME}`
  await api.put(path, {}, as)
  const [live, other, ended] = [
    await create(world),
    await create(world),
    await create(world, { credits: { remaining: 9 } }),
  ]
  const add = { ...as, headers: { 'idempotency-key': 'add' } }
  const topUp = () => api.post(`${keys}/${ended.id}/credits`, { add: 1 }, add)
  expect((await topUp()).body.owner).toBe(NAME)
  await api.delete(`${keys}/${ended.id}`, as)
  await multiply(world, ended.id, count)
  return { world, as, path, live: [live, other], ended, topUp }
}

/** While maintenance is busy with something else. */
function withoutChores<T>({ service }: Shop, work: () => Promise<T>): Promise<T> {
  return service.db.transaction(async (tx) => {
    await tx.query(statement`select pg_advisory_xact_lock(${CHORE_LOCK})`)
    return work()
  })
}

const renamed = async ({ sql }: Shop) =>
  (
    await sql(`
      select count(*)::int as events, count(distinct subject)::int as keys, array_agg(distinct actor ->> 'id') as actors
        from events
       where type = 'key.updated'
         and (data ->> 'ownerChanged')::boolean`)
  )[0]

const pending = ({ sql }: Shop) => sql('select owner from erased_owners')

test('500 ended keys are changed under the lock and the others afterwards; nothing shows or finds the erased id meanwhile', async () => {
  const MANY = 3 * ENDED_AT_ONCE + 10
  const { world, as, path, live, ended, topUp } = await crowded(MANY)
  const { api, keys, owner, store, sql } = world
  const other = await world.node()
  const back = await serviceClient(world)
  // Both nodes know the key before.
  for (const node of [api, other]) expect((await back.verify(ended.key, {}, node)).body.owner).toBe(NAME)
  const namesakes = await withoutChores(world, async () => {
    const erased = await api.delete(path, as)
    expect(erased.status).toBe(200)
    expect(erased.body.keys).toHaveLength(1_000)
    expect(erased.body.keys.slice(0, 3).map(({ id, status }: Record<string, string>) => [id, status])).toEqual([
      [ended.id, 'REVOKED'],
      [live[1].id, 'ACTIVE'],
      [live[0].id, 'ACTIVE'],
    ])
    expect(await renamed(world)).toMatchObject({ events: ENDED_AT_ONCE + 2 })
    expect(await pending(world)).toEqual([{ owner: NAME }])

    const listed: Record<string, string>[] = []
    for (let cursor = ''; cursor !== null; ) {
      const { body } = await api.get(`${keys}?limit=100${cursor && `&cursor=${cursor}`}`, as)
      listed.push(...body.data)
      cursor = body.nextCursor
    }
    expect(listed).toHaveLength(MANY + 3)
    expect(new Set(listed.map((key) => key.owner))).toEqual(new Set([expect.stringMatching(/^erased-[0-9a-f]{32}$/)]))
    const [pseudonym] = listed.map((key) => key.owner)
    expect((await api.get(`${keys}?owner=${NAME}`, as)).body.data).toEqual([])
    expect((await api.get(`${keys}/${ended.id}`, as)).body.owner).toBe(pseudonym)
    expect((await api.delete(`${keys}/${ended.id}`, as)).body.owner).toBe(pseudonym)
    expect((await topUp()).body.code).toBe('response_no_longer_available')
    for (const node of [api, other])
      await vi.waitFor(
        async () =>
          expect((await back.verify(ended.key, {}, node)).body).toMatchObject({ code: 'REVOKED', owner: pseudonym }),
        5_000,
      )

    // Somebody else with the same external id has their own keys only, also once these have ended, and those they were given.
    expect((await api.put(path, {}, as)).status).toBe(201)
    const [kept, revoked] = [await create(world), await create(world)]
    await api.delete(`${keys}/${revoked.id}`, as)
    const own = [revoked.id, kept.id]
    expect((await api.get(`${keys}?owner=${NAME}`, as)).body.data.map(({ id }: { id: string }) => id)).toEqual(own)
    const exported = (await api.get(`${path}/export`, as)).body
    expect(exported.keys.map(({ id }: { id: string }) => id)).toEqual(own)
    return own
  })

  await forgetErasedOwners(world.service.db)
  await vi.waitFor(async () => expect(await pending(world)).toEqual([]), 60_000)
  expect(await renamed(world)).toEqual({ events: MANY + 3, keys: MANY + 3, actors: [owner.id] })
  const named = await sql('select id from api_keys where owner = $1 order by id desc', [NAME])
  expect(named.map(({ id }) => id)).toEqual(namesakes)
  expect(await sql('select count(distinct owner)::int from api_keys where store_id = $1', [store.id])) //
    .toEqual([{ count: 2 }])
  expect((await topUp()).body.code).toBe('response_no_longer_available')
})

test('a chore that is interrupted goes on where it stopped, and each key has one event', async () => {
  const MANY = 4 * ENDED_AT_ONCE
  const { world } = await crowded(MANY)
  const { service, sql, store, owner } = world
  // As the erasure writes it, but without waking the service.
  await sql(
    `insert into erased_owners (store_id, owner, pseudonym, actor, erased_at, done_to, worked_at)
     values ($1, $2, 'erased-1', $3, $4, '', now())`,
    [store.id, NAME, { kind: 'user', id: owner.id, ip: null }, now()],
  )
  let batches = 0
  const dying: Db['transaction'] = (work) => {
    batches += 1
    return service.db.transaction(async (tx) => {
      const done = await work(tx)
      // All of the second batch is written, and nothing of it committed.
      if (batches === 2) throw new Error('The node died.')
      return done
    })
  }
  await expect(forgetErasedOwners({ ...service.db, transaction: dying })).rejects.toThrow('died')
  expect(await renamed(world)).toMatchObject({ events: ENDED_AT_ONCE, keys: ENDED_AT_ONCE })
  await forgetErasedOwners(service.db)
  expect(await pending(world)).toEqual([])
  // The two live keys are not the chore's.
  expect(await renamed(world)).toEqual({ events: MANY + 1, keys: MANY + 1, actors: [owner.id] })
})

test('nobody has to call the chore: the erasure does; of two with the same external id it forgets both', async () => {
  const { world, as, path } = await crowded(2 * ENDED_AT_ONCE)
  const { api, keys, sql } = world
  await withoutChores(world, () => api.delete(path, as))
  await api.put(path, {}, as)
  const second = await create(world)
  await api.delete(`${keys}/${second.id}`, as)
  await multiply(world, second.id, ENDED_AT_ONCE, 'b')
  expect((await api.delete(path, as)).status).toBe(200)
  await vi.waitFor(async () => expect(await pending(world)).toEqual([]), 30_000)
  expect(await sql('select id from api_keys where owner = $1', [NAME])).toEqual([])
  const all = 3 + 2 * ENDED_AT_ONCE + 1 + ENDED_AT_ONCE
  expect(await renamed(world)).toMatchObject({ events: all, keys: all })
})

test('a store whose lock somebody holds for long keeps no ended key from being forgotten', async () => {
  const { world, as, path } = await crowded(2 * ENDED_AT_ONCE)
  await withoutChores(world, () => world.api.delete(path, as))
  await world.service.db.transaction(async (tx) => {
    await tx.query(statement`select id from stores where id = ${world.store.id} for no key update`)
    await world.sql(`select pg_notify('storekeeper_erased_owners', '')`)
    await vi.waitFor(async () => expect(await pending(world)).toEqual([]), 30_000)
  })
})
