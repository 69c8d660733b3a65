import { expect, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Person, type Reply, type Shop, shop, untilTried } from '../../tests/shop.ts'
import { addMs, fromNow, MINUTE, now, travel } from '../core/clock.ts'
import { newId } from '../core/ids.ts'

// ---- versions -------------------------------------------------------------------------------------------------------

test('every change of content makes a version, newest first, page by page; moving the default makes none', async () => {
  const { api, owner, billing } = await shop({ alone: true })
  const made = await api.post(billing, NEW_ADDRESS, as(owner))
  await api.post(billing, NEW_ADDRESS, as(owner))
  const path = `${billing}/${made.body.id}`
  const shown = [made.body]
  for (const changes of [{ city: 'Palo Alto' }, { isDefault: false }, { isDefault: true, phone: null }, {}]) {
    travel(MINUTE)
    const { body } = await api.patch(path, changes, as(owner))
    if (body.version > shown.length) shown.push(body)
  }
  const versions = shown.map((address) => asVersion(owner, address)).reverse()
  expect(versions.map(({ version }) => version)).toEqual([3, 2, 1])
  expect((await api.get(`${path}/versions`, as(owner))).body).toEqual({ data: versions, nextCursor: null })
  const seen: unknown[] = []
  let cursor = ''
  do {
    const page = await api.get(`${path}/versions?limit=1${cursor && `&cursor=${cursor}`}`, as(owner))
    seen.push(...page.body.data)
    cursor = page.body.nextCursor
  } while (cursor)
  expect(seen).toEqual(versions)
  for (const version of versions)
    expect((await api.get(`${path}/versions/${version.version}`, as(owner))).body).toEqual(version)
  for (const n of ['4', '0', '-1', '01', '1.0', 'x', '%00', '2147483647', '9999999999999999999']) {
    const missing = await api.get(`${path}/versions/${n}`, as(owner))
    expect([missing.status, missing.body.code], n).toEqual([404, 'version_not_found'])
  }
})

test('a version once made never changes, whatever happens to the address', async () => {
  const { api, owner, store, billing, sql } = await shop({ alone: true })
  const { id } = (await api.post(billing, NEW_ADDRESS, as(owner))).body
  const path = `${billing}/${id}`
  const invoiced = `/v1/user/store/${store.id}/billing/${id}/versions`
  const first = (await api.get(`${path}/versions/1`, as(owner))).text
  expect((await api.get(`${invoiced}/1`, as(owner))).text).toBe(first)
  await api.patch(path, { lastName: 'Byron', country: 'IE', state: null, postalCode: null }, as(owner))
  await api.patch(path, { lastName: 'King' }, as(owner))
  const second = (await api.get(`${path}/versions/2`, as(owner))).text
  await api.delete(path, as(owner))
  expect((await api.get(`${invoiced}/1`, as(owner))).text).toBe(first)
  expect((await api.get(`${invoiced}/2`, as(owner))).text).toBe(second)
  expect((await api.get(invoiced, as(owner))).body.data.map(({ version }: { version: number }) => version)) //
    .toEqual([3, 2, 1])
  expect((await api.get(`${invoiced}/4`, as(owner))).body.code).toBe('version_not_found')
  await expect(sql(`update address_versions set country = 'FR'`)).rejects.toThrow('never changes')
})

test('changes that come together each make a version of their own', async () => {
  const { api, owner, node, billing } = await shop()
  const apis = [api, await node()]
  const { id } = (await api.post(billing, NEW_ADDRESS, as(owner))).body
  const replies = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      untilTried(() =>
        (apis[n % 2] as Shop['api']).patch(`${billing}/${id}`, { addressLine2: `Floor ${n}` }, as(owner)),
      ),
    ),
  )
  expect(replies.map(({ status }) => status)).toEqual(Array(30).fill(200))
  const { data } = (await api.get(`${billing}/${id}/versions?limit=100`, as(owner))).body
  const answered = replies.map(({ body }) => asVersion(owner, body)).sort((a, b) => b.version - a.version)
  expect(data.slice(0, 30)).toEqual(answered)
  expect(data.map(({ version }: { version: number }) => version)).toEqual(Array.from({ length: 31 }, (_, n) => 31 - n))
  // Each has a moment of its own, in their order.
  const moments = data.map(({ at }: { at: string }) => at)
  expect(moments).toEqual([...new Set(moments)].sort().reverse())
})

