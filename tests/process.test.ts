// The service as a process: started as a user starts it, told to stop, killed, and its database killed under it. It runs
// from a copy of this checkout, as a fresh clone would, and every test has a data directory of its own.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { joinEmbedded } from '../src/db/embedded/embedded.ts'
import { isAlive, listProcesses, postmasters, serverProcesses } from './processes.ts'
import { type Api, apiAt, NEW_ADDRESS, NEW_KEY, type Person } from './shop.ts'

const LONG = 120_000

// ---- starting and stopping ------------------------------------------------------------------------------------------

test('npm start builds and serves; SIGTERM to npm ends the service and its database, and nothing is left', {
  timeout: LONG,
}, async () => {
  const service = await start({ npm: true })
  expect(service.err()).toContain('Building …')
  expect(service.err()).toContain(`Storekeeper is ready at ${service.url}`)
  expect((await apiAt(service.url).get('/readyz')).body).toEqual({ status: 'ready' })
  const shop = await openShop(service.url)
  const made = await apiAt(service.url).post(shop.keys, NEW_KEY, { as: shop.people[0]?.token ?? null })
  expect(made.status).toBe(201)
  const family = familyOf(service.pid)
  expect(family.length).toBeGreaterThan(0)
  expect(postmasters(service.data)).toHaveLength(1)

  service.signal('SIGTERM')
  expect(await service.ended()).toEqual({ code: 0, signal: null })
  expect(family.filter(isAlive)).toEqual([])
  expect(serverProcesses(service.data)).toEqual([])

  // What was there is there again.
  const again = await start({ npm: true, data: service.data })
  expect(
    (await apiAt(again.url).get(`${shop.keys}/${made.body.id}`, { as: shop.people[0]?.token ?? null })).status,
  ).toBe(200)
  again.signal('SIGTERM')
  expect((await again.ended()).code).toBe(0)
})

test('Ctrl-C at the terminal, which everyone in the foreground hears, ends it cleanly', { timeout: LONG }, async () => {
  const service = await start({ npm: true })
  const family = familyOf(service.pid)
  service.signalGroup('SIGINT')
  await service.ended()
  await until(async () => family.filter(isAlive).length === 0)
  expect(serverProcesses(service.data)).toEqual([])
  expect(
    service
      .lines()
      .map(({ msg }) => msg)
      .slice(-2),
  ).toEqual(['stopping', 'stopped'])
  expect(wasShutDown(service.data)).toBe(true)
})

test('told to stop while it starts, it leaves nothing behind either', { timeout: LONG }, async () => {
  const data = join(folder(), 'data')
  for (const moment of [() => existsSync(join(data, 'postgres')), () => postmasters(data).length > 0]) {
    const service = launch({ data })
    await until(async () => moment())
    service.signal('SIGTERM')
    expect((await service.ended()).code).toBe(0)
    expect(serverProcesses(data)).toEqual([])
    expect(wasShutDown(data)).toBe(true)
  }
})

test('the log is a line of JSON for each thing, and each request has its requestId', { timeout: LONG }, async () => {
  const service = await start()
  const api = apiAt(service.url)
  const replies = [
    await api.get('/livez'),
    await api.get('/v1/user'),
    await api.post('/v1/auth/sign-in', { email: 'a@b.c', password: 'x' }),
  ]
  service.signal('SIGTERM')
  await service.ended()
  const lines = service.lines()
  expect(lines.map(({ msg }) => msg)).toEqual(['listening', 'request', 'request', 'request', 'stopping', 'stopped'])
  for (const line of lines)
    expect(line).toMatchObject({ level: expect.any(Number), time: expect.stringMatching(/^\d{4}-.*Z$/) })
  const requests = lines.filter(({ msg }) => msg === 'request')
  expect(requests.map(({ requestId }) => requestId)).toEqual(replies.map(({ headers }) => headers.get('x-request-id')))
  expect(requests.map(({ route, status }) => [route, status])) //
    .toEqual(replies.map(({ status }, i) => [['/livez', '/v1/user', '/v1/auth/sign-in'][i], status]))
})

