// A store's changes wait for its lock, which an import or an erasure holds for a while. Whoever is in another store does not
// wait for it, whatever is asked for meanwhile: neither for a connection, nor for a statement that requests share. And in the
// store itself, people do not wait behind keys, nor anybody who manages it or erases themselves behind strangers who come and go.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { countQueries } from './query-count.ts'
import { NEW_ADDRESS, NEW_KEY, type Shop, shop, USAGE_AT_ONCE, untilTried } from './shop.ts'

test('changes of stores that are locked leave connections to everybody else, whoever asks for them', async () => {
  const here = await shop({ alone: true })
  const { api, owner, person } = here
  const other = await neighbour(here)
  const stores = await openStores(here, 9)
  const guests = await Promise.all(Array.from({ length: 12 }, () => person()))
  const unlock = await lock(here, 'select from stores where id = any($1) for update', [stores])
  const changes = [
    ...Array.from({ length: stores.length * 5 }, (_, n) =>
      api.patch(`/v1/user/store/${stores[n % stores.length]}`, { name: `Shop ${n}` }, { as: owner.token }),
    ),
    ...guests.map(({ token }) => api.post(`/v1/store/${stores[0]}/join`, {}, { as: token })),
  ]
  expect(await other.everything()).toEqual(['200', '200', '201', '201', '200'])
  await unlock()
  // On a busy machine some have waited too long.
  for (const { status } of await Promise.all(changes)) expect([200, 201, 503]).toContain(status)
})

test('however many stores are locked, with a change and a new key waiting for each, everybody else has connections', async () => {
  const here = await shop({ alone: true })
  const { api, owner } = here
  const other = await neighbour(here)
  const stores = await openStores(here, 60)
  const timeOfThree = async () => {
    const began = performance.now()
    for (let n = 0; n < 3; n++) expect(await other.everything()).toEqual(['200', '200', '201', '201', '200'])
    return performance.now() - began
  }
  const changeAll = (name: string) =>
    stores.flatMap((id) => [
      api.patch(`/v1/user/store/${id}`, { name }, { as: owner.token }),
      api.post(`/v1/user/store/${id}/keys`, NEW_KEY, { as: owner.token }),
    ])
  // Beside the same requests, of which none has to wait for a lock.
  const changes = changeAll('First')
  const before = await timeOfThree()
  await Promise.all(changes)
  const unlock = await lock(here, 'select from stores where id = any($1) for update', [stores])
  const waiting = changeAll('Second')
  expect(await timeOfThree()).toBeLessThan(12 * before)
  await unlock()
  for (const { status } of await Promise.all(waiting)) expect([200, 201, 503]).toContain(status)
})

test('keys and addresses of stores that are locked hold up nobody else’s', async () => {
  const here = await shop({ alone: true })
  const { api, owner } = here
  const other = await neighbour(here)
  const stores = await openStores(here, 5)
  const unlock = await lock(here, 'select from stores where id = any($1) for update', [stores])
  const unlockMember = await lock(here, 'select from members where store_id = any($1) for update', [stores])
  const created: Promise<{ status: number }>[] = []
  for (let n = 0; n < 30; n++) {
    // One after the other, so that each might be a batch of its own.
    await new Promise((resolve) => setTimeout(resolve, 5))
    const id = stores[n % stores.length]
    created.push(
      api.post(`/v1/user/store/${id}/keys`, NEW_KEY, { as: owner.token }),
      api.post(`/v1/store/${id}/billing`, NEW_ADDRESS, { as: owner.token }),
    )
  }
  expect(await other.everything()).toEqual(['200', '200', '201', '201', '200'])
  await unlock()
  await unlockMember()
  for (const { status } of await Promise.all(created)) expect([201, 503]).toContain(status)
})

test('the uses of keys are written though one of them is locked, and those of that one when it is free', async () => {
  const here = await shop({ alone: true }, USAGE_AT_ONCE)
  const { api, owner, keys, serviceToken, sql, service } = here
  const [mine, others] = [
    (await api.post(keys, NEW_KEY, { as: owner.token })).body,
    (await api.post(keys, NEW_KEY, { as: owner.token })).body,
  ]
  const as = await serviceToken()
  const unlock = await lock(here, 'select from api_keys where id = $1 for update', [mine.id])
  for (const { key } of [mine, others, mine]) await api.post('/v1/keys/verify', { key }, { as })
  const used = async () =>
    Object.fromEntries((await sql('select key_id, count from key_usage')).map(({ key_id, count }) => [key_id, count]))
  await expect.poll(used).toEqual({ [others.id]: '1' })
  await unlock()
  await expect.poll(used).toEqual({ [others.id]: '1', [mine.id]: '2' })
  await service.close(0)
  expect(await used()).toEqual({ [others.id]: '1', [mine.id]: '2' })
})

