import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { serviceClient } from '../../tests/service-client.ts'
import { type Api, NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { MINUTE, travel } from '../core/clock.ts'
import { type Purchase, settle } from './purchase.ts'

async function create({ api, keys, owner }: Shop, more: object) {
  const { status, body } = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
  expect([status, body.errors]).toEqual([201, undefined])
  return body
}

const limit = (name: string, limit: number, more: object = {}) => ({ name, limit, windowSeconds: 3600, ...more })

describe('credits', () => {
  test('verify spends `cost` and tells what is left; with too little nothing is spent', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const refill = { amount: 100, interval: 'MONTH', dayOfMonth: 31 }
    const made = await create(world, { credits: { remaining: 10, refill } })
    expect(made.credits).toEqual({ remaining: 10, refill })
    expect((await back.verify(made.key)).body).toMatchObject({ code: 'VALID', credits: { remaining: 9 } })
    expect((await back.verify(made.key, { cost: 7 })).body).toMatchObject({ code: 'VALID', credits: { remaining: 2 } })
    const short = await back.verify(made.key, { cost: 3 })
    expect(short.body).toMatchObject({
      valid: false,
      code: 'USAGE_EXCEEDED',
      keyId: made.id,
      credits: { remaining: 2 },
    })
    expect((await back.verify(made.key, { cost: 0 })).body.credits.remaining).toBe(2)
    const explained = (await back.verify(made.key, { cost: 3, explain: true })).body
    expect([explained.code, explained.credits.remaining]).toEqual(['USAGE_EXCEEDED', 2])
    expect(explained.checks.at(-2)).toMatchObject({ code: 'USAGE_EXCEEDED', ok: false })
    expect((await back.verify(made.key, { cost: 2 })).body.credits.remaining).toBe(0)
    const { body: record } = await world.api.get(`${world.keys}/${made.id}`, { as: world.owner.token })
    expect(record.credits).toEqual({ remaining: 0, refill })
    // The end of the month, or the 31st itself.
    const refillsAt = new Date(short.body.credits.refillsAt)
    expect(new Date(refillsAt.getTime() + 86_400_000).getUTCDate()).toBe(1)
  })

  test('whoever is refused for another reason spends nothing, and introspection spends too', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world, { credits: { remaining: 2 } })
    expect(await back.codeOf(made.key, { permissions: ['MANAGE_KEYS'] })).toBe('INSUFFICIENT_PERMISSIONS')
    const introspect = async () =>
      (
        await world.api.post('/v1/oauth/introspect', undefined, {
          as: back.as,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          raw: `token=${made.key}`,
        })
      ).body.active
    expect([await introspect(), await back.codeOf(made.key), await introspect()]).toEqual([true, 'VALID', false])
  })

  test('with one left, eight at once on two nodes: exactly one is VALID, again and again', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const other = await world.node()
    const made = await create(world, { credits: { remaining: 0 } })
    for (let round = 0; round < 8; round++) {
      await world.api.post(`${world.keys}/${made.id}/credits`, { set: 1 }, { as: world.owner.token })
      const codes = await Promise.all(
        Array.from({ length: 8 }, (_, n) => back.codeOf(made.key, {}, n % 2 ? world.api : other)),
      )
      expect(codes.toSorted()).toEqual([...Array(7).fill('USAGE_EXCEEDED'), 'VALID'])
    }
  })

  test('a refill that is due is made once, by whoever looks first, and never takes away', async () => {
    const world = await shop({ alone: true })
    const back = await serviceClient(world)
    const other = await world.node()
    const path = (id: string) => `${world.keys}/${id}`
    const made = await create(world, { credits: { remaining: 1, refill: { amount: 5, interval: 'DAY' } } })
    const rich = await create(world, { credits: { remaining: 9, refill: { amount: 5, interval: 'HOUR' } } })
    const due = () => world.sql(`update key_credits set refills_at = now() - interval '1 minute'`)
    await due()
    expect((await world.api.get(path(made.id), { as: world.owner.token })).body.credits.remaining).toBe(5)
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, n) => back.codeOf(made.key, {}, n % 2 ? world.api : other)),
    )
    expect(codes.filter((code) => code === 'VALID')).toHaveLength(5)
    expect((await back.verify(rich.key)).body.credits.remaining).toBe(8)
    const [row] = await world.sql(
      `select refills_at = date_trunc('day', now(), 'UTC') + interval '1 day' as tomorrow from key_credits where key_id = $1`,
      [made.id],
    )
    expect(row.tomorrow).toBe(true)
    // By a manager too.
    await due()
    const added = await world.api.post(`${path(made.id)}/credits`, { add: 2 }, { as: world.owner.token })
    expect(added.body.credits.remaining).toBe(7)
  })

  test('months end early, hours and days begin at zero, in UTC', async () => {
    const { sql } = await shop()
    for (const [at, interval, day, expected] of [
      ['2027-01-31T12:00:00Z', 'MONTH', 31, '2027-02-28T00:00:00.000Z'],
      ['2027-02-28T00:00:00Z', 'MONTH', 31, '2027-03-31T00:00:00.000Z'],
      ['2028-02-01T00:00:00Z', 'MONTH', 30, '2028-02-29T00:00:00.000Z'],
      ['2027-04-30T23:59:59Z', 'MONTH', 1, '2027-05-01T00:00:00.000Z'],
      ['2027-05-01T00:00:00Z', 'MONTH', 1, '2027-06-01T00:00:00.000Z'],
      ['2027-12-31T23:59:59Z', 'MONTH', 15, '2028-01-15T00:00:00.000Z'],
      ['2027-03-28T01:30:00+02:00', 'DAY', null, '2027-03-28T00:00:00.000Z'],
      ['2027-03-28T01:30:00Z', 'HOUR', null, '2027-03-28T02:00:00.000Z'],
    ]) {
      await sql(`set time zone 'Europe/Berlin'`)
      const [row] = await sql('select next_refill($1, $2, $3) as at', [at, interval, day])
      await sql('reset time zone')
      expect([at, row.at.toISOString()]).toEqual([at, expected])
    }
  })

  test('a manager sets and adds, with an event; not on a key that has none, nor beyond the most', async () => {
    const world = await shop()
    const { api, keys, owner, sql, store } = world
    const made = await create(world, { credits: { remaining: 3 } })
    const path = `${keys}/${made.id}/credits`
    const as = { as: owner.token }
    expect((await api.post(path, { add: 4 }, as)).body.credits).toEqual({ remaining: 7, refill: null })
    expect((await api.post(path, { set: 2 }, as)).body.credits.remaining).toBe(2)
    const once = { ...as, headers: { 'idempotency-key': 'top-up-1' } }
    for (let n = 0; n < 2; n++) expect((await api.post(path, { add: 5 }, once)).body.credits.remaining).toBe(7)
    // As they are: no event, and nothing that counts towards the day.
    const [{ key_changes: before }] = await sql('select key_changes from stores where id = $1', [store.id])
    expect((await api.post(path, { set: 7 }, as)).body.credits.remaining).toBe(7)
    expect(await sql('select key_changes from stores where id = $1', [store.id])).toEqual([{ key_changes: before }])
    const { body } = await api.get(`/v1/user/store/${store.id}/events?type=key.credits_changed`, as)
    expect(body.data.map((event: { data: object }) => event.data)).toEqual([
      { from: 2, to: 7 },
      { from: 7, to: 2 },
      { from: 3, to: 7 },
    ])
    const faults = async (change: object) =>
      (await api.post(path, change, as)).body.errors?.map(({ pointer, code }: any) => `${pointer} ${code}`)
    expect(await faults({})).toEqual(['#/add required'])
    expect(await faults({ add: 1, set: 1 })).toEqual(['#/add contradiction'])
    expect(await faults({ add: 1_000_000_000_000 })).toEqual(['#/add too_large'])
    const plain = await create(world, {})
    expect((await api.post(`${keys}/${plain.id}/credits`, { add: 1 }, as)).body.code).toBe('no_credits')
    expect((await api.patch(`${keys}/${made.id}`, { credits: null }, as)).body.credits).toBeNull()
    expect((await api.patch(`${keys}/${plain.id}`, { credits: { remaining: 1 } }, as)).body.credits.remaining).toBe(1)
    const back = await serviceClient(world)
    expect((await back.verify(made.key)).body.credits).toBeUndefined()
    expect((await back.verify(plain.key)).body.credits.remaining).toBe(0)
    expect(await back.codeOf(plain.key)).toBe('USAGE_EXCEEDED')
  })

  test('a refill is changed without touching what is left, and what is left without touching the refill', async () => {
    const world = await shop()
    const { api, keys, owner } = world
    const back = await serviceClient(world)
    const as = { as: owner.token }
    const daily = { amount: 50, interval: 'DAY' }
    const made = await create(world, { credits: { remaining: 40, refill: daily } })
    const path = `${keys}/${made.id}`
    expect(made.credits).toEqual({ remaining: 40, refill: daily })
    const creditsAfter = async (credits: object | null) => (await api.patch(path, { credits }, as)).body.credits
    expect(await creditsAfter({ remaining: 30 })).toEqual({ remaining: 30, refill: daily })
    // Beside verifications that spend: not one of them is lost.
    const spending = Array.from({ length: 20 }, () => back.codeOf(made.key))
    for (let amount = 51; amount < 60; amount++)
      expect((await creditsAfter({ refill: { ...daily, amount } })).refill.amount).toBe(amount)
    expect(new Set(await Promise.all(spending))).toEqual(new Set(['VALID']))
    expect(await creditsAfter({ refill: null })).toEqual({ remaining: 10, refill: null })
    expect(await creditsAfter(null)).toBeNull()
    const refused = await api.patch(path, { credits: { refill: daily } }, as)
    expect(refused.body.errors).toMatchObject([{ pointer: '#/credits/remaining', code: 'required' }])
    expect((await api.patch(path, { credits: {} }, as)).status).toBe(422)
  })

  test('a retry with an Idempotency-Key spends nothing, and a revoked key is told as such all the same', async () => {
    const world = await shop()
    const { api, keys, owner } = world
    const back = await serviceClient(world)
    const other = await world.node()
    const made = await create(world, { credits: { remaining: 3 }, rateLimits: [limit('exports', 5)] })
    const ask = (at: Api, key: string, body: object = {}) =>
      at.post('/v1/keys/verify', { key: made.key, ...body }, { as: back.as, headers: { 'idempotency-key': key } })
    const first = await ask(api, 'one')
    const again = await ask(other, 'one')
    expect([first.body.credits.remaining, again.text === first.text]).toEqual([2, true])
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect((await ask(api, 'two')).body.credits.remaining).toBe(1)
    expect((await ask(api, 'two', { cost: 2 })).body.code).toBe('idempotency_mismatch')
    const introspect = (at: Api, key: string) =>
      at.post('/v1/oauth/introspect', undefined, {
        as: back.as,
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'idempotency-key': key },
        raw: `token=${made.key}`,
      })
    const told = [await introspect(api, 'three'), await introspect(other, 'three'), await introspect(api, 'four')]
    expect(told.map(({ body, headers }) => [body.active, headers.get('idempotent-replayed')])).toEqual([
      [true, null],
      [true, 'true'],
      [false, null],
    ])
    await api.delete(`${keys}/${made.id}`, { as: owner.token })
    expect((await ask(api, 'one')).body.code).toBe('REVOKED')
    expect((await introspect(api, 'three')).body).toEqual({ active: false })
  })
})

