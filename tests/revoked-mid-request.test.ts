// What somebody who is being removed tries to get done in their last moment, and how they try to come back.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { fromNow, HOUR, SECOND, travel } from '../src/core/clock.ts'
import { MAX_RUNNING } from '../src/db/turns.ts'
import { NEW_KEY, type Reply, type Shop, shop } from './shop.ts'

const MANAGER = ['READ', 'MANAGE_KEYS', 'MANAGE_MEMBERS']

test('a key that a member makes while they are removed does not outlive them', async () => {
  const { api, node, member, owner, store, keys, sql } = await shop({ alone: true })
  const other = await node()
  for (let round = 0; round < 6; round++) {
    const manager = await member('MANAGER')
    const making = Array.from({ length: 24 }, (_, n) =>
      (n % 2 ? api : other).post(keys, NEW_KEY, { as: manager.token }),
    )
    const removing = api.delete(`/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`, { as: owner.token })
    const made = (await Promise.all(making)).map(({ status }) => status)
    expect((await removing).status).toBe(200)
    // 503: on a busy machine some have waited too long.
    expect(made.filter((status) => ![201, 404, 503].includes(status))).toEqual([])
    expect(await sql('select id from api_keys where created_by_id = $1 and revoked_at is null', [manager.id])).toEqual(
      [],
    )
  }
})

test('nothing that a removed manager asked for is done after the removal was answered', async () => {
  const { api, member, owner, store, sql } = await shop({ alone: true })
  const path = (id: string) => `/v1/user/store/${store.id}/members/${id}`
  for (let round = 0; round < 6; round++) {
    const [manager, friend] = [await member('MANAGER'), await member('CUSTOMER')]
    const changing = Array.from({ length: 8 }, (_, n) =>
      api.patch(path(friend.id), { role: n % 2 ? 'STAFF' : 'MANAGER' }, { as: manager.token }),
    )
    const removed = await api.delete(path(manager.id), { as: owner.token })
    const [removal] = await sql(`select id from events where type = 'member.removed' order by id desc limit 1`)
    expect(removed.status).toBe(200)
    // 503: on a busy machine some have waited too long.
    expect((await Promise.all(changing)).filter(({ status }) => status >= 500 && status !== 503)).toEqual([])
    expect(
      await sql(`select id from events where actor ->> 'id' = $1 and type = 'member.updated' and id > $2`, [
        manager.id,
        removal.id,
      ]),
    ).toEqual([])
  }
})

