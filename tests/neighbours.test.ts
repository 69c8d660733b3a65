// A store's changes wait for its lock, which an import or an erasure holds for a while. Whoever is in another store does not
// wait for it, whatever is asked for meanwhile: neither for a connection, nor for a statement that requests share.

import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Shop, shop, USAGE_AT_ONCE } from './shop.ts'

/** Many more than there are connections. */
const MANY = 30

test('changes of a store that is locked leave connections to everybody else', async () => {
  const here = await shop({ alone: true })
  const { api, owner, store } = here
  const other = await neighbour(here)
  const unlock = await lock(here, 'select from stores where id = $1 for update', [store.id])
  const changes = Array.from({ length: MANY }, (_, n) =>
    api.patch(`/v1/user/store/${store.id}`, { name: `Shop ${n}` }, { as: owner.token }),
  )
  expect(await other.everything()).toEqual(['200', '200', '201', '201', '200'])
  await unlock()
  // On a busy machine some have waited too long.
  for (const { status } of await Promise.all(changes)) expect([200, 503]).toContain(status)
})

test('keys and addresses of a store that is locked hold up nobody else’s', async () => {
  const here = await shop({ alone: true })
  const { api, owner, store, keys, billing } = here
  const other = await neighbour(here)
  const unlock = await lock(here, 'select from stores where id = $1 for update', [store.id])
  const unlockMember = await lock(here, 'select from members where store_id = $1 for update', [store.id])
  const created: Promise<{ status: number }>[] = []
  for (let n = 0; n < MANY; n++) {
    // One after the other, so that each might be a batch of its own.
    await new Promise((resolve) => setTimeout(resolve, 5))
    created.push(api.post(keys, NEW_KEY, { as: owner.token }), api.post(billing, NEW_ADDRESS, { as: owner.token }))
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
  for (const { key } of [mine, others, mine]) await api.post('/v1/keys/verify', { key }, { as })
  const unlock = await lock(here, 'select from api_keys where id = $1 for update', [mine.id])
  const used = async () =>
    Object.fromEntries((await sql('select key_id, count from key_usage')).map(({ key_id, count }) => [key_id, count]))
  await expect.poll(used).toEqual({ [others.id]: '1' })
  await unlock()
  await expect.poll(used).toEqual({ [others.id]: '1', [mine.id]: '2' })
  await service.close(0)
  expect(await used()).toEqual({ [others.id]: '1', [mine.id]: '2' })
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
  return { everything }
}

/** Returns the function that ends the lock. */
async function lock({ databaseUrl }: Shop, select: string, values: string[]): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query(select, values)
  return async () => void (await client.query('rollback'))
}