describe('named rate limits', () => {
  test('each is told, all are looked at before any is spent, and a question names which and at what cost', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world, {
      rateLimit: { limit: 100, windowSeconds: 60 },
      rateLimits: [limit('exports', 3), limit('mails', 5)],
      credits: { remaining: 50 },
    })
    const left = ({ body }: { body: any }) =>
      Object.fromEntries(body.limits.map(({ name, remaining }: any) => [name, remaining]))
    const all = await back.verify(made.key)
    expect(all.body).toMatchObject({ code: 'VALID', rateLimit: { remaining: 99 }, credits: { remaining: 49 } })
    expect(left(all)).toEqual({ default: 99, exports: 2, mails: 4 })
    const named = await back.verify(made.key, { limits: [{ name: 'mails', cost: 3 }, { name: 'nothing' }] })
    expect(left(named)).toEqual({ mails: 1 })
    expect(named.body.rateLimit).toBeUndefined()
    // One that has no room, and nothing is spent of the other, nor of the credits.
    const limits = [
      { name: 'exports', cost: 1 },
      { name: 'mails', cost: 2 },
    ]
    const refused = await back.verify(made.key, { limits })
    expect(refused.body).toMatchObject({ code: 'RATE_LIMITED', credits: { remaining: 48 } })
    expect(refused.body.limits.map(({ name, exceeded }: any) => [name, exceeded])).toEqual([
      ['exports', false],
      ['mails', true],
    ])
    expect(left(await back.verify(made.key, { limits: [{ name: 'exports', cost: 2 }] }))).toEqual({ exports: 0 })
    expect((await back.verify(made.key, { limits: [] })).body).toMatchObject({ code: 'VALID', limits: [] })
    const twice = await back.verify(made.key, { limits: [{ name: 'mails', cost: 0 }, { name: 'mails' }] })
    expect([twice.status, twice.body.errors]).toMatchObject([422, [{ pointer: '#/limits/1/name', code: 'duplicate' }]])
    const explained = (await back.verify(made.key, { explain: true })).body
    expect([explained.code, explained.checks.at(-1).detail]).toEqual([
      'RATE_LIMITED',
      expect.stringContaining('exports: 0 of 3 are left'),
    ])
  })

  test('what costs nothing is not refused by a limit that is used up', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world, { rateLimit: { limit: 1, windowSeconds: 3600 } })
    // The uses beyond the limit are counted.
    const codes = [await back.codeOf(made.key), await back.codeOf(made.key), await back.codeOf(made.key)]
    expect(codes).toEqual(['VALID', 'RATE_LIMITED', 'RATE_LIMITED'])
    const free = (await back.verify(made.key, { limits: [{ name: 'default', cost: 0 }] })).body
    expect([free.code, free.limits[0].exceeded, free.rateLimit.remaining]).toEqual(['VALID', false, 0])
    const explained = { limits: [{ name: 'default', cost: 0 }], explain: true }
    expect((await back.verify(made.key, explained)).body.code).toBe('VALID')
  })

  test('shared by owner: one window for all keys of the owner, each held to its own limit', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const other = await world.node()
    const shared = { shared: 'owner' }
    const make = (owner: string, count: number) =>
      create(world, { owner, rateLimits: [limit('exports', count, shared)] })
    const [large, small, strange] = [await make('ada', 6), await make('ada', 2), await make('bob', 6)]
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, n) => back.codeOf(large.key, {}, n % 2 ? world.api : other)),
    )
    expect(codes.filter((code) => code === 'VALID')).toHaveLength(6)
    expect(await back.codeOf(small.key)).toBe('RATE_LIMITED')
    expect(await back.codeOf(strange.key)).toBe('VALID')
  })

  test('one that is used up elsewhere while all are about to be spent: nothing is spent of the others', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world, { rateLimits: [limit('exports', 5), limit('mails', 9)] })
    const left = async (more: object = {}) => {
      const { code, limits } = (await back.verify(made.key, more)).body
      return [code, ...limits.map(({ remaining }: any) => remaining)]
    }
    expect(await left()).toEqual(['VALID', 4, 8])
    const elsewhere = new pg.Client({ connectionString: world.databaseUrl })
    onTestFinished(() => elsewhere.end())
    await elsewhere.connect()
    await elsewhere.query(`begin; update key_rate_windows set used = 5 where id like '%:exports'`)
    const asked = left()
    // Mostly it has come to wait for the window by now; if not, the answer is the same.
    await new Promise((resolve) => setTimeout(resolve, 25))
    await elsewhere.query('commit')
    expect(await asked).toEqual(['RATE_LIMITED', 0, 8])
    expect(await left({ limits: [{ name: 'mails' }] })).toEqual(['VALID', 7])
  })

  test('what does not fit together is refused, when a key is created and when it is changed', async () => {
    const world = await shop()
    const { api, keys, owner } = world
    const as = { as: owner.token }
    const made = await create(world, { rateLimit: { limit: 1, windowSeconds: 1 } })
    const told = ({ status, body }: any) => [status, ...(body.errors ?? []).map((e: any) => `${e.pointer} ${e.code}`)]
    const cases: [object, string][] = [
      [{ rateLimits: [limit('a', 1), limit('a', 2)] }, '#/rateLimits/1/name duplicate'],
      [{ rateLimits: [limit('default', 1)], rateLimit: { limit: 1, windowSeconds: 1 } }, '#/rateLimits contradiction'],
      [{ rateLimits: [limit('a', 1, { shared: 'owner' })] }, '#/owner required'],
      [{ rateLimits: [limit('A', 1)] }, '#/rateLimits/0/name invalid_format'],
      [{ owner: 'a\u202eb' }, '#/owner invalid_characters'],
      [
        { credits: { remaining: 1, refill: { amount: 1, interval: 'DAY', dayOfMonth: 3 } } },
        '#/credits/refill/dayOfMonth contradiction',
      ],
    ]
    for (const [settings, fault] of cases) {
      expect(told(await api.post(keys, { ...NEW_KEY, ...settings }, as))).toEqual([422, fault])
      expect(told(await api.patch(`${keys}/${made.id}`, settings, as))).toEqual([422, fault])
    }
    const limited = await create(world, { owner: 'ada', rateLimits: [limit('a', 1, { shared: 'owner' })] })
    expect(told(await api.patch(`${keys}/${limited.id}`, { owner: null }, as))).toEqual([422, '#/owner required'])
  })
})

