// The embedded PostgreSQL in the conditions it will meet: who starts it, where, and what was killed before.
// A "service" here is a process of its own that can be killed; everything happens in folders made for one test.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { findInstallation, type Installation, NoEmbeddedPostgres } from '../src/db/embedded/binaries.ts'
import { hasEmbedded } from '../src/db/embedded/cluster.ts'
import { AlreadyRunning, type Embedded, joinEmbedded, startEmbedded } from '../src/db/embedded/embedded.ts'
import { useBuild } from './built.ts'
import { preparedData } from './launch.ts'
import { isAlive, postmasters, serverProcesses } from './processes.ts'

const isRoot = process.getuid?.() === 0
if (!isRoot) console.log('Not run, since this is not root: what only root meets.')
const repository = join(import.meta.dirname, '..')

useBuild()

test('a first start creates the database, privately, durably, and for root as an unprivileged user; with install scripts off it makes the links between the libraries; a later one finds it again', async () => {
  const data = join(folder(), 'data')
  const said: string[] = []
  // As with install scripts off: the links between the libraries are made at the first start.
  const installation = { ...findInstallation(), packageRoot: copyOfPackage(join(folder(), 'package')) }
  const links = linksOf(installation.packageRoot)
  expect(links.filter((link) => existsSync(link))).toEqual([])
  const first = await startEmbedded(data, (line) => said.push(line), installation)
  expect(links.filter((link) => !lstatSync(link).isSymbolicLink())).toEqual([])
  expect(said).toEqual([`Creating the database in ${data} (first start only) …`])
  expect(first.dataDir).toBe(data)
  expect([modeOf(data), modeOf(first.connection.host), modeOf(join(data, 'postgres'))]).toEqual([0o700, 0o700, 0o700])
  expect(await settings(first, 'fsync', 'full_page_writes', 'data_checksums', 'listen_addresses', 'server_encoding')) //
    .toEqual(['on', 'on', 'on', '', 'UTF8'])
  expect(readFileSync(join(data, 'postgres/pg_hba.conf'), 'utf8')).not.toContain('host')
  await query(first, 'create table notes as select 1 as n')

  const processes = serverProcesses(data)
  if (isRoot) expectUnprivileged(data, processes[0])
  expect(processes.length).toBeGreaterThan(3)
  await first.stop()
  await first.stop()
  expect(serverProcesses(data)).toEqual([])
  // One that has ended keeps its number until whoever inherited it has asked for its exit code.
  await expect.poll(() => processes.filter(isAlive)).toEqual([])

  const second = await startEmbedded(data, (line) => said.push(line), installation)
  expect(await query(second, 'select n from notes')).toEqual([{ n: 1 }])
  expect(said).toHaveLength(1)
  await second.stop()
})

test('Ctrl-C at the terminal does not reach the server', async () => {
  const data = preparedData()
  const embedded = await startEmbedded(data, quiet)
  const [server = 0] = serverProcesses(data)
  expect(ps(server, 'pgid')).toBe(String(server))
  expect(ps(server, 'pgid')).not.toBe(ps(process.pid, 'pgid'))
  await embedded.stop()
})

test.runIf(isRoot)(
  'started by root in a folder only root may enter, it lives elsewhere and is found again',
  async () => {
    const top = folder()
    const roots = join(top, 'root')
    mkdirSync(roots, { mode: 0o700 })
    const installation = {
      packageRoot: copyOfPackage(join(roots, 'package')),
      rootDataHome: join(top, 'var/lib/storekeeper'),
    }
    const data = join(roots, 'checkout/data')
    const said: string[] = []
    const first = await startEmbedded(data, (line) => said.push(line), installation)
    expect(first.dataDir.startsWith(`${installation.rootDataHome}/`)).toBe(true)
    expect(said[0]).toContain(first.dataDir)
    expect([modeOf(roots), modeOf(first.dataDir), modeOf(installation.rootDataHome)]).toEqual([0o700, 0o700, 0o755])
    expect(existsSync(data)).toBe(false)
    expect([await hasEmbedded(data, installation), await hasEmbedded(`${data}2`, installation)]).toEqual([true, false])
    await query(first, 'create table notes as select 1 as n')
    await first.stop()

    chmodSync(roots, 0o755) // the database stays where it is
    const second = await startEmbedded(data, quiet, installation)
    expect(second.dataDir).toBe(first.dataDir)
    expect(await query(second, 'select n from notes')).toEqual([{ n: 1 }])
    await second.stop()
  },
)

