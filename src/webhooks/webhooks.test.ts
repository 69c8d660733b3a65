import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Webhook as Verifier } from 'standardwebhooks'
import { expect, onTestFinished, test, vi } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Shop, shop, shopsWith, untilTried } from '../../tests/shop.ts'
import { startTicking } from '../../tests/ticks.ts'
import { type Received, receiver } from '../../tests/webhook-receiver.ts'
import { DAY, HOUR, MINUTE, SECOND, travel } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { validate as faultsOf } from '../schema/validate.ts'
import { sweepDeliveries } from './deliveries.ts'
import { WebhookMessage } from './schema.ts'
import { disableAfterFailure } from './webhooks.ts'

const OPEN = { WEBHOOK_ALLOW_PRIVATE: 'on' }
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const sharedShop = shopsWith(OPEN)

/** What a webhook still has to send when the test is over is not sent during a later one. */
async function openShop(): Promise<Shop> {
  const world = await sharedShop()
  const disable = `update webhooks set enabled = false, disabled_at = now(), disabled_reason = 'REQUESTED' where enabled`
  onTestFinished(async () => void (await world.sql(disable)))
  return world
}

/** A shop with one webhook and its receiver. */
async function listening(types = ['key.*'], open: () => Promise<Shop> = openShop) {
  const world = await open()
  const far = await receiver()
  const as = world.owner.token
  const webhooks = `/v1/user/store/${world.store.id}/webhooks`
  const { body: webhook } = await world.api.post(webhooks, { url: far.url, types }, { as })
  const path = `${webhooks}/${webhook.id}`
  return { ...world, far, as, webhooks, webhook, path, deliveries: `${path}/deliveries` }
}

/** With a service and a database of its own. */
const listeningAlone = () => listening(['key.*'], () => shop(OPEN))

/** Asks until the answer is as wanted: deliveries go their own way, and an answer that never comes fails by the test's time. */
async function until<T>(ask: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await ask()
    if (wanted(value)) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

type World = Awaited<ReturnType<typeof listening>>

/** The newest delivery, once it has so many tries behind it. */
function settled({ api, deliveries, as }: Pick<World, 'api' | 'deliveries' | 'as'>, attempts: number) {
  return until(
    async () => (await api.get(deliveries, { as })).body.data[0],
    (delivery) => delivery?.attempts === attempts,
  )
}

function check(secret: string, { text, headers }: Received) {
  const message = new Verifier(secret).verify(text, headers as Record<string, string>)
  expect(faultsOf(WebhookMessage, message)).toEqual([])
  return message
}

// ---- the record -------------------------------------------------------------------------------------------------------

test('201: a manager makes a webhook and sees its secret once', async () => {
  const { api, owner, store } = await openShop()
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const wanted = {
    url: 'http://127.0.0.1:8009/hooks#part',
    types: ['key.*', 'address.created'],
    description: 'Warehouse',
  }
  const made = await api.post(webhooks, wanted, { as: owner.token })
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.stringMatching(/^wh_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    storeId: store.id,
    url: 'http://127.0.0.1:8009/hooks',
    types: ['key.*', 'address.created'],
    description: 'Warehouse',
    enabled: true,
    disabledAt: null,
    disabledReason: null,
    failingSince: null,
    createdAt: expect.stringMatching(RFC_3339),
    createdBy: { kind: 'user', id: owner.id },
    updatedAt: made.body.createdAt,
    rotation: null,
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  })
  expect(made.headers.get('location')).toBe(`${webhooks}/${made.body.id}`)
  expect(made.headers.get('cache-control')).toBe('no-store')

  const { secret: _, ...record } = made.body
  const read = await api.get(`${webhooks}/${made.body.id}`, { as: owner.token })
  expect([read.status, read.body]).toEqual([200, record])
  expect(read.headers.get('etag')).toBe(made.headers.get('etag'))
  expect((await api.get(webhooks, { as: owner.token })).body).toEqual({ data: [record], nextCursor: null })
})

test('a lost answer is asked for again, and shows the same secret and no second webhook', async () => {
  const { api, as, webhooks, far, path } = await listening()
  const headers = { 'idempotency-key': randomUUID() }
  const first = await api.post(webhooks, { url: far.url, types: ['*'] }, { as, headers })
  const again = await api.post(webhooks, { url: far.url, types: ['*'] }, { as, headers })
  expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true'])
  expect((await api.get(webhooks, { as })).body.data).toHaveLength(2)

  const turn = { 'idempotency-key': randomUUID() }
  const rotated = await api.post(`${path}/rotate`, undefined, { as, headers: turn })
  expect((await api.post(`${path}/rotate`, undefined, { as, headers: turn })).text).toBe(rotated.text)

  // Once there is a newer secret, or no webhook any more, the old answer is gone.
  const made = `${webhooks}/${first.body.id}`
  await api.post(`${made}/rotate`, {}, { as })
  const late = await api.post(webhooks, { url: far.url, types: ['*'] }, { as, headers })
  expect([late.status, late.body.code, late.body.resource]).toEqual([
    409,
    'secret_no_longer_available',
    { id: first.body.id },
  ])
})

test('403: a key that was bound meanwhile does not get the secret again that it may no longer make', async () => {
  const { api, as, webhooks, far, store } = await listening()
  const keys = `/v1/user/store/${store.id}/keys`
  const { id, key } = (await api.post(keys, { ...NEW_KEY, permissions: ['MANAGE_WEBHOOKS'] }, { as })).body
  const again = async (path: string, headers: Record<string, string>) => {
    const { status, body } = await api.post(path, { url: far.url, types: ['*'] }, { as: key, headers })
    return [status, body.code ?? typeof body.secret]
  }
  const headers = { 'idempotency-key': randomUUID() }
  expect(await again(webhooks, headers)).toEqual([201, 'string'])
  expect(await again(webhooks, headers)).toEqual([201, 'string'])
  await api.patch(`${keys}/${id}`, { rateLimit: { limit: 1_000, windowSeconds: 60 } }, { as })
  expect(await again(webhooks, headers)).toEqual([403, 'cannot_grant'])
})

