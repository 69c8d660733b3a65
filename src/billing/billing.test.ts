import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { type Api, NEW_ADDRESS, NEW_KEY, type Person, type Reply, shop, untilTried } from '../../tests/shop.ts'
import { newId } from '../core/ids.ts'

const ADDRESS_ID = /^addr_[0-7][0-9a-hjkmnp-tv-z]{25}$/
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

// ---- create ---------------------------------------------------------------------------------------------------------

test('201: an address is answered whole, in normal form, and reads the same afterwards', async () => {
  const { api, owner, store, billing } = await shop()
  const made = await api.post(
    billing,
    {
      firstName: '  Ada ',
      lastName: 'Lovelace',
      addressLine1: '1 Infinite Loop',
      city: 'Cupertino',
      state: 'California',
      postalCode: '95014',
      country: 'United States',
      phone: '+1 (408) 555-0123',
      isDefault: false,
    },
    { as: owner.token },
  )
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.stringMatching(ADDRESS_ID),
    storeId: store.id,
    userId: owner.id,
    firstName: 'Ada',
    lastName: 'Lovelace',
    company: null,
    taxId: null,
    addressLine1: '1 Infinite Loop',
    addressLine2: null,
    city: 'Cupertino',
    state: 'CA',
    postalCode: '95014',
    country: 'US',
    phone: '+14085550123',
    isDefault: true,
    formatted: ['Ada Lovelace', '1 Infinite Loop', 'Cupertino, CA 95014', 'UNITED STATES'],
    warnings: [],
    version: 1,
    createdAt: expect.stringMatching(RFC_3339),
    updatedAt: made.body.createdAt,
  })
  expect(made.headers.get('location')).toBe(`${billing}/${made.body.id}`)
  expect(made.headers.get('etag')).toBe('"r1"')

  const read = await api.get(`${billing}/${made.body.id}`, { as: owner.token })
  expect([read.status, read.body, read.headers.get('etag')]).toEqual([200, made.body, '"r1"'])
  expect((await api.get(billing, { as: owner.token })).body).toEqual({ data: [made.body], nextCursor: null })
})

