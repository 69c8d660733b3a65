// The customers of a store, by ids of its own: made, found, linked, erased; and the addresses that are kept for them.

import { describe, expect, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { DAY, travel } from '../core/clock.ts'
import { isId, newId } from '../core/ids.ts'
import { purgeStores } from '../stores/purge.ts'

const RFC_3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ADA = { email: 'Ada@Example.com', name: 'Ada Lovelace' }

async function opened(settings: Parameters<typeof shop>[0] = {}) {
  const world = await shop(settings)
  const customers = `/v1/user/store/${world.store.id}/customers`
  const key = async (...permissions: string[]) =>
    (await world.api.post(world.keys, { ...NEW_KEY, permissions }, { as: world.owner.token })).body
  return { ...world, customers, key, as: { as: world.owner.token } }
}

async function eventsOf({ api, store, owner }: Shop, query = 'type=customer.*') {
  const { body } = await api.get(`/v1/user/store/${store.id}/events?${query}`, { as: owner.token })
  return body.data
}

describe('PUT', () => {
  test('201, then 200: makes or finds the customer; what is left out stays, null clears', async () => {
    const world = await opened()
    const { api, customers, key, store } = world
    const backEnd = await key('READ', 'MANAGE_CUSTOMERS')
    const by = { as: backEnd.key }
    const made = await api.put(`${customers}/42`, ADA, by)
    expect([made.status, made.headers.get('location')]).toEqual([201, `${customers}/42`])
    const ada = { ...ADA, email: 'ada@example.com', externalId: '42' }
    expect(made.body).toEqual({ ...ada, id: made.body.id, createdAt: RFC_3339, updatedAt: made.body.createdAt })
    expect(isId('user', made.body.id)).toBe(true)

    const again = await api.put(`${customers}/42`, ADA, by)
    expect([again.status, again.headers.get('location'), again.body]).toEqual([200, null, made.body])
    expect((await api.put(`${customers}/42`, undefined, by)).body).toEqual(made.body)
    const renamed = await api.put(`${customers}/42`, { name: 'Augusta' }, by)
    expect(renamed.body).toEqual({ ...made.body, name: 'Augusta', updatedAt: RFC_3339 })
    const cleared = await api.put(`${customers}/42`, { email: null, name: null }, by)
    expect(cleared.body).toMatchObject({ id: made.body.id, email: null, name: null })
    expect((await api.get(`${customers}/42`, by)).body).toEqual(cleared.body)

    const events = await eventsOf(world)
    expect(events.map(({ type, subject, data, actor }: any) => [type, subject, data, actor.kind, actor.id])).toEqual([
      ['customer.updated', made.body.id, { changed: ['email', 'name'] }, 'key', backEnd.id],
      ['customer.updated', made.body.id, { changed: ['name'] }, 'key', backEnd.id],
      ['customer.created', made.body.id, { linked: false }, 'key', backEnd.id],
    ])
    // No member: without a role, and not in the list.
    const members = await api.get(`/v1/user/store/${store.id}/members`, world.as)
    expect(JSON.stringify(members.body)).not.toContain(made.body.id)
    const gone = await api.get(`/v1/user/store/${store.id}/members/${made.body.id}`, world.as)
    expect([404, 405]).toContain(gone.status)
  })

  test('nothing of them can be read in the database', async () => {
    const { api, customers, as, sql, store } = await opened()
    const { body } = await api.put(`${customers}/42`, ADA, as)
    await api.post(`${customers}/42/billing`, NEW_ADDRESS, as)
    const [row] = await sql('select * from customers where store_id = $1', [store.id])
    const [user] = await sql('select * from users where id = $1', [body.id])
    const [address] = await sql('select * from addresses where user_id = $1', [body.id])
    const all = [row, user, address].map((found) =>
      Object.values(found)
        .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)))
        .join(' '),
    )
    expect(all.join(' ')).not.toMatch(/lovelace|ada@|infinite|cupertino/i)
    expect(user).toMatchObject({ email: null, name: null, password_hash: null, customer_of: store.id })
  })

  test('an external id is any visible text: case counts, NFC, a slash as %2F', async () => {
    const { api, customers, as } = await opened()
    const ids = [
      'a/b',
      'a',
      'A',
      'a b',
      '%2F',
      '%',
      'ä',
      '客-1',
      'user@shop.example',
      'import',
      '...',
      '?q=1#x',
      'x'.repeat(255),
    ]
    const made = new Map<string, string>()
    for (const id of ids) {
      const { status, body, headers } = await api.put(`${customers}/${encodeURIComponent(id)}`, {}, as)
      expect([id, status, body.externalId]).toEqual([id, 201, id])
      expect((await api.get(headers.get('location') as string, as)).body.id).toBe(body.id)
      made.set(id, body.id)
    }
    expect(new Set(made.values()).size).toBe(ids.length)
    // Decomposed, as some systems write it, it is the same text.
    const decomposed = await api.put(`${customers}/${encodeURIComponent('a\u0308')}`, {}, as)
    expect([decomposed.status, decomposed.body.id]).toEqual([200, made.get('ä')])
    const { body } = await api.post(`${customers}/a%2Fb/billing`, NEW_ADDRESS, as)
    expect(body.userId).toBe(made.get('a/b'))
    expect((await api.get(`${customers}/a%2Fb/billing`, as)).body.data).toEqual([body])
    expect((await api.delete(`${customers}/import`, as)).status).toBe(200)
  })

  test('422: an external id that cannot be seen or would be lost in a path, a bad e-mail, an unknown field', async () => {
    const { api, customers, as } = await opened()
    const invisible = ['a\u200Bb', 'a\nb', 'ab\u200D', 'a\u200Cb', 'ab\uFE0E', 'ab\u{E0100}', 'ab\u180B', 'ab\u{1D173}']
    // Whichever of its forms is sent: nobody may be kept twice.
    const accents = ['a', '\u00e4', 'a\u0308'].map((letter) => letter + '\u0301'.repeat(31))
    const bad = {
      ...Object.fromEntries([...invisible, ...accents].map((id) => [id, 'invalid_characters'])),
      ['x'.repeat(256)]: 'too_long',
      ' ab': 'invalid_format',
      'ab\u00a0': 'invalid_format',
    }
    for (const [id, code] of Object.entries(bad)) {
      const { status, body } = await api.put(`${customers}/${encodeURIComponent(id)}`, {}, as)
      expect([status, body.errors?.[0].pointer, body.errors?.[0].code]).toEqual([422, '{externalId}', code])
      const missing = await api.get(`${customers}/${encodeURIComponent(id)}`, as)
      expect([missing.status, missing.body.code]).toEqual([404, 'customer_not_found'])
    }
    // A client resolves the dots of a path before it sends it; this one is sent as it is.
    for (const dots of ['%2E', '%2E%2E', '.', '..'])
      expect([404, 422]).toContain((await rawPut(api.url, `${customers}/${dots}`, as.as)).status)
    const { body } = await api.put(`${customers}/42`, { email: 'ada', name: '', id: 'x', role: 'OWNER' }, as)
    expect(body.errors.map(({ pointer, code }: any) => [pointer, code])).toEqual(
      expect.arrayContaining([
        ['#/email', 'invalid_email'],
        ['#/name', 'too_short'],
        ['#/id', 'unknown_member'],
        ['#/role', 'unknown_member'],
      ]),
    )
    expect((await api.get(customers, as)).body.data).toEqual([])
  })

  test('of many requests at once for one external id, one makes the customer', async () => {
    const { api, customers, as, sql, store } = await opened()
    const replies = await Promise.all(Array.from({ length: 8 }, () => api.put(`${customers}/42`, ADA, as)))
    expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array(7).fill(200), 201])
    expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1)
    expect(await sql('select from users where customer_of = $1', [store.id])).toHaveLength(1)
  })
})

