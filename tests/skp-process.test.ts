// skp as a process: its streams, its exit codes, and a terminal of its own.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { NEW_KEY, shop } from './shop.ts'
import { newFolder } from './skp.ts'

const SKP = join(process.cwd(), 'bin/skp.js')

// The first command builds what has changed. On a busy machine the compiler takes its time.
beforeAll(() => void spawnSync(process.execPath, [SKP, '--help']), 240_000)

async function skp(argv: string[], env: Record<string, string>, input = '') {
  const child = spawn(process.execPath, [SKP, ...argv], { env: { PATH: process.env.PATH, ...env } })
  child.stdin.end(input)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, out, err }
}

test('a secret comes alone through a pipe, words go to stderr, and a pipe is never asked', async () => {
  const { api, owner, store, serviceToken } = await shop()
  const env = {
    HOME: newFolder(),
    STOREKEEPER_URL: api.url,
    STOREKEEPER_TOKEN: owner.token,
    STOREKEEPER_STORE: store.id,
  }
  const created = await skp(['keys', 'create', 'Checkout', '--type', 'PROD', '--permission', 'READ'], env)
  expect(created).toMatchObject({ code: 0, out: expect.stringMatching(/^skp_prod_\w+\n$/) })
  const backEnd = { ...env, STOREKEEPER_TOKEN: await serviceToken() }
  expect((await skp(['verify'], backEnd, created.out)).code).toBe(0)
  const [, id = ''] = /(key_\w+)/.exec(created.err) ?? []
  expect(await skp(['keys', 'revoke', id], env)).toMatchObject({ code: 2, out: '' })
  expect(await skp(['keys', 'revoke', id, '--yes'], env)).toMatchObject({ code: 0, out: '' })
  expect((await skp(['verify'], backEnd, created.out)).code).toBe(1)
  expect(await skp(['login', '--url', api.url], env)).toMatchObject({ code: 2, out: '' })
  // A full disk: the secret did not arrive, and can be had again.
  const disk = openSync('/dev/full', 'w')
  const create = ['keys', 'create', 'Full', '--type', 'DEV', '--permission', 'READ']
  const full = spawn(process.execPath, [SKP, ...create], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', disk, 'pipe'],
  })
  const [said, status] = await Promise.all([
    text(full.stderr as Readable),
    new Promise((resolve) => full.once('close', resolve)),
  ])
  closeSync(disk)
  expect(said).toMatch(/^It was done, but not handed over/m)
  expect(status).toBeGreaterThan(0)
  const [, command = ''] = /^ {2}skp (.*)$/m.exec(said) ?? []
  expect(await skp(command.split(' '), env)).toMatchObject({ code: 0, out: expect.stringMatching(/^skp_dev_\w+\n$/) })
})

test('what happens is followed by the built command, until it is interrupted', async () => {
  const { api, owner, store, keys } = await shop()
  const env = { STOREKEEPER_URL: api.url, STOREKEEPER_TOKEN: owner.token, STOREKEEPER_STORE: store.id }
  const child = spawn(process.execPath, [SKP, 'events', '--follow', '--json'], {
    env: { PATH: process.env.PATH, HOME: newFolder(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const making = setInterval(() => void api.post(keys, NEW_KEY, { as: owner.token }), 200)
  onTestFinished(() => clearInterval(making))
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then((code) => [`${code}`])])
  expect(JSON.parse(line)).toMatchObject({ type: 'key.created', storeId: store.id })
  child.kill('SIGINT')
  expect(await ended).toBe(130)
})

/** Opens a terminal for a command, waits for each question, and types its answer. */
const TERMINAL = `
import os, pty, sys, json, select
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen, steps = b'', json.load(open(os.environ['STEPS']))
while True:
    if steps and steps[0][0].encode() in seen:
        os.write(fd, steps.pop(0)[1].encode())
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    seen += chunk
    sys.stdout.buffer.write(chunk)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0

test.skipIf(!hasPython)('at a terminal a password is not echoed, and Ctrl-C ends a question', async () => {
  const { api, owner } = await shop()
  const home = newFolder()
  const atTerminal = (argv: string[], steps: [string, string][]) => {
    writeFileSync(join(home, 'steps.json'), JSON.stringify(steps))
    const env = { PATH: process.env.PATH, HOME: home, STEPS: join(home, 'steps.json'), TERM: 'xterm' }
    const child = spawn('python3', ['-c', TERMINAL, process.execPath, SKP, ...argv], { env })
    return Promise.all([text(child.stdout), new Promise((resolve) => child.once('close', resolve))])
  }
  const [out, code] = await atTerminal(
    ['login', '--url', api.url],
    [
      ['E-mail: ', `${owner.email}\r`],
      ['Password: ', `${owner.password}\r`],
    ],
  )
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining(`as ${owner.email}`) })
  expect(out).not.toContain(owner.password)
  expect(out).not.toContain(owner.password.slice(0, 8))
  expect(JSON.parse(readFileSync(join(home, '.config/storekeeper/hosts.json'), 'utf8')).current).toBe(api.url)

  const [, interrupted] = await atTerminal(['login', '--url', api.url], [['E-mail: ', '\x03']])
  expect(interrupted).toBe(130)
  const [asked, refused] = await atTerminal(['keys', 'freeze'], [['[y/N] ', 'n\r']])
  expect({ refused, asked }).toMatchObject({ refused: 1, asked: expect.stringContaining('Nothing was done.') })
  const [stores] = await atTerminal(['stores'], [])
  expect(stores).toContain('\x1b[1mNAME\x1b[0m')
})