test('at rest what an address was is sealed as what it is, and opens in its own place alone', async () => {
  const { api, owner, store, billing, sql } = await shop({ alone: true })
  const named = { ...NEW_ADDRESS, firstName: 'Augusta' }
  const { id } = (await api.post(billing, named, as(owner))).body
  const other = (await api.post(billing, named, as(owner))).body.id
  await api.patch(`${billing}/${id}`, { lastName: 'Byron' }, as(owner))
  await api.delete(`${billing}/${id}`, as(owner))
  await api.patch(`${billing}/${other}`, { lastName: 'King' }, as(owner))
  const rows = await sql('select * from address_versions order by address_id, version')
  expect(rows).toHaveLength(3)
  for (const row of rows) {
    const all = Object.values(row).map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
    for (const word of ['Augusta', 'Lovelace', 'Byron', 'Infinite', 'Cupertino', '4085550123', 'UNITED'])
      expect(all.join('\n')).not.toContain(word)
    expect([row.country, row.state, row.postal_code]).toEqual(['US', 'CA', '95014'])
  }
  await sql('alter table address_versions disable trigger address_versions_immutable')
  await sql(`update address_versions set sealed = $1 where address_id = $2`, [rows[1].sealed, other])
  const moved = await api.get(`/v1/user/store/${store.id}/billing/${other}/versions/1`, as(owner))
  expect([moved.status, moved.text.includes('Lovelace')]).toEqual([500, false])
})

// ---- for invoices ---------------------------------------------------------------------------------------------------

test('whoever holds READ, member or key, reads the addresses of one user for invoices', async () => {
  const world = await shop()
  const { api, owner, member, store, keys, billing } = world
  const ada = await member('CUSTOMER')
  const invoices = `/v1/user/store/${store.id}/billing`
  const [first, second, third] = [
    (await api.post(billing, NEW_ADDRESS, as(ada))).body,
    (await api.post(billing, { ...NEW_ADDRESS, isDefault: true }, as(ada))).body,
    (await api.post(billing, NEW_ADDRESS, as(ada))).body,
  ]
  const expected = [second, third, { ...first, isDefault: false }].map((address) => ({ ...address, erased: false }))
  const { key } = (await api.post(keys, { ...NEW_KEY, permissions: ['READ'] }, as(owner))).body
  const staff = await member('STAFF')
  for (const token of [owner.token, staff.token, key]) {
    const list = await api.get(`${invoices}?userId=${ada.id}`, { as: token })
    expect([list.status, list.body]).toEqual([200, { data: expected, nextCursor: null }])
    for (const address of expected)
      expect((await api.get(`${invoices}/${address.id}`, { as: token })).body).toEqual(address)
    expect((await api.get(`${invoices}/${first.id}/versions`, { as: token })).body.data).toEqual([
      asVersion(ada, first),
    ])
    expect((await api.get(`${invoices}/${first.id}/versions/1`, { as: token })).body).toEqual(asVersion(ada, first))
  }
  // Page by page; a cursor belongs to one user's list at one moment.
  const seen: unknown[] = []
  let cursor = ''
  do {
    const page = await api.get(`${invoices}?userId=${ada.id}&limit=1${cursor && `&cursor=${cursor}`}`, { as: key })
    seen.push(...page.body.data)
    cursor = page.body.nextCursor
    if (!cursor) break
    for (const other of [`userId=${owner.id}`, `userId=${ada.id}&at=2026-01-01T00:00:00Z`])
      expect((await api.get(`${invoices}?${other}&cursor=${cursor}`, { as: key })).body.code).toBe('invalid_cursor')
  } while (cursor)
  expect(seen).toEqual(expected)
})

