// Case 32. Everything that makes or takes a secret is used, also where it fails; then every secret is looked for in the
// log, the metrics, the answers, every row of every table, the write-ahead log and PostgreSQL's own log: found nowhere.

import net from 'node:net'
import { expect, test } from 'vitest'
import { run } from '../src/cli/run.ts'
import { randomBytes } from '../src/crypto/random.ts'
import { mintToken, sha256 } from '../src/crypto/tokens.ts'
import { call } from './command.ts'
import { type Github, playGithub } from './github.ts'
import { everyRow, filesOf, walPosition } from './leftovers.ts'
import { type MailServer, mailServer } from './mail-server.ts'
import { NEW_KEY, type Shop, shop } from './shop.ts'

const mark = () => `m${Buffer.from(randomBytes(9)).toString('hex')}`

// A hundred secrets, each in six forms, are looked for in all of the write-ahead log.
const LONG = 300_000

test('32. no secret and no text of an address is found anywhere but in the one answer that shows it', {
  timeout: LONG,
}, async () => {
  const github = await playGithub()
  const mail = await mailServer()
  const world = await shop({ GITHUB_KEYS_URL: github.url, ...mail.settings })
  await world.sql('update users set email_verified_at = now()')
  const { api, sql, logs } = world
  const since = await walPosition(sql)
  const planted = mark()
  const secrets = new Secrets()
  await useMail(world, mail, secrets)
  await useEverything(world, github, secrets, planted)

  const places: Record<string, string> = {
    'the log': logs(),
    'the metrics': (await api.get('/metrics')).text,
    'the answers': await everyAnswer(world),
    'the tables': await everyRow(sql),
    'statements under way': JSON.stringify(await sql('select query from pg_stat_activity')),
    ...(await filesOf(sql, since)),
  }
  expect(secrets.all.size).toBeGreaterThan(40)
  const whats = new Map([...secrets.all].flatMap(([secret, what]) => formsOf(secret).map((form) => [form, what])))
  const search = searchFor(whats)
  for (const [form, what] of whats) expect(search(`(${form})`)).toContain(what)
  const found = Object.entries(places).flatMap(([place, text]) => search(text).map((what) => `${what} in ${place}`))
  expect(found).toEqual([])

  // The search itself is put to the proof: what may be there is found wherever it should be.
  const holders = Object.keys(places).filter((place) => places[place]?.includes(planted))
  expect(holders).toEqual([
    'the answers',
    'the tables',
    ...(places['the write-ahead log'] === undefined ? [] : ['the write-ahead log']),
  ])
  expect(places['the log']).toContain('"route":"/v1/user/store/:storeId/keys"')
  expect(places['the metrics']).toContain('route="/v1/user/store/:storeId/keys",status="500"')
  expect(places['the tables']).toContain(Buffer.from(sha256(world.owner.token)).toString('hex'))
})

/** What must be nowhere, and what it is. */
class Secrets {
  readonly all = new Map<string, string>()

  add(what: string, secret: string): string {
    this.all.set(secret, what)
    return secret
  }
}

/** Tokens that are mailed: each is in its mail, and nowhere else. */
async function useMail({ api, person, sql }: Shop, mail: MailServer, secrets: Secrets): Promise<void> {
  const { email } = await person()
  const mailed = async (to: string, count: number) => {
    const { token } = await mail.mailTo(to, count)
    return secrets.add('a mailed token', token as string)
  }
  for (const count of [1, 2]) {
    expect((await api.post('/v1/auth/reset', { email })).status).toBe(202)
    const newPassword = secrets.add('a new password', `new ${mark()} ${mark()}`)
    const confirmed = { token: await mailed(email, count), newPassword }
    if (count === 2) expect((await api.post('/v1/auth/reset/confirm', confirmed)).status).toBe(204)
  }
  const password = secrets.add('a password', `first ${mark()} ${mark()}`)
  const newcomer = `${mark()}@example.com`
  secrets.add('a session token', (await api.post('/v1/auth/sign-up', { email: newcomer, password })).body.token)
  expect((await api.post('/v1/auth/confirm', { token: await mailed(newcomer, 1) })).status).toBe(204)
  // One that waits for the mail server is sealed.
  mail.refuse('451 later')
  await api.post('/v1/auth/reset', { email: newcomer })
  await expect.poll(() => mail.refused()).toBeGreaterThan(0)
  expect(await sql('select from mails where token is not null')).toHaveLength(1)
  mail.refuse(null)
  await sql("update mails set next_attempt_at = '2000-01-01'")
  await api.post('/v1/auth/reset', { email: 'nobody@example.com' })
  await mailed(newcomer, 2)
}

