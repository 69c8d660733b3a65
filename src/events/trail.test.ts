// The audit trail: what happened, who did it, and where one finds it.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { eventMemberType } from '../../scripts/event-data.ts'
import { fromBase32 } from '../../tests/authenticator.ts'
import { call } from '../../tests/command.ts'
import { openidProvider } from '../../tests/openid-provider.ts'
import { NEW_ADDRESS, NEW_KEY, type Person, type Shop, shop } from '../../tests/shop.ts'
import { issueUserToken } from '../auth/user-tokens.ts'
import { run } from '../cli/run.ts'
import { DAY, fromNow, HOUR, MINUTE, travel } from '../core/clock.ts'
import { type IdKind, isId, newId } from '../core/ids.ts'
import { totpCode, totpStep } from '../crypto/totp.ts'
import { newExpiryNotices } from '../keys/expiry-notices.ts'
import { readHead } from './log.ts'
import { EVENT_TYPES, type EventType } from './schema.ts'
import { sealAll } from './seal.ts'

test('the trail of a store, newest first', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const key = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  await api.patch(`${keys}/${key.id}`, { name: 'Renamed' }, { as: owner.token })
  await sealedUpTo(world, 3)
  const reply = await api.get(events(store.id), { as: owner.token })
  const actor = { kind: 'user', id: owner.id, credential: expect.stringMatching(/^sess_/), ip: '127.0.0.1' }
  const common = { id: expect.stringMatching(/^evt_/), storeId: store.id, at: expect.any(String), actor }
  expect([reply.status, reply.body]).toEqual([
    200,
    {
      data: [
        {
          ...common,
          type: 'key.updated',
          subject: key.id,
          data: { from: { name: 'Checkout' }, to: { name: 'Renamed' } },
          position: 3,
        },
        {
          ...common,
          type: 'key.created',
          subject: key.id,
          data: {
            name: 'Checkout',
            type: 'PROD',
            permissions: ['READ', 'WRITE'],
            expiresAt: null,
            ipAllowlist: null,
            rateLimit: null,
            rateLimits: [],
            credits: null,
            imported: false,
          },
          position: 2,
        },
        {
          ...common,
          type: 'store.created',
          subject: store.id,
          data: { name: 'The shop', registration: 'CLOSED', leakGraceSeconds: 0 },
          position: 1,
        },
      ],
      nextCursor: null,
    },
  ])
})

test('what a key did says so, and from where', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const maker = (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_KEYS'] }, { as: owner.token })).body
  await api.post(keys, { ...NEW_KEY, permissions: ['READ'] }, { as: maker.key })
  await sealedUpTo(world, 3)
  const { body } = await api.get(`${events(store.id)}?limit=1`, { as: owner.token })
  expect(body.data[0].actor).toEqual({ kind: 'key', id: maker.id, credential: maker.id, ip: '127.0.0.1' })
})