test('403 and 404: without READ nobody reads for invoices, not even their own; other stores do not exist', async () => {
  const { api, owner, member, person, store, keys, billing } = await shop()
  const ada = await member('CUSTOMER')
  const { id } = (await api.post(billing, NEW_ADDRESS, as(ada))).body
  const invoices = `/v1/user/store/${store.id}/billing`
  const paths = [
    `${invoices}?userId=${ada.id}`,
    ...['', '/versions', '/versions/1'].map((end) => `${invoices}/${id}${end}`),
  ]
  const { key } = (await api.post(keys, { ...NEW_KEY, permissions: ['WRITE'] }, as(owner))).body
  const blind = await member('STAFF', ['WRITE', 'MANAGE_MEMBERS'])
  const stranger = await person()
  const { body: other } = await api.post('/v1/user/store', { name: 'Another' }, as(stranger))
  const { key: foreign } = (
    await api.post(`/v1/user/store/${other.id}/keys`, { ...NEW_KEY, permissions: ['READ'] }, as(stranger))
  ).body
  for (const path of paths) {
    for (const token of [ada.token, blind.token, key]) {
      const refused = await api.get(path, { as: token })
      expect([refused.status, refused.body.code, refused.body.required]).toEqual([
        403,
        'insufficient_permission',
        ['READ'],
      ])
    }
    for (const token of [stranger.token, foreign]) {
      const refused = await api.get(path, { as: token })
      expect([refused.status, refused.body.code]).toEqual([404, 'store_not_found'])
    }
  }
  // Under one's own store the addresses of another do not exist, and their users have none.
  const theirs = `/v1/user/store/${other.id}/billing`
  for (const token of [stranger.token, foreign]) {
    const random = [newId('addr'), 'addr_nonsense', id].map(async (addr) =>
      Promise.all(
        ['', '?at=2026-01-01T00:00:00Z', '/versions', '/versions/1', '/versions/x'].map(async (end) =>
          bare(await api.get(`${theirs}/${addr}${end}`, { as: token })),
        ),
      ),
    )
    const [none, malformed, foreignOne] = await Promise.all(random)
    expect(none?.map(({ status, body }) => [status, body.code])).toEqual(Array(5).fill([404, 'address_not_found']))
    expect(malformed).toEqual(none)
    expect(foreignOne).toEqual(none)
    for (const userId of [ada.id, newId('user'), stranger.id, 'nonsense', '', '%25'])
      expect((await api.get(`${theirs}?userId=${userId}`, { as: token })).text).toBe('{"data":[],"nextCursor":null}')
  }
})

