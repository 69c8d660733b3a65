import { expect, test, vi } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, shop } from '../../tests/shop.ts'
import { MINUTE } from '../core/clock.ts'
import { sql as statement } from '../db/sql.ts'
import { newAccountLookup } from './account.ts'

const WAITING = `
  select from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock'`

test('whom a store counts for is asked once, and again after a minute, while nobody waits', async () => {
  let ms = 0
  let asked = 0
  let answer = async () => ({ account: 'ada' })
  const lookUp = newAccountLookup({ one: () => (asked++, answer() as Promise<never>) }, () => ms)
  expect([await lookUp('store'), await lookUp('store'), asked]).toEqual(['ada', 'ada', 1])
  ms += MINUTE
  answer = async () => ({ account: 'bob' })
  expect([await lookUp('store'), asked]).toEqual(['ada', 2])
  expect([await lookUp('store'), asked]).toEqual(['bob', 2])
})

test('first questions about a store that come together are one', async () => {
  let asked = 0
  const lookUp = newAccountLookup({ one: async () => (asked++, { account: 'ada' } as never) })
  expect(await Promise.all([lookUp('store'), lookUp('store'), lookUp('other')])).toEqual(['ada', 'ada', 'ada'])
  expect(asked).toBe(2)
})

test('while the database is away a store counts for whom it counted, or for itself', async () => {
  let ms = 0
  let isAway = false
  const one = async () => (isAway ? Promise.reject(new Error('away')) : ({ account: 'ada' } as never))
  const lookUp = newAccountLookup({ one }, () => ms)
  expect(await lookUp('store')).toBe('ada')
  isAway = true
  ms += MINUTE
  expect([await lookUp('store'), await lookUp('store'), await lookUp('another')]).toEqual(['ada', 'ada', 'another'])
})

test('a store counts for its creator, and not for an account that was made its owner, be it older', async () => {
  const { api, owner, person, service } = await shop()
  const other = await person()
  const { id } = (await api.post('/v1/user/store', { name: 'Next door', registration: 'OPEN' }, { as: other.token }))
    .body
  expect(owner.id < other.id).toBe(true)
  await api.post(`/v1/store/${id}/join`, undefined, { as: owner.token })
  const raise = { role: 'OWNER' }
  const raised = await api.patch(`/v1/user/store/${id}/members/${owner.id}`, raise, { as: other.token })
  expect(raised.status).toBe(200)
  const lookUp = newAccountLookup(service.db)
  expect(await lookUp(id)).toBe(other.id)
  await api.post(`/v1/store/${id}/leave`, undefined, { as: other.token })
  // Nobody answers with what is theirs for a store that they are not in, or that somebody else made them own.
  expect(await newAccountLookup(service.db)(id)).toBe(`handed over by ${other.id} to ${owner.id}`)
})

test('an owner takes on a store that was handed over by creating something there, but not by stopping what they find', async () => {
  const { api, owner, person, service } = await shop()
  const other = await person()
  const { id } = (await api.post('/v1/user/store', { name: 'Next door', registration: 'OPEN' }, { as: other.token }))
    .body
  const keys = `/v1/user/store/${id}/keys`
  const key = (await api.post(keys, NEW_KEY, { as: other.token })).body
  await api.post(`/v1/store/${id}/join`, undefined, { as: owner.token })
  await api.patch(`/v1/user/store/${id}/members/${owner.id}`, { role: 'OWNER' }, { as: other.token })
  const account = () => newAccountLookup(service.db)(id)
  // While its creator owns it, too, it stays with them.
  expect((await api.post(keys, NEW_KEY, { as: owner.token })).status).toBe(201)
  expect(await account()).toBe(other.id)
  await api.post(`/v1/store/${id}/leave?keys=keep`, undefined, { as: other.token })
  expect((await api.get(keys, { as: owner.token })).status).toBe(200)
  expect((await api.post(`/v1/store/${id}/billing`, NEW_ADDRESS, { as: owner.token })).status).toBe(201)
  expect((await api.post(keys, {}, { as: owner.token })).status).toBe(422)
  expect((await api.post(`${keys}/freeze`, undefined, { as: owner.token })).status).toBe(200)
  expect((await api.post(`${keys}/unfreeze`, undefined, { as: owner.token })).status).toBe(200)
  expect((await api.patch(`/v1/user/store/${id}`, { registration: 'CLOSED' }, { as: owner.token })).status).toBe(200)
  expect((await api.delete(`${keys}/${key.id}`, { as: owner.token })).status).toBe(200)
  expect(await account()).toBe(`handed over by ${other.id} to ${owner.id}`)
  expect((await api.post(keys, NEW_KEY, { as: owner.token })).status).toBe(201)
  expect(await account()).toBe(owner.id)
  // What they hold in the store is as it was.
  expect((await api.patch(`/v1/user/store/${id}`, { name: 'Mine' }, { as: owner.token })).status).toBe(200)
})