test('422: types that do not exist, and everything else that is wrong, at once', async () => {
  const { api, owner, store } = await shop()
  const bad = { url: 'http://shop.example', types: ['key.*', 'key.eaten', 'user.created', 'k*'], description: '' }
  const reply = await api.post(`/v1/user/store/${store.id}/webhooks`, bad, { as: owner.token })
  expect(reply.status).toBe(422)
  expect(reply.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
    ['#/description', 'too_short'],
    ['#/url', 'https_required'],
    ['#/types/1', 'unknown_type'],
    ['#/types/2', 'unknown_type'],
    ['#/types/3', 'unknown_type'],
  ])
  // It is a type, and no store's.
  expect(reply.body.errors[3].detail).toMatch(/^Unknown event type\./)
  const mixed = await api.post(
    `/v1/user/store/${store.id}/webhooks`,
    { ...bad, types: ['nope', 5] },
    { as: owner.token },
  )
  expect(mixed.body.errors).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ pointer: '#/types/0', code: 'unknown_type' }),
      expect.objectContaining({ pointer: '#/types/1', code: 'invalid_type' }),
    ]),
  )
})

test('409: a store has at most 20, also when they are made at the same moment', async () => {
  const { api, owner, store } = await openShop()
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const make = () => api.post(webhooks, { url: 'http://127.0.0.1:8009/', types: ['*'] }, { as: owner.token })
  for (let n = 0; n < 16; n++) expect((await make()).status).toBe(201)
  const replies = await Promise.all(Array.from({ length: 8 }, make))
  expect(replies.map(({ status }) => status).sort()).toEqual([...Array(4).fill(201), ...Array(4).fill(409)])
  expect(replies.find(({ status }) => status === 409)?.body.code).toBe('limit_exceeded')
})

test('PATCH changes what is sent and where, honours If-Match, and tells of it without the path', async () => {
  const { api, as, path, webhook, sql } = await listening()
  const etag = (await api.get(path, { as })).headers.get('etag') as string
  const changed = await api.patch(
    path,
    { url: 'http://127.0.0.1:8009/secret-path?token=1', types: ['member.*'], description: 'All' },
    { as, headers: { 'if-match': etag } },
  )
  expect(changed.status).toBe(200)
  const { secret: _, ...record } = webhook
  expect(changed.body).toEqual({
    ...record,
    url: 'http://127.0.0.1:8009/secret-path?token=1',
    types: ['member.*'],
    description: 'All',
    updatedAt: changed.body.updatedAt,
  })
  expect((await api.patch(path, { types: ['key.*'] }, { as, headers: { 'if-match': etag } })).status).toBe(412)
  expect((await api.patch(path, {}, { as })).body).toEqual(changed.body)
  const [event] = await sql(`select data from events where type = 'webhook.updated' and subject = $1`, [webhook.id])
  expect(event.data).toEqual({
    from: { host: new URL(webhook.url).host, types: ['key.*'], description: null, enabled: true },
    to: { host: '127.0.0.1:8009', types: ['member.*'], description: 'All', enabled: true },
    urlChanged: true,
  })
})

test('DELETE ends it, and what it had on its way', async () => {
  const { api, as, path, deliveries, far, keys, owner, sql } = await listening()
  far.answer(500)
  await api.post(keys, NEW_KEY, { as })
  await settled({ api, deliveries, as }, 1)
  expect((await api.delete(path, { as })).status).toBe(204)
  for (const gone of [path, deliveries]) expect((await api.get(gone, { as })).body.code).toBe('webhook_not_found')
  travel(10 * SECOND)
  await api.post(keys, NEW_KEY, { as })
  const [{ count }] = await sql('select count(*)::int as count from webhook_outbox where account = $1', [owner.id])
  expect([count, far.received.length]).toEqual([0, 1])
})

test('404: a webhook and a delivery of another store look like none at all', async () => {
  const { api, as, person, webhook, path } = await listening()
  const { body: sent } = await api.post(`${path}/test`, undefined, { as })
  const stranger = await person()
  const other = (await api.post('/v1/user/store', { name: 'Other' }, { as: stranger.token })).body.id
  const own = `/v1/user/store/${other}/webhooks`
  const { body: mine } = await api.post(own, { url: webhook.url, types: ['*'] }, { as: stranger.token })
  const ask = async (method: string, at: string, body?: unknown) => {
    const { requestId, instance, ...rest } = (await api.ask(method, at, body, { as: stranger.token })).body
    expect([requestId, instance]).toEqual([expect.stringMatching(/^req_/), at])
    return rest
  }
  const cases: [string, string, unknown?][] = [
    ['GET', ''],
    ['PATCH', '', { enabled: false }],
    ['DELETE', ''],
    ['POST', '/rotate', {}],
    ['POST', '/test', {}],
    ['GET', '/deliveries'],
    ['GET', `/deliveries/${sent.id}`],
    ['POST', `/deliveries/${sent.id}/redeliver`, {}],
  ]
  for (const [method, rest, body] of cases) {
    const theirs = await ask(method, `${own}/${webhook.id}${rest}`, body)
    expect(theirs.code).toBe('webhook_not_found')
    expect(theirs).toEqual(await ask(method, `${own}/${newId('wh')}${rest}`, body))
    if (rest.includes(sent.id))
      expect((await ask(method, `${own}/${mine.id}${rest}`, body)).code).toBe('delivery_not_found')
  }
  expect((await api.get(path, { as })).body.enabled).toBe(true)
})

