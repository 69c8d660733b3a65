import { generateKeyPairSync } from 'node:crypto'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { playGithub, signedHeaders } from '../../tests/github.ts'
import { countQueries } from '../../tests/query-count.ts'
import { until } from '../../tests/retries.ts'
import { type Api, NEW_KEY, type Shop, shop, shopsWith } from '../../tests/shop.ts'
import { startTicking } from '../../tests/ticks.ts'
import { readConfig } from '../config.ts'
import { DAY, fromNow, HOUR, MINUTE, now, SECOND, travel } from '../core/clock.ts'
import { mintToken, sha256 } from '../crypto/tokens.ts'
import { sql as statement } from '../db/sql.ts'
import { newExpiryNotices } from './expiry-notices.ts'

const ACCEPTED = [200, { accepted: true }]
const SYSTEM = { kind: 'system', id: 'storekeeper', credential: 'storekeeper', ip: null }

/** For tests that do not look at when its keys are fetched. */
const sharedGithub = await playGithub(afterAll)
const shopWithGithub = shopsWith({ GITHUB_KEYS_URL: sharedGithub.url })

type Made = { id: string; key: string; expiresAt: string | null }

async function newKey({ api, owner, keys }: Shop, more: object = {}): Promise<Made> {
  const made = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
  expect(made.status).toBe(201)
  return made.body
}

async function report(api: Api, key: unknown) {
  const { status, body } = await api.post('/v1/leaks', { key })
  return [status, body]
}

async function setGrace({ api, owner, store }: Shop, leakGraceSeconds: number): Promise<void> {
  const path = `/v1/user/store/${store.id}`
  expect((await api.patch(path, { leakGraceSeconds }, { as: owner.token })).status).toBe(200)
}

async function readKey({ api, owner, keys }: Shop, id: string) {
  const { body, headers } = await api.get(`${keys}/${id}`, { as: owner.token })
  return { ...body, etag: headers.get('etag') }
}

/** What happened to the key since it was made, oldest first. */
function eventsOf({ sql }: Shop, id: string) {
  return sql(
    'select type, actor, data from events where subject = $1 and type <> \'key.created\' order by at, id collate "C"',
    [id],
  )
}

function verifier(token: string, more = {}) {
  return async (api: Api, key: string) => (await api.post('/v1/keys/verify', { key, ...more }, { as: token })).body.code
}

// ---- a report by anyone ---------------------------------------------------------------------------------------------

test('200: whoever holds a key can end it, and every node refuses it from then on', async () => {
  const world = await shop()
  const { api, node, sql, store, serviceToken } = world
  const other = await node()
  const verify = verifier(await serviceToken())
  const { id, key } = await newKey(world)
  expect([await verify(api, key), await verify(other, key)]).toEqual(['VALID', 'VALID'])
  const before = await readKey(world, id)

  expect(await report(api, key)).toEqual(ACCEPTED)
  expect(await verify(api, key)).toBe('REVOKED')
  expect((await api.get(`/v1/user/store/${store.id}`, { as: key })).body.code).toBe('invalid_token')
  await world.everywhere()
  expect(await verify(other, key)).toBe('REVOKED')

  const after = await readKey(world, id)
  expect(after).toEqual({
    ...before,
    status: 'REVOKED',
    revokedAt: expect.any(String),
    revocationReason: 'leaked',
    updatedAt: after.revokedAt,
    lastUsedAt: after.lastUsedAt,
    etag: after.etag,
  })
  expect(after.etag).not.toBe(before.etag)
  expect(await eventsOf(world, id)).toEqual([
    { type: 'key.leaked', actor: SYSTEM, data: { source: 'report', action: 'revoked' } },
    { type: 'key.revoked', actor: SYSTEM, data: { reason: 'leaked' } },
  ])
  const [{ live_keys }] = await sql('select live_keys from stores where id = $1', [store.id])
  expect(live_keys).toBe(0)
})

test('the node that took the report refuses the key at once, though no word of it came', async () => {
  const github = await playGithub()
  const world = await shop({ GITHUB_KEYS_URL: github.url })
  const { api, sql, serviceToken } = world
  const verify = verifier(await serviceToken())
  await sql('alter table api_keys disable trigger api_keys_notify_changed')
  const [mine, found] = [await newKey(world), await newKey(world)]
  for (const { key } of [mine, found]) expect(await verify(api, key)).toBe('VALID')
  await report(api, mine.key)
  expect(await verify(api, mine.key)).toBe('REVOKED')
  expect(await verify(api, found.key)).toBe('VALID')
  await api.post('/v1/leaks/github', undefined, github.sign([{ token: found.key }]))
  expect(await verify(api, found.key)).toBe('REVOKED')
})