test('removing somebody else takes nothing on, though the owner it counts for has just handed it over', async () => {
  const { api, owner, member, service, sql, store } = await shop()
  const [next, staff] = [await member('OWNER'), await member('STAFF')]
  const path = `/v1/user/store/${store.id}/members`
  const account = () => newAccountLookup(service.db)(store.id)
  const removing = await service.db.transaction(async (tx) => {
    await tx.query(statement`select from stores where id = ${store.id} for no key update`)
    const removing = api.delete(`${path}/${staff.id}?keys=keep`, { as: next.token })
    // Authenticated while its first owner was one.
    await vi.waitFor(async () => expect(await sql(WAITING)).toHaveLength(1), { timeout: 10_000, interval: 5 })
    await tx.query(statement`update members set role = 'MANAGER' where user_id = ${owner.id}`)
    return { removing }
  })
  expect((await removing.removing).status).toBe(200)
  expect(await account()).toBe(`handed over by ${owner.id} to ${next.id}`)
})

test('whoever is about to take a store on waits for nothing, and does it with another change', async () => {
  const { api, owner, member, service, sql, store, keys } = await shop()
  const next = await member('OWNER')
  expect((await api.post(`/v1/store/${store.id}/leave`, undefined, { as: owner.token })).status).toBe(200)
  const create = async () => (await api.post(keys, NEW_KEY, { as: next.token })).status
  const account = () => newAccountLookup(service.db)(store.id)
  await service.db.transaction(async (tx) => {
    await tx.query(statement`select pg_advisory_xact_lock(hashtextextended(${`stores of ${next.id}`}, 0))`)
    const creating = create()
    let isAnswered = false
    void creating.then(() => (isAnswered = true))
    while (!isAnswered)
      expect(
        await sql(`select from pg_locks where locktype = 'advisory' and not granted
                    and database = (select oid from pg_database where datname = current_database())`),
      ).toEqual([])
    expect(await creating).toBe(201)
  })
  expect(await account()).toBe(`handed over by ${owner.id} to ${next.id}`)
  expect(await create()).toBe(201)
  expect(await account()).toBe(next.id)
})

test('a store that was taken on does not come back to those who had it, unless they take it on again', async () => {
  const { api, owner, member, service, store } = await shop()
  const [next, last] = [await member('OWNER'), await member('STAFF')]
  const account = () => newAccountLookup(service.db)(store.id)
  const create = (as: string) => api.post(`/v1/user/store/${store.id}/keys`, NEW_KEY, { as })
  const setRole = (userId: string, role: string, as: string) =>
    api.patch(`/v1/user/store/${store.id}/members/${userId}`, { role }, { as })
  // Whoever demotes the owner it counts for takes it on.
  expect((await setRole(owner.id, 'STAFF', next.token)).status).toBe(200)
  expect(await account()).toBe(next.id)
  expect((await setRole(last.id, 'OWNER', next.token)).status).toBe(200)
  expect((await setRole(owner.id, 'OWNER', next.token)).status).toBe(200)
  expect((await api.post(`/v1/store/${store.id}/leave`, undefined, { as: next.token })).status).toBe(200)
  expect(await account()).toBe(`handed over by ${next.id} to ${owner.id}`)
  // Demoting others is no sign of wanting it when it was handed over.
  expect((await setRole(last.id, 'STAFF', owner.token)).status).toBe(200)
  expect((await setRole(last.id, 'OWNER', owner.token)).status).toBe(200)
  expect(await account()).toBe(`handed over by ${next.id} to ${owner.id}`)
  expect((await create(owner.token)).status).toBe(201)
  expect((await create(last.token)).status).toBe(201)
  expect(await account()).toBe(owner.id)
})
