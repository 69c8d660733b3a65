// Which stores an erasure waits for, and what happens to its user at the same moment.

import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { NEW_KEY, type Person, type Shop, shop } from '../../tests/shop.ts'
import { sql as statement } from '../db/sql.ts'
import { eraseOwnersLeft } from './erase-owners.ts'

test('whoever never was more than a customer of a store is erased without its lock; others wait for it', async () => {
  const { api, member, owner, store, service, sql } = await shop()
  const as = { as: owner.token }
  const members = `/v1/user/store/${store.id}/members`
  const [customer, former, trusted, linked] = [
    await member('CUSTOMER'),
    await member('STAFF'),
    await member('CUSTOMER'),
    await member('CUSTOMER'),
  ]
  await api.patch(`${members}/${former.id}`, { role: 'CUSTOMER' }, as)
  await api.patch(`${members}/${trusted.id}`, { permissions: ['READ'] }, as)
  await api.put(`/v1/user/store/${store.id}/customers/ada`, { userId: linked.id }, as)
  const erase = async (person: { token: string }) => {
    const { status, body } = await api.delete('/v1/user', { as: person.token })
    return status === 503 ? body.detail : status
  }
  await service.db.transaction(async (tx) => {
    await tx.query(statement`select id from stores where id = ${store.id} for no key update`)
    expect(await erase(customer)).toBe(200)
    const busy = `The store ${store.id} is busy. Try again, or end the membership there first.`
    expect(await Promise.all([former, trusted, linked].map(erase))).toEqual([busy, busy, busy])
  })
  for (const person of [former, trusted, linked]) expect(await erase(person)).toBe(200)
  expect(await sql('select user_id from members where store_id = $1', [store.id])).toEqual([{ user_id: owner.id }])
  const { body } = await api.get(`/v1/user/store/${store.id}/events?type=user.erased`, as)
  expect(body.data.map(({ data }: { data: { role: string } }) => data.role)).toEqual(Array(4).fill('CUSTOMER'))
})

test('a customer who is linked, promoted or removed at the moment they erase themselves is gone afterwards, once', async () => {
  const world = await shop({ alone: true })
  const { api, member, owner, store, sql } = world
  const other = await world.node()
  const as = { as: owner.token }
  const path = `/v1/user/store/${store.id}`
  const changes: ((id: string, n: number) => Promise<{ status: number }>)[] = [
    (id, n) => other.put(`${path}/customers/c${n}`, { userId: id }, as),
    (id) => other.patch(`${path}/members/${id}`, { role: 'MANAGER' }, as),
    (id) => other.delete(`${path}/members/${id}`, as),
  ]
  const done = [201, 200, 200]
  for (let n = 0; n < 36; n++) {
    const person = await member('CUSTOMER')
    const change = changes[n % 3] as (typeof changes)[number]
    const [erased, changed] = await Promise.all([api.delete('/v1/user', { as: person.token }), change(person.id, n)])
    expect(erased.status).toBe(200)
    const came = changed.status === done[n % 3]
    if (!came) expect([404, 422]).toContain(changed.status)
    // Removing a former member is answered with 200 too, and is no event.
    const events = await sql('select type from events where subject = $1 and type = any($2)', [
      person.id,
      ['customer.created', 'member.updated', 'member.removed'],
    ])
    if (n % 3 === 2) expect(events.length).toBeLessThanOrEqual(1)
    else expect(events).toHaveLength(came ? 1 : 0)
    for (const table of ['members', 'customers'])
      expect(await sql(`select user_id from ${table} where user_id = $1`, [person.id]), `${n} ${table}`).toEqual([])
    expect(await sql('select data_key from users where id = $1', [person.id])).toEqual([{ data_key: null }])
  }
  expect(await sql('select deadlocks::int from pg_stat_database where datname = current_database()')).toEqual([
    { deadlocks: 0 },
  ])
})