test('TEST and DEV keys end at once; PROD keys at once or after the grace of their store', async () => {
  const world = await shop()
  const { api, serviceToken } = world
  const verify = verifier(await serviceToken())
  const HOUR_SECONDS = 3600
  const table = [
    ['PROD', 0, 'REVOKED'],
    ['TEST', 0, 'REVOKED'],
    ['DEV', 0, 'REVOKED'],
    ['PROD', HOUR_SECONDS, 'VALID'],
    ['TEST', HOUR_SECONDS, 'REVOKED'],
    ['DEV', HOUR_SECONDS, 'REVOKED'],
  ] as const
  for (const [type, grace, code] of table) {
    await setGrace(world, grace)
    const { id, key } = await newKey(world, { type })
    expect(await verify(api, key)).toBe('VALID')
    const from = now().getTime()
    expect(await report(api, key)).toEqual(ACCEPTED)
    expect([type, grace, await verify(api, key)]).toEqual([type, grace, code])
    const { status, expiresAt, revocationReason } = await readKey(world, id)
    const [leaked, ...more] = await eventsOf(world, id)
    if (code === 'REVOKED') {
      expect([status, expiresAt, revocationReason]).toEqual(['REVOKED', null, 'leaked'])
      expect(leaked.data).toEqual({ source: 'report', action: 'revoked' })
      expect(more).toEqual([{ type: 'key.revoked', actor: SYSTEM, data: { reason: 'leaked' } }])
    } else {
      expect([status, revocationReason]).toEqual(['ACTIVE', null])
      const graceMs = Date.parse(expiresAt) - from
      expect(graceMs).toBeGreaterThanOrEqual(grace * SECOND)
      expect(graceMs).toBeLessThan(grace * SECOND + 10 * SECOND)
      expect(leaked.data).toEqual({ source: 'report', action: 'shortened', expiresAt })
      expect(more).toEqual([])
    }
  }
})

test('within the grace the key verifies and opens nothing here, the store is told, and then it is over', async () => {
  const world = await shop({ alone: true })
  const { api, store, service, node, serviceToken } = world
  const other = await node()
  const verify = verifier(await serviceToken())
  await setGrace(world, 3600)
  const { id, key } = await newKey(world)
  const path = `/v1/user/store/${store.id}`
  expect((await api.get(path, { as: key })).status).toBe(200)
  expect(await verify(other, key)).toBe('VALID')
  await report(api, key)

  const { expiresAt } = await readKey(world, id)
  expect((await api.get(path, { as: key })).status).toBe(401)
  const notify = newExpiryNotices(null)
  // A key whose use is just being written down is passed by, and told of the next time.
  await until(async () => {
    await notify(service.db)
    return (await eventsOf(world, id)).length > 1
  })
  await notify(service.db)
  expect((await eventsOf(world, id)).map(({ type, data }) => ({ type, data }))).toEqual([
    { type: 'key.leaked', data: { source: 'report', action: 'shortened', expiresAt } },
    { type: 'key.expiring', data: { expiresAt, days: 1 } },
  ])
  await world.everywhere()
  expect(await verify(other, key)).toBe('VALID')
  travel(HOUR)
  expect([await verify(api, key), await verify(other, key)]).toEqual(['EXPIRED', 'EXPIRED'])
  expect((await readKey(world, id)).status).toBe('EXPIRED')
})

test('an end that is nearer than the grace stays as it is', async () => {
  const world = await shop()
  await setGrace(world, 3600)
  const { id, key, expiresAt } = await newKey(world, { expiresAt: fromNow(10 * MINUTE).toISOString() })
  const before = await readKey(world, id)
  expect(await report(world.api, key)).toEqual(ACCEPTED)
  expect(await readKey(world, id)).toEqual(before)
  expect(await eventsOf(world, id)).toEqual([
    { type: 'key.leaked', actor: SYSTEM, data: { source: 'report', action: 'none', expiresAt } },
  ])
})

test('a disabled key that leaks is revoked too: it could be enabled again', async () => {
  const world = await shop()
  const { api, owner, keys } = world
  const { id, key } = await newKey(world, { type: 'DEV' })
  await api.patch(`${keys}/${id}`, { enabled: false }, { as: owner.token })
  expect(await report(api, key)).toEqual(ACCEPTED)
  expect(await readKey(world, id)).toMatchObject({ status: 'REVOKED', revocationReason: 'leaked' })
})

test('of a key that was revoked or has expired it is only noted that it leaked', async () => {
  const world = await shop()
  const { api, owner, keys } = world
  const revoked = await newKey(world)
  await api.delete(`${keys}/${revoked.id}?reason=tidying`, { as: owner.token })
  const expired = await newKey(world, { expiresAt: fromNow(MINUTE).toISOString() })
  travel(2 * MINUTE)
  for (const { id, key, expiresAt } of [revoked, expired]) {
    const before = await readKey(world, id)
    expect(await report(api, key)).toEqual(ACCEPTED)
    expect(await readKey(world, id)).toEqual(before)
    expect((await eventsOf(world, id)).at(-1)).toEqual({
      type: 'key.leaked',
      actor: SYSTEM,
      data: { source: 'report', action: 'none', expiresAt },
    })
  }
})