describe('linking', () => {
  test('an external id is linked to a member who is a customer, and their addresses are theirs', async () => {
    const world = await opened()
    const { api, customers, as, member, billing } = world
    const ada = await member('CUSTOMER')
    const own = (await api.post(billing, NEW_ADDRESS, { as: ada.token })).body
    const linked = await api.put(`${customers}/42`, { userId: ada.id, name: 'Ada' }, as)
    expect([linked.status, linked.body.id, linked.body.email]).toEqual([201, ada.id, null])
    expect((await api.put(`${customers}/42`, { userId: ada.id }, as)).status).toBe(200)
    expect((await api.get(`${customers}/42/billing`, as)).body.data).toEqual([own])

    // Both change the same addresses, and there is one default.
    const added = (await api.post(`${customers}/42/billing`, { ...NEW_ADDRESS, isDefault: true }, as)).body
    const mine = (await api.get(billing, { as: ada.token })).body.data
    expect(mine.map(({ id, isDefault }: any) => [id, isDefault])).toEqual([
      [added.id, true],
      [own.id, false],
    ])
    expect((await api.get('/v1/user/export', { as: ada.token })).body.customerRecords).toEqual([
      { storeId: world.store.id, externalId: '42', email: null, name: 'Ada', createdAt: RFC_3339, updatedAt: RFC_3339 },
    ])

    // What the store erases is its own word; the account and the addresses stay.
    expect((await api.delete(`${customers}/42`, as)).body).toEqual({ held: [], keys: [] })
    expect((await api.get(`${customers}/42`, as)).status).toBe(404)
    expect((await api.get(billing, { as: ada.token })).body.data).toHaveLength(2)
    const [erased] = await eventsOf(world)
    expect([erased.type, erased.data]).toEqual(['customer.erased', { linked: true }])
  })

  test('409 and 422: never twice, never over another, and only somebody who is a customer here', async () => {
    const { api, customers, as, member, person } = await opened()
    const [ada, bob, clerk, stranger] = [
      await member('CUSTOMER'),
      await member('CUSTOMER'),
      await member('STAFF'),
      await person(),
    ]
    await api.put(`${customers}/42`, { userId: ada.id }, as)
    const kept = (await api.put(`${customers}/7`, {}, as)).body
    const refused = async (externalId: string, userId: string) => {
      const { status, body } = await api.put(`${customers}/${externalId}`, { userId }, as)
      return [status, body.errors?.[0].code ?? body.code]
    }
    expect(await refused('43', ada.id)).toEqual([409, 'already_linked'])
    expect(await refused('42', bob.id)).toEqual([409, 'already_linked'])
    expect(await refused('7', bob.id)).toEqual([409, 'already_linked'])
    for (const id of [clerk.id, stranger.id, kept.id, newId('user'), 'x'])
      expect(await refused('44', id)).toEqual([422, 'not_a_customer'])
    expect((await api.get(customers, as)).body.data).toHaveLength(2)
  })

  test('a linked user who erases themselves is gone from the customers, and the store is told', async () => {
    const world = await opened()
    const { api, customers, as, member, billing } = world
    const ada = await member('CUSTOMER')
    await api.post(billing, NEW_ADDRESS, { as: ada.token })
    await api.put(`${customers}/42`, { userId: ada.id, name: 'Ada' }, as)
    expect((await api.get(`${customers}/42/billing`, as)).body.data).toHaveLength(1)
    expect((await api.delete('/v1/user', { as: ada.token })).status).toBe(200)
    expect((await api.get(`${customers}/42`, as)).body.code).toBe('customer_not_found')
    const [erased] = await eventsOf(world, 'type=user.erased')
    expect([erased.subject, erased.data]).toEqual([ada.id, { keys: 'keep', role: 'CUSTOMER' }])
    // Once for all: the link is not told of separately.
    expect((await eventsOf(world)).map(({ type }: any) => type)).toEqual(['customer.created'])
  })

  test('a link ends with the role CUSTOMER, however that ends, and does not come back with it', async () => {
    const world = await opened()
    const { api, customers, as, member, billing, store } = world
    const at = `/v1/user/store/${store.id}`
    const leave = (token: string) => api.post(`/v1/store/${store.id}/leave`, undefined, { as: token })
    type Person = Awaited<ReturnType<typeof member>>
    const endings: Record<string, (person: Person) => Promise<{ status: number }>> = {
      promoted: ({ id }) => api.patch(`${at}/members/${id}`, { role: 'STAFF' }, as),
      invited: async ({ email, token }) => {
        const { body } = await api.post(`${at}/invitations`, { email, role: 'OWNER' }, as)
        return api.post('/v1/user/invitations/accept', { token: body.token }, { as: token })
      },
      removed: ({ id }) => api.delete(`${at}/members/${id}`, as),
      left: ({ token }) => leave(token),
    }
    for (const [name, end] of Object.entries(endings)) {
      const somebody = await member('CUSTOMER')
      const { body: own } = await api.post(billing, NEW_ADDRESS, { as: somebody.token })
      const path = `${customers}/${name}`
      expect((await api.put(path, { userId: somebody.id, name: 'Somebody' }, as)).status).toBe(201)
      expect([name, (await end(somebody)).status]).toEqual([name, 200])
      const refused = [
        await api.get(path, as),
        await api.get(`${path}/export`, as),
        await api.get(`${path}/billing`, as),
        await api.post(`${path}/billing`, NEW_ADDRESS, as),
        await api.patch(`${path}/billing/${own.id}`, { firstName: 'Mallory' }, as),
        await api.delete(`${path}/billing/${own.id}`, as),
        await api.delete(path, as),
      ]
      expect([name, ...refused.map(({ body }) => body?.code)]).toEqual([name, ...Array(7).fill('customer_not_found')])
      const [event] = await eventsOf(world)
      expect([event.type, event.subject, event.data]).toEqual(['customer.erased', somebody.id, { linked: true }])
      // What an invoice points at is still there, and is not changed.
      const version = await api.get(`${at}/billing/${own.id}/versions/1`, as)
      expect(version.body.address.firstName).toBe(NEW_ADDRESS.firstName)
      // The external id is free for somebody else.
      const anew = await api.put(path, {}, as)
      expect([anew.status, anew.body.id === somebody.id, anew.body.name]).toEqual([201, false, null])
    }
  })
})