test('by type, by kind, by several, by subject, and by both', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const as = { as: owner.token }
  const made = [await api.post(keys, NEW_KEY, as), await api.post(keys, NEW_KEY, as)].map(({ body }) => body.id)
  await api.delete(`${keys}/${made[0]}`, as)
  await api.patch(`/v1/user/store/${store.id}`, { name: 'Renamed' }, as)
  await sealedUpTo(world, 5)
  const types = async (query: string) => {
    const { body } = await api.get(`${events(store.id)}?${query}`, as)
    return body.data.map((event: { type: string }) => event.type)
  }
  expect(await types('type=key.created')).toEqual(['key.created', 'key.created'])
  expect(await types('type=key.*')).toEqual(['key.revoked', 'key.created', 'key.created'])
  expect(await types('type=store.created,key.revoked')).toEqual(['key.revoked', 'store.created'])
  expect(await types('type=store.*,key.*')).toHaveLength(5)
  expect(await types(`subject=${made[0]}`)).toEqual(['key.revoked', 'key.created'])
  expect(await types(`subject=${made[0]}&type=key.created`)).toEqual(['key.created'])
  expect(await types(`subject=${made[0]}&type=store.*`)).toEqual([])
  expect(await types('subject=nothing')).toEqual([])
  for (const type of ['', 'key', 'key.', '*', 'key.nothing', 'key.created,', 'nothing.*', 'KEY.CREATED', 'session.*']) {
    const { status, body } = await api.get(`${events(store.id)}?type=${type}`, as)
    expect([status, body.errors?.[0]?.code, body.errors?.[0]?.pointer], type).toEqual([422, 'unknown_value', '?type'])
  }
  for (const path of [`${events(store.id)}?limit=0&cursor=zz&`, `${events(store.id)}/stream?`]) {
    const { body } = await api.get(`${path}type=x,user.created&foo=1&subject=${'x'.repeat(101)}`, as)
    const told = body.errors.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`)
    const rest = ['?foo unknown_member', '?subject too_long', '?type unknown_value']
    expect(told.toSorted()).toEqual(
      path.includes('limit') ? ['?foo unknown_member', '?limit too_small', ...rest.slice(1)] : rest,
    )
  }
})

test('a cursor belongs to its filters, and pages of a filter join without a gap', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const as = { as: owner.token }
  for (let n = 0; n < 7; n++) await api.post(keys, NEW_KEY, as)
  await api.patch(`/v1/user/store/${store.id}`, { name: 'Renamed' }, as)
  await sealedUpTo(world, 9)
  const all = await crawl(world, 'limit=100')
  expect(await crawl(world, 'limit=2')).toEqual(all)
  expect(await crawl(world, 'limit=3&type=key.*,store.*')).toEqual(all)
  expect(await crawl(world, 'limit=3&type=key.*')).toEqual(all.slice(1, 8))
  expect(await crawl(world, `limit=1&subject=${store.id}`)).toEqual([all[0], all[8]])
  const { nextCursor } = (await api.get(`${events(store.id)}?limit=2&type=key.*`, as)).body
  for (const query of ['limit=2', 'limit=2&type=key.created', `limit=2&type=key.*&subject=${store.id}`]) {
    const { status, body } = await api.get(`${events(store.id)}?${query}&cursor=${nextCursor}`, as)
    expect([status, body.code]).toEqual([400, 'invalid_cursor'])
  }
})

test('whoever turns the pages while others write finds each event once', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  for (let n = 0; n < 30; n++) await api.post(keys, NEW_KEY, { as: owner.token })
  let writing = true
  const writers = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (writing) await api.post(keys, NEW_KEY, { as: owner.token })
    }),
  )
  for (let turn = 0; turn < 5; turn++) {
    const known = await world.sql('select id from events where store_id = $1', [store.id])
    const found = await crawl(world, 'limit=9', () => sleep(3))
    expect(new Set(found).size).toBe(found.length)
    expect(found).toEqual(expect.arrayContaining(known.map(({ id }) => id)))
  }
  writing = false
  await writers
})

test('an event is listed as soon as its change was answered, with its position when it has one', async () => {
  const world = await shop({ alone: true }, { timings: { sealPauseMs: HOUR } })
  const { api, keys, owner, service, store, member } = world
  await sealAll(service.db)
  const ids: string[] = []
  const list = async (query = '') => (await api.get(`${events(store.id)}?${query}`, { as: owner.token })).body
  const positions = (page: { data: { position: number | null }[] }) => page.data.map(({ position }) => position)
  for (let n = 0; n < 7; n++) {
    await api.post(keys, NEW_KEY, { as: owner.token })
    const [newest] = (await list('limit=1')).data
    expect(newest).toMatchObject({ type: 'key.created', position: null })
    expect((await api.get(`${events(store.id)}/${newest.id}`, { as: owner.token })).body).toEqual(newest)
    ids.unshift(newest.id)
  }
  const all = await list('limit=100')
  expect(positions(all)).toEqual([...Array(7).fill(null), 1])
  for (const limit of [1, 2, 3, 7]) expect(await crawl(world, `limit=${limit}`)).toEqual([...ids, all.data[7].id])
  expect(await crawl(world, 'limit=2&type=key.*')).toEqual(ids)
  expect(await crawl(world, `limit=2&actor=${owner.id}`)).toEqual([...ids, all.data[7].id])
  expect(await crawl(world, `limit=2&actor=${newId('user')}`)).toEqual([])

  // Sealed while the pages are turned, and more written: each that was there is found once.
  let turned = 0
  const during = await crawl(world, 'limit=2', async () => {
    turned += 1
    await api.post(keys, NEW_KEY, { as: owner.token })
    if (turned === 2) await sealAll(service.db)
  })
  expect(during).toEqual([...ids, all.data[7].id])
  await sealAll(service.db)
  const sealed = await list('limit=100')
  expect(positions(sealed)).toEqual(Array.from({ length: sealed.data.length }, (_, n) => sealed.data.length - n))
  expect(sealed.data.map((event: { id: string }) => event.id)).toEqual(expect.arrayContaining(during))

  const path = `${events(store.id)}/${ids[0]}`
  expect((await api.get(path, { as: (await member('STAFF')).token })).status).toBe(403)
  for (const id of [newId('evt'), 'nonsense'])
    expect((await api.get(`${events(store.id)}/${id}`, { as: owner.token })).body.code).toBe('event_not_found')
})

test('what somebody did in a week is asked for by actor, from and to', async () => {
  const world = await shop()
  const { api, keys, owner, store, member, service } = world
  const bob = await member('MANAGER')
  const days: string[] = []
  const made: string[] = []
  for (let day = 0; day < 20; day++) {
    travel(DAY)
    days.push(fromNow(0).toISOString())
    for (const as of [owner.token, bob.token]) made.push((await api.post(keys, NEW_KEY, { as })).body.id)
  }
  await sealAll(service.db)
  travel(DAY)
  const subjects = async (query: string) => {
    const ids = await crawl(world, `${query}&limit=3`)
    return Promise.all(
      ids.map(async (id) => (await api.get(`${events(store.id)}/${id}`, { as: owner.token })).body.subject),
    )
  }
  const bobs = made.filter((_, n) => n % 2 === 1)
  expect(await subjects(`type=key.*&from=${days[3]}&to=${days[6]}`)).toEqual(made.slice(6, 12).toReversed())
  expect(await subjects(`from=${days[18]}`)).toEqual(made.slice(36).toReversed())
  expect(await subjects(`actor=${bob.id}&from=${days[3]}&to=${days[6]}`)).toEqual(bobs.slice(3, 6).toReversed())
  expect(await subjects(`actor=${bob.id}&type=key.created&to=${days[2]}`)).toEqual(bobs.slice(0, 2).toReversed())
  expect(await subjects(`actor=${bob.id}&subject=${made[1]}`)).toEqual([made[1]])
  expect(await subjects(`actor=${bob.id}&subject=${made[0]}`)).toEqual([])
  expect(await subjects(`from=${days[6]}&to=${days[6]}`)).toEqual([])
  const wrong = await api.get(`${events(store.id)}?from=yesterday&to=2026-01-01`, { as: owner.token })
  expect([wrong.status, wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([
    422,
    ['?from', '?to'],
  ])
})

test('with several filters a page looks at 5,000 events, and the next one goes on', async () => {
  const world = await shop()
  const { api, keys, owner, store, sql, service } = world
  const made: string[] = []
  const began = fromNow(0).toISOString()
  for (const round of [1, 2, 3]) {
    made.unshift((await api.post(keys, NEW_KEY, { as: owner.token })).body.id)
    await sealAll(service.db)
    if (round === 3) break
    await sql(
      `insert into events (id, store_id, type, at, actor, subject, data)
       select 'evt_' || $3 || lpad(n::text, 25, '0'), $1::text, 'store.updated', now(),
              json_build_object('kind', 'user', 'id', $2::text, 'credential', null, 'ip', null), $1, '{}'
         from generate_series(1, 6000) as n`,
      [store.id, owner.id, String(round)],
    )
    await sealAll(service.db)
  }
  const subjects = async (query: string) => {
    const ids = await crawl(world, query)
    return Promise.all(
      ids.map(async (id) => (await api.get(`${events(store.id)}/${id}`, { as: owner.token })).body.subject),
    )
  }
  for (const filters of [
    `actor=${owner.id}&type=key.created`,
    `actor=${owner.id}&type=key.created,key.revoked&from=${began}`,
    `type=key.created&from=${began}`,
    `type=key.created,key.revoked,store.frozen&from=${began}`,
  ])
    for (const limit of [1, 20]) expect(await subjects(`${filters}&limit=${limit}`)).toEqual(made)
  expect(await subjects(`subject=${store.id}&type=key.created`)).toEqual([])
  expect(await subjects(`actor=${owner.id}&subject=${made[1]}`)).toEqual([made[1]])
  expect(await subjects(`type=store.updated&from=${began}&to=${began}`)).toEqual([])
  const { body } = await api.get(`${events(store.id)}?actor=${owner.id}&type=key.created`, { as: owner.token })
  expect([body.data.length, typeof body.nextCursor]).toEqual([1, 'string'])
})

test('what is sealed while a page with an end is read is in it', async () => {
  const world = await shop({ alone: true }, { timings: { sealPauseMs: HOUR } })
  const { api, keys, owner, service, store } = world
  const one = service.db.one.bind(service.db)
  // Between the search for the positions of that time and the page.
  const sealing = vi.spyOn(service.db, 'one').mockImplementation(async (statement) => {
    const found = await one(statement)
    if (statement.text.includes('recursive search')) await sealAll(service.db)
    return found as never
  })
  for (const end of ['to', 'from']) {
    const span = end === 'to' ? `to=${fromNow(HOUR).toISOString()}` : `from=${fromNow(-MINUTE).toISOString()}`
    const { id } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
    const { data } = (await api.get(`${events(store.id)}?subject=${id}&${span}`, { as: owner.token })).body
    expect(data, span).toHaveLength(1)
    // A store that was quiet for so long has sealed nothing in the time that is asked for.
    travel(HOUR)
  }
  sealing.mockRestore()
})

test('a store sees its own events alone', async () => {
  const world = await shop()
  const { api, person, store } = world
  const other = await person()
  const theirs = (await api.post('/v1/user/store', { name: 'Other' }, { as: other.token })).body
  await vi.waitFor(async () => {
    const { body } = await api.get(events(theirs.id), { as: other.token })
    expect(body.data.map((event: { subject: string }) => event.subject)).toEqual([theirs.id])
  }, 60_000)
  expect((await api.get(events(store.id), { as: other.token })).status).toBe(404)
  // Nor does a stream go on from an event of another store.
  const { body } = await api.get(events(theirs.id), { as: other.token })
  const { status } = await api.get(`${events(store.id)}/stream?after=${body.data[0].id}`, { as: world.owner.token })
  expect(status).toBe(400)
})

// ---- every type ------------------------------------------------------------------------------------------------------

/** Who did not come with a session or a key: a new account has none yet, and the rest is the operator or the service. */
const WITHOUT_CREDENTIAL: EventType[] = [
  'user.created',
  'user.password_reset',
  'user.email_confirmed',
  'user.email_lost',
  'user.provider_linked',
  'user.recovery_code_used',
]

test('every type of event is as its row says: who, to what, and what the row lists', async () => {
  const world = await shop({ alone: true })
  await doEverything(world)
  const rows: Row[] = await world.sql('select id, store_id, type, at, actor, subject, data from events order by id')
  const seen = new Set(rows.map(({ type }) => type))
  expect([...seen].toSorted()).toEqual(Object.keys(EVENT_TYPES).toSorted())
  for (const row of rows) {
    const { subject, data } = EVENT_TYPES[row.type]
    expect(isId('evt', row.id)).toBe(true)
    expect(isId(subject as IdKind, row.subject), `${row.type} is about ${row.subject}`).toBe(true)
    if (!row.type.startsWith('service_token.') && row.type !== 'user.erased')
      expect(row.store_id === null, row.type).toBe(/^(user|session)\./.test(row.type))
    const there = Object.keys(row.data)
    expect(
      data.map((name) => name.replace('?', '')),
      row.type,
    ).toEqual(expect.arrayContaining(there))
    expect(there, row.type).toEqual(expect.arrayContaining(data.filter((name) => !name.endsWith('?'))))
    for (const [name, value] of Object.entries(row.data))
      expect(eventMemberType(row.type, name).split(' | '), `${row.type}: ${name}`).toContainEqual(typeOf(value))
    expectActor(row)
  }
  // What changed says from what to what, and both sides speak of the same.
  for (const row of rows.filter(({ data }) => typeof data.from === 'object'))
    expect(Object.keys(row.data.from as object), row.type).toEqual(Object.keys(row.data.to as object))
})

/** As the client's types say it; those of a key are held elsewhere. */
function typeOf(value: unknown): unknown {
  if (value === null) return expect.stringMatching(/^null$|^Key\[/)
  if (Array.isArray(value)) return expect.stringMatching(/^string\[\]$|^Key\[/)
  if (typeof value === 'object') return expect.stringMatching(/^Record<string, unknown>$|^Key\[/)
  return expect.stringMatching(new RegExp(`^${typeof value}$|^Key\\[`))
}

test('no secret, no e-mail and no text of an address is in any event', async () => {
  const world = await shop({ alone: true })
  const secrets = await doEverything(world)
  const all = JSON.stringify(await world.sql('select * from events'))
  expect(all).not.toMatch(/[a-z0-9]+_(prod|test|dev|sess|svc|inv|reset|confirm)_[0-9A-Za-z]{20,}/)
  expect(all).not.toMatch(/[\w.]+@example\.com/)
  for (const text of [...secrets, NEW_ADDRESS.addressLine1, NEW_ADDRESS.lastName, NEW_ADDRESS.phone, 'Cupertino'])
    expect(all).not.toContain(text)
})

type Row = {
  id: string
  store_id: string | null
  type: EventType
  actor: { kind: string; id: string; credential: string | null; ip: string | null }
  subject: string
  data: Record<string, unknown>
}

function expectActor({ type, actor }: Row): void {
  expect(Object.keys(actor).toSorted(), type).toEqual(['credential', 'id', 'ip', 'kind'])
  switch (actor.kind) {
    case 'user':
      expect(isId('user', actor.id), type).toBe(true)
      expect(actor.ip, type).toBe('127.0.0.1')
      expect(actor.credential === null || isId('sess', actor.credential), type).toBe(true)
      expect(actor.credential === null, type).toBe(WITHOUT_CREDENTIAL.includes(type))
      break
    case 'key':
      expect([isId('key', actor.id), actor.credential, actor.ip], type).toEqual([true, actor.id, '127.0.0.1'])
      break
    case 'system':
      expect([typeof actor.id, actor.ip], type).toEqual(['string', null])
      break
    default:
      throw new Error(`${type} was done by a ${actor.kind}`)
  }
}

/** Every change there is, once. Gives back what must not be found afterwards. */
async function doEverything(world: Shop): Promise<string[]> {
  const { api, owner, store, keys, billing, member, person, service, databaseUrl, serverSecret } = world
  const as = { as: owner.token }
  const path = `/v1/user/store/${store.id}`
  const secrets: string[] = [owner.password, owner.token]
  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret }
  const created = await call(run, ['service-token', 'create', 'Gateway', '--all-stores'], { env })
  secrets.push(...created.lines)
  const [token] = await world.sql('select id from service_tokens')
  expect(await call(run, ['service-token', 'revoke', token.id], { env })).toMatchObject({ code: 0, out: '' })

  const { body: session } = await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })
  await api.post('/v1/auth/sign-out', undefined, { as: session.token })
  await api.patch(path, { name: 'Renamed', registration: 'OPEN' }, as)
  const staff = await member('STAFF')
  await api.patch(`${path}/members/${staff.id}`, { role: 'MANAGER' }, as)
  const key = (await api.post(keys, NEW_KEY, { as: staff.token })).body
  await api.patch(
    `${keys}/${key.id}`,
    {
      name: 'Other',
      permissions: ['READ'],
      metadata: { a: 'b' },
      ipAllowlist: ['10.0.0.0/8'],
      enabled: false,
      owner: 'ada@example.com',
      credits: { remaining: 1 },
    },
    as,
  )
  await api.post(`${keys}/${key.id}/credits`, { add: 1 }, as)
  await api.patch(`${keys}/${key.id}`, { enabled: true }, as)
  const rotated = (await api.post(`${keys}/${key.id}/rotate`, { gracePeriodSeconds: 60 }, as)).body
  secrets.push(key.key, rotated.key)
  await api.delete(`${keys}/${key.id}?reason=done`, as)
  await api.post(keys, NEW_KEY, { as: staff.token })
  await api.delete(`${path}/members/${staff.id}?keys=revoke`, as)
  await api.post(`${keys}/freeze`, undefined, as)
  await api.post(`${keys}/unfreeze`, undefined, as)
  const maker = (await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_KEYS'] }, as)).body
  await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_KEYS'] }, { as: maker.key })
  const customer = await person()
  await api.post(`/v1/store/${store.id}/join`, undefined, { as: customer.token })
  const address = (await api.post(billing, NEW_ADDRESS, { as: customer.token })).body
  const other = (await api.post(billing, NEW_ADDRESS, { as: customer.token })).body
  await api.patch(`${billing}/${address.id}`, { lastName: 'Changed-Name' }, { as: customer.token })
  await api.patch(`${billing}/${address.id}`, { isDefault: false }, { as: customer.token })
  await api.delete(`${billing}/${other.id}`, { as: customer.token })
  secrets.push('Changed-Name')
  await api.post(`/v1/store/${store.id}/leave`, undefined, { as: customer.token })
  await api.delete('/v1/user', { as: customer.token })
  const patron = `${path}/customers/a-number-of-ours`
  await api.put(patron, { email: 'patron@example.com' }, as)
  await api.put(patron, { name: 'Patricia Patron' }, as)
  const kept = (await api.post(`${patron}/billing`, NEW_ADDRESS, as)).body
  const hold = `${path}/billing/${kept.id}/versions/1/hold`
  await api.post(hold, { reason: 'A-reason-of-ours', until: fromNow(DAY).toISOString() }, as)
  await api.delete(hold, as)
  secrets.push('A-reason-of-ours')
  await api.delete(patron, as)
  secrets.push('a-number-of-ours', 'Patricia')
  const invitation = (await api.post(`${path}/invitations`, { email: 'new@example.com', role: 'STAFF' }, as)).body
  secrets.push(invitation.token)
  await api.delete(`${path}/invitations/${invitation.id}`, as)
  const leaked = (await api.post(keys, { ...NEW_KEY, type: 'TEST' }, as)).body
  await api.post('/v1/leaks', { key: leaked.key })
  secrets.push(leaked.key)
  await api.post(keys, { ...NEW_KEY, expiresAt: fromNow(31 * DAY).toISOString() }, as)
  const webhook = { url: 'https://shop.example/a-secret-path', types: ['key.*'] }
  const { body: hook } = await api.post(`${path}/webhooks`, webhook, as)
  const turned = (await api.post(`${path}/webhooks/${hook.id}/rotate`, {}, as)).body
  secrets.push(hook.secret, turned.secret, 'a-secret-path')
  await api.patch(`${path}/webhooks/${hook.id}`, { url: 'https://shop.example/b', enabled: false }, as)
  await api.delete(`${path}/webhooks/${hook.id}`, as)
  travel(2 * DAY)
  await newExpiryNotices(null)(service.db)
  travel(0)
  await api.delete(path, as)
  await api.post(`${path}/restore`, undefined, as)
  await api.delete(path, as)
  const password = 'another long pass phrase of mine'
  await api.post('/v1/user/password', { currentPassword: owner.password, newPassword: password }, as)
  // As if the links had been mailed, to an e-mail that two accounts have given.
  const [older, newer] = [await person(), await person()]
  await api.patch('/v1/user', { name: 'Changed-Name' }, { as: newer.token })
  const owned = { user_id: newer.id, email: older.email }
  const { token: confirmation } = await issueUserToken(service.db, 'skp', 'confirm', owned)
  const moved = await api.post('/v1/auth/confirm', { token: confirmation.reveal() }, { as: newer.token })
  expect(moved.status).toBe(204)
  secrets.push(confirmation.reveal())
  const link = (await call(run, ['user', 'reset', owner.email], { env })).out.trim()
  const reset = { token: link.split('#token=')[1], newPassword: 'a third long pass phrase of mine' }
  expect((await api.post('/v1/auth/reset/confirm', reset)).status).toBe(204)
  secrets.push(...(await changeSecondFactor(world, await person())))
  for (const verb of ['disable', 'enable']) expect((await call(run, ['user', verb, owner.email], { env })).code).toBe(0)
  const provider = await openidProvider('https://keys.example')
  onTestFinished(provider.close)
  provider.person = { sub: 'a-subject', email: older.email, email_verified: true }
  const node = await world.node(provider.settings)
  const { headers } = await node.get('/v1/auth/oidc/start')
  const back = await provider.visit(headers.get('location') as string)
  const cookie = (headers.get('set-cookie') as string).split(';')[0] as string
  expect((await node.get(back.pathname + back.search, { headers: { cookie } })).status).toBe(303)
  expect((await call(run, ['user', 'unlink', newer.id], { env })).code).toBe(0)
  secrets.push('a-subject', back.searchParams.get('code') as string, back.searchParams.get('state') as string)
  return [...secrets, password, reset.token as string, reset.newPassword]
}

/**
 * Sets up an app, uses a recovery code, makes new ones, and removes the app. The codes of another are guessed, and the operator
 * removes it.
 */
async function changeSecondFactor(world: Shop, { email, password, token }: Person): Promise<string[]> {
  const { api, databaseUrl, serverSecret } = world
  const as = { as: token }
  const setUp = async () => {
    const { secret, recoveryCodes } = (await api.post('/v1/user/totp', undefined, as)).body
    const code = totpCode(fromBase32(secret), totpStep(Date.now()))
    expect((await api.post('/v1/user/totp/confirm', { code }, as)).status).toBe(204)
    return [secret, ...recoveryCodes] as string[]
  }
  const secrets = await setUp()
  const { challenge } = (await api.post('/v1/auth/sign-in', { email, password })).body
  expect((await api.post('/v1/auth/second-factor', { challenge, code: secrets[1] })).status).toBe(200)
  const { recoveryCodes } = (await api.post('/v1/user/recovery-codes', undefined, as)).body
  expect((await api.delete('/v1/user/totp', as)).status).toBe(204)
  secrets.push(...recoveryCodes, ...(await setUp()))
  const { body } = await api.post('/v1/auth/sign-in', { email, password })
  for (let i = 0; i < 10; i++)
    expect((await api.post('/v1/auth/second-factor', { challenge: body.challenge, code: 'wrong' })).status).toBe(401)
  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret }
  expect((await call(run, ['user', 'reset-second-factor', email], { env })).code).toBe(0)
  return secrets
}

// ---- helpers --------------------------------------------------------------------------------------------------------

function events(storeId: string): string {
  return `/v1/user/store/${storeId}/events`
}

async function sealedUpTo({ service, store }: Shop, seq: number): Promise<void> {
  await vi.waitFor(async () => expect((await readHead(service.db, store.id)).seq).toBe(seq), 60_000)
}

/** All pages, as the ids they hold. */
async function crawl({ api, owner, store }: Shop, query: string, between = async () => {}): Promise<string[]> {
  const found: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more = cursor === '' ? '' : `&cursor=${cursor}`
    const { status, body } = await api.get(`${events(store.id)}?${query}${more}`, { as: owner.token })
    expect(status).toBe(200)
    found.push(...body.data.map((event: { id: string }) => event.id))
    cursor = body.nextCursor
    await between()
  }
  return found
}
