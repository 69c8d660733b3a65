import { expect, test } from 'vitest'
import { DAY, HOUR, travel } from '../src/core/clock.ts'
import { NEW_ADDRESS, NEW_KEY, type Reply, shop } from './shop.ts'

const told = ({ status, body }: Reply) => [status, body?.code, body?.detail]

test('handing stores over makes room for more once somebody has taken them on, and passing one there and back makes none', async () => {
  const { api, owner, store, person } = await shop({ MAX_STORES_PER_USER: '2' })
  const [as, other] = [{ as: owner.token }, await person()]
  const theirs = { as: other.token }
  const raise = (id: string, role: string, who: string, by: object) =>
    api.patch(`/v1/user/store/${id}/members/${who}`, { role }, by)
  const create = () => api.post('/v1/user/store', { name: 'More', registration: 'OPEN' }, as)
  const { id } = (await create()).body
  expect((await api.post(`/v1/store/${id}/join`, undefined, theirs)).status).toBe(201)
  for (const [who, role, by] of [
    [other.id, 'OWNER', as],
    [owner.id, 'MANAGER', theirs],
  ] as const)
    expect((await raise(id, role, who, by)).status).toBe(200)
  // They have taken it on.
  expect((await create()).status).toBe(201)
  const third = (await api.get('/v1/user/store', as)).body.data.find((one: any) => ![id, store.id].includes(one.id)).id
  expect((await api.post(`/v1/store/${third}/join`, undefined, theirs)).status).toBe(201)
  expect((await raise(third, 'OWNER', other.id, as)).status).toBe(200)
  expect((await api.post(`/v1/store/${third}/leave?keys=keep`, undefined, as)).status).toBe(200)
  // They have not.
  expect(told(await create())).toEqual([
    409,
    'limit_exceeded',
    expect.stringMatching(/handed over counts until its new owner creates something there/),
  ])
  expect((await api.post(`/v1/user/store/${third}/keys`, NEW_KEY, theirs)).status).toBe(201)
  // The first one counts for its creator again, who has ended that its other owner is one.
  expect((await raise(id, 'OWNER', owner.id, theirs)).status).toBe(200)
  expect((await raise(id, 'STAFF', other.id, as)).status).toBe(200)
  expect((await create()).status).toBe(409)
  expect((await api.post('/v1/user/store', { name: 'One more' }, theirs)).status).toBe(201)
})

test('whoever removes the owner whom a store counts for has taken it on, also if they leave it to somebody else at once', async () => {
  const { api, owner, member, store } = await shop({ MAX_STORES_PER_USER: '1' })
  const [next, last] = [await member('OWNER'), await member('OWNER')]
  const path = `/v1/user/store/${store.id}/members`
  expect((await api.delete(`${path}/${owner.id}?keys=keep`, { as: next.token })).status).toBe(200)
  expect((await api.post(`/v1/store/${store.id}/leave`, undefined, { as: next.token })).status).toBe(200)
  const create = async (as: string) => (await api.post('/v1/user/store', { name: 'More' }, { as })).status
  expect([await create(owner.token), await create(next.token), await create(last.token)]).toEqual([201, 409, 201])
})

test('a deleted store counts for whoever restores it, and needs room', async () => {
  const { api, owner, member, store } = await shop({ MAX_STORES_PER_USER: '1' })
  const other = await member('OWNER')
  const create = async (as: string) => (await api.post('/v1/user/store', { name: 'More' }, { as })).status
  const restore = async (as: string) => (await api.post(`/v1/user/store/${store.id}/restore`, undefined, { as })).status
  expect((await api.delete(`/v1/user/store/${store.id}`, { as: owner.token })).status).toBe(204)
  travel(DAY + HOUR)
  const [mine, theirs] = await Promise.all(
    [owner, other].map(async ({ email, password }) => {
      return (await api.post('/v1/auth/sign-in', { email, password })).body.token
    }),
  )
  expect(await create(mine)).toBe(201)
  expect([await restore(mine), await restore(theirs), await create(theirs)]).toEqual([409, 200, 409])
})

test('a store can be handed to somebody who has no room for it, but goes on counting for its creator', async () => {
  const { api, owner, store, person } = await shop({ MAX_STORES_PER_USER: '1' })
  const other = await person()
  const theirs = { as: other.token }
  expect((await api.post('/v1/user/store', { name: 'Theirs' }, theirs)).status).toBe(201)
  const invitations = `/v1/user/store/${store.id}/invitations`
  const invitation = await api.post(invitations, { email: other.email, role: 'OWNER' }, { as: owner.token })
  expect((await api.post('/v1/user/invitations/accept', { token: invitation.body.token }, theirs)).status).toBe(200)
  expect((await api.post(`/v1/store/${store.id}/leave?keys=keep`, undefined, { as: owner.token })).status).toBe(200)
  const createKey = () => api.post(`/v1/user/store/${store.id}/keys`, NEW_KEY, theirs)
  expect((await createKey()).status).toBe(201)
  const create = () => api.post('/v1/user/store', { name: 'More' }, { as: owner.token })
  expect((await create()).status).toBe(409)
  const [own] = (await api.get('/v1/user/store', theirs)).body.data.filter(({ id }: any) => id !== store.id)
  expect((await api.delete(`/v1/user/store/${own.id}`, theirs)).status).toBe(204)
  travel(DAY + HOUR)
  expect((await createKey()).status).toBe(201)
  expect((await create()).status).toBe(201)
})

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
  // One that somebody else makes them own takes no room.
  const giver = { as: (await person()).token }
  const gift = (await api.post('/v1/user/store', { name: 'A gift', registration: 'OPEN' }, giver)).body.id
  expect((await api.post(`/v1/store/${gift}/join`, undefined, as)).status).toBe(201)
  const raised = await api.patch(`/v1/user/store/${gift}/members/${owner.id}`, { role: 'OWNER' }, giver)
  expect(raised.status).toBe(200)
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
