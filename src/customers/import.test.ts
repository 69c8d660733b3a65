// Importing customers: many lines in one request, each answered for itself.

import { once } from 'node:events'
import http from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Reply, shop } from '../../tests/shop.ts'
import { DAY, travel } from '../core/clock.ts'
import { parseLines } from './import-lines.ts'

async function opened(settings: Parameters<typeof shop>[0] = {}) {
  const world = await shop(settings)
  const customers = `/v1/user/store/${world.store.id}/customers`
  const { body: key } = await world.api.post(
    world.keys,
    { ...NEW_KEY, permissions: ['READ', 'MANAGE_CUSTOMERS', 'MANAGE_KEYS'] },
    { as: world.owner.token },
  )
  const by = { as: key.key as string }
  const send = (lines: unknown, options: object = {}) =>
    world.api.post(`${customers}/import`, { customers: lines }, { ...by, ...options })
  return { ...world, customers, key, by, send, as: { as: world.owner.token } }
}

const elsewhere = { ...NEW_ADDRESS, addressLine1: '2 Infinite Loop' }

test('200: each line is answered in order; the same import again changes nothing', async () => {
  const { api, customers, key, as, send, sql, store } = await opened()
  await api.put(`${customers}/old`, { email: 'old@example.com', name: 'Old' }, as)
  await api.post(`${customers}/old/billing`, NEW_ADDRESS, as)
  const lines = [
    {
      externalId: 'new/1',
      email: 'New@Example.com',
      name: 'New',
      addresses: [NEW_ADDRESS, { ...elsewhere, isDefault: true }],
    },
    // In normal form it is the address there is, and twice the same is once.
    {
      externalId: 'old',
      name: null,
      addresses: [{ ...NEW_ADDRESS, state: 'California', phone: '+1 (408) 555-0123' }, elsewhere, elsewhere],
    },
    { externalId: 'bare' },
  ]
  const first = await send(lines)
  expect([first.status, first.body]).toEqual([
    200,
    {
      results: [
        { externalId: 'new/1', status: 'created' },
        { externalId: 'old', status: 'updated' },
        { externalId: 'bare', status: 'created' },
      ],
    },
  ])
  const made = (await api.get(`${customers}/new%2F1`, as)).body
  expect(made).toMatchObject({ email: 'new@example.com', name: 'New' })
  expect((await api.get(`${customers}/old`, as)).body).toMatchObject({ email: 'old@example.com', name: null })
  const kept = async (id: string) =>
    (await api.get(`${customers}/${id}/billing`, as)).body.data.map((address: any) => [
      address.addressLine1,
      address.isDefault,
    ])
  expect(await kept('new%2F1')).toEqual([
    ['2 Infinite Loop', true],
    ['1 Infinite Loop', false],
  ])
  expect(await kept('old')).toEqual([
    ['1 Infinite Loop', true],
    ['2 Infinite Loop', false],
  ])
  const [{ id }] = (await api.get(`${customers}/new%2F1/billing`, as)).body.data
  const version = (await api.get(`${customers}/new%2F1/billing/${id}/versions/1`, as)).body
  expect(version.by).toEqual({ kind: 'key', id: key.id })

  const rows = () =>
    sql(
      `select (select count(*) from events where store_id = $1) as events, (select count(*) from addresses where store_id = $1) as addresses,
              (select string_agg(revision::text, ',' order by id) from addresses where store_id = $1) as revisions`,
      [store.id],
    )
  const before = await rows()
  const again = await send(lines)
  expect(again.body.results.map(({ status }: any) => status)).toEqual(['updated', 'updated', 'updated'])
  expect(await rows()).toEqual(before)
  const events = (await api.get(`/v1/user/store/${store.id}/events?type=customer.*,address.*&actor=${key.id}`, as)).body
    .data
  expect(events.map(({ type }: any) => type).toSorted()).toEqual([
    ...Array(3).fill('address.created'),
    ...Array(2).fill('customer.created'),
    'customer.updated',
  ])
})