test('a second start, on the same directory or the same port, says so, exits, and harms nothing', {
  timeout: LONG,
}, async () => {
  const service = await start()
  const second = launch({ data: service.data })
  expect((await second.ended()).code).toBe(1)
  expect(second.err()).toContain(`Another Storekeeper is already running on ${service.data}`)
  expect(second.out()).toBe('')
  const third = launch({ env: { PORT: new URL(service.url).port } })
  expect((await third.ended()).code).toBe(1)
  expect(third.err()).toContain('EADDRINUSE')
  expect(serverProcesses(third.data)).toEqual([])
  expect((await apiAt(service.url).get('/readyz')).status).toBe(200)
  expect(postmasters(service.data)).toHaveLength(1)
})

test('settings that are not right stop the start, all of them told at once, and no secret among them', {
  timeout: LONG,
}, async () => {
  const secret = randomBytes(20).toString('base64')
  const refused = launch({
    env: {
      PORT: 'abc',
      SIGN_UP: 'maybe',
      KEY_PREFIX: 'SKP!',
      EXTRA_PERMISSIONS: 'fly',
      MAX_KEYS_PER_STORE: '0',
      RATE_LIMIT: 'fast',
      SERVER_SECRET_PREVIOUS: secret,
      DATABASE_URL: 'postgres://user:hunter2@nowhere.invalid/db',
      JWT_ISSUER: 'https://idp.example',
      LOG_LEVEL: 'loud',
    },
  })
  expect((await refused.ended()).code).toBe(1)
  expect(refused.out()).toBe('')
  expect(
    refused
      .err()
      .trim()
      .split('\n')
      .map((line) => line.trim().split(' ').slice(0, 3).join(' ')),
  ).toEqual([
    'The settings are',
    '- PORT must',
    '- SERVER_SECRET_PREVIOUS must',
    '- SIGN_UP must',
    '- KEY_PREFIX must',
    '- EXTRA_PERMISSIONS must',
    '- MAX_KEYS_PER_STORE must',
    '- RATE_LIMIT must',
    '- LOG_LEVEL must',
    '- SERVER_SECRET is',
    '- JWT_AUDIENCE and',
  ])
  expect(refused.err()).not.toContain(secret)
  expect(refused.err()).not.toContain('hunter2')
  expect(existsSync(refused.data)).toBe(false)
})

// ---- the operator's commands ----------------------------------------------------------------------------------------

test('service-token prints the token and nothing else, with no service running and beside one', {
  timeout: LONG,
}, async () => {
  const data = join(folder(), 'data')
  const create = async (name: string) => {
    const command = launch({ npm: true, data, command: ['service-token', 'create', name] })
    expect((await command.ended()).code).toBe(0)
    expect(command.out()).toMatch(/^skp_svc_[0-9A-Za-z]{49}\n$/)
    return command.out().trim()
  }
  const alone = await create('Checkout back end')
  expect(serverProcesses(data)).toEqual([])
  const service = await start({ data })
  const servers = postmasters(data)
  const beside = await create('Invoices')
  expect(postmasters(data)).toEqual(servers)
  const code = async (as: string) => (await apiAt(service.url).get('/v1/user', { as })).body.code
  expect([await code(alone), await code(beside)]).toEqual(['user_required', 'user_required'])

  const list = launch({ npm: true, data, command: ['service-token', 'list'] })
  await list.ended()
  const rows = list
    .out()
    .trim()
    .split('\n')
    .map((line) => line.split('  '))
  expect(rows.map(([, , state, name]) => [state, name])).toEqual([
    ['active', 'Checkout back end'],
    ['active', 'Invoices'],
  ])
  expect(list.out()).not.toContain('skp_svc_')
  const revoke = launch({ npm: true, data, command: ['service-token', 'revoke', rows[0]?.[0] as string] })
  expect([(await revoke.ended()).code, revoke.out()]).toEqual([0, ''])
  expect([await code(alone), await code(beside)]).toEqual(['invalid_token', 'user_required'])

  const nameless = launch({ npm: true, data, command: ['service-token', 'create'] })
  expect([(await nameless.ended()).code, nameless.out()]).toEqual([1, ''])
})

