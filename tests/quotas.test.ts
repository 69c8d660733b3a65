import { expect, test } from 'vitest'
import { DAY, HOUR, travel } from '../src/core/clock.ts'
import { NEW_ADDRESS, type Reply, shop } from './shop.ts'

const told = ({ status, body }: Reply) => [status, body?.code, body?.detail]

test('what one user or store may have is bounded, and each refusal names the bound and the way out', async () => {
  const { api, owner, store, billing, person, sql } = await shop({
    MAX_STORES_PER_USER: '3',
    MAX_INVITATIONS_PER_STORE: '2',
    MAX_CUSTOMERS_PER_STORE: '4',
    MAX_WEBHOOKS_PER_STORE: '1',
    MAX_SESSIONS_PER_USER: '3',
    MAX_VERSIONS_PER_DAY: '2',
    WEBHOOK_ALLOW_PRIVATE: 'on',
  })
  const as = { as: owner.token }

  // Stores: the owner has one already, and of five at once two are made.
  const stores = await Promise.all(Array.from({ length: 5 }, () => api.post('/v1/user/store', { name: 'More' }, as)))
  expect(stores.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409])
  expect(told(stores.find(({ status }) => status === 409) as Reply)).toEqual([
    409,
    'limit_exceeded',
    expect.stringMatching(/^You own 3 stores.*delete one/),
  ])
  const second = stores.find(({ status }) => status === 201)?.body.id
  expect((await api.delete(`/v1/user/store/${second}`, as)).status).toBe(204)
  expect((await api.post('/v1/user/store', { name: 'More' }, as)).status).toBe(409)
  await sql(`update stores set deleted_at = deleted_at - interval '25 hours' where id = '${second}'`)
  expect((await api.post('/v1/user/store', { name: 'More' }, as)).status).toBe(201)

  // Invitations: the newest to an address takes the place of the one before.
  const invite = (email: string) => api.post(`/v1/user/store/${store.id}/invitations`, { email, role: 'STAFF' }, as)
  for (const email of ['a@example.com', 'b@example.com', 'a@example.com'])
    expect((await invite(email)).status).toBe(201)
  expect(told(await invite('c@example.com'))).toEqual([
    409,
    'limit_exceeded',
    expect.stringMatching(/^A store can have at most 2 open invitations.*Withdraw/),
  ])

  const hook = () =>
    api.post(`/v1/user/store/${store.id}/webhooks`, { url: 'http://127.0.0.1:8080/hook', types: ['*'] }, as)
  expect([(await hook()).status, told(await hook())]).toEqual([
    201,
    [409, 'limit_exceeded', expect.stringMatching(/^A store can have at most 1 webhooks/)],
  ])

  // Customers: of five at once four are created, those who are there can be changed, and one who is erased makes room.
  const customers = `/v1/user/store/${store.id}/customers`
  const put = (id: string) => api.put(`${customers}/${id}`, { name: 'Ada' }, as)
  const put5 = await Promise.all(['c1', 'c2', 'c3', 'c4', 'c5'].map(put))
  expect(put5.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 409])
  expect(told(put5.find(({ status }) => status === 409) as Reply)).toEqual([
    409,
    'limit_exceeded',
    expect.stringMatching(/^A store can have at most 4 customers. Erase/),
  ])
  const [kept, erased] = put5.flatMap(({ status, body }) => (status === 201 ? [body.externalId] : []))
  expect((await api.put(`${customers}/${kept}`, { name: 'Grace' }, as)).status).toBe(200)
  expect((await api.delete(`${customers}/${erased}`, as)).status).toBe(200)
  const lines = [{ externalId: 'i1' }, { externalId: kept, name: null }, { externalId: 'i2' }]
  const { results } = (await api.post(`${customers}/import`, { customers: lines }, as)).body
  expect(results).toMatchObject([
    { externalId: 'i1', status: 'created' },
    { externalId: kept, status: 'updated' },
    { externalId: 'i2', status: 'failed', errors: [{ pointer: '#/customers/2', code: 'limit_exceeded' }] },
  ])

  // Sessions: the one that was idle longest ends.
  const ada = await person()
  const signIn = async () =>
    (await api.post('/v1/auth/sign-in', { email: ada.email, password: ada.password })).body.token
  const [one, two] = [await signIn(), await signIn()]
  await sql(
    `update sessions set last_used_at = last_used_at - interval '2 hours' where user_id = $1 and id =
             (select id from sessions where user_id = $1 order by id offset 1 limit 1)`,
    [ada.id],
  )
  const three = await signIn()
  const works = async (token: string) => (await api.get('/v1/user', { as: token })).status
  expect(await Promise.all([ada.token, one, two, three].map(works))).toEqual([200, 401, 200, 200])

  // Versions: changes and deletions count, creating does not, and deleting is never refused.
  const make = () => api.post(billing, NEW_ADDRESS, as)
  const [first, other] = [(await make()).body.id, (await make()).body.id]
  const change = (company: string) => api.patch(`${billing}/${first}`, { company }, as)
  expect((await change('One')).status).toBe(200)
  travel(HOUR)
  expect((await change('Two')).status).toBe(200)
  const refused = await change('Three')
  expect(told(refused)).toEqual([429, 'rate_limited', expect.stringMatching(/2 times within 24 hours/)])
  const wait = Number(refused.headers.get('retry-after')) * 1000
  expect(wait).toBeGreaterThan(DAY - HOUR - 60_000)
  expect(wait).toBeLessThanOrEqual(DAY - HOUR)
  expect((await api.patch(`${billing}/${other}`, { isDefault: true }, as)).status).toBe(200)
  expect((await change('Two')).status).toBe(200)
  expect((await make()).status).toBe(429)
  expect((await api.delete(`${billing}/${other}`, as)).status).toBe(204)
  travel(wait)
  expect((await make()).status).toBe(429)
  travel(HOUR)
  expect((await make()).status).toBe(201)
})