test.runIf(isRoot)('root leaves the owner and mode of a directory with other things in it', async () => {
  const data = join(folder(), 'data')
  mkdirSync(data, { mode: 0o755 })
  writeFileSync(join(data, 'something'), '')
  const embedded = await startEmbedded(data, quiet)
  expect([statSync(data).uid, modeOf(data)]).toEqual([0, 0o755])
  expect([modeOf(join(data, 'postgres')), modeOf(join(data, 'socket'))]).toEqual([0o700, 0o700])
  await embedded.stop()
})

test('started by an ordinary user, everything is in the data directory', async ({ skip }) => {
  skip(isRoot && !canRead(nobody(), repository), 'this checkout cannot be read by an ordinary user')
  const top = folder()
  if (isRoot) chownSync(top, nobody().uid, nobody().gid)
  const first = await service(join(top, 'data'), { as: nobody() })
  const [server = 0] = serverProcesses(top)
  expect(ps(server, 'uid')).toBe(String(nobody().uid))
  expect(modeOf(join(top, 'data'))).toBe(0o700)
  await query(first, 'create table notes as select 1 as n')
  await first.terminate()
  expect(serverProcesses(top)).toEqual([])

  if (!isRoot) return
  // The database is that user's, and stays so when root starts it.
  const byRoot = await startEmbedded(join(top, 'data'), quiet)
  expect(await query(byRoot, 'select n from notes')).toEqual([{ n: 1 }])
  expect(ps(serverProcesses(top)[0] ?? 0, 'uid')).toBe(String(nobody().uid))
  await byRoot.stop()
})

test('an ordinary user with install scripts off and a package it cannot write', async ({ skip }) => {
  skip(isRoot && !canRead(nobody(), repository), 'this checkout cannot be read by an ordinary user')
  const top = folder()
  const packageRoot = copyOfPackage(join(top, 'package'))
  chmodSync(join(packageRoot, 'native/lib'), 0o555)
  mkdirSync(join(top, 'data'))
  if (isRoot) chownSync(join(top, 'data'), nobody().uid, nobody().gid)
  const running = await service(join(top, 'data'), {
    as: nobody(),
    installation: { packageRoot, rootDataHome: '/nowhere' },
  })
  expect(await query(running, 'select 1 as n')).toEqual([{ n: 1 }])
  expect(readdirSync(join(top, 'data'))).toContain(`binaries-${versionOf(packageRoot)}`)
  await running.terminate()
  chmodSync(join(packageRoot, 'native/lib'), 0o755)
})

test('after SIGKILL of the service, the next start takes the running server over', async () => {
  const data = preparedData()
  const killed = await service(data)
  await query(killed, 'create table notes as select 1 as n')
  const servers = postmasters(data)
  expect(servers).toHaveLength(1)
  await killed.kill()

  const next = await startEmbedded(data, quiet)
  expect(postmasters(data)).toEqual(servers)
  expect(await query(next, 'select n from notes')).toEqual([{ n: 1 }])
  await next.stop()
  expect(serverProcesses(data)).toEqual([])
})

test('after SIGKILL of the service and of PostgreSQL, the next start recovers what was committed', async () => {
  const data = preparedData()
  const killed = await service(data)
  await query(killed, 'create table notes as select 1 as n')
  await killed.kill()
  for (const pid of postmasters(data)) process.kill(pid, 'SIGKILL')

  const next = await startEmbedded(data, quiet)
  expect(await query(next, 'select n from notes')).toEqual([{ n: 1 }])
  await next.stop()
})