test('whoever joins a store and adds an address at the moment they erase themselves waits for nobody who waits for them', async () => {
  const { api, person, store, sql, databaseUrl } = await shop()
  const guest = await person()
  const [joining, another, adding] = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const client = new pg.Client({ connectionString: databaseUrl })
      onTestFinished(() => client.end())
      await client.connect()
      await client.query('begin')
      return client
    }),
  )
  await another?.query('select from users where id = $1 for key share', [guest.id])
  await joining?.query(
    `insert into members (store_id, user_id, role, created_at, updated_at) values ($1, $2, 'CUSTOMER', now(), now())`,
    [store.id, guest.id],
  )
  const erasing = api.delete('/v1/user', { as: guest.token })
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(() => sql(waits)).toHaveLength(1)
  await joining?.query('commit')
  // As a new address takes its locks (billing/insert.ts).
  await adding?.query('select from members where user_id = $1 for no key update', [guest.id])
  await adding?.query('select from sessions where user_id = $1 for key share', [guest.id])
  await another?.query('commit')
  await expect.poll(() => sql(waits)).toHaveLength(1)
  await adding?.query('select from users where id = $1 for key share', [guest.id])
  await adding?.query('commit')
  expect((await erasing).status).toBe(200)
  expect(await sql('select from members where user_id = $1', [guest.id])).toEqual([])
})

/** Locks a key, until `release` is called. */
const holdKey = (world: Shop, keyId: string) => hold(world, 'api_keys', keyId)

async function hold({ databaseUrl, sql }: Shop, table: 'api_keys' | 'stores', id: string) {
  const client = new pg.Client({ connectionString: databaseUrl })
  onTestFinished(() => client.end())
  await client.connect()
  const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows
  await client.query('begin')
  await client.query(`select from ${table} where id = $1 for no key update`, [id])
  return {
    /** Whether somebody waits for longer than those who try a lock again and again. */
    isWaitedForPatiently: async () =>
      (
        await sql(
          `select
             from pg_stat_activity
            where $1 = any(pg_blocking_pids(pid))
              and query_start < clock_timestamp() - interval '200 ms'`,
          [pid],
        )
      ).length > 0,
    isWaitedFor: () =>
      expect
        .poll(() => sql('select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))', [pid]))
        .toHaveLength(1),
    release: () => client.query('rollback'),
  }
}

/** An erasure under way, and whether it has been answered. */
function erase({ api }: Shop, { token }: Person, query = '') {
  const erasing = { answered: false, reply: api.delete(`/v1/user${query}`, { as: token }) }
  void erasing.reply.finally(() => {
    erasing.answered = true
  })
  return erasing
}

/** Another store of somebody else, of which the person is a member, later in the order of locks. */
async function elsewhere({ api, person, sql }: Shop, who: Person, role: string) {
  const other = await person('Accomplice')
  const { body: store } = await api.post('/v1/user/store', { name: 'Elsewhere' }, { as: other.token })
  await sql(`insert into members (store_id, user_id, role, created_at, updated_at) values ($1, $2, $3, now(), now())`, [
    store.id,
    who.id,
    role,
  ])
  const keys = `/v1/user/store/${store.id}/keys`
  return { as: { as: other.token }, store: `/v1/user/store/${store.id}`, keys, owner: other }
}

