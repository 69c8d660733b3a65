// The other commands of skp, each at least once.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { faultyServer } from '../../../tests/faulty-server.ts'
import { NEW_ADDRESS, shop } from '../../../tests/shop.ts'
import { newKey, user } from '../../../tests/skp.ts'
import { EXIT } from './errors.ts'
import { VERSION } from './run.ts'

/** What follows is counted in one hour. */
async function clearOfTheHour(): Promise<void> {
  const left = 3_600_000 - (Date.now() % 3_600_000)
  if (left < 10_000) await sleep(left)
}

test('a key is verified from stdin, and the exit code is the verdict', async () => {
  const world = await shop()
  const { done } = user(world)
  const { id, key } = await newKey(done, '--credits', '5')
  const backEnd = user(world, { STOREKEEPER_TOKEN: await world.serviceToken() })
  await clearOfTheHour()
  const valid = await backEnd.done(['verify', '--permission', 'READ'], { input: `${key}\n` })
  expect(valid.lines).toEqual(expect.arrayContaining(['code\tVALID', `key\t${id}`, 'credits\t4']))
  for (const more of [[], ['--explain']])
    expect(await backEnd.skp(['verify', '--permission', 'WRITE', ...more], { input: key })).toMatchObject({
      code: 1,
      out: expect.stringContaining('code\tINSUFFICIENT_PERMISSIONS'),
    })
  const typed = await backEnd.done(['verify', '--json'], { answers: [key] })
  expect(typed.asked).toEqual([{ question: 'Key: ', hidden: true }])
  expect((await done(['keys', 'credits', id, '--add', '10'])).out).toBe('13\n')

  expect((await done(['keys', 'advice', id])).lines).toHaveLength(1)
  // Use is written down every few seconds.
  await expect.poll(async () => (await done(['keys', 'usage', id])).out, { interval: 250 }).toMatch(/\tVALID\t2\n/)
  const plotted = await done(['keys', 'usage', id], { columns: 80, env: { NO_COLOR: '1' } })
  expect(plotted.lines[0]).toBe(`${id}: 3 verifications`)
  expect(plotted.out).toMatch(/3 ┤ *█\n/)
  expect(plotted.out).toMatch(/VALID +2\n/)
  expect((await done(['keys', 'usage'])).lines).toEqual([`${id}\t3\t2`])
})

test('events are listed, and followed until Ctrl-C', async () => {
  const world = await shop()
  const { skp, done } = user(world)
  const { id } = await newKey(done)
  await expect
    .poll(async () => (await done(['events', '--type', 'key.*', '--json'])).out, { interval: 100 })
    .toMatch(/"position":[1-9]/)
  let press = () => {}
  const seen: string[] = []
  const following = skp(['events', '--follow', '--type', 'key.*'], {
    onListen: (interrupt) => void (press = interrupt),
    onPrint: (line) => {
      seen.push(line)
      press()
    },
  })
  // Each has another name, since nothing happens when a key gets the name it has; the first may come before the stream.
  let renames = 0
  await expect
    .poll(
      async () => {
        await done(['keys', 'update', id, '--name', `Robot ${++renames}`])
        return seen
      },
      { interval: 500 },
    )
    .toContainEqual(expect.stringMatching(`\tkey.updated\t${id}\t`))
  expect(await following).toMatchObject({ code: 130, err: 'Interrupted.\n' })
  expect((await skp(['events', '--after', 'x'])).code).toBe(2)
})