test('a service whose PostgreSQL is killed starts it again, and is still the only service', async () => {
  const data = preparedData()
  const said: string[] = []
  const embedded = await startEmbedded(data, (line) => said.push(line))
  await query(embedded, 'create table notes as select 1 as n')
  const [before = 0] = postmasters(data)
  process.kill(before, 'SIGKILL')
  const rows = await eventually(() => query(embedded, 'select n from notes'))
  expect(rows).toEqual([{ n: 1 }])
  expect(postmasters(data)).not.toContain(before)
  expect(said).toContain('The connection to the database was lost; connecting again …')
  // The server is up a moment before the service is known to be there again.
  const known = `select from pg_locks where locktype = 'advisory' and objid = 7310002 and granted`
  await eventually(async () => expect(await query(embedded, known)).toHaveLength(1))
  await expect(startEmbedded(data, quiet)).rejects.toThrow(AlreadyRunning)
  await embedded.stop()
  expect(serverProcesses(data)).toEqual([])
})

test('lock files that name another process, or nothing at all, are no hindrance', async () => {
  const data = preparedData()
  const killed = await service(data)
  const { uid, gid } = statSync(join(data, 'postgres'))
  await killed.kill()
  for (const pid of postmasters(data)) process.kill(pid, 'SIGKILL')
  const innocent = spawn('sleep', ['60'], { uid, gid })
  children.push(innocent)
  for (const path of [join(data, 'postgres/postmaster.pid'), join(killed.connection.host, '.s.PGSQL.5432.lock')])
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^\d+/, String(innocent.pid)))

  const next = await startEmbedded(data, quiet)
  await next.stop()
  expect(innocent.exitCode ?? innocent.signalCode).toBeNull()

  writeFileSync(join(data, 'postgres/postmaster.pid'), '') // killed between making the file and writing it
  const later = await startEmbedded(data, quiet)
  await later.stop()
})

test('a start waits for the last processes of a killed PostgreSQL, and says so', async () => {
  const data = preparedData()
  const killed = await service(data)
  const [server = 0, ...backends] = serverProcesses(data)
  for (const pid of backends) process.kill(pid, 'SIGSTOP')
  process.kill(server, 'SIGKILL')
  await killed.kill()

  const said: string[] = []
  const starting = startEmbedded(data, (line) => said.push(line))
  await eventually(async () => expect(said.join()).toContain('processes of a killed PostgreSQL still use its data'))
  for (const pid of backends) process.kill(pid, 'SIGCONT')
  await (await starting).stop()
})

test('of two first starts at once, one wins and the other is told', async () => {
  const data = join(folder(), 'data')
  const both = await Promise.allSettled([service(data), service(data)])
  const [winner, ...others] = both.filter((one) => one.status === 'fulfilled').map((one) => one.value)
  const [loss] = both.filter((one) => one.status === 'rejected').map((one) => one.reason)
  expect(others).toEqual([])
  expect(loss.message).toBe(`AlreadyRunning: ${new AlreadyRunning(data).message}`)
  expect(postmasters(data)).toHaveLength(1)
  expect(readdirSync(data).sort()).toEqual(['postgres', 'postgres.log', 'socket'])
  await winner?.terminate()
  expect(serverProcesses(data)).toEqual([])
})

test('a second start beside a running service is refused, and harms nothing', async () => {
  const data = preparedData()
  const embedded = await startEmbedded(data, quiet)
  const servers = postmasters(data)
  await expect(startEmbedded(data, quiet)).rejects.toThrow(data)
  expect(postmasters(data)).toEqual(servers)
  expect(await query(embedded, 'select 1 as n')).toEqual([{ n: 1 }])
  await embedded.stop()
})

test('a first start killed half way leaves nothing half made', async () => {
  const data = join(folder(), 'data')
  const killed = launchService(data)
  for await (const line of createInterface(killed.stdout)) if (line.includes('Creating')) break
  const isHalfMade = () =>
    readdirSync(data).some((name) => name.startsWith('postgres.new-') && readdirSync(join(data, name)).length > 0)
  while (!isHalfMade()) await sleep(5)
  killed.kill('SIGKILL')
  expect(existsSync(join(data, 'postgres'))).toBe(false)
  await eventually(async () => expect(isAlive(killed.pid ?? 0)).toBe(false))

  await (await startEmbedded(data, quiet)).stop()
  await eventually(async () => {
    await (await startEmbedded(data, quiet)).stop() // once the initdb of the killed start has ended too
    expect(readdirSync(data).sort()).toEqual(['postgres', 'postgres.log', 'socket'])
  })
})