test('a second report changes nothing, not even what a manager decided after the first', async () => {
  const world = await shopWithGithub()
  const { api, owner, keys, serviceToken, sql, store } = world
  const verify = verifier(await serviceToken())
  await setGrace(world, 3600)
  const ended = await newKey(world, { type: 'TEST' })
  const kept = await newKey(world)
  for (const { key } of [ended, kept]) await report(api, key)
  const lifted = await api.patch(`${keys}/${kept.id}`, { expiresAt: null }, { as: owner.token })
  expect(lifted.status).toBe(200)
  travel(MINUTE)

  const state = async () => [
    await readKey(world, ended.id),
    await readKey(world, kept.id),
    await eventsOf(world, ended.id),
    await eventsOf(world, kept.id),
    await sql('select id, leaked_at from api_keys where store_id = $1 order by id', [store.id]),
  ]
  const before = await state()
  for (const { key } of [ended, kept]) {
    expect(await report(api, key)).toEqual(ACCEPTED)
    expect(
      (await api.post('/v1/leaks/github', undefined, sharedGithub.sign([{ token: key, type: 'key' }]))).body,
    ).toEqual([{ token_hash: sha256(key).toString('hex'), token_type: 'key', label: 'true_positive' }])
  }
  expect(await state()).toEqual(before)
  expect(await verify(api, kept.key)).toBe('VALID')
})

test('of many reports at the same moment, at two nodes, one counts', async () => {
  const world = await shop()
  const { api, node } = world
  const other = await node()
  const { id, key } = await newKey(world, { type: 'TEST' })
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => report(i % 2 ? api : other, key)))
  for (const answer of answers) expect(answer).toEqual(ACCEPTED)
  expect((await eventsOf(world, id)).map(({ type }) => type)).toEqual(['key.leaked', 'key.revoked'])
})

test('a report waits for a change of the store, and goes by what it says then', async () => {
  const world = await shop()
  const { api, store, sql } = world
  const { id, key } = await newKey(world)
  await sql('begin')
  await sql('update stores set leak_grace_seconds = 3600 where id = $1', [store.id])
  const answer = report(api, key)
  const waiting = async () => expect(await sql('select pid from pg_locks where not granted')).not.toEqual([])
  await vi.waitFor(waiting, { timeout: 60_000, interval: 20 })
  await sql('commit')
  expect(await answer).toEqual(ACCEPTED)
  expect((await eventsOf(world, id)).map(({ data }) => data.action)).toEqual(['shortened'])
})

// ---- a key that was rotated -----------------------------------------------------------------------------------------

test('the secret before the last ends the key while it works, and does nothing afterwards', async () => {
  const world = await shop()
  const { api, owner, keys, serviceToken } = world
  const verify = verifier(await serviceToken())
  const rotate = async (id: string, gracePeriodSeconds: number) =>
    (await api.post(`${keys}/${id}/rotate`, { gracePeriodSeconds }, { as: owner.token })).body.key

  const within = await newKey(world, { type: 'TEST' })
  const newest = await rotate(within.id, 3600)
  expect(await verify(api, within.key)).toBe('VALID')
  expect(await report(api, within.key)).toEqual(ACCEPTED)
  expect([await verify(api, within.key), await verify(api, newest)]).toEqual(['REVOKED', 'REVOKED'])

  const without = await newKey(world, { type: 'TEST' })
  const instead = await rotate(without.id, 0)
  const over = await newKey(world, { type: 'TEST' })
  const after = await rotate(over.id, 60)
  travel(MINUTE)
  for (const { key } of [without, over]) expect(await report(api, key)).toEqual(ACCEPTED)
  expect([await verify(api, instead), await verify(api, after)]).toEqual(['VALID', 'VALID'])
  for (const { id } of [without, over])
    expect((await eventsOf(world, id)).map(({ type }) => type)).toEqual(['key.rotated'])
})

test('a new secret that leaks as well is news, and the old one is not any more', async () => {
  const world = await shop()
  const { api, owner, keys } = world
  await setGrace(world, 3600)
  const { id, key } = await newKey(world)
  await report(api, key)
  const rotated = await api.post(`${keys}/${id}/rotate`, { gracePeriodSeconds: 600 }, { as: owner.token })
  await report(api, key)
  expect((await readKey(world, id)).expiresAt).toBe(null)
  expect(await report(api, rotated.body.key)).toEqual(ACCEPTED)
  expect((await readKey(world, id)).expiresAt).not.toBe(null)
  await report(api, key)
  await report(api, rotated.body.key)
  expect((await eventsOf(world, id)).map(({ type }) => type)).toEqual(['key.leaked', 'key.rotated', 'key.leaked'])
})

test('whichever of two secrets leaked, and in whatever order, a rotation gives the key its own end back', async () => {
  const world = await shop()
  const { api, owner, keys } = world
  const expiresAt = fromNow(30 * DAY).toISOString()
  const rotate = async (id: string) =>
    (await api.post(`${keys}/${id}/rotate`, { gracePeriodSeconds: 600 }, { as: owner.token })).body
  for (const alsoTheNewest of [false, true]) {
    await setGrace(world, 3600)
    const { id, key } = await newKey(world, { expiresAt })
    const { key: newest } = await rotate(id)
    await report(api, key)
    await setGrace(world, 1800)
    if (alsoTheNewest) await report(api, newest)
    expect((await readKey(world, id)).expiresAt < expiresAt).toBe(true)
    expect((await rotate(id)).expiresAt).toBe(expiresAt)
    expect((await readKey(world, id)).expiresAt).toBe(expiresAt)
  }
})