// ---- what arrives -----------------------------------------------------------------------------------------------------

test('what happens arrives signed, and the standard library of receivers accepts it', async () => {
  const { api, as, keys, owner, store, far, webhook, deliveries } = await listening()
  const { body: key } = await api.post(keys, NEW_KEY, { as })
  const [message] = (await far.messages(1)) as [Received]
  expect(message.path).toBe('/hooks')
  expect(check(webhook.secret, message)).toEqual({
    type: 'key.created',
    timestamp: key.createdAt,
    id: expect.stringMatching(/^evt_/),
    storeId: store.id,
    actor: { kind: 'user', id: owner.id },
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
  })
  expect(message.headers).toMatchObject({
    'content-type': 'application/json',
    'webhook-id': message.body.id,
    'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
    'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
  })
  const delivery = await settled({ api, deliveries, as }, 1)
  expect(delivery).toEqual({
    id: expect.stringMatching(/^dlv_/),
    webhookId: webhook.id,
    eventId: message.body.id,
    type: 'key.created',
    cause: 'EVENT',
    status: 'DELIVERED',
    attempts: 1,
    responseStatus: 204,
    responseBody: '',
    error: null,
    durationMs: expect.any(Number),
    createdAt: expect.stringMatching(RFC_3339),
    lastAttemptAt: expect.stringMatching(RFC_3339),
    nextAttemptAt: null,
  })
  expect((await api.get(`${deliveries}/${delivery.id}`, { as })).body).toEqual(delivery)
})

test('36. an altered body, another id, an old timestamp or another secret fails the check of the receiver', async () => {
  const { api, as, keys, far, webhook } = await listening()
  await api.post(keys, NEW_KEY, { as })
  const [message] = (await far.messages(1)) as [Received]
  const withHeader = (name: string, value: string) => ({ ...message, headers: { ...message.headers, [name]: value } })
  check(webhook.secret, message)
  const old = String(Math.floor(Date.now() / 1000) - 600)
  for (const altered of [
    { ...message, text: message.text.replace('Checkout', 'Checkin') },
    withHeader('webhook-id', 'evt_other'),
    withHeader('webhook-timestamp', old),
    withHeader('webhook-timestamp', String(Number(message.headers['webhook-timestamp']) + 1)),
  ])
    expect(() => check(webhook.secret, altered)).toThrow()
  expect(() => check(`whsec_${Buffer.alloc(32).toString('base64')}`, message)).toThrow()
})

test('36. while a secret is being changed both verify; afterwards, and after a second change, only the newer', async () => {
  const { api, as, keys, path, far, webhook } = await listening()
  const rotated = await api.post(`${path}/rotate`, { gracePeriodSeconds: 3600 }, { as })
  expect(rotated.status).toBe(200)
  expect(rotated.body.secret).not.toBe(webhook.secret)
  const overlap = Date.parse(rotated.body.rotation.previousExpiresAt) - Date.parse(rotated.body.updatedAt)
  expect(overlap).toBe(HOUR)
  await api.post(keys, NEW_KEY, { as })
  const [both] = (await far.messages(1)) as [Received]
  expect(String(both.headers['webhook-signature']).split(' ')).toHaveLength(2)
  for (const secret of [webhook.secret, rotated.body.secret]) check(secret, both)

  const third = await api.post(`${path}/rotate`, undefined, { as })
  await api.post(keys, NEW_KEY, { as })
  const [, newer] = (await far.messages(2)) as [Received, Received]
  expect(() => check(webhook.secret, newer)).toThrow()
  for (const secret of [rotated.body.secret, third.body.secret]) check(secret, newer)

  travel(DAY + SECOND)
  await api.post(keys, NEW_KEY, { as })
  const last = (await far.messages(3))[2] as Received
  expect(String(last.headers['webhook-signature']).split(' ')).toHaveLength(1)
  expect((await api.get(path, { as })).body.rotation).toBe(null)
})

test('only what is listened to is sent: by type, by its beginning, or everything', async () => {
  const { api, as, webhooks, keys, billing, far } = await listening(['address.created'])
  const [prefix, all, off] = [await receiver(), await receiver(), await receiver()]
  await api.post(webhooks, { url: prefix.url, types: ['key.*'] }, { as })
  await api.post(webhooks, { url: all.url, types: ['*'] }, { as })
  const { body } = await api.post(webhooks, { url: off.url, types: ['*'] }, { as })
  await api.patch(`${webhooks}/${body.id}`, { enabled: false }, { as })
  const { body: key } = await api.post(keys, NEW_KEY, { as })
  await api.post(billing, NEW_ADDRESS, { as })
  await api.delete(`${keys}/${key.id}`, { as })
  const types = async (from: typeof far, count: number) =>
    (await from.messages(count)).map(({ body }) => body.type).sort()
  expect(await types(far, 1)).toEqual(['address.created'])
  expect(await types(prefix, 2)).toEqual(['key.created', 'key.revoked'])
  // Its own making is the first thing that a webhook hears of; what was before it never comes.
  expect(await types(all, 7)).toEqual([
    'address.created',
    'key.created',
    'key.revoked',
    'webhook.created',
    'webhook.created',
    'webhook.disabled',
    'webhook.updated',
  ])
  expect(off.received.map(({ body }) => body.type).filter((type) => type !== 'webhook.created')).toEqual([])
})

test('a batch of many keys arrives whole, each once', async () => {
  const { api, as, keys, far } = await listening()
  const made = await Promise.all(Array.from({ length: 90 }, () => untilTried(() => api.post(keys, NEW_KEY, { as }))))
  const messages = await far.messages(90)
  expect(messages.map(({ body }) => body.subject).sort()).toEqual(made.map(({ body }) => body.id).sort())
})