test('a path too long for a socket, with a space, a comma and a quote in it', async () => {
  const data = join(folder(), `a path, "${'long '.repeat(20)}"`, 'data')
  const first = await startEmbedded(data, quiet)
  const socketDir = first.connection.host
  folders.push(socketDir)
  expect(first.dataDir).toBe(data)
  expect(modeOf(socketDir)).toBe(0o700)
  const joined = await joinEmbedded(data, quiet)
  expect(joined.connection).toEqual(first.connection)
  await joined.stop()
  await first.stop()

  if (!isRoot) return
  // Another local user, who was there first, gets nothing.
  rmSync(socketDir, { recursive: true })
  mkdirSync(socketDir, { mode: 0o777 })
  chownSync(socketDir, 12345, 12345)
  await expect(startEmbedded(data, quiet)).rejects.toThrow(`${socketDir} is somebody else's`)
})

test('a command borrows the server of a running service, or has one for the moment', async () => {
  const data = preparedData()
  const alone = await joinEmbedded(data, quiet)
  expect(await query(alone, 'select 1 as n')).toEqual([{ n: 1 }])
  await alone.stop()
  expect(serverProcesses(data)).toEqual([])

  const running = await startEmbedded(data, quiet)
  const servers = postmasters(data)
  const beside = await joinEmbedded(data, quiet)
  expect(postmasters(data)).toEqual(servers)
  await beside.stop()
  expect(await query(running, 'select 1 as n')).toEqual([{ n: 1 }])
  await running.stop()
  expect(serverProcesses(data)).toEqual([])
})

test('whoever leaves last turns the server off', async () => {
  const data = preparedData()
  const command = await joinEmbedded(data, quiet)
  const running = await startEmbedded(data, quiet) // takes the command's server over
  await command.stop()
  expect(await query(running, 'select 1 as n')).toEqual([{ n: 1 }])

  const another = await joinEmbedded(data, quiet)
  await running.stop()
  expect(await query(another, 'select 1 as n')).toEqual([{ n: 1 }])
  await another.stop()
  expect(serverProcesses(data)).toEqual([])
})

test('a start while another stops waits, and starts anew', async () => {
  const data = preparedData()
  const first = await startEmbedded(data, quiet)
  const [, second] = await Promise.all([first.stop(), startEmbedded(data, quiet)])
  expect(await query(second, 'select 1 as n')).toEqual([{ n: 1 }])
  await second.stop()
  expect(serverProcesses(data)).toEqual([])
})

test('a database of another major version is refused with what to do about it', async () => {
  const data = preparedData()
  writeFileSync(join(data, 'postgres/PG_VERSION'), '17\n')
  await expect(startEmbedded(data, quiet)).rejects.toThrow(
    /^The database in .* is of PostgreSQL 17, and this version of Storekeeper brings 18: upgrade it with ".* upgrade-database" .*\.$/,
  )
  writeFileSync(join(data, 'postgres/PG_VERSION'), '19\n')
  await expect(startEmbedded(data, quiet)).rejects.toThrow(/brings 18: use a version of Storekeeper that brings 19\.$/)
  expect(serverProcesses(data)).toEqual([])
})

test('where PostgreSQL cannot run, one sentence says so and names DATABASE_URL', async () => {
  const top = folder()
  const packageRoot = join(top, 'package')
  mkdirSync(join(packageRoot, 'native/bin'), { recursive: true })
  const start = () => startEmbedded(join(top, 'data'), quiet, { packageRoot, rootDataHome: join(top, 'elsewhere') })
  await expect(start()).rejects.toThrow(NoEmbeddedPostgres)
  // As on musl: the file is there, but not the program that would load it.
  writeFileSync(join(packageRoot, 'native/bin/postgres'), '#!/lib/ld-nowhere.so\n', { mode: 0o755 })
  await expect(start()).rejects.toThrow(/^The embedded PostgreSQL does not run on this system \(.*\); set DATABASE_URL/)
})

// The world of one test.