test('a key is found whichever server secret it was kept under', async () => {
  const world = await shop({ alone: true })
  const { id, key } = await newKey(world, { type: 'DEV' })
  const moved = await world.node({
    SERVER_SECRET: Buffer.alloc(32, 7).toString('base64'),
    SERVER_SECRET_PREVIOUS: world.serverSecret,
  })
  expect(await report(moved, key)).toEqual(ACCEPTED)
  await world.everywhere()
  expect((await readKey(world, id)).status).toBe('REVOKED')
})

// ---- what is no key of ours -----------------------------------------------------------------------------------------

test('200: whatever is no key of ours is accepted in the same words, and what cannot be one costs no query', async () => {
  const world = await shop({ alone: true })
  const { api, owner, service, sql, serviceToken } = world
  const token = await serviceToken()
  const { key } = await newKey(world)
  const count = async () => (await sql('select count(*)::int as events from events'))[0].events
  const before = await count()
  const questions = countQueries(service)
  const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  for (const text of [
    wrong,
    key + key,
    key.toUpperCase(),
    key.replace('prod', 'test'),
    key.slice(0, -1),
    'x',
    '💥',
    'x'.repeat(60_000),
    "' or 1=1--",
    mintToken('other', 'prod').reveal(),
    owner.token,
    token,
  ])
    expect(await report(api, text), text.slice(0, 20)).toEqual(ACCEPTED)
  expect(questions()).toBe(0)
  const unknown = await api.post('/v1/leaks', { key: mintToken('skp', 'prod').reveal() })
  expect([unknown.status, unknown.text]).toEqual([200, '{"accepted":true}'])
  expect(questions()).toBeGreaterThan(0)
  expect(await count()).toBe(before)
  expect((await api.get('/v1/user', { as: owner.token })).status).toBe(200)
  expect((await api.get('/v1/key', { as: key })).status).toBe(200)
})

test('reports by strangers do not empty the memory of keys', async () => {
  const world = await shop({ alone: true })
  const { api, service, serviceToken } = world
  const verify = verifier(await serviceToken())
  const { key } = await newKey(world)
  // A slow machine must not look like a forgetful one.
  const real = performance.now.bind(performance)
  const began = real()
  const slow = vi.spyOn(performance, 'now').mockImplementation(() => began + (real() - began) / 1000)
  onTestFinished(() => slow.mockRestore())
  await verify(api, key)
  const lookups = vi.spyOn(service.db, 'batched')
  const ofKeys = () => lookups.mock.calls.filter(([, row]) => Object.hasOwn(row as object, 'previous_hash')).length
  for (const text of ['x', mintToken('skp', 'prod').reveal()]) await report(api, text)
  expect(ofKeys()).toBe(1)
  expect(await verify(api, key)).toBe('VALID')
  expect(ofKeys()).toBe(1)
})

test('a key that leaks while its store is deleted is revoked at once, and stays so when the store is restored', async () => {
  const world = await shopWithGithub()
  const { api, owner, store, serviceToken } = world
  const verify = verifier(await serviceToken())
  const path = `/v1/user/store/${store.id}`
  await setGrace(world, 3600)
  const [mine, found] = [await newKey(world), await newKey(world)]
  await api.delete(path, { as: owner.token })
  expect(await report(api, mine.key)).toEqual(ACCEPTED)
  const told = await api.post('/v1/leaks/github', undefined, sharedGithub.sign([{ token: found.key }]))
  expect(told.body).toEqual([{ token_hash: sha256(found.key).toString('hex'), label: 'true_positive' }])
  for (const { key } of [mine, found]) expect(await verify(api, key)).toBe('NOT_FOUND')

  expect((await api.post(`${path}/restore`, undefined, { as: owner.token })).status).toBe(200)
  for (const { id, key } of [mine, found]) {
    expect(await verify(api, key)).toBe('REVOKED')
    expect((await api.get('/v1/key', { as: key })).status).toBe(401)
    expect((await eventsOf(world, id)).map(({ type }) => type)).toEqual(['key.leaked', 'key.revoked'])
  }
})