test('422: whose addresses must be said, and a moment must be one', async () => {
  const { api, owner, store } = await shop()
  const invoices = `/v1/user/store/${store.id}/billing`
  const faults = async (path: string) => {
    const { status, body } = await api.get(path, as(owner))
    expect(status).toBe(422)
    return body.errors.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`)
  }
  expect(await faults(invoices)).toEqual(['?userId required'])
  expect(await faults(`${invoices}?at=yesterday&limit=0&surprise=1`)).toEqual(
    expect.arrayContaining(['?userId required', '?at invalid_time', '?limit too_small', '?surprise unknown_member']),
  )
  expect(await faults(`${invoices}/${newId('addr')}?at=2026-02-30T00:00:00Z`)).toEqual(['?at invalid_time'])
  expect(await faults(`${invoices}?userId=${owner.id}&userId=${owner.id}`)).toEqual(['?userId invalid_type'])
})

test('?at= shows what the addresses said at that moment, which was the default, and those deleted since', async () => {
  const { api, owner, member, store, billing } = await shop({ alone: true })
  const ada = await member('CUSTOMER')
  const invoices = `/v1/user/store/${store.id}/billing`
  const moments: { at: string; list: unknown[] }[] = []
  /** Remembers what is there, and lets a minute pass. */
  const remember = async () => {
    const { data } = (await api.get(`${invoices}?userId=${ada.id}`, as(owner))).body
    moments.push({ at: fromNow(MINUTE / 2).toISOString(), list: data })
    travel(MINUTE)
  }
  await remember()
  const first = (await api.post(billing, NEW_ADDRESS, as(ada))).body.id
  await remember()
  const second = (await api.post(billing, { ...NEW_ADDRESS, lastName: 'Byron', isDefault: true }, as(ada))).body.id
  await remember()
  await api.patch(`${billing}/${first}`, { city: 'Palo Alto' }, as(ada))
  await remember()
  await api.patch(`${billing}/${first}`, { isDefault: true }, as(ada))
  await remember()
  await api.patch(`${billing}/${first}`, { isDefault: false, lastName: 'King' }, as(ada))
  await remember()
  await api.delete(`${billing}/${second}`, as(ada))
  await remember()
  await api.delete(`${billing}/${first}`, as(ada))
  await remember()
  const third = (await api.post(billing, NEW_ADDRESS, as(ada))).body.id
  await remember()
  expect(moments.map(({ list }) => list.length)).toEqual([0, 1, 2, 2, 2, 2, 1, 0, 1])

  for (const { at, list } of moments) {
    const then = await api.get(`${invoices}?userId=${ada.id}&at=${at}`, as(owner))
    expect(then.body, at).toEqual({ data: list, nextCursor: null })
    const onePage = await api.get(`${invoices}?userId=${ada.id}&at=${at}&limit=1`, as(owner))
    expect(onePage.body.data).toEqual(list.slice(0, 1))
    for (const id of [first, second, third]) {
      const found = list.find((address) => (address as { id: string }).id === id)
      const read = await api.get(`${invoices}/${id}?at=${at}`, as(owner))
      expect([read.status, found ? read.body : read.body.code]).toEqual(
        found ? [200, found] : [404, 'address_not_found'],
      )
    }
  }
  // Exactly at the moment a version was made, it is the one.
  const { data: versions } = (await api.get(`${invoices}/${first}/versions`, as(owner))).body
  expect(versions).toHaveLength(3)
  for (const { at, version } of versions) {
    expect((await api.get(`${invoices}/${first}?at=${at}`, as(owner))).body.version).toBe(version)
    const offset = `${new Date(Date.parse(at) + 2 * 60 * MINUTE).toISOString().slice(0, -1)}%2B02:00`
    expect((await api.get(`${invoices}/${first}?at=${offset}`, as(owner))).body.version).toBe(version)
  }
  // Now, without `at`, what was deleted is not there; of times to come nobody knows better than that.
  expect((await api.get(`${invoices}/${first}`, as(owner))).body.code).toBe('address_not_found')
  const future = addMs(now(), 60 * MINUTE).toISOString()
  expect((await api.get(`${invoices}?userId=${ada.id}&at=${future}`, as(owner))).body.data).toEqual(
    moments.at(-1)?.list,
  )
})

test('what a member had stays readable for invoices after they have left', async () => {
  const { api, owner, member, store, billing } = await shop()
  const ada = await member('CUSTOMER')
  const { body: address } = await api.post(billing, NEW_ADDRESS, as(ada))
  await api.delete(`/v1/user/store/${store.id}/members/${ada.id}`, as(owner))
  const invoices = `/v1/user/store/${store.id}/billing`
  expect((await api.get(`${invoices}?userId=${ada.id}`, as(owner))).body.data).toEqual([{ ...address, erased: false }])
  expect((await api.get(`${invoices}/${address.id}/versions/1`, as(owner))).body).toEqual(asVersion(ada, address))
})

test('of a user who was erased country, state and postal code are left', async () => {
  const { api, owner, member, store, billing } = await shop()
  const ada = await member('CUSTOMER')
  const { body: kept } = await api.post(billing, { ...NEW_ADDRESS, company: 'Engines', taxId: 'DE129273398' }, as(ada))
  const { body: gone } = await api.post(billing, NEW_ADDRESS, as(ada))
  await api.delete(`${billing}/${gone.id}`, as(ada))
  expect((await api.delete('/v1/user', as(ada))).status).toBe(200)
  const erased = ({ isDefault, ...address }: Record<string, unknown>) => ({
    ...address,
    firstName: null,
    lastName: null,
    company: null,
    taxId: null,
    addressLine1: null,
    addressLine2: null,
    city: null,
    phone: null,
    formatted: [],
    warnings: [],
    erased: true,
  })
  const invoices = `/v1/user/store/${store.id}/billing`
  const read = async (path: string) => (await api.get(invoices + path, as(owner))).body
  const now = { ...erased(kept), isDefault: true }
  expect(await read(`?userId=${ada.id}`)).toEqual({ data: [now], nextCursor: null })
  expect(await read(`/${kept.id}`)).toEqual(now)
  const version = {
    version: 1,
    at: gone.createdAt,
    by: { kind: 'user', id: ada.id },
    address: erased(gone),
    hold: null,
  }
  expect(await read(`/${gone.id}/versions/1`)).toEqual(version)
  expect(await read(`/${gone.id}/versions`)).toEqual({ data: [version], nextCursor: null })
})

// ---- helpers --------------------------------------------------------------------------------------------------------

function as({ token }: Person) {
  return { as: token }
}

/** The version that an address was when it was answered like this. */
function asVersion(by: Person, { isDefault: _, ...content }: Reply['body']) {
  return {
    version: content.version as number,
    at: content.updatedAt,
    by: { kind: 'user', id: by.id },
    address: { ...content, erased: false },
    hold: null,
  }
}

function bare({ status, headers, body }: Reply) {
  const { requestId: _, instance: __, ...rest } = body
  return { status, type: headers.get('content-type'), body: rest }
}