test('a statement that writes very many events is handed out bit by bit, all of it', async () => {
  const { far, sql, store } = await listening()
  await sql('begin')
  await sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_many_' || n, $1, 'key.created', now(), '{"kind":"user","id":"u"}', 'key_' || n, '{}'
       from generate_series(1, 650) as n`,
    [store.id],
  )
  const parts = await sql(
    `select cardinality(event_ids) as events from webhook_outbox where event_ids[1] like 'evt_many_%' order by id`,
  )
  await sql('commit')
  expect(parts.map(({ events }) => events)).toEqual([...Array(6).fill(100), 50])
  const subjects = (await far.messages(650)).map(({ body }) => body.subject)
  expect(new Set(subjects).size).toBe(650)
})

test('however many events nobody is subscribed to, the next one that somebody is does not wait for more', async () => {
  // Nobody wakes the dispatcher after the one commit, and it does not look by itself.
  const world = await shop({ ...OPEN, alone: true }, { timings: { dispatcher: { idleMs: 3_600_000 } } })
  const { api, owner, store, sql } = world
  const far = await receiver()
  const webhook = { url: far.url, types: ['key.rotated'] }
  await api.post(`/v1/user/store/${store.id}/webhooks`, webhook, { as: owner.token })
  await sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_many_' || lpad(n::text, 4, '0'), $1, case n when 1050 then 'key.rotated' else 'key.created' end, now(),
            '{"kind":"user","id":"u"}', 'key_' || n, '{}'
       from generate_series(1, 1050) as n`,
    [store.id],
  )
  await api.patch(`/v1/user/store/${store.id}`, { name: 'Another' }, { as: owner.token })
  expect((await far.messages(1)).map(({ body }) => body.subject)).toEqual(['key_1050'])
})

test('nothing arrives for what was rolled back', async () => {
  const { api, as, keys, far, sql, store, owner } = await listening(['*'])
  const event = `insert into events (id, store_id, type, at, actor, subject, data)
                 values ('evt_' || $1, '${store.id}', 'key.created', now(), '{"kind":"user","id":"${owner.id}"}', $1, '{}')`
  await sql('begin')
  await sql(event, ['rolled-back'])
  await sql('rollback')
  await sql('begin')
  await sql(event, ['committed'])
  // What commits late is not overtaken by what began after it.
  const { body: key } = await api.post(keys, NEW_KEY, { as })
  await far.messages(2)
  await sql('commit')
  await api.post(keys, NEW_KEY, { as })
  const subjects = (await far.messages(4)).map(({ body }) => body.subject)
  expect(subjects).toContain('committed')
  expect(subjects).toContain(key.id)
  expect(subjects).not.toContain('rolled-back')
})

// ---- when it goes wrong ------------------------------------------------------------------------------------------------