test('a store in which the user is linked is not held while their keys in another store are given a pseudonym', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, keys, sql } = world
  const linked = await world.member('CUSTOMER')
  const there = await elsewhere(world, linked, 'CUSTOMER')
  const as = { as: owner.token }
  await api.put(`/v1/user/store/${store.id}/customers/ada`, { userId: linked.id }, as)
  await api.put(`${there.store}/customers/eve`, { userId: linked.id }, there.as)
  const here = (await api.post(keys, { ...NEW_KEY, owner: 'ada' }, as)).body
  const key = (await api.post(there.keys, { ...NEW_KEY, owner: 'eve' }, there.as)).body
  const held = await holdKey(world, key.id)
  const erasing = erase(world, linked)
  await held.isWaitedFor()
  expect((await api.delete(`${keys}/${here.id}`, as)).status).toBe(200)
  const late = (await api.post(keys, { ...NEW_KEY, owner: 'ada' }, as)).body
  expect([late.owner, erasing.answered]).toEqual(['ada', false])
  await held.release()
  expect((await erasing.reply).status).toBe(200)
  expect(await sql('select external_id from customers')).toEqual([])
  const owners = await sql('select id, owner from api_keys order by id')
  const pseudonym = expect.stringMatching(/^erased-/)
  expect(owners).toEqual([
    { id: here.id, owner: pseudonym },
    { id: key.id, owner: pseudonym },
    // Made for somebody whom the store did not know by that id any more.
    { id: late.id, owner: 'ada' },
  ])
})

test('a store of which the user is a manager is not held while keys that they made in another store are revoked', async () => {
  const world = await shop()
  const { api, owner, keys } = world
  const manager = await world.member('MANAGER')
  const there = await elsewhere(world, manager, 'MANAGER')
  const [as, mine] = [{ as: owner.token }, { as: manager.token }]
  const here = (await api.post(keys, NEW_KEY, mine)).body
  const key = (await api.post(there.keys, NEW_KEY, mine)).body
  const held = await holdKey(world, key.id)
  const erasing = erase(world, manager, '?keys=revoke')
  await held.isWaitedFor()
  expect((await api.delete(`${keys}/${here.id}`, as)).status).toBe(200)
  expect(erasing.answered).toBe(false)
  await held.release()
  expect((await erasing.reply).status).toBe(200)
  for (const [path, asker] of [
    [`${keys}/${here.id}`, as],
    [`${there.keys}/${key.id}`, there.as],
  ] as const)
    expect((await api.get(path, asker)).body.status).toBe('REVOKED')
})

test('a store that is busy is waited for patiently, while no other store of the user is held', async () => {
  // On a busy machine an erasure may have given up before all of it is shown.
  for (let tries = 0; tries < 5; tries++) if (await waitsForBusyStore()) return
  expect.fail('It was not waited for.')
})

/** False when the erasure was refused. */
async function waitsForBusyStore(): Promise<boolean> {
  const world = await shop()
  const { api, owner, store, sql } = world
  const manager = await world.member('MANAGER')
  const [busy, last] = [await elsewhere(world, manager, 'MANAGER'), await elsewhere(world, manager, 'MANAGER')]
  const { id: busyId } = (await api.get(busy.store, busy.as)).body
  const key = (await api.post(last.keys, NEW_KEY, { as: manager.token })).body
  const heldKey = await holdKey(world, key.id)
  const erasing = erase(world, manager, '?keys=revoke')
  // The other stores were worked on by then, each by itself.
  await heldKey.isWaitedFor()
  const heldStore = await hold(world, 'stores', busyId)
  await heldKey.release()
  while (!erasing.answered && !(await heldStore.isWaitedForPatiently()));
  const changed = await Promise.all([
    api.patch(`/v1/user/store/${store.id}`, { name: 'Not held' }, { as: owner.token }),
    api.patch(last.store, { name: 'Not held' }, last.as),
  ])
  const wasAnswered = erasing.answered
  await heldStore.release()
  const { status } = await erasing.reply
  if (wasAnswered || status === 503) return false
  expect([status, ...changed.map((reply) => reply.status)]).toEqual([200, 200, 200])
  expect(await sql('select from members where user_id = $1', [manager.id])).toEqual([])
  return true
}