async function useEverything(world: Shop, github: Github, secrets: Secrets, planted: string): Promise<void> {
  const { api, owner, store, keys, billing, person } = world
  const as = owner.token
  secrets.add('the server secret', world.serverSecret)
  secrets.add('a password', owner.password)
  secrets.add('a session token', owner.token)

  // Accounts and sessions.
  const guest = await person()
  secrets.add('a password', guest.password)
  secrets.add('a session token', guest.token)
  const { email, password } = owner
  const again = await api.post('/v1/auth/sign-in', { email, password })
  secrets.add('a session token', again.body.token)
  const cookie = await api.post('/v1/auth/sign-in', { email, password, cookie: true })
  const session = /__Host-storekeeper=([^;]+)/.exec(cookie.headers.get('set-cookie') ?? '')?.[1] as string
  secrets.add('a session cookie', session)
  expect((await api.get('/v1/user', { headers: { cookie: `__Host-storekeeper=${session}` } })).status).toBe(200)
  const wrong = () => secrets.add('a wrong password', `wrong ${mark()} ${mark()}`)
  expect((await api.post('/v1/auth/sign-in', { email, password: wrong() })).status).toBe(401)
  expect((await api.post('/v1/auth/sign-in', { email: `${mark()}@example.com`, password: wrong() })).status).toBe(401)
  expect((await api.post('/v1/auth/sign-up', { email, password: wrong() })).status).toBe(409)
  expect((await api.post('/v1/auth/sign-up', { email: 'no e-mail', password: wrong() })).status).toBe(422)
  const change = { currentPassword: wrong(), newPassword: wrong() }
  expect((await api.post('/v1/user/password', change, { as, ...retry(secrets) })).status).toBe(401)
  const changed = { currentPassword: password, newPassword: secrets.add('a new password', `new ${mark()} ${mark()}`) }
  expect((await api.post('/v1/user/password', changed, { as, ...retry(secrets) })).status).toBe(204)
  expect((await api.post('/v1/auth/sign-out', undefined, { as: guest.token, ...retry(secrets) })).status).toBe(204)

  // Keys, with and without a retry; used, replayed, mismatched.
  for (const type of ['PROD', 'TEST', 'DEV']) {
    const { body } = await api.post(
      keys,
      { ...NEW_KEY, name: planted, type, permissions: ['READ', 'MANAGE_KEYS'] },
      { as },
    )
    secrets.add('a key', body.key)
    secrets.add('the hash of a key', sha256(body.key).toString('hex'))
    expect((await api.get(`/v1/user/store/${store.id}`, { as: body.key })).status).toBe(200)
    expect((await api.delete(`/v1/user/store/${store.id}`, { as: body.key })).status).toBe(403)
    const made = await api.post(keys, { ...NEW_KEY, permissions: ['READ'] }, { as: body.key, ...retry(secrets) })
    secrets.add('a key made by a key', made.body.key)
  }
  const options = { as, ...retry(secrets) }
  const { body: key } = await api.post(keys, NEW_KEY, options)
  secrets.add('a key with a retry', key.key)
  expect((await api.post(keys, NEW_KEY, options)).body.key).toBe(key.key)
  expect((await api.post(keys, { ...NEW_KEY, name: 'Other' }, options)).status).toBe(422)
  expect((await api.post(keys, {}, { as, ...retry(secrets) })).status).toBe(422)

  // Leaks: reported by their finder, by GitHub, and by somebody who is not GitHub.
  for (const path of ['/v1/leaks', '/v1/leaks/github']) {
    const leaked = (await api.post(keys, { ...NEW_KEY, type: 'TEST' }, { as })).body.key
    const unknown = secrets.add('an unknown key', mintToken('skp', 'prod').reveal())
    secrets.add('a leaked key', leaked)
    secrets.add('the hash of a leaked key', sha256(leaked).toString('hex'))
    for (const key of [leaked, unknown]) {
      const reports = [{ token: key, type: 'key', url: `https://example.com/${key}` }]
      const sent = path === '/v1/leaks' ? { raw: JSON.stringify({ key }) } : github.sign(reports)
      expect((await api.post(path, undefined, sent)).status).toBe(200)
    }
    expect((await api.post(path, [{ token: leaked }])).status).toBe(path === '/v1/leaks' ? 422 : 403)
  }

  // Rotated, with and without a grace and a retry, by a person and by the key itself; changed, refused and revoked.
  const robot = (await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'WRITE', 'MANAGE_KEYS'] }, { as })).body
  secrets.add('a key that is rotated', robot.key)
  const rotate = async (id: string, gracePeriodSeconds: number, asking: object = { as }) => {
    const path = `${keys}/${id}/rotate`
    const { status, body } = await api.post(path, { gracePeriodSeconds }, asking)
    expect(status).toBe(200)
    secrets.add('a rotated key', body.key)
    secrets.add('the hash of a rotated key', sha256(body.key).toString('hex'))
    return body.key as string
  }
  await rotate(key.id, 0)
  const once = { as, ...retry(secrets) }
  const rotated = await rotate(key.id, 3600, once)
  expect(await rotate(key.id, 3600, once)).toBe(rotated)
  expect((await api.post(`${keys}/${key.id}/rotate`, { gracePeriodSeconds: 1 }, once)).status).toBe(422)
  const own = await rotate(robot.id, 3600, { as: robot.key, ...retry(secrets) })
  const last = await rotate(robot.id, 60, { as: own })
  expect((await api.get('/v1/key', { as: robot.key })).status).toBe(401)
  for (const working of [own, last]) expect((await api.get('/v1/key', { as: working })).status).toBe(200)
  expect((await api.patch(`${keys}/${robot.id}`, { metadata: { key: 1 } }, { as })).status).toBe(200)
  const gone = (await api.post(keys, NEW_KEY, { as, ...retry(secrets) })).body
  secrets.add('a key that is revoked', gone.key)
  await rotate(gone.id, 3600)
  expect((await api.delete(`${keys}/${gone.id}?reason=${planted}`, { as })).status).toBe(200)
  expect((await api.post(`${keys}/${gone.id}/rotate`, {}, { as, ...retry(secrets) })).status).toBe(409)

  // Invitations: taken, kept, withdrawn, used to sign up.
  const invitations = `/v1/user/store/${store.id}/invitations`
  const invite = async (to: string) => {
    const { body } = await api.post(invitations, { email: to, role: 'STAFF' }, { as, ...retry(secrets) })
    secrets.add('an invitation', body.token)
    return body
  }
  const fresh = await person()
  secrets.add('a password', fresh.password)
  secrets.add('a session token', fresh.token)
  const accepted = { token: (await invite(fresh.email)).token }
  expect((await api.post('/v1/user/invitations/accept', accepted, { as })).status).toBe(403)
  expect((await api.post('/v1/user/invitations/accept', accepted, { as: fresh.token, ...retry(secrets) })).status).toBe(
    200,
  )
  expect((await api.post('/v1/user/invitations/accept', accepted, { as: fresh.token })).status).toBe(404)
  await api.delete(`${invitations}/${(await invite('gone@example.com')).id}`, { as })
  const newcomer = {
    email: `${mark()}@example.com`,
    password: wrong(),
    invitation: (await invite('else@example.com')).token,
  }
  secrets.add('a session token', (await api.post('/v1/auth/sign-up', newcomer)).body.token)

  // Webhooks: the secret is sealed, and signs a message that leads nowhere.
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const hook = { url: 'https://shop.example/hooks', types: ['*'] }
  const { body: webhook } = await api.post(webhooks, hook, { as, ...retry(secrets) })
  const turned = await api.post(`${webhooks}/${webhook.id}/rotate`, {}, { as, ...retry(secrets) })
  for (const { secret } of [webhook, turned.body]) {
    secrets.add('the secret of a webhook', secret)
    secrets.add('the bytes of it', Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex'))
  }
  expect((await api.post(`${webhooks}/${webhook.id}/test`, undefined, { as, ...retry(secrets) })).status).toBe(201)

  // A service token, from the operator's command.
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: world.serverSecret }
  const service = (await call(run, ['service-token', 'create', 'Gateway', '--store', store.id], { env })).out.trim()
  secrets.add('a service token', service)
  expect((await api.get(keys, { as: service })).body.code).toBe('store_not_found')

  // Keys in the hands of a back end: good ones, replaced ones and mistyped ones.
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const [presented, code] of [
    [rotated, 'VALID'],
    [last, 'VALID'],
    [key.key, 'NOT_FOUND'],
    [gone.key, 'REVOKED'],
    [secrets.add('a mistyped key', `${rotated.slice(0, -3)}${mark().slice(0, 3)}`), 'NOT_FOUND'],
  ] as const) {
    for (const explain of [false, true]) {
      const verdict = await api.post('/v1/keys/verify', { key: presented, explain }, { as: service, ...retry(secrets) })
      expect([verdict.body.code, verdict.text.includes(presented)]).toEqual([code, false])
    }
    const asked = await api.post('/v1/oauth/introspect', undefined, {
      as: service,
      headers: form,
      raw: `token=${presented}`,
    })
    expect([asked.body.active, asked.text.includes(presented)]).toEqual([code === 'VALID', false])
    await api.post('/v1/keys/verify', { key: presented, ip: presented, [presented]: presented }, { as: service })
  }

  // Addresses: all their text, stored, remembered and refused.
  const address = () => ({
    ...Object.fromEntries(
      ['firstName', 'lastName', 'company', 'taxId', 'addressLine1', 'addressLine2', 'city'].map((field) => [
        field,
        secrets.add(`the ${field} of an address`, `${mark()} Ü`),
      ]),
    ),
    state: 'CA',
    postalCode: '95014',
    country: 'US',
    phone: secrets.add('a phone number', `+1408555${String(1000 + Number(randomBytes(1)[0]) * 30)}`),
  })
  expect((await api.post(billing, address(), { as })).status).toBe(201)
  const kept = address()
  const remembered = { as, ...retry(secrets) }
  const first = await api.post(billing, kept, remembered)
  expect((await api.post(billing, kept, remembered)).text).toBe(first.text)
  const mended = `${billing}/${first.body.id}`
  expect((await api.patch(mended, address(), { as })).status).toBe(200)
  expect((await api.patch(mended, { ...address(), country: 'Nowhere', surprise: 1 }, { as })).status).toBe(422)
  const { id } = (await api.post(billing, address(), { as })).body
  expect((await api.delete(`${billing}/${id}`, { as })).status).toBe(204)
  expect((await api.post(billing, { ...address(), country: 'Nowhere' }, { as, ...retry(secrets) })).status).toBe(422)
  expect((await api.post(billing, { ...address(), surprise: 1 }, { as, ...retry(secrets) })).status).toBe(422)

  // Secrets where they do not belong.
  const stray = () => secrets.add('a stray secret', `skp_prod_${mark()}${mark()}`)
  const basic = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`
  await api.get(`${keys}?api_key=${stray()}`, { as })
  await api.get(`${keys}?cursor=${stray()}`, { as })
  await api.get(`/v1/user/store/${stray()}/keys`, { as })
  await api.get(`${keys}/${stray()}`, { as: stray() })
  await api.get(`/${stray()}`)
  await api.get(`/errors/${stray()}`)
  await api.ask(`PUT`, `/v1/user/store/${stray()}`, { password: stray() }, { as })
  await api.get(keys, { headers: { authorization: basic } })
  await api.get(keys, { headers: { authorization: `Bearer ${stray()} ${stray()}` } })
  await api.get(keys, { headers: { cookie: `__Host-storekeeper=${stray()}`, 'x-api-key': stray() } })
  await api.post(keys, { [stray()]: stray(), name: 1 }, { as, ...retry(secrets) })
  await api.post(keys, undefined, { as, raw: `{"key":"${stray()}",`, ...retry(secrets) })
  await api.post(keys, NEW_KEY, { as, headers: { 'idempotency-key': `${stray()} not visible` } })
  await api.post(keys, { ...NEW_KEY, permissions: [stray()], ipAllowlist: [stray()], type: stray() }, { as })
  await garbage(api.url, `GET /${stray()} HTTP/1.1\r\nAuthorization : Bearer ${stray()}\r\n\r\n`)

  // And when the service itself fails.
  await world.sql('alter table events rename to elsewhere')
  const failed = [
    await api.post(keys, { ...NEW_KEY, metadata: { note: stray() } }, { as, ...retry(secrets) }),
    await api.post(billing, address(), { as, ...retry(secrets) }),
    await api.post(invitations, { email: 'x@example.com', role: 'STAFF' }, { as, ...retry(secrets) }),
    await api.post('/v1/auth/sign-up', { email: `${mark()}@example.com`, password: wrong() }),
    await api.post('/v1/auth/sign-in', { email, password: changed.newPassword }),
  ]
  expect(failed.map(({ status }) => status)).toEqual([500, 500, 500, 500, 500])
  await world.sql('alter table elsewhere rename to events')
}

/** A new Idempotency-Key, which is a secret like any other. */
function retry(secrets: Secrets): { headers: Record<string, string> } {
  return { headers: { 'idempotency-key': secrets.add('an Idempotency-Key', mark()) } }
}

/** As it is, in hex, in base64, as a part of a URL or of JSON, and without the part of a token that all tokens share. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const random = /^skp_[a-z]+_(.{20,})$/.exec(secret)?.[1]
  return [
    secret,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    ...(random ? [random] : []),
    // Of a text its first word, of a number its digits.
    ...(/^m[0-9a-f]{18} /.test(secret) ? [secret.slice(0, 19)] : []),
    ...(secret.startsWith('+') ? [secret.slice(1)] : []),
  ]
}

/** Looks for all of the texts in one pass, since there are hundreds and the write-ahead log is long. Tells what was found. */
function searchFor(whats: Map<string, string>): (text: string) => string[] {
  const startAt = (text: string, i: number) =>
    (text.charCodeAt(i) ^
      (text.charCodeAt(i + 1) << 4) ^
      (text.charCodeAt(i + 2) << 8) ^
      (text.charCodeAt(i + 3) << 12)) &
    0xffff
  const byStart: [string, string][][] = Array.from({ length: 0x10000 }, () => [])
  for (const entry of whats) byStart[startAt(entry[0], 0)]?.push(entry)
  const isStart = Uint8Array.from(byStart, (entries) => Math.min(entries.length, 1))
  return (text) => {
    const found: string[] = []
    for (let i = 0; i < text.length; i++)
      if (isStart[startAt(text, i)] === 1)
        for (const [form, what] of byStart[startAt(text, i)] ?? []) if (text.startsWith(form, i)) found.push(what)
    return found
  }
}

/** What anyone may read afterwards: the lists and each thing in them. */
async function everyAnswer({ api, owner, keys, store, billing }: Shop): Promise<string> {
  const as = owner.token
  const { data } = (await api.get(keys, { as })).body
  const paths = [
    keys,
    ...data.flatMap(({ id }: { id: string }) => ['', '/usage', '/advice'].map((what) => `${keys}/${id}${what}`)),
    `${keys}?status=ACTIVE`,
    '/v1/user',
    '/v1/user/sessions',
    `/v1/user/store/${store.id}/members`,
    `/v1/user/store/${store.id}/invitations`,
    '/openapi.json',
    '/docs',
  ]
  const texts = await Promise.all(paths.map(async (path) => (await api.get(path, { as })).text))
  // The owner's own address is shown to the owner, and to nobody here.
  expect((await api.get(billing, { as })).body.data).toHaveLength(2)
  return texts.join('\n')
}

function garbage(url: string, bytes: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.resume()
  })
}