test('the ten tries over 75 hours carry one webhook-id and one body, and then it is given up', async () => {
  const world = await listening()
  const { api, as, keys, far, deliveries } = world
  far.answer(500)
  await api.post(keys, NEW_KEY, { as })
  const steps = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
  for (const [i, step] of steps.entries()) {
    const delivery = await settled(world, i + 1)
    expect([delivery.status, delivery.responseStatus, delivery.error]).toEqual(['PENDING', 500, null])
    const wait = Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.lastAttemptAt)
    expect(wait).toBeGreaterThanOrEqual(step)
    expect(wait).toBeLessThanOrEqual(step * 1.1 + 5 * SECOND)
    travel(Math.round(step * 1.1) + 5 * SECOND)
  }
  const over = await settled(world, 10)
  expect([over.status, over.nextAttemptAt]).toEqual(['FAILED', null])
  expect(far.received).toHaveLength(10)
  expect(new Set(far.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(new Set(far.received.map(({ text }) => text)).size).toBe(1)
  const failed = await api.get(`${deliveries}?status=FAILED`, { as })
  expect(failed.body.data).toEqual([over])
  expect((await api.get(`${deliveries}?status=PENDING`, { as })).body.data).toEqual([])
})

test('Retry-After puts the next try off, as far as a day', async () => {
  const world = await listening()
  const { api, as, keys, far } = world
  const waits: number[] = []
  for (const header of ['90', new Date(Date.now() + 2 * HOUR).toUTCString(), '99999999', 'soon', '0']) {
    far.answer((response) => void response.writeHead(503, { 'retry-after': header }).end('later'))
    await api.post(keys, NEW_KEY, { as })
    await far.messages(waits.length + 1)
    const { lastAttemptAt, nextAttemptAt, durationMs } = await settled(world, 1)
    // The wait is counted from the answer.
    waits.push(Math.round((Date.parse(nextAttemptAt) - Date.parse(lastAttemptAt) - durationMs) / SECOND))
  }
  expect(waits[0]).toBe(90)
  expect(Math.abs((waits[1] as number) - 7200)).toBeLessThan(10)
  expect(waits[2]).toBe(86_400)
  for (const wait of waits.slice(3)) expect(wait === 5 || wait === 6).toBe(true)
})

test('410 switches the webhook off at once, and the store hears of it', async () => {
  const { api, as, keys, far, path, webhooks, deliveries, webhook } = await listening()
  const other = await receiver()
  await api.post(webhooks, { url: other.url, types: ['webhook.disabled'] }, { as })
  far.answer(410)
  await api.post(keys, NEW_KEY, { as })
  const [told] = (await other.messages(1)) as [Received]
  expect(told.body).toMatchObject({
    type: 'webhook.disabled',
    actor: { kind: 'system', id: 'storekeeper' },
    subject: webhook.id,
    data: { reason: 'GONE' },
  })
  const { body } = await api.get(path, { as })
  expect([body.enabled, body.disabledReason, body.disabledAt]).toEqual([false, 'GONE', expect.stringMatching(RFC_3339)])
  expect(await settled({ api, deliveries, as }, 1)).toMatchObject({ status: 'PENDING', responseStatus: 410 })
  expect((await api.post(`${path}/test`, undefined, { as })).body.code).toBe('webhook_disabled')

  far.answer(204)
  const on = await api.patch(path, { enabled: true }, { as })
  expect([on.body.enabled, on.body.disabledReason, on.body.disabledAt, on.body.failingSince]).toEqual([
    true,
    null,
    null,
    null,
  ])
  await api.post(keys, NEW_KEY, { as })
  await settled({ api, deliveries, as }, 1)
  // What got the 410 has waited, as everything does for a webhook that is off.
  travel(MINUTE)
  const id = far.received[0]?.headers['webhook-id']
  const [refused, again] = await until(
    async () => far.received.filter(({ headers }) => headers['webhook-id'] === id),
    ({ length }) => length === 2,
  )
  expect(again?.text).toBe(refused?.text)
})

test('an endpoint that fails for five days is switched off; one that works again in between is not', async () => {
  const world = await listening()
  const { api, as, keys, far, path } = world
  const failingSince = async () => (await api.get(path, { as })).body.failingSince
  far.answer(500)
  await api.post(keys, NEW_KEY, { as })
  const first = await settled(world, 1)
  expect(await failingSince()).toBe(first.lastAttemptAt)
  travel(3 * DAY)
  far.answer(204)
  await until(failingSince, (since) => since === null)

  far.answer(500)
  await api.post(keys, NEW_KEY, { as })
  await settled(world, 1)
  travel(4 * DAY)
  await api.post(keys, NEW_KEY, { as })
  await settled(world, 1)
  expect((await api.get(path, { as })).body.enabled).toBe(true)
  travel(DAY + MINUTE)
  await api.post(keys, NEW_KEY, { as })
  const off = await until(
    async () => (await api.get(path, { as })).body,
    ({ enabled }) => !enabled,
  )
  expect(off.disabledReason).toBe('FAILING')
})

test('a failure that was under way when all was well again switches nothing off', async () => {
  const { api, as, path, service, webhook, sql } = await listening()
  await disableAfterFailure(service.db, webhook.id, 1, 'FAILING')
  expect((await api.get(path, { as })).body.enabled).toBe(true)
  await sql(`update webhooks set failing_since = now() - interval '6 days' where id = $1`, [webhook.id])
  await disableAfterFailure(service.db, webhook.id, 1, 'FAILING')
  expect((await api.get(path, { as })).body).toMatchObject({ enabled: false, disabledReason: 'FAILING' })
})

test('a secret that cannot be read is the trouble of its webhook alone', async () => {
  const world = await listening()
  const { api, as, webhooks, keys, far, sql, webhook } = world
  const other = await receiver()
  await api.post(webhooks, { url: other.url, types: ['key.*'] }, { as })
  await sql(`update webhooks set secret = 'damaged' where id = $1`, [webhook.id])
  await api.post(keys, NEW_KEY, { as })
  await other.messages(1)
  const delivery = await settled(world, 1)
  expect([delivery.status, delivery.error, far.received]).toEqual(['PENDING', 'secret_unreadable', []])
})

test('410 from where a webhook was before does not switch it off where it is now, and the message goes there', async () => {
  const world = await listening()
  const { api, as, keys, far, path } = world
  const other = await receiver()
  const answers: (() => void)[] = []
  far.answer((response) => {
    answers.push(() => void response.writeHead(410).end())
  })
  await api.post(keys, NEW_KEY, { as })
  await far.messages(1)
  await api.patch(path, { url: other.url }, { as })
  for (const answer of answers) answer()
  expect(await settled(world, 1)).toMatchObject({ status: 'PENDING', responseStatus: 410 })
  travel(MINUTE)
  const [message] = (await other.messages(1)) as [Received]
  expect(message.headers['webhook-id']).toBe(far.received[0]?.headers['webhook-id'])
  expect((await api.get(path, { as })).body).toMatchObject({ enabled: true, disabledReason: null })
})

test('a webhook that is switched off waits with what it has, and goes on when it is switched on', async () => {
  const world = await listening()
  const { api, as, keys, far, path, deliveries } = world
  far.answer(500)
  await api.post(keys, NEW_KEY, { as })
  await settled(world, 1)
  const off = await api.patch(path, { enabled: false }, { as })
  expect([off.body.enabled, off.body.disabledReason]).toEqual([false, 'REQUESTED'])
  travel(MINUTE)
  await api.post(keys, NEW_KEY, { as })
  far.answer(204)
  await api.patch(path, { enabled: true }, { as })
  expect(await settled(world, 2)).toMatchObject({ status: 'DELIVERED' })
  expect((await api.get(deliveries, { as })).body.data).toHaveLength(1)
})

// ---- tests and sending again ---------------------------------------------------------------------------------------------

test('what is changed, switched off or deleted reaches also what was taken up to be sent', async () => {
  const run = async (change: 'deleted' | 'off' | 'moved' | 'new secret' | 'gone', world: World) => {
    const { api, keys, as, path, far } = world
    const other = await receiver()
    // Nothing is answered until all is said: what is not under way waits in memory.
    const held: ServerResponse[] = []
    far.answer((response) => void held.push(response))
    await Promise.all(Array.from({ length: 24 }, () => untilTried(() => api.post(keys, NEW_KEY, { as }))))
    await far.messages(1)
    const answerAll = (status: number) => {
      far.answer(status)
      for (const response of held.splice(0)) response.writeHead(status).end()
    }
    if (change === 'deleted') expect((await api.delete(path, { as })).status).toBe(204)
    if (change === 'off') expect((await api.patch(path, { enabled: false }, { as })).status).toBe(200)
    if (change === 'moved') expect((await api.patch(path, { url: other.url }, { as })).status).toBe(200)
    if (change === 'gone') {
      answerAll(410)
      await until(
        async () => (await api.get(path, { as })).body,
        ({ enabled }) => !enabled,
      )
    }
    const secret =
      change === 'new secret' ? (await api.post(`${path}/rotate`, { gracePeriodSeconds: 0 }, { as })).body.secret : null
    // A change counts within a moment.
    await new Promise((resolve) => setTimeout(resolve, 600))
    const before = far.received.length
    answerAll(200)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    if (change === 'new secret') {
      await far.messages(24)
      for (const message of far.received.slice(before)) check(secret, message)
    } else expect([change, far.received.length - before]).toEqual([change, 0])
    if (change === 'moved') await other.messages(12)
    if (change === 'off' || change === 'gone') {
      far.answer(204)
      await api.patch(path, { enabled: true }, { as })
      const ids = () => new Set(far.received.map(({ headers }) => headers['webhook-id'])).size
      await until(
        async () => ids(),
        (count) => count === 24,
      )
    }
  }
  // Side by side: mostly they wait.
  const running: Promise<void>[] = []
  for (const change of ['deleted', 'off', 'moved', 'new secret', 'gone'] as const)
    running.push(run(change, await listening()))
  await Promise.all(running)
})

test('35. however many answer slowly, whoever answers quickly hears at once', async () => {
  const world = await listeningAlone()
  const { api, owner, as, far } = world
  await api.post(world.keys, NEW_KEY, { as })
  await far.messages(1)
  const slow = await receiver(() => {})
  const stores: string[] = []
  for (let n = 0; n < 6; n++) {
    const store = (await api.post('/v1/user/store', { name: `Slow ${n}` }, { as: owner.token })).body
    stores.push(store.id)
    for (let m = 0; m < 20; m++)
      await api.post(`/v1/user/store/${store.id}/webhooks`, { url: slow.url, types: ['key.*'] }, { as })
  }
  const busy = async (keys = 1) => {
    for (const id of stores) for (let n = 0; n < keys; n++) await api.post(`/v1/user/store/${id}/keys`, NEW_KEY, { as })
  }
  // More messages than a node takes up at a time.
  await busy(5)
  await slow.messages(40)
  const elapsed = startTicking()
  for (let n = 0; n < 5; n++) {
    const seen = far.received.length
    await api.post(world.keys, NEW_KEY, { as })
    await far.messages(seen + 1)
    await busy()
  }
  // None of it waited for one of the slow ones to be over: each of those is given 15 seconds.
  expect(elapsed()).toBeLessThan(15_000)
})

test('35. receivers that take almost two seconds hold up nobody else, however much they have to take', async () => {
  const world = await listeningAlone()
  const { api, owner, as, far } = world
  const slow = await receiver((response) => void setTimeout(() => response.writeHead(200).end(), 1_900))
  for (let n = 0; n < 4; n++) {
    const store = (await api.post('/v1/user/store', { name: `Slow ${n}` }, { as: owner.token })).body
    for (let m = 0; m < 20; m++)
      await api.post(`/v1/user/store/${store.id}/webhooks`, { url: slow.url, types: ['key.*'] }, { as })
    await Promise.all(Array.from({ length: 20 }, () => api.post(`/v1/user/store/${store.id}/keys`, NEW_KEY, { as })))
  }
  await slow.messages(100)
  const elapsed = startTicking()
  for (let n = 1; n <= 8; n++) {
    await api.post(world.keys, NEW_KEY, { as })
    await far.messages(n)
  }
  // Not one turn of theirs for each of ours.
  expect(elapsed()).toBeLessThan(8 * 1_900)
})

test('on a node that is busy with requests, too, the backlog of one account keeps nobody else’s message in the table', async () => {
  const world = await listeningAlone()
  const { api, as, far, path, person } = world
  const slow = await receiver((response) => void setTimeout(() => response.writeHead(204).end(), 100))
  const other = await person()
  const { id } = (await api.post('/v1/user/store', { name: 'Busy' }, { as: other.token })).body
  for (let n = 0; n < 20; n++)
    await api.post(`/v1/user/store/${id}/webhooks`, { url: slow.url, types: ['key.*'] }, { as: other.token })
  // As it measures itself, the node has no time left: it sends as little as it may.
  const used = vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue({ idle: 0, active: 1, utilization: 1 })
  onTestFinished(() => used.mockRestore())
  let isOver = false
  const requests = (async () => {
    while (!isOver) await api.get('/v1/user', { as })
  })()
  onTestFinished(async () => {
    isOver = true
    await requests
  })
  const keys = Array.from({ length: 100 }, (_, n) => ({ ...NEW_KEY, value: `imported-${n}-${'x'.repeat(20)}` }))
  expect((await api.post(`/v1/user/store/${id}/keys/import`, { keys }, { as: other.token })).status).toBe(200)
  await slow.messages(100)
  await api.post(`${path}/test`, undefined, { as })
  await far.messages(1)
  expect(slow.received.length).toBeLessThan(1_000)
})

test('what was committed while a webhook was on, and listened to it, is sent, whatever was changed before it was handed out', async () => {
  const world = await listeningAlone()
  const { far, sql, store, path, webhook, as, service } = world
  await service.close(0)
  const happened = async (subject: string, type = 'key.created') =>
    sql(
      `insert into events (id, store_id, type, at, actor, subject, data)
       values ($1, $2, $3, now(), '{"kind":"user","id":"user"}', $4, '{}')`,
      [newId('evt'), store.id, type, subject],
    )
  await happened('heard')
  await happened('other', 'member.left')
  await sql(
    `update webhooks
        set types = '{member.*}', enabled = false, disabled_at = now(), disabled_reason = 'REQUESTED'
      where id = $1`,
    [webhook.id],
  )
  await happened('off', 'member.left')
  const api = await world.node()
  await until(
    async () => (await api.get(`${path}/deliveries`, { as })).body.data,
    (deliveries) => deliveries.length === 1,
  )
  expect(far.received).toEqual([])
  await api.patch(path, { enabled: true }, { as })
  const [message] = await far.messages(1)
  expect(message?.body.subject).toBe('heard')
  await happened('on', 'member.left')
  expect((await far.messages(2)).map(({ body }) => body.subject)).toEqual(['heard', 'on'])
})

test('a deleted store says so, and an hour later it says nothing more', async () => {
  const world = await listening(['store.*', 'key.*'])
  const { api, as, far, store, keys } = world
  far.answer(500)
  await api.post(keys, NEW_KEY, { as })
  await far.messages(1)
  expect((await api.delete(`/v1/user/store/${store.id}`, { as })).status).toBe(204)
  await far.messages(2)
  travel(10 * SECOND)
  const again = await far.messages(4)
  expect(new Set(again.map(({ body }) => body.type))).toEqual(new Set(['key.created', 'store.deleted']))
  travel(HOUR)
  // Long due, and left where they are, while another store's are sent.
  const other = (await api.post('/v1/user/store', { name: 'Another' }, { as })).body
  const near = await receiver()
  await api.post(`/v1/user/store/${other.id}/webhooks`, { url: near.url, types: ['*'] }, { as })
  await near.messages(1)
  await api.post(`/v1/user/store/${other.id}/keys`, NEW_KEY, { as })
  await near.messages(2)
  expect(far.received).toHaveLength(4)
})

test('409: nothing is sent again to a webhook that ten thousand messages wait for', async () => {
  const { api, as, path, webhook, sql } = await listening()
  await sql(
    `insert into webhook_deliveries (webhook_id, id, event_id, type, cause, next_attempt_at, created_at)
     select $1, 'dlv_' || n, 'evt_' || n, 'key.created', 'EVENT', now() + interval '1 day', now()
       from generate_series(1, 10000) as n`,
    [webhook.id],
  )
  const span = { from: new Date(Date.now() - MINUTE).toISOString(), to: new Date().toISOString() }
  for (const [way, body] of [
    ['redeliver', span],
    ['test', undefined],
  ] as const) {
    const { status, body: problem } = await api.post(`${path}/${way}`, body, { as })
    expect([way, status, problem.code]).toEqual([way, 409, 'limit_exceeded'])
  }
})

test('for a page of those with one status 5,000 deliveries are looked at, and the next one goes on', async () => {
  const { api, as, deliveries, webhook, sql } = await listening()
  await sql(
    `insert into webhook_deliveries (webhook_id, id, event_id, type, cause, status, created_at)
     select $1, 'dlv_' || lpad(n::text, 26, '0'), 'evt_' || n, 'key.created', 'EVENT',
            case when n in (1, 4000, 11990) then 'FAILED' else 'DELIVERED' end, now()
       from generate_series(1, 12000) as n`,
    [webhook.id],
  )
  const found: string[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await api.get(`${deliveries}?status=FAILED${cursor && `&cursor=${cursor}`}`, { as })
    found.push(page.body.data.map(({ eventId }: { eventId: string }) => eventId))
    cursor = page.body.nextCursor
  }
  expect(found).toEqual([['evt_11990'], ['evt_4000'], ['evt_1']])
})

test('what is older than 30 days is swept up, and what a deleted webhook left, however much it is', async () => {
  const { service, sql, webhook, api, as, keys, deliveries, far } = await listeningAlone()
  await api.post(keys, NEW_KEY, { as })
  await far.messages(1)
  await sql(
    `insert into webhook_deliveries (webhook_id, id, event_id, type, cause, status, created_at)
     select webhook_id, 'dlv_' || n, 'evt_' || n, 'key.created', 'EVENT', 'DELIVERED', created_at
       from generate_series(1, 6000) as n
      cross join (values ($1, now() - interval '31 days'), ('wh_gone', now())) as old(webhook_id, created_at)`,
    [webhook.id],
  )
  await sweepDeliveries(service.db)
  expect((await api.get(deliveries, { as })).body.data).toHaveLength(1)
  expect(await sql('select webhook_id from webhook_deliveries')).toEqual([{ webhook_id: webhook.id }])
})

test('a test message is sent whatever is listened to, once, and shows what came back', async () => {
  const world = await listening(['member.joined'])
  const { api, as, far, path, webhook, store } = world
  const answer = 'é'.repeat(600)
  far.answer((response) => void response.writeHead(500).end(answer))
  const sent = await api.post(`${path}/test`, undefined, { as })
  expect(sent.status).toBe(201)
  expect(sent.body).toMatchObject({ cause: 'TEST', type: 'webhook.test', status: 'PENDING', attempts: 0 })
  expect(sent.headers.get('location')).toBe(`${path}/deliveries/${sent.body.id}`)
  const [message] = (await far.messages(1)) as [Received]
  expect(check(webhook.secret, message)).toEqual({
    type: 'webhook.test',
    timestamp: sent.body.createdAt,
    id: sent.body.eventId,
    storeId: store.id,
    actor: { kind: 'system', id: 'storekeeper' },
    subject: webhook.id,
    data: {},
  })
  const delivery = await settled(world, 1)
  expect(delivery).toMatchObject({ status: 'FAILED', responseStatus: 500, nextAttemptAt: null })
  expect(delivery.responseBody).toBe('é'.repeat(512))
})

test('a delivery is sent again under the id it had', async () => {
  const world = await listening()
  const { api, as, keys, far, deliveries } = world
  await api.post(keys, NEW_KEY, { as })
  const first = await settled(world, 1)
  const again = await api.post(`${deliveries}/${first.id}/redeliver`, undefined, { as })
  expect(again.status).toBe(201)
  expect(again.body).toMatchObject({ cause: 'REDELIVERY', eventId: first.eventId, type: 'key.created', attempts: 0 })
  expect(again.body.id).not.toBe(first.id)
  const [one, two] = (await far.messages(2)) as [Received, Received]
  expect([two.text, two.headers['webhook-id']]).toEqual([one.text, one.headers['webhook-id']])
})

test('what happened in a time is sent again, also what was never sent', async () => {
  const { api, as, keys, far, path, sql, store } = await listening()
  await api.patch(path, { enabled: false }, { as })
  const before = await api.post(keys, NEW_KEY, { as })
  travel(MINUTE)
  const from = new Date(Date.parse(before.body.createdAt) + 1).toISOString()
  const missed = [await api.post(keys, NEW_KEY, { as }), await api.post(keys, NEW_KEY, { as })]
  const to = new Date(Date.now() + 2 * MINUTE).toISOString()
  await api.patch(path, { enabled: true }, { as })
  const unsealed = () => sql('select id from unsealed_events')
  await until(unsealed, (events) => events.length === 0)
  const reply = await api.post(`${path}/redeliver`, { from, to }, { as })
  expect([reply.status, reply.body]).toEqual([200, { deliveries: 2, nextFrom: null }])
  const subjects = (await far.messages(2)).map(({ body }) => body.subject).sort()
  expect(subjects).toEqual(missed.map(({ body }) => body.id).sort())

  // Never more than a thousand at once, and the answer says where to go on. What is sent waits from here on: it is counted
  // by what the answers say.
  far.answer(() => {})
  await sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_' || i, $1, 'key.updated', $2::timestamptz + i * interval '1 millisecond', '{"kind":"user"}', 'key', '{}'
       from generate_series(1, 1200) as i`,
    [store.id, missed[1]?.body.createdAt],
  )
  await until(unsealed, (events) => events.length === 0)
  const many = await api.post(`${path}/redeliver`, { from, to }, { as })
  expect(many.body.deliveries).toBe(1000)
  const rest = await api.post(`${path}/redeliver`, { from: many.body.nextFrom, to }, { as })
  expect(rest.body).toEqual({ deliveries: 202, nextFrom: null })

  // What happened in one moment stays together, be it more than that.
  const moment = new Date(Date.parse(to) - 5).toISOString()
  await sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_same_' || i, $1, 'key.updated', $2::timestamptz + (i / 1100) * interval '1 millisecond',
            '{"kind":"user"}', 'key', '{}'
       from generate_series(0, 1109) as i`,
    [store.id, moment],
  )
  await until(unsealed, (events) => events.length === 0)
  const together = await api.post(`${path}/redeliver`, { from: moment, to }, { as })
  expect(together.body).toEqual({ deliveries: 1100, nextFrom: new Date(Date.parse(moment) + 1).toISOString() })
  const after = await api.post(`${path}/redeliver`, { from: together.body.nextFrom, to }, { as })
  expect(after.body).toEqual({ deliveries: 10, nextFrom: null })

  const wrong = async (span: object) => (await api.post(`${path}/redeliver`, span, { as })).body.errors
  expect(await wrong({ from: to, to: from })).toMatchObject([{ pointer: '#/from', code: 'not_before' }])
  expect(await wrong({ from: '2020-01-01T00:00:00Z', to })).toMatchObject([{ pointer: '#/from', code: 'too_far' }])
  expect(await wrong({ from: 'yesterday', to })).toMatchObject([{ pointer: '#/from', code: 'invalid_time' }])
})