test('what the user makes in a store after it was settled is ended too, and listed once', async () => {
  const world = await shop({ alone: true })
  const { api, keys, sql, store } = world
  const manager = await world.member('OWNER')
  const there = await elsewhere(world, manager, 'MANAGER')
  const as = { as: manager.token }
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const tokens = `/v1/user/store/${store.id}/service-tokens`
  const make = async () => [
    (await api.post(keys, NEW_KEY, as)).body.id,
    (await api.post(webhooks, { url: 'https://example.com/hook', types: ['key.created'] }, as)).body.id,
    (await api.post(tokens, { name: 'Gateway' }, as)).body.id,
  ]
  const early = await make()
  const key = (await api.post(there.keys, NEW_KEY, as)).body
  const held = await holdKey(world, key.id)
  const erasing = erase(world, manager, '?keys=revoke&webhooks=disable')
  await held.isWaitedFor()
  const late = await make()
  await held.release()
  const { status, body } = await erasing.reply
  expect(status).toBe(200)
  const idsOf = (kind: string) => body[kind].map(({ id }: { id: string }) => id).sort()
  const made = [early, late].flat()
  expect([...idsOf('keys'), ...idsOf('webhooks'), ...idsOf('serviceTokens')].sort()).toEqual([...made, key.id].sort())
  expect(await sql('select id from api_keys where revoked_at is null')).toEqual([])
  expect(await sql('select id from webhooks where enabled')).toEqual([])
  expect(await sql('select id from service_tokens where revoked_at is null')).toEqual([])
})

test('a store that links the user meanwhile, to an id with many keys, is worked on by itself', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, keys, sql } = world
  const linked = await world.member('CUSTOMER')
  const there = await elsewhere(world, linked, 'MANAGER')
  const as = { as: owner.token }
  const customers = `/v1/user/store/${store.id}/customers`
  await api.put(`${customers}/ada`, { userId: linked.id }, as)
  await api.post(keys, { ...NEW_KEY, owner: 'ada' }, as)
  const many = (await api.post(keys, { ...NEW_KEY, owner: 'many' }, as)).body
  const columns = await sql(
    `select column_name as name from information_schema.columns where table_name = 'api_keys' and is_generated = 'NEVER'`,
  )
  const values: Record<string, string> = {
    id: `'key_00a' || lpad(n::text, 23, '0')`,
    hash: `sha256(('a' || n)::bytea)`,
  }
  await sql(
    `insert into api_keys (${columns.map(({ name }) => name)})
     select ${columns.map(({ name }) => values[name] ?? `original.${name}`)}
       from api_keys original, generate_series(1, 2500) as n
      where original.id = $1`,
    [many.id],
  )
  const key = (await api.post(there.keys, NEW_KEY, { as: linked.token })).body
  const held = await holdKey(world, key.id)
  const erasing = erase(world, linked, '?keys=revoke')
  await held.isWaitedFor()
  expect((await api.delete(`${customers}/ada`, as)).status).toBe(200)
  expect((await api.put(`${customers}/many`, { userId: linked.id }, as)).status).toBe(201)
  const heldAgain = await holdKey(world, many.id)
  await held.release()
  await heldAgain.isWaitedFor()
  expect((await api.patch(there.store, { name: 'Not held' }, there.as)).status).toBe(200)
  expect(erasing.answered).toBe(false)
  await heldAgain.release()
  expect((await erasing.reply).status).toBe(200)
  expect(await sql('select from customers')).toEqual([])
  expect(await sql(`select distinct owner from api_keys where not owner ^@ 'erased-'`)).toEqual([])
})

test('an erasure that is refused in the end leaves the owner of keys and the link as they were', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, keys, sql } = world
  const as = { as: owner.token }
  const linked = await world.member('CUSTOMER')
  await api.put(`/v1/user/store/${store.id}/customers/ada`, { userId: linked.id }, as)
  const owned = (await api.post(keys, { ...NEW_KEY, owner: 'ada' }, as)).body
  const there = await elsewhere(world, linked, 'MANAGER')
  const made = (await api.post(there.keys, NEW_KEY, { as: linked.token })).body
  const held = await holdKey(world, made.id)
  const erasing = erase(world, linked, '?keys=revoke')
  await held.isWaitedFor()
  expect((await api.post('/v1/user/store', { name: 'Mine' }, { as: linked.token })).status).toBe(201)
  await held.release()
  expect((await erasing.reply).body.code).toBe('last_owner')
  expect((await api.get(`${keys}/${owned.id}`, as)).body.owner).toBe('ada')
  expect(await sql('select external_id, user_id from customers')).toEqual([{ external_id: 'ada', user_id: linked.id }])
})