test('a customer who is erased while their key is verified is named by no stored response', async () => {
  const world = await shop()
  const { api, owner, store, databaseUrl } = world
  const back = await serviceClient(world)
  const as = { as: owner.token }
  const customer = `/v1/user/store/${store.id}/customers/patient-4711`
  expect((await api.put(customer, { name: 'Ada' }, as)).status).toBe(201)
  const made = await create(world, { owner: 'patient-4711', credits: { remaining: 100 } })
  expect((await back.verify(made.key)).body.owner).toBe('patient-4711')
  const locker = new pg.Client({ connectionString: databaseUrl })
  onTestFinished(() => locker.end())
  await locker.connect()
  await locker.query('begin; select from key_credits for update')
  const ask = (n: number) =>
    api.post('/v1/keys/verify', { key: made.key }, { as: back.as, headers: { 'idempotency-key': `once-${n}` } })
  const asked = [1, 2, 3].map(ask)
  // They have come to wait for the credits.
  await new Promise((resolve) => setTimeout(resolve, 150))
  const erased = api.delete(customer, as)
  await new Promise((resolve) => setTimeout(resolve, 150))
  await locker.query('rollback')
  // On a busy machine it may have waited too long.
  if ((await erased).status !== 200) expect((await api.delete(customer, as)).status).toBe(200)
  await Promise.all(asked)
  for (const n of [1, 2, 3]) expect((await ask(n)).text).not.toContain('patient-4711')
})