test('a report that is not well formed is refused', async () => {
  const { api, logs } = await shop()
  const marked = 'skp_prod_marked'
  const refusals: [unknown, string][] = [
    [{}, '422 #/key required'],
    [{ key: '' }, '422 #/key too_short'],
    [{ key: null }, '422 #/key invalid_type'],
    [{ key: [marked] }, '422 #/key invalid_type'],
    [{ key: { marked } }, '422 #/key invalid_type'],
    [{ key: marked, source: 'me' }, '422 #/source unknown_member'],
    [[marked], '422 # invalid_type'],
  ]
  for (const [body, wanted] of refusals) {
    const { status, body: problem, text } = await api.post('/v1/leaks', body)
    const [{ pointer, code }] = problem.errors
    expect(`${status} ${pointer} ${code}`).toBe(wanted)
    expect(text).not.toContain(marked)
  }
  const raw = async (sent: string, headers = {}) => {
    const { status, body } = await api.post('/v1/leaks', undefined, { raw: sent, headers })
    return `${status} ${body.code}`
  }
  expect(await raw(`{"key":"${marked}","key":"${marked}"}`)).toBe('400 invalid_json')
  expect(await raw(`{"key":"${marked}`)).toBe('400 invalid_json')
  expect(await raw(`{"key":"${'x'.repeat(64 * 1024)}"}`)).toBe('413 body_too_large')
  expect(await raw(`key=${marked}`, { 'content-type': 'application/x-www-form-urlencoded' })).toBe(
    '415 unsupported_media_type',
  )
  expect((await api.post('/v1/leaks?x=1', { key: marked })).status).toBe(422)
  expect((await api.get('/v1/leaks')).headers.get('allow')).toBe('POST')
  expect(logs()).not.toContain(marked)
})

test('429: whoever reports without end waits, each address for itself', async () => {
  const { api } = await shop({ RATE_LIMIT: '30', TRUST_PROXY: '1' })
  const from = (ip: string, path = '/v1/leaks') =>
    api.post(path, { key: 'x' }, { headers: { 'x-forwarded-for': ip } }).then(({ status }) => status)
  expect([await from('203.0.113.7'), await from('203.0.113.7'), await from('203.0.113.7')]).toEqual([200, 200, 200])
  expect([await from('203.0.113.7'), await from('203.0.113.7', '/v1/leaks/github')]).toEqual([429, 429])
  expect(await from('203.0.113.8')).toBe(200)
  // Some proxies tell the client's port too.
  expect([await from('203.0.113.7:4711'), await from('203.0.113.7:4712')]).toEqual([429, 429])
  const ports = ['[2001:db8::1]:1', '[2001:db8::1]:2', '[2001:db8::2]', '2001:db8::3']
  expect([await from(ports[0] as string), await from(ports[1] as string), await from(ports[2] as string)]).toEqual([
    200, 200, 200,
  ])
  expect(await from(ports[3] as string)).toBe(429)
})

test('500: a report whose event cannot be written ends nothing', async () => {
  const world = await shop({ alone: true })
  const { api, sql, serviceToken } = world
  const verify = verifier(await serviceToken())
  const { key } = await newKey(world)
  await sql('alter table events rename to elsewhere')
  expect((await api.post('/v1/leaks', { key })).status).toBe(500)
  expect(await verify(api, key)).toBe('VALID')
  await sql('alter table elsewhere rename to events')
  expect(await sql('select leaked_at, revoked_at from api_keys')).toEqual([{ leaked_at: null, revoked_at: null }])
  expect(await report(api, key)).toEqual(ACCEPTED)
  expect(await verify(api, key)).toBe('REVOKED')
})

// ---- GitHub ---------------------------------------------------------------------------------------------------------

/** As GitHub publishes it. */
const EXAMPLE = {
  keyId: 'bcb53661c06b4728e59d897fb6165d5c9cda0fd9cdf9d09ead458168deb7518c',
  key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYAGMWO8XgCamYKMJS6jc/qgvSlAdAjPuDPRcXU22YxgBrz+zoN19MzuRyW87qEt9/AmtoNP5GrobzUvQSyJFVw==',
  signature: 'MEQCIQDaMKqrGnE27S0kgMrEK0eYBmyG0LeZismAEz/BgZyt7AIfXt9fErtRS4XaeSt/AO1RtBY66YcAdjxji410VQV4xg==',
  body: '[{"source":"commit","token":"some_token","type":"some_type","url":"https://example.com/base-repo-url/"}]',
}

const pem = (key: string) => `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----\n`