test('the owners that a node could not erase any more are erased by maintenance, except in a store that is busy', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, keys, service, sql } = world
  const as = { as: owner.token }
  const [gone, taken] = [
    (await api.post(keys, { ...NEW_KEY, owner: 'ada' }, as)).body,
    (await api.post(keys, { ...NEW_KEY, owner: 'eve' }, as)).body,
  ]
  await api.put(`/v1/user/store/${store.id}/customers/eve`, {}, as)
  const actor = { kind: 'user', id: 'user_gone', ip: '127.0.0.1', sessionId: null }
  for (const name of ['ada', 'eve'])
    await sql('insert into owners_to_erase (store_id, owner, actor) values ($1, $2, $3)', [
      store.id,
      name,
      JSON.stringify(actor),
    ])
  const busy = await hold(world, 'stores', store.id)
  expect(await eraseOwnersLeft(service.db)).toBe(0)
  await busy.release()
  await eraseOwnersLeft(service.db)
  expect(await sql('select from owners_to_erase')).toEqual([])
  expect((await api.get(`${keys}/${gone.id}`, as)).body.owner).toMatch(/^erased-/)
  // Somebody has that id now.
  expect((await api.get(`${keys}/${taken.id}`, as)).body.owner).toBe('eve')
  const events = await sql(`select subject, actor ->> 'id' as by from events where type = 'key.updated'`)
  expect(events).toEqual([{ subject: gone.id, by: 'user_gone' }])
})

test('whoever becomes the last owner of a store meanwhile is told so, is still there, and can ask again', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, sql } = world
  const second = await world.member('OWNER')
  const there = await elsewhere(world, second, 'MANAGER')
  const key = (await api.post(there.keys, NEW_KEY, { as: second.token })).body
  const held = await holdKey(world, key.id)
  const erasing = erase(world, second, '?keys=revoke')
  await held.isWaitedFor()
  expect((await api.post(`/v1/store/${store.id}/leave`, {}, { as: owner.token })).status).toBe(200)
  await held.release()
  const refused = await erasing.reply
  expect([refused.status, refused.body.code]).toEqual([409, 'last_owner'])
  expect((await api.get('/v1/user', { as: second.token })).body.stores).toHaveLength(2)
  expect((await api.delete(`/v1/user/store/${store.id}`, { as: second.token })).status).toBe(204)
  const { status, body } = await api.delete('/v1/user?keys=revoke', { as: second.token })
  expect([status, body.keys.map((made: { id: string }) => made.id)]).toEqual([200, [key.id]])
  expect(await sql(`select count(*)::int from events where type = 'key.revoked'`)).toEqual([{ count: 1 }])
})