test('a key that is revoked while what it spends is locked is refused, whatever it spends', async () => {
  const world = await shop()
  const { api, owner, keys, databaseUrl } = world
  const back = await serviceClient(world)
  const SPENDING = [
    { rateLimit: { limit: 10, windowSeconds: 3600 } },
    { rateLimits: [{ name: 'a', limit: 10, windowSeconds: 3600 }] },
    { credits: { remaining: 10 } },
  ]
  const made = await Promise.all(
    SPENDING.map(async (more) => (await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })).body),
  )
  for (const { key } of made) expect(await back.codeOf(key)).toBe('VALID')
  const locker = new pg.Client({ connectionString: databaseUrl })
  onTestFinished(() => locker.end())
  await locker.connect()
  await locker.query('begin; select from key_rate_windows for update; select from key_credits for update')
  const codes = made.flatMap(({ key }, n) => [
    back.codeOf(key),
    // A retry of it would get the same.
    api
      .post('/v1/keys/verify', { key }, { as: back.as, headers: { 'idempotency-key': `once-${n}` } })
      .then(({ status, body }) => (status === 200 ? body.code : `${status} ${body.code}`)),
  ])
  // Longer than a purchase takes.
  await new Promise((resolve) => setTimeout(resolve, 150))
  for (const { id } of made) expect((await api.delete(`${keys}/${id}`, { as: owner.token })).status).toBe(200)
  await locker.query('rollback')
  // On a busy machine some have waited too long.
  for (const code of await Promise.all(codes)) expect(['REVOKED', '503 unavailable']).toContain(code)
})