test('a line that is not right fails alone, whole, and says why', async () => {
  const { api, customers, as, send } = await opened({ MAX_ADDRESSES_PER_USER: '2' })
  const third = { ...NEW_ADDRESS, addressLine1: '3 Infinite Loop' }
  const lines: unknown[] = [
    { externalId: 'good', addresses: [NEW_ADDRESS, elsewhere] },
    { externalId: 'a\u0000b'.replace('\u0000', '\u200B'), email: 'nonsense', name: 7, role: 'OWNER' },
    { externalId: 'good', name: 'Again' },
    { externalId: 'faulty', addresses: [NEW_ADDRESS, { ...NEW_ADDRESS, postalCode: 'x' }, { country: 'US' }] },
    { externalId: 'many', addresses: [NEW_ADDRESS, elsewhere, third] },
    'text',
    null,
    [],
    {},
    { externalId: '..' },
    { externalId: 'x'.repeat(300) },
    { externalId: 'wild', addresses: Array.from({ length: 120 }, () => ({ a: 1 })) },
    { externalId: 'last' },
  ]
  const { status, body } = await send(lines)
  expect([status, body.results.length]).toEqual([200, lines.length])
  const told = body.results.map(({ externalId, status, errors }: any) => [
    externalId?.slice(0, 6) ?? null,
    status,
    errors?.map(({ pointer, code }: any) => `${pointer.replace('#/customers/', '')} ${code}`).slice(0, 4),
  ])
  expect(told).toEqual([
    ['good', 'created', undefined],
    [
      'a\u200Bb',
      'failed',
      expect.arrayContaining([
        '1/name invalid_type',
        '1/role unknown_member',
        '1/externalId invalid_characters',
        '1/email invalid_email',
      ]),
    ],
    ['good', 'failed', ['2/externalId duplicate']],
    [
      'faulty',
      'failed',
      expect.arrayContaining(['3/addresses/1/postalCode invalid_postal_code', '3/addresses/2/addressLine1 required']),
    ],
    ['many', 'failed', ['4/addresses limit_exceeded']],
    [null, 'failed', ['5 invalid_type']],
    [null, 'failed', ['6 invalid_type']],
    [null, 'failed', ['7 invalid_type']],
    [null, 'failed', ['8/externalId required']],
    ['..', 'failed', ['9/externalId invalid_format']],
    ['xxxxxx', 'failed', ['10/externalId too_long']],
    ['wild', 'failed', expect.any(Array)],
    ['last', 'created', undefined],
  ])
  expect(body.results[11].errors).toHaveLength(32)
  const { data } = (await api.get(customers, as)).body
  expect(data.map(({ externalId, name }: any) => [externalId, name])).toEqual([
    ['last', null],
    ['good', null],
  ])
  const more = (await send([{ externalId: 'good', name: 'Full', addresses: [third] }])).body.results
  expect(more[0]).toMatchObject({
    status: 'failed',
    errors: [{ pointer: '#/customers/0/addresses', code: 'limit_exceeded' }],
  })
  expect((await api.get(`${customers}/good`, as)).body.name).toBe(null)

  const invalid = (await send([{ externalId: 'faulty', addresses: [{ ...NEW_ADDRESS, postalCode: 'x' }] }])).body
    .results
  expect(invalid[0].errors[0]).toMatchObject({
    pointer: '#/customers/0/addresses/0/postalCode',
    code: 'invalid_postal_code',
  })
})

test('the addresses of a line are looked at one after the other, until there are as many faults as are shown', async () => {
  let seen = 0
  const address = Object.defineProperty({}, 'company', {
    enumerable: true,
    get: () => {
      seen += 1
      return 7
    },
  })
  const line = { externalId: 'a', addresses: Array.from({ length: 1_000 }, () => address) }
  const [parsed] = await parseLines({} as never, [line])
  // Each lacks its first line and its country, and has a company that is no text.
  expect(parsed?.faults.slice(0, 3).map(({ pointer, code }) => [pointer, code])).toEqual([
    ['#/customers/0/addresses/0/addressLine1', 'required'],
    ['#/customers/0/addresses/0/country', 'required'],
    ['#/customers/0/addresses/0/company', 'invalid_type'],
  ])
  expect(parsed?.faults).toHaveLength(33)
  expect(seen).toBeLessThan(100)
})

test('a line with very many faults is not read further, whatever it holds', async () => {
  const { send } = await opened()
  const unknown = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`k${n}`, 1]))
  const wrong = ['externalId', 'email', 'name', 'addresses'].flatMap((name) =>
    [7, 'x', [7], { x: 7 }, null].map((value) => ({ ...unknown, externalId: 'a', [name]: value })),
  )
  const { status, body } = await send([...wrong, { externalId: 'good' }])
  expect(status).toBe(200)
  const { status: ofGood } = body.results.pop()
  expect(ofGood).toBe('created')
  for (const { errors } of body.results) expect(errors.length).toBeGreaterThanOrEqual(32)
})

