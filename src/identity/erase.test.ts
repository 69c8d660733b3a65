// Which stores an erasure waits for, and what happens to its user at the same moment.

import { expect, test } from 'vitest'
import { shop } from '../../tests/shop.ts'
import { sql as statement } from '../db/sql.ts'

test('whoever never was more than a customer of a store is erased without its lock; others wait for it', async () => {
  const { api, member, owner, store, service, sql } = await shop({ alone: true })
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
  const erase = async (person: { token: string }) => (await api.delete('/v1/user', { as: person.token })).status
  await service.db.transaction(async (tx) => {
    await tx.query(statement`select id from stores where id = ${store.id} for no key update`)
    expect(await erase(customer)).toBe(200)
    for (const person of [former, trusted, linked]) expect(await erase(person)).toBe(503)
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