test('`anyPermissions`: one of them, beside all of `permissions`', async () => {
  const world = await shop()
  const back = await serviceClient(world)
  const made = await create(world, { permissions: ['READ', 'MANAGE_ORDERS'] })
  const codeOf = (question: object) => back.codeOf(made.key, question)
  expect(await codeOf({ anyPermissions: ['MANAGE_KEYS', 'MANAGE_ORDERS'] })).toBe('VALID')
  expect(await codeOf({ permissions: ['READ'], anyPermissions: ['MANAGE_KEYS', 'READ'] })).toBe('VALID')
  expect(await codeOf({ permissions: ['WRITE'], anyPermissions: ['READ'] })).toBe('INSUFFICIENT_PERMISSIONS')
  expect(await codeOf({ anyPermissions: ['MANAGE_KEYS'] })).toBe('INSUFFICIENT_PERMISSIONS')
  const refused = await back.verify(made.key, { anyPermissions: [] })
  expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, '#/anyPermissions'])
  const unknown = (await back.verify(made.key, { anyPermissions: ['READ', 'REED'] })).body
  expect([unknown.code, unknown.unknownPermissions]).toEqual(['VALID', ['REED']])
})

test('whatever is bought, in whatever order: nothing is overspent, and whoever is refused takes nothing', () => {
  const purchase = fc.record({
    keyId: fc.constantFrom('a', 'b'),
    cost: fc.option(fc.nat(4)),
    windows: fc.uniqueArray(
      fc.record({ id: fc.constantFrom('x', 'y', 'z'), limit: fc.integer({ min: 1, max: 8 }), cost: fc.nat(3) }),
      { selector: ({ id }) => id, maxLength: 3 },
    ),
  })
  fc.assert(
    fc.property(fc.array(purchase, { maxLength: 30 }), fc.nat(20), (bought, remaining) => {
      const credits = new Map(['a', 'b'].map((id) => [id, { key_id: id, remaining, refills_at: null }]))
      const windows = new Map(['x', 'y', 'z'].map((id) => [id, { id, used: 0, reset_seconds: 60 }]))
      const spent = { credits: new Map<string, number>(), windows: new Map<string, number>() }
      const add = (map: Map<string, number>, id: string, cost: number) => map.set(id, (map.get(id) ?? 0) + cost)
      for (const { keyId, cost, windows: named } of bought) {
        const whole: Purchase = {
          storeId: 'store_a',
          keyId,
          keyRevision: 1,
          cost,
          windows: named.map((window) => ({ ...window, name: window.id, seconds: 60 })),
          sharing: keyId,
          listsLimits: true,
        }
        const fits =
          (cost === null || (spent.credits.get(keyId) ?? 0) + cost <= remaining) &&
          named.every(({ id, cost: uses, limit }) => uses === 0 || (spent.windows.get(id) ?? 0) + uses <= limit)
        const { code } = settle(whole, { credits, windows }, new Set())
        expect(code === 'VALID').toBe(fits)
        if (!fits) continue
        if (cost !== null) add(spent.credits, keyId, cost)
        for (const window of named) add(spent.windows, window.id, window.cost)
      }
      for (const [id, { remaining: left }] of credits) expect(left).toBe(remaining - (spent.credits.get(id) ?? 0))
      for (const [id, { used }] of windows) expect(used).toBe(spent.windows.get(id) ?? 0)
    }),
    { numRuns: 2_000 },
  )
})

