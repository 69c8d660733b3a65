// Keys that were created elsewhere: imported, verified beside our own, and rotated into keys of ours.

import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { STRENGTH } from '../../bench/stress/strength.ts'
import { call } from '../../tests/command.ts'
import { everyRow } from '../../tests/leftovers.ts'
import { countQueries } from '../../tests/query-count.ts'
import { serviceClient } from '../../tests/service-client.ts'
import { NEW_KEY, type Reply, shop, USAGE_AT_ONCE } from '../../tests/shop.ts'
import { run as runCommand } from '../cli/run.ts'
import { DAY, fromNow } from '../core/clock.ts'
import { mintToken } from '../crypto/tokens.ts'
import { sql } from '../db/sql.ts'

const newValue = () => `acme_live_${randomBytes(24).toString('base64url')}`
const hashOf = (value: string) => createHash('sha256').update(value)

async function opened(settings?: Parameters<typeof shop>[0], parts?: Parameters<typeof shop>[1]) {
  const world = await shop(settings, parts)
  const back = await serviceClient(world)
  const as = { as: world.owner.token }
  const send = (lines: unknown, more: object = {}) =>
    world.api.post(`${world.keys}/import`, { keys: lines }, { ...as, ...more })
  /** Imports one value, which has to succeed. */
  const bring = async (line: object): Promise<string> => {
    const { body } = await send([{ ...NEW_KEY, ...line }])
    expect(body.results).toMatchObject([{ index: 0, status: 'created' }])
    return body.results[0].id
  }
  const codeOf = async (value: string, more: object = {}) => (await back.verify(value, more)).body.code
  return { ...world, back, as, send, bring, codeOf }
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await isTrue()); await sleep(50))
    if (Date.now() > end) throw new Error('It did not come true within half a minute')
}

// ---- lines ------------------------------------------------------------------------------------------------------------

test('200: values and hashes are imported with everything a key has, and the same import again changes nothing', async () => {
  const { api, keys, store, as, send, back, sql } = await opened()
  const values = Array.from({ length: 6 }, newValue) as [string, string, string, string, string, string]
  const lines = [
    {
      ...NEW_KEY,
      value: values[0],
      metadata: { plan: 'pro' },
      owner: 'customer-42',
      credits: { remaining: 5, refill: { amount: 10, interval: 'DAY' } },
      rateLimits: [{ name: 'exports', limit: 3, windowSeconds: 60 }],
      expiresAt: fromNow(DAY).toISOString(),
    },
    { ...NEW_KEY, sha256: hashOf(values[1]).digest('hex') },
    { ...NEW_KEY, sha256: hashOf(values[2]).digest('hex').toUpperCase() },
    { ...NEW_KEY, sha256: hashOf(values[3]).digest('base64') },
    { ...NEW_KEY, sha256: hashOf(values[4]).digest('base64url') },
    { ...NEW_KEY, value: values[5], enabled: false },
    // The same value once more in the same request, told by its hash.
    { ...NEW_KEY, sha256: hashOf(values[0]).digest('base64url') },
  ]
  const first = await send(lines)
  expect(first.status).toBe(200)
  const ids = first.body.results.map(({ id }: any) => id)
  expect(first.body.results).toEqual([
    ...Array.from({ length: 6 }, (_, index) => ({ index, id: ids[index], status: 'created' })),
    { index: 6, id: ids[0], status: 'exists' },
  ])
  expect(new Set(ids).size).toBe(6)
  const record = (await api.get(`${keys}/${ids[0]}`, as)).body
  const { value: _, ...settings } = lines[0] as { value?: string }
  expect(record).toMatchObject({ ...settings, imported: true, start: 'acme', status: 'ACTIVE' })
  expect((await api.get(`${keys}/${ids[1]}`, as)).body).toMatchObject({ imported: true, start: '' })

  const verdicts = await Promise.all(values.map(async (value) => (await back.verify(value)).body))
  expect(verdicts.map(({ code, keyId }) => [code, keyId])).toEqual(
    ids.slice(0, 6).map((id: string, i: number) => [i === 5 ? 'DISABLED' : 'VALID', id]),
  )
  expect(verdicts[0]).toMatchObject({
    owner: 'customer-42',
    metadata: { plan: 'pro' },
    credits: { remaining: 4 },
    limits: [{ name: 'exports', remaining: 2 }],
  })

  const events = () =>
    sql(`select data from events where store_id = $1 and type = 'key.created' order by id`, [store.id])
  const before = await events()
  expect(before).toHaveLength(6)
  expect(before[0].data).toMatchObject({ name: NEW_KEY.name, imported: true })
  const again = await send(lines)
  expect(again.body.results).toEqual(ids.map((id: string, index: number) => ({ index, id, status: 'exists' })))
  expect(await events()).toEqual(before)
  expect((await sql('select live_keys from stores where id = $1', [store.id]))[0].live_keys).toBe(6)
})