test('of two owners who remove each other at once one does', async () => {
  const { api, member, store } = await shop()
  const path = (id: string) => `/v1/user/store/${store.id}/members/${id}`
  for (let round = 0; round < 6; round++) {
    const [one, two] = [await member('OWNER'), await member('OWNER')]
    const answers = await Promise.all([
      api.delete(path(two.id), { as: one.token }),
      api.delete(path(one.id), { as: two.token }),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
  }
})

test('keys=revoke reaches the keys that the keys of a member have made', async () => {
  const { api, member, owner, store, keys } = await shop()
  const manager = await member('MANAGER')
  const first = (await api.post(keys, { ...NEW_KEY, permissions: MANAGER }, { as: manager.token })).body
  const second = (await api.post(keys, { ...NEW_KEY, permissions: MANAGER }, { as: first.key })).body
  const removed = await api.delete(`/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`, { as: owner.token })
  expect(removed.body.keys).toEqual([
    { id: second.id, name: 'Checkout', status: 'REVOKED' },
    { id: first.id, name: 'Checkout', status: 'REVOKED' },
  ])
  for (const { key } of [first, second]) expect((await api.get(keys, { as: key })).status).toBe(401)
})

test('whoever holds every permission is not an owner, and neither makes one nor removes one', async () => {
  const { api, member, owner, store, keys } = await shop()
  const { permissions } = (await api.get(`${keys}/grantable`, { as: owner.token })).body
  const mighty = await member('STAFF', permissions)
  const { key } = (await api.post(keys, { ...NEW_KEY, permissions }, { as: owner.token })).body
  const path = (id: string) => `/v1/user/store/${store.id}/members/${id}`
  for (const as of [mighty.token, key])
    for (const [answer, code] of [
      [await api.patch(path(mighty.id), { role: 'OWNER' }, { as }), 'cannot_grant'],
      [
        await api.post(`/v1/user/store/${store.id}/invitations`, { email: 'a@example.com', role: 'OWNER' }, { as }),
        'cannot_grant',
      ],
      [await api.delete(path(owner.id), { as }), 'outranked'],
    ] as const)
      expect([answer.status, answer.body.code]).toEqual([403, code])
})

test('the limit of keys holds although expired keys are revoked with their maker', async () => {
  const { api, member, owner, store, keys } = await shop({ MAX_KEYS_PER_STORE: '3' })
  const manager = await member('MANAGER')
  const expiresAt = fromNow(HOUR).toISOString()
  const make = async (as: string, more = {}) => (await api.post(keys, { ...NEW_KEY, ...more }, { as })).status
  for (let n = 0; n < 3; n++) expect(await make(manager.token, { expiresAt })).toBe(201)
  travel(HOUR + SECOND)
  for (let n = 0; n < 3; n++) expect(await make(owner.token)).toBe(201)
  await api.delete(`/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`, { as: owner.token })
  expect(await make(owner.token)).toBe(409)
})

test('a body with tens of thousands of faults is refused without looking at each of them', async () => {
  const { api, owner, keys } = await shop()
  /** The least of five: what else goes on in this process is counted too. */
  const costOf = async (body: object, errors: unknown) => {
    const costs: number[] = []
    for (let n = 0; n < 5; n++) {
      const before = process.cpuUsage()
      const refused = await api.post(keys, body, { as: owner.token })
      const { user, system } = process.cpuUsage(before)
      expect([refused.status, refused.body.errors]).toEqual([422, errors])
      costs.push(user + system)
    }
    return Math.min(...costs)
  }
  const tooLong = expect.objectContaining({ pointer: '#/name', code: 'too_long' })
  const oneFault = await costOf({ ...NEW_KEY, name: 'x'.repeat(60_000) }, [tooLong])
  const faults = await costOf({ ...NEW_KEY, permissions: Array.from({ length: 30_000 }, () => 0) }, [
    { pointer: '#/permissions', code: 'too_long', detail: 'This has far too many entries.' },
  ])
  expect(faults).toBeLessThan(20 * oneFault)
})

test('what nobody has looked at, beside very many faults, does not pass for sound', async () => {
  const { api, owner, store } = await shop()
  const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`x${n}`, 0]))
  const cases: [string, object][] = [
    ['/v1/auth/sign-up', { email: 5, password: 5 }],
    [`/v1/user/store/${store.id}/webhooks`, { url: 5, types: 5 }],
    [`/v1/user/store/${store.id}/invitations`, { email: 5, role: 5, permissions: 5 }],
  ]
  for (const [path, body] of cases)
    for (const more of [unknown(150), unknown(1_001), { x: Array(1_001).fill(0) }]) {
      const { status, body: told } = await api.post(path, { ...body, ...more }, { as: owner.token })
      expect([path, status, told.code]).toEqual([path, 422, 'invalid_input'])
    }
  // Nor in the query, and there it is pointed at as such.
  const types = Array(1_001).fill('type=x').join('&')
  expect((await api.get(`/v1/user/store/${store.id}/events?${types}`, { as: owner.token })).body.errors).toEqual([
    { pointer: '?type', code: 'too_long', detail: 'This has far too many entries.' },
  ])
})

test('another session of the same user uses up none of the retries', async () => {
  const { api, owner, keys } = await shop()
  const headers = { 'idempotency-key': 'a-key-that-was-lost' }
  const made = await api.post(keys, NEW_KEY, { as: owner.token, headers })
  const { token } = (await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })).body
  for (let n = 0; n < 6; n++) expect((await api.post(keys, NEW_KEY, { as: token, headers })).status).toBe(409)
  for (let n = 0; n < 5; n++) expect((await api.post(keys, NEW_KEY, { as: owner.token, headers })).text).toBe(made.text)
  expect((await api.post(keys, NEW_KEY, { as: owner.token, headers })).body.code).toBe('secret_no_longer_available')
})

test('a secret that strays into a path or a name is not repeated', async () => {
  const { api, owner, keys } = await shop()
  const { key } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const strayed = [
    await api.get(`${keys}/${key}`, { as: owner.token }),
    await api.post(keys, { ...NEW_KEY, [key]: 1 }, { as: owner.token }),
    await api.get(`${keys}?${key}=1`, { as: owner.token }),
  ]
  for (const { status, text } of strayed) {
    expect([404, 422]).toContain(status)
    expect(text).not.toContain(key)
    expect(text).toContain('[secret]')
  }
})

