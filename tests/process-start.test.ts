// The service as a process: started as a user starts it, told to stop, and the operator's commands beside it. It runs from
// a copy of this checkout, as a fresh clone would; the tests of what happens beside a running service have one together.

import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../src/cli/run.ts'
import { call } from './command.ts'
import {
  builtCheckout,
  familyOf,
  folder,
  hasCurl,
  keepForFile,
  LONG,
  launch,
  preparedData,
  runFromCheckout,
  type Started,
  start,
  until,
  wasShutDown,
} from './launch.ts'
import { openShop } from './process-load.ts'
import { isAlive, postmasters, serverProcesses } from './processes.ts'
import { apiAt, NEW_KEY } from './shop.ts'

runFromCheckout({ build: 'in part' })

// ---- starting and stopping ------------------------------------------------------------------------------------------

test('npm start builds and serves; SIGTERM to npm, or Ctrl-C, which everyone in the foreground hears, ends the service and its database, and nothing is left; the log is a line of JSON for each thing, and each request has its requestId', {
  timeout: LONG,
}, async () => {
  const service = await start({ npm: true, data: join(folder(), 'data') })
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
  const api = apiAt(again.url)
  const replies = [
    await api.get(`${shop.keys}/${made.body.id}`, { as: shop.people[0]?.token ?? null }),
    await api.get('/livez'),
    await api.get('/v1/user'),
    await api.post('/v1/auth/sign-in', { email: 'a@b.c', password: 'x' }),
  ]
  expect(replies[0]?.status).toBe(200)
  const foreground = familyOf(again.pid)
  again.signalGroup('SIGINT')
  await again.ended()
  await until(async () => foreground.filter(isAlive).length === 0)
  expect(serverProcesses(again.data)).toEqual([])
  expect(wasShutDown(again.data)).toBe(true)

  const lines = again.lines()
  expect(
    lines.map(({ msg }) => msg),
    JSON.stringify(lines),
  ).toEqual(['listening', 'request', 'request', 'request', 'request', 'stopping', 'stopped'])
  for (const line of lines)
    expect(line).toMatchObject({ level: expect.any(Number), time: expect.stringMatching(/^\d{4}-.*Z$/) })
  const requests = lines.filter(({ msg }) => msg === 'request')
  expect(requests.map(({ requestId }) => requestId)).toEqual(replies.map(({ headers }) => headers.get('x-request-id')))
  const paths = [expect.stringMatching(/\/keys\/:\w+$/), '/livez', '/v1/user', '/v1/auth/sign-in']
  expect(requests.map(({ route, status }) => [route, status])).toEqual(
    replies.map(({ status }, i) => [paths[i], status]),
  )
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
    'Invalid settings:',
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

// ---- the operator's commands, and quickstart --------------------------------------------------------------------------

test('a command about what is there makes no database where there is none', { timeout: LONG }, async () => {
  const data = join(folder(), 'mistyped')
  const expectRefused = (words: string, told: { code: number | null; out: string; err: string }) => {
    expect([words, told.code, told.out]).toEqual([words, 1, ''])
    expect(told.err).toContain(`There is no database in ${data}. Are DATABASE_URL and DATA_DIR those of the service?`)
    expect(existsSync(data)).toBe(false)
  }
  const head = launch({ data, command: ['events', 'head', '--all'] })
  const { code } = await head.ended()
  expectRefused('events head --all', { code, out: head.out(), err: head.err() })
  for (const words of ['events export --system', 'secret status', 'secret rotate', 'service-token list'])
    expectRefused(words, await call(run, words.split(' '), { env: { DATA_DIR: data } }))
})

test('quickstart without a service says what to do', { timeout: LONG }, async () => {
  const command = launch({ npm: 'quickstart', env: { PORT: '1' } })
  expect((await command.ended()).code).toBe(1)
  expect(command.err()).toContain(
    'Nothing answers at http://127.0.0.1:1. Start the service in another terminal, or pass its URL: skp quickstart ',
  )
})

// ---- beside a running service ---------------------------------------------------------------------------------------

let world: Promise<{ alone: string; service: Started }> | undefined

/** One service for the tests that follow; the last of them ends it. A command was called before it was started. */
function running() {
  world ??= startWorld()
  return world
}

async function startWorld() {
  const data = preparedData()
  const alone = await createToken(data, 'Checkout back end', { npm: true })
  expect(serverProcesses(data)).toEqual([])
  const service = await start({ data })
  keepForFile()
  return { alone, service }
}

async function createToken(data: string, name: string, { npm }: { npm: boolean }): Promise<string> {
  const command = launch({ npm, data, command: ['service-token', 'create', name, '--all-stores'] })
  expect((await command.ended()).code).toBe(0)
  expect(command.out()).toMatch(/^skp_svc_[0-9A-Za-z]{49}\n$/)
  return command.out().trim()
}

test('service-token prints the token and nothing else, with no service running and beside one', {
  timeout: LONG,
}, async () => {
  const { alone, service } = await running()
  const { data } = service
  const servers = postmasters(data)
  const beside = await createToken(data, 'Invoices', { npm: false })
  expect(postmasters(data)).toEqual(servers)
  const code = async (as: string) => (await apiAt(service.url).get('/v1/user', { as })).body.code
  expect([await code(alone), await code(beside)]).toEqual(['user_required', 'user_required'])

  const serviceToken = (...words: string[]) => call(run, ['service-token', ...words], { env: { DATA_DIR: data } })
  const list = await serviceToken('list')
  const rows = list.lines.map((line) => line.split('  '))
  expect(rows.map(([, , ...facts]) => facts)).toEqual([
    ['active', 'all stores', 'Checkout back end'],
    ['active', 'all stores', 'Invoices'],
  ])
  expect(list.out).not.toContain('skp_svc_')
  expect(await serviceToken('revoke', rows[0]?.[0] as string)).toMatchObject({ code: 0, out: '' })
  await expect.poll(() => code(alone)).toBe('invalid_token')
  expect(await code(beside)).toBe('user_required')
  expect(await serviceToken('create', '--all-stores')).toMatchObject({ code: 1, out: '' })
})

test('a second start, on the same directory or the same port, says so, exits, and harms nothing', {
  timeout: LONG,
}, async () => {
  const { service } = await running()
  const second = launch({ data: service.data })
  expect((await second.ended()).code).toBe(1)
  expect(second.err()).toContain(`Another Storekeeper is already running on ${service.data}`)
  expect(second.out()).toBe('')
  const third = launch({ data: preparedData(), env: { PORT: new URL(service.url).port } })
  expect((await third.ended()).code).toBe(1)
  expect(third.err()).toContain('EADDRINUSE')
  expect(serverProcesses(third.data)).toEqual([])
  expect((await apiAt(service.url).get('/readyz')).status).toBe(200)
  expect(postmasters(service.data)).toHaveLength(1)
})

test('quickstart, beside a running service, prints four curl lines that really work', { timeout: LONG }, async ({
  skip,
}) => {
  const { service } = await running()
  const quickstart = launch({ npm: 'quickstart', data: service.data, env: { PORT: new URL(service.url).port } })
  expect((await quickstart.ended()).code).toBe(0)
  const printed = quickstart.out()
  expect(printed.match(/^201 \{$/gm)).toHaveLength(4)
  const lines = printed.match(/^curl (?:.*\\\n)*.*$/gm) ?? []
  expect(lines.map((line) => line.match(/http:\/\/127\.0\.0\.1:\d+(\/v1\/\S*)/)?.[1]?.replace(/store_\w+/, ':id'))) //
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

test('a service whose log nobody reads serves on, and ends when it is told to; its database, that has people in it, gets no new secret when its own is missing', {
  timeout: LONG,
}, async () => {
  const { service } = await running()
  const { data } = service
  const api = apiAt(service.url)
  service.child.stdout?.pause()
  // More lines than whatever lies between holds.
  for (let n = 0; n < 20; n++) await Promise.all(Array.from({ length: 100 }, () => api.get('/v1/user')))
  expect((await api.get('/livez')).status).toBe(200)
  await api.post('/v1/auth/sign-up', { email: 'grace@example.com', password: 'a long pass phrase' })
  service.signal('SIGTERM')
  await until(async () => service.child.exitCode !== null)
  expect(service.child.exitCode).toBe(0)
  service.child.stdout?.resume()
  const kept = readFileSync(join(data, 'server-secret'))
  rmSync(join(data, 'server-secret'))
  const expectRefused = (code: number | null, said: string) => {
    expect([code, said]).toEqual([
      1,
      expect.stringContaining(`server-secret, is missing in ${data}. Restore it from a backup`),
    ])
    expect(existsSync(join(data, 'server-secret'))).toBe(false)
  }
  const refused = launch({ data })
  expectRefused((await refused.ended()).code, refused.err() + refused.out())
  const head = await call(run, ['events', 'head', '--all'], { env: { DATA_DIR: data } })
  expectRefused(head.code, head.err + head.out)
  writeFileSync(join(data, 'server-secret'), kept)
  // A reader who has seen enough: the command ends, and so does the database it has started.
  const cut = spawnSync('sh', ['-c', `"${process.execPath}" bin/storekeeper.js events export --system | head -c 1`], {
    cwd: builtCheckout(),
    env: { PATH: process.env.PATH, DATA_DIR: data },
  })
  expect([cut.stdout.toString(), cut.stderr.toString()]).toEqual(['{', expect.not.stringContaining('EPIPE')])
  expect(serverProcesses(data)).toEqual([])
  if (!existsSync('/dev/full')) return
  const full = openSync('/dev/full', 'w')
  const unwritten = spawnSync(process.execPath, ['bin/storekeeper.js', 'events', 'head', '--all'], {
    cwd: builtCheckout(),
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