test('a command about what is there makes no database where there is none', { timeout: LONG }, async () => {
  const data = join(folder(), 'mistyped')
  for (const words of [
    'events head --all',
    'events export --system',
    'secret status',
    'secret rotate',
    'service-token list',
  ]) {
    const command = launch({ data, command: words.split(' ') })
    expect([words, (await command.ended()).code, command.out()]).toEqual([words, 1, ''])
    expect(command.err()).toContain(
      `There is no database in ${data}. Are DATABASE_URL and DATA_DIR those of the service?`,
    )
    expect(existsSync(data)).toBe(false)
  }
})

test('a database that has people in it gets no new secret when its own is missing', { timeout: LONG }, async () => {
  const service = await start()
  const { data } = service
  await apiAt(service.url).post('/v1/auth/sign-up', { email: 'ada@example.com', password: 'a long pass phrase' })
  service.signal('SIGTERM')
  await service.ended()
  const kept = readFileSync(join(data, 'server-secret'))
  rmSync(join(data, 'server-secret'))
  for (const command of [undefined, ['events', 'head', '--all']]) {
    const refused = launch({ data, ...(command && { command }) })
    expect((await refused.ended()).code).toBe(1)
    expect(refused.err() + refused.out()).toContain(`server-secret, is missing in ${data}: put it back from a backup`)
    expect(existsSync(join(data, 'server-secret'))).toBe(false)
  }
  writeFileSync(join(data, 'server-secret'), kept)
  // A reader who has seen enough: the command ends, and so does the database it has started.
  const cut = spawnSync('sh', ['-c', `"${process.execPath}" bin/storekeeper.js events export --system | head -c 1`], {
    cwd: built,
    env: { PATH: process.env.PATH, DATA_DIR: data },
  })
  expect([cut.stdout.toString(), cut.stderr.toString()]).toEqual(['{', expect.not.stringContaining('EPIPE')])
  expect(serverProcesses(data)).toEqual([])
  if (!existsSync('/dev/full')) return
  const full = openSync('/dev/full', 'w')
  const unwritten = spawnSync(process.execPath, ['bin/storekeeper.js', 'events', 'head', '--all'], {
    cwd: built,
    env: { PATH: process.env.PATH, DATA_DIR: data },
    stdio: ['ignore', full, 'pipe'],
  })
  closeSync(full)
  expect([unwritten.status, unwritten.stderr.toString()]).toEqual([
    2,
    expect.stringContaining('What this command printed could not be written: ENOSPC'),
  ])
  expect(serverProcesses(data)).toEqual([])
})