test('a line that is not right fails alone, with its faults; over 1,000 lines nothing is read', async () => {
  const { send, owner } = await opened()
  const good = { ...NEW_KEY, value: newValue() }
  const codes = async (line: unknown) => {
    const { status, body } = await send([line, { ...good, value: newValue() }])
    expect([status, body.results[0].status, body.results[1].status]).toEqual([200, 'failed', 'created'])
    expect(body.results[0].id).toBeUndefined()
    return body.results[0].errors.map(({ pointer, code }: any) => `${pointer} ${code}`)
  }
  const { value: _, ...bare } = good
  expect(await codes(bare)).toEqual(['#/keys/0/value required'])
  expect(await codes({ ...good, sha256: hashOf('x').digest('hex') })).toEqual(['#/keys/0/sha256 contradiction'])
  for (const value of [
    'short12',
    'x'.repeat(513),
    'with space',
    'with\ttab1',
    'nön-ascii',
    'skp_anything',
    mintToken('skp', 'prod').reveal(),
    owner.token,
    'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.',
    'aaaa.bbbb.cccc',
  ])
    expect(await codes({ ...bare, value }), value).toEqual(['#/keys/0/value invalid_format'])
  const base64 = hashOf('x').digest('base64')
  for (const sha256 of ['', 'zz', base64.slice(1), `${base64}=`, hashOf('x').digest('hex').slice(2), `${base64}\n`])
    expect(await codes({ ...bare, sha256 }), sha256).toEqual(['#/keys/0/sha256 invalid_format'])
  expect(await codes({ ...good, value: 7, name: '', permissions: ['FLY'], color: 'red' })).toEqual([
    '#/keys/0/color unknown_member',
    '#/keys/0/value invalid_type',
    '#/keys/0/name too_short',
    '#/keys/0/permissions/0 unknown_permission',
  ])
  expect(await codes({ ...good, expiresAt: '2020-01-01T00:00:00Z' })).toEqual(['#/keys/0/expiresAt not_in_future'])
  for (const line of [null, [], 'text', 5]) expect(await codes(line)).toEqual(['#/keys/0 invalid_type'])
  const many = await codes({
    ...good,
    metadata: Object.fromEntries(Array.from({ length: 49 }, (_, n) => [n, 2 ** 60])),
  })
  expect(many).toHaveLength(32)
  const tooMany = await send(Array.from({ length: 1_001 }, () => good))
  expect([tooMany.status, tooMany.body.errors[0].pointer]).toEqual([422, '#/keys'])
  expect((await send([])).body).toEqual({ results: [] })
})

test('a line with very many fields or faults is not read further, whatever it holds', async () => {
  const { send } = await opened()
  const line = { ...NEW_KEY, value: newValue() }
  const unknown = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`k${n}`, 1]))
  const members = [
    'value',
    'sha256',
    'name',
    'type',
    'permissions',
    'metadata',
    'expiresAt',
    'ipAllowlist',
    'rateLimit',
  ]
  const wrong = [...members, 'rateLimits', 'owner', 'credits', 'enabled'].flatMap((name) =>
    [7, 'x', [7], { x: 7 }, null].map((value) => ({ ...line, [name]: value })),
  )
  const { status, body } = await send([
    ...wrong.map((each) => ({ ...unknown, ...each })),
    { ...line, ipAllowlist: Array(20_000).fill('') },
    line,
  ])
  expect(status).toBe(200)
  const [good, long, ...others] = body.results.reverse()
  expect([good.status, long.status]).toEqual(['created', 'failed'])
  expect(long.errors.map(({ code }: { code: string }) => code)).toEqual(['too_long'])
  for (const { errors } of others) {
    expect(errors).toHaveLength(32)
    expect(new Set(errors.map(({ code }: { code: string }) => code))).toEqual(new Set(['unknown_member']))
  }
})