// ---- what a verification leaves in the database -------------------------------------------------------------------

const issueToken = async ({ api, store, owner }: Shop, name: string, as = owner.token): Promise<string> =>
  (await api.post(`/v1/user/store/${store.id}/service-tokens`, { name }, { as })).body.token

test('a verdict is stored without the metadata of its key: a retry gets what the key has by then', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, sql } = world
  const back = await serviceClient(world)
  const metadata = { text: 'ü'.repeat(7_000), list: ['"metadata":{}'], 7: null }
  const made = await create(world, { name: 'A "metadata":{} key', credits: { remaining: 10 }, metadata })
  const asks = ['/v1/keys/verify', '/v1/keys/lease'].map(
    (path) => () => api.post(path, { key: made.key }, { as: back.as, headers: { 'idempotency-key': path } }),
  )
  for (const ask of asks) {
    const [first, again] = [await ask(), await ask()]
    expect(first.body).toMatchObject({ code: 'VALID', metadata })
    expect([again.text === first.text, again.headers.get('idempotent-replayed')]).toEqual([true, 'true'])
  }
  const [stored] = await sql('select count(*)::int as count, max(length(sealed)) as longest from idempotent_responses')
  expect(stored.count).toBe(2)
  expect(stored.longest).toBeLessThan(800)
  await api.patch(`${keys}/${made.id}`, { metadata: { text: 'new' } }, { as: owner.token })
  for (const [n, ask] of asks.entries())
    expect((await ask()).body).toMatchObject({ metadata: { text: 'new' }, credits: { remaining: 9 - n } })
})