test('quickstart, beside a running service, prints four curl lines that really work', { timeout: LONG }, async ({
  skip,
}) => {
  const service = await start()
  const quickstart = launch({ npm: 'quickstart', data: service.data, env: { PORT: new URL(service.url).port } })
  expect((await quickstart.ended()).code).toBe(0)
  const printed = quickstart.out()
  expect(printed.match(/^201 \{$/gm)).toHaveLength(4)
  const lines = printed.match(/^curl (?:.*\\\n)*.*$/gm) ?? []
  expect(lines.map((line) => line.match(/'http:\/\/127\.0\.0\.1:\d+(\/v1\/[^']*)'/)?.[1]?.replace(/store_\w+/, ':id'))) //
    .toEqual(['/v1/auth/sign-up', '/v1/user/store', '/v1/user/store/:id/keys', '/v1/store/:id/billing'])

  skip(!hasCurl(), 'there is no curl here')
  const answers = lines.map((line) =>
    JSON.parse(execFileSync('bash', ['-c', line], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
  )
  // That e-mail has its account by now; all else is made anew.
  expect(answers[0].code).toBe('email_taken')
  expect(answers.slice(1).map(({ id }) => id.split('_')[0])).toEqual(['store', 'key', 'addr'])
  for (const { id } of answers.slice(1)) expect(printed).not.toContain(id)
})

test('quickstart without a service says what to do', { timeout: LONG }, async () => {
  const command = launch({ npm: 'quickstart', env: { PORT: '1' } })
  expect((await command.ended()).code).toBe(1)
  expect(command.err()).toContain(
    'Nothing answers at http://127.0.0.1:1. Start the service in another terminal with "npm start"',
  )
})

// ---- under load -----------------------------------------------------------------------------------------------------

test('killed five times under load: what was acknowledged is there, and no retry doubles it', {
  timeout: LONG,
}, async () => {
  const data = join(folder(), 'data')
  let service = await start({ data })
  const shop = await openShop(service.url)
  const load = startLoad(shop, 8)
  for (let kills = 1; kills <= 5; kills++) {
    await load.more(100)
    service.signal('SIGKILL')
    load.goTo(null)
    expect((await service.ended()).signal).toBe('SIGKILL')
    service = await start({ data })
    expect(postmasters(data)).toHaveLength(1)
    load.goTo(service.url)
  }
  await load.more(100)
  const counts = await load.finish()
  const books = await checkBooks(service, shop, load.done())
  report('SIGKILL of the service', { kills: 5, ...counts, ...books })
  expect(books).toEqual({ acknowledged: counts.acknowledged, lost: 0, doubled: 0, wrongDefaults: 0 })
  expect(counts.unexpected).toEqual([])
  expect(counts.interrupted).toBeGreaterThan(0)
  service.signal('SIGTERM')
  expect((await service.ended()).code).toBe(0)
})

test('PostgreSQL killed three times under load: the service heals by itself, and the books balance', {
  timeout: LONG,
}, async () => {
  const service = await start()
  const { data } = service
  const shop = await openShop(service.url)
  const load = startLoad(shop, 8)
  for (const victim of ['server', 'backend', 'server'] as const) {
    await load.more(100)
    const server = postmasters(data)[0] as number
    kill(victim === 'server' ? server : backendOf(server))
    await load.more(100)
    expect(postmasters(data)).toHaveLength(1)
    if (victim === 'server') expect(postmasters(data)).not.toContain(server)
  }
  const counts = await load.finish()
  const books = await checkBooks(service, shop, load.done())
  report('SIGKILL of PostgreSQL', { kills: 3, ...counts, ...books })
  expect(books).toEqual({ acknowledged: counts.acknowledged, lost: 0, doubled: 0, wrongDefaults: 0 })
  expect(counts.unexpected).toEqual([])
  expect(counts.interrupted).toBeGreaterThan(0)
  expect((await apiAt(service.url).get('/readyz')).status).toBe(200)
  service.signal('SIGTERM')
  expect((await service.ended()).code).toBe(0)
  expect(serverProcesses(data)).toEqual([])
})

test('ten SIGTERMs under load: no request that was accepted goes without its answer', { timeout: LONG }, async () => {
  const data = join(folder(), 'data')
  let shop: Opened | undefined
  const totals = { answered: 0, refused: 0, quietResets: 0, busy: 0 }
  const failures: string[] = []
  const acknowledged: Made[] = []
  for (let round = 0; round < 10; round++) {
    const service = await start({ data, npm: round === 0 })
    shop ??= await openShop(service.url)
    const clients = Array.from({ length: 16 }, (_, i) => keepAliveClient(service.url, shop as Opened, i))
    // A client that failed tells so below.
    await until(async () => clients.every((client) => client.answered() > 2 || client.failed()))
    for (const client of clients) client.told()
    service.signal('SIGTERM')
    for (const client of clients) {
      const { made, refused, quietResets, busy, failed } = await client.done
      acknowledged.push(...made)
      failures.push(...failed)
      totals.answered += made.length
      totals.refused += refused
      totals.quietResets += quietResets
      totals.busy += busy
    }
    expect(await service.ended()).toEqual({ code: 0, signal: null })
    expect(serverProcesses(data)).toEqual([])
  }
  const service = await start({ data })
  const books = await checkBooks(service, shop as Opened, acknowledged)
  report('SIGTERM', { rounds: 10, failed: failures.length, ...totals, ...books })
  expect(failures).toEqual([])
  expect(totals.refused).toBe(160) // each client went on until nobody was there
  expect(books).toEqual({ acknowledged: totals.answered, lost: 0, doubled: 0, wrongDefaults: 0 })
})

// ---- the load, and its books ----------------------------------------------------------------------------------------

type Opened = { keys: string; billing: string; people: Person[] }
type Made = { kind: 'key' | 'address'; once: string; as: string; id: string; secret?: string }

/** A store with three people who may make keys and keep addresses. */
async function openShop(url: string): Promise<Opened> {
  const api = apiAt(url)
  const people: Person[] = []
  for (let i = 0; i < 3; i++) {
    const account = { email: `${randomUUID()}@example.com`, password: `a long pass phrase ${i} ${randomUUID()}` }
    const { body } = await api.post('/v1/auth/sign-up', account)
    people.push({ id: body.user.id, ...account, token: body.token })
  }
  const [owner, ...others] = people as [Person, ...Person[]]
  const store = (await api.post('/v1/user/store', { name: 'The shop' }, { as: owner.token })).body
  for (const { email, token: as } of others) {
    const invitation = { email, role: 'MANAGER' }
    const { token } = (await api.post(`/v1/user/store/${store.id}/invitations`, invitation, { as: owner.token })).body
    expect((await api.post('/v1/user/invitations/accept', { token }, { as })).status).toBe(200)
  }
  return { keys: `/v1/user/store/${store.id}/keys`, billing: `/v1/store/${store.id}/billing`, people }
}

/** Clients that make keys and addresses, and send again with the same Idempotency-Key until they are answered. */
function startLoad(shop: Opened, clients: number) {
  const done: Made[] = []
  const unexpected: string[] = []
  let interrupted = 0
  let goOn = true
  let api: Api | null = apiAt(urlOfLastStart)

  const makeOne = async (i: number): Promise<void> => {
    const as = (shop.people[i % 3] as Person).token
    const once = randomUUID()
    const kind = i % 2 === 0 ? 'key' : 'address'
    const [path, body] =
      kind === 'key' ? [shop.keys, NEW_KEY] : [shop.billing, { ...NEW_ADDRESS, isDefault: i % 3 === 0 }]
    for (;;) {
      const reply = await api?.post(path, body, { as, headers: { 'idempotency-key': once } }).catch(() => null)
      if (reply?.status === 201) {
        done.push({ kind, once, as, id: reply.body.id, ...(kind === 'key' ? { secret: reply.body.key } : {}) })
        return
      }
      interrupted += 1
      // Nobody there, the connection broken, or "not now": anything else is a fault.
      if (reply && reply.status !== 503) {
        unexpected.push(`${reply.status} ${reply.text}`)
        return
      }
      await sleep(50)
    }
  }
  let turn = 0
  const working = Array.from({ length: clients }, async () => {
    while (goOn) await makeOne(turn++)
  })
  return {
    goTo: (url: string | null) => {
      api = url === null ? null : apiAt(url)
    },
    /** Waits until so many more have been made. */
    more: async (many: number) => {
      const enough = done.length + many
      await until(async () => done.length >= enough || unexpected.length > 0, 30_000)
    },
    finish: async () => {
      goOn = false
      await Promise.all(working)
      return { acknowledged: done.length, interrupted, unexpected }
    },
    done: () => done,
  }
}

/** Everything acknowledged against everything there: by the API, and in the database itself. */
async function checkBooks(service: Started, shop: Opened, made: Made[]) {
  const database = await joinEmbedded(service.data, () => {})
  const session = new pg.Client(database.connection)
  await session.connect()
  try {
    const ask = async (text: string) => (await session.query(text)).rows
    const there = (await ask('select id from api_keys union all select id from addresses')).map(({ id }) => id)
    const events = await ask(`select subject from events where type in ('key.created', 'address.created')`)
    expect(events.map(({ subject }) => subject).sort()).toEqual([...there].sort())
    const [{ n: live }] = await ask('select sum(live_keys)::int as n from stores')
    expect(live).toBe(made.filter(({ kind }) => kind === 'key').length)
    const defaults = await ask(
      'select user_id from addresses group by user_id having count(*) filter (where is_default) <> 1',
    )

    // A sample of the keys works, and a sample of the requests, sent once more, finds what it made.
    const api = apiAt(service.url)
    for (const { kind, id, as, once, secret } of sample(made, 40)) {
      if (kind === 'address') expect((await api.get(`${shop.billing}/${id}`, { as })).status).toBe(200)
      else {
        const again = await api.post(shop.keys, NEW_KEY, { as, headers: { 'idempotency-key': once } })
        expect(again.body).toMatchObject({ id, key: secret })
        const { status } = await api.get(shop.keys.replace('/keys', ''), { as: secret as string })
        expect(status).toBe(200)
      }
    }
    const acknowledged = new Set(made.map(({ id }) => id))
    return {
      acknowledged: acknowledged.size,
      lost: [...acknowledged].filter((id) => !there.includes(id)).length,
      doubled: there.filter((id) => !acknowledged.has(id)).length,
      wrongDefaults: defaults.length,
    }
  } finally {
    await session.end()
    await database.stop()
  }
}

/** Spread over the whole, the beginning and the end included. */
function sample<T>(all: T[], many: number): T[] {
  const step = Math.max(1, (all.length - 1) / (many - 1))
  return Array.from({ length: Math.min(many, all.length) }, (_, i) => all[Math.round(i * step)] as T)
}

/** Sends one request after the other on a connection that is kept, until nobody listens any more. */
function keepAliveClient(url: string, shop: Opened, i: number) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const as = (shop.people[i % 3] as Person).token
  const made: Made[] = []
  const failed: string[] = []
  let refused = 0
  let quietResets = 0
  // A disk that stalls for seconds makes 503s, and that is an answer too. Once we stop there is no excuse.
  let busy = 0
  let stopping = false
  // Some are busy all the time, and a connection on which something is always on its way is never quiet.
  const takesBreaths = i % 4 === 3
  const run = async () => {
    while (refused === 0 && failed.length === 0) {
      const once = randomUUID()
      const kind = i % 2 === 0 ? 'key' : 'address'
      const sent = await send(
        agent,
        url + (kind === 'key' ? shop.keys : shop.billing),
        kind === 'key' ? NEW_KEY : NEW_ADDRESS,
        as,
        once,
      )
      if ('error' in sent) {
        if (sent.error === 'ECONNREFUSED') refused += 1
        else if (sent.wasQuiet && takesBreaths) quietResets += 1
        else failed.push(`${sent.error} ${JSON.stringify(sent)}`)
      } else if (sent.status === 201) made.push({ kind, once, as, id: sent.body.id, secret: sent.body.key })
      else if (sent.status === 503 && !stopping) busy += 1
      else failed.push(`${sent.status} ${JSON.stringify(sent.body)}`)
      if (takesBreaths) await sleep(Math.random() * 300)
    }
    agent.destroy()
    return { made, refused, quietResets, busy, failed }
  }
  const told = () => {
    stopping = true
  }
  return { answered: () => made.length, failed: () => failed.length > 0, told, done: run() }
}

type WireResponse =
  | { status: number; body: { id: string; key: string } }
  | { error: string; wasQuiet: boolean; bytes: number }

function send(agent: http.Agent, url: string, body: object, as: string, once: string): Promise<WireResponse> {
  return new Promise((resolve) => {
    const text = JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${as}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'idempotency-key': once,
    }
    let bytes = 0
    const request = http.request(url, { agent, method: 'POST', headers }, (response) => {
      let answer = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        answer += chunk
        bytes += chunk.length
      })
      response.on('error', (error) => resolve({ error: `half an answer: ${error.message}`, wasQuiet: false, bytes }))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) }))
    })
    // Of a connection that was kept, and closed by the other end while nothing was on its way: the documented exception.
    request.on('error', (error: NodeJS.ErrnoException) =>
      resolve({
        error: error.code ?? error.message,
        wasQuiet: request.reusedSocket && error.code === 'ECONNRESET',
        bytes,
      }),
    )
    request.end(text)
  })
}