test('of very many faults each line that failed shows one at least', async () => {
  const { send } = await opened()
  const unknown = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k${n}`, 1]))
  const { body } = await send(Array.from({ length: 1_000 }, (_, n) => ({ ...unknown, externalId: `${n}` })))
  const shown = body.results.map(({ errors }: { errors: unknown[] }) => errors.length)
  expect([shown[0], shown.at(-1), Math.min(...shown)]).toEqual([32, 1, 1])
  expect(shown.reduce((sum: number, count: number) => sum + count)).toBeLessThan(6_000)
})

test('1,000 lines are taken, a retry is answered the same, and 1,001 are refused', async () => {
  const { api, customers, by, as, send, sql, store } = await opened()
  const lines = Array.from({ length: 1_000 }, (_, n) => ({
    externalId: `customer-${n}`,
    email: `c${n}@example.com`,
    name: 'Ada Lovelace',
    addresses: [{ ...NEW_ADDRESS, addressLine1: `${n} Infinite Loop` }],
  }))
  const retried = { headers: { 'idempotency-key': 'import-1' } }
  const first = await send(lines, retried)
  expect(first.status).toBe(200)
  expect(new Set(first.body.results.map(({ status }: any) => status))).toEqual(new Set(['created']))
  const [{ count }] = await sql('select count(*)::int from addresses where store_id = $1 and is_default', [store.id])
  expect(count).toBe(1_000)
  const again = await send(lines, retried)
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  expect((await api.get(`${customers}?q=c999%40example.com`, as)).body.data[0].externalId).toBe('customer-999')
  const tooMany = await send([...lines.map(({ externalId }) => ({ externalId })), { externalId: 'x' }])
  expect([tooMany.status, tooMany.body.errors[0].pointer]).toEqual([422, '#/customers'])
  expect((await api.post(`${customers}/import`, {}, by)).body.errors[0]).toMatchObject({
    pointer: '#/customers',
    code: 'required',
  })
  expect((await send([])).body).toEqual({ results: [] })
  const crowd = Array.from({ length: 101 }, (_, n) => ({ externalId: `${n}`, addresses: Array(50).fill({}) }))
  const { status, body } = await send(crowd)
  expect([status, body.errors]).toMatchObject([422, [{ pointer: '#/customers', code: 'too_long' }]])
  expect((await send(crowd.slice(0, 100))).status).toBe(200)
})

test('2 MiB are read from those who may import, and from nobody else; elsewhere 64 KiB stay the limit', async () => {
  const { api, customers, as, by, member, keys, owner } = await opened()
  const large = (bytes: number) => {
    const padded = JSON.stringify({ customers: [{ externalId: '1', name: 'x' }] })
    return padded.padEnd(bytes)
  }
  const send = async (raw: string, who: { as?: string }) => {
    const { status, body } = await api.post(`${customers}/import`, undefined, { ...who, raw })
    return [status, body.code ?? body.results[0].status]
  }
  const limit = 2 * 1024 * 1024
  expect(await send(large(limit), by)).toEqual([200, 'created'])
  expect(await send(large(limit + 1), by)).toEqual([413, 'body_too_large'])
  const clerk = await member('STAFF')
  const { body: reader } = await api.post(keys, NEW_KEY, { as: owner.token })
  for (const size of [100, 65_536, 65_537, limit]) {
    expect(await send(large(size), {})).toEqual([401, 'unauthenticated'])
    expect(await send(large(size), { as: 'nonsense' })).toEqual([401, 'invalid_token'])
    expect(await send(large(size), { as: clerk.token })).toEqual([403, 'insufficient_permission'])
    expect(await send(large(size), { as: reader.key })).toEqual([403, 'insufficient_permission'])
  }
  const put = await api.put(`${customers}/1`, undefined, { ...as, raw: '{}'.padEnd(65_537) })
  expect([put.status, put.body.code]).toEqual([413, 'body_too_large'])
})

test('429: one import at a time for the keys or people of a store and two for an account, whichever stores they use', async () => {
  const { api, customers, by, as, member, send, service, person } = await opened({ alone: true, RATE_LIMIT: '6000' })
  const lines = { customers: [{ externalId: '1' }] }
  const clerk = await member('STAFF', ['READ', 'MANAGE_CUSTOMERS'])
  /** Another store, which a key of its own imports into. */
  const openStore = async (ownerToken: string) => {
    const { id } = (await api.post('/v1/user/store', { name: 'Another' }, { as: ownerToken })).body
    const key = { ...NEW_KEY, permissions: ['READ', 'MANAGE_CUSTOMERS'] }
    const { body } = await api.post(`/v1/user/store/${id}/keys`, key, { as: ownerToken })
    return { id, run: () => api.post(`/v1/user/store/${id}/customers/import`, lines, { as: body.key }) }
  }
  const [second, third] = [await openStore(as.as), await openStore(as.as)]
  const others = await Promise.all(Array.from({ length: 3 }, async () => openStore((await person()).token)))
  const told = ({ status, body, headers }: Reply) => [status, body.code, body.detail, headers.get('retry-after')]
  // Until it is opened, no import comes to its end but that of one store. (Whoever waits for the lock of a store gives
  // up after two seconds: a busy machine takes longer than that.)
  let open = () => {}
  const hasOpened = new Promise<void>((resolve) => {
    open = resolve
  })
  let begun = 0
  const transaction = service.db.transaction.bind(service.db)
  const gate = vi.spyOn(service.db, 'transaction').mockImplementation(async (work, turn) => {
    if (turn !== undefined && turn.holder !== third.id) {
      begun += 1
      await hasOpened
    }
    return transaction(work, turn)
  })
  onTestFinished(open)
  const untilBegun = (count: number) => vi.waitFor(() => expect(begun).toBe(count), 30_000)
  // People are not kept waiting by keys, of which one may have leaked.
  const held = [api.post(`${customers}/import`, lines, by)]
  await untilBegun(1)
  held.push(api.post(`${customers}/import`, lines, as))
  await untilBegun(2)
  for (const who of [by, as, { as: clerk.token }])
    expect(told(await api.post(`${customers}/import`, lines, who))).toEqual([
      429,
      'rate_limited',
      'Another import in this store is under way on this node. Send one at a time.',
      '5',
    ])
  expect((await third.run()).status).toBe(200)
  held.push(second.run())
  await untilBegun(3)
  expect(told(await third.run())).toEqual([
    429,
    'rate_limited',
    'You have 2 imports under way on this node. Wait until one has ended.',
    '5',
  ])
  // A node works on four. The fifth waits for its turn and is not refused.
  held.push(...others.map(({ run }) => run()))
  await untilBegun(4)
  open()
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
  expect(begun).toBe(6)
  gate.mockRestore()
  expect([(await send(lines.customers)).status, (await third.run()).status]).toEqual([200, 200])

  // A large body takes its turn, and counts as a request, before it has arrived.
  const halfSent = () => {
    const headers = {
      authorization: `Bearer ${by.as}`,
      'content-type': 'application/json',
      'content-length': 2_000_000,
    }
    const request = http.request(`${api.url}${customers}/import`, { method: 'POST', headers }).on('error', () => {})
    request.write('{'.padEnd(1_000_000))
    return request
  }
  const refusal = async (request: http.ClientRequest) => {
    const [{ statusCode }] = await once(request, 'response')
    return { request, statusCode }
  }
  // Of two, one waits for the rest of its body.
  const two = [halfSent(), halfSent()]
  const refused = await Promise.race(two.map(refusal))
  expect([refused.statusCode, (await send(lines.customers)).status]).toEqual([429, 429])
  const left = async () =>
    Number(/r=(\d+)/.exec((await api.get(`${customers}/none`, by)).headers.get('ratelimit') as string)?.[1])
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const before = await left()
  const three = await Promise.all([halfSent(), halfSent(), halfSent()].map(refusal))
  expect(three.map(({ statusCode }) => statusCode)).toEqual([429, 429, 429])
  expect(await left()).toBe(before - 4)
  vi.useRealTimers()
  for (const { request } of [refused, ...three]) request.destroy()
  expect((await send(lines.customers)).status).toBe(429)
  for (const request of two) request.destroy()
  await vi.waitFor(async () => expect((await send(lines.customers)).status).toBe(200), 30_000)
})

test('imports can change all customers of a store twice a day, those of people more; what is as it was, and what is new, counts for nothing', async () => {
  const { api, customers, as, member, send, sql, store } = await opened({ MAX_CUSTOMERS_PER_STORE: '3' })
  const named = (name: string, ...ids: string[]) => ids.map((externalId) => ({ externalId, name }))
  const abc = ['a', 'b', 'c']
  for (const name of ['First', 'First', 'Second', 'Third', 'Third'])
    expect((await send(named(name, ...abc))).status).toBe(200)
  const count = async () => (await sql('select count(*)::int from events where store_id = $1', [store.id]))[0]
  const before = await count()
  const refused = await send(named('Fourth', 'a'))
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await count()).toEqual(before)
  expect((await send(named('Third', ...abc))).status).toBe(200)
  expect((await api.put(`${customers}/a`, { name: 'Fourth' }, as)).status).toBe(200)
  // A key that has leaked leaves some for those who set right what was done with it, and most for owners.
  const manager = { as: (await member('MANAGER')).token }
  for (const [name, whose] of Object.entries({ Fifth: manager, Sixth: as })) {
    expect((await send(named(name, ...abc), whose)).status).toBe(200)
    expect((await send(named('Too many', 'a'), whose)).status).toBe(429)
  }
  travel(DAY)
  expect((await send(named('Seventh', ...abc))).body.results).toHaveLength(3)
})

test('without READ, a right and a wrong guess at a customer look the same once no more can be changed or added', async () => {
  const { api, keys, as, member, send } = await opened({ MAX_CUSTOMERS_PER_STORE: '3', MAX_ADDRESSES_PER_USER: '2' })
  const clerk = { as: (await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_CUSTOMERS'] }, as)).body.key }
  const ada = { externalId: 'ada', email: 'ada@example.com', name: 'Ada', addresses: [NEW_ADDRESS] }
  await send([ada], as)
  const own = (name: string) => ['a', 'b'].map((externalId) => ({ externalId, name }))
  for (const name of ['First', 'Second', 'Third', 'Fourth']) expect((await send(own(name), clerk)).status).toBe(200)
  const guesses = [{ email: ada.email }, { email: 'bob@example.com' }, { name: 'Ada' }, { name: 'Bob' }]
  for (const guess of guesses) {
    const { status, body } = await send([{ externalId: 'ada', ...guess }], clerk)
    expect([status, body.code], JSON.stringify(guess)).toEqual([429, 'rate_limited'])
  }
  // What says nothing of them is no guess.
  const outcome = async (addresses: object[], whose = clerk) =>
    (await send([{ externalId: 'ada', addresses }], whose)).body.results[0].status
  expect(await outcome([])).toBe('updated')
  expect(await outcome([NEW_ADDRESS])).toBe('updated')
  expect(await outcome([elsewhere])).toBe('updated')
  expect([await outcome([NEW_ADDRESS]), await outcome([elsewhere])]).toEqual(['failed', 'failed'])
  expect(await outcome([{ ...NEW_ADDRESS, addressLine1: '3 Infinite Loop' }])).toBe('failed')
  // Whoever may read them may say again what is so.
  const manager = { as: (await member('MANAGER')).token }
  expect(await outcome([NEW_ADDRESS, elsewhere, NEW_ADDRESS], manager)).toBe('updated')
})

test('what a user, or the keys of a store, leave stored for retries is limited', async () => {
  const { api, keys, as, by, send, sql } = await opened({ RATE_LIMIT: '40' })
  const spareKey = { ...NEW_KEY, permissions: ['READ'], credits: { remaining: 1 }, metadata: { a: 'x'.repeat(10_000) } }
  const storedBytes = async () =>
    (await sql('select sum(octet_length(sealed))::int as bytes from idempotent_responses'))[0].bytes
  // Each line has several faults, which are all told, and nothing else is written.
  const wrong = Array.from({ length: 500 }, (_, n) => ({ externalId: `${n}`, email: 'no', name: 1, more: 1 }))
  const once = (key: string, whose: object) => send(wrong, { ...whose, headers: { 'idempotency-key': key } })
  for (const whose of [by, as]) {
    let [accepted, reply] = [0, await once('0', whose)]
    while (reply.status === 200 && accepted < 10) {
      accepted += 1
      reply = await once(`${accepted}`, whose)
    }
    expect([reply.status, reply.body.code]).toEqual([429, 'rate_limited'])
    expect(accepted).toBeGreaterThan(0)
    // Whatever stores little is done, and nothing twice; its response is not stored.
    const { body: spare } = await api.post(keys, spareKey, as)
    const before = await storedBytes()
    for (const [path, body] of [
      [`${keys}/${spare.id}/credits`, { add: 1 }],
      [`${keys}/bulk`, { ids: [spare.id], action: 'revoke' }],
    ] as const) {
      const options = { ...whose, headers: { 'idempotency-key': path } }
      expect((await api.post(path, body, options)).status).toBe(200)
      expect((await api.post(path, body, options)).body).toMatchObject({
        status: 409,
        code: 'response_no_longer_available',
      })
    }
    // A request that fails says why, and can be sent again.
    const failing = { ...whose, headers: { 'idempotency-key': 'failing' } }
    expect((await api.post(`${keys}/${spare.id}/credits`, { add: 0 }, failing)).body.code).toBe('invalid_input')
    expect((await api.post(`${keys}/${spare.id}/credits`, { add: 1 }, failing)).body.code).toBe('key_revoked')
    expect(await storedBytes()).toBe(before)
    // A retry stores nothing, nor does a request without an Idempotency-Key.
    expect((await once('0', whose)).headers.get('idempotent-replayed')).toBe('true')
    expect((await send(wrong, whose)).status).toBe(200)
  }
})