test('GET: the list is newest first; q finds the beginning of an external id or a whole e-mail, id one customer', async () => {
  const { api, customers, as, store } = await opened()
  const other = await opened()
  await other.api.put(`${other.customers}/a-1`, ADA, other.as)
  const ids: string[] = []
  for (const externalId of ['a-2', 'a-1', 'b-1', 'a-10', 'A-1'])
    ids.push((await api.put(`${customers}/${externalId}`, externalId === 'a-1' ? {} : ADA, as)).body.id)
  const found = async (query: string) =>
    (await api.get(`${customers}?${query}`, as)).body.data.map(({ externalId }: any) => externalId)
  expect(await found('')).toEqual(['A-1', 'a-10', 'b-1', 'a-1', 'a-2'])
  expect(await found('q=a-1')).toEqual(['a-1', 'a-10'])
  expect(await found('q=a-')).toEqual(['a-1', 'a-10', 'a-2'])
  expect(await found('q=ADA%40example.com')).toEqual(['A-1', 'a-10', 'a-2', 'b-1'])
  expect(await found('q=ada%40example.co')).toEqual([])
  expect(await found('q=_-1')).toEqual([])
  expect(await found(`id=${ids[2]}`)).toEqual(['b-1'])
  expect(await found(`id=${ids[2]}&q=a`)).toEqual([])
  expect(await found('id=x')).toEqual([])
  for (const query of ['', 'q=a-&', 'q=ada@example.com&']) {
    const pages: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: any = await api.get(`${customers}?${query}limit=2${cursor && `&cursor=${cursor}`}`, as)
      pages.push(...body.data.map(({ externalId }: any) => externalId))
      cursor = body.nextCursor
    }
    expect(pages).toEqual(await found(query))
  }
  const { nextCursor } = (await api.get(`${customers}?limit=1`, as)).body
  expect((await api.get(`${customers}?limit=1&q=a&cursor=${nextCursor}`, as)).body.code).toBe('invalid_cursor')
  expect((await api.get(`${customers}?q=`, as)).status).toBe(422)
  expect(store.id).not.toBe(other.store.id)
})

