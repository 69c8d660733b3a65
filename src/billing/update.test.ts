import { expect, test } from 'vitest'
import { type Api, NEW_ADDRESS, type Person, type Reply, type Shop, shop } from '../../tests/shop.ts'
import { newId } from '../core/ids.ts'

// ---- change ---------------------------------------------------------------------------------------------------------

test('200: what is given changes, what is left out stays, null clears; the answer is the normal form', async () => {
  const { api, owner, billing } = await shop()
  const made = await api.post(billing, { ...NEW_ADDRESS, company: 'Engines', addressLine2: 'Floor 1' }, as(owner))
  const path = `${billing}/${made.body.id}`
  const changed = await api.patch(
    path,
    { addressLine1: ' 350 Fifth Avenue ', city: 'New York', state: 'new york', postalCode: '10118', company: null },
    as(owner),
  )
  expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"r2"'])
  expect(changed.body).toEqual({
    ...made.body,
    addressLine1: '350 Fifth Avenue',
    city: 'New York',
    state: 'NY',
    postalCode: '10118',
    company: null,
    formatted: ['Ada Lovelace', '350 Fifth Avenue', 'Floor 1', 'New York, NY 10118', 'UNITED STATES'],
    version: 2,
    updatedAt: expect.any(String),
  })
  expect(changed.body.updatedAt > made.body.updatedAt).toBe(true)
  const read = await api.get(path, as(owner))
  expect([read.body, read.headers.get('etag')]).toEqual([changed.body, '"r2"'])

  const moved = await api.patch(
    path,
    { country: 'Ireland', city: 'Dublin', state: null, postalCode: null, phone: null },
    as(owner),
  )
  expect(moved.body).toMatchObject({ country: 'IE', state: null, postalCode: null, phone: null, version: 3 })
  expect(moved.body.warnings.map(({ code }: { code: string }) => code)).toEqual(['postal_code_missing'])
})

test('200: an empty change, and one that says what is there already, change nothing', async () => {
  const world = await shop()
  const { api, owner, billing } = world
  const made = await api.post(billing, NEW_ADDRESS, as(owner))
  const path = `${billing}/${made.body.id}`
  const before = await everyRow(world)
  for (const nothing of [
    {},
    { isDefault: true },
    { isDefault: false },
    { state: 'California', country: 'United States', phone: '+1 (408) 555-0123', firstName: ' Ada ' },
    { company: null, addressLine2: '' },
    { ...NEW_ADDRESS, isDefault: false },
  ]) {
    const reply = await api.patch(path, nothing, as(owner))
    expect([reply.status, reply.body, reply.headers.get('etag')]).toEqual([200, made.body, '"r1"'])
  }
  expect(await everyRow(world)).toEqual(before)
})