const folders: string[] = []
const children: ChildProcess[] = []
const quiet = () => {}

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const path of folders.splice(0)) {
    const left = serverProcesses(path)
    for (const pid of left) {
      process.kill(pid, 'SIGCONT')
      process.kill(pid, 'SIGKILL')
    }
    await eventually(async () => expect(left.filter(isAlive)).toEqual([]))
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
})

/** Open to everyone, as a checkout usually is. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'embedded-'))
  chmodSync(path, 0o755)
  folders.push(path)
  return path
}

/** Started by root, PostgreSQL runs as an unprivileged user, whose the data is. */
function expectUnprivileged(data: string, server = 0): void {
  const owner = ps(server, 'uid')
  expect(owner).not.toBe('0')
  expect([statSync(data).uid, statSync(join(data, 'postgres')).uid].map(String)).toEqual([owner, owner])
  expect(readFileSync(`/proc/${server}/status`, 'utf8')).toMatch(/^Groups:\s*$/m)
}

/** The package as npm unpacks it, before its install script. */
function copyOfPackage(packageRoot: string): string {
  const { packageRoot: installed } = findInstallation()
  const links = linksOf(installed)
  cpSync(installed, packageRoot, { recursive: true, filter: (path) => !links.includes(path) && !path.endsWith('.a') })
  return packageRoot
}

function linksOf(packageRoot: string): string[] {
  const list: { target: string }[] = JSON.parse(readFileSync(join(packageRoot, 'native/pg-symlinks.json'), 'utf8'))
  return list.map(({ target }) => join(packageRoot, target))
}

function versionOf(packageRoot: string): string {
  return JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')).version
}

type Account = { uid: number; gid: number }

/** The ordinary user: ourselves, or for root someone who is. */
function nobody(): Account {
  if (!isRoot) return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function canRead(account: Account, path: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'test -r "$1" && "$2" --version', 'sh', path, process.execPath], {
      ...account,
      cwd: '/',
    })
    return true
  } catch {
    return false
  }
}

type Options = { as?: Account; installation?: Installation }

function launchService(data: string, { as, installation }: Options = {}) {
  const code = `
    import { startEmbedded } from ${JSON.stringify(join(repository, 'dist/db/embedded/embedded.js'))}
    const [data, installation] = JSON.parse(process.env.START)
    process.on('SIGTERM', () => embedded?.stop().then(() => process.exit(0)))
    const embedded = await startEmbedded(data, (line) => console.log(line), installation ?? undefined)
      .catch((error) => console.log('failed ' + error.name + ': ' + error.message))
    if (embedded) console.log('up ' + JSON.stringify(embedded))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    ...(isRoot ? as : {}),
    cwd: repository,
    env: { PATH: process.env.PATH, START: JSON.stringify([data, installation]) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

async function service(data: string, options: Options = {}) {
  const child = launchService(data, options)
  const gone = new Promise((resolve) => child.on('exit', resolve))
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await gone
  }
  for await (const line of createInterface(child.stdout)) {
    const [, word, rest = ''] = line.match(/^(up|failed) (.*)/) ?? []
    if (word === 'failed') throw new Error(rest)
    if (word !== 'up') continue
    const embedded: Pick<Embedded, 'connection' | 'dataDir'> = JSON.parse(rest)
    return { ...embedded, kill: () => end('SIGKILL'), terminate: () => end('SIGTERM') }
  }
  throw new Error('The service ended without a word.')
}

async function query({ connection }: Pick<Embedded, 'connection'>, text: string): Promise<unknown[]> {
  const client = new pg.Client(connection)
  client.on('error', quiet)
  await client.connect()
  return client
    .query(text)
    .then(({ rows }) => rows)
    .finally(() => client.end())
}

async function settings(embedded: Embedded, ...names: string[]): Promise<unknown[]> {
  const columns = names.map((name) => `current_setting('${name}') as ${name}`)
  const [row] = await query(embedded, `select ${columns.join(', ')}`)
  return Object.values(row ?? {})
}

async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(50)) {
    try {
      return await attempt()
    } catch {}
  }
  return attempt()
}

function ps(pid: number, column: string): string {
  return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' }).trim()
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}