describe('addresses on behalf', () => {
  test('the same rules as one’s own: default, versions, If-Match, limit, retries; the actor is the key or member', async () => {
    const world = await opened({ MAX_ADDRESSES_PER_USER: '2', MAX_VERSIONS_PER_DAY: '2' })
    const { api, customers, key, member, store, as } = world
    const backEnd = await key('MANAGE_CUSTOMERS')
    const by = { as: backEnd.key }
    const clerk = await member('STAFF', ['READ', 'MANAGE_CUSTOMERS'])
    const { body: ada } = await api.put(`${customers}/42`, {}, by)
    const path = `${customers}/42/billing`
    const retried = { ...by, headers: { 'idempotency-key': 'once' } }
    const first = await api.post(path, { ...NEW_ADDRESS, isDefault: false }, retried)
    expect([first.status, first.headers.get('location')]).toEqual([201, `${path}/${first.body.id}`])
    expect(first.body).toMatchObject({ userId: ada.id, storeId: store.id, isDefault: true, version: 1 })
    const replayed = await api.post(path, { ...NEW_ADDRESS, isDefault: false }, retried)
    expect([replayed.text, replayed.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])

    const second = await api.post(path, { ...NEW_ADDRESS, isDefault: true }, { as: clerk.token })
    expect((await api.post(path, NEW_ADDRESS, by)).body.code).toBe('limit_exceeded')
    const list = (await api.get(path, { as: clerk.token })).body.data
    expect(list.map(({ id }: any) => id)).toEqual([second.body.id, first.body.id])

    const one = `${path}/${first.body.id}`
    const stale = { ...by, headers: { 'if-match': first.headers.get('etag') as string } }
    expect((await api.patch(one, { city: 'Palo Alto' }, stale)).status).toBe(412)
    expect((await api.patch(one, { city: 'Palo Alto' }, by)).body.version).toBe(2)
    expect((await api.patch(one, { city: 'San Jose' }, { as: clerk.token })).body.version).toBe(3)
    expect((await api.patch(one, { city: 'Fremont' }, by)).status).toBe(429)
    const versions = (await api.get(`${one}/versions`, { as: clerk.token })).body.data
    expect(versions.map(({ version, by: who, address }: any) => [version, who, address.city])).toEqual([
      [3, { kind: 'user', id: clerk.id }, 'San Jose'],
      [2, { kind: 'key', id: backEnd.id }, 'Palo Alto'],
      [1, { kind: 'key', id: backEnd.id }, 'Cupertino'],
    ])
    expect((await api.get(`${one}/versions/2`, as)).body).toEqual(versions[1])
    const checked = await api.post(`${path}/validate`, { ...NEW_ADDRESS, postalCode: 'x' }, as)
    expect([checked.status, checked.body.valid]).toEqual([200, false])

    // For invoices, by the customer's id.
    const invoices = (await api.get(`/v1/user/store/${store.id}/billing?userId=${ada.id}`, as)).body.data
    expect(invoices.map(({ id, isDefault }: any) => [id, isDefault])).toEqual([
      [second.body.id, true],
      [first.body.id, false],
    ])
    expect((await api.delete(`${path}/${second.body.id}`, by)).status).toBe(204)
    expect((await api.get(one, as)).body.isDefault).toBe(true)
    const events = await eventsOf(world, 'type=address.*')
    expect(events.map(({ type, actor, subject }: any) => [type, actor.id, subject])).toEqual([
      ['address.deleted', backEnd.id, second.body.id],
      ['address.updated', clerk.id, first.body.id],
      ['address.updated', backEnd.id, first.body.id],
      ['address.created', clerk.id, second.body.id],
      ['address.created', backEnd.id, first.body.id],
    ])
  })

  test('404: of no customer, of another customer, and of another store’s', async () => {
    const { api, customers, as, store } = await opened()
    const other = await opened()
    await other.api.put(`${other.customers}/42`, {}, other.as)
    await api.put(`${customers}/42`, {}, as)
    await api.put(`${customers}/43`, {}, as)
    const { body } = await api.post(`${customers}/42/billing`, NEW_ADDRESS, as)
    const asked = async (path: string, who = as) => (await api.get(path, who)).body.code
    expect(await asked(`${customers}/43/billing/${body.id}`)).toBe('address_not_found')
    expect(await asked(`${customers}/43/billing/${body.id}/versions/1`)).toBe('address_not_found')
    expect(await asked(`${customers}/44/billing/${body.id}`)).toBe('customer_not_found')
    expect(await asked(`${other.customers}/42/billing/${body.id}`, other.as)).toBe('address_not_found')
    expect(await asked(`${customers}/42/billing/${body.id}`, other.as)).toBe('store_not_found')
    const faulty = await api.patch(`${customers}/44/billing/${body.id}`, { city: 7 }, as)
    expect(faulty.status).toBe(422)
    expect((await api.patch(`${customers}/43/billing/${body.id}`, { city: 'X' }, as)).status).toBe(404)
    // A customer whom the store keeps is nobody's session: their own paths stay shut.
    expect((await api.get(`/v1/store/${store.id}/billing/${body.id}`, as)).status).toBe(404)
  })

  test('writers at once leave exactly one default', async () => {
    const { api, customers, as, member, billing, sql } = await opened()
    const ada = await member('CUSTOMER')
    await api.put(`${customers}/42`, { userId: ada.id }, as)
    const spec = { ...NEW_ADDRESS, isDefault: true }
    const replies = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        n % 2 === 0 ? api.post(`${customers}/42/billing`, spec, as) : api.post(billing, spec, { as: ada.token }),
      ),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(16).fill(201))
    expect(await sql('select from addresses where user_id = $1 and is_default', [ada.id])).toHaveLength(1)
  })
})