// ---- many nodes ---------------------------------------------------------------------------------------------------------

test('two nodes share the work: everything arrives, nothing twice', async () => {
  const { api, as, keys, far, node } = await listening()
  const second = await node()
  const made = await Promise.all(
    Array.from({ length: 60 }, (_, i) => untilTried(() => (i % 2 ? api : second).post(keys, NEW_KEY, { as }))),
  )
  const messages = await far.messages(60)
  expect(messages.map(({ body }) => body.subject).sort()).toEqual(made.map(({ body }) => body.id).sort())
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(far.received).toHaveLength(60)
})

test('a secret sealed under the server secret before the current one still signs', async () => {
  const { api, as, keys, far, webhook, node, serverSecret, service } = await listeningAlone()
  await service.close(0)
  const next = await node({
    SERVER_SECRET: Buffer.alloc(32, 7).toString('base64'),
    SERVER_SECRET_PREVIOUS: serverSecret,
  })
  expect(api.url).not.toBe(next.url)
  await next.post(keys, NEW_KEY, { as })
  const [message] = (await far.messages(1)) as [Received]
  check(webhook.secret, message)
})

test('what a node had taken up when it was lost is sent by another, half a minute later', async () => {
  const { api, as, keys, far, webhook, sql } = await listening()
  far.answer(500)
  await api.post(keys, NEW_KEY, { as })
  await far.messages(1)
  // As it stands when a node dies between taking it up and writing down how it went.
  await sql(
    `update webhook_deliveries set attempts = 0, next_attempt_at = now() + interval '30 seconds' where webhook_id = $1`,
    [webhook.id],
  )
  far.answer(204)
  travel(31 * SECOND)
  await api.post(keys, NEW_KEY, { as })
  const [first, ...rest] = (await far.messages(3)).map(({ headers }) => headers['webhook-id'])
  expect(rest).toContain(first)
})