function report(what: string, figures: object): void {
  console.log(`${what}: ${JSON.stringify(figures)}`)
}

// ---- processes ------------------------------------------------------------------------------------------------------

const repository = join(import.meta.dirname, '..')
const folders: string[] = []
const children: ChildProcess[] = []
let built = ''
let urlOfLastStart = ''

beforeAll(() => {
  built = checkout()
  folders.splice(0) // it stays for all tests, and the first of them builds it
})

afterAll(() => rmSync(built, { recursive: true, force: true }))

afterEach(async () => {
  for (const child of children.splice(0)) if (child.pid && child.exitCode === null) killFamily(child.pid)
  for (const path of folders.splice(0)) {
    for (const pid of serverProcesses(path)) kill(pid)
    await until(async () => serverProcesses(path).length === 0)
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
})

/** Open to everyone, as a checkout usually is: PostgreSQL runs as another user when we are root. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'process-'))
  chmodSync(path, 0o755)
  folders.push(path)
  return path
}

/** What a clone holds, without a build. */
function checkout(): string {
  const path = folder()
  for (const name of ['src', 'packages', 'bin', 'migrations', 'package.json', 'tsconfig.json', 'tsconfig.build.json'])
    cpSync(join(repository, name), join(path, name), {
      recursive: true,
      preserveTimestamps: true,
      filter: (file) => !file.endsWith('.test.ts'),
    })
  symlinkSync(join(repository, 'node_modules'), join(path, 'node_modules'))
  return path
}

type Options = {
  /** As a user does it, or straight by node. */
  npm?: boolean | 'quickstart'
  /** The operator's command, instead of the service. */
  command?: string[]
  from?: string
  data?: string
  env?: Record<string, string>
}

function launch({ npm = false, command, from = built, data = join(folder(), 'data'), env = {} }: Options = {}) {
  const script = command ? ['bin/storekeeper.js', ...command] : ['bin/start.js']
  const words = npm === 'quickstart' ? ['quickstart'] : command ? ['storekeeper', '--', ...command] : ['start']
  const [program, args] = npm ? ['npm', ['run', '--silent', ...words]] : [process.execPath, script]
  const child = spawn(program as string, args as string[], {
    cwd: from,
    env: {
      PATH: process.env.PATH,
      HOME: from,
      DATA_DIR: data,
      PORT: '0',
      RATE_LIMIT: 'off',
      MAX_KEYS_PER_STORE: '1000000',
      MAX_ADDRESSES_PER_USER: '1000000',
      npm_config_update_notifier: 'false',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a process group of its own, as a shell gives it
  })
  children.push(child)
  let out = ''
  let err = ''
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  child.stderr?.on('data', (chunk) => {
    err += chunk
  })
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal })),
  )
  const pid = child.pid as number
  return {
    pid,
    data,
    out: () => out,
    err: () => err,
    /** Its log, parsed: a line that is not JSON fails the test. */
    lines: () =>
      out
        .trim()
        .split('\n')
        .map((line): Record<string, unknown> => JSON.parse(line)),
    signal: (signal: NodeJS.Signals) => void process.kill(pid, signal),
    signalGroup: (signal: NodeJS.Signals) => void process.kill(-pid, signal),
    ended: () => ended,
    child,
  }
}