describe('DELETE', () => {
  test('erases the customer as a user erases themselves; a new one with that external id is somebody else', async () => {
    const world = await opened()
    const { api, customers, as, sql, store } = world
    const { body: ada } = await api.put(`${customers}/42`, ADA, as)
    const retried = { ...as, headers: { 'idempotency-key': 'the-address' } }
    const { body: address } = await api.post(`${customers}/42/billing`, NEW_ADDRESS, retried)
    const gone = await api.delete(`${customers}/42`, as)
    expect([gone.status, gone.body]).toEqual([200, { held: [], keys: [] }])
    for (const path of ['', '/export', '/billing', `/billing/${address.id}`])
      expect((await api.get(`${customers}/42${path}`, as)).body.code).toBe('customer_not_found')
    expect((await api.delete(`${customers}/42`, as)).status).toBe(404)
    // Nor is it told to whoever asks for the answer of their request again.
    expect((await api.post(`${customers}/42/billing`, NEW_ADDRESS, retried)).body.code).toBe('customer_not_found')
    expect((await api.get(`${customers}?q=${ADA.email}`, as)).body.data).toEqual([])
    const version = await api.get(`/v1/user/store/${store.id}/billing/${address.id}/versions/1`, as)
    expect(version.body.address).toMatchObject({
      erased: true,
      country: 'US',
      state: 'CA',
      lastName: null,
      formatted: [],
    })
    const [row] = await sql('select data_key, erased_at from users where id = $1', [ada.id])
    expect(row).toEqual({ data_key: null, erased_at: expect.any(Date) })
    const [event] = await eventsOf(world)
    expect([event.type, event.subject, event.data]).toEqual(['customer.erased', ada.id, { linked: false }])

    const anew = await api.put(`${customers}/42`, {}, as)
    expect([anew.status, anew.body.id === ada.id]).toEqual([201, false])
  })

  test('with a deleted store its customers go, but not those who have an account', async () => {
    const { api, customers, as, member, sql, store, service } = await opened({ alone: true })
    const ada = await member('CUSTOMER')
    await api.put(`${customers}/1`, { userId: ada.id }, as)
    const { body: kept } = await api.put(`${customers}/2`, ADA, as)
    await api.post(`${customers}/2/billing`, NEW_ADDRESS, as)
    await api.delete(`/v1/user/store/${store.id}`, as)
    travel(31 * DAY)
    await purgeStores(service.db)
    travel(0)
    expect(await sql('select from stores where id = $1', [store.id])).toEqual([])
    expect(await sql('select id from users where id = any($1)', [[ada.id, kept.id]])).toEqual([{ id: ada.id }])
    expect(await sql('select from addresses where user_id = $1', [kept.id])).toEqual([])
  })
})