test('37. GitHub’s published example verifies; with a newline, another key id or no headers it does not', async () => {
  const github = await playGithub()
  const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey
  const otherId = 'f'.repeat(64)
  github.publish(
    { key_identifier: EXAMPLE.keyId, key: pem(EXAMPLE.key), is_current: true },
    { key_identifier: otherId, key: other.export({ type: 'spki', format: 'pem' }).toString(), is_current: false },
  )
  const { api, sql } = await shop({ GITHUB_KEYS_URL: github.url })
  const send = (raw: string, headers: Record<string, string>) =>
    api.post('/v1/leaks/github', undefined, { raw, headers })
  const { keyId, signature, body } = EXAMPLE

  const good = await send(body, signedHeaders(keyId, signature))
  expect([good.status, good.body]).toEqual([
    200,
    [
      {
        token_hash: sha256('some_token').toString('hex'),
        token_type: 'some_type',
        label: 'false_positive',
      },
    ],
  ])
  expect(good.text).not.toContain('some_token')

  const refused = await send(`${body}\n`, signedHeaders(keyId, signature))
  expect(refused.body).toEqual({
    type: '/errors/invalid_signature',
    title: 'Invalid signature',
    status: 403,
    detail: expect.any(String),
    instance: '/v1/leaks/github',
    code: 'invalid_signature',
    requestId: expect.any(String),
  })
  const both = signedHeaders(keyId, signature)
  const wrong: [string, Record<string, string>][] = [
    [body, {}],
    [body, { 'github-public-key-identifier': keyId }],
    [body, { 'github-public-key-signature': signature }],
    [body, signedHeaders(otherId, signature)],
    [body, signedHeaders('0'.repeat(64), signature)],
    [body, signedHeaders('', signature)],
    [body, signedHeaders(keyId, '')],
    [body, signedHeaders(keyId, 'bm90IGEgc2lnbmF0dXJl')],
    [body, signedHeaders(keyId, `${signature.slice(0, 20)}A${signature.slice(21)}`)],
    [body, signedHeaders(keyId, signature.slice(0, -8))],
    [body, signedHeaders(keyId, `${signature} ${signature}`)],
    [body, signedHeaders(keyId, 'A'.repeat(4000))],
    [body, signedHeaders(`${keyId}, ${keyId}`, signature)],
    [body, signedHeaders('__proto__', signature)],
    [body.replace('commit', 'Commit'), both],
    [` ${body}`, both],
    ['', both],
  ]
  for (const [raw, headers] of wrong) {
    const { status, body: problem } = await send(raw, headers)
    expect([status, problem.code], JSON.stringify(headers)).toEqual([403, 'invalid_signature'])
  }
  expect(await sql("select id from events where type = 'key.leaked'")).toEqual([])
})

test('403: without a signature it is not even looked at what was sent', async () => {
  const github = await playGithub()
  const { api } = await shop({ GITHUB_KEYS_URL: github.url })
  const silent = await shop({ GITHUB_KEYS_URL: 'off' })
  for (const raw of ['', '{', '[]', '{"token":1,"token":2}', '\xff', '['.repeat(1000)])
    expect((await api.post('/v1/leaks/github', undefined, { raw })).body.code).toBe('invalid_signature')
  expect((await api.post('/v1/leaks/github?x=1', [])).body.code).toBe('invalid_signature')
  expect(github.asked()).toBe(0)
  const off = await silent.api.post('/v1/leaks/github', undefined, github.sign([]))
  expect([off.status, off.body.code, off.body.detail]).toEqual([
    403,
    'invalid_signature',
    'Reports from GitHub are disabled on this service.',
  ])
  expect(github.asked()).toBe(0)
})

test('of a message from GitHub the keys of stores that are busy keep no others from being revoked', async () => {
  const world = await shopWithGithub()
  const { api, owner, store, service } = world
  const { id } = (await api.post('/v1/user/store', { name: 'Next door' }, { as: owner.token })).body
  const other = (await api.post(`/v1/user/store/${id}/keys`, NEW_KEY, { as: owner.token })).body
  const mine = await Promise.all(Array.from({ length: 20 }, () => newKey(world)))
  const message = [...mine, other].map(({ key }) => ({ token: key }))
  const send = () => api.post('/v1/leaks/github', undefined, sharedGithub.sign(message))
  await service.db.transaction(async (tx) => {
    await tx.query(statement`select from stores where id = ${store.id} for no key update`)
    const began = performance.now()
    expect((await send()).status).toBe(503)
    const ms = performance.now() - began
    // Twenty of them wait no longer than one does.
    await api.post('/v1/leaks', { key: mine[0]?.key })
    expect(ms).toBeLessThan(2 * (performance.now() - began - ms))
  })
  const read = async () => (await api.get(`/v1/user/store/${id}/keys/${other.id}`, { as: owner.token })).body.status
  expect(await read()).toBe('REVOKED')
  expect((await send()).body.map(({ label }: any) => label)).toEqual(Array(21).fill('true_positive'))
  for (const made of mine) expect(await readKey(world, made.id)).toMatchObject({ status: 'REVOKED' })
})

test('what GitHub signed is read as strictly as anything, but it may say more than we know of', async () => {
  const { api } = await shopWithGithub()
  const send = (body: unknown) => api.post('/v1/leaks/github', undefined, sharedGithub.sign(body))
  const more = [{ token: 'x', type: 't', url: '', source: null, confidence: 0.9, commit: { sha: 'abc' }, '': [] }]
  const accepted = await send(more)
  expect([accepted.status, accepted.body]).toEqual([
    200,
    [{ token_hash: sha256('x').toString('hex'), token_type: 't', label: 'false_positive' }],
  ])
  expect((await send([])).body).toEqual([])
  for (const body of [{}, 'x', null, [1], [null], [{}], [{ token: 1 }], [{ token: 'x', type: 1 }]])
    expect([(await send(body)).status, body]).toEqual([422, body])
  expect((await send(JSON.parse('[{"token":"x","__proto__":1}]'))).body.code).toBe('invalid_json')
  expect((await send([{ token: 'x'.repeat(64 * 1024) }])).status).toBe(413)
})