test('however often the user was invited and accepted, that is worked on before any store is held', async () => {
  const world = await shop({ alone: true })
  const { api, person, owner, store, sql } = world
  const guest = await person()
  const there = await elsewhere(world, guest, 'STAFF')
  const { id: otherId } = (await api.get(there.store, there.as)).body
  const invite = (email: string) => api.post(`${there.store}/invitations`, { email, role: 'STAFF' }, there.as)
  // In the store of an accomplice: accepted, withdrawn, and one that is open, all of them to one address.
  await sql(
    `insert into invitations (id, store_id, email, role, hash, created_by_kind, created_by_id, created_at, expires_at,
                              accepted_at, accepted_by, withdrawn_at)
     select 'inv_' || n, $1, 'again@example.com', 'STAFF', sha256(n::text::bytea), 'user', $2, now(), now(),
            case when n % 2 = 0 then now() end, case when n % 2 = 0 then $3 end, case when n % 2 = 1 then now() end
       from generate_series(1, 6000) as n`,
    [otherId, there.owner.id, guest.id],
  )
  const open = (await invite('again@example.com')).body.id
  // The lock of a store that has linked them is among those an erasure takes.
  await api.put(`/v1/user/store/${store.id}/customers/ada`, { userId: guest.id }, { as: owner.token })
  const erasing = erase(world, guest)
  for (let n = 0; !erasing.answered; n++)
    expect((await api.patch(`/v1/user/store/${store.id}`, { name: `Shop ${n}` }, { as: owner.token })).status).toBe(200)
  expect((await erasing.reply).status).toBe(200)
  expect(await sql(`select from invitations where email = 'again@example.com'`)).toEqual([])
  expect(await sql('select withdrawn_at is not null as withdrawn from invitations where id = $1', [open])).toEqual([
    { withdrawn: true },
  ])
})

test('an id by which a store knew the user is erased as the owner of keys, however the link ended, unless it is another customer’s', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, keys, sql } = world
  const as = { as: owner.token }
  const path = `/v1/user/store/${store.id}`
  const leave = (person: Person) => api.post(`/v1/store/${store.id}/leave`, {}, { as: person.token })
  const endings: Record<string, (person: Person, name: string) => Promise<unknown>> = {
    left: leave,
    removed: ({ id }) => api.delete(`${path}/members/${id}`, as),
    promoted: ({ id }) => api.patch(`${path}/members/${id}`, { role: 'STAFF' }, as),
    // One after the other.
    linkedTwice: async (person) => {
      await api.patch(`${path}/members/${person.id}`, { role: 'STAFF' }, as)
      await api.patch(`${path}/members/${person.id}`, { role: 'CUSTOMER' }, as)
      await api.put(`${path}/customers/second`, { userId: person.id }, as)
      await api.post(keys, { ...NEW_KEY, owner: 'second' }, as)
      await leave(person)
    },
    givenAway: async (person, name) => {
      await leave(person)
      await api.put(`${path}/customers/${name}`, {}, as)
    },
    // The last one who had the id, and left too.
    passedOn: async (person, name) => {
      await leave(person)
      const next = await world.member('CUSTOMER')
      await api.put(`${path}/customers/${name}`, { userId: next.id }, as)
      await leave(next)
    },
    // The last one who had the id, and was erased; then the store gave it to somebody without a record.
    endedWithAnother: async (person, name) => {
      await leave(person)
      const next = await world.member('CUSTOMER')
      await api.put(`${path}/customers/${name}`, { userId: next.id }, as)
      expect((await api.delete('/v1/user', { as: next.token })).status).toBe(200)
      await api.post(keys, { ...NEW_KEY, owner: name }, as)
    },
    erasedByStore: async (person, name) => {
      await leave(person)
      await api.put(`${path}/customers/${name}`, {}, as)
      await api.delete(`${path}/customers/${name}`, as)
      await api.post(keys, { ...NEW_KEY, owner: name }, as)
    },
  }
  for (const [name, end] of Object.entries(endings)) {
    const person = await world.member('CUSTOMER')
    await api.put(`${path}/customers/${name}`, { userId: person.id }, as)
    await api.post(keys, { ...NEW_KEY, owner: name }, as)
    await end(person, name)
    expect((await api.delete('/v1/user', { as: person.token })).status, name).toBe(200)
    expect(await sql('select from former_links where user_id = $1', [person.id]), name).toEqual([])
  }
  const left = await sql(`select owner from api_keys where not owner ^@ 'erased-' order by id`)
  expect(left.map((key) => key.owner)).toEqual(['givenAway', 'passedOn', 'endedWithAnother', 'erasedByStore'])
  expect(await sql('select from owners_to_erase')).toEqual([])
})