test('429: without READ, a right and a wrong guess at the text of an address look the same once no version can be made', async () => {
  const { api, customers, key, as } = await opened({ MAX_VERSIONS_PER_DAY: '1' })
  const clerk = await key('MANAGE_CUSTOMERS')
  await api.put(`${customers}/42`, {}, as)
  const { id } = (await api.post(`${customers}/42/billing`, { ...NEW_ADDRESS, company: 'First' }, as)).body
  const patch = (body: object, by: string) => api.patch(`${customers}/42/billing/${id}`, body, { as: by })
  expect((await patch({ company: 'Second' }, clerk.key)).status).toBe(200)
  const guesses = [{ company: 'Second' }, { company: 'Third' }, { taxId: null }, { state: 'CA' }, { postalCode: 'x' }]
  for (const guess of guesses) {
    const { status, body } = await patch(guess, clerk.key)
    expect([status, body.code], JSON.stringify(guess)).toEqual([429, 'rate_limited'])
  }
  expect((await patch({ isDefault: true }, clerk.key)).status).toBe(200)
  expect((await patch({ company: 3 }, clerk.key)).status).toBe(422)
  // Whoever may read the address may say again what is so.
  expect((await patch({ company: 'Second' }, as.as)).status).toBe(200)
})

test('the export is all that is held about them in this store, and nothing else', async () => {
  const world = await opened()
  const { api, customers, as, key, store } = world
  const reader = await key('READ')
  const { body: ada } = await api.put(`${customers}/42`, ADA, as)
  await api.put(`${customers}/43`, {}, as)
  await api.post(`${customers}/43/billing`, NEW_ADDRESS, as)
  const path = `${customers}/42/billing`
  const { body: address } = await api.post(path, NEW_ADDRESS, as)
  await api.patch(`${path}/${address.id}`, { city: 'Palo Alto' }, as)
  const reply = await api.get(`${customers}/42/export`, { as: reader.key })
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-disposition')).toBe(`attachment; filename="${ada.id}.json"`)
  expect(reply.body).toMatchObject({
    exportedAt: RFC_3339,
    customer: ada,
    addresses: [{ id: address.id, storeId: store.id, city: 'Palo Alto', version: 2, isDefault: true }],
    addressVersions: [{ id: address.id, city: 'Cupertino', version: 1 }],
    addressDefaults: [{ addressId: address.id, until: null }],
    events: [{ type: 'customer.created', by: 'user', data: { linked: false } }],
  })
  expect([reply.body.addresses.length, reply.body.events.length]).toEqual([1, 1])
})

/** Without the client's own idea of what a path is. */
async function rawPut(url: string, path: string, token: string): Promise<{ status: number }> {
  const { request } = await import('node:http')
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method: 'PUT', headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume()
      response.once('end', () => resolve({ status: response.statusCode ?? 0 }))
    })
      .once('error', reject)
      .end()
  })
}