type Started = ReturnType<typeof launch> & { url: string }

async function start(options: Options = {}): Promise<Started> {
  const service = launch(options)
  for await (const line of createInterface(service.child.stdout as NodeJS.ReadableStream)) {
    const said = JSON.parse(line)
    if (said.msg !== 'listening') continue
    urlOfLastStart = said.url
    return { ...service, url: said.url }
  }
  throw new Error(`It did not start: ${service.err()}`)
}

async function until(condition: () => Promise<boolean>, patienceMs = 15_000): Promise<void> {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(10)) if (await condition()) return
  throw new Error('It did not happen.')
}

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Whether the database was stopped in order, in its own words. */
function wasShutDown(data: string): boolean {
  return readFileSync(join(data, 'postgres.log'), 'utf8').trim().endsWith('database system is shut down')
}

/** Below the process, its children and theirs. Not PostgreSQL, which has a life of its own. */
function familyOf(pid: number): number[] {
  const all = listProcesses()
  const below = (parent: number): number[] =>
    all
      .filter((each) => each.parent === parent && !each.command.includes('/postgres -D'))
      .flatMap((each) => [each.pid, ...below(each.pid)])
  return below(pid)
}

function killFamily(pid: number): void {
  for (const each of [pid, ...familyOf(pid)]) kill(each)
}

function kill(pid: number): void {
  if (!(pid > 1)) throw new Error(`${pid} is nobody to kill.`)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

/** One that serves the service's own connections. */
function backendOf(server: number): number {
  const backends = listProcesses().filter(({ parent }) => parent === server)
  return backends.find(({ command }) => /storekeeper storekeeper .*(idle|INSERT|SELECT|BIND|COMMIT)/.test(command))
    ?.pid as number
}