test('the owner of a store comes before keys that keep asking for its lock', async () => {
  while (!(await ownerComesFirst()));
})

/** False when a machine is so busy that most of the keys have given up, and nothing is shown. */
async function ownerComesFirst(): Promise<boolean> {
  const here = await shop({ alone: true })
  const { api, owner, store, keys } = here
  const makeKey = async () =>
    (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_KEYS'] }, { as: owner.token })).body
  const [leaked, changing, ...made] = await Promise.all(Array.from({ length: 24 }, makeKey))
  const unlock = await lock(here, 'select from stores where id = $1 for update', [store.id])
  const answered: number[] = []
  const changed = () => answered.filter((one) => one === 200).length
  const changes = Array.from({ length: 88 }, async (_, n) => {
    const as = made[n % made.length].key
    answered.push((await api.patch(`${keys}/${changing.id}`, { name: `Key ${n}` }, { as })).status)
  })
  // Three have a connection, 50 wait, and one of these makes room for the owner.
  await expect.poll(() => answered.length).toBeGreaterThanOrEqual(88 - 53)
  const before = [...answered]
  const revoked = api.delete(`${keys}/${leaked.id}`, { as: owner.token }).then(({ status }) => {
    return { status, earlier: changed() }
  })
  await expect.poll(() => answered.length).toBeGreaterThan(before.length)
  await unlock()
  const { status, earlier } = await revoked
  await Promise.all(changes)
  expect(status).toBe(200)
  expect(new Set(before)).toEqual(new Set([503]))
  for (const one of answered) expect([200, 503]).toContain(one)
  // Three were begun before the owner came, and two more may be answered beside theirs.
  if (changed() < 24) return false
  expect(earlier).toBeLessThan(changed() / 3)
  return true
}

test('the owner of a store comes before strangers who keep joining and leaving it', async () => {
  const here = await shop({ alone: true })
  const { api, owner, keys, store, person } = here
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  const leaked = await Promise.all(Array.from({ length: 5 }, () => api.post(keys, NEW_KEY, { as: owner.token })))
  const invited = await Promise.all(Array.from({ length: 6 }, () => person()))
  const tokens = await Promise.all(invited.map(({ email }) => invitationFor(here, email)))
  const accepted: Promise<{ status: number }>[] = []
  const earlier = await besideStrangers(here, 34, async () => {
    for (const [n, { token: as }] of invited.entries())
      accepted.push(api.post('/v1/user/invitations/accept', { token: tokens[n] }, { as }))
    for (const { body } of leaked)
      expect((await api.delete(`${keys}/${body.id}`, { as: owner.token })).status).toBe(200)
  })
  // Each time one that has begun comes before the owner, and a few are answered while the owner's request is on its way.
  expect(earlier).toBeLessThan(leaked.length * 10)
  // On a busy machine some have waited too long.
  for (const { status } of await Promise.all(accepted)) expect([200, 503]).toContain(status)
})

test('customers whom a store has linked are erased while strangers keep joining and leaving it', async () => {
  const here = await shop({ alone: true })
  const { api, owner, keys, store, person } = here
  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  const customers = await Promise.all(Array.from({ length: 6 }, () => person()))
  for (const [n, { id: userId, token }] of customers.entries()) {
    await api.post(`/v1/store/${store.id}/join`, {}, { as: token })
    const linked = await api.put(`/v1/user/store/${store.id}/customers/c-${n}`, { userId }, { as: owner.token })
    expect(linked.status).toBe(201)
    await api.post(keys, { ...NEW_KEY, owner: `c-${n}` }, { as: owner.token })
  }
  const earlier = await besideStrangers(here, 40, async () => {
    for (const { token: as } of customers)
      expect((await untilTried(() => api.delete('/v1/user', { as }))).status).toBe(200)
  })
  expect(earlier).toBeLessThan(customers.length * 25)
})

async function invitationFor({ api, owner, store }: Shop, email: string): Promise<string> {
  const wanted = { email, role: 'STAFF' }
  return (await api.post(`/v1/user/store/${store.id}/invitations`, wanted, { as: owner.token })).body.token
}

/**
 * Does the work while strangers join the shop's store and leave it again and again, each with one request under way. Returns how
 * many of these were answered meanwhile, but for those that were refused.
 */
async function besideStrangers(
  { api, store, person }: Shop,
  count: number,
  work: () => Promise<void>,
): Promise<number> {
  const strangers = await Promise.all(Array.from({ length: count }, () => person()))
  let [changes, isOver] = [0, false]
  const ended = strangers.map(async ({ token }) => {
    for (let verb = 'join'; !isOver; ) {
      const { status } = await api.post(`/v1/store/${store.id}/${verb}`, {}, { as: token })
      expect([200, 201, 503]).toContain(status)
      if (status === 503) continue
      changes += 1
      verb = verb === 'join' ? 'leave' : 'join'
    }
  })
  try {
    await expect.poll(() => changes).toBeGreaterThan(0)
    const before = changes
    await work()
    return changes - before
  } finally {
    isOver = true
    await Promise.all(ended)
  }
}

test('a report about a locked key holds up nobody else’s reports, nor the keys these tell of', async () => {
  const here = await shop({ alone: true })
  const { api, owner, keys, store, serviceToken } = here
  const other = await neighbour(here)
  // The keys are locked in the order of their ids: by the time the last one is waited for, the other is locked.
  const locked = (await api.post(keys, NEW_KEY, { as: owner.token })).body.id as string
  const [mine, theirs] = [await serviceToken([store.id]), other.service]
  const unlock = await lock(here, 'select from api_keys where id = $1 for update', [locked])
  const report = (as: string, keyId: string) => {
    const counts = [{ keyId, secret: 1, valid: 1, agoMs: 0 }]
    return api.post('/v1/keys/usage', { reporter: randomUUID(), seq: 1, counts }, { as })
  }
  // A machine may be busy at times: one round of several shows it. Reports that were held up would be so in each.
  const rounds: { held: number; unheld: number }[] = []
  const isShown = () => rounds.some(({ held, unheld }) => unheld < held / 2)
  for (let round = 0; round < 10 && !isShown(); round++) {
    const began = performance.now()
    const since = () => performance.now() - began
    const waits = report(mine, locked)
    const answer = report(theirs, other.keyId)
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    while ((await here.sql(waiting)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect((await api.patch(`${other.keys}/${other.keyId}`, { name: `${round}` }, { as: other.token })).status).toBe(
      200,
    )
    expect((await answer).status).toBe(200)
    const unheld = since()
    expect((await waits).status).toBe(503)
    rounds.push({ held: since(), unheld })
  }
  expect(rounds).toSatisfy(isShown)
  await unlock()
})

async function openStores({ api, owner }: Shop, count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const name = `Shop ${ids.length}`
    const { status, body } = await api.post('/v1/user/store', { name, registration: 'OPEN' }, { as: owner.token })
    expect(status).toBe(201)
    ids.push(body.id)
  }
  return ids
}

test('however many stores have locked what their keys spend, other verifications hardly wait', async () => {
  const here = await shop({ alone: true })
  const { api, owner, person, serviceToken } = here
  const as = await serviceToken(null)
  const create = async (storeId: string, token: string, more: object) =>
    (await api.post(`/v1/user/store/${storeId}/keys`, { ...NEW_KEY, ...more }, { as: token })).body.key as string
  const verify = async (key: string) => (await api.post('/v1/keys/verify', { key, anyStore: true }, { as })).body.code
  const limited = { rateLimit: { limit: 1_000, windowSeconds: 3600 } }
  const stores = await openStores(here, 40)
  const theirs: string[] = []
  for (const id of stores) theirs.push(await create(id, owner.token, limited))
  for (const key of theirs) expect(await verify(key)).toBe('VALID')
  const unlock = await lock(here, 'select from key_rate_windows for update', [])
  const other = await person('Neighbour')
  const { id } = (await api.post('/v1/user/store', { name: 'Next door' }, { as: other.token })).body
  const mine = [
    await create(id, other.token, limited),
    await create(id, other.token, { credits: { remaining: 1_000 } }),
    await create(id, other.token, { rateLimits: [{ name: 'a', limit: 1_000, windowSeconds: 3600 }] }),
  ]
  const timeOfOne = async () => {
    const began = performance.now()
    expect(await Promise.all(mine.map(verify))).toEqual(['VALID', 'VALID', 'VALID'])
    return performance.now() - began
  }
  await timeOfOne()
  const began = performance.now()
  const held: number[] = []
  const waiting = theirs.map((key) => verify(key).finally(() => held.push(performance.now() - began)))
  const times: number[] = []
  for (let n = 0; n < 5; n++) times.push(await timeOfOne())
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['unavailable']))
  // The one in the middle: a machine may be busy at times. Whoever waited for a lock would wait as long as those who have to.
  expect(times.sort((one, other) => one - other)[2]).toBeLessThan(Math.min(...held) / 4)
  await unlock()
})