test('200: keys that GitHub found end as any other leaked key, each in its own store', async () => {
  const world = await shopWithGithub()
  const { api, owner, serviceToken, node } = world
  const other = await node()
  const verify = verifier(await serviceToken(null), { anyStore: true })
  await setGrace(world, 600)
  const [prod, dev] = [await newKey(world), await newKey(world, { type: 'DEV' })]
  const elsewhere = (await api.post('/v1/user/store', { name: 'Another' }, { as: owner.token })).body
  const strict = { ...world, keys: `/v1/user/store/${elsewhere.id}/keys` }
  const third = await newKey(strict)
  const unknown = mintToken('skp', 'prod').reveal()
  const all = [prod.key, dev.key, third.key]
  for (const key of all) expect([await verify(api, key), await verify(other, key)]).toEqual(['VALID', 'VALID'])

  const url = 'https://github.com/octocat/hello-world/blob/main/config.yml#L3'
  const tokens = [prod.key, dev.key, unknown, third.key, dev.key, 'nonsense']
  const sent = sharedGithub.sign(
    tokens.map((token) => ({ token, type: 'storekeeper_api_key', url, source: 'content' })),
  )
  const answer = await api.post('/v1/leaks/github', undefined, sent)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual(
    tokens.map((token) => ({
      token_hash: sha256(token).toString('hex'),
      token_type: 'storekeeper_api_key',
      label: all.includes(token) ? 'true_positive' : 'false_positive',
    })),
  )
  for (const token of tokens) expect(answer.text).not.toContain(token)

  expect(await Promise.all(all.map((key) => verify(api, key)))).toEqual(['VALID', 'REVOKED', 'REVOKED'])
  await world.everywhere()
  expect(await Promise.all(all.map((key) => verify(other, key)))).toEqual(['VALID', 'REVOKED', 'REVOKED'])
  const { expiresAt } = await readKey(world, prod.id)
  expect(await eventsOf(world, prod.id)).toEqual([
    { type: 'key.leaked', actor: SYSTEM, data: { source: 'github', url, action: 'shortened', expiresAt } },
  ])
  for (const { id } of [dev, third])
    expect(await eventsOf(world, id)).toEqual([
      { type: 'key.leaked', actor: SYSTEM, data: { source: 'github', url, action: 'revoked' } },
      { type: 'key.revoked', actor: SYSTEM, data: { reason: 'leaked' } },
    ])
})

test('where a key was found is kept when it is a plausible place', async () => {
  const world = await shopWithGithub()
  const places: [unknown, string | undefined][] = [
    ['https://example.com/a b?c=d#e', 'https://example.com/a%20b?c=d#e'],
    ['http://example.com/', 'http://example.com/'],
    [`https://example.com/${'x'.repeat(2028)}`, `https://example.com/${'x'.repeat(2028)}`],
    [`https://example.com/${'x'.repeat(2029)}`, undefined],
    [`https://example.com/${'ü'.repeat(1000)}`, undefined],
    ['https://user:pass@example.com/', undefined],
    ['javascript:alert(1)', undefined],
    ['file:///etc/passwd', undefined],
    ['octocat/hello-world', undefined],
    ['', undefined],
    [null, undefined],
    [undefined, undefined],
    ['KEY', undefined],
    [`https://example.com/?found=${mintToken('skp', 'test').reveal()}`, undefined],
  ]
  for (const [sent, kept] of places) {
    const { id, key } = await newKey(world, { type: 'TEST' })
    const url = sent === 'KEY' ? `https://example.com/${key}/` : sent
    const { status } = await world.api.post('/v1/leaks/github', undefined, sharedGithub.sign([{ token: key, url }]))
    expect(status).toBe(200)
    const data = { source: 'github', ...(kept === undefined ? {} : { url: kept }), action: 'revoked' }
    expect((await eventsOf(world, id))[0].data, String(sent).slice(0, 50)).toEqual(data)
  }
})

test('the address of GitHub’s keys is its own unless set, and private on its way', () => {
  const read = (url: string) => readConfig({ GITHUB_KEYS_URL: url }).GITHUB_KEYS_URL
  expect(read('')).toBe('https://api.github.com/meta/public_keys/secret_scanning')
  expect(read('https://github.example/keys')).toBe('https://github.example/keys')
  expect(read('http://127.0.0.1:4000/keys')).toBe('http://127.0.0.1:4000/keys')
  expect(read('off')).toBe(null)
  for (const url of ['http://github.example/keys', 'ftp://github.example/keys', 'on', 'github.example'])
    expect(() => read(url)).toThrow(/GITHUB_KEYS_URL must be/)
})

// ---- the keys GitHub signs with -------------------------------------------------------------------------------------

test('GitHub’s keys are fetched once an hour, and for a new one at most once a minute', async () => {
  const github = await playGithub()
  const { api } = await shop({ GITHUB_KEYS_URL: github.url })
  const send = async (signed = github.sign([])) => (await api.post('/v1/leaks/github', undefined, signed)).status
  expect(github.asked()).toBe(0)
  expect(await Promise.all([send(), send(), send()])).toEqual([200, 200, 200])
  expect(github.asked()).toBe(1)

  const old = github.sign([])
  github.updateKey()
  // The set was fetched a moment ago: nobody makes us fetch it again so soon.
  expect([await send(), await send(old), github.asked()]).toEqual([403, 200, 1])
  travel(MINUTE)
  expect([await send(), await send(old), github.asked()]).toEqual([200, 200, 2])
  const stranger = { raw: '[]', headers: { ...old.headers, 'github-public-key-identifier': 'stranger' } }
  travel(MINUTE)
  expect(await Promise.all([send(stranger), send(stranger), send(stranger)])).toEqual([403, 403, 403])
  expect(github.asked()).toBe(3)
  travel(HOUR - SECOND)
  expect([await send(), github.asked()]).toEqual([200, 3])
  travel(SECOND)
  expect([await send(), await send(), github.asked()]).toEqual([200, 200, 4])
})