test('stores, members, customers, addresses, webhooks and service tokens', async () => {
  const world = await shop()
  const { api, store } = world
  const { skp, done } = user(world)
  const other = await done(['stores', 'create', 'Another'])
  expect(other.out).toMatch(/^store_\w+\n$/)
  expect((await done(['stores', 'show'])).lines).toContain('name\tThe shop')
  // A new store is not that of the command yet, and where there are two, one has to be named.
  expect(await skp(['keys'], { env: { STOREKEEPER_STORE: '' } })).toMatchObject({
    code: 2,
    err: expect.stringContaining('Which store?'),
  })

  const staff = await world.member('STAFF')
  expect((await done(['members', '--role', 'staff'])).lines).toEqual([expect.stringMatching(`^${staff.id}\tSTAFF\t`)])
  expect((await done(['members', 'update', staff.id, '--permission', 'READ'])).lines).toContain('permissions\tREAD')
  const invited = await done(['members', 'invite', 'new@example.com', '--role', 'STAFF'])
  expect(invited.out).toMatch(/^skp_inv_\w+\n$/)
  await done(['members', 'remove', staff.id, '--yes'])

  await done(['customers', 'put', 'c-1', '--email', 'ada@example.com', '--name', 'Ada'])
  expect((await done(['customers', '--search', 'c-'])).lines).toEqual([
    expect.stringMatching(/\tc-1\tada@example\.com\tAda\t/),
  ])
  const imported = await done(['customers', 'import'], { input: '{"externalId": "c-2"}\n{"externalId": "c-1"}\n' })
  expect(imported.err).toBe('2 lines: 1 created, 1 updated.\n')
  const address = JSON.stringify(NEW_ADDRESS)
  expect((await done(['billing', 'check'], { input: address })).lines.length).toBeGreaterThan(2)
  const made = await done(['billing', 'create', '--customer', 'c-1', '--json'], { input: address })
  expect((await done(['billing', '--customer', 'c-1'])).out).toContain(JSON.parse(made.out).id)
  expect((await done(['billing'])).err).toBe('None.\n')
  expect((await skp(['billing', 'create'], { input: '{"country": "Atlantis"}' })).code).toBe(2)
  expect(JSON.parse((await done(['customers', 'export', 'c-1'])).out)).toHaveProperty('addresses')
  await done(['customers', 'erase', 'c-1', '--yes'])
  expect((await skp(['customers', 'show', 'c-1'])).code).toBe(5)

  const hook = await done(['webhooks', 'create', 'https://example.com/hook', '--type', 'key.*', '--json'])
  const { id, secret } = JSON.parse(hook.out)
  expect((await done(['webhooks', 'rotate', id, '--grace', '1h', '--yes'])).out).not.toContain(secret)
  expect((await done(['webhooks', 'update', id, '--disable'])).lines).toContain('state\tdisabled')
  expect((await done(['webhooks'])).lines).toHaveLength(1)
  expect((await done(['webhooks', 'deliveries', id])).code).toBe(0)
  await done(['webhooks', 'delete', id, '--yes'])

  const token = await done(['service-tokens', 'create', 'Gateway'])
  expect(token.out).toMatch(/^skp_svc_\w+\n$/)
  const [tokenId = ''] = (await done(['service-tokens'])).lines[0]?.split('\t') ?? []
  await done(['service-tokens', 'revoke', tokenId, '--yes'])
  expect((await api.post('/v1/keys/verify', { key: 'x', storeId: store.id }, { as: token.out.trim() })).status).toBe(
    401,
  )
})

test('any request can be sent', async () => {
  const world = await shop()
  const { skp, done } = user(world)
  expect(JSON.parse((await done(['api', 'get', '/v1/user'])).out).user.email).toBe(world.owner.email)
  const fields = ['-f', 'name=7', '-F', 'type=TEST', '-F', 'permissions=["READ"]']
  const made = JSON.parse((await done(['api', 'POST', '/v1/user/store/{store}/keys', ...fields])).out)
  expect(made).toMatchObject({ name: '7', type: 'TEST', permissions: ['READ'], storeId: world.store.id })
  const input = JSON.stringify({ name: 'Eight' })
  const path = `/v1/user/store/{store}/keys/${made.id}`
  expect(JSON.parse((await done(['api', 'PATCH', path, '--input', '-'], { input })).out).name).toBe('Eight')
  expect(
    (await done(['api', 'GET', '/v1/user/store/{store}/keys', '--all', '--query', 'type=TEST'])).lines,
  ).toHaveLength(1)
  for (const [argv, code] of [
    [['api', 'GET', 'https://example.com/'], 2],
    [['api', 'BREW', '/v1/user'], 2],
    [['api', 'GET', '/v1/nowhere'], 5],
  ] as const)
    expect(await skp([...argv])).toMatchObject({ code, out: '' })
})

test('wrong words are exit code 2, with the way to the right ones', async () => {
  const { skp } = user(undefined, {
    STOREKEEPER_URL: 'http://127.0.0.1:9',
    STOREKEEPER_TOKEN: 'x',
    STOREKEEPER_STORE: 'store_x',
  })
  for (const [argv, words] of [
    [['kyes'], "Unknown command 'kyes'. Did you mean keys?"],
    [['keys', 'lst'], 'Unknown subcommand: keys lst.'],
    [['keys', 'show'], "Missing required argument 'key'."],
    [['keys', 'create', 'A', '--type', 'LIVE'], 'It is one of PROD, TEST, DEV.'],
    [['keys', 'create', 'A', '--type', 'DEV', '--expires', 'soon'], 'Write a time as 90d'],
    [
      ['keys', 'create', 'A', '--type', 'DEV', '--permission', 'READ', '--refill', '5/DAY'],
      '--refill needs --credits.',
    ],
    [['keys', 'list', '--url', 'ftp://x'], 'is not the URL of a service'],
  ] as const)
    expect(await skp([...argv])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(words) })
  expect(await skp(['keys', 'list'])).toMatchObject({ code: 7, out: '' })
  expect((await skp([])).out).toContain('Usage: skp')
  expect((await skp(['keys', '--help'])).out).toContain('rotate [options] <key>')
})