test('what the tokens of an account and of a store can have stored is limited, and beyond it nothing is spent', async () => {
  const world = await shop({ SERVICE_TOKEN_RATE_LIMIT: '10' })
  const { api, keys, owner, member } = world
  const made = await create(world, { owner: 'customer-42', credits: { remaining: 1_000 } })
  const tokens = [
    await issueToken(world, 'One'),
    await issueToken(world, 'Other'),
    await issueToken(world, 'Last'),
  ] as const
  const ofSecondOwner = await issueToken(world, 'Third', (await member('OWNER')).token)
  const ask = async (as: string, once: string | null, body: object = { key: made.key }) => {
    const headers: Record<string, string> = once === null ? {} : { 'idempotency-key': once }
    return api.post('/v1/keys/verify', body, { as, headers })
  }
  // A back end at its own rate limit is not refused.
  for (let n = 0; n < 10; n++) expect((await ask(tokens[0], `a-${n}`)).body.code).toBe('VALID')
  let spent = 10
  // What is unknown stands in the verdict, and makes it long.
  const long = { key: made.key, anyPermissions: ['READ', ...Array.from({ length: 20 }, (_, n) => `${n}`.repeat(30))] }
  let refused = await ask(tokens[1], 'b-10', long)
  for (; refused.status === 200 && spent < 19; spent++) refused = await ask(tokens[1], `b-${spent + 1}`, long)
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  const left = async () => (await api.get(`${keys}/${made.id}`, { as: owner.token })).body.credits.remaining
  expect(await left()).toBe(1_000 - spent)
  // Neither a failure is stored, nor more by a token that another owner has issued for the store.
  expect((await ask(tokens[2], 'c', { key: made.key, unknown: 1 })).body.code).toBe('invalid_input')
  expect((await ask(ofSecondOwner, 'd')).body.code).toBe('rate_limited')
  // A retry stores nothing, nor does a request without an Idempotency-Key, and the operator's tokens have no limit.
  expect((await ask(tokens[1], 'b-10', long)).headers.get('idempotent-replayed')).toBe('true')
  expect((await ask(tokens[2], null)).body.code).toBe('VALID')
  expect((await ask(await world.serviceToken(), 'e')).body.code).toBe('VALID')
  expect(await left()).toBe(1_000 - spent - 2)
  travel(MINUTE)
  expect((await ask(tokens[1], 'f')).body.code).toBe('VALID')
})

test('a request that is invalid does not take the Idempotency-Key of a verification that is under way', async () => {
  const world = await shop({ alone: true })
  const { api, databaseUrl, sql } = world
  const back = await serviceClient(world)
  const made = await create(world, { credits: { remaining: 100 } })
  expect(await back.codeOf(made.key)).toBe('VALID')
  const ask = (once: string, more: object = {}) =>
    api.post('/v1/keys/verify', { key: made.key, ...more }, { as: back.as, headers: { 'idempotency-key': once } })
  const locker = new pg.Client({ connectionString: databaseUrl })
  onTestFinished(() => locker.end())
  await locker.connect()
  // On a busy machine the verification may have given up waiting for its credits, for a moment, when the other comes.
  for (let round = 0; ; round++) {
    await locker.query('begin; select from key_credits for update')
    const asked = ask(`once-${round}`)
    await vi.waitFor(async () => expect(await sql('select from pg_locks where not granted')).not.toEqual([]))
    const invalid = await ask(`once-${round}`, { unknown: 1 })
    await locker.query('rollback')
    const { body } = await asked
    if (invalid.status === 422 && round < 9) continue
    expect([invalid.status, invalid.body.code, body.code]).toEqual([409, 'idempotency_in_progress', 'VALID'])
    return
  }
})