test('nobody imports a key that has more than they have, or is bound less than the key they use', async () => {
  const { api, keys, send, as, member } = await opened()
  const staff = await member('STAFF', ['READ', 'MANAGE_KEYS'])
  const lines = [
    { ...NEW_KEY, value: newValue(), permissions: ['READ'] },
    { ...NEW_KEY, value: newValue(), permissions: ['READ', 'WRITE'] },
  ]
  const byStaff = (await send(lines, { as: staff.token })).body.results
  expect(byStaff).toMatchObject([{ status: 'created' }, { status: 'failed', errors: [{ code: 'cannot_grant' }] }])
  expect(byStaff[1].errors[0]).toMatchObject({ pointer: '#/keys/1', detail: expect.stringContaining('WRITE') })

  const expiresAt = fromNow(DAY).toISOString()
  const bound = (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_KEYS'], expiresAt }, as)).body
  const byKey = await send(
    [
      { ...NEW_KEY, value: newValue(), permissions: ['READ'] },
      { ...NEW_KEY, value: newValue(), permissions: ['READ'], expiresAt },
    ],
    { as: bound.key },
  )
  expect(byKey.body.results.map(({ status }: any) => status)).toEqual(['failed', 'created'])
  const mere = await member('STAFF', ['READ'])
  expect((await send([], { as: mere.token })).status).toBe(403)
})

test('the limit on live keys holds for each line, and expired keys make room', async () => {
  const { send, sql, store, codeOf } = await opened({ MAX_KEYS_PER_STORE: '3' })
  const values = Array.from({ length: 5 }, newValue) as [string, string, string, string, string]
  const lines = values.map((value) => ({ ...NEW_KEY, value }))
  const first = (await send(lines)).body.results
  expect(first.map(({ status }: any) => status)).toEqual(['created', 'created', 'created', 'failed', 'failed'])
  expect(first[3].errors).toMatchObject([{ pointer: '#/keys/3', code: 'limit_exceeded' }])
  await sql(`update api_keys set expires_at = now() - interval '1 s' where id = $1`, [first[0].id])
  const second = (await send(lines)).body.results
  expect(second.map(({ status }: any) => status)).toEqual(['exists', 'exists', 'exists', 'created', 'failed'])
  expect(await Promise.all(values.map((value) => codeOf(value)))) //
    .toEqual(['EXPIRED', 'VALID', 'VALID', 'VALID', 'NOT_FOUND'])
  expect((await sql('select live_keys from stores where id = $1', [store.id]))[0].live_keys).toBe(3)
})

// ---- secrets ----------------------------------------------------------------------------------------------------------

test('no value and no hash of one is kept, logged, told or replayed; a short value is not shown at all', async () => {
  const { api, keys, as, send, codeOf, sql, logs } = await opened({ alone: true }, USAGE_AT_ONCE)
  const [long, short, hashed, refused] = [newValue(), 'short-value-15c', newValue(), `skp_${newValue()}`]
  const lines = [
    { ...NEW_KEY, value: long },
    { ...NEW_KEY, value: short },
    { ...NEW_KEY, sha256: hashOf(hashed).digest('hex') },
    { ...NEW_KEY, value: refused },
  ]
  const once = { headers: { 'idempotency-key': 'import-1' } }
  const first = await send(lines, once)
  const replay = await send(lines, once)
  expect(replay.text).toBe(first.text)
  expect(replay.headers.get('idempotent-replayed')).toBe('true')
  const other = await send([{ ...NEW_KEY, value: newValue() }], once)
  expect(other.status).toBe(422)
  expect(await Promise.all([long, short, hashed].map((value) => codeOf(value)))).toEqual(['VALID', 'VALID', 'VALID'])
  const starts = (await api.get(keys, as)).body.data.map(({ start }: any) => start)
  expect(starts.toSorted()).toEqual(['', '', 'acme'])
  const everything = (await everyRow(sql)) + logs() + first.text
  for (const value of [long, short, hashed, refused]) {
    expect(everything).not.toContain(value)
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(everything).not.toContain(hashOf(value).digest(encoding))
    expect(everything).not.toContain(value.slice(0, 12))
  }
})

test('a value that another store has is nothing to this one: both have it, and neither can tell', async () => {
  const one = await opened()
  const other = await opened()
  const value = newValue()
  const id = await one.bring({ value })
  const otherId = await other.bring({ sha256: hashOf(value).digest('base64'), permissions: ['READ'] })
  expect((await one.back.verify(value)).body).toMatchObject({ code: 'VALID', keyId: id, storeId: one.store.id })
  expect((await other.back.verify(value)).body).toMatchObject({ code: 'VALID', keyId: otherId, permissions: ['READ'] })
  await one.api.delete(`${one.keys}/${id}`, one.as)
  expect([await one.codeOf(value), await other.codeOf(value)]).toEqual(['REVOKED', 'VALID'])
  const [{ same }] = await one.sql('select count(distinct hash) = 2 as same from api_keys where id = any($1)', [
    [id, otherId],
  ])
  expect(same).toBe(true)

  // Asked about several stores, or about any, no imported key is found.
  for (const stores of [null, [one.store.id, other.store.id]]) {
    const token = await one.serviceToken(stores)
    const ask = (more: object) => one.api.post('/v1/keys/verify', { key: value, ...more }, { as: token })
    expect((await ask({ anyStore: true })).body.code).toBe('NOT_FOUND')
    expect((await ask({ storeId: other.store.id })).body).toMatchObject({ code: 'VALID', keyId: otherId })
    const { checks } = (await ask({ anyStore: true, explain: true })).body
    expect(checks[0].detail).toContain('ask about its store alone')
  }
})

test('an imported key is for verifying: it opens nothing here, and a leak report does not find it', async () => {
  const { api, keys, store, bring, codeOf, back } = await opened()
  const value = newValue()
  await bring({ value, permissions: ['READ', 'MANAGE_KEYS'] })
  for (const path of ['/v1/key', keys, `/v1/user/store/${store.id}`])
    expect((await api.get(path, { as: value })).body).toMatchObject({ status: 401, code: 'invalid_token' })
  expect((await api.post('/v1/leaks', { key: value }, { as: null })).body).toEqual({ accepted: true })
  expect(await codeOf(value)).toBe('VALID')
  const form = new URLSearchParams({ token: value }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const introspected = await api.post('/v1/oauth/introspect', undefined, { as: back.as, headers, raw: form })
  expect(introspected.body).toMatchObject({ active: true, aud: store.id, scope: 'READ MANAGE_KEYS' })
})

// ---- rotation, revocation ---------------------------------------------------------------------------------------------

test('rotated, an imported key is one of ours; its value works for the grace and is never imported again', async () => {
  const { api, keys, as, send, bring, codeOf } = await opened()
  const [graced, replaced, revoked] = [newValue(), newValue(), newValue()] as [string, string, string]
  const ids = [await bring({ value: graced }), await bring({ value: replaced }), await bring({ value: revoked })]
  expect(await Promise.all([graced, replaced, revoked].map((value) => codeOf(value)))) //
    .toEqual(['VALID', 'VALID', 'VALID'])
  const rotate = async (id: string | undefined, gracePeriodSeconds: number) =>
    (await api.post(`${keys}/${id}/rotate`, { gracePeriodSeconds }, as)).body
  const first = await rotate(ids[0], 3600)
  expect(first).toMatchObject({ id: ids[0], imported: false, key: expect.stringMatching(/^skp_prod_/) })
  expect(first.rotation).not.toBeNull()
  await rotate(ids[1], 0)
  await api.delete(`${keys}/${ids[2]}`, as)
  const codes = () => Promise.all([graced, replaced, revoked].map((value) => codeOf(value)))
  expect(await codes()).toEqual(['VALID', 'NOT_FOUND', 'REVOKED'])
  expect(await codeOf(first.key)).toBe('VALID')
  expect((await api.get('/v1/key', { as: first.key })).body).toMatchObject({ id: ids[0], imported: false })
  expect((await api.get('/v1/key', { as: graced })).status).toBe(401)

  const again = async () =>
    (await send([graced, replaced, revoked].map((value) => ({ ...NEW_KEY, value })))).body.results
  const exist = ids.map((id, index) => ({ index, id, status: 'exists' }))
  expect(await again()).toEqual(exist)
  await rotate(ids[0], 3600)
  expect(await codes()).toEqual(['NOT_FOUND', 'NOT_FOUND', 'REVOKED'])
  expect(await again()).toEqual(exist)
  expect(await codes()).toEqual(['NOT_FOUND', 'NOT_FOUND', 'REVOKED'])
})

/**
 * A busy node refuses, and so does a lock that takes too long, and a store with an import under way: then nothing was
 * written, and the client sends it again.
 */
async function untilAvailable(ask: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await ask()
    if (reply.status !== 503 && reply.status !== 429) return reply
    expect(['overloaded', 'unavailable', 'rate_limited']).toContain(reply.body.code)
  }
}

test('imports of the same values side by side, at two nodes, make each key once', async () => {
  const { api, keys, as, node, sql, store, codeOf } = await opened()
  const other = await node()
  const at = (n: number) => (n % 2 === 0 ? api : other)
  const imported = (n: number, values: string[]) =>
    untilAvailable(() => at(n).post(`${keys}/import`, { keys: values.map((value) => ({ ...NEW_KEY, value })) }, as))
  for (let round = 1; round <= STRENGTH.importRounds; round++) {
    const values = Array.from({ length: 20 }, newValue)
    // Each in an order of its own.
    const imports = Array.from({ length: 8 }, (_, n) => imported(n, [...values.slice(n), ...values.slice(0, n)]))
    const results = (await Promise.all(imports)).flatMap(({ body }) => body.results)
    expect(results.filter(({ status }) => status === 'created')).toHaveLength(20)
    expect(results.filter(({ status }) => status === 'exists')).toHaveLength(140)
    expect(new Set(results.map(({ id }) => id)).size).toBe(20)
    const live = 20 + (round - 1) * 15
    expect(await sql('select live_keys from stores where id = $1', [store.id])).toEqual([{ live_keys: live }])

    // Rotated, revoked and imported again at the same time: whatever comes first, no value has a second key.
    const ids: { id: string }[] = (await imported(0, values)).body.results
    const [changes, ...outcomes] = await Promise.all([
      Promise.all([
        ...ids.slice(0, 5).map(({ id }) => untilAvailable(() => other.post(`${keys}/${id}/rotate`, {}, as))),
        ...ids.slice(5, 10).map(({ id }) => untilAvailable(() => api.delete(`${keys}/${id}`, as))),
      ]),
      ...Array.from({ length: 4 }, (_, n) => imported(n, values)),
    ])
    expect(changes.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const exist = ids.map(({ id }, index) => ({ index, id, status: 'exists' }))
    for (const { status, body } of outcomes) expect([status, body]).toEqual([200, { results: exist }])
    expect(await Promise.all(values.slice(0, 12).map((value) => codeOf(value)))).toEqual([
      ...Array(5).fill('NOT_FOUND'),
      ...Array(5).fill('REVOKED'),
      'VALID',
      'VALID',
    ])
  }
})

test('429: one import at a time for each store', async () => {
  const { send, service, store } = await opened({ alone: true })
  const line = [{ ...NEW_KEY, value: newValue() }]
  // While the store is locked, no import comes to its end.
  const { first, answers } = await service.db.transaction(async (tx) => {
    await tx.query(sql`select id from stores where id = ${store.id} for update`)
    const twice = [send(line), send(line)]
    return { first: await Promise.race(twice), answers: Promise.all(twice) }
  })
  expect([first.status, first.body.code, first.headers.get('retry-after')]).toEqual([429, 'rate_limited', '5'])
  expect((await answers).map(({ status }) => status).toSorted()).toEqual([200, 429])
})

// ---- finding them -----------------------------------------------------------------------------------------------------

test('a token of another form costs no lookup while there are no imported keys, and every node hears of the first', async () => {
  const world = await opened({ alone: true })
  const { api, store, node, back, bring, codeOf, keys, as, sql } = world
  const other = await node()
  const value = newValue()
  const elsewhere = async (key = value) =>
    (await other.post('/v1/keys/verify', { key, storeId: store.id }, { as: back.as })).body.code
  expect([await codeOf(value), await elsewhere()]).toEqual(['NOT_FOUND', 'NOT_FOUND'])
  const id = await bring({ value })
  // Here at once, elsewhere within 2 s.
  expect(await codeOf(value)).toBe('VALID')
  await until(async () => (await elsewhere()) === 'VALID')

  // Its revocation counts like that of any other.
  await api.delete(`${keys}/${id}`, as)
  expect(await codeOf(value)).toBe('REVOKED')
  await until(async () => (await elsewhere()) === 'REVOKED')

  // When the last imported value has been replaced, nothing is looked up any more.
  const second = newValue()
  const secondId = await bring({ value: second })
  await sql('delete from api_keys where id = $1', [id])
  await api.post(`${keys}/${secondId}/rotate`, {}, as)
  expect(await codeOf(second)).toBe('NOT_FOUND')
  const batched = vi.spyOn(world.service.db, 'batched')
  const lookups = () => batched.mock.calls.filter(([, row]) => 'previous_hash' in (row as object)).length
  const queries = countQueries(world.service)
  for (let n = 0; n < 20; n++) expect(await codeOf(newValue())).toBe('NOT_FOUND')
  // Besides the service's own authentication, which is batched: whether there are imported keys, once a second.
  expect(lookups()).toBe(0)
  const before = queries('one')
  for (let n = 0; n < 20; n++) expect(await codeOf(`skp_prod_${'0'.repeat(38)}`)).toBe('NOT_FOUND')
  expect([queries('one') - before, lookups()]).toEqual([0, 0])
})

test('a cached imported key is answered from memory, and the answer is that of the slow path', async () => {
  const { back, bring, api } = await opened()
  const value = newValue()
  await bring({ value, metadata: { a: 1 } })
  const first = await back.verify(value)
  const again = await back.verify(value)
  expect(again.text).toBe(first.text)
  const explained = (await back.verify(value, { explain: true })).body
  expect(explained).toMatchObject(first.body)
  expect((await api.post('/v1/keys/verify', { key: value }, { as: back.as })).text).toBe(first.text)
})

// ---- the server secret ------------------------------------------------------------------------------------------------

test('a change of the server secret takes imported keys along, and their values are still known', async () => {
  const world = await opened({ alone: true }, USAGE_AT_ONCE)
  const { api, keys, as, store, back, bring, node, sql, serverSecret: old } = world
  const [used, graced, revoked] = [newValue(), newValue(), newValue()] as [string, string, string]
  const ids = [await bring({ value: used }), await bring({ value: graced }), await bring({ value: revoked })]
  await api.post(`${keys}/${ids[1]}/rotate`, { gracePeriodSeconds: 3600 }, as)
  await api.delete(`${keys}/${ids[2]}`, as)
  const fresh = randomBytes(32).toString('base64')
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old }
  const run = (...words: string[]) => call(runCommand, ['secret', ...words], { env })
  const next = await node({ SERVER_SECRET: fresh, SERVER_SECRET_PREVIOUS: old })
  expect((await run('rewrap')).code).toBe(0)
  const again = async (at = next) =>
    (await at.post(`${keys}/import`, { keys: [used, graced, revoked].map((value) => ({ ...NEW_KEY, value })) }, as))
      .body.results
  const exist = ids.map((id, index) => ({ index, id, status: 'exists' }))
  expect(await again()).toEqual(exist)
  const codeAt = async (at: typeof next, key: string) =>
    (await at.post('/v1/keys/verify', { key, storeId: store.id }, { as: back.as })).body.code
  expect([await codeAt(next, used), await codeAt(next, graced), await codeAt(next, revoked)]) //
    .toEqual(['VALID', 'VALID', 'REVOKED'])
  const moved = async () =>
    (
      await sql(
        `select count(*) filter (where imported_hash in (hash, previous_hash))::int as whole,
                count(*) filter (where hash_kid <> previous_hash_kid)::int as apart,
                (select count(*)::int from api_keys where id = $1 and hash_kid = (select kid from server_secret)) as used
           from api_keys`,
        [ids[0]],
      )
    )[0]
  await until(async () => (await moved()).used === 1)
  expect(await moved()).toMatchObject({ whole: 3, used: 1 })
  expect(await again()).toEqual(exist)
  expect((await run('status')).lines).toContain('keys 1')
  const alone = await node({ SERVER_SECRET: fresh })
  expect([await codeAt(alone, used), await codeAt(alone, graced)]).toEqual(['VALID', 'VALID'])
})