test('verifications with an Idempotency-Key that wait for a locked row take no connections from others', async () => {
  const here = await shop({ alone: true })
  const { api, owner, keys, store, serviceToken } = here
  const other = await neighbour(here)
  const { key } = (await api.post(keys, { ...NEW_KEY, credits: { remaining: 1_000 } }, { as: owner.token })).body
  const as = await serviceToken([store.id])
  const verify = (n: number) =>
    api.post('/v1/keys/verify', { key }, { as, headers: { 'idempotency-key': `once-${n}` } })
  expect((await verify(0)).body.code).toBe('VALID')
  const unlock = await lock(here, 'select from key_credits for update', [])
  const count = countQueries(here.service)
  const waiting = Array.from({ length: 200 }, (_, n) => verify(n + 1))
  await expect.poll(() => count('batched')).toBeGreaterThan(100)
  expect(await other.everything()).toEqual(['200', '200', '201', '201', '200'])
  // Batches have connections of their own, but for those of them that are tried again, all together.
  expect(count('transaction')).toBeLessThan(20)
  await unlock()
  // More than a hundred are not waited with.
  for (const { body } of await Promise.all(waiting)) expect(['VALID', 'unavailable', 'overloaded']).toContain(body.code)
})

test('verifications that wait for a locked row hold up no other store’s, whatever these spend', async () => {
  const here = await shop({ alone: true })
  const { api, owner, keys, store, person, serviceToken } = here
  const SPENDING = [
    { credits: { remaining: 100 } },
    { rateLimit: { limit: 100, windowSeconds: 3600 } },
    { rateLimits: [{ name: 'a', limit: 100, windowSeconds: 3600 }] },
  ]
  const create = async (path: string, as: string) =>
    Promise.all(SPENDING.map(async (more) => (await api.post(path, { ...NEW_KEY, ...more }, { as })).body))
  const mine = await create(keys, owner.token)
  const other = await person('Neighbour')
  const { body: next } = await api.post('/v1/user/store', { name: 'Next door' }, { as: other.token })
  const theirs = await create(`/v1/user/store/${next.id}/keys`, other.token)
  const [myService, theirService] = [await serviceToken([store.id]), await serviceToken([next.id])]
  const verify = async ({ key }: { key: string }, as: string) =>
    (await api.post('/v1/keys/verify', { key }, { as })).body.code
  for (const key of mine) expect(await verify(key, myService)).toBe('VALID')
  const unlock = [
    await lock(here, 'select from key_credits where key_id = any($1) for update', [mine.map(({ id }) => id)]),
    await lock(here, 'select from key_rate_windows where id like any($1) for update', [[`${store.id}%`, 'key_%']]),
  ]
  const held = Array.from({ length: 18 }, (_, n) => verify(mine[n % 3], myService))
  for (let round = 0; round < 3; round++)
    for (const key of theirs) expect(await verify(key, theirService)).toBe('VALID')
  for (const end of unlock) await end()
  // On a busy machine some have waited too long.
  for (const code of await Promise.all(held)) expect(['VALID', 'unavailable']).toContain(code)
})

/** Somebody else with a store of their own, who reads, writes and verifies. */
async function neighbour({ api, person, serviceToken }: Shop) {
  const other = await person('Neighbour')
  const { body: store } = await api.post('/v1/user/store', { name: 'Next door' }, { as: other.token })
  const keys = `/v1/user/store/${store.id}/keys`
  const { body: created } = await api.post(keys, NEW_KEY, { as: other.token })
  const service = await serviceToken([store.id])
  const everything = async () => {
    const answers = [
      await api.get('/v1/user', { as: other.token }),
      await api.get(keys, { as: other.token }),
      await api.post(keys, NEW_KEY, { as: other.token }),
      await api.post(`/v1/store/${store.id}/billing`, NEW_ADDRESS, { as: other.token }),
      await api.post('/v1/keys/verify', { key: created.key }, { as: service }),
    ]
    return answers.map(({ status, text }) => (status < 300 ? String(status) : text))
  }
  return { everything, token: other.token, keys, keyId: created.id as string, service }
}

/** Returns the function that ends the lock. */
async function lock({ databaseUrl }: Shop, select: string, values: unknown[]): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query(select, values)
  return async () => void (await client.query('rollback'))
}