test('422: every fault at once', async () => {
  const { api, owner, billing } = await shop()
  const faults = async (body: unknown) => {
    const refused = await api.post(billing, body, { as: owner.token })
    expect([refused.status, refused.body.code]).toEqual([422, 'invalid_input'])
    return refused.body.errors
      .map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`)
      .sort()
  }
  expect(await faults({})).toEqual(['#/addressLine1 required', '#/country required', '#/firstName name_required'])
  expect(
    await faults({
      firstName: 1,
      lastName: 'L\u202E',
      addressLine1: ' ',
      city: 'x'.repeat(101),
      state: 'ZZ',
      postalCode: 'nonsense',
      country: 'US',
      phone: '5550123',
      isDefault: 'yes',
      userId: 'user_somebody',
    }),
  ).toEqual([
    '#/addressLine1 required',
    '#/city too_long',
    '#/firstName invalid_type',
    '#/isDefault invalid_type',
    '#/lastName invalid_characters',
    '#/phone invalid_phone',
    '#/postalCode invalid_postal_code',
    '#/state unknown_state',
    '#/userId unknown_member',
  ])
  expect(await faults({ lastName: 'Solon', addressLine1: '1 Shore', country: 'Atlantis' })) //
    .toEqual(['#/country unknown_country'])
  const { body } = await api.post(billing, { ...NEW_ADDRESS, country: 'Germny' }, { as: owner.token })
  expect(body.errors).toEqual([
    {
      pointer: '#/country',
      code: 'unknown_country',
      detail: 'Unknown country. Did you mean Germany?',
      example: 'DE',
      suggestion: 'DE',
    },
  ])
  expect((await api.get(billing, { as: owner.token })).body.data).toEqual([])
})

test('an event tells that an address was made, and nothing of what it says', async () => {
  const { api, owner, store, billing, sql } = await shop({ alone: true })
  const { body } = await api.post(billing, NEW_ADDRESS, { as: owner.token })
  const events = await sql(
    `select id, store_id, type, at, actor, subject, data from events where type like 'address.%'`,
  )
  expect(events).toEqual([
    {
      id: expect.stringMatching(/^evt_/),
      store_id: store.id,
      type: 'address.created',
      at: new Date(body.createdAt),
      actor: { kind: 'user', id: owner.id, credential: expect.stringMatching(/^sess_/), ip: '127.0.0.1' },
      subject: body.id,
      data: { country: 'US' },
    },
  ])
})

// ---- whose it is ----------------------------------------------------------------------------------------------------

test('every store user keeps addresses, customers too; each sees only their own', async () => {
  const { api, owner, member, person, billing } = await shop()
  const customer = await member('CUSTOMER')
  const stranger = await person()
  const theirs = await api.post(billing, NEW_ADDRESS, { as: customer.token })
  const mine = await api.post(billing, NEW_ADDRESS, { as: owner.token })
  expect([theirs.status, theirs.body.userId, theirs.body.isDefault]).toEqual([201, customer.id, true])
  expect([mine.status, mine.body.userId, mine.body.isDefault]).toEqual([201, owner.id, true])
  expect(ids(await api.get(billing, { as: owner.token }))).toEqual([mine.body.id])
  expect(ids(await api.get(billing, { as: customer.token }))).toEqual([theirs.body.id])

  const other = await api.get(`${billing}/${theirs.body.id}`, { as: owner.token })
  const none = await api.get(`${billing}/${newId('addr')}`, { as: owner.token })
  const malformed = await api.get(`${billing}/addr_nonsense`, { as: owner.token })
  for (const refused of [other, none, malformed]) {
    const { requestId, instance, ...rest } = refused.body
    const { requestId: _, instance: __, ...expected } = none.body
    expect([refused.status, rest]).toEqual([404, expected])
  }
  expect(none.body.code).toBe('address_not_found')
  expect((await api.post(billing, NEW_ADDRESS, { as: stranger.token })).body.code).toBe('store_not_found')
})

test('an address belongs to one store: under another it does not exist', async () => {
  const { api, owner, billing } = await shop()
  const { body: address } = await api.post(billing, NEW_ADDRESS, { as: owner.token })
  const { body: other } = await api.post('/v1/user/store', { name: 'Another' }, { as: owner.token })
  const elsewhere = `/v1/store/${other.id}/billing`
  expect((await api.get(`${elsewhere}/${address.id}`, { as: owner.token })).body.code).toBe('address_not_found')
  expect(ids(await api.get(elsewhere, { as: owner.token }))).toEqual([])
  expect((await api.post(elsewhere, NEW_ADDRESS, { as: owner.token })).body.isDefault).toBe(true)
  expect((await api.get(`${billing}/${address.id}`, { as: owner.token })).body).toEqual(address)
})

test('403: a key and a service have no addresses, whatever they hold', async () => {
  const { api, owner, store, keys, billing, serviceToken, sql } = await shop()
  const permissions = (await api.get(`${keys}/grantable`, { as: owner.token })).body.permissions
  const { key } = (await api.post(keys, { ...NEW_KEY, permissions }, { as: owner.token })).body
  for (const as of [key, await serviceToken()]) {
    expect((await api.post(billing, NEW_ADDRESS, { as })).body).toMatchObject({ status: 403, code: 'user_required' })
    expect((await api.get(billing, { as })).body).toMatchObject({ status: 403, code: 'user_required' })
  }
  expect(await sql('select id from addresses where store_id = $1', [store.id])).toEqual([])
})

test('the addresses of a member who was removed stay, and are theirs again when they come back', async () => {
  const { api, owner, member, store, billing, sql } = await shop()
  const customer = await member('CUSTOMER')
  const { body: address } = await api.post(billing, NEW_ADDRESS, { as: customer.token })
  await api.delete(`/v1/user/store/${store.id}/members/${customer.id}`, { as: owner.token })
  for (const refused of [
    await api.get(`${billing}/${address.id}`, { as: customer.token }),
    await api.get(billing, { as: customer.token }),
    await api.post(billing, NEW_ADDRESS, { as: customer.token }),
  ])
    expect([refused.status, refused.body.code]).toEqual([404, 'store_not_found'])
  expect(await sql('select id, user_id from addresses where store_id = $1', [store.id])).toEqual([
    { id: address.id, user_id: customer.id },
  ])

  await api.patch(`/v1/user/store/${store.id}`, { registration: 'OPEN' }, { as: owner.token })
  expect((await api.post(`/v1/store/${store.id}/join`, undefined, { as: customer.token })).status).toBe(201)
  expect((await api.get(billing, { as: customer.token })).body.data).toEqual([address])
})

// ---- the default ----------------------------------------------------------------------------------------------------

test.each([true, false, undefined])('the first address is the default when isDefault is %s', async (isDefault) => {
  const { api, owner, billing } = await shop()
  expect((await api.post(billing, { ...NEW_ADDRESS, isDefault }, { as: owner.token })).body.isDefault).toBe(true)
  expect((await api.post(billing, { ...NEW_ADDRESS, isDefault: false }, { as: owner.token })).body.isDefault).toBe(
    false,
  )
  expect((await api.post(billing, NEW_ADDRESS, { as: owner.token })).body.isDefault).toBe(false)
})

test('isDefault: true moves the default; the one before gets a new ETag, and no new version', async () => {
  const { api, owner, billing } = await shop()
  const first = await api.post(billing, NEW_ADDRESS, { as: owner.token })
  const other = await api.post(billing, NEW_ADDRESS, { as: owner.token })
  const next = await api.post(billing, { ...NEW_ADDRESS, isDefault: true }, { as: owner.token })
  expect([first.body.isDefault, other.body.isDefault, next.body.isDefault]).toEqual([true, false, true])

  const read = (made: Reply) => api.get(`${billing}/${made.body.id}`, { as: owner.token })
  const before = await read(first)
  expect(before.body).toEqual({ ...first.body, isDefault: false })
  expect([first.headers.get('etag'), before.headers.get('etag')]).toEqual(['"r1"', '"r2"'])
  for (const same of [other, next]) {
    const now = await read(same)
    expect([now.body, now.headers.get('etag')]).toEqual([same.body, '"r1"'])
  }
})

test('the list has the default first, then the newest, page by page', async () => {
  const { api, owner, member, billing } = await shop()
  const made: string[] = []
  for (let i = 0; i < 7; i++)
    made.push((await api.post(billing, { ...NEW_ADDRESS, isDefault: i === 3 }, { as: owner.token })).body.id)
  const expected = [3, 6, 5, 4, 2, 1, 0].map((i) => made[i])
  for (const limit of [1, 2, 3, 7, 100]) {
    const seen: string[] = []
    let cursor = ''
    do {
      const page = await api.get(`${billing}?limit=${limit}${cursor && `&cursor=${cursor}`}`, { as: owner.token })
      expect(page.body.data.length).toBeLessThanOrEqual(limit)
      seen.push(...ids(page))
      cursor = page.body.nextCursor
    } while (cursor)
    expect(seen).toEqual(expected)
  }
  const { nextCursor } = (await api.get(`${billing}?limit=2`, { as: owner.token })).body
  const stranger = await member('CUSTOMER')
  expect((await api.get(`${billing}?cursor=${nextCursor}`, { as: stranger.token })).body.code).toBe('invalid_cursor')
})

test('200 at once by three users on two nodes: all succeed, and each has one default at every moment', async () => {
  const { api, owner, member, node, billing, sql, databaseUrl } = await shop({ MAX_ADDRESSES_PER_USER: '100' })
  const apis = [api, await node()]
  const users = [owner, await member('STAFF'), await member('CUSTOMER')]
  const watcher = await watchDefaults(databaseUrl)
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      untilTried(() =>
        (apis[i % 2] as Api).post(
          billing,
          { ...NEW_ADDRESS, ...(i % 5 < 3 ? { isDefault: i % 5 < 2 } : {}) },
          { as: (users[i % 3] as Person).token },
        ),
      ),
    ),
  )
  const { snapshots, wrong } = await watcher.stop()
  expect(replies.map(({ status }) => status)).toEqual(Array(200).fill(201))
  expect(wrong).toEqual([])
  expect(snapshots).toBeGreaterThan(10)
  const counted = await sql(`
    select user_id, count(*)::int as addresses, count(*) filter (where is_default)::int as defaults
      from addresses
     group by user_id`)
  expect(new Map(counted.map(({ user_id, addresses, defaults }) => [user_id, [addresses, defaults]]))).toEqual(
    new Map(users.map(({ id }, i) => [id, [i < 2 ? 67 : 66, 1]])),
  )
  // What was answered was true when it was written: as many had been the default as revisions have moved on.
  const [{ moves }] = await sql('select sum(revision - 1)::int as moves from addresses')
  expect(replies.filter(({ body }) => body.isDefault)).toHaveLength(moves + users.length)
})

// ---- limits ---------------------------------------------------------------------------------------------------------

test('409: a full book takes no more, and loses nothing', async () => {
  const { api, owner, member, billing } = await shop({ MAX_ADDRESSES_PER_USER: '3' })
  const made: string[] = []
  for (let i = 0; i < 3; i++) made.push((await api.post(billing, NEW_ADDRESS, { as: owner.token })).body.id)
  const refused = await api.post(billing, { ...NEW_ADDRESS, isDefault: true }, { as: owner.token })
  expect([refused.status, refused.body.code]).toEqual([409, 'limit_exceeded'])
  const list = (await api.get(billing, { as: owner.token })).body.data
  expect(list.map(({ id, isDefault }: { id: string; isDefault: boolean }) => [id, isDefault])) //
    .toEqual([
      [made[0], true],
      [made[2], false],
      [made[1], false],
    ])
  const customer = await member('CUSTOMER')
  expect((await api.post(billing, NEW_ADDRESS, { as: customer.token })).status).toBe(201)
})

test('the limit is exact, however many come at once and wherever', async () => {
  const { api, owner, node, billing, sql } = await shop({ MAX_ADDRESSES_PER_USER: '7' })
  const apis = [api, await node()]
  const replies = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      untilTried(() =>
        (apis[i % 2] as Api).post(billing, { ...NEW_ADDRESS, isDefault: i % 2 === 0 }, { as: owner.token }),
      ),
    ),
  )
  expect(replies.map(({ status }) => status).sort()).toEqual([...Array(7).fill(201), ...Array(23).fill(409)])
  expect(await sql('select count(*)::int as n, count(*) filter (where is_default)::int as defaults from addresses')) //
    .toEqual([{ n: 7, defaults: 1 }])
})

// ---- at rest --------------------------------------------------------------------------------------------------------

test('at rest the personal text is sealed, and bound to its row', async () => {
  const { api, owner, billing, sql } = await shop({ alone: true })
  const secret = {
    ...NEW_ADDRESS,
    firstName: 'Augusta',
    company: 'Analytical Engines',
    taxId: 'DE129273398',
    addressLine2: 'Floor 42',
  }
  const first = await api.post(billing, secret, { as: owner.token, headers: { 'idempotency-key': 'k' } })
  const second = await api.post(
    billing,
    { ...NEW_ADDRESS, firstName: 'Augusta', lastName: 'Byron' },
    { as: owner.token },
  )
  const rows = [
    ...(await sql('select * from addresses')),
    ...(await sql('select * from events')),
    ...(await sql('select * from idempotent_responses')),
  ]
  const dump = rows
    .flatMap((row) => Object.values(row))
    .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') + value.toString('hex') : JSON.stringify(value)))
  const all = dump.join('\n')
  for (const word of [
    // A name of three letters would be found by chance in one of some thousand runs.
    'Augusta',
    'Lovelace',
    'Infinite',
    'Floor 42',
    'Cupertino',
    '4085550123',
    'Analytical',
    'DE129273398',
  ]) {
    expect(all).not.toContain(word)
    expect(all).not.toContain(Buffer.from(word).toString('hex'))
  }
  const [plain] = await sql('select country, state, postal_code from addresses where id = $1', [first.body.id])
  expect(plain).toEqual({ country: 'US', state: 'CA', postal_code: '95014' })

  await sql(`update addresses set sealed = (select sealed from addresses where id = $1) where id = $2`, [
    first.body.id,
    second.body.id,
  ])
  const moved = await api.get(`${billing}/${second.body.id}`, { as: owner.token })
  expect([moved.status, moved.text.includes('Lovelace')]).toEqual([500, false])
  expect((await api.get(`${billing}/${first.body.id}`, { as: owner.token })).body).toEqual(first.body)
})

// ---- helpers --------------------------------------------------------------------------------------------------------

function ids(page: Reply): string[] {
  return page.body.data.map(({ id }: { id: string }) => id)
}

/** Looks again and again, and keeps every sight of a user who has addresses and not exactly one default. */
async function watchDefaults(connectionString: string) {
  const eye = new pg.Client({ connectionString })
  await eye.connect()
  onTestFinished(() => eye.end())
  let watching = true
  let snapshots = 0
  const wrong: unknown[] = []
  const watch = async () => {
    while (watching) {
      const { rows } = await eye.query<{ defaults: number }>(
        'select user_id, count(*) filter (where is_default)::int as defaults from addresses group by user_id',
      )
      if (rows.length > 0) snapshots += 1
      wrong.push(...rows.filter(({ defaults }) => defaults !== 1))
    }
  }
  const done = watch()
  return {
    stop: async () => {
      watching = false
      await done
      return { snapshots, wrong }
    },
  }
}