test('422: the address that would come of it is checked as a whole, every fault at once', async () => {
  const world = await shop()
  const { api, owner, billing } = world
  const made = await api.post(billing, NEW_ADDRESS, as(owner))
  const path = `${billing}/${made.body.id}`
  const before = await everyRow(world)
  const faults = async (body: unknown, at = path) => {
    const refused = await api.patch(at, body, as(owner))
    expect([refused.status, refused.body.code]).toEqual([422, 'invalid_input'])
    return refused.body.errors
      .map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`)
      .sort()
  }
  // What was right before may not be so in another country.
  expect(await faults({ country: 'Canada' })).toEqual(['#/postalCode invalid_postal_code', '#/state unknown_state'])
  expect(await faults({ country: 'DE' })).toEqual(['#/state unknown_state'])
  expect(await faults({ state: 'NY' })).toEqual(['#/postalCode postal_code_state_mismatch'])
  expect(await faults({ firstName: null, lastName: '' })).toEqual(['#/firstName name_required'])
  expect(await faults({ city: null, state: null, postalCode: null })).toEqual([
    '#/city required',
    '#/postalCode required',
    '#/state required',
  ])
  expect(await faults({ addressLine1: null, country: null, isDefault: null })).toEqual([
    '#/addressLine1 invalid_type',
    '#/country invalid_type',
    '#/isDefault invalid_type',
  ])
  // What the body has by itself is told together with what only the record brings to light.
  const many = {
    firstName: 1,
    lastName: 'L\u202E',
    city: 'x'.repeat(101),
    postalCode: 'nonsense',
    phone: '5550123',
    isDefault: 'yes',
    version: 7,
    userId: 'user_somebody',
  }
  const own = [
    '#/city too_long',
    '#/firstName invalid_type',
    '#/isDefault invalid_type',
    '#/lastName invalid_characters',
    '#/userId unknown_member',
    '#/version unknown_member',
  ]
  expect(await faults(many)).toEqual(
    [...own, '#/phone invalid_phone', '#/postalCode invalid_postal_code'].sort((a, b) => (a < b ? -1 : 1)),
  )
  // Where there is no address, its own faults are all there is to tell.
  for (const id of [newId('addr'), 'nonsense']) expect(await faults(many, `${billing}/${id}`)).toEqual(own)
  for (const body of [[], [1], null, 'x', 1]) expect(await faults(body)).toEqual(['# invalid_type'])
  expect(await everyRow(world)).toEqual(before)
})

test('412: If-Match guards changes and deletion against whoever was faster', async () => {
  const world = await shop()
  const { api, owner, billing } = world
  const made = await api.post(billing, NEW_ADDRESS, as(owner))
  const path = `${billing}/${made.body.id}`
  const matching = (etag: string) => ({ as: owner.token, headers: { 'if-match': etag } })
  expect((await api.patch(path, { city: 'Palo Alto' }, matching('"r1"'))).status).toBe(200)
  const before = await everyRow(world)
  for (const stale of ['"r1"', '"r3"', 'W/"r2"', 'nonsense', ''])
    for (const refused of [
      await api.patch(path, { city: 'Menlo Park' }, matching(stale)),
      await api.patch(path, { isDefault: true }, matching(stale)),
      await api.patch(path, {}, matching(stale)),
      await api.delete(path, matching(stale)),
    ])
      expect([refused.status, refused.body.code], stale).toEqual([412, 'precondition_failed'])
  expect(await everyRow(world)).toEqual(before)
  expect((await api.patch(path, { city: 'Menlo Park' }, matching('"r1", "r2"'))).headers.get('etag')).toBe('"r3"')
  expect((await api.patch(path, { city: 'Cupertino' }, matching('*'))).headers.get('etag')).toBe('"r4"')
  expect((await api.delete(path, matching('"r4"'))).status).toBe(204)
})

test('of many who change the same version one wins, wherever they ask', async () => {
  const { api, owner, node, billing } = await shop({ alone: true })
  const apis = [api, await node()]
  const made = await api.post(billing, NEW_ADDRESS, as(owner))
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      (apis[n % 2] as Api).patch(
        `${billing}/${made.body.id}`,
        { addressLine2: `Floor ${n}` },
        { as: owner.token, headers: { 'if-match': '"r1"' } },
      ),
    ),
  )
  expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)])
  const winner = replies.find(({ status }) => status === 200)
  expect((await api.get(`${billing}/${made.body.id}`, as(owner))).body).toEqual(winner?.body)
})

test('events name what changed, and nothing of what it says', async () => {
  const { api, owner, store, billing, sql } = await shop({ alone: true })
  const first = await api.post(billing, NEW_ADDRESS, as(owner))
  const second = await api.post(billing, NEW_ADDRESS, as(owner))
  const path = `${billing}/${first.body.id}`
  await api.patch(path, { lastName: 'Byron', city: 'Palo Alto' }, as(owner))
  await api.patch(path, { isDefault: false }, as(owner))
  await api.patch(path, { isDefault: true, phone: null }, as(owner))
  await api.delete(path, as(owner))
  await api.delete(`${billing}/${second.body.id}`, as(owner))
  const events = await sql(
    `select id, store_id, type, at, actor, subject, data from events where type in ('address.updated', 'address.deleted') order by id`,
  )
  const actor = { kind: 'user', id: owner.id, credential: expect.stringMatching(/^sess_/), ip: '127.0.0.1' }
  const told = { id: expect.stringMatching(/^evt_/), store_id: store.id, at: expect.any(Date), actor }
  const [one, two] = [first.body.id, second.body.id]
  expect(events).toEqual([
    { ...told, type: 'address.updated', subject: one, data: { changed: ['lastName', 'city'] } },
    { ...told, type: 'address.updated', subject: one, data: { changed: ['isDefault'], newDefault: two } },
    { ...told, type: 'address.updated', subject: one, data: { changed: ['phone', 'isDefault'] } },
    { ...told, type: 'address.deleted', subject: one, data: { newDefault: two } },
    { ...told, type: 'address.deleted', subject: two, data: {} },
  ])
})

// ---- the default ----------------------------------------------------------------------------------------------------

test('the default moves to where it is wanted: new ETags for both, and no version', async () => {
  const { api, owner, billing } = await shop()
  const [a, b, c] = await Promise.all([1, 2, 3].map(() => api.post(billing, NEW_ADDRESS, as(owner)))).then(byId)
  const book = async () =>
    Object.fromEntries(
      await Promise.all(
        [a, b, c].map(async (id) => {
          const { body, headers } = await api.get(`${billing}/${id}`, as(owner))
          return [id, `${headers.get('etag')} v${body.version}${body.isDefault ? ' default' : ''}`]
        }),
      ),
    )
  const patch = async (id: string, body: object) => {
    const { status, body: shown, headers } = await api.patch(`${billing}/${id}`, body, as(owner))
    expect(status).toBe(200)
    expect(`${headers.get('etag')} v${shown.version}${shown.isDefault ? ' default' : ''}`).toBe((await book())[id])
    return shown
  }
  // The three came at once: whichever was first is the default.
  await patch(a, { isDefault: true })
  const start = await book()
  expect(Object.values<string>(start).filter((line) => line.endsWith('default'))).toEqual([start[a]])
  const { updatedAt } = await patch(b, { isDefault: true })
  expect(updatedAt).toBe((await api.get(`${billing}/${b}`, as(owner))).body.createdAt)
  const next = await book()
  expect([next[a] !== start[a], next[b]?.endsWith('v1 default'), next[c] === start[c]]).toEqual([true, true, true])

  // False on the default hands it to the newest other; on any other it says what is so already.
  await patch(b, { isDefault: false })
  expect((await book())[c]).toMatch(/default$/)
  const last = await book()
  await patch(a, { isDefault: false })
  expect(await book()).toEqual(last)
  await patch(c, { isDefault: false })
  expect((await book())[b]).toMatch(/default$/)

  // With a change of content there is a version, whatever becomes of the default.
  await patch(b, { isDefault: false, city: 'Palo Alto' })
  expect([(await book())[b], (await book())[c]]).toEqual([
    expect.stringMatching(/ v2$/),
    expect.stringMatching(/ v1 default$/),
  ])
})

test('the only address keeps the default, and a new ETag is not made for nothing', async () => {
  const { api, owner, billing } = await shop()
  const made = await api.post(billing, NEW_ADDRESS, as(owner))
  const kept = await api.patch(`${billing}/${made.body.id}`, { isDefault: false }, as(owner))
  expect([kept.status, kept.body, kept.headers.get('etag')]).toEqual([200, made.body, '"r1"'])
  const changed = await api.patch(`${billing}/${made.body.id}`, { isDefault: false, city: 'Palo Alto' }, as(owner))
  expect([changed.body.isDefault, changed.body.version]).toEqual([true, 2])
})

test('each answer is true at its own place, also for those that travelled together', async () => {
  const { api, owner, billing, sql } = await shop({ alone: true })
  await api.post(billing, NEW_ADDRESS, as(owner))
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => api.post(billing, { ...NEW_ADDRESS, isDefault: true }, as(owner))),
  )
  expect(replies.map(({ status, body, headers }) => [status, body.isDefault, headers.get('etag')])).toEqual(
    Array(20).fill([201, true, '"r1"']),
  )
  // Each but the last was moved on from: nobody who wrote back to it with the ETag they have would overwrite that.
  expect(
    await sql('select is_default, revision, count(*)::int as n from addresses group by 1, 2 order by 1, 2'),
  ).toEqual([
    { is_default: false, revision: 2, n: 20 },
    { is_default: true, revision: 1, n: 1 },
  ])
})

// ---- delete ---------------------------------------------------------------------------------------------------------

test('204: a deleted address is gone; the newest that is left becomes the default', async () => {
  const { api, owner, billing } = await shop()
  const made: string[] = []
  for (let n = 0; n < 4; n++) made.push((await api.post(billing, NEW_ADDRESS, as(owner))).body.id)
  const [first, second, third, fourth] = made as [string, string, string, string]
  const list = async () =>
    (await api.get(billing, as(owner))).body.data.map((address: { id: string; isDefault: boolean }) => [
      address.id,
      address.isDefault,
    ])
  const gone = await api.delete(`${billing}/${first}`, as(owner))
  expect([gone.status, gone.text]).toEqual([204, ''])
  expect(await list()).toEqual([
    [fourth, true],
    [third, false],
    [second, false],
  ])
  expect((await api.get(`${billing}/${fourth}`, as(owner))).headers.get('etag')).toBe('"r2"')
  await api.delete(`${billing}/${third}`, as(owner))
  expect(await list()).toEqual([
    [fourth, true],
    [second, false],
  ])
  await api.delete(`${billing}/${fourth}`, as(owner))
  await api.delete(`${billing}/${second}`, as(owner))
  expect(await list()).toEqual([])
  for (const again of [
    await api.delete(`${billing}/${first}`, as(owner)),
    await api.patch(`${billing}/${first}`, { city: 'Palo Alto' }, as(owner)),
    await api.get(`${billing}/${first}`, as(owner)),
    await api.get(`${billing}/${first}/versions`, as(owner)),
    await api.get(`${billing}/${first}/versions/1`, as(owner)),
  ])
    expect([again.status, again.body.code]).toEqual([404, 'address_not_found'])
  expect((await api.post(billing, { ...NEW_ADDRESS, isDefault: false }, as(owner))).body.isDefault).toBe(true)
})

test('deleting makes room in a full book', async () => {
  const { api, owner, billing } = await shop({ MAX_ADDRESSES_PER_USER: '2' })
  const { id } = (await api.post(billing, NEW_ADDRESS, as(owner))).body
  await api.post(billing, NEW_ADDRESS, as(owner))
  expect((await api.post(billing, NEW_ADDRESS, as(owner))).status).toBe(409)
  await api.delete(`${billing}/${id}`, as(owner))
  expect((await api.post(billing, NEW_ADDRESS, as(owner))).status).toBe(201)
  expect((await api.post(billing, NEW_ADDRESS, as(owner))).status).toBe(409)
})

test('a retry of the creation is answered as it was, and brings back nothing that was deleted', async () => {
  const { api, owner, billing } = await shop()
  const retry = { as: owner.token, headers: { 'idempotency-key': 'a-lost-answer' } }
  const made = await api.post(billing, NEW_ADDRESS, retry)
  await api.patch(`${billing}/${made.body.id}`, { city: 'Palo Alto' }, as(owner))
  expect((await api.post(billing, NEW_ADDRESS, retry)).text).toBe(made.text)
  await api.delete(`${billing}/${made.body.id}`, as(owner))
  const again = await api.post(billing, NEW_ADDRESS, retry)
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([made.text, 'true'])
  expect((await api.get(billing, as(owner))).body.data).toEqual([])
})

// ---- whose it is ----------------------------------------------------------------------------------------------------

test('404: nobody else changes, deletes or makes default an address, and it looks as if there were none', async () => {
  const world = await shop()
  const { api, owner, member, billing } = world
  const [ada, bob] = [await member('CUSTOMER'), await member('MANAGER')]
  const { body: address } = await api.post(billing, NEW_ADDRESS, as(ada))
  await api.post(billing, NEW_ADDRESS, as(ada))
  await api.post(billing, NEW_ADDRESS, as(bob))
  const { body: other } = await api.post('/v1/user/store', { name: 'Another' }, as(ada))
  const elsewhere = `/v1/store/${other.id}/billing`
  const before = await everyRow(world)
  // One after the other: changes of the same person wait for each other.
  const tries = async (id: string, path: string, who: Person) => [
    await api.get(`${path}/${id}`, as(who)),
    await api.patch(`${path}/${id}`, { city: 'Mine' }, as(who)),
    await api.patch(`${path}/${id}`, { isDefault: true }, as(who)),
    await api.patch(`${path}/${id}`, { isDefault: false }, as(who)),
    await api.patch(`${path}/${id}`, {}, { as: who.token, headers: { 'if-match': '"r1"' } }),
    await api.delete(`${path}/${id}`, as(who)),
    await api.delete(`${path}/${id}`, { as: who.token, headers: { 'if-match': '"r9"' } }),
    await api.get(`${path}/${id}/versions`, as(who)),
    await api.get(`${path}/${id}/versions/1`, as(who)),
  ]
  for (const [who, path] of [
    [bob, billing],
    [owner, billing],
    [ada, elsewhere],
  ] as const) {
    const theirs = await tries(address.id, path, who)
    const random = await tries(newId('addr'), path, who)
    const malformed = await tries('addr_nonsense', path, who)
    expect(theirs.map(bare)).toEqual(random.map(bare))
    expect(malformed.map(bare)).toEqual(random.map(bare))
    for (const reply of random) expect([reply.status, reply.body.code]).toEqual([404, 'address_not_found'])
  }
  expect(await everyRow(world)).toEqual(before)
})

test('404: whoever was removed changes and deletes nothing any more', async () => {
  const world = await shop()
  const { api, owner, member, store, billing } = world
  const customer = await member('CUSTOMER')
  const { body: address } = await api.post(billing, NEW_ADDRESS, as(customer))
  await api.delete(`/v1/user/store/${store.id}/members/${customer.id}`, as(owner))
  const before = await everyRow(world)
  for (const refused of [
    await api.patch(`${billing}/${address.id}`, { city: 'Palo Alto' }, as(customer)),
    await api.delete(`${billing}/${address.id}`, as(customer)),
  ])
    expect([refused.status, refused.body.code]).toEqual([404, 'store_not_found'])
  expect(await everyRow(world)).toEqual(before)
})

// ---- helpers --------------------------------------------------------------------------------------------------------

function as({ token }: Person) {
  return { as: token }
}

function byId(replies: Reply[]): [string, string, string] {
  return replies.map(({ body }) => body.id).sort() as [string, string, string]
}

/** Everything that is kept about addresses. */
/** Of events only the store's: other stores of the service have some that nobody asked for, such as of keys that expire. */
async function everyRow({ sql, store }: Shop): Promise<unknown[]> {
  const tables: unknown[] = [await sql('select * from events where store_id = $1 order by id', [store.id])]
  for (const table of ['addresses', 'address_versions', 'address_defaults'])
    tables.push(await sql(`select * from ${table} order by 1, 2`))
  return tables
}

/** An answer without what is different each time, and without the path it was asked under. */
function bare({ status, headers, body }: Reply) {
  const { requestId: _, instance: __, ...rest } = body
  return { status, type: headers.get('content-type'), body: rest }
}
