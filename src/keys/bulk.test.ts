import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { STRENGTH } from '../../bench/stress/strength.ts'
import { serviceClient } from '../../tests/service-client.ts'
import { NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { DAY, fromNow } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { connect } from '../db/pool.ts'
import { sql as statement } from '../db/sql.ts'
import { purgeBulkChanges } from './bulk-progress.ts'

type Result = { id: string; status: string; error?: { code: string; detail: string } }

async function create({ api, keys, owner }: Shop, more: object = {}) {
  const { status, body } = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
  expect([status, body.errors]).toEqual([201, undefined])
  return body
}

const bulk = ({ api, keys, owner }: Shop, body: object, as = owner.token, at = api, once?: string) =>
  at.post(`${keys}/bulk`, body, { as, ...(once ? { headers: { 'idempotency-key': once } } : {}) })

/** `id: status`, or the code of its failure. */
const told = ({ body }: { body: { results: Result[] } }) =>
  Object.fromEntries(body.results.map(({ id, status, error }) => [id, error?.code ?? status]))

/** Many keys with a name of their own, written past the service, newest last. */
async function fill({ sql, store, owner }: Shop, count: number, more: Record<string, unknown> = {}): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('key'))
  await sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                           created_by_id, created_at, updated_at, owner)
     select id, $2, 'Filled', 'TEST', $3, '{}', 'skp_test_fill', sha256(id::bytea), 'x', 'user', $4, now(), now(), $5
       from unnest($1::text[]) as id`,
    [ids, store.id, more.permissions ?? ['READ'], owner.id, more.owner ?? null],
  )
  await sql('update stores set live_keys = live_keys + $2 where id = $1', [store.id, count])
  return ids
}

test('keys are revoked, disabled, enabled and expired together, each answered and each with its event', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const back = await serviceClient(world)
  const [one, two, gone] = [await create(world), await create(world), await create(world)]
  await api.delete(`${keys}/${gone.id}`, { as: owner.token })
  const nobody = newId('key')
  const ids = [one.id, nobody, two.id, gone.id, 'nonsense']
  const answer = await bulk(world, { ids, action: 'disable' })
  expect(answer.status).toBe(200)
  expect(answer.body.more).toBe(false)
  expect(answer.body.results).toEqual([
    { id: one.id, status: 'done' },
    { id: nobody, status: 'failed', error: { code: 'key_not_found', detail: expect.any(String) } },
    { id: two.id, status: 'done' },
    { id: gone.id, status: 'failed', error: { code: 'key_revoked', detail: expect.any(String) } },
    { id: 'nonsense', status: 'failed', error: { code: 'key_not_found', detail: expect.any(String) } },
  ])
  expect(await back.codeOf(one.key)).toBe('DISABLED')
  const both = [one.id, two.id]
  expect(told(await bulk(world, { ids: both, action: 'disable' }))).toEqual({
    [one.id]: 'unchanged',
    [two.id]: 'unchanged',
  })
  expect(told(await bulk(world, { ids: both, action: 'enable' }))).toEqual({ [one.id]: 'done', [two.id]: 'done' })
  expect(await back.codeOf(two.key)).toBe('VALID')
  // An expiry is brought forward and never put off.
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  const [soon, late] = [at(1), at(2)]
  await api.patch(`${keys}/${one.id}`, { expiresAt: soon }, { as: owner.token })
  expect(told(await bulk(world, { ids: both, action: 'expire', expiresAt: late }))).toEqual({
    [one.id]: 'unchanged',
    [two.id]: 'done',
  })
  const expiryOf = async (id: string) => (await api.get(`${keys}/${id}`, { as: owner.token })).body.expiresAt
  expect([await expiryOf(one.id), await expiryOf(two.id)]).toEqual([soon, late])
  const revoked = await bulk(world, { ids: [...both, gone.id], action: 'revoke', reason: 'spring cleaning' })
  expect(told(revoked)).toEqual({ [one.id]: 'done', [two.id]: 'done', [gone.id]: 'unchanged' })
  expect((await api.get(`${keys}/${two.id}`, { as: owner.token })).body).toMatchObject({
    status: 'REVOKED',
    revocationReason: 'spring cleaning',
  })
  const events = await world.sql(
    `select type, subject from events where store_id = $1 and subject = any($2) and type <> 'key.created' order by id`,
    [store.id, both],
  )
  const eventsOf = (id: string) => events.filter(({ subject }) => subject === id).map(({ type }) => type)
  expect(eventsOf(two.id)).toEqual(['key.disabled', 'key.enabled', 'key.updated', 'key.revoked'])
  expect(eventsOf(one.id)).toEqual(['key.disabled', 'key.enabled', 'key.updated', 'key.revoked'])
})

test('422: which keys is said once, and what does not belong together is refused', async () => {
  const world = await shop()
  const faults = async (body: object) =>
    (await bulk(world, body)).body.errors?.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
  const ids = [newId('key')]
  const past = '2020-01-01T00:00:00Z'
  const tomorrow = fromNow(DAY).toISOString()
  expect(await faults({ action: 'revoke' })).toEqual(['#/ids required'])
  expect(await faults({ ids, owner: 'a', action: 'revoke' })).toEqual(['#/owner contradiction'])
  expect(await faults({ ids, filter: { type: 'DEV' }, action: 'revoke' })).toEqual(['#/filter contradiction'])
  expect(await faults({ ids: [], action: 'revoke' })).toEqual(['#/ids too_short'])
  expect(await faults({ ids: [...ids, ...ids], action: 'revoke' })).toEqual(['#/ids/1 repeated'])
  expect(await faults({ ids: Array.from({ length: 1_001 }, () => newId('key')), action: 'revoke' })).toEqual([
    '#/ids too_long',
  ])
  expect(await faults({ filter: {}, action: 'revoke' })).toEqual(['#/filter too_short'])
  expect(await faults({ filter: { name: 'x' }, action: 'revoke' })).toEqual(['#/filter/name unknown_member'])
  expect(await faults({ filter: { unusedSince: '2100-01-01T00:00:00Z' }, action: 'revoke' })).toEqual([
    '#/filter/unusedSince not_in_past',
  ])
  expect(await faults({ owner: '..', action: 'revoke' })).toEqual(['#/owner invalid_format'])
  expect(await faults({ ids, action: 'expire' })).toEqual(['#/expiresAt required'])
  expect(await faults({ ids, action: 'expire', expiresAt: past })).toEqual(['#/expiresAt not_in_future'])
  expect(await faults({ ids, action: 'expire', expiresAt: '2100-01-01T00:00:00Z' })).toEqual(['#/expiresAt too_far'])
  expect(await faults({ ids, action: 'revoke', expiresAt: tomorrow })).toEqual(['#/expiresAt contradiction'])
  expect(await faults({ ids, action: 'disable', reason: 'why' })).toEqual(['#/reason contradiction'])
  expect(await faults({ ids, action: 'rotate' })).toEqual(['#/action unknown_value'])
})

test('an owner and a filter match what the action would change, newest first', async () => {
  const world = await shop()
  const { api, keys, owner, member } = world
  const manager = await member('MANAGER')
  const ofAda = [await create(world, { owner: 'ada' }), await create(world, { owner: 'ada', type: 'DEV' })]
  const ofBob = await create(world, { owner: 'bob', type: 'DEV', name: 'Nightly export' })
  const theirs = (await api.post(keys, NEW_KEY, { as: manager.token })).body
  const [older, newer] = ofAda
  expect((await bulk(world, { owner: 'ada', action: 'disable' })).body).toEqual({
    results: [newer, older].map(({ id }) => ({ id, status: 'done' })),
    more: false,
  })
  const none = { results: [], more: false }
  expect((await bulk(world, { owner: 'ada', action: 'disable' })).body).toEqual(none)
  expect((await bulk(world, { owner: 'nobody', action: 'revoke' })).body).toEqual(none)
  const matched = async (filter: object, action: string, more: object = {}) =>
    Object.keys(told(await bulk(world, { filter, action, ...more })))
  expect(await matched({ status: 'ACTIVE', type: 'DEV' }, 'revoke')).toEqual([ofBob.id])
  expect(await matched({ status: 'ACTIVE', type: 'DEV' }, 'revoke')).toEqual([])
  expect(await matched({ q: 'nightly' }, 'enable')).toEqual([])
  expect(await matched({ createdBy: manager.id }, 'disable')).toEqual([theirs.id])
  expect(await matched({ status: 'DISABLED' }, 'enable')).toEqual([theirs.id, newer.id, older.id])
  // One that was never used counts from when it was created.
  await world.sql(`update api_keys set created_at = now() - interval '90 days' where id = any($1)`, [
    [older.id, newer.id],
  ])
  await world.sql(`update api_keys set last_used_at = now() - interval '1 day' where id = $1`, [older.id])
  const unusedSince = new Date(Date.now() - 30 * 86_400_000).toISOString()
  expect(await matched({ unusedSince }, 'revoke', { reason: 'unused' })).toEqual([newer.id])
  expect((await api.get(`${keys}?status=ACTIVE`, { as: owner.token })).body.data).toHaveLength(2)
})

test('the ceiling holds for each key: those beyond it fail with their code, the others are changed', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  const strong = await create(world, { permissions: ['READ', 'MANAGE_STORE'] })
  const [peer, lasting] = [await create(world, { expiresAt: at(1) }), await create(world)]
  for (const { id } of [strong, peer, lasting])
    await api.patch(`${keys}/${id}`, { enabled: false }, { as: owner.token })
  const permissions = ['READ', 'WRITE', 'MANAGE_KEYS']
  const robot = await create(world, { permissions, expiresAt: at(2) })
  const ids = [strong.id, peer.id, lasting.id, robot.id]
  // A key with an end gives nothing to one without.
  expect(told(await bulk(world, { ids, action: 'enable' }, robot.key))).toEqual({
    [strong.id]: 'cannot_grant',
    [peer.id]: 'done',
    [lasting.id]: 'cannot_grant',
    [robot.id]: 'unchanged',
  })
  expect(told(await bulk(world, { ids, action: 'expire', expiresAt: at(0.5) }, robot.key))).toEqual({
    [strong.id]: 'cannot_grant',
    [peer.id]: 'done',
    [lasting.id]: 'cannot_grant',
    [robot.id]: 'own_key',
  })
  expect(told(await bulk(world, { filter: { status: 'ACTIVE' }, action: 'disable' }, robot.key))).toEqual({
    [peer.id]: 'done',
    [robot.id]: 'own_key',
  })
  expect(
    told(await bulk(world, { filter: { q: 'Checkout' }, action: 'expire', expiresAt: at(100) }, robot.key)),
  ).toEqual({
    [strong.id]: 'cannot_grant',
    [lasting.id]: 'cannot_grant',
  })
  // Revoking is always allowed, and itself last.
  const revoked = await bulk(world, { ids: [robot.id, strong.id], action: 'revoke' }, robot.key)
  expect(revoked.body.results).toEqual([strong.id, robot.id].map((id) => ({ id, status: 'done' })))
  expect((await api.get(keys, { as: robot.key })).status).toBe(401)
  const reader = await create(world, { permissions: ['READ'] })
  expect((await bulk(world, { ids, action: 'revoke' }, reader.key)).body.code).toBe('insufficient_permission')
})

test('the first thousand, a hundred in each transaction; the same request again takes the rest', async () => {
  const world = await shop()
  const { sql, store } = world
  await fill(world, 1_003, { owner: 'crowd' })
  const once = randomUUID()
  const first = await bulk(world, { owner: 'crowd', action: 'revoke' }, undefined, undefined, once)
  expect([first.body.more, first.body.results.length]).toEqual([true, 1_000])
  expect(new Set(first.body.results.map(({ status }: Result) => status))).toEqual(new Set(['done']))
  const [written] = await sql(
    `select count(distinct xmin::text)::int as transactions, count(*)::int as events
       from events where store_id = $1 and type = 'key.revoked'`,
    [store.id],
  )
  expect(written).toEqual({ transactions: 10, events: 1_000 })
  // A retry is a replay, and changes nothing.
  const again = await bulk(world, { owner: 'crowd', action: 'revoke' }, undefined, undefined, once)
  expect([again.text === first.text, again.headers.get('idempotent-replayed')]).toEqual([true, 'true'])
  const rest = await bulk(world, { owner: 'crowd', action: 'revoke' })
  expect([rest.body.more, rest.body.results.length]).toEqual([false, 3])
  expect(await sql('select live_keys::int from stores where id = $1', [store.id])).toEqual([{ live_keys: 0 }])
  expect(await sql('select from bulk_changes where store_id = $1', [store.id])).toEqual([])
})

/** Writing the event of this key fails once the trigger is there: as if the node died in that hundred. */
async function failAt({ sql }: Shop, keyId: string) {
  await sql(`create function fail_at() returns trigger language plpgsql as
             $$ begin if new.subject = '${keyId}' then raise exception 'the node dies'; end if; return new; end $$`)
  await sql('create trigger fail_at before insert on events for each row execute function fail_at()')
  return () => sql('drop function fail_at cascade')
}

test('what was interrupted goes on with the same Idempotency-Key, and then answers for all', async () => {
  const world = await shop()
  const { sql, store } = world
  const other = await world.node()
  const ids = await fill(world, 350, { owner: 'crowd' })
  const disabled = async () =>
    (await sql('select from api_keys where store_id = $1 and not enabled', [store.id])).length
  const mend = await failAt(world, ids[120] as string)
  const once = randomUUID()
  const body = { owner: 'crowd', action: 'disable' }
  // Newest first: two hundreds are whole, and of the third nothing is.
  expect((await bulk(world, body, undefined, undefined, once)).status).toBe(500)
  expect(await disabled()).toBe(200)
  await mend()
  const mismatch = await bulk(world, { ...body, action: 'revoke' }, undefined, other, once)
  expect(mismatch.body.code).toBe('idempotency_mismatch')
  // A key that came later is not in it, and neither is one that has another owner by now.
  const [late] = await fill(world, 1, { owner: 'crowd' })
  await sql(`update api_keys set owner = 'another' where id = $1`, [ids[5]])
  const done = await bulk(world, body, undefined, other, once)
  expect(done.body.results).toEqual(
    ids.toReversed().map((id) => ({ id, status: id === ids[5] ? 'unchanged' : 'done' })),
  )
  expect(await disabled()).toBe(349)
  expect(told(done)).not.toHaveProperty(late as string)
  const [events] = await sql(`select count(*)::int from events where store_id = $1 and type = 'key.disabled'`, [
    store.id,
  ])
  expect(events.count).toBe(349)
  const again = await bulk(world, body, undefined, undefined, once)
  expect([again.text === done.text, again.headers.get('idempotent-replayed')]).toEqual([true, 'true'])
  expect(await sql('select from bulk_changes where store_id = $1', [store.id])).toEqual([])
})

test('what nobody went on with is forgotten after a day, and a late retry begins anew', async () => {
  const world = await shop()
  const { sql, store } = world
  const progress = () => sql('select from bulk_changes where store_id = $1', [store.id])
  const ids = await fill(world, 150)
  const mend = await failAt(world, ids[120] as string)
  const [once, body] = [randomUUID(), { ids, action: 'disable' }]
  expect((await bulk(world, body, undefined, undefined, once)).status).toBe(500)
  await mend()
  const db = connect({ connectionString: world.databaseUrl })
  await purgeBulkChanges(db)
  expect(await progress()).toHaveLength(1)
  await sql(`update bulk_changes set created_at = now() - interval '25 hours' where store_id = $1`, [store.id])
  await purgeBulkChanges(db)
  await db.close()
  expect(await progress()).toEqual([])
  const late = await bulk(world, body, undefined, undefined, once)
  expect(late.body.results).toEqual(ids.map((id, n) => ({ id, status: n < 100 ? 'unchanged' : 'done' })))
})

test('a caller whose rights end in the middle changes nothing more, and hears what was done until then', async () => {
  const world = await shop()
  const { api, store, owner, member, sql } = world
  const other = await world.node()
  const ids = await fill(world, 500)
  for (const once of [undefined, randomUUID()]) {
    await sql('update api_keys set enabled = true where store_id = $1', [store.id])
    const manager = await member('MANAGER')
    const action = 'disable'
    const asked = bulk(world, { ids, action }, manager.token, other, once)
    const written = () =>
      sql(`select from events where actor ->> 'id' = $1 and type = $2`, [manager.id, `key.${action}d`])
    while ((await written()).length === 0) await new Promise(setImmediate)
    const removed = await api.delete(`/v1/user/store/${store.id}/members/${manager.id}`, { as: owner.token })
    const atRemoval = (await written()).length
    expect(removed.status).toBe(200)
    const answer = await asked
    expect((await written()).length).toBe(atRemoval)
    expect(atRemoval % 100).toBe(0)
    expect([answer.status, answer.body.results.length, answer.body.more]).toEqual([200, atRemoval, atRemoval < 500])
    const again = await bulk(world, { ids, action }, manager.token, other, once)
    expect(again.body.code).toBe('store_not_found')
  }
})

test('beside verifications, rotations and another bulk, on two nodes: each key is revoked once, and stays so', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, sql, store } = world
  const other = await world.node()
  const back = await serviceClient(world)
  for (let round = 0; round < STRENGTH.bulkRounds; round++) {
    const made = await Promise.all(Array.from({ length: 24 }, () => create(world, { owner: `round-${round}` })))
    const body = { owner: `round-${round}`, action: 'revoke' }
    const [first, second, rotated, verified] = await Promise.all([
      bulk(world, body),
      bulk(world, { ids: made.map(({ id }) => id).toReversed(), action: 'revoke' }, undefined, other),
      Promise.all(
        made.map(({ id }, n) =>
          (n % 2 ? api : other).post(`${keys}/${id}/rotate`, { gracePeriodSeconds: 60 }, { as: owner.token }),
        ),
      ),
      Promise.all(made.map(({ key }, n) => back.codeOf(key, {}, n % 2 ? api : other))),
    ])
    // 503: on a busy machine some have waited too long.
    expect(rotated.filter(({ status }) => ![200, 409, 503].includes(status))).toEqual([])
    expect(verified.filter((code) => code !== 'VALID' && code !== 'REVOKED')).toEqual([])
    const done = [first, second].flatMap(({ body }) => body.results).filter(({ status }: Result) => status === 'done')
    expect(done.map(({ id }: Result) => id).sort()).toEqual(made.map(({ id }) => id).sort())
    // At once where it was answered; both nodes answered.
    const secrets = [...made, ...rotated.flatMap(({ status, body }) => (status === 200 ? [body] : []))]
    const codes = await Promise.all(secrets.map(({ key }) => back.codeOf(key)))
    expect(new Set(codes)).toEqual(new Set(['REVOKED']))
    const events = await sql(
      `select subject from events where store_id = $1 and type = 'key.revoked' and subject = any($2)`,
      [store.id, made.map(({ id }) => id)],
    )
    expect(events).toHaveLength(24)
  }
  expect(await sql('select deadlocks::int from pg_stat_database where datname = current_database()')).toEqual([
    { deadlocks: 0 },
  ])
})

test('429: one bulk change at a time for each store', async () => {
  const world = await shop({ alone: true })
  const { service } = world
  const [key, other] = [await create(world), await create(world)]
  const disable = { ids: [key.id], action: 'disable' }
  // While the key is locked, the change does not come to its end.
  const { held } = await service.db.transaction(async (tx) => {
    await tx.query(statement`select id from api_keys where id = ${key.id} for update`)
    const twice = [bulk(world, disable), bulk(world, disable)]
    const { status, body, headers } = await Promise.race(twice)
    expect([status, body.code, body.detail, headers.get('retry-after')]).toEqual([
      429,
      'rate_limited',
      'Another bulk change in this store is under way on this node. Send one at a time.',
      '5',
    ])
    return { held: Promise.all(twice) }
  })
  expect((await held).map(({ status }) => status).toSorted()).toEqual([200, 429])
  expect((await bulk(world, { ids: [other.id], action: 'disable' })).status).toBe(200)
})

test('two with the same Idempotency-Key at once, on two nodes, are one', async () => {
  const world = await shop()
  const other = await world.node()
  const ids = await fill(world, 250)
  const once = randomUUID()
  const ask = async (n: number) => {
    for (;;) {
      const answer = await bulk(world, { ids, action: 'disable' }, undefined, n % 2 ? other : world.api, once)
      // A node works on one bulk change of a store at a time.
      if (answer.body.code !== 'idempotency_in_progress' && answer.status !== 429) return answer
    }
  }
  const answers = await Promise.all([0, 1, 2, 3].map(ask))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers[0]?.body.results).toEqual(ids.map((id) => ({ id, status: 'done' })))
  const [events] = await world.sql(`select count(*)::int from events where store_id = $1 and type = 'key.disabled'`, [
    world.store.id,
  ])
  expect(events.count).toBe(250)
})

test('whatever is asked of many at once comes out as if it were asked of each alone', async () => {
  const world = await shop()
  const { api, keys, owner } = world
  const hour = 3_600_000
  const permissions = ['READ', 'WRITE', 'MANAGE_KEYS']
  const robots = [
    owner.token,
    (await create(world, { permissions })).key,
    (await create(world, { permissions, expiresAt: new Date(Date.now() + 50 * hour).toISOString() })).key,
  ]
  const state = fc.record({
    enabled: fc.boolean(),
    revoked: fc.boolean(),
    hours: fc.constantFrom(null, 10, 40, 90),
    strong: fc.boolean(),
  })
  const action = fc.constantFrom('revoke', 'disable', 'enable', 'expire')
  await fc.assert(
    fc.asyncProperty(
      fc.array(state, { minLength: 1, maxLength: 5 }),
      action,
      fc.nat(2),
      async (states, action, who) => {
        const expiresAt = (hours: number) => new Date(Date.now() + hours * hour).toISOString()
        const make = async ({ enabled, revoked, hours, strong }: (typeof states)[number]) => {
          const { id } = await create(world, {
            permissions: strong ? ['MANAGE_STORE'] : ['READ'],
            ...(hours === null ? {} : { expiresAt: expiresAt(hours) }),
          })
          if (!enabled) await api.patch(`${keys}/${id}`, { enabled }, { as: owner.token })
          if (revoked) await api.delete(`${keys}/${id}`, { as: owner.token })
          return (await api.get(`${keys}/${id}`, { as: owner.token })).body
        }
        const as = robots[who] as string
        const end = expiresAt(30)
        const alone = async (key: Record<string, string>): Promise<string> => {
          if (action === 'expire' && key.expiresAt && key.expiresAt <= end) return 'unchanged'
          const patch = action === 'expire' ? { expiresAt: end } : { enabled: action === 'enable' }
          const path = `${keys}/${key.id}`
          const answer = await (action === 'revoke' ? api.delete(path, { as }) : api.patch(path, patch, { as }))
          if (answer.status !== 200) return answer.body.code
          return answer.body.updatedAt === key.updatedAt ? 'unchanged' : 'done'
        }
        const [ones, twins] = [await Promise.all(states.map(make)), await Promise.all(states.map(make))]
        const expected = await Promise.all(ones.map(alone))
        const body = { ids: twins.map(({ id }) => id), action, ...(action === 'expire' ? { expiresAt: end } : {}) }
        expect(Object.values(told(await bulk(world, body, as)))).toEqual(expected)
      },
    ),
    { numRuns: STRENGTH.bulkChanges },
  )
})