test('an error that a service answers with does nothing to a terminal', async () => {
  const detail = '\x1b]0;owned\x07\x1b[2J\x9b31mYour disk is full\nRun this: …\u202e'
  const faults = [{ pointer: '#/\x1b[5mname', code: 'required', detail: 'missing\x1b[0m\nDone.' }]
  const problem = { type: 'about:blank', title: 'No', code: 'forbidden', detail, errors: faults, requestId: '\x1b[1m' }
  const key = { id: 'key_1', status: 'failed', error: { code: 'forbidden\x1b[5m', detail } }
  const { url } = await faultyServer((response, { path }) => {
    const isBulk = path.endsWith('/bulk')
    const isList = path.includes('/webhooks')
    response.writeHead(isBulk || isList ? 200 : 403, { 'content-type': 'application/json' })
    const answer = isBulk ? { results: [key], more: false } : { data: [], nextCursor: '\x1b[2J' }
    response.end(JSON.stringify(isBulk || isList ? answer : { status: 403, ...problem }))
  })
  const { skp } = user(undefined, {
    STOREKEEPER_URL: url,
    STOREKEEPER_TOKEN: 'x',
    STOREKEEPER_STORE: 'store_x',
  })
  const shown = '\\u001b]0;owned\\u0007\\u001b[2J\\u009b31mYour disk is full\\u000aRun this: …\\u202e'
  const refused = await skp(['stores', 'list'])
  expect([refused.code, refused.out]).toEqual([EXIT.refused, ''])
  expect(refused.err.trimEnd().split('\n')).toEqual([
    expect.stringContaining(shown),
    '  #/\\u001b[5mname: missing\\u001b[0m\\u000aDone.',
  ])
  expect((await skp(['quickstart', url])).err).toContain(`The request failed: ${shown}`)
  expect((await skp(['webhooks', 'list'])).err).toContain("--cursor '\\u001b[2J'")
  const bulk = await skp(['keys', 'bulk', 'revoke', 'key_1', '--yes'])
  expect(bulk.lines).toEqual([`key_1\tforbidden\\u001b[5m\t${shown}`])
})

test('a shell is offered nothing but ids, whatever a service answers', async () => {
  const { url } = await faultyServer((response) => {
    const evil = { id: 'key_1;touch${IFS}owned', name: 'A', status: 'ACTIVE' }
    const odd = { id: 'key_2', name: '\x1b[2J', status: 'ACTIVE' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data: [evil, odd], nextCursor: null }))
  })
  const { skp } = user(undefined, {
    STOREKEEPER_URL: url,
    STOREKEEPER_TOKEN: 'x',
    STOREKEEPER_STORE: 'store_x',
  })
  const { lines } = await skp(['__complete', '--', 'keys', 'show', 'key_'])
  expect(lines).toEqual(['key_2\t\\u001b[2J (ACTIVE)'])
})

test('the page of the commands names every exit code, and the version is that of the package', () => {
  const page = readFileSync('docs/cli.md', 'utf8')
  const codes = [...page.matchAll(/^\| (\d+) +\| /gm)].map(([, code]) => Number(code))
  expect(codes).toEqual(Object.values(EXIT))
  expect(JSON.parse(readFileSync('packages/cli/package.json', 'utf8')).version).toBe(VERSION)
})

test('a shell learns of commands, options, words and the ids of keys', async () => {
  const world = await shop()
  const { done } = user(world)
  const { id } = await newKey(done)
  const complete = async (...words: string[]) =>
    (await done(['__complete', '--', ...words])).lines.map((line) => line.split('\t')[0])
  expect(await complete('ke')).toEqual(['keys'])
  expect(await complete('keys', 'r')).toEqual(['rotate', 'revoke'])
  expect(await complete('keys', 'create', 'A', '--ty')).toEqual(['--type'])
  expect(await complete('keys', 'create', 'A', '--type', '')).toEqual(['PROD', 'TEST', 'DEV'])
  // The service has 300 ms to answer: nobody waits longer for a completion. A busy machine may need another try.
  await expect.poll(() => complete('keys', 'show', 'key_')).toEqual([id])
  expect(await complete('keys', 'show', id, '')).toEqual([])
  expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish', 'powershell'])
  for (const shell of ['bash', 'zsh', 'fish', 'powershell'])
    expect((await done(['completion', shell])).out).toContain('skp __complete')
})