test('an allow-list understands an IPv4 address in IPv6 clothes, and no octal', async () => {
  const { api, owner, keys } = await shop()
  const make = (range: string) =>
    api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_KEYS'], ipAllowlist: [range] }, { as: owner.token })
  const mapped = await make('::ffff:127.0.0.1')
  expect([mapped.status, mapped.body.ipAllowlist]).toEqual([201, ['127.0.0.1/32']])
  expect((await api.get(keys, { as: mapped.body.key })).status).toBe(200)
  for (const odd of ['010.0.0.1', '10.0.0.0/08']) expect((await make(odd)).status).toBe(422)
})

test('a key whose store is frozen under its hands makes, changes and rotates nothing more', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const robot = (
    await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'WRITE', 'MANAGE_KEYS'] }, { as: owner.token })
  ).body
  const { key: _, ...victim } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  expect((await api.get('/v1/key', { as: robot.key })).status).toBe(200)
  const answers = await whileStoreChanges(world, 'frozen_at', () => [
    api.post(keys, NEW_KEY, { as: robot.key }),
    api.patch(`${keys}/${victim.id}`, { name: 'Mine' }, { as: robot.key }),
    api.post(`${keys}/${victim.id}/rotate`, {}, { as: robot.key }),
    api.delete(`${keys}/${victim.id}`, { as: robot.key }),
  ])
  expect(answers.map(({ body }) => body.code)).toEqual(Array(4).fill('invalid_token'))
  expect((await api.get(`${keys}/${victim.id}`, { as: owner.token })).body).toEqual(victim)
})

test('in a store that is deleted under the caller’s hands nothing is changed any more', async () => {
  const world = await shop()
  const { api, keys, owner, sql } = world
  const victim = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const answers = await whileStoreChanges(world, 'deleted_at', () => [
    api.patch(`${keys}/${victim.id}`, { name: 'Mine' }, { as: owner.token }),
    api.post(`${keys}/${victim.id}/rotate`, {}, { as: owner.token }),
    api.delete(`${keys}/${victim.id}`, { as: owner.token }),
    api.post(`${keys}/freeze`, undefined, { as: owner.token }),
  ])
  expect(answers.map(({ body }) => body.code)).toEqual(Array(4).fill('store_not_found'))
  const [row] = await sql('select name, secret_no, revoked_at from api_keys where id = $1', [victim.id])
  expect(row).toEqual({ name: 'Checkout', secret_no: 1, revoked_at: null })
})

/** Lets requests run into a change of the store that is not yet committed, then commits it. */
async function whileStoreChanges(
  { databaseUrl, sql, store }: Shop,
  column: 'frozen_at' | 'deleted_at',
  ask: () => Promise<Reply>[],
): Promise<Reply[]> {
  const changing = new pg.Client({ connectionString: databaseUrl })
  await changing.connect()
  await changing.query(`begin; update stores set ${column} = now() where id = '${store.id}'`)
  const asked = ask()
  const held = `
    select from pg_stat_activity
     where datname = current_database()
       and wait_event_type = 'Lock'`
  // Those beyond wait before they have a connection.
  while ((await sql(held)).length < Math.min(asked.length, MAX_RUNNING)) await sleep(10)
  await changing.query('commit')
  await changing.end()
  return Promise.all(asked)
}

test('what a key does does not wait until its use has been written down', async () => {
  const { api, databaseUrl, keys, owner } = await shop({ alone: true })
  const robot = (
    await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'WRITE', 'MANAGE_KEYS'] }, { as: owner.token })
  ).body
  const { id } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const writing = new pg.Client({ connectionString: databaseUrl })
  await writing.connect()
  await writing.query(`begin; select from api_keys where id = '${robot.id}' for no key update`)
  expect((await api.patch(`${keys}/${id}`, { name: 'Cart' }, { as: robot.key })).status).toBe(200)
  expect((await api.post(`${keys}/${id}/rotate`, {}, { as: robot.key })).status).toBe(200)
  expect((await api.delete(`${keys}/${id}`, { as: robot.key })).status).toBe(200)
  await writing.end()
})
