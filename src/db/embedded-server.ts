// The server's life on disk and as a process: made once, launched, looked for, stopped.
// What `postmaster.pid` says is believed only of a process that visibly is our server: after a crash the number may
// belong to any other process, and in a container that is restarted it usually does.
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { exists, PLAIN_ENV, run } from './embedded-binaries.ts'
import { makePrivate, type Place, SOCKET_PORT } from './embedded-place.ts'

/** An operator may change these in postgresql.conf. Whatever touches durability keeps PostgreSQL's default. */
const TUNING = {
  max_connections: '60',
  shared_buffers: '32MB',
  max_wal_size: '256MB',
  io_method: 'sync', // the default keeps three more processes, for reads of a database that is in memory anyway
  max_logical_replication_workers: '0',
  jit: 'off',
  timezone: 'UTC',
}

/** These hold whatever that file says: reached by its socket alone, and nobody's data in the log. */
const FIXED = {
  listen_addresses: '',
  port: String(SOCKET_PORT),
  unix_socket_permissions: '0700',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
}

/** Makes the database's files if there are none. They appear by rename: a killed start leaves no half of them behind. */
export async function createCluster(place: Place, superuser: string, say: (line: string) => void): Promise<void> {
  await removeLeftovers(place)
  if (await exists(place.cluster)) return
  say(`Creating the database in ${place.dataDir} (first start only) …`)
  const half = `${place.cluster}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  await makePrivate(half, place.user)
  try {
    await initialize(place, half, superuser)
    await rename(half, place.cluster)
    await syncDirectory(place.dataDir)
  } catch (error) {
    await rm(half, { recursive: true, force: true })
    if (!(await exists(place.cluster))) throw error // else another start was faster, and its files are as good
  }
}

/** Order is by code point and the same everywhere; access is for whoever gets past the mode of the socket's directory. */
async function initialize(place: Place, directory: string, superuser: string): Promise<void> {
  const text = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const tuning = Object.entries(TUNING).flatMap(([name, value]) => ['--set', `${name}=${value}`])
  const args = [`--pgdata=${directory}`, `--username=${superuser}`, '--auth=trust', '--data-checksums', ...text]
  const failure = await run(join(place.bin, 'initdb'), [...args, ...tuning], place.user)
  if (failure) throw new Error(`The database in ${place.dataDir} could not be created: ${failure}`)
  const flag = constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW
  await writeFile(join(directory, 'pg_hba.conf'), 'local all all trust\nlocal replication all trust\n', { flag })
}

/** A server on its way up. */
export type Launch = {
  isUnderway(): boolean
  /** Why it ended, in its own words. */
  failure(): Promise<string>
}

/** In a session of its own, so that Ctrl-C at the terminal reaches the service alone. */
export async function launchServer(place: Place): Promise<Launch> {
  await dropStaleLocks(place)
  const log = await openLog(place)
  const { size } = await log.stat()
  const settings = { ...FIXED, unix_socket_directories: `"${place.socketDir.replaceAll('"', '""')}"` }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(join(place.bin, 'postgres'), ['-D', place.cluster, ...args], {
    ...(place.user && { uid: place.user.uid, gid: place.user.gid }),
    cwd: '/',
    env: PLAIN_ENV,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  let hasEnded = false
  let refusal = ''
  server.on('exit', () => {
    hasEnded = true
  })
  server.on('error', (error) => {
    hasEnded = true
    refusal = error.message
  })
  server.unref()
  await log.close()
  return {
    isUnderway: () => !hasEnded,
    failure: async () => {
      const written = (await readFile(place.log)).subarray(size).toString().trim()
      const fatal = written.split('\n').filter((line) => line.includes('FATAL'))
      return refusal || fatal.join('; ') || written || `see ${place.log}`
    },
  }
}

type Running = { pid: number; status: 'starting' | 'stopping' | 'ready' }

/** The server, if its process can be seen. */
export async function runningServer(place: Place): Promise<Running | undefined> {
  const lines = (await readLock(pidFile(place))).split('\n')
  const pid = Number(lines[0])
  if (!(await isOurServer(place, pid))) return undefined
  const status = lines[7]?.trim()
  return { pid, status: status === 'ready' || status === 'stopping' ? status : 'starting' }
}

/** Fast: connections are closed, everything is written. Only a server that is stuck is cut short; it loses nothing either. */
export async function stopServer(place: Place): Promise<void> {
  const server = await runningServer(place)
  if (!server) return
  const steps = [
    { signal: 'SIGINT', patienceMs: 15_000 },
    { signal: 'SIGQUIT', patienceMs: 5_000 },
    { signal: 'SIGKILL', patienceMs: 2_000 },
  ] as const
  for (const { signal, patienceMs } of steps) {
    sendSignal(server.pid, signal)
    for (const until = Date.now() + patienceMs; Date.now() < until; await sleep(5))
      if (!(await isOurServer(place, server.pid))) return
  }
}

async function isOurServer(place: Place, pid: number): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 1) return false
  return (await readCommand(pid)).includes(`postgres -D ${place.cluster} -c `)
}

/** Empty for a process that is gone, also for one that is dead and only not yet collected by its parent. */
async function readCommand(pid: number): Promise<string> {
  if (process.platform === 'linux')
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ')
  const ps = promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
  return ps.then(({ stdout }) => stdout).catch(() => '')
}

/**
 * PostgreSQL itself replaces the lock files of a dead server, with two exceptions: their process number has gone to
 * another process of the same user, or the server was killed before it wrote its number. Were there a server after
 * all, its shared memory, found by the directory's inode, still keeps a second one out.
 */
async function dropStaleLocks(place: Place): Promise<void> {
  for (const path of [pidFile(place), join(place.socketDir, `.s.PGSQL.${SOCKET_PORT}.lock`)]) {
    const pid = Number.parseInt(await readLock(path), 10)
    const isStale = pid ? isProcess(pid) && !(await isOurServer(place, pid)) : (await ageOf(path)) > WRITING_LOCK_MS
    if (isStale) await unlink(path).catch(() => {})
  }
}

/** Between making a lock file and writing the number into it, PostgreSQL needs microseconds. */
const WRITING_LOCK_MS = 1_000

function pidFile(place: Place): string {
  return join(place.cluster, 'postmaster.pid')
}

async function readLock(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is gone already, or will be seen not to go.
  }
}

/** Also one of another user. */
function isProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const MAX_LOG_BYTES = 10_000_000

/** One former log is kept. Links are not followed: the directory may be another user's than ours. */
async function openLog(place: Place): Promise<FileHandle> {
  const former = await stat(place.log).catch(() => undefined)
  if (former && former.size > MAX_LOG_BYTES) await rename(place.log, `${place.log}.1`)
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants
  const log = await open(place.log, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  if (place.user) await log.chown(place.user.uid, place.user.gid)
  return log
}

const LEFTOVER_MS = 10 * 60_000

/** What first starts that were killed have left. */
async function removeLeftovers(place: Place): Promise<void> {
  for (const name of await readdir(place.dataDir)) {
    const pid = name.match(/^postgres\.new-(\d+)-/)?.[1]
    if (!pid) continue
    const path = join(place.dataDir, name)
    if (isProcess(Number(pid)) && (await ageOf(path)) < LEFTOVER_MS) continue
    // The initdb of a start killed this very moment may still be writing; then a later start succeeds in removing it.
    await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

/** In milliseconds since it was last changed; 0 for a file that is not there. */
async function ageOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  return found ? Date.now() - found.mtimeMs : 0
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path)
  await handle.sync().finally(() => handle.close())
}