test('while GitHub’s keys cannot be had the last set counts, and without one the report has to wait', async () => {
  const github = await playGithub()
  const { api, node } = await shop({ GITHUB_KEYS_URL: github.url })
  const send = (to = api) => to.post('/v1/leaks/github', undefined, github.sign([]))
  expect((await send()).status).toBe(200)
  const keySet = (key: string) => JSON.stringify({ public_keys: [{ key_identifier: 'x', key }] })
  const p256 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey
  const p384 = generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).publicKey
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey
  const ways: Record<string, Parameters<typeof github.answer>[0]> = {
    '500': (response) => response.writeHead(500).end('{}'),
    'a redirect': (response) => response.writeHead(302, { location: github.url }).end(),
    'no JSON': (response) => response.end('<html>'),
    'no set': (response) => response.end('null'),
    'an empty set': (response) => response.end('{"public_keys":[]}'),
    'a set of nonsense': (response) => response.end('{"public_keys":[null,1,{"key_identifier":1,"key":"x"}]}'),
    'another curve': (response) => response.end(keySet(p384.export({ type: 'spki', format: 'pem' }).toString())),
    'another kind': (response) => response.end(keySet(rsa.export({ type: 'spki', format: 'pem' }).toString())),
    'too much': (response) =>
      response.end(keySet(p256.export({ type: 'spki', format: 'pem' }).toString()).padEnd(70_000)),
    'a broken answer': (response) => {
      response.writeHead(200, { 'content-length': 1000 })
      response.write('{"public_keys":')
      setImmediate(() => response.destroy())
    },
  }
  let asked = github.asked()
  for (const [way, answer] of Object.entries(ways)) {
    github.answer(answer)
    travel(DAY)
    expect([way, (await send()).status, github.asked()]).toEqual([way, 200, asked + 1])
    asked = github.asked()
  }

  const fresh = await node()
  const waits = await send(fresh)
  expect([waits.status, waits.body.code, waits.headers.get('retry-after')]).toEqual([503, 'unavailable', '60'])
  github.answer()
  expect((await send(fresh)).status).toBe(503)
  travel(MINUTE)
  expect((await send(fresh)).status).toBe(200)
})

test('a set of keys that does not come is waited for three seconds, by everyone together', async () => {
  const github = await playGithub()
  const { api } = await shop({ GITHUB_KEYS_URL: github.url })
  github.answer((response) => void response.writeHead(200).write('{'))
  const began = performance.now()
  const elapsed = startTicking()
  const send = async () => (await api.post('/v1/leaks/github', undefined, github.sign([]))).status
  expect(await Promise.all([send(), send(), send()])).toEqual([503, 503, 503])
  expect(performance.now() - began).toBeGreaterThan(2_900)
  expect(elapsed()).toBeLessThan(8_000)
  expect(github.asked()).toBe(1)
})

// ---- nothing of it is kept ------------------------------------------------------------------------------------------

test('nothing of a reported secret stands in events, logs, metrics or problems', async () => {
  const world = await shopWithGithub()
  const { api, sql, logs } = world
  const [mine, found] = [await newKey(world), await newKey(world)]
  const unknown = mintToken('skp', 'dev').reveal()
  for (const key of [mine.key, unknown]) await report(api, key)
  await api.post(
    '/v1/leaks/github',
    undefined,
    sharedGithub.sign([{ token: found.key, url: `https://x.example/${found.key}` }]),
  )
  const problems = [
    await api.post('/v1/leaks', { key: mine.key, more: mine.key }),
    await api.post('/v1/leaks', { [mine.key.slice(0, 4)]: [mine.key] }),
    await api.post('/v1/leaks/github', [{ token: found.key }]),
    await api.post('/v1/leaks/github', undefined, sharedGithub.sign([{ token: [found.key], url: { a: found.key } }])),
  ]
  expect(problems.map(({ status }) => status)).toEqual([422, 422, 403, 422])
  const places = [
    JSON.stringify(await sql('select * from events')),
    logs(),
    (await api.get('/metrics')).text,
    ...problems.map(({ text }) => text),
  ]
  expect(places[0]).toContain('key.leaked')
  expect(places[1]).toContain('"route":"/v1/leaks/github"')
  for (const secret of [mine.key, found.key, unknown])
    for (const form of [secret, secret.slice(9), sha256(secret).toString('hex'), sha256(secret, 'base64')])
      for (const place of places) expect(place).not.toContain(form)
})
